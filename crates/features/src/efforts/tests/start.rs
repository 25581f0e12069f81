//! A skill is run: its effort begins, or the model is told about the open one.

use rstest::rstest;
use substrate_core::Need;
use substrate_core::facts::{Found, SkillFolder};

use super::*;
use crate::efforts::start::{Decision, SkillUse, UseFacts, decide, skill_use};

const PLAIN: &str = "---\nname: fix\ndescription: Mends things.\n---\n";
const FRONT: &str = "---\nname: fix\neffort-phases: look, mend\n---\n";

/// Provides a skill with these files.
fn there(stage: &mut Stage, name: &str, files: &[(&str, &str)]) {
    let need = Need::SkillFolder { name: name.to_owned(), dir: "/repo".to_owned(), own: None };
    let file = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
    let found = SkillFolder {
        root: "/repo".to_owned(),
        folder: format!("/repo/.claude/skills/{name}"),
        is_missing: files.is_empty(),
        files: files.iter().map(file).collect(),
    };
    stage.facts.insert(need, Found::SkillFolder(found));
}

fn typed(stage: &Stage, who: One, text: &str, id: Option<&str>) -> Event {
    let detail = Detail::Prompt { text: text.to_owned(), from_person: true };
    let prompt_id = id.map(str::to_owned);
    Event { prompt_id, ..event(stage, who, EventKind::UserPromptSubmit, detail) }
}

fn expanded(stage: &Stage, who: One, name: &str, id: Option<&str>) -> Event {
    let detail = Detail::Expansion { command: name.to_owned(), text: format!("/{name}") };
    let prompt_id = id.map(str::to_owned);
    Event { prompt_id, ..event(stage, who, EventKind::UserPromptExpansion, detail) }
}

fn tool_used(stage: &Stage, who: One, name: &str, id: Option<&str>) -> Event {
    let call = ToolCall { skill: Some(name.to_owned()), ..call("Skill", ToolClass::Skill) };
    let detail = Detail::ToolAfter { call, response: String::new(), duration_ms: None };
    let prompt_id = id.map(str::to_owned);
    Event { prompt_id, ..event(stage, who, EventKind::PostToolUse, detail) }
}

type Way = fn(&Stage, One, &str, Option<&str>) -> Event;

fn by_prompt(stage: &Stage, who: One, name: &str, id: Option<&str>) -> Event {
    typed(stage, who, &format!("/{name} the door"), id)
}

const NONE: UseFacts =
    UseFacts { is_listed: false, says_so: false, is_there: false, is_known: false, open: None };

#[rstest]
#[case::nothing_is_known(NONE, Decision::Nothing)]
#[case::any_skill(UseFacts { is_there: true, ..NONE }, Decision::Nothing)]
#[case::a_listed_name_that_is_no_skill(UseFacts { is_listed: true, ..NONE }, Decision::Nothing)]
#[case::listed(UseFacts { is_listed: true, is_there: true, ..NONE }, Decision::Begins)]
#[case::it_says_so(UseFacts { says_so: true, is_there: true, ..NONE }, Decision::Begins)]
#[case::both(UseFacts { is_listed: true, says_so: true, is_there: true, ..NONE }, Decision::Begins)]
#[case::the_same_use(UseFacts { says_so: true, is_there: true, is_known: true, ..NONE }, Decision::Nothing)]
#[case::open(UseFacts { says_so: true, is_there: true, open: Some(3), ..NONE }, Decision::IsOpen(3))]
#[case::open_and_listed(UseFacts { is_listed: true, is_there: true, open: Some(3), ..NONE }, Decision::IsOpen(3))]
#[case::told_already(UseFacts { says_so: true, is_there: true, is_known: true, open: Some(3), ..NONE }, Decision::Nothing)]
#[case::open_but_no_skill(UseFacts { is_there: true, open: Some(3), ..NONE }, Decision::Nothing)]
fn a_skill_use_begins_an_effort_or_not(#[case] seen: UseFacts, #[case] expected: Decision) {
    assert_eq!(decide(&seen), expected);
}

#[rstest]
#[case::with_words("/fix the door", Some("fix"))]
#[case::alone("/fix", Some("fix"))]
#[case::on_the_next_line(" /fix\nthe door", Some("fix"))]
#[case::of_a_folder("/door:fix", Some("door:fix"))]
#[case::a_path("/usr/bin/fix it", None)]
#[case::nothing("/", None)]
#[case::spaces("/ fix", None)]
#[case::no_command("fix it", None)]
#[case::in_the_middle("please /fix it", None)]
#[case::odd("/../../etc", None)]
#[case::hidden("/-fix", None)]
fn a_prompt_names(#[case] text: &str, #[case] expected: Option<&str>) {
    let stage = two();
    let found = skill_use(&typed(&stage, LION, text, Some("p1")), stage.settings());
    let expected = expected.map(|skill| SkillUse {
        skill: skill.to_owned(),
        prompt: "p1".to_owned(),
        is_run: false,
    });
    assert_eq!(found, expected);
}

#[rstest]
#[case::prompt(by_prompt)]
#[case::expansion(expanded)]
#[case::tool(tool_used)]
fn running_a_skill_begins_an_effort_and_says_so(#[case] way: Way) {
    let mut stage = two();
    let toml = "phases = [\"look\", \"mend\"]\npreload = [\"docs/guide.md\"]\nblock_at = 5\n[templates]\nplan = \"plan.md\"\nlog = \"log.md\"\n";
    let files = [("effort.toml", toml), ("plan.md", "# Plan\n"), ("log.md", "## What, why\n")];
    there(&mut stage, "mend", &files);
    stage.machine.texts.insert("/repo/docs/guide.md".to_owned(), "Doors first.".to_owned());
    let event = way(&stage, LION, "mend", Some("p1"));
    let told = stage.told(&event);
    assert_eq!(
        said(&told),
        "Effort 1 has begun: skill `mend`, phase `look`, task `tasks/2027-01-15-mend`. Log what you do, find and decide: `substrate effort log \"…\"` at least every 4 tool calls; `substrate effort finish` ends it."
    );
    assert_eq!(
        written(&stage),
        [
            "/repo/tasks/2027-01-15-mend/1_MEND_LOG.md: ## What, why\n\n",
            "/repo/tasks/2027-01-15-mend/1_MEND_PLAN.md: # Plan\n"
        ]
    );
    assert!(said(&tool(&mut stage, LION)).contains("> Doors first."), "the files come with it");
    assert_eq!(n_calls(&mut stage, LION), 1, "and it is counted");
    assert_eq!(n_calls(&mut stage, OTTER), 0);
}

#[rstest]
#[case::listed("fix", &[("SKILL.md", PLAIN)], true)]
#[case::front_matter("mend", &[("SKILL.md", FRONT)], true)]
#[case::plain("mend", &[("SKILL.md", PLAIN)], false)]
#[case::listed_and_missing("fix", &[], false)]
fn only_listed_or_configured_skills_begin_efforts(
    #[case] name: &str,
    #[case] files: &[(&str, &str)],
    #[case] expected: bool,
) {
    let mut stage = two();
    there(&mut stage, name, files);
    let event = by_prompt(&stage, LION, name, Some("p1"));
    assert_eq!(said(&stage.told(&event)).starts_with("Effort 1 has begun"), expected);
}

#[test]
fn a_listed_skill_that_the_client_runs_is_there_wherever_it_is() {
    let mut stage = with("[efforts]\non = true\nskills = [\"demo:fix\"]\n");
    let event = expanded(&stage, LION, "demo:fix", Some("p1"));
    assert!(said(&stage.told(&event)).starts_with("Effort 1 has begun: skill `demo:fix`"));
    let event = tool_used(&stage, OTTER, "fix", Some("p2"));
    assert_eq!(said(&stage.told(&event)), "", "the list is the user's");
}

#[rstest]
#[case::expansion(expanded)]
#[case::tool(tool_used)]
fn a_prompt_and_what_follows_from_it_are_one_use(#[case] then: Way) {
    let mut stage = two();
    there(&mut stage, "fix", &[("SKILL.md", PLAIN)]);
    let event = by_prompt(&stage, LION, "fix", Some("p1"));
    stage.told(&event);
    let event = then(&stage, LION, "fix", Some("p1"));
    assert_eq!(said(&stage.told(&event)), "");
    let event = then(&stage, LION, "fix", Some("p2"));
    assert!(said(&stage.told(&event)).contains("Ask the user"), "another prompt is another use");
}

#[test]
fn without_prompt_ids_the_time_tells_one_use_from_another() {
    let mut stage = two();
    there(&mut stage, "fix", &[("SKILL.md", PLAIN)]);
    let event = by_prompt(&stage, LION, "fix", None);
    stage.told(&event);
    let event = expanded(&stage, LION, "fix", None);
    assert_eq!(said(&stage.told(&event)), "");
    stage.pass(11 * SECOND);
    let event = expanded(&stage, LION, "fix", None);
    assert!(said(&stage.told(&event)).contains("Ask the user"));
}

#[test]
fn the_same_skill_again_is_the_users_to_decide() {
    let mut stage = two();
    there(&mut stage, "fix", &[("SKILL.md", PLAIN)]);
    let event = expanded(&stage, LION, "fix", Some("p1"));
    stage.told(&event);
    stage.pass(7_200 * SECOND);
    let event = expanded(&stage, LION, "fix", Some("p2"));
    assert_eq!(
        said(&stage.told(&event)),
        "Effort 1 of skill `fix` in `tasks/2027-01-15-fix` is open, last used 2h ago. Ask the user whether to continue it (`substrate effort resume 1`) or start a new one (`substrate effort start fix`), and run that command first."
    );
    assert_eq!(
        stage.call(&person(), &["effort", "list"], json!({})).unwrap().json["efforts"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    must(&mut stage, LION, "start", json!({"skill": "fix", "task": "tasks/b"}));
    must(&mut stage, LION, "finish", json!({}));
    must(&mut stage, LION, "finish", json!({"id": 1}));
    let event = expanded(&stage, LION, "fix", Some("p3"));
    assert!(said(&stage.told(&event)).starts_with("Effort 3 has begun"));
}

#[test]
fn another_skill_begins_its_own_and_the_first_stays_open() {
    let mut stage = two();
    brainstorm(&mut stage);
    there(&mut stage, "fix", &[("SKILL.md", PLAIN)]);
    let event = by_prompt(&stage, LION, "fix", Some("p1"));
    let told = said(&stage.told(&event));
    assert!(told.ends_with(" Effort 1 (brainstorm) stays open."), "{told}");
    assert!(!told.contains("tool calls since the last"), "nothing of the first: {told}");
    let current = windows(&mut stage, LION).last().unwrap()["effort"].clone();
    assert_eq!(current, 2);
}

#[test]
fn a_running_agents_effort_of_the_same_skill_does_not_matter() {
    let mut stage = two();
    there(&mut stage, "fix", &[("SKILL.md", PLAIN)]);
    for (who, expected) in [(LION, "Effort 1 has begun"), (OTTER, "Effort 2 has begun")] {
        let event = expanded(&stage, who, "fix", Some("p1"));
        assert!(said(&stage.told(&event)).starts_with(expected));
    }
    happen(&mut stage, LION, EventKind::SessionEnd, Detail::Because { word: "other".to_owned() });
    must(&mut stage, OTTER, "finish", json!({}));
    let event = expanded(&stage, OTTER, "fix", Some("p2"));
    assert!(said(&stage.told(&event)).contains("`substrate effort resume 1`"), "they are gone");
}

#[test]
fn a_prompt_that_is_refused_begins_nothing() {
    let rule = "[[guards.rules]]\nname = \"no\"\nevent = \"UserPromptSubmit\"\nwhen = 'prompt.contains(\"door\")'\naction = \"deny\"\nreason = \"no\"\nnext = \"x\"\n";
    let mut stage = with(&format!("{ON}{rule}"));
    there(&mut stage, "fix", &[("SKILL.md", PLAIN)]);
    let event = by_prompt(&stage, LION, "fix", Some("p1"));
    assert!(stage.told(&event).verdict.block.is_some());
    assert!(written(&stage).is_empty());
    assert!(
        stage
            .call(&person(), &["effort", "list"], json!({"all": true}))
            .unwrap()
            .text
            .starts_with("No efforts")
    );
}

#[rstest]
#[case::a_subagent(SCOUT)]
fn a_subagent_begins_no_effort(#[case] who: One) {
    let mut stage = two();
    there(&mut stage, "fix", &[("SKILL.md", PLAIN)]);
    let event = tool_used(&stage, who, "fix", Some("p1"));
    assert_eq!(said(&stage.told(&event)), "");
}

#[test]
fn an_effort_that_cannot_begin_is_reported_with_the_reason() {
    let mut stage = two();
    there(&mut stage, "mend", &[("effort.toml", "phases = 7")]);
    let event = expanded(&stage, LION, "mend", Some("p1"));
    let told = said(&stage.told(&event));
    assert!(
        told.contains("No effort has begun") && told.contains("effort.toml`, line 1"),
        "{told}"
    );
    there(&mut stage, "fix", &[("SKILL.md", PLAIN)]);
    stage.machine.unwritable.insert("/repo/tasks/2027-01-15-fix".to_owned());
    let event = expanded(&stage, LION, "fix", Some("p2"));
    let told = said(&stage.told(&event));
    assert!(told.contains("`tasks/2027-01-15-fix` can't be written"), "{told}");
    assert_eq!(windows(&mut stage, LION).last().unwrap()["effort"], Value::Null);
}

#[test]
fn nothing_is_looked_up_for_any_other_event_or_where_efforts_are_off() {
    use crate::efforts::start::gather;
    let stage = two();
    let off = with("");
    let plain = typed(&stage, LION, "fix it", None);
    let used = typed(&stage, LION, "/fix it", None);
    assert_eq!(gather(&used, stage.settings()).len(), 1);
    for (event, settings) in [(&plain, stage.settings()), (&used, off.settings())] {
        assert!(gather(event, settings).is_empty());
    }
    let read = Detail::ToolAfter {
        call: call("Read", ToolClass::Read),
        response: String::new(),
        duration_ms: None,
    };
    let read = event(&stage, LION, EventKind::PostToolUse, read);
    assert!(gather(&read, stage.settings()).is_empty());
}
