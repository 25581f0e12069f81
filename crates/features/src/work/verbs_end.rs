//! `substrate work done`, `substrate work release`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::text::{cut, one_line};
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Output, VerbError};

use super::claim::{Claimant, Lives, Standing};
use super::ops::{self, Item, State};
use super::verbs_claim::no_such;

/// The longest result, in bytes.
const MAX_RESULT: usize = 16 << 10;

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Done {
    /// The item
    id: i64,
    /// What came of it
    #[arg(long, allow_hyphen_values = true)]
    #[serde(default)]
    result: Option<String>,
}

impl VerbArgs for Done {
    const PATH: &'static [&'static str] = &["work", "done"];
    const ABOUT: &'static str = "Say that an item of yours is done";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let me = Claimant::of_caller(cx)?;
        let item = ops::one(cx.db, self.id)?.ok_or_else(|| no_such(self.id))?;
        let is_mine = item.claim.as_ref().is_some_and(|claim| claim.by.is_same(&me));
        let by = me.address(cx)?;
        if item.state == State::Done && is_mine {
            // Said before; the answer got lost.
            return Ok(done(self.id, &by));
        }
        mine(cx, &me, &item)?;
        let result = self.result.unwrap_or_default();
        if !ops::finish(cx.db, &item, &by, cut(&result, MAX_RESULT), cx.now)? {
            return Err(no_such(self.id));
        }
        Ok(done(self.id, &by))
    }
}

fn done(id: i64, by: &str) -> Output {
    Output::new(format!("#{id} is done.\n"), json!({"id": id, "state": "done", "done_by": by}))
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Release {
    /// The item
    id: i64,
    /// Why, for whoever takes it next
    #[arg(long, allow_hyphen_values = true)]
    #[serde(default)]
    why: Option<String>,
}

impl VerbArgs for Release {
    const PATH: &'static [&'static str] = &["work", "release"];
    const ABOUT: &'static str = "Give an item of yours back to the queue";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::Agent;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let me = Claimant::of_caller(cx)?;
        let item = ops::one(cx.db, self.id)?.ok_or_else(|| no_such(self.id))?;
        mine(cx, &me, &item)?;
        let why = one_line(self.why.as_deref().unwrap_or_default(), 200);
        let colon = if why.is_empty() { "" } else { ": " };
        let note = format!("was given back by {}{colon}{why}", me.address(cx)?);
        ops::put_back(cx.db, self.id, &note)?;
        let text = format!("#{} is queued again.\n", self.id);
        Ok(Output::new(text, json!({"id": self.id, "state": "queued"})))
    }
}

/// Whether the item is the caller's. A claim whose time has passed is still its claimant's until somebody takes it: then
/// nobody does it twice. Whoever is gone has nothing.
fn mine(cx: &mut Cx<'_>, me: &Claimant, item: &Item) -> Result<(), VerbError> {
    let id = item.id;
    let lost = |what: String| {
        VerbError::user(
            what,
            format!("leave what you did of it to whoever has it: `substrate work show {id}`"),
        )
    };
    let claim = match (item.state, &item.claim) {
        (State::Done, _) => {
            let by = item.done_by.as_deref().unwrap_or("somebody else");
            return Err(lost(format!("#{id} is done already, by {by}")));
        }
        (State::Claimed, Some(claim)) => claim,
        _ => {
            let note =
                if item.note.is_empty() { String::new() } else { format!(": it {}", item.note) };
            return Err(VerbError::user(
                format!("#{id} is not yours but queued{note}"),
                format!("`substrate work claim {id}` takes it"),
            ));
        }
    };
    if !claim.by.is_same(me) {
        let by = claim.by.address(cx)?;
        return Err(lost(format!("#{id} is not yours: {by} has it")));
    }
    if Lives::default().standing(cx, claim)? == Standing::Gone {
        return Err(VerbError::user(
            format!("your claim on #{id} has ended with the session that made it"),
            format!("`substrate work claim {id}` takes it again, if nobody else has it"),
        ));
    }
    Ok(())
}
