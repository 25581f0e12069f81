//! `substrate reminders`, `reminders show`

use std::fmt::Write as _;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use substrate_core::facts::Found as Fact;
use substrate_core::text::one_line;
use substrate_core::verb::VerbArgs;
use substrate_core::{
    Access, Audience, Caller, Cx, Facts, Local, Need, Output, Settings, VerbError,
};

use super::source::{Addressee, Origin, Reminder, ReminderText, is_exempt};

/// A team's files, as the caller's process found them.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(default)]
struct Files {
    dirs: Vec<String>,
    /// Folder, path, how much was read, and the text.
    found: Vec<(String, String, usize, String)>,
}

impl Files {
    fn look_up(reminders: &[Reminder], kind: Option<&str>, local: &mut dyn Local) -> Self {
        let dirs = local.project_dirs();
        let needs: Vec<Need> =
            reminders.iter().flat_map(|reminder| reminder.needs(&dirs, kind)).collect();
        let facts = local.look_up(needs.clone());
        let text = |need: Need| match need {
            Need::ProjectFile { root, path, max } => {
                let text = facts.project_file(&root, &path, max).map(str::to_owned);
                text.map(|text| (root, path, max, text))
            }
            _ => None,
        };
        Self { dirs, found: needs.into_iter().filter_map(text).collect() }
    }

    fn words(&self, reminder: Reminder, kind: Option<&str>, settings: &Settings) -> ReminderText {
        let mut facts = Facts::default();
        for (root, path, max, text) in &self.found {
            let need = Need::ProjectFile { root: root.clone(), path: path.clone(), max: *max };
            facts.insert(need, Fact::Text(text.clone()));
        }
        let to = Addressee { kind, last_counts: false };
        reminder.find(&self.dirs, to, &facts, settings)
    }
}

#[derive(Args, Serialize, Deserialize, Debug, Default)]
#[serde(default)]
pub(super) struct List {
    #[arg(skip)]
    files: Files,
}

impl VerbArgs for List {
    const PATH: &'static [&'static str] = &["reminders", "list"];
    const ABOUT: &'static str =
        "List the reminders, whether they are on, and where their words come from";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;
    const DEFAULT: bool = true;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.files = Files::look_up(&Reminder::ALL, None, local);
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let mut text = String::new();
        let mut list: Vec<Value> = Vec::new();
        for reminder in Reminder::ALL {
            let found = self.files.words(reminder, None, cx.settings);
            let off = why_off(reminder, &found, cx.settings);
            let state = off.map_or_else(|| "on".to_owned(), |why| format!("off ({why})"));
            let from = from(&found.origin);
            let _infallible =
                writeln!(text, "{:<10} {state}; the words are {from}", reminder.name());
            list.push(json!({
                "name": reminder.name(), "on": off.is_none(), "off_because": off, "from": from,
            }));
        }
        text.push_str("`substrate reminders show NAME` prints the words.\n");
        Ok(Output::new(text, json!({ "reminders": list })))
    }
}

#[derive(Args, Serialize, Deserialize, Debug)]
pub(super) struct Show {
    /// Which reminder
    #[arg(value_enum)]
    reminder: Reminder,
    /// Print the words for this type of subagent
    #[arg(long, value_name = "TYPE")]
    #[serde(default)]
    agent_type: Option<String>,
    #[arg(skip)]
    #[serde(default)]
    files: Files,
}

impl Show {
    fn kind(&self) -> Option<&str> {
        self.agent_type.as_deref().filter(|kind| !kind.is_empty())
    }
}

impl VerbArgs for Show {
    const PATH: &'static [&'static str] = &["reminders", "show"];
    const ABOUT: &'static str = "Print the words of a reminder; nothing if a file switches it off or the agent type is exempt";
    const ACCESS: Access = Access::Read;
    const FOR: Audience = Audience::Both;

    fn complete(&mut self, local: &mut dyn Local) -> Result<(), VerbError> {
        self.files = Files::look_up(&[self.reminder], self.kind(), local);
        Ok(())
    }

    fn run(self, cx: &mut Cx<'_>, _caller: &Caller) -> Result<Output, VerbError> {
        let found = self.files.words(self.reminder, self.kind(), cx.settings);
        let is_exempt = self.reminder.is_for_subagents()
            && self.kind().is_some_and(|kind| is_exempt(kind, cx.settings));
        let words = found.text.as_deref().filter(|_| !is_exempt);
        let text = words.map_or_else(String::new, |words| format!("{words}\n"));
        let json = json!({
            "name": self.reminder.name(), "text": words, "from": from(&found.origin),
        });
        Ok(Output::new(text, json))
    }
}

/// What keeps a reminder from being told, if anything does.
fn why_off(reminder: Reminder, found: &ReminderText, settings: &Settings) -> Option<&'static str> {
    if !settings.on("reminders.on") {
        Some("`reminders.on` is false")
    } else if reminder.is_for_subagents() && !settings.on("reminders.subagents") {
        Some("`reminders.subagents` is false")
    } else if !reminder.is_for_subagents() && settings.word("reminders.stop") == "off" {
        Some("`reminders.stop` is off")
    } else if found.text.is_none() {
        Some("its file is empty")
    } else {
        None
    }
}

fn from(origin: &Origin) -> String {
    match origin {
        Origin::File(path) => format!("in `{}`", one_line(path, 300)),
        Origin::Setting(place) => format!("in your settings ({})", one_line(place, 300)),
        Origin::Own => "Substrate's own".to_owned(),
    }
}
