//! `substrate locks acquire` and `release`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::time::written_span;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Local, Output, VerbError};

use super::life::{Claim, Lives};
use super::ops::{self, Lease};
use super::ops_globs::{self, MAX_OF_OWNER, Reserved};
use super::ops_history::{self, What};
use super::owner::Owner;
use super::standing::{self, Standing};
use super::targets::{self, Target};
use super::verbs_wait::span;
use super::{files, globs, mirror, policy, release, words};
use crate::identity::book;

/// The shortest and the longest time that somebody may ask for.
const MIN_TTL_MS: i64 = 1_000;
const MAX_TTL_MS: i64 = 86_400_000;

/// Leases that are compared with a new glob.
const MAX_COMPARED: i64 = 10_000;

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Acquire {
    /// Files, or globs such as 'src/api/**'
    #[arg(required = true)]
    paths: Vec<String>,
    /// What you are going to do; others read it
    #[arg(long)]
    #[serde(default)]
    reason: Option<String>,
    /// How long it outlives your last sign of life (default: `locks.ttl`)
    #[arg(long)]
    #[serde(default)]
    ttl: Option<String>,
    /// Others may have it too, but nobody else may edit there
    #[arg(long)]
    #[serde(default)]
    shared: bool,
    #[arg(skip)]
    #[serde(default)]
    found: Vec<Target>,
}

impl VerbArgs for Acquire {
    const PATH: &'static [&'static str] = &["locks", "acquire"];
    const ABOUT: &'static str = "Take files ahead, or reserve globs: all of them or none";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.found = targets::here(&self.paths, local);
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let owner = Owner::of_caller(cx)?;
        let ttl_ms = match &self.ttl {
            Some(text) => ttl(text)?,
            None => cx.settings.int("locks.ttl"),
        };
        let claim = Claim {
            owner,
            reason: words::reason(self.reason.as_deref().unwrap_or_default()),
            acquired: cx.now,
            is_provisional: false,
            expires: cx.now.plus_ms(ttl_ms),
            ttl_ms,
        };
        let targets = targets::known(&self.paths, &self.found, caller);
        let mut named = Vec::new();
        for target in &targets {
            if target.root.is_empty() {
                return Err(VerbError::user(
                    format!(
                        "`{}` is in no working tree of git, nor in this project",
                        words::path(&target.path)
                    ),
                    "only files of a working tree or of the project's folder can be held",
                ));
            }
            if files::is_shared(&target.relative) {
                return Err(VerbError::user(
                    format!("nobody can hold `{}`", words::path(&target.relative)),
                    "several agents write into one scratchpad; just write your section",
                ));
            }
            if target.is_glob || self.shared {
                reserve(cx, &claim, target, self.shared, &caller.project)?;
            } else {
                take(cx, &claim, target, &caller.project)?;
            }
            named.push(format!("`{}`", words::path(&target.relative)));
        }
        let ends = match claim.owner.is_person() {
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
    let ms = span(text)?;
    if (MIN_TTL_MS..=MAX_TTL_MS).contains(&ms) {
        return Ok(ms);
    }
    Err(VerbError::user(
        format!("nothing can be held for `{}`", words::path(text)),
        "write a time from `1s` to `24h`; without `--ttl` it is `locks.ttl`",
    ))
}

fn refused(cx: &mut Cx<'_>, target: &Target, by: &Claim, what: &str) -> VerbError {
    let who = by.owner.address(cx).unwrap_or_else(|_| "somebody".to_owned());
    VerbError::user(
        format!(
            "`{}` can't be taken: {who} holds `{}`",
            words::path(&target.relative),
            words::path(what)
        ),
        format!(
            "{}, or write to them: {}",
            words::wait(&words::in_root(&target.path, &target.relative, what), ""),
            words::send(&who, what)
        ),
    )
}

fn take(cx: &mut Cx<'_>, claim: &Claim, target: &Target, project: &str) -> Result<(), VerbError> {
    let before = match standing::of(cx, &claim.owner, &target.place())? {
        Standing::Taken(holder) => {
            let what = holder.glob.as_ref().map_or(target.relative.as_str(), |(_, glob)| glob);
            return Err(refused(cx, target, &holder.claim, what));
        }
        Standing::Own(lease) => Some(lease),
        Standing::Free { before } => before,
    };
    let Target { path, root, relative, project: own, file, changed_ms, .. } = target.clone();
    let lease = Lease {
        path,
        root,
        relative,
        project: if own.is_empty() { project.to_owned() } else { own },
        file,
        modified: cx.now,
        claim: claim.clone(),
    };
    Ok(policy::taken(cx, &lease, changed_ms, before.as_ref())?)
}

fn reserve(
    cx: &mut Cx<'_>,
    claim: &Claim,
    target: &Target,
    is_shared: bool,
    project: &str,
) -> Result<(), VerbError> {
    // A plain file that is shared is a glob that matches nothing else.
    let glob = match target.is_glob {
        true => target.relative.clone(),
        false => format!("./{}", globset::escape(&target.relative)),
    };
    if !globs::is_valid(&glob) {
        return Err(VerbError::user(
            format!("`{}` is no glob", words::path(&glob)),
            "write it like 'src/api/**' or '*.rs'",
        ));
    }
    if !globs::is_reachable(&glob) {
        return Err(VerbError::user(
            format!("`{}` matches no file: after a `*` there is no way back", words::path(&glob)),
            "write it without `..`, `.` and `//`, like 'src/api/**'",
        ));
    }
    let others = ops_globs::in_root(cx.db, &target.root)?;
    if n_own(cx, claim, &glob, &others)? >= MAX_OF_OWNER {
        return Err(VerbError::user(
            format!("you have {MAX_OF_OWNER} reserved globs in this working tree already"),
            "`substrate locks` shows them; `substrate locks release --all` frees your own",
        ));
    }
    conflicts(cx, claim, target, &glob, is_shared, &others)?;
    let new = Reserved {
        id: 0,
        root: target.root.clone(),
        glob: glob.clone(),
        is_shared,
        project: project.to_owned(),
        claim: claim.clone(),
    };
    ops_globs::add(cx.db, &new)?;
    let who = claim.owner.address(cx)?;
    let path = format!("{}/{glob}", target.root);
    ops_history::add(cx.db, &path, &who, What::Reserved, &claim.reason, cx.now)?;
    mirror::decided(cx, &target.root, &who, What::Reserved, &glob);
    Ok(())
}

/// How many other globs the owner has there.
fn n_own(cx: &mut Cx<'_>, claim: &Claim, glob: &str, all: &[Reserved]) -> Result<usize, VerbError> {
    let mut lives = Lives::default();
    let mut n = 0;
    for one in all.iter().filter(|one| one.claim.owner.is_same(&claim.owner) && one.glob != glob) {
        n += usize::from(lives.until(cx, &one.claim)?.is_some());
    }
    Ok(n)
}

/// Whether somebody else has a file or a glob in there. Two who share don't mind each other.
fn conflicts(
    cx: &mut Cx<'_>,
    claim: &Claim,
    target: &Target,
    glob: &str,
    is_shared: bool,
    others: &[Reserved],
) -> Result<(), VerbError> {
    let mut lives = Lives::default();
    let mut sharing: Vec<&Reserved> = Vec::new();
    for other in others.iter().filter(|other| !other.claim.owner.is_same(&claim.owner)) {
        if !globs::may_overlap(&other.glob, glob) || lives.until(cx, &other.claim)?.is_none() {
            continue;
        }
        if !(is_shared && other.is_shared) {
            return Err(refused(cx, target, &other.claim, &other.glob));
        }
        sharing.push(other);
    }
    for lease in ops::in_root(cx.db, &target.root, MAX_COMPARED)? {
        let shares = |other: &&Reserved| {
            other.claim.owner.is_same(&lease.claim.owner)
                && globs::matches(&other.glob, &lease.relative)
        };
        let is_other = !lease.claim.owner.is_same(&claim.owner) && !sharing.iter().any(shares);
        if is_other
            && globs::matches(glob, &lease.relative)
            && lives.until(cx, &lease.claim)?.is_some()
        {
            return Err(refused(cx, target, &lease.claim, &lease.relative));
        }
    }
    Ok(())
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Release {
    /// Files, or globs as they were reserved
    #[arg(required_unless_present = "all")]
    #[serde(default)]
    paths: Vec<String>,
    /// Everything that you hold
    #[arg(long)]
    #[serde(default)]
    all: bool,
    /// Also what others hold; only for the person
    #[arg(long)]
    #[serde(default)]
    force: bool,
    #[arg(skip)]
    #[serde(default)]
    found: Vec<Target>,
}

impl VerbArgs for Release {
    const PATH: &'static [&'static str] = &["locks", "release"];
    const ABOUT: &'static str = "Let go of files and globs, and say how many";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.found = targets::here(&self.paths, local);
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let me = Owner::of_caller(cx)?;
        if self.force && me.agent != book::USER {
            return Err(VerbError::user(
                "only the person may release what others hold",
                "ask them, or write to the holder: `substrate locks` shows who it is",
            ));
        }
        let (mut leases, mut reserved) = (Vec::new(), Vec::new());
        if self.all {
            leases = match self.force {
                true => ops::in_project(cx.db, &caller.project, MAX_COMPARED)?,
                false => ops::of_owner(cx.db, &me.session, &me.actor, MAX_COMPARED)?,
            };
            let globs = ops_globs::all(cx.db, MAX_COMPARED)?;
            let is_meant = |one: &Reserved| match self.force {
                true => one.project == caller.project,
                false => one.claim.owner.is_same(&me),
            };
            reserved = globs.into_iter().filter(is_meant).collect();
        }
        for target in targets::known(&self.paths, &self.found, caller) {
            self.named(cx, &me, &target, &mut leases, &mut reserved)?;
        }
        let (forced, own): (Vec<Lease>, Vec<Lease>) =
            leases.into_iter().partition(|lease| !lease.claim.owner.is_same(&me));
        let (forced_globs, own_globs): (Vec<Reserved>, Vec<Reserved>) =
            reserved.into_iter().partition(|glob| !glob.claim.owner.is_same(&me));
        let a = release::these(cx, &own, &own_globs, What::Released)?;
        let b = release::these(cx, &forced, &forced_globs, What::Forced)?;
        let (n_files, n_globs) = (a.n_files + b.n_files, a.n_globs + b.n_globs);
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        let globs = match n_globs {
            0 => String::new(),
            n => format!(" and {n} glob{}", plural(n)),
        };
        let text = format!("Released {n_files} file{}{globs}.\n", plural(n_files));
        Ok(Output::new(text, json!({"released": n_files, "globs": n_globs})))
    }
}

impl Release {
    /// What one path or glob means; an error where it is somebody else's.
    fn named(
        &self,
        cx: &mut Cx<'_>,
        me: &Owner,
        target: &Target,
        leases: &mut Vec<Lease>,
        reserved: &mut Vec<Reserved>,
    ) -> Result<(), VerbError> {
        let is_mine = |claim: &Claim| claim.owner.is_same(me) || self.force;
        let plain = format!("./{}", globset::escape(&target.relative));
        let mut other: Option<Claim> = None;
        let (n_leases, n_reserved) = (leases.len(), reserved.len());
        for lease in ops::same(cx.db, &target.path, target.file.as_deref())? {
            match is_mine(&lease.claim) {
                true => leases.push(lease),
                false => other = Some(lease.claim),
            }
        }
        for one in ops_globs::in_root(cx.db, &target.root)? {
            if one.glob == target.relative || one.glob == plain {
                match is_mine(&one.claim) {
                    true => reserved.push(one),
                    false => other = Some(one.claim),
                }
            }
        }
        let is_found = leases.len() > n_leases || reserved.len() > n_reserved;
        if let (Some(claim), false) = (other, is_found) {
            let who = claim.owner.address(cx)?;
            return Err(VerbError::user(
                format!("`{}` is held by {who}, not by you", words::path(&target.relative)),
                format!(
                    "write to them: `substrate send --to {who} …`; the person may add `--force`"
                ),
            ));
        }
        Ok(())
    }
}
