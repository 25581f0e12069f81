//! The words: a team's or our own.

use super::*;
use crate::reminders::face::ANSWER;
use crate::reminders::source::{REFLECT, REFLEXION, VALIDATE};

fn said(stage: &mut Stage, event: &Event) -> String {
    works(stage, event);
    stage.told(event).verdict.block.unwrap_or_default()
}

#[rstest]
#[case::reflect(REFLECT, "/reflect", &["task", "artifacts", "uncommitted changes", "next steps"])]
#[case::validate(VALIDATE, "", &["acceptance criteria", "schema", "assumption", "tests pass", "where it belongs"])]
#[case::reflexion(REFLEXION, "/reflexion", &["debugging", "wrong assumption", "missing dependency", "workaround"])]
fn our_own_words_are_short_and_have_the_seeds_points(
    #[case] text: &str,
    #[case] skill: &str,
    #[case] points: &[&str],
) {
    assert!(text.len() + ANSWER.len() < 600, "{}", text.len() + ANSWER.len());
    assert!(text.contains("a reminder; you decide"));
    assert!(skill.is_empty() || text.contains(&format!("`{skill}`")));
    for point in points {
        assert!(text.contains(point), "{point}");
    }
    assert_eq!(text.lines().filter(|line| line.starts_with("- ")).count(), points.len());
}

#[rstest]
#[case::attended(Some(true), false)]
#[case::not_said(None, false)]
#[case::unattended(Some(false), true)]
fn the_final_answer_is_asked_for_where_the_last_message_is_all(
    #[case] attended: Option<bool>,
    #[case] expected: bool,
) {
    let mut stage = Stage::new(ON);
    let event = Event { attended, ..stop(&stage, false) };
    assert_eq!(said(&mut stage, &event).ends_with(ANSWER), expected);
    for again in [false, true] {
        let event = Event { attended, ..sub_stop(&stage, "a1", "reviewer", again) };
        assert!(said(&mut stage, &event).ends_with(ANSWER), "a subagent's always is");
    }
}

#[test]
fn files_come_before_settings_and_the_agents_type_before_all() {
    let toml =
        "[reminders]\non = true\nvalidate = \"\"\"\nset\nin two lines\"\"\"\nreflect = \"look\"\n";
    let mut stage = Stage::new(toml);
    let event = stop(&stage, false);
    assert_eq!(said(&mut stage, &event), "look");
    let of_reviewer = |stage: &Stage, id: &str| sub_stop(stage, id, "reviewer", false);
    let event = of_reviewer(&stage, "a1");
    assert_eq!(said(&mut stage, &event), format!("set\nin two lines\n{ANSWER}"));
    file(&mut stage, "validate.md", "of the team\n  - with care\n");
    let event = of_reviewer(&stage, "a2");
    assert_eq!(said(&mut stage, &event), format!("of the team\n  - with care\n{ANSWER}"));
    file(&mut stage, "validate.reviewer.md", "for reviewers");
    let event = of_reviewer(&stage, "a3");
    assert_eq!(said(&mut stage, &event), format!("for reviewers\n{ANSWER}"));
    let event = sub_stop(&stage, "a4", "tester", false);
    assert!(said(&mut stage, &event).starts_with("of the team"));
}

#[test]
fn a_file_hides_nothing_and_is_bounded() {
    let mut stage = Stage::new(ON);
    file(&mut stage, "reflect.md", "a\u{1b}[31mb\u{202e}c\r\n\u{7}\nd");
    let event = stop(&stage, false);
    assert_eq!(said(&mut stage, &event), "a [31mb c\n\nd");
    file(&mut stage, "reflect.md", &"ä\n".repeat(3_000)[..4_098]);
    let event = stop(&stage, false);
    let long = said(&mut stage, &event);
    assert!(long.len() <= 4_100 && long.ends_with('…'), "{}", long.len());
}
