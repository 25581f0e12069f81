//! Conditions in CEL: what they see of an event, the functions they call, and what they may cost.

pub(super) mod budget;
pub(super) mod condition;
pub(super) mod functions;
mod programs;
pub(super) mod scene;
pub(super) mod values;
