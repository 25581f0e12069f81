//! What the README and the pages of `docs/` print can be typed, and prints what they show.
//!
//! `UPDATE_DOCS=1 cargo nextest run -p substrate -E 'test(docs::)'` writes what the commands print today into the pages.

mod compare;
mod page;
mod sandbox;

use std::collections::BTreeSet;

use rstest::rstest;
use substrate_testkit::write_file;

use page::{Action, Step};
use sandbox::{Sandbox, repository};

/// Pages that other tests check: the generated reference, and the promises of the five systems.
const ELSEWHERE: [&str; 2] = ["reference.md", "seeds.md"];

#[rstest]
#[case::readme("README.md")]
#[case::contributing("CONTRIBUTING.md")]
#[case::security("SECURITY.md")]
#[case::mail("docs/mail.md")]
#[case::mcp("docs/mcp.md")]
#[case::locks("docs/locks.md")]
#[case::guards("docs/guards.md")]
#[case::efforts("docs/efforts.md")]
#[case::records("docs/records.md")]
#[case::releasing("docs/releasing.md")]
#[case::dashboard("docs/dashboard.md")]
#[case::fleet("docs/fleet.md")]
#[case::team("docs/team.md")]
#[case::scale("docs/scale.md")]
#[case::settings("docs/settings.md")]
#[case::faq("docs/faq.md")]
#[case::custom_hooks("docs/custom-hooks.md")]
#[case::clients("docs/clients.md")]
fn every_command_works_and_prints_what_is_shown(#[case] name: &str) {
    let file = repository().join(name);
    let page = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = page.lines().collect();
    let mut sandbox = Sandbox::new();
    let mut problems = Vec::new();
    let mut outdated = Vec::new();
    for step in page::steps(&page) {
        match take(&mut sandbox, &step) {
            Err(problem) => problems.push(format!("{name}:{}: {problem}", step.at + 1)),
            Ok(printed) => {
                let Some(range) = step.shown else { continue };
                if compare::is_shown(&lines[range.clone()], &printed) {
                    continue;
                }
                if is_update() {
                    outdated.push((range, printed));
                } else {
                    let line = lines[step.at];
                    problems.push(format!("{name}:{}: {line}\nprints\n{printed}", step.at + 1));
                }
            }
        }
    }
    if !outdated.is_empty() {
        let mut updated: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        // From the end, so that line numbers stay true.
        for (range, printed) in outdated.into_iter().rev() {
            updated.splice(range, printed.lines().map(|line| line.trim_end().to_owned()));
        }
        write_file(&file, (updated.join("\n") + "\n").as_bytes());
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

/// Takes a step. What was printed, or what is wrong.
fn take(sandbox: &mut Sandbox, step: &Step) -> Result<String, String> {
    match &step.action {
        Action::Session(agent) => sandbox.session(agent),
        Action::Happens { agent, what } => return Ok(sandbox.happens(agent, what)),
        Action::Parse(line) => sandbox.check(line)?,
        Action::File { path, text } => sandbox.file(path, text),
        Action::Run { line, by } => {
            let run = sandbox.run(line, by.as_deref());
            let printed = sandbox.tidied(&run.stdout);
            // A transcript may show an error.
            let is_refused = step.shown.is_some() && printed.starts_with("error:");
            if run.status != Some(0) && !is_refused {
                return Err(format!("`{line}` ended with {:?}\n{printed}", run.status));
            }
            return Ok(printed);
        }
    }
    Ok(String::new())
}

#[expect(clippy::disallowed_methods, reason = "the person who runs the test decides")]
pub(crate) fn is_update() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some()
}

#[test]
fn no_page_is_forgotten() {
    let source = include_str!("mod.rs");
    let cases = source.lines().filter_map(|line| line.split_once("(\"docs/")?.1.split_once('"'));
    let checked: BTreeSet<&str> = cases.map(|(name, _)| name).chain(ELSEWHERE).collect();
    let entries = std::fs::read_dir(repository().join("docs")).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let pages: BTreeSet<String> = names.filter(|name| name.ends_with(".md")).collect();
    assert_eq!(pages.iter().map(String::as_str).collect::<BTreeSet<_>>(), checked);
}
