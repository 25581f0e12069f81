//! The client itself: which version is installed, and when it overrides a block.

use std::time::Duration;

use substrate_clients::{BlockCap, Evidence};

use super::finding::{Area, Finding};
use super::try_out::version_of;
use super::whereabouts::on_path;
use crate::config::Env;
use crate::hooks::is_client_here;

/// How long a client may take to print its version.
const LIMIT: Duration = Duration::from_secs(3);

#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(super) kind: &'static substrate_clients::Client,
    pub(super) installed: Installed,
    /// Its program or its folder exists on this machine.
    pub(super) is_here: bool,
    /// The cap, from the caller's environment.
    pub(super) cap: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) enum Installed {
    NotOnPath,
    /// It did not print a version.
    Silent,
    Version(String),
}

pub(super) fn look(kind: &'static substrate_clients::Client, env: &Env) -> Client {
    let variables: Vec<&str> = kind.variables.config.into_iter().chain(["USER", "SHELL"]).collect();
    let installed = match on_path(env.get("PATH"), kind.program) {
        None => Installed::NotOnPath,
        Some(path) => {
            let version = version_of(&path, env, &variables, LIMIT);
            version.map_or(Installed::Silent, Installed::Version)
        }
    };
    let cap = kind.variables.block_cap.and_then(|cap| env.text(cap.variable));
    Client { kind, installed, is_here: is_client_here(kind, env), cap: cap.map(str::to_owned) }
}

pub(super) fn judge(client: &Client, out: &mut Vec<Finding>) {
    let (title, program) = (client.kind.title, client.kind.program);
    out.push(match &client.installed {
        Installed::Version(version) => {
            // The client adds its name.
            let version = version.trim_end_matches(&format!(" ({title})"));
            Area::Client.info("client-version", format!("{title} {version} is installed"))
        }
        Installed::Silent => {
            let message = format!("`{program}` is on the PATH, but does not say its version");
            Area::Client.info("client-silent", message).next(format!("`{program} --version`"))
        }
        Installed::NotOnPath => {
            let message = format!("`{program}` is not on the PATH of this shell");
            Area::Client.info("client-absent", message)
        }
    });
    out.extend(judge_version(client));
    out.extend(client.kind.variables.block_cap.map(|own| judge_cap(own, client.cap.as_deref())));
}

/// What we know of a client was measured with one version.
fn judge_version(client: &Client) -> Option<Finding> {
    let title = client.kind.title;
    let Installed::Version(version) = &client.installed else { return None };
    match client.kind.evidence {
        Evidence::Run { version: tested } if version.contains(tested) => None,
        Evidence::Run { version: tested } => {
            let message =
                format!("Substrate was tested with {title} {tested}, which is another version");
            Some(Area::Client.info("client-version-untested", message))
        }
        Evidence::Documents => {
            let message =
                format!("Substrate was never tried with {title}: it follows its documentation");
            Some(Area::Client.info("client-untried", message))
        }
    }
}

fn judge_cap(own: BlockCap, cap: Option<&str>) -> Finding {
    let BlockCap { variable, default } = own;
    let says = |n: u32, why: &str| {
        format!("the client stops anyway after {n} blocked Stops in a row ({why})")
    };
    let Some(text) = cap else {
        return Area::Client.info("stop-cap", says(default, "its default"));
    };
    match text.parse() {
        Ok(0) => Area::Client
            .info("stop-cap", format!("{variable}=0: the client has no cap on blocked Stops"))
            .next("without a cap nothing but the hooks themselves ends a loop of blocks"),
        Ok(n) => Area::Client.info("stop-cap", says(n, &format!("{variable}={n}"))),
        Err(_) => Area::Client
            .warning("stop-cap-unreadable", format!("{variable}={text} is not a number"))
            .next(format!("set it to a number, or unset it; the default is {default}")),
    }
}
