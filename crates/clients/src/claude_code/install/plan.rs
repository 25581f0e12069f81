//! What we register: which events, in which form, with how much time.

use substrate_core::EventKind;

use crate::install::{Entry, Form, What, quoted, script_command};

use super::super::{NAME, TITLE};

/// The prompts that we register, by event: the words of the seeds.
pub(super) const PROMPTS: [(&str, &str); 2] = [
    (
        "Stop",
        "Analyze the conversation and determine if: 1. All user-requested tasks are complete 2. Any errors need to be addressed 3. Follow-up work is needed\n\nRespond with JSON: {\"ok\": true} to allow stopping, or {\"ok\": false, \"reason\": \"your explanation\"} to continue working.",
    ),
    (
        "SubagentStop",
        "Check if: - The subagent completed its assigned task - Any errors occurred that need fixing - Additional context gathering is needed\n\nReturn: {\"ok\": true} to allow stopping, or {\"ok\": false, \"reason\": \"explanation\"} to continue.",
    ),
];

/// What a persistent agent is made of: its user may edit what happens then. No tool call is among them, since a shell costs
/// more than we do.
const PERSISTENT: [EventKind; 5] = [
    EventKind::SessionStart,
    EventKind::UserPromptSubmit,
    EventKind::Stop,
    EventKind::SubagentStop,
    EventKind::PreCompact,
];

/// Registering some events changes what the client does (worktrees, what is displayed), and some only cost time.
const LEFT_OUT: [EventKind; 5] = [
    EventKind::WorktreeCreate,
    EventKind::WorktreeRemove,
    EventKind::MessageDisplay,
    EventKind::FileChanged,
    EventKind::PostToolBatch,
];

/// After these a session may be idle: beside each a waiter stays that can start a turn. A session that was just begun or
/// cleared has had no Stop yet.
const WAITERS: [EventKind; 2] = [EventKind::Stop, EventKind::SessionStart];

/// A waiter stays as long as a session may be idle: a day.
const WAITER_TIMEOUT_S: u32 = 86_400;
/// A request for permission may wait for the user's answer as long as the client's dialog is open (`ui.answer`).
const DIALOG_TIMEOUT_S: u32 = 86_400;
/// The client's own default for prompts, said aloud.
const PROMPT_TIMEOUT_S: u32 = 30;

/// The hooks of our program: every event of the plan, and some once more as the waiter that wakes an idle session.
pub(super) fn entries(form: Form<'_>) -> Vec<Entry> {
    calls()
        .map(|call| Entry {
            event: call.event.name(),
            what: call.what(form),
            timeout_s: if call.wakes { WAITER_TIMEOUT_S } else { timeout_s(call.event) },
        })
        .collect()
}

/// The prompt hooks, which work for colleagues who have nothing installed.
pub(super) fn prompts() -> Vec<Entry> {
    PROMPTS
        .iter()
        .map(|(event, prompt)| Entry {
            event,
            what: What::Prompt { prompt },
            timeout_s: PROMPT_TIMEOUT_S,
        })
        .collect()
}

/// Every script that there can be: file names and texts.
pub(super) fn scripts(program: &str) -> Vec<(String, String)> {
    calls().map(|call| (call.script_name(), call.script(program))).collect()
}

/// One call of our program.
#[derive(Clone, Copy, Debug)]
struct Call {
    event: EventKind,
    wakes: bool,
}

fn calls() -> impl Iterator<Item = Call> {
    let events = EventKind::ALL.iter().copied().filter(|event| !LEFT_OUT.contains(event));
    let waiters = WAITERS.map(|event| Call { event, wakes: true });
    events.map(|event| Call { event, wakes: false }).chain(waiters)
}

impl Call {
    fn what(self, form: Form<'_>) -> What {
        let Self { event, wakes } = self;
        let name = event.name();
        match form {
            Form::User { program } => {
                let wake = wakes.then_some("--wake");
                let args = [NAME, name].into_iter().chain(wake).map(str::to_owned).collect();
                What::Exec { program: program.to_owned(), args, wakes }
            }
            Form::Project => {
                let wake = if wakes { " --wake" } else { "" };
                let command = format!(
                    "command -v substrate-hook >/dev/null 2>&1 || exit 0; exec substrate-hook {NAME} {name}{wake} --shared"
                );
                What::Shell { command, wakes }
            }
            Form::Scripts { folder } => {
                What::Shell { command: script_command(folder, &self.script_name()), wakes }
            }
            Form::Persistent { folder, .. } if PERSISTENT.contains(&event) && !wakes => {
                self.what(Form::Scripts { folder })
            }
            Form::Persistent { program, .. } => self.what(Form::User { program }),
        }
    }

    fn script_name(self) -> String {
        match (self.event, self.wakes) {
            (EventKind::UserPromptSubmit, _) => "user_prompt.sh".to_owned(),
            (event, true) => format!("{}_wake.sh", snake(event.name())),
            (event, false) => format!("{}.sh", snake(event.name())),
        }
    }

    fn script(self, program: &str) -> String {
        let name = self.event.name();
        let wake = if self.wakes { " --wake" } else { "" };
        let what = if self.wakes {
            "waits for something that wakes the session"
        } else {
            "tells Substrate"
        };
        let program = quoted(program);
        format!(
            "#!/bin/sh\n# {TITLE}'s {name} hook: {what}. You may edit this file.\nexec {program} {NAME} {name}{wake} \"$@\"\n"
        )
    }
}

fn timeout_s(event: EventKind) -> u32 {
    match event {
        EventKind::Stop => 600,
        EventKind::PermissionRequest => DIALOG_TIMEOUT_S,
        EventKind::SubagentStop => 60,
        EventKind::SessionStart => 30,
        EventKind::UserPromptSubmit | EventKind::PreModelSwitch | EventKind::PostModelSwitch => 20,
        EventKind::SessionEnd => 5,
        _ => 15,
    }
}

fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// A rule that lets agents run a command without a dialog: that very line, or all that begins with it. The client looks at
/// each part of a compound line on its own, so no other command can ride along.
pub(super) fn rule(words: &str, is_beginning: bool) -> String {
    if is_beginning { format!("Bash({words}:*)") } else { format!("Bash({words})") }
}
