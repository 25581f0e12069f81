//! Test environments for Substrate: real binaries in a sandbox, a scripted model, the real client.
//!
//! Invariant: nothing here reads or writes a file of the person who runs the tests. Every child
//! gets an empty environment plus the variables of its [`TestEnv`], whose folders all lie under
//! the system's temp folder; the model answers on loopback only.
//!
//! ```no_run
//! use serde_json::json;
//! use substrate_testkit::{Client, ModelServer, Script, TestEnv, Turn};
//!
//! let env = TestEnv::new();
//! let model = ModelServer::start(Script::new([
//!     Turn::tool("Bash", json!({"command": "echo hi", "description": "greet"})),
//!     Turn::text("greeted"),
//! ]));
//! let run = Client::new(&env, &model).print("say hi", &[]);
//! assert_eq!(run.result(), "greeted");
//! ```
mod acorn;
mod bins;
mod client;
pub mod contract;
mod env;
mod model;
mod postgres;
mod process;
mod wait;

pub use acorn::{ACORN, EVIDENCE as ACORN_EVIDENCE};
pub use bins::{CLIENT_VERSION, bin, claude};
pub use client::{Client, OTHERS, OtherClient, OtherKind, PrintRun, Tui};
pub use contract::{Evidence, Sample};
pub use env::{Payload, TestEnv, write_file};
pub use model::{ModelServer, Recorded, Recorder, Script, Thread, ToolResult, Turn, Usage};
pub use postgres::Postgres;
pub use process::{Run, Running};
pub use wait::{at_most, wait_until};
