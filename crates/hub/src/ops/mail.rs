//! Mailboxes, one per machine. A counter in the mailbox's own row numbers its mail, so numbers and commits have one order.

use std::collections::{BTreeMap, BTreeSet};

use substrate_core::{Db, DbError, Param};

use super::{places, uid};
use crate::wire::{Bytes, Envelope, Fate, Item, Kind, MailId, State, Stored, Uid};

/// How many rows one statement writes.
const ROWS: usize = 50;

/// How many items, and about how many bytes, one look returns.
const LOOK_ITEMS: i64 = 128;
const LOOK_BYTES: usize = 1 << 20;

/// What came of putting messages.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Put {
    pub fates: Vec<Fate>,
    /// The machines that have new mail.
    pub stirred: BTreeSet<Uid>,
}

/// Takes messages of one machine. What was taken before is not taken again, and its fate is told again.
pub fn put(db: &mut dyn Db, sender: &Uid, mail: &[Envelope]) -> Result<Put, DbError> {
    let mut out = Put::default();
    // Always in one order, so that two senders to the same two machines never wait for each other.
    let mut by_machine: BTreeMap<&Uid, Vec<&Envelope>> = BTreeMap::new();
    for envelope in mail {
        by_machine.entry(&envelope.to).or_default().push(envelope);
    }
    for (machine, mail) in by_machine {
        for few in mail.chunks(ROWS) {
            if put_few(db, sender, machine, few, &mut out)? {
                out.stirred.insert(machine.clone());
            }
        }
    }
    Ok(out)
}

/// Whether anything is new.
fn put_few(
    db: &mut dyn Db,
    sender: &Uid,
    machine: &Uid,
    mail: &[&Envelope],
    out: &mut Put,
) -> Result<bool, DbError> {
    let n_rows = i64::try_from(mail.len()).unwrap_or(i64::MAX);
    let next = db.first(
        "update mailboxes set next = next + $2 where machine = $1
           and exists (select 1 from machines m where m.id = $1 and m.revoked_ms is null)
         returning next, now_ms()",
        &[machine.as_str().into(), n_rows.into()],
        |row| Ok((row.int(0)?, row.int(1)?)),
    )?;
    let Some((next, now)) = next else {
        let fate = |envelope: &&Envelope| Fate {
            id: envelope.id.clone(),
            state: State::NoMachine,
            at_ms: 0,
        };
        out.fates.extend(mail.iter().map(fate));
        return Ok(false);
    };
    let sql = format!(
        "insert into mail (mailbox, number, sender, id, n, kind, agent, sealed, put_ms, told, body) values {}
         on conflict (sender, id) do nothing",
        places(mail.len(), 11)
    );
    let mut params: Vec<Param<'_>> = Vec::with_capacity(mail.len() * 11);
    for (number, envelope) in (next - n_rows..).zip(mail) {
        params.extend::<[Param<'_>; 11]>([
            machine.as_str().into(),
            number.into(),
            sender.as_str().into(),
            envelope.id.as_str().into(),
            envelope.n.into(),
            envelope.kind.name().into(),
            envelope.agent.as_str().into(),
            i64::from(envelope.sealed).into(),
            now.into(),
            0.into(),
            envelope.body.0.as_slice().into(),
        ]);
    }
    let n_new = db.execute(&sql, &params)?;
    if n_new == mail.len() {
        let fate = |envelope: &&Envelope| Fate {
            id: envelope.id.clone(),
            state: State::AtHub,
            at_ms: now,
        };
        out.fates.extend(mail.iter().map(fate));
    } else {
        let ids: Vec<MailId> = mail.iter().map(|envelope| envelope.id.clone()).collect();
        out.fates.extend(fates(db, sender, &ids)?);
    }
    Ok(n_new > 0)
}

/// How far messages of a machine have come.
pub fn fates(db: &mut dyn Db, sender: &Uid, ids: &[MailId]) -> Result<Vec<Fate>, DbError> {
    let mut out = Vec::with_capacity(ids.len());
    for id in ids {
        let found = db.first(
            "select put_ms, got_ms from mail where sender = $1 and id = $2",
            &[sender.as_str().into(), id.as_str().into()],
            |row| Ok((row.int(0)?, row.opt_int(1)?)),
        )?;
        let (state, at_ms) = match found {
            None => (State::Unseen, 0),
            Some((_, Some(got))) => (State::AtMachine, got),
            Some((put, None)) => (State::AtHub, put),
        };
        out.push(Fate { id: id.clone(), state, at_ms });
    }
    Ok(out)
}

/// What waits in a mailbox after a number, oldest first.
pub fn waiting(db: &mut dyn Db, mailbox: &Uid, after: i64) -> Result<Vec<Item>, DbError> {
    let mut out: Vec<Item> = Vec::new();
    let mut n_bytes = 0;
    db.query(
        "select number, sender, id, n, kind, agent, sealed, body from mail
         where mailbox = $1 and number > $2 and got_ms is null order by number limit $3",
        &[mailbox.as_str().into(), after.into(), LOOK_ITEMS.into()],
        &mut |row| {
            let body = row.blob(7)?;
            n_bytes += body.len();
            if n_bytes > LOOK_BYTES && !out.is_empty() {
                return Ok(());
            }
            let id = MailId::try_from(row.text(2)?).map_err(|detail| DbError::Other { detail })?;
            let envelope = Envelope {
                id,
                from: uid(row, 1)?,
                to: mailbox.clone(),
                n: row.int(3)?,
                kind: Kind::named(&row.text(4)?),
                agent: uid(row, 5)?,
                sealed: row.int(6)? != 0,
                body: Bytes(body),
            };
            out.push(Item { number: row.int(0)?, envelope });
            Ok(())
        },
    )?;
    Ok(out)
}

/// The machine has these on its disk. Returns the senders that can be told.
pub fn got(db: &mut dyn Db, mailbox: &Uid, items: &[Stored]) -> Result<BTreeSet<Uid>, DbError> {
    let mut senders = BTreeSet::new();
    for Stored { number, id } in items {
        // The body has done its work. What stays is a line that knows the message, for those who ask.
        let sender = db.first(
            "update mail set got_ms = now_ms(), told = 1, body = $4
             where mailbox = $1 and number = $2 and id = $3 and got_ms is null returning sender",
            &[mailbox.as_str().into(), (*number).into(), id.as_str().into(), b"".as_slice().into()],
            |row| uid(row, 0),
        )?;
        senders.extend(sender);
    }
    for sender in &senders {
        db.execute(
            "update mailboxes set told = told + 1 where machine = $1",
            &[sender.as_str().into()],
        )?;
    }
    Ok(senders)
}

/// What has arrived since its sender was last told, and that it is told now. If the word gets lost, the sender asks.
pub fn news(db: &mut dyn Db, sender: &Uid) -> Result<Vec<Fate>, DbError> {
    let fates = db.rows(
        "select id, got_ms from mail where sender = $1 and told = 1 order by number limit 500",
        &[sender.as_str().into()],
        |row| {
            let id = MailId::try_from(row.text(0)?).map_err(|detail| DbError::Other { detail })?;
            Ok(Fate { id, state: State::AtMachine, at_ms: row.int(1)? })
        },
    )?;
    for fate in &fates {
        db.execute(
            "update mail set told = 2 where sender = $1 and id = $2",
            &[sender.as_str().into(), fate.id.as_str().into()],
        )?;
    }
    Ok(fates)
}

/// What changes when a machine has mail, or its sent mail has arrived: (next number, times told).
pub fn marks(db: &mut dyn Db) -> Result<BTreeMap<Uid, (i64, i64)>, DbError> {
    let rows = db.rows("select machine, next, told from mailboxes", &[], |row| {
        Ok((uid(row, 0)?, (row.int(1)?, row.int(2)?)))
    })?;
    Ok(rows.into_iter().collect())
}

/// How many messages no machine has confirmed yet.
pub fn n_waiting(db: &mut dyn Db) -> Result<i64, DbError> {
    let found =
        db.first("select count(*) from mail where got_ms is null", &[], |row| row.int(0))?;
    Ok(found.unwrap_or(0))
}

/// Forgets mail that arrived before then. Its machines remember the ids.
pub fn sweep(db: &mut dyn Db, older_ms: i64) -> Result<usize, DbError> {
    db.execute(
        "delete from mail where (mailbox, number) in
           (select mailbox, number from mail where got_ms is not null and got_ms < now_ms() - $1 limit 1000)",
        &[older_ms.into()],
    )
}
