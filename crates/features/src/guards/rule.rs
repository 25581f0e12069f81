//! One rule as it is written, and what must hold before its condition is compiled.

use serde::Deserialize;
use substrate_core::text::one_line;
use substrate_core::{Actor, EventKind, ToolClass};

/// The most characters of a condition.
const MAX_WHEN: usize = 2_000;

/// The most characters of a rule's reason or next step.
const MAX_WORDS: usize = 600;
const MAX_NAME: usize = 64;

/// As it is written in TOML.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    pub(super) name: String,
    /// A condition in CEL.
    pub(super) when: String,
    pub(super) action: Action,
    pub(super) reason: String,
    /// What to do instead.
    #[serde(default)]
    pub(super) next: String,
    #[serde(default = "before_a_tool")]
    pub(super) event: String,
    /// The tool's own name, or its class: `shell`, `edit`, `read`, `agent`, `todo`, `skill`.
    #[serde(default)]
    pub(super) tool: String,
    /// Only lines that run one of these programs (`mkfs*` is a prefix). A filter that costs nothing.
    #[serde(default)]
    pub(super) programs: Vec<String>,
    /// Only events that have this. A filter that costs nothing.
    #[serde(default)]
    pub(super) needs: Option<Needs>,
    /// `main`, `subagent`, or a type of subagents.
    #[serde(default)]
    pub(super) actor: String,
    /// Only the first time in a session.
    #[serde(default)]
    pub(super) once: bool,
    /// Higher ones come first.
    #[serde(default)]
    pub(super) priority: i64,
    /// What happens when the condition can't be judged.
    #[serde(default)]
    pub(super) fails: Fails,
    /// What a denial becomes when the same call comes again soon.
    #[serde(default)]
    pub(super) again: Again,
    /// Commands that it must fire at.
    #[serde(default)]
    pub(super) matches: Vec<String>,
    /// Commands that it must not fire at.
    #[serde(default)]
    pub(super) passes: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Action {
    #[default]
    Deny,
    Ask,
    Warn,
    Inject,
}

/// What an event must have before a condition is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Needs {
    /// A line that sends output to a file.
    Writes,
    /// A line that defines a function.
    Functions,
    /// A line that was not read to its end.
    Unread,
    /// The name of one of our own files, or of the client's settings.
    Own,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Fails {
    #[default]
    Open,
    Closed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Again {
    #[default]
    Deny,
    Ask,
    Allow,
}

fn before_a_tool() -> String {
    EventKind::PreToolUse.name().to_owned()
}

impl Action {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Warn => "warn",
            Self::Inject => "inject",
        }
    }

    /// Whether the action says something and stops nothing.
    pub(super) const fn only_tells(self) -> bool {
        matches!(self, Self::Warn | Self::Inject)
    }

    /// Whether the action has an effect at an event.
    fn works_at(self, kind: EventKind) -> bool {
        use EventKind as K;
        let is_told = matches!(
            kind,
            K::PreToolUse
                | K::PostToolUse
                | K::PostToolUseFailure
                | K::UserPromptSubmit
                | K::SessionStart
                | K::SubagentStart
        );
        match self {
            Self::Deny => {
                matches!(kind, K::PreToolUse | K::UserPromptSubmit | K::Stop | K::SubagentStop)
            }
            Self::Ask => kind == K::PreToolUse,
            Self::Warn | Self::Inject => is_told,
        }
    }
}

/// Whether there can be a rule about that event at all.
pub(super) fn is_looked_at(kind: EventKind) -> bool {
    [Action::Deny, Action::Warn].iter().any(|action| action.works_at(kind))
}

impl Rule {
    /// A rule that looks at every command, to try lines that have no rule of their own.
    pub(super) fn default_for_shell() -> Self {
        Self { event: before_a_tool(), tool: "shell".to_owned(), ..Self::default() }
    }

    pub(super) fn kind(&self) -> EventKind {
        EventKind::named(&self.event)
    }

    /// What its text alone shows to be wrong.
    pub(super) fn problem(&self) -> Option<String> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let says = |what: &str| Some(what.to_owned());
        if self.name.is_empty() || self.name.len() > MAX_NAME || !self.name.chars().all(is_name) {
            return says("`name` must be 1 to 64 letters, digits, `-`, `_` or `.`");
        }
        if self.when.len() > MAX_WHEN {
            return Some(format!("`when` is longer than {MAX_WHEN} characters"));
        }
        if self.reason.trim().is_empty() {
            return says("`reason` is empty: say why");
        }
        if self.action == Action::Deny && self.next.trim().is_empty() {
            return says("`next` is missing: say what to do instead");
        }
        if self.kind() == EventKind::Unknown {
            return Some(format!("`event`: there is no event `{}`", one_line(&self.event, 40)));
        }
        if !self.action.works_at(self.kind()) {
            return Some(format!(
                "`action`: `{}` has no effect at {}",
                self.action.name(),
                self.kind().name()
            ));
        }
        if !self.tool.is_empty() && !self.event.contains("Tool") {
            return Some(format!("`tool`: {} is not about a tool", self.kind().name()));
        }
        None
    }

    pub(super) fn fits_actor(&self, actor: &Actor) -> bool {
        match (self.actor.as_str(), actor) {
            ("", _) | ("main", Actor::Main { .. }) | ("subagent", Actor::Subagent { .. }) => true,
            (kind, actor) => actor.kind() == Some(kind),
        }
    }

    /// Its words for a model. They come from outside, so each is one line.
    pub(super) fn words(&self) -> (String, String) {
        (one_line(&self.reason, MAX_WORDS), one_line(&self.next, MAX_WORDS))
    }
}

pub(super) fn class_name(class: ToolClass) -> &'static str {
    match class {
        ToolClass::Edit => "edit",
        ToolClass::Read => "read",
        ToolClass::Shell => "shell",
        ToolClass::Agent => "agent",
        ToolClass::Todo => "todo",
        ToolClass::Skill => "skill",
        ToolClass::Other => "other",
    }
}
