//! `substrate` alone: everything that matters in a few lines.

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::time::Took;
use substrate_core::verb::VerbArgs;
use substrate_core::{
    Access, Audience, Caller, Cx, NeedKind, Output, Standing, UserNeed, VerbError,
};

use super::needs;
use crate::fleet::view::{self, FleetRow, View};
use crate::journal::face::{self, Lately};

/// Rows of "needs you" that fit.
const MAX_NEEDS: usize = 5;

/// The health of this time is shown.
const LATELY_MS: i64 = 3_600_000;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(in crate::fleet) struct Overview {}

impl VerbArgs for Overview {
    const PATH: &'static [&'static str] = &["overview"];
    const ABOUT: &'static str =
        "Show what needs you, the fleet, mail, locks and health at a glance";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const HIDDEN: bool = true;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let is_user = cx.standing == Standing::User;
        let mut rows = needs::all(cx)?.rows;
        // The user's mail is not for agents.
        let is_mail = |row: &UserNeed| matches!(row.kind, NeedKind::Mail | NeedKind::Deadline);
        rows.retain(|row| is_user || !is_mail(row));
        let view = view::view(cx, false)?;
        let health = face::lately(cx.db, cx.now.plus_ms(-LATELY_MS))?;
        let next = next(&rows, &view);
        let mut text = String::new();
        if !rows.is_empty() {
            let _infallible = writeln!(text, "Needs you ({})", rows.len());
        }
        for row in rows.iter().take(MAX_NEEDS) {
            let _infallible = write!(text, "  {}", needs::line(row, cx.now, false));
        }
        if rows.len() > MAX_NEEDS {
            let n = rows.len() - MAX_NEEDS;
            let _infallible = writeln!(text, "  … and {n} more: `substrate needs`");
        }
        let n_unread = if is_user { view.n_unread } else { 0 };
        let n_held: usize = view.lines.iter().map(|line| line.n_held).sum();
        for (title, words) in [
            ("Fleet", fleet_words(&view)),
            ("Mail", format!("{n_unread} unread for you")),
            ("Locks", format!("{n_held} {} held", plural(n_held, "file"))),
            ("Health", health_words(health)),
        ] {
            let _infallible = writeln!(text, "{title:<7} {words}");
        }
        text.push('\n');
        for (command, why) in &next {
            let _infallible = writeln!(text, "{:<18} {why}", format!("`{command}`"));
        }
        let next: Vec<Value> =
            next.iter().map(|(command, why)| json!({"command": command, "why": why})).collect();
        let json = json!({
            "needs": rows, "fleet": counts(&view), "n_unread": n_unread, "n_held": n_held,
            "health": health, "next": next,
        });
        Ok(Output::new(text, json))
    }
}

/// The statuses that are counted, as people read them, in the order of the list.
const COUNTED: [&str; 8] =
    ["error", "attention", "working", "idle", "done", "checked", "gone", "closed"];

fn counts(view: &View) -> Value {
    let n_of = |word: &str| view.lines.iter().filter(|line| line.shown() == word).count();
    COUNTED.iter().map(|word| ((*word).to_owned(), json!(n_of(word)))).collect()
}

/// `2 working, 1 idle: NobleLion, CalmOtter, EpicQuail`
fn fleet_words(view: &View) -> String {
    const NAMED: usize = 4;
    if view.lines.is_empty() {
        return "no agents yet; one appears here with its first event".to_owned();
    }
    let n_of = |word: &str| view.lines.iter().filter(|line| line.shown() == word).count();
    let counted = COUNTED.iter().map(|word| (n_of(word), word)).filter(|(n, _)| *n > 0);
    let counted: Vec<String> = counted.map(|(n, word)| format!("{n} {word}")).collect();
    let names: Vec<String> = view.lines.iter().take(NAMED).map(FleetRow::address).collect();
    let more = if view.lines.len() > NAMED { ", …" } else { "" };
    format!("{}: {}{more}", counted.join(", "), names.join(", "))
}

fn health_words(health: Lately) -> String {
    let Lately { n_events, p99_us, n_refused, n_failed, .. } = health;
    match n_events {
        0 => "no hooks in the last hour".to_owned(),
        n => format!(
            "{n} {} in the last hour, p99 {}; {n_refused} refused, {n_failed} failed",
            plural(n, "hook"),
            Took(p99_us)
        ),
    }
}

/// What to do next, the most useful first.
fn next(rows: &[UserNeed], view: &View) -> Vec<(&'static str, &'static str)> {
    let mut out = Vec::new();
    if rows.is_empty() {
        let is_idle = view.lines.iter().all(|line| !matches!(line.word(), "working"));
        out.push(match is_idle {
            true if view.lines.is_empty() => ("substrate demo", "shows it at work, in a sandbox"),
            _ => ("substrate fleet", "shows what each agent does; nothing waits for you"),
        });
    } else {
        out.push(("substrate needs", "shows all that waits; `--whole` with every text"));
    }
    if view.n_unread > 0 {
        out.push(("substrate inbox", "shows your mail"));
    }
    out.push(("substrate --help", "lists every command"));
    out
}

fn plural(n: usize, word: &str) -> String {
    if n == 1 { word.to_owned() } else { format!("{word}s") }
}
