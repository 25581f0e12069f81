//! The client itself: which version is installed, and when it overrides a block.

use std::time::Duration;

use super::finding::{Area, Finding};
use super::try_out::version_of;
use super::whereabouts::on_path;
use crate::config::Env;
use crate::hooks::is_client_here;

/// A client that does not say its version after so long is not waited for.
const LIMIT: Duration = Duration::from_secs(3);

/// The variable with which the client's cap is changed, and what it is without.
const CAP: &str = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP";
const DEFAULT_CAP: u32 = 8;

#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(super) installed: Installed,
    /// Its program or its folder is on this machine.
    pub(super) is_here: bool,
    /// The cap as the caller's environment has it.
    pub(super) cap: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) enum Installed {
    NotOnPath,
    /// It did not say which version it is.
    Silent,
    Version(String),
}

pub(super) fn look(env: &Env) -> Client {
    let installed = match on_path(env.get("PATH"), "claude") {
        None => Installed::NotOnPath,
        Some(path) => version_of(&path, env, LIMIT).map_or(Installed::Silent, Installed::Version),
    };
    Client { installed, is_here: is_client_here(env), cap: env.text(CAP).map(str::to_owned) }
}

pub(super) fn judge(client: &Client, out: &mut Vec<Finding>) {
    out.push(match &client.installed {
        Installed::Version(version) => {
            // The client adds its name.
            let version = version.trim_end_matches(" (Claude Code)");
            Area::Client.info("client-version", format!("Claude Code {version} is installed"))
        }
        Installed::Silent => Area::Client
            .info("client-silent", "`claude` is on the PATH, but does not say its version")
            .next("`claude --version`"),
        Installed::NotOnPath => {
            Area::Client.info("client-absent", "`claude` is not on the PATH of this shell")
        }
    });
    out.push(judge_cap(client.cap.as_deref()));
}

fn judge_cap(cap: Option<&str>) -> Finding {
    let says = |n: u32, why: &str| {
        format!("the client stops anyway after {n} blocked Stops in a row ({why})")
    };
    let Some(text) = cap else {
        return Area::Client.info("stop-cap", says(DEFAULT_CAP, "its default"));
    };
    match text.parse() {
        Ok(0) => Area::Client
            .info("stop-cap", format!("{CAP}=0: the client has no cap on blocked Stops"))
            .next("without a cap nothing but the hooks themselves ends a loop of blocks"),
        Ok(n) => Area::Client.info("stop-cap", says(n, &format!("{CAP}={n}"))),
        Err(_) => Area::Client
            .warning("stop-cap-unreadable", format!("{CAP}={text} is no number"))
            .next(format!("set it to a number, or unset it; the default is {DEFAULT_CAP}")),
    }
}
