//! Who may run a command. Its definition says so once. What agents may run without a dialog, what is refused inside a session,
//! and what the reference says follow from it.
//!
//! The daemon checks verbs again. The program's own commands may run without a daemon, so they are checked here.

use std::path::PathBuf;

use clap::Command;
use substrate_core::{Audience, DbError, Lineage, Standing, verb};
use substrate_store::Database;

use super::Context;
use super::table::{self, Definition};
use crate::config::{Env, Home};
use crate::error::Result;
use crate::hooks::client_home;
use crate::processes;

/// Whether the variables say that this runs inside a client.
pub(super) fn says_inside(env: &Env) -> bool {
    let mut names = substrate_clients::ALL.iter().flat_map(|client| client.variables.inside);
    names.any(|name| env.get(name).is_some())
}

/// Refuses the user's commands to a caller inside a session.
pub(super) fn admit(context: &Context, words: &[&str], definition: &Definition) -> Result<()> {
    match definition.audience {
        Audience::User => Ok(verb::admit(words, Audience::User, &standing(context))?),
        Audience::Agent | Audience::Both => Ok(()),
    }
}

/// Whether this process runs inside a session. Without a readable database only its variables tell.
fn standing(context: &Context) -> Standing {
    let pid = i32::try_from(std::process::id()).ok();
    if let processes::Above::Found(lineage) = processes::above(pid) {
        for home in homes(context, &lineage) {
            let database = home.database();
            let look = || -> std::result::Result<Standing, DbError> {
                Database::at(&database).read(|db| substrate_features::standing(db, &lineage))
            };
            if database.is_file()
                && let Ok(below @ Standing::Below(_)) = look()
            {
                return below;
            }
        }
    }
    if context.caller.inside_client { Standing::Says } else { Standing::User }
}

/// The state homes that may know the client above. Setting SUBSTRATE_HOME to another folder does not lead out of a session
/// that uses the same client settings: the processes above still have the variables that the client gave them.
fn homes(context: &Context, lineage: &Lineage) -> Vec<Home> {
    let mut out = vec![context.home.clone()];
    let of_clients = |env: &Env| -> Vec<PathBuf> {
        substrate_clients::ALL.iter().filter_map(|client| client_home(client, env).ok()).collect()
    };
    let ours = of_clients(&context.env);
    for ancestor in lineage.processes.iter().skip(1) {
        let env = Env::of_block(&processes::environ(ancestor.id.pid));
        if of_clients(&env).iter().any(|theirs| ours.contains(theirs))
            && let Ok(home) = Home::find(&env)
            && out.iter().all(|known| known.root() != home.root())
        {
            out.push(home);
        }
    }
    out
}

/// The permission rules that let agents run what is meant for them, before a client's own syntax: each is a prefix of a
/// command line. A group that is all for agents is one rule. No prefix fits a command that is not for agents.
pub(super) fn for_agents(root: &Command) -> Vec<(String, Fits)> {
    let mut out = Vec::new();
    for command in root.get_subcommands() {
        allow(command, &[command.get_name()], &mut out);
    }
    out.sort();
    out
}

/// How much of a command line a rule fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fits {
    /// The very words.
    Exactly,
    /// And whatever follows.
    Beginning,
}

fn allow(command: &Command, path: &[&str], out: &mut Vec<(String, Fits)>) {
    if is_internal(command) {
        return;
    }
    let words = format!("substrate {}", path.join(" "));
    if is_all_for_agents(command, path) {
        out.push((words, Fits::Beginning));
        return;
    }
    if !command.has_subcommands() {
        return;
    }
    if table::typed(path).is_some_and(|definition| definition.audience.has_agents()) {
        out.push((words, Fits::Exactly));
    }
    for inner in command.get_subcommands() {
        allow(inner, &[path, &[inner.get_name()]].concat(), out);
    }
}

/// Older spellings and plumbing are hidden, but agents may type them.
fn is_internal(command: &Command) -> bool {
    command.get_name() == "help" || command.get_name().starts_with("__")
}

fn is_all_for_agents(command: &Command, path: &[&str]) -> bool {
    let own = table::typed(path).map(|definition| definition.audience);
    let mut inner = command.get_subcommands().filter(|inner| !is_internal(inner));
    own.is_none_or(Audience::has_agents)
        && (own.is_some() || command.has_subcommands())
        && inner.all(|inner| is_all_for_agents(inner, &[path, &[inner.get_name()]].concat()))
}

#[cfg(test)]
mod tests {
    use super::super::command;
    use super::*;

    /// Every command that can be run, by its path.
    fn leaves(command: &Command, path: &[String], out: &mut Vec<Vec<String>>) {
        for inner in command.get_subcommands().filter(|inner| !is_internal(inner)) {
            let path = [path, &[inner.get_name().to_owned()]].concat();
            if !inner.has_subcommands() || !inner.is_subcommand_required_set() {
                out.push(path.clone());
            }
            leaves(inner, &path, out);
        }
    }

    fn all() -> Vec<Vec<String>> {
        let mut out = Vec::new();
        leaves(&command(), &[], &mut out);
        out
    }

    fn of(path: &[String]) -> Option<Audience> {
        let words: Vec<&str> = path.iter().map(String::as_str).collect();
        table::typed(&words).map(|definition| definition.audience)
    }

    #[test]
    fn every_command_says_who_it_is_for() {
        let all = all();
        let missing: Vec<_> = all.iter().filter(|path| of(path).is_none()).collect();
        assert_eq!(missing, Vec::<&Vec<String>>::new());
        for verb in table::verbs() {
            let own = table::typed(verb.path).unwrap();
            assert_eq!(own.audience, verb.audience, "`{}` says two things", verb.path.join(" "));
        }
    }

    #[test]
    fn what_the_design_reserves_for_the_user_is_the_users() {
        for command in [
            "run",
            "hook",
            "hooks install",
            "hooks uninstall",
            "up",
            "down",
            "uninstall",
            "daemon stop",
            "daemon restart",
            "db restore",
            "locks guard install",
            "locks guard uninstall",
            "tmux on",
            "tmux off",
            "fleet check",
            "fleet go",
            "supervise note",
            "supervise done",
        ] {
            let path: Vec<&str> = command.split(' ').collect();
            let found = table::typed(&path).map(|definition| definition.audience);
            assert_eq!(found, Some(Audience::User), "{command}");
        }
    }

    /// The source files of what is said to agents and people.
    fn sources(folder: &std::path::Path, out: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() && name != "tests" {
                sources(&path, out);
            } else if [".rs", ".md", ".sh", ".toml"].iter().any(|end| name.ends_with(end))
                && name != "tests.rs"
            {
                out.push(path);
            }
        }
    }

    /// Whether its words are those of a command. `{}` and NAME are filled in later; behind a command that has none below it
    /// come arguments.
    fn is_there(known: &[Vec<String>], line: &str) -> bool {
        let is_word = |word: &&str| {
            word.starts_with(|c: char| c.is_ascii_lowercase())
                && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
        };
        let words: Vec<&str> = line.split([' ', '\\']).take_while(is_word).collect();
        let mut fit: Vec<&Vec<String>> = known.iter().collect();
        for (at, word) in words.iter().enumerate() {
            if !fit.iter().any(|path| path.len() > at) {
                return true;
            }
            fit.retain(|path| path.get(at).is_some_and(|own| own == word));
            if fit.is_empty() {
                return false;
            }
        }
        true
    }

    #[test]
    fn a_command_that_is_not_there_is_seen() {
        let known = all();
        for line in [
            "inbox",
            "inbox --all",
            "read 3",
            "effort show {id}",
            "locks guard install",
            "{command} …",
            "send alice hello",
            "mail star 3",
            "star 3",
        ] {
            assert!(is_there(&known, line), "{line}");
        }
        for line in ["inbocks", "effort shew 3", "locks guard instal"] {
            assert!(!is_there(&known, line), "{line}");
        }
    }

    #[test]
    fn every_command_that_a_text_names_is_there() {
        let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut files = Vec::new();
        for name in ["core", "features", "substrate", "clients", "store"] {
            sources(&crates.join(name).join("src"), &mut files);
        }
        let known = all();
        let mut n = 0;
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let said = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let lines = said.lines().filter(|line| !line.trim_start().starts_with("//"));
            for rest in lines.flat_map(|line| line.split("`substrate ").skip(1)) {
                n += 1;
                let rest = rest.split('`').next().unwrap();
                assert!(is_there(&known, rest), "{}: `substrate {rest}`", file.display());
            }
        }
        assert!(n > 100, "{n}");
    }

    /// As the client matches at its most generous: a prefix of the text.
    #[test]
    fn the_rules_fit_all_that_is_for_agents_and_nothing_that_is_the_users() {
        let rules = for_agents(&command());
        for path in all() {
            let line = format!("substrate {}", path.join(" "));
            let fits = rules.iter().any(|(words, fits)| match fits {
                Fits::Exactly => *words == line,
                Fits::Beginning => line.starts_with(words.as_str()),
            });
            assert_eq!(fits, of(&path) != Some(Audience::User), "{line}");
        }
        assert!(rules.len() < 90, "{} rules are too many for a settings file", rules.len());
    }
}
