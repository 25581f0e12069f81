//! `substrate work claim`, `work done`, `work release`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::text::{cut, one_line};
use substrate_core::time::Ago;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, DbError, Output, VerbError, WaitFor};

use super::{find, no_such, shown, yours_text};
use crate::identity::holder::{Holder, Liveness, Pulses};
use crate::spellings::typed_ms;
use crate::work::claims::{self, WorkClaim};
use crate::work::items::{self, Item, ItemState};

/// How often a waiting claimant looks again. No event reports that another claimant's process has died.
const LOOK_MS: i64 = 1_000;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(crate) struct Claim {
    /// The item (default: the oldest one queued in this project)
    id: Option<i64>,
    /// Wait up to this long for work, e.g. `5m`
    #[arg(long, conflicts_with = "id")]
    wait: Option<String>,
    /// How long it stays yours while you are silent, instead of `work.lease`
    #[arg(long)]
    lease: Option<String>,
    /// When to stop waiting
    #[arg(long, hide = true)]
    until_ms: Option<i64>,
}

impl VerbArgs for Claim {
    const PATH: &'static [&'static str] = &["work", "claim"];
    const ABOUT: &'static str = "Claim an item from the queue; no other agent gets it";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let by = Holder::of_caller(cx, caller)?;
        let ttl_ms = match &self.lease {
            Some(text) => typed_span(text)?,
            None => cx.settings.int("work.lease"),
        };
        let held = WorkClaim { by, at: cx.now, expires: cx.now.plus_ms(ttl_ms), ttl_ms };
        let mut pulses = Pulses::default();
        if !matches!(held.liveness(cx, &mut pulses)?, Liveness::Held { .. }) {
            return Err(VerbError::user(
                "this session has ended and can no longer claim work",
                "`substrate agent whoami` shows which session you are in",
            ));
        }
        // The answer to an earlier try of this request may have been lost with the daemon.
        if !caller.request.is_empty()
            && let Some(item) = items::claimed_by(cx.db, &caller.request)?
        {
            return yours(cx, &item);
        }
        let request = &caller.request;
        let taken = match self.id {
            Some(id) => Some(by_id(cx, id, &held, request)?),
            None => oldest(cx, &caller.project, &held, request)?,
        };
        match taken {
            Some(item) => yours(cx, &item),
            None => self.wait_for_work(cx, caller),
        }
    }
}

impl Claim {
    fn wait_for_work(self, cx: &Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let nothing = || {
            VerbError::user(
                "no work is queued in this project",
                "`substrate work list` shows what others have; `--wait 5m` waits for new work",
            )
        };
        let until = match (self.until_ms, &self.wait) {
            (Some(until), _) => until,
            (None, Some(text)) => cx.now.plus_ms(typed_span(text)?).0,
            (None, None) => return Err(nothing()),
        };
        if until <= cx.now.0 {
            return Err(nothing());
        }
        let mut out = Output::new(String::new(), json!({"id": null}));
        // Each request waits under its own key, because many may wait at once.
        let key = format!("work {}", caller.request);
        let until_ms = until.min(cx.now.0 + LOOK_MS);
        let body = json!(Self { until_ms: Some(until), ..self });
        out.wait = Some(WaitFor { key, by: String::new(), until_ms, body });
        Ok(out)
    }
}

/// Claims the oldest queued item. Only when none is queued are other claims checked; the daemon's tick does that every
/// minute anyway.
fn oldest(
    cx: &mut Cx<'_>,
    project: &str,
    held: &WorkClaim,
    request: &str,
) -> Result<Option<Item>, DbError> {
    for _ in 0..2 {
        if let Some(id) = items::next(cx.db, project)? {
            return items::take(cx.db, id, held, request);
        }
        if claims::take_back(cx, Some(project))? == 0 {
            break;
        }
    }
    Ok(None)
}

fn by_id(cx: &mut Cx<'_>, id: i64, held: &WorkClaim, request: &str) -> Result<Item, VerbError> {
    let item = find(cx, id)?;
    if item.state == ItemState::Done {
        let by = item.done_by.unwrap_or_default();
        return Err(VerbError::user(
            format!("#{id} is already done, by {by}"),
            "`substrate work claim` takes the next item",
        ));
    }
    if let Some(claim) = &item.claim {
        let mut pulses = Pulses::default();
        if let Liveness::Held { until } = claim.liveness(cx, &mut pulses)? {
            if claim.by.is_same(&held.by) {
                return Ok(item);
            }
            return Err(taken(cx, &item, claim, until.since(cx.now))?);
        }
        claims::take_back_one(cx, &mut pulses, &item)?;
    }
    items::take(cx.db, id, held, request)?.ok_or_else(|| {
        VerbError::user(
            format!("#{id} was just claimed by another agent"),
            "`substrate work claim` takes the next item",
        )
    })
}

fn taken(
    cx: &mut Cx<'_>,
    item: &Item,
    claim: &WorkClaim,
    left_ms: i64,
) -> Result<VerbError, DbError> {
    let by = claim.by.address(cx)?;
    Ok(VerbError::user(
        format!("{by} claimed #{} {} ago", item.id, Ago(cx.now.since(claim.at))),
        format!(
            "`substrate work claim` takes the next item; this one comes back if {by} stays silent for {}",
            Ago(left_ms)
        ),
    ))
}

fn yours(cx: &mut Cx<'_>, item: &Item) -> Result<Output, VerbError> {
    let shown = shown(cx, &mut Pulses::default(), item)?;
    Ok(Output::new(yours_text(item), shown.json))
}

fn typed_span(text: &str) -> Result<i64, VerbError> {
    match typed_ms(text)? {
        0 => Err(VerbError::user(
            "a duration of 0 is too short",
            "write it like `30s`, `10m` or `1h`",
        )),
        ms => Ok(ms),
    }
}

/// The longest result, in bytes.
const MAX_RESULT: usize = 16 << 10;

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct Done {
    /// The item
    id: i64,
    /// The outcome
    #[arg(long, allow_hyphen_values = true)]
    #[serde(default)]
    result: Option<String>,
}

impl VerbArgs for Done {
    const PATH: &'static [&'static str] = &["work", "done"];
    const ABOUT: &'static str = "Mark an item of yours as done";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let me = Holder::of_caller(cx, caller)?;
        let item = find(cx, self.id)?;
        let is_mine = item.claim.as_ref().is_some_and(|claim| claim.by.is_same(&me));
        let by = me.address(cx)?;
        if item.state == ItemState::Done && is_mine {
            // A repeated request: the first answer was lost.
            return Ok(done(self.id, &by));
        }
        check_mine(cx, &me, &item)?;
        let result = self.result.unwrap_or_default();
        if !items::finish(cx.db, &item, &by, cut(&result, MAX_RESULT), cx.now)? {
            return Err(no_such(self.id));
        }
        Ok(done(self.id, &by))
    }
}

fn done(id: i64, by: &str) -> Output {
    Output::new(format!("#{id} is done.\n"), json!({"id": id, "state": "done", "done_by": by}))
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct Release {
    /// The item
    id: i64,
    /// Why, for the agent that takes it next
    #[arg(long, allow_hyphen_values = true)]
    #[serde(default)]
    why: Option<String>,
}

impl VerbArgs for Release {
    const PATH: &'static [&'static str] = &["work", "release"];
    const ABOUT: &'static str = "Return an item of yours to the queue";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let me = Holder::of_caller(cx, caller)?;
        let item = find(cx, self.id)?;
        check_mine(cx, &me, &item)?;
        let why = one_line(self.why.as_deref().unwrap_or_default(), 200);
        let colon = if why.is_empty() { "" } else { ": " };
        let note = format!("was given back by {}{colon}{why}", me.address(cx)?);
        items::put_back(cx.db, self.id, &note)?;
        let text = format!("#{} is queued again.\n", self.id);
        Ok(Output::new(text, json!({"id": self.id, "state": "queued"})))
    }
}

/// Checks that the item is the caller's. A lapsed claim counts until another agent takes the item, so that finished work
/// is not done twice. A claim of a session that is gone does not.
fn check_mine(cx: &mut Cx<'_>, me: &Holder, item: &Item) -> Result<(), VerbError> {
    let id = item.id;
    let lost = |what: String| {
        VerbError::user(
            what,
            format!("leave your work on it to the agent that has it: `substrate work show {id}`"),
        )
    };
    let claim = match (item.state, &item.claim) {
        (ItemState::Done, _) => {
            let by = item.done_by.as_deref().unwrap_or("another agent");
            return Err(lost(format!("#{id} is already done, by {by}")));
        }
        (ItemState::Claimed, Some(claim)) => claim,
        _ => {
            let note =
                if item.note.is_empty() { String::new() } else { format!(": it {}", item.note) };
            return Err(VerbError::user(
                format!("#{id} is queued, not yours{note}"),
                format!("claim it first: `substrate work claim {id}`"),
            ));
        }
    };
    if !claim.by.is_same(me) {
        let by = claim.by.address(cx)?;
        return Err(lost(format!("#{id} is not yours: {by} has it")));
    }
    if claim.liveness(cx, &mut Pulses::default())? == Liveness::Gone {
        return Err(VerbError::user(
            format!("your claim on #{id} ended with the session that made it"),
            format!("`substrate work claim {id}` claims it again, unless another agent has it"),
        ));
    }
    Ok(())
}
