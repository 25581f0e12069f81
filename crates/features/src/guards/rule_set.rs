//! The rules in force, compiled, and kept as long as their text is the same.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use substrate_core::settings::{Scope, Table};
use substrate_core::text::one_line;
use substrate_core::{Event, EventKind, Settings};

use super::cel::condition::Condition;
use super::cel::scene::SceneParts;
use super::cel::values::CONTEXT_PERCENT;
use super::dangers::own_files::OwnFiles;
use super::face::RuleNote;
use super::rule::Rule;
use super::rule_table::{RuleTable, Sight};
use crate::efforts::face::Effort;
use crate::shell::{self, Line};

/// The built-in rules, in packs that can be switched on and off.
const PACKS: &[(&str, &str)] = &[
    ("core", include_str!("packs/core.toml")),
    ("git", include_str!("packs/git.toml")),
    ("database", include_str!("packs/database.toml")),
    ("cloud", include_str!("packs/cloud.toml")),
    ("containers", include_str!("packs/containers.toml")),
];

/// At most this many rules outside the packs are read. A project's file may have fewer.
const MAX_RULES: usize = 1_000;

/// At most this many rules of a skill are read.
const MAX_OF_SKILL: usize = 200;

/// How many rule sets are kept, one per project with rules of its own.
const MAX_SETS: usize = 16;

/// A rule in force, or one that can't be used.
#[derive(Debug)]
pub(super) struct LoadedRule {
    pub(super) rule: Rule,
    /// The kind of events that it looks at.
    pub(super) kind: EventKind,
    /// `pack`, `user`, `project`, `local` or `skill`.
    pub(super) scope: &'static str,
    /// Where it was written.
    pub(super) origin: String,
    /// The pack that it is in, if it is one of ours.
    pub(super) pack: Option<&'static str>,
    /// Switched off by `guards.allow`, `guards.packs` or `guards.pack`.
    pub(super) is_off: bool,
    /// What its text alone shows to be wrong.
    problem: Option<String>,
    /// Compiled at the first event, so that a hook without a daemon reads only what it needs.
    compiled: OnceCell<Result<Condition, String>>,
}

/// Every rule, highest priority first.
#[derive(Debug, Default)]
pub(super) struct RuleSet {
    pub(super) entries: Vec<LoadedRule>,
    /// Tables that are not rules: where, and why.
    pub(super) problems: Vec<(String, String)>,
    /// The kinds of events at which one of them may ask how full the context is.
    reads_usage: Vec<EventKind>,
    /// Made at the first event.
    table: OnceCell<RuleTable>,
}

/// What a set was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Source {
    has_pack: bool,
    packs: Vec<String>,
    allowed: Vec<String>,
    tables: Arc<[Table]>,
}

thread_local! {
    static SETS: RefCell<Vec<(Source, Rc<RuleSet>)>> = const { RefCell::new(Vec::new()) };
    static OF_SKILLS: RefCell<Vec<(Effort, Rc<RuleSet>)>> = const { RefCell::new(Vec::new()) };
}

/// The scope of rules that come with a skill.
const SKILL: &str = "skill";

/// The rules that can't be read: where each was written, and why. `substrate guard check` also tries the others.
pub fn unreadable_rules(settings: &Settings) -> Vec<(String, String)> {
    let set = of(settings);
    let broken = set.entries.iter().filter_map(|entry| {
        let why = entry.condition().err()?;
        Some((entry.origin.clone(), format!("rule `{}`: {why}", one_line(&entry.rule.name, 64))))
    });
    // A problem of a setting as a whole stands where that setting does.
    let place = |name: &str| settings.get(name).and_then(|found| found.origin.clone());
    let of_tables = set
        .problems
        .iter()
        .map(|(origin, why)| (place(origin).unwrap_or_else(|| origin.clone()), why.clone()));
    of_tables.chain(broken).collect()
}

/// The rules that these settings ask for.
pub(super) fn of(settings: &Settings) -> Rc<RuleSet> {
    let (tables, allowed) = (settings.tables("guards.rules"), settings.texts("guards.allow"));
    let (has_pack, packs) = (settings.on("guards.pack"), settings.texts("guards.packs"));
    SETS.with(|sets| {
        let mut sets = sets.borrow_mut();
        let is_same = |source: &Source| {
            source.has_pack == has_pack
                && source.packs == packs
                && source.allowed == allowed
                && (Arc::ptr_eq(&source.tables, &tables) || source.tables == tables)
        };
        if let Some((source, set)) = sets.iter_mut().find(|(source, _)| is_same(source)) {
            // Next time they are known by their address.
            source.tables = tables;
            return Rc::clone(set);
        }
        let source = Source { has_pack, packs: packs.to_vec(), allowed: allowed.to_vec(), tables };
        let set = Rc::new(RuleSet::new(&source));
        if sets.len() >= MAX_SETS {
            sets.clear();
        }
        sets.push((source, Rc::clone(&set)));
        set
    })
}

/// The rules of the effort's skill. Usually there are none.
pub(super) fn of_skill(effort: &Effort) -> Option<Rc<RuleSet>> {
    if effort.guards.is_empty() {
        return None;
    }
    OF_SKILLS.with(|sets| {
        let mut sets = sets.borrow_mut();
        let is_same = |one: &Effort| one.skill == effort.skill && one.guards == effort.guards;
        if let Some((_, set)) = sets.iter().find(|(one, _)| is_same(one)) {
            return Some(Rc::clone(set));
        }
        let set = Rc::new(RuleSet::of_skill(&effort.skill, &effort.guards));
        if sets.len() >= MAX_SETS {
            sets.clear();
        }
        sets.push((effort.clone(), Rc::clone(&set)));
        Some(set)
    })
}

/// The rules of all these sets that look at this event, highest priority first, what they need to see of it, and the
/// line if it was read. Usually there are none.
pub(super) fn looking_at<'s>(
    sets: &[&'s RuleSet],
    event: &Event,
    own: OwnFiles<'_>,
) -> (Vec<&'s LoadedRule>, SceneParts, Option<Arc<Line>>) {
    let is_looked_at = sets.iter().any(|set| set.table().looks_at(event));
    let command = event.tool().and_then(|call| call.command.as_deref());
    let line = command.filter(|_| is_looked_at).map(shell::read);
    let none = Line::default();
    let sight = Sight { event, line: line.as_deref().unwrap_or(&none), own };
    let mut looking: Vec<&LoadedRule> = Vec::new();
    for set in sets.iter().filter(|_| is_looked_at) {
        looking.extend(sight.rules(set.table(), &set.entries));
    }
    if sets.len() > 1 {
        looking.sort_by_key(|entry| std::cmp::Reverse(entry.rule.priority));
    }
    let mut wanted = SceneParts::default();
    for condition in looking.iter().filter_map(|entry| entry.condition().ok()) {
        wanted.input |= condition.wanted.input;
        wanted.line |= condition.wanted.line;
        wanted.own |= condition.wanted.own;
        wanted.usage |= condition.wanted.usage;
    }
    (looking, wanted, line)
}

impl RuleSet {
    /// The rules in a skill's own folder. They may be anything.
    fn of_skill(skill: &str, guards: &str) -> Self {
        let mut out = Self::default();
        let origin = format!("skill `{skill}`");
        match serde_json::from_str::<Vec<serde_json::Value>>(guards) {
            Ok(tables) => {
                for table in tables.into_iter().take(MAX_OF_SKILL) {
                    match serde_json::from_value::<Rule>(table) {
                        Ok(rule) => out.add(rule, SKILL, origin.clone(), None, false),
                        Err(error) => out.problems.push((origin.clone(), without_place(&error))),
                    }
                }
            }
            Err(error) => out.problems.push((origin, without_place(&error))),
        }
        out.entries.sort_by_key(|entry| std::cmp::Reverse(entry.rule.priority));
        out
    }

    /// Whether a rule for this kind of event may ask how full the context is.
    pub(super) fn reads_usage(&self, event: &Event) -> bool {
        self.reads_usage.contains(&event.kind)
    }

    fn new(source: &Source) -> Self {
        let mut out = Self::default();
        for (pack, rule) in pack() {
            let is_off = !source.has_pack
                || !source.packs.iter().any(|name| name == pack)
                || source.allowed.contains(&rule.name);
            out.add(rule.clone(), "pack", format!("built in, {pack}"), Some(pack), is_off);
        }
        for name in &source.packs {
            if !PACKS.iter().any(|(pack, _)| pack == name) {
                let names: Vec<&str> = PACKS.iter().map(|(pack, _)| *pack).collect();
                let why = format!("there is no pack `{name}`; there are {}", names.join(", "));
                out.problems.push(("guards.packs".to_owned(), why));
            }
        }
        for table in source.tables.iter().take(MAX_RULES) {
            match serde_json::from_str::<Rule>(&table.json) {
                Ok(rule) => out.add(rule, table.scope.name(), table.origin.clone(), None, false),
                Err(error) => out.problems.push((table.origin.clone(), without_place(&error))),
            }
        }
        if source.tables.len() > MAX_RULES {
            let at = source.tables[MAX_RULES].origin.clone();
            out.problems.push((
                at,
                format!("more than {MAX_RULES} rules: this one and those after it are left out"),
            ));
        }
        for name in &source.allowed {
            if !pack().iter().any(|(_, rule)| rule.name == *name) {
                out.problems
                    .push(("guards.allow".to_owned(), format!("no pack has a rule `{name}`")));
            }
        }
        out.entries.sort_by_key(|entry| std::cmp::Reverse(entry.rule.priority));
        out
    }

    fn table(&self) -> &RuleTable {
        self.table.get_or_init(|| RuleTable::of(&self.entries))
    }

    fn add(
        &mut self,
        rule: Rule,
        scope: &'static str,
        origin: String,
        pack: Option<&'static str>,
        is_off: bool,
    ) {
        let is_known = self.entries.iter().any(|entry| entry.rule.name == rule.name);
        let problem = rule
            .problem()
            .or_else(|| is_known.then(|| format!("there is another rule `{}`", rule.name)));
        let reads_usage = !is_off && rule.when.contains(CONTEXT_PERCENT);
        if reads_usage && !self.reads_usage.contains(&rule.kind()) {
            self.reads_usage.push(rule.kind());
        }
        self.entries.push(LoadedRule {
            kind: rule.kind(),
            rule,
            scope,
            origin,
            pack,
            is_off,
            problem,
            compiled: OnceCell::new(),
        });
    }

    pub(super) fn looking_at(
        &self,
        event: &Event,
    ) -> (Vec<&LoadedRule>, SceneParts, Option<Arc<Line>>) {
        looking_at(&[self], event, OwnFiles::of(event, None))
    }
}

impl LoadedRule {
    /// Only lines that run one of these can be meant: those that it names, or else those that its condition asks for. Our own
    /// rules name them, and are compiled when one of them is run.
    pub(super) fn programs(&self) -> &[String] {
        if !self.rule.programs.is_empty() || self.is_ours() {
            return &self.rule.programs;
        }
        self.condition().map_or(&[], |condition| &condition.programs)
    }

    pub(super) fn condition(&self) -> Result<&Condition, &String> {
        let made = self.compiled.get_or_init(|| match &self.problem {
            Some(problem) => Err(problem.clone()),
            None => Condition::compile(&self.rule.when),
        });
        made.as_ref()
    }

    pub(super) fn is_ours(&self) -> bool {
        self.scope == "pack"
    }

    /// Whose rules are judged first: ours, then the user's.
    pub(super) fn rank(&self) -> u8 {
        match self.scope {
            "pack" => 0,
            "user" => 1,
            _ => 2,
        }
    }

    /// It came with a project or a skill.
    pub(super) fn is_of_others(&self) -> bool {
        self.whose().is_some()
    }

    /// What a page says about it.
    pub(super) fn note(&self) -> RuleNote {
        RuleNote {
            name: self.name(),
            origin: match self.pack {
                Some(pack) => format!("the built-in pack {pack}"),
                None => self.origin.clone(),
            },
            action: self.rule.action.name().to_owned(),
            safer: self.rule.next.clone(),
        }
    }

    /// Its name in a sentence. An unusable rule may have any name.
    pub(super) fn name(&self) -> String {
        one_line(&self.rule.name, 64)
    }

    /// The name in a refusal. It shows if the rule comes from a project or a skill.
    pub(super) fn full_name(&self) -> String {
        let whose = self.whose().map(|whose| format!(", a rule of {whose}")).unwrap_or_default();
        format!("guards.{}{whose}", self.name())
    }

    /// The key it is remembered by. A skill's rule may share its name with another rule.
    pub(super) fn key(&self) -> Cow<'_, str> {
        match self.scope {
            SKILL => Cow::Owned(format!("{}/{}", self.origin, self.rule.name)),
            _ => Cow::Borrowed(&self.rule.name),
        }
    }

    /// Who wrote it, if it came with a project or a skill.
    fn whose(&self) -> Option<&str> {
        match self.scope {
            SKILL => Some(&self.origin),
            scope if scope == Scope::Project.name() || scope == Scope::Local.name() => {
                Some("this project")
            }
            _ => None,
        }
    }

    /// Its reason and next step for a model. What a project or a skill says is shown as theirs, never as ours.
    pub(super) fn words(&self) -> (String, String) {
        let (reason, next) = self.rule.words();
        let Some(whose) = self.whose() else { return (reason, next) };
        let quoted = |text: &str| {
            format!("\u{201c}{}\u{201d}", text.replace(['\u{201c}', '\u{201d}'], "\""))
        };
        let next = if next.is_empty() { next } else { format!("It says: {}", quoted(&next)) };
        (format!("A rule of {whose} says: {}", quoted(&reason)), next)
    }
}

fn pack() -> &'static [(&'static str, Rule)] {
    #[derive(Deserialize)]
    struct Pack {
        rule: Vec<Rule>,
    }
    static READ: LazyLock<Vec<(&'static str, Rule)>> = LazyLock::new(|| {
        let of = |(name, text): &(&'static str, &str)| {
            let name = *name;
            let rules = toml::from_str::<Pack>(text).map(|pack| pack.rule).unwrap_or_default();
            rules.into_iter().map(move |rule| (name, rule))
        };
        PACKS.iter().flat_map(of).collect()
    });
    &READ
}

/// What is wrong with a table, without its place in our own JSON.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}
