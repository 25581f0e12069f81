//! `cargo xtask bench mail`: the cost of waiting, how fast mail arrives, and whether a full mailbox is slower than an
//! empty one.

mod mailbox;
mod sends;
mod waiters;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use ipc::{Conn, Kind, Reply};
use serde_json::{Value, json};

use crate::args::Args;
use crate::dist;
use crate::say::{Table, say};

const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn run(mut args: Args) -> Result<bool> {
    let n_waiters: usize = args.value("--waiters")?.unwrap_or(10_000);
    let n_messages: usize = args.value("--messages")?.unwrap_or(100_000);
    let only: Option<String> = args.value("--only")?;
    args.end()?;
    let dist = dist::build()?;
    let mut table = Table::default();
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    if wanted("waiters") {
        waiters::measure(&dist, n_waiters, &mut table)?;
    }
    if wanted("sends") {
        sends::measure(&dist, &mut table)?;
    }
    if wanted("mailbox") {
        mailbox::measure(&dist, n_messages, &mut table)?;
    }
    say!("Mail, with {n_waiters} waiters and {n_messages} messages:");
    Ok(table.print())
}

/// A connection over which the person at the keyboard runs commands.
struct Console {
    conn: Conn,
}

impl Console {
    fn open(state: &Path) -> Result<Self> {
        let conn = Conn::open(state, PATIENCE).ok().context("no daemon")?;
        Ok(Self { conn })
    }

    /// Runs one command and returns its output.
    fn call(&mut self, path: &[&str], body: &Value) -> Result<Value> {
        let caller = json!({"cwd": "/", "tz_offset_s": 0, "inside_client": false});
        let call = json!({"path": path, "body": body, "caller": caller}).to_string();
        self.conn.send(Kind::Command, [call.as_bytes()], PATIENCE).ok().context("not sent")?;
        let (kind, body) = self.conn.receive(PATIENCE).ok().context("no answer")?;
        let reply = Reply::read(&body).filter(|_| kind == Kind::Reply).context("no reply")?;
        let said = String::from_utf8_lossy(reply.stdout).into_owned();
        anyhow::ensure!(reply.exit == 0, "{path:?}: {said}");
        Ok(serde_json::from_str(&said)?)
    }
}
