//! `substrate journal search`, and the page that shows it: prompts, commands, refusals, mail and work with these words.
//!
//! Every feature finds its own (`Feature::find`). The journal's rows get into a full-text index in housekeeping, a few at a
//! time. The newest ones, which are not in it yet, are read.

use std::fmt::Write as _;

use askama::Template;
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use substrate_core::text::one_line;
use substrate_core::time::Ago;
use substrate_core::verb::VerbArgs;
use substrate_core::view::{Hit, HitKind, Wanted};
use substrate_core::{
    Access, Audience, Caller, Cx, Db, DbError, EventKind, FeatureError, Output, Page, PageBody,
    PageRequest, Timestamp, VerbError,
};

use super::ops::{self, JournalRow};
use super::sessions;
use crate::identity::book;
use crate::lookups::Words;
use crate::page::{Since, body, in_query};
use crate::{calls, listing};

/// Rows that one step of housekeeping puts into the index.
const STEP: i64 = 100;

/// The newest rows that are not in the index yet and are read, at the most.
const MAX_READ: i64 = 2_000;

/// What is read of a row.
const TEXTS: &str = "select id, event, tool, verdict, input, answer from journal where id > $1 order by id limit $2";

/// Puts the next rows into the index. `true`: there are more.
pub(super) fn index(db: &mut dyn Db) -> Result<bool, DbError> {
    let up_to = up_to(db)?;
    let rows = texts(db, up_to, STEP)?;
    let Some((last, _)) = rows.last() else { return Ok(false) };
    for (id, text) in &rows {
        if let Some(text) = text {
            db.execute(
                "insert into journal_search (rowid, text) values ($1, $2)",
                &[(*id).into(), text.as_str().into()],
            )?;
        }
    }
    db.execute("update journal_searchable set up_to = $1", &[(*last).into()])?;
    Ok(rows.len() >= usize::try_from(STEP).unwrap_or(usize::MAX))
}

fn up_to(db: &mut dyn Db) -> Result<i64, DbError> {
    let found = db.first("select up_to from journal_searchable", &[], |row| row.int(0))?;
    Ok(found.unwrap_or(0))
}

/// Rows after that one, each with what can be found in it.
fn texts(db: &mut dyn Db, after: i64, limit: i64) -> Result<Vec<(i64, Option<String>)>, DbError> {
    db.rows(TEXTS, &[after.into(), limit.into()], |row| {
        let (event, verdict) = (row.text(1)?, row.text(3)?);
        let is_refused = matches!(verdict.as_str(), "deny" | "ask" | "block");
        let kind = EventKind::named(&event);
        if !is_refused && !matches!(kind, EventKind::UserPromptSubmit | EventKind::PreToolUse) {
            return Ok((row.int(0)?, None));
        }
        let mut text = row.opt_text(2)?.unwrap_or_default();
        for column in [Some(4), is_refused.then_some(5)].into_iter().flatten() {
            text.push('\n');
            text.push_str(&row.opt_text(column)?.unwrap_or_default());
        }
        Ok((row.int(0)?, Some(text)))
    })
}

pub(super) const FIND: &str =
    "select rowid from journal_search where journal_search match $1 order by rowid desc limit $2";

/// Prompts, commands and refusals with all the words, newest first.
pub(super) fn find(cx: &mut Cx<'_>, wanted: &Wanted) -> Result<Vec<Hit>, FeatureError> {
    let Some(words) = Words::read(&wanted.words) else { return Ok(Vec::new()) };
    let newest = sessions::newest_id(cx.db)?;
    let after = up_to(cx.db)?.max(newest - MAX_READ);
    let mut ids: Vec<i64> = texts(cx.db, after, MAX_READ)?
        .into_iter()
        .filter(|(_, text)| text.as_ref().is_some_and(|text| wanted.is_in(text)))
        .map(|(id, _)| id)
        .rev()
        .collect();
    let params = [words.terms().into(), wanted.limit.into()];
    ids.extend(cx.db.rows(FIND, &params, |row| row.int(0))?);
    ids.truncate(usize::try_from(wanted.limit).unwrap_or(usize::MAX));
    let mut out = Vec::with_capacity(ids.len());
    for id in ids {
        if let Some(row) = ops::show(cx.db, id)? {
            out.push(hit(cx, &row)?);
        }
    }
    Ok(out)
}

fn hit(cx: &mut Cx<'_>, row: &JournalRow) -> Result<Hit, DbError> {
    let who = match &row.session {
        Some(session) => book::address_in(cx.db, session, &row.actor)?,
        None => None,
    };
    let who = who.unwrap_or_else(|| "an unknown agent".to_owned());
    let tool = row.tool.as_deref().unwrap_or_default();
    let input = row.input.as_deref().unwrap_or_default();
    let call = calls::short(cx.world.dialects(), &row.client, tool, input);
    let is_refused = matches!(row.verdict.as_str(), "deny" | "ask" | "block");
    let (kind, text) = match EventKind::named(&row.event) {
        _ if is_refused => (
            HitKind::Refusal,
            format!("{tool} {call}: {}", one_line(&row.answer_words().unwrap_or_default(), 200)),
        ),
        EventKind::UserPromptSubmit => (HitKind::Prompt, one_line(input, 300)),
        _ => (HitKind::Command, format!("{tool} {call}")),
    };
    let link = match kind {
        HitKind::Refusal => format!("/why?before={0}#why-{1}", row.id + 1, row.id),
        _ => format!("/agent?who={}&at={}", in_query(&who), row.at_ms),
    };
    Ok(Hit { at_ms: row.at_ms, kind, who, text: text.trim().to_owned(), link })
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Search {
    /// All of these must be there, whatever the case; `buil*` finds what begins so
    #[arg(required = true)]
    words: Vec<String>,
    /// Only this kind
    #[arg(long, value_parser = ["prompt", "command", "refusal", "mail", "work"])]
    #[serde(default)]
    kind: Option<String>,
    /// The most hits of each kind
    #[arg(long, short = 'n', default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=500))]
    #[serde(default = "fifty")]
    limit: i64,
}

fn fifty() -> i64 {
    50
}

impl VerbArgs for Search {
    const PATH: &'static [&'static str] = &["journal", "search"];
    const ABOUT: &'static str =
        "Find prompts, commands, refusals, mail and work with these words, newest first";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::User;

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let wanted = Wanted { words: self.words.join(" "), limit: self.limit.clamp(1, 500) };
        let mut found = all(cx, &wanted)?;
        let is_wanted = |hit: &Hit| self.kind.as_deref().is_none_or(|kind| hit.kind.name() == kind);
        found.hits.retain(is_wanted);
        let mut text = String::new();
        for hit in &found.hits {
            let ago = Ago(cx.now.0 - hit.at_ms).to_string();
            let (kind, who) = (hit.kind.name(), &hit.who);
            let _infallible =
                writeln!(text, "{ago} ago\t{kind}\t{who}\t{}", one_line(&hit.text, 120));
        }
        let mut text = if text.is_empty() {
            "Nothing was found.\n".to_owned()
        } else {
            listing::aligned(&text)
        };
        for feature in &found.failed {
            let _infallible = writeln!(text, "`{feature}` could not be searched");
        }
        Ok(Output::new(text, json!({"hits": found.hits, "failed": found.failed})))
    }
}

struct Found {
    hits: Vec<Hit>,
    /// Features that could not be searched.
    failed: Vec<&'static str>,
}

/// Asks every feature.
fn all(cx: &mut Cx<'_>, wanted: &Wanted) -> Result<Found, VerbError> {
    let mut found = Found { hits: Vec::new(), failed: Vec::new() };
    for feature in crate::ALL {
        let Some(find) = feature.find else { continue };
        match find(cx, wanted) {
            Ok(hits) => found.hits.extend(hits),
            Err(FeatureError::Db(error)) => return Err(error.into()),
            Err(_) => found.failed.push(feature.name),
        }
    }
    found.hits.sort_by_key(|hit| std::cmp::Reverse(hit.at_ms));
    Ok(found)
}

pub(super) const PAGE: Page =
    Page { path: "/search", title: "Search", nav: None, badge: None, render };

/// Hits of each kind on the page.
const ON_PAGE: i64 = 50;

#[derive(Template)]
#[template(path = "journal/page/search.html")]
struct SearchPage {
    query: String,
    n_found: usize,
    kinds: Vec<(String, String, bool)>,
    shows_all: bool,
    all: String,
    hits: Vec<Line>,
    failed: Vec<&'static str>,
}

struct Line {
    class: &'static str,
    icon: &'static str,
    kind: &'static str,
    who: String,
    text: String,
    is_code: bool,
    link: String,
    since: String,
}

fn render(cx: &mut Cx<'_>, request: &PageRequest) -> Result<PageBody, VerbError> {
    let query = request.field("q").unwrap_or_default().trim().to_owned();
    let wanted = Wanted { words: query.clone(), limit: ON_PAGE };
    let Found { hits, failed } = match query.as_str() {
        "" => Found { hits: Vec::new(), failed: Vec::new() },
        _ => all(cx, &wanted)?,
    };
    let kind = request.field("kind");
    let here = format!("/search?q={}", in_query(&query));
    let kinds = HitKind::ALL.iter().filter_map(|one| {
        let n = hits.iter().filter(|hit| hit.kind == *one).count();
        let name = one.name();
        let is_here = kind == Some(name);
        (n > 0).then(|| (format!("{here}&kind={name}"), format!("{n} {name}"), is_here))
    });
    let (kinds, n_found) = (kinds.collect(), hits.len());
    let (now, tz) = (cx.now, request.caller.tz_offset_s);
    let is_wanted = |hit: &Hit| kind.is_none_or(|kind| hit.kind.name() == kind);
    let hits = hits.into_iter().filter(is_wanted).map(|hit| line(hit, now, tz)).collect();
    let page =
        SearchPage { query, n_found, kinds, shows_all: kind.is_none(), all: here, hits, failed };
    body("Search", &page)
}

fn line(hit: Hit, now: Timestamp, tz_offset_s: i32) -> Line {
    let (class, icon) = match hit.kind {
        HitKind::Prompt => ("mark", "ask"),
        HitKind::Command => ("working", "working"),
        HitKind::Refusal => ("error", "error"),
        HitKind::Mail => ("mark", "mail"),
        HitKind::Work => ("mark", "effort"),
    };
    Line {
        class,
        icon,
        kind: hit.kind.name(),
        who: hit.who,
        is_code: matches!(hit.kind, HitKind::Command | HitKind::Refusal),
        text: hit.text,
        link: hit.link,
        since: Since { at: Timestamp(hit.at_ms), now, tz_offset_s }.html(),
    }
}
