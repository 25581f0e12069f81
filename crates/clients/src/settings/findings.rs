//! What a client would not use of a settings file, and how much it drops because of that, by its [`Schema`].

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;

use crate::install::{Drops, Finding};

use super::document::{
    Document, Problem, is_blank, kind_of, line_of, member, parse, split_bom, text_of,
};
use super::schema::{Field, Kind, Schema, mistakes};

pub(crate) fn findings(text: &str, schema: &Schema) -> Vec<Finding> {
    let (_, body) = split_bom(text);
    if is_blank(body) {
        return Vec::new();
    }
    let problems = match parse(body) {
        Ok(document) => problems(&document, schema),
        Err(problem) => vec![problem],
    };
    problems
        .into_iter()
        .filter_map(|problem| {
            let drops = problem.drops?;
            Some(Finding { line: line_of(body, problem.at), message: problem.message, drops })
        })
        .collect()
}

/// The rules of `permissions.allow`.
pub(crate) fn rules(text: &str) -> Vec<String> {
    let json: serde_json::Value = serde_json::from_str(split_bom(text).1).unwrap_or_default();
    let rules = json.pointer("/permissions/allow").and_then(serde_json::Value::as_array);
    rules.into_iter().flatten().filter_map(|rule| Some(rule.as_str()?.to_owned())).collect()
}

/// Whether the file sets this key to true.
pub(crate) fn is_on(text: &str, key: &str) -> bool {
    let json: serde_json::Value = serde_json::from_str(split_bom(text).1).unwrap_or_default();
    json[key] == true
}

/// Everything that is wrong, in the file's order.
pub(crate) fn problems(document: &Document<'_>, schema: &Schema) -> Vec<Problem> {
    let mut out = Problems { schema, found: Vec::new() };
    let root = &document.root;
    out.keys(root);
    out.check(root, schema.file, "", Drops::File);
    if let Some(Value::Object(rules)) = member(root, "permissions").map(|prop| &prop.value) {
        out.permissions(rules);
    }
    match member(root, "hooks").map(|prop| &prop.value) {
        Some(Value::Object(events)) => out.hooks(events),
        // Measured: the rest of the file still applies. But none of its hooks do, which is as bad for us.
        Some(other) => out.push(other.start(), Drops::File, || {
            format!(
                "`hooks` must be an object, not {}: the client ignores every hook of the file",
                kind_of(other)
            )
        }),
        None => {}
    }
    let mut out = out.found;
    out.sort_by_key(|problem| problem.at);
    out
}

struct Problems<'s> {
    schema: &'s Schema,
    found: Vec<Problem>,
}

impl Problems<'_> {
    fn push(&mut self, at: usize, drops: Drops, message: impl FnOnce() -> String) {
        let advice = match drops {
            Drops::File => {
                "mend that line: until then the client ignores what stands beside it as well"
            }
            Drops::Entry => "mend that line",
        };
        self.found.push(Problem {
            at,
            message: message(),
            advice: advice.to_owned(),
            drops: Some(drops),
        });
    }

    fn check(&mut self, object: &Object<'_>, fields: &[Field], path: &str, drops: Drops) {
        let dot = if path.is_empty() { "" } else { "." };
        for (field, value, wrong) in mistakes(object, fields) {
            let at = value.map_or(object.start(), Ranged::start);
            self.push(at, drops, || {
                format!("`{path}{dot}{}` {wrong}{}", field.name, effect(drops))
            });
        }
    }

    fn keys(&mut self, root: &Object<'_>) {
        let Some(known) = self.schema.keys else { return };
        for prop in &root.properties {
            let name = prop.name.as_str();
            if !known.contains(&name) {
                self.push(prop.start(), Drops::File, || {
                    let known = known.join("`, `");
                    format!("`{name}` is not one of `{known}`{}", effect(Drops::File))
                });
            }
        }
    }

    fn permissions(&mut self, rules: &Object<'_>) {
        self.check(rules, self.schema.permissions, "permissions", Drops::File);
        for name in ["allow", "deny", "ask"] {
            let Some(Value::Array(list)) = member(rules, name).map(|prop| &prop.value) else {
                continue;
            };
            for (n, rule) in list.elements.iter().enumerate() {
                if let Some(wrong) = Kind::Text.wrong(rule) {
                    let drops = Drops::Entry;
                    self.push(rule.start(), drops, || {
                        format!("`permissions.{name}.{n}` {wrong}{}", effect(drops))
                    });
                }
            }
        }
    }

    fn hooks(&mut self, events: &Object<'_>) {
        for event in &events.properties {
            let name = event.name.as_str();
            let counts = member(events, name).is_some_and(|last| std::ptr::eq(last, event));
            if !counts || !(self.schema.knows)(name) {
                continue;
            }
            let path = format!("hooks.{name}");
            let drops = match &event.value {
                // Measured: nothing at all is no guard either.
                Value::NullKeyword(_) => Drops::Entry,
                _ => (self.schema.costs)(name),
            };
            match &event.value {
                Value::Array(groups) => {
                    for (n, group) in groups.elements.iter().enumerate() {
                        self.group(group, &format!("{path}.{n}"), drops);
                    }
                }
                other => self.push(other.start(), drops, || {
                    format!("`{path}` must be a list, not {}{}", kind_of(other), effect(drops))
                }),
            }
        }
    }

    fn group(&mut self, group: &Value<'_>, path: &str, drops: Drops) {
        let Some(group) = self.object(group, path, drops) else { return };
        self.check(group, self.schema.group, path, drops);
        let Some(Value::Array(hooks)) = member(group, "hooks").map(|prop| &prop.value) else {
            return;
        };
        for (n, hook) in hooks.elements.iter().enumerate() {
            self.hook(hook, &format!("{path}.hooks.{n}"), drops);
        }
    }

    fn hook(&mut self, hook: &Value<'_>, path: &str, drops: Drops) {
        let Some(hook) = self.object(hook, path, drops) else { return };
        let kind = text_of(hook, "type");
        let Some((_, fields)) = self.schema.types.iter().find(|(name, _)| Some(*name) == kind)
        else {
            let at = member(hook, "type").map_or(hook.start(), |prop| prop.value.start());
            let known: Vec<_> = self.schema.types.iter().map(|(name, _)| *name).collect();
            self.push(at, drops, || {
                format!("`{path}.type` must be one of `{}`{}", known.join("`, `"), effect(drops))
            });
            return;
        };
        self.check(hook, fields, path, drops);
        self.check(hook, self.schema.every_type, path, drops);
    }

    fn object<'v, 'a>(
        &mut self,
        value: &'v Value<'a>,
        path: &str,
        drops: Drops,
    ) -> Option<&'v Object<'a>> {
        if let Some(wrong) = Kind::Object.wrong(value) {
            self.push(value.start(), drops, || format!("`{path}` {wrong}{}", effect(drops)));
        }
        value.as_object()
    }
}

fn effect(drops: Drops) -> &'static str {
    match drops {
        Drops::File => ": the client drops the whole file",
        Drops::Entry => ": the client ignores it",
    }
}
