//! How many messages a second one hub carries on PostgreSQL, next to plain inserts of the same rows in the same run.
//!
//! `cargo run --release -p substrate-hub --example throughput`

use std::time::{Duration, Instant};

use substrate_hub::db::{Backend as _, Pool, Postgres, transact};
use substrate_hub::dial::{Target, Wish, drive};
use substrate_hub::keys::{Invitation, MachineKeys, random};
use substrate_hub::link::{Credentials, JoinAs, Link, Output};
use substrate_hub::ops::machines;
use substrate_hub::server::{Certificate, Hub, Options, prepare, serve};
use substrate_hub::wire::{Bytes, Envelope, Kind, Label, Limits, MailId, State, Stored, Uid};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const N_SENDERS: usize = 8;
const N_MESSAGES: usize = 1_500;
const BODY: usize = 500;

fn uid(text: &str) -> Uid {
    Uid::try_from(text).expect("a constant")
}

#[expect(clippy::print_stdout, reason = "figures are its purpose")]
fn main() {
    let server = substrate_testkit::Postgres::start();
    let backend = Postgres::new(&server.url(), 4).expect("an address");
    prepare(&backend).expect("a database");
    let plain = plain_inserts(&backend);
    let pool = Pool::start(backend).expect("threads");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("one");
    let (took, delivered) = runtime.block_on(through_the_hub(&pool));
    let rate = |n: usize, took: Duration| n as f64 / took.as_secs_f64();
    let all = N_SENDERS * N_MESSAGES;
    println!("plain inserts: {:.0}/s", rate(all, plain));
    println!(
        "through the hub, at the far machine and told to the sender: {:.0}/s",
        rate(delivered, took)
    );
    println!("ratio {:.2}", plain.as_secs_f64() / took.as_secs_f64());
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default());
}

/// One transaction per row, as a hub that does nothing else would do it, on as many connections.
fn plain_inserts(backend: &Postgres) -> Duration {
    let mut admin = backend.connect().expect("a connection");
    let make = "create table plain (mailbox text, number bigint, id text, body bytea, primary key (mailbox, number))";
    transact(admin.as_mut(), &mut |db| db.execute(make, &[])).expect("a table");
    let begun = Instant::now();
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let backend = backend.clone();
            std::thread::spawn(move || {
                let mut connection = backend.connect().expect("a connection");
                let body = vec![1; BODY];
                for n in 0..N_SENDERS * N_MESSAGES / 4 {
                    let id = MailId::v7(0, random());
                    transact(connection.as_mut(), &mut |db| {
                        db.execute(
                            "insert into plain (mailbox, number, id, body) values ($1, $2, $3, $4)",
                            &[
                                format!("m-{writer}").as_str().into(),
                                i64::try_from(n).unwrap_or(0).into(),
                                id.as_str().into(),
                                body.as_slice().into(),
                            ],
                        )
                    })
                    .expect("an insert");
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().expect("a writer");
    }
    begun.elapsed()
}

async fn through_the_hub(pool: &Pool) -> (Duration, usize) {
    let limits = Limits { messages_per_minute: 10_000_000, ..Limits::default() };
    let options = Options { certificate: Some(Certificate::make().expect("one")), limits };
    let fingerprint = options.certificate.as_ref().expect("made").fingerprint().expect("one");
    let hub = Hub::open(pool.clone(), &options).await.expect("a hub");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let target = Target {
        addresses: vec![listener.local_addr().expect("one").to_string()],
        plain: false,
        fingerprint,
    };
    drop(tokio::spawn(async move { serve(hub, listener, &options, std::future::pending()).await }));
    let mut machines_up = Vec::new();
    for n in 0..N_SENDERS {
        machines_up.push(join(pool, &target, n).await);
    }
    let begun = Instant::now();
    let mut tasks = Vec::new();
    for (n, (wishes, mut events)) in machines_up.into_iter().enumerate() {
        for i in 1..=N_MESSAGES {
            let envelope = Envelope {
                id: MailId::v7(0, random()),
                from: uid(&format!("m-{n}")),
                to: uid(&format!("m-{}", (n + 1) % N_SENDERS)),
                n: i64::try_from(i).unwrap_or(0),
                kind: Kind::Mail,
                agent: uid("a"),
                sealed: false,
                body: Bytes(vec![1; BODY]),
            };
            wishes.send(Wish::Submit(Box::new(envelope))).expect("a link");
        }
        tasks.push(tokio::spawn(async move {
            let (mut n_told, mut n_stored) = (0, 0);
            while n_told < N_MESSAGES || n_stored < N_MESSAGES {
                match events.recv().await.expect("a link") {
                    Output::Store(items) => {
                        n_stored += items.len();
                        let stored = items
                            .into_iter()
                            .map(|item| Stored { number: item.number, id: item.envelope.id })
                            .collect();
                        wishes.send(Wish::Stored(stored)).expect("a link");
                    }
                    Output::Fate(fate) if fate.state == State::AtMachine => n_told += 1,
                    _ => {}
                }
            }
            (wishes, n_told)
        }));
    }
    let mut delivered = 0;
    let mut kept = Vec::new();
    for task in tasks {
        let (wishes, n) = task.await.expect("a machine");
        delivered += n;
        kept.push(wishes);
    }
    (begun.elapsed(), delivered)
}

type Machine = (UnboundedSender<Wish>, UnboundedReceiver<Output>);

/// A machine that is connected.
async fn join(pool: &Pool, target: &Target, n: usize) -> Machine {
    let secret: [u8; 18] = random();
    let hash = Invitation::hash(&secret);
    pool.run(move |db| machines::invite(db, &hash, None, 60_000)).await.expect("an invite");
    let name = format!("m-{n}");
    let credentials = Credentials {
        machine: uid(&name),
        keys: MachineKeys::from_seeds(&random()),
        hub: target.fingerprint,
        join: Some(JoinAs {
            token: Bytes(secret.to_vec()),
            name: Label::try_from(name).expect("a name"),
            person: Label::default(),
        }),
    };
    let (wishes, wanted) = unbounded_channel();
    let (told, mut events) = unbounded_channel();
    let make = move |now| Link::new(credentials, 1, now);
    drop(tokio::spawn(drive(target.clone(), make, wanted, told)));
    while !matches!(events.recv().await, Some(Output::Up(_))) {}
    (wishes, events)
}
