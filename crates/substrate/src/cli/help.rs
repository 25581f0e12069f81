//! The command line as clap knows it, made from the table of commands: groups, headings, examples.

use std::fmt::Write as _;

use clap::builder::styling::{AnsiColor, Style, Styles};
use clap::{Arg, ArgAction, Command};
use substrate_core::Format;

use super::examples;
use super::layout::{self, HEADINGS, Place};
use crate::ui;

const ABOUT: &str = "The coordination layer for coding agents: mail, leases, guards, memory and a journal on their hooks";

const EXIT_CODES: &str = "`substrate COMMAND --help` explains a command with examples.\nExit codes: 0 ok, 1 the command could not do it (or `doctor` found something), 2 wrong usage, 3 no daemon,\n4 state or settings not usable, 70 a bug.";

/// The heading of the flags that every command takes.
const GLOBAL: &str = "Global flags";

const HEADER: Style = AnsiColor::Green.on_default().bold();
const LITERAL: Style = AnsiColor::Cyan.on_default().bold();

/// The widest help. A narrower terminal gets narrower lines.
const WIDTH: usize = 100;

/// The whole command line.
pub(crate) fn command() -> Command {
    let styles = Styles::styled()
        .header(HEADER)
        .usage(HEADER)
        .literal(LITERAL)
        .placeholder(AnsiColor::Cyan.on_default());
    let width = ui::screen().map_or(WIDTH, |(_, columns)| usize::from(columns).clamp(40, WIDTH));
    let root = root().about(ABOUT).after_help(EXIT_CODES).styles(styles).term_width(width);
    let root = below(root, &[], &[]);
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{}\n{HEADER}{GLOBAL}:{HEADER:#}\n{{options}}{{after-help}}",
        headings(&root)
    );
    root.help_template(template)
}

/// Only the command that the arguments name, for a command line without mistakes. `None`: they name none.
pub(super) fn typed(args: &[String]) -> Option<Command> {
    let mut path: Vec<&'static str> = Vec::new();
    for arg in args.iter().skip(1) {
        let is_next = |place: &&Place| {
            place.path.get(path.len()).is_some_and(|name| name == arg)
                && place.path.starts_with(&path)
        };
        let Some(place) = layout::places().iter().find(is_next) else { break };
        path.push(place.path[path.len()]);
    }
    (!path.is_empty()).then(|| below(root(), &[], &path))
}

fn root() -> Command {
    Command::new("substrate").version(crate::version::words()).args(global_flags())
}

/// The commands by heading, as the root's help shows them.
fn headings(root: &Command) -> String {
    let wide =
        HEADINGS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for (heading, names) in HEADINGS {
        let _infallible = writeln!(out, "\n{HEADER}{heading}:{HEADER:#}");
        for name in *names {
            let found = root.find_subcommand(name).and_then(Command::get_about);
            let about = found.map(ToString::to_string).unwrap_or_default();
            let _infallible = writeln!(out, "  {LITERAL}{name:<wide$}{LITERAL:#}  {about}");
        }
    }
    out
}

/// Adds what is typed below a group; `path` is the group's own. With words of `only`, adds just what the first one names.
fn below(mut group: Command, path: &[&'static str], only: &[&'static str]) -> Command {
    if let [name, rest @ ..] = only {
        return group.subcommand(one(name, &[path, &[name]].concat(), rest));
    }
    let is_inside = |place: &&Place| place.path.len() > path.len() && place.path.starts_with(path);
    let mut names: Vec<&'static str> = Vec::new();
    for name in layout::places().iter().filter(is_inside).map(|place| place.path[path.len()]) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for name in names {
        group = group.subcommand(one(name, &[path, &[name]].concat(), &[]));
    }
    group
}

/// A command, or a group with what is below it.
fn one(name: &'static str, path: &[&'static str], only: &[&'static str]) -> Command {
    let place = layout::places().iter().find(|place| place.path == path);
    let is_group = |place: &Place| place.path.len() > path.len() && place.path.starts_with(path);
    let is_group = layout::places().iter().any(is_group);
    let shown = place.map_or(path, |place| place.shown());
    let command = Command::new(name).hide(layout::is_hidden(path)).disable_help_subcommand(true);
    let command = with_examples(command, shown);
    if !is_group {
        let Some(place) = place else { return command };
        return (place.definition.flags)(command).about(place.definition.about);
    }
    let is_default = |place: &&Place| {
        place.is_default && place.path.split_last().is_some_and(|(_, group)| group == path)
    };
    let alone = place.or_else(|| layout::places().iter().find(is_default));
    let command = match alone {
        Some(place) => (place.definition.flags)(command.args_conflicts_with_subcommands(true)),
        None => command.subcommand_required(true).arg_required_else_help(true),
    };
    // After the flags, because the comment of a struct of flags becomes the text otherwise.
    below(command.about(layout::about(path)), path, only)
}

fn with_examples(command: Command, path: &[&str]) -> Command {
    let lines = examples::of(path);
    if lines.is_empty() {
        return command;
    }
    command.after_help(format!("{HEADER}Examples:{HEADER:#}\n  {}", lines.join("\n  ")))
}

pub(super) fn global_flags() -> Vec<Arg> {
    let flag = |name: &'static str, value: &'static str, help: &str| {
        let help = help.to_owned();
        Arg::new(name).long(name).global(true).value_name(value).help(help).help_heading(GLOBAL)
    };
    let session = substrate_clients::DEFAULT.dialect.session_variable.unwrap_or_default();
    let session = format!("Act for this session (default: ${session})");
    vec![
        flag("session-id", "ID", &session),
        flag("agent", "NAME", "Act as this agent (default: $AGENT_ID)"),
        flag("project-dir", "DIR", "Act in this project (default: the current folder's)"),
        flag(
            "format",
            "FORMAT",
            "Print text (the default), json, context (for a model) or hook (for a client)",
        )
        .value_parser(clap::value_parser!(Format))
        .default_value("text")
        .hide_default_value(true)
        .hide_possible_values(true),
        Arg::new("verbose")
            .short('v')
            .long("verbose")
            .global(true)
            .action(ArgAction::Count)
            .help("Say who answered, and how fast")
            .help_heading(GLOBAL),
    ]
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_well_formed() {
        super::command().debug_assert();
    }

    #[test]
    fn help_shows_the_headings_and_hides_plumbing() {
        let help = super::command().render_help().to_string();
        let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("no {text:?} in\n{help}"));
        let order = [
            "Setup:",
            "  up ",
            "Mail:",
            "  send ",
            "Fleet:",
            "Safety:",
            "Memory:",
            "Inspect:",
            "Global flags:",
            "--session-id",
        ];
        let places: Vec<usize> = order.iter().map(|text| at(text)).collect();
        assert!(places.is_sorted(), "{help}");
        for hidden in ["\n  supervise", "\n  star", "\n  heartbeat", "\n  identity", "\n  help"] {
            assert!(!help.contains(hidden), "{hidden}");
        }
    }

    /// Two arguments of one name are one: a type of agent would say as whom the command acts.
    #[test]
    fn no_argument_has_the_name_of_a_global_flag() {
        fn look(command: &clap::Command, path: &str, taken: &[String], out: &mut Vec<String>) {
            for inner in command.get_subcommands() {
                let path = format!("{path} {}", inner.get_name());
                let ids = inner.get_arguments().map(|arg| arg.get_id().to_string());
                out.extend(ids.filter(|id| taken.contains(id)).map(|id| format!("{path}: {id}")));
                look(inner, &path, taken, out);
            }
        }
        let taken: Vec<String> =
            super::global_flags().iter().map(|flag| flag.get_id().to_string()).collect();
        assert_eq!(taken.len(), 5);
        let mut out = Vec::new();
        look(&super::command(), "substrate", &taken, &mut out);
        assert_eq!(out, Vec::<String>::new());
    }
}
