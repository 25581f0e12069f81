//! `substrate hooks install|status|uninstall`

use std::fmt::Write as _;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::json;
use substrate_clients::claude_code::install::plan;
use substrate_core::Format;

use super::standing::{self, Fits};
use super::{Context, ask, call, verbs};
use crate::error::{AppError, Kind, Result};
use crate::hooks::{self, Manifest, Plan, Profiles, Request, Scope, State};
use crate::ui;

/// How often an installation begins anew because somebody else wrote the file meanwhile.
const TRIES: usize = 5;

pub(super) fn command() -> Command {
    Command::new("hooks")
        .about("Register the hooks with a client, look at them, take them out")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            scoped(
                Command::new("install").about(
                    "Register the hooks; what is there already stays as it is, byte for byte",
                ),
            )
            .arg(
                Arg::new("profile")
                    .long("profile")
                    .value_name("PROFILE")
                    .value_parser(profiles())
                    .action(ArgAction::Append)
                    .value_delimiter(',')
                    .help(
                        "Add a named set of settings to the scope's settings file; several add up",
                    ),
            )
            .arg(
                switch(
                    "only",
                    "With these profiles in place of those in the scope's settings file",
                )
                .requires("profile"),
            )
            .arg(
                switch(
                    "scripts",
                    "Register shell scripts, which you can edit, in place of the program",
                )
                .conflicts_with_all(["project", "local"]),
            )
            .arg(switch(
                "allow-commands",
                "Let agents run the commands that are meant for them without a dialog",
            ))
            .arg(switch("dry-run", "Show what would change, and change nothing"))
            .arg(switch("yes", "Don't ask")),
        )
        .subcommand(
            Command::new("status")
                .about("What is registered where, and whether the client will use it"),
        )
        .subcommand(
            scoped(Command::new("uninstall").about("Take out exactly what was added"))
                .arg(switch("dry-run", "Show what would change, and change nothing"))
                .arg(switch("yes", "Don't ask (it never does)").hide(true)),
        )
}

fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn scoped(command: Command) -> Command {
    command
        .arg(switch("user", "Your own settings, for every project (the default)").visible_alias("global"))
        .arg(switch("project", "The project's settings, committed and shared; does nothing where Substrate is not installed").conflicts_with("user"))
        .arg(switch("local", "Your own settings for this project").conflicts_with_all(["user", "project"]))
        .arg(Arg::new("client").long("client").value_name("CLIENT").default_value("claude-code").value_parser(["claude-code"]).help("Which client"))
}

fn profiles() -> PossibleValuesParser {
    let value =
        |(name, about): &(&'static str, &'static str)| PossibleValue::new(*name).help(*about);
    PossibleValuesParser::new(substrate_features::PROFILES.iter().map(value))
}

fn scope(flags: &ArgMatches) -> Scope {
    match (flags.get_flag("project"), flags.get_flag("local")) {
        (true, _) => Scope::Project,
        (_, true) => Scope::Local,
        _ => Scope::User,
    }
}

pub(super) fn run(context: &Context, matches: &ArgMatches) -> Result<()> {
    match matches.subcommand() {
        Some(("install", flags)) => {
            let request = Request {
                scope: scope(flags),
                profiles: Profiles {
                    names: flags.get_many("profile").into_iter().flatten().cloned().collect(),
                    only: flags.get_flag("only"),
                },
                scripts: flags.get_flag("scripts"),
                allow: flags.get_flag("allow-commands"),
                rules: rules(),
                dir: call::dir(context),
            };
            install(context, request, flags.get_flag("dry-run"), flags.get_flag("yes"))
        }
        Some(("uninstall", flags)) => uninstall(context, scope(flags), flags.get_flag("dry-run")),
        _ => status(context),
    }
}

/// The permission rules for what agents may run.
pub(super) fn rules() -> Vec<String> {
    let all = standing::for_agents(&super::command());
    all.iter().map(|(words, fits)| plan::rule(words, *fits == Fits::Beginning)).collect()
}

/// Plans, shows, asks, and does it.
pub(super) fn install(
    context: &Context,
    mut request: Request<'_>,
    dry_run: bool,
    yes: bool,
) -> Result<()> {
    let first = hooks::plan(&context.env, &context.home, &request)?;
    if dry_run {
        ui::data(&shown(&first));
        return Ok(());
    }
    if !yes && ask::is_possible() {
        ui::talk(&shown(&first));
        if !ask::yes("Install?") {
            return Err(AppError::new(Kind::User, "nothing was changed"));
        }
        if !request.allow {
            request.allow = ask::yes(
                "May agents run the `substrate` commands that are meant for them without asking you each time?",
            );
        }
    }
    for _ in 0..TRIES {
        let plan = hooks::plan(&context.env, &context.home, &request)?;
        let Some(n) = hooks::apply(&context.home, &plan)? else { continue };
        if plan.is_broad {
            ui::talk(&format!(
                "{}: a rule of your own, `Bash(substrate:*)`, lets agents try every command; the user's are refused to them all the same\n",
                plan.settings.display()
            ));
        }
        for path in &plan.edited {
            ui::talk(&format!("{}: you edited it, so it stays as it is\n", path.display()));
        }
        for path in &plan.foreign {
            ui::talk(&format!(
                "{}: it is not ours, so it stays as it is; move it away and install again if you want ours\n",
                path.display()
            ));
        }
        for path in &plan.without_library {
            ui::talk(&format!(
                "{}: not written, since `lib/hook-utils.sh` beside it is not ours\n",
                path.display()
            ));
        }
        ui::talk(&format!(
            "{}: {}\n",
            plan.settings.display(),
            if n == 0 {
                "already as it should be; nothing was changed"
            } else {
                "the hooks are registered; sessions that run pick them up"
            },
        ));
        return Ok(());
    }
    Err(AppError::new(Kind::User, format!("`{}` changes all the time", first.settings.display()))
        .hint("nothing was changed; close the program that writes it, and try again"))
}

/// What a plan would do, file by file.
fn shown(plan: &Plan) -> String {
    let mut out = String::new();
    for (paths, why) in [(&plan.edited, "you edited it"), (&plan.foreign, "it is not ours")] {
        for path in paths {
            let _infallible = writeln!(out, "{:<7} {} ({why})", "stays", path.display());
        }
    }
    for path in &plan.without_library {
        let why = "not written: `lib/hook-utils.sh` is not ours";
        let _infallible = writeln!(out, "{:<7} {} ({why})", "none", path.display());
    }
    for change in &plan.changes {
        let what = match (&change.before, change.is_none()) {
            (_, true) => "stays",
            (None, _) => "new",
            (Some(_), _) => "edited",
        };
        let _infallible = writeln!(out, "{what:<7} {}", change.path.display());
        if change.path == plan.settings && !change.is_none() {
            out.push_str(&added_lines(change.before.as_deref().unwrap_or(""), &change.after));
        }
    }
    out
}

/// The lines that are new, and those that go; enough for files that are only added to.
fn added_lines(before: &str, after: &str) -> String {
    let mut out = String::new();
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail =
        old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    for line in &old[head..old.len() - tail] {
        let _infallible = writeln!(out, "  - {line}");
    }
    for line in &new[head..new.len() - tail] {
        let _infallible = writeln!(out, "  + {line}");
    }
    out
}

fn uninstall(context: &Context, scope: Scope, dry_run: bool) -> Result<()> {
    let settings = scope.settings(&context.env, call::dir(context))?;
    let manifest = match Manifest::load(&context.home, &settings)? {
        Some(manifest) => manifest,
        // Another state home may have known; what is ours can be recognised.
        None => match hooks::recognised(&context.env, scope, &settings)? {
            Some(manifest) => manifest,
            None => {
                ui::talk(&format!("{}: nothing of ours is there\n", settings.display()));
                return Ok(());
            }
        },
    };
    if dry_run {
        for file in &manifest.files {
            ui::data(&format!("{}\n", file.path.display()));
        }
        return Ok(());
    }
    context.home.ensure()?;
    report(&manifest, &hooks::remove(&context.home, &manifest)?);
    Ok(())
}

/// Says what an uninstall did.
pub(super) fn report(manifest: &Manifest, removed: &hooks::Removed) {
    ui::talk(&format!(
        "{}: our hooks are gone ({} files changed)\n",
        manifest.settings.display(),
        removed.changed.len()
    ));
    for path in &removed.left {
        ui::talk(&format!(
            "{}: you edited it, so it stays; remove it if you don't need it\n",
            path.display()
        ));
    }
}

fn status(context: &Context) -> Result<()> {
    let states = hooks::status(&context.env, &context.home, call::dir(context))?;
    if context.format == Format::Json {
        ui::data(&format!("{}\n", verbs::pretty(&json!(states))));
    } else {
        for state in &states {
            ui::data(&line(state));
        }
    }
    Ok(())
}

fn line(state: &State) -> String {
    let word = match (state.exists, state.events.len()) {
        _ if state.is_dropped => "DROPPED: the client ignores the whole file".to_owned(),
        (false, _) => "no such file".to_owned(),
        (true, 0) => "no hooks of ours".to_owned(),
        (true, n) if state.missing.is_empty() => format!("{n} events"),
        (true, n) => format!("{n} events; missing: {}", state.missing.join(", ")),
    };
    let mut out = format!("{:<8} {}\n         {word}\n", state.scope, state.settings.display());
    for gone in &state.gone {
        let _infallible =
            writeln!(out, "         `{gone}` is not there; run `substrate hooks install` again");
    }
    for problem in &state.problems {
        let _infallible = writeln!(out, "         {problem}");
    }
    out
}
