//! The commands: `substrate`, `substrate needs`, `substrate fleet …` and what the database knows for `substrate tmux …`.

pub(super) mod fleet;
pub(super) mod needs;
pub(super) mod overview;
pub(super) mod tmux;
