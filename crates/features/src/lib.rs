//! The features, one folder each. A feature exports one `const FEATURE` of plain data; `ALL` is the one list.
//!
//! Features never see each other's insides, a client, a clock, a file or the network.

mod agent_init;
pub(crate) mod context;
pub(crate) mod directives;
pub(crate) mod efforts;
mod fleet;
pub mod fuzz;
mod guards;
pub(crate) mod identity;
pub mod journal;
pub(crate) mod locks;
#[cfg(test)]
mod looks;
pub(crate) mod mail;
mod persist;
mod probe;
pub(crate) mod reminders;
pub mod scratchpad;
pub(crate) mod shell;
mod skills;
#[cfg(test)]
mod stage;
mod supervise;
mod todos;
mod work;

pub use identity::is_agent_name;

use substrate_core::Feature;
use substrate_core::settings::{Key, Kind, ProjectMay};

/// Every feature, in the order in which they speak. The journal comes last: it records what the others did.
pub const ALL: &[&Feature] = &[
    &probe::FEATURE,
    &identity::FEATURE,
    &context::FEATURE,
    &agent_init::FEATURE,
    &mail::FEATURE,
    &scratchpad::FEATURE,
    &todos::FEATURE,
    &efforts::FEATURE,
    &directives::FEATURE,
    &locks::FEATURE,
    &guards::FEATURE,
    &skills::FEATURE,
    &reminders::FEATURE,
    &fleet::FEATURE,
    &work::FEATURE,
    &persist::FEATURE,
    &supervise::FEATURE,
    &journal::FEATURE,
];

/// For an event whose caller has gone: it changes nothing but the journal.
pub const RECORD_ONLY: &[&Feature] = &[&journal::FEATURE];

/// What goes on in memory while the database can't be written: guards and leases, and who it is about. The others would
/// promise what they can't keep.
pub const WITHOUT_DISK: &[&Feature] =
    &[&probe::FEATURE, &identity::FEATURE, &locks::FEATURE, &guards::FEATURE];

/// What needs only the event and the settings: for a hook that can have no daemon.
pub const WITHOUT_DAEMON: &[&Feature] = &[&probe::FEATURE, &guards::FEATURE];

/// The settings that belong to no feature.
pub const COMMON_KEYS: &[Key] = &[
    Key {
        name: "profile",
        kind: Kind::Word(&[
            "standard",
            "persistent",
            "scratchpad",
            "engine",
            "locks",
            "reminders",
            "all",
        ]),
        default: "\"standard\"",
        about: "A named set of settings, below your own.",
        project: ProjectMay::Set,
        profiles: &[],
    },
    Key {
        name: "daemon.autostart",
        kind: Kind::Bool,
        default: "true",
        about: "Keep the daemon that a hook or command starts. Without it a daemon stays only for the requests at hand, which makes each about ten times slower.",
        project: ProjectMay::Nothing,
        profiles: &[],
    },
];

/// Every setting there is.
pub fn keys() -> Vec<&'static Key> {
    COMMON_KEYS.iter().chain(ALL.iter().flat_map(|feature| feature.keys)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use substrate_core::Settings;

    #[test]
    fn every_default_fits_its_kind_and_no_key_is_there_twice() {
        let keys = keys();
        let settings = Settings::resolve(&keys, &[]);
        assert_eq!(settings.iter().count(), keys.len());
        assert!(settings.problems.is_empty());
    }

    #[test]
    fn no_two_features_share_a_name_or_a_verb() {
        let mut names: Vec<_> = ALL.iter().map(|feature| feature.name.to_owned()).collect();
        names.extend(ALL.iter().flat_map(|feature| feature.verbs).map(|verb| verb.path.join(" ")));
        let n = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), n);
    }
}
