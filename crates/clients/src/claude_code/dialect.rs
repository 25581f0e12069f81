//! What features may know about the client beside its events.

use substrate_core::Dialect;
use substrate_core::dialect::{Limit, ShellWrapper};

use super::{NAME, prices, todos, tools, transcript, usage};

pub(super) const DIALECT: Dialect = Dialect {
    client: NAME,
    settings_files: SETTINGS_FILES,
    // The seeds' name for it. The client's own is another, and is not in every shell.
    session_variable: Some("CLAUDE_SESSION_ID"),
    own_directions: &["CLAUDE.md"],
    question_tool: Some(tools::QUESTION),
    // `… && eval '<command>' < /dev/null && pwd -P >| <file>`
    shell_wrapper: Some(ShellWrapper { before: "&&eval", after: "&&pwd-P>|" }),
    limit_kinds: LIMIT_KINDS,
    limit_words: LIMIT_WORDS,
    todo_file: todos::in_file,
    tools: tools::ALL,
    call: tools::recorded,
    latest_answer: transcript::latest,
    usage: usage::of_line,
    prices: prices::PRICES,
    usage_mark: "\"usage\"",
    tells_before_calls: true,
    resume: |session| format!("claude --resume {session}"),
};

/// Where the client's settings, and the scripts that they name as hooks, are.
const SETTINGS_FILES: &[&str] = &[
    "$CONFIG/settings.json",
    "$CONFIG/settings.local.json",
    "$CONFIG/hooks/",
    "$PROJECT/.claude/settings.json",
    "$PROJECT/.claude/settings.local.json",
    "$PROJECT/.claude/hooks/",
    "~/.claude/settings.json",
    "~/.claude/settings.local.json",
    "~/.claude/hooks/",
    "/etc/claude-code/",
];

/// The kinds of failures that it names, where they are limits.
const LIMIT_KINDS: &[(&str, Limit)] = &[
    ("rate_limit", Limit::Rate),
    ("rate_limit_error", Limit::Rate),
    ("usage_limit", Limit::Rate),
    ("prompt_too_long", Limit::Context),
    ("context_window_exceeded", Limit::Context),
];

/// How its own words about a limit begin, in lower case; `API Error: ` may stand before them.
const LIMIT_WORDS: &[(&str, Limit)] = &[
    ("you've hit your", Limit::Rate),
    ("you’ve hit your", Limit::Rate),
    ("you're out of usage", Limit::Rate),
    ("claude ai usage limit reached", Limit::Rate),
    ("usage limit reached", Limit::Rate),
    ("rate limit", Limit::Rate),
    ("429", Limit::Rate),
    ("prompt is too long", Limit::Context),
    ("context limit reached", Limit::Context),
    ("conversation too long", Limit::Context),
    ("the model has reached its context window limit", Limit::Context),
];
