//! What features contribute to the views of all of them: the story of an agent, search, and health. Each feature tells what
//! it knows, so that no view reaches into the tables of another feature.

use serde::{Deserialize, Serialize};

use crate::feature::{Cx, FeatureError};
use crate::time::Timestamp;

/// The moments of an agent that a feature knows of. Only reads.
pub type Story = fn(&mut Cx<'_>, &StoryOf) -> Result<Vec<Moment>, FeatureError>;

/// Whose moments are asked for, and of which time.
#[derive(Clone, Debug)]
pub struct StoryOf {
    pub agent: i64,
    pub name: String,
    /// Its sessions, latest first.
    pub sessions: Vec<String>,
    pub from: Timestamp,
    pub until: Timestamp,
    /// The most moments of one feature: the latest ones.
    pub limit: i64,
}

impl StoryOf {
    /// Whether something that lasts from then till then touches the asked time.
    pub fn covers(&self, at_ms: i64, until_ms: i64) -> bool {
        at_ms <= self.until.0 && until_ms >= self.from.0
    }
}

/// Something that happened to an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    pub at_ms: i64,
    /// When it ended, if it lasted and has ended.
    pub until_ms: Option<i64>,
    pub kind: MomentKind,
    /// Who acted: `main`, or the key of a subagent. Empty: the agent as a whole.
    pub actor: String,
    /// The other side of a message, as mail is addressed.
    pub other: String,
    pub title: String,
    /// What was said, in full or as far as it was kept.
    pub text: String,
    /// Its entry of the journal.
    pub entry: Option<i64>,
    /// The page with more about it.
    pub link: Option<String>,
}

/// What kind of moment it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MomentKind {
    #[default]
    Began,
    Ended,
    Prompt,
    Turn,
    Refusal,
    Error,
    Notice,
    Subagent,
    /// A context window, from its beginning to its end.
    Window,
    Compaction,
    Effort,
    /// What one window left for the next.
    Handover,
    Scratchpad,
    /// A message that the agent wrote. The other side got it.
    Sent,
    /// A message that the agent got. The other side wrote it.
    Got,
    /// It waited for a file.
    Wait,
    Work,
}

impl MomentKind {
    /// As people read it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Began => "began",
            Self::Ended => "ended",
            Self::Prompt => "prompt",
            Self::Turn => "turn",
            Self::Refusal => "refusal",
            Self::Error => "error",
            Self::Notice => "notice",
            Self::Subagent => "subagent",
            Self::Window => "window",
            Self::Compaction => "compaction",
            Self::Effort => "effort",
            Self::Handover => "handover",
            Self::Scratchpad => "scratchpad",
            Self::Sent => "sent",
            Self::Got => "got",
            Self::Wait => "wait",
            Self::Work => "work",
        }
    }
}

/// What a feature finds for words. Only reads.
pub type Find = fn(&mut Cx<'_>, &Wanted) -> Result<Vec<Hit>, FeatureError>;

/// What is searched for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// As they were typed: all of them must be there, whatever the case. `word*` is the beginning of one.
    pub words: String,
    /// The most hits of one feature: the latest ones.
    pub limit: i64,
}

impl Wanted {
    /// Whether a text has all the words. For tables that are small enough to be read.
    pub fn is_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        let mut words = self.words.split_whitespace().peekable();
        words.peek().is_some()
            && words.all(|word| text.contains(word.trim_end_matches('*').to_lowercase().as_str()))
    }
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    pub at_ms: i64,
    pub kind: HitKind,
    /// Whose it is, as mail is addressed.
    pub who: String,
    /// A line of it, with the words.
    pub text: String,
    /// The page of its moment.
    pub link: String,
}

/// What kind of thing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HitKind {
    Prompt,
    Command,
    Refusal,
    Mail,
    Work,
}

impl HitKind {
    pub const ALL: [Self; 5] = [Self::Prompt, Self::Command, Self::Refusal, Self::Mail, Self::Work];

    /// As people read it, and as a query names it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Command => "command",
            Self::Refusal => "refusal",
            Self::Mail => "mail",
            Self::Work => "work",
        }
    }
}

/// What is open or wrong in a feature's own tables. Only reads.
pub type Checks = fn(&mut Cx<'_>) -> Result<Vec<Check>, FeatureError>;

/// One line about health.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub kind: CheckKind,
    /// What is counted or who waits: a few words.
    pub what: String,
    /// What that means, or what is waited for.
    pub detail: String,
    pub since_ms: Option<i64>,
    /// The page that shows it.
    pub link: Option<String>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    Fine,
    Attention,
    Error,
    /// An actor that waits for something. That is neither good nor bad.
    Waits,
}
