//! One connection of one machine: what it may send, and what it was sent.

use std::collections::BTreeMap;

use crate::link::Ms;
use crate::wire::{Code, Item, Label, Limits, MailId, Stored, ToHub, ToMachine, Uid};

/// How many items may be on their way to a machine.
const WINDOW: usize = 512;

/// Items that the machine has not confirmed are sent again after this.
const AGAIN: Ms = 15_000;

/// How often all of the mailbox is looked at, instead of what is new.
const WHOLE: Ms = 30_000;

/// Why a connection ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: Code,
    pub why: Label,
}

impl Refusal {
    pub fn new(code: Code, why: &str) -> Self {
        Self { code, why: Label::try_from(why).unwrap_or_default() }
    }

    pub fn frame(&self) -> ToMachine {
        ToMachine::Refused { code: self.code, why: self.why.clone() }
    }
}

/// The hub's memory of one connection.
#[derive(Debug)]
pub struct Session {
    machine: Uid,
    limits: Limits,
    messages: Bucket,
    bytes: Bucket,
    /// What was sent and not confirmed, by number.
    flying: BTreeMap<i64, (Ms, MailId)>,
    /// Everything up to this number was sent.
    cursor: i64,
    /// When all of the mailbox was looked at.
    whole: Ms,
}

impl Session {
    pub fn new(machine: Uid, limits: Limits, now: Ms) -> Self {
        Self {
            machine,
            limits,
            messages: Bucket::full(limits.messages_per_minute, now),
            bytes: Bucket::full(limits.bytes_per_minute, now),
            flying: BTreeMap::new(),
            cursor: 0,
            whole: now,
        }
    }

    pub const fn machine(&self) -> &Uid {
        &self.machine
    }

    /// Whether a frame may be answered. A machine speaks only for itself, and within its limits.
    pub fn admit(&mut self, now: Ms, frame: &ToHub, n_bytes: usize) -> Result<(), Refusal> {
        let flood = || Refusal::new(Code::Flood, "more than this machine may send");
        let n_messages = match frame {
            ToHub::Put { mail } => {
                if mail.iter().any(|envelope| envelope.from != self.machine) {
                    return Err(Refusal::new(Code::Forged, "a message of another machine"));
                }
                let most = usize::try_from(self.limits.message_bytes).unwrap_or(usize::MAX);
                if mail.iter().any(|envelope| envelope.body.0.len() > most) {
                    return Err(Refusal::new(Code::Frame, "a message is too long"));
                }
                mail.len()
            }
            ToHub::Have { ids } => ids.len() / 10,
            ToHub::Got { items } => items.len() / 10,
            ToHub::Status { agents, gone, .. } => (agents.len() + gone.len()) / 10,
            _ => 0,
        };
        let spent = self.messages.take(now, 1 + n_messages as u64);
        if spent && self.bytes.take(now, n_bytes as u64) { Ok(()) } else { Err(flood()) }
    }

    /// The machine confirmed these.
    pub fn confirmed(&mut self, items: &[Stored]) {
        for item in items {
            self.flying.remove(&item.number);
        }
    }

    /// Where to look for mail, if more may be sent.
    pub fn look_after(&mut self, now: Ms) -> Option<i64> {
        let oldest = self.flying.values().map(|(sent, _)| *sent).min();
        if oldest.is_some_and(|sent| sent + AGAIN <= now) {
            self.flying.clear();
            self.cursor = 0;
        }
        // A database that went back to an earlier state numbers its mail from there, below the cursor.
        if self.whole + WHOLE <= now {
            self.whole = now;
            self.cursor = 0;
        }
        (self.flying.len() < WINDOW).then_some(self.cursor)
    }

    /// Those of the items that go out now: the ones that are not on their way already.
    pub fn fresh(&mut self, now: Ms, mut items: Vec<Item>) -> Vec<Item> {
        items.retain(|Item { number, envelope }| {
            self.cursor = self.cursor.max(*number);
            let known = self.flying.get(number).is_some_and(|(_, id)| *id == envelope.id);
            if !known {
                self.flying.insert(*number, (now, envelope.id.clone()));
            }
            !known
        });
        items
    }
}

/// What a machine may spend, filled over a minute.
#[derive(Debug)]
struct Bucket {
    most: u64,
    left: u64,
    at: Ms,
}

impl Bucket {
    const fn full(most: u64, now: Ms) -> Self {
        Self { most, left: most, at: now }
    }

    fn take(&mut self, now: Ms, n: u64) -> bool {
        let refill = (now.saturating_sub(self.at)).saturating_mul(self.most) / 60_000;
        if refill > 0 {
            self.left = self.most.min(self.left + refill);
            self.at = now;
        }
        let enough = self.left >= n;
        if enough {
            self.left -= n;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Bytes, Envelope, Kind};
    use rstest::rstest;

    fn uid(text: &str) -> Uid {
        Uid::try_from(text).unwrap()
    }

    fn put(from: &str, n_bytes: usize, n_messages: i64) -> ToHub {
        let envelope = |n| Envelope {
            id: MailId::v7(n, [1; 16]),
            from: uid(from),
            to: uid("m-2"),
            n,
            kind: Kind::Mail,
            agent: uid("a"),
            sealed: true,
            body: Bytes(vec![0; n_bytes]),
        };
        ToHub::Put { mail: (1..=n_messages).map(envelope).collect() }
    }

    #[rstest]
    #[case::its_own(put("m-1", 10, 5), 100, Ok(()))]
    #[case::of_another(put("m-9", 10, 1), 100, Err(Code::Forged))]
    #[case::too_long(put("m-1", 1001, 1), 100, Err(Code::Frame))]
    #[case::too_many(put("m-1", 1, 100), 100, Err(Code::Flood))]
    #[case::too_many_bytes(put("m-1", 1, 1), 5000, Err(Code::Flood))]
    fn a_frame(#[case] frame: ToHub, #[case] n_bytes: usize, #[case] expected: Result<(), Code>) {
        let limits =
            Limits { message_bytes: 1000, messages_per_minute: 60, bytes_per_minute: 4000 };
        let mut session = Session::new(uid("m-1"), limits, 0);
        assert_eq!(session.admit(0, &frame, n_bytes).map_err(|refusal| refusal.code), expected);
    }

    #[test]
    fn limits_fill_up_again() {
        let mut bucket = Bucket::full(60, 0);
        assert!(bucket.take(0, 60) && !bucket.take(0, 1));
        assert!(!bucket.take(500, 1) && bucket.take(1_000, 1) && bucket.take(61_000, 60));
    }

    #[test]
    fn what_is_not_confirmed_is_looked_for_again() {
        let mut session = Session::new(uid("m-1"), Limits::default(), 0);
        let ToHub::Put { mail } = put("m-1", 1, 3) else { unreachable!() };
        let items: Vec<Item> =
            (1..).zip(mail).map(|(number, envelope)| Item { number, envelope }).collect();
        assert_eq!(session.fresh(0, items.clone()).len(), 3);
        assert_eq!(session.look_after(1), Some(3));
        assert_eq!(session.fresh(1, items.clone()).len(), 0, "they are on their way");
        for item in [&items[0], &items[2]] {
            session.confirmed(&[Stored { number: item.number, id: item.envelope.id.clone() }]);
        }
        assert_eq!(session.look_after(AGAIN), Some(0));
    }
}
