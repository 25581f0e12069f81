//! Which hooks in a settings file are our own. Nothing marks them: they are known by what they run.

use jsonc_parser::ast::{Object, ObjectProp, Value};

use crate::install::{Registered, SettingsError};

use super::document::{Document, is_blank, member, parse, split_bom, text_of};

/// How a client's hooks of ours are known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ours<'p> {
    /// The client's name, as our program is told it.
    pub(crate) client: &'static str,
    /// The prompts that we register, by event.
    pub(crate) prompts: &'p [(&'p str, &'p str)],
    /// Hooks stand right below their event, without groups.
    pub(crate) is_flat: bool,
}

const PROGRAM: &str = "substrate-hook";
const SCRIPTS: &str = "/hooks/substrate/";
/// How much of a prompt is shown, in characters.
const MAX_SHOWN: usize = 60;

pub(crate) fn registered(text: &str, ours: &Ours<'_>) -> Result<Vec<Registered>, SettingsError> {
    let (_, body) = split_bom(text);
    if is_blank(body) {
        return Ok(Vec::new());
    }
    let document = parse(body).map_err(|problem| problem.refusal(body))?;
    Ok(found(&document, ours)
        .iter()
        .filter(|found| found.counts)
        .map(|found| Registered { event: found.event.to_owned(), command: shown(found.hook) })
        .collect())
}

/// A hook of ours in a file.
#[derive(Debug)]
pub(crate) struct Found<'v, 'a> {
    pub event: &'v str,
    pub hook: &'v Object<'a>,
    /// Not in the shadow of a later key of the same name.
    pub counts: bool,
    /// Its group matches whatever the event is about.
    pub is_unconditional: bool,
}

/// All of ours, in the file's order.
pub(crate) fn found<'v, 'a>(document: &'v Document<'a>, ours: &Ours<'_>) -> Vec<Found<'v, 'a>> {
    let mut out = Vec::new();
    for hooks in props(&document.root, "hooks") {
        let Value::Object(events) = &hooks.value else { continue };
        let hooks_count = is_last(&document.root, hooks);
        for event in &events.properties {
            let Value::Array(groups) = &event.value else { continue };
            let name = event.name.as_str();
            for group in groups.elements.iter().filter_map(Value::as_object) {
                let alone = ours.is_flat.then_some(group);
                let hooks = hooks_of(group).iter().filter_map(Value::as_object).chain(alone);
                out.extend(hooks.filter(|hook| ours.has(name, hook)).map(|hook| Found {
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
pub(crate) fn hooks_of<'v, 'a>(group: &'v Object<'a>) -> &'v [Value<'a>] {
    match member(group, "hooks").map(|hooks| &hooks.value) {
        Some(Value::Array(hooks)) => &hooks.elements,
        _ => &[],
    }
}

/// Every member of that name, also those that a later one hides.
pub(crate) fn props<'v, 'a>(
    object: &'v Object<'a>,
    name: &str,
) -> impl Iterator<Item = &'v ObjectProp<'a>> {
    object.properties.iter().filter(move |prop| prop.name.as_str() == name)
}

impl Ours<'_> {
    pub(crate) fn has(&self, event: &str, hook: &Object<'_>) -> bool {
        if let Some(command) = text_of(hook, "command") {
            return match member(hook, "args").map(|args| &args.value) {
                Some(Value::Array(args)) => {
                    let first = args.elements.first().and_then(Value::as_string_lit);
                    is_program(command) && first.is_some_and(|first| first.value == self.client)
                }
                _ => self.is_command_line(command),
            };
        }
        text_of(hook, "prompt").is_some_and(|prompt| self.prompts.contains(&(event, prompt)))
    }

    fn is_command_line(&self, command: &str) -> bool {
        // `my-substrate-hook …` belongs to another tool.
        let runs_us = command.match_indices(PROGRAM).any(|(at, _)| {
            let (before, after) = (&command[..at], &command[at + PROGRAM.len()..]);
            let after = after.strip_prefix(['\'', '"']).unwrap_or(after);
            let args = after.strip_prefix(' ').and_then(|args| args.strip_prefix(self.client));
            !before.ends_with(|c: char| c.is_alphanumeric() || "-_.".contains(c))
                && args.is_some_and(|args| args.starts_with(' '))
        });
        runs_us || is_script(command.trim_end().trim_end_matches(['"', '\'']))
    }
}

fn is_program(command: &str) -> bool {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command);
    name.strip_suffix(".exe").unwrap_or(name) == PROGRAM
}

fn is_script(command: &str) -> bool {
    command.strip_suffix(".sh").and_then(|command| command.rsplit_once(SCRIPTS)).is_some_and(
        |(_, name)| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_'),
    )
}

/// Whether a status line is nothing but ours: `substrate statusline`, by whatever path.
pub(crate) fn is_our_status_line(status_line: &Value<'_>) -> bool {
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
