//! The features, one folder each. A feature exports one `const FEATURE` of plain data; `ALL` is the one list.
//!
//! Features never see each other's insides, a client, a clock, a file or the network.

mod agent_init;
mod answers;
mod calls;
mod charts;
pub(crate) mod commits;
pub(crate) mod context;
pub(crate) mod costs;
pub(crate) mod directives;
pub(crate) mod efforts;
mod fleet;
pub mod fuzz;
mod globs;
pub(crate) mod guards;
pub(crate) mod identity;
pub mod journal;
mod listing;
pub(crate) mod locks;
#[cfg(test)]
mod long_journal;
#[cfg(test)]
mod looks;
mod lookups;
pub(crate) mod mail;
pub mod notify;
pub(crate) mod page;
mod persist;
#[cfg(test)]
mod pointers;
#[cfg(test)]
mod probe;
#[cfg(test)]
mod profiles;
#[cfg(test)]
mod quoting;
pub(crate) mod reminders;
mod retention;
pub mod scratchpad;
pub(crate) mod shell;
mod skills;
pub mod spellings;
#[cfg(test)]
mod stage;
mod supervise;
pub mod team;
mod todos;
mod work;

pub use fleet::tmux_servers;
pub use guards::unreadable_rules;
pub use identity::{is_agent_name, projects, standing};
pub use locks::may_change_leased;

use substrate_core::Feature;
use substrate_core::settings::{Key, Kind, ProjectMay};

/// Every feature, in the order in which they speak. The journal comes last: it records what the others did.
pub const ALL: &[&Feature] = &[
    &identity::FEATURE,
    &context::FEATURE,
    &costs::FEATURE,
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
    &answers::FEATURE,
    &fleet::FEATURE,
    &notify::FEATURE,
    &team::FEATURE,
    &work::FEATURE,
    &persist::FEATURE,
    &supervise::FEATURE,
    &journal::FEATURE,
];

/// For an event whose caller has gone: it changes nothing but the journal.
pub const RECORD_ONLY: &[&Feature] = &[&journal::FEATURE];

/// What goes on in memory while the database can't be written: guards and leases, and who it is about. The others would
/// promise what they can't keep.
pub const WITHOUT_DISK: &[&Feature] = &[&identity::FEATURE, &locks::FEATURE, &guards::FEATURE];

/// What needs only the event and the settings: for a hook that can have no daemon.
pub const WITHOUT_DAEMON: &[&Feature] = &[&guards::FEATURE];

/// The profiles, and what each adds. They are sets of settings: a key says which of them give it another value.
pub const PROFILES: &[(&str, &str)] = &[
    ("standard", "always on: names, mail, leases, guards, the journal, one block for open to-dos"),
    ("persistent", "agents wait in their turn for mail, and finish every to-do before they stop"),
    ("scratchpad", "subagents, and a session that delegates, leave a scratchpad before they stop"),
    ("engine", "efforts, directives beside files, a fresh context in place of a full one"),
    ("locks", "lock files in `.claude/coordination/`, the project at a start, fitting skills"),
    ("reminders", "checklists when agents stop, and logs of sessions in the project"),
    ("all", "every one of them"),
];

const PROFILE_NAMES: [&str; PROFILES.len()] = {
    let mut names = [""; PROFILES.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = PROFILES[at].0;
        at += 1;
    }
    names
};

/// The settings that belong to no feature.
pub const COMMON_KEYS: &[Key] = &[
    Key {
        name: "profile",
        kind: Kind::Profiles(&PROFILE_NAMES),
        default: "\"standard\"",
        about: "Named sets of settings, below your own. They add up, a project's to the user's.",
        project: ProjectMay::Append,
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
    Key {
        name: "ui.autostart",
        kind: Kind::Bool,
        default: "false",
        about: "Turn the dashboard on with the daemon. `substrate ui` opens it then.",
        project: ProjectMay::Nothing,
        profiles: &[],
    },
    Key {
        name: "ui.port",
        kind: Kind::Count,
        default: "0",
        about: "The port of the dashboard on 127.0.0.1. 0: any, and then the same one.",
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

    /// What a project's file may do to each key, and why that takes nothing from the user. A new key belongs in here.
    const OF_A_PROJECT: &[(&str, ProjectMay, &str)] = &[
        (
            "profile",
            ProjectMay::Append,
            "its profiles add to the user's: only what it may turn on counts",
        ),
        ("daemon.autostart", ProjectMay::Nothing, "of the machine"),
        ("ui.autostart", ProjectMay::Nothing, "it opens a port"),
        ("ui.port", ProjectMay::Nothing, "of the machine"),
        ("team.claims_when_away", ProjectMay::Nothing, "of the machine"),
        ("statusline.template", ProjectMay::Nothing, "what the user reads"),
        ("context.window", ProjectMay::Nothing, "of the client"),
        ("context.compacts_at", ProjectMay::Nothing, "of the client"),
        ("context.on_auto_compact", ProjectMay::Nothing, "it has the client started again"),
        (
            "agent-init.on",
            ProjectMay::TurnOn,
            "a feature; git runs nothing that a repository names",
        ),
        ("scratchpad.on", ProjectMay::TurnOn, "a feature"),
        (
            "scratchpad.exempt",
            ProjectMay::Append,
            "which of its agents keep a scratchpad is its own custom",
        ),
        ("todos.block", ProjectMay::TurnOn, "a feature"),
        ("todos.insist", ProjectMay::TurnOn, "a feature"),
        ("efforts.on", ProjectMay::TurnOn, "a feature"),
        ("efforts.warn_at", ProjectMay::Nothing, "it could switch the reminder off"),
        ("efforts.block_at", ProjectMay::Nothing, "it could switch the refusal off"),
        ("efforts.skills", ProjectMay::Append, "more skills begin efforts, never fewer"),
        ("efforts.adopt", ProjectMay::Nothing, "what a session takes on is the user's to say"),
        ("directives.on", ProjectMay::TurnOn, "a feature"),
        ("locks.mode", ProjectMay::Nothing, "it could switch leases off"),
        ("locks.files", ProjectMay::Widen, "more files are leased, never fewer"),
        ("locks.ttl", ProjectMay::Nothing, "it could end leases at once"),
        ("locks.git", ProjectMay::Nothing, "it could switch the refusal off"),
        ("locks.mirror", ProjectMay::TurnOn, "files of its own, inside the project"),
        ("guards.on", ProjectMay::TurnOn, "guards"),
        ("guards.pack", ProjectMay::TurnOn, "guards"),
        ("guards.packs", ProjectMay::Append, "more packs, never fewer"),
        ("guards.allow", ProjectMay::Nothing, "it would switch rules off"),
        ("guards.rules", ProjectMay::Append, "rules refuse, ask and warn; none allows"),
        ("skills.suggest", ProjectMay::TurnOn, "a feature"),
        ("skills.keywords", ProjectMay::Append, "words for the skills"),
        ("reminders.on", ProjectMay::TurnOn, "a feature"),
        ("reminders.stop", ProjectMay::TurnOn, "how often its own words are told, but not never"),
        ("reminders.subagents", ProjectMay::TurnOn, "a feature"),
        (
            "reminders.exempt",
            ProjectMay::Append,
            "which of its agents are reminded is its own custom",
        ),
        ("reminders.reflect", ProjectMay::Set, "words, told as the project's"),
        ("reminders.validate", ProjectMay::Set, "words, told as the project's"),
        ("reminders.reflexion", ProjectMay::Set, "words, told as the project's"),
        (
            "ui.answer",
            ProjectMay::Nothing,
            "what is allowed outside the terminal is the user's to say",
        ),
        ("notify.desktop", ProjectMay::Nothing, "what the user is called for"),
        ("notify.command", ProjectMay::Nothing, "a project names no program to run"),
        ("notify.after", ProjectMay::Nothing, "what the user is called for"),
        ("notify.quiet", ProjectMay::Nothing, "the user's own hours"),
        ("notify.max_per_hour", ProjectMay::Nothing, "what the user is called for"),
        ("fleet.on", ProjectMay::Nothing, "of the machine"),
        ("fleet.idle_is_attention", ProjectMay::Nothing, "what the user is called for"),
        ("fleet.error_colour", ProjectMay::Nothing, "of the user's terminal"),
        ("fleet.attention_colour", ProjectMay::Nothing, "of the user's terminal"),
        ("fleet.working_colour", ProjectMay::Nothing, "of the user's terminal"),
        ("fleet.checked_colour", ProjectMay::Nothing, "of the user's terminal"),
        ("fleet.done_colour", ProjectMay::Nothing, "of the user's terminal"),
        ("work.lease", ProjectMay::Nothing, "it could take work from others"),
        ("persist.mode", ProjectMay::TurnOn, "reachable in another way, but never out of reach"),
        ("persist.poll", ProjectMay::Nothing, "a short wait asks the model again and again"),
        ("journal.max_age", ProjectMay::Nothing, "the journal is the user's"),
        ("journal.max_size", ProjectMay::Nothing, "the journal is the user's"),
        ("journal.max_text", ProjectMay::Nothing, "the journal is the user's"),
        ("journal.project_logs", ProjectMay::TurnOn, "files of its own, inside the project"),
        ("journal.project_logs_max_age", ProjectMay::Nothing, "it could remove logs at once"),
    ];

    #[test]
    fn what_a_project_may_do_is_stated_for_every_key() {
        let stated: Vec<_> = OF_A_PROJECT.iter().map(|(name, may, _)| (*name, *may)).collect();
        for key in keys() {
            assert!(stated.contains(&(key.name, key.project)), "{}: {:?}", key.name, key.project);
        }
        assert_eq!(stated.len(), keys().len());
    }

    /// Settings from a user's file and a project's.
    fn layered(user: &str, project: &str) -> Settings {
        use substrate_core::settings::{Layer, Scope};
        let keys = keys();
        let layer = |scope, text| Layer::read(scope, "f", text, &keys);
        let (user, project) = (layer(Scope::User, user), layer(Scope::Project, project));
        Settings::resolve(&keys, &[&user, &project])
    }

    /// A value for a key that is as little as it can be.
    fn least(kind: Kind) -> Vec<String> {
        match kind {
            Kind::Bool => vec!["false".to_owned()],
            Kind::Span => vec!["\"0s\"".to_owned(), "\"9000d\"".to_owned()],
            Kind::Size => vec!["\"0B\"".to_owned()],
            Kind::Count => vec!["0".to_owned(), "999999".to_owned()],
            Kind::Word(words) => words.iter().map(|word| format!("\"{word}\"")).collect(),
            Kind::Profiles(names) => names
                .iter()
                .map(|name| format!("\"{name}\""))
                .chain(["[]".to_owned(), "[\"locks\", \"standard\"]".to_owned()])
                .collect(),
            Kind::Text | Kind::Colour => vec!["\"x\"".to_owned()],
            Kind::Texts => vec!["[]".to_owned(), "[\"none\"]".to_owned()],
            Kind::Tables => vec!["[]".to_owned()],
        }
    }

    /// Whatever a project writes: what was on stays on, lists only grow, and the rest stays as the user has it.
    #[test]
    fn no_value_of_a_project_takes_anything_away() {
        let settings_of_users = [
            "",
            "profile = \"all\"",
            "profile = [\"persistent\", \"engine\"]",
            "locks.files = [\"**/*.ts\"]\nskills.keywords = [\"a => b\"]\npersist.mode = \"poll\"",
        ];
        let mut n = 0;
        for user in settings_of_users {
            let alone = layered(user, "");
            for (key, value) in keys()
                .iter()
                .flat_map(|key| least(key.kind).into_iter().map(move |value| (key, value)))
            {
                let with = layered(user, &format!("{} = {value}\n", key.name));
                for other in keys() {
                    takes_nothing(other, &alone, &with, &format!("{user}; {} = {value}", key.name));
                }
                n += 1;
            }
        }
        assert!(n > 150, "{n}");
    }

    fn takes_nothing(key: &Key, alone: &Settings, with: &Settings, when: &str) {
        use substrate_core::settings::Value;
        let (before, after) =
            (&alone.get(key.name).unwrap().value, &with.get(key.name).unwrap().value);
        let fine = match (key.project, before, after) {
            _ if before == after => true,
            (_, Value::Texts(before), Value::Texts(after)) if key.name == "profile" => {
                before.iter().all(|name| name == "standard" || after.contains(name))
            }
            (ProjectMay::Nothing, ..) => false,
            (ProjectMay::TurnOn, Value::Bool(_), Value::Bool(on)) => *on,
            (ProjectMay::TurnOn, Value::Word(_), Value::Word(word)) => word != "off",
            (ProjectMay::Widen, Value::Texts(before), Value::Texts(after)) => {
                !before.is_empty() && after.starts_with(before)
            }
            (ProjectMay::Append, Value::Texts(before), Value::Texts(after)) => {
                after.starts_with(before)
            }
            (ProjectMay::Append, Value::Tables(before), Value::Tables(after)) => {
                after.starts_with(before)
            }
            (ProjectMay::Set, ..) => matches!(after, Value::Text(_)),
            _ => false,
        };
        assert!(fine, "{when}: {} was {before:?} and is {after:?}", key.name);
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
