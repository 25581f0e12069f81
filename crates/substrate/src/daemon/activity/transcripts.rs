//! For clients without session files: while a turn runs, the end of its transcript is read once a second.

use std::collections::HashMap;

use substrate_core::SafeId;

use crate::gather;

/// How much of the end is read.
const TAIL: u64 = 64 << 10;

/// The most turns that are followed.
const MAX_TURNS: usize = 200;

/// A turn of a session, as its events describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) session: SafeId,
    pub(super) pid: u32,
    pub(super) cwd: String,
    pub(super) transcript: String,
}

/// The turns that are running.
#[derive(Debug, Default)]
pub(super) struct Transcripts {
    open: HashMap<SafeId, (Turn, u64)>,
}

impl Transcripts {
    /// A turn begins. Text that is already in the transcript says nothing about this turn.
    pub(super) fn begin(&mut self, turn: Turn) {
        if self.open.len() < MAX_TURNS || self.open.contains_key(&turn.session) {
            let len = length(&turn.transcript);
            self.open.insert(turn.session.clone(), (turn, len));
        }
    }

    pub(super) fn end(&mut self, session: &SafeId) {
        self.open.remove(session);
    }

    /// Drops the turns of processes that are gone.
    pub(super) fn retain(&mut self, is_alive: impl Fn(u32) -> bool) {
        self.open.retain(|_, (turn, _)| is_alive(turn.pid));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The turns that a person has interrupted since the last call.
    pub(super) fn interrupted(&mut self, was_interrupted: fn(&[u8]) -> bool) -> Vec<Turn> {
        let mut out = Vec::new();
        self.open.retain(|_, (turn, from)| {
            let is_over = since(&turn.transcript, *from).is_some_and(|end| was_interrupted(&end));
            if is_over {
                out.push(turn.clone());
            }
            !is_over
        });
        out
    }
}

fn length(path: &str) -> u64 {
    gather::open(path).map_or(0, |(_, len)| len)
}

/// The end of what was written since then.
fn since(path: &str, from: u64) -> Option<Vec<u8>> {
    let (mut file, len) = gather::open(path).ok()?;
    if len <= from {
        return None;
    }
    gather::part(&mut file, from.max(len.saturating_sub(TAIL)), len)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"[Request interrupted by user]\"}]}}\n";

    #[test]
    fn only_what_was_written_since_the_turn_began_counts_and_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s1.jsonl");
        let write = |text: &str| substrate_testkit::write_file(&path, text);
        let session = SafeId::new("s1").unwrap();
        let transcript = path.display().to_string();
        let turn = Turn { session, pid: 1, cwd: "/repo".to_owned(), transcript };
        let look = substrate_clients::DEFAULT.was_interrupted;
        let mut all = Transcripts::default();
        write(LINE);
        all.begin(turn.clone());
        assert_eq!(all.interrupted(look), [], "that was the turn before");
        let prompt = "{\"type\":\"user\",\"message\":{\"content\":\"go\"}}\n";
        write(&format!("{LINE}{prompt}"));
        assert_eq!(all.interrupted(look), []);
        write(&format!("{LINE}{prompt}{LINE}"));
        assert_eq!(all.interrupted(look), std::slice::from_ref(&turn));
        assert!(all.is_empty() && all.interrupted(look).is_empty());
        all.begin(turn.clone());
        all.end(&turn.session);
        assert!(all.is_empty());
    }
}
