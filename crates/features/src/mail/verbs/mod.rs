//! The commands of mail, one file per group.

pub(super) mod look;
pub(super) mod mailbox;
pub(super) mod poll;
pub(super) mod send;
pub(super) mod topics;
