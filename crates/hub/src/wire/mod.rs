//! What travels between a machine and the hub: frames of JSON, each with its length in front.
//!
//! A frame that the other side does not know is `Unknown`, and a field that it does not know is ignored. So a version may
//! add frames and fields, and both sides of one minor version understand each other.

mod codec;
mod frames;
#[cfg(test)]
mod recorded;
mod text;
mod version;

pub use codec::{FrameError, FrameReader, MAX_FRAME, encode};
pub use frames::{
    AgentStatus, Answer, Ask, ClaimInfo, Code, Envelope, Fate, Hello, Item, Join, Kind, Limits,
    MachineInfo, RosterPart, State, Stored, ToHub, ToMachine, Welcome, WorkInfo,
};
pub use text::{Bytes, Label, MailId, Uid};
pub(crate) use text::{from_base64, to_base64};
pub use version::{OLDEST, VERSION, agree};
