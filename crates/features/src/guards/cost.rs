//! What it takes to judge a condition, before anybody does: the interpreter can't be stopped on its way.
//!
//! Every step of a loop counts as often as the loop may turn. All commands of a line have its words together, so a loop
//! over the words of each command turns as often as the line has words, not as often as one command could have, each time.

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue};

use super::sizes::{Sizes, count};

/// What a rule may take at the longest line that is read, and at a plain one.
const MAX_STEPS: u64 = 3_000_000;
const MAX_PLAIN_STEPS: u64 = 20_000;

/// So many bytes of a text are looked at in one step.
const BYTES: u64 = 64;

/// Why a condition can't be used, whatever event comes.
pub(super) fn problem(condition: &IdedExpr) -> Option<String> {
    let (plain, most) = (steps(condition, Sizes::PLAIN), steps(condition, Sizes::MOST));
    (plain > MAX_PLAIN_STEPS || most > MAX_STEPS).then(|| {
        "`when` would take too long: its loops inside of each other run too often; loop over less"
            .to_owned()
    })
}

/// The most steps that it takes at an event of these sizes.
pub(super) fn steps(condition: &IdedExpr, sizes: Sizes) -> u64 {
    let mut meter = Meter { sizes, steps: 0, bound: Vec::new(), is_kept: false };
    meter.look(condition, 1);
    meter.steps
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Plain,
    Command,
    /// One after the other of a line's commands: together they have the line's words.
    EachCommand,
    /// Anything of a tool's input.
    Input,
}

/// How big a value may be.
#[derive(Clone, Debug, Default)]
struct Shape {
    kind: Kind,
    items: u64,
    bytes: u64,
    item: Option<Box<Self>>,
    /// An item while a loop runs over all of them: on the average.
    each: Option<Box<Self>>,
}

impl Shape {
    fn text(bytes: u64) -> Self {
        Self { bytes, ..Self::default() }
    }

    fn texts(items: u64, bytes: u64, average: u64) -> Self {
        Self {
            items,
            item: Some(Box::new(Self::text(bytes))),
            each: Some(Box::new(Self::text(average))),
            ..Self::default()
        }
    }

    fn item(&self) -> Self {
        if self.kind == Kind::Input {
            return self.clone();
        }
        self.item.as_deref().cloned().unwrap_or_default()
    }

    /// Either of both.
    fn or(self, other: Self) -> Self {
        let item = match (self.item, other.item) {
            (Some(a), Some(b)) => Some(Box::new(a.or(*b))),
            (a, b) => a.or(b),
        };
        let kind = if self.kind == Kind::Plain { other.kind } else { self.kind };
        let (items, bytes) = (self.items.max(other.items), self.bytes.max(other.bytes));
        Self { kind, items, bytes, item, each: None }
    }

    /// What it takes to copy or compare it.
    fn whole(&self) -> u64 {
        let one = self.each.as_ref().or(self.item.as_ref());
        let each = one.map_or(0, |item| item.whole());
        self.items.saturating_mul(1 + each).saturating_add(self.bytes / BYTES)
    }
}

/// A name inside of a loop: what it is as the loop runs, and what it may be at one of its turns.
struct Bound<'e> {
    name: &'e str,
    each: Shape,
    full: Shape,
}

struct Meter<'e> {
    sizes: Sizes,
    steps: u64,
    bound: Vec<Bound<'e>>,
    /// The value goes into a list: averages don't hold for it any more.
    is_kept: bool,
}

impl<'e> Meter<'e> {
    fn takes(&mut self, steps: u64, times: u64) {
        self.steps = self.steps.saturating_add(steps.saturating_mul(times));
    }

    /// Counts what it takes to find the value, so many times.
    fn look(&mut self, expr: &'e IdedExpr, times: u64) -> Shape {
        self.takes(1, times);
        match &expr.expr {
            Expr::Unspecified | Expr::Struct(_) => Shape::default(),
            Expr::Literal(LiteralValue::String(text)) => Shape::text(count(text.inner().len())),
            Expr::Literal(_) => Shape::default(),
            Expr::Ident(name) => self.name(name, times),
            Expr::Select(select) => {
                let of = self.look(&select.operand, times);
                let found = self.field(&of, &select.field);
                self.takes(found.items.saturating_mul(2) + found.bytes / BYTES, times);
                found
            }
            Expr::Call(call) => self.call(call, times),
            Expr::Comprehension(each) => self.turns(each, times),
            Expr::List(list) => self.kept(list.elements.iter(), times),
            Expr::Map(map) => {
                let pairs = map.entries.iter().filter_map(|entry| match &entry.expr {
                    EntryExpr::MapEntry(entry) => Some([&entry.key, &entry.value]),
                    EntryExpr::StructField(_) => None,
                });
                self.kept(pairs.flatten(), times)
            }
        }
    }

    fn kept(&mut self, items: impl Iterator<Item = &'e IdedExpr>, times: u64) -> Shape {
        let was_kept = std::mem::replace(&mut self.is_kept, true);
        let (mut n, mut one) = (0, Shape::default());
        for item in items {
            n += 1;
            one = one.or(self.look(item, times));
        }
        self.is_kept = was_kept;
        self.takes(one.whole(), times.saturating_mul(n));
        Shape { items: n, item: Some(Box::new(one)), ..Shape::default() }
    }

    fn name(&mut self, name: &str, times: u64) -> Shape {
        if let Some(bound) = self.bound.iter().rev().find(|bound| bound.name == name) {
            return if self.is_kept { bound.full.clone() } else { bound.each.clone() };
        }
        let sizes = self.sizes;
        let found = match name {
            "commands" => self.commands(),
            "writes" => Shape::texts(sizes.words, sizes.text, self.word()),
            "paths" => Shape::texts(sizes.files, sizes.other, sizes.other / sizes.files.max(1)),
            "input" => Shape {
                kind: Kind::Input,
                items: sizes.input,
                bytes: sizes.input_text,
                ..Shape::default()
            },
            _ => Shape::text(sizes.other),
        };
        self.takes(found.items.saturating_mul(2) + found.bytes / BYTES, times);
        found
    }

    fn commands(&self) -> Shape {
        let one = |kind| Some(Box::new(Shape { kind, ..Shape::default() }));
        Shape {
            items: self.sizes.commands,
            item: one(Kind::Command),
            each: one(Kind::EachCommand),
            ..Shape::default()
        }
    }

    /// So long a word is on the average.
    fn word(&self) -> u64 {
        self.sizes.text.div_ceil(self.sizes.words.max(1))
    }

    fn field(&self, of: &Shape, name: &str) -> Shape {
        let n = match of.kind {
            Kind::Plain | Kind::Input => return of.item(),
            Kind::Command => 1,
            Kind::EachCommand => self.sizes.commands.max(1),
        };
        let sizes = self.sizes;
        match name {
            "words" | "flags" | "args" | "writes" | "targets" | "inner" => {
                Shape::texts(sizes.words.div_ceil(n), sizes.text, self.word())
            }
            "stdin" => Shape::text(sizes.stdin.div_ceil(n)),
            _ => Shape::text(sizes.text.div_ceil(n)),
        }
    }

    fn call(&mut self, call: &'e CallExpr, times: u64) -> Shape {
        let all: Vec<Shape> = call
            .target
            .as_deref()
            .into_iter()
            .chain(&call.args)
            .map(|one| self.look(one, times))
            .collect();
        let whole = all.iter().fold(0_u64, |sum, one| sum.saturating_add(one.whole()));
        let at = |i: usize| all.get(i).cloned().unwrap_or_default();
        let (steps, found) = match call.func_name.as_str() {
            "_+_" => {
                let (a, b) = (at(0), at(1));
                let (items, bytes) =
                    (a.items.saturating_add(b.items), a.bytes.saturating_add(b.bytes));
                (whole, Shape { items, bytes, ..a.or(b) })
            }
            "_[_]" | "_[?_]" | "_?._" => (at(0).item().whole(), at(0).item()),
            "_?_:_" => (0, at(1).or(at(2))),
            "dyn" => (0, at(0)),
            "string" => (whole, Shape::text(at(0).bytes.max(32))),
            // Counted again, with the pattern, when it is done.
            "matches" => (whole.saturating_mul(4), Shape::default()),
            "calls" => (self.sizes.commands + self.sizes.words, self.commands()),
            "runs" | "executes" | "fork_bomb" | "own_files" => {
                (self.sizes.commands + self.sizes.words, Shape::default())
            }
            "plain" | "drops" => {
                let text = self.field(&at(0), "text").bytes + self.field(&at(0), "stdin").bytes;
                let words = self.field(&at(0), "words").items;
                let steps = words.saturating_mul(2).saturating_add(text / BYTES * 4);
                (steps, self.field(&at(0), "text"))
            }
            "flag" | "vital" | "whole" | "kept" | "everything" | "narrowed" | "onto_vital"
            | "moves_vital" | "mounts_vital" => {
                let words = self.field(&at(0), "words").items;
                (words.saturating_mul(2 + count(all.len())), Shape::default())
            }
            "_&&_" | "_||_" | "!_" | "@not_strictly_false" => (0, Shape::default()),
            _ => (whole, Shape::default()),
        };
        self.takes(steps, times);
        found
    }

    fn turns(&mut self, each: &'e ComprehensionExpr, times: u64) -> Shape {
        let range = self.look(&each.iter_range, times);
        let start = self.look(&each.accu_init, times);
        let turns = times.saturating_mul(range.items);
        let n = self.bound.len();
        // What is looped over inside of a loop over itself is no average any more.
        let again: Vec<&'e str> = self
            .bound
            .iter()
            .filter(|bound| mentions(&each.iter_range, bound.name))
            .map(|bound| bound.name)
            .collect();
        for name in again {
            let last = self.bound.iter().rev().find(|bound| bound.name == name);
            let full = last.map(|bound| bound.full.clone()).unwrap_or_default();
            self.bound.push(Bound { name, each: full.clone(), full });
        }
        let full = range.item();
        let one = range.each.as_deref().cloned().unwrap_or_else(|| full.clone());
        self.takes(one.whole().saturating_add(1), turns);
        self.bound.push(Bound { name: &each.iter_var, each: one.clone(), full: full.clone() });
        if let Some(name) = &each.iter_var2 {
            self.bound.push(Bound { name, each: one, full });
        }
        self.bound.push(Bound { name: &each.accu_var, each: start.clone(), full: start });
        self.look(&each.loop_cond, turns);
        let step = self.look(&each.loop_step, turns);
        self.look(&each.result, times);
        self.bound.truncate(n);
        // A list that grows by so much at each turn; or nothing that has a size.
        Shape {
            items: step.items.saturating_mul(range.items),
            bytes: step.bytes.saturating_mul(range.items),
            each: None,
            ..step
        }
    }
}

fn mentions(expr: &IdedExpr, name: &str) -> bool {
    match &expr.expr {
        Expr::Unspecified | Expr::Struct(_) | Expr::Literal(_) => false,
        Expr::Ident(other) => other == name,
        Expr::Select(select) => mentions(&select.operand, name),
        Expr::Call(call) => {
            call.target.as_deref().into_iter().chain(&call.args).any(|one| mentions(one, name))
        }
        Expr::Comprehension(each) => {
            [&each.iter_range, &each.loop_step].into_iter().any(|one| mentions(one, name))
        }
        Expr::List(list) => list.elements.iter().any(|one| mentions(one, name)),
        // Rare enough to be on the safe side.
        Expr::Map(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn zeros(n: usize) -> String {
        format!("[{}0]", "0,".repeat(n - 1))
    }

    #[rstest]
    #[case::plain("command == 'x'", false)]
    #[case::of_words("commands.exists(c, c.args.exists(a, a.startsWith('/dev/')))", false)]
    #[case::of_names(
        "['a','b','c','d'].exists(n, calls(n).exists(c, c.args.exists(a, matches(a, 'x'))))",
        false
    )]
    #[case::pairs("commands.exists(a, commands.exists(b, a.name == b.name))", false)]
    #[case::triples(
        "commands.exists(a, commands.exists(b, commands.exists(c, a.name == c.name)))",
        true
    )]
    #[case::words_of_one("commands[0].words.exists(a, commands[0].words.exists(b, a == b))", true)]
    #[case::words_of_each("commands.exists(c, c.words.exists(a, c.words.exists(b, a == b)))", true)]
    #[case::kept("commands.exists(c, [c.words].exists(w, w.exists(a, w.exists(b, a == b))))", true)]
    #[case::matching("commands.exists(a, commands.exists(b, matches(command, 'x')))", true)]
    #[case::grown("commands.map(a, command + command).map(b, b + b).exists(c, c == command)", true)]
    #[case::literal(&format!("{0}.all(a, {0}.all(b, {0}.all(c, true)))", zeros(30)), true)]
    #[case::sum(&format!("({0}+[0]).all(a, ({0}+[0]).all(b, true))", zeros(200)), true)]
    #[case::long_list(&format!("{0}.all(a, a == 0)", zeros(300)), false)]
    #[case::input("input.a.exists(a, input.b.exists(b, a == b))", true)]
    fn a_condition_that_takes_too_long_is_known(#[case] text: &str, #[case] expected: bool) {
        let program = cel::Program::compile(text).unwrap();
        let found = problem(program.expression());
        let (plain, most) =
            (steps(program.expression(), Sizes::PLAIN), steps(program.expression(), Sizes::MOST));
        assert_eq!(found.is_some(), expected, "{text}: {plain} {most}");
    }
}
