//! The page of one agent: its state, its lanes, how it was at a moment, and its story. It shows what `substrate fleet`,
//! `fleet lanes`, `fleet --at` and `fleet story` return.

use askama::Template;
use substrate_core::view::{Moment, MomentKind};
use substrate_core::{Cx, PageBody, PageRequest, Timestamp, VerbError, html};

use super::lanes::{Asked, LanesView, ThenView};
use super::needs::go_fields;
use crate::charts::{short, tenths};
use crate::fleet::status::Status;
use crate::fleet::story::{self, StoryView};
use crate::fleet::verbs::fleet::agent_named;
use crate::fleet::view;
use crate::identity::book;
use crate::page::{Since, body, clock, folder, in_query, status};

/// How far a story goes back.
const STORY_MS: i64 = 24 * 3_600_000;

/// Moments of each feature, and of the page.
const PER_FEATURE: i64 = 60;
const MAX_MOMENTS: usize = 120;

/// The height of the context's picture, and of the bars of efforts below it.
const HEIGHT: i64 = 64;

#[derive(Template)]
#[template(path = "fleet/page/agent.html")]
struct AgentPage {
    who: String,
    status: String,
    meta: String,
    needs_you: bool,
    pane: String,
    /// The form that goes there. Empty: this browser only looks.
    go: String,
    resume: String,
    to: String,
    lanes: LanesView,
    then: Option<ThenView>,
    story_meta: String,
    context: Option<ContextChart>,
    moments: Vec<MomentLine>,
    kinds: Vec<(String, String, bool)>,
    shows_all: bool,
    all: String,
    failed: Vec<&'static str>,
}

/// How full the context was, over the time of the story, with windows and efforts.
struct ContextChart {
    line: String,
    area: String,
    words: String,
    from: String,
    until: String,
    /// Where a window begins, and its number.
    windows: Vec<(String, String)>,
    /// Where an effort begins and how long it lasted.
    efforts: Vec<(String, String, String)>,
}

struct MomentLine {
    id: String,
    class: &'static str,
    icon: &'static str,
    title: String,
    when: String,
    actor: String,
    text: String,
    entry: Option<i64>,
    link: Option<String>,
    moment: String,
}

pub(super) fn render(cx: &mut Cx<'_>, request: &PageRequest) -> Result<PageBody, VerbError> {
    let agent = agent_named(cx, request.field("who").unwrap_or_default())?;
    let agent = book::Address { sub: String::new(), ..agent };
    let asked = Asked::of(cx, request)?;
    let until = asked.at.map_or(cx.now, |at| Timestamp(at + 1_000));
    // First, because it looks further back than the lanes, and what it finds serves them as well.
    let found = story::story(cx, &agent, (until.plus_ms(-STORY_MS), until), PER_FEATURE)?;
    let lanes = LanesView::of(cx, request, asked, Some(&agent))?;
    let then = match asked.at {
        Some(at) => Some(ThenView::of(cx, request, Timestamp(at), Some(&agent.name))?),
        None => None,
    };
    let kind = request.field("kind");
    let here = format!("/agent?who={}", in_query(&agent.name));
    let lines = view::of_agent(cx, agent.agent)?;
    let main = lines.iter().find(|line| line.seat.actor == book::MAIN);
    let page = AgentPage {
        status: main.map_or_else(
            || status("gone", "not there"),
            |line| {
                let class = line.status.map_or("gone", Status::name);
                let why = match line.why.as_str() {
                    "" => line.shown().to_owned(),
                    why => format!("{}: {why}", line.shown()),
                };
                status(class, &why)
            },
        ),
        meta: main.map_or_else(String::new, |line| {
            let project = folder(line.seat.project.trim_end_matches("/.git")).to_owned();
            let since = clock(line.since, request.caller.tz_offset_s);
            format!("{project} · {} · since {since}", line.seat.client)
        }),
        needs_you: lines.iter().any(view::FleetRow::needs_you),
        pane: main
            .and_then(|line| line.pane.as_ref())
            .map_or_else(String::new, |pane| pane.id.clone()),
        go: match main.and_then(|line| line.pane.as_ref()).filter(|_| request.may_act) {
            Some(_) => go_fields(request, &agent.name, "agent"),
            None => String::new(),
        },
        resume: main.and_then(|line| line.resume.clone()).unwrap_or_default(),
        to: in_query(&agent.name),
        who: agent.name.clone(),
        lanes,
        then,
        story_meta: counted(&found),
        context: context(&found, request.caller.tz_offset_s),
        kinds: kinds(&found, kind, &here),
        shows_all: kind.is_none(),
        moments: found
            .moments
            .iter()
            .rev()
            .filter(|moment| kind.is_none_or(|kind| moment.kind.name() == kind))
            .take(MAX_MOMENTS)
            .map(|moment| line(moment, &agent.name, cx.now, request.caller.tz_offset_s))
            .collect(),
        all: here,
        failed: found.failed,
    };
    body(agent.name, &page)
}

/// `4 windows, 1 handover, 2 efforts`.
fn counted(found: &StoryView) -> String {
    let words = [
        (MomentKind::Window, "window"),
        (MomentKind::Compaction, "compaction"),
        (MomentKind::Handover, "handover"),
        (MomentKind::Effort, "effort"),
        (MomentKind::Scratchpad, "scratchpad"),
        (MomentKind::Refusal, "refusal"),
    ];
    let counted = words.iter().filter_map(|(kind, word)| {
        let n = found.moments.iter().filter(|moment| moment.kind == *kind).count();
        (n > 0).then(|| format!("{n} {word}{}", if n == 1 { "" } else { "s" }))
    });
    let counted: Vec<String> = counted.collect();
    match counted.is_empty() {
        true => "newest first".to_owned(),
        false => format!("{} in a day · newest first", counted.join(", ")),
    }
}

fn kinds(found: &StoryView, chosen: Option<&str>, here: &str) -> Vec<(String, String, bool)> {
    let mut out: Vec<(&'static str, usize)> = Vec::new();
    for moment in &found.moments {
        let name = moment.kind.name();
        match out.iter_mut().find(|(known, _)| *known == name) {
            Some((_, n)) => *n += 1,
            None => out.push((name, 1)),
        }
    }
    let link = |(name, n): (&'static str, usize)| {
        (format!("{here}&kind={name}#story"), format!("{name} {n}"), chosen == Some(name))
    };
    out.into_iter().map(link).collect()
}

fn context(found: &StoryView, tz_offset_s: i32) -> Option<ContextChart> {
    let (first, last) = (found.context.first()?, found.context.last()?);
    if found.context.len() < 2 {
        return None;
    }
    let (from, until) = (first.0, last.0.max(first.0 + 1));
    let most = found.context.iter().map(|(_, tokens)| *tokens).max()?.max(1);
    let x = |at_ms: i64| ((at_ms - from) * 1_000 / (until - from)).clamp(0, 1_000);
    let points: Vec<String> = found
        .context
        .iter()
        .map(|(at, tokens)| {
            let y = HEIGHT * 10 - tokens * (HEIGHT - 8) * 10 / most;
            format!("{},{}", tenths(x(*at)), tenths(y))
        })
        .collect();
    let line = points.join(" ");
    let of = |kind: MomentKind| found.moments.iter().filter(move |moment| moment.kind == kind);
    let in_it =
        |moment: &&Moment| moment.until_ms.is_none_or(|end| end >= from) && moment.at_ms <= until;
    let windows = of(MomentKind::Window)
        .filter(in_it)
        .map(|moment| (tenths(x(moment.at_ms)), moment.title.clone()))
        .collect();
    let efforts = of(MomentKind::Effort)
        .filter(in_it)
        .map(|moment| {
            let (begins, ends) = (x(moment.at_ms), x(moment.until_ms.unwrap_or(until)));
            (tenths(begins), tenths((ends - begins).max(4)), moment.title.clone())
        })
        .collect();
    Some(ContextChart {
        area: format!("0,{HEIGHT} {line} 100,{HEIGHT}"),
        line,
        words: format!("at most {} tokens, {} at the latest answer", short(most), short(last.1)),
        from: clock(Timestamp(from), tz_offset_s),
        until: clock(Timestamp(until), tz_offset_s),
        windows,
        efforts,
    })
}

fn line(moment: &Moment, agent: &str, now: Timestamp, tz_offset_s: i32) -> MomentLine {
    use MomentKind as K;
    let (class, icon) = match moment.kind {
        K::Began => ("checked", "window"),
        K::Ended => ("gone", "gone"),
        K::Prompt => ("mark", "ask"),
        K::Turn => ("done", "done"),
        K::Refusal | K::Error => ("error", "error"),
        K::Notice => ("attention", "attention"),
        K::Subagent => ("working", "working"),
        K::Window => ("working", "window"),
        K::Compaction => ("attention", "fold"),
        K::Effort | K::Work => ("mark", "effort"),
        K::Handover => ("mark", "over"),
        K::Scratchpad => ("done", "effort"),
        K::Sent | K::Got => ("mark", "mail"),
        K::Wait => ("attention", "clock"),
    };
    let since = Since { at: Timestamp(moment.at_ms), now, tz_offset_s };
    let when = match (moment.until_ms, moment.kind) {
        (Some(until), K::Window | K::Effort | K::Work | K::Wait) => {
            format!("{} to {}", since.clock(), clock(Timestamp(until), tz_offset_s))
        }
        (None, K::Window | K::Effort | K::Work | K::Wait) => format!("{} to now", since.clock()),
        _ => since.clock(),
    };
    let actor = if moment.actor == book::MAIN { "" } else { moment.actor.as_str() };
    let key = format!("{}-{}-{}", moment.kind.name(), moment.at_ms, moment.title);
    MomentLine {
        id: crate::page::element("moment", &key),
        class,
        icon,
        title: moment.title.clone(),
        when,
        actor: actor.to_owned(),
        text: html::shown(&moment.text),
        entry: moment.entry,
        link: moment.link.clone(),
        moment: format!("/agent?who={}&at={}", in_query(agent), moment.at_ms),
    }
}
