//! The policy as a table, and the story with a real database.

use rstest::rstest;
use serde_json::{Value, json};
use substrate_core::{Caller, NeedKind, Timestamp, UserNeed};

use super::policy::{Before, Decision, Hours, Rules, Why, decide};
use super::words;
use crate::stage::Stage;

const NOW: Timestamp = Timestamp(1_795_000_000_000);

const RULES: Rules = Rules { after_ms: 5_000, quiet: None, max_per_hour: 3 };

/// A row that has waited so many seconds.
fn row(id: &str, seconds: i64) -> UserNeed {
    UserNeed {
        id: id.to_owned(),
        kind: NeedKind::Permission,
        agent: "CalmOtter".to_owned(),
        project: "/home/me/shop/.git".to_owned(),
        session: "s1".to_owned(),
        actor: "main".to_owned(),
        since_ms: NOW.0 - seconds * 1_000,
        reason: "asks for permission: Bash".to_owned(),
        text: "git push".to_owned(),
        is_whole: true,
        pane: None,
        actions: Vec::new(),
    }
}

fn ago(seconds: i64) -> Timestamp {
    NOW.plus_ms(-seconds * 1_000)
}

/// What was told so many seconds ago, and when notifications went out.
fn before(rows: &[(&str, i64)], sent: &[i64]) -> Before {
    Before {
        rows: rows.iter().map(|(id, seconds)| ((*id).to_owned(), ago(*seconds))).collect(),
        sent: sent.iter().map(|seconds| ago(*seconds)).collect(),
    }
}

#[rstest]
#[case::nothing_waits(&[], before(&[], &[]), Ok(vec![]))]
#[case::one_that_has_waited(&[("a", 6)], before(&[], &[]), Ok(vec!["a"]))]
#[case::one_that_may_be_answered_at_once(&[("a", 4)], before(&[], &[]), Err(Why::Fresh))]
#[case::never_the_same_twice(&[("a", 60)], before(&[("a", 50)], &[50]), Ok(vec![]))]
#[case::the_next_dialog_of_the_same_agent(&[("a", 20)], before(&[("a", 50)], &[50]), Ok(vec!["a"]))]
#[case::only_the_new_one(&[("a", 60), ("b", 6)], before(&[("a", 50)], &[50]), Ok(vec!["b"]))]
#[case::several_are_one(&[("a", 6), ("b", 8), ("c", 7)], before(&[], &[]), Ok(vec!["a", "b", "c"]))]
#[case::the_rest_of_a_burst_is_waited_for(&[("a", 6), ("b", 1)], before(&[], &[]), Err(Why::Fresh))]
#[case::but_not_for_ever(&[("a", 10), ("b", 1)], before(&[], &[]), Ok(vec!["a"]))]
#[case::not_right_after_another(&[("b", 8)], before(&[("a", 9)], &[9]), Err(Why::TooSoon))]
#[case::not_too_many(&[("d", 8)], before(&[], &[600, 1_200, 1_800]), Err(Why::TooMany))]
#[case::an_hour_later_there_is_room(&[("d", 8)], before(&[], &[600, 1_200, 3_700]), Ok(vec!["d"]))]
#[case::a_clock_that_was_set_back(&[("a", -30)], before(&[], &[]), Err(Why::Fresh))]
fn what_is_told(
    #[case] waiting: &[(&str, i64)],
    #[case] before: Before,
    #[case] expected: Result<Vec<&str>, Why>,
) {
    let needs: Vec<UserNeed> = waiting.iter().map(|(id, seconds)| row(id, *seconds)).collect();
    let told = match decide(&needs, &before, RULES, NOW, 0) {
        Decision::Tell(rows) => Ok(rows.iter().map(|row| row.id.clone()).collect()),
        Decision::Nothing => Ok(Vec::new()),
        Decision::Hold(why) => Err(why),
    };
    assert_eq!(told, expected.map(|ids| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>()));
}

/// `NOW` is 11:06 UTC.
#[rstest]
#[case::inside("11:00-12:00", 0, true)]
#[case::before("12:00-13:00", 0, false)]
#[case::the_end_is_not_quiet("10:00-11:06", 0, false)]
#[case::past_midnight("22:00-12:00", 0, true)]
#[case::past_midnight_outside("22:00-07:00", 0, false)]
#[case::in_the_users_zone("22:00-07:00", 13 * 3_600, true)]
#[case::west_of_greenwich("22:00-07:00", -5 * 3_600, true)]
#[case::never("", 0, false)]
#[case::unreadable("late", 0, false)]
fn quiet_hours(#[case] text: &str, #[case] tz_offset_s: i32, #[case] is_quiet: bool) {
    let rules = Rules { quiet: Hours::read(text), ..RULES };
    let needs = [row("a", 60)];
    let decision = decide(&needs, &Before::default(), rules, NOW, tz_offset_s);
    assert_eq!(decision == Decision::Hold(Why::Quiet), is_quiet, "{decision:?}");
}

#[rstest]
#[case("24:00-01:00")]
#[case("7-8")]
#[case("07:00")]
#[case("07:60-08:00")]
#[case("+7:00-08:00")]
fn hours_that_are_none(#[case] text: &str) {
    assert_eq!(Hours::read(text), None);
}

#[test]
fn the_question_is_in_it_and_several_are_counted() {
    let one = row("a", 6);
    let told = words::of(&[&one]);
    assert_eq!(told.title, "CalmOtter asks for permission: Bash (shop)");
    assert_eq!(told.body, "git push");
    let all: Vec<UserNeed> = (0..7).map(|n| row(&n.to_string(), 6)).collect();
    let told = words::of(&all.iter().collect::<Vec<_>>());
    assert_eq!(told.title, "7 things wait for you");
    assert_eq!(told.body.lines().count(), 6);
    assert!(told.body.ends_with("… and 2 more"), "{}", told.body);
}

#[test]
fn hostile_text_is_one_line_no_flag_and_without_secrets() {
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let mut one = row("a", 6);
    one.agent = "--help".to_owned();
    one.reason = "x\u{1b}]0;title\u{7}\n$(rm -rf ~) `id`".to_owned();
    one.text = format!("--config=evil\u{202e}\ncurl -H 'Authorization: token {secret}'");
    let told = words::of(&[&one]);
    for text in [&told.title, &told.body] {
        assert!(!text.starts_with('-') && !text.contains(&secret), "{text}");
        assert!(
            text.chars().all(|c| !c.is_control() && !substrate_core::text::is_hidden(c)),
            "{text:?}"
        );
    }
    assert!(!words::json(&[&one]).to_string().contains(&secret));
}

fn ask(stage: &mut Stage, path: &[&str], body: Value) -> Value {
    stage.call(&Caller::default(), path, body).unwrap().json
}

#[test]
fn a_message_to_the_user_is_told_once_and_its_outcome_is_known() {
    let mut stage = Stage::new("[notify]\ndesktop = true\n");
    ask(
        &mut stage,
        &["send"],
        json!({"to": ["User"], "subject": "Which port?", "body": "80 or 443?"}),
    );
    assert_eq!(ask(&mut stage, &["notify", "due"], json!({})), json!({"again_ms": 1_000}));
    stage.pass(6_000);
    let due = ask(&mut stage, &["notify", "due"], json!({}));
    assert_eq!((&due["ids"], &due["body"]), (&json!(["mail:1"]), &json!("80 or 443?")));
    let told = json!({"ids": due["ids"], "waiting": due["waiting"], "title": due["title"]});
    let id = ask(&mut stage, &["notify", "told"], told)["id"].clone();
    assert_eq!(ask(&mut stage, &["notify", "due"], json!({})), json!({}));
    let error = "the program ended with code 1";
    ask(&mut stage, &["notify", "noted"], json!({"id": id, "error": error}));
    let status = ask(&mut stage, &["notify", "status"], json!({}));
    assert_eq!(status["sent"][0]["error"], error);
    // Another message is another row. What was told stays told for days, as long as it waits.
    stage.pass(3 * 86_400_000);
    ask(&mut stage, &["send"], json!({"to": ["User"], "subject": "And?", "body": "Still here?"}));
    stage.pass(6_000);
    let due = ask(&mut stage, &["notify", "due"], json!({}));
    assert_eq!(due["ids"], json!(["mail:2"]));
    let told = json!({"ids": due["ids"], "waiting": due["waiting"], "title": due["title"]});
    ask(&mut stage, &["notify", "told"], told);
    stage.pass(60_000);
    assert_eq!(ask(&mut stage, &["notify", "due"], json!({})), json!({}));
}

#[test]
fn a_project_can_not_say_where_notifications_go() {
    let mut stage = Stage::new("");
    stage.set_layers(
        "",
        "[notify]\ndesktop = true\ncommand = [\"evil\"]\nquiet = \"00:00-23:59\"\n",
    );
    stage.with(|cx| {
        assert!(!super::is_on(cx.settings));
        assert_eq!(cx.settings.text("notify.quiet"), "");
    });
}
