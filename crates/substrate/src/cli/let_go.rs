//! Running clients, after our hooks were taken out of their settings. A client notices that about a second later and reports
//! it. Until then it calls the hooks that it has, and each of them would start the daemon again.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use substrate_core::{EventKind, Timestamp};

use super::Context;
use super::call::Line;
use super::dispatch::request;
use super::table;
use crate::ui;

/// How long that may take. Clients with other settings never report it.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often we look.
const LOOK: Duration = Duration::from_millis(100);

/// What a client needs to drop the hooks after its report.
const MOMENT: Duration = Duration::from_millis(300);

/// The most sessions that are waited for.
const MAX: usize = 500;

/// Waits until all running clients have dropped the hooks that were taken out after `since`. Without a daemon there is
/// nothing to wait for.
pub(super) fn wait(context: &Context, since: Timestamp) {
    let open = open(context);
    if open.is_empty() {
        return;
    }
    ui::talk("waiting until running sessions have dropped the hooks\n");
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until && !open.is_subset(&told(context, since)) {
        std::thread::sleep(LOOK);
    }
    std::thread::sleep(MOMENT);
}

/// The sessions whose clients run.
fn open(context: &Context) -> HashSet<String> {
    let fleet = asked(context, ["fleet", "list"], json!({}));
    let actors = fleet["actors"].as_array().into_iter().flatten();
    actors.filter(|actor| actor["status"] != "gone").filter_map(session).collect()
}

/// The sessions whose clients have reported since then that their settings changed.
fn told(context: &Context, since: Timestamp) -> HashSet<String> {
    let body = json!({"event": EventKind::ConfigChange.name(), "since": "1m", "limit": MAX});
    let rows = asked(context, ["journal", "list"], body);
    let rows = rows.as_array().into_iter().flatten();
    rows.filter(|row| row["at_ms"].as_i64().is_some_and(|at| at >= since.0))
        .filter_map(session)
        .collect()
}

fn session(row: &Value) -> Option<String> {
    row["session"].as_str().map(str::to_owned)
}

fn asked(context: &Context, path: [&str; 2], body: Value) -> Value {
    let Some(verb) = table::verbs().find(|verb| verb.path == path) else { return Value::Null };
    Line::quiet(context, verb).call(body, &request()).map_or(Value::Null, |output| output.json)
}
