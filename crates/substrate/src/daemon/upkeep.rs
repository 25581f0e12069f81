//! Background work: checking the socket, looking for a newer program, and the features' housekeeping.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use substrate_core::{Cx, Facts, Feature, FeatureError, Need, Settings, engine};
use substrate_store::{Database, Durability};

use super::state::{EndReason, State};
use super::{carry, lock, surround, take_over, waiting};
use crate::clock;
use crate::error::AppError;

/// How often the surroundings are checked: a few `stat` calls.
const LOOK: Duration = Duration::from_secs(2);

/// Housekeeping runs every this many checks.
const HOUSEKEEPING: u32 = 30;

/// Maintains the daemon until it ends.
pub(super) async fn keep_up(state: Rc<State>, follows_program: bool) {
    // The file that really runs: another may have taken its path before we got here.
    let program_at_start = running_program().or_else(|| lock::identity(&state.program));
    let mut tried = program_at_start;
    let mut n_looks: u32 = 0;
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {
                n_looks += 1;
                soon(&state).await;
                if n_looks.is_multiple_of(HOUSEKEEPING) {
                    housekeeping(&state).await;
                    back_up(&state);
                }
            }
            () = state.look_for_socket.notified() => {}
        }
        if state.is_displaced(&state.storage.borrow()) {
            return state.end(EndReason::Displaced);
        }
        state.find_socket();
        {
            let mut storage = state.storage.borrow_mut();
            storage.look_at_disk();
            if let Some(Err(error)) = storage.disk().map(substrate_store::Writer::when_idle) {
                tracing::warn!(%error, "could not truncate the write-ahead log");
            }
        }
        let program = lock::identity(&state.program).filter(|_| follows_program);
        if program.is_some() && program != program_at_start && program != tried {
            tried = program;
            tracing::info!(program = %state.program.display(), "a newer program is installed");
            if take_over::hand_over(&state, &state.program.clone()).await {
                return;
            }
        }
    }
}

/// The file that this process was started from, if the system tells.
fn running_program() -> Option<(u64, u64)> {
    std::fs::metadata("/proc/self/exe").ok().map(|found| (found.dev(), found.ino()))
}

/// The daily copy of the database, on a thread of its own. `substrate db restore` restores it.
fn back_up(state: &State) {
    if state.storage.borrow().is_in_memory() {
        return;
    }
    let (database, backups) = (state.home.database(), state.home.backups());
    drop(tokio::task::spawn_blocking(move || {
        match Database::at(&database).back_up_daily(&backups, clock::now()) {
            Ok(Some(copy)) => tracing::info!(copy = %copy.display(), "database copied"),
            Ok(None) => {}
            Err(error) => {
                let error = AppError::from(error).render();
                tracing::error!(%error, "the daily copy of the database failed");
            }
        }
    }));
}

/// Each feature in its own transaction, in small steps, so that hooks get their turn in between.
async fn housekeeping(state: &Rc<State>) {
    let ((settings, _), _) = surround::around(state, Path::new("/"), "").await;
    let engine_tick = |cx: &mut Cx<'_>| Ok(engine::tick(cx.db, cx.now).map(|()| false)?);
    let engine_done = in_transaction(state, engine_tick, &settings, &Facts::default());
    log_failure("engine", &engine_done);
    for feature in substrate_features::ALL {
        tick(state, feature, &settings).await;
    }
}

/// The housekeeping of features that asked for it (`Effect::Soon`).
async fn soon(state: &Rc<State>) {
    let wanted = state.soon.take();
    if wanted.is_empty() {
        return;
    }
    let ((settings, _), _) = surround::around(state, Path::new("/"), "").await;
    for feature in substrate_features::ALL.iter().filter(|feature| wanted.contains(feature.name)) {
        tick(state, feature, &settings).await;
    }
}

/// One feature's housekeeping, until nothing is left to do.
async fn tick(state: &Rc<State>, feature: &Feature, settings: &Settings) {
    let Some(tick) = feature.tick else { return };
    loop {
        let mut facts = Facts::default();
        let mut more = in_transaction(state, tick, settings, &facts);
        if let Ok(Ticked::Looks(needs)) = more {
            let found = surround::found(state, Path::new("/"), "", needs.clone()).await;
            facts.extend(found);
            facts.close(needs);
            more = in_transaction(state, tick, settings, &facts);
        }
        log_failure(feature.name, &more);
        if !matches!(more, Ok(Ticked::Done { more: true })) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// What came of a step.
enum Ticked {
    Done {
        more: bool,
    },
    /// It was rolled back, because it must know these first.
    Looks(Vec<Need>),
}

fn in_transaction(
    state: &Rc<State>,
    body: impl FnOnce(&mut Cx<'_>) -> Result<bool, FeatureError>,
    settings: &Settings,
    facts: &Facts,
) -> Result<Ticked, FeatureError> {
    let mut storage = state.storage.borrow_mut();
    // Housekeeping need not wait for the disk.
    let Some(writer) = storage.disk() else { return Ok(Ticked::Done { more: false }) };
    let mut tx = writer.begin(Durability::Normal)?;
    let mut cx = Cx { world: &state.machine, facts, ..Cx::new(clock::now(), &mut tx, settings) };
    let more = body(&mut cx)?;
    let missing = cx.missing.take();
    if !missing.is_empty() {
        return Ok(Ticked::Looks(missing));
    }
    let effects = cx.effects;
    tx.commit()?;
    drop(storage);
    let (keys, _unawaited) = carry::carry_out(state, effects, None);
    waiting::wake(state, keys);
    Ok(Ticked::Done { more })
}

fn log_failure(feature: &str, result: &Result<Ticked, FeatureError>) {
    if let Err(error) = result {
        tracing::error!(feature, %error, "housekeeping failed");
    }
}
