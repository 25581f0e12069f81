//! The thread of the link. It has sockets and no database: what it hears goes to the daemon's loop, and what it says comes
//! from there.

use substrate_hub::dial::{Wish, drive};
use substrate_hub::link::{Credentials, Link, Output};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::Membership;
use crate::proc;

/// Both ends that the daemon's loop has.
pub(crate) struct Channels {
    /// What the link should do. The thread ends when this is dropped.
    pub(crate) wishes: UnboundedSender<Wish>,
    pub(crate) events: UnboundedReceiver<Output>,
}

/// Starts the thread.
pub(crate) fn start(
    membership: &Membership,
    credentials: Credentials,
) -> std::io::Result<Channels> {
    let seed = u64::from_le_bytes(proc::random_id()[..8].try_into().unwrap_or_default());
    let (wishes, wanted) = unbounded_channel();
    let (told, events) = unbounded_channel();
    let target = membership.target();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("team-link".to_owned()).spawn(move || {
        runtime.block_on(drive(target, move |now| Link::new(credentials, seed, now), wanted, told));
    })?;
    Ok(Channels { wishes, events })
}
