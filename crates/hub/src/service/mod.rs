//! What the hub answers, without sockets, threads or clocks: frames in, frames out, over an open transaction.

mod session;

pub use session::{Refusal, Session};

use std::collections::BTreeSet;

use substrate_core::{Db, DbError};

use crate::keys::{Fingerprint, Invitation, Proof, verify};
use crate::ops::claims::{self, Wanted};
use crate::ops::machines::{self, NotJoined};
use crate::ops::{mail, roster, work};
use crate::wire::{
    Answer, Ask, Code, Limits, OLDEST, ToHub, ToMachine, Uid, VERSION, Welcome, agree,
};

/// What a connection is proven against.
#[derive(Clone, Debug)]
pub struct Doorway {
    pub nonce: Vec<u8>,
    pub hub: Fingerprint,
    pub team: Uid,
    pub limits: Limits,
}

/// Answers the first frame of a connection.
pub fn greet(
    db: &mut dyn Db,
    door: &Doorway,
    frame: &ToHub,
) -> Result<Result<Welcome, Refusal>, DbError> {
    let (theirs, machine, signature) = match frame {
        ToHub::Hello(hello) => ((hello.oldest, hello.v), &hello.machine, &hello.signature),
        ToHub::Join(join) => ((join.oldest, join.v), &join.machine, &join.signature),
        _ => return Ok(Err(Refusal::new(Code::Frame, "a connection begins with a greeting"))),
    };
    let Some(v) = agree((OLDEST, VERSION), theirs) else {
        let why = "this hub speaks another version; update the older side";
        return Ok(Err(Refusal::new(Code::Version, why)));
    };
    let proof = Proof { nonce: &door.nonce, hub: &door.hub, machine: machine.as_str() };
    let stranger = || Refusal::new(Code::Stranger, "no machine of this team has that key");
    let name = match frame {
        ToHub::Join(join) => {
            if !verify(&join.key.0, proof, &signature.0) {
                return Ok(Err(stranger()));
            }
            match machines::join(db, &Invitation::hash(&join.token.0), join)? {
                Ok(name) => name,
                Err(NotJoined::Token) => {
                    let why = "the invitation is unknown, used or too old";
                    return Ok(Err(Refusal::new(Code::Token, why)));
                }
                Err(NotJoined::Name) => {
                    let why = "another machine of the team has that name";
                    return Ok(Err(Refusal::new(Code::Name, why)));
                }
            }
        }
        _ => match machines::member(db, machine)? {
            None => return Ok(Err(stranger())),
            Some(member) if !verify(&member.public_key, proof, &signature.0) => {
                return Ok(Err(stranger()));
            }
            Some(member) if member.revoked => {
                return Ok(Err(Refusal::new(Code::Revoked, "this machine was revoked")));
            }
            Some(member) => member.name,
        },
    };
    machines::heard(db, machine)?;
    let (team, limits) = (door.team.clone(), door.limits);
    Ok(Ok(Welcome { v, machine: machine.clone(), name, team, limits }))
}

/// What the hub does about a frame.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Handled {
    pub frames: Vec<ToMachine>,
    /// Machines that have something new to look at.
    pub stirred: BTreeSet<Uid>,
}

/// Answers a frame of a machine that proved itself. It acts as that machine, whatever the frame says.
pub fn answer(db: &mut dyn Db, machine: &Uid, frame: &ToHub) -> Result<Handled, DbError> {
    let mut out = Handled::default();
    match frame {
        ToHub::Put { mail } => {
            let put = mail::put(db, machine, mail)?;
            out.stirred = put.stirred;
            out.frames.push(ToMachine::Fates { fates: put.fates });
        }
        ToHub::Got { items } => out.stirred = mail::got(db, machine, items)?,
        ToHub::Have { ids } => {
            let fates = mail::fates(db, machine, ids)?;
            out.frames.push(ToMachine::Fates { fates });
        }
        ToHub::Status { seq, whole, agents, gone } => {
            roster::note(db, machine, *whole, agents, gone)?;
            out.frames.push(ToMachine::Noted { seq: *seq });
        }
        ToHub::Ask { id, what } => {
            let answer = decide(db, machine, what)?;
            out.frames.push(ToMachine::Answer { id: *id, answer });
        }
        ToHub::Ping { seq } => {
            machines::heard(db, machine)?;
            out.frames.push(ToMachine::Pong { seq: *seq });
        }
        ToHub::Leave => {
            machines::revoke(db, machine.as_str())?;
            let left = Refusal::new(Code::Revoked, "this machine left the team");
            out.frames.push(left.frame());
        }
        ToHub::Hello(_) | ToHub::Join(_) | ToHub::Unknown => {}
    }
    Ok(out)
}

fn decide(db: &mut dyn Db, machine: &Uid, what: &Ask) -> Result<Answer, DbError> {
    match what {
        Ask::Claim { name, agent, holder, ttl_ms, note } => {
            let wanted = Wanted { name, machine, agent, holder, note, ttl_ms: *ttl_ms };
            claims::claim(db, wanted)
        }
        Ask::Renew { name, agent, epoch, ttl_ms } => {
            claims::renew(db, name, machine, agent, *epoch, *ttl_ms)
        }
        Ask::Release { name, agent, epoch } => claims::release(db, name, machine, agent, *epoch),
        Ask::Claims => Ok(Answer::Claims { claims: claims::all(db)? }),
        Ask::WorkAdd { item, queue, text } => work::add(db, item, queue, &text.0),
        Ask::WorkTake { queue, agent, once, ttl_ms } => {
            work::take(db, queue, machine, agent, once, *ttl_ms)
        }
        Ask::WorkRenew { item, agent, epoch, ttl_ms } => {
            work::settle(db, item, machine, agent, *epoch, Some(*ttl_ms))
        }
        Ask::WorkDone { item, agent, epoch } => {
            work::settle(db, item, machine, agent, *epoch, None)
        }
        Ask::Unknown => Ok(Answer::Unknown),
    }
}
