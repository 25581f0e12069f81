//! `substrate locks acquire`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::time::written_span;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Local, Output, VerbError};

use super::files::{self, MAX_COMPARED, Target, here, known};
use super::history::{self, LeaseChange};
use super::leases::{self, Lease};
use super::reservations::{self, MAX_OF_HOLDER, Reservation};
use super::status::{self, FileStatus, Hold};
use super::{policy, words};
use crate::globs;
use crate::identity::holder::{Holder, Pulses};
use crate::spellings::typed_ms;

/// The shortest and the longest time that may be asked for.
const MIN_TTL_MS: i64 = 1_000;
const MAX_TTL_MS: i64 = 86_400_000;

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct Acquire {
    /// Files, or globs such as 'src/api/**'
    #[arg(required = true)]
    paths: Vec<String>,
    /// What you are going to do; others can read it
    #[arg(long)]
    #[serde(default)]
    reason: Option<String>,
    /// How long you keep it after your last sign of life (default: `locks.ttl`)
    #[arg(long)]
    #[serde(default)]
    ttl: Option<String>,
    /// Let others share it; only those who do may edit there
    #[arg(long)]
    #[serde(default)]
    shared: bool,
    #[arg(skip)]
    #[serde(default)]
    found: Vec<Target>,
}

impl VerbArgs for Acquire {
    const PATH: &'static [&'static str] = &["locks", "acquire"];
    const ABOUT: &'static str = "Take files before editing them, or reserve globs: all or nothing";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.found = here(&self.paths, local);
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let holder = Holder::of_caller(cx, caller)?;
        let ttl_ms = match &self.ttl {
            Some(text) => ttl(text)?,
            None => cx.settings.int("locks.ttl"),
        };
        let hold = Hold {
            holder,
            reason: words::reason(self.reason.as_deref().unwrap_or_default()),
            acquired: cx.now,
            is_provisional: false,
            expires: cx.now.plus_ms(ttl_ms),
            ttl_ms,
        };
        let targets = known(&self.paths, &self.found, caller);
        let mut named = Vec::new();
        for target in &targets {
            if target.root.is_empty() {
                return Err(VerbError::user(
                    format!(
                        "`{}` is neither in a git working tree nor in this project",
                        words::path(&target.path)
                    ),
                    "only files in a working tree or in the project's folder can be held",
                ));
            }
            if files::is_shared(&target.relative) {
                return Err(VerbError::user(
                    format!("`{}` is shared and can't be held", words::path(&target.relative)),
                    "several agents write to one scratchpad; just write your section",
                ));
            }
            if target.is_glob || self.shared {
                reserve(cx, &hold, target, self.shared, &caller.project)?;
            } else {
                take(cx, &hold, target, &caller.project)?;
            }
            named.push(format!("`{}`", words::path(&target.relative)));
        }
        let ends = match hold.holder.is_person() {
            true => format!("for {}", written_span(ttl_ms)),
            false => "until your turn ends or you release it".to_owned(),
        };
        let text = format!("{} {ends}.\n", named.join(", "));
        Ok(Output::new(
            format!("You hold {text}"),
            json!({"acquired": targets.len(), "targets": targets}),
        ))
    }
}

fn ttl(text: &str) -> Result<i64, VerbError> {
    let ms = typed_ms(text)?;
    if (MIN_TTL_MS..=MAX_TTL_MS).contains(&ms) {
        return Ok(ms);
    }
    Err(VerbError::user(
        format!("`{}` is out of range for `--ttl`", words::path(text)),
        "write a time from `1s` to `24h`, or leave out `--ttl` to use `locks.ttl`",
    ))
}

fn refused(cx: &mut Cx<'_>, target: &Target, by: &Hold, what: &str) -> VerbError {
    let who = by.holder.address(cx).unwrap_or_else(|_| "another agent".to_owned());
    VerbError::user(
        format!(
            "`{}` can't be taken: {who} holds `{}`",
            words::path(&target.relative),
            words::path(what)
        ),
        format!(
            "wait with {}, or write to them: {}",
            words::wait(&words::in_root(&target.path, &target.relative, what), ""),
            words::send(&who, what)
        ),
    )
}

fn take(cx: &mut Cx<'_>, hold: &Hold, target: &Target, project: &str) -> Result<(), VerbError> {
    let before = match status::of(cx, &hold.holder, &target.place())? {
        FileStatus::Taken(holder) => {
            let what = holder.glob.as_ref().map_or(target.relative.as_str(), |(_, glob)| glob);
            return Err(refused(cx, target, &holder.hold, what));
        }
        FileStatus::Own(lease) => Some(lease),
        FileStatus::Free { before } => before,
    };
    let Target { path, root, relative, project: own, file, changed_ms, .. } = target.clone();
    let lease = Lease {
        path,
        root,
        relative,
        project: if own.is_empty() { project.to_owned() } else { own },
        file,
        modified: cx.now,
        hold: hold.clone(),
    };
    Ok(policy::store(cx, &lease, changed_ms, before.as_ref())?)
}

fn reserve(
    cx: &mut Cx<'_>,
    hold: &Hold,
    target: &Target,
    is_shared: bool,
    project: &str,
) -> Result<(), VerbError> {
    // A shared file is stored as a glob that matches only that file.
    let glob = match target.is_glob {
        true => target.relative.clone(),
        false => format!("./{}", globset::escape(&target.relative)),
    };
    if !globs::is_valid(&glob) {
        return Err(VerbError::user(
            format!("`{}` is not a valid glob", words::path(&glob)),
            "write it like 'src/api/**' or '*.rs'",
        ));
    }
    if !globs::is_reachable(&glob) {
        return Err(VerbError::user(
            format!(
                "`{}` can't match a file: no path contains `..`, `.` or `//`",
                words::path(&glob)
            ),
            "write it without them, like 'src/api/**'",
        ));
    }
    let others = reservations::in_root(cx.db, &target.root)?;
    if n_own(cx, hold, &glob, &others)? >= MAX_OF_HOLDER {
        return Err(VerbError::user(
            format!("you already have {MAX_OF_HOLDER} reserved globs in this working tree"),
            "`substrate locks` shows them; `substrate locks release --all` releases yours",
        ));
    }
    conflicts(cx, hold, target, &glob, is_shared, &others)?;
    let new = Reservation {
        id: 0,
        root: target.root.clone(),
        glob: glob.clone(),
        is_shared,
        project: project.to_owned(),
        hold: hold.clone(),
    };
    reservations::add(cx.db, &new)?;
    let who = hold.holder.address(cx)?;
    let path = format!("{}/{glob}", target.root);
    history::add(cx.db, &path, &who, LeaseChange::Reserved, &hold.reason, cx.now)?;
    history::mirror_decision(cx, &target.root, &who, LeaseChange::Reserved, &glob);
    Ok(())
}

/// How many other globs the holder has there.
fn n_own(
    cx: &mut Cx<'_>,
    hold: &Hold,
    glob: &str,
    all: &[Reservation],
) -> Result<usize, VerbError> {
    let mut pulses = Pulses::default();
    let mut n = 0;
    for one in all.iter().filter(|one| one.hold.holder.is_same(&hold.holder) && one.glob != glob) {
        n += usize::from(one.hold.until(cx, &mut pulses)?.is_some());
    }
    Ok(n)
}

/// Fails if another actor has a file or glob in there. Actors that share a glob don't exclude each other.
fn conflicts(
    cx: &mut Cx<'_>,
    hold: &Hold,
    target: &Target,
    glob: &str,
    is_shared: bool,
    others: &[Reservation],
) -> Result<(), VerbError> {
    let mut pulses = Pulses::default();
    let mut sharing: Vec<&Reservation> = Vec::new();
    for other in others.iter().filter(|other| !other.hold.holder.is_same(&hold.holder)) {
        if !globs::may_overlap(&other.glob, glob) || other.hold.until(cx, &mut pulses)?.is_none() {
            continue;
        }
        if !(is_shared && other.is_shared) {
            return Err(refused(cx, target, &other.hold, &other.glob));
        }
        sharing.push(other);
    }
    for lease in leases::in_root(cx.db, &target.root, MAX_COMPARED)? {
        let shares = |other: &&Reservation| {
            other.hold.holder.is_same(&lease.hold.holder)
                && globs::matches(&other.glob, &lease.relative)
        };
        let is_other = !lease.hold.holder.is_same(&hold.holder) && !sharing.iter().any(shares);
        if is_other
            && globs::matches(glob, &lease.relative)
            && lease.hold.until(cx, &mut pulses)?.is_some()
        {
            return Err(refused(cx, target, &lease.hold, &lease.relative));
        }
    }
    Ok(())
}
