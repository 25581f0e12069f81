//! The daemon: one per state home, started on demand, idle without CPU.
//!
//! One thread, one event loop, one writer: events that are ready at the same moment are committed together. Slow work
//! (verbs that read, gathering facts, copying the log) runs on other threads.

mod activity;
mod carry;
mod conn;
mod control;
mod dashboard;
mod group;
mod hangs;
mod holder;
mod large;
mod lock;
mod log;
mod notices;
mod notify;
mod options;
mod parked;
mod reach;
mod run;
mod start;
mod state;
mod storage;
mod stream;
mod surround;
mod take_over;
mod team;
mod threads;
mod twins;
mod upkeep;
mod waiters;
mod waiting;

pub(crate) use conn::{Call, STILL_THERE, find};
pub(crate) use control::{Ask, Status};
pub(crate) use dashboard::UiAsk;
pub(crate) use holder::Process;
pub(crate) use lock::{Lock, holder};
pub(crate) use reach::{Answer, Reach};
pub(crate) use run::{RunOptions, run, run_detached};
pub(crate) use start::{Stay, detached_options, is_held, start, this_program};
