//! A secret in any field of any event is nowhere on disk afterwards.

use std::path::{Path, PathBuf};

use serde_json::Value;
use substrate_testkit::{TestEnv, write_file};

use crate::house::{configure, samples};

/// The part that every made-up secret has, and nothing else.
const MARK: &str = "Zq7Xk9Wv3Rt5Mn2Pb8Lc";

/// Everything that writes: all features, mirrors, project logs. Nothing waits.
const ON: &str = "profile = [\"all\"]\n[persist]\nmode = \"off\"\n[locks]\nmirror = true\n[journal]\nproject_logs = true\n";

/// The same secret in the forms in which people and programs write it.
fn forms() -> Vec<String> {
    vec![
        format!("ghp_{MARK}0123456789abcdef"),
        format!("export DB_PASS={MARK}"),
        format!("Authorization: Bearer {MARK}"),
        format!("postgres://app:{MARK}@db/app"),
        format!("{{\"api_key\": \"{MARK}\"}}"),
        format!("xoxb-123456789012-{MARK}"),
        format!("mysql -u root -p{MARK} app"),
    ]
}

/// Which fields get it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    /// What people and tools say.
    Texts,
    /// Also ids, kinds and paths.
    Keys,
    /// Also the names of the event and the tool.
    Names,
}

#[test]
fn a_secret_in_any_field_of_any_event_is_nowhere_on_disk() {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    configure(&env, ON);
    env.substrate(["daemon", "start"]).success();
    let mut n = 0;
    for (event, sample) in samples() {
        for place in [Where::Texts, Where::Keys, Where::Names] {
            let mut payload = sample.clone();
            mark(&mut payload, "", place, &mut n, &env.project().display().to_string());
            env.hook(&event, payload).success();
        }
    }
    env.hook("PreToolUse", format!("not JSON: token={MARK}").as_str()).success();
    assert!(n > 1_000, "{n} fields");
    env.substrate(["db", "backup"]).success();
    let entries = crate::house::journal(&env);
    assert!(entries.len() > 100, "{}", entries.len());
    assert_eq!(leaks(&env), Vec::<PathBuf>::new(), "while the daemon runs");
    env.substrate(["daemon", "stop"]).success();
    assert_eq!(leaks(&env), Vec::<PathBuf>::new(), "after it ended");
}

#[test]
fn the_search_finds_what_is_there() {
    let env = TestEnv::new();
    let file = env.state().join("logs/x.log");
    write_file(&file, format!("a {MARK} b").as_bytes());
    assert_eq!(leaks(&env), [file]);
}

/// Puts a secret into every string. The project of the sample becomes the test's own.
fn mark(value: &mut Value, name: &str, place: Where, n: &mut usize, project: &str) {
    match value {
        Value::String(text) => {
            *text = text.replace("/home/dev/app", project);
            let is_name = matches!(name, "hook_event_name" | "tool_name");
            let is_key = name.ends_with("_id")
                || name.ends_with("path")
                || matches!(
                    name,
                    "cwd" | "agent_type" | "source" | "reason" | "trigger" | "session_title"
                );
            let forms = forms();
            if is_name && place != Where::Names {
                return;
            }
            *n += 1;
            if is_name {
                text.clone_from(&forms[0]);
            } else if !is_key {
                *text = format!("{text} {}", forms[*n % forms.len()]);
            } else if place != Where::Texts {
                *text = if name.ends_with("path") || name == "cwd" {
                    format!("{text}/{}", forms[0])
                } else {
                    forms[0].clone()
                };
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|one| mark(one, name, place, n, project)),
        Value::Object(all) => {
            all.iter_mut().for_each(|(name, one)| mark(one, name, place, n, project));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The files of the state home and the project whose content or name has the mark.
fn leaks(env: &TestEnv) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut folders = vec![env.state(), env.project(), env.home()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            let is_named = path.to_string_lossy().contains(MARK);
            if path.is_dir() && !is_named {
                folders.push(path);
            } else if is_named || has_mark(&path) {
                out.push(path);
            }
        }
    }
    out.sort();
    out.dedup();
    out
}

fn has_mark(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    let bytes = std::fs::read(path).unwrap_or_default();
    bytes.windows(MARK.len()).any(|found| found == MARK.as_bytes())
}
