//! What happens while nothing happens: looking for the socket, a newer program, and the features' housekeeping.

use std::path::Path;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use substrate_core::{Cx, FeatureError, engine};
use substrate_store::{Durability, Writer};

use super::state::{How, State};
use super::{carry, conn, socket, surround, take_over, waiting};
use crate::clock;

/// How often the surroundings are looked at: three calls of `stat`.
const LOOK: Duration = Duration::from_secs(5);

/// Housekeeping every so many looks.
const HOUSEKEEPING: u32 = 12;

/// Looks after the daemon until it ends.
pub(super) async fn keep_up(state: Rc<State>) {
    let program_at_start = socket::identity(&state.program);
    let mut tried = program_at_start;
    let mut n_looks: u32 = 0;
    conn::process_kept(&state).await;
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {
                n_looks += 1;
                if n_looks.is_multiple_of(HOUSEKEEPING) {
                    housekeeping(&state).await;
                }
            }
            () = state.look_for_socket.notified() => {}
        }
        if !state.home.root().is_dir() {
            tracing::warn!("the state home is gone");
            return state.end(How::Stop);
        }
        state.find_socket();
        conn::process_kept(&state).await;
        let program = socket::identity(&state.program);
        if program.is_some() && program != program_at_start && program != tried {
            tried = program;
            tracing::info!(program = %state.program.display(), "a newer program was installed");
            if take_over::hand_over(&state, &state.program.clone()).await {
                return;
            }
        }
    }
}

/// Each feature in a transaction of its own, in small steps, with room for hooks in between.
async fn housekeeping(state: &Rc<State>) {
    let ((settings, _), _) = surround::around(state, Path::new("/"), "").await;
    let engine_done =
        in_transaction(state, |cx| Ok(engine::tick(cx.db, cx.now).map(|()| false)?), &settings);
    log_failure("engine", &engine_done);
    for feature in substrate_features::ALL {
        let Some(tick) = feature.tick else { continue };
        loop {
            let more = in_transaction(state, tick, &settings);
            log_failure(feature.name, &more);
            if !more.unwrap_or(false) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn in_transaction(
    state: &Rc<State>,
    body: impl FnOnce(&mut Cx<'_>) -> Result<bool, FeatureError>,
    settings: &substrate_core::Settings,
) -> Result<bool, FeatureError> {
    let mut writer = state.writer.borrow_mut();
    let mut tx = writer.begin(Durability::Normal)?;
    let mut cx = Cx { world: &state.machine, ..Cx::new(clock::now(), &mut tx, settings) };
    let more = body(&mut cx)?;
    let effects = cx.effects;
    tx.commit()?;
    drop(writer);
    let (keys, _nobody_waits) = carry::carry_out(state, effects, None);
    waiting::wake(state, keys);
    Ok(more)
}

fn log_failure(feature: &str, result: &Result<bool, FeatureError>) {
    if let Err(error) = result {
        tracing::error!(feature, %error, "housekeeping failed");
    }
}

/// A thread that copies the log into the database when asked, so that no commit pays for it.
pub(super) fn checkpointer(mut writer: Writer) -> SyncSender<()> {
    let (ask, asked): (SyncSender<()>, Receiver<()>) = sync_channel(1);
    std::thread::spawn(move || {
        while asked.recv().is_ok() {
            if let Err(error) = writer.checkpoint() {
                tracing::warn!(%error, "checkpoint failed");
            }
        }
    });
    ask
}
