//! What is read from outside, as targets for a fuzzer: each takes any bytes, and must neither panic nor take long.
//!
//! `fuzz/` has the same targets for cargo-fuzz, which needs a nightly compiler, and the stored corpus. `cargo xtask fuzz
//! TARGET --seconds N` runs them with the small fuzzer of this crate, which needs neither; the tests run it for a moment.

mod mutate;
mod run;

pub use run::{Ended, Report, Until, corpus, run};

use ipc::{Header, HookRequest, Reply};
use substrate_clients::Input;
use substrate_core::settings::{Layer, Scope};
use substrate_core::{Settings, Timestamp, Verdict};

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of its folder in `fuzz/corpus`, and of its file in `fuzz/fuzz_targets`.
    pub name: &'static str,
    pub read: fn(&[u8]),
}

/// Every target.
pub const ALL: &[Target] = &[
    Target { name: "decode", read: decode },
    Target { name: "settings", read: settings },
    Target { name: "shell", read: shell },
    Target { name: "globs", read: globs },
    Target { name: "frames", read: frames },
];

/// What a client's hook is given on its standard input, and the answer to it.
pub fn decode(bytes: &[u8]) {
    for client in substrate_clients::ALL {
        let input = Input {
            event: "PreToolUse",
            stdin: bytes,
            cwd: "/repo",
            env: &[],
            at: Timestamp(0),
            waits: false,
        };
        if let Ok(event) = (client.decode)(&input) {
            let _answer = (client.encode)(&event, &Verdict::default());
        }
    }
}

/// A settings file of a project.
pub fn settings(bytes: &[u8]) {
    let keys = substrate_features::keys();
    let layer = Layer::read(Scope::Project, "x.toml", &String::from_utf8_lossy(bytes), &keys);
    let settings = Settings::resolve(&keys, &[&layer]);
    assert!(settings.on("guards.on"), "a project can't switch the guards off");
}

/// A command line, as guards and locks read it.
pub fn shell(bytes: &[u8]) {
    substrate_features::fuzz::shell(&String::from_utf8_lossy(bytes));
}

/// Globs of settings and commands, and the paths that they are compared with: one a line.
pub fn globs(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines().take(4);
    let (Some(glob), Some(other)) = (lines.next(), lines.next()) else { return };
    substrate_features::fuzz::globs(glob, other, lines.next().unwrap_or_default());
}

/// What comes over the socket: a header, and the bodies that may follow it.
pub fn frames(bytes: &[u8]) {
    if let Some(head) = bytes.first_chunk().and_then(Header::read) {
        let again = Header::read(&Header::bytes(head.kind, head.len));
        assert_eq!(again.map(|again| (again.kind, again.len)), Some((head.kind, head.len)));
    }
    if let Some(request) = HookRequest::read(bytes) {
        assert_eq!(HookRequest::read(&request.bytes()), Some(request));
        let env = String::from_utf8_lossy(request.env);
        let (n_args, n_vars) = (request.each_arg().count(), ipc::variables(&env).count());
        assert!(n_args <= bytes.len() && n_vars <= bytes.len());
    }
    if let Some(reply) = Reply::read(bytes) {
        assert_eq!(Reply::read(&reply.bytes()), Some(reply));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The stored corpus, and what becomes of it in a moment, with the same seed each time.
    #[test]
    fn every_target_holds_for_a_moment() {
        for target in ALL {
            let corpus =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target.name);
            let stored = run::corpus(&corpus).unwrap();
            assert!(stored.len() >= 5, "{}: a small corpus is stored", target.name);
            let report = run(*target, &stored, Until::Executions(3_000), 7);
            assert_eq!(report.ended, Ended::Held, "{}: {report:?}", target.name);
        }
    }

    #[test]
    fn what_panics_is_found_and_shown() {
        let target = Target {
            name: "x",
            read: |bytes| assert!(!bytes.starts_with(b"ab") || bytes.len() < 3),
        };
        let report = run(target, &[b"ac".to_vec()], Until::Executions(100_000), 1);
        assert!(matches!(report.ended, Ended::Panicked { .. }), "{report:?}");
    }
}
