//! What the user chose for our plugin in the client's own settings. It becomes a settings file of its own, below the user's:
//! what `config.toml` says wins, and `substrate config` shows where a value comes from.
//!
//! The client hands its options to the plugin's hooks as variables, but a project's settings can set variables too. So a session
//! that the plugin reports is only the occasion, and the user's own settings file is what counts.

use std::fmt::Write as _;
use std::path::Path;

use substrate_clients::plugin::{self, PluginOption};
use substrate_core::settings::Kind;

use super::client_home;
use crate::config::{Env, Home};
use crate::{fsx, gather};

/// The longest settings file of a client that is read.
const MAX: u64 = 4 << 20;

/// The options that the plugin offers, each a setting of ours.
pub(crate) fn all() -> Vec<PluginOption> {
    let keys = substrate_features::keys();
    let option = |name, title, about, setting: &'static str| {
        let kind = keys.iter().find(|key| key.name == setting)?.kind;
        let values = match kind {
            Kind::Word(words) => words,
            // The first one is always in force.
            Kind::Profiles(names) => names.get(1..)?,
            _ => return None,
        };
        Some(PluginOption { name, title, about, setting, values })
    };
    let all = [
        option(
            "locks",
            "File leases",
            "What happens when an agent edits a file that another one holds: refuse it, warn, or nothing.",
            "locks.mode",
        ),
        option(
            "persistence",
            "Idle agents",
            "What an agent does when it has nothing to do: wait for mail in its turn, be woken by mail, or end.",
            "persist.mode",
        ),
        option(
            "profile",
            "Profile",
            "A set of features to turn on, such as efforts or scratchpads. `substrate config` shows what it changes.",
            "profile",
        ),
    ];
    all.into_iter().flatten().collect()
}

/// Brings our file in line with the client's settings. Returns whether it changed.
pub(crate) fn follow(env: &Env, home: &Home, is_reported: bool) -> std::io::Result<bool> {
    let file = home.plugin_options();
    let before = read(&file);
    let mut wanted = String::new();
    for known in plugin::ALL {
        let client = substrate_clients::named(known.client);
        let Some(folder) = client.and_then(|client| client_home(client, env).ok()) else {
            continue;
        };
        let is_installed = || {
            read(&folder.join(known.registry)).and_then(|text| (known.installed)(&text)).is_some()
        };
        if is_reported || is_installed() {
            let settings = read(&folder.join(known.settings)).unwrap_or_default();
            wanted.push_str(&toml(&all(), &(known.options)(&settings)));
        }
    }
    if before.as_deref().unwrap_or_default() == wanted {
        return Ok(false);
    }
    if wanted.is_empty() {
        fsx::remove(&file)?;
    } else {
        fsx::replace(&file, format!("{HEAD}{wanted}").as_bytes(), 0o600)?;
    }
    Ok(true)
}

const HEAD: &str = "# Chosen for Substrate's plugin in the client's settings. Changes here are overwritten; yours go into config.toml.\n";

fn read(file: &Path) -> Option<String> {
    let (opened, n_bytes) = gather::open(file).ok()?;
    let text = (n_bytes <= MAX).then(|| std::io::read_to_string(opened).ok())??;
    Some(text.strip_prefix(HEAD).map(str::to_owned).unwrap_or(text))
}

/// Our settings for what was chosen. Anything that is not offered is left out.
fn toml(offered: &[PluginOption], chosen: &[(String, String)]) -> String {
    let mut out = String::new();
    for option in offered {
        let mut values = chosen.iter().filter(|(name, _)| name == option.name);
        let value =
            values.find_map(|(_, value)| option.values.iter().find(|known| *known == value));
        if let Some(value) = value {
            let _infallible = writeln!(out, "{} = \"{value}\"", option.setting);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::chosen(&[("locks", "warn"), ("persistence", "off")], "locks.mode = \"warn\"\npersist.mode = \"off\"\n")]
    #[case::a_profile(&[("profile", "engine")], "profile = \"engine\"\n")]
    #[case::as_set(&[("locks", "as set")], "")]
    #[case::unknown(&[("locks", "never\"\n[x]"), ("guards", "off")], "")]
    #[case::nothing(&[], "")]
    fn only_what_is_offered_becomes_a_setting(
        #[case] chosen: &[(&str, &str)],
        #[case] expected: &str,
    ) {
        let chosen: Vec<(String, String)> =
            chosen.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        assert_eq!(toml(&all(), &chosen), expected);
    }

    #[test]
    fn every_option_has_its_setting() {
        assert_eq!(all().len(), 3);
    }
}
