//! Conditions in CEL: compiled once, bounded, with functions over the commands of a line.

use std::cell::RefCell;
use std::collections::HashMap;

use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::common::types::{CelBool, CelString};
use cel::common::value::CowVal;
use cel::{Context, ExecutionError, FunctionContext, Program, Value};
use regex::{Regex, RegexBuilder};
use substrate_core::text::one_line;

use super::scene::Wanted;
use super::vals::{CONTEXT_PERCENT, Command, HIDDEN, Handle, NAMES, commands};
use crate::shell::{Line, Simple};

/// Loops inside of loops, each over at most a thousand words; one more may be over a list in the condition itself.
const MAX_LOOPS: usize = 2;

/// Patterns that are kept, and how big one may be.
const MAX_PATTERNS: usize = 256;
const MAX_PATTERN_BYTES: usize = 256 << 10;

/// The functions that a condition may use: those of CEL, and ours.
const FUNCTIONS: &[&str] = &[
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "string",
    "int",
    "uint",
    "double",
    "bool",
    "type",
    "dyn",
    "matches",
    "runs",
    "calls",
    "executes",
    "flag",
    "vital",
    "whole",
    "fork_bomb",
];

/// A condition that can be judged.
#[derive(Debug)]
pub(super) struct Condition {
    program: Program,
    pub(super) wanted: Wanted,
}

impl Condition {
    pub(super) fn compile(text: &str) -> Result<Self, String> {
        let program = Program::compile(text).map_err(|errors| {
            let first = errors.errors.first();
            first.map_or_else(
                || "`when` can't be read".to_owned(),
                |error| {
                    format!(
                        "`when`, line {} column {}: {}",
                        error.pos.0,
                        error.pos.1,
                        one_line(&error.msg, 200)
                    )
                },
            )
        })?;
        let mut seen = Seen::default();
        seen.look(program.expression(), &mut Vec::new(), Loops::default());
        if let Some(problem) = seen.problem {
            return Err(problem);
        }
        Ok(Self { program, wanted: seen.wanted })
    }

    /// Whether it holds; or why that can't be said.
    pub(super) fn holds(&self, scene: &Handle) -> Result<bool, String> {
        ROOT.with(|root| {
            let mut scope = inner(root);
            scope.set_variable_resolver(scene);
            match self.program.execute(&scope) {
                Ok(Value::Bool(holds)) => Ok(holds),
                Ok(other) => {
                    Err(format!("`when` must be true or false, and is {}", other.type_of()))
                }
                Err(error) => Err(one_line(&error.to_string(), 200)),
            }
        })
    }
}

/// A scope whose values may live shorter than the root's.
fn inner<'b>(root: &'b Context<'b, 'b>) -> Context<'b, 'b> {
    root.new_inner_scope()
}

thread_local! {
    static ROOT: Context<'static, 'static> = root();
    static PATTERNS: RefCell<HashMap<String, Option<Regex>>> = RefCell::new(HashMap::new());
}

type Answer<'c, 'v> = Result<CowVal<'c, 'v>, ExecutionError>;
type Function =
    Box<dyn for<'c, 'v> Fn(&mut FunctionContext<'c, 'v>) -> Answer<'c, 'v> + Send + Sync>;

fn root() -> Context<'static, 'static> {
    let mut root = Context::default();
    let functions: Vec<(&str, Function)> = vec![
        (
            "runs",
            Box::new(|call| {
                let words = texts(call)?;
                let scene = scene(call)?;
                Ok(yes(scene.0.line.commands.iter().any(|made| is_call(made, &words))))
            }),
        ),
        (
            "calls",
            Box::new(|call| {
                let words = texts(call)?;
                let scene = scene(call)?;
                Ok(CowVal::owned(commands(&scene.0, |made| is_call(made, &words))))
            }),
        ),
        (
            "executes",
            Box::new(|call| {
                let names = texts(call)?;
                let scene = scene(call)?;
                Ok(yes(executes(&scene.0.line, &names)))
            }),
        ),
        (
            "flag",
            Box::new(|call| {
                let flags = texts(call)?;
                let command = command(call)?;
                Ok(yes(command
                    .made()
                    .is_some_and(|made| flags.iter().any(|flag| made.has_flag(flag)))))
            }),
        ),
        (
            "vital",
            Box::new(|call| {
                let command = command(call)?;
                Ok(yes(command.targets().iter().any(|path| super::paths::is_vital(path))))
            }),
        ),
        (
            "whole",
            Box::new(|call| {
                let command = command(call)?;
                Ok(yes(command.targets().iter().any(|path| command.scene.is_whole(path))))
            }),
        ),
        (
            "fork_bomb",
            Box::new(|call| {
                let scene = scene(call)?;
                Ok(yes(is_fork_bomb(&scene.0.line)))
            }),
        ),
        (
            "matches",
            Box::new(|call| {
                let mut all = texts(call)?;
                if let Some(this) = &call.this {
                    all.insert(0, text(this)?);
                }
                match all.as_slice() {
                    [text, pattern] => Ok(yes(matches(text, pattern)?)),
                    _ => Err(ExecutionError::invalid_argument_count(2, all.len())),
                }
            }),
        ),
    ];
    for (name, function) in functions {
        let added = root.add_function(name, function);
        debug_assert!(added.is_ok(), "{name} is CEL's own");
    }
    root
}

fn yes<'c, 'v>(is: bool) -> CowVal<'c, 'v> {
    CowVal::owned(CelBool::from(is))
}

fn text(value: &CowVal<'_, '_>) -> Result<String, ExecutionError> {
    let text = value.downcast_ref::<CelString<'_>>().map(|text| text.inner().to_owned());
    text.ok_or_else(|| ExecutionError::function_error("function", "the argument must be a text"))
}

fn texts(call: &FunctionContext<'_, '_>) -> Result<Vec<String>, ExecutionError> {
    call.args.iter().map(text).collect()
}

fn scene(call: &FunctionContext<'_, '_>) -> Result<Handle, ExecutionError> {
    let found = call.ptx.get_variable(HIDDEN);
    let found = found.and_then(|value| value.downcast_ref::<Handle>().cloned());
    found.ok_or_else(|| call.error("there is no event"))
}

fn command(call: &FunctionContext<'_, '_>) -> Result<Command, ExecutionError> {
    let found = call.this.as_ref().and_then(|value| value.downcast_ref::<Command>().cloned());
    found.ok_or_else(|| {
        call.error("it is asked of a command: `calls(\"rm\").exists(c, c.flag(\"-r\"))`")
    })
}

/// `runs("git", "reset", "--hard")`: the program, its words in this order, its flags anywhere. `mkfs*` is a beginning.
fn is_call(made: &Simple, words: &[String]) -> bool {
    let Some((name, rest)) = words.split_first() else { return false };
    if !made.is_called(name) {
        return false;
    }
    let (flags, plain): (Vec<&String>, Vec<&String>) =
        rest.iter().partition(|word| word.starts_with('-'));
    let mut said: Vec<&str> = made.git.iter().map(|git| git.sub.as_str()).collect();
    said.extend(made.args().map(|word| word.text.as_str()));
    let is_said = if made.git.is_some() {
        said.len() >= plain.len() && said.iter().zip(&plain).all(|(word, wanted)| word == wanted)
    } else {
        plain.is_empty()
            || said
                .windows(plain.len())
                .any(|some| some.iter().zip(&plain).all(|(word, wanted)| word == wanted))
    };
    is_said && flags.iter().all(|flag| made.has_flag(flag))
}

/// Whether something runs what one of these programs has said.
fn executes(line: &Line, names: &[String]) -> bool {
    let runs = line.commands.iter().flat_map(|made| &made.executes);
    runs.filter_map(|at| line.commands.get(*at))
        .any(|made| names.iter().any(|name| name == made.name()))
}

/// A function that pipes itself into itself.
fn is_fork_bomb(line: &Line) -> bool {
    line.functions.iter().any(|name| {
        line.commands.iter().any(|made| {
            let from = made.from.and_then(|at| line.commands.get(at));
            made.name() == name && from.is_some_and(|from| from.name() == name)
        })
    })
}

fn matches(text: &str, pattern: &str) -> Result<bool, ExecutionError> {
    PATTERNS.with(|patterns| {
        let mut patterns = patterns.borrow_mut();
        if patterns.len() >= MAX_PATTERNS && !patterns.contains_key(pattern) {
            patterns.clear();
        }
        if !patterns.contains_key(pattern) {
            let made = RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build().ok();
            patterns.insert(pattern.to_owned(), made);
        }
        let found = patterns.get(pattern).and_then(Option::as_ref);
        let found = found.ok_or_else(|| {
            ExecutionError::function_error("matches", "the pattern can't be read")
        })?;
        Ok(found.is_match(text))
    })
}

/// How many loops something is inside of: over what is written in the condition itself, and over what comes with an event.
#[derive(Clone, Copy, Default)]
struct Loops {
    n_literal: usize,
    n_other: usize,
}

/// What a condition refers to.
#[derive(Default)]
struct Seen {
    wanted: Wanted,
    problem: Option<String>,
}

impl Seen {
    fn look<'e>(&mut self, expr: &'e IdedExpr, bound: &mut Vec<&'e str>, n_loops: Loops) {
        match &expr.expr {
            Expr::Unspecified | Expr::Literal(_) => {}
            Expr::Ident(name) => self.name(name, bound),
            Expr::Call(call) => {
                let is_operator = !call.func_name.starts_with(|c: char| c.is_ascii_alphabetic());
                if !is_operator && !FUNCTIONS.contains(&call.func_name.as_str()) {
                    self.says(format!(
                        "`when`: there is no function `{}`",
                        one_line(&call.func_name, 40)
                    ));
                }
                let is_of_line =
                    ["runs", "calls", "executes", "fork_bomb"].contains(&call.func_name.as_str());
                self.wanted.line |= is_of_line;
                for inner in call.target.as_deref().into_iter().chain(&call.args) {
                    self.look(inner, bound, n_loops);
                }
            }
            Expr::Comprehension(each) => {
                let is_literal = matches!(each.iter_range.expr, Expr::List(_));
                let n_loops = Loops {
                    n_literal: n_loops.n_literal + usize::from(is_literal),
                    n_other: n_loops.n_other + usize::from(!is_literal),
                };
                if n_loops.n_other > MAX_LOOPS || n_loops.n_literal > 1 {
                    self.says(format!("`when`: more than {MAX_LOOPS} loops inside of each other"));
                    return;
                }
                self.look(&each.iter_range, bound, n_loops);
                self.look(&each.accu_init, bound, n_loops);
                let n = bound.len();
                bound.push(&each.iter_var);
                bound.push(&each.accu_var);
                bound.extend(each.iter_var2.as_deref());
                for inner in [&each.loop_cond, &each.loop_step, &each.result] {
                    self.look(inner, bound, n_loops);
                }
                bound.truncate(n);
            }
            Expr::List(list) => {
                for inner in &list.elements {
                    self.look(inner, bound, n_loops);
                }
            }
            Expr::Select(select) => self.look(&select.operand, bound, n_loops),
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.look(&entry.key, bound, n_loops);
                        self.look(&entry.value, bound, n_loops);
                    }
                }
            }
            Expr::Struct(_) => self.says("`when`: there are no types to build".to_owned()),
        }
    }

    fn name(&mut self, name: &str, bound: &[&str]) {
        if bound.contains(&name) {
            return;
        }
        self.wanted.input |= name == "input";
        self.wanted.usage |= name == CONTEXT_PERCENT;
        self.wanted.line |= matches!(name, "commands" | "writes");
        if !NAMES.contains(&name) {
            let known = NAMES.join(", ");
            self.says(format!("`when`: there is no `{}`; there are {known}", one_line(name, 40)));
        }
    }

    fn says(&mut self, problem: String) {
        self.problem.get_or_insert(problem);
    }
}
