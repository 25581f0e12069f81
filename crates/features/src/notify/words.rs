//! What a notification says. Everything of others becomes one line without anything hidden, and without secrets.

use serde_json::{Value, json};
use substrate_core::UserNeed;
use substrate_core::redact::clean;
use substrate_core::text::one_line;

/// The longest title, and the longest line of a text.
const MAX_TITLE: usize = 120;
const MAX_LINE: usize = 240;

/// Rows that are named. The rest is counted.
const MAX_ROWS: usize = 5;

/// A title and a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) title: String,
    pub(super) body: String,
}

pub(super) fn of(needs: &[&UserNeed]) -> Words {
    match needs {
        [one] => {
            let project = project(one);
            let place = if project.is_empty() { String::new() } else { format!(" ({project})") };
            Words { title: line(&format!("{}{place}", who(one)), MAX_TITLE), body: asked(one) }
        }
        all => {
            let mut lines: Vec<String> =
                all.iter().take(MAX_ROWS).map(|one| line(&who(one), MAX_LINE)).collect();
            if all.len() > MAX_ROWS {
                lines.push(format!("… and {} more", all.len() - MAX_ROWS));
            }
            Words { title: format!("{} things wait for you", all.len()), body: lines.join("\n") }
        }
    }
}

/// For a program.
pub(super) fn json(needs: &[&UserNeed]) -> Value {
    let one = |need: &&UserNeed| {
        json!({
            "id": need.id, "kind": need.kind, "agent": need.agent, "project": need.project, "since_ms": need.since_ms,
            "reason": line(&need.reason, MAX_LINE), "text": clean(&substrate_core::text::visible(&need.text)),
        })
    };
    needs.iter().map(one).collect()
}

/// `CalmOtter asks for permission: Bash`. It never begins with a dash, so it is no flag of any program.
fn who(need: &UserNeed) -> String {
    let agent = one_line(&need.agent, 60);
    let agent = agent.trim_start_matches('-');
    match agent.is_empty() {
        true => format!("Substrate: {}", need.reason),
        false if need.reason.starts_with("asks") || need.reason.starts_with("did") => {
            format!("{agent} {}", need.reason)
        }
        false => format!("{agent}: {}", need.reason),
    }
}

/// The command, question or message. A title alone has nothing to add.
fn asked(need: &UserNeed) -> String {
    let text = if need.text.trim().is_empty() { &need.reason } else { &need.text };
    let text = line(text, MAX_LINE);
    match text.strip_prefix('-') {
        Some(_) => format!("> {text}"),
        None => text,
    }
}

fn project(need: &UserNeed) -> &str {
    need.project.trim_end_matches("/.git").rsplit('/').next().unwrap_or_default()
}

fn line(text: &str, max: usize) -> String {
    one_line(&clean(text), max)
}
