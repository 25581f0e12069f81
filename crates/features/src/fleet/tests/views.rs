//! What happened when: lanes, the fleet as it was, the story of an agent, and search. Each on a real database.

use super::*;
use substrate_core::Cx;

/// Both work: NobleLion runs tests, writes to CalmOtter, is refused a command and stops.
fn an_hour(stage: &mut Stage) -> i64 {
    happens(stage, "lion", EventKind::UserPromptSubmit, prompt("split the ledger"));
    stage.pass(MINUTE);
    happens(stage, "lion", EventKind::PreToolUse, before("cargo nextest run"));
    let at = stage.now.0;
    stage.pass(MINUTE);
    happens(stage, "lion", EventKind::PostToolUse, after("cargo nextest run"));
    happens(stage, "lion", EventKind::PreToolUse, before("rm -rf ~"));
    let lion = Caller { agent: Some("NobleLion".to_owned()), agent_typed: true, ..person() };
    let letter = json!({"to": ["CalmOtter"], "subject": "0042 is mine", "body": "until three"});
    stage.call(&lion, &["send"], letter).unwrap();
    stage.pass(MINUTE);
    happens(stage, "lion", EventKind::Stop, stop("done"));
    at
}

#[test]
fn lanes_show_calls_refusals_and_mail() {
    let mut stage = two();
    let at = an_hour(&mut stage);
    let json = call(&mut stage, &["fleet", "lanes"], json!({"span": "1h"})).unwrap().json;
    let lanes = json["lanes"].as_array().unwrap();
    let names: Vec<&str> = lanes.iter().map(|lane| lane["address"].as_str().unwrap()).collect();
    assert_eq!(names, ["CalmOtter", "NobleLion"]);
    let bars = lanes[1]["bars"].as_array().unwrap();
    let bar = |n: usize| (bars[n]["kind"].as_str().unwrap(), bars[n]["text"].as_str().unwrap());
    assert_eq!((bar(0), bar(1)), (("run", "cargo nextest run"), ("refused", "rm -rf ~")));
    assert_eq!((&bars[0]["from_ms"], &bars[0]["until_ms"]), (&json!(at), &json!(at + MINUTE)));
    let mail = &json["mail"][0];
    assert_eq!((&mail["from"], &mail["to"]), (&json!("NobleLion"), &json!("CalmOtter")));
    let of_one = call(&mut stage, &["fleet", "lanes"], json!({"name": "calmotter"})).unwrap().json;
    assert_eq!(of_one["lanes"].as_array().unwrap().len(), 1);
    assert!(call(&mut stage, &["fleet", "lanes"], json!({"name": "Zebra"})).is_err());
    let text = call(&mut stage, &["fleet", "lanes"], json!({})).unwrap().text;
    assert!(text.contains("NobleLion") && text.contains("1 refused"), "{text}");
}

#[test]
fn the_fleet_as_it_was_is_read_from_the_journal() {
    let mut stage = two();
    let at = an_hour(&mut stage);
    stage.pass(30 * MINUTE);
    let then = |stage: &mut Stage, at: i64| {
        let body = json!({"at": at.to_string()});
        let json = call(stage, &["fleet", "list"], body).unwrap().json;
        let one = |actor: &Value| {
            let word = |name: &str| actor[name].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", word("address"), word("status"), word("did"))
        };
        json["actors"].as_array().unwrap().iter().map(one).collect::<Vec<_>>()
    };
    assert_eq!(
        then(&mut stage, at),
        ["NobleLion working cargo nextest run", "CalmOtter done "],
        "in the middle of its call"
    );
    let later = then(&mut stage, at + 5 * MINUTE);
    assert!(later.iter().any(|line| line.starts_with("NobleLion done")), "{later:?}");
    assert_eq!(then(&mut stage, 1_000_000_000_000 - 1).len(), 0, "before everything");
}

#[test]
fn a_story_has_what_every_feature_knows() {
    let mut stage = two();
    an_hour(&mut stage);
    let json = call(&mut stage, &["fleet", "story"], json!({"name": "NobleLion"})).unwrap().json;
    let moments = json["moments"].as_array().unwrap();
    let kinds: Vec<&str> = moments.iter().map(|one| one["kind"].as_str().unwrap()).collect();
    for kind in ["began", "prompt", "refusal", "sent", "turn"] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    let times: Vec<i64> = moments.iter().map(|one| one["at_ms"].as_i64().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(json["failed"], json!([]));
    let got = call(&mut stage, &["fleet", "story"], json!({"name": "CalmOtter"})).unwrap().json;
    let is_mail = |one: &Value| one["kind"] == "got" && one["other"] == "NobleLion";
    assert!(got["moments"].as_array().unwrap().iter().any(is_mail), "{got}");
}

#[test]
fn what_is_searched_for_is_found_before_and_after_it_is_indexed() {
    let mut stage = two();
    an_hour(&mut stage);
    let hits = |stage: &mut Stage, words: &str| {
        let body = json!({"words": words.split(' ').collect::<Vec<_>>()});
        let json = call(stage, &["journal", "search"], body).unwrap().json;
        let one = |hit: &Value| {
            format!("{} {}", hit["kind"].as_str().unwrap(), hit["who"].as_str().unwrap())
        };
        json["hits"].as_array().unwrap().iter().map(one).collect::<Vec<_>>()
    };
    call(&mut stage, &["work", "add"], json!({"title": "split the parser"})).unwrap();
    let index = |cx: &mut Cx<'_>| (crate::journal::FEATURE.tick.unwrap())(cx).unwrap();
    for _ in 0..2 {
        assert_eq!(hits(&mut stage, "NEXTEST"), ["command NobleLion"]);
        assert_eq!(hits(&mut stage, "split"), ["work User", "prompt NobleLion"]);
        assert_eq!(hits(&mut stage, "rm -rf"), ["refusal NobleLion"]);
        assert_eq!(hits(&mut stage, "nextes*"), ["command NobleLion"]);
        assert_eq!(hits(&mut stage, "nowhere"), [""; 0]);
        stage.with(index);
    }
    // Mail between agents is for the user to find, and is shown as its sender's.
    let body = json!({"words": ["three"], "kind": "mail"});
    let json = call(&mut stage, &["journal", "search"], body).unwrap().json;
    assert_eq!(json["hits"][0]["who"], "NobleLion", "{json}");
    assert_eq!(json["hits"][0]["text"], "#1 to CalmOtter: 0042 is mine");
    assert_eq!(json["hits"][0]["link"], "/mail/1?as=NobleLion");
    let body = json!({"words": ["split"], "kind": "work"});
    let json = call(&mut stage, &["journal", "search"], body).unwrap().json;
    assert_eq!(json["hits"].as_array().unwrap().len(), 1);
    assert_eq!(json["hits"][0]["link"], "/work#work-1");
}

#[test]
fn a_refusal_has_its_rule_and_what_came_next() {
    let rule = "[[guards.rules]]\nname = \"no-deploys\"\naction = \"deny\"\nwhen = 'command.contains(\"deploy\")'\nreason = \"Not here.\"\nnext = \"Ask the user.\"\n";
    let mut stage = with(rule);
    happens(&mut stage, "lion", EventKind::PreToolUse, before("./deploy"));
    stage.pass(SECOND);
    happens(&mut stage, "lion", EventKind::PreToolUse, before("make"));
    let json = call(&mut stage, &["journal", "refused"], json!({"limit": 5})).unwrap().json;
    let one = &json["refused"][0];
    assert_eq!((&one["call"], &one["rule"]["name"]), (&json!("./deploy"), &json!("no-deploys")));
    assert_eq!(one["rule"]["safer"], "Ask the user.");
    assert_eq!(
        (&one["next"][0]["call"], &one["next"][0]["what"]),
        (&json!("make"), &json!("did it another way"))
    );
    let held = json!({"limit": 5, "verdict": "block"});
    let json = call(&mut stage, &["journal", "refused"], held).unwrap().json;
    assert_eq!(json["refused"], json!([]));
}

/// The dashboard sees the user's settings only. What a project's rule was is kept when it speaks.
#[test]
fn a_rule_of_a_project_is_named_with_its_place_even_when_the_project_has_changed() {
    let rule = "[[guards.rules]]\nname = \"no-deploys\"\naction = \"deny\"\nwhen = 'command.contains(\"deploy\")'\nreason = \"Not here.\"\nnext = \"Ask the user.\"\n";
    let mut stage = two();
    let off = "[persist]\nmode = \"off\"\n";
    stage.set_layers(off, rule);
    happens(&mut stage, "lion", EventKind::PreToolUse, before("./deploy"));
    stage.set(off);
    let json = call(&mut stage, &["journal", "refused"], json!({"limit": 5})).unwrap().json;
    let rule = &json["refused"][0]["rule"];
    assert_eq!(
        (&rule["name"], &rule["origin"]),
        (&json!("no-deploys"), &json!("test:1")),
        "{json}"
    );
    assert_eq!((&rule["action"], &rule["safer"]), (&json!("deny"), &json!("Ask the user.")));
}

#[test]
fn work_and_efforts_that_were_left_behind_need_you() {
    let mut stage = two();
    call(&mut stage, &["work", "add"], json!({"title": "port the parser"})).unwrap();
    let lion = Caller { agent: Some("NobleLion".to_owned()), agent_typed: true, ..person() };
    stage.call(&lion, &["work", "claim"], json!({})).unwrap();
    let board = call(&mut stage, &["work", "board"], json!({})).unwrap().json;
    assert_eq!(board["claimed"][0]["claimant"], "NobleLion");
    assert_eq!(board["counts"], json!({"queued": 0, "claimed": 1, "done": 0}));
    stage.machine.processes.clear();
    stage.pass(MINUTE);
    stage.with(|cx| (crate::work::FEATURE.tick.unwrap())(cx).unwrap());
    let json = call(&mut stage, &["needs"], json!({})).unwrap().json;
    let rows = json["needs"].as_array().unwrap();
    let row = rows.iter().find(|row| row["id"] == "work:1").unwrap();
    assert_eq!(row["kind"], "dead");
    assert!(row["reason"].as_str().unwrap().contains("came back from NobleLion"), "{row}");
    assert_eq!(row["text"], "port the parser");
}
