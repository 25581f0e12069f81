//! What the client's settings files mean: whether all our hooks run, and with the right program. Without hooks: what is left
//! over of them.

use substrate_clients::Client;
use substrate_clients::install::Drops;

use super::facts::Patient;
use super::finding::{Area, Finding};
use super::settings::{Content, Hook, Read, Runs, Scope, Scopes};
use crate::hooks::Manifest;
use crate::remnants::{self, Remnants};

pub(super) fn judge(scopes: &Scopes, has_client: bool, out: &mut Vec<Finding>) {
    for scope in &scopes.all {
        match &scope.content {
            Content::Absent => {}
            Content::Unreadable(why) => out.push(
                Area::Client
                    .error(
                        "client-settings-unreadable",
                        format!("{} can't be read: {why}", told(scope)),
                    )
                    .next(format!("make `{}` readable for you", scope.file.display())),
            ),
            Content::Read(read) => judge_file(scopes.client, scope, read, out),
        }
    }
    if scopes.has_hooks() {
        judge_completeness(scopes, out);
    } else {
        let message = "the hooks are not registered with the client";
        // Without a client there is nothing to register with, so nothing is wrong.
        let finding = if has_client {
            Area::Client.warning("hooks-not-installed", message)
        } else {
            Area::Client.info("hooks-not-installed", message)
        };
        out.push(finding.next("`substrate hooks install`"));
    }
}

fn judge_file(client: &Client, scope: &Scope, read: &Read, out: &mut Vec<Finding>) {
    let file = scope.file.display();
    let mend = match client.install.own_check {
        Some(check) => format!("mend that line; `{check}` is the client's own check"),
        None => "mend that line".to_owned(),
    };
    for found in &read.dropped {
        let at = format!("`{file}` line {}: {}", found.line, found.message);
        out.push(match found.drops {
            Drops::File => Area::Client
                .error(
                    "client-settings-dropped",
                    format!("the client drops the whole file, silently: {at}"),
                )
                .next(mend.clone()),
            Drops::Entry => Area::Client
                .warning("client-entry-dropped", format!("the client ignores an entry: {at}"))
                .next(mend.clone()),
        });
    }
    if let Some(setting) = read.hooks_off {
        out.push(
            Area::Client
                .error("hooks-disabled", format!("`{setting}` in `{file}` switches every hook off"))
                .next(format!("take `{setting}` out of that file")),
        );
    }
    let hooks = scope.hooks();
    judge_programs(scope, hooks, out);
    if read.dropped.is_empty() && read.hooks_off.is_none() {
        let n = match hooks.len() {
            0 => "none of our hooks".to_owned(),
            n => format!("{n} of our hooks"),
        };
        out.push(Area::Client.ok("client-settings-fine", format!("{}: {n}", told(scope))));
    }
}

/// Programs that the file names and that can't run, without repeats.
fn judge_programs(scope: &Scope, hooks: &[Hook], out: &mut Vec<Finding>) {
    let mut seen: Vec<&Runs> = Vec::new();
    for hook in hooks {
        if !seen.contains(&&hook.program) {
            seen.push(&hook.program);
        }
    }
    let again = format!("`substrate hooks install --{}`", scope.name);
    for program in seen {
        let n = hooks.iter().filter(|hook| hook.program == *program).count();
        let whose = format!("{n} hooks in the {}", told(scope));
        out.extend(match program {
            Runs::Ours | Runs::Unknown => None,
            Runs::Missing(path) => Some(
                Area::Client
                    .error("registered-program-missing", format!("{whose} run `{}`, which is not there", path.display()))
                    .next(again.clone()),
            ),
            Runs::NotExecutable(path) => Some(
                Area::Client
                    .error("registered-program-not-executable", format!("{whose} run `{}`, which is not executable", path.display()))
                    .next(format!("`chmod +x '{}'`", path.display())),
            ),
            Runs::NotOnPath => Some(
                Area::Client
                    .warning("registered-program-not-on-path", format!("{whose} look for `substrate-hook` on the PATH, where it is not: they do nothing"))
                    .next("put the folder of `substrate` in the PATH that your client has"),
            ),
            Runs::Other(path) => Some(
                Area::Client
                    .info("registered-program-other", format!("{whose} run another installation: `{}`", path.display()))
                    .next(again.clone()),
            ),
        });
    }
}

/// Events with too few hooks, over all files.
fn judge_completeness(scopes: &Scopes, out: &mut Vec<Finding>) {
    let count = |scope: &Scope, event: &str| {
        scope.hooks().iter().filter(|hook| hook.event == event).count()
    };
    let mut missing: Vec<&str> = Vec::new();
    for event in &scopes.plan {
        let wanted = scopes.plan.iter().filter(|other| *other == event).count();
        let found = scopes.all.iter().map(|scope| count(scope, event)).max().unwrap_or(0);
        if found < wanted && !missing.contains(event) {
            missing.push(event);
        }
    }
    let fullest = scopes.all.iter().max_by_key(|scope| scope.hooks().len());
    if !missing.is_empty() {
        let message =
            format!("these events have no hook of ours, or too few: {}", missing.join(", "));
        let scope = fullest.map_or("user", |scope| scope.name);
        let next = format!("`substrate hooks install --{scope}` adds what is missing");
        out.push(Area::Client.warning("hooks-incomplete", message).next(next));
    }
}

fn told(scope: &Scope) -> String {
    format!("{} settings `{}`", scope.name, scope.file.display())
}

/// How many files a finding names.
const MAX_NAMED: usize = 5;

/// Leftovers of an installation that was removed. `None`: the hooks are installed, so nothing is left over.
pub(super) fn left_over(patient: &Patient<'_>, scopes: &Scopes) -> Option<Remnants> {
    let is_installed =
        scopes.has_hooks() || Manifest::all(patient.home).is_ok_and(|all| !all.is_empty());
    (!is_installed).then(|| remnants::look(patient.env, patient.home, patient.dir))
}

pub(super) fn judge_left_over(left: Option<&Remnants>, out: &mut Vec<Finding>) {
    let Some(left) = left else { return };
    let mut add = |id, message: String| {
        out.push(Area::Client.warning(id, message).next("`substrate uninstall` removes it"));
    };
    for socket in &left.tmux {
        add("left-in-tmux", format!("our hooks are left over in the tmux server `{socket}`"));
    }
    for hooks in &left.commit_hooks {
        add("left-in-git", format!("our commit hook is left over in `{}`", hooks.display()));
    }
    for (_, file) in &left.status_lines {
        add("left-status-line", format!("our status line is left over in `{}`", file.display()));
    }
    if !left.files.is_empty() {
        let named = left.files.iter().take(MAX_NAMED).map(|file| format!("`{}`", file.display()));
        let named = named.collect::<Vec<_>>().join(", ");
        let more = match left.files.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        add("left-files", format!("files of ours are left over: {named}{more}"));
    }
}
