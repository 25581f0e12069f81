//! Tells the user that something waits for them: after commits, beside the loop, with a limit.
//!
//! What is told, and when, is the feature's decision (`notify due`). It is noted before it is told, so that it is told at
//! most once. No hook waits for any of this.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use substrate_core::{Caller, RequestId, Settings};
use tokio::task::{spawn_blocking, spawn_local};
use tokio::time::{sleep, timeout};

use super::conn::{self, Call};
use super::state::{Counted, State};
use super::surround;
use crate::notice::{Channel, Notification};
use crate::{clock, proc};

/// How long commits are collected before it is asked what waits.
const COLLECT: Duration = Duration::from_secs(2);

/// How often it is asked although nothing was committed: deadlines pass, and quiet hours end.
const NOW_AND_THEN: Duration = Duration::from_secs(60);

/// How often the settings are looked at while notifications are off.
const OFF: Duration = Duration::from_secs(10);

/// What came of a notification, per channel.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Outcome {
    pub(crate) channel: String,
    pub(crate) error: Option<String>,
}

/// Tells the user what waits for them, until the daemon ends.
pub(super) async fn tell(state: Rc<State>) {
    if state.is_brief {
        return;
    }
    let mut watching = None;
    loop {
        let settings = settings(&state).await;
        if !substrate_features::notify::is_on(&settings) {
            watching = None;
            sleep(OFF).await;
            continue;
        }
        watching.get_or_insert_with(|| Counted::begin(&state, |counts| &counts.watching));
        // From here on no commit is missed.
        let committed = state.committed.notified();
        let pause = look(&state, &settings).await;
        if timeout(pause, committed).await.is_ok() {
            sleep(COLLECT).await;
        }
    }
}

/// Tells one by hand, whatever waits: `substrate notify test`.
pub(super) async fn test(state: &Rc<State>) -> Vec<Outcome> {
    let settings = settings(state).await;
    let notification = Notification {
        title: "Substrate: this is a test".to_owned(),
        body: "Notifications about what waits for you come here.".to_owned(),
        needs: json!([]),
    };
    carry_out(state, &settings, notification).await
}

async fn settings(state: &Rc<State>) -> Arc<Settings> {
    let ((settings, _), _) = surround::around(state, Path::new("/"), "").await;
    settings
}

/// Asks what is due, and tells it. Returns when to ask again at the latest.
async fn look(state: &Rc<State>, settings: &Arc<Settings>) -> Duration {
    let Some(due) = ask(state, "due", json!({})).await else { return NOW_AND_THEN };
    let text = |name: &str| due[name].as_str().unwrap_or_default().to_owned();
    if due["title"].is_string() {
        let notification =
            Notification { title: text("title"), body: text("body"), needs: due["needs"].clone() };
        let told = json!({"ids": due["ids"], "waiting": due["waiting"], "title": due["title"]});
        let Some(noted) = ask(state, "told", told).await else { return NOW_AND_THEN };
        // A command that takes its time delays no other notification.
        let (state, settings) = (Rc::clone(state), Arc::clone(settings));
        drop(spawn_local(async move {
            let outcomes = carry_out(&state, &settings, notification).await;
            let failed = outcomes.iter().filter_map(|one| {
                one.error.as_ref().map(|error| format!("{}: {error}", one.channel))
            });
            let failed: Vec<String> = failed.collect();
            let error = (!failed.is_empty()).then(|| failed.join("; "));
            if let Some(error) = &error {
                tracing::warn!(error, "a notification failed");
            }
            ask(&state, "noted", json!({"id": noted["id"], "error": error})).await;
        }));
    }
    due["again_ms"].as_u64().map_or(NOW_AND_THEN, Duration::from_millis)
}

/// Runs one of the feature's verbs as the user.
async fn ask(state: &Rc<State>, verb: &str, body: Value) -> Option<Value> {
    let caller = Caller {
        cwd: "/".to_owned(),
        tz_offset_s: clock::tz_offset_s(clock::now()),
        request: RequestId(proc::random_id()).to_string(),
        ..Caller::default()
    };
    let path = vec!["notify".to_owned(), verb.to_owned()];
    let call = Call { path, body, caller, repeated: false };
    match conn::command(state, &call).await? {
        Ok(output) => Some(output.json),
        Err(error) => {
            tracing::warn!(error = error.render(), verb, "notifications could not be looked at");
            None
        }
    }
}

/// Tells it in every place of the settings, at the same time.
async fn carry_out(
    state: &Rc<State>,
    settings: &Settings,
    notification: Notification,
) -> Vec<Outcome> {
    let notification = Arc::new(notification);
    let running: Vec<_> = Channel::of(settings)
        .into_iter()
        .map(|channel| {
            let (notification, env) = (Arc::clone(&notification), state.env.clone());
            let name = channel.name();
            (name, spawn_blocking(move || channel.tell(&notification, &env)))
        })
        .collect();
    let mut out = Vec::new();
    for (channel, task) in running {
        let error = match task.await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error),
            Err(_) => Some("it panicked; the daemon's log says where".to_owned()),
        };
        out.push(Outcome { channel, error });
    }
    out
}
