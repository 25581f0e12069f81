//! `substrate work board`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::text::one_line;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Output, Timestamp, VerbError};

use super::shown;
use crate::identity::holder::Pulses;
use crate::listing::aligned;
use crate::work::items::{self, Item, ItemState};

/// Claims that are looked at.
const MAX_CLAIMED: i64 = 500;

#[derive(Args, Serialize, Deserialize, Debug)]
pub(crate) struct Board {
    /// Show every project
    #[arg(long)]
    #[serde(default)]
    pub(in crate::work) all: bool,
    /// Show at most this many per column
    #[arg(long, short = 'n', default_value_t = 20, value_parser = clap::value_parser!(i64).range(1..=500))]
    #[serde(default = "twenty")]
    pub(in crate::work) limit: i64,
}

fn twenty() -> i64 {
    20
}

impl VerbArgs for Board {
    const PATH: &'static [&'static str] = &["work", "board"];
    const ABOUT: &'static str =
        "Show the queue as a board: what waits, what agents work on, what was done last";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let project = if self.all { "" } else { caller.project.as_str() };
        let limit = self.limit.clamp(1, 500);
        let is_here = |item: &Item| project.is_empty() || item.project == project;
        let mut claimed = items::claimed(cx.db, Timestamp(0), MAX_CLAIMED)?;
        claimed.retain(is_here);
        claimed.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        let columns = [
            (ItemState::Queued, items::queued(cx.db, project, limit)?),
            (ItemState::Claimed, claimed),
            (ItemState::Done, items::done(cx.db, project, limit)?),
        ];
        let (mut text, mut out) = (String::new(), serde_json::Map::new());
        let (mut pulses, mut counts) = (Pulses::default(), serde_json::Map::new());
        for (state, found) in columns {
            let n = items::count(cx.db, project, state)?;
            counts.insert(state.name().to_owned(), n.into());
            let (mut lines, mut list) = (String::new(), Vec::new());
            for item in &found {
                let row = shown(cx, &mut pulses, item)?;
                lines.push_str("  ");
                lines.push_str(&row.line);
                list.push(row.json);
            }
            text.push_str(&one_line(&format!("{} ({n})", state.name()), 40));
            text.push('\n');
            text.push_str(&aligned(&lines));
            out.insert(state.name().to_owned(), Value::Array(list));
        }
        out.insert("counts".to_owned(), Value::Object(counts));
        Ok(Output::new(text, json!(out)))
    }
}
