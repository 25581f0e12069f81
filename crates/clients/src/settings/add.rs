//! Putting what is wanted into a settings file.

use jsonc_parser::ast::{Array, Object, Value};
use jsonc_parser::common::Ranged;

use crate::install::{Drops, Edited, Entry, SettingsError, Wanted, What};

use super::document::{Document, List, Problem, is_blank, kind_of, member, parse, split_bom};
use super::edit::{Edits, Place};
use super::findings::problems;
use super::layout::{Layout, Style};
use super::ours::{Ours, found};
use super::remove::{is_nothing, position, without};
use super::render::Json;
use super::schema::Schema;

pub(crate) fn add(
    text: &str,
    wanted: &Wanted,
    ours: &Ours<'_>,
    schema: &Schema,
) -> Result<Edited, SettingsError> {
    let (bom, body) = split_bom(text);
    if wanted.entries.is_empty() && wanted.allow.is_empty() && is_blank(body) {
        return Ok(Edited { text: text.to_owned(), is_empty: true });
    }
    let body = if is_blank(body) { schema.new } else { body };
    let added = put(body, wanted, ours, schema).map_err(|problem| problem.refusal(body))?;
    let is_empty = is_nothing(&added, schema.new);
    Ok(Edited { text: format!("{bom}{added}"), is_empty })
}

/// Old entries of ours go and new ones come, unless they are what is wanted. Every place in a problem is one in
/// `body`.
fn put(body: &str, wanted: &Wanted, ours: &Ours<'_>, schema: &Schema) -> Result<String, Problem> {
    let document = parse(body)?;
    let prompts = prompts(wanted, ours);
    let ours = &Ours { prompts: &prompts, ..*ours };
    let render = if ours.is_flat { Json::flat_hook } else { Json::hook };
    let hooks = by_event(&wanted.entries, |entry| render(entry, schema.second));
    let are_there = are_there(&document, &hooks, ours);
    let cuts = without(&document, (!are_there).then_some(ours), &wanted.retired);
    let place = |problem: Problem| {
        let at = cuts.before(problem.at);
        Problem { at, ..problem }
    };
    // A mistake in an old entry of ours is mended by replacing it, hence after the cuts.
    let rest = cuts.clone().apply(body);
    let document = parse(&rest).map_err(place)?;
    let hooks = if are_there { Vec::new() } else { hooks };
    if let Some(problem) =
        problems(&document, schema).into_iter().find(|problem| problem.drops == Some(Drops::File))
    {
        return Err(place(problem));
    }
    let edits = Adder::new(&document, ours.is_flat).add(&hooks, &wanted.allow).map_err(place)?;
    Ok(edits.apply(&rest))
}

/// The prompts that count as ours while this is added.
fn prompts<'p>(wanted: &Wanted, ours: &Ours<'p>) -> Vec<(&'p str, &'p str)> {
    let new = wanted.entries.iter().filter_map(|entry| match entry.what {
        What::Prompt { prompt } => Some((entry.event, prompt)),
        What::Exec { .. } | What::Shell { .. } => None,
    });
    ours.prompts.iter().copied().chain(new).collect()
}

/// Whether the file has exactly these entries of ours, and all of them count.
fn are_there(document: &Document<'_>, wanted: &[EventHooks], ours: &Ours<'_>) -> bool {
    let found = found(document, ours);
    let are_used = found.iter().all(|found| found.counts && found.is_unconditional);
    are_used
        && found.len() == wanted.iter().map(|(_, hooks)| hooks.len()).sum::<usize>()
        && wanted.iter().all(|(event, hooks)| {
            let there = found.iter().filter(|found| found.event == *event);
            there
                .map(|found| serde_json::from_str(found.hook.text(document.text)).ok())
                .eq(hooks.iter().map(|hook| Some(hook.value())))
        })
}

/// Our hooks of one event.
type EventHooks = (&'static str, Vec<Json>);

/// Our hooks by event, in the order in which the events are first wanted.
fn by_event(entries: &[Entry], render: impl Fn(&Entry) -> Json) -> Vec<EventHooks> {
    let mut out: Vec<EventHooks> = Vec::new();
    for entry in entries {
        let hook = render(entry);
        match out.iter_mut().find(|(event, _)| *event == entry.event) {
            Some((_, hooks)) => hooks.push(hook),
            None => out.push((entry.event, vec![hook])),
        }
    }
    out
}

struct Adder<'d, 'a> {
    document: &'d Document<'a>,
    style: Style,
    edits: Edits,
    is_flat: bool,
}

impl<'d, 'a> Adder<'d, 'a> {
    fn new(document: &'d Document<'a>, is_flat: bool) -> Self {
        Self { document, style: Style::of(document), edits: Edits::default(), is_flat }
    }

    /// What stands below an event.
    fn below(&self, hooks: &[Json]) -> Vec<Json> {
        if self.is_flat { hooks.to_vec() } else { vec![Json::group(hooks.to_vec())] }
    }

    fn add(mut self, hooks: &[EventHooks], allow: &[String]) -> Result<Edits, Problem> {
        let root = &self.document.root;
        let layout = Layout::of_root(self.document, &self.style);
        let mut new = Vec::new();
        if !hooks.is_empty() {
            match object_in(root, "hooks")? {
                Some(events) => self.hooks(events, hooks, &layout)?,
                None => {
                    let events =
                        hooks.iter().map(|(event, hooks)| (*event, Json::List(self.below(hooks))));
                    new.push((Some("hooks"), Json::Object(events.collect())));
                }
            }
        }
        if !allow.is_empty() {
            match object_in(root, "permissions")? {
                Some(rules) => self.permissions(rules, allow, &layout)?,
                None => {
                    let rules = vec![("allow", texts(allow))];
                    new.push((Some("permissions"), Json::Object(rules)));
                }
            }
        }
        let place = Place { style: &self.style, layout: &layout, is_root: true };
        self.edits.append(&List::from(root), &new, &place);
        Ok(self.edits)
    }

    fn hooks(
        &mut self,
        events: &Object<'_>,
        hooks: &[EventHooks],
        outside: &Layout,
    ) -> Result<(), Problem> {
        let list = List::from(events);
        let layout = self.layout(&list, outside);
        let mut new = Vec::new();
        for (event, hooks) in hooks {
            match list_in(events, event, &format!("hooks.{event}"))? {
                Some(array) => {
                    let items: Vec<_> =
                        self.below(hooks).into_iter().map(|item| (None, item)).collect();
                    self.append(&List::from(array), &items, &layout);
                }
                None => new.push((Some(*event), Json::List(self.below(hooks)))),
            }
        }
        self.edits.append(
            &list,
            &new,
            &Place { style: &self.style, layout: &layout, is_root: false },
        );
        Ok(())
    }

    fn permissions(
        &mut self,
        rules: &Object<'_>,
        allow: &[String],
        outside: &Layout,
    ) -> Result<(), Problem> {
        let list = List::from(rules);
        match list_in(rules, "allow", "permissions.allow")? {
            Some(allowed) => {
                let layout = self.layout(&list, outside);
                let missing = allow.iter().filter(|rule| position(allowed, rule).is_none());
                let missing: Vec<_> = missing.map(|rule| (None, Json::text(rule))).collect();
                self.append(&List::from(allowed), &missing, &layout);
            }
            None => self.append(&list, &[(Some("allow"), texts(allow))], outside),
        }
        Ok(())
    }

    fn append(&mut self, list: &List, items: &[(Option<&str>, Json)], outside: &Layout) {
        let layout = self.layout(list, outside);
        let place = Place { style: &self.style, layout: &layout, is_root: false };
        self.edits.append(list, items, &place);
    }

    fn layout(&self, list: &List, outside: &Layout) -> Layout {
        Layout::of(list, outside, self.document.text, &self.style)
    }
}

fn texts(rules: &[String]) -> Json {
    Json::List(rules.iter().map(|rule| Json::text(rule)).collect())
}

fn object_in<'v, 'a>(
    object: &'v Object<'a>,
    name: &str,
) -> Result<Option<&'v Object<'a>>, Problem> {
    match member(object, name).map(|prop| &prop.value) {
        None => Ok(None),
        Some(Value::Object(value)) => Ok(Some(value)),
        Some(other) => Err(wrong_kind(other, name, "an object")),
    }
}

fn list_in<'v, 'a>(
    object: &'v Object<'a>,
    name: &str,
    path: &str,
) -> Result<Option<&'v Array<'a>>, Problem> {
    match member(object, name).map(|prop| &prop.value) {
        None => Ok(None),
        Some(Value::Array(value)) => Ok(Some(value)),
        Some(other) => Err(wrong_kind(other, path, "a list")),
    }
}

fn wrong_kind(value: &Value<'_>, path: &str, wanted: &str) -> Problem {
    Problem {
        at: value.start(),
        message: format!("`{path}` must be {wanted}, not {}", kind_of(value)),
        advice: format!("make it {wanted}, or take the key out"),
        drops: None,
    }
}
