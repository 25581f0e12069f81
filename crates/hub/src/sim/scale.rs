//! Ten thousand agents on two hundred machines, in one process: what their statuses cost the hub's database.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::db::{Sqlite, migrate, transact};
use crate::keys::MachineKeys;
use crate::link::{Credentials, Jitter, Link, Ms, Output};
use crate::ops::roster;
use crate::service::{Doorway, answer, greet};
use crate::wire::*;

const N_MACHINES: usize = 200;
const N_AGENTS: usize = 50;

/// How long it goes on, in simulated time.
const SPAN: Ms = 4_000;

fn uid(text: &str) -> Uid {
    Uid::try_from(text).unwrap()
}

fn label(text: &str) -> Label {
    Label::try_from(text).unwrap()
}

#[test]
fn ten_thousand_agents_cost_at_most_four_small_transactions_per_machine_and_second() {
    let clock = Arc::new(AtomicI64::new(1_000_000));
    let reading = Arc::clone(&clock);
    let backend = Sqlite::in_memory(Arc::new(move || reading.load(Ordering::Relaxed)));
    let mut database = backend.open().unwrap();
    migrate(&mut database).unwrap();
    let mut links = links(&mut database);
    let mut jitter = Jitter(7);
    let mut n_transactions = 0;
    let mut largest = 0;
    for now in (0..SPAN).step_by(50) {
        clock.store(1_000_000 + i64::try_from(now).unwrap(), Ordering::Relaxed);
        for (n, link) in links.iter_mut().enumerate() {
            // Each agent changes about once in two seconds.
            for agent in 0..N_AGENTS {
                if now == 0 || jitter.below(40) == 0 {
                    let doing = if jitter.below(2) == 0 { "working" } else { "idle" };
                    link.status(
                        now,
                        AgentStatus {
                            agent: uid(&format!("a-{agent}")),
                            name: label(&format!("Agent{n}x{agent}")),
                            project: label("shop"),
                            status: label(doing),
                            for_ms: 0,
                        },
                    );
                }
            }
            link.tick(now);
            let mut replies = Vec::new();
            while let Some(output) = link.next_output() {
                match output {
                    Output::Dial => {
                        link.dialed(now);
                        replies.push(ToMachine::Challenge {
                            v: 1,
                            oldest: 1,
                            nonce: Bytes(vec![1]),
                        });
                    }
                    Output::Send(bytes) => {
                        largest = largest.max(bytes.len());
                        let mut reader = FrameReader::default();
                        reader.push(&bytes);
                        let frame: ToHub = reader.next_frame().unwrap().unwrap();
                        if now > 0 {
                            n_transactions += 1;
                        }
                        replies.extend(hub_says(&mut database, n, &frame));
                    }
                    _ => {}
                }
                for reply in replies.drain(..) {
                    link.bytes(now, &encode(&reply));
                }
            }
        }
    }
    let known: usize = (0..N_MACHINES)
        .map(|n| {
            let of = uid(&format!("m-{n}"));
            let (part, _) = transact(&mut database, &mut |db| roster::since(db, &of, 0)).unwrap();
            part.agents.len()
        })
        .sum();
    assert_eq!(known, N_MACHINES * N_AGENTS);
    let per_second = n_transactions * 1_000 / usize::try_from(SPAN).unwrap();
    assert!(per_second <= 4 * N_MACHINES, "{per_second} transactions a second");
    assert!(largest < 16 << 10, "a batch of {largest} bytes");
    println!("{per_second} transactions a second, at most {largest} bytes each");
}

fn hub_says(database: &mut crate::db::File, n: usize, frame: &ToHub) -> Vec<ToMachine> {
    let who = uid(&format!("m-{n}"));
    if matches!(frame, ToHub::Hello(_)) {
        let door =
            Doorway { nonce: vec![1], hub: [0; 32], team: uid("team"), limits: Limits::default() };
        let welcome = transact(database, &mut |db| greet(db, &door, frame)).unwrap().unwrap();
        return vec![ToMachine::Welcome(welcome)];
    }
    transact(database, &mut |db| answer(db, &who, frame)).unwrap().frames
}

fn links(database: &mut crate::db::File) -> Vec<Link> {
    let link = |n: usize| {
        let id = uid(&format!("m-{n}"));
        let keys = MachineKeys::from_seeds(&[u8::try_from(n % 251).unwrap(); 64]);
        super::world::add_machine(database, &id, &keys);
        let credentials = Credentials { machine: id, keys, hub: [0; 32], join: None };
        Link::new(credentials, n as u64, 0)
    };
    (0..N_MACHINES).map(link).collect()
}
