//! Whatever the order of events and whichever answers get lost, nothing is shown after it was seen, and everything is
//! shown in the end.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Send { urgent: bool },
    Happen { what: u8, printed: bool },
    Pass,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => any::<bool>().prop_map(|urgent| Step::Send { urgent }),
        4 => (0u8..9, prop::bool::weighted(0.7)).prop_map(|(what, printed)| Step::Happen { what, printed }),
        1 => Just(Step::Pass),
    ]
}

fn event(stage: &Stage, what: u8) -> Event {
    match what {
        0 => stop(stage, "otter", false),
        1 => stop(stage, "otter", true),
        2 => stage.event(EventKind::Waiter, "otter"),
        3 => prompt(stage, "otter"),
        4 => notification(stage, "otter"),
        5 => tool(stage, EventKind::PreToolUse, "otter"),
        6 => tool(stage, EventKind::PostToolUse, "otter"),
        7 => start(stage, "otter", StartSource::Resume),
        _ => stage.event(EventKind::SessionEnd, "otter"),
    }
}

/// The messages that an answer introduces.
fn told(verdict: &Verdict) -> Vec<i64> {
    let text = said(verdict).unwrap_or_default();
    text.split("[#").skip(1).map(|rest| rest.split(']').next().unwrap().parse().unwrap()).collect()
}

fn is_seen(stage: &mut Stage, id: i64) -> bool {
    // Its body is short, and so it was told whole.
    state(stage, id) == "read"
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn mail_is_told_until_it_is_seen_and_never_after(steps in prop::collection::vec(step(), 1..40)) {
        let mut stage = two();
        let mut n_sent = 0;
        for step in steps {
            match step {
                Step::Send { urgent } => {
                    let more = json!({"priority": if urgent { "urgent" } else { "normal" }});
                    n_sent = send_with(&mut stage, &person(), "CalmOtter", "m", &more);
                }
                Step::Pass => stage.pass(11 * SECOND),
                Step::Happen { what, printed } => {
                    let before: Vec<bool> = (1..=n_sent).map(|id| is_seen(&mut stage, id)).collect();
                    let event = event(&stage, what);
                    let outcome = stage.happen(&event);
                    for id in told(&outcome.verdict) {
                        let index = usize::try_from(id - 1).unwrap();
                        prop_assert!(!before[index], "#{id} was told after it was seen");
                    }
                    if outcome.verdict.receipt {
                        stage.printed(outcome.request, printed);
                    }
                    // A second verdict at the same moment has none of what the first one printed.
                    if printed && what == 0 {
                        let first = told(&outcome.verdict);
                        let event = stage.event(EventKind::Waiter, "otter");
                        let second = stage.happen(&event);
                        let both = told(&second.verdict).into_iter().any(|id| first.contains(&id));
                        prop_assert!(!both, "two verdicts had the same message");
                        stage.printed(second.request, false);
                    }
                }
            }
        }
        for _ in 0..5 {
            stage.pass(11 * SECOND);
            stage.told(&prompt(&stage, "otter"));
            stage.told(&tool(&stage, EventKind::PreToolUse, "otter"));
        }
        for id in 1..=n_sent {
            prop_assert!(is_seen(&mut stage, id), "#{id} was never told");
        }
    }
}
