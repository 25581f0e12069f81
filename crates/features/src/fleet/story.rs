//! `substrate fleet story`: what happened to an agent, as every feature knows it.

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::text::one_line;
use substrate_core::time::{Ago, parse_span};
use substrate_core::verb::VerbArgs;
use substrate_core::view::{Moment, StoryOf};
use substrate_core::{Access, Audience, Caller, Cx, FeatureError, Output, Timestamp, VerbError};

use super::verbs::fleet::agent_named;
use crate::costs;
use crate::identity::book::{self, Address};

/// Points of the context's picture.
const MAX_POINTS: i64 = 300;

/// What is known of an agent.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StoryView {
    pub(super) agent: String,
    pub(super) from_ms: i64,
    pub(super) until_ms: i64,
    /// Oldest first.
    pub(super) moments: Vec<Moment>,
    /// When an answer came, and how many tokens its context had.
    pub(super) context: Vec<(i64, i64)>,
    /// Features that could not tell.
    pub(super) failed: Vec<&'static str>,
}

/// Asks every feature.
pub(super) fn story(
    cx: &mut Cx<'_>,
    agent: &Address,
    (from, until): (Timestamp, Timestamp),
    limit: i64,
) -> Result<StoryView, VerbError> {
    let sessions = book::sessions_of(cx.db, agent.agent)?;
    let (name, id) = (agent.name.clone(), agent.agent);
    let of = StoryOf { agent: id, name, sessions, from, until, limit };
    let (mut moments, mut failed) = (Vec::new(), Vec::new());
    for feature in crate::ALL {
        let Some(story) = feature.story else { continue };
        match story(cx, &of) {
            Ok(found) => moments.extend(found),
            Err(FeatureError::Db(error)) => return Err(error.into()),
            Err(_) => failed.push(feature.name),
        }
    }
    moments.sort_by_key(|moment| moment.at_ms);
    let mut context = costs::face::context(cx.db, &agent.name, from, MAX_POINTS)?;
    context.retain(|(at_ms, _)| *at_ms <= until.0);
    Ok(StoryView {
        agent: agent.name.clone(),
        from_ms: from.0,
        until_ms: until.0,
        moments,
        context,
        failed,
    })
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Story {
    /// The agent, e.g. `NobleLion`
    name: String,
    /// How far back to look
    #[arg(long, default_value = "24h")]
    #[serde(default = "a_day")]
    since: String,
    /// The most moments that each feature tells: the latest ones
    #[arg(long, short = 'n', default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=500))]
    #[serde(default = "fifty")]
    limit: i64,
}

fn a_day() -> String {
    "24h".to_owned()
}

fn fifty() -> i64 {
    50
}

impl VerbArgs for Story {
    const PATH: &'static [&'static str] = &["fleet", "story"];
    const ABOUT: &'static str = "Show what happened to an agent: windows, efforts, handovers, prompts, refusals, mail, waits";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::User;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let span = parse_span(&self.since).ok_or_else(|| {
            VerbError::user(format!("`{}` is not a duration", self.since), "write it like `24h`")
        })?;
        let agent = agent_named(cx, &self.name)?;
        let times = (cx.now.plus_ms(-span), cx.now);
        let found = story(cx, &agent, times, self.limit.clamp(1, 500))?;
        let mut text = String::new();
        for moment in &found.moments {
            let ago = Ago(cx.now.0 - moment.at_ms).to_string();
            let words = one_line(&moment.text, 100);
            let _infallible =
                writeln!(text, "{ago} ago\t{}\t{}  {words}", moment.kind.name(), moment.title);
        }
        let mut text = match text.is_empty() {
            true => format!("Nothing is known of {} in that time.\n", found.agent),
            false => crate::listing::aligned(&text),
        };
        for feature in &found.failed {
            let _infallible = writeln!(text, "`{feature}` could not tell its part");
        }
        Ok(Output::new(text, json!(found)))
    }
}
