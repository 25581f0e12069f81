//! What the hooks and commands themselves saw, and pure checks of it.
//!
//! The times of a record are this program's own: just before the process was started, and just after it was gone.
//! Whatever happened inside happened in between, so a busy machine makes a check less precise, never wrong. Nothing
//! here knows the program's tables.

pub(super) mod events;
pub(super) mod locks;
pub(super) mod mail;
pub(super) mod work;

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Time since this program started watching.
pub(super) type Moment = Duration;

/// The moment now.
pub(super) fn now() -> Moment {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    EPOCH.get_or_init(Instant::now).elapsed()
}

/// What a session did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Start,
    /// A person's prompt.
    Prompt,
    /// A prompt that the client made from a waiter's output.
    Notified,
    /// PreToolUse.
    Before,
    /// PostToolUse.
    After,
    /// The first Stop of a turn.
    Stop,
    /// Stop once more, after a block.
    StopAgain,
    /// The waiter beside an idle session.
    Waiter,
    /// An item of work was claimed.
    Claim,
    /// It was reported as done.
    Done,
    /// The client was killed.
    Death,
}

/// The result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It exited successfully, and nothing was refused.
    Allowed,
    Refused,
    /// It failed or was killed, so its output does not count.
    Failed,
}

/// One process, seen from outside.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// The session. It does one thing at a time.
    pub(super) actor: String,
    pub(super) act: Act,
    /// The file, the messages, the item or the marker that it was about.
    pub(super) about: Vec<String>,
    pub(super) verdict: Verdict,
    pub(super) began: Moment,
    pub(super) ended: Moment,
}

/// The time in which an actor certainly had something.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tenure<'a> {
    what: &'a str,
    actor: &'a str,
    from: Moment,
    to: Moment,
}

/// Tenures of the same thing by two actors that overlap.
fn shared(mut tenures: Vec<Tenure<'_>>) -> Vec<String> {
    tenures.sort_by_key(|tenure| (tenure.what, tenure.from));
    let mut out = Vec::new();
    let mut longest: Option<Tenure<'_>> = None;
    for tenure in tenures {
        let last = longest.take().filter(|last| last.what == tenure.what);
        if let Some(last) = &last
            && last.actor != tenure.actor
            && tenure.from < last.to
        {
            out.push(format!(
                "{} has had {} since {:.1?}, {} since {:.1?} (the first until {:.1?})",
                last.actor, last.what, last.from, tenure.actor, tenure.from, last.to
            ));
        }
        longest = Some(match last {
            Some(last) if last.to > tenure.to => last,
            _ => tenure,
        });
    }
    out
}

/// The records of each actor, in their order.
fn by_actor(records: &[Record]) -> Vec<Vec<&Record>> {
    let mut sorted: Vec<&Record> = records.iter().collect();
    sorted.sort_by(|a, b| (&a.actor, a.began).cmp(&(&b.actor, b.began)));
    sorted.chunk_by(|a, b| a.actor == b.actor).map(<[_]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `actor act about verdict began ended`, a line each; times in milliseconds, `-` for about nothing.
    pub(super) fn records(text: &str) -> Vec<Record> {
        let record = |line: &str| {
            let [actor, act, about, verdict, began, ended] =
                line.split_whitespace().collect::<Vec<_>>()[..]
            else {
                panic!("{line}")
            };
            let moment = |text: &str| Moment::from_millis(text.parse().unwrap());
            Record {
                actor: actor.to_owned(),
                act: act_named(act),
                about: about.split(',').filter(|id| *id != "-").map(str::to_owned).collect(),
                verdict: match verdict {
                    "ok" => Verdict::Allowed,
                    "no" => Verdict::Refused,
                    _ => Verdict::Failed,
                },
                began: moment(began),
                ended: moment(ended),
            }
        };
        text.lines().map(str::trim).filter(|line| !line.is_empty()).map(record).collect()
    }

    fn act_named(name: &str) -> Act {
        match name {
            "start" => Act::Start,
            "prompt" => Act::Prompt,
            "notified" => Act::Notified,
            "before" => Act::Before,
            "after" => Act::After,
            "stop" => Act::Stop,
            "again" => Act::StopAgain,
            "waiter" => Act::Waiter,
            "claim" => Act::Claim,
            "done" => Act::Done,
            "death" => Act::Death,
            _ => panic!("{name}"),
        }
    }

    #[test]
    fn a_long_tenure_hides_no_later_one() {
        let tenure = |actor, from, to| Tenure {
            what: "f",
            actor,
            from: Moment::from_millis(from),
            to: Moment::from_millis(to),
        };
        let list = vec![tenure("a", 0, 100), tenure("a", 10, 20), tenure("b", 50, 60)];
        assert_eq!(shared(list).len(), 1);
        assert!(shared(vec![tenure("a", 0, 10), tenure("b", 10, 20)]).is_empty());
    }
}
