//! Where everything of a picture stands: x in per cent of the width, y in pixels, so that it grows with the page and its
//! text does not.

use substrate_core::Timestamp;
use substrate_core::time::Ago;

use super::build::{Bar, BarKind, Lane, MarkKind};
use super::{Arrow, Picture};
use crate::charts::tenths;
use crate::identity::book;
use crate::page::{clock, in_query};

/// The heights of a lane, of what is above the first one, and of a band, as in the stylesheet.
const LANE: usize = 64;
const TOP: usize = 24;
const BAND: usize = 32;

/// The height of the density below the lanes.
const DENSITY: usize = 32;

/// A label fits into a bar that is this wide, in tenths of a per cent, per character and at least.
const PER_CHAR: i64 = 11;
const PADDING: i64 = 18;

/// How far an arrow leans, in tenths of a per cent.
const LEAN: i64 = 7;

/// A picture, ready to be drawn.
pub(in crate::fleet) struct Drawing {
    pub(in crate::fleet) height: usize,
    pub(in crate::fleet) from: String,
    pub(in crate::fleet) until: String,
    pub(in crate::fleet) ticks: Vec<Tick>,
    pub(in crate::fleet) lanes: Vec<DrawnLane>,
    pub(in crate::fleet) arrows: Vec<DrawnArrow>,
    /// The lane of those who have none of their own, if there is one: where it begins, and who is in it.
    pub(in crate::fleet) others: Option<usize>,
    pub(in crate::fleet) others_y: usize,
    pub(in crate::fleet) names: Vec<(String, String)>,
    /// The moment that is looked at: its place, its time, and where the label of that begins, so that no edge cuts it.
    pub(in crate::fleet) moment: Option<(String, String, i64)>,
    pub(in crate::fleet) density: Vec<Part>,
    /// Refusals and dialogs, for the scrubber.
    pub(in crate::fleet) signs: Vec<(String, bool)>,
    pub(in crate::fleet) n_calls: usize,
    pub(in crate::fleet) n_refused: usize,
    pub(in crate::fleet) n_mail: usize,
}

pub(in crate::fleet) struct Tick {
    pub(in crate::fleet) x: String,
    pub(in crate::fleet) label: String,
    pub(in crate::fleet) class: &'static str,
}

pub(in crate::fleet) struct DrawnLane {
    pub(in crate::fleet) name: String,
    /// The agent, before a subagent's own name.
    pub(in crate::fleet) parent: String,
    pub(in crate::fleet) link: String,
    pub(in crate::fleet) note: String,
    pub(in crate::fleet) band_x: String,
    pub(in crate::fleet) band_width: String,
    pub(in crate::fleet) y: usize,
    pub(in crate::fleet) bar_y: usize,
    pub(in crate::fleet) bars: Vec<DrawnBar>,
    /// Compactions: their places and what they say.
    pub(in crate::fleet) folds: Vec<(String, String, String)>,
}

pub(in crate::fleet) struct DrawnBar {
    pub(in crate::fleet) class: &'static str,
    pub(in crate::fleet) x: String,
    pub(in crate::fleet) width: String,
    pub(in crate::fleet) title: String,
    pub(in crate::fleet) label: String,
    pub(in crate::fleet) text_class: &'static str,
}

pub(in crate::fleet) struct DrawnArrow {
    pub(in crate::fleet) x1: String,
    pub(in crate::fleet) x2: String,
    pub(in crate::fleet) y1: usize,
    pub(in crate::fleet) y2: usize,
    pub(in crate::fleet) title: String,
    /// `#401`, and where it stands; empty for a prompt, and where there is no room.
    pub(in crate::fleet) label: String,
    pub(in crate::fleet) label_x: String,
    pub(in crate::fleet) label_y: usize,
}

pub(in crate::fleet) struct Part {
    pub(in crate::fleet) x: String,
    pub(in crate::fleet) y: usize,
    pub(in crate::fleet) height: usize,
}

/// The span of a picture.
#[derive(Clone, Copy)]
struct Span {
    from: i64,
    until: i64,
    tz_offset_s: i32,
}

impl Span {
    /// A moment in tenths of a per cent of the width.
    fn x(self, at_ms: i64) -> i64 {
        ((at_ms - self.from) * 1_000 / (self.until - self.from).max(1)).clamp(0, 1_000)
    }

    fn clock(self, at_ms: i64) -> String {
        clock(Timestamp(at_ms), self.tz_offset_s)
    }

    /// `14:40`, or with seconds where the span is short.
    fn tick(self, at_ms: i64) -> String {
        let text = self.clock(at_ms);
        if self.until - self.from <= 6 * 60_000 { text } else { text[..5].to_owned() }
    }
}

pub(in crate::fleet) fn drawing(
    picture: &Picture,
    at: Option<i64>,
    tz_offset_s: i32,
    of_one: bool,
) -> Drawing {
    let span = Span { from: picture.from_ms, until: picture.until_ms, tz_offset_s };
    let lanes: Vec<DrawnLane> = (0_usize..)
        .zip(&picture.lanes)
        .map(|(n, lane)| drawn(lane, TOP + n * LANE, span, of_one, at))
        .collect();
    let others_y = TOP + lanes.len() * LANE;
    let mut arrows = Arrows { span, picture, others_y, names: Vec::new(), labels: Vec::new() };
    let drawn: Vec<DrawnArrow> = arrows.all();
    let names = arrows.names;
    let others = (!names.is_empty()).then_some(others_y);
    let signs = picture.lanes.iter().flat_map(|lane| &lane.bars).filter_map(|bar| match bar.kind {
        BarKind::Refused => Some((tenths(span.x(bar.from_ms)), true)),
        BarKind::Dialog => Some((tenths(span.x(bar.from_ms)), false)),
        _ => None,
    });
    Drawing {
        height: others_y + if others.is_some() { LANE } else { 0 },
        from: span.clock(span.from),
        until: span.clock(span.until),
        ticks: ticks(span),
        n_calls: picture.lanes.iter().map(|lane| lane.n_calls).sum(),
        n_refused: picture.lanes.iter().map(|lane| lane.n_refused).sum(),
        n_mail: picture.mail.len(),
        lanes,
        arrows: drawn,
        others,
        others_y,
        names: names.into_iter().map(|(x, name)| (tenths(x), name)).collect(),
        moment: at.map(|at| {
            let x = span.x(at);
            let label = match x {
                ..35 => 0,
                965.. => -60,
                _ => -30,
            };
            (tenths(x), span.clock(at), label)
        }),
        density: density(&picture.counts),
        signs: signs.take(60).collect(),
    }
}

/// Six parts, at whole units of time where that is possible.
fn ticks(span: Span) -> Vec<Tick> {
    const STEPS: [i64; 11] = [
        1_000, 5_000, 15_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000, 10_800_000,
        21_600_000, 86_400_000,
    ];
    let length = span.until - span.from;
    let step = STEPS.into_iter().find(|step| length / step <= 7).unwrap_or(86_400_000);
    let offset = i64::from(span.tz_offset_s) * 1_000;
    let first = (span.from + offset).div_euclid(step) * step - offset;
    let times = (0..9).map(|n| first + n * step).filter(|at| (span.from..=span.until).contains(at));
    let tick = |at: i64| {
        let x = span.x(at);
        let class = match x {
            ..30 => "",
            970.. => "end",
            _ => "mid",
        };
        Tick { x: tenths(x), label: span.tick(at), class }
    };
    times.map(tick).collect()
}

fn drawn(lane: &Lane, top: usize, span: Span, of_one: bool, at: Option<i64>) -> DrawnLane {
    let is_main = lane.actor == book::MAIN;
    let own = lane.address.split_once('/').map_or("", |(_, sub)| sub);
    let end = if lane.has_ended { lane.last_ms } else { span.until };
    let (x, until) = (span.x(lane.first_ms), span.x(end));
    let note = match (lane.has_ended, lane.n_calls) {
        (true, _) => format!("ended {}", span.tick(lane.last_ms)),
        (false, 1) => "1 call".to_owned(),
        (false, n) => format!("{n} calls"),
    };
    let link = match at {
        Some(at) => format!("/agent?who={}&at={at}", in_query(&lane.agent)),
        None => format!("/agent?who={}", in_query(&lane.agent)),
    };
    let fold = |at_ms: i64| {
        let x = span.x(at_ms);
        (tenths(x), tenths(x + 6), format!("{} compaction", span.clock(at_ms)))
    };
    let folds = lane.marks.iter().filter(|mark| mark.kind == MarkKind::Compaction);
    DrawnLane {
        name: if is_main { lane.agent.clone() } else { own.to_owned() },
        parent: if is_main { String::new() } else { lane.agent.clone() },
        link: if of_one { String::new() } else { link },
        note,
        band_x: tenths(x),
        band_width: tenths((until - x).max(4)),
        y: top + 10,
        bar_y: top + 16,
        bars: bars(&lane.bars, span),
        folds: folds.map(|mark| fold(mark.at_ms)).collect(),
    }
}

/// The bars of a lane. Many short ones of a kind in one place are one.
fn bars(all: &[Bar], span: Span) -> Vec<DrawnBar> {
    let mut out: Vec<(BarKind, i64, i64, usize, DrawnBar)> = Vec::new();
    for bar in all {
        let x = span.x(bar.from_ms);
        let until = span.x(bar.until_ms.unwrap_or(span.until));
        let width = (until - x).max(if bar.kind == BarKind::Refused { 6 } else { 4 });
        if let Some((kind, from, to, n, drawn)) = out.last_mut()
            && *kind == bar.kind
            && width <= 4
            && x <= *to
        {
            (*to, *n) = ((*to).max(x + width), *n + 1);
            drawn.width = tenths(*to - *from);
            drawn.title = format!("{n} calls until {} {}", span.clock(bar.from_ms), bar.tool);
            drawn.label = String::new();
            continue;
        }
        out.push((bar.kind, x, x + width, 1, one(bar, x, width, span)));
    }
    out.into_iter().map(|(.., drawn)| drawn).collect()
}

fn one(bar: &Bar, x: i64, width: i64, span: Span) -> DrawnBar {
    let (class, text_class) = match bar.kind {
        BarKind::Read => ("read", "on-soft"),
        BarKind::Run => ("run", "on-soft"),
        BarKind::Edit => ("edit", "on"),
        BarKind::Dialog => ("dialog", "on-soft"),
        BarKind::Refused => ("block", "on"),
        BarKind::Wait => ("wait", "on-soft"),
    };
    let label = match bar.kind {
        BarKind::Dialog => "Asks",
        BarKind::Wait => "Waits",
        BarKind::Refused => "",
        BarKind::Read | BarKind::Run | BarKind::Edit => bar.tool.as_str(),
    };
    let n_chars = i64::try_from(label.chars().count()).unwrap_or(i64::MAX);
    let fits = width >= n_chars * PER_CHAR + PADDING;
    let lasted = match bar.until_ms {
        None => ", goes on".to_owned(),
        Some(until) if until - bar.from_ms >= 1_000 => {
            format!(", {}", Ago(until - bar.from_ms))
        }
        Some(_) => String::new(),
    };
    let what = match bar.kind {
        BarKind::Refused => "refused: ",
        BarKind::Dialog => "asks: ",
        _ => "",
    };
    let (at, tool, text) = (span.clock(bar.from_ms), &bar.tool, &bar.text);
    DrawnBar {
        class,
        x: tenths(x),
        width: tenths(width),
        title: format!("{at} {what}{tool} {text}{lasted}"),
        label: if fits { label.to_owned() } else { String::new() },
        text_class,
    }
}

/// Arrows between lanes. Those who have no lane stand below.
struct Arrows<'a> {
    span: Span,
    picture: &'a Picture,
    others_y: usize,
    /// Who stands below, and where.
    names: Vec<(i64, String)>,
    /// Where labels stand already.
    labels: Vec<(i64, usize)>,
}

impl Arrows<'_> {
    fn all(&mut self) -> Vec<DrawnArrow> {
        let mut out = Vec::new();
        for (n, lane) in (0_usize..).zip(&self.picture.lanes) {
            let prompts = lane.marks.iter().filter(|mark| mark.kind == MarkKind::Prompt);
            for mark in prompts.filter(|mark| !mark.text.is_empty()) {
                let x = self.span.x(mark.at_ms);
                let from = self.below(x, "You");
                let title = format!("{} you: {}", self.span.clock(mark.at_ms), mark.text);
                out.extend(from.map(|from| self.arrow(from, Some(n), (x, x + LEAN), title, 0)));
            }
        }
        for arrow in &self.picture.mail {
            out.extend(self.mail(arrow));
        }
        out
    }

    fn mail(&mut self, arrow: &Arrow) -> Option<DrawnArrow> {
        let lane =
            |address: &str| self.picture.lanes.iter().position(|lane| lane.address == address);
        let (from, to) = (lane(&arrow.from), lane(&arrow.to));
        let x1 = self.span.x(arrow.sent_ms);
        let arrives = arrow.arrived_ms.map_or(0, |at| self.span.x(at));
        let x2 = (x1 + LEAN).max(arrives).min(1_000);
        let (from, to) = match (from, to) {
            (Some(from), Some(to)) if from != to => (from, to),
            (None, Some(to)) => (self.below(x1, &named(&arrow.from))?, to),
            (Some(from), None) => (from, self.below(x2, &named(&arrow.to))?),
            _ => return None,
        };
        let Arrow { id, from: sender, to: getter, subject, .. } = arrow;
        let title =
            format!("{} #{id} {sender} to {getter}: {subject}", self.span.clock(arrow.sent_ms));
        Some(self.arrow(from, Some(to), (x1, x2), title, *id))
    }

    /// The lane of the others, with a name in it. `None`: there is no room for the name.
    fn below(&mut self, x: i64, name: &str) -> Option<usize> {
        let wide = |name: &str| i64::try_from(name.chars().count()).unwrap_or(0) * 7 + 10;
        let place = x.min(1_000 - wide(name)).max(0);
        let is_there = |(at, known): &(i64, String)| known == name && (place - at).abs() < 300;
        let is_taken =
            |(at, known): &(i64, String)| (at - place).abs() < wide(known).max(wide(name));
        if !self.names.iter().any(is_there) {
            if self.names.iter().any(is_taken) {
                return None;
            }
            self.names.push((place, name.to_owned()));
        }
        Some(self.picture.lanes.len())
    }

    fn arrow(
        &mut self,
        from: usize,
        to: Option<usize>,
        (x1, x2): (i64, i64),
        title: String,
        id: i64,
    ) -> DrawnArrow {
        let n_lanes = self.picture.lanes.len();
        let top = |lane: usize| {
            if lane == n_lanes { self.others_y + 20 } else { TOP + lane * LANE + 10 }
        };
        let to = to.unwrap_or(n_lanes);
        let (y1, y2) =
            if from > to { (top(from), top(to) + BAND) } else { (top(from) + BAND, top(to)) };
        let (x, y) = (x1 + 9, y1.midpoint(y2) + 4);
        let is_free = self.labels.iter().all(|(at, of)| (at - x).abs() > 50 || of.abs_diff(y) > 14);
        let label = if id > 0 && is_free && x < 960 { format!("#{id}") } else { String::new() };
        if !label.is_empty() {
            self.labels.push((x, y));
        }
        DrawnArrow {
            x1: tenths(x1),
            x2: tenths(x2),
            y1,
            y2,
            title,
            label,
            label_x: tenths(x),
            label_y: y,
        }
    }
}

/// The user is the reader.
fn named(address: &str) -> String {
    if address == "User" { "You".to_owned() } else { address.to_owned() }
}

fn density(counts: &[usize]) -> Vec<Part> {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let slot = 1_000 / i64::try_from(counts.len().max(1)).unwrap_or(1);
    let part = |(n, count): (i64, &usize)| {
        let height = (count * (DENSITY - 8)).div_ceil(most);
        (height > 0).then(|| Part { x: tenths(n * slot + 2), y: DENSITY - height, height })
    };
    (0_i64..).zip(counts).filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(kind: BarKind, from_ms: i64, until_ms: i64) -> Bar {
        let (tool, text) = ("Bash".to_owned(), "ls".to_owned());
        Bar { kind, from_ms, until_ms: Some(until_ms), tool, text, entry: 1 }
    }

    fn lane(address: &str, bars: Vec<Bar>) -> Lane {
        let agent = address.split('/').next().unwrap_or_default().to_owned();
        let actor = if address.contains('/') { "sub" } else { "main" };
        Lane {
            agent,
            address: address.to_owned(),
            actor: actor.to_owned(),
            bars,
            ..Lane::default()
        }
    }

    fn picture(lanes: Vec<Lane>, mail: Vec<Arrow>) -> Picture {
        Picture {
            from_ms: 0,
            until_ms: 100_000,
            is_live: true,
            is_cut: false,
            n_entries: 1,
            counts: vec![0, 2, 4],
            lanes,
            n_more: 0,
            mail,
            times: Vec::new(),
        }
    }

    fn sent(id: i64, from: &str, to: &str, sent_ms: i64) -> Arrow {
        let (from, to, subject) = (from.to_owned(), to.to_owned(), "hi".to_owned());
        Arrow { id, from, to, sent_ms, arrived_ms: None, subject }
    }

    #[test]
    fn a_bar_has_its_place_and_a_label_only_where_it_fits() {
        let all = vec![bar(BarKind::Run, 0, 20_000), bar(BarKind::Edit, 50_000, 51_000)];
        let drawn = drawing(&picture(vec![lane("A", all)], Vec::new()), None, 0, false);
        let [long, short] = &drawn.lanes[0].bars[..] else { panic!("two bars") };
        assert_eq!(
            (long.x.as_str(), long.width.as_str(), long.label.as_str()),
            ("0.0", "20.0", "Bash")
        );
        assert_eq!(
            (short.x.as_str(), short.width.as_str(), short.label.as_str()),
            ("50.0", "1.0", "")
        );
        assert_eq!(long.title, "00:00:00 Bash ls, 20s");
    }

    #[test]
    fn many_short_calls_in_one_place_are_one_bar() {
        let all = (0..200).map(|n| bar(BarKind::Read, 50_000 + n, 50_000 + n)).collect();
        let drawn = drawing(&picture(vec![lane("A", all)], Vec::new()), None, 0, false);
        assert_eq!(drawn.lanes[0].bars.len(), 1);
        assert!(drawn.lanes[0].bars[0].title.starts_with("200 calls"));
    }

    #[test]
    fn mail_goes_from_lane_to_lane_and_others_stand_below() {
        let mail = vec![sent(1, "A", "B/sub", 10_000), sent(2, "C", "A", 50_000)];
        let lanes = vec![lane("A", Vec::new()), lane("B/sub", Vec::new())];
        let drawn = drawing(&picture(lanes, mail), Some(50_000), 0, false);
        let [first, second] = &drawn.arrows[..] else { panic!("two arrows") };
        assert_eq!((first.y1, first.y2, first.label.as_str()), (66, 98, "#1"));
        assert_eq!((second.y1, second.y2), (172, 66), "from below, to the lower edge");
        assert_eq!(drawn.names.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>(), ["C"]);
        assert_eq!(drawn.others, Some(152));
        assert_eq!(drawn.moment, Some(("50.0".to_owned(), "00:00:50".to_owned(), -30)));
        let at_the_edge = drawing(&picture(Vec::new(), Vec::new()), Some(99_000), 0, false);
        assert_eq!(at_the_edge.moment.map(|(.., label)| label), Some(-60));
    }

    #[test]
    fn nothing_overlaps_below() {
        let mail = (0..50).map(|n| sent(n + 1, &format!("Agent{n}"), "A", n * 2_000)).collect();
        let drawn = drawing(&picture(vec![lane("A", Vec::new())], mail), None, 0, false);
        let places: Vec<i64> =
            drawn.names.iter().map(|(x, _)| x.replace('.', "").parse().unwrap()).collect();
        assert!(places.windows(2).all(|two| two[1] - two[0] >= 50), "{places:?}");
        assert!(drawn.names.len() > 5);
    }

    #[test]
    fn ticks_are_at_whole_units() {
        let span = Span { from: 3_599_000, until: 7_199_000, tz_offset_s: 0 };
        let labels: Vec<String> = ticks(span).into_iter().map(|tick| tick.label).collect();
        assert_eq!(labels, ["01:00", "01:10", "01:20", "01:30", "01:40", "01:50"]);
    }
}
