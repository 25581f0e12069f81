//! Which messages were told to whom, and which of them the model has certainly seen.

use std::collections::{HashMap, HashSet};

use super::{Act, Moment, Record, Verdict, by_actor};

/// Broken promises about mail.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::torture) struct Mail {
    /// Acknowledged, and its recipient was never told.
    pub(in crate::torture) untold: Vec<String>,
    /// Told once more although the model has certainly seen it.
    pub(in crate::torture) repeated: Vec<String>,
    /// Told to a session that is not its recipient.
    pub(in crate::torture) misdirected: Vec<String>,
    /// Two sends were acknowledged with the same id.
    pub(in crate::torture) doubled: Vec<String>,
    /// Introductions beyond the first, which are allowed until a message was seen.
    pub(in crate::torture) n_more: usize,
}

/// An acknowledged message.
#[derive(Clone, Debug)]
pub(in crate::torture) struct Acknowledged {
    pub(in crate::torture) id: String,
    /// Its session.
    pub(in crate::torture) recipient: String,
}

/// Checks what hooks told (`about`: the ids in their answers) against what was acknowledged.
pub(in crate::torture) fn read(records: &[Record], sent: &[Acknowledged]) -> Mail {
    let mut mail = Mail::default();
    let mut recipients: HashMap<&str, &str> = HashMap::new();
    for message in sent {
        if recipients.insert(&message.id, &message.recipient).is_some() {
            mail.doubled.push(format!("#{}", message.id));
        }
    }
    let mut told: HashSet<&str> = HashSet::new();
    for of_actor in by_actor(records) {
        let mut seen: HashMap<&str, Moment> = HashMap::new();
        for (at, record) in of_actor.iter().enumerate() {
            for id in &record.about {
                if let Some(since) = seen.get(id.as_str()).filter(|since| **since <= record.began) {
                    mail.repeated.push(format!(
                        "#{id} to {} at {:?}, {:.1?}; seen at {since:.1?}",
                        record.actor, record.act, record.began
                    ));
                }
                if recipients.get(id.as_str()).is_some_and(|to| *to != record.actor) {
                    mail.misdirected.push(format!("#{id} to {}", record.actor));
                }
                if record.verdict == Verdict::Allowed {
                    mail.n_more += usize::from(!told.insert(id));
                    if let Some(when) = seen_at(record, &of_actor[at + 1..]) {
                        seen.entry(id)
                            .and_modify(|since| *since = when.min(*since))
                            .or_insert(when);
                    }
                }
            }
        }
    }
    let untold = sent.iter().filter(|message| !told.contains(message.id.as_str()));
    mail.untold =
        untold.map(|message| format!("#{} to {}", message.id, message.recipient)).collect();
    mail
}

/// When a request to the model certainly contained what that answer told. `None`: never certainly.
fn seen_at(told: &Record, later: &[&Record]) -> Option<Moment> {
    for next in later {
        match (told.act, next.act) {
            // The calls of one message run one after the other, without a request in between.
            (Act::Before | Act::After, Act::Before) => {}
            (_, Act::Before) => return Some(next.began),
            // The block was not honoured, so the words may be lost.
            (Act::Stop | Act::StopAgain, Act::Stop) => return None,
            (_, Act::Stop | Act::StopAgain) => return Some(next.began),
            // What was told at the start goes out with the first prompt, and the client's own prompt continues a turn.
            (Act::Start, Act::Prompt | Act::Notified) => {}
            (Act::Stop | Act::StopAgain | Act::Waiter, Act::Notified) => {}
            // Another turn has overtaken the one that had the words.
            (_, Act::Prompt | Act::Notified | Act::Start) => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tests::records;
    use super::*;

    fn reading(text: &str, sent: &str) -> Mail {
        let message = |pair: &str| {
            let (id, recipient) = pair.split_once('>').unwrap();
            Acknowledged { id: id.to_owned(), recipient: recipient.to_owned() }
        };
        read(&records(text), &sent.split_whitespace().map(message).collect::<Vec<_>>())
    }

    /// Whether #1, told at the first line, may be told once more at the last.
    fn is_repeated(text: &str) -> bool {
        let mail = reading(text, "1>a");
        assert_eq!(mail.untold.len() + mail.misdirected.len() + mail.doubled.len(), 0);
        !mail.repeated.is_empty()
    }

    #[test]
    fn told_once_and_seen_is_as_it_should_be() {
        let text = "a prompt 1,2 ok 0 5\n a before - ok 6 7\n a after 3 ok 8 9\n a stop - ok 10 11";
        assert_eq!(reading(text, "1>a 2>a 3>a"), Mail::default());
    }

    #[test]
    fn untold_misdirected_and_doubled_ones_are_found() {
        let mail = reading("a prompt 1 ok 0 5\n b prompt 2 failed 0 5", "1>b 2>b 3>a 3>a");
        assert_eq!(mail.untold, ["#2 to b", "#3 to a", "#3 to a"]);
        assert_eq!(mail.misdirected, ["#1 to a"]);
        assert_eq!(mail.doubled, ["#3"]);
    }

    #[test]
    fn what_a_model_request_has_carried_is_not_told_again() {
        for told in ["start", "prompt", "waiter", "again"] {
            assert!(is_repeated(&format!(
                "a {told} 1 ok 0 5\n a before - ok 6 7\n a after 1 ok 8 9"
            )));
            // The event that proves it must not repeat it either.
            assert!(is_repeated(&format!("a {told} 1 ok 0 5\n a again 1 ok 6 7")));
        }
        assert!(is_repeated("a after 1 ok 0 5\n a stop 1 ok 6 7"));
        assert!(is_repeated("a stop 1 ok 0 5\n a again 1 ok 6 7"));
    }

    #[test]
    fn what_may_not_have_been_seen_may_be_told_again() {
        // The next call may belong to the same message.
        assert!(!is_repeated("a after 1 ok 0 5\n a before - ok 6 7\n a after 1 ok 8 9"));
        // A hook that was killed.
        assert!(!is_repeated("a prompt 1 failed 0 5\n a before - ok 6 7\n a after 1 ok 8 9"));
        // A turn that was overtaken, and a block that was not honoured.
        assert!(!is_repeated("a waiter 1 ok 0 5\n a prompt 1 ok 6 7"));
        assert!(!is_repeated("a prompt 1 ok 0 5\n a prompt - ok 6 7\n a stop 1 ok 8 9"));
        assert!(!is_repeated("a stop 1 ok 0 5\n a stop 1 ok 6 7"));
        // The waiter's own turn has only begun.
        assert!(!is_repeated("a waiter 1 ok 0 5\n a notified 1 ok 6 7"));
    }

    #[test]
    fn introductions_beyond_the_first_are_counted() {
        let mail = reading("a prompt 1 ok 0 5\n a prompt 1 ok 6 7", "1>a");
        assert_eq!((mail.n_more, mail.repeated.len()), (1, 0));
    }
}
