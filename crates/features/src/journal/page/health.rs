//! The page of health: what `substrate journal health` returns.

use askama::Template;
use substrate_core::page::Badge;
use substrate_core::size::Bytes;
use substrate_core::time::{Ago, Took, parse_span};
use substrate_core::view::{Check, CheckKind};
use substrate_core::{Cx, DbError, Page, PageBody, PageRequest, Timestamp, VerbError};

use crate::charts::{self, Column, grouped};
use crate::journal::condition::{self, Condition, DAYS};
use crate::page::{Since, body, status};

pub(in crate::journal) const HEALTH: Page =
    Page { path: "/health", title: "Health", nav: Some(70), badge: Some(BADGE), render };

const BADGE: Badge = Badge { word: "failing", count: n_failing };

fn n_failing(cx: &mut Cx<'_>) -> Result<i64, DbError> {
    condition::n_failing(cx).map_err(|error| DbError::Other { detail: error.to_string() })
}

/// The spans that can be chosen.
const SPANS: [(&str, &str, &str); 3] =
    [("1h", "Hour", "hour"), ("24h", "Day", "day"), ("7d", "Week", "week")];

/// The height of a small drawing.
const HEIGHT: i64 = 40;

#[derive(Template)]
#[template(path = "journal/page/health.html")]
struct HealthPage {
    verdicts: Vec<String>,
    spans: Vec<(&'static str, &'static str, bool)>,
    span: &'static str,
    looked_at: String,
    scale: String,
    events: Vec<EventCard>,
    refused: DayChart,
    busy: DayChart,
    database: String,
    grows: String,
    fill: i64,
    waiters: Vec<Line>,
    open: Vec<Line>,
    features: Vec<(String, String, String)>,
}

struct EventCard {
    name: String,
    n: String,
    p50: String,
    p99: String,
    line_50: String,
    line_99: String,
}

/// Bars of the last days, and what they say in words.
struct DayChart {
    label: String,
    columns: Vec<Column>,
    words: String,
}

struct Line {
    status: String,
    detail: String,
    since: String,
    link: Option<String>,
}

fn render(cx: &mut Cx<'_>, request: &PageRequest) -> Result<PageBody, VerbError> {
    let asked = request.field("since").unwrap_or_default();
    let chosen = SPANS.iter().find(|(word, ..)| *word == asked).unwrap_or(&SPANS[0]);
    let span_ms = parse_span(chosen.0).unwrap_or(3_600_000);
    let found = condition::condition(cx, span_ms, request.caller.tz_offset_s)?;
    let max_us = found.events.iter().flat_map(|one| &one.steps).flatten().map(|step| step.1).max();
    let max_us = max_us.unwrap_or(0).max(1);
    let tz_offset_s = request.caller.tz_offset_s;
    let line = |check: &Check| line(check, cx.now, tz_offset_s);
    let is_waiter = |check: &&Check| check.kind == CheckKind::Waits;
    let bytes = |n: i64| Bytes(u64::try_from(n).unwrap_or(0));
    let database = &found.database;
    let mut open: Vec<Line> = found.checks.iter().filter(|one| !is_waiter(one)).map(line).collect();
    open.extend(of_journal(&found, cx.now));
    let page = HealthPage {
        verdicts: verdicts(&found),
        spans: SPANS.iter().map(|(word, label, _)| (*word, *label, *word == chosen.0)).collect(),
        span: chosen.2,
        looked_at: match i64::try_from(found.n_looked_at) == Ok(found.n_events) {
            true => format!("{} events", grouped(found.n_events)),
            false => format!(
                "{} of {} events, evenly over the time",
                grouped(i64::try_from(found.n_looked_at).unwrap_or(0)),
                grouped(found.n_events)
            ),
        },
        scale: Took(max_us).to_string(),
        events: found.events.iter().map(|one| card(one, max_us)).collect(),
        refused: refused(&found),
        busy: busy(&found),
        database: bytes(database.bytes).to_string(),
        grows: format!(
            "{} entries{}. The oldest go after {}, or when the database is larger than {}.",
            grouped(database.n_entries),
            database.first_ms.map_or_else(String::new, |first| {
                format!(" of the last {}", Ago(cx.now.0 - first))
            }),
            Ago(database.max_age_ms),
            bytes(database.max_bytes)
        ),
        fill: (database.bytes * 100 / database.max_bytes.max(1)).clamp(0, 100),
        waiters: found.checks.iter().filter(is_waiter).map(line).collect(),
        open,
        features: found.features.iter().map(feature).collect(),
    };
    body("Health", &page)
}

fn card(one: &condition::EventCost, max_us: i64) -> EventCard {
    let of = |pick: fn((i64, i64)) -> i64| {
        let values: Vec<Option<i64>> = one.steps.iter().map(|step| step.map(pick)).collect();
        charts::line(&values, max_us, HEIGHT - 2)
    };
    EventCard {
        name: one.event.clone(),
        n: grouped(i64::try_from(one.n).unwrap_or(0)),
        p50: Took(one.p50_us).to_string(),
        p99: Took(one.p99_us).to_string(),
        line_50: of(|step| step.0),
        line_99: of(|step| step.1),
    }
}

fn feature(one: &condition::FeatureCost) -> (String, String, String) {
    let shown = |us: i64| if us == 0 { "< 1µs".to_owned() } else { Took(us).to_string() };
    (one.feature.clone(), shown(one.p50_us), shown(one.p99_us))
}

/// What stands beside the title: the worst first.
fn verdicts(found: &Condition) -> Vec<String> {
    let mut out = Vec::new();
    if !found.failures.is_empty() {
        let n: usize = found.failures.iter().map(|one| one.n).sum();
        out.push(status("error", &format!("{n} failures")));
    }
    for check in &found.checks {
        match check.kind {
            CheckKind::Error => out.push(status("error", &check.what)),
            CheckKind::Attention => out.push(status("attention", &check.what)),
            CheckKind::Fine | CheckKind::Waits => {}
        }
    }
    if out.is_empty() {
        out.push(status("done", "everything works"));
    }
    out
}

/// What the journal itself knows of late events, failures and features that did not answer.
fn of_journal(found: &Condition, now: Timestamp) -> Vec<Line> {
    let line = |status: String, detail: String, link: Option<String>| Line {
        status,
        detail,
        since: String::new(),
        link,
    };
    let mut out = Vec::new();
    for one in &found.failures {
        let what = format!("{} failed {}", one.feature, times(one.n));
        let detail = format!("{} ago: {}", Ago(now.0 - one.last_ms), one.message);
        let link = Some(format!("/moment/{}", one.last_entry));
        out.push(line(status("error", &what), detail, link));
    }
    if found.failures.is_empty() {
        let detail = "every feature answered".to_owned();
        out.push(line(status("done", "0 failures"), detail, None));
    }
    for feature in &found.unheard {
        let detail = "it could not say what is open".to_owned();
        out.push(line(status("attention", feature), detail, None));
    }
    let late = match found.n_late {
        0 => {
            (status("done", "0 late answers"), "no hook gave up before its answer came".to_owned())
        }
        n => (
            status("attention", &format!("{n} late answers")),
            "the hook gave up before; substrate doctor says more".to_owned(),
        ),
    };
    out.push(line(late.0, late.1, None));
    if found.n_malformed > 0 {
        let what = format!("{} payloads were not events", found.n_malformed);
        let detail = "substrate journal list --event Malformed shows them".to_owned();
        out.push(line(status("attention", &what), detail, None));
    }
    out
}

fn times(n: usize) -> String {
    if n == 1 { "once".to_owned() } else { format!("{n} times") }
}

fn line(check: &Check, now: Timestamp, tz_offset_s: i32) -> Line {
    let name = match check.kind {
        CheckKind::Fine => "done",
        CheckKind::Attention => "attention",
        CheckKind::Error => "error",
        CheckKind::Waits => "working",
    };
    let since = check.since_ms.map(|at| Since { at: Timestamp(at), now, tz_offset_s }.html());
    Line {
        status: match check.kind {
            CheckKind::Waits => substrate_core::html::shown(&check.what),
            _ => status(name, &check.what),
        },
        detail: check.detail.clone(),
        since: since.unwrap_or_default(),
        link: check.link.clone(),
    }
}

fn refused(found: &Condition) -> DayChart {
    let values: Vec<i64> = found.days.iter().map(|day| day.n_refused).collect();
    let today = values.last().copied().unwrap_or(0);
    let max = values.iter().copied().max().unwrap_or(0);
    let words = match (today, max) {
        (_, 0) => format!("Nothing was refused in {DAYS} days."),
        (0, _) => "None today.".to_owned(),
        (n, _) => format!("{} today: refused, held or put to you.", grouped(n)),
    };
    let label = format!("Refusals a day for {DAYS} days: at most {max}, today {today}");
    DayChart { label, columns: charts::columns(&values, 56, 40), words }
}

fn busy(found: &Condition) -> DayChart {
    let values: Vec<i64> = found.days.iter().map(|day| day.n_events).collect();
    let today = values.last().copied().unwrap_or(0);
    let max = values.iter().copied().max().unwrap_or(0);
    let label = format!("Events a day for {DAYS} days: at most {max}, today {today}");
    let words = format!("{} today. Every hook that was answered is one.", grouped(today));
    DayChart { label, columns: charts::columns(&values, 56, 40), words }
}

#[cfg(test)]
mod tests {
    use substrate_core::EventKind;

    use super::*;
    use crate::stage::Stage;

    fn page(stage: &mut Stage, since: &str) -> String {
        let query = vec![("since".to_owned(), since.to_owned())];
        let request = PageRequest { query, ..PageRequest::default() };
        stage.with(|cx| render(cx, &request).unwrap().html)
    }

    #[test]
    fn an_empty_journal_says_what_to_do_next() {
        let mut stage = Stage::new("");
        let html = page(&mut stage, "1h");
        assert!(html.contains("Start a client in a project"), "{html}");
        assert!(
            html.contains("everything works") && html.contains("Nothing was refused in 14 days.")
        );
        assert!(html.contains("No agent waits for a file"), "{html}");
    }

    #[test]
    fn events_are_counted_and_failures_are_named() {
        let mut stage = Stage::new("");
        for _ in 0..5 {
            let event = stage.event(EventKind::Stop, "s1");
            stage.happen(&event);
            stage.pass(60_000);
        }
        stage.with(|cx| {
            let sql =
                "update journal set failures = $1, verdict = 'deny', spent_us = 2500 where id = 2";
            let failed = r#"[{"feature":"mail","panicked":false,"message":"it <broke>"}]"#;
            cx.db.execute(sql, &[failed.into()]).unwrap();
            let sql = "insert into journal_feature_costs (hour_ms, counts) values ($1, $2)";
            let counts = r#"{"mail":[[0,4],[37,1]]}"#;
            cx.db.execute(sql, &[(cx.now.0 - 60_000).into(), counts.into()]).unwrap();
        });
        let html = page(&mut stage, "1h");
        for part in [
            "5 events, all on one scale of 0 to 2.5ms",
            "Stop <span class=\"meta nums\">5</span>",
            "mail failed once",
            "it &lt;broke&gt;",
            "href=\"/moment/2\"",
            "1 today: refused, held or put to you.",
            "<code>mail</code></th><td class=\"num\">&lt; 1µs</td><td class=\"num\">1.4ms</td>",
        ] {
            assert!(html.contains(part), "{part} is missing: {html}");
        }
        stage.pass(2 * 86_400_000);
        assert!(page(&mut stage, "1h").contains("No event came in the last hour"));
        assert!(page(&mut stage, "7d").contains("mail failed once"), "a week ago counts");
    }

    #[test]
    fn a_long_span_is_looked_at_in_steps() {
        let mut stage = Stage::new("");
        stage.with(|cx| {
            let sql = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 9000)
                 insert into journal (id, at_ms, request, client, event, actor, cwd, verdict, spent_us, host, n_bytes, n_unknown_fields)
                 select i, $1 - (9000 - i) * 100, 'r', 'c', 'Stop', 'main', '/', 'silent', 10, 'daemon', 1, 0 from n";
            cx.db.execute(sql, &[cx.now.0.into()]).unwrap();
        });
        let found = stage.with(|cx| condition::condition(cx, 3_600_000, 0).unwrap());
        assert_eq!(found.n_events, 9_000);
        // All of them are in the last quarter of an hour, so in a quarter of the steps.
        assert!((700..=900).contains(&found.n_looked_at), "{}", found.n_looked_at);
        let html = page(&mut stage, "1h");
        assert!(html.contains("of 9,000 events, evenly over the time"), "{html}");
    }
}
