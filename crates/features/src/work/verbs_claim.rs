//! `substrate work claim`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::time::{Ago, parse_span};
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, DbError, Output, VerbError, WaitFor};

use super::claim::{Claim as Held, Claimant, Lives, Standing};
use super::ops::{self, Item, State};
use super::{render, tick};

/// How often somebody looks again who waits for work: nobody says when a claimant's process ends.
const LOOK_MS: i64 = 1_000;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Claim {
    /// The item (default: the oldest that is queued in this project)
    id: Option<i64>,
    /// Wait so long for work, e.g. `5m`
    #[arg(long, conflicts_with = "id")]
    wait: Option<String>,
    /// How long it stays yours when you are not heard of, instead of `work.lease`
    #[arg(long)]
    lease: Option<String>,
    /// When the waiting ends
    #[arg(long, hide = true)]
    until_ms: Option<i64>,
}

impl VerbArgs for Claim {
    const PATH: &'static [&'static str] = &["work", "claim"];
    const ABOUT: &'static str =
        "Take an item of the queue: it is yours alone until you are done, or gone";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let by = Claimant::of_caller(cx)?;
        let ttl_ms = match &self.lease {
            Some(text) => span(text)?,
            None => cx.settings.int("work.lease"),
        };
        let held = Held { by, at: cx.now, expires: cx.now.plus_ms(ttl_ms), ttl_ms };
        let mut lives = Lives::default();
        if !matches!(lives.standing(cx, &held)?, Standing::Holds { .. }) {
            return Err(VerbError::user(
                "your session has ended, so that nothing can be yours",
                "`substrate identity current` says who you are",
            ));
        }
        // The answer to this very request may have got lost with the daemon.
        if !caller.request.is_empty()
            && let Some(item) = ops::claimed_by(cx.db, &caller.request)?
        {
            return yours(cx, &item);
        }
        let request = &caller.request;
        let taken = match self.id {
            Some(id) => Some(this_one(cx, id, &held, request)?),
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
                "`substrate work list` shows what others have; `--wait 5m` waits for some",
            )
        };
        let until = match (self.until_ms, &self.wait) {
            (Some(until), _) => until,
            (None, Some(text)) => cx.now.plus_ms(span(text)?).0,
            (None, None) => return Err(nothing()),
        };
        if until <= cx.now.0 {
            return Err(nothing());
        }
        let mut out = Output::new(String::new(), json!({"id": null}));
        // A key of one's own: many may wait at once.
        let key = format!("work {}", caller.request);
        let until_ms = until.min(cx.now.0 + LOOK_MS);
        let body = json!(Self { until_ms: Some(until), ..self });
        out.wait = Some(WaitFor { key, by: String::new(), until_ms, body });
        Ok(out)
    }
}

/// The oldest that nobody has. Whether others are gone is looked at when there is nothing else; the daemon's own rounds
/// do it every minute anyway.
fn oldest(
    cx: &mut Cx<'_>,
    project: &str,
    held: &Held,
    request: &str,
) -> Result<Option<Item>, DbError> {
    for _ in 0..2 {
        if let Some(id) = ops::next(cx.db, project)? {
            return ops::take(cx.db, id, held, request);
        }
        if tick::take_back(cx, Some(project))? == 0 {
            break;
        }
    }
    Ok(None)
}

fn this_one(cx: &mut Cx<'_>, id: i64, held: &Held, request: &str) -> Result<Item, VerbError> {
    let item = ops::one(cx.db, id)?.ok_or_else(|| no_such(id))?;
    if item.state == State::Done {
        let by = item.done_by.unwrap_or_default();
        return Err(VerbError::user(
            format!("#{id} is done, by {by}"),
            "`substrate work claim` takes the next",
        ));
    }
    if let Some(claim) = &item.claim {
        let mut lives = Lives::default();
        if let Standing::Holds { until } = lives.standing(cx, claim)? {
            if claim.by.is_same(&held.by) {
                return Ok(item);
            }
            return Err(taken(cx, &item, claim, until.since(cx.now))?);
        }
        tick::take_back_one(cx, &mut lives, &item)?;
    }
    ops::take(cx.db, id, held, request)?.ok_or_else(|| {
        VerbError::user(format!("#{id} was just taken"), "`substrate work claim` takes the next")
    })
}

fn taken(cx: &mut Cx<'_>, item: &Item, claim: &Held, left_ms: i64) -> Result<VerbError, DbError> {
    let by = claim.by.address(cx)?;
    Ok(VerbError::user(
        format!("#{} is {by}'s since {}", item.id, Ago(cx.now.since(claim.at))),
        format!(
            "`substrate work claim` takes the next; it comes back when {by} is not heard of for {}",
            Ago(left_ms)
        ),
    ))
}

fn yours(cx: &mut Cx<'_>, item: &Item) -> Result<Output, VerbError> {
    let shown = render::shown(cx, &mut Lives::default(), item)?;
    Ok(Output::new(render::yours(item), shown.json))
}

pub(super) fn no_such(id: i64) -> VerbError {
    VerbError::user(
        format!("there is no work #{id}"),
        "`substrate work list --all` shows what there is",
    )
}

fn span(text: &str) -> Result<i64, VerbError> {
    parse_span(text).filter(|ms| *ms > 0).ok_or_else(|| {
        let text = substrate_core::text::one_line(text, 40);
        VerbError::user(format!("`{text}` is no duration"), "write it like `30s`, `10m` or `1h`")
    })
}
