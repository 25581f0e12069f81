//! `substrate locks release`, `locks wait`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Local, Output, VerbError, WaitFor};

use super::{MAX_COMPARED, Target, here, known};
use crate::durations::typed_ms;
use crate::identity::book;
use crate::identity::holder::Holder;
use crate::locks::history::LeaseChange;
use crate::locks::leases::{self, Lease};
use crate::locks::reservations::{self, Reservation};
use crate::locks::status::{self, FileStatus, Hold};
use crate::locks::{release, waiting, words};

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct Release {
    /// Files, or globs as they were reserved
    #[arg(required_unless_present = "all")]
    #[serde(default)]
    paths: Vec<String>,
    /// Release everything you hold
    #[arg(long)]
    #[serde(default)]
    all: bool,
    /// Release what others hold too; only the person may do this
    #[arg(long)]
    #[serde(default)]
    force: bool,
    #[arg(skip)]
    #[serde(default)]
    found: Vec<Target>,
}

impl VerbArgs for Release {
    const PATH: &'static [&'static str] = &["locks", "release"];
    const ABOUT: &'static str = "Release files and globs";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.found = here(&self.paths, local);
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let me = Holder::of_caller(cx, caller)?;
        if self.force && me.agent != book::USER {
            return Err(VerbError::user(
                "only the person may release what others hold",
                "ask the person, or write to the holder: `substrate locks` shows who it is",
            ));
        }
        let (mut leases, mut reserved) = (Vec::new(), Vec::new());
        if self.all {
            leases = match self.force {
                true => leases::in_project(cx.db, &caller.project, MAX_COMPARED)?,
                false => leases::of_holder(cx.db, &me.session, &me.actor, MAX_COMPARED)?,
            };
            let globs = reservations::all(cx.db, MAX_COMPARED)?;
            let is_meant = |one: &Reservation| match self.force {
                true => one.project == caller.project,
                false => one.hold.holder.is_same(&me),
            };
            reserved = globs.into_iter().filter(is_meant).collect();
        }
        for target in known(&self.paths, &self.found, caller) {
            self.add_named(cx, &me, &target, &mut leases, &mut reserved)?;
        }
        let (forced, own): (Vec<Lease>, Vec<Lease>) =
            leases.into_iter().partition(|lease| !lease.hold.holder.is_same(&me));
        let (forced_globs, own_globs): (Vec<Reservation>, Vec<Reservation>) =
            reserved.into_iter().partition(|glob| !glob.hold.holder.is_same(&me));
        let a = release::these(cx, &own, &own_globs, LeaseChange::Released)?;
        let b = release::these(cx, &forced, &forced_globs, LeaseChange::Forced)?;
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
    /// Adds the leases and globs that one typed path means. Fails if only others hold it.
    fn add_named(
        &self,
        cx: &mut Cx<'_>,
        me: &Holder,
        target: &Target,
        leases: &mut Vec<Lease>,
        reserved: &mut Vec<Reservation>,
    ) -> Result<(), VerbError> {
        let is_mine = |hold: &Hold| hold.holder.is_same(me) || self.force;
        let plain = format!("./{}", globset::escape(&target.relative));
        let mut other: Option<Hold> = None;
        let (n_leases, n_reserved) = (leases.len(), reserved.len());
        for lease in leases::same(cx.db, &target.path, target.file.as_deref())?.iter() {
            match is_mine(&lease.hold) {
                true => leases.push(lease.clone()),
                false => other = Some(lease.hold.clone()),
            }
        }
        for one in reservations::in_root(cx.db, &target.root)?.iter() {
            if one.glob == target.relative || one.glob == plain {
                match is_mine(&one.hold) {
                    true => reserved.push(one.clone()),
                    false => other = Some(one.hold.clone()),
                }
            }
        }
        let is_found = leases.len() > n_leases || reserved.len() > n_reserved;
        if let (Some(hold), false) = (other, is_found) {
            let who = hold.holder.address(cx)?;
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

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct Wait {
    /// The file, folder or glob
    path: String,
    /// Give up after this long
    #[arg(long, default_value = "10m")]
    #[serde(default = "ten_minutes")]
    timeout: String,
    /// When to stop waiting
    #[arg(long, hide = true)]
    #[serde(default)]
    until_ms: Option<i64>,
    /// Who held it when the waiting began.
    #[arg(skip)]
    #[serde(default)]
    held_by: Option<String>,
    #[arg(skip)]
    #[serde(default)]
    found: Vec<Target>,
}

fn ten_minutes() -> String {
    "10m".to_owned()
}

impl VerbArgs for Wait {
    const PATH: &'static [&'static str] = &["locks", "wait"];
    const ABOUT: &'static str = "Wait until no one else holds a file";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.found = here(std::slice::from_ref(&self.path), local);
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let me = Holder::of_caller(cx, caller)?;
        let found = known(std::slice::from_ref(&self.path), &self.found, caller);
        let target = found.into_iter().next().unwrap_or_default();
        let file = words::path(&target.relative);
        let taken = if target.is_glob {
            reservations::blocker_within(cx, &me, &target)?
        } else {
            match status::of(cx, &me, &target.place())? {
                FileStatus::Taken(blocker) => {
                    Some((blocker, target.path.clone(), target.relative.clone()))
                }
                FileStatus::Own(_) => {
                    return Ok(free(&target, &format!("`{file}` is yours."), None));
                }
                FileStatus::Free { .. } => None,
            }
        };
        let Some((blocker, path, relative)) = taken else {
            let by = self.held_by.as_deref();
            let was = by.map_or_else(String::new, |by| format!(" {by} held it."));
            let next = match target.is_glob {
                true => "The first edit of a file takes it.",
                false => "Edit it now: the first edit takes it.",
            };
            return Ok(free(&target, &format!("`{file}` is free.{was} {next}"), by));
        };
        let until = match self.until_ms {
            Some(until) => until,
            None => cx.now.plus_ms(typed_ms(&self.timeout)?).0,
        };
        let by = blocker.hold.holder.address(cx)?;
        if until <= cx.now.0 {
            return Err(VerbError::user(
                format!("`{file}` is still held by {by}"),
                format!("write to them: {}", words::send(&by, &target.relative)),
            ));
        }
        waiting::wanted(cx, &me, &blocker, (&path, &relative), None)?;
        let key = blocker.wake_key(&path);
        // A holder that falls silent wakes no one, so look again when its lease would end.
        let look_again = until.min(blocker.until.0 + 1);
        let body = json!(Self {
            until_ms: Some(until),
            held_by: Some(by.clone()),
            found: vec![target],
            ..self
        });
        let mut out = Output::new(String::new(), json!({"free": false, "holder": by}));
        // An agent waits for a file once; a person may wait in several terminals.
        let by = match me.is_person() {
            true => caller.request.clone(),
            false => format!("{} {}", me.session, me.actor),
        };
        out.wait = Some(WaitFor { key, by, until_ms: look_again, body });
        Ok(out)
    }
}

fn free(target: &Target, text: &str, held_by: Option<&str>) -> Output {
    Output::new(format!("{text}\n"), json!({"free": true, "path": target.path, "held_by": held_by}))
}
