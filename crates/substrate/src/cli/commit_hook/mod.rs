//! `substrate locks guard install|uninstall|status|run`: a git pre-commit hook that refuses files which other agents hold.
//! Git runs no pre-commit hook for a merge that it commits itself; the files have changed by then anyway.
//!
//! Invariant: an earlier hook runs first, and is restored byte for byte. Only a file that is really held stops a commit. If
//! the check itself fails, the commit goes through with a line about why.

mod repository;
mod script;

use std::path::{Path, PathBuf};

use clap::Command;
use serde_json::{Value, json};
use substrate_core::text::{one_line, shell_word};
use substrate_core::{Audience, Verb};

use self::repository::Repository;
use self::script::HookState;
use super::call::{self, Line};
use super::local::ThisProcess;
use super::table::{self, Definition};
use super::{Context, print};
use crate::config::{Env, Home};
use crate::error::{AppError, Kind, Result};
use crate::ui;

/// How many files one request checks.
const MAX_AT_ONCE: usize = 500;

/// How many held files a refusal names.
const MAX_TOLD: usize = 10;

pub(super) const COMMANDS: &[Definition] = &[
    Definition::new(
        &["locks", "guard", "install"],
        Audience::User,
        "Add a pre-commit hook to this repository; an existing one runs first",
        |context, _| change(context, script::install),
    ),
    Definition::new(
        &["locks", "guard", "uninstall"],
        Audience::User,
        "Remove the hook and put back the one before it",
        |context, _| change(context, script::uninstall),
    ),
    Definition::new(
        &["locks", "guard", "status"],
        Audience::Both,
        "Show whether the hook is installed, and where",
        |context, _| change(context, |_| Ok("")),
    ),
    Definition::new(
        &["locks", "guard", "run"],
        Audience::Both,
        "Check the staged files, as the hook does",
        |context, _| check(context),
    ),
];

/// The hook folders that we know to have our hook.
pub(crate) fn installed(home: &Home, env: &Env, projects: &[String]) -> Vec<PathBuf> {
    script::installed(home, env, projects)
}

/// Removes our hook from a folder of hooks.
pub(super) fn take_out(home: &Home, hooks: &Path) -> Result<()> {
    script::uninstall(hooks)?;
    script::note(home, hooks, false);
    Ok(())
}

/// Every question that we ask git about a folder.
#[cfg(test)]
pub(crate) fn asks(dir: &Path) -> Vec<bool> {
    let env = Env::of_this_process();
    let Ok(repository) = Repository::at(dir, &env) else { return Vec::new() };
    vec![
        repository.hooks().is_ok(),
        repository.owns(dir).is_ok(),
        repository.staged().is_ok(),
        Repository::of_a_hook(dir, &env).is_ok(),
    ]
}

/// Changes the hook (or nothing), and reports how it stands.
fn change(context: &Context, change: fn(&Path) -> Result<&'static str>) -> Result<()> {
    let repository = Repository::at(call::dir(context), &context.env)?;
    let hooks = repository.hooks()?;
    let word = change(&hooks)?;
    let state = HookState::of(&hooks);
    if !word.is_empty() {
        script::note(&context.home, &hooks, state.is_ours());
    }
    if state.is_ours() && !repository.owns(&hooks)? {
        ui::talk(
            "note: `core.hooksPath` leads out of this repository, so the hook is there for every repository that uses that folder\n",
        );
    }
    report(context, &hooks, word, state);
    Ok(())
}

fn report(context: &Context, hooks: &Path, word: &str, state: HookState) {
    let file = hooks.join(script::NAME);
    let text = if word.is_empty() { state.words() } else { word };
    let json = json!({
        "path": file,
        "installed": state.is_ours(),
        "chained": state == HookState::OursWithAnother,
    });
    print::result(context, &json, || format!("{text}: {}\n", file.display()));
}

/// Refuses if another agent holds a staged file. If the check fails, the commit goes through.
fn check(context: &Context) -> Result<()> {
    if !context.home.root().is_dir() {
        // Nothing is installed, so nothing is held. Don't create a state home just to ask.
        return Ok(());
    }
    match held(context) {
        Ok(held) => {
            print::to_programs(context, &json!({"held": held}));
            if held.is_empty() { Ok(()) } else { Err(refusal(&held)) }
        }
        Err(error) => {
            let why = one_line(&error.message, 300);
            print::to_programs(context, &json!({"held": [], "unchecked": why}));
            ui::talk(&format!("substrate locks guard: not checked, the commit goes on: {why}\n"));
            Ok(())
        }
    }
}

/// The staged files that others hold.
fn held(context: &Context) -> Result<Vec<Value>> {
    let verb = check_verb().ok_or_else(|| {
        AppError::new(Kind::State, "this Substrate has no file locks (`substrate locks check`)")
    })?;
    let repository = Repository::of_a_hook(call::dir(context), &context.env)?;
    let paths = repository.staged()?;
    let mut line = Line::new(context, verb);
    let mut out = Vec::new();
    for some in paths.chunks(MAX_AT_ONCE) {
        let output = line.call(body(context, verb, some)?, &context.caller.request)?;
        out.extend(output.json["held"].as_array().cloned().unwrap_or_default());
    }
    Ok(out)
}

/// Built from typed flags, so that the verb resolves the paths. With `--list` a held file is an answer, not a failure: a
/// failure would let the commit through.
fn body(context: &Context, verb: &Verb, paths: &[String]) -> Result<Value> {
    let command = (verb.augment)(Command::new("check")).no_binary_name(true);
    let flags = ["--list", "--"].into_iter().chain(paths.iter().map(String::as_str));
    let matches = command
        .try_get_matches_from(flags)
        .map_err(|error| AppError::from_error(Kind::Internal, &error))?;
    Ok((verb.body)(&matches, &mut ThisProcess::new(context))?)
}

fn check_verb() -> Option<&'static Verb> {
    table::verbs().find(|verb| verb.path == ["locks", "check"])
}

fn refusal(held: &[Value]) -> AppError {
    let text = |entry: &Value, name: &str| one_line(entry[name].as_str().unwrap_or("?"), 200);
    let n = held.len();
    let mut error =
        AppError::new(Kind::User, format!("not committed: {n} staged file(s) are held by others"));
    let told = held.iter().take(MAX_TOLD);
    error.causes = told
        .map(|entry| format!("`{}`: {} holds it", text(entry, "path"), text(entry, "holder")))
        .collect();
    if n > MAX_TOLD {
        error.causes.push(format!("… and {} more", n - MAX_TOLD));
    }
    let first = held.first().map(|entry| shell_word(&text(entry, "path"))).unwrap_or_default();
    error
        .hint(format!(
            "unstage what others hold (`git restore --staged {first}`) and commit the rest"
        ))
        .hint(format!("or wait until it is free: `substrate locks wait {first}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_files_and_holders_and_what_to_do() {
        let one = json!({"path": "src/a.rs\u{1b}[0m\nx", "holder": "NobleLion"});
        let text = refusal(&vec![one; 12]).render();
        assert!(text.starts_with("error: not committed: 12 staged file(s) are held by others\n"));
        assert!(text.contains("`src/a.rs [0m x`: NobleLion holds it\n"), "{text}");
        assert!(
            text.contains("… and 2 more")
                && text.contains("substrate locks wait 'src/a.rs [0m x'`")
        );
        assert_eq!(refusal(&[]).kind.exit_code(), 1, "the number that the hook knows");
    }
}
