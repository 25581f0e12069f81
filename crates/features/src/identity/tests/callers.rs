//! Who runs a command: by session and name, inside and outside a client.

use std::sync::Arc;

use rstest::rstest;
use substrate_core::Lineage;

use super::super::record;
use super::*;

const INSIDE: bool = true;
const OUTSIDE: bool = false;

#[rstest]
#[case::a_person(OUTSIDE, None, None, Some("User"))]
#[case::a_person_with_an_empty_name(OUTSIDE, None, Some(""), Some("User"))]
#[case::a_person_by_name(OUTSIDE, None, Some("user"), Some("User"))]
#[case::a_person_for_an_agent(OUTSIDE, None, Some("Lead"), Some("Lead"))]
#[case::a_person_for_a_subagent(OUTSIDE, None, Some("lead/REVIEWER-1"), Some("Lead/reviewer-1"))]
#[case::a_person_with_a_wrong_name(OUTSIDE, None, Some("Laed"), None)]
#[case::a_person_as_substrate(OUTSIDE, None, Some("Substrate"), None)]
#[case::a_person_for_a_session(OUTSIDE, Some("s1"), None, Some("Lead"))]
#[case::a_person_for_an_unknown_session(OUTSIDE, Some("s9"), None, None)]
#[case::a_person_for_an_unknown_session_by_name(OUTSIDE, Some("s9"), Some("Other"), Some("Other"))]
#[case::a_typed_name_wins_outside(OUTSIDE, Some("s1"), Some("Other"), Some("Other"))]
#[case::a_wrong_name_loses_to_the_session(OUTSIDE, Some("s1"), Some("Laed"), Some("Lead"))]
#[case::unknown(INSIDE, None, None, None)]
#[case::never_the_person(INSIDE, None, Some("User"), None)]
#[case::not_even_in_a_session(INSIDE, Some("s1"), Some("User"), Some("Lead"))]
#[case::never_substrate(INSIDE, None, Some("Substrate"), None)]
#[case::its_session(INSIDE, Some("s1"), None, Some("Lead"))]
#[case::its_session_and_name(INSIDE, Some("s1"), Some("Lead"), Some("Lead"))]
#[case::an_inherited_name_loses(INSIDE, Some("s1"), Some("Other"), Some("Lead"))]
#[case::its_own_subagent(INSIDE, Some("s1"), Some("Lead/reviewer-1"), Some("Lead/reviewer-1"))]
#[case::a_subagent_of_another(INSIDE, Some("s2"), Some("Lead/reviewer-1"), Some("Other"))]
#[case::an_unknown_subagent(INSIDE, Some("s1"), Some("Lead/reviewer-9"), Some("Lead"))]
#[case::only_a_name(INSIDE, None, Some("Lead"), Some("Lead"))]
#[case::an_unknown_session(INSIDE, Some("s9"), None, None)]
#[case::a_nested_client_inherits_the_name(INSIDE, Some("s9"), Some("Lead"), None)]
#[case::hostile(INSIDE, Some("../../x"), Some("x' or '1'='1"), None)]
fn a_command_is(
    #[case] inside_client: bool,
    #[case] session: Option<&str>,
    #[case] agent: Option<&str>,
    #[case] expected: Option<&str>,
) {
    let mut stage = stage();
    begin_as(&mut stage, "s1", "Lead");
    begin_as(&mut stage, "s2", "Other");
    let event =
        Event { actor: sub("a1", "reviewer"), ..stage.event(EventKind::SubagentStart, "s1") };
    stage.happen(&event);
    let caller = Caller {
        session: session.map(str::to_owned),
        agent: agent.map(str::to_owned),
        inside_client,
        ..Caller::default()
    };
    let found = who(&mut stage, &caller).map(|who| who.address());
    assert_eq!(found.as_deref(), expected);
}

#[test]
fn a_name_that_was_typed_inside_a_client_counts_or_is_refused() {
    let mut stage = stage();
    begin_as(&mut stage, "s1", "Lead");
    begin_as(&mut stage, "s2", "Other");
    let typed = |session: &str, agent: &str| Caller {
        agent: Some(agent.to_owned()),
        agent_typed: true,
        ..inside(session)
    };
    assert_eq!(who(&mut stage, &typed("s1", "Lead")).unwrap().name, "Lead");
    assert_eq!(
        who(&mut stage, &typed("s9", "Lead")).unwrap().name,
        "Lead",
        "a session without hooks"
    );
    let refused = asked(&mut stage, &typed("s1", "Other")).unwrap_err().to_string();
    assert_eq!(refused, "this command runs inside Lead's session and can't act for Other");
}

#[test]
fn asking_creates_no_agent() {
    let mut stage = stage();
    for caller in [inside("s1"), Caller { agent: Some("New".to_owned()), ..inside("s1") }] {
        assert_eq!(who(&mut stage, &caller), None);
    }
    assert_eq!(
        stage.call(&outside(), &["agent", "list"], json!({"all": true})).unwrap().json,
        json!([])
    );
}

#[test]
fn acting_for_another_agent_means_having_no_session() {
    let mut stage = stage();
    begin_as(&mut stage, "s1", "Lead");
    begin_as(&mut stage, "s2", "Other");
    let caller = Caller { agent: Some("Other".to_owned()), inside_client: false, ..inside("s1") };
    assert_eq!(who(&mut stage, &caller).unwrap().session, None);
}

/// Two clients, 10 and 20, each with a session. No hook ever reported process 40.
fn two_clients() -> Stage {
    let mut stage = stage();
    for (session, name, pid) in [("s1", "Lead", 10), ("s2", "Other", 20)] {
        stage.machine.processes.insert(pid, i64::from(pid));
        let event = Event {
            client_pid: Some(pid),
            wanted_agent: Some(name.to_owned()),
            ..start(&stage, session, StartSource::Startup)
        };
        stage.happen(&event);
    }
    let event =
        Event { actor: sub("a1", "reviewer"), ..stage.event(EventKind::SubagentStart, "s1") };
    stage.happen(&event);
    stage
}

type Row = (u32, i64, &'static str);
const CALLER: Row = (99, 99, "substrate");
const SHELL: Row = (50, 50, "bash -c x");
const LEAD: Row = (10, 10, "client");
const OTHER: Row = (20, 20, "client");
const INIT: Row = (1, 0, "init");

/// A command below Lead's client.
const BELOW: &[Row] = &[CALLER, SHELL, LEAD, INIT];
/// In the user's own terminal.
const TERMINAL: &[Row] = &[CALLER, SHELL, INIT];
/// The pid of Lead's client, recycled for another process.
const REUSED: &[Row] = &[CALLER, SHELL, (10, 11, "another"), INIT];
/// A client that Lead's shell started.
const NESTED: &[Row] = &[CALLER, SHELL, OTHER, (15, 15, "bash"), LEAD, INIT];
/// The same, but its hooks were never heard.
const NESTED_UNKNOWN: &[Row] = &[CALLER, SHELL, (40, 40, "client"), (15, 15, "bash"), LEAD, INIT];
/// After `nohup … &` or `setsid -f`.
const DETACHED: &[Row] = &[CALLER, INIT];
/// Detached before Lead's client began.
const OLD: &[Row] = &[(99, 9, "substrate"), INIT];

const REFUSED: Option<&str> = Some("refused");

#[rstest]
// No flag or variable is needed, and none can make it another agent's: `env -i … substrate send`.
#[case::nothing_said(BELOW, None, "", None, Some("Lead"))]
#[case::its_session(BELOW, None, "s1", None, Some("Lead"))]
#[case::its_name(BELOW, None, "", Some("Lead"), Some("Lead"))]
#[case::its_subagent(BELOW, None, "", Some("Lead/reviewer-1"), Some("Lead/reviewer-1"))]
#[case::another_session(BELOW, None, "s2", None, REFUSED)]
#[case::another_name(BELOW, None, "", Some("Other"), REFUSED)]
#[case::another_session_and_its_name(BELOW, None, "s2", Some("Other"), REFUSED)]
#[case::the_user(BELOW, None, "", Some("User"), REFUSED)]
#[case::an_unknown_name(BELOW, None, "", Some("Laed"), REFUSED)]
#[case::an_unknown_subagent(BELOW, None, "", Some("Lead/reviewer-9"), REFUSED)]
#[case::an_unknown_session(BELOW, None, "s9", None, None)]
#[case::an_unknown_session_by_name(BELOW, None, "s9", Some("Other"), REFUSED)]
// A variable that names another client does not help.
#[case::another_client_named(BELOW, Some(20), "", None, Some("Lead"))]
#[case::the_nearest_client(NESTED, None, "", None, Some("Other"))]
#[case::not_the_one_around_it(NESTED, None, "s1", None, REFUSED)]
#[case::an_unknown_client_belongs_to_its_parent(NESTED_UNKNOWN, Some(40), "", None, Some("Lead"))]
#[case::the_users_terminal(TERMINAL, None, "", None, Some("User"))]
#[case::the_user_for_a_session(TERMINAL, None, "s2", None, Some("Other"))]
#[case::the_user_for_an_agent(TERMINAL, None, "", Some("Lead"), Some("Lead"))]
#[case::a_recycled_pid(REUSED, None, "", None, Some("User"))]
#[case::detached(DETACHED, Some(10), "", None, Some("Lead"))]
#[case::detached_for_another_session(DETACHED, Some(10), "s2", None, REFUSED)]
#[case::detached_for_another_agent(DETACHED, Some(10), "", Some("Other"), REFUSED)]
#[case::detached_without_a_client(DETACHED, None, "", None, Some("User"))]
#[case::detached_from_an_unknown_client(DETACHED, Some(40), "", None, Some("User"))]
#[case::older_than_the_client(OLD, Some(10), "", None, Some("User"))]
fn processes_decide_who_runs_a_command(
    #[case] above: &[Row],
    #[case] named_client: Option<u32>,
    #[case] session: &str,
    #[case] agent: Option<&str>,
    #[case] expected: Option<&str>,
) {
    let mut stage = two_clients();
    let lineage = Lineage { named_client, ..lineage(above) };
    // Below a client the variables make no difference.
    let is_below = above.contains(&LEAD) || above.contains(&OTHER);
    for inside_client in [false, is_below] {
        let caller = Caller {
            session: Some(session.to_owned()).filter(|session| !session.is_empty()),
            agent: agent.map(str::to_owned),
            agent_typed: true,
            inside_client,
            lineage: Some(Arc::new(lineage.clone())),
            ..Caller::default()
        };
        match asked(&mut stage, &caller) {
            Ok(found) => {
                assert_eq!(found.map(|who| who.address()).as_deref(), expected);
            }
            Err(FeatureError::Refused { message, hint }) => {
                assert_eq!(Some("refused"), expected, "{message}");
                assert!(message.starts_with("this command runs inside "), "{message}");
                assert!(hint.contains("in a terminal outside the client"), "{hint}");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn below() -> Caller {
    Caller { lineage: Some(Arc::new(lineage(BELOW))), ..Caller::default() }
}

#[test]
fn an_inherited_name_is_not_refused_below_a_client() {
    let mut stage = two_clients();
    for name in ["Other", "User", "Other/x"] {
        let caller = Caller { agent: Some(name.to_owned()), ..below() };
        assert_eq!(who(&mut stage, &caller).unwrap().address(), "Lead");
    }
}

#[test]
fn what_only_the_user_may_run_is_refused_inside_a_session() {
    let mut stage = two_clients();
    let says = Caller { inside_client: true, ..Caller::default() };
    for (caller, inside) in [(below(), "Lead's session"), (says, "a session")] {
        let (message, hint) = error(&mut stage, &caller, &["fleet", "check"], json!({}));
        assert_eq!(
            message,
            format!(
                "`substrate fleet check` is only for the user, and this command runs inside {inside}"
            )
        );
        assert_eq!(
            hint,
            "ask the user to run `substrate fleet check …` in a terminal of their own, outside the client"
        );
    }
    let user = Caller { lineage: Some(Arc::new(lineage(TERMINAL))), ..Caller::default() };
    stage.call(&user, &["fleet", "check"], json!({"names": ["Lead"]})).unwrap();
}

#[test]
fn both_clients_of_a_session_are_known_and_a_process_knows_its_sessions() {
    let mut stage = two_clients();
    // Process 30 opens the session of 10 too, and its event comes last.
    stage.machine.processes.insert(30, 30);
    let event = Event { client_pid: Some(30), ..start(&stage, "s1", StartSource::Resume) };
    stage.happen(&event);
    assert_eq!(who(&mut stage, &below()).unwrap().address(), "Lead");
    // After `/clear` in 10, its shells may still name the old session.
    stage.pass(1_000);
    let event = Event { client_pid: Some(10), ..start(&stage, "s3", StartSource::Clear) };
    stage.happen(&event);
    let session = |stage: &mut Stage, caller: &Caller| {
        who(stage, caller).unwrap().session.unwrap().as_str().to_owned()
    };
    assert_eq!(session(&mut stage, &below()), "s3");
    let before = Caller { session: Some("s1".to_owned()), ..below() };
    assert_eq!(session(&mut stage, &before), "s1");
}

#[test]
fn below_a_client_no_other_session_can_be_created_saved_or_renewed() {
    let mut stage = two_clients();
    for session in ["s2", "s9"] {
        let caller = Caller { session: Some(session.to_owned()), ..below() };
        if session == "s2" {
            assert!(matches!(asked(&mut stage, &caller), Err(FeatureError::Refused { .. })));
            continue;
        }
        for path in [["identity", "ensure"], ["identity", "restore"], ["identity", "save"]] {
            let (message, _) = error(&mut stage, &caller, &path, json!({}));
            assert_eq!(message, "this session has no agent yet");
        }
        let (message, _) = error(&mut stage, &caller, &["heartbeat"], json!({}));
        assert_eq!(message, "this session has no agent yet");
    }
    assert_eq!(
        text(&mut stage, &below(), &["identity", "ensure"], json!({})),
        "Session s1 is Lead.\n"
    );
}

#[test]
fn an_agent_that_deleted_itself_is_still_not_the_user() {
    let mut stage = two_clients();
    text(&mut stage, &below(), &["agent", "delete"], json!({"name": "Lead"}));
    assert_eq!(who(&mut stage, &below()), None);
    let (message, _) = error(&mut stage, &below(), &["fleet", "check"], json!({}));
    assert!(message.ends_with("runs inside a session"), "{message}");
}

#[test]
fn client_processes_are_forgotten_long_after_they_ended() {
    let mut stage = two_clients();
    stage.pass(31 * DAY);
    stage.with(|cx| record::tick(cx).unwrap());
    assert_eq!(who(&mut stage, &below()).unwrap().address(), "Lead", "it still runs");
    stage.machine.processes.remove(&10);
    stage.with(|cx| record::tick(cx).unwrap());
    assert_eq!(who(&mut stage, &below()).unwrap().address(), "User");
}

#[test]
fn a_client_that_has_left_a_session_is_still_above_its_commands() {
    let mut stage = two_clients();
    stage.machine.processes.insert(30, 30);
    let second = Event { client_pid: Some(30), ..start(&stage, "s1", StartSource::Resume) };
    stage.happen(&second);
    let leaves = Event { client_pid: Some(10), ..stage.event(EventKind::SessionEnd, "s1") };
    stage.happen(&leaves);
    assert_eq!(who(&mut stage, &below()).unwrap().address(), "Lead");
    let leaves = Event { client_pid: Some(30), ..stage.event(EventKind::SessionEnd, "s1") };
    stage.happen(&leaves);
    assert_eq!(who(&mut stage, &below()).unwrap().address(), "Lead");
}

fn tool(use_id: &str) -> ToolCall {
    ToolCall {
        name: "mcp__substrate__inbox".to_owned(),
        use_id: Some(use_id.to_owned()),
        ..ToolCall::default()
    }
}

/// A caller behind a tool server that runs below process 10.
fn by_tool(use_id: &str) -> Caller {
    Caller { tool_call: Some(use_id.to_owned()), ..below() }
}

/// A tool server is one process. Only the client's id of a call says which actor it serves.
#[test]
fn a_tool_call_is_the_actors_that_a_hook_reported_and_else_no_ones() {
    let mut stage = two_clients();
    let before = |stage: &Stage, actor: Actor, use_id: &str, session: &str| Event {
        actor,
        client_pid: Some(if session == "s1" { 10 } else { 20 }),
        detail: Detail::ToolBefore { call: tool(use_id) },
        ..stage.event(EventKind::PreToolUse, session)
    };
    let main = before(&stage, Actor::Main { kind: None }, "t1", "s1");
    let reviewer = before(&stage, sub("a1", "reviewer"), "t2", "s1");
    let other = before(&stage, Actor::Main { kind: None }, "t3", "s2");
    for event in [&main, &reviewer, &other] {
        stage.happen(event);
    }
    assert_eq!(who(&mut stage, &by_tool("t1")).unwrap().address(), "Lead");
    assert_eq!(who(&mut stage, &by_tool("t2")).unwrap().address(), "Lead/reviewer-1");
    let named = Caller { agent: Some("Other".to_owned()), agent_typed: true, ..by_tool("t2") };
    assert_eq!(who(&mut stage, &named).unwrap().address(), "Lead/reviewer-1", "no name counts");

    let elsewhere = Caller {
        lineage: Some(Arc::new(lineage(TERMINAL))),
        session: Some("s1".to_owned()),
        ..by_tool("t1")
    };
    for (caller, why) in [
        (by_tool("t3"), "no hook reported this call"),
        (by_tool("t9"), "no hook reported this call"),
        (by_tool(""), "gives its calls no ids"),
        (elsewhere, "no hook reported the client"),
    ] {
        let error = asked(&mut stage, &caller).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("acts as none"), "{error}");
        let standing = stage.with(|cx| {
            let _unknown = engine::identify(crate::ALL, cx, &caller);
            cx.standing.clone()
        });
        assert_ne!(standing, substrate_core::Standing::User);
    }
}

#[test]
fn a_tool_call_that_is_over_tells_no_more_who_made_it() {
    let mut stage = two_clients();
    let detail = Detail::ToolBefore { call: tool("t1") };
    let event = Event { client_pid: Some(10), detail, ..stage.event(EventKind::PreToolUse, "s1") };
    stage.happen(&event);
    let detail = Detail::ToolAfter { call: tool("t1"), response: String::new(), duration_ms: None };
    let event = Event { client_pid: Some(10), detail, ..stage.event(EventKind::PostToolUse, "s1") };
    stage.happen(&event);
    assert_eq!(who(&mut stage, &by_tool("t1")).unwrap().address(), "Lead", "the last word is late");
    stage.pass(31_000);
    assert!(asked(&mut stage, &by_tool("t1")).is_err());
}
