//! What keys do.

use ratatui::layout::Rect;
use rstest::rstest;
use serde_json::{Value, json};

use super::super::keys::Key;
use super::super::model::{Event, Mode, Todo};
use super::super::views::View;
use super::fleet::{allow_or_deny, need, needs, question};
use super::{NOW, feed, model, typed};

fn act(verb: &[&str], body: Value) -> Option<Todo> {
    Some(Todo::Act { verb: verb.iter().map(|word| (*word).to_owned()).collect(), body })
}

fn answer(id: i64, decision: &str) -> Option<Todo> {
    act(&["answer"], json!({"id": id, "decision": decision, "from": "substrate top"}))
}

/// What the foot says.
fn said(model: &super::Model) -> &str {
    model.notice.as_ref().map_or("", |notice| &notice.text)
}

#[rstest]
#[case::allow("jy", answer(7, "allow"))]
#[case::deny("jn", answer(7, "deny"))]
#[case::deny_with_a_reason("jNnot on Fridays\n", act(&["answer"], json!({"id": 7, "decision": "deny", "reason": "not on Fridays", "from": "substrate top"})))]
#[case::an_option_by_its_number("jja2", act(&["answer"], json!({"id": 9, "choose": ["443"], "from": "substrate top"})))]
#[case::an_option_by_the_cursor("jjaj\n", act(&["answer"], json!({"id": 9, "choose": ["443"], "from": "substrate top"})))]
#[case::a_question_is_not_a_yes("jjy", None)]
#[case::mail_is_not_a_yes("jjjy", None)]
#[case::reply("jjjrThanks\n", act(&["reply"], json!({"id": 42, "body": "Thanks"})))]
#[case::an_empty_reply("jjjr  \n", None)]
#[case::write_to_an_agent("jrHow far?\n", act(&["send"], json!({"to": ["NobleLion"], "subject": "How far?", "body": "How far?"})))]
#[case::acknowledge("jjja1", act(&["ack"], json!({"ids": [42]})))]
#[case::release("4a1", act(&["locks", "release"], json!({"paths": ["/home/me/shop/src/cart.rs"], "force": true})))]
#[case::mark_as_seen("2a\n", act(&["fleet", "check"], json!({"names": ["EpicQuail"]})))]
#[case::quit("q", Some(Todo::Quit))]
#[case::letters_of_a_search_are_no_keys("/q", None)]
fn keys_ask_for(#[case] keys: &str, #[case] expected: Option<Todo>) {
    assert_eq!(typed(&mut model(80, 24), keys), expected);
}

#[test]
fn enter_goes_to_the_pane_if_there_is_one() {
    let mut model = model(80, 24);
    let Some(Todo::Jump { pane, who }) = typed(&mut model, "j\n") else { panic!("it jumps") };
    assert_eq!((pane.id.as_str(), who.as_str()), ("%3", "NobleLion"));
    assert_eq!(typed(&mut model, "jj\n"), None);
    assert!(said(&model).contains("not known in which tmux pane"), "{}", said(&model));
}

#[test]
fn a_row_that_took_the_place_of_another_is_not_answered_by_a_key_that_was_meant_for_it() {
    let one = |id: &str, n: i64| need(id, "NobleLion", "ls", &allow_or_deny(n));
    let mut model = model(80, 24);
    feed(&mut model, needs(&[one("a", 1), one("b", 2)]));
    assert_eq!(typed(&mut model, "gy"), answer(1, "allow"));
    // The first row goes while the user is about to press a key.
    feed(&mut model, needs(&[one("b", 2)]));
    for keys in ["y", "n", "a", "N"] {
        assert_eq!(typed(&mut model, keys), None, "{keys}");
        assert!(said(&model).starts_with("That row just went"), "{}", said(&model));
        assert_eq!(model.mode, Mode::Look);
    }
    assert_eq!(model.update(Event::Key(Key::Char('y')), NOW.plus_ms(1_500)), answer(2, "allow"));
    // A row that comes before it changes nothing.
    feed(&mut model, needs(&[one("c", 3), one("b", 2)]));
    assert_eq!(typed(&mut model, "y"), answer(2, "allow"));
    // And a user who moves means what is there.
    feed(&mut model, needs(&[one("c", 3), one("d", 4)]));
    assert_eq!(typed(&mut model, "ky"), answer(3, "allow"));
}

/// The dialogs of one agent have one id.
#[test]
fn a_dialog_that_follows_another_is_not_answered_by_a_key_that_was_meant_for_that_one() {
    let mut model = model(80, 24);
    let one =
        |text: &str, n: i64| needs(&[need("dialog:s1:main", "NobleLion", text, &allow_or_deny(n))]);
    feed(&mut model, one("ls", 1));
    assert_eq!(typed(&mut model, "gy"), answer(1, "allow"));
    feed(&mut model, one("rm -rf /", 2));
    assert_eq!(typed(&mut model, "y"), None);
    assert_eq!(model.update(Event::Key(Key::Char('n')), NOW.plus_ms(1_500)), answer(2, "deny"));
}

#[test]
fn a_call_is_allowed_only_once_all_of_it_was_on_the_screen() {
    let long: String = (0..40).map(|n| format!("echo {n}\n")).collect();
    let mut model = model(80, 24);
    feed(&mut model, needs(&[need("a", "NobleLion", &long, &allow_or_deny(1))]));
    for keys in ["y", "a\n", "a1"] {
        assert_eq!(typed(&mut model, &format!("g{keys}")), None, "{keys}");
        assert!(said(&model).starts_with("You have not seen all of it"), "{}", said(&model));
    }
    assert_eq!(typed(&mut model, "n"), answer(1, "deny"));
    for _ in 0..6 {
        model.update(Event::Key(Key::PageDown), NOW);
    }
    assert_eq!(typed(&mut model, "y"), answer(1, "allow"));
    // The command changed: what was seen does not count.
    feed(&mut model, needs(&[need("b", "NobleLion", &long, &allow_or_deny(2))]));
    assert_eq!(model.update(Event::Key(Key::Char('y')), NOW.plus_ms(5_000)), None);
}

#[test]
fn what_is_pasted_is_no_command_and_one_line_of_text() {
    let mut model = model(80, 24);
    let paste = || Event::Key(Key::Paste("y\nq\u{1b}[2J".to_owned()));
    assert_eq!(model.update(paste(), NOW), None);
    typed(&mut model, "jjjr");
    model.update(paste(), NOW);
    assert_eq!(typed(&mut model, "\n"), act(&["reply"], json!({"id": 42, "body": "y q [2J"})));
}

#[test]
fn a_search_narrows_the_view_and_escape_ends_it() {
    let mut model = model(80, 24);
    typed(&mut model, "/FORCE-with\n");
    let shown = |model: &super::Model| model.list().shown().len();
    assert_eq!(shown(&model), 1);
    assert_eq!(typed(&mut model, "y"), answer(7, "allow"));
    model.update(Event::Key(Key::Escape), NOW);
    assert_eq!(shown(&model), 4);
    typed(&mut model, "6/bash");
    assert_eq!(shown(&model), 1);
    model.update(Event::Key(Key::Escape), NOW);
    assert_eq!((shown(&model), model.view), (3, View::Journal));
}

#[test]
fn enter_asks_for_what_is_not_loaded_and_escape_shows_the_view_again() {
    let mut model = model(80, 24);
    let wanted = |view, words: &str| Some(Todo::Find { view, words: words.to_owned() });
    assert_eq!(typed(&mut model, "6/old words\n"), wanted(View::Journal, "old words"));
    assert_eq!(model.list().shown().len(), 0, "none of them is loaded");
    let hit = |kind: &str, text: &str| json!({"at_ms": 5, "kind": kind, "who": "CalmOtter", "text": text, "link": "/"});
    let answer = Ok(
        json!({"hits": [hit("command", "Bash old words"), hit("mail", "#7 old words")], "failed": []}),
    );
    let found =
        |words: &str, answer| Event::Found { view: View::Journal, words: words.to_owned(), answer };
    model.update(found("other words", answer.clone()), NOW);
    assert_eq!(model.list().shown().len(), 0, "the user wants something else by now");
    model.update(found("old words", answer), NOW);
    assert_eq!(model.list().shown().len(), 2);
    assert_eq!(said(&model), "2 found. Esc shows all again.");
    // What comes meanwhile does not push it away, and a message can be answered.
    feed(
        &mut model,
        vec![(View::Journal, json!([{"id": 304, "at_ms": 0, "event": "Stop", "verdict": "none"}]))],
    );
    assert_eq!(
        typed(&mut model, "jrThanks\n"),
        act(&["reply"], json!({"id": 7, "body": "Thanks"}))
    );
    model.update(Event::Key(Key::Escape), NOW);
    assert_eq!(model.list().shown().len(), 4);
    assert_eq!(typed(&mut model, "3/port\n"), wanted(View::Mail, "port"));
    model.update(
        Event::Found { view: View::Mail, words: "port".to_owned(), answer: Err("away".to_owned()) },
        NOW,
    );
    assert_eq!(said(&model), "away");
    assert_eq!(typed(&mut model, "2/lion\n"), None, "all agents are loaded");
}

#[test]
fn entries_are_added_and_the_user_stays_where_they_are() {
    let mut model = model(80, 24);
    typed(&mut model, "6");
    let entry = |id: i64| json!({"id": id, "at_ms": 0, "event": "Stop", "verdict": "none"});
    feed(&mut model, vec![(View::Journal, json!([entry(304)]))]);
    assert_eq!(model.row().map(|row| row.id.as_str()), Some("304"), "at the newest");
    typed(&mut model, "j");
    feed(&mut model, vec![(View::Journal, json!([entry(305), entry(306)]))]);
    assert_eq!(model.row().map(|row| row.id.as_str()), Some("303"), "not at the newest");
    assert_eq!(model.list().rows.len(), 6);
    feed(&mut model, vec![(View::Journal, json!([]))]);
    assert_eq!(model.list().rows.len(), 6);
}

#[test]
fn new_rows_are_counted_for_the_bell_until_a_key_is_pressed() {
    let mut model = model(80, 24);
    assert_eq!(model.n_new, 0, "what was there at the start is not new");
    feed(&mut model, needs(&[question(), need("new", "NobleLion", "ls", &allow_or_deny(5))]));
    assert_eq!(model.n_new, 1);
    typed(&mut model, "j");
    assert_eq!(model.n_new, 0);
}

#[test]
fn a_view_that_fails_says_why_and_the_others_go_on() {
    let mut model = super::Model::new(Rect::new(0, 0, 80, 24), NOW, 0);
    model.update(Event::Fed(vec![(View::Needs, Err("the database is away".to_owned()))]), NOW);
    assert_eq!(model.list().trouble.as_deref(), Some("the database is away"));
    feed(&mut model, needs(&[question()]));
    assert_eq!((model.list().trouble.as_deref(), model.list().rows.len()), (None, 1));
}
