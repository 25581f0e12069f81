//! Profiles add up: what each promises holds beside every other one, whichever file asks for it.

use serde_json::json;
use substrate_core::facts::{Daily, Found, Tree};
use substrate_core::settings::{Key, Layer, Scope, Value};
use substrate_core::verdict::Permission;
use substrate_core::{
    Actor, Caller, Detail, Effect, Event, EventKind, Need, Outcome, SafeId, Settings, StartSource,
    ToolCall, ToolClass, engine,
};

use crate::stage::Stage;
use crate::{PROFILES, keys};

/// Those that add something.
const SEEDS: [&str; 5] = ["persistent", "scratchpad", "engine", "locks", "reminders"];

/// What a user's file and a project's file make together.
fn settings(user: &str, project: &str) -> Settings {
    let keys = keys();
    let layer = |scope, text| Layer::read(scope, "f", text, &keys);
    let (user, project) = (layer(Scope::User, user), layer(Scope::Project, project));
    let settings = Settings::resolve(&keys, &[&user, &project]);
    assert!(settings.problems.is_empty(), "{:?}", settings.problems);
    settings
}

#[test]
fn every_profile_is_known_and_no_two_contradict_each_other() {
    let known: Vec<&str> = PROFILES.iter().map(|(name, _)| *name).collect();
    assert_eq!(known[1..6], SEEDS);
    for key in keys() {
        for (name, value) in key.profiles {
            assert!(SEEDS.contains(name), "{}: `all` and `standard` have no values", key.name);
            assert_eq!(*value, key.profiles[0].1, "{}: two profiles contradict", key.name);
        }
    }
    for seed in SEEDS {
        assert!(keys().iter().any(|key| key.profiles.iter().any(|(name, _)| *name == seed)));
    }
}

/// A key that some profile gives another value.
struct Given {
    key: &'static str,
    profile: &'static str,
    default: Value,
    value: Value,
    /// A project may give it that value as well.
    project_may: bool,
}

fn given(key: &'static Key) -> Option<Given> {
    let (profile, text) = key.profiles.first()?;
    let line = format!("{} = {text}\n", key.name);
    let value = |settings: &Settings| settings.get(key.name).unwrap().value.clone();
    Some(Given {
        key: key.name,
        profile,
        default: value(&settings("", "")),
        value: value(&settings(&line, "")),
        project_may: Layer::read(Scope::Project, "f", &line, &keys()).problems.is_empty(),
    })
}

/// Each key is what one of the profiles makes it, or what it is by default.
#[test]
fn two_profiles_of_the_user_and_one_of_the_project_are_in_force_at_once() {
    let given: Vec<Given> = keys().into_iter().filter_map(given).collect();
    let names = || PROFILES.iter().map(|(name, _)| *name);
    let mut n = 0;
    for (first, second) in names().flat_map(|one| names().map(move |other| (one, other))) {
        for third in names() {
            let found = settings(
                &format!("profile = [\"{first}\", \"{second}\"]"),
                &format!("profile = \"{third}\""),
            );
            let has = |asked: &str, given: &Given| asked == given.profile || asked == "all";
            for one in &given {
                let is_given =
                    has(first, one) || has(second, one) || (has(third, one) && one.project_may);
                let expected = if is_given { &one.value } else { &one.default };
                let value = &found.get(one.key).unwrap().value;
                assert_eq!(value, expected, "{}: {first}, {second}, {third}", one.key);
                n += 1;
            }
        }
    }
    assert!(n > 3_000, "{n}");
}

#[test]
fn all_is_every_profile_and_waits_in_its_turn() {
    let each = format!("profile = {SEEDS:?}");
    let (all, each) = (settings("profile = \"all\"", ""), settings(&each, ""));
    for key in keys().iter().filter(|key| key.name != "profile") {
        let value = |settings: &Settings| settings.get(key.name).unwrap().value.clone();
        assert_eq!(value(&all), value(&each), "{}", key.name);
    }
    assert_eq!((all.word("persist.mode"), all.on("todos.insist")), ("poll", true));
}

/// A session in `/repo`, and a subagent in it.
struct Scene(Stage);

impl Scene {
    fn new(user: &str, project: &str) -> Self {
        let mut stage = Stage::new("");
        stage.set_layers(user, project);
        stage.machine.processes.insert(10, 1);
        Self(stage)
    }

    fn event(&self, kind: EventKind, actor: Actor, detail: Detail) -> Event {
        Event {
            actor,
            detail,
            project_dir: Some("/repo".to_owned()),
            client_pid: Some(10),
            attended: Some(false),
            tasks_dir: Some("/home/me/.claude/tasks/s1".to_owned()),
            ..self.0.event(kind, "s1")
        }
    }

    /// One event whose answer is printed. There is a project, no scratchpad, and one to-do if it is open.
    fn happen(&mut self, kind: EventKind, actor: Actor, detail: Detail, open: bool) -> Outcome {
        let event = self.event(kind, actor, detail);
        for need in engine::needs(crate::ALL, &event, self.0.settings()) {
            let found = match &need {
                Need::Daily { .. } => {
                    let folder = "/repo/.claude/scratchpad/scout".to_owned();
                    Found::Daily(Daily { folder, files: Vec::new() })
                }
                Need::Tree { .. } => {
                    Found::Tree(Tree { entries: vec!["src/".to_owned()], n_more: 0 })
                }
                Need::Files { .. } if open => {
                    let todo = json!({"id": "1", "subject": "port it", "status": "pending"});
                    Found::Files(vec![("1.json".to_owned(), todo.to_string())])
                }
                Need::Files { .. } => Found::Files(Vec::new()),
                _ => continue,
            };
            self.0.facts.insert(need, found);
        }
        self.0.told(&event)
    }

    fn stop(&mut self, again: bool, open: bool) -> Outcome {
        self.happen(EventKind::Stop, MAIN, stopping(again), open)
    }

    fn before(&mut self, actor: Actor, call: ToolCall) -> Outcome {
        self.happen(EventKind::PreToolUse, actor, Detail::ToolBefore { call }, false)
    }

    fn logs(&self) -> bool {
        self.0.effects.iter().any(|effect| matches!(effect, Effect::SessionLog { .. }))
    }
}

const MAIN: Actor = Actor::Main { kind: None };

fn scout() -> Actor {
    Actor::Subagent { id: SafeId::new("a1").unwrap(), kind: "scout".to_owned() }
}

fn stopping(again: bool) -> Detail {
    Detail::Stop { again, last_message: None, n_background_tasks: 0, transcript: None }
}

fn call(name: &str, class: ToolClass, file: Option<&str>) -> ToolCall {
    ToolCall {
        name: name.to_owned(),
        class,
        use_id: None,
        files: file.map(str::to_owned).into_iter().collect(),
        command: None,
        input: "{}".to_owned(),
        ..ToolCall::default()
    }
}

/// The profiles whose promises a session sees kept, one line per promise.
fn kept(scene: &mut Scene) -> Vec<(&'static str, &'static str, bool)> {
    let mut out = Vec::new();
    let start = Detail::SessionStart { source: StartSource::Startup, model: None };
    let begun = scene.happen(EventKind::SessionStart, MAIN, start, false);
    let told = begun.verdict.context.unwrap_or_default();
    out.push(("locks", "a session begins with the project", told.contains("Project structure")));
    out.push(("reminders", "it is told where its logs are", told.contains("[SessionStart]")));
    out.push(("reminders", "its start is logged", scene.logs()));

    let spawned = scene.happen(EventKind::SubagentStart, scout(), Detail::Plain, false);
    let told = spawned.verdict.context.unwrap_or_default();
    let is_told = told.contains(".claude/scratchpad/scout/");
    out.push(("scratchpad", "a subagent is told where to write", is_told));
    out.push(("reminders", "a subagent is told where its logs are", told.contains("agent=a1")));
    scene.before(scout(), call("Read", ToolClass::Read, None));
    let held = scene.happen(EventKind::SubagentStop, scout(), stopping(false), false);
    let why = held.verdict.block.unwrap_or_default();
    out.push(("scratchpad", "it can't end without writing", why.contains("What I did")));
    out.push(("reminders", "it is asked to check", why.contains("check your own work")));

    scene.before(MAIN, call("Edit", ToolClass::Edit, Some("/repo/src/a.rs")));
    let is_shown = scene.0.effects.iter().any(|effect| matches!(effect, Effect::Mirror { .. }));
    out.push(("locks", "a lease is mirrored", is_shown));

    let first = scene.stop(false, true).verdict.block.unwrap_or_default();
    assert_eq!(first.matches("1 incomplete task(s)").count(), 1, "{first}");
    out.push(("reminders", "a turn ends with a look back", first.contains("a short look back")));
    let second = scene.stop(true, true).verdict.block.unwrap_or_default();
    let insists = second.contains("1 incomplete task(s)");
    out.push(("persistent", "open to-dos hold as long as they last", insists));
    out.push((
        "persistent",
        "a turn waits for mail",
        scene.stop(true, false).verdict.wait.is_some(),
    ));

    let caller = Caller {
        session: Some("s1".to_owned()),
        inside_client: true,
        project: "/repo".to_owned(),
        cwd: "/repo".to_owned(),
        ..Caller::default()
    };
    let effort = scene.0.call(&caller, &["effort", "start"], json!({"skill": "implement"}));
    out.push(("engine", "a skill is an effort", effort.is_ok()));
    let refused = |outcome: &Outcome| match &outcome.verdict.permission {
        Some(Permission::Deny { reason }) => reason.contains("substrate effort log"),
        _ => false,
    };
    let calls: Vec<bool> = (0..10)
        .map(|_| refused(&scene.before(MAIN, call("Read", ToolClass::Read, None))))
        .collect();
    out.push(("engine", "the tenth call without a log is refused", calls[9] && !calls[8]));
    out
}

#[test]
fn every_promise_holds_beside_those_of_two_other_profiles() {
    let mut n = 0;
    for (at, first) in SEEDS.iter().enumerate() {
        for second in &SEEDS[at + 1..] {
            for third in SEEDS.iter().filter(|third| ![first, second].contains(third)) {
                let user = format!("profile = [\"{first}\", \"{second}\"]");
                let mut scene = Scene::new(&user, &format!("profile = \"{third}\""));
                for (profile, promise, is_kept) in kept(&mut scene) {
                    let is_asked = [first, second, third].contains(&&profile);
                    assert_eq!(is_kept, is_asked, "{profile}: {promise}; {user}, {third}");
                    n += 1;
                }
            }
        }
    }
    assert_eq!(n, 30 * 13);
    for (user, project) in [("profile = \"all\"", ""), ("", "profile = \"all\"")] {
        let kept = kept(&mut Scene::new(user, project));
        assert!(kept.iter().all(|(.., is_kept)| *is_kept), "{kept:?}");
    }
}
