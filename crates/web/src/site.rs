//! What the host hands to the dashboard, and what the dashboard keeps while it runs.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use substrate_core::facts::Place;
use substrate_core::{
    Caller, Cx, DbError, Feature, Output, Page, PageBody, Timestamp, Verb, VerbError,
};
use tokio::sync::oneshot;

use crate::keys::{KeyInfo, Keys};

/// What the dashboard needs from the program around it. Everything but `act` may take a moment, and runs on threads of
/// the dashboard.
pub trait Host: Send + Sync + 'static {
    fn features(&self) -> &'static [&'static Feature];

    fn now(&self) -> Timestamp;

    fn random(&self) -> [u8; 16];

    /// Runs on one consistent state of the database, as the user.
    fn look(&self, body: &mut dyn FnMut(&mut Cx<'_>)) -> Result<(), DbError>;

    /// Runs a verb that only reads.
    fn read(&self, verb: &'static Verb, caller: &Caller, body: Value) -> Result<Output, Refusal>;

    /// Runs any verb as the daemon runs commands.
    fn act(
        &self,
        verb: &'static Verb,
        caller: Caller,
        body: Value,
    ) -> oneshot::Receiver<Result<Output, Refusal>>;

    /// Who calls: the user, in that folder.
    fn caller(&self, project_dir: Option<String>) -> Caller;

    /// Which file a path means.
    fn place(&self, path: &str) -> Place;

    /// Another value whenever anything may have been written.
    fn marker(&self) -> u64;

    /// Keeps the keys, for their owner only.
    fn save_keys(&self, text: &str);

    /// JSON as commands print it.
    fn printed(&self, json: &Value) -> String;

    /// The program's version and the machine's name, for the foot of a page.
    fn about(&self) -> String;
}

/// Why something was not done, for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub status: u16,
    pub message: String,
    pub hints: Vec<String>,
}

impl Refusal {
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), hints: Vec::new() }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl From<VerbError> for Refusal {
    fn from(error: VerbError) -> Self {
        match error {
            VerbError::User { message, hint } => Self::new(422, message).hint(hint),
            VerbError::Unsure { message, hint, .. } => Self::new(409, message).hint(hint),
            VerbError::Db(error) => error.into(),
        }
    }
}

impl From<DbError> for Refusal {
    fn from(error: DbError) -> Self {
        Self::new(503, error.to_string()).hint("`substrate doctor` says what to do")
    }
}

/// A running dashboard.
pub struct Site {
    pub(crate) host: Box<dyn Host>,
    keys: Mutex<Keys>,
    /// The nonces that were used.
    spent: Mutex<HashSet<String>>,
    /// The values of `Host` that mean us.
    pub(crate) hosts: Vec<String>,
}

/// How many used nonces are remembered.
const MAX_SPENT: usize = 20_000;

impl Site {
    /// A dashboard on that port, with the keys of a file's text.
    pub fn new(host: Box<dyn Host>, keys: &str, port: u16) -> Self {
        let keys = Mutex::new(Keys::read(keys, host.random()));
        let hosts = vec![format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        Self { host, keys, spent: Mutex::default(), hosts }
    }

    /// Changes the keys, and keeps them.
    pub fn change_keys<T>(&self, body: impl FnOnce(&mut Keys, Timestamp, [u8; 16]) -> T) -> T {
        let mut keys = self.keys();
        let out = body(&mut keys, self.host.now(), self.host.random());
        self.host.save_keys(&keys.text());
        out
    }

    pub(crate) fn keys(&self) -> MutexGuard<'_, Keys> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whose cookie that is.
    pub(crate) fn holder(&self, cookie: &str) -> Option<KeyInfo> {
        self.keys().holder(cookie, self.host.now())
    }

    /// Takes a nonce. `false`: it was taken before.
    pub(crate) fn spend(&self, nonce: &str) -> bool {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if spent.len() >= MAX_SPENT {
            spent.clear();
        }
        spent.insert(nonce.to_owned())
    }

    /// Gives a nonce back: the form did nothing.
    pub(crate) fn give_back(&self, nonce: &str) {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner).remove(nonce);
    }

    pub(crate) fn pages(&self) -> impl Iterator<Item = &'static Page> + use<> {
        self.host.features().iter().flat_map(|feature| feature.pages)
    }

    /// The verb of these words.
    pub(crate) fn verb(&self, words: &[&str]) -> Option<&'static Verb> {
        let mut verbs = self.host.features().iter().flat_map(|feature| feature.verbs);
        verbs.find(|verb| verb.path == words && !verb.hidden)
    }

    /// The number of the newest entry of the journal that a page may have seen, and a page.
    pub(crate) fn render(
        &self,
        body: &mut dyn FnMut(&mut Cx<'_>) -> Result<PageBody, Refusal>,
    ) -> Result<PageBody, Refusal> {
        let mut out = Err(Refusal::new(500, "nothing was rendered"));
        self.host.look(&mut |cx| out = body(cx))?;
        out
    }
}
