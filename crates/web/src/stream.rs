//! One stream per tab: the journal's new entries, and what changed on the page.
//!
//! The id of an event is the number of a journal entry. A browser that comes back says the last one it has seen, and gets
//! exactly the entries after it. What changed on a page is found once for all tabs that show it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Response};
use hyper::body::Frame;
use serde_json::Value;
use substrate_core::{Cx, DbError};
use tokio::sync::{Mutex as AsyncMutex, Notify, Semaphore, mpsc, watch};
use tokio::task::{spawn_blocking, spawn_local};
use tokio::time::{sleep, timeout};

use crate::form::{Fields, NoFiles};
use crate::keys::KeyInfo;
use crate::respond::answer;
use crate::server::whole_page;
use crate::site::{Refusal, Site};
use crate::snapshot::{Digests, Snapshot};

/// The pause between two batches.
const BATCH: Duration = Duration::from_millis(250);

/// After a page was rendered, it rests this many times as long, and all pages rest so long: however many tabs are open, they
/// take a third of one core at the most.
const REST: u32 = 20;
const REST_OF_ALL: u32 = 2;

/// A page is rendered again after this long even if nothing happened: its ages grow.
const AGES: Duration = Duration::from_secs(20);

/// How many entries go into one batch: what `journal tail` answers at once.
const MAX_ROWS: usize = 1_000;

/// A tab that does not read its batches is dropped.
const UNREAD: Duration = Duration::from_secs(30);

/// The number of the newest entry.
pub(crate) fn newest(cx: &mut Cx<'_>) -> Result<i64, DbError> {
    let newest = cx.db.first("select max(id) from journal", &[], |row| row.opt_int(0))?;
    Ok(newest.flatten().unwrap_or(0))
}

/// What all streams share.
pub(crate) struct Live {
    site: Arc<Site>,
    /// Counts up when something may have been written.
    changes: watch::Sender<u64>,
    watched: Notify,
    /// The entries that were read last. Tabs that are up to date all ask for the same ones.
    read_last: AsyncMutex<Option<Arc<Entries>>>,
    /// The pages that are shown now, by address and key.
    pages: Mutex<HashMap<String, Weak<Shown>>>,
    /// One page at a time is rendered for tabs, so that a thread is free for pages that are asked for.
    turns: Arc<Semaphore>,
}

/// One page, for all tabs that show it to one key.
struct Shown {
    latest: watch::Receiver<Option<Arc<Snapshot>>>,
    /// Ends the task that renders it, when the last tab goes.
    _alive: mpsc::Sender<Infallible>,
}

/// Entries of the journal, as all tabs get them.
struct Entries {
    after: i64,
    last: i64,
    n: usize,
    /// The change after which they were read.
    change: u64,
    event: Bytes,
}

impl Live {
    pub(crate) fn new(site: Arc<Site>) -> Arc<Self> {
        let (changes, _) = watch::channel(0);
        let live = Arc::new(Self {
            site,
            changes,
            watched: Notify::new(),
            read_last: AsyncMutex::default(),
            pages: Mutex::default(),
            turns: Arc::new(Semaphore::new(1)),
        });
        drop(spawn_local(look(Arc::downgrade(&live))));
        live
    }

    /// The entries after that number. They are read once for all tabs that have come as far.
    async fn entries_after(&self, after: i64) -> Arc<Entries> {
        let mut read_last = self.read_last.lock().await;
        let change = *self.changes.borrow();
        // Where there were none, there are some only after another change.
        let is_it =
            |known: &&Arc<Entries>| known.after == after && (known.n > 0 || known.change == change);
        if let Some(known) = read_last.as_ref().filter(is_it) {
            return Arc::clone(known);
        }
        let (last, rows) = entries(&self.site, Some(after)).await;
        let n = rows.len();
        let event = format!("id: {last}\nevent: entries\ndata: {}\n\n", Value::Array(rows));
        let read = Arc::new(Entries { after, last, n, change, event: event.into() });
        *read_last = Some(Arc::clone(&read));
        read
    }

    /// The page that a tab shows. The first tab starts rendering it.
    fn shown(self: &Arc<Self>, holder: &KeyInfo, here: &str) -> Arc<Shown> {
        let name = format!("{} {here}", holder.id);
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shown) = pages.get(&name).and_then(Weak::upgrade) {
            return shown;
        }
        pages.retain(|_, shown| shown.strong_count() > 0);
        let (latest, seen) = watch::channel(None);
        let (alive, ends) = mpsc::channel(1);
        let shown = Arc::new(Shown { latest: seen, _alive: alive });
        pages.insert(name, Arc::downgrade(&shown));
        let kept = Kept {
            site: Arc::clone(&self.site),
            holder: holder.clone(),
            here: here.to_owned(),
            changes: self.changes.subscribe(),
            turns: Arc::clone(&self.turns),
            latest,
        };
        drop(spawn_local(kept.keep_rendering(ends)));
        shown
    }
}

/// Looks for changes while a tab is open: one `stat` every quarter of a second, and nothing without tabs.
async fn look(live: Weak<Live>) {
    let mut before = None;
    loop {
        let Some(live) = live.upgrade() else { return };
        if live.changes.receiver_count() == 0 {
            let _or_look_again = timeout(AGES, live.watched.notified()).await;
            continue;
        }
        let marker = live.site.host.marker();
        if before != Some(marker) {
            before = Some(marker);
            live.changes.send_modify(|n| *n += 1);
        }
        drop(live);
        sleep(BATCH).await;
    }
}

/// A page that tabs show, and what keeps it up to date.
struct Kept {
    site: Arc<Site>,
    holder: KeyInfo,
    here: String,
    changes: watch::Receiver<u64>,
    turns: Arc<Semaphore>,
    latest: watch::Sender<Option<Arc<Snapshot>>>,
}

impl Kept {
    /// Renders the page at each change, at most once per batch, until the last tab goes.
    async fn keep_rendering(mut self, mut ends: mpsc::Receiver<Infallible>) {
        loop {
            let took = tokio::select! {
                _ = ends.recv() => return,
                took = self.render() => took,
            };
            tokio::select! {
                _ = ends.recv() => return,
                // A page that takes long is rendered less often.
                () = sleep(BATCH.max(took * REST)) => {}
            }
            tokio::select! {
                _ = ends.recv() => return,
                _ = timeout(AGES, self.changes.changed()) => {}
            }
        }
    }

    /// Renders it once, when it is its turn. Returns how long that took.
    async fn render(&mut self) -> Duration {
        let Ok(_turn) = self.turns.acquire().await else { return Duration::ZERO };
        self.changes.mark_unchanged();
        let begun = Instant::now();
        let (site, holder, here) = (Arc::clone(&self.site), self.holder.clone(), self.here.clone());
        let rendered = spawn_blocking(move || {
            let (path, query) = here.split_once('?').unwrap_or((&here, ""));
            whole_page(&site, &holder, path, query).map(Snapshot::new)
        });
        if let Ok(Ok(page)) = rendered.await {
            let is_other = |known: &Option<Arc<Snapshot>>| {
                known.as_ref().is_none_or(|known| known.digests != page.digests)
            };
            if is_other(&self.latest.borrow()) {
                self.latest.send_replace(Some(Arc::new(page)));
            }
        }
        let took = begun.elapsed();
        sleep(took * REST_OF_ALL).await;
        took
    }
}

/// Begins the stream of one tab.
pub(crate) fn begin(
    live: Arc<Live>,
    holder: KeyInfo,
    headers: &HeaderMap,
    query: &str,
) -> Result<Response<Body>, Refusal> {
    let mut fields = Fields::of_form(query);
    let here = fields.take("page").unwrap_or_else(|| "/".to_owned());
    let seen =
        headers.get("last-event-id").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let after = match seen.or_else(|| fields.take("after")) {
        Some(text) => Some(
            text.parse::<i64>().map_err(|_| Refusal::new(400, "the last event has no such id"))?,
        ),
        None => None,
    };
    // A browser that comes back may show something newer than the page it loaded.
    let state = fields.take("state").filter(|_| !headers.contains_key("last-event-id"));
    let state = state.and_then(|text| u64::from_str_radix(&text, 16).ok());
    let (send, batches) = mpsc::channel(4);
    let tab = Tab { live, holder, after: after.unwrap_or(0), state, shown: None, send };
    drop(spawn_local(feed(tab, here, after.is_none())));
    Ok(answer(200, "text/event-stream", Body::new(Batches(batches))))
}

/// The body of a stream.
struct Batches(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Batches {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|batch| batch.map(|batch| Ok(Frame::data(batch))))
    }
}

/// What one tab has been told.
struct Tab {
    live: Arc<Live>,
    holder: KeyInfo,
    after: i64,
    /// The page that it was loaded with, until it is told of a page.
    state: Option<u64>,
    /// What it shows.
    shown: Option<Arc<Digests>>,
    send: mpsc::Sender<Bytes>,
}

async fn feed(mut tab: Tab, here: String, begins_now: bool) {
    let page = tab.live.shown(&tab.holder, &here);
    let mut latest = page.latest.clone();
    latest.mark_changed();
    let mut changes = tab.live.changes.subscribe();
    tab.live.watched.notify_one();
    if begins_now {
        tab.after = entries(&tab.live.site, None).await.0;
    }
    changes.mark_changed();
    loop {
        let is_valid = tab.live.site.keys().is_valid(tab.holder.id, tab.live.site.host.now());
        if !is_valid || !tab.tell_entries().await || !tab.tell_page(&mut latest).await {
            return;
        }
        sleep(BATCH).await;
        tokio::select! {
            _ = changes.changed() => {}
            _ = latest.changed() => latest.mark_changed(),
            () = tab.send.closed() => return,
            // Says that we are there, so that a connection that broke is noticed.
            () = sleep(AGES) => if !tab.send(Bytes::from_static(b": here\n\n")).await { return },
        }
    }
}

impl Tab {
    async fn send(&self, event: Bytes) -> bool {
        matches!(timeout(UNREAD, self.send.send(event)).await, Ok(Ok(())))
    }

    /// Sends every entry of the journal that the tab does not have.
    async fn tell_entries(&mut self) -> bool {
        loop {
            let read = self.live.entries_after(self.after).await;
            if read.n == 0 {
                return true;
            }
            self.after = read.last;
            if !self.send(read.event.clone()).await {
                return false;
            }
            if read.n < MAX_ROWS {
                return true;
            }
        }
    }

    /// Sends what changed on the page.
    async fn tell_page(&mut self, latest: &mut watch::Receiver<Option<Arc<Snapshot>>>) -> bool {
        if !latest.has_changed().unwrap_or(true) {
            return true;
        }
        let Some(page) = latest.borrow_and_update().clone() else { return true };
        let event = match (&self.shown, self.state) {
            (Some(before), _) => page.since(before),
            (None, Some(state)) if state == page.digests.state() => None,
            (None, _) => Some(page.whole()),
        };
        self.shown = Some(Arc::clone(&page.digests));
        let Some(event) = event else { return true };
        // From here on it says what it has seen when it comes back, so that the page that it was loaded with counts no more.
        if self.state.take().is_some() {
            let id = format!("id: {}\n", self.after);
            return self.send(id.into()).await && self.send(event).await;
        }
        self.send(event).await
    }
}

/// The entries after that number, oldest first, and the number of the last one. Without a number: only the newest number.
async fn entries(site: &Arc<Site>, after: Option<i64>) -> (i64, Vec<Value>) {
    let site = Arc::clone(site);
    let read = spawn_blocking(move || {
        let Some(after) = after else {
            let mut last = 0;
            site.host.look(&mut |cx| last = newest(cx).unwrap_or(0)).ok()?;
            return Some((last, Vec::new()));
        };
        let verb = site.verb(&["journal", "tail"])?;
        let caller = site.host.caller(None);
        let place = |path: &str| site.host.place(path);
        let fields = Fields(vec![("after".to_owned(), after.to_string())]);
        let body = fields.body(verb, &mut NoFiles { place: &place }).ok()?;
        let output = site.host.read(verb, &caller, body).ok()?;
        let Value::Array(rows) = output.json else { return None };
        let last = rows.last().and_then(|row| row["id"].as_i64()).unwrap_or(after);
        Some((last, rows.into_iter().map(brief).collect()))
    });
    let unread = || (after.unwrap_or(0), Vec::new());
    read.await.ok().flatten().unwrap_or_else(unread)
}

/// What a tab needs of an entry: who did what, and the answer. The rest is a link away.
fn brief(mut row: Value) -> Value {
    let fields = ["id", "at_ms", "agent", "session", "actor", "event", "tool", "verdict"];
    fields.iter().map(|name| ((*name).to_owned(), row[*name].take())).collect()
}
