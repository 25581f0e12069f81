//! A verb is defined once. One args struct gives the command's flags, the JSON body of the socket API, and what it
//! does.

use std::sync::Arc;

use clap::{ArgMatches, Args, Command, ValueEnum};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::db::DbError;
use crate::dialect::ClientStatus;
use crate::facts::{Facts, Need, Place};
use crate::feature::Cx;
use crate::ids::SafeId;
use crate::lineage::Lineage;
use crate::who::Standing;

/// A command that a feature offers.
#[derive(Debug)]
pub struct Verb {
    /// The words that are typed, e.g. `["journal", "list"]`.
    pub path: &'static [&'static str],
    pub about: &'static str,
    pub access: Access,
    pub audience: Audience,
    /// Whether the group's name alone means this verb: `substrate journal` is `substrate journal list`.
    pub default: bool,
    /// Plumbing that other programs call: left out of help and the reference.
    pub hidden: bool,
    /// Adds the verb's flags to a command.
    pub augment: fn(Command) -> Command,
    /// The parsed flags as the JSON body of the API.
    pub body: fn(&ArgMatches, &mut dyn Local) -> Result<Value, VerbError>,
    /// Whether a body asks for many requests, one per line of its input.
    pub streams: fn(&Value) -> Option<String>,
    pub run: fn(&mut Cx<'_>, &Caller, Value) -> Result<Output, VerbError>,
    /// What it prints in place of an error when the state can't be used.
    pub without_state: fn(&str) -> Option<Output>,
}

/// What a verb does to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only reads; runs beside the writer.
    Read,
    /// Writes. The change is on disk before the answer goes out.
    Write,
}

/// Who a command is for, declared once per command. Permission rules, refusals inside a session and the reference
/// follow from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// What an agent does for itself. The user may do it for an agent with `--agent` or `--session-id`.
    Agent,
    /// Only the user: refused inside a session.
    User,
    Both,
}

impl Audience {
    /// Whether agents may run it.
    pub const fn has_agents(self) -> bool {
        matches!(self, Self::Agent | Self::Both)
    }

    /// For the reference.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Agent => "For agents; the user may run it for one of them, with `--agent`",
            Self::User => "For the user only: refused inside a session",
            Self::Both => "For agents and the user",
        }
    }
}

/// Refuses the user's own commands to a caller inside a session.
pub fn admit(path: &[&str], audience: Audience, standing: &Standing) -> Result<(), VerbError> {
    let inside = match standing {
        _ if audience != Audience::User => return Ok(()),
        Standing::User => return Ok(()),
        Standing::Below(Some(name)) => format!("{name}'s session"),
        Standing::Says | Standing::Below(None) => "a session".to_owned(),
    };
    let command = path.join(" ");
    Err(VerbError::user(
        format!(
            "`substrate {command}` is only for the user, and this command runs inside {inside}"
        ),
        format!(
            "ask the user to run `substrate {command} …` in a terminal of their own, outside the client"
        ),
    ))
}

/// The args struct of a verb.
pub trait VerbArgs: Args + Serialize + DeserializeOwned {
    const PATH: &'static [&'static str];
    const ABOUT: &'static str;
    const ACCESS: Access;
    const FOR: Audience;
    const DEFAULT: bool = false;
    const HIDDEN: bool = false;

    /// Fills in what only the caller's own process can: files, standard input.
    fn complete(&mut self, _local: &mut dyn Local) -> Result<(), VerbError> {
        Ok(())
    }

    /// The file (`-`: standard input) of which each line is a request of its own, collected in the body's `lines`.
    fn streams(_body: &Value) -> Option<String> {
        None
    }

    fn run(self, cx: &mut Cx<'_>, caller: &Caller) -> Result<Output, VerbError>;

    /// What it prints when the state can't be used, given why. `None`: it fails. For output that is always on screen,
    /// where an error would show as nothing.
    fn without_state(_why: &str) -> Option<Output> {
        None
    }
}

impl Verb {
    /// The verb whose flags are `A`.
    pub const fn of<A: VerbArgs>() -> Self {
        Self {
            path: A::PATH,
            about: A::ABOUT,
            access: A::ACCESS,
            audience: A::FOR,
            default: A::DEFAULT,
            hidden: A::HIDDEN,
            augment: A::augment_args,
            body: |matches, local| {
                let mut args = A::from_arg_matches(matches)
                    .map_err(|error| VerbError::user(error.to_string(), ""))?;
                args.complete(local)?;
                serde_json::to_value(args)
                    .map_err(|error| VerbError::user(format!("the flags do not fit: {error}"), ""))
            },
            streams: A::streams,
            run: |cx, caller, body| {
                let args: A = serde_json::from_value(body).map_err(|error| {
                    VerbError::user(format!("the body does not fit: {error}"), "")
                })?;
                args.run(cx, caller)
            },
            without_state: A::without_state,
        }
    }
}

/// What only the caller's own process has.
pub trait Local {
    /// The text of a file; `-` is standard input.
    fn read(&mut self, path: &str) -> Result<String, VerbError>;

    /// Which file a path means, seen from where the caller is.
    fn place(&mut self, path: &str) -> Place;

    /// The folders of the caller's project, nearest first: where it is, and the project of all its working trees.
    fn project_dirs(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Looks up what a feature would be told at an event.
    fn look_up(&mut self, _needs: Vec<Need>) -> Facts {
        Facts::default()
    }

    /// What a client says to its status line, if a client that we know says it so.
    fn client_status(&mut self, _text: &str) -> Option<ClientStatus> {
        None
    }

    /// What a client's settings need to show our status line.
    fn status_line(&mut self) -> Option<String> {
        None
    }

    /// Where the user keeps skills, if that is known.
    fn skills_folder(&mut self) -> Option<String> {
        None
    }

    /// The rows and columns of the terminal that is printed to, if there is one.
    fn screen(&self) -> Option<(u16, u16)> {
        None
    }

    /// Whether a person sees what is printed, in a terminal.
    fn is_terminal(&self) -> bool {
        false
    }
}

/// Who calls a verb, and from where.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Caller {
    pub session: Option<String>,
    pub agent: Option<String>,
    pub project_dir: Option<String>,
    pub cwd: String,
    /// How far the caller's clock is ahead of UTC, for times that people read.
    pub tz_offset_s: i32,
    /// `agent` was typed. Otherwise it may be inherited from where the client was started.
    #[serde(default)]
    pub agent_typed: bool,
    /// Its variables say that it runs inside a client, so it is not the user.
    pub inside_client: bool,
    /// Which project it is, as `Event::project`.
    #[serde(default)]
    pub project: String,
    /// Set where it comes through a tool server, which all actors of a client share: the client's id of the tool call,
    /// empty if it gave none. Only that id says who calls.
    #[serde(default)]
    pub tool_call: Option<String>,
    /// The caller's id for this request: the same when it is repeated.
    #[serde(default)]
    pub request: String,
    /// The processes above it, as the host saw them, never as the caller claims. `None` if the system does not tell;
    /// variables must do then.
    #[serde(skip)]
    pub lineage: Option<Arc<Lineage>>,
}

impl Caller {
    pub fn session_id(&self) -> Option<SafeId> {
        SafeId::new(self.session.as_deref()?)
    }
}

/// How a verb prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
    /// For a model, as injected text.
    Context,
    /// A client's own hook output.
    Hook,
}

/// What a verb prints, in every form that can be asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Output {
    pub text: String,
    pub json: Value,
    /// The same as a client's own hook output; `None` where a verb has no such form, `Null` where it has nothing to say.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "said")]
    pub hook: Option<Value>,
    /// Ask again with this body after a pause. Verbs that follow something set it.
    pub follow: Option<Value>,
    /// Run with this body once the caller has printed the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// Not done yet: wait for something, and ask again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<WaitFor>,
}

/// A value that is there, even if it is `null`.
fn said<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// What a verb waits for. The host parks the caller meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitFor {
    pub key: String,
    /// Only the newest waiter with this name waits for a key. Waiters with other names wait beside it.
    #[serde(default)]
    pub by: String,
    pub until_ms: i64,
    /// The body to ask again with.
    pub body: Value,
}

impl Output {
    pub fn new(text: String, json: Value) -> Self {
        Self { text, json, ..Self::default() }
    }
}

/// Why a verb did nothing.
#[derive(Debug, Error)]
pub enum VerbError {
    /// The caller can fix it.
    #[error("{message}")]
    User { message: String, hint: String },
    /// It would lose something, so it asks. Asked again with `body`, it goes ahead.
    #[error("{message}")]
    Unsure { message: String, question: String, hint: String, body: Value },
    #[error(transparent)]
    Db(#[from] DbError),
}

impl VerbError {
    pub fn user(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::User { message: message.into(), hint: hint.into() }
    }
}
