//! `substrate notify test`

use std::fmt::Write as _;
use std::time::Duration;

use clap::ArgMatches;
use serde_json::json;
use substrate_core::Audience;

use super::table::Definition;
use super::{Context, call, print};
use crate::daemon::{self, Stay};
use crate::error::{AppError, Kind, Result};

/// How long the daemon may take: as long as a program may that it runs.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) const COMMANDS: &[Definition] = &[Definition::new(
    &["notify", "test"],
    Audience::User,
    "Send a notification now, and say what came of it",
    test,
)];

fn test(context: &Context, _flags: &ArgMatches) -> Result<()> {
    daemon::start(&context.env, &context.home, Stay::Long)?;
    let answer = call::test_notifications(&context.home, PATIENCE).map_err(|error| {
        AppError::new(Kind::Daemon, format!("the daemon did not answer ({})", error.name()))
            .hint("`substrate daemon status` tells more")
    })?;
    let json = answer?;
    let outcomes = json.as_array().map(Vec::as_slice).unwrap_or_default();
    if outcomes.is_empty() {
        return Err(AppError::new(Kind::User, "notifications are off").hint(
            "`substrate config set notify.desktop true`, or name a program in `notify.command`",
        ));
    }
    let mut text = String::new();
    for one in outcomes {
        let name = one["channel"].as_str().unwrap_or_default();
        let _infallible = match one["error"].as_str() {
            Some(error) => writeln!(text, "{name}: {error}"),
            None => writeln!(text, "{name}: told"),
        };
    }
    print::result(context, &json!({ "outcomes": json }), || text);
    match outcomes.iter().any(|one| !one["error"].is_null()) {
        true => Err(AppError::new(Kind::User, "not every notification was told")
            .hint("`substrate notify status` shows where they go")),
        false => Ok(()),
    }
}
