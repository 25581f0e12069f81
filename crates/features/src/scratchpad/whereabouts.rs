//! Where scratchpads are: the project of an event, and the folder of a type of agent.

use substrate_core::facts::Daily;
use substrate_core::ids::checksum;
use substrate_core::text::one_line;
use substrate_core::{Event, Facts, Need, SafeId};

use super::day::horizon;

/// The folder of all scratchpads in a project.
pub const BASE: &str = substrate_core::seed::SCRATCHPADS;

/// An agent that delegates writes here.
pub const COORDINATOR: &str = "coordinator";

/// The project's view of itself.
pub const EGO: &str = "ego";

/// How much of a scratchpad is read to quote its end.
pub const MAX_BYTES: usize = 64 << 10;

/// How much of it is read to judge it. Its headings may be anywhere.
pub const MAX_JUDGED: usize = 4 << 20;

/// How many days are looked at. An agent may have started before midnight, and files may be misdated.
const MAX_DAYS: usize = 10;

/// How many files are tried until one can be read.
pub const N_LATEST: usize = 4;

/// How many characters of an unusual type name its folder keeps.
const MAX_READABLE: usize = 40;

/// The folder of a type of agent. A plain name is its own folder. Any other name gets a unique folder that it can't
/// escape.
pub fn folder_of(kind: &str) -> String {
    if SafeId::new(kind).is_some_and(|id| id.as_str() == kind) {
        return kind.to_owned();
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let readable: String = kind.chars().take(MAX_READABLE).map(plain).collect();
    let readable = readable.trim_matches('-');
    let readable = if readable.is_empty() { "x" } else { readable };
    format!("{readable}-{}", &checksum(kind)[..12])
}

/// What to look up to judge an agent's scratchpad. A subagent with its own working tree may write there or into the
/// project, and a file in either counts.
pub(super) fn to_judge(event: &Event, folder: &str) -> Vec<Need> {
    let need = |(dir, of_tree)| need(event, dir, of_tree, folder, MAX_DAYS, MAX_JUDGED);
    places(event).map(need).collect()
}

/// What to look up to know whether it can be written at all, in the same order.
pub(super) fn to_write(event: &Event, folder: &str) -> Vec<Need> {
    let room = |(dir, of_tree): (&str, bool)| Need::Room {
        dir: dir.to_owned(),
        of_tree,
        below: format!("{BASE}/{folder}"),
        ours: false,
    };
    places(event).map(room).collect()
}

/// The project, and the folder that the actor is in. `true`: the root is above the folder.
fn places(event: &Event) -> impl Iterator<Item = (&str, bool)> {
    let project = project(event);
    let elsewhere = cwd(event).filter(|cwd| Some(*cwd) != project);
    project.map(|dir| (dir, false)).into_iter().chain(elsewhere.map(|dir| (dir, true)))
}

/// What to look up to quote the end of an agent's latest scratchpad.
pub(super) fn to_tell(event: &Event, folder: &str) -> Option<Need> {
    match project(event) {
        Some(dir) => Some(need(event, dir, false, folder, N_LATEST, MAX_BYTES)),
        None => cwd(event).map(|dir| need(event, dir, true, folder, N_LATEST, MAX_BYTES)),
    }
}

fn need(event: &Event, dir: &str, of_tree: bool, folder: &str, n: usize, max_bytes: usize) -> Need {
    let (dir, below) = (dir.to_owned(), format!("{BASE}/{folder}"));
    Need::Daily { dir, of_tree, below, until: horizon(event.at), n, max_bytes }
}

/// The project that the client names.
pub(super) fn project(event: &Event) -> Option<&str> {
    absolute(event.project_dir.as_deref()?)
}

/// Where the actor is.
pub(super) fn cwd(event: &Event) -> Option<&str> {
    absolute(&event.cwd)
}

fn absolute(dir: &str) -> Option<&str> {
    Some(dir.trim_end_matches('/')).filter(|dir| dir.starts_with('/'))
}

/// The project root: the one that the client names, or else the working tree that was found.
pub(super) fn root<'a>(event: &'a Event, facts: &'a Facts) -> Option<&'a str> {
    let found = || {
        let need = to_tell(event, COORDINATOR)?;
        let judged = to_judge(event, COORDINATOR);
        let found = [need].iter().chain(&judged).find_map(|need| facts.daily(need))?;
        root_of(found)
    };
    project(event).or_else(found)
}

/// The root above a folder that was found.
pub(super) fn root_of(found: &Daily) -> Option<&str> {
    let (base, _) = found.folder.rsplit_once('/')?;
    base.strip_suffix(BASE)?.strip_suffix('/')
}

/// The path of a scratchpad, as an agent is told it. At the project's root it is the protocol's relative path, elsewhere
/// the absolute one, so that both mean the same file.
pub(super) fn told(event: &Event, root: Option<&str>, folder: &str, day: &str) -> String {
    let path = format!("{BASE}/{folder}/{day}.md");
    match root.filter(|root| cwd(event) != Some(root)) {
        Some(root) => one_line(&format!("{root}/{path}"), 4_096),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use substrate_core::{EventKind, Timestamp};

    use super::*;

    #[rstest]
    #[case::plain("spec-writer", "spec-writer")]
    #[case::dots("v1.2_x", "v1.2_x")]
    #[case::plugin("plugin:rev", "plugin-rev-")]
    #[case::up("../../x", "x-")]
    #[case::absolute("/etc/passwd", "etc-passwd-")]
    #[case::hidden(".git", "git-")]
    #[case::dot_dot("..", "x-")]
    #[case::lines("a\nb", "a-b-")]
    #[case::unicode("prüfer", "pr-fer-")]
    #[case::no_letters("日本", "x-")]
    #[case::null("a\0", "a-")]
    fn a_type_of_agent_has_a_folder(#[case] kind: &str, #[case] begins: &str) {
        let folder = folder_of(kind);
        assert!(folder.starts_with(begins), "{folder}");
        assert_eq!(folder == kind, begins == kind, "{folder}");
    }

    #[test]
    fn a_type_of_ten_kilobytes_has_a_short_folder() {
        let folder = folder_of(&"a".repeat(10_000));
        assert_eq!(folder.len(), MAX_READABLE + 13);
        assert_ne!(folder, folder_of(&"a".repeat(10_001)));
    }

    proptest! {
        #[test]
        fn no_type_escapes_its_folder(kind in "\\PC{1,200}|[./\\\\\n\0-]{1,20}") {
            let folder = folder_of(&kind);
            prop_assert!(SafeId::new(&folder).is_some_and(|id| id.as_str() == folder), "{folder}");
        }
    }

    fn at(cwd: &str, project: Option<&str>) -> Event {
        Event {
            cwd: cwd.to_owned(),
            project_dir: project.map(str::to_owned),
            ..Event::bare("test", EventKind::SubagentStop, Timestamp(0))
        }
    }

    #[rstest]
    #[case::at_the_root("/p", Some("/p"), Some("/p"), ".claude/scratchpad/x/2026-02-08.md")]
    #[case::slashes("/p/", Some("/p//"), Some("/p"), ".claude/scratchpad/x/2026-02-08.md")]
    #[case::in_a_folder("/p/src", Some("/p"), Some("/p"), "/p/.claude/scratchpad/x/2026-02-08.md")]
    #[case::in_a_tree("/p/.wt/a", Some("/p"), Some("/p"), "/p/.claude/scratchpad/x/2026-02-08.md")]
    #[case::unknown("/p", None, None, ".claude/scratchpad/x/2026-02-08.md")]
    fn the_path_is_relative_only_at_the_root(
        #[case] cwd: &str,
        #[case] project: Option<&str>,
        #[case] root: Option<&str>,
        #[case] expected: &str,
    ) {
        assert_eq!(told(&at(cwd, project), root, "x", "2026-02-08"), expected);
    }

    #[rstest]
    #[case::both(&at("/p/.wt/a", Some("/p")), &[("/p", false), ("/p/.wt/a", true)])]
    #[case::the_same(&at("/p", Some("/p/")), &[("/p", false)])]
    #[case::no_project(&at("/p/src", None), &[("/p/src", true)])]
    #[case::no_path(&at("p", Some("../p")), &[])]
    #[case::nothing(&at("", None), &[])]
    fn scratchpads_are_looked_for_in_the_project_and_the_tree(
        #[case] event: &Event,
        #[case] expected: &[(&str, bool)],
    ) {
        let found: Vec<(String, bool)> = to_judge(event, "x")
            .into_iter()
            .map(|need| match need {
                Need::Daily { dir, of_tree, below, .. } => {
                    assert_eq!(below, ".claude/scratchpad/x");
                    (dir, of_tree)
                }
                other => panic!("{other:?}"),
            })
            .collect();
        let found: Vec<(&str, bool)> = found.iter().map(|(dir, up)| (dir.as_str(), *up)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_root_is_above_the_folder_that_was_found() {
        let found = |folder: &str| Daily { folder: folder.to_owned(), files: Vec::new() };
        assert_eq!(root_of(&found("/p/q/.claude/scratchpad/x")), Some("/p/q"));
        assert_eq!(root_of(&found("/p/q/x")), None);
    }
}
