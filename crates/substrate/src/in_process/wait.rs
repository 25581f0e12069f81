//! Waiting without a daemon: a daemon that has come up waits for us; where none does, we look ourselves.

use std::time::Duration;

use ipc::{Conn, HookRequest, Kind as Frame, Reply, frame};
use substrate_core::World as _;
use substrate_core::engine::HostKind;
use substrate_store::{Durability, Writer};

use super::{finish, print, surround, unreadable};
use crate::config::Home;
use crate::error::Result;
use crate::host::{self, Applied, Prepared, When};
use crate::machine::Machine;
use crate::{clock, proc, ui};

/// How often we look whether something has come.
const LOOK: Duration = Duration::from_millis(300);

/// How long a daemon may take to take the request.
const PATIENCE: Duration = Duration::from_secs(1);

/// Waits for the end of the wait, and answers the client. The exit code.
pub(super) fn until_answered(
    home: &Home,
    writer: &mut Writer,
    body: &[u8],
    mut prepared: Prepared,
    mut applied: Applied,
) -> Result<u8> {
    // From before the first look: whatever was written since is looked at.
    let mut seen = None;
    // Under a new id: the old one is known as taken over.
    let id = proc::random_id();
    let client = prepared.decoded.event.client_pid;
    let began = client.and_then(|pid| Machine::default().process_began(pid));
    prepared.decoded.keep_waiting();
    while let Some(wait) = &applied.wait {
        let until = wait.until;
        std::thread::sleep(LOOK);
        if let Some(exit) = asked(home, body, id, &prepared)? {
            return Ok(exit);
        }
        if client.is_some_and(|pid| Machine::default().process_began(pid) != began) {
            return Ok(0);
        }
        let now = clock::now();
        let writes = Some(writer.foreign_writes()?);
        if writes == seen && now < until {
            continue;
        }
        seen = writes;
        let mut decoded = prepared.decoded;
        decoded.event.at = now;
        prepared = surround(home, decoded);
        let mut tx = writer.begin(Durability::Normal)?;
        let machine = Machine::default();
        applied =
            host::apply(&mut tx, &prepared, &machine, HostKind::InProcess("waiting"), When::Now);
        tx.commit()?;
        finish(home, &mut applied);
    }
    print(writer, &prepared, &applied);
    Ok(applied.answer.exit)
}

/// Lets the daemon wait, if there is one. `None`: there is none, or it ended meanwhile.
fn asked(home: &Home, body: &[u8], id: [u8; 16], prepared: &Prepared) -> Result<Option<u8>> {
    let Ok(mut conn) = Conn::open(home.root(), Duration::ZERO) else { return Ok(None) };
    let since = prepared.decoded.event.waiting_since.unwrap_or(prepared.decoded.event.at);
    let waited_ms = u32::try_from(clock::now().since(since)).unwrap_or(0).max(1);
    let request = HookRequest { id, waited_ms, ..HookRequest::read(body).ok_or_else(unreadable)? };
    if conn.send(Frame::Hook, [&request.bytes()], PATIENCE).is_err() {
        return Ok(None);
    }
    let mut patience = PATIENCE;
    loop {
        let Ok((kind, body)) = conn.receive(patience) else { return Ok(None) };
        match kind {
            Frame::Wait => patience = frame::patience(&body),
            Frame::Reply | Frame::Confirm => {
                let reply = Reply::read(&body).ok_or_else(unreadable)?;
                let printed = ui::talked(&String::from_utf8_lossy(reply.stderr))
                    && ui::printed(&String::from_utf8_lossy(reply.stdout));
                if kind == Frame::Confirm && printed {
                    let heard = conn
                        .send(Frame::Printed, [], PATIENCE)
                        .and_then(|()| conn.receive(PATIENCE));
                    if heard.is_err() {
                        super::note_printed(home, &request.bytes())?;
                    }
                }
                return Ok(Some(reply.exit));
            }
            Frame::Hook | Frame::Command | Frame::Control | Frame::Printed | Frame::Refused => {
                return Ok(None);
            }
        }
    }
}
