//! The contract of every client: a suite over any [`Client`]. The clients of `substrate_clients::ALL` pass it, and so
//! does [`ACORN`](crate::ACORN).

use std::ffi::OsString;

use substrate_clients::install::{Drops, Form, IfMissing, Wanted, What};
use substrate_clients::{Answer, Client, Input};
use substrate_core::verdict::{Permission, Wait};
use substrate_core::{Actor, Delivery, Event, EventKind, Timestamp, ToolClass, Verdict, WishKind};

use crate::process::command;

/// What a client is tried with.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Payloads of its hooks.
    pub samples: &'a [Sample<'a>],
    /// Settings files of other people, without anything of ours.
    pub settings: &'a [&'a str],
    /// Settings files that must be left alone.
    pub broken: &'a [&'a str],
}

/// One payload of a hook.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// The client's name for the event.
    pub event: &'a str,
    pub stdin: &'a [u8],
}

/// All checks, one after the other. Panics at the first failure.
pub fn check(client: &'static Client, evidence: &Evidence<'_>) {
    is_described(client);
    samples_are_events(client, evidence.samples);
    odd_input_is_harmless(client, evidence.samples);
    only_what_is_delivered_is_said(client);
    installing_is_undone_to_the_byte(client, evidence.settings);
    broken_settings_are_left_alone(client, evidence.broken);
    a_missing_program_stops_nothing(client);
    files_that_say_nothing_mean_nothing(client);
    command_lines_of_others_stay(client);
}

/// The descriptor is whole.
pub fn is_described(client: &Client) {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    assert!(!client.name.is_empty() && client.name.bytes().all(is_plain), "{}", client.name);
    assert!(!client.title.is_empty() && !client.program.is_empty());
    assert_eq!(client.dialect.client, client.name);
    for variable in client.variables.all() {
        let is_upper = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
        assert!(!variable.is_empty() && variable.bytes().all(is_upper), "{variable}");
    }
    assert!(!client.variables.inside.is_empty(), "nothing tells that a command runs inside it");
    for class in [ToolClass::Shell, ToolClass::Edit] {
        assert!(client.dialect.tool_of(class).is_some(), "no tool is {class:?}");
    }
    for (at, (name, _)) in client.dialect.tools.iter().enumerate() {
        let rest = &client.dialect.tools[at + 1..];
        assert!(rest.iter().all(|(other, _)| other != name), "{name} is there twice");
    }
    assert!((client.dialect.resume)("s1").contains("s1"));
    let tells = (client.delivers)(EventKind::PreToolUse, WishKind::Context);
    assert_eq!(client.dialect.tells_before_calls, tells == Delivery::Delivered);
}

/// Every payload becomes an event of this client, always the same one, with its session. A client that can be woken has
/// an event that begins a waiter.
pub fn samples_are_events(client: &'static Client, samples: &[Sample<'_>]) {
    assert!(!samples.is_empty());
    for sample in samples {
        let event = decoded(client, sample, false);
        assert_eq!((event.client, event.dialect), (client.name, client.dialect));
        let is_known = EventKind::ALL.contains(&event.kind) || event.activity().is_some();
        assert!(is_known, "{}: {event:?}", sample.event);
        assert!(event.session.is_some() && !event.cwd.is_empty(), "{}", sample.event);
        assert_eq!(event.n_bytes, sample.stdin.len());
        assert_eq!(decoded(client, sample, false), event, "the same bytes are the same event");
        if let Some(call) = event.tool() {
            assert_eq!(call.class, client.dialect.class_of(&call.name));
            assert_eq!(call.command.is_some(), call.class == ToolClass::Shell, "{call:?}");
        }
    }
    let kinds: Vec<EventKind> =
        samples.iter().map(|sample| decoded(client, sample, true).kind).collect();
    if (client.delivers)(EventKind::Waiter, WishKind::Block) == Delivery::Delivered {
        assert!(kinds.contains(&EventKind::Waiter));
    }
}

/// Bytes that are not a payload are refused, a new event is `Unknown`, and a truncated payload breaks nothing.
pub fn odd_input_is_harmless(client: &Client, samples: &[Sample<'_>]) {
    for odd in [&b"\xff\xfe"[..], b"{", b"[1]", b"7", b"nonsense"] {
        assert!((client.decode)(&input("x", odd, false)).is_err(), "{odd:?}");
    }
    let new =
        (client.decode)(&input("BrandNewEvent", b"{}", false)).expect("a new event is an event");
    assert_eq!((new.kind, new.client), (EventKind::Unknown, client.name));
    assert_eq!((client.encode)(&new, &everything()), Answer::default());
    for sample in samples {
        for end in 0..sample.stdin.len() {
            let _either = (client.decode)(&input(sample.event, &sample.stdin[..end], false));
        }
    }
}

/// The delivery table and the encoder say the same about every kind of event and wish.
pub fn only_what_is_delivered_is_said(client: &Client) {
    let own = [
        EventKind::Waiter,
        EventKind::Activity,
        EventKind::ClientLeft,
        EventKind::Unknown,
        EventKind::Malformed,
    ];
    for kind in EventKind::ALL.iter().chain(&own) {
        let event = Event {
            dialect: client.dialect,
            env_file: Some("/env".to_owned()),
            actor: Actor::Main { kind: None },
            ..Event::bare(client.name, *kind, Timestamp(0))
        };
        let delivers = |wish| (client.delivers)(*kind, wish) == Delivery::Delivered;
        assert_eq!((client.encode)(&event, &Verdict::default()), Answer::default(), "{kind:?}");
        let all = words(&(client.encode)(&event, &everything()));
        for (wish, verdict, word) in each() {
            let said = words(&(client.encode)(&event, &verdict));
            assert_eq!(said.contains(word), delivers(wish), "{kind:?} {wish:?}: {said}");
            if !delivers(wish) {
                assert_eq!(said, "", "{kind:?} {wish:?}");
                assert!(!all.contains(word), "{kind:?} {wish:?} beside others: {all}");
            }
        }
        let silent = Verdict {
            wait: Some(Wait { key: "k".to_owned(), until: Timestamp(1) }),
            receipt: true,
            ..Verdict::default()
        };
        assert_eq!((client.encode)(&event, &silent), Answer::default(), "{kind:?}");
    }
}

/// Adding twice is adding once, what was added is found, and removing restores every byte.
pub fn installing_is_undone_to_the_byte(client: &Client, settings: &[&str]) {
    let format = &client.install.format;
    let found_in = |text: &str| (format.registered)(text).expect("it can be read");
    for text in settings {
        assert_eq!(found_in(text), [], "{text}");
        let there = (format.rules)(text);
        for wanted in all_wanted(client) {
            let added = (format.add)(text, &wanted).expect("it can be added to");
            assert!(!added.is_empty);
            let twice = (format.add)(&added.text, &wanted).expect("it can be added to again");
            assert_eq!(twice.text, added.text);
            let mut found: Vec<String> =
                found_in(&added.text).into_iter().map(|one| one.event).collect();
            let mut events: Vec<&str> = wanted.entries.iter().map(|entry| entry.event).collect();
            found.sort();
            events.sort_unstable();
            assert_eq!(found, events);
            let dropped = (format.findings)(&added.text);
            assert!(dropped.iter().all(|one| one.drops != Drops::File), "{dropped:?}");
            assert_eq!((format.hooks_off)(&added.text), None);
            let rules = (format.rules)(&added.text);
            assert!(wanted.allow.iter().all(|rule| rules.contains(rule)), "{rules:?}");
            let ours: Vec<String> =
                wanted.allow.iter().filter(|rule| !there.contains(rule)).cloned().collect();
            let removed = (format.remove)(&added.text, &ours).expect("ours goes");
            assert_eq!(found_in(&removed.text), []);
            // Of a file with nothing in it, perhaps not even a byte order mark, nothing has to come back.
            if text.trim_start_matches('\u{feff}').trim().is_empty() {
                assert!(removed.is_empty, "{}", removed.text);
            } else {
                assert_eq!(removed.text, *text, "every byte is back");
            }
        }
    }
}

/// A file that the client itself would not read is not changed.
pub fn broken_settings_are_left_alone(client: &Client, broken: &[&str]) {
    let format = &client.install.format;
    assert!(!broken.is_empty());
    for text in broken {
        for wanted in all_wanted(client) {
            let error = (format.add)(text, &wanted).expect_err("it is broken");
            assert!(error.line > 0 && !error.message.is_empty() && !error.advice.is_empty());
        }
        // Where nothing of ours is, nothing is taken out, however much of the file can be read.
        if let Ok(removed) = (format.remove)(text, &[]) {
            assert_eq!(removed.text, *text);
        }
    }
}

/// A project's hooks do nothing where our program is not installed. If the client refuses calls whose hook is missing,
/// every hook of ours must be like that.
pub fn a_missing_program_stops_nothing(client: &Client) {
    let refuses = client.install.if_missing == IfMissing::Refuses;
    for form in forms() {
        if form != Form::Project && !refuses {
            continue;
        }
        for entry in (client.install.entries)(form) {
            let What::Shell { command: line, .. } = &entry.what else {
                panic!("{}: {:?} can't be missing", entry.event, entry.what);
            };
            let run = command("/bin/sh").args(["-c", line]).env("PATH", "/nonexistent").output();
            let run = run.expect("a shell");
            assert!(run.status.success(), "{line}: {run:?}");
            assert!(run.stdout.is_empty(), "{line}: {run:?}");
        }
    }
}

/// Transcripts, session files and to-do files that are empty or odd yield nothing.
pub fn files_that_say_nothing_mean_nothing(client: &Client) {
    for odd in ["", "\n", "{", "[]", "{}", "null", "\u{0}"] {
        assert_eq!((client.dialect.latest_answer)(odd, false), None, "{odd:?}");
        assert_eq!((client.dialect.latest_answer)(odd, true), None, "{odd:?}");
        assert_eq!((client.dialect.usage)(odd), None, "{odd:?}");
        assert_eq!((client.dialect.todo_file)(odd), None, "{odd:?}");
        assert!(!(client.was_interrupted)(odd.as_bytes()), "{odd:?}");
        if let Some(files) = client.session_files {
            assert_eq!((files.read)(odd.as_bytes()), None, "{odd:?}");
            assert_eq!((files.pid)(odd), None, "{odd:?}");
        }
    }
}

/// A line that starts something else is returned unchanged, and a fresh line is not changed again.
pub fn command_lines_of_others_stay(client: &Client) {
    let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
    for line in ["", "sh -c x", "./mine --resume s1 --session-id 7"] {
        assert_eq!((client.relaunch.fresh)(&words(line)), words(line));
        assert_eq!((client.relaunch.again)(&words(line)), words(line));
    }
    for line in [client.program.to_owned(), (client.dialect.resume)("s1")] {
        let fresh = (client.relaunch.fresh)(&words(&line));
        assert_eq!(fresh, [OsString::from(client.program)], "{line}");
        assert_eq!((client.relaunch.fresh)(&fresh), fresh);
    }
}

fn input<'a>(event: &'a str, stdin: &'a [u8], waits: bool) -> Input<'a> {
    Input { event, stdin, cwd: "/repo", env: &[], at: Timestamp(1_700_000_000_000), waits }
}

fn decoded(client: &Client, sample: &Sample<'_>, waits: bool) -> Event {
    (client.decode)(&input(sample.event, sample.stdin, waits)).expect("a payload is an event")
}

/// Each kind of wish alone, with a word of its own.
fn each() -> [(WishKind, Verdict, &'static str); 7] {
    let reason = str::to_owned;
    let none = Verdict::default;
    let deny = Permission::Deny { reason: reason("w-deny") };
    let ask = Permission::Ask { reason: reason("w-ask") };
    let allow = Permission::Allow { choices: Vec::new() };
    [
        (WishKind::Context, Verdict { context: Some(reason("w-context")), ..none() }, "w-context"),
        (WishKind::Deny, Verdict { permission: Some(deny), ..none() }, "w-deny"),
        (WishKind::Ask, Verdict { permission: Some(ask), ..none() }, "w-ask"),
        (WishKind::Block, Verdict { block: Some(reason("w-block")), ..none() }, "w-block"),
        (WishKind::Notice, Verdict { notice: Some(reason("w-notice")), ..none() }, "w-notice"),
        (
            WishKind::Export,
            Verdict { exports: vec![(reason("NAME"), reason("w-export"))], ..none() },
            "w-export",
        ),
        (WishKind::Answer, Verdict { permission: Some(allow), ..none() }, "allow"),
    ]
}

/// All of them at once; of the permissions the stronger.
fn everything() -> Verdict {
    let mut out = Verdict::default();
    for (_, verdict, _) in each() {
        out.permission = out.permission.or(verdict.permission);
        out.context = out.context.or(verdict.context);
        out.block = out.block.or(verdict.block);
        out.notice = out.notice.or(verdict.notice);
        out.exports.extend(verdict.exports);
    }
    out
}

/// All that an answer says.
fn words(answer: &Answer) -> String {
    let exports = answer.exports.as_ref().map_or("", |exports| &exports.text);
    format!("{}{}{exports}", answer.stdout, answer.stderr)
}

fn forms() -> [Form<'static>; 4] {
    let (program, folder) = ("/no/such/substrate-hook", "/no/such/hooks/substrate");
    [
        Form::User { program },
        Form::Project,
        Form::Scripts { folder },
        Form::Persistent { program, folder },
    ]
}

/// Every form, with and without rules and prompts.
fn all_wanted(client: &Client) -> Vec<Wanted> {
    let install = &client.install;
    let rules = install.rule.map_or_else(Vec::new, |rule| {
        vec![rule("substrate inbox", true), rule("substrate locks", false)]
    });
    let mut out = Vec::new();
    for form in forms() {
        let mut entries = (install.entries)(form);
        out.push(Wanted { entries: entries.clone(), ..Wanted::default() });
        entries.extend((install.prompts)());
        out.push(Wanted { entries, allow: rules.clone(), ..Wanted::default() });
    }
    out
}
