//! Whether somebody was at work at a moment, for features that must not blame the wrong one.

use std::collections::HashMap;

use substrate_core::{Activity, Db, DbError, EventKind, Timestamp};

/// How far back a session's rows are searched, from its newest one.
const MAX_ROWS: i64 = 2_000;

/// How many calls of an actor are looked at.
const MAX_CALLS: i64 = 100;

/// A file's stamp may be as much behind the clock.
const COARSE_MS: i64 = 20;

/// What an actor did: before a call, after it, or something between turns.
struct Step {
    at: i64,
    event: String,
    use_id: Option<String>,
    is_denied: bool,
}

/// Whether a call of that actor was running at that moment, other than those with these ids. What somebody broke off has
/// no end of its own; it is over when the actor's next turn begins, or this one ends.
pub(crate) fn was_at_work(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
    at: Timestamp,
    except: &[String],
) -> Result<bool, DbError> {
    let newest = db.first(
        "select last_id from journal_session where session = $1",
        &[session.into()],
        |row| row.int(0),
    )?;
    let Some(newest) = newest else { return Ok(false) };
    let steps = db.rows(
        "select at_ms, event, tool_use, verdict from journal
         where id > $1 and id <= $2 and session = $3 and actor = $4 order by id desc limit $5",
        &[
            (newest - MAX_ROWS).into(),
            newest.into(),
            session.into(),
            actor.into(),
            (2 * MAX_CALLS).into(),
        ],
        |row| {
            Ok(Step {
                at: row.int(0)?,
                event: row.text(1)?,
                use_id: row.opt_text(2)?,
                is_denied: row.text(3)? == "deny",
            })
        },
    )?;
    Ok(is_in_a_call(&steps, at.0, except))
}

/// The steps are the newest first.
fn is_in_a_call(steps: &[Step], at: i64, except: &[String]) -> bool {
    let mut ends: HashMap<&Option<String>, i64> = HashMap::new();
    let mut all_over: Option<i64> = None;
    for step in steps {
        match EventKind::named(&step.event) {
            EventKind::PostToolUse | EventKind::PostToolUseFailure => {
                ends.insert(&step.use_id, step.at);
            }
            EventKind::PreToolUse if !step.is_denied => {
                let end = ends.remove(&step.use_id).or(all_over);
                let is_meant = step.use_id.as_ref().is_none_or(|id| !except.contains(id));
                let has_begun = step.at <= at + COARSE_MS;
                if is_meant && has_begun && end.is_none_or(|end| end + COARSE_MS >= at) {
                    return true;
                }
            }
            EventKind::Stop
            | EventKind::SubagentStop
            | EventKind::UserPromptSubmit
            | EventKind::SessionStart
            | EventKind::SessionEnd => all_over = Some(step.at),
            _ if step.event == Activity::IDLE => all_over = Some(step.at),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// `Pre a 100`: before the call `a`, at 100.
    fn step(text: &str) -> Step {
        let words: Vec<&str> = text.split(' ').collect();
        let event = match words[0] {
            "Pre" | "Denied" => "PreToolUse",
            "Post" => "PostToolUse",
            "Failed" => "PostToolUseFailure",
            other => other,
        };
        Step {
            at: words[2].parse().unwrap(),
            event: event.to_owned(),
            use_id: Some(words[1].to_owned()),
            is_denied: words[0] == "Denied",
        }
    }

    #[rstest]
    #[case::open(&["Pre a 100"], 500, true)]
    #[case::not_yet(&["Pre a 1000"], 500, false)]
    #[case::inside(&["Pre a 100", "Post a 900"], 500, true)]
    #[case::over(&["Pre a 100", "Post a 300"], 500, false)]
    #[case::failed(&["Pre a 100", "Failed a 300"], 500, false)]
    #[case::one_of_two(&["Pre a 100", "Pre b 110", "Post b 120"], 500, true)]
    #[case::refused(&["Denied a 100"], 500, false)]
    #[case::waits_for_a_subagent(&["Pre agent 100"], 500, false)]
    #[case::broken_off(&["Pre a 100", "UserPromptSubmit - 300"], 500, false)]
    #[case::interrupted(&["Pre a 100", "ActivityIdle - 300"], 500, false)]
    #[case::broken_off_later(&["Pre a 100", "UserPromptSubmit - 600"], 500, true)]
    #[case::coarse_clock(&["Pre a 510", "Post a 900"], 500, true)]
    #[case::nothing(&[], 500, false)]
    fn somebody_is_in_a_call(#[case] steps: &[&str], #[case] at: i64, #[case] expected: bool) {
        let steps: Vec<Step> = steps.iter().rev().map(|text| step(text)).collect();
        assert_eq!(is_in_a_call(&steps, at, &["agent".to_owned()]), expected);
    }
}
