//! `substrate needs`

use std::fmt::Write as _;
use std::rc::Rc;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::need::{UserNeed, merged};
use substrate_core::text::{one_line, quoted};
use substrate_core::time::Ago;
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, FeatureError, Output, Timestamp, VerbError};

/// The longest reason in a list, in characters.
const MAX_REASON: usize = 100;

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(in crate::fleet) struct Needs {
    /// Show the whole command, question or message of each
    #[arg(long)]
    whole: bool,
}

impl VerbArgs for Needs {
    const PATH: &'static [&'static str] = &["needs"];
    const ABOUT: &'static str = "Show what waits for you: dialogs, questions, errors, mail";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::User;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let all = all(cx)?;
        let mut text = match all.rows.len() {
            0 => "Nothing waits for you.\n".to_owned(),
            _ => all.rows.iter().map(|row| line(row, cx.now, self.whole)).collect(),
        };
        for feature in &all.failed {
            let _infallible = writeln!(text, "`{feature}` could not say what waits for you");
        }
        Ok(Output::new(text, json!({"needs": all.rows, "failed": all.failed})))
    }
}

/// Everything that waits for the user, the most urgent first.
pub(crate) struct AllNeeds {
    pub(crate) rows: Vec<UserNeed>,
    /// Features that could not say.
    pub(crate) failed: Vec<&'static str>,
}

/// The same for several parts of one answer.
pub(in crate::fleet) fn all_once(cx: &mut Cx<'_>) -> Result<Rc<AllNeeds>, VerbError> {
    cx.once("needs", all)
}

/// Asks every feature. One that fails is named, and the others still count.
pub(crate) fn all(cx: &mut Cx<'_>) -> Result<AllNeeds, VerbError> {
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    for feature in crate::ALL {
        let Some(needs_you) = feature.needs_you else { continue };
        match needs_you(cx) {
            Ok(found) => rows.extend(found),
            Err(FeatureError::Db(error)) => return Err(error.into()),
            Err(FeatureError::Other(_) | FeatureError::Refused { .. }) => failed.push(feature.name),
        }
    }
    Ok(AllNeeds { rows: merged(rows), failed })
}

/// `permission  CalmOtter  2m  repo  asks for permission: Bash rm x`
pub(in crate::fleet) fn line(row: &UserNeed, now: Timestamp, whole: bool) -> String {
    let project = row.project.trim_end_matches("/.git").rsplit('/').next().unwrap_or_default();
    let since = Ago(now.0 - row.since_ms).to_string();
    let mut out = format!(
        "{:<10}  {:<20}  {since:>4}  {:<16}  {}",
        row.kind.name(),
        row.agent,
        one_line(project, 16),
        one_line(if whole { without(&row.reason, &row.text) } else { &row.reason }, MAX_REASON)
    );
    out.truncate(out.trim_end().len());
    out.push('\n');
    if whole && !row.text.is_empty() {
        let _infallible = writeln!(out, "{}", quoted(&row.text).trim_matches('\n'));
    }
    out
}

/// A reason without what stands in the text below it anyway: `asks: Which port?` is `asks`.
pub(in crate::fleet) fn without<'a>(reason: &'a str, text: &str) -> &'a str {
    const TELLING: usize = 12;
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let begins: String = first.chars().take(TELLING).collect();
    match reason.find(&begins).filter(|_| !begins.is_empty()) {
        Some(at) if at > 0 => reason[..at].trim_end().trim_end_matches(':'),
        _ => reason,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::question("asks: Which port?", "Which port?\n- 80", "asks")]
    #[case::command(
        "asks for permission: Bash rm -rf build",
        "rm -rf build && make",
        "asks for permission: Bash"
    )]
    #[case::rule("Deploys are yours.", "./deploy now", "Deploys are yours.")]
    #[case::nothing("is gone", "", "is gone")]
    #[case::only_that("rm x", "rm x", "rm x")]
    fn nothing_stands_twice(#[case] reason: &str, #[case] text: &str, #[case] expected: &str) {
        assert_eq!(without(reason, text), expected);
    }
}
