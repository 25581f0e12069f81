//! Chromium's debugging protocol over two pipes: JSON, each message ended by a zero.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longer than any command takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What the browser told without being asked.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) session: String,
    pub(crate) method: String,
    pub(crate) params: Value,
}

/// The way to the browser, shared by its tabs.
pub(crate) struct Wire {
    to: Mutex<Box<dyn Write + Send>>,
    next: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    replies: HashMap<u64, Value>,
    told: Vec<Told>,
    is_closed: bool,
}

impl Wire {
    /// Reads on a thread until the browser is gone.
    pub(crate) fn new(
        to: impl Write + Send + 'static,
        from: impl Read + Send + 'static,
    ) -> Arc<Self> {
        let wire = Arc::new(Self {
            to: Mutex::new(Box::new(to)),
            next: AtomicU64::new(1),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let reads = Arc::clone(&wire);
        std::thread::spawn(move || reads.read(from));
        wire
    }

    fn read(&self, from: impl Read) {
        let mut from = BufReader::new(from);
        let mut message = Vec::new();
        while let Ok(1..) = from.read_until(0, &mut message) {
            message.pop();
            let Ok(value) = serde_json::from_slice::<Value>(&message) else { break };
            self.take(value);
            message.clear();
        }
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    fn take(&self, mut value: Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (session, method) = (text(&value["sessionId"]), text(&value["method"]));
        // A dialog stops the page until it is closed. Tests find it among what was told.
        if method == "Page.javascriptDialogOpening" {
            self.send(&session, "Page.handleJavaScriptDialog", &json!({"accept": false}));
        }
        let mut state = self.state();
        match value["id"].as_u64() {
            Some(id) => drop(state.replies.insert(id, value)),
            None => state.told.push(Told { session, method, params: value["params"].take() }),
        }
        drop(state);
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, session: &str, method: &str, params: &Value) -> u64 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut message = json!({"id": id, "method": method, "params": params});
        if !session.is_empty() {
            message["sessionId"] = session.into();
        }
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        // If the browser is gone, the wait for the reply says so.
        let _gone = to.write_all(format!("{message}\0").as_bytes()).and_then(|()| to.flush());
        id
    }

    /// Runs a command, and waits for its result. `Err` has the browser's own words.
    pub(crate) fn call(
        &self,
        session: &str,
        method: &str,
        params: &Value,
    ) -> Result<Value, String> {
        let id = self.send(session, method, params);
        let mut reply = self.wait(method, |state| state.replies.remove(&id))?;
        match reply.get("error") {
            Some(error) => Err(format!("{method}: {error}")),
            None => Ok(reply["result"].take()),
        }
    }

    /// Waits until the browser has told something.
    pub(crate) fn wait_told(
        &self,
        what: &str,
        is_it: impl Fn(&Told) -> bool,
    ) -> Result<Told, String> {
        self.wait(what, |state| state.told.iter().find(|told| is_it(told)).cloned())
    }

    /// Everything that was told about that session, and forgets it.
    pub(crate) fn drain(&self, session: &str) -> Vec<Told> {
        let mut state = self.state();
        let (of_session, rest) =
            std::mem::take(&mut state.told).into_iter().partition(|told| told.session == session);
        state.told = rest;
        of_session
    }

    fn wait<T>(
        &self,
        what: &str,
        mut found: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<T, String> {
        let until = Instant::now() + PATIENCE;
        let mut state = self.state();
        loop {
            if let Some(found) = found(&mut state) {
                return Ok(found);
            }
            let rest = until.saturating_duration_since(Instant::now());
            if state.is_closed || rest.is_zero() {
                let why = if state.is_closed { "the browser is gone" } else { "no answer" };
                return Err(format!("{what}: {why}"));
            }
            state =
                self.changed.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wire")
    }
}

/// Decodes Base64, in which the browser sends its pictures: the standard alphabet. What is no letter of it ends the text.
pub(crate) fn decoded(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut out, mut bits, mut n_bits) = (Vec::with_capacity(text.len() / 4 * 3), 0_u32, 0);
    for value in text.bytes().map_while(value) {
        bits = bits << 6 | u32::from(value);
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            out.push((bits >> n_bits & 0xff) as u8);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn it_is_what_others_decode() {
        assert_eq!(decoded("aGVsbG8="), b"hello");
        assert_eq!(decoded("aGVsbG8h"), b"hello!");
        assert_eq!(decoded("/+8="), [0xff, 0xef]);
        assert_eq!(decoded(""), b"");
    }
}
