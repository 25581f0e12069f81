//! Which actors were at work at a moment, and on what, for features that must not blame the wrong one.

use std::collections::HashMap;

use substrate_core::{Activity, Db, DbError, EventKind, Timestamp};

use super::sessions;

/// How many rows back from its newest a session is searched.
const MAX_ROWS: i64 = 2_000;

/// How many of an actor's calls are looked at.
const MAX_CALLS: i64 = 100;

/// How many actors that named a text are returned.
const MAX_NAMED: i64 = 16;

/// How far a file's timestamp may lag behind the clock.
const COARSE_MS: i64 = 20;

/// A row about an actor: before a call, after it, or between turns.
struct Trace {
    at: i64,
    event: String,
    use_id: Option<String>,
    is_denied: bool,
    /// The input of a call.
    input: Option<String>,
}

/// A call that was running at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Running {
    /// Its input, as far as the journal keeps it.
    pub(crate) input: String,
    /// It has ended since then.
    pub(crate) is_over: bool,
}

/// An actor's calls that were running at that moment, except those with these ids.
///
/// A call that was broken off has no end of its own. It is over when the turn ends or the actor's next one begins.
pub(crate) fn running_at(
    db: &mut dyn Db,
    session: &str,
    actor: &str,
    at: Timestamp,
    except: &[String],
) -> Result<Vec<Running>, DbError> {
    let newest = sessions::last_id(db, session)?;
    let Some(newest) = newest else { return Ok(Vec::new()) };
    let steps = db.rows(
        "select at_ms, event, tool_use, verdict, case when event = 'PreToolUse' then input end from journal
         where id > $1 and id <= $2 and session = $3 and actor = $4 order by id desc limit $5",
        &[
            (newest - MAX_ROWS).into(),
            newest.into(),
            session.into(),
            actor.into(),
            (2 * MAX_CALLS).into(),
        ],
        |row| {
            Ok(Trace {
                at: row.int(0)?,
                event: row.text(1)?,
                use_id: row.opt_text(2)?,
                is_denied: row.text(3)? == "deny",
                input: row.opt_text(4)?,
            })
        },
    )?;
    Ok(open_calls(steps, at.0, except))
}

/// Actors other than these two that lately made a call whose input contains the text; at most a few.
pub(crate) fn who_named(
    db: &mut dyn Db,
    text: &str,
    except: [(&str, &str); 2],
) -> Result<Vec<(String, String)>, DbError> {
    let [(session, actor), (other, other_actor)] = except;
    db.rows(
        "select distinct session, actor from journal
         where id > (select max(id) from journal) - $1 and event = 'PreToolUse' and verdict <> 'deny'
           and instr(input, $2) > 0 and not (session = $3 and actor = $4) and not (session = $5 and actor = $6)
         limit $7",
        &[
            MAX_ROWS.into(),
            text.into(),
            session.into(),
            actor.into(),
            other.into(),
            other_actor.into(),
            MAX_NAMED.into(),
        ],
        |row| Ok((row.text(0)?, row.text(1)?)),
    )
}

/// Takes the rows newest first.
fn open_calls(steps: Vec<Trace>, at: i64, except: &[String]) -> Vec<Running> {
    let mut out = Vec::new();
    let mut ends: HashMap<Option<String>, i64> = HashMap::new();
    let mut all_over: Option<i64> = None;
    for step in steps {
        match EventKind::named(&step.event) {
            EventKind::PostToolUse | EventKind::PostToolUseFailure => {
                ends.insert(step.use_id, step.at);
            }
            EventKind::PreToolUse if !step.is_denied => {
                let end = ends.remove(&step.use_id).or(all_over);
                let is_meant = step.use_id.as_ref().is_none_or(|id| !except.contains(id));
                let has_begun = step.at <= at + COARSE_MS;
                if is_meant && has_begun && end.is_none_or(|end| end + COARSE_MS >= at) {
                    let input = step.input.unwrap_or_default();
                    out.push(Running { input, is_over: end.is_some() });
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
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// `Pre a 100`: before the call `a`, at 100.
    fn step(text: &str) -> Trace {
        let words: Vec<&str> = text.split(' ').collect();
        let event = match words[0] {
            "Pre" | "Denied" => "PreToolUse",
            "Post" => "PostToolUse",
            "Failed" => "PostToolUseFailure",
            other => other,
        };
        Trace {
            at: words[2].parse().unwrap(),
            event: event.to_owned(),
            use_id: Some(words[1].to_owned()),
            is_denied: words[0] == "Denied",
            input: None,
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
    fn a_call_was_running(#[case] steps: &[&str], #[case] at: i64, #[case] expected: bool) {
        let steps: Vec<Trace> = steps.iter().rev().map(|text| step(text)).collect();
        assert_eq!(!open_calls(steps, at, &["agent".to_owned()]).is_empty(), expected);
    }
}
