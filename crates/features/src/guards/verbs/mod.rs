//! The commands: `substrate guard …`.

pub(super) mod inspect;
pub(super) mod trial;
