//! The plan itself.

use std::collections::BTreeSet;

use rstest::rstest;
use substrate_core::EventKind;

use super::*;

#[test]
fn the_events_are_all_but_five_and_the_waiters() {
    for form in [
        Form::Project,
        Form::User { program: "/p" },
        Form::Scripts { folder: "/f" },
        Form::Persistent { program: "/p", folder: "/f" },
    ] {
        let entries = plan::entries(form);
        assert_eq!(entries.len(), 33 - 5 + 2);
        let events: BTreeSet<_> = entries.iter().map(|entry| entry.event).collect();
        assert_eq!(events.len(), 28);
        for left_out in
            ["WorktreeCreate", "WorktreeRemove", "MessageDisplay", "FileChanged", "PostToolBatch"]
        {
            assert!(!events.contains(left_out) && EventKind::named(left_out) != EventKind::Unknown);
        }
    }
}

#[rstest]
#[case("Stop", 600)]
#[case("SubagentStop", 60)]
#[case("SessionStart", 30)]
#[case("UserPromptSubmit", 20)]
#[case("SessionEnd", 5)]
#[case("PreModelSwitch", 20)]
#[case("PostModelSwitch", 20)]
#[case("PreToolUse", 15)]
#[case("Setup", 15)]
fn a_timeout_is(#[case] event: &str, #[case] expected: u32) {
    let entries = plan::entries(Form::Project);
    assert_eq!(entries.iter().find(|entry| entry.event == event).unwrap().timeout_s, expected);
}

fn what(form: Form<'_>, event: &str) -> What {
    plan::entries(form).into_iter().find(|entry| entry.event == event).unwrap().what
}

/// The waiter after Stop; the one after SessionStart is the last.
fn waiter(form: Form<'_>) -> Entry {
    let mut entries = plan::entries(form);
    assert_eq!(entries.pop().unwrap().event, "SessionStart");
    entries.pop().unwrap()
}

#[test]
fn a_user_s_hooks_are_spawned_directly() {
    let form = Form::User { program: "/p/substrate-hook" };
    let expected = |args: &[&str], wakes| What::Exec {
        program: "/p/substrate-hook".to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        wakes,
    };
    assert_eq!(what(form, "Stop"), expected(&["claude-code", "Stop"], false));
    let waiter = waiter(form);
    assert_eq!((waiter.event, waiter.timeout_s), ("Stop", 86_400));
    assert_eq!(waiter.what, expected(&["claude-code", "Stop", "--wake"], true));
}

#[test]
fn a_project_s_hooks_do_nothing_where_we_are_not_installed() {
    let guard =
        "command -v substrate-hook >/dev/null 2>&1 || exit 0; exec substrate-hook claude-code";
    let expected = |rest: &str, wakes| What::Shell { command: format!("{guard} {rest}"), wakes };
    assert_eq!(what(Form::Project, "PreCompact"), expected("PreCompact --shared", false));
    assert_eq!(waiter(Form::Project).what, expected("Stop --wake --shared", true));
}

#[rstest]
#[case::plain("/h/.claude/hooks/substrate", "'/h/.claude/hooks/substrate/user_prompt.sh'")]
#[case::final_slash("/h/hooks/substrate/", "'/h/hooks/substrate/user_prompt.sh'")]
#[case::hostile(
    "/h/$x `y`/o'b/hooks/substrate",
    r"'/h/$x `y`/o'\''b/hooks/substrate/user_prompt.sh'"
)]
fn a_script_is_one_word_for_sh(#[case] folder: &str, #[case] command: &str) {
    let expected = What::Shell { command: command.to_owned(), wakes: false };
    assert_eq!(what(Form::Scripts { folder }, "UserPromptSubmit"), expected);
}

#[test]
fn each_script_hook_has_its_script() {
    let folder = "/h/hooks/substrate";
    let scripts = plan::scripts("/p/substrate-hook");
    let entries = plan::entries(Form::Scripts { folder });
    assert_eq!(scripts.len(), entries.len());
    for (entry, (name, text)) in entries.iter().zip(&scripts) {
        let command = format!("'{folder}/{name}'");
        let wakes = name.ends_with("_wake.sh");
        assert_eq!(entry.what, What::Shell { command, wakes });
        assert!(text.starts_with("#!/bin/sh\n# ") && text.ends_with("\"$@\"\n"), "{text}");
        assert_eq!(text.lines().count(), 3);
    }
    let names: BTreeSet<_> = scripts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), scripts.len());
    for name in [
        "session_start",
        "user_prompt",
        "stop",
        "subagent_stop",
        "pre_compact",
        "stop_wake",
        "session_start_wake",
        "post_tool_use",
    ] {
        assert!(names.contains(format!("{name}.sh").as_str()), "{name}");
    }
}

#[test]
fn a_persistent_agent_s_five_events_go_through_scripts_and_no_tool_call_does() {
    let (program, folder) = ("/p/substrate-hook", "/h/hooks/substrate");
    let entries = plan::entries(Form::Persistent { program, folder });
    let all = plan::entries(Form::User { program });
    let scripted: BTreeSet<_> = entries
        .iter()
        .filter(|entry| matches!(entry.what, What::Shell { .. }))
        .map(|entry| entry.event)
        .collect();
    let wanted = ["SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact"];
    assert_eq!(scripted, BTreeSet::from(wanted));
    for (one, other) in entries.iter().zip(&all) {
        assert_eq!((one.event, one.timeout_s), (other.event, other.timeout_s));
        let is_script = matches!(&one.what, What::Shell { wakes, .. } if !wakes);
        assert!(is_script || one.what == other.what, "{}", one.event);
    }
}

#[test]
fn a_script_says_what_it_is() {
    let text = |name: &str| {
        plan::scripts("/o'b/substrate-hook").into_iter().find(|script| script.0 == name).unwrap().1
    };
    assert_eq!(
        text("stop.sh"),
        "#!/bin/sh\n# Claude Code's Stop hook: tells Substrate. You may edit this file.\nexec '/o'\\''b/substrate-hook' claude-code Stop \"$@\"\n"
    );
    assert!(text("stop_wake.sh").contains("claude-code Stop --wake \"$@\""));
}

#[test]
fn the_prompts_have_the_seeds_very_words_and_thirty_seconds() {
    let stop = r#"{"type":"prompt","prompt":"Analyze the conversation and determine if: 1. All user-requested tasks are complete 2. Any errors need to be addressed 3. Follow-up work is needed\n\nRespond with JSON: {\"ok\": true} to allow stopping, or {\"ok\": false, \"reason\": \"your explanation\"} to continue working.","timeout":30}"#;
    let subagent_stop = r#"{"type":"prompt","prompt":"Check if: - The subagent completed its assigned task - Any errors occurred that need fixing - Additional context gathering is needed\n\nReturn: {\"ok\": true} to allow stopping, or {\"ok\": false, \"reason\": \"explanation\"} to continue.","timeout":30}"#;
    let wanted = Wanted { entries: plan::prompts(), ..Wanted::default() };
    let written = (SETTINGS.add)("", &wanted).unwrap().text;
    let written: serde_json::Value = serde_json::from_str(&written).unwrap();
    let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let expected = serde_json::json!({
        "Stop": [{"hooks": [parsed(stop)]}],
        "SubagentStop": [{"hooks": [parsed(subagent_stop)]}],
    });
    assert_eq!(written["hooks"], expected);
}
