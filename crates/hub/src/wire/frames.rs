//! The frames themselves. Enums from outside end with an `Unknown`, so that a newer side may say more.

use serde::{Deserialize, Serialize};

use super::text::{Bytes, Label, MailId, Uid};

/// What a machine says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum ToHub {
    Hello(Hello),
    Join(Join),
    /// Take these messages. They are in the machine's outbox until the far machine has them.
    Put {
        mail: Vec<Envelope>,
    },
    /// These items of the mailbox are on the machine's disk.
    Got {
        items: Vec<Stored>,
    },
    /// How far have these come?
    Have {
        ids: Vec<MailId>,
    },
    /// What changed in the machine's part of the roster. `whole` replaces all of it.
    Status {
        seq: u64,
        whole: bool,
        agents: Vec<AgentStatus>,
        gone: Vec<Uid>,
    },
    Ask {
        id: u64,
        what: Ask,
    },
    Ping {
        seq: u64,
    },
    /// The machine leaves the team: its key counts no more.
    Leave,
    #[serde(other)]
    Unknown,
}

/// What the hub says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum ToMachine {
    /// The first frame of a connection: prove who you are by signing this.
    Challenge {
        v: u32,
        oldest: u32,
        nonce: Bytes,
    },
    Welcome(Welcome),
    /// The connection ends.
    Refused {
        code: Code,
        why: Label,
    },
    Fates {
        fates: Vec<Fate>,
    },
    Mail {
        items: Vec<Item>,
    },
    Noted {
        seq: u64,
    },
    /// Every machine of the team.
    Machines {
        machines: Vec<MachineInfo>,
    },
    Roster {
        parts: Vec<RosterPart>,
    },
    Answer {
        id: u64,
        answer: Answer,
    },
    Pong {
        seq: u64,
    },
    #[serde(other)]
    Unknown,
}

/// A known machine proves itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub v: u32,
    pub oldest: u32,
    pub machine: Uid,
    pub signature: Bytes,
}

/// A new machine brings a token and its keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    pub v: u32,
    pub oldest: u32,
    pub machine: Uid,
    pub token: Bytes,
    pub name: Label,
    pub person: Label,
    pub key: Bytes,
    pub seal: Bytes,
    pub signature: Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    pub v: u32,
    pub machine: Uid,
    pub name: Label,
    pub team: Uid,
    #[serde(default)]
    pub limits: Limits,
}

/// What a machine may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    pub message_bytes: u64,
    pub messages_per_minute: u64,
    pub bytes_per_minute: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { message_bytes: 2 << 20, messages_per_minute: 60_000, bytes_per_minute: 256 << 20 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The frames of the two sides are too far apart.
    Version,
    /// No machine has this id and key.
    Stranger,
    Revoked,
    /// The token is wrong, used or too old.
    Token,
    /// The name is taken.
    Name,
    /// A message in the name of another machine.
    Forged,
    /// A frame that can't be read or is too long.
    Frame,
    /// More than the machine may send.
    Flood,
    #[serde(other)]
    Unknown,
}

/// A message on its way between two machines. The hub reads all of it but the body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    pub id: MailId,
    pub from: Uid,
    pub to: Uid,
    /// Which message of `from` to `to` this is, from 1. 0 where order does not matter.
    pub n: i64,
    pub kind: Kind,
    /// The agent that sends it.
    pub agent: Uid,
    pub sealed: bool,
    pub body: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Mail,
    /// How far a message has come at the far machine.
    Receipt,
    /// The receiver waits for earlier messages.
    Missing,
    /// The sender has no such messages any more.
    Void,
    #[serde(other)]
    Unknown,
}

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::Receipt => "receipt",
            Self::Missing => "missing",
            Self::Void => "void",
            Self::Unknown => "unknown",
        }
    }

    pub fn named(name: &str) -> Self {
        [Self::Mail, Self::Receipt, Self::Missing, Self::Void]
            .into_iter()
            .find(|kind| kind.name() == name)
            .unwrap_or(Self::Unknown)
    }
}

/// A message in a mailbox. `number` is the mailbox's own count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    pub number: i64,
    pub envelope: Envelope,
}

/// An item that is on the machine's disk. A database that went back to an earlier state gives a number to another message,
/// so both count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    pub number: i64,
    pub id: MailId,
}

/// How far a message has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fate {
    pub id: MailId,
    pub state: State,
    /// When, by the database's clock. 0 where it has not come anywhere.
    pub at_ms: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The hub has never seen it, or has forgotten it.
    Unseen,
    AtHub,
    AtMachine,
    /// No machine of the team has that id, or it was revoked.
    NoMachine,
    #[serde(other)]
    Unknown,
}

/// One agent as its machine reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentStatus {
    pub agent: Uid,
    pub name: Label,
    pub project: Label,
    pub status: Label,
    /// How long it has had that status. Clocks differ, so it is a span.
    pub for_ms: i64,
}

/// What changed in one machine's part of the roster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RosterPart {
    pub machine: Uid,
    pub whole: bool,
    pub agents: Vec<AgentStatus>,
    #[serde(default)]
    pub gone: Vec<Uid>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineInfo {
    pub machine: Uid,
    pub name: Label,
    pub person: Label,
    pub seal: Bytes,
    pub revoked: bool,
    /// How long the hub has not heard from it.
    pub silent_ms: i64,
}

/// A question whose answer the hub's database decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "q", rename_all = "snake_case")]
pub enum Ask {
    /// Hold a named resource, or go on holding it.
    Claim {
        name: Label,
        agent: Uid,
        holder: Label,
        ttl_ms: i64,
        note: Label,
    },
    /// Go on holding it, only if it is still that hold.
    Renew {
        name: Label,
        agent: Uid,
        epoch: i64,
        ttl_ms: i64,
    },
    Release {
        name: Label,
        agent: Uid,
        epoch: i64,
    },
    Claims,
    WorkAdd {
        item: MailId,
        queue: Label,
        text: Bytes,
    },
    /// The oldest item of a queue that no agent has. `once` is the same when the question is repeated.
    WorkTake {
        queue: Label,
        agent: Uid,
        once: Uid,
        ttl_ms: i64,
    },
    WorkRenew {
        item: MailId,
        agent: Uid,
        epoch: i64,
        ttl_ms: i64,
    },
    WorkDone {
        item: MailId,
        agent: Uid,
        epoch: i64,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "a", rename_all = "snake_case")]
pub enum Answer {
    /// It is yours, under this epoch, for this long.
    Held {
        epoch: i64,
        ttl_ms: i64,
    },
    /// Another has it.
    Taken {
        by: ClaimInfo,
    },
    /// It is not, or no longer, that hold.
    Lost,
    Released,
    Claims {
        claims: Vec<ClaimInfo>,
    },
    Added,
    Work {
        item: WorkInfo,
    },
    Nothing,
    /// The hub does not know the question.
    #[serde(other)]
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimInfo {
    pub name: Label,
    pub machine: Uid,
    pub agent: Uid,
    pub holder: Label,
    pub note: Label,
    pub epoch: i64,
    pub held_ms: i64,
    pub left_ms: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkInfo {
    pub item: MailId,
    pub queue: Label,
    pub text: Bytes,
    pub epoch: i64,
    pub ttl_ms: i64,
}
