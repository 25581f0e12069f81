//! What clients show beside their events. A client sends no event when a person presses Esc or declines a request. It
//! shows that in a session file of its own instead, so one thread per folder watches those files. A state that lasts
//! becomes an event if it is news, and goes through the one writer like any other.
//!
//! The only cost for a hook is one comparison: is its client's folder already watched?

mod notify;
mod settle;
mod tell;
mod transcripts;
mod watch;

pub(super) use tell::{Activities, tell_all};
