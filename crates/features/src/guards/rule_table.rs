//! Which rules can match an event: a table by kind of event, tool and program. A rule that can't match costs nothing,
//! however many there are.

use std::cell::LazyCell;
use std::collections::HashMap;

use substrate_core::{Event, EventKind};

use super::dangers::own_files::OwnFiles;
use super::rule::{Needs, class_name};
use super::rule_set::LoadedRule;
use crate::shell::{Line, Simple};

/// The rules of a set, by their places in it.
#[derive(Debug, Default)]
pub(super) struct RuleTable {
    by_kind: HashMap<EventKind, HashMap<String, Group>>,
}

/// The rules for one tool.
#[derive(Debug, Default)]
struct Group {
    /// Whatever the line runs.
    always: Vec<usize>,
    by_program: HashMap<String, Vec<usize>>,
    /// `mkfs*`.
    by_prefix: Vec<(String, usize)>,
}

impl RuleTable {
    pub(super) fn of(entries: &[LoadedRule]) -> Self {
        let mut out = Self::default();
        for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| !entry.is_off) {
            let tools = out.by_kind.entry(entry.kind).or_default();
            let group = tools.entry(entry.rule.tool.clone()).or_default();
            let programs = entry.programs();
            if programs.is_empty() {
                group.always.push(at);
            }
            for name in programs {
                match name.strip_suffix('*') {
                    Some(start) => group.by_prefix.push((start.to_owned(), at)),
                    None => group.by_program.entry(name.clone()).or_default().push(at),
                }
            }
        }
        out
    }

    /// Whether any rule looks at the event, whatever its line is.
    pub(super) fn looks_at(&self, event: &Event) -> bool {
        self.groups(event).next().is_some()
    }

    fn groups(&self, event: &Event) -> impl Iterator<Item = &Group> {
        let tools = self.by_kind.get(&event.kind);
        let names = event.tool().map(|call| [call.name.as_str(), class_name(call.class)]);
        let names = std::iter::once("").chain(names.into_iter().flatten());
        names.filter_map(move |name| tools?.get(name))
    }

    /// The places of the rules that can match, in their order.
    fn find(&self, event: &Event, called: &[&str]) -> Vec<usize> {
        let mut out = Vec::new();
        for group in self.groups(event) {
            out.extend(&group.always);
            for name in called {
                out.extend(group.by_program.get(*name).into_iter().flatten());
                let begins = |(start, _): &&(String, usize)| name.starts_with(start.as_str());
                out.extend(group.by_prefix.iter().filter(begins).map(|(_, at)| at));
            }
        }
        out.sort_unstable();
        out.dedup();
        out
    }
}

/// What rules look at before their conditions are judged.
pub(super) struct Sight<'e> {
    pub(super) event: &'e Event,
    pub(super) line: &'e Line,
    pub(super) own: OwnFiles<'e>,
}

impl Sight<'_> {
    /// The rules of a set that look at the event, in their order.
    pub(super) fn rules<'s>(
        &self,
        table: &RuleTable,
        all: &'s [LoadedRule],
    ) -> Vec<&'s LoadedRule> {
        let Self { event, line, own } = self;
        let called: Vec<&str> =
            line.commands.iter().map(Simple::name).filter(|name| !name.is_empty()).collect();
        let names_own = LazyCell::new(|| {
            let command = event.tool().and_then(|call| call.command.as_deref());
            own.is_named_in(event) || OwnFiles::may_be_meant_by(line, command.unwrap_or_default())
        });
        let has = |needs: Option<Needs>| match needs {
            None => true,
            Some(Needs::Writes) => line.commands.iter().any(|made| !made.writes.is_empty()),
            Some(Needs::Functions) => !line.functions.is_empty(),
            Some(Needs::Unread) => line.is_unread,
            Some(Needs::Own) => *names_own,
        };
        let found = table.find(event, &called).into_iter().filter_map(|at| all.get(at));
        found.filter(|entry| has(entry.rule.needs) && entry.rule.fits_actor(&event.actor)).collect()
    }
}
