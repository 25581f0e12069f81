//! A real hub on a loopback port with TLS, real machines, and hostile ones.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use super::{Certificate, Hub, Options, prepare, serve};
use crate::db::{Pool, Sqlite};
use crate::dial::{Target, Wish, drive};
use crate::keys::{Invitation, MachineKeys, random};
use crate::link::{Credentials, JoinAs, Link, Output};
use crate::ops::machines;
use crate::wire::*;

const DEADLINE: Duration = Duration::from_secs(60);

struct Place {
    pool: Pool,
    target: Target,
    options: Options,
    _folder: tempfile::TempDir,
}

fn uid(text: &str) -> Uid {
    Uid::try_from(text).unwrap()
}

fn label(text: &str) -> Label {
    Label::try_from(text).unwrap()
}

/// Starts a hub on a file.
async fn hub(limits: Limits) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let begun = std::time::Instant::now();
    let clock = move || 1_700_000_000_000 + i64::try_from(begun.elapsed().as_millis()).unwrap();
    let backend = Sqlite::at(&folder.path().join("hub.db"), Arc::new(clock));
    prepare(&backend).unwrap();
    let pool = Pool::start(backend).unwrap();
    let options = Options { certificate: Some(Certificate::make().unwrap()), limits };
    let hub = Hub::open(pool.clone(), &options).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let fingerprint = options.certificate.as_ref().unwrap().fingerprint().unwrap();
    let serving = options.clone();
    tokio::spawn(async move { serve(hub, listener, &serving, std::future::pending()).await });
    let target = Target { addresses: vec![address], plain: false, fingerprint };
    Place { pool, target, options, _folder: folder }
}

struct Machine {
    wishes: UnboundedSender<Wish>,
    events: UnboundedReceiver<Output>,
    keys: MachineKeys,
}

impl Place {
    async fn invite(&self, secret: [u8; 18]) {
        let hash = Invitation::hash(&secret);
        self.pool.run(move |db| machines::invite(db, &hash, None, 60_000)).await.unwrap();
    }

    fn start(&self, id: &str, keys: MachineKeys, secret: Option<[u8; 18]>) -> Machine {
        let join = secret.map(|secret| JoinAs {
            token: Bytes(secret.to_vec()),
            name: label(id),
            person: label("anna"),
        });
        let credentials = Credentials {
            machine: uid(id),
            keys: keys.clone(),
            hub: self.target.fingerprint,
            join,
        };
        let (wishes, wanted) = unbounded_channel();
        let (told, events) = unbounded_channel();
        let make = move |now| Link::new(credentials, 1, now);
        tokio::spawn(drive(self.target.clone(), make, wanted, told));
        Machine { wishes, events, keys }
    }

    async fn join(&self, id: &str) -> Machine {
        let secret = random();
        self.invite(secret).await;
        let mut machine = self.start(id, MachineKeys::from_seeds(&random()), Some(secret));
        machine.until(|output| matches!(output, Output::Up(_))).await;
        machine
    }

    async fn get(&self, path: &str) -> String {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let _ = &self.options;
        let tcp = tokio::net::TcpStream::connect(&self.target.addresses[0]).await.unwrap();
        let config = crate::dial::pinned(self.target.fingerprint).unwrap();
        let name = rustls::pki_types::ServerName::try_from("substrate-hub").unwrap();
        let mut tls = tokio_rustls::TlsConnector::from(config).connect(name, tcp).await.unwrap();
        tls.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
        let mut text = String::new();
        tls.read_to_string(&mut text).await.ok();
        text
    }
}

impl Machine {
    async fn until(&mut self, wanted: impl Fn(&Output) -> bool) -> Output {
        timeout(DEADLINE, async {
            loop {
                let output = self.events.recv().await.expect("the link lives");
                if let Output::Store(items) = &output {
                    let stored =
                        |item: &Item| Stored { number: item.number, id: item.envelope.id.clone() };
                    let items = items.iter().map(stored).collect();
                    self.wishes.send(Wish::Stored(items)).unwrap();
                }
                if wanted(&output) {
                    return output;
                }
            }
        })
        .await
        .expect("it came in time")
    }

    async fn refused(&mut self) -> Option<Code> {
        let down = self.until(|output| matches!(output, Output::Down(_))).await;
        let Output::Down(away) = down else { unreachable!() };
        away.refused
    }

    fn send(&self, from: &str, to: &str, n: i64, body: &[u8]) -> Envelope {
        let envelope = Envelope {
            id: MailId::v7(n, random()),
            from: uid(from),
            to: uid(to),
            n,
            kind: Kind::Mail,
            agent: uid("a"),
            sealed: false,
            body: Bytes(body.to_vec()),
        };
        self.wishes.send(Wish::Submit(Box::new(envelope.clone()))).unwrap();
        envelope
    }
}

fn fate_of(id: &MailId, state: State) -> impl Fn(&Output) -> bool {
    let id = id.clone();
    move |output| matches!(output, Output::Fate(fate) if fate.id == id && fate.state == state)
}

#[tokio::test]
async fn mail_crosses_and_its_sender_sees_how_far_it_came() {
    let place = hub(Limits::default()).await;
    let mut laptop = place.join("laptop").await;
    let mut server = place.join("server").await;
    let sealed = {
        let plain = Envelope { sealed: false, ..laptop_envelope() };
        crate::keys::seal(plain, &server.keys.sealing_public()).unwrap()
    };
    laptop.wishes.send(Wish::Submit(Box::new(sealed.clone()))).unwrap();
    laptop.until(fate_of(&sealed.id, State::AtHub)).await;
    let stored = server.until(|output| matches!(output, Output::Store(_))).await;
    let Output::Store(items) = stored else { unreachable!() };
    assert_eq!(items[0].envelope, sealed);
    let opened = crate::keys::open(&items[0].envelope, &server.keys.sealing_secret()).unwrap();
    assert_eq!(opened, b"the eagle has landed");
    // Something must drive the receiver on while the sender waits.
    tokio::spawn(async move { server.until(|_| false).await });
    laptop.until(fate_of(&sealed.id, State::AtMachine)).await;
    let bodies = place
        .pool
        .run(|db| db.rows("select body from mail", &[], |row| row.blob(0)))
        .await
        .unwrap();
    assert!(bodies.iter().all(|body| !body.windows(5).any(|part| part == b"eagle")));
}

fn laptop_envelope() -> Envelope {
    Envelope {
        id: MailId::v7(1, random()),
        from: uid("laptop"),
        to: uid("server"),
        n: 1,
        kind: Kind::Mail,
        agent: uid("a"),
        sealed: false,
        body: Bytes(b"the eagle has landed".to_vec()),
    }
}

#[tokio::test]
async fn the_roster_and_the_machines_are_told() {
    let place = hub(Limits::default()).await;
    let laptop = place.join("laptop").await;
    let mut server = place.join("server").await;
    laptop
        .wishes
        .send(Wish::Status(AgentStatus {
            agent: uid("a-1"),
            name: label("CalmOtter"),
            project: label("shop"),
            status: label("working"),
            for_ms: 0,
        }))
        .unwrap();
    server.until(|output| matches!(output, Output::Machines(all) if all.len() == 2)).await;
    server
        .until(|output| match output {
            Output::Roster(parts) => {
                parts.iter().flat_map(|part| &part.agents).any(|it| it.name == label("CalmOtter"))
            }
            _ => false,
        })
        .await;
}

#[tokio::test]
async fn claims_are_decided_at_the_hub() {
    let place = hub(Limits::default()).await;
    let mut laptop = place.join("laptop").await;
    let mut server = place.join("server").await;
    let ask = |who: &str| Ask::Claim {
        name: label("staging-db"),
        agent: uid("a"),
        holder: label(who),
        ttl_ms: 60_000,
        note: label(""),
    };
    laptop.wishes.send(Wish::Ask { id: 1, what: ask("laptop"), patience_ms: 60_000 }).unwrap();
    let held = laptop.until(|output| matches!(output, Output::Answer(1, _))).await;
    assert!(matches!(held, Output::Answer(1, Some(Answer::Held { .. }))), "{held:?}");
    server.wishes.send(Wish::Ask { id: 2, what: ask("server"), patience_ms: 60_000 }).unwrap();
    let taken = server.until(|output| matches!(output, Output::Answer(2, _))).await;
    assert!(
        matches!(&taken, Output::Answer(2, Some(Answer::Taken { by })) if by.holder == label("laptop")),
        "{taken:?}"
    );
}

#[tokio::test]
async fn a_revoked_machine_is_cut_off_and_stays_out() {
    let place = hub(Limits::default()).await;
    let mut laptop = place.join("laptop").await;
    place.pool.run(|db| machines::revoke(db, "laptop")).await.unwrap();
    assert_eq!(laptop.refused().await, Some(Code::Revoked));
    let mut again = place.start("laptop", laptop.keys.clone(), None);
    assert_eq!(again.refused().await, Some(Code::Revoked));
}

#[tokio::test]
async fn a_hostile_machine_is_refused_and_counted_and_the_others_go_on() {
    let limits = Limits { messages_per_minute: 500, ..Limits::default() };
    let place = hub(limits).await;
    let mut honest = place.join("honest").await;
    let foreign = MachineKeys::from_seeds(&random());
    assert_eq!(place.start("honest", foreign.clone(), None).refused().await, Some(Code::Stranger));
    assert_eq!(place.start("ghost", foreign.clone(), None).refused().await, Some(Code::Stranger));
    let secret = random();
    assert_eq!(place.start("thief", foreign, Some(secret)).refused().await, Some(Code::Token));
    place.invite(secret).await;
    let mut first = place.start("first", MachineKeys::from_seeds(&random()), Some(secret));
    first.until(|output| matches!(output, Output::Up(_))).await;
    let mut replay = place.start("second", MachineKeys::from_seeds(&random()), Some(secret));
    assert_eq!(replay.refused().await, Some(Code::Token));

    let mut forger = place.join("forger").await;
    forger.send("honest", "first", 1, b"I am honest");
    assert_eq!(forger.refused().await, Some(Code::Forged));

    let mut flood = place.join("flood").await;
    for n in 1..=600 {
        flood.send("flood", "honest", n, b"spam");
    }
    assert_eq!(flood.refused().await, Some(Code::Flood));

    let mut large = place.join("large").await;
    large.send("large", "honest", 1, &vec![0; 5 << 20]);
    assert_eq!(large.refused().await, Some(Code::Frame));

    let sent = honest.send("honest", "first", 1, b"still here");
    honest.until(fate_of(&sent.id, State::AtHub)).await;
    let metrics = place.get("/metrics").await;
    // At least: a machine that was refused tries again later.
    for (code, least) in [("stranger", 2), ("token", 2), ("forged", 1), ("frame", 1), ("flood", 1)]
    {
        let row = format!("code=\"{code}\"}} ");
        let counted = metrics.split_once(&row).and_then(|(_, rest)| rest.lines().next());
        let counted: u64 = counted.and_then(|n| n.parse().ok()).unwrap_or_default();
        assert!(counted >= least, "{code}: {counted} in {metrics}");
    }
    assert!(!metrics.contains("honest"), "{metrics}");
    assert!(place.get("/health").await.ends_with("ok\n"));
    assert!(place.get("/else").await.starts_with("HTTP/1.1 404"));
}

#[tokio::test]
async fn a_hub_with_another_certificate_is_not_trusted() {
    let place = hub(Limits::default()).await;
    let other = Target { fingerprint: [7; 32], ..place.target.clone() };
    let impostor = Place { target: other, ..place };
    let mut machine = impostor.start("laptop", MachineKeys::from_seeds(&random()), Some(random()));
    let down = machine.until(|output| matches!(output, Output::Down(_))).await;
    assert!(format!("{down:?}").contains("another certificate"), "{down:?}");
}

/// Two hub processes on one PostgreSQL, and a machine at each.
#[tokio::test]
async fn two_hubs_on_one_database_are_one_team() {
    let server = substrate_testkit::Postgres::start();
    let backend = crate::db::Postgres::new(&server.url(), 3).unwrap();
    let fresh = backend.clone();
    std::thread::spawn(move || prepare(&fresh).unwrap()).join().unwrap();
    let options =
        Options { certificate: Some(Certificate::make().unwrap()), limits: Limits::default() };
    let fingerprint = options.certificate.as_ref().unwrap().fingerprint().unwrap();
    let mut addresses = Vec::new();
    let mut stops = Vec::new();
    let mut pools = Vec::new();
    for _ in 0..2 {
        let pool = Pool::start(backend.clone()).unwrap();
        let hub = Hub::open(pool.clone(), &options).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        addresses.push(listener.local_addr().unwrap().to_string());
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serving = options.clone();
        let stopped = async move { drop(stopped.await) };
        tokio::spawn(async move { serve(hub, listener, &serving, stopped).await });
        stops.push(stop);
        pools.push(pool);
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |addresses: Vec<String>, pool: &Pool, folder| Place {
        pool: pool.clone(),
        target: Target { addresses, plain: false, fingerprint },
        options: options.clone(),
        _folder: folder,
    };
    let first = at(addresses.clone(), &pools[0], folder);
    let second = at(vec![addresses[1].clone()], &pools[1], tempfile::tempdir().unwrap());
    let mut laptop = first.join("laptop").await;
    let mut desk = second.join("desk").await;
    let sent = laptop.send("laptop", "desk", 1, b"across hubs");
    desk.until(|output| matches!(output, Output::Store(items) if items[0].envelope == sent)).await;
    let mut desk = desk.in_background();
    laptop.until(fate_of(&sent.id, State::AtMachine)).await;

    // The first hub stops: its machine goes to the other one, and nothing is lost.
    drop(stops.remove(0));
    laptop.until(|output| matches!(output, Output::Down(_))).await;
    let later = laptop.send("laptop", "desk", 2, b"by the other hub");
    laptop.until(fate_of(&later.id, State::AtMachine)).await;
    assert_eq!(desk.numbers().await, [1, 2][1..]);

    // What one process revokes, the other cuts off.
    pools[0].run(|db| machines::revoke(db, "laptop")).await.unwrap();
    assert_eq!(laptop.refused().await, Some(Code::Revoked));
}

/// A machine that stores what comes by itself.
struct InBackground {
    stored: UnboundedReceiver<i64>,
}

impl Machine {
    fn in_background(mut self) -> InBackground {
        let (tell, stored) = unbounded_channel();
        tokio::spawn(async move {
            let pass = |output: &Output| {
                if let Output::Store(items) = output {
                    for item in items {
                        let _test_is_over = tell.send(item.envelope.n);
                    }
                }
                false
            };
            self.until(pass).await
        });
        InBackground { stored }
    }
}

impl InBackground {
    /// What was stored so far.
    async fn numbers(&mut self) -> Vec<i64> {
        let mut out = vec![timeout(DEADLINE, self.stored.recv()).await.unwrap().unwrap()];
        while let Ok(n) = self.stored.try_recv() {
            out.push(n);
        }
        out
    }
}
