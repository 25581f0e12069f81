//! `substrate hooks install|status|uninstall`

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Value, json};
use substrate_clients::Client;
use substrate_clients::install::{Entry, What};
use substrate_core::{Audience, Format};

use super::audience::{self, Fits};
use super::table::Definition;
use super::{Context, call, help, mcp, print};
use crate::error::{AppError, Kind, Result};
use crate::hooks::{self, Change, Manifest, Plan, Profiles, Request, Scope, State};
use crate::ui;

/// How often an installation starts over because another program wrote the file meanwhile.
const TRIES: usize = 5;

pub(super) const COMMANDS: &[Definition] = &[
    Definition::new(
        &["hooks", "install"],
        Audience::User,
        "Register the hooks and leave the rest of the settings file as it is",
        |context, flags| {
            let (dry_run, yes) = (flags.get_flag("dry-run"), flags.get_flag("yes"));
            let mut done = Vec::new();
            for client in clients_meant(flags, |client| hooks::is_client_here(client, &context.env))
            {
                let request = request(context, flags, client)?;
                done.push(install(context, &request, dry_run, yes)?);
                if flags.get_flag("mcp") && !dry_run {
                    mcp::register(context, client, request.scope)?;
                }
            }
            print::to_programs(context, &one_or_all(flags, done)?);
            Ok(())
        },
    )
    .taking(install_flags),
    Definition::new(
        &["hooks", "status"],
        Audience::Both,
        "Show which hooks are registered where, and whether the client will use them",
        |context, _| status(context),
    ),
    Definition::new(
        &["hooks", "uninstall"],
        Audience::User,
        "Remove exactly what was added",
        |context, flags| {
            let dry_run = flags.get_flag("dry-run");
            let mut done = Vec::new();
            for client in clients_meant(flags, |client| has_hooks(context, client, scope(flags))) {
                done.push(uninstall(context, client, scope(flags), dry_run)?);
                if !dry_run {
                    mcp::unregister(context, client, scope(flags));
                }
            }
            print::to_programs(context, &one_or_all(flags, done)?);
            Ok(())
        },
    )
    .taking(|command| {
        scoped(command)
            .arg(switch("dry-run", "Show what would change, and change nothing"))
            .arg(switch("yes", "Don't ask (it never does)").hide(true))
    }),
];

fn install_flags(command: Command) -> Command {
    scoped(command)
        .arg(
            Arg::new("profile")
                .long("profile")
                .value_name("PROFILE")
                .value_parser(profiles())
                .action(ArgAction::Append)
                .value_delimiter(',')
                .help("Add a named set of settings to the scope's settings file; several add up"),
        )
        .arg(
            switch(
                "only",
                "Use only these profiles; drop the others from the scope's settings file",
            )
            .requires("profile"),
        )
        .arg(
            switch("scripts", "Register shell scripts, which you can edit, instead of the program")
                .conflicts_with_all(["project", "local"]),
        )
        .arg(
            switch("no-scripts", "Register the program again and remove the scripts")
                .conflicts_with_all(["scripts", "project", "local"]),
        )
        .arg(switch(
            "allow-commands",
            "Let agents run the commands that are meant for them without a dialog",
        ))
        .arg(switch("mcp", "Also let the client register `substrate mcp`, its five tools"))
        .arg(switch(
            "trust",
            "Also tell a client that runs only trusted hooks that you trust these",
        ))
        .arg(switch("dry-run", "Show what would change, and change nothing"))
        .arg(switch("yes", "Don't ask"))
}

fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn scoped(command: Command) -> Command {
    command
        .arg(switch("user", "Your own settings, for every project (the default)").visible_alias("global"))
        .arg(switch("project", "The project's settings, committed and shared; does nothing where Substrate is not installed").conflicts_with("user"))
        .arg(switch("local", "Your own settings for this project").conflicts_with_all(["user", "project"]))
        .arg(Arg::new("client").long("client").value_name("CLIENT").default_value(substrate_clients::DEFAULT.name).value_parser(clients()).help("Which client; `all` is every one that is installed"))
}

/// Every client.
const ALL: &str = "all";

fn clients() -> PossibleValuesParser {
    let names = substrate_clients::ALL.iter().map(|client| client.name);
    PossibleValuesParser::new(names.chain([ALL]))
}

/// The client that the flags name, or all that `is_meant` is true of.
fn clients_meant(
    flags: &ArgMatches,
    is_meant: impl Fn(&'static Client) -> bool,
) -> Vec<&'static Client> {
    let name = flags.get_one::<String>("client").map_or("", String::as_str);
    if name == ALL {
        return substrate_clients::ALL.iter().copied().filter(|client| is_meant(client)).collect();
    }
    vec![substrate_clients::named(name).unwrap_or(substrate_clients::DEFAULT)]
}

/// What was done, for programs: a list if all clients were meant.
fn one_or_all(flags: &ArgMatches, mut done: Vec<Value>) -> Result<Value> {
    match (flags.get_one::<String>("client").is_some_and(|name| name == ALL), done.len()) {
        (true, 0) => Err(AppError::new(Kind::User, "no client was found")
            .hint("`--client NAME` means one that is not installed yet")),
        (true, _) => Ok(Value::Array(done)),
        (false, _) => Ok(done.pop().unwrap_or_default()),
    }
}

fn has_hooks(context: &Context, client: &'static Client, scope: Scope) -> bool {
    let states = hooks::status(client, &context.env, &context.home, call::dir(context));
    states.is_ok_and(|states| {
        states.iter().any(|state| {
            state.scope == scope.name() && (state.installed_by_us || !state.events.is_empty())
        })
    })
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

fn request<'a>(
    context: &'a Context,
    flags: &ArgMatches,
    client: &'static Client,
) -> Result<Request<'a>> {
    let (allow, scripts) = (flags.get_flag("allow-commands"), flags.get_flag("scripts"));
    let trust = flags.get_flag("trust");
    let (title, install) = (client.title, &client.install);
    let problem = if allow && install.rule.is_none() {
        Some(format!("{title} keeps no rules about commands in its settings"))
    } else if scripts && (install.scripts)("").is_empty() {
        Some(format!("there are no scripts for {title}: its hooks are commands already"))
    } else if trust && install.trust.is_none() {
        Some(format!("{title} runs hooks without being told to trust them"))
    } else {
        None
    };
    if let Some(problem) = problem {
        return Err(AppError::new(Kind::User, problem).hint("leave the flag out"));
    }
    Ok(Request {
        client,
        scope: scope(flags),
        profiles: Profiles {
            names: flags.get_many("profile").into_iter().flatten().cloned().collect(),
            only: flags.get_flag("only"),
        },
        scripts: match (flags.get_flag("scripts"), flags.get_flag("no-scripts")) {
            (false, false) => None,
            (wanted, _) => Some(wanted),
        },
        allow,
        trust,
        rules: rules(client),
        dir: call::dir(context),
    })
}

/// The permission rules for what agents may run.
pub(super) fn rules(client: &Client) -> Vec<String> {
    let Some(rule) = client.install.rule else { return Vec::new() };
    let all = audience::for_agents(&help::command());
    let rule = |(words, fits): &(String, Fits)| rule(words, *fits == Fits::Beginning);
    all.iter().map(rule).collect()
}

/// Plans, shows, asks, and does it.
pub(super) fn install(
    context: &Context,
    request: &Request<'_>,
    dry_run: bool,
    yes: bool,
) -> Result<Value> {
    let first = hooks::plan(&context.env, &context.home, request)?;
    if dry_run {
        if context.format != Format::Json {
            ui::data(&shown(&first));
        }
        return Ok(planned(&first, 0));
    }
    let mut request = request.clone();
    if !yes && ui::can_ask() {
        ui::talk(&summary(context, &first));
        if !ui::confirm("Install?") {
            return Err(AppError::new(Kind::User, "nothing was changed"));
        }
        request.trust |= !first.untrusted.is_empty() && ui::confirm(&asks_for_trust(&first));
    }
    for _ in 0..TRIES {
        let plan = hooks::plan(&context.env, &context.home, &request)?;
        let Some(n) = hooks::apply(&context.home, &plan)? else { continue };
        if plan.is_broad {
            ui::talk(&format!(
                "{}: a rule of your own, `{}`, lets agents try every command; those for the user are still refused\n",
                plan.settings.display(),
                plan.client.install.broad_rule
            ));
        }
        for path in &plan.edited {
            ui::talk(&format!("{}: you edited it, so it stays as it is\n", path.display()));
        }
        for path in &plan.foreign {
            ui::talk(&format!(
                "{}: it is not ours, so it stays as it is; move it away and install again to get ours\n",
                path.display()
            ));
        }
        for path in &plan.without_library {
            ui::talk(&format!(
                "{}: not written, because `lib/hook-utils.sh` beside it is not ours\n",
                path.display()
            ));
        }
        ui::talk(&format!(
            "{}: {}\n",
            plan.settings.display(),
            if n == 0 {
                "already up to date; nothing was changed"
            } else {
                "the hooks are registered; running sessions pick them up"
            },
        ));
        if let (false, Some(trust)) = (plan.untrusted.is_empty(), plan.client.install.trust) {
            let (name, how) = (plan.client.name, trust.how);
            ui::talk(&format!(
                "{} runs them only once you trust them: {how}, or run `substrate hooks install --client {name} --trust`\n",
                plan.client.title
            ));
        }
        return Ok(planned(&plan, n));
    }
    Err(AppError::new(Kind::User, format!("`{}` keeps changing", first.settings.display()))
        .hint("nothing was changed; close the program that writes it, and try again"))
}

/// The client asks its user for a reason, so we ask as well.
fn asks_for_trust(plan: &Plan) -> String {
    let client = plan.client.title;
    format!("{client} runs only hooks that you trust. Note there that you trust these?")
}

/// A plan in a few lines: files, events, profile, how to undo it, how to see all of it.
pub(super) fn summary(context: &Context, plan: &Plan) -> String {
    let home = context.env.text("HOME").unwrap_or_default();
    let short = |path: &Path| match path.strip_prefix(home) {
        Ok(below) if home.len() > 1 => format!("~/{}", below.display()),
        Ok(_) | Err(_) => path.display().to_string(),
    };
    let list = |files: Vec<String>| match files.len() {
        0 => None,
        1..=3 => Some(files.join(", ")),
        n => Some(format!("{} and {} more", files[n - 2..].join(", "), n - 2)),
    };
    let changed = |is_new: bool| {
        let is_meant = |change: &&Change| !change.is_none() && change.before.is_none() == is_new;
        list(plan.changes.iter().filter(is_meant).map(|change| short(&change.path)).collect())
    };
    let mut events: Vec<&str> = plan.entries.iter().map(|entry| entry.event).collect();
    events.sort_unstable();
    events.dedup();
    let is_script = |entry: &&Entry| matches!(&entry.what, What::Shell { command, .. } if command.contains("/hooks/substrate/"));
    let n_scripts = plan.entries.iter().filter(is_script).count();
    let by = match n_scripts {
        0 => String::new(),
        n => format!("; {n} hooks are scripts that you can edit"),
    };
    let scope = plan.scope.name();
    let mut out = String::new();
    let mut line = |name: &str, text: &str| {
        let _infallible = writeln!(out, "  {name:<8} {text}");
    };
    if let Some(files) = changed(true) {
        line("new", &files);
    }
    if let Some(files) = changed(false) {
        line("edited", &format!("{files} (only added to; a copy is kept)"));
    }
    let n = plan.retired.iter().filter(|retired| !retired.is_needed).count();
    if n > 0 {
        line("removed", &format!("{n} scripts or skills of ours that are no longer used"));
    }
    line("events", &format!("{} events of a session are told to Substrate{by}", events.len()));
    line("profile", &profile(&plan.profiles));
    line(
        "undo",
        &format!(
            "`substrate hooks uninstall --{scope}`; `substrate uninstall` takes out everything"
        ),
    );
    line("see all", &format!("`substrate hooks install --{scope} --dry-run`"));
    let client = plan.client.title;
    format!("Substrate for {client}, {scope} scope ({}):\n{out}", short(&plan.settings))
}

/// Profiles in words. `standard` is always there.
fn profile(names: &[String]) -> String {
    let is_meant = |name: &str| name == "standard" || names.iter().any(|given| given == name);
    let known = substrate_features::PROFILES.iter().filter(|(name, _)| is_meant(name));
    let words: Vec<String> = known.map(|(name, about)| format!("{name} ({about})")).collect();
    words.join(", ")
}

/// What can be changed later, and how.
pub(super) const LATER: &str = "Later: `substrate hooks install --allow-commands` lets agents run their own `substrate` commands without a dialog,\n       `--profile NAME` adds to the settings, `--scripts` makes the hooks scripts; `substrate config set KEY VALUE` changes one setting.\n";

/// A plan for programs, with how many files were changed.
fn planned(plan: &Plan, n_changed: usize) -> Value {
    let file = |change: &Change| json!({"path": change.path, "change": change.word()});
    let files: Vec<Value> = plan.changes.iter().map(file).collect();
    let kept: Vec<&PathBuf> = plan.edited.iter().chain(&plan.foreign).collect();
    let mut out =
        json!({"settings": plan.settings, "files": files, "kept": kept, "n_changed": n_changed});
    if plan.client.install.trust.is_some() {
        out["untrusted"] = json!(plan.untrusted);
    }
    out
}

/// What a plan would do, file by file.
fn shown(plan: &Plan) -> String {
    let mut out = String::new();
    for (paths, why) in [(&plan.edited, "you edited it"), (&plan.foreign, "it is not ours")] {
        for path in paths {
            let _infallible = writeln!(out, "{:<7} {} ({why})", "stays", path.display());
        }
    }
    for retired in plan.retired.iter().filter(|retired| !retired.is_needed) {
        let _infallible =
            writeln!(out, "{:<7} {} (no longer used)", "gone", retired.path.display());
    }
    for path in &plan.without_library {
        let why = "not written: `lib/hook-utils.sh` is not ours";
        let _infallible = writeln!(out, "{:<7} {} ({why})", "none", path.display());
    }
    for change in &plan.changes {
        let _infallible = writeln!(out, "{:<7} {}", change.word(), change.path.display());
        if change.path == plan.settings && !change.is_none() {
            out.push_str(&added_lines(change.before.as_deref().unwrap_or(""), &change.after));
        }
    }
    out
}

/// Added and removed lines. Good enough for files that only grow.
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

fn uninstall(context: &Context, client: &Client, scope: Scope, dry_run: bool) -> Result<Value> {
    let settings = scope.settings(client, &context.env, call::dir(context))?;
    let manifest = match Manifest::load(&context.home, &settings)? {
        Some(manifest) => manifest,
        // Another state home may have installed it. We recognise our own entries.
        None => match hooks::recognised(client, &context.env, scope, &settings)? {
            Some(manifest) => manifest,
            None => {
                ui::talk(&format!("{}: nothing of ours is there\n", settings.display()));
                return Ok(json!({"settings": settings, "files": []}));
            }
        },
    };
    if dry_run {
        let files: Vec<_> = manifest.files.iter().map(|file| &file.path).collect();
        if context.format != Format::Json {
            ui::data(&files.iter().map(|path| format!("{}\n", path.display())).collect::<String>());
        }
        return Ok(json!({"settings": manifest.settings, "files": files}));
    }
    context.home.ensure()?;
    Ok(report(&manifest, &hooks::remove(&context.home, &manifest)?))
}

/// Reports an uninstall file by file.
pub(super) fn report(manifest: &Manifest, removed: &hooks::Removed) -> Value {
    let word = if removed.is_nothing() { "nothing of ours was left" } else { "our hooks are gone" };
    ui::talk(&format!("{}: {word}\n", manifest.settings.display()));
    let lists = [
        (&removed.restored, "as it was before"),
        (&removed.cleaned, "only what was ours is removed"),
        (&removed.deleted, "deleted"),
        (&removed.left, "you edited it, so it stays; remove it if you don't need it"),
        (&removed.linked, "it is behind a link now, so it stays; check it yourself"),
    ];
    for (paths, what) in lists {
        for path in paths {
            ui::talk(&format!("{}: {what}\n", path.display()));
        }
    }
    let kept: Vec<&PathBuf> = removed.left.iter().chain(&removed.linked).collect();
    json!({
        "settings": manifest.settings,
        "restored": removed.restored,
        "cleaned": removed.cleaned,
        "deleted": removed.deleted,
        "kept": kept,
    })
}

fn status(context: &Context) -> Result<()> {
    let mut states = Vec::new();
    for client in substrate_clients::ALL {
        let found = hooks::status(client, &context.env, &context.home, call::dir(context))?;
        let is_meant = client.name == substrate_clients::DEFAULT.name
            || hooks::is_client_here(client, &context.env)
            || found.iter().any(|state| state.exists);
        states.extend(found.into_iter().filter(|_| is_meant));
    }
    print::result(context, &json!(states), || states.iter().map(line).collect());
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
