//! An answer without a daemon: from the event and the settings alone.
//!
//! Guards still refuse. The person is asked about calls that guards can't judge. The database is never touched.

use std::sync::mpsc;
use std::time::Duration;

use ipc::{HookRequest, out};
use substrate_clients::Answer;
use substrate_core::{Event, EventKind, Settings, ToolClass, Wish, engine};
use substrate_store::{Durability, Writer};

use super::trace;
use crate::config::{Home, SettingsFiles};
use crate::error::{AppError, Result};
use crate::host::{self, Considered, Decoded, Gathered, Host, Prepared};
use crate::machine::Machine;
use crate::{clock, gather};

/// How long reading settings and facts may take: they may be on a disk that hangs.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// Why no daemon answered.
#[derive(Debug)]
pub(super) enum Failure {
    /// None can run.
    NoDaemon(AppError),
    /// One runs, but the machine is too busy for it.
    Late,
}

/// Prints the answer. Returns the exit code.
pub(super) fn answer(home: Option<&Home>, request: &HookRequest<'_>, why: &Failure) -> u8 {
    let (tell, told) = mpsc::channel();
    let body = request.bytes();
    let (settings_home, without_lease) = (home.cloned(), without_lease(why));
    // A thread of its own: a disk that hangs can't be interrupted.
    std::thread::spawn(move || {
        tell.send(considered(settings_home.as_ref(), &body, without_lease)).ok()
    });
    let words = match why {
        Failure::NoDaemon(error) => format!("no daemon can run: {}", error.render().trim_end()),
        Failure::Late => "the daemon did not answer in time".to_owned(),
    };
    let answer = match told.recv_timeout(PATIENCE) {
        Ok(Ok(considered)) => {
            trace(home, &format!("{words}; answered from the settings alone"));
            considered.answer
        }
        Ok(Err(_)) | Err(_) => {
            trace(home, &format!("{words}; the call could not be judged"));
            unjudged(&decode(&request.bytes()))
        }
    };
    out::print(answer.stdout.as_bytes(), answer.stderr.as_bytes());
    answer.exit
}

pub(super) fn decode(body: &[u8]) -> Decoded {
    let request = HookRequest::read(body).unwrap_or_default();
    host::decode(&request, clock::now(), clock::micros())
}

fn considered(home: Option<&Home>, body: &[u8], without_lease: WithoutLease) -> Result<Considered> {
    let mut decoded = decode(body);
    let config = home.map(Home::config).unwrap_or_default();
    let (settings, project) = SettingsFiles::new(config).around(decoded.dir());
    decoded.event.project = project.as_ref().to_owned();
    let wishes = without_lease.wishes(&decoded.event, &settings);
    let features = substrate_features::WITHOUT_DAEMON;
    let needs = engine::needs(features, &decoded.event, &settings);
    let mut prepared = Prepared::new(decoded, settings);
    prepared.gathered = Gathered::closed();
    prepared.gathered.facts = gather::gather(needs);
    // Guards' memory from call to call ends with this call.
    let mut memory = Writer::in_memory(&host::schema(), clock::now())?;
    let mut tx = memory.begin(Durability::Normal)?;
    let host = Host { features, wishes: &wishes, is_heard: true };
    let machine = home.map_or_else(Machine::default, |home| Machine::with_state(home.root()));
    Ok(host::consider(&mut tx, &prepared, &machine.forgetful(), host))
}

/// What to say about a call that may change a file another actor holds. No lease can be looked up or taken.
#[derive(Clone, Debug)]
enum WithoutLease {
    /// A daemon runs and will answer soon, so the call can wait for it.
    Refuse,
    /// Refusing everything would leave the agent stuck. This text goes to the model and to the person.
    Tell(String),
}

fn without_lease(why: &Failure) -> WithoutLease {
    match why {
        Failure::Late => WithoutLease::Refuse,
        Failure::NoDaemon(error) => WithoutLease::Tell(format!(
            "Files are not leased right now: Substrate's daemon can't run ({}). Other agents may edit the same files; `substrate doctor` says what to do.",
            error.message
        )),
    }
}

impl WithoutLease {
    fn wishes(self, event: &Event, settings: &Settings) -> Vec<Wish> {
        if !substrate_features::may_change_leased(event, settings) {
            return Vec::new();
        }
        let is_edit = event.tool().is_some_and(|call| call.class == ToolClass::Edit);
        let (what, again) = if is_edit {
            ("who holds this file", "edit")
        } else {
            ("whether another agent holds a file that this command changes", "command")
        };
        match self {
            // If leases don't refuse, their absence doesn't either.
            Self::Refuse if settings.word("locks.mode") != "enforce" => Vec::new(),
            Self::Refuse => vec![Wish::Deny {
                rule: "locks".to_owned(),
                reason: format!("The machine is too busy to say {what}."),
                next: format!("Try the same {again} again."),
            }],
            Self::Tell(text) => vec![Wish::context(text.clone(), None), Wish::Notice { text }],
        }
    }
}

/// Asks the person about a call that could not be judged. Returns the exit code.
pub(super) fn unjudged_answer(request: &HookRequest<'_>) -> u8 {
    let answer = unjudged(&decode(&request.bytes()));
    out::print(answer.stdout.as_bytes(), answer.stderr.as_bytes());
    answer.exit
}

fn unjudged(decoded: &Decoded) -> Answer {
    if decoded.event.kind != EventKind::PreToolUse {
        return Answer::default();
    }
    decoded.client().map_or_else(Answer::default, |client| host::unjudged(client, &decoded.event))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;
    use substrate_core::settings::{Layer, Scope};

    fn event(tool: &str, input: &serde_json::Value) -> Event {
        let stdin = json!({
            "session_id": "s", "cwd": "/home/dev/app/src", "hook_event_name": "PreToolUse",
            "tool_name": tool, "tool_input": input, "tool_use_id": "t1",
        })
        .to_string();
        let request = HookRequest {
            args: b"claude-code\0PreToolUse\0",
            stdin: stdin.as_bytes(),
            ..HookRequest::default()
        };
        let mut event = decode(&request.bytes()).event;
        event.project = "/home/dev/app".to_owned();
        event
    }

    fn said(event: &Event, toml: &str, why: &Failure) -> Vec<Wish> {
        let keys = substrate_features::keys();
        let user = Layer::read(Scope::User, "f", toml, &keys);
        without_lease(why).wishes(event, &Settings::resolve(&keys, &[&user]))
    }

    fn no_daemon() -> Failure {
        Failure::NoDaemon(AppError::new(crate::error::Kind::Daemon, "no disk"))
    }

    #[rstest]
    #[case::sends_output("echo x > lib.rs", true)]
    #[case::by_another_way("echo x > ../src/lib.rs", true)]
    #[case::by_its_whole_path("cat a | tee /home/dev/app/lib.rs", true)]
    #[case::by_the_home("echo x >> ~/app/lib.rs", true)]
    #[case::in_place("sed -i s/a/b/ lib.rs", true)]
    #[case::a_copy("cp /tmp/x lib.rs", true)]
    #[case::removes("rm -rf ../src", true)]
    #[case::removes_all("rm -rf ../..", true)]
    #[case::sweeps("git stash", true)]
    #[case::resets("git reset --hard", true)]
    #[case::reads("cat lib.rs | grep x", false)]
    #[case::builds("cargo test 2>&1 | tail -5", false)]
    #[case::drops_output("make > /dev/null 2>&1", false)]
    #[case::elsewhere("cargo test > /tmp/out.log", false)]
    #[case::elsewhere_at_home("echo x >> ~/.bashrc", false)]
    #[case::a_copy_to_elsewhere("cp lib.rs /tmp/", false)]
    #[case::commits("git commit -m 'a > b'", false)]
    fn a_line_is_treated_as_an_edit_is(#[case] line: &str, #[case] is_refused: bool) {
        let line = event("Bash", &json!({ "command": line }));
        let late = said(&line, "", &Failure::Late);
        let is_deny = |wish: &Wish| matches!(wish, Wish::Deny { rule, next, .. } if rule == "locks" && next.contains("command again"));
        assert_eq!(late.len(), usize::from(is_refused), "{late:?}");
        assert!(late.iter().all(is_deny), "{late:?}");
        // Without any daemon nothing is refused, and both the model and the person are told.
        let told = said(&line, "", &no_daemon());
        assert_eq!(told.len(), if is_refused { 2 } else { 0 }, "{told:?}");
        assert!(!told.iter().any(|wish| matches!(wish, Wish::Deny { .. })), "{told:?}");
        for off in ["locks.mode = \"off\"", "locks.mode = \"warn\""] {
            assert!(said(&line, off, &Failure::Late).is_empty(), "{off}");
        }
    }

    #[test]
    fn an_edit_is_refused_while_the_daemon_is_late_and_told_where_none_can_run() {
        let edit = event("Edit", &json!({"file_path": "/home/dev/app/src/lib.rs"}));
        assert!(matches!(said(&edit, "", &Failure::Late)[..], [Wish::Deny { .. }]));
        assert!(matches!(
            said(&edit, "", &no_daemon())[..],
            [Wish::Context { .. }, Wish::Notice { .. }]
        ));
        let read = event("Read", &json!({"file_path": "/home/dev/app/src/lib.rs"}));
        assert!(said(&read, "", &Failure::Late).is_empty());
    }
}
