//! The listener, and the one look at the database for all connections.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use substrate_core::DbError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio_rustls::TlsAcceptor;

use super::certificate::{Certificate, CertificateError};
use super::http::{self, Wanted};
use super::metrics::{Metrics, add};
use super::seat;
use crate::db::{Pool, migrate};
use crate::keys::{Fingerprint, random};
use crate::link::Ms;
use crate::ops::{machines, mail, roster};
use crate::wire::{Limits, MachineInfo, Uid};

/// How often the database is looked at for what other hubs did.
const LOOK: Duration = Duration::from_millis(250);

/// How long mail that arrived is remembered.
const KEEP_MS: i64 = 7 * 24 * 3_600_000;

/// How many connections may be open at once.
const MAX_CONNECTIONS: usize = 4096;

/// How a hub serves.
#[derive(Clone, Debug)]
pub struct Options {
    /// `None` is plain text, which is for loopback only.
    pub certificate: Option<Certificate>,
    pub limits: Limits,
}

/// A hub process.
pub struct Hub {
    pub(super) pool: Pool,
    pub(super) fingerprint: Fingerprint,
    pub(super) team: Uid,
    pub(super) limits: Limits,
    pub(super) metrics: Metrics,
    seats: Mutex<HashMap<Uid, Seat>>,
    seen: Mutex<Seen>,
    begun: Instant,
}

/// Where a machine is connected.
struct Seat {
    serial: u64,
    notify: Arc<Notify>,
    cut: watch::Sender<bool>,
}

/// What the last look at the database found.
#[derive(Default)]
struct Seen {
    marks: BTreeMap<Uid, (i64, i64)>,
    rosters: BTreeMap<Uid, i64>,
    machines: Arc<Vec<MachineInfo>>,
    /// Counts changes of the machines.
    n_machines: u64,
    is_well: bool,
}

impl Hub {
    /// Brings the database up to date and reads who the team is.
    pub async fn open(pool: Pool, options: &Options) -> Result<Arc<Self>, HubError> {
        let fresh = Uid::try_from(format!("team-{:032x}", u128::from_be_bytes(random())))
            .map_err(|detail| DbError::Other { detail })?;
        let team = pool.run(move |db| machines::team(db, &fresh)).await?;
        let fingerprint = match &options.certificate {
            Some(certificate) => certificate.fingerprint()?,
            None => [0; 32],
        };
        Ok(Arc::new(Self {
            pool,
            fingerprint,
            team,
            limits: options.limits,
            metrics: Metrics::default(),
            seats: Mutex::default(),
            seen: Mutex::default(),
            begun: Instant::now(),
        }))
    }

    pub(super) fn now(&self) -> Ms {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Takes the seat of a machine. An older connection of the same machine ends.
    pub(super) fn sit(&self, machine: &Uid, serial: u64) -> (Arc<Notify>, watch::Receiver<bool>) {
        let notify = Arc::new(Notify::new());
        let (cut, cutting) = watch::channel(false);
        let seat = Seat { serial, notify: Arc::clone(&notify), cut };
        if let Some(old) = lock(&self.seats).insert(machine.clone(), seat) {
            old.cut.send_replace(true);
        }
        (notify, cutting)
    }

    pub(super) fn stand_up(&self, machine: &Uid, serial: u64) {
        let mut seats = lock(&self.seats);
        if seats.get(machine).is_some_and(|seat| seat.serial == serial) {
            seats.remove(machine);
        }
    }

    /// These machines have something to look at.
    pub(super) fn stir<'a>(&self, machines: impl IntoIterator<Item = &'a Uid>) {
        let seats = lock(&self.seats);
        for seat in machines.into_iter().filter_map(|machine| seats.get(machine)) {
            seat.notify.notify_one();
        }
    }

    /// The machines of the team, and the count of their changes.
    pub(super) fn machines(&self) -> (Arc<Vec<MachineInfo>>, u64) {
        let seen = lock(&self.seen);
        (Arc::clone(&seen.machines), seen.n_machines)
    }

    pub(super) fn rosters(&self) -> BTreeMap<Uid, i64> {
        lock(&self.seen).rosters.clone()
    }

    /// Looks at the database once: who has mail, what changed in the roster, who was revoked.
    async fn look(&self) -> Result<(), DbError> {
        let look = |db: &mut dyn substrate_core::Db| {
            Ok((mail::marks(db)?, roster::versions(db)?, machines::all(db)?))
        };
        let (marks, rosters, machines) = self.pool.run(look).await?;
        let revoked: BTreeSet<&Uid> =
            machines.iter().filter(|it| it.revoked).map(|it| &it.machine).collect();
        for machine in revoked {
            if let Some(seat) = lock(&self.seats).get(machine) {
                seat.cut.send_replace(true);
            }
        }
        let mut seen = lock(&self.seen);
        let changed: Vec<Uid> = marks
            .iter()
            .filter(|(machine, mark)| seen.marks.get(*machine) != Some(mark))
            .map(|(machine, _)| machine.clone())
            .collect();
        let key = |it: &MachineInfo| (it.machine.clone(), it.name.clone(), it.revoked);
        if !seen.machines.iter().map(key).eq(machines.iter().map(key)) {
            seen.n_machines += 1;
        }
        (seen.marks, seen.rosters, seen.machines) = (marks, rosters, Arc::new(machines));
        seen.is_well = true;
        drop(seen);
        self.stir(&changed);
        Ok(())
    }

    async fn look_on(self: Arc<Self>) {
        for n in 0_u64.. {
            if let Err(error) = self.look().await {
                lock(&self.seen).is_well = false;
                add(&self.metrics.database_errors, 1);
                tracing::warn!(%error, "the database can't be read");
            }
            if n.is_multiple_of(2400) {
                let _next_time = self.pool.run(|db| mail::sweep(db, KEEP_MS)).await;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Answers what comes before the frames.
    async fn receive<S: AsyncRead + AsyncWrite + Unpin>(
        self: Arc<Self>,
        mut stream: S,
        serial: u64,
    ) -> io::Result<()> {
        match http::wanted(&mut stream).await? {
            Wanted::Link => {
                http::upgrade(&mut stream).await?;
                seat::serve(&self, stream, serial).await
            }
            Wanted::Metrics => http::respond(&mut stream, "200 OK", &self.metrics.text()).await,
            Wanted::Health if lock(&self.seen).is_well => {
                http::respond(&mut stream, "200 OK", "ok\n").await
            }
            Wanted::Health => {
                let body = "the database is away\n";
                http::respond(&mut stream, "503 Service Unavailable", body).await
            }
            Wanted::Else => http::respond(&mut stream, "404 Not Found", "").await,
        }
    }
}

/// Why a hub does not start.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    #[error(transparent)]
    Database(#[from] DbError),
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error("the hub can't listen")]
    Listen(#[from] io::Error),
}

/// Serves until `stop` resolves. Connections end then, and their machines go to another hub.
pub async fn serve(
    hub: Arc<Hub>,
    listener: TcpListener,
    options: &Options,
    stop: impl Future<Output = ()>,
) -> Result<(), HubError> {
    let tls = match &options.certificate {
        Some(certificate) => Some(TlsAcceptor::from(certificate.config()?)),
        None => None,
    };
    let looking = tokio::spawn(Arc::clone(&hub).look_on());
    let mut tasks = tokio::task::JoinSet::new();
    let mut serial = 0;
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        while tasks.try_join_next().is_some() {}
        let Ok((stream, _)) = accepted else {
            // Out of files, most likely. It passes.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        if tasks.len() >= MAX_CONNECTIONS {
            continue;
        }
        serial += 1;
        add(&hub.metrics.connections, 1);
        let (hub, tls) = (Arc::clone(&hub), tls.clone());
        tasks.spawn(async move {
            stream.set_nodelay(true).ok();
            let done = match tls {
                None => hub.receive(stream, serial).await,
                Some(tls) => {
                    match tokio::time::timeout(Duration::from_secs(10), tls.accept(stream)).await {
                        Ok(Ok(stream)) => hub.receive(stream, serial).await,
                        Ok(Err(error)) => Err(error),
                        Err(_) => Err(io::ErrorKind::TimedOut.into()),
                    }
                }
            };
            if let Err(error) = done {
                tracing::debug!(%error, "a connection ended");
            }
        });
    }
    looking.abort();
    tasks.shutdown().await;
    hub.metrics.connected.store(0, Ordering::Relaxed);
    Ok(())
}

/// Brings a database up to date.
pub fn prepare(backend: &dyn crate::db::Backend) -> Result<(), DbError> {
    migrate(backend.connect()?.as_mut())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
