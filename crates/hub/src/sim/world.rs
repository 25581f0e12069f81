//! The simulated world: hosts with a disk, links, a network that misbehaves, and one hub on a real SQLite database.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::db::{Sqlite, migrate, transact};
use crate::keys::MachineKeys;
use crate::link::{Credentials, Jitter, Link, Ms, Output};
use crate::ops::{machines, mail};
use crate::service::{Doorway, Session, answer, greet};
use crate::wire::*;
use substrate_core::{Arrival, arrival};

/// How often what happens, per thousand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Faults {
    pub(super) lose: u64,
    pub(super) repeat: u64,
    pub(super) reorder: u64,
    /// Per thousand steps, for each machine.
    pub(super) cut: u64,
    /// Per thousand steps: the database goes back to an earlier state.
    pub(super) forget: u64,
}

impl Faults {
    pub(super) const NONE: Self = Self { lose: 0, repeat: 0, reorder: 0, cut: 0, forget: 0 };
}

/// A frame under way.
#[derive(Debug)]
enum Packet {
    ToHub(usize, u64, Vec<u8>),
    ToMachine(usize, u64, Vec<u8>),
}

/// A machine with its disk.
struct Host {
    id: Uid,
    link: Link,
    /// The connection that the link uses now.
    connection: u64,
    outbox: BTreeMap<u64, Envelope>,
    counters: BTreeMap<Uid, i64>,
    /// What was stored, by sender: the next number, ids, and what is held.
    next: BTreeMap<Uid, i64>,
    known: BTreeSet<MailId>,
    held: BTreeMap<(Uid, i64), MailId>,
    /// What agents were shown, in order.
    shown: Vec<(Uid, i64)>,
}

/// The hub's end of a connection.
struct Far {
    machine: usize,
    nonce: Vec<u8>,
    session: Option<Session>,
}

pub(super) struct World {
    now: Ms,
    clock: Arc<AtomicI64>,
    jitter: Jitter,
    faults: Faults,
    hosts: Vec<Host>,
    database: crate::db::File,
    earlier: crate::db::File,
    fars: HashMap<u64, Far>,
    packets: BTreeMap<(Ms, u64), Packet>,
    serial: u64,
    sent: BTreeMap<(Uid, Uid), i64>,
}

fn uid(text: &str) -> Uid {
    Uid::try_from(text).unwrap()
}

impl World {
    pub(super) fn new(seed: u64, n_machines: usize, faults: Faults) -> Self {
        let clock = Arc::new(AtomicI64::new(1_000_000));
        let reading = Arc::clone(&clock);
        let backend = Sqlite::in_memory(Arc::new(move || reading.load(Ordering::Relaxed)));
        let mut database = backend.open().unwrap();
        migrate(&mut database).unwrap();
        let mut hosts = Vec::new();
        for n in 0..n_machines {
            let id = uid(&format!("m-{n}"));
            let keys = MachineKeys::from_seeds(&[u8::try_from(n + 1).unwrap(); 64]);
            add_machine(&mut database, &id, &keys);
            let credentials = Credentials { machine: id.clone(), keys, hub: [0; 32], join: None };
            hosts.push(Host {
                link: Link::new(credentials, seed ^ n as u64, 0),
                id,
                connection: 0,
                outbox: BTreeMap::new(),
                counters: BTreeMap::new(),
                next: BTreeMap::new(),
                known: BTreeSet::new(),
                held: BTreeMap::new(),
                shown: Vec::new(),
            });
        }
        let mut earlier = backend.open().unwrap();
        earlier.copy_from(&database);
        Self {
            now: 0,
            clock,
            jitter: Jitter(seed),
            faults,
            hosts,
            database,
            earlier,
            fars: HashMap::new(),
            packets: BTreeMap::new(),
            serial: 0,
            sent: BTreeMap::new(),
        }
    }

    fn chance(&mut self, per_thousand: u64) -> bool {
        self.jitter.below(1000) < per_thousand
    }

    /// Sends messages at random moments, while everything that may go wrong does.
    pub(super) fn play(&mut self, n_messages: usize, ms: Ms) {
        let mut n_left = n_messages;
        let end = self.now + ms;
        while self.now < end {
            if n_left > 0 && self.chance(200) {
                n_left -= 1;
                self.send();
            }
            for n in 0..self.hosts.len() {
                if self.chance(self.faults.cut) {
                    self.cut(n);
                }
            }
            if self.chance(self.faults.forget) {
                self.database.copy_from(&self.earlier);
            } else if self.chance(self.faults.forget * 4) {
                self.earlier.copy_from(&self.database);
            }
            self.step(100);
        }
    }

    /// The faults end, and everything comes to rest.
    pub(super) fn settle(&mut self) {
        self.faults = Faults::NONE;
        let deadline = self.now + 400_000;
        while self.now < deadline && !self.is_at_rest() {
            self.step(250);
        }
    }

    fn is_at_rest(&self) -> bool {
        self.hosts.iter().all(|host| host.outbox.is_empty() && host.held.is_empty())
    }

    /// Nothing is lost, nothing comes twice, and each sender's messages are in order.
    pub(super) fn check(&self) {
        for host in &self.hosts {
            assert!(host.outbox.is_empty(), "{}: {} left", host.id, host.outbox.len());
            for ((from, to), n_sent) in &self.sent {
                if *to != host.id {
                    continue;
                }
                let shown: Vec<i64> =
                    host.shown.iter().filter(|(by, _)| by == from).map(|(_, n)| *n).collect();
                let expected: Vec<i64> = (1..=*n_sent).collect();
                assert_eq!(shown, expected, "{from} to {to}");
            }
        }
    }

    fn send(&mut self) {
        let n_hosts = self.hosts.len() as u64;
        let from = usize::try_from(self.jitter.below(n_hosts)).unwrap();
        let to = (from + 1 + usize::try_from(self.jitter.below(n_hosts - 1)).unwrap())
            % self.hosts.len();
        let to = self.hosts[to].id.clone();
        self.serial += 1;
        let mut random = [0; 16];
        random[8..].copy_from_slice(&self.jitter.next().to_be_bytes());
        let id = MailId::v7(self.clock.load(Ordering::Relaxed), random);
        let host = &mut self.hosts[from];
        let n = host.counters.entry(to.clone()).or_default();
        *n += 1;
        *self.sent.entry((host.id.clone(), to.clone())).or_default() = *n;
        let envelope = Envelope {
            id,
            from: host.id.clone(),
            to,
            n: *n,
            kind: Kind::Mail,
            agent: uid("a"),
            sealed: false,
            body: Bytes(vec![1; 50]),
        };
        host.outbox.insert(self.serial, envelope.clone());
        host.link.submit(self.now, envelope);
        self.outputs(from);
    }

    fn cut(&mut self, n: usize) {
        let host = &mut self.hosts[n];
        self.fars.remove(&host.connection);
        host.connection = 0;
        host.link.cut(self.now, "cut");
        self.outputs(n);
    }

    fn step(&mut self, ms: Ms) {
        let end = self.now + ms;
        while let Some(entry) = self.packets.first_entry()
            && entry.key().0 <= end
        {
            let ((at, _), packet) = entry.remove_entry();
            self.at(at);
            self.deliver(packet);
        }
        self.at(end);
        for n in 0..self.hosts.len() {
            self.hosts[n].link.tick(self.now);
            self.outputs(n);
        }
        let mut connections: Vec<u64> = self.fars.keys().copied().collect();
        connections.sort_unstable();
        for connection in connections {
            self.push(connection);
        }
    }

    fn at(&mut self, now: Ms) {
        self.now = self.now.max(now);
        self.clock.store(1_000_000 + i64::try_from(self.now).unwrap(), Ordering::Relaxed);
    }

    /// Puts a frame on the network.
    fn carry(&mut self, packet: impl Fn() -> Packet) {
        if self.chance(self.faults.lose) {
            return;
        }
        let copies = if self.chance(self.faults.repeat) { 2 } else { 1 };
        for _ in 0..copies {
            let late = if self.chance(self.faults.reorder) { self.jitter.below(3_000) } else { 0 };
            self.serial += 1;
            self.packets.insert((self.now + 20 + late, self.serial), packet());
        }
    }

    fn deliver(&mut self, packet: Packet) {
        match packet {
            Packet::ToHub(n, connection, bytes) => {
                if self.hosts[n].connection == connection {
                    self.at_hub(connection, &bytes);
                }
            }
            Packet::ToMachine(n, connection, bytes) => {
                if self.hosts[n].connection == connection {
                    self.hosts[n].link.bytes(self.now, &bytes);
                    self.outputs(n);
                }
            }
        }
    }

    fn at_hub(&mut self, connection: u64, bytes: &[u8]) {
        let mut reader = FrameReader::default();
        reader.push(bytes);
        let frame: ToHub = reader.next_frame().unwrap().unwrap();
        let Some(far) = self.fars.get_mut(&connection) else { return };
        let machine = far.machine;
        let Some(session) = &mut far.session else {
            let door = Doorway {
                nonce: far.nonce.clone(),
                hub: [0; 32],
                team: uid("team"),
                limits: Limits::default(),
            };
            let greeted = transact(&mut self.database, &mut |db| greet(db, &door, &frame)).unwrap();
            if let Ok(welcome) = greeted {
                far.session =
                    Some(Session::new(welcome.machine.clone(), Limits::default(), self.now));
                self.reply(machine, connection, &ToMachine::Welcome(welcome));
            }
            return;
        };
        session.admit(self.now, &frame, bytes.len()).unwrap();
        if let ToHub::Got { items } = &frame {
            session.confirmed(items);
        }
        let who = session.machine().clone();
        let handled = transact(&mut self.database, &mut |db| answer(db, &who, &frame)).unwrap();
        for frame in handled.frames {
            self.reply(machine, connection, &frame);
        }
    }

    fn reply(&mut self, machine: usize, connection: u64, frame: &ToMachine) {
        let bytes = encode(frame);
        self.carry(|| Packet::ToMachine(machine, connection, bytes.clone()));
    }

    /// What the hub sends by itself.
    fn push(&mut self, connection: u64) {
        let Some(far) = self.fars.get_mut(&connection) else { return };
        let Some(session) = &mut far.session else { return };
        let machine = far.machine;
        let who = session.machine().clone();
        let after = session.look_after(self.now);
        let (items, fates) = transact(&mut self.database, &mut |db| {
            let items = after.map(|after| mail::waiting(db, &who, after)).transpose()?;
            Ok((items.unwrap_or_default(), mail::news(db, &who)?))
        })
        .unwrap();
        let items = session.fresh(self.now, items);
        if !items.is_empty() {
            self.reply(machine, connection, &ToMachine::Mail { items });
        }
        if !fates.is_empty() {
            self.reply(machine, connection, &ToMachine::Fates { fates });
        }
    }

    /// Does what the link of a host wants.
    fn outputs(&mut self, n: usize) {
        while let Some(output) = self.hosts[n].link.next_output() {
            match output {
                Output::Dial => self.dial(n),
                Output::Send(bytes) => {
                    let connection = self.hosts[n].connection;
                    self.carry(|| Packet::ToHub(n, connection, bytes.clone()));
                }
                Output::HangUp => {
                    self.fars.remove(&self.hosts[n].connection);
                    self.hosts[n].connection = 0;
                }
                Output::Store(items) => {
                    let host = &mut self.hosts[n];
                    let mut stored = Vec::new();
                    for Item { number, envelope } in items {
                        stored.push(Stored { number, id: envelope.id.clone() });
                        host.store(envelope);
                    }
                    host.link.stored(stored);
                }
                Output::Fate(fate) => {
                    let host = &mut self.hosts[n];
                    if fate.state == State::AtMachine {
                        host.outbox.retain(|_, envelope| envelope.id != fate.id);
                    }
                }
                Output::Again(id) => {
                    let host = &mut self.hosts[n];
                    let found = host.outbox.values().find(|envelope| envelope.id == id).cloned();
                    if let Some(envelope) = found {
                        host.link.submit(self.now, envelope);
                    }
                }
                Output::Up(_)
                | Output::Down(_)
                | Output::Machines(_)
                | Output::Roster(_)
                | Output::Answer(..) => {}
            }
        }
    }

    fn dial(&mut self, n: usize) {
        self.serial += 1;
        let connection = self.serial;
        self.hosts[n].connection = connection;
        let nonce = self.jitter.next().to_be_bytes().to_vec();
        let far = Far { machine: n, nonce: nonce.clone(), session: None };
        self.fars.insert(connection, far);
        self.hosts[n].link.dialed(self.now);
        let challenge = ToMachine::Challenge { v: VERSION, oldest: OLDEST, nonce: Bytes(nonce) };
        self.reply(n, connection, &challenge);
    }
}

impl Host {
    /// As a daemon does it in one transaction.
    fn store(&mut self, envelope: Envelope) {
        let next = self.next.entry(envelope.from.clone()).or_insert(1);
        let known = !self.known.insert(envelope.id.clone());
        match arrival(*next, envelope.n, known) {
            Arrival::Duplicate => {}
            Arrival::Hold => {
                self.held.insert((envelope.from, envelope.n), envelope.id);
            }
            Arrival::Deliver => {
                self.shown.push((envelope.from.clone(), envelope.n));
                *next = envelope.n + 1;
                while self.held.remove(&(envelope.from.clone(), *next)).is_some() {
                    self.shown.push((envelope.from.clone(), *next));
                    *next += 1;
                }
            }
        }
    }
}

pub(super) fn add_machine(database: &mut crate::db::File, id: &Uid, keys: &MachineKeys) {
    let hash = uid(&format!("invite-{id}"));
    let join = Join {
        v: 1,
        oldest: 1,
        machine: id.clone(),
        token: Bytes::default(),
        name: Label::try_from(id.as_str()).unwrap(),
        person: Label::default(),
        key: Bytes(keys.public()),
        seal: Bytes(keys.sealing_public().to_vec()),
        signature: Bytes::default(),
    };
    transact(database, &mut |db| {
        machines::invite(db, &hash, None, 1000)?;
        machines::join(db, &hash, &join)
    })
    .unwrap()
    .unwrap();
}
