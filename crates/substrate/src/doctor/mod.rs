//! `substrate doctor`: what is wrong, how bad it is, and what to do about it.
//!
//! It gathers facts first, without changing anything, and judges them afterwards with pure functions. Each area has a
//! file with both. The doctor reports whatever is broken. It never fails itself, and never ends a process.

mod access;
mod client;
mod daemon;
mod database;
mod facts;
mod finding;
mod hooks;
mod mend;
mod notify;
mod others;
mod plugin;
mod programs;
mod project;
mod registered;
mod remnants;
mod report;
mod sessions;
mod settings;
mod trace;
mod try_out;
mod whereabouts;

#[cfg(test)]
mod tests;

pub(crate) use facts::{Patient, gather, judge};
pub(crate) use mend::mend;
pub(crate) use report::Report;
pub(crate) use whereabouts::quoted;
