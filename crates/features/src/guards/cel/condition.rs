//! Conditions in CEL: compiled once, bounded, with functions over the commands of a line.

use cel::common::ast::{Expr, IdedExpr};
use cel::{Context, Program, Value};
use substrate_core::text::one_line;

use crate::guards::cel::budget::{self, Budget};
use crate::guards::cel::functions::{self, FUNCTIONS};
use crate::guards::cel::programs;
use crate::guards::cel::scene::SceneParts;
use crate::guards::cel::values::{CONTEXT_PERCENT, NAMES, SceneHandle};

/// How deep loops may nest. How often they may turn is counted (`budget.rs`).
const MAX_LOOPS: usize = 3;

/// How deep a condition may nest. Parsing, judging and dropping it recurses.
const MAX_NESTED: usize = 20;
const MAX_OPERATORS: usize = 150;

/// A condition that can be judged.
#[derive(Debug)]
pub(in crate::guards) struct Condition {
    expr: IdedExpr,
    n_nodes: u64,
    pub(in crate::guards) wanted: SceneParts,
    /// A line that runs none of these can't fulfil it. Empty: any line may.
    pub(in crate::guards) programs: Vec<String>,
}

impl Condition {
    pub(in crate::guards) fn compile(text: &str) -> Result<Self, String> {
        if is_too_deep(text) {
            return Err(format!(
                "`when` nests more than {MAX_NESTED} brackets, or has more than {MAX_OPERATORS} operators"
            ));
        }
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
        let mut seen = References::default();
        seen.look(program.expression(), &mut Vec::new(), 0);
        if let Some(problem) = seen.problem {
            return Err(problem);
        }
        let programs = programs::of(program.expression()).unwrap_or_default();
        let mut expr = program.expression().clone();
        let n_nodes = budget::charge_loops(&mut expr);
        Ok(Self { expr, n_nodes, wanted: seen.wanted, programs })
    }

    /// Whether it holds, or why that can't be said.
    pub(in crate::guards) fn holds(
        &self,
        scene: &SceneHandle,
        budget: &mut Budget,
    ) -> Result<bool, String> {
        budget.spend_on(self.n_nodes, || self.judge(scene))
    }

    fn judge(&self, scene: &SceneHandle) -> Result<bool, String> {
        functions::with_root(|root| {
            let mut scope = inner(root);
            scope.set_variable_resolver(scene);
            match Value::resolve(&self.expr, &scope) {
                Ok(Value::Bool(holds)) => Ok(holds),
                Ok(other) => Err(format!("`when` must be true or false, not {}", other.type_of())),
                Err(error) => Err(one_line(&error.to_string(), 200)),
            }
        })
    }
}

/// Whether it could overflow the stack, judged by its characters outside strings. Unusual string literals count too.
fn is_too_deep(text: &str) -> bool {
    let (mut n_open, mut n_operators) = (0_usize, 0_usize);
    let is_unusual =
        ["r\"", "r'", "R\"", "R'", "\"\"\"", "'''"].iter().any(|one| text.contains(one));
    n_operators += text.matches("in ").count();
    let mut quote = None;
    let mut is_escaped = false;
    for c in text.chars() {
        if let Some(end) = quote {
            let is_end = c == end && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            quote = quote.filter(|_| !is_end);
            continue;
        }
        match c {
            '"' | '\'' if !is_unusual => quote = Some(c),
            '(' | '[' | '{' => n_open += 1,
            ')' | ']' | '}' => n_open = n_open.saturating_sub(1),
            _ => {}
        }
        n_operators += usize::from(".[+-!?*/%<>=&|".contains(c));
        if n_open > MAX_NESTED || n_operators > MAX_OPERATORS {
            return true;
        }
    }
    false
}

/// A scope whose values may live shorter than the root's.
fn inner<'b>(root: &'b Context<'b, 'b>) -> Context<'b, 'b> {
    root.new_inner_scope()
}

/// What a condition refers to.
#[derive(Default)]
struct References {
    wanted: SceneParts,
    problem: Option<String>,
}

impl References {
    fn look<'e>(&mut self, expr: &'e IdedExpr, bound: &mut Vec<&'e str>, n_loops: usize) {
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
                let is_of_line = ["runs", "calls", "executes", "fork_bomb", "unread", "own_files"]
                    .contains(&call.func_name.as_str());
                self.wanted.line |= is_of_line;
                self.wanted.own |= call.func_name == "own_files";
                for inner in call.target.as_deref().into_iter().chain(&call.args) {
                    self.look(inner, bound, n_loops);
                }
            }
            Expr::Comprehension(each) => {
                let n_loops = n_loops + 1;
                if n_loops > MAX_LOOPS {
                    self.says(format!("`when`: more than {MAX_LOOPS} nested loops"));
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
            Expr::Map(_) => self.says("`when`: there are no maps to build".to_owned()),
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
