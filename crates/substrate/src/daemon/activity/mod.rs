//! What clients show beside their events. A client sends none when a person presses Esc or refuses what it asks for; it
//! shows that in a file of its own, which a thread per folder watches. What has lasted becomes an event, if it is news,
//! and goes through the one writer like any other.
//!
//! Nothing here is on the way of a hook but one comparison: whether the folder of its client is watched already.

mod notify;
mod settle;
mod tell;
mod transcripts;
mod watch;

pub(super) use tell::{Activities, tell_all};
