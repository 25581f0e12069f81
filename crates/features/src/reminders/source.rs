//! The words of a reminder: from the team's files, else from the settings, else our own.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use substrate_core::text::{cut, one_line};
use substrate_core::{Facts, Need, Settings, seed};

use super::face;

/// The bytes of a text; a longer one is cut.
const MAX_TEXT: usize = 4_096;

/// The characters of one line, and of an agent type in a file name.
const MAX_LINE: usize = 1_000;
const MAX_TYPE: usize = 64;

/// The three reminders, in the order they come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Reminder {
    /// The main thread looks back on its turn
    Reflect,
    /// A subagent checks its work
    Validate,
    /// A subagent notes what went wrong
    Reflexion,
}

/// Who the words are for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Addressee<'a> {
    /// A subagent's type.
    pub(super) kind: Option<&'a str>,
    /// Only the last message is delivered.
    pub(super) last_counts: bool,
}

/// The words of a reminder and their origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReminderText {
    /// `None` if an empty file switches the reminder off.
    pub(super) text: Option<String>,
    pub(super) origin: Origin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    File(String),
    /// The settings file and line.
    Setting(String),
    Own,
}

impl Reminder {
    pub(super) const ALL: [Self; 3] = [Self::Reflect, Self::Validate, Self::Reflexion];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Reflect => "reflect",
            Self::Validate => "validate",
            Self::Reflexion => "reflexion",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reminder| reminder.name() == name)
    }

    pub(super) fn is_for_subagents(self) -> bool {
        self != Self::Reflect
    }

    const fn key(self) -> &'static str {
        match self {
            Self::Reflect => "reminders.reflect",
            Self::Validate => "reminders.validate",
            Self::Reflexion => "reminders.reflexion",
        }
    }

    const fn own(self) -> &'static str {
        match self {
            Self::Reflect => REFLECT,
            Self::Validate => VALIDATE,
            Self::Reflexion => REFLEXION,
        }
    }

    /// Its files as folder and path, the most important first: for the agent type, then for all types.
    fn files(self, dirs: &[String], kind: Option<&str>) -> Vec<(String, String)> {
        let kind = kind.filter(|_| self.is_for_subagents()).map(safe).filter(|k| !k.is_empty());
        let names = kind.map(|kind| format!("{}.{kind}.md", self.name()));
        let names = names.into_iter().chain([format!("{}.md", self.name())]);
        let below = |name: String| {
            let path = format!("{}/{name}", seed::REMINDERS);
            dirs.iter().map(move |dir| (dir.trim_end_matches('/').to_owned(), path.clone()))
        };
        names.flat_map(below).collect()
    }

    /// What must be looked up for it.
    pub(super) fn needs(self, dirs: &[String], kind: Option<&str>) -> Vec<Need> {
        let file = |(root, path)| Need::ProjectFile { root, path, max: MAX_TEXT };
        self.files(dirs, kind).into_iter().map(file).collect()
    }

    /// The words for that addressee.
    pub(super) fn find(
        self,
        dirs: &[String],
        to: Addressee<'_>,
        facts: &Facts,
        settings: &Settings,
    ) -> ReminderText {
        let of_file = self.files(dirs, to.kind).into_iter().find_map(|(root, path)| {
            let text = cleaned(facts.project_file(&root, &path, MAX_TEXT)?);
            Some((text, Origin::File(format!("{root}/{path}"))))
        });
        let (text, origin) = of_file.unwrap_or_else(|| match cleaned(settings.text(self.key())) {
            text if text.is_empty() => (self.own().to_owned(), Origin::Own),
            text => (text, Origin::Setting(settings_line(settings, self.key()))),
        });
        let ending = if self.is_for_subagents() || to.last_counts {
            format!("\n{}", face::ANSWER)
        } else {
            String::new()
        };
        ReminderText { text: (!text.is_empty()).then(|| text + &ending), origin }
    }
}

/// Whether a type of agent is never reminded, in any case of letters.
pub(super) fn is_exempt(kind: &str, settings: &Settings) -> bool {
    settings.texts("reminders.exempt").iter().any(|exempt| exempt.eq_ignore_ascii_case(kind))
}

fn settings_line(settings: &Settings, key: &str) -> String {
    settings.get(key).and_then(|found| found.origin.clone()).unwrap_or_else(|| key.to_owned())
}

/// An agent type in a file name: `plugin:reviewer` becomes `plugin-reviewer`. No slash, no leading dot.
fn safe(kind: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let safe: String =
        kind.chars().take(MAX_TYPE).map(|c| if plain(c) { c } else { '-' }).collect();
    safe.trim_start_matches('.').to_owned()
}

/// A team's text without characters that could hide or forge something on a terminal. Lines and indentation stay.
fn cleaned(text: &str) -> String {
    let is_cut = text.len() >= MAX_TEXT;
    let line = |line: &str| {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        format!("{}{}", " ".repeat(indent.min(8)), one_line(line, MAX_LINE))
    };
    let lines: Vec<String> = cut(text, MAX_TEXT).lines().map(line).collect();
    let text = lines.join("\n");
    let text = text.trim();
    if is_cut && !text.is_empty() { format!("{text}…") } else { text.to_owned() }
}

/// For the main thread, when its turn ends. Short, like the others: every agent that stops pays for it.
pub(super) const REFLECT: &str =
    "Before you stop, a short look back (a reminder; you decide what applies):
- every task is done, or what is left is written down
- artifacts are where they belong
- no uncommitted changes, or you said which and why
- next steps are written down
If you learned something worth keeping, invoke `/reflect`. If nothing is open, finish.";

/// For a subagent that wants to end.
pub(super) const VALIDATE: &str =
    "Before you finish, check your own work (a reminder; you decide what applies):
- the acceptance criteria are met
- artifacts follow their schema
- no assumption is left unverified
- tests pass, if there are any
- the output is where it belongs
Fix what falls short, or say what you could not fix.";

/// For a subagent that wants to end after that.
pub(super) const REFLEXION: &str =
    "One more question (a reminder; you decide): did you learn something that will matter again?
- an error that took debugging
- a wrong assumption that had to be corrected
- a missing dependency, or surprising behaviour
- a workaround for something undocumented
Invoke `/reflexion` only if it was significant; otherwise write nothing about it.";
