//! The fields of an event under which features keep state.

use super::key;
use crate::event::{Actor, Detail, Event};
use crate::tool::ToolCall;

impl Event {
    /// Names, ids and paths are stored as keys by many features, so a secret in one of them is hidden once, here. The
    /// texts of the event stay as they are: guards judge them, and a feature that stores one redacts it first.
    pub fn hide_keys(&mut self) {
        hide(&mut self.name);
        hide(&mut self.cwd);
        let optional = [
            &mut self.project_dir,
            &mut self.prompt_id,
            &mut self.permission_mode,
            &mut self.tasks_dir,
        ];
        optional.into_iter().flatten().for_each(hide);
        match &mut self.actor {
            Actor::Main { kind } => kind.iter_mut().for_each(hide),
            Actor::Subagent { kind, .. } => hide(kind),
        }
        match &mut self.detail {
            Detail::ToolBefore { call }
            | Detail::ToolAfter { call, .. }
            | Detail::ToolFailed { call, .. } => hide_call(call),
            Detail::Because { word } => hide(word),
            Detail::SessionStart { model, .. } => model.iter_mut().for_each(hide),
            Detail::Notification { kind, .. } => hide(kind),
            Detail::Task { id, teammate, .. } => {
                hide(id);
                teammate.iter_mut().for_each(hide);
            }
            Detail::Teammate { name, team } => {
                hide(name);
                team.iter_mut().for_each(hide);
            }
            Detail::ModelSwitch { from, to } => from.iter_mut().chain(to).for_each(hide),
            Detail::Path { path, word } => {
                hide(path);
                word.iter_mut().for_each(hide);
            }
            Detail::Plain
            | Detail::Prompt { .. }
            | Detail::Expansion { .. }
            | Detail::ToolBatch { .. }
            | Detail::Stop { .. }
            | Detail::StopFailure { .. }
            | Detail::Waiter { .. }
            | Detail::Activity { .. }
            | Detail::Malformed { .. } => {}
        }
    }
}

fn hide_call(call: &mut ToolCall) {
    hide(&mut call.name);
    call.use_id.iter_mut().for_each(hide);
    call.files.iter_mut().for_each(hide);
}

fn hide(text: &mut String) {
    if let std::borrow::Cow::Owned(hidden) = key(text) {
        *text = hidden;
    }
}
