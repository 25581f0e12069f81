//! Whose command it is: session, name, inside and outside a client.

use rstest::rstest;

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
#[case::a_person_as_ourselves(OUTSIDE, None, Some("Substrate"), None)]
#[case::a_person_for_a_session(OUTSIDE, Some("s1"), None, Some("Lead"))]
#[case::a_person_for_an_unknown_session(OUTSIDE, Some("s9"), None, None)]
#[case::a_person_for_an_unknown_session_by_name(OUTSIDE, Some("s9"), Some("Other"), Some("Other"))]
#[case::a_typed_name_wins_outside(OUTSIDE, Some("s1"), Some("Other"), Some("Other"))]
#[case::a_wrong_name_loses_to_the_session(OUTSIDE, Some("s1"), Some("Laed"), Some("Lead"))]
#[case::nobody(INSIDE, None, None, None)]
#[case::nobody_is_the_person(INSIDE, None, Some("User"), None)]
#[case::nor_in_a_session(INSIDE, Some("s1"), Some("User"), Some("Lead"))]
#[case::nor_ourselves(INSIDE, None, Some("Substrate"), None)]
#[case::its_session(INSIDE, Some("s1"), None, Some("Lead"))]
#[case::its_session_and_name(INSIDE, Some("s1"), Some("Lead"), Some("Lead"))]
#[case::an_inherited_name_loses(INSIDE, Some("s1"), Some("Other"), Some("Lead"))]
#[case::its_own_subagent(INSIDE, Some("s1"), Some("Lead/reviewer-1"), Some("Lead/reviewer-1"))]
#[case::a_subagent_of_another(INSIDE, Some("s2"), Some("Lead/reviewer-1"), Some("Other"))]
#[case::a_subagent_that_is_none(INSIDE, Some("s1"), Some("Lead/reviewer-9"), Some("Lead"))]
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
    assert_eq!(refused, "you are Lead, and act for nobody else: leave `--agent` out");
}

#[test]
fn asking_makes_nobody() {
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
fn whoever_acts_for_another_than_the_session_has_no_session() {
    let mut stage = stage();
    begin_as(&mut stage, "s1", "Lead");
    begin_as(&mut stage, "s2", "Other");
    let caller = Caller { agent: Some("Other".to_owned()), inside_client: false, ..inside("s1") };
    assert_eq!(who(&mut stage, &caller).unwrap().session, None);
}
