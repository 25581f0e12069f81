//! The rules of the merge, as tables and as properties.

use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::event::{Actor, EventKind};
use crate::ids::SafeId;
use crate::time::Timestamp;
use crate::wish::{Answer, Cause, Part, WishKind};

fn everything(_: EventKind, _: WishKind) -> Delivery {
    Delivery::Delivered
}

fn nothing(_: EventKind, _: WishKind) -> Delivery {
    Delivery::NotDeliverable
}

fn stop(again: bool, cap: u32) -> Event {
    let detail =
        Detail::Stop { again, last_message: None, n_background_tasks: 0, transcript: None };
    Event { detail, block_cap: cap, ..Event::bare("test", EventKind::Stop, Timestamp(0)) }
}

fn block(cause: Cause, insists: Insists, reason: &str) -> Wish {
    Wish::block(cause, reason.to_owned(), insists)
}

fn context(text: &str) -> Wish {
    Wish::context(text.to_owned(), None)
}

/// The same merge, of wishes with which nothing has happened yet.
fn merge(
    event: &Event,
    wishes: &[(&'static str, Wish)],
    delivers: DeliveryTable,
    cycle: &StopCycle,
) -> Merged {
    super::merge(event, &wished(wishes), delivers, cycle)
}

fn wished(wishes: &[(&'static str, Wish)]) -> Vec<Wished> {
    wishes.iter().map(|(feature, wish)| Wished::new(feature, wish.clone())).collect()
}

fn deny(reason: &str) -> Wish {
    Wish::Deny { rule: "r".to_owned(), reason: reason.to_owned(), next: "Do b.".to_owned() }
}

#[test]
fn a_denial_wins_over_a_question_and_names_rule_and_next_step() {
    let event = Event::bare("test", EventKind::PreToolUse, Timestamp(0));
    let ask = Wish::Ask { rule: "q".to_owned(), reason: "sure?".to_owned() };
    let merged =
        merge(&event, &[("a", ask), ("b", deny("No a."))], everything, &StopCycle::default());
    assert_eq!(
        merged.verdict.permission,
        Some(Permission::Deny { reason: "No a. [r] Do b.".to_owned() })
    );
}

#[test]
fn two_refusals_of_one_call_have_one_next_step() {
    let event = Event::bare("test", EventKind::PreToolUse, Timestamp(0));
    let deny = |rule: &str, reason: &str, next: &str| Wish::Deny {
        rule: rule.to_owned(),
        reason: reason.to_owned(),
        next: next.to_owned(),
    };
    let locks = ("locks", deny("locks.git", "Others hold a.rs.", "Name your own files."));
    let guards = ("guards", deny("git-reset-hard", "Work is lost.", "Stash it."));
    let said = |wishes: &[(&'static str, Wish)]| match merge(
        &event,
        wishes,
        everything,
        &StopCycle::default(),
    )
    .verdict
    .permission
    {
        Some(Permission::Deny { reason }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        said(&[locks.clone(), guards]),
        "Others hold a.rs. [locks.git]\n\nWork is lost. [git-reset-hard]\n\nName your own files."
    );
    let twice = [locks.clone(), locks];
    assert_eq!(said(&twice), "Others hold a.rs. [locks.git] Name your own files.");
}

#[rstest]
#[case::alone(&[], Some(Permission::Allow { choices: Vec::new() }))]
#[case::a_refusal_wins(&[deny("no")], None)]
#[case::a_question_of_a_rule_wins(&[Wish::Ask { rule: "r".to_owned(), reason: "sure?".to_owned() }], None)]
#[case::the_first_answer_counts(
    &[Wish::Answer { answer: Answer::Deny { message: "late".to_owned() }, by: String::new() }],
    Some(Permission::Allow { choices: Vec::new() })
)]
#[case::an_answer_ends_the_wait(
    &[Wish::Wait { key: "k".to_owned(), until: Timestamp(9) }],
    Some(Permission::Allow { choices: Vec::new() })
)]
fn the_users_own_answer(#[case] others: &[Wish], #[case] expected: Option<Permission>) {
    let event = Event::bare("test", EventKind::PermissionRequest, Timestamp(0));
    let allow = ("answers", Wish::Answer { answer: Answer::Allow, by: "the user".to_owned() });
    let others = others.iter().map(|wish| ("other", wish.clone()));
    let wishes: Vec<_> = std::iter::once(allow).chain(others).collect();
    let Merged { verdict, fates, .. } = merge(&event, &wishes, everything, &StopCycle::default());
    assert_eq!(fates[0] == Fate::Whole, expected.is_some());
    assert_eq!(verdict.wait, None);
    if expected.is_some() {
        assert_eq!((verdict.word(), verdict.permission), ("answer", expected));
    } else {
        assert!(!matches!(verdict.permission, None | Some(Permission::Allow { .. })));
    }
}

#[rstest]
#[case::first_stop(false, &[], false, true)]
#[case::it_has_held(true, &["tasks:1"], false, false)]
#[case::with_other_words(true, &["tasks:2", "mail:1"], false, false)]
#[case::something_else_has_held(true, &["mail:1"], false, true)]
#[case::a_longer_name(true, &["tasks-of-others:1"], false, true)]
#[case::unknown(true, &[], true, false)]
fn what_holds_once_a_turn(
    #[case] again: bool,
    #[case] told: &[&str],
    #[case] is_lost: bool,
    #[case] expected: bool,
) {
    let told = told.iter().map(|word| Told((*word).to_owned())).collect();
    let cycle = StopCycle { n_in_row: 1, told, is_lost, ..StopCycle::default() };
    let todos = [("todos", block(Cause::Tasks, Insists::OncePerTurn, "tasks"))];
    let merged = merge(&stop(again, 8), &todos, everything, &cycle);
    assert_eq!(merged.verdict.block.is_some(), expected);
    let merged = merge(&stop(again, 2), &todos, everything, &cycle);
    assert_eq!(merged.verdict.block, None, "one short of the client's cap it lets go");
}

#[test]
fn reasons_to_go_on_come_in_the_order_of_their_causes() {
    let wishes = [
        ("reminders", block(Cause::Reminders, Insists::Always, "reflect")),
        ("todos", block(Cause::Tasks, Insists::WhileItLasts, "tasks")),
        ("mail", block(Cause::Mail, Insists::WhenNew, "mail")),
    ];
    let merged = merge(&stop(false, 8), &wishes, everything, &StopCycle::default());
    assert_eq!(merged.verdict.block.as_deref(), Some("mail\n\ntasks\n\nreflect"));
    assert_eq!(merged.told.len(), 3);
}

#[test]
fn a_heartbeat_says_that_there_is_nothing_else_so_it_stays_alone() {
    let heartbeat = ("persist", block(Cause::Heartbeat, Insists::WhileItLasts, "nothing new"));
    let mail = ("mail", block(Cause::Mail, Insists::WhileItLasts, "mail"));
    let both = [heartbeat.clone(), mail];
    let merged = merge(&stop(false, 8), &both, everything, &StopCycle::default());
    assert_eq!(merged.verdict.block.as_deref(), Some("mail"));
    let merged = merge(&stop(false, 8), &[heartbeat], everything, &StopCycle::default());
    assert_eq!(merged.verdict.block.as_deref(), Some("nothing new"));
}

#[test]
fn who_is_held_does_not_wait_and_a_receipt_needs_words() {
    let wait = ("persist", Wish::Wait { key: "agent 7".to_owned(), until: Timestamp(9) });
    let mail = ("mail", block(Cause::Mail, Insists::WhileItLasts, "mail"));
    let receipt = ("mail", Wish::Receipt);
    let verdict = |wishes: &[(&'static str, Wish)]| {
        merge(&stop(false, 8), wishes, everything, &StopCycle::default()).verdict
    };
    let waits = verdict(&[receipt.clone(), wait.clone()]);
    assert!(waits.wait.is_some() && !waits.receipt && waits.is_silent(), "{waits:?}");
    assert_eq!(waits.word(), "wait");
    let held = verdict(&[mail, receipt, wait]);
    assert!(held.wait.is_none() && held.receipt && held.block.is_some(), "{held:?}");
}

#[rstest]
#[case::first_time(Insists::Once, false, 0, false, true)]
#[case::once_is_once(Insists::Once, true, 0, false, false)]
#[case::new_words_hold(Insists::WhenNew, true, 3, false, true)]
#[case::old_words_do_not(Insists::WhenNew, true, 3, true, false)]
#[case::it_lasts(Insists::WhileItLasts, true, 6, true, true)]
#[case::it_lets_go_before_the_cap(Insists::WhileItLasts, true, 7, true, false)]
#[case::always_goes_into_the_cap(Insists::Always, true, 20, true, true)]
fn a_cause_holds(
    #[case] insists: Insists,
    #[case] again: bool,
    #[case] n_in_row: u32,
    #[case] already_told: bool,
    #[case] holds: bool,
) {
    let wish = block(Cause::Tasks, insists, "3 incomplete");
    let Wish::Block(inner) = &wish else { unreachable!() };
    let told = if already_told { vec![told(inner)] } else { Vec::new() };
    let merged = merge(
        &stop(again, 8),
        &[("x", wish)],
        everything,
        &StopCycle { n_in_row, told, ..StopCycle::default() },
    );
    assert_eq!(merged.verdict.block.is_some(), holds);
}

#[test]
fn without_a_cap_the_clients_count_does_not_matter() {
    let wish = block(Cause::Tasks, Insists::WhileItLasts, "t");
    let merged = merge(
        &stop(true, 0),
        &[("x", wish)],
        everything,
        &StopCycle { n_in_row: 900, ..StopCycle::default() },
    );
    assert!(merged.verdict.block.is_some());
}

/// Each tool call resets the client's count, but not ours.
#[rstest]
#[case::tasks(Cause::Tasks, Insists::WhileItLasts, 7, false, true)]
#[case::tasks_enough(Cause::Tasks, Insists::WhileItLasts, 8, false, false)]
#[case::scratchpad_enough(Cause::Scratchpad, Insists::WhileItLasts, 8, false, false)]
#[case::mail_is_seen_some_time(Cause::Mail, Insists::WhileItLasts, 80, false, true)]
#[case::a_heartbeat_goes_on(Cause::Heartbeat, Insists::WhileItLasts, 80, false, true)]
#[case::always(Cause::Tasks, Insists::Always, 80, false, true)]
#[case::uncounted(Cause::Scratchpad, Insists::WhileItLasts, 0, true, false)]
#[case::uncounted_mail(Cause::Mail, Insists::WhileItLasts, 0, true, false)]
fn what_lasts_lets_go_in_the_end(
    #[case] cause: Cause,
    #[case] insists: Insists,
    #[case] n: u32,
    #[case] is_lost: bool,
    #[case] holds: bool,
) {
    let held = vec![("tasks".to_owned(), n), ("scratchpad".to_owned(), n), ("mail".to_owned(), n)];
    let cycle = StopCycle { held, is_lost, ..StopCycle::default() };
    let wishes = [("x", block(cause, insists, "t"))];
    let merged = merge(&stop(true, 8), &wishes, everything, &cycle);
    assert_eq!(merged.verdict.block.is_some(), holds);
    let first =
        merge(&stop(false, 8), &wishes, everything, &StopCycle { is_lost, ..StopCycle::default() });
    assert!(first.verdict.block.is_some(), "the first stop of a turn");
}

#[test]
fn what_several_reasons_end_with_is_said_once() {
    let wishes = [
        ("a", block(Cause::Reminders, Insists::Always, "look back\nrepeat the answer")),
        ("b", block(Cause::Scratchpad, Insists::Always, "write\nrepeat the answer")),
        ("c", block(Cause::Tasks, Insists::Always, "one line")),
        ("d", block(Cause::Efforts, Insists::Always, "one line")),
    ];
    let merged = merge(&stop(false, 0), &wishes, everything, &StopCycle::default());
    assert_eq!(
        merged.verdict.block.as_deref(),
        Some("write\n\none line\n\nlook back\nrepeat the answer")
    );
}

#[test]
fn nothing_holds_the_compaction_fork() {
    let fork = Actor::Subagent { id: SafeId::new("a1").unwrap(), kind: String::new() };
    let event = Event { kind: EventKind::SubagentStop, actor: fork, ..stop(false, 8) };
    let merged = merge(
        &event,
        &[("x", block(Cause::Mail, Insists::Always, "m"))],
        everything,
        &StopCycle::default(),
    );
    assert!(merged.verdict.is_silent());
}

#[test]
fn what_a_client_does_not_deliver_is_not_said_but_told() {
    let event = Event::bare("test", EventKind::Notification, Timestamp(0));
    let merged = merge(&event, &[("mail", context("hello"))], nothing, &StopCycle::default());
    assert!(merged.verdict.is_silent());
    assert_eq!(merged.fates, [Fate::NotDeliverable]);
}

#[test]
fn sections_have_their_features_names_and_are_told_once() {
    let event = Event::bare("test", EventKind::SessionStart, Timestamp(0));
    let wishes = [
        ("mail", context("2 unread")),
        ("locks", context("1 held")),
        ("todos", context("2 unread")),
    ];
    let merged = merge(&event, &wishes, everything, &StopCycle::default());
    assert_eq!(
        merged.verdict.context.as_deref(),
        Some("[substrate mail] 2 unread\n\n[substrate locks] 1 held")
    );
}

#[test]
fn the_last_export_of_a_name_wins() {
    let event = Event::bare("test", EventKind::SessionStart, Timestamp(0));
    let export =
        |value: &str| Wish::Export { name: "AGENT_ID".to_owned(), value: value.to_owned() };
    let merged =
        merge(&event, &[("a", export("1")), ("b", export("2"))], everything, &StopCycle::default());
    assert_eq!(merged.verdict.exports, [("AGENT_ID".to_owned(), "2".to_owned())]);
}

#[test]
fn where_a_client_can_not_ask_a_question_is_a_refusal() {
    let delivers: DeliveryTable = |_, wish| match wish {
        WishKind::Ask => Delivery::NotDeliverable,
        _ => Delivery::Delivered,
    };
    let event = |kind| Event::bare("test", kind, Timestamp(0));
    let wishes = [("guards", ask("sure?")), ("locks", deny("never"))];
    let merged =
        merge(&event(EventKind::PreToolUse), &wishes[..1], delivers, &StopCycle::default());
    let Some(Permission::Deny { reason }) = &merged.verdict.permission else { panic!("passed") };
    assert!(reason.starts_with("sure? [q] This client can't ask"), "{reason}");
    assert_eq!(merged.fates, [Fate::Whole]);
    let both = merge(&event(EventKind::PreToolUse), &wishes, delivers, &StopCycle::default());
    assert_eq!(both.fates, [Fate::Whole, Fate::Whole], "{:?}", both.verdict);
    // A person is about to be asked anyway.
    let asked = event(EventKind::PermissionRequest);
    let merged = merge(&asked, &wishes[..1], delivers, &StopCycle::default());
    assert_eq!((merged.verdict.permission, merged.fates), (None, vec![Fate::NotDeliverable]));
}

fn export(value: &str) -> Wish {
    Wish::Export { name: "AGENT_ID".to_owned(), value: value.to_owned() }
}

fn ask(reason: &str) -> Wish {
    Wish::Ask { rule: "q".to_owned(), reason: reason.to_owned() }
}

fn notice(text: &str) -> Wish {
    Wish::Notice { text: text.to_owned() }
}

fn wait(until: i64) -> Wish {
    Wish::Wait { key: "agent 7".to_owned(), until: Timestamp(until) }
}

const LONG: usize = CONTEXT_BUDGET + 1;

/// W whole, c cut, d dropped.
#[rstest]
#[case::a_denial_outdoes_a_question(&[ask("sure?"), deny("no"), deny("no"), deny("never")], "dWWW")]
#[case::questions(&[ask("sure?"), ask("sure?"), notice("n")], "WWW")]
#[case::what_is_said_twice_is_said(&[context("a"), context(" a\n"), notice("n"), notice("n")], "WWWW")]
#[case::no_words(&[context(" \n"), notice(""), block(Cause::Tasks, Insists::Always, " ")], "ddd")]
#[case::the_last_export_wins(&[export("1"), export("2"), export("2")], "dWW")]
#[case::the_last_wait_wins(&[wait(1), wait(2)], "dW")]
#[case::who_is_held_does_not_wait(&[wait(1), block(Cause::Mail, Insists::Always, "m")], "dW")]
#[case::nothing_to_confirm(&[wait(1), Wish::Receipt], "Wd")]
#[case::something_to_confirm(&[context("a"), Wish::Receipt], "WW")]
#[case::mail_outdoes_a_heartbeat(&[block(Cause::Heartbeat, Insists::Always, "h"), block(Cause::Mail, Insists::Always, "m")], "dW")]
#[case::an_end_that_is_said_once(&[block(Cause::Mail, Insists::Always, "a\nend"), block(Cause::Tasks, Insists::Always, "b\nend")], "WW")]
#[case::once_is_over(&[block(Cause::Tasks, Insists::Once, "t"), block(Cause::Mail, Insists::Always, "m")], "dW")]
#[case::the_budget(&[context("a"), context(&"b".repeat(LONG)), context("c"), context(&"b".repeat(LONG))], "Wcdc")]
fn the_fates_of(#[case] wishes: &[Wish], #[case] expected: &str) {
    let wishes: Vec<_> = wishes.iter().map(|wish| ("x", wish.clone())).collect();
    let merged = merge(&stop(true, 8), &wishes, everything, &StopCycle::default());
    let got: String = merged
        .fates
        .iter()
        .map(|fate| match fate {
            Fate::Whole => 'W',
            Fate::Cut { .. } => 'c',
            Fate::Dropped => 'd',
            Fate::NotDeliverable | Fate::Withdrawn => '?',
        })
        .collect();
    assert_eq!(got, expected);
}

#[test]
fn what_was_withdrawn_stays_so() {
    let event = Event::bare("test", EventKind::PreToolUse, Timestamp(0));
    let mut wishes =
        wished(&[("a", deny("no")), ("b", ask("sure?")), ("c", context("by the way"))]);
    wishes[0].fate = Fate::Withdrawn;
    let merged = super::merge(&event, &wishes, everything, &StopCycle::default());
    assert_eq!(merged.fates, [Fate::Withdrawn, Fate::Whole, Fate::Whole]);
    assert_eq!(merged.verdict.word(), "ask");
    let merged = super::merge(&event, &wishes, nothing, &StopCycle::default());
    let expected = [Fate::Withdrawn, Fate::NotDeliverable, Fate::NotDeliverable];
    assert_eq!(merged.fates, expected);
}

#[test]
fn of_a_text_that_was_cut_those_parts_are_told_that_fit() {
    let event = Event::bare("test", EventKind::SessionStart, Timestamp(0));
    let part = |id, end| Part { what: "line".into(), id, end };
    let text = format!("  {}", "x".repeat(LONG));
    let parts = vec![part(1, 100), part(2, CONTEXT_BUDGET / 2), part(3, LONG)];
    let mut wished = Wished::new("mail", Wish::Context { text, more: None, parts });
    let told = |wished: &Wished| -> Vec<i64> { wished.told().map(|part| part.id).collect() };
    assert!(told(&wished).is_empty(), "nothing is merged yet");
    let merged =
        super::merge(&event, std::slice::from_ref(&wished), everything, &StopCycle::default());
    wished.fate = merged.fates[0];
    assert_eq!(told(&wished), [1, 2]);
    let Fate::Cut { kept } = wished.fate else { panic!("{:?}", wished.fate) };
    let said = merged.verdict.context.unwrap();
    assert_eq!(said.matches('x').count(), kept - 2, "the blanks before it are not said");
}

fn any_wish() -> impl Strategy<Value = Wish> {
    let insists = prop_oneof![
        Just(Insists::Once),
        Just(Insists::WhenNew),
        Just(Insists::WhileItLasts),
        Just(Insists::Always)
    ];
    let cause = prop_oneof![Just(Cause::Mail), Just(Cause::Tasks), Just(Cause::Heartbeat)];
    prop_oneof![
        (".{0,40}", proptest::option::of("[a-z ]{1,20}"))
            .prop_map(|(text, more)| Wish::context(text, more)),
        "é{0,8000}".prop_map(|text| Wish::context(text, Some("substrate inbox".to_owned()))),
        ".{0,20}".prop_map(|reason| deny(&reason)),
        ".{0,20}".prop_map(|reason| Wish::Ask { rule: "q".to_owned(), reason }),
        (cause, insists, ".{0,20}")
            .prop_map(|(cause, insists, reason)| block(cause, insists, &reason)),
        ".{0,20}".prop_map(|text| Wish::Notice { text }),
        ("[AB]", "[12]").prop_map(|(name, value)| Wish::Export { name, value }),
        (0i64..3).prop_map(|at| Wish::Wait { key: "agent 7".to_owned(), until: Timestamp(at) }),
        prop_oneof![
            Just(Answer::Allow),
            ".{0,20}".prop_map(|message| Answer::Deny { message }),
            "[ab]".prop_map(|it| Answer::Choose { choices: vec![("Which?".to_owned(), it)] }),
        ]
        .prop_map(|answer| Wish::Answer { answer, by: "the user".to_owned() }),
        Just(Wish::Receipt),
    ]
}

fn any_wishes() -> impl Strategy<Value = Vec<(&'static str, Wish)>> {
    let names = prop_oneof![Just("mail"), Just("locks"), Just("todos")];
    proptest::collection::vec((names, any_wish()), 0..12)
}

/// Whether the answer has the words that the fate says it has. Only a test may look for them.
fn is_true(verdict: &Verdict, wish: &Wish, fate: Fate) -> bool {
    let has =
        |said: &Option<String>, words: &str| said.as_ref().is_some_and(|said| said.contains(words));
    let reason = verdict.permission.as_ref().map(|permission| match permission {
        Permission::Deny { reason } | Permission::Ask { reason } => reason.clone(),
        Permission::Allow { choices } => format!("allow {choices:?}"),
    });
    match (wish, fate) {
        (Wish::Answer { answer, .. }, Fate::Whole) => match answer {
            Answer::Allow => has(&reason, "allow []"),
            Answer::Deny { message } => reason.as_ref() == Some(message),
            Answer::Choose { choices } => has(&reason, &format!("allow {choices:?}")),
        },
        (Wish::Context { text, .. }, Fate::Cut { kept }) => {
            let begins = format!("] {}… (cut; `", text[..kept].trim_start());
            kept < text.trim_end().len() && has(&verdict.context, &begins)
        }
        (Wish::Context { text, .. }, Fate::Whole) => {
            has(&verdict.context, &format!("] {}", text.trim()))
        }
        (Wish::Block(block), Fate::Whole) => {
            // The last line may be said at the end of another reason.
            block.reason.lines().all(|line| has(&verdict.block, line.trim_end()))
        }
        (Wish::Notice { text }, Fate::Whole) => has(&verdict.notice, text),
        (Wish::Deny { reason: words, .. } | Wish::Ask { reason: words, .. }, Fate::Whole) => {
            has(&reason, words)
        }
        (Wish::Export { name, value }, Fate::Whole) => {
            verdict.exports.contains(&(name.clone(), value.clone()))
        }
        (Wish::Wait { .. }, Fate::Whole) => {
            verdict.wait.is_some() && verdict.block.is_none() && verdict.permission.is_none()
        }
        (Wish::Receipt, Fate::Whole) => verdict.receipt,
        (wish, fate) => fate == Fate::Dropped && !matches!(wish, Wish::Deny { .. }),
    }
}

proptest! {
    #[test]
    fn injected_text_keeps_its_budget(wishes in any_wishes()) {
        let event = Event::bare("test", EventKind::SessionStart, Timestamp(0));
        let merged = merge(&event, &wishes, everything, &StopCycle::default());
        prop_assert!(merged.verdict.context.is_none_or(|text| text.len() <= CONTEXT_BUDGET));
    }

    #[test]
    fn one_denial_is_enough(mut wishes in any_wishes(), at in 0usize..12) {
        wishes.insert(at.min(wishes.len()), ("guards", deny("never")));
        let event = Event::bare("test", EventKind::PreToolUse, Timestamp(0));
        let merged = merge(&event, &wishes, everything, &StopCycle::default());
        let denied = matches!(merged.verdict.permission, Some(Permission::Deny { reason }) if reason.contains("never"));
        prop_assert!(denied);
    }

    #[test]
    fn no_wish_is_lost_silently(wishes in any_wishes()) {
        let event = Event::bare("test", EventKind::Notification, Timestamp(0));
        let merged = merge(&event, &wishes, nothing, &StopCycle::default());
        prop_assert!(merged.verdict.is_silent());
        prop_assert_eq!(merged.fates, vec![Fate::NotDeliverable; wishes.len()]);
    }

    #[test]
    fn a_fate_is_what_the_answer_says(wishes in any_wishes(), again in any::<bool>()) {
        let Merged { verdict, fates, .. } = merge(&stop(again, 8), &wishes, everything, &StopCycle::default());
        prop_assert_eq!(fates.len(), wishes.len());
        for ((_, wish), fate) in wishes.iter().zip(&fates) {
            prop_assert!(is_true(&verdict, wish, *fate), "{:?} of {:?} in {:?}", fate, wish, verdict);
        }
        // Every text in the answer belongs to a wish.
        let tells = |kind| wishes.iter().zip(&fates).any(|((_, wish), fate)| wish.kind() == kind && fate.is_told());
        prop_assert_eq!(verdict.context.is_some(), tells(WishKind::Context));
        prop_assert_eq!(verdict.block.is_some(), tells(WishKind::Block));
        prop_assert_eq!(verdict.notice.is_some(), tells(WishKind::Notice));
        let kinds = [WishKind::Deny, WishKind::Ask, WishKind::Answer];
        prop_assert_eq!(verdict.permission.is_some(), kinds.into_iter().any(tells));
        prop_assert_eq!(verdict.wait.is_some(), tells(WishKind::Wait));
        prop_assert_eq!(verdict.receipt, tells(WishKind::Receipt));
        prop_assert_eq!(verdict.exports.is_empty(), !tells(WishKind::Export));
    }

    #[test]
    fn what_lasts_never_meets_the_cap(n_stops in 1usize..40, cap in 2u32..12) {
        let wishes = [("todos", block(Cause::Tasks, Insists::WhileItLasts, "same"))];
        let mut cycle = StopCycle::default();
        for n in 0..n_stops {
            let merged = merge(&stop(n > 0, cap), &wishes, everything, &cycle);
            if merged.told.is_empty() { break }
            cycle.n_in_row += 1;
            cycle.told.extend(merged.told);
        }
        prop_assert!(cycle.n_in_row < cap);
    }

    #[test]
    fn new_words_hold_exactly_once(words in proptest::collection::vec("[ab]{1,2}", 1..20)) {
        let mut cycle = StopCycle::default();
        let mut seen = std::collections::BTreeSet::new();
        for (n, word) in words.iter().enumerate() {
            let merged = merge(&stop(n > 0, 0), &[("mail", block(Cause::Mail, Insists::WhenNew, word))], everything, &cycle);
            prop_assert_eq!(merged.verdict.block.is_some(), seen.insert(word));
            cycle.told.extend(merged.told);
        }
    }
}
