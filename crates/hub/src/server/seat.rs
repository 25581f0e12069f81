//! One machine's connection: greets, answers frames in their order, and pushes what is new.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use substrate_core::DbError;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;

use super::listen::Hub;
use super::metrics::add;
use crate::keys::{NONCE_BYTES, random};
use crate::link::Ms;
use crate::ops::{mail, roster};
use crate::service::{Doorway, Refusal, Session, answer, greet};
use crate::wire::{
    Bytes, Code, FrameReader, MAX_FRAME, OLDEST, ToHub, ToMachine, Uid, VERSION, Welcome, encode,
};

/// A stranger's frame is small.
const GREETING: usize = 8 << 10;

const PATIENCE: Duration = Duration::from_secs(10);

/// A machine that takes nothing for this long is cut.
const SLOW: Duration = Duration::from_secs(20);

/// How long, and for how many bytes, a refused machine is listened to.
const LINGER: Duration = Duration::from_secs(3);
const MAX_LINGER: u64 = 16 << 20;

/// A machine that says nothing for this long is gone. Its link says something every 15 seconds.
const SILENT: Ms = 60_000;

/// How often all machines are told although none came or went: how long each has been silent changes.
const MACHINES: Ms = 30_000;

/// How often the roster is passed on.
const ROSTER: Ms = 2_000;

struct Wire<S> {
    stream: S,
    reader: FrameReader,
    chunk: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    async fn say(&mut self, frame: &ToMachine) -> io::Result<()> {
        let bytes = encode(frame);
        timeout(SLOW, async {
            self.stream.write_all(&bytes).await?;
            self.stream.flush().await
        })
        .await?
    }

    /// Reads once. Returns how many bytes came.
    async fn read(&mut self) -> io::Result<usize> {
        let n = self.stream.read(&mut self.chunk).await?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.reader.push(&self.chunk[..n]);
        Ok(n)
    }

    async fn refuse(&mut self, hub: &Hub, refusal: &Refusal) -> io::Result<()> {
        hub.metrics.refused(refusal.code);
        self.say(&refusal.frame()).await?;
        self.stream.shutdown().await?;
        // A connection that is closed over unread bytes is reset, and the other side never reads why it was refused.
        let _slow_or_endless = timeout(LINGER, async {
            let mut rest = (&mut self.stream).take(MAX_LINGER);
            tokio::io::copy(&mut rest, &mut tokio::io::sink()).await
        })
        .await;
        Ok(())
    }
}

pub(super) async fn serve(
    hub: &Arc<Hub>,
    stream: impl AsyncRead + AsyncWrite + Unpin,
    serial: u64,
) -> io::Result<()> {
    let mut wire =
        Wire { stream, reader: FrameReader::with_max(GREETING), chunk: vec![0; 4 << 10] };
    let Some(welcome) = timeout(PATIENCE, meet(hub, &mut wire)).await?? else { return Ok(()) };
    let machine = welcome.machine.clone();
    wire.reader.set_max(MAX_FRAME);
    wire.chunk.resize(16 << 10, 0);
    wire.say(&ToMachine::Welcome(welcome)).await?;
    tracing::info!(%machine, "a machine connected");
    hub.metrics.connected.fetch_add(1, Ordering::Relaxed);
    let done = stay(hub, &mut wire, &machine, serial).await;
    hub.metrics.connected.fetch_sub(1, Ordering::Relaxed);
    tracing::info!(%machine, "a machine is gone");
    hub.stand_up(&machine, serial);
    done
}

/// Lets the other side prove who it is. `None`: it was refused.
async fn meet<S: AsyncRead + AsyncWrite + Unpin>(
    hub: &Hub,
    wire: &mut Wire<S>,
) -> io::Result<Option<Welcome>> {
    let nonce = random::<NONCE_BYTES>().to_vec();
    let challenge =
        ToMachine::Challenge { v: VERSION, oldest: OLDEST, nonce: Bytes(nonce.clone()) };
    wire.say(&challenge).await?;
    let frame: ToHub = loop {
        match wire.reader.next_frame() {
            Ok(Some(frame)) => break frame,
            Ok(None) => wire.read().await?,
            Err(_) => {
                let refusal = Refusal::new(Code::Frame, "the greeting can't be read");
                wire.refuse(hub, &refusal).await?;
                return Ok(None);
            }
        };
    };
    let door = Doorway { nonce, hub: hub.fingerprint, team: hub.team.clone(), limits: hub.limits };
    let greeted = hub.pool.run(move |db| greet(db, &door, &frame)).await;
    match greeted.map_err(io::Error::other)? {
        Ok(welcome) => Ok(Some(welcome)),
        Err(refusal) => {
            wire.refuse(hub, &refusal).await?;
            Ok(None)
        }
    }
}

/// What this connection was told.
#[derive(Default)]
struct Told {
    n_machines: u64,
    machines_at: Ms,
    rosters: BTreeMap<Uid, i64>,
    roster_at: Ms,
}

async fn stay<S: AsyncRead + AsyncWrite + Unpin>(
    hub: &Hub,
    wire: &mut Wire<S>,
    machine: &Uid,
    serial: u64,
) -> io::Result<()> {
    let (notify, mut cut) = hub.sit(machine, serial);
    let mut session = Session::new(machine.clone(), hub.limits, hub.now());
    let mut told = Told::default();
    let mut heard = hub.now();
    notify.notify_one();
    loop {
        tokio::select! {
            read = wire.read() => {
                read?;
                heard = hub.now();
                if let Err(refusal) = frames(hub, wire, &mut session).await? {
                    return wire.refuse(hub, &refusal).await;
                }
            }
            () = notify.notified() => push(hub, wire, &mut session).await?,
            changed = cut.changed() => {
                if changed.is_err() || *cut.borrow() {
                    let revoked = hub.machines().0.iter().any(|it| it.machine == *machine && it.revoked);
                    let refusal = match revoked {
                        true => Refusal::new(Code::Revoked, "this machine was revoked"),
                        false => Refusal::new(Code::Unknown, "the machine connected again"),
                    };
                    return wire.refuse(hub, &refusal).await;
                }
            }
            () = tokio::time::sleep(Duration::from_secs(1)) => {
                push(hub, wire, &mut session).await?;
            }
        }
        tell(hub, wire, machine, &mut told).await?;
        if heard + SILENT <= hub.now() {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}

/// Answers every whole frame, one after the other: this is what keeps a sender's order.
async fn frames<S: AsyncRead + AsyncWrite + Unpin>(
    hub: &Hub,
    wire: &mut Wire<S>,
    session: &mut Session,
) -> io::Result<Result<(), Refusal>> {
    loop {
        let frame = match wire.reader.next_frame::<ToHub>() {
            Ok(Some(frame)) => frame,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(Refusal::new(Code::Frame, &error.to_string()))),
        };
        add(&hub.metrics.frames, 1);
        let n_bytes = encoded_len(&frame);
        if let Err(refusal) = session.admit(hub.now(), &frame, n_bytes) {
            return Ok(Err(refusal));
        }
        match &frame {
            ToHub::Got { items } => session.confirmed(items),
            ToHub::Put { mail } => add(&hub.metrics.messages_taken, mail.len()),
            _ => {}
        }
        let confirmed = matches!(frame, ToHub::Got { .. });
        let who = session.machine().clone();
        let handled = hub.pool.run(move |db| answer(db, &who, &frame)).await;
        add(&hub.metrics.transactions, 1);
        let handled = handled.map_err(|error| failed(hub, &error))?;
        for frame in &handled.frames {
            wire.say(frame).await?;
        }
        hub.stir(&handled.stirred);
        if confirmed {
            push(hub, wire, session).await?;
        }
    }
}

/// About how long a frame was: its bodies are most of it.
fn encoded_len(frame: &ToHub) -> usize {
    match frame {
        ToHub::Put { mail } => mail.iter().map(|envelope| 300 + envelope.body.0.len()).sum(),
        ToHub::Status { agents, gone, .. } => 200 * (1 + agents.len() + gone.len()),
        ToHub::Have { ids } => 40 * ids.len(),
        ToHub::Got { items } => 60 * items.len(),
        _ => 300,
    }
}

/// Sends mail that waits, and tells what of this machine's mail has arrived.
async fn push<S: AsyncRead + AsyncWrite + Unpin>(
    hub: &Hub,
    wire: &mut Wire<S>,
    session: &mut Session,
) -> io::Result<()> {
    let after = session.look_after(hub.now());
    let who = session.machine().clone();
    let found = hub
        .pool
        .run(move |db| {
            let items = after.map(|after| mail::waiting(db, &who, after)).transpose()?;
            Ok((items.unwrap_or_default(), mail::news(db, &who)?))
        })
        .await;
    add(&hub.metrics.transactions, 1);
    let (items, fates) = found.map_err(|error| failed(hub, &error))?;
    let items = session.fresh(hub.now(), items);
    if !items.is_empty() {
        add(&hub.metrics.messages_handed, items.len());
        wire.say(&ToMachine::Mail { items }).await?;
        // There may be more than one look returns.
        hub.stir([session.machine()]);
    }
    if !fates.is_empty() {
        wire.say(&ToMachine::Fates { fates }).await?;
    }
    Ok(())
}

/// Tells who is in the team and what their agents do, where that changed.
async fn tell<S: AsyncRead + AsyncWrite + Unpin>(
    hub: &Hub,
    wire: &mut Wire<S>,
    machine: &Uid,
    told: &mut Told,
) -> io::Result<()> {
    let (machines, n_machines) = hub.machines();
    let now = hub.now();
    if told.n_machines != n_machines || told.machines_at + MACHINES <= now {
        (told.n_machines, told.machines_at) = (n_machines, now);
        wire.say(&ToMachine::Machines { machines: machines.to_vec() }).await?;
    }
    if told.roster_at + ROSTER > now {
        return Ok(());
    }
    told.roster_at = now;
    let known = |machine: &Uid| told.rosters.get(machine).copied().unwrap_or(0);
    let behind: Vec<(Uid, i64)> = hub
        .rosters()
        .into_iter()
        .filter(|(of, version)| of != machine && known(of) != *version)
        // A count that went back belongs to a database that forgot: all of it is read again.
        .map(|(of, version)| {
            if known(&of) > version {
                (of, 0)
            } else {
                let at = known(&of);
                (of, at)
            }
        })
        .collect();
    if behind.is_empty() {
        return Ok(());
    }
    let found = hub
        .pool
        .run(move |db| {
            behind
                .iter()
                .map(|(of, since)| roster::since(db, of, *since))
                .collect::<Result<Vec<_>, _>>()
        })
        .await;
    let found = found.map_err(|error| failed(hub, &error))?;
    for (part, version) in &found {
        told.rosters.insert(part.machine.clone(), *version);
    }
    let parts = found.into_iter().map(|(part, _)| part).collect();
    wire.say(&ToMachine::Roster { parts }).await
}

fn failed(hub: &Hub, error: &DbError) -> io::Error {
    add(&hub.metrics.database_errors, 1);
    tracing::warn!(%error, "a transaction failed");
    io::Error::other(error.to_string())
}
