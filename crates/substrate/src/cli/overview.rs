//! `substrate` alone: the overview, or how to begin where nothing is installed.

use serde_json::json;

use super::call::{Line, dir};
use super::{Context, print, table};
use crate::error::{AppError, Kind, Result};
use crate::{hooks, ui};

/// What a person reads who has installed nothing yet.
const BEGIN: &str = "Substrate is not set up yet: no client's hooks are registered.

  substrate demo     shows it at work, in a sandbox; changes nothing
  substrate up       starts the daemon and registers the hooks, after asking
  substrate --help   lists every command
";

/// Below an overview without hooks.
const NO_HOOKS: &str = "No client's hooks are registered here: `substrate up` registers them.\n";

pub(super) fn run(context: &Context) -> Result<()> {
    let is_registered = is_registered(context);
    if !is_registered && !context.home.database().is_file() {
        let json = json!({"installed": false, "next": [{"command": "substrate up"}, {"command": "substrate demo"}]});
        print::result(context, &json, || BEGIN.to_owned());
        return Ok(());
    }
    let verb = table::verbs().find(|verb| verb.path == ["overview"]);
    let verb = verb.ok_or_else(|| AppError::new(Kind::Internal, "there is no overview"))?;
    let output = Line::new(context, verb).call(json!({}), &context.caller.request)?;
    print::output(context.format, &output)?;
    if !is_registered {
        ui::talk(NO_HOOKS);
    }
    Ok(())
}

/// Whether any client has hooks of ours, for this user or this folder. A file that can't be read counts as having some:
/// `doctor` says what is wrong with it.
fn is_registered(context: &Context) -> bool {
    substrate_clients::ALL.iter().any(|client| {
        let found = hooks::status(client, &context.env, &context.home, dir(context));
        found.map_or(true, |states| states.iter().any(|state| !state.events.is_empty()))
    })
}
