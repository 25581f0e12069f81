//! `substrate work`, `substrate work show`

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Output, VerbError};

use super::claim::Lives;
use super::ops::{self, State};
use super::render;
use super::verbs_claim::no_such;

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct List {
    /// Only those: `queued`, `claimed` or `done`
    #[arg(long, value_parser = ["queued", "claimed", "done"])]
    #[serde(default)]
    state: Option<String>,
    /// Those of every project
    #[arg(long)]
    #[serde(default)]
    all: bool,
    /// How many at the most, the newest
    #[arg(long, short = 'n', default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=20_000))]
    #[serde(default = "fifty")]
    limit: i64,
}

fn fifty() -> i64 {
    50
}

impl VerbArgs for List {
    const PATH: &'static [&'static str] = &["work", "list"];
    const ABOUT: &'static str = "What is queued, who has what, and what is done";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const DEFAULT: bool = true;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let project = if self.all { "" } else { &caller.project };
        let state = self.state.as_deref().unwrap_or_default();
        let mut items = ops::list(cx.db, project, state, self.limit.clamp(1, 20_000))?;
        items.reverse();
        let mut lives = Lives::default();
        let (mut text, mut list) = (String::new(), Vec::new());
        for item in &items {
            let shown = render::shown(cx, &mut lives, item)?;
            text.push_str(&shown.line);
            list.push(shown.json);
        }
        let mut counts = serde_json::Map::new();
        let mut words = Vec::new();
        for state in State::ALL {
            let n = ops::count(cx.db, project, state)?;
            words.push(format!("{n} {}", state.name()));
            counts.insert(state.name().to_owned(), n.into());
        }
        let text = if items.is_empty() && state.is_empty() {
            "No work. `substrate work add \"TITLE\"` adds some.\n".to_owned()
        } else {
            format!("{text}{}\n", words.join(", "))
        };
        Ok(Output::new(text, json!({"work": list, "counts": Value::Object(counts)})))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Show {
    /// The item
    id: i64,
}

impl VerbArgs for Show {
    const PATH: &'static [&'static str] = &["work", "show"];
    const ABOUT: &'static str = "Everything about one item";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let item = ops::one(cx.db, self.id)?.ok_or_else(|| no_such(self.id))?;
        let shown = render::shown(cx, &mut Lives::default(), &item)?;
        Ok(Output::new(render::whole(&item, &shown.line), shown.json))
    }
}
