//! Paths that the seeds prescribe, below a project's root. They are the seeds' spelling for every client, and mean no client.

/// What agents write down about their work: `TYPE/YYYY-MM-DD.md`.
pub const SCRATCHPADS: &str = ".claude/scratchpad";

/// A project's own words for its reminders.
pub const REMINDERS: &str = ".claude/reminders";

/// Files that show leases to people and other tools.
pub const COORDINATION: &str = ".claude/coordination";

/// A project's skills, one folder each, and its commands.
pub const SKILLS: &str = ".claude/skills";
pub const COMMANDS: &str = ".claude/commands";

/// Types of agents that clients have built in. They write no scratchpad, and are not reminded of anything: the default of
/// two settings, as TOML.
pub const BUILT_IN_AGENTS: &str = r#"["Explore", "Plan", "claude-code-guide", "statusline-setup"]"#;
