//! Wording, as files: what help says, what a wrong command is told, and what a model reads. A change of a text shows in a diff.
//!
//! After a change on purpose: `INSTA_UPDATE=always cargo nextest run -p substrate snapshots`, and read the diff.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use substrate_testkit::TestEnv;

mod errors;
mod story;
mod texts;

/// Compares a text with its file.
fn compare(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Every command, hidden ones too, by its first word. The completions know them all.
fn commands(env: &TestEnv) -> BTreeMap<String, Vec<String>> {
    let script = env.substrate(["completions", "bash", "--static"]).success();
    let labels = script.lines().filter_map(|line| line.trim().strip_suffix(')'));
    let mut out = BTreeMap::<String, Vec<String>>::new();
    for path in labels.filter_map(|label| label.strip_prefix("substrate__subcmd__")) {
        let path = path.replace("__subcmd__", " ");
        let first = path.split(' ').next().unwrap_or_default().to_owned();
        if first != "help" && !path.contains(',') {
            out.entry(first).or_default().push(path);
        }
    }
    out
}

#[test]
fn what_help_says() {
    let env = TestEnv::new();
    let overview = env.substrate(["--help"]).success();
    compare("help", &overview);
    let commands = commands(&env);
    assert!(commands.len() > 40 && commands.contains_key("send"), "{commands:?}");
    for (first, paths) in commands {
        let mut text = String::new();
        for path in paths {
            let help = env.substrate(path.split(' ').chain(["--help"])).success();
            // The same everywhere, and in the overview.
            let (help, rest) = help.split_once("Global flags:\n").expect("every command has them");
            let examples = rest.find("Examples:\n").map_or("", |at| &rest[at..]);
            let _ = writeln!(text, "$ substrate {path} --help\n{help}{examples}");
        }
        compare(&format!("help_{first}"), &text);
    }
}
