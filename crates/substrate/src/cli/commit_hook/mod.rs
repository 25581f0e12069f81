//! `substrate locks guard install|uninstall|status|run`: a pre-commit hook of git that refuses files which others hold.
//! A merge that git commits by itself is not asked about: there it is too late, the files have changed already.
//!
//! Invariant: a hook that was there runs first, and comes back byte for byte; and only a file that is really held stops a
//! commit. Whatever fails on our side lets it pass, with a line about why.

mod known;
mod repository;
mod script;

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command};
use serde_json::{Value, json};
use substrate_core::Verb;
use substrate_core::text::{one_line, shell_word};

use self::repository::Repository;
use self::script::Standing;
use super::call::{self, Line};
use super::local::ThisProcess;
use super::{Context, say};
use crate::config::{Env, Home};
use crate::error::{AppError, Kind, Result};
use crate::ui;

/// How many files are asked about at once.
const MAX_AT_ONCE: usize = 500;

/// How many held files a refusal names.
const MAX_TOLD: usize = 10;

pub(super) fn command() -> Command {
    let with = |name: &'static str, about: &'static str| Command::new(name).about(about);
    Command::new("guard")
        .about("A pre-commit hook of git that refuses to commit files which others hold")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(with("install", "Add the hook; one that is there already runs first"))
        .subcommand(with("uninstall", "Take it away and put back what was there"))
        .subcommand(with("status", "Whether it is there, and where"))
        .subcommand(with("run", "What the hook does: look at the staged files"))
}

/// The folders of hooks that have our guard, as far as we know.
pub(crate) fn installed(home: &Home, env: &Env, projects: &[String]) -> Vec<PathBuf> {
    known::installed(home, env, projects)
}

/// Takes the guard out of a folder of hooks.
pub(super) fn take_out(home: &Home, hooks: &Path) -> Result<()> {
    script::uninstall(hooks)?;
    known::note(home, hooks, false);
    Ok(())
}

/// Every question that the guard has for git about a folder.
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

pub(super) fn run(context: &Context, matches: &ArgMatches) -> Result<()> {
    if let Some(("run", _)) = matches.subcommand() {
        return check(context);
    }
    let repository = Repository::at(call::dir(context), &context.env)?;
    let hooks = repository.hooks()?;
    let word = match matches.subcommand_name() {
        Some("install") => script::install(&hooks)?,
        Some("uninstall") => script::uninstall(&hooks)?,
        _ => "",
    };
    let standing = Standing::of(&hooks);
    if !word.is_empty() {
        known::note(&context.home, &hooks, standing.is_ours());
    }
    if standing.is_ours() && !repository.owns(&hooks)? {
        ui::talk(
            "note: `core.hooksPath` leads out of this repository, so the hook is there for every repository that uses that folder\n",
        );
    }
    report(context, &hooks, word, standing);
    Ok(())
}

fn report(context: &Context, hooks: &Path, word: &str, standing: Standing) {
    let file = hooks.join(script::NAME);
    let text = if word.is_empty() { standing.words() } else { word };
    let json = json!({
        "path": file,
        "installed": standing.is_ours(),
        "chained": standing == Standing::OursWithAnother,
    });
    say::result(context, &json, || format!("{text}: {}\n", file.display()));
}

/// Refuses when a staged file is held by somebody else; anything that fails lets the commit pass.
fn check(context: &Context) -> Result<()> {
    if !context.home.root().is_dir() {
        // Nothing is installed, so nothing is held, and nothing is made for the sake of asking.
        return Ok(());
    }
    match held(context) {
        Ok(held) => {
            say::to_programs(context, &json!({"held": held}));
            if held.is_empty() { Ok(()) } else { Err(refusal(&held)) }
        }
        Err(error) => {
            let why = one_line(&error.message, 300);
            say::to_programs(context, &json!({"held": [], "unchecked": why}));
            ui::talk(&format!("substrate locks guard: not checked, the commit goes on: {why}\n"));
            Ok(())
        }
    }
}

/// What others hold of the staged files.
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

/// As if it were typed, so that the verb finds out what the paths mean. `--list`: to be held is an answer, not a failure,
/// since a failure would let the commit pass.
fn body(context: &Context, verb: &Verb, paths: &[String]) -> Result<Value> {
    let command = (verb.augment)(Command::new("check")).no_binary_name(true);
    let flags = ["--list", "--"].into_iter().chain(paths.iter().map(String::as_str));
    let matches = command
        .try_get_matches_from(flags)
        .map_err(|error| AppError::from_error(Kind::Internal, &error))?;
    Ok((verb.body)(&matches, &mut ThisProcess::new(context))?)
}

fn check_verb() -> Option<&'static Verb> {
    let mut verbs = substrate_features::ALL.iter().flat_map(|feature| feature.verbs);
    verbs.find(|verb| verb.path == ["locks", "check"])
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
            "unstage what is not yours (`git restore --staged {first}`) and commit the rest"
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
