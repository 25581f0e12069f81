//! Where commands are typed: under which heading and in which group help shows them, and which older spellings still work.

use std::sync::LazyLock;

use substrate_features::spellings::MOVED;

use super::table::{self, Definition};

/// What `substrate --help` shows, by heading. Any other first word is hidden: plumbing, or an older spelling.
pub(super) const HEADINGS: &[(&str, &[&str])] = &[
    ("Setup", &["up", "down", "uninstall", "hooks", "config"]),
    ("Mail", &["send", "inbox", "read", "reply", "mail"]),
    ("Fleet", &["top", "ui", "needs", "answer", "fleet", "agent", "work", "run"]),
    ("Safety", &["locks", "guard"]),
    ("Memory", &["effort", "scratchpad"]),
    ("Inspect", &["cost", "doctor", "journal"]),
];

/// What groups are about.
const GROUPS: &[(&[&str], &str)] = &[
    (&["hooks"], "Register Substrate's hooks with a client, inspect them, remove them"),
    (&["plugin"], "Write a client's plugin that carries the hooks, the skill and the tools"),
    (&["config"], "Show, check and change settings"),
    (&["mail"], "Send, read, search and file messages"),
    (&["mail", "topic"], "Create and list topics"),
    (&["fleet"], "See which agents are working, waiting or done"),
    (&["notify"], "See where notifications go, and try them"),
    (&["ui"], "Open the dashboard in a browser, and manage its keys"),
    (&["agent"], "List agents, see who you are, rename or delete an agent"),
    (&["work"], "Share a queue of work between agents"),
    (&["tmux"], "Colour tmux panes by what their agents are doing"),
    (&["locks"], "See, take and release leases on files"),
    (&["locks", "guard"], "Refuse commits of files that other agents hold"),
    (&["guard"], "Inspect and test the rules that refuse or question tool calls"),
    (&["effort"], "Follow a skill's phases with a log that outlives the context window"),
    (&["effort", "task"], "List and describe tasks, the folders that efforts write to"),
    (&["effort", "session"], "Show the context windows of sessions and their subagents"),
    (&["scratchpad"], "Show, check and start agents' daily scratchpads"),
    (&["reminders"], "Show the reminders that agents get, and their wording"),
    (&["journal"], "Query the record of every event"),
    (&["daemon"], "Control the local daemon, which starts by itself when needed"),
    (&["hub"], "Serve a team of machines, and decide which may join"),
    (&["team"], "Join a team of machines, and see what their agents do"),
    (&["db"], "Check, back up and restore the database"),
    (&["identity"], "Show and change which agent a session is"),
    (&["topic"], "Create and list topics"),
    (&["task"], "List and describe tasks"),
    (&["session"], "Show the context windows of sessions"),
    (&["supervise"], "What `substrate run` tells the daemon"),
];

/// Other programs run these: git, tmux, `substrate run` and the daemon itself.
const PLUMBING: &[&[&str]] = &[
    &["locks", "guard", "run"],
    &["plugin", "publish"],
    &["notify", "due"],
    &["notify", "told"],
    &["notify", "noted"],
    &["team", "seen"],
    &["team", "due"],
    &["team", "receipts"],
    &["team", "arrived"],
    &["team", "fates"],
    &["team", "left"],
    &["team", "claim"],
    &["team", "renew"],
    &["team", "release"],
    &["team", "claims"],
    &["team", "answered"],
];

/// One way to type a command.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) path: &'static [&'static str],
    pub(super) definition: &'static Definition,
    /// Where help shows the command, if it is not here.
    pub(super) elsewhere: Option<&'static [&'static str]>,
    /// The group's name alone means this command.
    pub(super) is_default: bool,
}

impl Place {
    /// The place that help shows; an older spelling shares its examples.
    pub(super) fn shown(&self) -> &'static [&'static str] {
        self.elsewhere.unwrap_or(self.path)
    }
}

static PLACES: LazyLock<Vec<Place>> = LazyLock::new(|| {
    let mut out = Vec::new();
    for (from, to) in MOVED {
        if let Some(definition) = table::all().iter().find(|known| known.path == *from) {
            // The default of the group that it comes to stays the default.
            let is_default = definition.is_default && !has_default(group(to));
            out.push(Place { path: to, definition, elsewhere: None, is_default });
        }
    }
    for definition in table::all() {
        let moved = MOVED.iter().find(|(from, _)| *from == definition.path).map(|(_, to)| *to);
        let is_default = definition.is_default;
        out.push(Place { path: definition.path, definition, elsewhere: moved, is_default });
    }
    out
});

fn group(path: &'static [&'static str]) -> &'static [&'static str] {
    path.split_last().map_or(&[], |(_, group)| group)
}

fn has_default(of: &[&str]) -> bool {
    table::all().iter().any(|known| known.is_default && group(known.path) == of)
}

/// Every way to type every command.
pub(super) fn places() -> &'static [Place] {
    &PLACES
}

/// What a group is about.
pub(super) fn about(group: &[&str]) -> &'static str {
    GROUPS.iter().find(|(path, _)| *path == group).map_or("", |(_, about)| about)
}

/// Whether help leaves these words out.
pub(super) fn is_hidden(path: &[&str]) -> bool {
    let is_top = |name: &str| HEADINGS.iter().any(|(_, names)| names.contains(&name));
    match path {
        [name] => !is_top(name),
        path => PLUMBING.contains(&path),
    }
}

#[cfg(test)]
mod tests {
    use substrate_features::spellings::SHORT;

    use super::*;

    #[test]
    fn only_a_few_commands_are_shown_and_each_of_them_exists_once() {
        let shown: Vec<&str> = HEADINGS.iter().flat_map(|(_, names)| *names).copied().collect();
        assert!(shown.len() <= 25, "{}", shown.len());
        for name in &shown {
            assert_eq!(shown.iter().filter(|other| *other == name).count(), 1, "{name}");
            assert!(places().iter().any(|place| place.path[0] == *name), "{name}");
        }
    }

    #[test]
    fn what_is_moved_or_hidden_exists_and_no_two_commands_share_a_place() {
        for path in MOVED.iter().map(|(from, _)| from).chain(PLUMBING) {
            assert!(table::all().iter().any(|known| known.path == *path), "{path:?}");
        }
        for place in places() {
            let n = places().iter().filter(|other| other.path == place.path).count();
            assert_eq!(n, 1, "{:?}", place.path);
        }
    }

    /// Texts of features name commands as `spellings` has them, so help must show them so.
    #[test]
    fn help_shows_every_command_as_texts_spell_it() {
        for (from, to) in MOVED {
            assert!(!is_hidden(&to[..1]), "{to:?}");
            let is_short = matches!(from, [name] if SHORT.contains(name));
            assert_eq!(is_hidden(&from[..1]), !is_short, "{from:?}");
        }
    }

    #[test]
    fn every_group_says_what_it_is_about() {
        for place in places() {
            for n in 1..place.path.len() {
                let group = &place.path[..n];
                assert!(!about(group).is_empty(), "{group:?}");
            }
        }
        for (group, _) in GROUPS {
            let is_group =
                |place: &Place| place.path.len() > group.len() && place.path.starts_with(group);
            assert!(places().iter().any(is_group), "{group:?}");
        }
    }

    /// Names of groups lead to their default, older names to the same command.
    #[test]
    fn every_spelling_leads_to_its_command() {
        for (words, expected) in [
            ("star", "star"),
            ("mail star", "star"),
            ("journal", "journal list"),
            ("identity", "identity current"),
            ("agent", "agent list"),
            ("agent whoami", "identity current"),
            ("agent rename", "identity rename"),
            ("effort task list", "task list"),
            ("scratchpad", "scratchpad"),
            ("tmux on", "tmux on"),
        ] {
            let words: Vec<&str> = words.split(' ').collect();
            let found = table::typed(&words).map(|definition| definition.path.join(" "));
            assert_eq!(found.as_deref(), Some(expected), "{words:?}");
        }
        assert!(table::typed(&["mail"]).is_none());
        assert!(table::typed(&["no-such"]).is_none());
    }
}
