//! `substrate needs`

use std::fmt::Write as _;

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
        one_line(&row.reason, MAX_REASON)
    );
    out.truncate(out.trim_end().len());
    out.push('\n');
    if whole && !row.text.is_empty() {
        let _infallible = writeln!(out, "{}", quoted(&row.text).trim_matches('\n'));
    }
    out
}
