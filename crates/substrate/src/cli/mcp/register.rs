//! `hooks install --mcp`: the client itself registers the server. It rewrites the file with its servers while it runs, so an
//! edit of ours could get lost, or lose one of its own.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use substrate_clients::{Client, mcp};

use super::super::Context;
use crate::error::{AppError, Kind, Result};
use crate::hooks::{self, Scope};
use crate::proc::{TimedChild, as_asked};
use crate::{fsx, ui};

/// How long a client may take for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Our program, as a client starts it.
pub(super) fn program() -> String {
    let path = std::env::current_exe();
    path.map_or_else(|_| "substrate".to_owned(), |path| path.display().to_string())
}

/// Lets the client add the server, in place of an earlier one of ours.
pub(crate) fn register(context: &Context, client: &Client, scope: Scope) -> Result<()> {
    let Some(known) = mcp::ALL.iter().find(|known| known.client == client.name) else {
        let what = format!("{} does not register servers by a command", client.title);
        return Err(AppError::new(Kind::User, what)
            .hint("`substrate mcp --print-config CLIENT` prints what its settings need"));
    };
    // A committed file has no path of one machine.
    let program = match (scope, hooks::program(&context.env)) {
        (Scope::Project, _) => "substrate".to_owned(),
        (_, Ok(hook)) => Path::new(&hook).with_file_name("substrate").display().to_string(),
        (_, Err(_)) => program(),
    };
    let _none_before = run(client, &(known.remove)(scope.name()));
    let add = (known.add)(scope.name(), &program);
    if !run(client, &add) {
        let what = format!("{} did not register the tool server", client.title);
        let line = format!("{} {}", client.program, add.join(" "));
        return Err(AppError::new(Kind::User, what)
            .hint(format!("the hooks are registered; for the server, run `{line}` yourself")));
    }
    let mark = mark(context, client, scope);
    let folder = mark.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder
        .and_then(|()| fsx::replace(&mark, b"", 0o600))
        .map_err(|error| AppError::from_error(Kind::State, &error))?;
    ui::talk(&format!("{}: the tool server is registered, {} scope\n", client.title, scope.name()));
    Ok(())
}

/// Takes the server out again, if an installation of ours added it.
pub(crate) fn unregister(context: &Context, client: &Client, scope: Scope) {
    let mark = mark(context, client, scope);
    let known = mcp::ALL.iter().find(|known| known.client == client.name);
    let Some(known) = known.filter(|_| mark.is_file()) else { return };
    if run(client, &(known.remove)(scope.name())) {
        ui::talk(&format!("{}: the tool server is gone\n", client.title));
        let _gone = std::fs::remove_file(mark);
    }
}

/// Says that we added it.
fn mark(context: &Context, client: &Client, scope: Scope) -> PathBuf {
    context.home.root().join("mcp").join(format!("{}-{}", client.name, scope.name()))
}

fn run(client: &Client, args: &[String]) -> bool {
    let mut command = as_asked(client.program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    TimedChild::start(&mut command)
        .is_ok_and(|mut child| child.succeeded(Instant::now() + PATIENCE) == Some(true))
}
