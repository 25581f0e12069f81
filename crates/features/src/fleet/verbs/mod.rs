//! The commands: `substrate fleet …` and what the database knows for `substrate tmux …`.

pub(super) mod fleet;
pub(super) mod tmux;
