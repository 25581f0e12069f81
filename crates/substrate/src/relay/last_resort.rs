//! An answer without a daemon: from the event and the settings alone.
//!
//! Guards still refuse. What they can't judge is asked of the person. The database is never touched.

use std::sync::mpsc;
use std::time::Duration;

use ipc::{HookRequest, out};
use substrate_clients::Answer;
use substrate_core::{EventKind, ToolClass, Wish, engine};
use substrate_store::{Durability, Writer};

use super::trace;
use crate::config::{Home, SettingsFiles};
use crate::error::{AppError, Result};
use crate::host::{self, Considered, Decoded, Gathered, Host, Prepared};
use crate::machine::Machine;
use crate::{clock, gather};

/// How long settings and facts may take: they may lie on a disk that hangs.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// Why no daemon answered.
#[derive(Debug)]
pub(super) enum Why {
    /// None can run.
    NoDaemon(AppError),
    /// One runs, but the machine is too busy for it.
    Late,
}

/// Prints what can be said. The exit code.
pub(super) fn answer(home: Option<&Home>, request: &HookRequest<'_>, why: &Why) -> u8 {
    let (tell, told) = mpsc::channel();
    let body = request.bytes();
    let wishes = wishes(&decode(&body), why);
    let settings_home = home.cloned();
    // A thread of its own: a disk that hangs can't be interrupted.
    std::thread::spawn(move || tell.send(considered(settings_home.as_ref(), &body, &wishes)).ok());
    let words = match why {
        Why::NoDaemon(error) => format!("no daemon can run: {}", error.render().trim_end()),
        Why::Late => "the daemon did not answer in time".to_owned(),
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

fn decode(body: &[u8]) -> Decoded {
    let request = HookRequest::read(body).unwrap_or_default();
    host::decode(&request, clock::now(), clock::micros())
}

fn considered(home: Option<&Home>, body: &[u8], wishes: &[Wish]) -> Result<Considered> {
    let mut decoded = decode(body);
    let config = home.map(Home::config).unwrap_or_default();
    let (settings, project) = SettingsFiles::new(config).around(decoded.dir());
    decoded.event.project = project.as_ref().to_owned();
    let features = substrate_features::WITHOUT_DAEMON;
    let needs = engine::needs(features, &decoded.event, &settings);
    let mut prepared = Prepared::new(decoded, settings);
    prepared.gathered = Gathered::closed();
    prepared.gathered.facts = gather::gather(needs);
    // What guards remember from call to call does not outlive this one.
    let mut memory = Writer::in_memory(&host::schema(), clock::now())?;
    let mut tx = memory.begin(Durability::Normal)?;
    let host = Host { features, wishes, is_heard: true };
    let machine = home.map_or_else(Machine::default, |home| Machine::with_state(home.root()));
    Ok(host::consider(&mut tx, &prepared, &machine, host))
}

/// What the model and the person must know about an edit.
fn wishes(decoded: &Decoded, why: &Why) -> Vec<Wish> {
    let event = &decoded.event;
    let is_edit = event.kind == EventKind::PreToolUse
        && event.tool().is_some_and(|call| call.class == ToolClass::Edit);
    match why {
        _ if !is_edit => Vec::new(),
        Why::Late => vec![Wish::Deny {
            rule: "locks".to_owned(),
            reason: "The machine is too busy to say who holds this file.".to_owned(),
            next: "Try the same edit again.".to_owned(),
        }],
        Why::NoDaemon(error) => {
            let text = format!(
                "Files are not leased right now: Substrate's daemon can't run ({}). Other agents may edit the same files; `substrate doctor` says what to do.",
                error.message
            );
            vec![Wish::context(text.clone(), None), Wish::Notice { text }]
        }
    }
}

/// Asks the person about a call that nothing could judge. The exit code.
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
