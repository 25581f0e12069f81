//! `substrate notify status`, and what the daemon asks itself.

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::text::one_line;
use substrate_core::time::Ago;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, Output, VerbError};

use super::policy::{Decision, Rules, Why, decide};
use super::{is_on, ops, words, wrong_hours};
use crate::fleet::face;

/// Notifications that `status` lists.
const LISTED: i64 = 5;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Status {}

impl VerbArgs for Status {
    const PATH: &'static [&'static str] = &["notify", "status"];
    const ABOUT: &'static str = "Show where notifications go, and what came of the last ones";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::User;
    const DEFAULT: bool = true;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let mut places = Vec::new();
        if cx.settings.on("notify.desktop") {
            places.push("the desktop".to_owned());
        }
        if let Some(program) = cx.settings.texts("notify.command").first() {
            places.push(format!("`{}`", one_line(program, 80)));
        }
        let mut text = match places.is_empty() {
            true => "Notifications are off. `substrate config set notify.desktop true` shows them on the desktop.\n".to_owned(),
            false => format!("Notifications go to {}. `substrate notify test` sends one.\n", places.join(" and ")),
        };
        if let Some(wrong) = wrong_hours(cx.settings) {
            let _infallible = writeln!(text, "{wrong}, so there are no quiet hours.");
        }
        let held = if is_on(cx.settings) { held(cx, caller)? } else { None };
        if let Some(held) = held {
            let _infallible =
                writeln!(text, "Something waits for you and is not told yet: {held}.");
        }
        let sent = ops::last(cx.db, LISTED)?;
        for one in &sent {
            let outcome = match (&one.error, one.is_done) {
                (Some(error), _) => format!("failed: {}", one_line(error, 120)),
                (None, true) => "told".to_owned(),
                (None, false) => "not known whether it was told".to_owned(),
            };
            let _infallible = writeln!(
                text,
                "{:>4} ago  {}  ({outcome})",
                Ago(cx.now.since(one.at)).to_string(),
                one.title
            );
        }
        let list = sent.iter().map(|one| json!({"at_ms": one.at.0, "title": one.title, "done": one.is_done, "error": one.error}));
        let json = json!({
            "on": is_on(cx.settings), "desktop": cx.settings.on("notify.desktop"), "command": cx.settings.texts("notify.command"),
            "held": held, "sent": list.collect::<Vec<_>>(),
        });
        Ok(Output::new(text, json))
    }
}

/// Why something new is not told, if that is so.
fn held(cx: &mut Cx<'_>, caller: &Caller) -> Result<Option<&'static str>, VerbError> {
    let needs = face::needs(cx)?.rows;
    let before = ops::before(cx.db, cx.now)?;
    let rules = Rules::of(cx.settings);
    Ok(match decide(&needs, &before, rules, cx.now, caller.tz_offset_s) {
        Decision::Hold(Why::Fresh) => Some("it has only just come"),
        Decision::Hold(Why::Quiet) => Some("these are the quiet hours"),
        Decision::Hold(Why::TooMany) => Some("there were too many in this hour"),
        Decision::Hold(Why::TooSoon) => Some("another notification has only just come"),
        Decision::Tell(_) | Decision::Nothing => None,
    })
}

/// What is to be told now.
#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Due {}

impl VerbArgs for Due {
    const PATH: &'static [&'static str] = &["notify", "due"];
    const ABOUT: &'static str = "Say what is to be told now";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::User;
    const HIDDEN: bool = true;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let needs = face::needs(cx)?.rows;
        let before = ops::before(cx.db, cx.now)?;
        let rules = Rules::of(cx.settings);
        let json = match decide(&needs, &before, rules, cx.now, caller.tz_offset_s) {
            Decision::Nothing => json!({}),
            Decision::Hold(why) => json!({"again_ms": why.again_ms()}),
            Decision::Tell(rows) => {
                let told = words::of(&rows);
                let waiting: Vec<&str> = needs.iter().map(|need| need.id.as_str()).collect();
                json!({
                    "title": told.title, "body": told.body, "needs": words::json(&rows),
                    "ids": rows.iter().map(|row| &row.id).collect::<Vec<_>>(), "waiting": waiting,
                })
            }
        };
        Ok(Output::new(String::new(), json))
    }
}

/// These rows are about to be told.
#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Told {
    #[arg(long)]
    ids: Vec<String>,
    #[arg(long)]
    waiting: Vec<String>,
    #[arg(long, default_value = "")]
    title: String,
}

impl VerbArgs for Told {
    const PATH: &'static [&'static str] = &["notify", "told"];
    const ABOUT: &'static str = "Note what is about to be told";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::User;
    const HIDDEN: bool = true;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let id = ops::tell(cx.db, &self.ids, &self.title, cx.now)?;
        ops::forget(cx.db, &self.waiting, cx.now)?;
        Ok(Output::new(String::new(), json!({ "id": id })))
    }
}

/// What came of a notification.
#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct Noted {
    #[arg(long, default_value_t)]
    id: i64,
    #[arg(long)]
    error: Option<String>,
}

impl VerbArgs for Noted {
    const PATH: &'static [&'static str] = &["notify", "noted"];
    const ABOUT: &'static str = "Note what came of a notification";
    const ACCESS: Access = Access::Write;
    const FOR: Audience = Audience::User;
    const HIDDEN: bool = true;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let error = self.error.as_deref().map(|error| one_line(error, 300));
        ops::note(cx.db, self.id, error.as_deref(), cx.now)?;
        Ok(Output::default())
    }
}
