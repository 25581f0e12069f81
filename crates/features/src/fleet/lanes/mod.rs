//! `substrate fleet lanes`: what each actor did in a span of time, who wrote to whom, and where it waited.

pub(in crate::fleet) mod build;
pub(in crate::fleet) mod draw;
pub(in crate::fleet) mod then;
pub(in crate::fleet) mod when;

use std::collections::HashMap;
use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::text::one_line;
use substrate_core::time::{Ago, parse_span};
use substrate_core::verb::VerbArgs;
use substrate_core::{Access, Audience, Caller, Cx, DbError, Output, Timestamp, VerbError};

use build::Lane;

use super::verbs;
use crate::identity::book;
use crate::journal::face;
use crate::mail;

/// The entries that one picture is made of, unless more are asked for.
pub(in crate::fleet) const USUAL_ENTRIES: i64 = 1_500;

/// The most lanes of a picture.
pub(in crate::fleet) const MAX_LANES: usize = 24;

/// The most messages of a picture.
const MAX_MAIL: i64 = 200;

/// The parts that entries are counted in.
pub(in crate::fleet) const PARTS: usize = 60;

/// The steps of the live edge across a picture.
const EDGE_STEPS: i64 = 720;

/// What everyone did in a span.
#[derive(Clone, Debug, Serialize)]
pub(in crate::fleet) struct Picture {
    pub(in crate::fleet) from_ms: i64,
    pub(in crate::fleet) until_ms: i64,
    /// It ends now.
    pub(in crate::fleet) is_live: bool,
    /// It begins later than asked for: there are too many entries.
    pub(in crate::fleet) is_cut: bool,
    pub(in crate::fleet) n_entries: usize,
    /// Entries in each of sixty equal parts.
    pub(in crate::fleet) counts: Vec<usize>,
    pub(in crate::fleet) lanes: Vec<Lane>,
    /// Lanes that have no place.
    pub(in crate::fleet) n_more: usize,
    pub(in crate::fleet) mail: Vec<Arrow>,
    /// The times of all entries, for steps from one to the next.
    #[serde(skip)]
    pub(in crate::fleet) times: Vec<i64>,
}

/// A message between two actors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(in crate::fleet) struct Arrow {
    pub(in crate::fleet) id: i64,
    pub(in crate::fleet) from: String,
    pub(in crate::fleet) to: String,
    pub(in crate::fleet) sent_ms: i64,
    pub(in crate::fleet) arrived_ms: Option<i64>,
    pub(in crate::fleet) subject: String,
}

/// Which picture is wanted.
#[derive(Clone, Debug)]
pub(in crate::fleet) struct Wanted {
    /// One agent, or all.
    pub(in crate::fleet) agent: Option<i64>,
    pub(in crate::fleet) span_ms: i64,
    /// The end of the span; `None`: now.
    pub(in crate::fleet) until: Option<Timestamp>,
    pub(in crate::fleet) limit: i64,
}

pub(in crate::fleet) fn picture(cx: &mut Cx<'_>, wanted: &Wanted) -> Result<Picture, DbError> {
    // The live edge moves in small steps, so that a page that nothing happens on stays the same.
    let step = (wanted.span_ms / EDGE_STEPS).max(1_000);
    let edge = Timestamp(cx.now.0.div_euclid(step) * step + step);
    let until = wanted.until.map_or(edge, |until| until.min(cx.now));
    let asked_from = until.plus_ms(-wanted.span_ms);
    let sessions = match wanted.agent {
        Some(agent) => Some(book::sessions_of(cx.db, agent)?),
        None => None,
    };
    let found = face::traces(cx, sessions.as_deref(), (asked_from, until), wanted.limit)?;
    // Where entries are left out, the picture begins with the first one that is not.
    let first = found.rows.first().map(|row| Timestamp(row.at_ms));
    let from = first.filter(|_| found.is_cut).unwrap_or(asked_from);
    let mut lanes = build::lanes(&found.rows, cx.world.dialects());
    for lane in &mut lanes {
        name(cx, lane)?;
    }
    let n_more = few(&mut lanes);
    let mail = mail_between(cx, &lanes, wanted.agent.is_none(), (from, until))?;
    let mut counts = vec![0; PARTS];
    let length = until.since(from).max(1);
    for row in &found.rows {
        let part = (row.at_ms - from.0).max(0) * i64::try_from(PARTS).unwrap_or(1) / length;
        counts[usize::try_from(part).unwrap_or(0).min(PARTS - 1)] += 1;
    }
    Ok(Picture {
        from_ms: from.0,
        until_ms: until.0,
        is_live: wanted.until.is_none(),
        is_cut: found.is_cut,
        n_entries: found.rows.len(),
        counts,
        lanes,
        n_more,
        mail,
        times: found.rows.iter().map(|row| row.at_ms).collect(),
    })
}

fn name(cx: &mut Cx<'_>, lane: &mut Lane) -> Result<(), DbError> {
    let agent = book::of_session(cx.db, &lane.session)?.map(|(_, name)| name);
    lane.agent = agent.unwrap_or_else(|| "an unknown agent".to_owned());
    let sub = book::sub_in(cx.db, &lane.session, &lane.actor)?;
    lane.address = match sub {
        _ if lane.actor == book::MAIN => lane.agent.clone(),
        Some(sub) => format!("{}/{sub}", lane.agent),
        None => format!("{}/{}", lane.agent, lane.actor),
    };
    Ok(())
}

/// Keeps the lanes that have a place: of the agents that were heard of last. By name, subagents below their agent, so that
/// lanes don't jump. Returns how many were left out.
fn few(lanes: &mut Vec<Lane>) -> usize {
    let n_all = lanes.len();
    if n_all > MAX_LANES {
        let mut last: HashMap<&str, i64> = HashMap::new();
        for lane in lanes.iter() {
            let at = last.entry(lane.agent.as_str()).or_default();
            *at = (*at).max(lane.last_ms);
        }
        let last: HashMap<String, i64> =
            last.into_iter().map(|(agent, at)| (agent.to_owned(), at)).collect();
        let is_main = |lane: &Lane| lane.actor == book::MAIN;
        lanes.sort_by(|a, b| {
            let key =
                |lane: &Lane| (std::cmp::Reverse(last[&lane.agent]), !is_main(lane), -lane.last_ms);
            key(a).cmp(&key(b))
        });
        lanes.truncate(MAX_LANES);
    }
    lanes.sort_by(|a, b| {
        let key =
            |lane: &Lane| (lane.agent.to_lowercase(), lane.actor != book::MAIN, lane.first_ms);
        key(a).cmp(&key(b))
    });
    n_all - lanes.len()
}

/// The messages of the span that begin or end in one of the lanes.
fn mail_between(
    cx: &mut Cx<'_>,
    lanes: &[Lane],
    of_all: bool,
    (from, until): (Timestamp, Timestamp),
) -> Result<Vec<Arrow>, DbError> {
    let mut names: HashMap<i64, String> = HashMap::new();
    let mut out = Vec::new();
    for passed in mail::face::between(cx.db, from, until, MAX_MAIL)? {
        let mut address = |(agent, sub): &(i64, String)| -> Result<String, DbError> {
            let name = match names.get(agent) {
                Some(name) => name.clone(),
                None => book::name_of(cx.db, *agent)?,
            };
            names.insert(*agent, name.clone());
            Ok(if sub.is_empty() { name } else { format!("{name}/{sub}") })
        };
        let (from, to) = (address(&passed.from)?, address(&passed.to)?);
        let has = |address: &str| lanes.iter().any(|lane| lane.address == address);
        // Of many agents, only what goes between two of them: the others have no lane.
        if (has(&from) && has(&to)) || (!of_all && (has(&from) || has(&to))) || has(&to) {
            out.push(Arrow {
                id: passed.id,
                from,
                to,
                sent_ms: passed.sent_ms,
                arrived_ms: passed.arrived_ms,
                subject: one_line(&passed.subject, 120),
            });
        }
    }
    Ok(out)
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(in crate::fleet) struct Lanes {
    /// Only this agent and its subagents (default: all)
    name: Option<String>,
    /// How long a span to show
    #[arg(long, default_value = "1h")]
    #[serde(default = "an_hour")]
    span: String,
    /// The end of the span: `14:40`, `15m` (ago), a date, or `#4711`, an entry of the journal (default: now)
    #[arg(long)]
    #[serde(default)]
    until: Option<String>,
    /// The most entries of the journal to look at
    #[arg(long, short = 'n', default_value_t = 2_000, value_parser = clap::value_parser!(i64).range(1..=20_000))]
    #[serde(default = "many")]
    limit: i64,
}

fn an_hour() -> String {
    "1h".to_owned()
}

fn many() -> i64 {
    2_000
}

impl VerbArgs for Lanes {
    const PATH: &'static [&'static str] = &["fleet", "lanes"];
    const ABOUT: &'static str = "Show what each actor did in a span of time, its waits and refusals, and the mail between them";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError> {
        let span_ms = parse_span(&self.span).filter(|ms| *ms > 0).ok_or_else(|| {
            VerbError::user(format!("`{}` is not a duration", self.span), "write it like `1h`")
        })?;
        let until = match self.until.as_deref() {
            Some(text) => Some(when::moment(cx, text, caller.tz_offset_s)?),
            None => None,
        };
        let agent = match self.name.as_deref() {
            Some(name) => Some(verbs::fleet::agent_named(cx, name)?.agent),
            None => None,
        };
        let limit = self.limit.clamp(1, 20_000);
        let found = picture(cx, &Wanted { agent, span_ms, until, limit })?;
        Ok(Output::new(text(&found, cx.now), json!(found)))
    }
}

fn text(found: &Picture, now: Timestamp) -> String {
    let mut out = String::new();
    for lane in &found.lanes {
        let refused = match lane.n_refused {
            0 => String::new(),
            n => format!(", {n} refused"),
        };
        let last = lane.bars.last();
        let did = last.map(|bar| format!("{} {}", bar.tool, one_line(&bar.text, 60)));
        let _infallible = writeln!(
            out,
            "{}\t{} calls{refused}\t{} ago\t{}",
            lane.address,
            lane.n_calls,
            Ago(now.0 - lane.last_ms),
            did.unwrap_or_default()
        );
    }
    if found.lanes.is_empty() {
        return "The journal has nothing of that time.\n".to_owned();
    }
    for arrow in &found.mail {
        let _infallible =
            writeln!(out, "#{} {} to {}: {}", arrow.id, arrow.from, arrow.to, arrow.subject);
    }
    crate::listing::aligned(&out)
}
