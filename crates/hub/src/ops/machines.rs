//! Machines, and the invitations with which they join.

use substrate_core::{Db, DbError};

use super::{label, uid};
use crate::wire::{Bytes, Join, Label, MachineInfo, Uid};

/// A machine that proved its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub id: Uid,
    pub name: Label,
    pub public_key: Vec<u8>,
    pub revoked: bool,
}

/// Why a machine can't join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotJoined {
    /// The token is wrong, used or too old.
    Token,
    /// Another machine has that name or that id.
    Name,
}

/// The id of the team. The first hub makes it.
pub fn team(db: &mut dyn Db, fresh: &Uid) -> Result<Uid, DbError> {
    db.execute(
        "insert into team (one, id, made_ms) values (1, $1, now_ms()) on conflict (one) do nothing",
        &[fresh.as_str().into()],
    )?;
    let found = db.first("select id from team where one = 1", &[], |row| uid(row, 0))?;
    found.ok_or_else(|| DbError::Other { detail: "the team has no id".to_owned() })
}

/// Lets a machine join once. Without a name, the machine chooses.
pub fn invite(
    db: &mut dyn Db,
    hash: &Uid,
    name: Option<&Label>,
    ttl_ms: i64,
) -> Result<(), DbError> {
    db.execute(
        "insert into invites (hash, name, expires_ms) values ($1, $2, now_ms() + $3)",
        &[hash.as_str().into(), name.map(Label::as_str).into(), ttl_ms.into()],
    )?;
    Ok(())
}

/// Uses an invitation up and adds the machine. A machine that repeats its join, because the answer was lost, has joined.
pub fn join(db: &mut dyn Db, hash: &Uid, join: &Join) -> Result<Result<Label, NotJoined>, DbError> {
    if let Some(member) = member(db, &join.machine)? {
        let same = member.public_key == join.key.0 && !member.revoked;
        return Ok(if same { Ok(member.name) } else { Err(NotJoined::Name) });
    }
    let used = db.first(
        "update invites set used_ms = now_ms() where hash = $1 and used_ms is null and expires_ms > now_ms()
         returning name",
        &[hash.as_str().into()],
        |row| row.opt_text(0),
    )?;
    let Some(given) = used else { return Ok(Err(NotJoined::Token)) };
    let given =
        given.map(Label::try_from).transpose().map_err(|detail| DbError::Other { detail })?;
    let name = given.unwrap_or_else(|| join.name.clone());
    let added = db.execute(
        "insert into machines (id, name, person, public_key, seal_key, joined_ms, heard_ms, roster)
         values ($1, $2, $3, $4, $5, now_ms(), now_ms(), 0) on conflict do nothing",
        &[
            join.machine.as_str().into(),
            name.as_str().into(),
            join.person.as_str().into(),
            join.key.0.as_slice().into(),
            join.seal.0.as_slice().into(),
        ],
    )?;
    if added == 0 {
        // The token stays valid for another name.
        db.execute("update invites set used_ms = null where hash = $1", &[hash.as_str().into()])?;
        return Ok(Err(NotJoined::Name));
    }
    db.execute(
        "insert into mailboxes (machine, next, told) values ($1, 1, 0) on conflict (machine) do nothing",
        &[join.machine.as_str().into()],
    )?;
    Ok(Ok(name))
}

pub fn member(db: &mut dyn Db, id: &Uid) -> Result<Option<Member>, DbError> {
    db.first(
        "select id, name, public_key, revoked_ms from machines where id = $1",
        &[id.as_str().into()],
        |row| {
            Ok(Member {
                id: uid(row, 0)?,
                name: label(row, 1)?,
                public_key: row.blob(2)?,
                revoked: row.opt_int(3)?.is_some(),
            })
        },
    )
}

/// The hub heard from it.
pub fn heard(db: &mut dyn Db, id: &Uid) -> Result<(), DbError> {
    db.execute("update machines set heard_ms = now_ms() where id = $1", &[id.as_str().into()])?;
    Ok(())
}

/// Every machine, newest last. Revoked ones stay, so that old mail has a name.
pub fn all(db: &mut dyn Db) -> Result<Vec<MachineInfo>, DbError> {
    db.rows(
        "select id, name, person, seal_key, revoked_ms, now_ms() - heard_ms from machines
         order by joined_ms, id limit 10000",
        &[],
        |row| {
            Ok(MachineInfo {
                machine: uid(row, 0)?,
                name: label(row, 1)?,
                person: label(row, 2)?,
                seal: Bytes(row.blob(3)?),
                revoked: row.opt_int(4)?.is_some(),
                silent_ms: row.int(5)?.max(0),
            })
        },
    )
}

/// Cuts a machine off, by name or id. Its claims end now. `None`: there is none.
pub fn revoke(db: &mut dyn Db, name: &str) -> Result<Option<Uid>, DbError> {
    let found = db.first(
        "update machines set revoked_ms = now_ms() where (name = $1 or id = $1) and revoked_ms is null returning id",
        &[name.into()],
        |row| uid(row, 0),
    )?;
    if let Some(machine) = &found {
        let of = [machine.as_str().into()];
        db.execute("update claims set expires_ms = 0 where machine = $1", &of)?;
        db.execute("update work set expires_ms = 0 where machine = $1 and done_ms is null", &of)?;
        db.execute("update agents set gone = 1 where machine = $1 and gone = 0", &of)?;
    }
    Ok(found)
}
