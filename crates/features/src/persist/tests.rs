//! The tables of modes and plans.

use rstest::rstest;
use substrate_core::{Detail, Event, EventKind, Timestamp};

use super::policy::{Mode, Plan, heartbeat, mode, plan};

const AT: Timestamp = Timestamp(1_000_000);

fn event(kind: EventKind, n_background_tasks: usize) -> Event {
    let detail =
        Detail::Stop { again: false, last_message: None, n_background_tasks, transcript: None };
    Event { detail, ..Event::bare("claude-code", kind, AT) }
}

#[rstest]
#[case::attended("auto", None, Some(true), Mode::Wake)]
#[case::unattended("auto", None, Some(false), Mode::Off)]
#[case::client_does_not_say("auto", None, None, Mode::Poll)]
#[case::environment_wins("auto", Some("poll"), Some(true), Mode::Poll)]
#[case::environment_off("auto", Some("off"), Some(true), Mode::Off)]
#[case::environment_wake("auto", Some("wake"), Some(false), Mode::Wake)]
#[case::environment_auto("auto", Some("auto"), Some(false), Mode::Off)]
#[case::environment_nonsense("auto", Some("forever"), Some(true), Mode::Wake)]
#[case::setting_wins_over_all("off", Some("poll"), Some(true), Mode::Off)]
#[case::setting_poll("poll", None, Some(false), Mode::Poll)]
#[case::setting_wake("wake", None, Some(false), Mode::Wake)]
fn the_mode_is(
    #[case] setting: &str,
    #[case] wanted: Option<&str>,
    #[case] attended: Option<bool>,
    #[case] expected: Mode,
) {
    let event =
        Event { wanted_persist: wanted.map(str::to_owned), attended, ..event(EventKind::Stop, 0) };
    assert_eq!(mode(setting, &event), expected);
}

#[rstest]
#[case::poll_waits(EventKind::Stop, Mode::Poll, 0, None, Plan::Wait(AT.plus_ms(570_000)))]
#[case::poll_beside_tasks(EventKind::Stop, Mode::Poll, 2, None, Plan::Nothing)]
#[case::wake_lets_go(EventKind::Stop, Mode::Wake, 0, Some(true), Plan::Nothing)]
#[case::off_lets_go(EventKind::Stop, Mode::Off, 0, Some(false), Plan::Nothing)]
#[case::waiter(EventKind::Waiter, Mode::Wake, 0, Some(true), Plan::Wait(AT.plus_ms(86_100_000)))]
#[case::waiter_beside_tasks(EventKind::Waiter, Mode::Wake, 1, Some(true), Plan::Wait(AT.plus_ms(86_100_000)))]
#[case::waiter_for_poll(EventKind::Waiter, Mode::Poll, 1, Some(true), Plan::Wait(AT.plus_ms(86_100_000)))]
#[case::waiter_in_print_mode(EventKind::Waiter, Mode::Wake, 0, Some(false), Plan::Nothing)]
#[case::waiter_not_said(EventKind::Waiter, Mode::Wake, 0, None, Plan::Nothing)]
#[case::waiter_off(EventKind::Waiter, Mode::Off, 0, Some(true), Plan::Nothing)]
fn the_plan_is(
    #[case] kind: EventKind,
    #[case] mode: Mode,
    #[case] n_background_tasks: usize,
    #[case] attended: Option<bool>,
    #[case] expected: Plan,
) {
    let event = Event { attended, ..event(kind, n_background_tasks) };
    assert_eq!(plan(mode, 570_000, true, &event), expected);
}

#[rstest]
#[case::just_begun(0, Plan::Wait(AT.plus_ms(570_000)))]
#[case::goes_on(569_999, Plan::Wait(AT.plus_ms(1)))]
#[case::is_over(570_000, Plan::Heartbeat)]
#[case::after_a_restart(800_000, Plan::Heartbeat)]
fn a_poll_ends_in_its_time(#[case] waited_ms: i64, #[case] expected: Plan) {
    let event = Event { waiting_since: Some(AT.plus_ms(-waited_ms)), ..event(EventKind::Stop, 0) };
    assert_eq!(plan(Mode::Poll, 570_000, true, &event), expected);
    assert_eq!(plan(Mode::Poll, 86_400_000, true, &event), expected, "the client's limit is ours");
}

#[test]
fn a_hook_that_is_tried_by_hand_answers_at_once() {
    assert_eq!(plan(Mode::Poll, 570_000, false, &event(EventKind::Stop, 0)), Plan::Heartbeat);
    let waiter = Event { attended: Some(true), ..event(EventKind::Waiter, 0) };
    assert_eq!(plan(Mode::Wake, 570_000, false, &waiter), Plan::Nothing);
}

#[rstest]
#[case::first(0, 8, false)]
#[case::far(4, 8, false)]
#[case::near(5, 8, true)]
#[case::at(7, 8, true)]
#[case::no_cap(100, 0, false)]
fn near_the_cap_a_sign_of_life_is_asked_for(
    #[case] held: u32,
    #[case] cap: u32,
    #[case] asks: bool,
) {
    let text = heartbeat(0, held, cap);
    assert!(text.starts_with(
        "No new messages. Agent staying alive (heartbeat). Use Ctrl+C to force exit."
    ));
    assert_eq!(text.contains("`substrate heartbeat`"), asks, "{text}");
}

#[test]
fn a_heartbeat_counts_what_was_not_read() {
    let text = heartbeat(2, 0, 8);
    let expected = "No new messages, 2 unread messages (`substrate inbox`). Agent staying alive";
    assert!(text.starts_with(expected), "{text}");
}
