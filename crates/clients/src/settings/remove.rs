//! Taking our own entries out.

use jsonc_parser::ast::{Array, Object, Value};

use crate::install::{Edited, SettingsError};

use super::document::{Document, List, is_blank, member, parse, split_bom};
use super::edit::{Edits, Place, was_empty};
use super::layout::{Layout, Style};
use super::ours::{Ours, hooks_of, is_our_status_line};

pub(crate) fn remove(
    text: &str,
    allow: &[String],
    ours: &Ours<'_>,
    new: &str,
) -> Result<Edited, SettingsError> {
    let (bom, body) = split_bom(text);
    if is_blank(body) {
        return Ok(Edited { text: text.to_owned(), is_empty: true });
    }
    let document = parse(body).map_err(|problem| problem.refusal(body))?;
    let body = without(&document, Some(ours), allow).apply(body);
    let is_empty = is_nothing(&body, new);
    Ok(Edited { text: format!("{bom}{body}"), is_empty })
}

/// Whether nothing is in a file, or what a new one has.
pub(crate) fn is_nothing(body: &str, new: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    body.trim() == new.trim()
        || read(body).is_some_and(|left| left == serde_json::json!({}) || Some(left) == read(new))
}

pub(crate) fn without_status_line(text: &str) -> Result<Option<Edited>, SettingsError> {
    let (bom, body) = split_bom(text);
    if is_blank(body) {
        return Ok(None);
    }
    let document = parse(body).map_err(|problem| problem.refusal(body))?;
    let is_ours: Vec<bool> = document
        .root
        .properties
        .iter()
        .map(|prop| prop.name.as_str() == "statusLine" && is_our_status_line(&prop.value))
        .collect();
    if !is_ours.contains(&true) {
        return Ok(None);
    }
    let (list, mut edits) = (List::from(&document.root), Edits::default());
    let is_empty = !is_ours.contains(&false);
    if is_empty {
        let style = Style::of(&document);
        let layout = Layout::of_root(&document, &style);
        edits.clear(&list, body, &Place { style: &style, layout: &layout, is_root: true });
    } else {
        edits.cut(&list, &is_ours, body);
    }
    Ok(Some(Edited { text: format!("{bom}{}", edits.apply(body)), is_empty }))
}

/// The cuts that take out our own hooks, unless they stay; and these rules.
pub(crate) fn without(document: &Document<'_>, ours: Option<&Ours<'_>>, allow: &[String]) -> Edits {
    let style = Style::of(document);
    let mut cutter = Cutter { document, style, ours, edits: Edits::default() };
    cutter.root(allow);
    cutter.edits
}

/// What becomes of a container. Gone means that nothing but ours was in it, so that it must be ours as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Stays,
    Gone,
}

struct Cutter<'d, 'a> {
    document: &'d Document<'a>,
    style: Style,
    /// `None`: our hooks stay.
    ours: Option<&'d Ours<'d>>,
    edits: Edits,
}

impl<'d> Cutter<'d, '_> {
    fn root(&mut self, allow: &[String]) {
        let root = &self.document.root;
        let layout = Layout::of_root(self.document, &self.style);
        let permissions = member(root, "permissions").map(std::ptr::from_ref);
        let fates: Vec<_> = root
            .properties
            .iter()
            .map(|prop| match (prop.name.as_str(), &prop.value) {
                ("hooks", Value::Object(events)) => self.hooks(events, &layout),
                ("permissions", Value::Object(rules))
                    if permissions == Some(std::ptr::from_ref(prop)) =>
                {
                    self.permissions(rules, allow, &layout)
                }
                _ => Fate::Stays,
            })
            .collect();
        let list = List::from(root);
        if self.settle(&list, &fates) == Fate::Gone {
            let place = Place { style: &self.style, layout: &layout, is_root: true };
            self.edits.clear(&list, self.document.text, &place);
        }
    }

    fn hooks(&mut self, events: &'d Object<'_>, outside: &Layout) -> Fate {
        let list = List::from(events);
        let layout = Layout::of(&list, outside, self.document.text, &self.style);
        let fates: Vec<_> = events
            .properties
            .iter()
            .map(|event| match &event.value {
                Value::Array(groups) => self.event(event.name.as_str(), groups, &layout),
                _ => Fate::Stays,
            })
            .collect();
        self.settle_unless_empty_before(&list, &fates, &layout)
    }

    fn event(&mut self, event: &str, groups: &'d Array<'_>, outside: &Layout) -> Fate {
        let list = List::from(groups);
        let layout = Layout::of(&list, outside, self.document.text, &self.style);
        let fates: Vec<_> = groups
            .elements
            .iter()
            .map(|group| match group {
                Value::Object(group) => self.group(event, group),
                _ => Fate::Stays,
            })
            .collect();
        self.settle_unless_empty_before(&list, &fates, &layout)
    }

    fn group(&mut self, event: &str, group: &'d Object<'_>) -> Fate {
        if self.ours.is_some_and(|ours| ours.is_flat && ours.has(event, group)) {
            return Fate::Gone;
        }
        let Some(Value::Array(array)) = member(group, "hooks").map(|hooks| &hooks.value) else {
            return Fate::Stays;
        };
        let fates: Vec<_> = hooks_of(group)
            .iter()
            .map(|hook| match hook {
                Value::Object(hook) if self.ours.is_some_and(|ours| ours.has(event, hook)) => {
                    Fate::Gone
                }
                _ => Fate::Stays,
            })
            .collect();
        self.settle(&List::from(array), &fates)
    }

    fn permissions(&mut self, rules: &'d Object<'_>, ours: &[String], outside: &Layout) -> Fate {
        let list = List::from(rules);
        let layout = Layout::of(&list, outside, self.document.text, &self.style);
        let allow = member(rules, "allow").map(std::ptr::from_ref);
        let fates: Vec<_> = rules
            .properties
            .iter()
            .map(|prop| match &prop.value {
                Value::Array(allowed) if allow == Some(std::ptr::from_ref(prop)) => {
                    self.allowed(allowed, ours, &layout)
                }
                _ => Fate::Stays,
            })
            .collect();
        self.settle_unless_empty_before(&list, &fates, &layout)
    }

    /// The first of equal rules: we add one only where there is none, so that any other came after ours.
    fn allowed(&mut self, allowed: &Array<'_>, ours: &[String], outside: &Layout) -> Fate {
        let list = List::from(allowed);
        let layout = Layout::of(&list, outside, self.document.text, &self.style);
        let mut fates = vec![Fate::Stays; list.items.len()];
        for at in ours.iter().filter_map(|rule| position(allowed, rule)) {
            fates[at] = Fate::Gone;
        }
        self.settle_unless_empty_before(&list, &fates, &layout)
    }

    fn settle_unless_empty_before(&mut self, list: &List, fates: &[Fate], layout: &Layout) -> Fate {
        let fate = self.settle(list, fates);
        if fate == Fate::Gone && was_empty(list, self.document.text) {
            let place = Place { style: &self.style, layout, is_root: false };
            self.edits.clear(list, self.document.text, &place);
            return Fate::Stays;
        }
        fate
    }

    /// Cuts the items that are gone, unless all of them are: then the container itself is up.
    fn settle(&mut self, list: &List, fates: &[Fate]) -> Fate {
        let is_gone: Vec<_> = fates.iter().map(|fate| *fate == Fate::Gone).collect();
        if !is_gone.contains(&true) {
            return Fate::Stays;
        }
        if !is_gone.contains(&false) {
            return Fate::Gone;
        }
        self.edits.cut(list, &is_gone, self.document.text);
        Fate::Stays
    }
}

/// Where a rule stands in a list.
pub(crate) fn position(allowed: &Array<'_>, rule: &str) -> Option<usize> {
    allowed
        .elements
        .iter()
        .position(|value| value.as_string_lit().is_some_and(|text| text.value == rule))
}
