//! What both databases must do: every operation of the hub, on SQLite and on a real PostgreSQL.

use std::cell::Cell;
use std::sync::Arc;

use substrate_core::{Db, DbError};

use super::{Backend, Connection, migrate, transact};
use crate::ops::{claims, machines, mail, roster, work};
use crate::wire::*;

/// A database that each test has to itself.
trait Place {
    fn fresh(&self) -> Arc<dyn Backend>;
}

fn uid(text: &str) -> Uid {
    Uid::try_from(text).unwrap()
}

fn label(text: &str) -> Label {
    Label::try_from(text).unwrap()
}

fn id(n: u8) -> MailId {
    MailId::v7(i64::from(n), [n; 16])
}

fn run<T>(
    connection: &mut Box<dyn Connection>,
    mut body: impl FnMut(&mut dyn Db) -> Result<T, DbError>,
) -> T {
    transact(connection.as_mut(), &mut body).unwrap()
}

fn opened(place: &dyn Place) -> (Arc<dyn Backend>, Box<dyn Connection>) {
    let backend = place.fresh();
    let mut connection = backend.connect().unwrap();
    migrate(connection.as_mut()).unwrap();
    (backend, connection)
}

fn joining(machine: &str) -> Join {
    Join {
        v: 1,
        oldest: 1,
        machine: uid(machine),
        token: Bytes::default(),
        name: label(&format!("{machine}-name")),
        person: label("anna"),
        key: Bytes(machine.as_bytes().to_vec()),
        seal: Bytes(vec![0, 255, 7]),
        signature: Bytes::default(),
    }
}

fn with_machines(connection: &mut Box<dyn Connection>, names: &[&str]) {
    for name in names {
        let hash = uid(&format!("hash-{name}"));
        run(connection, |db| machines::invite(db, &hash, None, 60_000));
        run(connection, |db| machines::join(db, &hash, &joining(name))).unwrap();
    }
}

fn envelope(from: &str, to: &str, n: u8) -> Envelope {
    Envelope {
        id: id(n),
        from: uid(from),
        to: uid(to),
        n: i64::from(n),
        kind: Kind::Mail,
        agent: uid("a"),
        sealed: true,
        body: Bytes(vec![n, 0, 255]),
    }
}

fn states(fates: &[Fate]) -> Vec<State> {
    fates.iter().map(|fate| fate.state).collect()
}

fn numbers(items: &[Item]) -> Vec<i64> {
    items.iter().map(|item| item.envelope.n).collect()
}

fn two_hubs_that_start_at_once_migrate_once(place: &dyn Place) {
    let backend = place.fresh();
    let hubs: Vec<_> = (0..4)
        .map(|_| {
            let backend = Arc::clone(&backend);
            std::thread::spawn(move || {
                let mut connection = backend.connect().unwrap();
                migrate(connection.as_mut()).unwrap();
            })
        })
        .collect();
    for hub in hubs {
        hub.join().unwrap();
    }
    let mut connection = backend.connect().unwrap();
    let n = run(&mut connection, |db| {
        db.first("select count(*) from hub_steps", &[], |row| row.int(0))
    });
    assert_eq!(n, Some(1));
}

fn a_zero_byte_reaches_no_database(place: &dyn Place) {
    let (_backend, mut connection) = opened(place);
    let refused = transact(connection.as_mut(), &mut |db| machines::revoke(db, "a\0b"));
    assert!(matches!(refused, Err(DbError::Other { .. })), "{refused:?}");
    assert_eq!(run(&mut connection, |db| machines::revoke(db, "ab")), None, "it goes on");
}

fn an_invitation_counts_once(place: &dyn Place) {
    let (_backend, mut c) = opened(place);
    let hash = uid("h");
    run(&mut c, |db| machines::invite(db, &hash, Some(&label("laptop")), 60_000));
    let first = run(&mut c, |db| machines::join(db, &hash, &joining("m-1")));
    assert_eq!(first, Ok(label("laptop")));
    let lost_answer = run(&mut c, |db| machines::join(db, &hash, &joining("m-1")));
    assert_eq!(lost_answer, Ok(label("laptop")), "a repeated join has joined");
    let replayed = run(&mut c, |db| machines::join(db, &hash, &joining("m-2")));
    assert_eq!(replayed, Err(machines::NotJoined::Token));
    let other_key = Join { key: Bytes(vec![9]), ..joining("m-1") };
    let stolen = run(&mut c, |db| machines::join(db, &hash, &other_key));
    assert_eq!(stolen, Err(machines::NotJoined::Name));
    run(&mut c, |db| machines::invite(db, &uid("old"), None, -1));
    let expired = run(&mut c, |db| machines::join(db, &uid("old"), &joining("m-3")));
    assert_eq!(expired, Err(machines::NotJoined::Token));
    run(&mut c, |db| machines::invite(db, &uid("same"), Some(&label("laptop")), 60_000));
    let same_name = run(&mut c, |db| machines::join(db, &uid("same"), &joining("m-4")));
    assert_eq!(same_name, Err(machines::NotJoined::Name));
}

fn a_revoked_machine_holds_nothing_and_gets_nothing(place: &dyn Place) {
    let (_backend, mut c) = opened(place);
    with_machines(&mut c, &["m-1", "m-2"]);
    run(&mut c, |db| claim(db, "staging", "m-2", 60_000));
    assert_eq!(run(&mut c, |db| machines::revoke(db, "m-2-name")), Some(uid("m-2")));
    assert_eq!(run(&mut c, |db| machines::revoke(db, "m-2-name")), None);
    assert!(run(&mut c, |db| machines::member(db, &uid("m-2"))).unwrap().revoked);
    let put = run(&mut c, |db| mail::put(db, &uid("m-1"), &[envelope("m-1", "m-2", 1)]));
    assert_eq!(states(&put.fates), [State::NoMachine]);
    assert_eq!(run(&mut c, claims::all), []);
    let all = run(&mut c, machines::all);
    assert_eq!(all.iter().map(|it| it.revoked).collect::<Vec<_>>(), [false, true]);
    assert_eq!(all[0].seal.0, [0, 255, 7]);
}

fn mail_is_taken_once_and_told_further(place: &dyn Place) {
    let (_backend, mut c) = opened(place);
    with_machines(&mut c, &["m-1", "m-2"]);
    let (one, two) = (uid("m-1"), uid("m-2"));
    let sent: Vec<Envelope> = (1..=120).map(|n| envelope("m-1", "m-2", n)).collect();
    let put = run(&mut c, |db| mail::put(db, &one, &sent));
    assert_eq!(put.stirred, [two.clone()].into());
    assert!(states(&put.fates).iter().all(|state| *state == State::AtHub));
    let again = run(&mut c, |db| mail::put(db, &one, &sent[..3]));
    assert_eq!((states(&again.fates), again.stirred.len()), (vec![State::AtHub; 3], 0));
    let items = run(&mut c, |db| mail::waiting(db, &two, 0));
    assert_eq!(numbers(&items), (1..=120).collect::<Vec<i64>>());
    assert_eq!(items[4].envelope, sent[4]);
    assert_eq!(run(&mut c, |db| mail::waiting(db, &one, 0)), [], "only the addressee's");
    let stored = |item: &Item| Stored { number: item.number, id: item.envelope.id.clone() };
    let few: Vec<Stored> = items[..2].iter().map(stored).collect();
    let other = Stored { id: id(99), ..few[0].clone() };
    assert_eq!(
        run(&mut c, |db| mail::got(db, &two, std::slice::from_ref(&other))).len(),
        0,
        "another message"
    );
    assert_eq!(run(&mut c, |db| mail::got(db, &one, &few)).len(), 0, "of its own mailbox only");
    assert_eq!(run(&mut c, |db| mail::got(db, &two, &few)), [one.clone()].into());
    assert_eq!(run(&mut c, |db| mail::got(db, &two, &few)).len(), 0);
    let news = run(&mut c, |db| mail::news(db, &one));
    assert_eq!(states(&news), [State::AtMachine; 2]);
    assert_eq!(run(&mut c, |db| mail::news(db, &one)), []);
    let asked = run(&mut c, |db| mail::fates(db, &one, &[id(1), id(3), id(200)]));
    assert_eq!(states(&asked), [State::AtMachine, State::AtHub, State::Unseen]);
    assert_eq!(run(&mut c, |db| mail::fates(db, &two, &[id(1)]))[0].state, State::Unseen);
    let left = run(&mut c, |db| mail::waiting(db, &two, items[9].number));
    assert_eq!(numbers(&left)[0], 11);
    assert_eq!(run(&mut c, |db| mail::sweep(db, 60_000)), 0);
    assert_eq!(run(&mut c, |db| mail::sweep(db, -60_000)), 2);
}

fn an_id_of_another_machine_is_no_hindrance(place: &dyn Place) {
    let (_backend, mut c) = opened(place);
    with_machines(&mut c, &["m-1", "m-2", "m-3"]);
    let squat = Envelope { from: uid("m-3"), ..envelope("m-1", "m-2", 1) };
    run(&mut c, |db| mail::put(db, &uid("m-3"), std::slice::from_ref(&squat)));
    let put = run(&mut c, |db| mail::put(db, &uid("m-1"), &[envelope("m-1", "m-2", 1)]));
    assert_eq!(put.stirred.len(), 1);
    assert_eq!(run(&mut c, |db| mail::waiting(db, &uid("m-2"), 0)).len(), 2);
}

fn writers_at_once_skip_no_number(place: &dyn Place) {
    let (backend, mut c) = opened(place);
    let senders = ["s-1", "s-2", "s-3", "s-4"];
    with_machines(&mut c, &["m-1", "m-2"]);
    with_machines(&mut c, &senders);
    let writers: Vec<_> = senders
        .map(|sender| {
            let backend = Arc::clone(&backend);
            std::thread::spawn(move || {
                let mut c = backend.connect().unwrap();
                for n in 1..=25 {
                    let mail = [envelope(sender, "m-1", n), envelope(sender, "m-2", 100 + n)];
                    run(&mut c, |db| mail::put(db, &uid(sender), &mail));
                }
            })
        })
        .into_iter()
        .collect();
    let mut cursor = 0;
    let mut seen = Vec::new();
    while seen.len() < 100 {
        for item in run(&mut c, |db| mail::waiting(db, &uid("m-1"), cursor)) {
            cursor = item.number;
            seen.push((item.envelope.from, item.envelope.n));
        }
    }
    for writer in writers {
        writer.join().unwrap();
    }
    for sender in senders {
        let of: Vec<i64> = seen.iter().filter(|it| it.0 == uid(sender)).map(|it| it.1).collect();
        assert_eq!(of, (1..=25).collect::<Vec<i64>>(), "a cursor saw all, in order");
    }
}

fn the_roster_has_the_latest_status(place: &dyn Place) {
    let (_backend, mut c) = opened(place);
    with_machines(&mut c, &["m-1"]);
    let one = uid("m-1");
    let status = |agent: &str, what: &str| AgentStatus {
        agent: uid(agent),
        name: label(agent),
        project: label("p"),
        status: label(what),
        for_ms: 5_000,
    };
    let many: Vec<AgentStatus> = (0..230).map(|n| status(&format!("a-{n}"), "idle")).collect();
    run(&mut c, |db| roster::note(db, &one, true, &many, &[]));
    let (part, version) = run(&mut c, |db| roster::since(db, &one, 0));
    assert_eq!((part.agents.len(), part.whole, version), (230, true, 1));
    assert!((5_000..65_000).contains(&part.agents[0].for_ms));
    run(&mut c, |db| roster::note(db, &one, false, &[status("a-7", "working")], &[uid("a-9")]));
    assert_eq!(run(&mut c, roster::versions)[&one], 2);
    let (part, version) = run(&mut c, |db| roster::since(db, &one, 1));
    assert_eq!(part.agents.iter().map(|it| it.status.as_str()).collect::<Vec<_>>(), ["working"]);
    assert_eq!((part.gone, version), (vec![uid("a-9")], 2));
    run(&mut c, |db| roster::note(db, &one, true, &many[..2], &[]));
    let (part, _) = run(&mut c, |db| roster::since(db, &one, 0));
    assert_eq!((part.agents.len(), part.gone.len()), (2, 228));
}

fn claim(db: &mut dyn Db, name: &str, machine: &str, ttl_ms: i64) -> Result<Answer, DbError> {
    let wanted = claims::Wanted {
        name: &label(name),
        machine: &uid(machine),
        agent: &uid("a"),
        holder: &label("CalmOtter@laptop"),
        note: &label(""),
        ttl_ms,
    };
    claims::claim(db, wanted)
}

fn epoch(answer: &Answer) -> Option<i64> {
    match answer {
        Answer::Held { epoch, .. } => Some(*epoch),
        _ => None,
    }
}

fn a_resource_has_one_holder(place: &dyn Place) {
    let (_backend, mut c) = opened(place);
    let first = run(&mut c, |db| claim(db, "staging", "m-1", 60_000));
    let one = epoch(&first).unwrap();
    let refused = run(&mut c, |db| claim(db, "staging", "m-2", 60_000));
    assert!(matches!(&refused, Answer::Taken { by } if by.machine == uid("m-1")), "{refused:?}");
    let again = run(&mut c, |db| claim(db, "staging", "m-1", 60_000));
    assert_eq!(epoch(&again), Some(one), "its own hold goes on");
    let (name, m1, m2, a) = (label("staging"), uid("m-1"), uid("m-2"), uid("a"));
    let lost = run(&mut c, |db| claims::renew(db, &name, &m2, &a, one, 60_000));
    assert_eq!(lost, Answer::Lost);
    assert_eq!(run(&mut c, |db| claims::release(db, &name, &m1, &a, one - 1)), Answer::Lost);
    assert!(epoch(&run(&mut c, |db| claims::renew(db, &name, &m1, &a, one, 60_000))).is_some());
    assert_eq!(run(&mut c, |db| claims::release(db, &name, &m1, &a, one)), Answer::Released);
    let next = epoch(&run(&mut c, |db| claim(db, "staging", "m-2", 60_000))).unwrap();
    assert!(next > one, "a new holder has a new epoch");
    assert_eq!(run(&mut c, |db| claims::renew(db, &name, &m1, &a, one, 60_000)), Answer::Lost);
    run(&mut c, |db| claim(db, "short", "m-1", 1));
    let later = std::time::Instant::now();
    while run(&mut c, |db| claim(db, "short", "m-2", 60_000)) == Answer::Lost
        || run(&mut c, claims::all).iter().all(|it| it.machine != m2 || it.name != label("short"))
    {
        run(&mut c, |db| claim(db, "short", "m-2", 60_000));
        assert!(later.elapsed().as_secs() < 10, "what has run out is free");
    }
}

fn claimants_at_once_never_share(place: &dyn Place) {
    let (backend, mut c) = opened(place);
    for n in 1..=40 {
        run(&mut c, |db| work::add(db, &id(n), &label("q"), b"do it"));
        run(&mut c, |db| work::add(db, &id(n), &label("q"), b"do it"));
    }
    let takers: Vec<_> = (0..4)
        .map(|taker| {
            let backend = Arc::clone(&backend);
            std::thread::spawn(move || {
                let mut c = backend.connect().unwrap();
                let mut got = Vec::new();
                let machine = uid(&format!("m-{taker}"));
                for n in 0.. {
                    let once = uid(&format!("o-{taker}-{n}"));
                    let take = |db: &mut dyn Db| {
                        work::take(db, &label("q"), &machine, &uid("a"), &once, 60_000)
                    };
                    let Answer::Work { item } = run(&mut c, take) else { break };
                    assert_eq!(run(&mut c, take), Answer::Work { item: item.clone() });
                    got.push(item.item);
                }
                got
            })
        })
        .collect();
    let mut got: Vec<MailId> = takers.into_iter().flat_map(|it| it.join().unwrap()).collect();
    got.sort();
    assert_eq!(got, (1..=40).map(id).collect::<Vec<_>>(), "each item once");
}

fn work_of_the_dead_comes_back(place: &dyn Place) {
    let (_backend, mut c) = opened(place);
    run(&mut c, |db| work::add(db, &id(1), &label("q"), b"x"));
    let (a, q) = (uid("a"), label("q"));
    let take = |db: &mut dyn Db, machine: &str, ttl| {
        work::take(db, &q, &uid(machine), &a, &uid(&format!("once-{machine}")), ttl)
    };
    let Answer::Work { item } = run(&mut c, |db| take(db, "m-1", 60_000)) else { panic!("free") };
    assert_eq!(run(&mut c, |db| take(db, "m-2", 60_000)), Answer::Nothing);
    let settle = |db: &mut dyn Db, machine: &str, renew| {
        work::settle(db, &id(1), &uid(machine), &a, item.epoch, renew)
    };
    assert!(epoch(&run(&mut c, |db| settle(db, "m-1", Some(60_000)))).is_some());
    assert_eq!(run(&mut c, |db| settle(db, "m-2", None)), Answer::Lost);
    run(&mut c, |db| db.execute("update work set expires_ms = 0", &[]));
    let Answer::Work { item: again } = run(&mut c, |db| take(db, "m-2", 60_000)) else {
        panic!("it came back")
    };
    assert_eq!(again.epoch, item.epoch + 1);
    assert_eq!(run(&mut c, |db| settle(db, "m-1", None)), Answer::Lost, "the dead are late");
    let done = run(&mut c, |db| work::settle(db, &id(1), &uid("m-2"), &a, again.epoch, None));
    assert_eq!(done, Answer::Released);
    assert_eq!(run(&mut c, |db| take(db, "m-3", 60_000)), Answer::Nothing);
}

fn a_failed_transaction_leaves_nothing(place: &dyn Place) {
    let (_backend, mut c) = opened(place);
    let failed = transact(c.as_mut(), &mut |db| {
        machines::team(db, &uid("t-1"))?;
        db.execute("insert into nowhere (x) values ($1)", &[1.into()])
    });
    assert!(failed.is_err());
    assert_eq!(run(&mut c, |db| machines::team(db, &uid("t-2"))), uid("t-2"));
    assert_eq!(run(&mut c, |db| machines::team(db, &uid("t-3"))), uid("t-2"));
}

/// SQLite has a test per operation. A PostgreSQL server takes seconds to start, so one test has them all.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod on_sqlite {
            $(#[test] fn $name() { super::$name(&super::OnSqlite); })+
        }

        mod on_postgres {
            use super::{OnPostgres, Place};

            #[test]
            fn every_operation() {
                let server = OnPostgres::default();
                let tests: &[(&str, fn(&dyn Place))] = &[$((stringify!($name), super::$name)),+];
                for (name, test) in tests {
                    println!("{name}");
                    test(&server);
                }
            }
        }
    };
}

on_both!(
    two_hubs_that_start_at_once_migrate_once,
    a_zero_byte_reaches_no_database,
    an_invitation_counts_once,
    a_revoked_machine_holds_nothing_and_gets_nothing,
    mail_is_taken_once_and_told_further,
    an_id_of_another_machine_is_no_hindrance,
    writers_at_once_skip_no_number,
    the_roster_has_the_latest_status,
    a_resource_has_one_holder,
    claimants_at_once_never_share,
    work_of_the_dead_comes_back,
    a_failed_transaction_leaves_nothing,
);

struct OnSqlite;

impl Place for OnSqlite {
    fn fresh(&self) -> Arc<dyn Backend> {
        let folder = tempfile::tempdir().unwrap();
        let begun = std::time::Instant::now();
        let path = folder.path().join("hub.db");
        // The folder lives as long as the clock, which every connection has.
        let clock = move || {
            let _kept = &folder;
            1_700_000_000_000 + i64::try_from(begun.elapsed().as_millis()).unwrap()
        };
        Arc::new(super::Sqlite::at(&path, Arc::new(clock)))
    }
}

/// A server, and how many databases it has.
struct OnPostgres {
    server: substrate_testkit::Postgres,
    n_databases: Cell<u32>,
}

impl Default for OnPostgres {
    fn default() -> Self {
        Self { server: substrate_testkit::Postgres::start(), n_databases: Cell::new(0) }
    }
}

impl Place for OnPostgres {
    fn fresh(&self) -> Arc<dyn Backend> {
        let n = self.n_databases.replace(self.n_databases.get() + 1);
        let url = self.server.url();
        let mut admin = super::Postgres::new(&url, 1).unwrap().connect().unwrap();
        admin.db().execute(&format!("create database test_{n}"), &[]).unwrap();
        let url = url.replace("///postgres", &format!("///test_{n}"));
        Arc::new(super::Postgres::new(&url, 4).unwrap())
    }
}
