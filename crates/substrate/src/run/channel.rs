//! The supervisor's conversation with the engine, on threads of its own: the terminal never waits for the daemon or the
//! database.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use crate::daemon::Process;

/// Asks the engine: the verb's second word and its body. `Err` is for people.
pub(crate) type Asks = dyn Fn(&str, Value) -> Result<Value, String> + Send + Sync;

/// How long the engine may take to say what to do about a client that has ended, or about the next one. As long as a
/// hook waits: a busy machine must not lose a restart.
const LAST_WORD: Duration = Duration::from_secs(10);

/// The pause after a failure.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) struct Channel {
    asks: Arc<Asks>,
    token: String,
    /// The running child. Answers about an earlier one are ignored.
    current: Arc<AtomicU32>,
    sender: UnboundedSender<(u32, Wanted)>,
    pub(super) wanted: UnboundedReceiver<(u32, Wanted)>,
}

/// The engine wants this client replaced by a fresh one.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    pub(super) why: Option<String>,
    pub(super) agent: Option<String>,
    /// What the fresh one continues with.
    pub(super) effort: Option<i64>,
    /// The client itself, which may be below the process that we started.
    pub(super) client: Option<Process>,
}

impl Wanted {
    fn read(json: &Value) -> Self {
        let text = |name: &str| json[name].as_str().map(str::to_owned);
        let client = &json["client"];
        let pid = client["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
        let client = pid.zip(client["began"].as_u64());
        let client = client.map(|(pid, began)| Process { pid, began });
        Self { why: text("wanted"), agent: text("agent"), effort: json["effort"].as_i64(), client }
    }
}

impl Channel {
    pub(super) fn new(asks: Arc<Asks>, token: String) -> Self {
        let (sender, wanted) = unbounded_channel();
        Self { asks, token, current: Arc::default(), sender, wanted }
    }

    /// Reports that a client was started, and asks the engine until the client has ended.
    pub(super) fn started(&self, child: u32, n_restarts: u32) {
        let (asks, sender) = (Arc::clone(&self.asks), self.sender.clone());
        let current = Arc::clone(&self.current);
        current.store(child, Ordering::Relaxed);
        let is_over = move || current.load(Ordering::Relaxed) != child;
        let note = noted(&self.token, child, n_restarts);
        let wait = json!({"token": self.token, "child": child});
        std::thread::spawn(move || {
            while !is_over() && asks("note", note.clone()).is_err() {
                std::thread::sleep(PAUSE);
            }
            while !is_over() {
                match asks("wait", wait.clone()) {
                    Ok(said) if said["over"] == json!(true) => return,
                    Ok(said) => {
                        let wanted = Wanted::read(&said);
                        if wanted.why.is_some() {
                            let _gone = sender.send((child, wanted));
                            return;
                        }
                    }
                    Err(_) => std::thread::sleep(PAUSE),
                }
            }
        });
    }

    /// Reports that a client is about to replace another. Returns whether the engine knows.
    pub(super) async fn announce(&self, n_restarts: u32, effort: Option<i64>) -> bool {
        let mut note = noted(&self.token, 0, n_restarts);
        note["effort"] = json!(effort);
        self.asked("note", note).await.is_some()
    }

    /// A client has ended: returns the engine's last word on it, if that comes in time.
    pub(super) async fn ended(&self, child: u32) -> Option<Wanted> {
        self.current.store(0, Ordering::Relaxed);
        let done = json!({"token": self.token, "child": child});
        self.asked("done", done).await.map(|said| Wanted::read(&said))
    }

    /// One answer, if it comes in time.
    async fn asked(&self, verb: &'static str, body: Value) -> Option<Value> {
        let asks = Arc::clone(&self.asks);
        let (sender, said) = oneshot::channel();
        std::thread::spawn(move || sender.send(asks(verb, body)));
        tokio::time::timeout(LAST_WORD, said).await.ok()?.ok()?.ok()
    }
}

/// What the engine is told about a child. 0 means none yet.
pub(crate) fn noted(token: &str, child: u32, n_restarts: u32) -> Value {
    let pid = std::process::id();
    json!({"token": token, "pid": pid, "child": child, "restarts": n_restarts})
}
