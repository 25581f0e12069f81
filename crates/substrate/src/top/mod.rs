//! `substrate top`: the fleet in a terminal, live, with the answers on the keys.
//!
//! Events go in, a frame comes out: `model` changes with keys and with what the daemon says, and `draw` turns it into cells.
//! Neither knows a terminal, a socket or a clock. `screen` owns the terminal, `feed` the connection, and `run` joins them.
//!
//! # What must stay true
//!
//! * The rows are what read verbs return as JSON. Nothing here asks the database.
//! * What others wrote can't move the cursor or forge a row: `rows` makes it visible first.
//! * An answer is about what the user saw. A row that took the place of another is not answered by a key that was meant for that
//!   one, and a call is allowed only once all of it was on the screen.
//! * Nothing is drawn, and nothing wakes, unless something changed.
//! * The terminal is as before in the end, whatever the reason for the end was.

mod area;
mod detail;
mod draw;
mod feed;
mod keys;
mod model;
mod rows;
mod run;
mod screen;
#[cfg(test)]
mod tests;
mod views;

pub(crate) use run::{Options, run};
