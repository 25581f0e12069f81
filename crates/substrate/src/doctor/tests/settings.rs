//! The client's settings, in a small test format.

use std::path::Path;

use substrate_clients::install::{
    Drops, Edited, Finding as Dropped, Registered, SettingsError, SettingsFormat,
};

use super::super::settings::read;
use super::Severity::{Error, Info, Warning};
use super::*;
use crate::config::Env;

/// One `EVENT COMMAND` per line. A line with `!` drops the file, one with `?` drops itself.
const LINES: SettingsFormat = SettingsFormat {
    add: |text, _| Ok(Edited { text: text.to_owned(), is_empty: false }),
    remove: |text, _| Ok(Edited { text: text.to_owned(), is_empty: false }),
    without_status_line: |_| Ok(None),
    registered: |text| {
        if text.contains('!') {
            let [message, advice] = ["broken", "mend it"].map(str::to_owned);
            return Err(SettingsError { line: 1, message, advice });
        }
        let each = text.lines().filter_map(|line| line.split_once(' '));
        Ok(each
            .map(|(event, command)| Registered {
                event: event.to_owned(),
                command: command.to_owned(),
            })
            .collect())
    },
    findings: |text| {
        let each = (1..).zip(text.lines()).filter_map(|(line, text)| {
            let drops = match text.chars().next()? {
                '!' => Drops::File,
                '?' => Drops::Entry,
                _ => return None,
            };
            Some(Dropped { line, message: "malformed".to_owned(), drops })
        });
        each.collect()
    },
    rules: |_| Vec::new(),
    hooks_off: |_| None,
};

/// A user's settings file with that text.
fn user(text: &str) -> Vec<Scope> {
    let mut scope = scope("user", &[]);
    let env = Env::default();
    scope.content = Content::Read(read(text, &LINES, &env, Path::new("/bin/sh")));
    vec![scope]
}

/// The lines of a healthy file, with another program.
fn all_run(program: &str) -> Vec<Scope> {
    user(&["Stop", "Stop", "PreToolUse"].map(|event| format!("{event} {program}\n")).concat())
}

#[test]
fn registration() {
    assert_each(&[
        ("client-settings-fine", Severity::Ok, |f| f.scopes.all = all_run("/bin/sh")),
        ("hooks-not-installed", Warning, |f| f.scopes.all = user("")),
        ("hooks-not-installed", Warning, |f| f.scopes.all[0].content = Content::Absent),
        ("hooks-not-installed", Info, |f| {
            (f.client.is_here, f.scopes.all[0].content) = (false, Content::Absent);
        }),
        ("client-settings-unreadable", Error, |f| {
            f.scopes.all.push(scope("project", &[]));
            f.scopes.all[1].content = Content::Unreadable("no".to_owned());
        }),
        ("client-settings-dropped", Error, |f| f.scopes.all.extend(user("!\nStop /bin/sh"))),
        ("client-entry-dropped", Warning, |f| f.scopes.all.extend(user("?"))),
        ("hooks-incomplete", Warning, |f| f.scopes.all = user("Stop /bin/sh\nStop /bin/sh")),
        ("hooks-incomplete", Warning, |f| f.scopes.all = user("Stop /bin/sh\nPreToolUse /bin/sh")),
        ("registered-program-missing", Error, |f| {
            f.scopes.all = all_run("/no/such/substrate-hook");
        }),
        ("registered-program-not-executable", Error, |f| f.scopes.all = all_run("/etc/passwd")),
        ("registered-program-not-on-path", Warning, |f| f.scopes.all = all_run("substrate-hook x")),
        ("registered-program-other", Info, |f| {
            let Content::Read(read) = &mut f.scopes.all[0].content else { return };
            read.hooks[0].program = Runs::Other(PathBuf::from("/old/substrate-hook"));
        }),
        ("hooks-disabled", Error, |f| {
            let Content::Read(read) = &mut f.scopes.all[0].content else { return };
            read.hooks_off = Some("disableAllHooks");
        }),
    ]);
}

#[test]
fn a_file_that_the_client_drops_has_no_hooks_and_says_where() {
    let findings = found(|f| f.scopes.all = user("Stop /bin/sh\n!"));
    let wrong: Vec<_> = findings
        .iter()
        .filter(|finding| finding.severity >= Warning)
        .map(|finding| finding.id)
        .collect();
    assert_eq!(wrong, ["client-settings-dropped", "hooks-not-installed"]);
    let told = findings.iter().find(|finding| finding.id == "client-settings-dropped").unwrap();
    assert!(told.message.contains("settings.json` line 2: malformed"), "{}", told.message);
}

#[test]
fn an_entry_removed_by_hand_is_named_with_the_scope_that_lacks_it() {
    let findings =
        found(|f| f.scopes.all = vec![scope("user", &[]), scope("local", &["Stop", "PreToolUse"])]);
    let told = findings.iter().find(|finding| finding.id == "hooks-incomplete").unwrap();
    assert!(told.message.ends_with(": Stop"), "one of two is missing: {}", told.message);
    assert!(told.next.as_ref().unwrap().contains("hooks install --local"), "{told:?}");
}
