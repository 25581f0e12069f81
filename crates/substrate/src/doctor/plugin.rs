//! Which carrier brings the hooks: the client's settings, a plugin, or both.
//!
//! A client runs on without a plugin whose folder is gone, and says nothing. So a plugin alone is not enough.

use std::path::PathBuf;

use substrate_clients::plugin;

use super::finding::{Area, Finding};
use crate::config::Env;
use crate::hooks::client_home;

/// Our plugin, as a client has it.
#[derive(Clone, Debug)]
pub(crate) struct Carrier {
    pub(super) title: &'static str,
    pub(super) folder: PathBuf,
    /// Its hooks are there.
    pub(super) is_whole: bool,
}

pub(super) fn look(env: &Env) -> Option<Carrier> {
    plugin::ALL.iter().find_map(|known| {
        let client = substrate_clients::named(known.client)?;
        let registry = client_home(client, env).ok()?.join(known.registry);
        let folder = PathBuf::from((known.installed)(&std::fs::read_to_string(registry).ok()?)?);
        let is_whole = folder.join(known.hooks).is_file();
        Some(Carrier { title: client.title, folder, is_whole })
    })
}

pub(super) fn judge(carrier: Option<&Carrier>, in_settings: bool, out: &mut Vec<Finding>) {
    let Some(Carrier { title, folder, is_whole }) = carrier else { return };
    let folder = folder.display();
    if !is_whole {
        let but = if in_settings { "the settings still carry them" } else { "no hook runs at all" };
        let message = format!(
            "the plugin of {title} has lost its hooks (`{folder}`): the client says nothing of it, and {but}"
        );
        let finding = match in_settings {
            true => Area::Client.warning("plugin-gone", message),
            false => Area::Client.error("plugin-gone", message),
        };
        let next =
            "`substrate plugin dir` writes it again; `substrate hooks install` does not need it";
        out.push(finding.next(next));
    } else if in_settings {
        let message = format!(
            "the settings and the plugin of {title} both carry the hooks; each event acts once"
        );
        out.push(Area::Client.ok("carriers", message));
    } else {
        let message = format!(
            "only the plugin of {title} carries the hooks (`{folder}`): if that folder goes, they stop and nothing says so"
        );
        out.push(Area::Client.warning("plugin-alone", message).next("`substrate hooks install`"));
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::both(true, true, "carriers")]
    #[case::alone(true, false, "plugin-alone")]
    #[case::gone(false, true, "plugin-gone")]
    #[case::gone_and_alone(false, false, "plugin-gone")]
    fn a_plugin_is(#[case] is_whole: bool, #[case] in_settings: bool, #[case] expected: &str) {
        let folder = PathBuf::from("/state/plugin");
        let carrier = Carrier { title: "a client", folder, is_whole };
        let mut out = Vec::new();
        judge(Some(&carrier), in_settings, &mut out);
        let said = format!("{out:?}");
        assert!(said.contains(expected), "{said}");
        assert_eq!(out.len(), 1);
    }

    #[test]
    fn without_a_plugin_nothing_is_said() {
        let mut out = Vec::new();
        judge(None, false, &mut out);
        assert!(out.is_empty());
    }
}
