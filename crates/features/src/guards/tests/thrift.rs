//! What judging an event costs at most: all features together read its line once, and a condition gets values only if its rule
//! can match.

use rstest::rstest;
use substrate_core::EventKind;

use super::*;
use crate::guards::cel::scene::N_MADE;
use crate::shell::N_READ;

/// Two rules that can match `make`, one for what no line here runs, and features that read lines too.
const SETTINGS: &str = r#"
[efforts]
on = true

[[guards.rules]]
name = "no-make"
when = 'runs("make")'
action = "warn"
reason = "It is slow."

[[guards.rules]]
name = "no-clean"
when = 'runs("make") && command.contains("clean")'
action = "warn"
reason = "It is slower."

[[guards.rules]]
name = "no-ninja"
when = 'runs("ninja")'
action = "warn"
reason = "It is fast."
"#;

#[rstest]
#[case::harmless("ls -la src | sort", 0)]
#[case::writes_a_file("cargo build > build.log", 1)]
#[case::one_rule("make all", 1)]
#[case::two_rules("cd app && make clean", 1)]
#[case::built_in("git reset --hard", 1)]
#[case::nested("sh -c 'ls; pwd'", 0)]
fn a_line_is_read_once_and_conditions_see_one_scene_or_none(
    #[case] line: &str,
    #[case] n_scenes: usize,
) {
    let mut stage = Stage::new(SETTINGS);
    bash(&mut stage, LION, "true");
    for (kind, n_scenes) in [(EventKind::PreToolUse, n_scenes), (EventKind::PostToolUse, 0)] {
        // Another line, so that nothing is left of the one before.
        let mut event = bash_event(&stage, LION, &format!("{line} #{kind:?}"));
        if let (EventKind::PostToolUse, Detail::ToolBefore { call }) = (kind, event.detail.clone())
        {
            event = Event {
                detail: Detail::ToolAfter { call, response: String::new(), duration_ms: None },
                ..stage.event(kind, LION.0)
            };
        }
        let before = (N_READ.get(), N_MADE.get());
        stage.told(&event);
        let lines_and_scenes = (N_READ.get() - before.0, N_MADE.get() - before.1);
        assert!(lines_and_scenes.0 <= 1, "{kind:?} `{line}` was read {} times", lines_and_scenes.0);
        assert_eq!(lines_and_scenes.1, n_scenes, "{kind:?} `{line}`");
        if kind == EventKind::PreToolUse {
            assert_eq!(lines_and_scenes.0, 1, "`{line}`");
        }
    }
}

#[test]
fn an_event_without_a_line_makes_no_scene() {
    let mut stage = Stage::new(SETTINGS);
    let input = json!({"file_path": "/repo/src/lib.rs"});
    for (name, class) in [("Read", ToolClass::Read), ("Edit", ToolClass::Edit)] {
        let event = tool(&stage, LION, name, class, &input);
        let before = (N_READ.get(), N_MADE.get());
        stage.told(&event);
        assert_eq!((N_READ.get(), N_MADE.get()), before, "{name}");
    }
}
