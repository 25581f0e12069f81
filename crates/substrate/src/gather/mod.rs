//! Looks up the facts that features need, before any transaction is open.

mod cache;
mod changed;
mod daily;
mod directives;
mod files;
mod git;
pub(crate) mod ignored;
mod look_up;
mod places;
mod room;
mod skill_folder;
mod skills;
mod tree;

pub(crate) use cache::PathCache;
pub(crate) use files::{beginning, open, part};
pub(crate) use look_up::{gather, gather_step_by_step};
pub(crate) use places::place;
