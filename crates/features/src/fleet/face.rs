//! What other features may ask here: everything that waits for the user.

pub(crate) use super::verbs::needs::all as needs;
