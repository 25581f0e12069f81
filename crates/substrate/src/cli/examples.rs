//! The examples in `--help`, by the words of the command. Tests type each of them, and miss none.

/// At least one line for every command that help shows.
const EXAMPLES: &[(&[&str], &[&str])] = &[
    (&["up"], &["substrate up", "substrate up --yes"]),
    (&["down"], &["substrate down"]),
    (&["uninstall"], &["substrate uninstall", "substrate uninstall --delete-data --yes"]),
    (
        &["hooks", "install"],
        &[
            "substrate hooks install --dry-run",
            "substrate hooks install --profile locks,reminders",
            "substrate hooks install --project --allow-commands",
        ],
    ),
    (&["hooks", "status"], &["substrate hooks status"]),
    (
        &["hooks", "uninstall"],
        &["substrate hooks uninstall", "substrate hooks uninstall --project --dry-run"],
    ),
    (&["config", "list"], &["substrate config", "substrate config list --format json"]),
    (&["config", "get"], &["substrate config get journal.max_age"]),
    (&["config", "check"], &["substrate config check"]),
    (
        &["config", "set"],
        &[
            "substrate config set journal.max_age 7d",
            "substrate config set --project profile locks",
        ],
    ),
    (&["config", "edit"], &["substrate config edit", "substrate config edit --local"]),
    (&["demo"], &["substrate demo"]),
    (&["plugin", "dir"], &["substrate plugin dir"]),
    (&["plugin", "marketplace"], &["substrate plugin marketplace"]),
    (&["import"], &["substrate import beads .", "substrate import agent-mail mailbox --apply"]),
    (&["man"], &["substrate man", "substrate man work claim"]),
    (&["hooks", "snippet"], &["substrate hooks snippet"]),
    (&["mcp"], &["substrate mcp", "substrate mcp --print-config codex"]),
    (
        &["send"],
        &[
            "substrate send NobleLion \"The tests pass now.\"",
            "substrate send --to NobleLion,EpicQuail --subject \"Review?\" --body-file notes.md",
            "substrate send User \"Which port?\" --priority urgent",
            "substrate send NobleLion@laptop \"The tests pass here.\"",
        ],
    ),
    (&["inbox"], &["substrate inbox", "substrate inbox --all -n 20", "substrate inbox --peek"]),
    (&["read"], &["substrate read 42"]),
    (&["reply"], &["substrate reply 42 \"Done.\"", "substrate reply 42 --all --body-file -"]),
    (&["mail", "send"], &["substrate mail send NobleLion \"The tests pass now.\""]),
    (&["mail", "inbox"], &["substrate mail inbox --all"]),
    (&["mail", "read"], &["substrate mail read 42"]),
    (&["mail", "reply"], &["substrate mail reply 42 \"Done.\""]),
    (&["mail", "list"], &["substrate mail list", "substrate mail list -n 5 --format json"]),
    (&["mail", "thread"], &["substrate mail thread 42"]),
    (&["mail", "search"], &["substrate mail search parser buil*"]),
    (&["mail", "status"], &["substrate mail status", "substrate mail status 42"]),
    (&["mail", "ack"], &["substrate mail ack 42 43"]),
    (&["mail", "star"], &["substrate mail star 42", "substrate mail star 42 --off"]),
    (&["mail", "snooze"], &["substrate mail snooze 42 --until 2h"]),
    (&["mail", "archive"], &["substrate mail archive 42 43"]),
    (&["mail", "trash"], &["substrate mail trash 42"]),
    (
        &["mail", "broadcast"],
        &["substrate mail broadcast --subject Freeze --body \"No merges until 14:00.\""],
    ),
    (
        &["mail", "publish"],
        &["substrate mail publish builds --subject Broken --body \"main is red\""],
    ),
    (&["mail", "subscribe"], &["substrate mail subscribe builds"]),
    (&["mail", "unsubscribe"], &["substrate mail unsubscribe builds"]),
    (
        &["mail", "topic", "create"],
        &["substrate mail topic create builds --about \"State of main\""],
    ),
    (&["mail", "topic", "list"], &["substrate mail topic list"]),
    (&["mail", "poll"], &["substrate mail poll", "substrate mail poll --wait 30s --quiet"]),
    (&["mail", "watch"], &["substrate mail watch --timeout 10m"]),
    (&["needs"], &["substrate needs", "substrate needs --whole"]),
    (
        &["fleet", "list"],
        &["substrate fleet", "substrate fleet --watch", "substrate fleet list --all"],
    ),
    (&["top"], &["substrate top", "substrate top --inline --bell"]),
    (&["notify", "status"], &["substrate notify status"]),
    (&["notify", "test"], &["substrate notify test"]),
    (
        &["hub", "serve"],
        &[
            "substrate hub serve --listen 0.0.0.0:4433",
            "substrate hub serve --database postgres://hub@localhost/hub",
        ],
    ),
    (
        &["hub", "invite"],
        &["substrate hub invite", "substrate hub invite --name laptop --address hub.example:4433"],
    ),
    (&["hub", "machines"], &["substrate hub machines"]),
    (&["hub", "revoke"], &["substrate hub revoke laptop"]),
    (&["hub", "rotate"], &["substrate hub rotate laptop"]),
    (&["hub", "status"], &["substrate hub status"]),
    (&["team", "join"], &["substrate team join https://hub.example:4433#TOKEN --name laptop"]),
    (&["team", "leave"], &["substrate team leave"]),
    (&["team", "status"], &["substrate team status"]),
    (&["team", "members"], &["substrate team members"]),
    (
        &["claim"],
        &[
            "substrate claim staging-db --ttl 20m -- ./migrate.sh",
            "substrate claim list",
            "substrate claim release staging-db",
        ],
    ),
    (&["ui", "open"], &["substrate ui", "substrate ui open --no-open --port 4747"]),
    (&["ui", "stop"], &["substrate ui stop"]),
    (&["ui", "keys"], &["substrate ui keys"]),
    (&["ui", "revoke"], &["substrate ui revoke 3", "substrate ui revoke --all"]),
    (&["ui", "pair"], &["substrate ui pair --name phone --for 8h"]),
    (&["fleet", "lanes"], &["substrate fleet lanes --span 1h", "substrate fleet lanes NobleLion"]),
    (&["fleet", "story"], &["substrate fleet story NobleLion"]),
    (&["fleet", "check"], &["substrate fleet check NobleLion"]),
    (&["fleet", "go"], &["substrate fleet go NobleLion"]),
    (
        &["answer"],
        &[
            "substrate answer",
            "substrate answer 3 allow",
            "substrate answer 3 deny --reason \"use a branch\"",
            "substrate answer 4 --choose \"the second plan\"",
        ],
    ),
    (&["agent", "list"], &["substrate agent list", "substrate agent list --all"]),
    (&["agent", "show"], &["substrate agent show NobleLion"]),
    (&["agent", "whoami"], &["substrate agent whoami"]),
    (&["agent", "discover"], &["substrate agent discover"]),
    (&["agent", "delete"], &["substrate agent delete NobleLion"]),
    (&["agent", "sessions"], &["substrate agent sessions"]),
    (&["agent", "rename"], &["substrate agent rename Reviewer --agent NobleLion"]),
    (&["agent", "ensure"], &["substrate agent ensure --session-id abc"]),
    (&["agent", "save"], &["substrate agent save --session-id abc"]),
    (&["agent", "restore"], &["substrate agent restore --session-id abc --agent NobleLion"]),
    (
        &["work", "list"],
        &["substrate work", "substrate work list --state queued", "substrate work list --all"],
    ),
    (&["work", "board"], &["substrate work board"]),
    (&["work", "show"], &["substrate work show 3"]),
    (
        &["work", "add"],
        &[
            "substrate work add \"Fix the parser\" --body \"See issue 12.\"",
            "substrate work add --jsonl items.jsonl",
        ],
    ),
    (&["work", "claim"], &["substrate work claim", "substrate work claim --wait 5m"]),
    (&["work", "done"], &["substrate work done 3 --result \"Fixed in 1a2b3c\""]),
    (&["work", "release"], &["substrate work release 3 --why \"Needs a decision\""]),
    (
        &["run"],
        &[
            "substrate run -- claude",
            "substrate run --agent NobleLion -- claude --model opus",
            "substrate run --persist -- env FOO=1 claude",
        ],
    ),
    (&["tmux", "on"], &["substrate tmux on", "substrate tmux on --socket /tmp/tmux-1000/default"]),
    (&["tmux", "off"], &["substrate tmux off"]),
    (&["tmux", "status"], &["substrate tmux status"]),
    (&["locks", "list"], &["substrate locks", "substrate locks list --all"]),
    (&["locks", "show"], &["substrate locks show src/lib.rs"]),
    (
        &["locks", "acquire"],
        &[
            "substrate locks acquire src/lib.rs --reason \"Split the parser\"",
            "substrate locks acquire 'src/api/**' --ttl 30m",
        ],
    ),
    (
        &["locks", "release"],
        &["substrate locks release src/lib.rs", "substrate locks release --all"],
    ),
    (&["locks", "wait"], &["substrate locks wait src/lib.rs --timeout 5m"]),
    (&["locks", "history"], &["substrate locks history src/lib.rs"]),
    (&["locks", "check"], &["substrate locks check src/lib.rs src/main.rs"]),
    (&["locks", "guard", "install"], &["substrate locks guard install"]),
    (&["locks", "guard", "uninstall"], &["substrate locks guard uninstall"]),
    (&["locks", "guard", "status"], &["substrate locks guard status"]),
    (&["guard", "list"], &["substrate guard", "substrate guard list --format json"]),
    (&["guard", "check"], &["substrate guard check"]),
    (&["guard", "test"], &["substrate guard test commands.txt", "substrate guard test -"]),
    (&["guard", "explain"], &["substrate guard explain \"git push --force\""]),
    (&["guard", "backtest"], &["substrate guard backtest --since 7d"]),
    (
        &["effort", "start"],
        &["substrate effort start brainstorm --task tasks/parser --title \"A faster parser\""],
    ),
    (&["effort", "phase"], &["substrate effort phase", "substrate effort phase review"]),
    (&["effort", "log"], &["substrate effort log \"The lexer is done; next: errors.\""]),
    (&["effort", "inject"], &["substrate effort inject \"Use the new API.\" --effort 3"]),
    (&["effort", "preload"], &["substrate effort preload docs/design.md src/lib.rs"]),
    (&["effort", "dehydrate"], &["substrate effort dehydrate --body-file handover.md"]),
    (&["effort", "resume"], &["substrate effort resume", "substrate effort resume 3"]),
    (&["effort", "finish"], &["substrate effort finish"]),
    (&["effort", "show"], &["substrate effort show", "substrate effort show 3 --messages"]),
    (&["effort", "list"], &["substrate effort list", "substrate effort list --all"]),
    (&["effort", "task", "list"], &["substrate effort task list --find parser"]),
    (&["effort", "task", "show"], &["substrate effort task show tasks/parser"]),
    (
        &["effort", "task", "set"],
        &[
            "substrate effort task set tasks/parser --title \"A faster parser\" --keywords lexer,speed",
        ],
    ),
    (&["effort", "session", "list"], &["substrate effort session list --all"]),
    (&["effort", "session", "show"], &["substrate effort session show"]),
    (&["scratchpad"], &["substrate scratchpad"]),
    (&["scratchpad", "path"], &["substrate scratchpad path reviewer"]),
    (&["scratchpad", "show"], &["substrate scratchpad show", "substrate scratchpad show reviewer"]),
    (&["scratchpad", "check"], &["substrate scratchpad check reviewer"]),
    (&["scratchpad", "init"], &["substrate scratchpad init reviewer"]),
    (&["reminders", "list"], &["substrate reminders"]),
    (&["reminders", "show"], &["substrate reminders show reflect"]),
    (
        &["cost"],
        &["substrate cost", "substrate cost --by day --since 30d", "substrate cost --by model"],
    ),
    (&["doctor"], &["substrate doctor", "substrate doctor --fix"]),
    (
        &["journal", "list"],
        &[
            "substrate journal",
            "substrate journal list --verdict deny --since 2h",
            "substrate journal list --limit 10000 --format json > journal.json",
        ],
    ),
    (&["journal", "tail"], &["substrate journal tail", "substrate journal tail --tool Bash"]),
    (&["journal", "show"], &["substrate journal show 120"]),
    (&["journal", "refused"], &["substrate journal refused -n 5"]),
    (&["journal", "search"], &["substrate journal search parser buil*"]),
    (&["journal", "stats"], &["substrate journal stats --since 7d"]),
    (&["journal", "health"], &["substrate journal health", "substrate journal health --since 24h"]),
    (&["daemon", "run"], &["substrate daemon run"]),
    (&["daemon", "start"], &["substrate daemon start"]),
    (&["daemon", "stop"], &["substrate daemon stop"]),
    (&["daemon", "restart"], &["substrate daemon restart"]),
    (&["daemon", "status"], &["substrate daemon status"]),
    (&["db", "check"], &["substrate db check"]),
    (&["db", "backup"], &["substrate db backup", "substrate db backup before-upgrade.db"]),
    (&["db", "restore"], &["substrate db restore", "substrate db restore before-upgrade.db"]),
    (&["db", "path"], &["substrate db path"]),
    (
        &["hook"],
        &[
            "substrate hook PreToolUse --explain < payload.json",
            "substrate hook Stop < payload.json",
        ],
    ),
    (
        &["completions"],
        &["substrate completions bash > ~/.local/share/bash-completion/completions/substrate"],
    ),
    (&["version"], &["substrate version"]),
    (&["heartbeat"], &["substrate heartbeat --session-id abc"]),
    (&["statusline"], &["substrate statusline < status.json"]),
];

/// The most that the help of a group shows.
const MAX_OF_GROUP: usize = 4;

/// The examples of a command; of a group, the first of each command in it.
pub(super) fn of(path: &[&str]) -> Vec<&'static str> {
    match EXAMPLES.iter().find(|(known, _)| *known == path) {
        Some((_, lines)) => lines.to_vec(),
        None => {
            let below = EXAMPLES.iter().filter(|(known, _)| known.starts_with(path));
            below.filter_map(|(_, lines)| lines.first().copied()).take(MAX_OF_GROUP).collect()
        }
    }
}

/// Every line.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    EXAMPLES.iter().flat_map(|(_, lines)| *lines).copied()
}

#[cfg(test)]
mod tests {
    use super::super::{layout, table};
    use super::*;

    #[test]
    fn every_command_that_help_shows_has_an_example_and_every_example_can_be_typed() {
        for place in layout::places().iter().filter(|place| place.elsewhere.is_none()) {
            if layout::is_hidden(place.path)
                || ["supervise", "__reference"].contains(&place.path[0])
            {
                continue;
            }
            assert!(EXAMPLES.iter().any(|(path, _)| *path == place.path), "{:?}", place.path);
        }
        for (path, lines) in EXAMPLES {
            assert!(table::typed(path).is_some(), "{path:?}");
            for line in *lines {
                let words = split(line);
                let matches = super::super::command().try_get_matches_from(&words);
                let matches = matches.unwrap_or_else(|error| panic!("{line}: {error}"));
                let (typed, _) = table::words(&matches);
                assert!(table::typed(&typed).is_some(), "{line}");
                assert!(path.starts_with(&typed), "`{line}` is an example of {path:?}");
            }
        }
    }

    /// As a shell would, without what it redirects.
    fn split(line: &str) -> Vec<String> {
        let line = line.split(" < ").next().unwrap_or(line).split(" > ").next().unwrap_or(line);
        let mut out = vec![String::new()];
        let mut quote = None;
        for c in line.chars() {
            match (c, quote) {
                ('"' | '\'', None) => quote = Some(c),
                (c, Some(open)) if c == open => quote = None,
                (' ', None) => out.push(String::new()),
                (c, _) => out.last_mut().unwrap().push(c),
            }
        }
        out
    }
}
