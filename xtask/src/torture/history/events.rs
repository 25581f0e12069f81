//! Events and their rows: each is answered once, and the journal has them in a possible order.

use std::collections::HashMap;

use super::{Record, Verdict};

/// Broken promises about events.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::torture) struct Events {
    pub(in crate::torture) answered_twice: Vec<String>,
    /// Journaled before an event that had been answered when it began.
    pub(in crate::torture) out_of_order: Vec<String>,
}

/// Checks records about one marker each against the journal's markers, oldest first.
pub(in crate::torture) fn read(records: &[Record], journal: &[&str]) -> Events {
    let mut events = Events::default();
    let mut n_answers: HashMap<&str, usize> = HashMap::new();
    let rows: HashMap<&str, usize> = journal.iter().copied().zip(0..).collect();
    let mut placed: Vec<(&Record, &str, usize)> = Vec::new();
    for record in records.iter().filter(|record| record.verdict == Verdict::Allowed) {
        for marker in &record.about {
            let n = n_answers.entry(marker).or_default();
            *n += 1;
            if *n == 2 {
                events.answered_twice.push(marker.clone());
            }
            placed.extend(rows.get(marker.as_str()).map(|row| (record, marker.as_str(), *row)));
        }
    }
    events.out_of_order = out_of_order(placed);
    events
}

fn out_of_order(mut placed: Vec<(&Record, &str, usize)>) -> Vec<String> {
    let mut by_end = placed.clone();
    by_end.sort_by_key(|(record, ..)| record.ended);
    placed.sort_by_key(|(record, ..)| record.began);
    let mut ended = by_end.into_iter().peekable();
    let mut last: Option<(&str, usize)> = None;
    let mut out = Vec::new();
    for (record, marker, row) in placed {
        while let Some((_, earlier, at)) = ended.next_if(|(done, ..)| done.ended < record.began) {
            if last.is_none_or(|(_, highest)| at > highest) {
                last = Some((earlier, at));
            }
        }
        if let Some((earlier, _)) = last.filter(|(_, highest)| *highest > row) {
            out.push(format!("{marker} (row {row}) before {earlier}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::tests::records;
    use super::{Events, read};

    const THREE: &str = "a before m1 ok 0 10\n b before m2 ok 5 15\n a before m3 ok 20 30";

    #[test]
    fn events_at_the_same_time_may_come_in_any_order() {
        assert_eq!(read(&records(THREE), &["m1", "m2", "m3"]), Events::default());
        assert_eq!(read(&records(THREE), &["m2", "m1", "m3"]), Events::default());
    }

    #[test]
    fn an_event_journaled_too_late_is_found() {
        let found = read(&records(THREE), &["m1", "m3", "m2"]);
        assert_eq!(found.out_of_order, ["m3 (row 1) before m2"]);
    }

    #[test]
    fn an_event_that_was_answered_twice_is_found() {
        let twice = format!("{THREE}\n c before m1 ok 40 50\n c before m2 failed 51 52");
        assert_eq!(read(&records(&twice), &[]).answered_twice, ["m1"]);
    }
}
