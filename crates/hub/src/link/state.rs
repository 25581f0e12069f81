//! The link itself: away, dialing, greeting, up.

use std::collections::VecDeque;

use super::Ms;
use super::asks::Asks;
use super::backoff::{Backoff, GOOD};
use super::greeting::Credentials;
use super::outbox::{News, Outbox};
use super::status::Roster;
use crate::wire::{
    AgentStatus, Answer, Ask, Code, Envelope, Fate, FrameReader, Item, MachineInfo, MailId,
    RosterPart, Stored, ToHub, ToMachine, Uid, Welcome, encode,
};

/// How long dialing and greeting may take together.
const PATIENCE: Ms = 10_000;

/// A connection that is silent this long is asked for a sign of life, and cut when none comes in as long again.
const QUIET: Ms = 15_000;

/// A machine that was refused asks again this seldom: the hub's user may change their mind.
const REFUSED: Ms = 60_000;

/// What the host must do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Open a connection, then call [`Link::dialed`] or [`Link::cut`].
    Dial,
    Send(Vec<u8>),
    /// Close the connection. The link knows already.
    HangUp,
    Up(Welcome),
    /// The hub can't be reached, or refuses us.
    Down(Away),
    /// Write these to disk, each once, then call [`Link::stored`].
    Store(Vec<Item>),
    /// One of our messages has come further, or never will.
    Fate(Fate),
    /// The hub forgot this message: submit it again.
    Again(MailId),
    Machines(Vec<MachineInfo>),
    Roster(Vec<RosterPart>),
    /// `None`: no answer came in time.
    Answer(u64, Option<Answer>),
}

/// Why the hub is away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Away {
    pub why: String,
    /// The hub itself refused this machine.
    pub refused: Option<Code>,
}

#[derive(Debug)]
enum Stage {
    Away {
        dial_at: Ms,
    },
    /// Dialing, or dialed and not welcome yet.
    Greeting {
        since: Ms,
        dialed: bool,
    },
    Up {
        since: Ms,
        heard: Ms,
        pinged: bool,
    },
}

/// The machine's end of the connection.
#[derive(Debug)]
pub struct Link {
    credentials: Credentials,
    stage: Stage,
    backoff: Backoff,
    reader: FrameReader,
    outbox: Outbox,
    roster: Roster,
    asks: Asks,
    out: VecDeque<Output>,
}

impl Link {
    /// A link that dials soon. `seed` makes its waits its own.
    pub fn new(credentials: Credentials, seed: u64, now: Ms) -> Self {
        Self {
            credentials,
            stage: Stage::Away { dial_at: now },
            backoff: Backoff::new(seed),
            reader: FrameReader::default(),
            outbox: Outbox::default(),
            roster: Roster::default(),
            asks: Asks::default(),
            out: VecDeque::new(),
        }
    }

    pub const fn is_up(&self) -> bool {
        matches!(self.stage, Stage::Up { .. })
    }

    /// How many messages the far machines do not have yet.
    pub fn n_outgoing(&self) -> usize {
        self.outbox.len()
    }

    /// A message of the outbox, in the order in which it was sent. Again where [`Output::Again`] wants it.
    pub fn submit(&mut self, now: Ms, envelope: Envelope) {
        self.outbox.submit(envelope);
        self.flush(now);
    }

    /// These items of the mailbox are on disk.
    pub fn stored(&mut self, items: Vec<Stored>) {
        if self.is_up() {
            self.send(&ToHub::Got { items });
        }
    }

    /// What an agent does now.
    pub fn status(&mut self, now: Ms, status: AgentStatus) {
        self.roster.set(now, status);
        self.flush(now);
    }

    /// An agent is gone.
    pub fn gone(&mut self, now: Ms, agent: &Uid) {
        self.roster.remove(agent);
        self.flush(now);
    }

    /// Asks the hub. The answer comes as [`Output::Answer`], at the latest at `until`.
    pub fn ask(&mut self, now: Ms, id: u64, what: Ask, until: Ms) {
        self.asks.add(id, what, until);
        self.flush(now);
    }

    /// Leaves the team, if the hub can be told now. It answers with a refusal.
    pub fn leave(&mut self) {
        if self.is_up() {
            self.send(&ToHub::Leave);
        }
    }

    /// Dial now, if we only wait for the right moment: the network is back.
    pub const fn hurry(&mut self, now: Ms) {
        if let Stage::Away { dial_at } = &mut self.stage {
            *dial_at = now;
        }
    }

    /// The connection is open.
    pub fn dialed(&mut self, now: Ms) {
        if let Stage::Greeting { dialed, .. } = &mut self.stage {
            *dialed = true;
            self.reader = FrameReader::default();
        }
        self.tick(now);
    }

    /// The connection could not be made, or is gone.
    pub fn cut(&mut self, now: Ms, why: &str) {
        if !matches!(self.stage, Stage::Away { .. }) {
            self.down(now, Away { why: why.to_owned(), refused: None });
        }
    }

    /// Bytes came.
    pub fn bytes(&mut self, now: Ms, bytes: &[u8]) {
        self.reader.push(bytes);
        loop {
            match self.reader.next_frame::<ToMachine>() {
                Ok(Some(frame)) => self.frame(now, frame),
                Ok(None) => break,
                Err(error) => {
                    self.out.push_back(Output::HangUp);
                    self.cut(now, &error.to_string());
                    break;
                }
            }
        }
        self.flush(now);
    }

    /// Time passed.
    pub fn tick(&mut self, now: Ms) {
        for id in self.asks.expired(now) {
            self.out.push_back(Output::Answer(id, None));
        }
        match self.stage {
            Stage::Away { dial_at } if dial_at <= now => {
                self.stage = Stage::Greeting { since: now, dialed: false };
                self.out.push_back(Output::Dial);
            }
            Stage::Greeting { since, .. } if since + PATIENCE <= now => {
                self.out.push_back(Output::HangUp);
                self.cut(now, "no answer in ten seconds");
            }
            Stage::Up { heard, .. } if heard + 2 * QUIET <= now => {
                self.out.push_back(Output::HangUp);
                self.cut(now, "no sign of life");
            }
            Stage::Up { since, heard, pinged: false } if heard + QUIET <= now => {
                self.stage = Stage::Up { since, heard, pinged: true };
                self.send(&ToHub::Ping { seq: now });
            }
            _ => {}
        }
        self.flush(now);
    }

    /// What the host must do next.
    pub fn next_output(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    /// When to call [`Link::tick`] at the latest.
    pub fn wake_at(&self) -> Option<Ms> {
        let own = match self.stage {
            Stage::Away { dial_at } => Some(dial_at),
            Stage::Greeting { since, .. } => Some(since + PATIENCE),
            Stage::Up { heard, pinged, .. } => Some(heard + if pinged { 2 * QUIET } else { QUIET }),
        };
        let asks = self.asks.wake_at(self.is_up());
        let rest = self
            .is_up()
            .then(|| [self.outbox.wake_at(), self.roster.wake_at()].into_iter().flatten().min());
        [own, asks, rest.flatten()].into_iter().flatten().min()
    }

    fn frame(&mut self, now: Ms, frame: ToMachine) {
        if let Stage::Up { heard, pinged, .. } = &mut self.stage {
            (*heard, *pinged) = (now, false);
        }
        match frame {
            ToMachine::Challenge { nonce, .. } => {
                if matches!(self.stage, Stage::Greeting { dialed: true, .. }) {
                    let greeting = self.credentials.greet(&nonce.0);
                    self.send(&greeting);
                }
            }
            ToMachine::Welcome(welcome) => self.welcome(now, welcome),
            ToMachine::Refused { code, why } => {
                self.out.push_back(Output::HangUp);
                self.down(now, Away { why: why.to_string(), refused: Some(code) });
            }
            ToMachine::Fates { fates } => {
                for fate in fates {
                    match self.outbox.fate(now, &fate) {
                        News::Tell => self.out.push_back(Output::Fate(fate)),
                        News::Again => self.out.push_back(Output::Again(fate.id)),
                        News::Nothing => {}
                    }
                }
            }
            ToMachine::Mail { items } => self.out.push_back(Output::Store(items)),
            ToMachine::Noted { seq } => self.roster.noted(seq),
            ToMachine::Machines { machines } => self.out.push_back(Output::Machines(machines)),
            ToMachine::Roster { parts } => self.out.push_back(Output::Roster(parts)),
            ToMachine::Answer { id, answer } => {
                if self.asks.answered(id) {
                    self.out.push_back(Output::Answer(id, Some(answer)));
                }
            }
            ToMachine::Pong { .. } | ToMachine::Unknown => {}
        }
    }

    fn welcome(&mut self, now: Ms, welcome: Welcome) {
        if !matches!(self.stage, Stage::Greeting { dialed: true, .. }) {
            return;
        }
        self.stage = Stage::Up { since: now, heard: now, pinged: false };
        self.credentials.join = None;
        self.outbox.up();
        self.roster.up();
        self.asks.cut();
        self.out.push_back(Output::Up(welcome));
    }

    fn down(&mut self, now: Ms, away: Away) {
        if let Stage::Up { since, .. } = self.stage
            && since + GOOD <= now
        {
            self.backoff.succeeded();
        }
        let wait = match away.refused {
            Some(Code::Revoked | Code::Stranger | Code::Token | Code::Name | Code::Version) => {
                REFUSED + self.backoff.wait()
            }
            _ => self.backoff.wait(),
        };
        self.stage = Stage::Away { dial_at: now + wait };
        self.asks.cut();
        self.out.push_back(Output::Down(away));
    }

    /// Sends what is due.
    fn flush(&mut self, now: Ms) {
        if !self.is_up() {
            return;
        }
        let mut frames = self.outbox.due(now);
        frames.extend(self.roster.due(now));
        frames.extend(self.asks.due(now));
        for frame in &frames {
            self.send(frame);
        }
    }

    fn send(&mut self, frame: &ToHub) {
        self.out.push_back(Output::Send(encode(frame)));
    }
}
