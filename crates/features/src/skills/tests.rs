//! Which skills fit which prompts, and which prompts get suggestions.

use rstest::rstest;
use substrate_core::facts::{Found, Skill};
use substrate_core::{Actor, Detail, Event, EventKind, Need, SafeId, Settings};

use super::policy;
use super::score::{Keywords, best};
use crate::stage::Stage;

const ON: &str = "[skills]\nsuggest = true\n";

fn skill(name: &str, description: &str) -> Skill {
    Skill {
        name: name.to_owned(),
        description: description.to_owned(),
        path: format!("/repo/.claude/skills/{name}/SKILL.md"),
    }
}

fn shelf() -> Vec<Skill> {
    vec![
        skill("effect-patterns", "Services, layers and dependency injection with Effect TS"),
        skill("effect-errors", "Typed errors"),
        skill("pdf", "Fill forms, merge pages, extract tables from documents"),
        skill("release", "Use when you have to make a new version for the user"),
        skill("class-diagrams", "Draw classes"),
        skill("run-app", "Starts it"),
    ]
}

fn names(prompt: &str, keywords: &[&str]) -> Vec<String> {
    let lines: Vec<String> = keywords.iter().map(|&line| line.to_owned()).collect();
    let shelf = shelf();
    best(prompt, &shelf, &Keywords::read(&lines)).iter().map(|skill| skill.name.clone()).collect()
}

#[rstest]
#[case::by_name("turn this into a pdf", &["pdf"])]
#[case::case_does_not_matter("Turn this into a PDF!", &["pdf"])]
#[case::whole_words_only("the pdfium build is broken", &[])]
#[case::plural("which effects are there", &["effect-patterns", "effect-errors"])]
#[case::ing("start releasing", &["release"])]
#[case::e_and_ing("who releases it", &["release"])]
#[case::better_first("effect services and layers", &["effect-patterns", "effect-errors"])]
#[case::three_words_of_a_description("merge the tables of both documents", &["pdf"])]
#[case::two_words_of_a_description("merge the tables", &[])]
#[case::stop_words("when you have to make use of a new thing for the user, you should", &[])]
#[case::short_words("a an of TS js", &[])]
#[case::one_word_many_times("merge merge merge merge", &[])]
#[case::ss_is_no_plural("a class for it", &["class-diagrams"])]
#[case::a_verb_of_every_prompt("run the tests", &[])]
#[case::what_shall_be_run("run the app", &["run-app"])]
#[case::nothing_fits("what is the weather", &[])]
#[case::nothing_said("", &[])]
fn a_prompt_finds(#[case] prompt: &str, #[case] expected: &[&str]) {
    assert_eq!(names(prompt, &[]), expected);
}

#[rstest]
#[case::one("draw a graph", &["graph => class-diagrams"], &["class-diagrams"])]
#[case::any_of_several("a layer", &["stack, layer, service => release"], &["release"])]
#[case::whole_words("a graphic", &["graph => class-diagrams"], &[])]
#[case::phrase("better error handling now", &["error handling => release"], &["release", "effect-errors"])]
#[case::half_a_phrase("handling it", &["error handling => release"], &[])]
#[case::short_words_count_here("plain ts", &["ts => release"], &["release"])]
#[case::weighs_more("a pdf of the graph", &["graph => class-diagrams"], &["class-diagrams", "pdf"])]
#[case::no_such_skill("draw a graph", &["graph => charts"], &[])]
#[case::name_in_other_case("draw a graph", &["graph=>Release"], &["release"])]
#[case::no_arrow("draw a graph", &["graph", "", "=>", "graph =>", "=> release", ", => release"], &[])]
fn a_keyword_finds(#[case] prompt: &str, #[case] keywords: &[&str], #[case] expected: &[&str]) {
    assert_eq!(names(prompt, keywords), expected);
}

#[test]
fn three_are_enough() {
    let many: Vec<Skill> = (0..9).map(|n| skill(&format!("chart-{n}"), "")).collect();
    let found = best("draw a chart", &many, &Keywords::default());
    let names: Vec<&str> = found.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["chart-0", "chart-1", "chart-2"]);
}

fn prompt(stage: &Stage, text: &str) -> Event {
    Event {
        project_dir: Some("/repo".to_owned()),
        config_dir: Some("/home/dev/.claude".to_owned()),
        detail: Detail::Prompt { text: text.to_owned(), from_person: true },
        ..stage.event(EventKind::UserPromptSubmit, "s1")
    }
}

fn stage(toml: &str, skills: Vec<Skill>) -> Stage {
    let mut stage = Stage::new(toml);
    let (projects, own) = (vec!["/repo".to_owned()], Some("/home/dev/.claude/skills".to_owned()));
    let need = Need::Skills { projects, below: ".claude/skills", own };
    stage.facts.insert(need, Found::Skills(skills));
    stage
}

/// The text of this feature's section.
fn told(stage: &mut Stage, event: &Event) -> Option<String> {
    let context = stage.happen(event).verdict.context?;
    context.split_once("[substrate skills] ").map(|(_, text)| text.to_owned())
}

#[test]
fn a_suggestion_is_one_line_with_the_files_to_read() {
    let of_user =
        Skill { path: "/home/dev/.claude/skills/chart/SKILL.md".to_owned(), ..skill("chart", "") };
    let long = skill("graph", &format!("Draws\n# Heading \u{1b}[31m{}", "x".repeat(200)));
    let mut stage = stage(ON, vec![of_user, long]);
    let event = prompt(&stage, "a chart and a graph");
    let text = told(&mut stage, &event).unwrap();
    let expected = format!(
        "Skills that may help: chart, graph (Draws # Heading [31m{}…); read /home/dev/.claude/skills/chart/SKILL.md, .claude/skills/graph/SKILL.md",
        "x".repeat(80)
    );
    assert_eq!(text, expected);
}

#[test]
fn only_a_persons_prompt_to_the_main_thread_is_looked_at() {
    let mut stage = stage(ON, shelf());
    let event = prompt(&stage, "make a pdf");
    assert!(told(&mut stage, &event).is_some());
    let detail = Detail::Prompt { text: "make a pdf".to_owned(), from_person: false };
    let of_task = Event { detail, ..event.clone() };
    assert_eq!(told(&mut stage, &of_task), None);
    let expansion = Event { kind: EventKind::UserPromptExpansion, ..event.clone() };
    assert_eq!(told(&mut stage, &expansion), None);
    let sub = Actor::Subagent { id: SafeId::new("a1").unwrap(), kind: "reviewer".to_owned() };
    assert_eq!(told(&mut stage, &Event { actor: sub, ..event }), None);
    let other = prompt(&stage, "what is the weather");
    assert_eq!(told(&mut stage, &other), None);
}

#[rstest]
#[case::by_default("", false)]
#[case::locks("profile = \"locks\"\n", true)]
#[case::all("profile = \"all\"\n", true)]
#[case::reminders("profile = \"reminders\"\n", false)]
#[case::asked_for(ON, true)]
fn settings_decide(#[case] toml: &str, #[case] expected: bool) {
    let mut stage = stage(toml, shelf());
    let event = prompt(&stage, "make a pdf");
    assert_eq!(told(&mut stage, &event).is_some(), expected);
}

#[test]
fn the_keywords_of_the_settings_count() {
    let toml = "[skills]\nsuggest = true\nkeywords = [\"weather, rain => pdf\"]\n";
    let mut stage = stage(toml, shelf());
    let event = prompt(&stage, "what is the weather");
    assert!(told(&mut stage, &event).unwrap().starts_with("Skills that may help: pdf ("));
}

#[test]
fn skills_are_looked_for_only_at_a_persons_prompt() {
    let keys = crate::keys();
    let stage = Stage::new("");
    let off = Settings::resolve(&keys, &[]);
    assert!(policy::gather(&prompt(&stage, "x"), &off).is_empty());
    let layer = substrate_core::settings::Layer::read(
        substrate_core::settings::Scope::User,
        "test",
        ON,
        &keys,
    );
    let on = Settings::resolve(&keys, &[&layer]);
    let folders = |event: &Event| match &policy::gather(event, &on)[..] {
        [Need::Skills { projects, below, own }] => {
            let below = projects.iter().map(|root| format!("{root}/{below}"));
            below.chain(own.clone()).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    let event = prompt(&stage, "x");
    assert_eq!(folders(&event), ["/repo/.claude/skills", "/home/dev/.claude/skills"]);
    let unnamed =
        Event { project_dir: None, config_dir: None, cwd: "/repo/src".to_owned(), ..event };
    assert_eq!(folders(&unnamed), ["/repo/src/.claude/skills", "/repo/.claude/skills"]);
}
