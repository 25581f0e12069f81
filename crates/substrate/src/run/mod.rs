//! `substrate run`: a client under supervision.
//!
//! The supervisor stands between the shell and the client as a shell would: the client has the very terminal, in a process
//! group of its own. It ends nobody but its own child's group, and only while that child is not yet waited for, so that
//! the number can't have been given to anybody else.

mod channel;
mod child;
mod policy;
mod supervisor;
mod terminal;
mod words;

pub(crate) use channel::{Asks, noted};
pub(crate) use supervisor::{Orders, supervise};
pub(crate) use terminal::hand_back;
