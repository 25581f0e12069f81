//! What the model is going to do: lists of turns per thread. Plain data.
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::record::Recorded;

/// The turns of the main thread, of single prompts and of subagents.
#[derive(Debug, Clone, Default)]
pub struct Script {
    pub(super) main: Vec<Turn>,
    pub(super) prompts: Vec<(String, Vec<Turn>)>,
    pub(super) subagents: Vec<(String, Vec<Turn>)>,
}

impl Script {
    /// The turns of the main thread, from the start of the conversation.
    pub fn new(main: impl IntoIterator<Item = Turn>) -> Self {
        Self { main: main.into_iter().collect(), ..Self::default() }
    }

    /// The turns of the main thread from this very prompt on.
    #[must_use]
    pub fn on_prompt(mut self, prompt: &str, turns: impl IntoIterator<Item = Turn>) -> Self {
        self.prompts.push((prompt.to_owned(), turns.into_iter().collect()));
        self
    }

    /// The turns of every subagent that is started with this very prompt.
    #[must_use]
    pub fn subagent(mut self, prompt: &str, turns: impl IntoIterator<Item = Turn>) -> Self {
        self.subagents.push((prompt.to_owned(), turns.into_iter().collect()));
        self
    }
}

/// One reply of the model.
#[derive(Debug, Clone)]
pub struct Turn {
    pub(super) say: Say,
    pub(super) usage: Usage,
    pub(super) after: Duration,
}

impl Turn {
    /// Says something and ends its turn.
    pub fn text(text: impl Into<String>) -> Self {
        Self::saying(Say::Blocks(vec![Block::Text(text.into())]))
    }

    /// Calls one tool.
    pub fn tool(name: &str, input: Value) -> Self {
        Self::tools([(name, input)])
    }

    /// Calls several tools in one message. The client may run them in parallel.
    pub fn tools<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let call = |(name, input): (&str, Value)| Block::Tool { name: name.to_owned(), input };
        Self::saying(Say::Blocks(calls.into_iter().map(call).collect()))
    }

    /// Starts a subagent with `prompt` and, in print mode, waits for it. An interactive client
    /// runs it in the background whatever we ask.
    pub fn agent(prompt: &str) -> Self {
        let input = serde_json::json!({
            "description": "scripted",
            "prompt": prompt,
            "subagent_type": "general-purpose",
            "run_in_background": false,
        });
        Self::tool("Agent", input)
    }

    /// Decides from the request: for example, to use an id that a hook has just injected.
    pub fn from_request(decide: impl Fn(&Recorded) -> Self + Send + Sync + 'static) -> Self {
        Self::saying(Say::Later(Later(Arc::new(decide))))
    }

    /// Claims this usage; a large one provokes auto-compaction.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Answers only after `wait`, to keep a turn open while something else happens.
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
        self.after = wait;
        self
    }

    fn saying(say: Say) -> Self {
        Self { say, usage: Usage::default(), after: Duration::ZERO }
    }
}

/// The tokens that a reply claims to have cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    pub input_tokens: u64,
    pub cache_creation_input_tokens: u64,
    pub cache_read_input_tokens: u64,
    pub output_tokens: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self {
            input_tokens: 5,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 0,
            output_tokens: 5,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) enum Say {
    Blocks(Vec<Block>),
    Later(Later),
}

#[derive(Debug, Clone)]
pub(super) enum Block {
    Text(String),
    Tool { name: String, input: Value },
}

#[derive(Clone)]
pub(super) struct Later(pub(super) Arc<dyn Fn(&Recorded) -> Turn + Send + Sync>);

impl std::fmt::Debug for Later {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Later")
    }
}
