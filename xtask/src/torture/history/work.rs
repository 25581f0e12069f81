//! Who certainly had which item of work: from the end of a claim until the claimant began to report it as done, or
//! died.

use std::collections::{BTreeMap, HashSet};

use super::{Act, Moment, Record, Tenure, Verdict, by_actor, shared};

/// Broken promises about a queue.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::torture) struct Work {
    /// Two claimants certainly had an item at the same time.
    pub(in crate::torture) shared: Vec<String>,
    /// Not done by exactly one claimant.
    pub(in crate::torture) not_once: Vec<String>,
    /// Done by a claimant that was dead.
    pub(in crate::torture) from_the_grave: Vec<String>,
}

/// Checks claims, reports and deaths. `items`: all that were queued.
pub(in crate::torture) fn read(records: &[Record], items: &[String]) -> Work {
    let mut work = Work::default();
    let mut tenures = Vec::new();
    let mut n_done: BTreeMap<&str, usize> =
        items.iter().map(|item| (item.as_str(), 0_usize)).collect();
    for of_actor in by_actor(records) {
        let mut held: Vec<Tenure<'_>> = Vec::new();
        let mut dead: HashSet<&str> = HashSet::new();
        for record in of_actor {
            let actor = record.actor.as_str();
            match (record.act, record.about.first()) {
                (Act::Claim, Some(item)) if record.verdict == Verdict::Allowed => {
                    held.push(Tenure { what: item, actor, from: record.ended, to: Moment::MAX });
                }
                (Act::Done, Some(item)) => {
                    for tenure in held.extract_if(.., |tenure| tenure.what == item) {
                        tenures.push(Tenure { to: record.began, ..tenure });
                    }
                    if record.verdict == Verdict::Allowed {
                        *n_done.entry(item).or_default() += 1;
                        if dead.contains(actor) {
                            work.from_the_grave.push(format!("item {item} by {actor}"));
                        }
                    }
                }
                (Act::Death, _) => {
                    dead.insert(actor);
                    let ended = held.drain(..).map(|tenure| Tenure { to: record.began, ..tenure });
                    tenures.extend(ended);
                }
                _ => {}
            }
        }
        tenures.extend(held);
    }
    work.shared = shared(tenures);
    let not_once = n_done.into_iter().filter(|(_, n)| *n != 1);
    work.not_once = not_once.map(|(item, n)| format!("item {item} was done {n} times")).collect();
    work
}

#[cfg(test)]
mod tests {
    use super::super::tests::records;
    use super::{Work, read};

    fn reading(text: &str) -> Work {
        read(&records(text), &["1".to_owned(), "2".to_owned()])
    }

    #[test]
    fn each_item_done_once_is_as_it_should_be() {
        let found = reading(
            "a claim 1 ok 0 5
             b claim 2 ok 0 5
             a death - ok 10 11
             a done 1 no 12 15
             c claim 1 ok 11 20
             c done 1 ok 21 25
             b done 2 no 30 40
             b claim 2 ok 41 42
             b done 2 ok 43 44",
        );
        assert_eq!(found, Work::default());
    }

    #[test]
    fn items_done_by_none_or_by_two_are_found() {
        let found = reading(
            "a claim 1 ok 0 5
             a done 1 ok 6 7
             b claim 1 ok 8 9
             b done 1 ok 10 11",
        );
        assert_eq!(found.not_once, ["item 1 was done 2 times", "item 2 was done 0 times"]);
        assert!(found.shared.is_empty());
    }

    #[test]
    fn two_claimants_at_once_are_found() {
        let found = reading(
            "a claim 1 ok 0 5
             b claim 1 ok 4 6
             a done 1 ok 7 8
             b done 1 no 9 10
             b claim 2 ok 11 12
             b done 2 ok 13 14",
        );
        assert_eq!((found.shared.len(), found.not_once.len()), (1, 0));
    }

    #[test]
    fn the_dead_do_nothing() {
        let found = reading(
            "a claim 1 ok 0 5
             a death - ok 6 7
             a done 1 ok 8 9
             b claim 2 ok 0 5
             b done 2 ok 6 7",
        );
        assert_eq!(found.from_the_grave, ["item 1 by a"]);
    }
}
