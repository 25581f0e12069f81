//! What the journal knows of an agent's story: prompts, turns, refusals, errors, notices, subagents and compactions.

use substrate_core::text::one_line;
use substrate_core::view::{Moment, MomentKind, StoryOf};
use substrate_core::{Cx, EventKind, FeatureError};

use super::traces::{self, Trace};

/// Entries that are looked through.
const MAX_ENTRIES: i64 = 2_000;

/// The longest text of a moment, in characters.
const MAX_TEXT: usize = 600;

pub(super) fn story(cx: &mut Cx<'_>, of: &StoryOf) -> Result<Vec<Moment>, FeatureError> {
    let found = traces::traces(cx, Some(&of.sessions), (of.from, of.until), MAX_ENTRIES)?;
    let mut out: Vec<Moment> = found.rows.iter().filter_map(moment).collect();
    let n_over = out.len().saturating_sub(usize::try_from(of.limit).unwrap_or(usize::MAX));
    Ok(out.split_off(n_over))
}

fn moment(row: &Trace) -> Option<Moment> {
    use EventKind as K;
    let (input, output) = (|| one_line(&row.input, MAX_TEXT), || one_line(&row.output, MAX_TEXT));
    let is_refused = row.is_refused() || row.verdict == "ask";
    let mut link = None;
    let (kind, title, text) = match EventKind::named(&row.event) {
        _ if is_refused => {
            let word = match row.verdict.as_str() {
                "deny" => "Was refused",
                "ask" => "Was put to you",
                _ => "Was held",
            };
            link = Some(format!("/why?before={}#why-{}", row.id + 1, row.id));
            let what = row.tool.as_deref().unwrap_or(&row.event);
            (MomentKind::Refusal, format!("{word}: {what}"), input())
        }
        K::SessionStart => (MomentKind::Began, "Began".to_owned(), output()),
        K::SessionEnd => (MomentKind::Ended, "Ended".to_owned(), input()),
        K::UserPromptSubmit => (MomentKind::Prompt, "You asked".to_owned(), input()),
        K::Stop => (MomentKind::Turn, "Finished its turn".to_owned(), output()),
        K::SubagentStop => (MomentKind::Subagent, "A subagent ended".to_owned(), output()),
        K::SubagentStart => (MomentKind::Subagent, "A subagent began".to_owned(), input()),
        K::StopFailure => (MomentKind::Error, "Its turn failed".to_owned(), input()),
        K::PreCompact => (MomentKind::Compaction, "Compaction".to_owned(), input()),
        K::Notification => (MomentKind::Notice, "Told you".to_owned(), output()),
        _ => return None,
    };
    Some(Moment {
        at_ms: row.at_ms,
        kind,
        actor: row.actor.clone(),
        title,
        text,
        entry: Some(row.id),
        link,
        ..Moment::default()
    })
}
