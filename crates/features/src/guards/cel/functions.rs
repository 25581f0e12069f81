//! The functions of conditions, over the commands of a line and over texts.

use std::cell::RefCell;
use std::collections::HashMap;

use cel::common::types::{CelBool, CelInt, CelString};
use cel::common::value::CowVal;
use cel::{Context, ExecutionError, FunctionContext};
use regex::{Regex, RegexBuilder};

use crate::guards::cel::budget;
use crate::guards::cel::values::{Command, HIDDEN, SceneHandle, commands};
use crate::guards::dangers::{paths, sql};
use crate::shell::{Line, Simple};

/// Patterns that are kept.
const MAX_PATTERNS: usize = 1_024;

/// How big a compiled pattern may be, in kilobytes. Bigger ones take longer to compile and to match.
const PATTERN_SIZES: &[u64] = &[4, 16, 64, 256];

/// The steps for compiling a pattern, and how many kilobytes of pattern times bytes of text cost one step.
const STEPS_OF_PATTERN: u64 = 500;
const MATCHED: u64 = 32;

/// The functions that a condition may use: those of CEL, and ours.
pub(in crate::guards) const FUNCTIONS: &[&str] = &[
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
    "kept",
    "whole",
    "everything",
    "mounts_vital",
    "narrowed",
    "own_files",
    "onto_vital",
    "moves_vital",
    "fork_bomb",
    "plain",
    "drops",
    "unread",
];

/// Calls `judge` with all functions defined.
pub(in crate::guards) fn with_root<T>(judge: impl FnOnce(&Context<'static, 'static>) -> T) -> T {
    ROOT.with(judge)
}

thread_local! {
    static ROOT: Context<'static, 'static> = root();
    static PATTERNS: RefCell<HashMap<String, Option<(Regex, u64)>>> = RefCell::new(HashMap::new());
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
            "unread",
            Box::new(|call| {
                let scene = scene(call)?;
                Ok(yes(scene.0.line.is_unread))
            }),
        ),
        (
            "own_files",
            Box::new(|call| {
                let scene = scene(call)?;
                Ok(yes(crate::guards::dangers::own_files::are_changed(&scene.0)))
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
            budget::PAY,
            Box::new(|call| {
                let [range, n_nodes] = call.args.as_slice() else {
                    return Err(ExecutionError::invalid_argument_count(2, call.args.len()));
                };
                let n_nodes = n_nodes.downcast_ref::<CelInt>().map_or(0, |n| *n.inner());
                if !budget::pay_for_loop(range.as_ref(), n_nodes.cast_unsigned()) {
                    return Err(call.error(budget::TOO_LONG));
                }
                Ok(call.args.swap_remove(0))
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
    for (name, function) in functions.into_iter().chain(of_a_command()) {
        let added = root.add_function(name, function);
        debug_assert!(added.is_ok(), "{name} is CEL's own");
    }
    root
}

/// The methods of a command.
fn of_a_command() -> Vec<(&'static str, Function)> {
    let vital = |all: &[String]| all.iter().any(|path| paths::is_vital(path));
    vec![
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
            "plain",
            Box::new(|call| {
                let flags = texts(call)?;
                let command = command(call)?;
                let words = command.made().map(|made| made.plain(&flags)).unwrap_or_default();
                let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
                Ok(CowVal::owned(CelString::from(words.join(" "))))
            }),
        ),
        asked("vital", move |command, _| vital(&command.targets())),
        asked("kept", |command, _| command.targets().iter().any(|path| paths::is_kept(path))),
        asked("whole", |command, _| is_whole(command)),
        asked("everything", |command, made| {
            is_whole(command) || made.args().any(|word| paths::is_everything(&word.text))
        }),
        asked("moves_vital", move |command, made| vital(&paths::moved(made, &command.scene.cwd))),
        asked("mounts_vital", |command, made| paths::mounts_vital(made, &command.scene.cwd)),
        asked("onto_vital", |command, made| {
            let last = command.targets().pop();
            match made.args().last().and_then(paths::far) {
                Some(path) => paths::is_vital(&path),
                None => {
                    last.is_some_and(|path| paths::is_vital(&path) || command.scene.is_whole(&path))
                }
            }
        }),
        asked("narrowed", |_, made| paths::is_narrowed(made)),
        asked("drops", |command, made| sql::drops(&command.scene.line, made)),
    ]
}

/// A question about a command that has no arguments.
fn asked(
    name: &'static str,
    is: impl Fn(&Command, &Simple) -> bool + Send + Sync + 'static,
) -> (&'static str, Function) {
    let answer: Function = Box::new(move |call| {
        let command = command(call)?;
        Ok(yes(command.made().is_some_and(|made| is(&command, made))))
    });
    (name, answer)
}

fn is_whole(command: &Command) -> bool {
    command.targets().iter().any(|path| command.scene.is_whole(path))
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

fn scene(call: &FunctionContext<'_, '_>) -> Result<SceneHandle, ExecutionError> {
    let found = call.ptx.get_variable(HIDDEN);
    let found = found.and_then(|value| value.downcast_ref::<SceneHandle>().cloned());
    found.ok_or_else(|| call.error("there is no event"))
}

fn command(call: &FunctionContext<'_, '_>) -> Result<Command, ExecutionError> {
    let found = call.this.as_ref().and_then(|value| value.downcast_ref::<Command>().cloned());
    found.ok_or_else(|| {
        call.error("it is asked of a command: `calls(\"rm\").exists(c, c.flag(\"-r\"))`")
    })
}

/// `runs("git", "reset", "--hard")`: the program, its words in this order, its flags anywhere. `mkfs*` is a prefix.
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
    line.commands.iter().any(|made| {
        let from = made.from.and_then(|at| line.commands.get(at));
        from.is_some_and(|from| from.name() == made.name())
            && line.functions.iter().any(|name| name == made.name())
    })
}

fn matches(text: &str, pattern: &str) -> Result<bool, ExecutionError> {
    PATTERNS.with(|patterns| {
        let mut patterns = patterns.borrow_mut();
        if patterns.len() >= MAX_PATTERNS && !patterns.contains_key(pattern) {
            patterns.clear();
        }
        if !patterns.contains_key(pattern) {
            spend(STEPS_OF_PATTERN)?;
            patterns.insert(pattern.to_owned(), made(pattern));
        }
        let found = patterns.get(pattern).and_then(Option::as_ref);
        let found = found.ok_or_else(|| {
            ExecutionError::function_error("matches", "the pattern can't be read")
        })?;
        spend(text.len() as u64 * found.1 / MATCHED)?;
        Ok(found.0.is_match(text))
    })
}

/// A pattern, and how big it is.
fn made(pattern: &str) -> Option<(Regex, u64)> {
    PATTERN_SIZES.iter().find_map(|kilobytes| {
        let limit = usize::try_from(kilobytes << 10).ok()?;
        let made = RegexBuilder::new(pattern).size_limit(limit).build().ok()?;
        Some((made, *kilobytes))
    })
}

fn spend(steps: u64) -> Result<(), ExecutionError> {
    let is_paid = budget::pay(steps);
    is_paid.then_some(()).ok_or_else(|| ExecutionError::function_error("matches", budget::TOO_LONG))
}
