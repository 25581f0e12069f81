//! What the tables of several clients' tests share.

use substrate_core::verdict::Permission;
use substrate_core::{Event, EventKind, Timestamp, Verdict};

use crate::{Client, Input};

pub(crate) const AT: Timestamp = Timestamp(1_700_000_000_000);

/// A payload of the client's folder, decoded.
pub(crate) fn sample(client: &Client, name: &str, env: &[(&str, &str)]) -> Event {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let file = format!("{folder}/{}/samples/{name}.json", client.name);
    let event = name.trim_start_matches('_').split('-').next().unwrap_or_default();
    let stdin = std::fs::read(file).expect("there is such a sample");
    decoded(client, event, &stdin, env)
}

/// What a hook was given, decoded.
pub(crate) fn decoded(client: &Client, event: &str, stdin: &[u8], env: &[(&str, &str)]) -> Event {
    (client.decode)(&Input { event, stdin, cwd: "/hook/cwd", env, at: AT, waits: false }).unwrap()
}

/// All that is said at an event if everything is wished for. The exit code never says anything.
pub(crate) fn all_said(client: &Client, kind: EventKind) -> String {
    let verdict = Verdict {
        permission: Some(Permission::Deny { reason: "no".to_owned() }),
        block: Some("held".to_owned()),
        context: Some("told".to_owned()),
        notice: Some("shown".to_owned()),
        exports: vec![("A".to_owned(), "b".to_owned())],
        ..Verdict::default()
    };
    let answer = (client.encode)(&Event::bare(client.name, kind, AT), &verdict);
    assert_eq!((answer.stderr.as_str(), answer.exit, answer.exports), ("", 0, None));
    answer.stdout
}
