//! What a skill's folder configures.

use std::collections::HashMap;

use super::*;
use crate::efforts::config::{SkillSpec, find};
use rstest::rstest;
use substrate_core::Local;
use substrate_core::facts::Place;

/// A machine with these files, in the project `/repo`.
struct Files {
    texts: HashMap<String, String>,
    /// Where links lead.
    links: &'static [(&'static str, &'static str)],
}

impl Local for Files {
    fn read(&mut self, path: &str) -> Result<String, VerbError> {
        let path = self.place(path).path;
        self.texts.get(&path).cloned().ok_or_else(|| VerbError::user("no such file", ""))
    }

    fn place(&mut self, path: &str) -> Place {
        let leads = |(from, to): &(&str, &str)| Some(format!("{to}{}", path.strip_prefix(from)?));
        let path = self.links.iter().find_map(leads).unwrap_or_else(|| path.to_owned());
        crate::stage::place(&path, "/repo")
    }

    fn skills_folder(&mut self) -> Option<String> {
        Some("/home/dev/.claude/skills".to_owned())
    }
}

fn found(files: &[(&str, &str)]) -> Result<SkillSpec, VerbError> {
    linked(files, &[])
}

fn linked(
    files: &[(&str, &str)],
    links: &'static [(&'static str, &'static str)],
) -> Result<SkillSpec, VerbError> {
    let texts = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    find("fix", "/repo", &mut Files { texts: texts.collect(), links })
}

const SECRET: &str = "PRIVATE";

#[rstest]
#[case::skill_file(&[("/repo/.claude/skills/fix/SKILL.md", "/home/dev/.aws/SKILL.md")])]
#[case::file(&[("/repo/.claude/skills/fix/hosts.yml", "/home/dev/.aws/hosts.yml")])]
#[case::toml(&[("/repo/.claude/skills/fix/effort.toml", "/home/dev/.aws/effort.toml")])]
#[case::folder(&[("/repo/.claude/skills/fix", "/home/dev/.aws")])]
#[case::skills(&[("/repo/.claude/skills", "/home/dev/.aws")])]
fn a_projects_skill_brings_nothing_from_elsewhere(
    #[case] links: &'static [(&'static str, &'static str)],
) {
    let toml =
        "phases = [\"look\"]\npreload = [\"hosts.yml\"]\n[templates]\nplan = \"hosts.yml\"\n";
    let files = [
        ("/repo/.claude/skills/fix/effort.toml", toml),
        ("/home/dev/.aws/effort.toml", toml),
        ("/home/dev/.aws/SKILL.md", "---\n---\n"),
        ("/home/dev/.aws/hosts.yml", SECRET),
        ("/home/dev/.aws/fix/hosts.yml", SECRET),
        ("/home/dev/.aws/fix/effort.toml", toml),
    ];
    let SkillSpec { config, templates } = linked(&files, links).unwrap();
    assert!(config.preload.iter().all(|path| path.starts_with("/repo/")), "{config:?}");
    assert!(!templates.values().any(|text| text.contains(SECRET)), "{templates:?}");
}

#[test]
fn the_users_own_skill_may_be_anywhere_and_secrets_in_a_template_are_taken_out() {
    let links = &[("/home/dev/.claude/skills/fix", "/home/dev/dots/fix")];
    let toml = "preload = [\"notes.md\", \"../secret.md\"]\n[templates]\nplan = \"plan.md\"\n";
    let files = [
        ("/home/dev/dots/fix/effort.toml", toml),
        ("/home/dev/dots/fix/notes.md", "notes"),
        ("/home/dev/dots/secret.md", SECRET),
        ("/home/dev/dots/fix/plan.md", "api_key = sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAA\n"),
    ];
    let SkillSpec { config, templates } = linked(&files, links).unwrap();
    assert_eq!(config.preload, ["/home/dev/dots/fix/notes.md"]);
    assert_eq!(config.folder, "/home/dev/dots/fix");
    assert!(!templates["PLAN"].contains("sk-ant"), "{templates:?}");
}

const FOLDER: &str = "/repo/.claude/skills/fix";

#[test]
fn effort_toml_configures_everything() {
    let toml = r#"
phases = ["look", "mend"]
preload = ["notes.md", "docs/guide.md", "/etc/passwd", "../../../../etc/passwd"]
warn_at = 3
block_at = 5
[templates]
plan = "plan.md"
LOG = "plan.md"
secret = "/etc/passwd"
[[guards]]
name = "no-push"
when = "command.contains('push')"
"#;
    let at = |name: &str| format!("{FOLDER}/{name}");
    let files = [
        (at("effort.toml"), toml),
        (at("SKILL.md"), "---\neffort-phases: other\n---\n"),
        (at("notes.md"), "notes"),
        (at("plan.md"), "# Plan"),
        ("/etc/passwd".to_owned(), "root"),
    ];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let SkillSpec { config, templates } = found(&files).unwrap();
    assert_eq!(config.phases, ["look", "mend"]);
    assert_eq!(
        config.preload,
        [at("notes.md"), "/repo/docs/guide.md".to_owned()],
        "and nothing from elsewhere"
    );
    assert_eq!((config.warn_at, config.block_at), (Some(3), Some(5)));
    assert_eq!(config.guards, [json!({"name": "no-push", "when": "command.contains('push')"})]);
    assert_eq!(
        templates.into_iter().collect::<Vec<_>>(),
        ["LOG", "PLAN"].map(|name| (name.to_owned(), "# Plan".to_owned()))
    );
}

#[rstest]
#[case::inline("---\nname: fix\neffort-phases: look, \"mend\"\neffort-block-at: 5\n---\ntext", &["look", "mend"], Some(5))]
#[case::brackets("---\neffort-phases: [look, 'mend']\n---\n", &["look", "mend"], None)]
#[case::below("---\neffort-phases:\n  - look\n  - mend\nname: x\n---\n", &["look", "mend"], None)]
#[case::none("---\nname: fix\n---\neffort-phases: look", &[], None)]
#[case::no_front_matter("effort-phases: look", &[], None)]
#[case::no_number("---\neffort-block-at: many\n---\n", &[], None)]
fn front_matter_configures_phases_files_and_limits(
    #[case] text: &str,
    #[case] phases: &[&str],
    #[case] block_at: Option<i64>,
) {
    let config = found(&[("/home/dev/.claude/skills/fix/SKILL.md", text)]).unwrap().config;
    assert_eq!(
        (config.phases, config.block_at),
        (phases.iter().map(|&one| one.to_owned()).collect(), block_at)
    );
}

#[test]
fn the_projects_skill_wins_over_the_users_and_a_missing_one_is_fine() {
    let own = format!("{FOLDER}/SKILL.md");
    let both = [
        (own.as_str(), "---\neffort-phases: project\n---\n"),
        ("/home/dev/.claude/skills/fix/SKILL.md", "---\neffort-phases: user\n---\n"),
    ];
    assert_eq!(found(&both).unwrap().config.phases, ["project"]);
    assert_eq!(found(&both[1..]).unwrap().config.phases, ["user"]);
    assert_eq!(found(&[]).unwrap(), SkillSpec::default());
}

#[rstest]
#[case::syntax("phases = [\n", "line ")]
#[case::unknown("phases = []\nphase = 1\n", "line 2: unknown field `phase`")]
#[case::kind("\n\nblock_at = \"x\"\n", "line 3")]
#[case::negative("block_at = -1\n", "line 1")]
fn a_mistake_is_reported_with_its_line(#[case] toml: &str, #[case] expected: &str) {
    let path = format!("{FOLDER}/effort.toml");
    let told = match found(&[(&path, toml)]) {
        Err(VerbError::User { message, hint }) => format!("{message}\n{hint}"),
        other => panic!("{other:?}"),
    };
    assert!(told.contains(expected) && told.contains("effort.toml`"), "{told}");
}
