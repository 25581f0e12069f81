//! What the pages of the dashboard cost where the journal is long, in steps of SQLite's machine: the same on every machine.

use std::fmt::Write as _;

use substrate_core::page::matched;
use substrate_core::{EventKind, Page, PageRequest};

use crate::identity::book;
use crate::stage::Stage;

/// Twenty entries a second, of fifty agents, and one in two hundred is refused.
const FILL: &str =
    "with recursive n(i) as (select $1 + 1 union all select i + 1 from n where i < $2)
     insert into journal (id, at_ms, request, client, event, session, actor, tool, tool_use, cwd, input, verdict, spent_us,
       host, n_bytes, n_unknown_fields)
     select i, $3 - ($2 - i) * 50, 'r', 'claude-code', 'PreToolUse', case when i % 50 = 0 then $4 else 's' || i / 1000 end,
       'main', 'Bash', 'toolu_' || i, '/repo', '{\"command\":\"cargo build\"}',
       case when i % 200 = 0 then 'deny' else 'none' end, 140, 'daemon', 1, 0 from n";

const SESSIONS: &str =
    "insert into journal_session (session, client, cwd, first_id, last_id, n_events, first_ms, last_ms)
     select session, 'claude-code', '/repo', min(id), max(id), count(*), min(at_ms), max(at_ms) from journal
     group by session on conflict (session) do update set last_id = excluded.last_id, last_ms = excluded.last_ms";

/// An agent whose journal has that many entries, and its name.
fn stage(n_rows: i64) -> (Stage, String) {
    let mut stage = Stage::new("");
    let begins = stage.event(EventKind::SessionStart, "lion");
    stage.happen(&begins);
    let name = stage.with(|cx| {
        let newest = cx.db.first("select max(id) from journal", &[], |row| row.int(0)).unwrap();
        let params = [newest.unwrap().into(), n_rows.into(), cx.now.0.into(), "lion".into()];
        cx.db.execute(FILL, &params).unwrap();
        cx.db.execute(SESSIONS, &[]).unwrap();
        cx.db.execute("update journal_summed set up_to = $1", &[n_rows.into()]).unwrap();
        book::of_session(cx.db, "lion").unwrap().unwrap().1
    });
    (stage, name)
}

fn page(path: &str) -> (&'static Page, Vec<String>) {
    let mut pages = crate::ALL.iter().flat_map(|feature| feature.pages);
    pages.find_map(|page| Some((page, matched(page.path, path)?))).unwrap()
}

/// The steps of one page, with the numbers in its header.
fn steps(stage: &Stage, address: &str) -> u64 {
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let (page, segments) = page(path);
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let query = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let request = PageRequest { here: address.to_owned(), segments, query, ..Default::default() };
    let (html, n_steps) = stage.looked(|cx| {
        for badge in crate::ALL.iter().flat_map(|it| it.pages).filter_map(|it| it.badge) {
            (badge.count)(cx).unwrap();
        }
        (page.render)(cx, &request).unwrap().html
    });
    assert!(!html.is_empty());
    n_steps
}

#[test]
fn a_page_costs_as_much_as_it_shows_and_not_as_the_journal_is_long() {
    const MANY: i64 = 240_000;
    /// About six milliseconds of a slow processor.
    const MAX_STEPS: u64 = 400_000;
    let (few, name) = stage(MANY / 6);
    let (many, _) = stage(MANY);
    let at = many.now.0 - 600_000;
    let mut told = String::new();
    let mut is_bounded = true;
    for address in [
        "/".to_owned(),
        "/?all=1".to_owned(),
        "/lanes".to_owned(),
        "/lanes?span=24h".to_owned(),
        format!("/lanes?at={at}"),
        format!("/agent?who={name}"),
        format!("/agent?who={name}&span=24h"),
        format!("/agent?who={name}&at={at}"),
        "/mail".to_owned(),
        "/work".to_owned(),
        "/locks".to_owned(),
        "/why".to_owned(),
        "/why?show=ask".to_owned(),
        "/why?show=deny&before=90000".to_owned(),
        "/cost".to_owned(),
        "/health".to_owned(),
        "/health?since=24h".to_owned(),
        "/health?since=7d".to_owned(),
        "/search?q=build".to_owned(),
    ] {
        let (short, long) = (steps(&few, &address), steps(&many, &address));
        let _infallible =
            writeln!(told, "{long:>8} ({short:>8} with a sixth of the rows)  {address}");
        is_bounded &= long <= MAX_STEPS && long <= short * 2;
    }
    assert!(is_bounded, "at most {MAX_STEPS} steps, and not twice as many:\n{told}");
}
