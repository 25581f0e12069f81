//! The options of our plugin: looked up when a session starts, before its settings are.

use std::rc::Rc;
use std::time::Duration;

use substrate_core::EventKind;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::state::State;
use crate::config::Env;
use crate::hooks::options;
use crate::host::{self, Decoded};

/// The client's settings are in the user's home. A home that hangs costs a session this once, and its options.
const PATIENCE: Duration = Duration::from_secs(3);

/// Follows the client's settings if the plugin reports a session, or if options are in force whose plugin may be gone.
pub(super) async fn follow(state: &Rc<State>, decoded: &Decoded) {
    if decoded.event.kind != EventKind::SessionStart {
        return;
    }
    let is_reported = decoded.scope().is_some_and(|scope| scope.origin == host::PLUGIN);
    if !is_reported && !state.settings.borrow().has_plugin_options() {
        return;
    }
    let home = state.home.clone();
    let looked =
        spawn_blocking(move || options::follow(&Env::of_this_process(), &home, is_reported));
    match timeout(PATIENCE, looked).await {
        Ok(Ok(Ok(true))) => state.settings.borrow_mut().distrust(),
        Ok(Ok(Ok(false))) => {}
        Ok(Ok(Err(error))) => tracing::warn!(%error, "the plugin's options could not be kept"),
        Ok(Err(_)) | Err(_) => tracing::warn!("the plugin's options could not be read in time"),
    }
}
