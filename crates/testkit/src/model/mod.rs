//! A scripted model on loopback that speaks enough of the Messages API for the real client, and of other APIs for others.
//!
//! **How the turn is picked.** The client retries, so requests are never counted. The turn is a
//! function of the conversation in the request alone: the number of assistant messages in it is
//! the number of turns that were played. Three things refine that:
//!
//! * A list given for a prompt ([`Script::on_prompt`], [`Script::subagent`]) starts at the last
//!   user message that is that prompt, and counts from there; so a second prompt, or one typed
//!   after `/clear`, has its own turns.
//! * A compaction replaces the older messages by our own scripted summary, which says how far the
//!   script was; the messages that the client keeps verbatim after it are counted on top. (It
//!   asks for the summary without the messages that it keeps, so nothing counts twice.)
//! * Stop blocks, reminders and task notifications are user messages and change nothing.
//!
//! A list that has ended answers "done". Invariant: no state but the script and the records.
mod pick;
mod protocols;
mod record;
mod reply;
mod script;
mod server;

pub use record::{Recorded, Recorder, Thread, ToolResult};
pub use script::{Script, Turn, Usage};
pub use server::ModelServer;
