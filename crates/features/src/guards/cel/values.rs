//! An event and its commands as values of CEL. Nothing is copied before a condition asks for it.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use cel::ExecutionError;
use cel::common::traits::Indexer;
use cel::common::types::{CelBool, CelInt, CelList, CelMap, CelMapKey, CelString, Type};
use cel::common::value::{CowVal, StaticVal, Val};
use cel::context::VariableResolver;

use crate::guards::cel::scene::Scene;
use crate::guards::dangers::paths;
use crate::shell::{Simple, Word};

static SCENE: Type = Type::new_unspecified_type("substrate.scene");
static COMMAND: Type = Type::new_unspecified_type("substrate.command");

/// The name under which functions find the event. A condition can't contain it.
pub(in crate::guards) const HIDDEN: &str = "@scene";

/// A variable that needs the transcript.
pub(in crate::guards) const CONTEXT_PERCENT: &str = "context_percent";

/// The variables of a condition.
pub(in crate::guards) const NAMES: &[&str] = &[
    "event",
    "tool",
    "input",
    "command",
    "commands",
    "writes",
    "path",
    "paths",
    "cwd",
    "project",
    "actor",
    "agent_type",
    "agent",
    "mode",
    "prompt",
    "effort",
    "phase",
    CONTEXT_PERCENT,
    "counters",
];

/// The event, as variables are looked up in it.
#[derive(Clone, Debug)]
pub(in crate::guards) struct SceneHandle(pub(in crate::guards) Arc<Scene>);

impl VariableResolver for SceneHandle {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        let scene = &self.0;
        let text = |text: &'b str| Some(CowVal::owned(CelString::from(text)));
        match variable {
            HIDDEN => Some(CowVal::Borrowed(self)),
            "event" => text(scene.event),
            "tool" => text(&scene.tool),
            "input" => cel::to_value(&scene.input).ok()?.try_into().ok().map(CowVal::Owned),
            "command" => text(&scene.command),
            "commands" => Some(CowVal::owned(commands(scene, |_| true))),
            "writes" => {
                let all = scene.line.commands.iter().flat_map(|made| &made.writes);
                Some(CowVal::owned(list(all.map(|word| word.text.as_str()))))
            }
            "path" => text(scene.files.first().map_or("", String::as_str)),
            "paths" => Some(CowVal::owned(list(scene.files.iter().map(String::as_str)))),
            "cwd" => text(&scene.cwd),
            "project" => text(&scene.project),
            "actor" => text(if scene.is_subagent { "subagent" } else { "main" }),
            "agent_type" => text(&scene.agent_type),
            "agent" => text(&scene.agent),
            "mode" => text(&scene.mode),
            "prompt" => text(&scene.prompt),
            "effort" => text(&scene.around.effort),
            "phase" => text(&scene.around.phase),
            CONTEXT_PERCENT => Some(CowVal::owned(CelInt::from(scene.around.context_percent))),
            "counters" => {
                let calls: Box<dyn Val> = Box::new(CelInt::from(scene.around.n_calls_since_log));
                let map = HashMap::from([(CelMapKey::from("calls_since_log"), calls)]);
                Some(CowVal::owned(CelMap::from(map)))
            }
            _ => None,
        }
    }
}

/// The commands of a line that fit.
pub(in crate::guards) fn commands(
    scene: &Arc<Scene>,
    fits: impl Fn(&Simple) -> bool,
) -> CelList<'static> {
    let all = scene.line.commands.iter().enumerate().filter(|(_, made)| fits(made));
    let boxed =
        all.map(|(at, _)| Box::new(Command { scene: Arc::clone(scene), at }) as Box<dyn Val>);
    CelList::from(boxed.collect::<Vec<_>>())
}

fn list<'t>(texts: impl Iterator<Item = &'t str>) -> CelList<'static> {
    let boxed = texts.map(|text| Box::new(CelString::from(text.to_owned())) as Box<dyn Val>);
    CelList::from(boxed.collect::<Vec<_>>())
}

/// One simple command.
#[derive(Clone, Debug)]
pub(in crate::guards) struct Command {
    pub(in crate::guards) scene: Arc<Scene>,
    at: usize,
}

impl Command {
    pub(in crate::guards) fn made(&self) -> Option<&Simple> {
        self.scene.line.commands.get(self.at)
    }

    pub(in crate::guards) fn targets(&self) -> Vec<String> {
        self.made().map(|made| paths::targets(made, &self.scene.cwd)).unwrap_or_default()
    }

    fn field(&self, name: &str) -> Option<Box<dyn Val>> {
        let made = self.made()?;
        let words = |words: Vec<&Word>| -> Box<dyn Val> {
            Box::new(list(words.into_iter().map(|word| word.text.as_str())))
        };
        let text = |text: &str| -> Box<dyn Val> { Box::new(CelString::from(text.to_owned())) };
        Some(match name {
            "name" => text(made.name()),
            "git" => text(made.git.as_ref().map_or("", |git| &git.sub)),
            "words" => words(made.words.iter().collect()),
            "flags" => words(made.flags().collect()),
            "args" => words(made.args().collect()),
            "writes" => words(made.writes.iter().collect()),
            "folder" => text(&made.folder),
            "text" => text(
                &made.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "),
            ),
            "stdin" => text(&self.scene.line.fed(made)),
            "inner" => {
                let all = made.inner.iter().filter_map(|at| self.scene.line.commands.get(*at));
                Box::new(list(all.map(Simple::name)))
            }
            "filtered" => Box::new(CelBool::from(made.is_filtered)),
            "hidden" => Box::new(CelBool::from(made.has_hidden_args)),
            "targets" => Box::new(list(self.targets().iter().map(String::as_str))),
            _ => return None,
        })
    }
}

impl Indexer for Command {
    fn get<'b, 'v>(&'b self, index: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        let name = index.downcast_ref::<CelString<'_>>().map_or("", |name| name.inner());
        self.field(name).map(CowVal::Owned).ok_or_else(|| ExecutionError::no_such_key(name))
    }

    fn steal<'v>(self: Box<Self>, index: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError>
    where
        Self: 'v,
    {
        self.get(index).map(CowVal::into_owned)
    }
}

impl Val for Command {
    fn get_type(&self) -> &Type {
        &COMMAND
    }

    fn cel_type() -> &'static Type {
        &COMMAND
    }

    fn as_indexer<'b, 'v>(&'b self) -> Option<&'b (dyn Indexer + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for Command {}

impl Val for SceneHandle {
    fn get_type(&self) -> &Type {
        &SCENE
    }

    fn cel_type() -> &'static Type {
        &SCENE
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for SceneHandle {}
