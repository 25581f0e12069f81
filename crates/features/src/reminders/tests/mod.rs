//! Which agent is reminded of what.

mod stories;
mod verbs;
mod words;

use rstest::rstest;
use substrate_core::facts::Found;
use substrate_core::{Actor, Detail, Event, EventKind, Need, SafeId, ToolCall, ToolClass};

use super::policy;
use super::source::Reminder;
use crate::stage::Stage;

const ON: &str = "[reminders]\non = true\n";

fn stopping(again: bool) -> Detail {
    Detail::Stop { again, last_message: None, n_background_tasks: 0, transcript: None }
}

/// The main thread wants to stop.
fn stop(stage: &Stage, again: bool) -> Event {
    Event {
        project_dir: Some("/repo".to_owned()),
        detail: stopping(again),
        ..stage.event(EventKind::Stop, "s1")
    }
}

/// The subagent `id` of that type wants to end.
fn sub_stop(stage: &Stage, id: &str, kind: &str, again: bool) -> Event {
    let actor = Actor::Subagent { id: SafeId::new(id).unwrap(), kind: kind.to_owned() };
    let kind = EventKind::SubagentStop;
    Event { kind, name: kind.name().to_owned(), actor, ..stop(stage, again) }
}

/// The event's actor has used a tool.
fn works(stage: &mut Stage, event: &Event) {
    let call = ToolCall {
        name: "Read".to_owned(),
        class: ToolClass::Read,
        use_id: None,
        files: Vec::new(),
        command: None,
        input: "{}".to_owned(),
        ..ToolCall::default()
    };
    let kind = EventKind::PreToolUse;
    let (name, detail) = (kind.name().to_owned(), Detail::ToolBefore { call });
    stage.told(&Event { kind, name, detail, ..event.clone() });
}

/// The reminders that hold an actor that stops after some work.
fn held(stage: &mut Stage, event: &Event) -> Vec<&'static str> {
    works(stage, event);
    held_idle(stage, event)
}

/// The same without any work.
fn held_idle(stage: &mut Stage, event: &Event) -> Vec<&'static str> {
    named(&stage.told(event).verdict.block.unwrap_or_default())
}

fn named(said: &str) -> Vec<&'static str> {
    let marks = [
        ("a short look back", "reflect"),
        ("check your own work", "validate"),
        ("One more question", "reflexion"),
    ];
    marks.into_iter().filter(|(mark, _)| said.contains(mark)).map(|(_, name)| name).collect()
}

/// A file of the team in `/repo`.
fn file(stage: &mut Stage, name: &str, text: &str) {
    let (root, path) = ("/repo".to_owned(), format!(".claude/reminders/{name}"));
    let need = Need::ProjectFile { root, path, max: 4_096 };
    stage.facts.insert(need, Found::Text(text.to_owned()));
}

/// The seed's table of phases, and what memory adds to it.
#[rstest]
#[case::stop(true, false, &[], &["reflect"])]
#[case::stop_again(true, true, &[], &[])]
#[case::phase_one(false, false, &[], &["validate", "reflexion"])]
#[case::phase_two(false, true, &["validate"], &["reflexion"])]
#[case::phase_two_without_one(false, true, &[], &["reflexion"])]
#[case::continued_after_one(false, false, &["validate"], &["reflexion"])]
#[case::after_both(false, true, &["validate", "reflexion"], &[])]
#[case::continued_after_both(false, false, &["validate", "reflexion"], &[])]
#[case::two_alone(false, false, &["reflexion"], &[])]
#[case::once_a_session(true, false, &["reflect"], &[])]
fn the_next_reminder_depends_on_what_was_told(
    #[case] is_main: bool,
    #[case] again: bool,
    #[case] told: &[&str],
    #[case] expected: &[&str],
) {
    let told: Vec<Reminder> = told.iter().map(|name| Reminder::named(name).unwrap()).collect();
    let names: Vec<&str> =
        policy::next(is_main, again, &told).iter().map(|reminder| reminder.name()).collect();
    assert_eq!(names, expected);
}

/// The seed's events, each in a fresh session, and whether they remind.
#[rstest]
#[case::setup(EventKind::Setup, Detail::Because { word: "init".to_owned() }, &[])]
#[case::session_start(EventKind::SessionStart, Detail::Plain, &[])]
#[case::subagent_start(EventKind::SubagentStart, Detail::Plain, &[])]
#[case::session_end(EventKind::SessionEnd, Detail::Because { word: "other".to_owned() }, &[])]
#[case::waiter(EventKind::Waiter, stopping(false), &[])]
#[case::tool(EventKind::PreToolUse, Detail::Plain, &[])]
#[case::stop(EventKind::Stop, stopping(false), &["reflect"])]
#[case::stop_active(EventKind::Stop, stopping(true), &[])]
#[case::subagent_stop(EventKind::SubagentStop, stopping(false), &["validate"])]
#[case::subagent_stop_active(EventKind::SubagentStop, stopping(true), &["reflexion"])]
fn an_event_reminds(
    #[case] kind: EventKind,
    #[case] detail: Detail,
    #[case] expected: &[&'static str],
) {
    let mut stage = Stage::new(ON);
    let base = match kind {
        EventKind::SubagentStop | EventKind::SubagentStart => {
            sub_stop(&stage, "a1", "reviewer", false)
        }
        _ => stop(&stage, false),
    };
    let event = Event { kind, detail, name: kind.name().to_owned(), ..base };
    assert_eq!(held(&mut stage, &event), expected);
}

#[rstest]
#[case::by_default("", false, false)]
#[case::standard("profile = \"standard\"\n", false, false)]
#[case::reminders("profile = \"reminders\"\n", true, true)]
#[case::all("profile = \"all\"\n", true, true)]
#[case::on(ON, true, true)]
#[case::no_stop("[reminders]\non = true\nstop = \"off\"\n", false, true)]
#[case::no_subagents("[reminders]\non = true\nsubagents = false\n", true, false)]
#[case::exempt("[reminders]\non = true\nexempt = [\"REVIEWER\"]\n", true, false)]
fn settings_decide(#[case] toml: &str, #[case] main: bool, #[case] sub: bool) {
    let mut stage = Stage::new(toml);
    let event = stop(&stage, false);
    assert_eq!(!held(&mut stage, &event).is_empty(), main);
    let event = sub_stop(&stage, "a1", "reviewer", false);
    assert_eq!(!held(&mut stage, &event).is_empty(), sub);
}

#[rstest]
#[case::explorer("Explore")]
#[case::planner("Plan")]
#[case::guide("claude-code-guide")]
#[case::status_line("statusline-setup")]
#[case::compaction_fork("")]
fn some_are_never_reminded(#[case] kind: &str) {
    let mut stage = Stage::new(ON);
    for again in [false, true] {
        let event = sub_stop(&stage, "a1", kind, again);
        assert!(held(&mut stage, &event).is_empty());
    }
}

#[test]
fn files_are_looked_for_only_at_a_reminder() {
    let keys = crate::keys();
    let settings = |toml: &str| {
        use substrate_core::settings::{Layer, Scope};
        substrate_core::Settings::resolve(&keys, &[&Layer::read(Scope::User, "t", toml, &keys)])
    };
    let (on, off) = (settings(ON), settings(""));
    let stage = Stage::new(ON);
    let paths = |event: &Event| -> Vec<String> {
        let path = |need| match need {
            Need::ProjectFile { root, path, .. } => {
                format!("{root}{}", path.replace(".claude/reminders/", "!"))
            }
            other => panic!("{other:?}"),
        };
        policy::gather(event, &on).into_iter().map(path).collect()
    };
    let main = stop(&stage, false);
    assert_eq!(paths(&main), ["/repo!reflect.md"]);
    assert!(policy::gather(&main, &off).is_empty());
    assert!(paths(&stop(&stage, true)).is_empty());
    assert!(paths(&Event { kind: EventKind::Waiter, ..main }).is_empty());
    let sub = sub_stop(&stage, "a1", "team:../Reviewer", true);
    assert_eq!(paths(&sub), ["/repo!reflexion.team-..-Reviewer.md", "/repo!reflexion.md"]);
    let sub = sub_stop(&stage, "a1", "..", false);
    assert_eq!(paths(&sub), ["/repo!validate.md", "/repo!reflexion.md"]);
    let elsewhere = Event { project_dir: Some("/tree/".to_owned()), ..sub };
    assert_eq!(
        paths(&elsewhere),
        ["/tree!validate.md", "/repo!validate.md", "/tree!reflexion.md", "/repo!reflexion.md"]
    );
}
