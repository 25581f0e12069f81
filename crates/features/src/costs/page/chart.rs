//! Money per day and project, as bars on top of each other.

use crate::charts::{short, tenths};
use crate::costs::view::{DaySum, dollars};
use crate::page::folder;

/// Where the bars stand, and how high the highest is, in pixels.
const GROUND: i64 = 176;
const HEIGHT: i64 = 150;

/// The projects with a colour of their own. The rest shares one.
const COLOURS: usize = 3;

pub(super) struct MoneyChart {
    pub(super) words: String,
    pub(super) lines: Vec<(i64, String)>,
    pub(super) days: Vec<DayBar>,
    pub(super) key: Vec<(String, String)>,
    pub(super) has_unpriced: bool,
}

pub(super) struct DayBar {
    pub(super) title: String,
    /// The day of the month; the last one with its month.
    pub(super) label: String,
    pub(super) x: String,
    pub(super) middle: String,
    pub(super) width: String,
    pub(super) parts: Vec<Part>,
    /// The sum, above the bar, where it stands out.
    pub(super) sum: Option<(i64, String)>,
    /// How high the mark of tokens without a price is.
    pub(super) unpriced: i64,
}

pub(super) struct Part {
    pub(super) class: &'static str,
    pub(super) y: String,
    pub(super) height: String,
}

impl MoneyChart {
    pub(super) fn of(days: &[DaySum]) -> Self {
        let max = days.iter().map(|one| one.nano_usd).max().unwrap_or(0);
        let scale = round_up(max);
        let projects = largest(days);
        let colour = |project: &str| {
            projects.iter().take(COLOURS).position(|(name, _)| name == project).unwrap_or(COLOURS)
        };
        let max_unpriced = days.iter().map(|one| one.unpriced_tokens).max().unwrap_or(0);
        let n = i64::try_from(days.len()).unwrap_or(1).max(1);
        let top = days.iter().position(|one| one.nano_usd == max && max > 0);
        let bar = |(at, one): (usize, &DaySum)| {
            let at_i = i64::try_from(at).unwrap_or(0);
            let slot = 940 / n;
            let x = 60 + at_i * slot;
            let is_last = at + 1 == days.len();
            let mut by_colour = [0_i64; COLOURS + 1];
            for (project, nanos) in &one.projects {
                by_colour[colour(project)] += nanos;
            }
            let mut parts = Vec::new();
            let mut below = 0;
            for (place, nanos) in by_colour.iter().enumerate().filter(|(_, nanos)| **nanos > 0) {
                let (from, to) = (up(below, scale), up(below + nanos, scale));
                let class = ["c1", "c2", "c3", "c4"][place];
                let (y, height) = (tenths(GROUND * 10 - to), tenths((to - from).max(1)));
                parts.push(Part { class, y, height });
                below += nanos;
            }
            let unpriced = match one.unpriced_tokens {
                0 => 0,
                tokens => (tokens * 24 / max_unpriced.max(1)).max(3),
            };
            let label = one.day.rsplit('-').next().unwrap_or_default().trim_start_matches('0');
            DayBar {
                title: title(one),
                label: if is_last {
                    one.day[5.min(one.day.len())..].to_owned()
                } else {
                    label.to_owned()
                },
                x: tenths(x),
                middle: tenths(x + (slot - 20) / 2),
                width: tenths(slot - 20),
                parts,
                sum: ((Some(at) == top || is_last) && one.nano_usd > 0)
                    .then(|| (GROUND - up(one.nano_usd, scale) / 10 - 6, dollars(one.nano_usd))),
                unpriced,
            }
        };
        let today = days.last().map_or(0, |one| one.nano_usd);
        Self {
            words: format!("At most {} a day; today {}.", dollars(max), dollars(today)),
            lines: (0..4).map(|n| (GROUND - HEIGHT * n / 3, dollars(scale * n / 3))).collect(),
            days: days.iter().enumerate().map(bar).collect(),
            key: key(&projects),
            has_unpriced: max_unpriced > 0,
        }
    }
}

/// How high that much money is, in tenths of pixels.
fn up(nanos: i64, scale: i64) -> i64 {
    i64::try_from(i128::from(nanos) * i128::from(HEIGHT) * 10 / i128::from(scale.max(1)))
        .unwrap_or(0)
}

fn title(one: &DaySum) -> String {
    match one.unpriced_tokens {
        0 => format!("{}: {}", one.day, dollars(one.nano_usd)),
        n => format!(
            "{}: {}, and {} tokens without a price",
            one.day,
            dollars(one.nano_usd),
            short(n)
        ),
    }
}

/// The projects by what they cost in all.
fn largest(days: &[DaySum]) -> Vec<(String, i64)> {
    let mut out: Vec<(String, i64)> = Vec::new();
    for (project, nanos) in days.iter().flat_map(|one| &one.projects) {
        match out.iter_mut().find(|(name, _)| name == project) {
            Some((_, sum)) => *sum += nanos,
            None => out.push((project.clone(), *nanos)),
        }
    }
    out.sort_by_key(|(_, sum)| std::cmp::Reverse(*sum));
    out
}

fn key(projects: &[(String, i64)]) -> Vec<(String, String)> {
    let name = |path: &str| folder(path.trim_end_matches("/.git")).to_owned();
    let mut out: Vec<(String, String)> = projects
        .iter()
        .take(COLOURS)
        .enumerate()
        .map(|(at, (path, sum))| {
            (format!("c{}", at + 1), format!("{} {}", name(path), dollars(*sum)))
        })
        .collect();
    let rest: i64 = projects.iter().skip(COLOURS).map(|(_, sum)| sum).sum();
    if rest > 0 {
        let n = projects.len() - COLOURS;
        out.push(("c4".to_owned(), format!("{n} more {}", dollars(rest))));
    }
    out
}

/// The top of the scale: three steps of 1, 2 or 5 times a power of ten, in billionths of a dollar.
fn round_up(max: i64) -> i64 {
    let mut step = 10_000_000_i64;
    loop {
        for times in [1, 2, 5] {
            let top = step.saturating_mul(3 * times);
            if top >= max {
                return top;
            }
        }
        step = step.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const DOLLAR: i64 = 1_000_000_000;

    fn spent(day: &str, projects: &[(&str, i64)], unpriced_tokens: i64) -> DaySum {
        let projects: BTreeMap<String, i64> =
            projects.iter().map(|(name, usd)| ((*name).to_owned(), usd * DOLLAR)).collect();
        DaySum { day: day.to_owned(), nano_usd: projects.values().sum(), projects, unpriced_tokens }
    }

    #[test]
    fn parts_stand_on_each_other_and_the_scale_is_round() {
        let days = [
            spent("2026-11-15", &[("/p/a", 40), ("/p/b", 10)], 0),
            spent("2026-11-16", &[("/p/a", 5)], 900),
        ];
        let chart = MoneyChart::of(&days);
        let scale: Vec<&str> = chart.lines.iter().map(|(_, label)| label.as_str()).collect();
        assert_eq!(scale, ["$0.00", "$20.00", "$40.00", "$60.00"]);
        let parts: Vec<_> = chart.days[0]
            .parts
            .iter()
            .map(|part| (part.class, part.y.as_str(), part.height.as_str()))
            .collect();
        assert_eq!(parts, [("c1", "76.0", "100.0"), ("c2", "51.0", "25.0")]);
        assert_eq!(chart.days[0].sum.as_ref().unwrap().1, "$50.00");
        assert_eq!((chart.days[1].unpriced, chart.days[1].label.as_str()), (24, "11-16"));
        assert_eq!(
            chart.key,
            [("c1".to_owned(), "a $45.00".to_owned()), ("c2".to_owned(), "b $10.00".to_owned())]
        );
    }

    #[test]
    fn nothing_spent_is_an_empty_drawing() {
        let chart = MoneyChart::of(&[spent("2026-11-16", &[], 0)]);
        assert!(chart.days[0].parts.is_empty() && chart.key.is_empty() && !chart.has_unpriced);
    }
}
