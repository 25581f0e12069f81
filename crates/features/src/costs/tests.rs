//! Usage from transcripts to sums, on a real database with all features.

use rstest::rstest;
use serde_json::{Value, json};
use substrate_core::facts::{Found, Lines};
use substrate_core::{
    Actor, Caller, Detail, Effect, Event, EventKind, Need, Output, PageRequest, Param, SafeId,
    StartSource,
};

use super::ops;
use crate::stage::Stage;

const MAIN: &str = "/t/s1.jsonl";
const SUB: &str = "/t/s1/subagents/agent-a1.jsonl";

fn stage() -> Stage {
    let mut stage = Stage::new("");
    let detail = Detail::SessionStart { source: StartSource::Startup, model: None };
    let event = Event {
        detail,
        wanted_agent: Some("NobleLion".to_owned()),
        ..stage.event(EventKind::SessionStart, "s1")
    };
    stage.told(&event);
    stage
}

fn stop(stage: &mut Stage) {
    let detail =
        Detail::Stop { again: false, last_message: None, n_background_tasks: 0, transcript: None };
    let transcript = Some(MAIN.to_owned());
    let event = Event { detail, transcript, ..stage.event(EventKind::Stop, "s1") };
    stage.told(&event);
}

/// A subagent of that kind begins and ends.
fn sub_ends(stage: &mut Stage) {
    let id = SafeId::new("a1").unwrap();
    let actor = Actor::Subagent { id, kind: "reviewer".to_owned() };
    let detail =
        Detail::Stop { again: false, last_message: None, n_background_tasks: 0, transcript: None };
    let transcript = Some(MAIN.to_owned());
    let begin = Event { actor: actor.clone(), ..stage.event(EventKind::SubagentStart, "s1") };
    stage.told(&begin);
    let end = Event { actor, detail, transcript, ..stage.event(EventKind::SubagentStop, "s1") };
    stage.told(&end);
}

/// What the file has from that byte on.
fn has(stage: &mut Stage, path: &str, from: u64, lines: &[String], next: u64, is_more: bool) {
    let need = Need::Lines { path: path.to_owned(), from, with: "\"usage\"", max: 4 << 20 };
    stage.facts.insert(need, Found::Lines(Lines { lines: lines.to_vec(), next, is_more }));
}

fn answer(id: &str, model: &str, input: i64, output: i64) -> String {
    json!({"type": "assistant", "timestamp": "2027-01-15T07:00:00Z",
           "message": {"id": id, "model": model,
                       "usage": {"input_tokens": input, "output_tokens": output}}})
    .to_string()
}

fn tick(stage: &mut Stage) -> (bool, Vec<Need>) {
    stage.with(|cx| ((super::FEATURE.tick.unwrap())(cx).unwrap(), cx.missing.take()))
}

fn cost(stage: &mut Stage, body: Value) -> Output {
    stage.call(&Caller::default(), &["cost"], body).unwrap()
}

#[test]
fn a_turn_is_counted_a_moment_after_its_end_and_each_answer_once() {
    let mut stage = stage();
    assert!(cost(&mut stage, json!({})).text.starts_with("No usage since 2027-01-08."));
    stop(&mut stage);
    assert!(stage.effects.contains(&Effect::Soon { feature: "costs" }));
    assert_eq!(tick(&mut stage), (false, vec![]), "the last line may not be there yet");
    assert!(stage.effects.contains(&Effect::Soon { feature: "costs" }), "soon");
    stage.pass(2_000);
    let (_, asked) = tick(&mut stage);
    assert!(matches!(&asked[..], [Need::Lines { path, from: 0, .. }] if path == MAIN), "{asked:?}");
    // Two parts of one answer, and another answer.
    let one = answer("m1", "claude-sonnet-4-5", 1_000_000, 100_000);
    let lines = [one.clone(), one.clone(), answer("m2", "claude-sonnet-4-5", 500_000, 0)];
    has(&mut stage, MAIN, 0, &lines, 900, false);
    assert_eq!(tick(&mut stage), (false, vec![]));
    let seen = cost(&mut stage, json!({}));
    assert_eq!(seen.json["total"]["answers"], 2);
    assert_eq!(seen.json["total"]["input_tokens"], 1_500_000);
    assert_eq!(seen.json["total"]["nano_usd"], 6_000_000_000_i64);
    assert!(seen.text.contains("NobleLion"), "{}", seen.text);
    assert!(seen.text.contains("$6.00\n"), "{}", seen.text);
    assert_eq!(tick(&mut stage), (false, vec![]), "nothing is due");
    // The next turn goes on where the last one ended. A copy of an old line counts nothing.
    stop(&mut stage);
    stage.pass(2_000);
    has(&mut stage, MAIN, 900, &[one, answer("m3", "claude-sonnet-4-5", 1, 0)], 950, false);
    tick(&mut stage);
    assert_eq!(cost(&mut stage, json!({})).json["total"]["answers"], 3);
}

#[test]
fn a_long_transcript_is_read_in_steps_and_one_that_is_gone_is_left_alone() {
    let mut stage = stage();
    stop(&mut stage);
    stage.pass(2_000);
    has(&mut stage, MAIN, 0, &[answer("m1", "claude-sonnet-4-5", 1, 1)], 4_000, true);
    assert!(tick(&mut stage).0, "there is more");
    has(&mut stage, MAIN, 4_000, &[answer("m2", "claude-sonnet-4-5", 1, 1)], 5_000, false);
    assert!(!tick(&mut stage).0);
    assert_eq!(cost(&mut stage, json!({})).json["total"]["answers"], 2);
    stop(&mut stage);
    stage.pass(2_000);
    let gone = Need::Lines { path: MAIN.to_owned(), from: 5_000, with: "\"usage\"", max: 4 << 20 };
    stage.facts.insert(gone, Found::Nothing);
    assert_eq!(tick(&mut stage), (false, vec![]));
    assert!(!stage.with(|cx| ops::is_any_due(cx.db).unwrap()), "it is not asked for again");
}

#[test]
fn subagents_are_rolled_up_and_a_model_without_a_price_is_named() {
    let mut stage = stage();
    stop(&mut stage);
    sub_ends(&mut stage);
    stage.pass(2_000);
    has(&mut stage, MAIN, 0, &[answer("m1", "claude-opus-4-5", 1_000_000, 0)], 9, false);
    has(&mut stage, SUB, 0, &[answer("m2", "claude-opus-9", 7, 0)], 9, false);
    tick(&mut stage);
    let seen = cost(&mut stage, json!({}));
    let row = &seen.json["rows"][0];
    assert_eq!((&row["name"], &row["answers"]), (&json!("NobleLion"), &json!(2)));
    assert_eq!(row["subagents"][0]["name"], "NobleLion/reviewer-1", "{row}");
    assert!(seen.text.contains("at least $5.00"), "{}", seen.text);
    assert!(seen.text.contains("Without a price: claude-opus-9."), "{}", seen.text);
    let line = seen.text.lines().find(|line| line.contains("reviewer-1")).unwrap();
    assert!(line.ends_with("no price"), "{line}");
}

#[rstest]
#[case::project("project", "/repo")]
#[case::day("day", "2027-01-15")]
#[case::model("model", "claude-opus-4-5")]
fn it_adds_up_by(#[case] by: &str, #[case] name: &str) {
    let mut stage = stage();
    stop(&mut stage);
    stage.pass(2_000);
    has(&mut stage, MAIN, 0, &[answer("m1", "claude-opus-4-5", 1, 1)], 9, false);
    tick(&mut stage);
    let seen = cost(&mut stage, json!({"by": by, "since": "2027-01-15"}));
    assert_eq!(seen.json["rows"][0]["name"], name, "{}", seen.json);
    let later = cost(&mut stage, json!({"by": by, "since": "2027-01-16"}));
    assert_eq!(later.json["rows"], json!([]));
    let odd = stage.call(&Caller::default(), &["cost"], json!({"since": "soon"}));
    assert!(odd.unwrap_err().to_string().contains("neither a span nor a day"));
}

#[rstest]
#[case::due(ops::DUE, "cost_files USING INDEX cost_files_due (due_ms>? AND due_ms<?)")]
#[case::since(ops::SINCE, "cost_usage USING INDEX sqlite_autoindex_cost_usage_1 (day>?)")]
fn a_statement_uses_its_index(#[case] sql: &str, #[case] index: &str) {
    let mut stage = stage();
    let explain = format!("explain query plan {sql}");
    let params = vec![Param::Int(1); sql.matches('$').count()];
    let plan =
        stage.with(|cx| cx.db.rows(&explain, &params, |row| row.text(3)).unwrap().join("\n"));
    assert!(plan.contains(index), "{plan}");
    assert!(!plan.contains("TEMP B-TREE") && !plan.contains("SCAN"), "{plan}");
}

/// The page as a browser that may only look gets it.
fn page(stage: &mut Stage, query: &[(&str, &str)]) -> String {
    let query = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let request = PageRequest { query: query.collect(), ..PageRequest::default() };
    stage.with(|cx| (super::page::PAGES[0].render)(cx, &request).unwrap().html)
}

#[test]
fn the_page_rolls_subagents_up_and_draws_money_and_context() {
    let mut stage = stage();
    assert!(page(&mut stage, &[]).contains("No usage yet."));
    stop(&mut stage);
    sub_ends(&mut stage);
    stage.pass(2_000);
    let lines = [
        answer("m1", "claude-sonnet-4-5", 1_000_000, 100_000),
        answer("m2", "odd-model-<b>", 2_000, 0),
    ];
    has(&mut stage, MAIN, 0, &lines, 900, false);
    has(&mut stage, SUB, 0, &[answer("m3", "claude-sonnet-4-5", 500_000, 0)], 90, false);
    tick(&mut stage);
    let html = page(&mut stage, &[("span", "week")]);
    for part in [
        "odd-model-&lt;b&gt;</bdi> has no price",
        "at least $6.00",
        ", with 1 subagent",
        "<bdi>reviewer-1</bdi>",
        "Context: 1.0M tokens at its latest answer, at most 1.0M",
        "<rect class=\"c1 gap\"",
        "class=\"unpriced\"",
    ] {
        assert!(html.contains(part), "{part} is missing: {html}");
    }
    let by_model = page(&mut stage, &[("span", "week"), ("by", "model")]);
    assert!(by_model.contains("By model") && by_model.contains("no price"), "{by_model}");
    let days = cost(&mut stage, json!({})).json["days"].clone();
    assert_eq!(days[0]["nano_usd"], 6_000_000_000_i64);
    assert_eq!(days[0]["unpriced_tokens"], 2_000);
}
