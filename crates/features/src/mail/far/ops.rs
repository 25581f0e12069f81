//! The SQL of mail across machines.

use substrate_core::{Db, DbError, Row, Timestamp};

/// A message on the wire, ours or theirs.
#[derive(Clone, Debug, Default)]
pub(super) struct FarRow {
    pub(super) serial: i64,
    pub(super) uid: String,
    /// The other machine.
    pub(super) machine: String,
    pub(super) kind: String,
    /// Its place among the messages between the two machines. 0 where order does not matter.
    pub(super) n: i64,
    /// The message here. Receipts, and what is held or failed, have none.
    pub(super) message: Option<i64>,
    /// Whose delivery it is.
    pub(super) agent: Option<i64>,
    pub(super) sub: String,
    /// The agent that sent it, where the message itself does not say it.
    pub(super) sender: String,
    /// The text, where there is no message.
    pub(super) body: String,
    pub(super) rev: i64,
}

macro_rules! select {
    ($where:literal) => {
        concat!(
            "select serial, uid, machine, kind, n, message, agent, sub, sender, body, rev from far_mail where ",
            $where
        )
    };
}

fn row(row: &dyn Row) -> Result<FarRow, DbError> {
    Ok(FarRow {
        serial: row.int(0)?,
        uid: row.text(1)?,
        machine: row.text(2)?,
        kind: row.text(3)?,
        n: row.int(4)?,
        message: row.opt_int(5)?,
        agent: row.opt_int(6)?,
        sub: row.text(7)?,
        sender: row.text(8)?,
        body: row.text(9)?,
        rev: row.int(10)?,
    })
}

/// What becomes of a row next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// It waits for the link.
    Ours,
    /// Its receipts are still to come.
    Theirs,
    /// It waits for earlier ones.
    Held,
    /// It failed, and is only remembered.
    Done,
}

pub(super) fn insert(
    db: &mut dyn Db,
    one: &FarRow,
    side: Side,
    now: Timestamp,
) -> Result<(), DbError> {
    db.execute(
        "insert into far_mail (uid, machine, is_ours, kind, n, message, agent, sub, sender, body, queued_ms, is_open,
           is_held, told, rev)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, '0000', 0)",
        &[
            one.uid.as_str().into(),
            one.machine.as_str().into(),
            i64::from(side == Side::Ours).into(),
            one.kind.as_str().into(),
            one.n.into(),
            one.message.into(),
            one.agent.into(),
            one.sub.as_str().into(),
            one.sender.as_str().into(),
            one.body.as_str().into(),
            now.0.into(),
            i64::from(matches!(side, Side::Ours | Side::Theirs)).into(),
            i64::from(side == Side::Held).into(),
        ],
    )?;
    Ok(())
}

/// The number of the next message to a machine.
pub(super) fn count_sent(db: &mut dyn Db, machine: &str) -> Result<i64, DbError> {
    let n = db.first(
        "insert into far_counts (machine, sent, next) values ($1, 1, 1)
         on conflict (machine) do update set sent = far_counts.sent + 1 returning sent",
        &[machine.into()],
        |row| row.int(0),
    )?;
    Ok(n.unwrap_or(0))
}

/// The number that is expected of a machine.
pub(super) fn next(db: &mut dyn Db, machine: &str) -> Result<i64, DbError> {
    let found =
        db.first("select next from far_counts where machine = $1", &[machine.into()], |row| {
            row.int(0)
        })?;
    Ok(found.unwrap_or(1))
}

pub(super) fn expect(db: &mut dyn Db, machine: &str, next: i64) -> Result<(), DbError> {
    db.execute(
        "insert into far_counts (machine, sent, next) values ($1, 0, $2)
         on conflict (machine) do update set next = excluded.next",
        &[machine.into(), next.into()],
    )?;
    Ok(())
}

/// Another identity of this machine counts from 1 again.
pub(super) fn forget_counts(db: &mut dyn Db) -> Result<(), DbError> {
    db.execute("delete from far_counts", &[])?;
    Ok(())
}

pub(super) const OUT: &str =
    select!("is_ours = 1 and is_open = 1 and serial > $1 order by serial limit $2");

/// What waits for the link, oldest first.
pub(super) fn out(db: &mut dyn Db, after: i64, limit: i64) -> Result<Vec<FarRow>, DbError> {
    db.rows(OUT, &[after.into(), limit.into()], row)
}

/// A message of ours, by its id on the wire.
pub(super) fn ours(db: &mut dyn Db, uid: &str) -> Result<Option<FarRow>, DbError> {
    db.first(select!("uid = $1 and is_ours = 1 limit 1"), &[uid.into()], row)
}

pub(super) fn is_known(db: &mut dyn Db, machine: &str, uid: &str) -> Result<bool, DbError> {
    let found = db.first(
        "select 1 from far_mail where uid = $1 and is_ours = 0 and machine = $2",
        &[uid.into(), machine.into()],
        |row| row.int(0),
    )?;
    Ok(found.is_some())
}

/// The message that has this id on the wire between us and a machine, whichever side sent it.
pub(super) fn message_of(
    db: &mut dyn Db,
    machine: &str,
    uid: &str,
) -> Result<Option<i64>, DbError> {
    let found = db.first(
        "select message from far_mail where uid = $1 and machine = $2 and message is not null limit 1",
        &[uid.into(), machine.into()],
        |row| row.int(0),
    )?;
    Ok(found)
}

/// The id on the wire under which a machine knows a message.
pub(super) fn uid_of(
    db: &mut dyn Db,
    machine: &str,
    message: i64,
) -> Result<Option<String>, DbError> {
    db.first(
        "select uid from far_mail where message = $1 and machine = $2 limit 1",
        &[message.into(), machine.into()],
        |row| row.text(0),
    )
}

/// It has come as far as it will.
pub(super) fn close(db: &mut dyn Db, serial: i64) -> Result<(), DbError> {
    db.execute("update far_mail set is_open = 0 where serial = $1", &[serial.into()])?;
    Ok(())
}

/// The held message with that number.
pub(super) fn held(db: &mut dyn Db, machine: &str, n: i64) -> Result<Option<FarRow>, DbError> {
    db.first(
        select!("machine = $1 and n = $2 and is_held = 1 limit 1"),
        &[machine.into(), n.into()],
        row,
    )
}

/// The first message of each machine that has been held since before then.
pub(super) fn held_long(db: &mut dyn Db, before: Timestamp) -> Result<Vec<FarRow>, DbError> {
    db.rows(
        select!(
            "is_held = 1 and queued_ms < $1 and n = (
               select min(o.n) from far_mail o where o.machine = far_mail.machine and o.is_held = 1) limit 100"
        ),
        &[before.0.into()],
        row,
    )
}

/// A held message was handed over, or failed.
pub(super) fn settle_held(
    db: &mut dyn Db,
    serial: i64,
    message: Option<(i64, i64, &str)>,
) -> Result<(), DbError> {
    let (id, agent, sub) = match message {
        Some((id, agent, sub)) => (Some(id), Some(agent), sub),
        None => (None, None, ""),
    };
    db.execute(
        "update far_mail set is_held = 0, body = '', message = $2, agent = $3, sub = $4, is_open = $5 where serial = $1",
        &[serial.into(), id.into(), agent.into(), sub.into(), i64::from(id.is_some()).into()],
    )?;
    Ok(())
}

/// Messages of ours that the far machines do not have yet.
pub(crate) fn n_open(db: &mut dyn Db) -> Result<i64, DbError> {
    let found = db.first(
        "select count(*) from far_mail where is_ours = 1 and is_open = 1 and kind = 'mail'",
        &[],
        |row| row.int(0),
    )?;
    Ok(found.unwrap_or(0))
}

/// A step of a delivery.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'a> {
    AtHub,
    AtMachine,
    Failed(&'a str),
}

/// Notes a step. `false`: it has failed before, or there is no such delivery.
pub(super) fn step(
    db: &mut dyn Db,
    of: &FarRow,
    step: Step<'_>,
    at_ms: i64,
) -> Result<bool, DbError> {
    let (Some(message), Some(agent)) = (of.message, of.agent) else { return Ok(false) };
    let (set, why) = match step {
        Step::AtHub => ("at_hub_ms = coalesce(at_hub_ms, $4)", None),
        Step::AtMachine => (
            "at_hub_ms = coalesce(at_hub_ms, $4), at_machine_ms = coalesce(at_machine_ms, $4)",
            None,
        ),
        Step::Failed(why) => ("failed_ms = $4, failed_why = $5", Some(why)),
    };
    let sql = format!(
        "update deliveries set {set} where message = $1 and agent = $2 and sub = $3 and ($5 is null or failed_ms is null)"
    );
    let params = [message.into(), agent.into(), of.sub.as_str().into(), at_ms.into(), why.into()];
    Ok(db.execute(&sql, &params)? > 0)
}

/// What the far machine says of a delivery, if it is newer than what we know.
pub(super) fn apply(
    db: &mut dyn Db,
    of: &FarRow,
    receipt: &super::FarReceipt,
) -> Result<(), DbError> {
    let (Some(message), Some(agent)) = (of.message, of.agent) else { return Ok(()) };
    let newer = db.execute(
        "update far_mail set rev = $2 where serial = $1 and rev < $2",
        &[of.serial.into(), receipt.rev.into()],
    )?;
    if newer == 0 {
        return Ok(());
    }
    db.execute(
        "update deliveries set injected_ms = $4, seen_ms = $5, read_ms = $6, acked_ms = $7
         where message = $1 and agent = $2 and sub = $3",
        &[
            message.into(),
            agent.into(),
            of.sub.as_str().into(),
            receipt.injected_ms.into(),
            receipt.seen_ms.into(),
            receipt.read_ms.into(),
            receipt.acked_ms.into(),
        ],
    )?;
    Ok(())
}

/// A delivery here whose sender, on another machine, does not know its latest steps.
#[derive(Clone, Debug)]
pub(super) struct Due {
    pub(super) of: FarRow,
    pub(super) steps: [Option<i64>; 4],
}

/// Which of the four steps a delivery has taken, as `told` has it.
macro_rules! steps {
    () => {
        "(case when d.injected_ms is null then '0' else '1' end || case when d.seen_ms is null then '0' else '1' end
          || case when d.read_ms is null then '0' else '1' end || case when d.acked_ms is null then '0' else '1' end)"
    };
}

pub(super) const DUE: &str = concat!(
    "select f.serial, f.uid, f.machine, f.kind, f.n, f.message, f.agent, f.sub, f.sender, f.body, f.rev,
       d.injected_ms, d.seen_ms, d.read_ms, d.acked_ms
     from far_mail f join deliveries d on d.message = f.message and d.agent = f.agent
     where f.is_ours = 0 and f.is_open = 1 and f.told <> ",
    steps!(),
    " order by f.serial limit $1"
);

pub(super) fn due(db: &mut dyn Db, limit: i64) -> Result<Vec<Due>, DbError> {
    db.rows(DUE, &[limit.into()], |found| {
        let steps =
            [found.opt_int(11)?, found.opt_int(12)?, found.opt_int(13)?, found.opt_int(14)?];
        Ok(Due { of: row(found)?, steps })
    })
}

/// The receipt of these steps is in the outbox. After an ack there is none to come.
pub(super) fn told(db: &mut dyn Db, due: &Due) -> Result<(), DbError> {
    let told: String =
        due.steps.iter().map(|step| if step.is_some() { '1' } else { '0' }).collect();
    db.execute(
        "update far_mail set told = $2, rev = rev + 1, is_open = $3 where serial = $1",
        &[due.of.serial.into(), told.as_str().into(), i64::from(due.steps[3].is_none()).into()],
    )?;
    Ok(())
}

/// Nothing more is told about messages that came before then.
pub(super) fn close_old(db: &mut dyn Db, before: Timestamp) -> Result<(), DbError> {
    db.execute(
        "update far_mail set is_open = 0 where is_ours = 0 and is_open = 1 and queued_ms < $1",
        &[before.0.into()],
    )?;
    Ok(())
}
