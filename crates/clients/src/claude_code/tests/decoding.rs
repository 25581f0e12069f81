//! What a payload leaves open, and what it gets wrong.

use rstest::rstest;
use substrate_core::{Actor, Detail, Event, EventKind, Pane, SafeId, StartSource, ToolClass};

use super::{AT, decode, decode_with, sample};
use crate::DecodeError;

fn id(text: &str) -> Option<SafeId> {
    SafeId::new(text)
}

#[test]
fn a_call_in_a_subagent_is_decoded_whole() {
    let stdin = sample("PreToolUse-subagent");
    let env = [
        ("CLAUDE_PROJECT_DIR", "/home/dev/app"),
        ("CLAUDE_PID", "22122"),
        ("CLAUDE_CODE_SESSION_ATTENDED", "0"),
        ("CLAUDE_CODE_SESSION_ID", "not-the-payloads"),
        ("AGENT_ID", "NobleLion"),
        ("SUBSTRATE_PERSIST", "wake"),
        ("SUBSTRATE_EFFORT", "7"),
        ("TMUX", "/tmp/tmux-1000/default,1234,0"),
        ("TMUX_PANE", "%3"),
    ];
    let event = decode_with("PreToolUse", &stdin, &env).unwrap();
    let Detail::ToolBefore { call } = event.detail.clone() else { panic!("{event:?}") };
    assert_eq!((call.name.as_str(), call.class), ("Read", ToolClass::Read));
    assert_eq!(call.files, ["/home/dev/app/a.txt"]);
    assert_eq!(call.use_id.as_deref(), Some("toolu_8966d1c05b3043cbb1a14ed2"));
    let session = "7ac89518-7bff-44f2-b7cc-ae24d9a0dca2";
    let expected = Event {
        client: "claude-code",
        dialect: super::CLIENT.dialect,
        at: AT,
        kind: EventKind::PreToolUse,
        name: "PreToolUse".to_owned(),
        session: id(session),
        actor: Actor::Subagent {
            id: id("af33cc3df4b1261b3").unwrap(),
            kind: "general-purpose".to_owned(),
        },
        cwd: "/home/dev/app/sub".to_owned(),
        project_dir: Some("/home/dev/app".to_owned()),
        transcript: Some(format!("/home/dev/.claude/projects/-home-dev-app/{session}.jsonl")),
        prompt_id: event.prompt_id.clone(),
        permission_mode: Some("bypassPermissions".to_owned()),
        is_planning: false,
        client_pid: Some(22122),
        attended: Some(false),
        env_file: None,
        block_cap: 8,
        wanted_agent: Some("NobleLion".to_owned()),
        wanted_persist: Some("wake".to_owned()),
        wanted_effort: Some(7),
        tasks_dir: Some(format!("/home/dev/.claude/tasks/{session}")),
        config_dir: Some("/home/dev/.claude".to_owned()),
        pane: Pane::of("/tmp/tmux-1000/default", "%3"),
        project: String::new(),
        waiting_since: None,
        detail: Detail::ToolBefore { call },
        n_unknown_fields: 0,
        n_bytes: stdin.len(),
    };
    assert!(event.prompt_id.is_some());
    assert_eq!(event, expected);
}

#[rstest]
#[case::empty(b"")]
#[case::blank(b" \n\t")]
fn a_hook_tried_by_hand_is_an_event(#[case] stdin: &[u8]) {
    let env = [("CLAUDE_SESSION_ID", "s1"), ("CLAUDE_ENV_FILE", "/e.sh")];
    let event = decode_with("Stop", stdin, &env).unwrap();
    assert_eq!((event.kind, event.name.as_str()), (EventKind::Stop, "Stop"));
    assert_eq!((event.session, event.cwd.as_str()), (id("s1"), "/hook/cwd"));
    assert_eq!((event.env_file.as_deref(), event.n_bytes), (Some("/e.sh"), stdin.len()));
    assert!(matches!(event.detail, Detail::Stop { again: false, n_background_tasks: 0, .. }));
    assert_eq!(decode_with("PreToolUse", stdin, &[]).unwrap().detail, Detail::Plain);
}

#[rstest]
#[case::payload_wins(
    "Stop",
    r#"{"hook_event_name":"PreCompact"}"#,
    EventKind::PreCompact,
    "PreCompact"
)]
#[case::other_spelling(
    "Stop",
    r#"{"hook_type":"PreCompact"}"#,
    EventKind::PreCompact,
    "PreCompact"
)]
#[case::argument("Stop", "{}", EventKind::Stop, "Stop")]
#[case::argument_when_wrong_type("Stop", r#"{"hook_event_name":7}"#, EventKind::Stop, "Stop")]
#[case::argument_when_not_known("Stop", r#"{"hook_event_name":"New"}"#, EventKind::Stop, "Stop")]
#[case::new_event("Later", r#"{"hook_event_name":"New"}"#, EventKind::Unknown, "New")]
#[case::new_argument("Later", "{}", EventKind::Unknown, "Later")]
#[case::hostile("", r#"{"hook_event_name":"a\u0000\u001b[1m\nb"}"#, EventKind::Unknown, "a [1m b")]
#[case::nothing("", "{}", EventKind::Unknown, "Unknown")]
fn an_event_is_named(
    #[case] argument: &str,
    #[case] stdin: &str,
    #[case] kind: EventKind,
    #[case] name: &str,
) {
    let event = decode_with(argument, stdin.as_bytes(), &[]).unwrap();
    assert_eq!((event.kind, event.name.as_str()), (kind, name));
}

#[test]
fn the_name_of_an_unknown_event_is_bounded() {
    let name = decode_with(&"é".repeat(10_000), b"", &[]).unwrap().name;
    assert_eq!(name.chars().count(), 65);
}

#[rstest]
#[case::main("{}", "main", None)]
#[case::subagent(r#"{"agent_id":"a1","agent_type":"rev"}"#, "a1", Some("rev"))]
#[case::compaction_fork(r#"{"agent_id":"a1","agent_type":""}"#, "a1", Some(""))]
#[case::no_type_is_no_fork(r#"{"agent_id":"a1"}"#, "a1", Some("unknown"))]
#[case::agent_session(r#"{"agent_type":"rev"}"#, "main", Some("rev"))]
#[case::empty_type(r#"{"agent_type":""}"#, "main", None)]
#[case::empty_id(r#"{"agent_id":"","agent_type":"rev"}"#, "main", Some("rev"))]
#[case::wrong_types(r#"{"agent_id":{},"agent_type":[]}"#, "main", None)]
fn an_actor_is_known(#[case] stdin: &str, #[case] key: &str, #[case] kind: Option<&str>) {
    let actor = decode(stdin.as_bytes()).unwrap().actor;
    assert_eq!((actor.key(), actor.kind()), (key, kind));
}

#[rstest]
#[case::payload(r#"{"session_id":"p"}"#, "p")]
#[case::absent("{}", "new")]
#[case::number(r#"{"session_id":7}"#, "new")]
#[case::empty(r#"{"session_id":""}"#, "new")]
fn a_session_is_found(#[case] stdin: &str, #[case] expected: &str) {
    let env = [("CLAUDE_SESSION_ID", "old"), ("CLAUDE_CODE_SESSION_ID", "new")];
    assert_eq!(decode_with("Stop", stdin.as_bytes(), &env).unwrap().session, id(expected));
    assert_eq!(decode_with("Stop", b"{}", &env[..1]).unwrap().session, id("old"));
}

#[test]
fn hostile_ids_become_safe_ones() {
    let stdin = br#"{"session_id":"../../etc/passwd","agent_id":"a/b\u0000"}"#;
    let event = decode(stdin).unwrap();
    assert!(event.session.unwrap().as_str().starts_with("x-"));
    assert!(event.actor.key().starts_with("x-"));
}

#[rstest]
#[case::absent(&[], 8, None)]
#[case::set(&[("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "3"), ("CLAUDE_CODE_SESSION_ATTENDED", "1")], 3, Some(true))]
#[case::no_cap(&[("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "0")], 0, None)]
#[case::junk(&[("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "-1"), ("CLAUDE_CODE_SESSION_ATTENDED", "yes"), ("CLAUDE_PID", "x")], 8, None)]
#[case::empty(&[("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", ""), ("CLAUDE_PROJECT_DIR", ""), ("CLAUDE_ENV_FILE", "")], 8, None)]
fn the_environment_is_read(
    #[case] env: &[(&str, &str)],
    #[case] block_cap: u32,
    #[case] attended: Option<bool>,
) {
    let event = decode_with("Stop", b"{}", env).unwrap();
    assert_eq!((event.block_cap, event.attended), (block_cap, attended));
    assert_eq!((event.client_pid, event.project_dir, event.env_file), (None, None, None));
}

#[rstest]
#[case::a_person("fix it", true)]
#[case::a_finished_task("<task-notification>\\n<task-id>", false)]
#[case::a_person_quoting("see <task-notification>", true)]
fn a_prompt_comes_from(#[case] prompt: &str, #[case] person: bool) {
    let stdin = format!(r#"{{"hook_event_name":"UserPromptSubmit","prompt":"{prompt}"}}"#);
    let detail = decode(stdin.as_bytes()).unwrap().detail;
    assert!(matches!(detail, Detail::Prompt { from_person, .. } if from_person == person));
}

#[rstest]
#[case::null_fields("SessionStart", r#"{"source":null,"model":null,"cwd":null,"prompt_id":null}"#)]
#[case::new_source("SessionStart", r#"{"source":"teleport","cwd":5}"#)]
fn a_start_without_a_known_source_is_a_start(#[case] name: &str, #[case] stdin: &str) {
    let event = decode_with(name, stdin.as_bytes(), &[]).unwrap();
    let expected = Detail::SessionStart { source: StartSource::Other, model: None };
    assert_eq!((event.detail, event.cwd.as_str()), (expected, "/hook/cwd"));
}

#[rstest]
#[case::no_name("PreToolUse", r#"{"tool_input":{}}"#)]
#[case::name_of_the_wrong_type("PostToolUse", r#"{"tool_name":1}"#)]
#[case::no_id("TaskCreated", r#"{"task_subject":"x"}"#)]
#[case::no_prompt("UserPromptSubmit", r#"{"prompt":["x"]}"#)]
#[case::no_path("FileChanged", r#"{"event":"change"}"#)]
#[case::no_word("SessionEnd", r#"{"reason":false}"#)]
fn a_detail_without_its_heart_is_plain(#[case] name: &str, #[case] stdin: &str) {
    assert_eq!(decode_with(name, stdin.as_bytes(), &[]).unwrap().detail, Detail::Plain);
}

#[test]
fn wrong_types_beside_a_call_do_not_hide_it() {
    let stdin = br#"{"tool_name":"Bash","tool_input":"rm -rf /","tool_use_id":9,"tool_response":"x","duration_ms":"9"}"#;
    let detail = decode_with("PostToolUse", stdin, &[]).unwrap().detail;
    let Detail::ToolAfter { call, response, duration_ms } = detail else { panic!("{detail:?}") };
    assert_eq!((call.class, call.use_id, call.command), (ToolClass::Shell, None, None));
    assert_eq!((call.input.as_str(), response.as_str(), duration_ms), ("{}", "\"x\"", None));
}

#[rstest]
#[case::words(b"hello")]
#[case::half(b"{\"session_id\":\"")]
#[case::two_objects(b"{} {}")]
#[case::nul(b"{}\0")]
fn what_is_no_json_is_refused(#[case] stdin: &[u8]) {
    assert!(matches!(decode(stdin), Err(DecodeError::NotJson(_))));
}

#[rstest]
#[case(b"[]")]
#[case(b"null")]
#[case(b"\"Stop\"")]
#[case(b"12")]
fn json_that_is_no_object_is_refused(#[case] stdin: &[u8]) {
    assert!(matches!(decode(stdin), Err(DecodeError::NotAnEvent(_))));
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    assert!(matches!(decode(b"{\"cwd\":\"\xff\"}"), Err(DecodeError::NotText)));
}

#[rstest]
#[case::transcript(&[], Some("/home/dev/.claude/tasks/s1"))]
#[case::config_folder(&[("CLAUDE_CONFIG_DIR", "/c/")], Some("/c/tasks/s1"))]
#[case::other_list(&[("CLAUDE_CODE_TASK_LIST_ID", "team")], Some("/home/dev/.claude/tasks/team"))]
#[case::hostile_list(&[("CLAUDE_CODE_TASK_LIST_ID", "../x")], Some("/home/dev/.claude/tasks/x-d6b96a97d147daaae49eb87a5ca7bfbc"))]
fn the_clients_own_tasks_are_found(#[case] env: &[(&str, &str)], #[case] expected: Option<&str>) {
    let stdin = br#"{"session_id":"s1","transcript_path":"/home/dev/.claude/projects/p/s1.jsonl"}"#;
    let event = decode_with("Stop", stdin, env).unwrap();
    assert_eq!(event.tasks_dir.as_deref(), expected);
}

#[rstest]
#[case::transcript(&[], "/home/dev/.claude/projects/p/s1.jsonl", Some("/home/dev/.claude"))]
#[case::variable(&[("CLAUDE_CONFIG_DIR", "/c/")], "/home/dev/.claude/projects/p/s1.jsonl", Some("/c"))]
#[case::neither(&[], "/elsewhere/s1.jsonl", None)]
fn the_clients_own_folder_is_found(
    #[case] env: &[(&str, &str)],
    #[case] transcript: &str,
    #[case] expected: Option<&str>,
) {
    let stdin = format!(r#"{{"session_id":"s1","transcript_path":"{transcript}"}}"#);
    let event = decode_with("UserPromptSubmit", stdin.as_bytes(), env).unwrap();
    assert_eq!(event.config_dir.as_deref(), expected);
}
