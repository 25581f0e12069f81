//! Edits, signs of life, ends, crashes, ticks and restarts in any order, compared with a model of who holds what. A file
//! never has two holders, a holder is never refused, and no lease outlives its holder by more than the time to live.

use std::collections::BTreeMap;

use super::*;
use crate::identity::holder::Pulses;
use crate::locks::{leases, release::tick};
use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

const ACTORS: [One; 4] = [LION, CODER, TESTER, OTTER];
const FILES: [&str; 4] = ["a.rs", "b.rs", "src/c.rs", "src/d.rs"];
const TTL: i64 = 10 * MINUTE;

/// Each is longer than the 15 seconds to which the last sign of life is accurate.
const STEPS: [i64; 4] = [20 * SECOND, 61 * SECOND, 9 * MINUTE, 11 * MINUTE];

#[derive(Clone, Debug)]
enum Step {
    Edit(usize, usize),
    Edited(usize, usize),
    Failed(usize, usize),
    Reads(usize),
    Stop(usize),
    End(&'static str),
    Crash(&'static str),
    Return(&'static str),
    Pass(i64),
    Tick,
    Restart,
}

#[derive(Clone, Debug, Default)]
struct Life {
    last: i64,
    has_ended: bool,
}

/// A session, and the process that it runs in.
#[derive(Clone, Debug, Default)]
struct Session {
    life: Life,
    began: i64,
    is_running: bool,
}

#[derive(Clone, Debug)]
struct Held {
    by: usize,
    is_provisional: bool,
    expires: i64,
    began: i64,
}

/// The expected state.
#[derive(Clone, Debug, Default)]
struct Model {
    now: i64,
    sessions: BTreeMap<&'static str, Session>,
    subs: BTreeMap<usize, Life>,
    held: BTreeMap<usize, Held>,
    /// Whether the last step was a refused edit.
    is_denied: bool,
}

impl Model {
    fn session(&mut self, of: usize) -> &mut Session {
        self.sessions.entry(ACTORS[of].0).or_default()
    }

    /// Every event is a sign of life of its session and actor.
    fn heard(&mut self, actor: usize) {
        let life = Life { last: self.now, has_ended: false };
        self.session(actor).life = life.clone();
        if ACTORS[actor].1.is_some() {
            self.subs.insert(actor, life);
        }
    }

    fn is_alive(&self, held: &Held) -> bool {
        let One(session, sub) = ACTORS[held.by];
        let session = &self.sessions[session];
        let life = if sub.is_some() { &self.subs[&held.by] } else { &session.life };
        let is_there = session.is_running && session.began == held.began;
        let renewed = if held.is_provisional { 0 } else { life.last + TTL };
        let is_over = session.life.has_ended || life.has_ended;
        is_there && !is_over && held.expires.max(renewed) > self.now
    }

    fn owner(&self, file: usize) -> Option<&Held> {
        self.held.get(&file).filter(|held| self.is_alive(held))
    }

    fn take(&mut self, by: usize, file: usize, is_provisional: bool) {
        let began = self.session(by).began;
        let ms = if is_provisional { MINUTE } else { TTL };
        let held = Held { by, is_provisional, expires: self.now + ms, began };
        self.held.insert(file, held);
    }

    /// Before or after an edit. Returns whether it is refused.
    fn edit(&mut self, by: usize, file: usize, is_provisional: bool) -> bool {
        self.heard(by);
        let now = self.now;
        match self.owner(file).map(|held| held.by) {
            Some(other) if other != by => return true,
            Some(_) => {
                let held = self.held.get_mut(&file).unwrap();
                // Prolonged only when half over, so a second try has at least half a minute.
                if is_provisional && held.is_provisional {
                    if held.expires - now < MINUTE / 2 {
                        held.expires = now + MINUTE;
                    }
                } else if !is_provisional {
                    held.is_provisional = false;
                    held.expires = held.expires.max(now + TTL);
                }
            }
            None => self.take(by, file, is_provisional),
        }
        false
    }
}

struct Machine;

impl ReferenceStateMachine for Machine {
    type State = Model;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Model> {
        let mut model = Model { now: 1_800_000_000_000, ..Model::default() };
        for name in ["lion", "otter"] {
            let life = Life { last: model.now, has_ended: false };
            model.sessions.insert(name, Session { life, began: 1, is_running: true });
        }
        Just(model).boxed()
    }

    fn transitions(_: &Model) -> BoxedStrategy<Step> {
        let both = || (0..ACTORS.len(), 0..FILES.len());
        let session = || prop::sample::select(vec!["lion", "otter"]);
        prop_oneof![
            8 => both().prop_map(|(actor, file)| Step::Edit(actor, file)),
            8 => both().prop_map(|(actor, file)| Step::Edited(actor, file)),
            2 => both().prop_map(|(actor, file)| Step::Failed(actor, file)),
            3 => (0..ACTORS.len()).prop_map(Step::Reads),
            3 => (0..ACTORS.len()).prop_map(Step::Stop),
            1 => session().prop_map(Step::End),
            1 => session().prop_map(Step::Crash),
            2 => session().prop_map(Step::Return),
            5 => prop::sample::select(STEPS.to_vec()).prop_map(Step::Pass),
            2 => Just(Step::Tick),
            1 => Just(Step::Restart),
        ]
        .boxed()
    }

    fn preconditions(model: &Model, step: &Step) -> bool {
        match step {
            Step::Edit(actor, _)
            | Step::Edited(actor, _)
            | Step::Failed(actor, _)
            | Step::Reads(actor)
            | Step::Stop(actor) => model.sessions[ACTORS[*actor].0].is_running,
            Step::End(name) | Step::Crash(name) => model.sessions[name].is_running,
            Step::Return(name) => !model.sessions[name].is_running,
            Step::Pass(_) | Step::Tick | Step::Restart => true,
        }
    }

    fn apply(mut model: Model, step: &Step) -> Model {
        model.is_denied = false;
        match *step {
            Step::Edit(actor, file) => model.is_denied = model.edit(actor, file, true),
            Step::Edited(actor, file) => {
                model.edit(actor, file, false);
            }
            Step::Failed(actor, file) => {
                model.heard(actor);
                model
                    .held
                    .retain(|at, held| *at != file || held.by != actor || !held.is_provisional);
            }
            Step::Reads(actor) => model.heard(actor),
            Step::Stop(actor) => {
                model.heard(actor);
                model.held.retain(|_, held| held.by != actor);
                if let Some(sub) = model.subs.get_mut(&actor) {
                    sub.has_ended = true;
                }
            }
            Step::End(name) => {
                model.held.retain(|_, held| ACTORS[held.by].0 != name);
                model.sessions.get_mut(name).unwrap().life.has_ended = true;
                for (_, sub) in model.subs.iter_mut().filter(|(of, _)| ACTORS[**of].0 == name) {
                    sub.has_ended = true;
                }
            }
            Step::Crash(name) => model.sessions.get_mut(name).unwrap().is_running = false,
            Step::Return(name) => {
                let began = model.sessions[name].began + 1;
                let life = Life { last: model.now, has_ended: false };
                model.sessions.insert(name, Session { life, began, is_running: true });
            }
            Step::Pass(ms) => model.now += ms,
            Step::Tick => {
                let alive = model.clone();
                model.held.retain(|_, held| alive.is_alive(held));
            }
            Step::Restart => {}
        }
        model
    }
}

impl StateMachineTest for Machine {
    type SystemUnderTest = Stage;
    type Reference = Self;

    fn init_test(_: &Model) -> Stage {
        two()
    }

    fn apply(mut stage: Stage, model: &Model, step: Step) -> Stage {
        match step {
            Step::Edit(actor, file) => {
                let outcome = edit(&mut stage, ACTORS[actor], FILES[file]);
                assert_eq!(denial(&outcome).is_some(), model.is_denied, "{:?}", model.held);
            }
            Step::Edited(actor, file) => {
                edited(&mut stage, ACTORS[actor], FILES[file]);
            }
            Step::Failed(actor, file) => {
                failed(&mut stage, ACTORS[actor], FILES[file]);
            }
            Step::Reads(actor) => {
                reads(&mut stage, ACTORS[actor]);
            }
            Step::Stop(actor) => really_stop(&mut stage, ACTORS[actor]),
            Step::End(name) => end(&mut stage, One(name, None)),
            Step::Crash(name) => {
                stage.machine.processes.remove(&pid(name));
            }
            Step::Return(name) => {
                stage.machine.processes.insert(pid(name), model.sessions[name].began);
                let detail = Detail::SessionStart { source: StartSource::Resume, model: None };
                let event = event(&stage, One(name, None), EventKind::SessionStart, detail);
                stage.told(&event);
            }
            Step::Pass(ms) => stage.pass(ms),
            Step::Tick => while stage.with(|cx| tick(cx).unwrap()) {},
            Step::Restart => stage.reopen(),
        }
        let expected: Vec<_> = (0..FILES.len())
            .filter_map(|file| Some((file, model.owner(file)?)))
            .map(|(file, held)| (FILES[file].to_owned(), ACTORS[held.by], held.is_provisional))
            .collect();
        assert_eq!(living(&mut stage), expected);
        stage
    }
}

fn pid(session: &str) -> u32 {
    if session == "lion" { 10 } else { 20 }
}

/// The live leases: file, holder, and whether they are provisional.
fn living(stage: &mut Stage) -> Vec<(String, One, bool)> {
    stage.with(|cx| {
        let mut out = Vec::new();
        for lease in leases::in_root(cx.db, "/repo", 100).unwrap() {
            if lease.hold.until(cx, &mut Pulses::default()).unwrap().is_some() {
                let owner = &lease.hold.holder;
                let is =
                    |one: &&One| one.0 == owner.session && one.1.unwrap_or("main") == owner.actor;
                let by = *ACTORS.iter().find(is).unwrap();
                out.push((lease.relative, by, lease.hold.is_provisional));
            }
        }
        out.sort_by(|a: &(String, One, bool), b| a.0.cmp(&b.0));
        out
    })
}

prop_state_machine! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_file_always_has_at_most_one_holder(sequential 1..60 => Machine);
}
