//! Which hooks in a settings file are our own. Nothing marks them: they are known by what they run.

use jsonc_parser::ast::{Object, ObjectProp, Value};

use crate::install::{Registered, SettingsError};

use super::super::NAME;
use super::document::{Document, is_blank, member, parse, split_bom, text_of};

/// The prompts that we register, by event: the words of the seeds.
pub(super) const PROMPTS: [(&str, &str); 2] = [
    (
        "Stop",
        "Analyze the conversation and determine if: 1. All user-requested tasks are complete 2. Any errors need to be addressed 3. Follow-up work is needed\n\nRespond with JSON: {\"ok\": true} to allow stopping, or {\"ok\": false, \"reason\": \"your explanation\"} to continue working.",
    ),
    (
        "SubagentStop",
        "Check if: - The subagent completed its assigned task - Any errors occurred that need fixing - Additional context gathering is needed\n\nReturn: {\"ok\": true} to allow stopping, or {\"ok\": false, \"reason\": \"explanation\"} to continue.",
    ),
];

const PROGRAM: &str = "substrate-hook";
const COMMAND_LINE: &str = "substrate-hook claude-code ";
const SCRIPTS: &str = "/hooks/substrate/";
/// How much of a prompt is shown, in characters.
const MAX_SHOWN: usize = 60;

pub(super) fn registered(text: &str) -> Result<Vec<Registered>, SettingsError> {
    let (_, body) = split_bom(text);
    if is_blank(body) {
        return Ok(Vec::new());
    }
    let document = parse(body).map_err(|problem| problem.refusal(body))?;
    Ok(found(&document, &PROMPTS)
        .iter()
        .filter(|found| found.counts)
        .map(|found| Registered { event: found.event.to_owned(), command: shown(found.hook) })
        .collect())
}

/// A hook of ours in a file.
#[derive(Debug)]
pub(super) struct Found<'v, 'a> {
    pub event: &'v str,
    pub hook: &'v Object<'a>,
    /// Not in the shadow of a later key of the same name.
    pub counts: bool,
    /// Its group matches whatever the event is about.
    pub is_unconditional: bool,
}

/// All of ours, in the file's order.
pub(super) fn found<'v, 'a>(
    document: &'v Document<'a>,
    prompts: &[(&str, &str)],
) -> Vec<Found<'v, 'a>> {
    let mut out = Vec::new();
    for hooks in props(&document.root, "hooks") {
        let Value::Object(events) = &hooks.value else { continue };
        let hooks_count = is_last(&document.root, hooks);
        for event in &events.properties {
            let Value::Array(groups) = &event.value else { continue };
            let name = event.name.as_str();
            for group in groups.elements.iter().filter_map(Value::as_object) {
                let hooks = hooks_of(group).iter().filter_map(Value::as_object);
                out.extend(hooks.filter(|hook| is_ours(name, hook, prompts)).map(|hook| Found {
                    event: name,
                    hook,
                    counts: hooks_count && is_last(events, event),
                    is_unconditional: is_unconditional(group),
                }));
            }
        }
    }
    out
}

/// The hooks of a group, if it has any.
pub(super) fn hooks_of<'v, 'a>(group: &'v Object<'a>) -> &'v [Value<'a>] {
    match member(group, "hooks").map(|hooks| &hooks.value) {
        Some(Value::Array(hooks)) => &hooks.elements,
        _ => &[],
    }
}

/// Every member of that name, also those that a later one hides.
pub(super) fn props<'v, 'a>(
    object: &'v Object<'a>,
    name: &str,
) -> impl Iterator<Item = &'v ObjectProp<'a>> {
    object.properties.iter().filter(move |prop| prop.name.as_str() == name)
}

pub(super) fn is_ours(event: &str, hook: &Object<'_>, prompts: &[(&str, &str)]) -> bool {
    if let Some(command) = text_of(hook, "command") {
        return match member(hook, "args").map(|args| &args.value) {
            Some(Value::Array(args)) => {
                let first = args.elements.first().and_then(Value::as_string_lit);
                is_program(command) && first.is_some_and(|first| first.value == NAME)
            }
            _ => is_command_line(command),
        };
    }
    text_of(hook, "prompt").is_some_and(|prompt| prompts.contains(&(event, prompt)))
}

fn is_program(command: &str) -> bool {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command);
    name.strip_suffix(".exe").unwrap_or(name) == PROGRAM
}

fn is_command_line(command: &str) -> bool {
    // `my-substrate-hook claude-code` is somebody else's.
    let runs_us = command.match_indices(COMMAND_LINE).any(|(at, _)| {
        !command[..at].ends_with(|c: char| c.is_alphanumeric() || "-_.".contains(c))
    });
    runs_us || is_script(command.trim_end().trim_end_matches(['"', '\'']))
}

fn is_script(command: &str) -> bool {
    command.strip_suffix(".sh").and_then(|command| command.rsplit_once(SCRIPTS)).is_some_and(
        |(_, name)| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_'),
    )
}

/// Whether a status line is nothing but ours: `substrate statusline`, by whatever path.
pub(super) fn is_our_status_line(status_line: &Value<'_>) -> bool {
    let Value::Object(status_line) = status_line else { return false };
    let command = text_of(status_line, "command").unwrap_or_default();
    let mut words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    let program = words.next().and_then(|word| word.rsplit('/').next());
    (program, words.next(), words.next()) == (Some("substrate"), Some("statusline"), None)
}

fn is_last(object: &Object<'_>, prop: &ObjectProp<'_>) -> bool {
    member(object, prop.name.as_str()).is_some_and(|last| std::ptr::eq(last, prop))
}

fn is_unconditional(group: &Object<'_>) -> bool {
    match member(group, "matcher").map(|matcher| &matcher.value) {
        None => true,
        Some(Value::StringLit(matcher)) => matches!(matcher.value.as_ref(), "" | "*"),
        Some(_) => false,
    }
}

fn shown(hook: &Object<'_>) -> String {
    text_of(hook, "command").map_or_else(
        || text_of(hook, "prompt").unwrap_or_default().chars().take(MAX_SHOWN).collect(),
        str::to_owned,
    )
}
