//! How leases end: with their holder's turn, by `substrate locks release`, or when the tick finds that the holder is gone.
//! Those who wait for the file are woken.

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::verb::VerbArgs;
use substrate_core::{
    Access, Audience, Caller, Cx, DbError, Effect, FeatureError, Local, Output, VerbError, Who,
};

use super::files::{MAX_COMPARED, Target, here, known};
use super::history::{self, LeaseChange};
use super::leases::{self, Lease};
use super::reservations::{self, Reservation};
use super::status::{self, Hold};
use super::{waiting, words};
use crate::identity::book;
use crate::identity::holder::{self, Holder, Pulses};
use crate::retention::Expiring;

/// What was released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Released {
    pub(super) n_files: usize,
    pub(super) n_globs: usize,
}

/// Leases and globs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held<'a> {
    pub(super) leases: &'a [Lease],
    pub(super) globs: &'a [Reservation],
}

/// Releases everything an actor holds.
pub(super) fn of_actor(
    cx: &mut Cx<'_>,
    session: &str,
    actor: &str,
    what: LeaseChange,
) -> Result<Released, DbError> {
    if leases::holds_nothing(cx.db, session, actor)? {
        return Ok(Released::default());
    }
    // A Stop that arrives late must not release what was taken after it.
    let leases = leases::remove_of(cx.db, session, actor, cx.now)?;
    let globs = reservations::remove_of(cx.db, session, actor)?;
    follow_up(cx, Held { leases: &leases, globs: &globs }, what)
}

/// Releases everything a session holds, including its subagents.
pub(super) fn of_session(cx: &mut Cx<'_>, session: &str) -> Result<Released, DbError> {
    let leases = leases::remove_of_session(cx.db, session)?;
    let globs = reservations::remove_of_session(cx.db, session)?;
    follow_up(cx, Held { leases: &leases, globs: &globs }, LeaseChange::Released)
}

/// Releases these leases and globs.
pub(super) fn these(
    cx: &mut Cx<'_>,
    held: Held<'_>,
    what: LeaseChange,
) -> Result<Released, DbError> {
    for lease in held.leases {
        leases::remove(cx.db, &lease.path)?;
    }
    for glob in held.globs {
        reservations::remove(cx.db, glob.id)?;
    }
    follow_up(cx, held, what)
}

/// Updates what depends on released rows: history, waiters and mirrors.
fn follow_up(cx: &mut Cx<'_>, held: Held<'_>, what: LeaseChange) -> Result<Released, DbError> {
    for lease in held.leases {
        note(cx, &lease.hold.holder, &lease.path, what)?;
        waiting::forget(cx.db, &lease.hold.holder, &lease.path)?;
        cx.effects.push(Effect::Wake { key: words::wake_key(&lease.path) });
    }
    for glob in held.globs {
        note(cx, &glob.hold.holder, &format!("{}/{}", glob.root, glob.glob), what)?;
        waiting::forget_glob(cx.db, &glob.hold.holder, glob.id)?;
        cx.effects.push(Effect::Wake { key: words::glob_key(glob.id) });
    }
    history::mirror_released(cx, held.leases, what)?;
    Ok(Released { n_files: held.leases.len(), n_globs: held.globs.len() })
}

/// Adds to the history who released it: the holder, or the person who forced it.
fn note(cx: &mut Cx<'_>, holder: &Holder, path: &str, what: LeaseChange) -> Result<(), DbError> {
    let holder = holder.address(cx)?;
    match cx.who.as_ref().filter(|_| what == LeaseChange::Forced).map(Who::address) {
        Some(who) => history::add(cx.db, path, &who, what, &format!("from {holder}"), cx.now),
        None => history::add(cx.db, path, &holder, what, "", cx.now),
    }
}

const DAY_MS: i64 = 86_400_000;
const HISTORY_MS: i64 = 30 * DAY_MS;

/// Leases handled per round, so that no hook has to wait.
const STEP: i64 = 200;

/// What is forgotten, and how long it is kept.
const FORGOTTEN: [(Expiring, i64); 4] = [
    (history::OLD, HISTORY_MS),
    (status::CALLS_LEFT, DAY_MS),
    (waiting::NOTES, DAY_MS),
    (waiting::WAITERS, DAY_MS),
];

/// Releases what has expired and forgets old rows. `true`: there is more to do.
pub(super) fn tick(cx: &mut Cx<'_>) -> Result<bool, FeatureError> {
    release_of_gone(cx)?;
    let late = leases::expired(cx.db, cx.now, STEP)?;
    let mut pulses = Pulses::default();
    for lease in &late {
        match lease.hold.until(cx, &mut pulses)? {
            // The holder gave a sign of life. Store the later end, so that the next round looks at other leases.
            Some(until) => leases::prolong(cx.db, &lease.path, until)?,
            None => {
                let held = Held { leases: std::slice::from_ref(lease), globs: &[] };
                these(cx, held, LeaseChange::Expired)?;
            }
        }
    }
    for glob in reservations::all(cx.db, 10_000)? {
        if glob.hold.expires <= cx.now && glob.hold.until(cx, &mut pulses)?.is_none() {
            let held = Held { leases: &[], globs: &[glob] };
            these(cx, held, LeaseChange::Expired)?;
        }
    }
    let mut is_more = i64::try_from(late.len()).is_ok_and(|n| n >= STEP);
    for (rows, kept_ms) in FORGOTTEN {
        is_more |= rows.tick(cx, kept_ms)?;
    }
    Ok(is_more)
}

/// Releases what is held by actors that have ended or whose process is gone.
fn release_of_gone(cx: &mut Cx<'_>) -> Result<(), FeatureError> {
    for (session, actor) in leases::holders(cx.db)? {
        let pulse = holder::pulse(cx.db, cx.world, &session, &actor)?;
        if !holder::is_person(&session) && pulse.is_none_or(|pulse| pulse.is_over) {
            of_actor(cx, &session, &actor, LeaseChange::Expired)?;
        }
    }
    Ok(())
}

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
        let a = these(cx, Held { leases: &own, globs: &own_globs }, LeaseChange::Released)?;
        let b = these(cx, Held { leases: &forced, globs: &forced_globs }, LeaseChange::Forced)?;
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
