//! Who certainly held which file: from the end of an allowed edit until the beginning of the holder's Stop.

use super::{Act, Moment, Record, Tenure, Verdict, by_actor, shared};

/// Broken promises about leases.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::torture) struct Locks {
    /// Two agents certainly held a file at the same time.
    pub(in crate::torture) shared: Vec<String>,
    /// A holder was refused its own file.
    pub(in crate::torture) refused: Vec<String>,
}

/// Reads PreToolUse (`Act::Before`, about one file) and Stop.
pub(in crate::torture) fn read(records: &[Record]) -> Locks {
    let mut tenures = Vec::new();
    let mut refused = Vec::new();
    for of_actor in by_actor(records) {
        let mut held: Vec<Tenure<'_>> = Vec::new();
        for record in of_actor {
            match (record.act, record.verdict, record.about.first()) {
                (Act::Before, Verdict::Allowed, Some(file))
                    if !held.iter().any(|tenure| tenure.what == file) =>
                {
                    let (from, to) = (record.ended, Moment::MAX);
                    held.push(Tenure { what: file, actor: &record.actor, from, to });
                }
                (Act::Before, Verdict::Refused, Some(file)) => {
                    if let Some(tenure) = held.iter().find(|tenure| tenure.what == file) {
                        refused.push(format!(
                            "{} was refused {file} at {:.1?}, held since {:.1?}",
                            record.actor, record.began, tenure.from
                        ));
                    }
                }
                // Whatever the answer: from here on the lease may be released.
                (Act::Stop | Act::StopAgain, ..) => {
                    let ended = held.drain(..).map(|tenure| Tenure { to: record.began, ..tenure });
                    tenures.extend(ended);
                }
                _ => {}
            }
        }
        tenures.extend(held);
    }
    Locks { shared: shared(tenures), refused }
}

#[cfg(test)]
mod tests {
    use super::super::tests::records;
    use super::read;

    #[test]
    fn one_after_the_other_is_as_it_should_be() {
        let found = read(&records(
            "a before f ok 0 10
             b before f no 5 15
             a after f ok 11 20
             a before f ok 21 25
             a stop - ok 30 40
             b before f ok 31 35
             b before g ok 36 37
             a before h ok 50 60",
        ));
        assert_eq!(found, super::Locks::default());
    }

    #[test]
    fn two_holders_at_once_are_found() {
        let found = read(&records(
            "a before f ok 0 10
             b before f ok 12 20
             a stop - ok 30 40",
        ));
        assert_eq!((found.shared.len(), found.refused.len()), (1, 0));
    }

    #[test]
    fn a_holder_that_never_stops_holds_to_the_end() {
        let found = read(&records("a before f ok 0 10\n b before f ok 900 990"));
        assert_eq!(found.shared.len(), 1);
    }

    #[test]
    fn while_a_stop_runs_the_file_may_be_anyones() {
        let found = read(&records(
            "a before f ok 0 10
             a stop - ok 20 90
             b before f ok 15 25
             a before f no 91 95",
        ));
        assert_eq!(found, super::Locks::default());
    }

    #[test]
    fn a_refused_holder_is_found() {
        let found = read(&records(
            "a before f ok 0 10
             a before f no 20 30
             a stop - ok 40 50
             a before f no 60 70",
        ));
        assert_eq!((found.shared.len(), found.refused.len()), (0, 1));
    }

    #[test]
    fn an_edit_whose_hook_failed_proves_nothing() {
        let found = read(&records("a before f failed 0 10\n b before f ok 12 20"));
        assert_eq!(found, super::Locks::default());
    }
}
