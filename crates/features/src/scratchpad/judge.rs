//! Judges the scratchpads that were looked up. A scratchpad that could not be looked up never holds an agent.

use substrate_core::facts::{Daily, DayFile};

use super::day::Days;
use super::sections;

/// The judgement on a scratchpad.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding<'a> {
    /// It has everything.
    Good,
    /// It is known not to exist.
    Absent,
    /// It exists, but something is missing.
    Lacking { folder: &'a str, day: &'a str, lack: Lack },
    /// It could not be judged.
    Unknown(Doubt),
}

/// What a scratchpad lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    Sections(Vec<&'static str>),
    /// It is the untouched template.
    Words,
    /// It is blank.
    Entry,
    /// A folder stands in its place.
    File,
}

/// Why a scratchpad could not be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    NotLookedUp,
    /// This file could not be read.
    Unreadable(String),
}

/// The folders that were looked up, and the days whose files count.
#[derive(Clone, Copy)]
pub(super) struct Lookup<'a, 'b> {
    pub(super) at: &'b [Option<&'a Daily>],
    pub(super) days: &'b Days,
}

/// Judges a scratchpad that must have every section.
pub(super) fn complete<'a>(looked: Lookup<'a, '_>) -> Finding<'a> {
    judged(looked, |text| {
        let missing = sections::missing(text);
        match missing.is_empty() {
            false => Some(Lack::Sections(missing)),
            true => sections::is_untouched(text).then_some(Lack::Words),
        }
    })
}

/// Judges a scratchpad that must only say something.
pub(super) fn written<'a>(looked: Lookup<'a, '_>) -> Finding<'a> {
    judged(looked, |text| {
        let blank = sections::is_blank(text).then_some(Lack::Entry);
        blank.or_else(|| sections::is_untouched(text).then_some(Lack::Words))
    })
}

impl Lack {
    /// How far the scratchpad is from complete.
    fn weight(&self) -> usize {
        match self {
            Self::Words => 0,
            Self::Sections(missing) => missing.len(),
            Self::Entry => sections::SECTIONS.len() + 1,
            Self::File => sections::SECTIONS.len() + 2,
        }
    }
}

/// One good file is enough. Of several incomplete ones the nearest to complete is reported, and of equals the latest.
fn judged<'a>(looked: Lookup<'a, '_>, lacks: impl Fn(&str) -> Option<Lack>) -> Finding<'a> {
    let mut best: Option<(&'a Daily, &'a DayFile, Lack)> = None;
    let mut unreadable = None;
    let Lookup { at, days } = looked;
    for found in at.iter().copied().flatten() {
        for file in found.files.iter().rev() {
            let path = format!("{}/{}.md", found.folder, file.day);
            if !days.hold(&file.day, file.changed_ms) {
                continue;
            }
            let lack = match &file.text {
                _ if file.is_folder => Lack::File,
                None => {
                    unreadable = Some(path);
                    continue;
                }
                Some(text) => match lacks(text) {
                    None => return Finding::Good,
                    Some(lack) => lack,
                },
            };
            if best.as_ref().is_none_or(|(_, _, least)| lack.weight() < least.weight()) {
                best = Some((found, file, lack));
            }
        }
    }
    if at.is_empty() || at.iter().any(Option::is_none) {
        return Finding::Unknown(Doubt::NotLookedUp);
    }
    match (unreadable, best) {
        (Some(path), _) => Finding::Unknown(Doubt::Unreadable(path)),
        (None, Some((found, file, lack))) => {
            Finding::Lacking { folder: &found.folder, day: &file.day, lack }
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
            is_folder: false,
            changed_ms: None,
        };
        Daily { folder: folder.to_owned(), files: files.iter().map(file).collect() }
    }

    /// One word for a finding.
    fn word(finding: &Finding<'_>) -> String {
        match finding {
            Finding::Good => "good".to_owned(),
            Finding::Absent => "absent".to_owned(),
            Finding::Lacking { day, lack, .. } => format!("{day} lacks {}", lack.weight()),
            Finding::Unknown(Doubt::NotLookedUp) => "not looked up".to_owned(),
            Finding::Unknown(Doubt::Unreadable(path)) => format!("unreadable {path}"),
        }
    }

    fn looked<'a, 'b>(at: &'b [Option<&'a Daily>], days: &'b Days) -> Lookup<'a, 'b> {
        Lookup { at, days }
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
        let days = Days::new("02-07".to_owned(), "02-08".to_owned(), None);
        let found = found("/a", files);
        assert_eq!(word(&complete(looked(&[Some(&found)], &days))), expected);
    }

    #[test]
    fn one_of_two_places_is_enough_and_one_not_looked_up_is_a_doubt() {
        let days = Days::new("02-08".to_owned(), "02-08".to_owned(), None);
        let (good, none) = (found("/b", &[("02-08", Some(ALL))]), found("/a", &[]));
        assert_eq!(complete(looked(&[Some(&none), Some(&good)], &days)), Finding::Good);
        assert_eq!(complete(looked(&[None, Some(&good)], &days)), Finding::Good);
        assert_eq!(complete(looked(&[Some(&none), Some(&none)], &days)), Finding::Absent);
        for at in [&[None, Some(&none)][..], &[None], &[]] {
            assert_eq!(complete(looked(at, &days)), Finding::Unknown(Doubt::NotLookedUp));
        }
    }

    #[test]
    fn an_entry_is_anything_but_blank() {
        let days = Days::new("02-08".to_owned(), "02-08".to_owned(), None);
        let (some, blank) =
            (found("/a", &[("02-08", Some("x"))]), found("/a", &[("02-08", Some(" \n"))]));
        assert_eq!(written(looked(&[Some(&some)], &days)), Finding::Good);
        assert_eq!(word(&written(looked(&[Some(&blank)], &days))), "02-08 lacks 4");
        let untouched = found("/a", &[("02-08", Some(&sections::template("x", "2026-02-08")))]);
        for judge in [complete, written] {
            assert_eq!(word(&judge(looked(&[Some(&untouched)], &days))), "02-08 lacks 0");
        }
    }

    #[test]
    fn a_folder_in_its_place_is_not_a_scratchpad() {
        let days = Days::new("02-08".to_owned(), "02-08".to_owned(), None);
        let mut folder = found("/a", &[("02-08", None)]);
        folder.files[0].is_folder = true;
        let finding = complete(looked(&[Some(&folder)], &days));
        assert!(matches!(finding, Finding::Lacking { lack: Lack::File, .. }), "{finding:?}");
    }
}
