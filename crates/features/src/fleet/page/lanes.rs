//! The lanes of all agents, live or at a moment. It shows what `substrate fleet lanes` and `substrate fleet --at` return.

use askama::Template;
use substrate_core::time::parse_span;
use substrate_core::{Cx, PageBody, PageRequest, Timestamp, VerbError};

use crate::charts::{grouped, short};
use crate::fleet::lanes::draw::{self, Drawing};
use crate::fleet::lanes::then::{self, ActorThen, Then};
use crate::fleet::lanes::{self, Picture, USUAL_ENTRIES, Wanted, when};
use crate::identity::book;
use crate::page::{Since, body, clock, folder, in_query, status};

/// The spans that can be chosen.
const SPANS: [(&str, &str); 4] = [("15m", "15 min"), ("1h", "1 h"), ("6h", "6 h"), ("24h", "Day")];

/// The files that are named of an actor's.
const MAX_FILES: usize = 2;

#[derive(Template)]
#[template(path = "fleet/page/lanes.html")]
struct LanesPage {
    lanes: LanesView,
    then: Option<ThenView>,
}

pub(super) fn render(cx: &mut Cx<'_>, request: &PageRequest) -> Result<PageBody, VerbError> {
    let asked = Asked::of(cx, request)?;
    let lanes = LanesView::of(cx, request, asked, None)?;
    let then = match asked.at {
        Some(at) => Some(ThenView::of(cx, request, Timestamp(at), None)?),
        None => None,
    };
    body("Lanes", &LanesPage { lanes, then })
}

/// Which span and which moment are asked for.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    span: &'static str,
    span_ms: i64,
    until: Option<i64>,
    pub(super) at: Option<i64>,
}

impl Asked {
    /// `span`; `until`, its end; `at`, a moment; or `base` and `pos`, as the scrubber says it: seconds since then.
    pub(super) fn of(cx: &mut Cx<'_>, request: &PageRequest) -> Result<Self, VerbError> {
        let word = request.field("span").unwrap_or("1h");
        let known = SPANS.iter().find(|(known, _)| *known == word).unwrap_or(&SPANS[1]);
        let span_ms = parse_span(known.0).unwrap_or(3_600_000);
        let number = |name: &str| request.field(name).and_then(|text| text.parse::<i64>().ok());
        let mut until = number("until").filter(|until| *until < cx.now.0);
        let mut at = match (request.field("at"), number("base"), number("pos")) {
            (Some(text), ..) => Some(when::moment(cx, text, request.caller.tz_offset_s)?.0),
            (None, Some(base), Some(pos)) => Some(base.saturating_add(pos.saturating_mul(1_000))),
            _ => None,
        };
        at = at.map(|at| at.min(cx.now.0));
        if let Some(at) = at {
            let end = until.unwrap_or(cx.now.0);
            // The moment is in the picture, with what came after it.
            if at > end || at < end - span_ms {
                until = Some(at + span_ms / 2).filter(|until| *until < cx.now.0);
            }
        }
        Ok(Self { span: known.0, span_ms, until, at })
    }
}

/// A picture with its links.
pub(super) struct LanesView {
    pub(super) drawing: Drawing,
    pub(super) title: String,
    pub(super) meta: String,
    pub(super) is_live: bool,
    pub(super) is_cut: bool,
    pub(super) n_more: usize,
    pub(super) is_empty: bool,
    pub(super) spans: Vec<(String, &'static str, bool)>,
    pub(super) earlier: String,
    pub(super) later: Option<String>,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    pub(super) live: String,
    pub(super) action: &'static str,
    pub(super) who: String,
    pub(super) span: &'static str,
    pub(super) until: Option<i64>,
    pub(super) base: i64,
    pub(super) max: i64,
    pub(super) pos: i64,
    pub(super) pos_text: String,
}

impl LanesView {
    pub(super) fn of(
        cx: &mut Cx<'_>,
        request: &PageRequest,
        asked: Asked,
        agent: Option<&book::Address>,
    ) -> Result<Self, VerbError> {
        let wanted = Wanted {
            agent: agent.map(|agent| agent.agent),
            span_ms: asked.span_ms,
            until: asked.until.map(Timestamp),
            limit: USUAL_ENTRIES,
        };
        let picture = lanes::picture(cx, &wanted)?;
        let tz = request.caller.tz_offset_s;
        let drawing = draw::drawing(&picture, asked.at, tz, agent.is_some());
        let (action, who) = match agent {
            Some(agent) => ("/agent", agent.name.clone()),
            None => ("/lanes", String::new()),
        };
        let link = |more: &str| {
            let who = match who.as_str() {
                "" => String::new(),
                who => format!("who={}&", in_query(who)),
            };
            format!("{action}?{who}{more}")
        };
        let span = asked.span;
        let here = asked.until.map_or_else(String::new, |until| format!("&until={until}"));
        let (before, after) = beside(&picture, asked.at);
        let step = |at: i64| link(&format!("span={span}{here}&at={at}"));
        let base = picture.from_ms;
        let max = ((picture.until_ms - base) / 1_000).max(1);
        let pos = asked.at.map_or(max, |at| ((at - base) / 1_000).clamp(0, max));
        let later = asked.until.map(|until| until + asked.span_ms).map(|until| match until {
            until if until >= cx.now.0 => link(&format!("span={span}")),
            until => link(&format!("span={span}&until={until}")),
        });
        Ok(Self {
            title: match agent {
                Some(agent) => agent.name.clone(),
                None => "all agents".to_owned(),
            },
            meta: meta(&picture, &drawing),
            is_live: picture.is_live,
            is_cut: picture.is_cut,
            n_more: picture.n_more,
            is_empty: picture.lanes.is_empty(),
            spans: SPANS
                .iter()
                .map(|(known, label)| {
                    (link(&format!("span={known}{here}")), *label, *known == span)
                })
                .collect(),
            earlier: link(&format!("span={span}&until={}", picture.from_ms)),
            later,
            before: before.map(step),
            after: after.map(step),
            live: link(&format!("span={span}")),
            action,
            who: who.clone(),
            span,
            until: asked.until,
            base,
            max,
            pos,
            pos_text: clock(Timestamp(asked.at.unwrap_or(picture.until_ms)), tz),
            drawing,
        })
    }
}

/// The times of the entries before and after the moment.
fn beside(picture: &Picture, at: Option<i64>) -> (Option<i64>, Option<i64>) {
    let at = at.unwrap_or(i64::MAX);
    let times = &picture.times;
    let before = times.iter().rev().find(|time| **time < at).copied();
    (before, times.iter().find(|time| **time > at).copied())
}

fn meta(picture: &Picture, drawing: &Drawing) -> String {
    let counted = |n: usize, one: &str, many: &str| {
        let n = i64::try_from(n).unwrap_or(i64::MAX);
        if n == 1 { format!("1 {one}") } else { format!("{} {many}", grouped(n)) }
    };
    [
        format!("{} to {}", drawing.from, drawing.until),
        counted(picture.lanes.len() + picture.n_more, "actor", "actors"),
        counted(drawing.n_calls, "call", "calls"),
        counted(drawing.n_refused, "refusal", "refusals"),
        counted(drawing.n_mail, "mail", "mails"),
    ]
    .join(" · ")
}

/// How everything was at a moment.
pub(super) struct ThenView {
    pub(super) clock: String,
    pub(super) entry: String,
    pub(super) rows: Vec<ThenLine>,
}

pub(super) struct ThenLine {
    pub(super) name: String,
    pub(super) parent: String,
    pub(super) link: String,
    pub(super) status: String,
    pub(super) tool: String,
    pub(super) did: String,
    pub(super) since: String,
    pub(super) held: Vec<String>,
    pub(super) n_held_more: usize,
    pub(super) context: String,
}

impl ThenView {
    pub(super) fn of(
        cx: &mut Cx<'_>,
        request: &PageRequest,
        at: Timestamp,
        agent: Option<&str>,
    ) -> Result<Self, VerbError> {
        let Then { at_ms, entry, actors } = then::then(cx, at, agent)?;
        let tz_offset_s = request.caller.tz_offset_s;
        let line = |one: ActorThen| {
            let is_main = one.actor == book::MAIN;
            let own = one.address.split_once('/').map_or("", |(_, sub)| sub).to_owned();
            let since = one.since_ms.map(|since| Since {
                at: Timestamp(since),
                now: Timestamp(at_ms),
                tz_offset_s,
            });
            let class = if one.status == "silent" { "gone" } else { one.status };
            ThenLine {
                name: if is_main { one.agent.clone() } else { own },
                parent: if is_main { String::new() } else { one.agent.clone() },
                link: format!("/agent?who={}&at={at_ms}", in_query(&one.agent)),
                status: status(class, one.status),
                tool: one.tool,
                did: one.did,
                since: since.map_or_else(String::new, |since| since.html()),
                n_held_more: one.held.len().saturating_sub(MAX_FILES),
                held: one.held.iter().take(MAX_FILES).map(|path| folder(path).to_owned()).collect(),
                context: one.context.map(short).unwrap_or_default(),
            }
        };
        Ok(Self {
            clock: clock(at, tz_offset_s),
            entry: grouped(entry),
            rows: actors.into_iter().map(line).collect(),
        })
    }
}
