//! Whether somebody may end: a judgement of what was looked up. What could not be looked up condemns nobody.

use substrate_core::facts::{Daily, DayFile};

use super::day::Days;
use super::sections;

/// What is known of a scratchpad.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding<'a> {
    /// It is as it must be.
    Good,
    /// Known not to be there.
    Absent,
    /// There, but not as it must be.
    Lacking { folder: &'a str, day: &'a str, lacks: Vec<&'static str> },
    /// Nobody can tell.
    Unknown(Unknown),
}

/// Why nobody can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    NotLookedUp,
    /// This file could not be read.
    Unreadable(String),
}

/// Judges a scratchpad that must have all sections.
pub(super) fn complete<'a>(looked: &[Option<&'a Daily>], days: &Days) -> Finding<'a> {
    judged(looked, days, sections::missing)
}

/// Judges a scratchpad of which only something must be written.
pub(super) fn written<'a>(looked: &[Option<&'a Daily>], days: &Days) -> Finding<'a> {
    judged(
        looked,
        days,
        |text| {
            if sections::is_blank(text) { vec!["an entry"] } else { Vec::new() }
        },
    )
}

/// One good file is enough; of several others the one that lacks least is told, the latest first.
fn judged<'a>(
    looked: &[Option<&'a Daily>],
    days: &Days,
    lacks: impl Fn(&str) -> Vec<&'static str>,
) -> Finding<'a> {
    let mut best: Option<(&'a Daily, &'a DayFile, Vec<&'static str>)> = None;
    let mut unreadable = None;
    for found in looked.iter().copied().flatten() {
        for file in found.files.iter().rev().filter(|file| days.hold(&file.day)) {
            let Some(text) = &file.text else {
                unreadable = Some(format!("{}/{}.md", found.folder, file.day));
                continue;
            };
            let lacks = lacks(text);
            if lacks.is_empty() {
                return Finding::Good;
            }
            if best.as_ref().is_none_or(|(_, _, least)| lacks.len() < least.len()) {
                best = Some((found, file, lacks));
            }
        }
    }
    if looked.is_empty() || looked.iter().any(Option::is_none) {
        return Finding::Unknown(Unknown::NotLookedUp);
    }
    match (unreadable, best) {
        (Some(path), _) => Finding::Unknown(Unknown::Unreadable(path)),
        (None, Some((found, file, lacks))) => {
            Finding::Lacking { folder: &found.folder, day: &file.day, lacks }
        }
        (None, None) => Finding::Absent,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const ALL: &str = "## What I did\n## Cross-agent observations\n## Unresolved\n";

    fn found(folder: &str, files: &[(&str, Option<&str>)]) -> Daily {
        let file = |(day, text): &(&str, Option<&str>)| DayFile {
            day: (*day).to_owned(),
            text: text.map(str::to_owned),
        };
        Daily { folder: folder.to_owned(), files: files.iter().map(file).collect() }
    }

    /// One word for a finding.
    fn word(finding: &Finding<'_>) -> String {
        match finding {
            Finding::Good => "good".to_owned(),
            Finding::Absent => "absent".to_owned(),
            Finding::Lacking { day, lacks, .. } => format!("{day} lacks {}", lacks.len()),
            Finding::Unknown(Unknown::NotLookedUp) => "not looked up".to_owned(),
            Finding::Unknown(Unknown::Unreadable(path)) => format!("unreadable {path}"),
        }
    }

    #[rstest]
    #[case::good(&[("02-08", Some(ALL))], "good")]
    #[case::of_the_start(&[("02-07", Some(ALL))], "good")]
    #[case::of_another_day(&[("02-06", Some(ALL)), ("02-09", Some(ALL))], "absent")]
    #[case::nothing(&[], "absent")]
    #[case::one_is_good(&[("02-07", Some(ALL)), ("02-08", Some("x"))], "good")]
    #[case::the_better_one(&[("02-07", Some("## Unresolved")), ("02-08", Some("x"))], "02-07 lacks 2")]
    #[case::the_later_one(&[("02-07", Some("x")), ("02-08", Some("x"))], "02-08 lacks 3")]
    #[case::unreadable(&[("02-08", None)], "unreadable /a/02-08.md")]
    #[case::good_beside_unreadable(&[("02-07", Some(ALL)), ("02-08", None)], "good")]
    #[case::bad_beside_unreadable(&[("02-07", Some("x")), ("02-08", None)], "unreadable /a/02-08.md")]
    fn files_are_judged(#[case] files: &[(&str, Option<&str>)], #[case] expected: &str) {
        let days = Days::new("02-07".to_owned(), "02-08".to_owned());
        let found = found("/a", files);
        assert_eq!(word(&complete(&[Some(&found)], &days)), expected);
    }

    #[test]
    fn one_of_two_places_is_enough_and_one_that_was_not_looked_at_is_a_doubt() {
        let days = Days::new("02-08".to_owned(), "02-08".to_owned());
        let (good, none) = (found("/b", &[("02-08", Some(ALL))]), found("/a", &[]));
        assert_eq!(complete(&[Some(&none), Some(&good)], &days), Finding::Good);
        assert_eq!(complete(&[None, Some(&good)], &days), Finding::Good);
        assert_eq!(complete(&[Some(&none), Some(&none)], &days), Finding::Absent);
        for looked in [&[None, Some(&none)][..], &[None], &[]] {
            assert_eq!(complete(looked, &days), Finding::Unknown(Unknown::NotLookedUp));
        }
    }

    #[test]
    fn an_entry_is_anything_but_blank() {
        let days = Days::new("02-08".to_owned(), "02-08".to_owned());
        let (some, blank) =
            (found("/a", &[("02-08", Some("x"))]), found("/a", &[("02-08", Some(" \n"))]));
        assert_eq!(written(&[Some(&some)], &days), Finding::Good);
        assert_eq!(word(&written(&[Some(&blank)], &days)), "02-08 lacks 1");
    }
}
