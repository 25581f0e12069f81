//! `substrate run`: a client under supervision.
//!
//! The supervisor stands between the shell and the client as a shell would: the client has the real terminal, in a
//! process group of its own. The supervisor signals only its own child's group, and only before the child is reaped, so
//! a signal never reaches a recycled pid.

mod channel;
mod child;
mod policy;
mod supervisor;
mod terminal;
mod words;

pub(crate) use channel::{Asks, noted};
pub(crate) use supervisor::{Orders, supervise};
pub(crate) use terminal::hand_back;
