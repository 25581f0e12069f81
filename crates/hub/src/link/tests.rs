//! The link against a script: what it says when, and what it tells its host.

use super::*;
use crate::keys::MachineKeys;
use crate::wire::*;

fn uid(text: &str) -> Uid {
    Uid::try_from(text).unwrap()
}

fn label(text: &str) -> Label {
    Label::try_from(text).unwrap()
}

fn mail(n: i64) -> Envelope {
    Envelope {
        id: MailId::v7(n, [u8::try_from(n % 250).unwrap(); 16]),
        from: uid("m-1"),
        to: uid("m-2"),
        n,
        kind: Kind::Mail,
        agent: uid("a"),
        sealed: false,
        body: Bytes(vec![b'x'; 100]),
    }
}

struct Script {
    link: Link,
    now: Ms,
}

impl Script {
    fn new() -> Self {
        let credentials = Credentials {
            machine: uid("m-1"),
            keys: MachineKeys::from_seeds(&[1; 64]),
            hub: [0; 32],
            join: None,
        };
        Self { link: Link::new(credentials, 1, 0), now: 0 }
    }

    fn up() -> Self {
        let mut it = Self::new();
        it.link.tick(0);
        it.link.dialed(0);
        it.say(&ToMachine::Challenge { v: 1, oldest: 1, nonce: Bytes(vec![1; 32]) });
        it.say(&ToMachine::Welcome(Welcome {
            v: 1,
            machine: uid("m-1"),
            name: label("laptop"),
            team: uid("t"),
            limits: Limits::default(),
        }));
        assert!(it.link.is_up());
        it.outputs();
        it
    }

    fn say(&mut self, frame: &ToMachine) {
        self.link.bytes(self.now, &encode(frame));
    }

    fn later(&mut self, ms: Ms) {
        self.now += ms;
        self.link.tick(self.now);
    }

    fn outputs(&mut self) -> Vec<Output> {
        std::iter::from_fn(|| self.link.next_output()).collect()
    }

    /// What it sent, and what else it wants.
    fn frames(&mut self) -> Vec<ToHub> {
        let mut reader = FrameReader::default();
        for output in self.outputs() {
            if let Output::Send(bytes) = output {
                reader.push(&bytes);
            }
        }
        std::iter::from_fn(|| reader.next_frame().unwrap()).collect()
    }

    fn fate(&mut self, id: &MailId, state: State) {
        let fate = Fate { id: id.clone(), state, at_ms: 5 };
        self.say(&ToMachine::Fates { fates: vec![fate] });
    }
}

fn puts(frames: &[ToHub]) -> Vec<usize> {
    let len = |frame: &ToHub| match frame {
        ToHub::Put { mail } => Some(mail.len()),
        _ => None,
    };
    frames.iter().filter_map(len).collect()
}

#[test]
fn it_dials_proves_itself_and_is_up() {
    let mut it = Script::new();
    it.link.tick(0);
    assert_eq!(it.outputs(), [Output::Dial]);
    it.link.dialed(0);
    it.say(&ToMachine::Challenge { v: 1, oldest: 1, nonce: Bytes(vec![1; 32]) });
    assert!(matches!(it.frames()[..], [ToHub::Hello(_)]));
}

#[test]
fn mail_goes_out_in_batches_and_stays_until_the_far_machine_has_it() {
    let mut it = Script::up();
    for n in 1..=1000 {
        it.link.submit(it.now, mail(n));
    }
    let sent = puts(&it.frames());
    assert_eq!(sent.iter().sum::<usize>(), 256, "the window is full: {sent:?}");
    it.fate(&mail(1).id, State::AtHub);
    it.fate(&mail(1).id, State::AtHub);
    assert_eq!(it.link.n_outgoing(), 1000);
    it.fate(&mail(1).id, State::AtMachine);
    assert_eq!(it.link.n_outgoing(), 999);
    let told = it.outputs();
    let fates = told.iter().filter(|output| matches!(output, Output::Fate(_))).count();
    assert_eq!(fates, 2, "each step once");
}

#[test]
fn what_is_not_confirmed_is_sent_again() {
    let mut it = Script::up();
    it.link.submit(it.now, mail(1));
    assert_eq!(puts(&it.frames()), [1]);
    it.later(9_000);
    assert_eq!(puts(&it.frames()), [0; 0]);
    it.later(1_000);
    assert_eq!(puts(&it.frames()), [1]);
}

#[test]
fn what_the_hub_forgot_is_asked_of_the_host_again() {
    let mut it = Script::up();
    it.link.submit(it.now, mail(1));
    it.fate(&mail(1).id, State::AtHub);
    it.frames();
    it.later(14_000);
    it.say(&ToMachine::Pong { seq: 1 });
    it.later(16_000);
    assert!(it.frames().contains(&ToHub::Have { ids: vec![mail(1).id] }));
    it.fate(&mail(1).id, State::Unseen);
    assert!(it.outputs().contains(&Output::Again(mail(1).id)));
    it.link.submit(it.now, mail(1));
    assert_eq!(puts(&it.frames()), [1]);
}

#[test]
fn statuses_are_sent_once_per_batch_and_only_if_they_changed() {
    let mut it = Script::up();
    it.later(250);
    let status = |what: &str| AgentStatus {
        agent: uid("a"),
        name: label("CalmOtter"),
        project: label("p"),
        status: label(what),
        for_ms: 0,
    };
    let batches = |frames: Vec<ToHub>| -> Vec<(u64, Vec<String>)> {
        let batch = |frame| match frame {
            ToHub::Status { seq, agents, .. } => {
                Some((seq, agents.iter().map(|agent| agent.status.to_string()).collect()))
            }
            _ => None,
        };
        frames.into_iter().filter_map(batch).collect()
    };
    assert_eq!(batches(it.frames()), [(1, vec![])], "the whole roster comes first");
    it.say(&ToMachine::Noted { seq: 1 });
    for what in ["working", "idle", "working"] {
        it.link.status(it.now, status(what));
    }
    assert_eq!(batches(it.frames()), []);
    it.later(250);
    assert_eq!(batches(it.frames()), [(2, vec!["working".to_owned()])]);
    it.later(5_000);
    assert_eq!(batches(it.frames()), [(3, vec!["working".to_owned()])], "it was not noted");
    it.say(&ToMachine::Noted { seq: 3 });
    it.link.status(it.now, status("working"));
    it.later(1_000);
    assert_eq!(batches(it.frames()), []);
}

#[test]
fn a_silent_connection_is_pinged_and_then_cut() {
    let mut it = Script::up();
    it.later(15_000);
    assert!(it.frames().iter().any(|frame| matches!(frame, ToHub::Ping { .. })));
    it.later(15_000);
    let outputs = it.outputs();
    assert!(outputs.contains(&Output::HangUp) && !it.link.is_up(), "{outputs:?}");
}

#[test]
fn a_refused_machine_asks_seldom() {
    let mut it = Script::up();
    it.say(&ToMachine::Refused { code: Code::Revoked, why: label("revoked") });
    assert!(!it.link.is_up());
    it.later(59_000);
    assert!(!it.outputs().contains(&Output::Dial));
}

#[test]
fn a_question_ends_in_its_time() {
    let mut it = Script::new();
    it.link.ask(0, 7, Ask::Claims, 5_000);
    it.later(5_000);
    assert!(it.outputs().contains(&Output::Answer(7, None)));
}
