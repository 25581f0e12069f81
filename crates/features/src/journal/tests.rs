//! The journal on a real database, with simulated time.

use std::sync::LazyLock;
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use substrate_core::engine::Surroundings;
use substrate_core::engine::processed::{self, Group, Processed};
use substrate_core::settings::{Layer, Scope};
use substrate_core::world::Nowhere;
use substrate_core::{
    Caller, Cx, Delivery, Detail, Event, EventKind, Facts, RequestId, SafeId, Settings, Timestamp,
    ToolCall, ToolClass, Verb, engine,
};
use substrate_store::{Database, Durability, Prepared, Setup, Writer};

use super::ops;
use super::record::tick;

const DAY: i64 = 86_400_000;

const FIRST: processed::Scope = processed::Scope { digest: 7, origin: 1 };

struct Place {
    _folder: tempfile::TempDir,
    writer: Writer,
    settings: Settings,
}

impl Place {
    fn new(toml: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut schema = vec![("engine", engine::MIGRATIONS)];
        schema.extend(
            crate::probe::with_all().iter().map(|feature| (feature.name, feature.migrations)),
        );
        let setup = Setup {
            schema: &schema,
            now: Timestamp(0),
            backups: folder.path(),
            patience: Duration::from_secs(5),
        };
        let Prepared { writer, .. } =
            Database::at(&folder.path().join("db")).prepare(&setup).unwrap();
        let keys = crate::probe::keys();
        let settings = Settings::resolve(&keys, &[&Layer::read(Scope::User, "test", toml, &keys)]);
        assert!(settings.problems.is_empty());
        Self { _folder: folder, writer, settings }
    }

    /// One event through the engine.
    fn happen(&mut self, event: &Event) -> engine::Outcome {
        let facts = Facts::default();
        let around = Surroundings {
            features: crate::probe::with_all(),
            settings: &self.settings,
            facts: &facts,
            world: &Nowhere,
            delivers: |_, _| Delivery::Delivered,
            wishes: &[],
            micros: || 0,
            is_late: false,
            request: RequestId([1; 16]),
            scope: Some(FIRST),
            begun_us: 0,
            may_look: false,
            troubles: &[],
        };
        let mut tx = self.writer.begin(Durability::Normal).unwrap();
        let outcome = engine::run(&around, &mut tx, event);
        tx.commit().unwrap();
        outcome
    }

    fn with<T>(&mut self, now: i64, body: impl FnOnce(&mut Cx<'_>) -> T) -> T {
        let mut tx = self.writer.begin(Durability::Normal).unwrap();
        let out = body(&mut Cx::new(Timestamp(now), &mut tx, &self.settings));
        tx.commit().unwrap();
        out
    }

    fn rows(&mut self, path: &[&str], body: Value, now: i64) -> Value {
        self.rows_for(&Caller::default(), path, body, now)
    }

    fn rows_for(&mut self, caller: &Caller, path: &[&str], body: Value, now: i64) -> Value {
        self.with(now, |cx| (verb(path).run)(cx, caller, body).unwrap().json)
    }

    fn refused(&mut self, path: &[&str], body: Value) -> String {
        let caller = Caller::default();
        self.with(0, |cx| format!("{:?}", (verb(path).run)(cx, &caller, body).unwrap_err()))
    }
}

fn verb(path: &[&str]) -> &'static Verb {
    super::FEATURE.verbs.iter().find(|verb| verb.path == path).unwrap()
}

fn event(kind: EventKind, session: &str, at: i64) -> Event {
    Event { session: SafeId::new(session), ..Event::bare("claude-code", kind, Timestamp(at)) }
}

fn call(name: &str, input: &str) -> Detail {
    let call = ToolCall {
        name: name.to_owned(),
        class: ToolClass::Other,
        use_id: None,
        files: vec![],
        command: None,
        input: input.to_owned(),
        ..ToolCall::default()
    };
    Detail::ToolBefore { call }
}

static NO_FILTER: LazyLock<Value> = LazyLock::new(
    || json!({"which": {"session": null, "actor": null, "event": null, "tool": null, "verdict": null, "since": null}, "limit": 100}),
);

#[test]
fn every_filter_finds_its_rows() {
    let mut place = Place::new("");
    for n in 0..10 {
        let mut event =
            event(EventKind::PreToolUse, if n % 2 == 0 { "even" } else { "odd" }, n * DAY);
        event.detail = call(if n < 5 { "Bash" } else { "Edit" }, "{}");
        place.happen(&event);
    }
    place.happen(&event(EventKind::Stop, "even", 10 * DAY));
    let mut count = |filter: &str, value: &str| {
        let mut body = NO_FILTER.clone();
        body["which"][filter] = json!(value);
        place.rows(&["journal", "list"], body, 10 * DAY).as_array().unwrap().len()
    };
    assert_eq!(count("session", "even"), 6);
    assert_eq!(count("session", "ev"), 6, "a beginning is enough");
    assert_eq!(count("tool", "Edit"), 5);
    assert_eq!(count("event", "Stop"), 1);
    assert_eq!(count("actor", "main"), 11);
    assert_eq!(count("verdict", "allow"), 11);
    assert_eq!(count("since", "3d"), 4);
    assert_eq!(count("since", "1ms"), 1);
    assert_eq!(count("event", "stop"), 1, "in any case");
}

#[rstest]
#[case("event", "Stpo", "the journal has no event `Stpo`", "try `Stop`")]
#[case("tool", "Bsh", "the journal has no tool `Bsh`", "try `Bash`")]
#[case("verdict", "denied", "the journal has no verdict `denied`", "try `deny`")]
#[case("session", "absent", "no session whose id starts with `absent`", "")]
fn an_unknown_filter_word_is_an_error(
    #[case] filter: &str,
    #[case] value: &str,
    #[case] message: &str,
    #[case] hint: &str,
) {
    let mut place = Place::new("");
    let mut event = event(EventKind::PreToolUse, "s", 0);
    event.detail = call("Bash", "{}");
    place.happen(&event);
    let mut body = NO_FILTER.clone();
    body["which"][filter] = json!(value);
    let said = place.refused(&["journal", "list"], body);
    assert!(said.contains(message) && said.contains(hint), "{said}");
}

#[test]
fn an_agent_that_is_typed_is_a_filter_and_rows_name_their_agents() {
    let mut place = Place::new("");
    place.happen(&event(EventKind::SessionStart, "one", 0));
    place.happen(&event(EventKind::SessionStart, "two", 1));
    let rows = place.rows(&["journal", "list"], NO_FILTER.clone(), 2);
    let name = rows[0]["agent"].as_str().unwrap().to_owned();
    assert_ne!(rows[1]["agent"], name.as_str());
    let caller = Caller { agent: Some(name.clone()), agent_typed: true, ..Caller::default() };
    let rows = place.rows_for(&caller, &["journal", "list"], NO_FILTER.clone(), 2);
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!(rows[0]["agent"], name.as_str());
}

#[test]
fn a_moment_is_found_by_bisection() {
    let mut place = Place::new("");
    for n in 0..33 {
        place.happen(&event(EventKind::Stop, "a", n * 1_000));
    }
    place.with(0, |cx| {
        for n in 0..33 {
            assert_eq!(ops::id_before(cx.db, Timestamp(n * 1_000)).unwrap(), n);
            assert_eq!(ops::id_before(cx.db, Timestamp(n * 1_000 + 1)).unwrap(), n + 1);
        }
        assert_eq!(ops::id_before(cx.db, Timestamp(i64::MIN)).unwrap(), 0);
    });
}

#[test]
fn old_rows_go_and_their_sessions_with_them() {
    let mut place = Place::new("journal.max_age = \"7d\"");
    for n in 0..20 {
        place.happen(&event(EventKind::Stop, &format!("s{n}"), n * DAY));
    }
    let more = place.with(20 * DAY, tick).unwrap();
    assert!(more, "something was removed");
    assert!(!place.with(20 * DAY, tick).unwrap(), "and then nothing");
    let left = place.rows(&["journal", "list"], NO_FILTER.clone(), 20 * DAY);
    assert_eq!(left.as_array().unwrap().len(), 7);
    assert_eq!(left[0]["session"], "s13");
    let sessions = place.with(0, |cx| {
        cx.db.rows("select session from journal_session", &[], |row| row.text(0)).unwrap()
    });
    assert_eq!(sessions.len(), 7);
}

#[test]
fn beyond_the_size_limit_the_oldest_rows_go_first() {
    let mut place = Place::new("journal.max_size = \"1MB\"\njournal.max_text = \"4KB\"");
    for n in 0..700 {
        let mut event = event(EventKind::PreToolUse, "a", n);
        event.detail = call("Write", &"x".repeat(4_000));
        place.happen(&event);
    }
    let size = |cx: &mut Cx<'_>| cx.db.size_bytes().unwrap();
    assert!(place.with(0, size) > 1 << 20);
    while place.with(1_000, tick).unwrap() {}
    assert!(place.with(0, size) <= 1 << 20);
}

#[test]
fn a_refusal_is_recorded_with_its_words_and_its_feature() {
    let mut place = Place::new(
        "[probe]\nrules = [\"PreToolUse deny: never\", \"PreToolUse context: by the way\"]",
    );
    let mut event = event(EventKind::PreToolUse, "a", 1);
    event.detail = call("Bash", r#"{"command":"DB_PASSWORD=hunter2 run"}"#);
    let outcome = place.happen(&event);
    assert_eq!(outcome.verdict.word(), "deny");
    let rows = place.rows(&["journal", "list"], NO_FILTER.clone(), 1);
    assert_eq!(rows[0]["verdict"], "deny");
    assert_eq!(
        rows[0]["wishes"][1],
        json!({"feature": "probe", "wish": "context", "text": "by the way", "fate": "whole"})
    );
    assert!(rows[0]["answer"]["permission"]["deny"].as_str().unwrap().starts_with("never"));
    assert_eq!(rows[0]["input"], r#"{"command":"DB_PASSWORD=[redacted] run"}"#);
}

#[test]
fn a_feature_that_panics_is_a_failure_and_the_others_answer() {
    let mut place = Place::new("[probe]\nrules = [\"Stop panic: on purpose\"]");
    let outcome = place.happen(&event(EventKind::Stop, "a", 1));
    assert_eq!(outcome.failures.len(), 1);
    assert!(outcome.failures[0].panicked && outcome.failures[0].message.contains("on purpose"));
    let rows = place.rows(&["journal", "list"], NO_FILTER.clone(), 1);
    assert_eq!(rows[0]["failures"][0]["feature"], "probe");
}

#[test]
fn a_block_is_counted_until_a_tool_call_or_the_end_of_the_turn() {
    let mut place = Place::new("[probe]\nrules = [\"Stop block: again\"]");
    let stop = |again| Event {
        detail: Detail::Stop { again, last_message: None, n_background_tasks: 0, transcript: None },
        ..event(EventKind::Stop, "a", 1)
    };
    let in_row = |place: &mut Place| {
        place.with(0, |cx| {
            cx.db.first("select n_in_row from stop_cycle", &[], |row| row.int(0)).unwrap()
        })
    };
    place.happen(&stop(false));
    place.happen(&stop(true));
    assert_eq!(in_row(&mut place), Some(2));
    place.happen(&event(EventKind::PostToolUse, "a", 2));
    assert_eq!(in_row(&mut place), Some(0));
    place.happen(&stop(false));
    assert_eq!(in_row(&mut place), Some(1), "a new turn begins a new count");
    place.settings = Place::new("[persist]\nmode = \"off\"").settings;
    place.happen(&stop(true));
    assert_eq!(in_row(&mut place), None, "it was let go");
}

/// Processes these requests in one commit.
fn commit(place: &mut Place, processed: &mut Processed, requests: &[(RequestId, &[u8])]) {
    let mut group = Group::default();
    for (request, answer) in requests {
        group.add(*request, answer);
    }
    place.with(0, |cx| processed.note(cx.db, &group).unwrap());
    processed.committed(&group);
}

#[test]
fn a_request_is_known_by_its_id_whatever_the_clock_says() {
    let mut place = Place::new("");
    let id = |n: u8| RequestId([n; 16]);
    let mut daemon = Processed::default();
    commit(&mut place, &mut daemon, &[(id(1), b""), (id(2), b"deny")]);
    commit(&mut place, &mut daemon, &[(id(3), b"block")]);
    // The daemon is killed. Its successor, whose clock was set back, is asked again.
    let mut next = place.with(-5_000, |cx| Processed::load(cx.db, crate::ALL).unwrap().0);
    let mut answer = |place: &mut Place, n: u8| {
        place
            .with(-5_000, |cx| next.answer_to(cx.db, crate::ALL, id(n), &Group::default()).unwrap())
    };
    assert_eq!(answer(&mut place, 1), Some(Vec::new()));
    assert_eq!(answer(&mut place, 2), Some(b"deny".to_vec()));
    assert_eq!(answer(&mut place, 3), Some(b"block".to_vec()));
    assert_eq!(answer(&mut place, 4), None);
    commit(&mut place, &mut next, &[(id(4), b"late")]);
    let known =
        place.with(0, |cx| next.answer_to(cx.db, crate::ALL, id(4), &Group::default()).unwrap());
    assert_eq!(known, Some(b"late".to_vec()), "what it processes itself is known too");
}

#[test]
fn the_requests_of_one_commit_are_known_within_it() {
    let mut place = Place::new("");
    let mut group = Group::default();
    group.add(RequestId([1; 16]), b"deny");
    let mut daemon = Processed::default();
    let twice = place
        .with(0, |cx| daemon.answer_to(cx.db, crate::ALL, RequestId([1; 16]), &group).unwrap());
    assert_eq!(twice, Some(b"deny".to_vec()));
}

/// The request of `Place::happen` comes again, to a daemon that has just begun.
fn again(place: &mut Place) -> Option<Vec<u8>> {
    place.with(0, |cx| {
        let mut next = Processed::load(cx.db, crate::ALL).unwrap().0;
        next.answer_to(cx.db, crate::ALL, RequestId([1; 16]), &Group::default()).unwrap()
    })
}

#[test]
fn the_row_of_an_event_that_needs_no_answer_stands_for_its_request() {
    let mut place = Place::new("");
    assert_eq!(again(&mut place), None);
    let outcome = place.happen(&event(EventKind::PreToolUse, "a", 1));
    assert!(outcome.is_stood_for);
    assert_eq!(again(&mut place), Some(Vec::new()));
    let scopes = place.with(0, |cx| Processed::load(cx.db, crate::ALL).unwrap().1);
    assert_eq!(scopes, [FIRST]);
}

#[rstest]
#[case::refused("PreToolUse deny: on purpose", EventKind::PreToolUse)]
#[case::held("Stop block: on purpose", EventKind::Stop)]
#[case::told("PreToolUse context: on purpose", EventKind::PreToolUse)]
fn a_row_with_an_answer_stands_for_nothing(#[case] rule: &str, #[case] kind: EventKind) {
    let mut place = Place::new(&format!("[probe]\nrules = [\"{rule}\"]"));
    let outcome = place.happen(&event(kind, "a", 1));
    assert!(!outcome.verdict.is_silent() && !outcome.is_stood_for);
    assert_eq!(again(&mut place), None);
}

#[test]
fn what_was_processed_does_not_grow() {
    let mut place = Place::new("");
    let mut daemon = Processed::default();
    place.with(0, |cx| {
        for n in 0..16_500_u32 {
            let mut group = Group::default();
            let mut id = [0; 16];
            id[..4].copy_from_slice(&n.to_le_bytes());
            group.add(RequestId(id), b"");
            group.add_scope(processed::Scope { digest: u64::from(n), origin: 1 });
            daemon.note(cx.db, &group).unwrap();
            daemon.committed(&group);
        }
        let n = cx.db.first("select count(*) from processed", &[], |row| row.int(0)).unwrap();
        assert!(n.is_some_and(|n| (16_384..16_384 + 64).contains(&n)), "{n:?}");
        let scopes = Processed::load(cx.db, crate::ALL).unwrap().1;
        assert_eq!(
            (scopes.len(), scopes.last()),
            (64, Some(&processed::Scope { digest: 16_499, origin: 1 }))
        );
    });
}

#[test]
fn the_health_of_hooks_is_read_from_their_rows() {
    let mut place = Place::new("[probe]\nrules = [\"Stop fail: on purpose\"]");
    for (session, kind, at) in [
        ("old", EventKind::SessionStart, 0),
        ("late", EventKind::SessionStart, 1),
        ("late", EventKind::UserPromptSubmit, 2 * DAY),
        ("new", EventKind::PreToolUse, 2 * DAY + 1),
        ("new", EventKind::PreToolUse, 2 * DAY + 2),
        ("new", EventKind::Stop, 2 * DAY + 3),
        ("", EventKind::Malformed, 2 * DAY + 4),
    ] {
        place.happen(&event(kind, session, at));
    }
    let since = |all| super::Since { all: Timestamp(all), recent: Timestamp(2 * DAY + 2) };
    let found = place.with(0, |cx| super::health(cx.db, since(DAY), 10).unwrap());
    assert_eq!((found.n_events, found.n_malformed, found.n_late), (5, 1, 0));
    assert_eq!(found.recent.n_events, 3);
    let named = found.sessions.iter().all(|session| session.agent.is_some());
    assert!(named, "{:?}", found.sessions);
    assert_eq!(found.failures.len(), 1);
    assert_eq!((found.failures[0].feature.as_str(), found.failures[0].n), ("probe", 1));
    assert_eq!((found.failures[0].last_id, found.failures[0].last_at.0), (6, 2 * DAY + 3));
    let told: Vec<_> = found
        .sessions
        .iter()
        .map(|session| (session.session.as_str(), session.has_start, session.events.len()))
        .collect();
    assert_eq!(told, [("new", Some(false), 2), ("late", Some(true), 1)]);
    assert_eq!(found.sessions[0].events["PreToolUse"].n, 2);
    assert_eq!(found.sessions[0].last_event, "Stop");
    let few = place.with(0, |cx| super::health(cx.db, since(0), 1).unwrap());
    assert_eq!((few.n_events, few.sessions.len()), (7, 1));
}

#[test]
fn a_feature_that_panics_while_it_names_its_needs_needs_nothing() {
    const CLUMSY: substrate_core::Feature = substrate_core::Feature {
        name: "clumsy",
        gather: Some(|_, _| panic!("on purpose")),
        ..substrate_core::Feature::NOTHING
    };
    let settings = Place::new("").settings;
    assert!(engine::needs(&[&CLUMSY], &event(EventKind::Stop, "a", 1), &settings).is_empty());
}

#[rstest]
#[case::refused(ops::REFUSED)]
#[case::refused_so(ops::REFUSED_SO)]
#[case::refused_since(ops::REFUSED_SINCE)]
#[case::how_many(ops::N_REFUSED)]
#[case::failed(ops::FAILED)]
fn what_is_rare_is_found_by_its_index(#[case] sql: &str) {
    let mut place = Place::new("");
    let explain = format!("explain query plan {sql}");
    let params = vec![substrate_core::Param::Int(1); if sql.contains("$3") { 3 } else { 2 }];
    let plan =
        place.with(0, |cx| cx.db.rows(&explain, &params, |row| row.text(3)).unwrap().join("\n"));
    assert!(plan.contains("journal_noted") && !plan.contains("TEMP B-TREE"), "{plan}");
}

#[rstest]
#[case::span(super::traces::SPAN)]
#[case::latest(super::traces::LATEST)]
#[case::asked(super::face::ASKED)]
#[case::found(super::search::FIND)]
fn a_view_reads_from_one_end_and_sorts_nothing(#[case] sql: &str) {
    let mut place = Place::new("");
    let explain = format!("explain query plan {sql}");
    let n = (1..9).filter(|n| sql.contains(&format!("${n}"))).count();
    let params = vec![substrate_core::Param::Text("x"); n];
    let plan =
        place.with(0, |cx| cx.db.rows(&explain, &params, |row| row.text(3)).unwrap().join("\n"));
    assert!(!plan.contains("TEMP B-TREE"), "{plan}");
    assert!(
        sql.contains("limit") && (!plan.contains("SCAN journal") || !sql.contains("id > $1")),
        "{plan}"
    );
}
