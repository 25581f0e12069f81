//! Waiting agents: what they cost, and how fast they are reached.

use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use ipc::{Conn, Kind};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use super::{Console, PATIENCE};
use crate::dist::Dist;
use crate::frames::Caller;
use crate::sandbox::{Autostart, Sandbox};
use crate::say::{Judgement, Table};
use crate::stats::{Rng, Times, us};
use crate::{journal, payload, proc, procfs};

const MAX_RSS_KB: u64 = 20 << 10;
const N_WAKES: usize = 1_000;
const MAX_WAKE: f64 = 1.5;
const MAX_DELIVERY: f64 = 2.0;
const MAX_HOOK: f64 = 1.1;

pub(super) fn measure(dist: &Dist, n: usize, table: &mut Table) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    let sandbox = Sandbox::new(dist, Autostart::Off)?;
    let pid = sandbox.start_daemon()?;
    let state = sandbox.state();
    let mut env = payload::environment(&sandbox.path("project"))?;
    env.retain(|(name, _)| name != "CLAUDE_CODE_SESSION_ATTENDED" && name != "AGENT_ID");
    env.push(("CLAUDE_CODE_SESSION_ATTENDED".to_owned(), "1".to_owned()));
    let caller = Caller::new(&env);
    let before = hooks(&caller, &state)?;
    for at in 0..n {
        stop(&caller, &state, at)?;
    }
    let known = procfs::rss_kb(pid).context("the daemon is gone")?;
    table.figure(format!("daemon's memory with {n} agents that don't wait"), format!("{known} KB"));
    let mut parked: Vec<Conn> =
        (0..n).map(|at| park(&caller, &state, at)).collect::<Result<_>>()?;
    std::thread::sleep(Duration::from_secs(1));
    let rss = procfs::rss_kb(pid).context("the daemon is gone")?;
    let ok = Judgement::of(rss <= MAX_RSS_KB);
    let bar = format!("≤ {MAX_RSS_KB} KB");
    table.row(format!("daemon's memory with {n} waiters"), format!("{rss} KB"), bar, ok);
    let beside = hooks(&caller, &state)?;
    let ratio = beside.p50().as_secs_f64() / before.p50().as_secs_f64();
    let ok = Judgement::of(ratio <= MAX_HOOK);
    let bar = format!("≤ {MAX_HOOK} ×");
    table.row("one event beside them ÷ before", format!("{ratio:.2} ×"), bar, ok);
    wakes(&sandbox, &caller, &mut parked, table)
}

/// A session stops.
fn stop(caller: &Caller, state: &Path, at: usize) -> Result<()> {
    let answered = caller.ask_as(state, b"claude-code\0Stop\0", &payload::stop(&session(at)));
    answered.map(drop).map_err(|error| anyhow!("Stop {at} was not answered: {error:?}"))
}

/// A session that has stopped, and its waiter.
fn park(caller: &Caller, state: &Path, at: usize) -> Result<Conn> {
    stop(caller, state, at)?;
    let mut conn = Conn::open(state, PATIENCE).ok().context("not connected")?;
    let head = caller.head_of(b"claude-code\0Stop\0--wake\0");
    conn.send(Kind::Hook, [&head, &payload::stop(&session(at))], PATIENCE)
        .ok()
        .context("not sent")?;
    let (kind, _) = conn.receive(PATIENCE).ok().context("no answer")?;
    ensure!(kind == Kind::Wait, "the waiter was not parked but got {kind:?}");
    Ok(conn)
}

fn session(at: usize) -> String {
    format!("7ac89518-7bff-44f2-b7cc-{at:012}")
}

/// Single events, one after the other.
fn hooks(caller: &Caller, state: &Path) -> Result<Times> {
    let mut times = Vec::new();
    for n in 0..2_000 {
        let payload = payload::pre_tool_use(&format!("toolu_{n}"), "Write", 2 << 10);
        let begun = Instant::now();
        caller.ask(state, &payload).ok().context("not answered")?;
        times.push(begun.elapsed());
    }
    Ok(Times::of(times))
}

/// Sends to one waiter after the other, and measures the time until it is told.
fn wakes(sandbox: &Sandbox, caller: &Caller, parked: &mut [Conn], table: &mut Table) -> Result<()> {
    let state = sandbox.state();
    let names = names(sandbox)?;
    let mut line = Console::open(&state)?;
    let mut rng = Rng::new(7);
    let (mut pings, mut shells, mut wakes, mut deliveries) = (vec![], vec![], vec![], vec![]);
    for round in 0..N_WAKES {
        pings.push(ping(&state)?);
        if round % 3 == 0 {
            let mut command = sandbox.command("sh");
            shells.push(proc::feed(command.args(["-c", "/bin/true"]), b"")?.took);
        }
        let at = rng.below(parked.len());
        let name = names.get(&session(at)).context("an agent without a name")?;
        let mut conn = std::mem::replace(&mut parked[at], park_nothing(&state)?);
        let (tell, told) = mpsc::channel();
        let waiting = std::thread::spawn(move || {
            let woken = conn.receive(PATIENCE).ok().map(|(kind, _)| (kind, Instant::now()));
            let _main_gone = tell.send(woken);
            // Like the hook: it has printed, confirms that, and says that it goes. Without that it counts as killed, and
            // the mail is told again.
            let heard =
                conn.send(Kind::Printed, [], PATIENCE).and_then(|()| conn.receive(PATIENCE));
            heard.and_then(|_| conn.send(Kind::Leaving, [], PATIENCE)).is_ok()
        });
        std::thread::sleep(Duration::from_micros(200));
        let begun = Instant::now();
        line.call(
            &["send"],
            &json!({"to": [name], "subject": format!("wake {round}"), "body": "now"}),
        )?;
        let sent = Instant::now();
        let (kind, woken) = told.recv()?.context("the waiter was not woken")?;
        ensure!(kind == Kind::Confirm, "the waiter got {kind:?}");
        wakes.push(woken.saturating_duration_since(sent));
        deliveries.push(woken.saturating_duration_since(begun));
        ensure!(waiting.join().unwrap_or(false), "the receipt was not taken");
        parked[at] = park(caller, &state, at)?;
    }
    let (pings, shells) = (Times::of(pings), Times::of(shells));
    let (wakes, deliveries) = (Times::of(wakes), Times::of(deliveries));
    table.figure("ping p50, p99", format!("{}, {}", us(pings.p50()), us(pings.permille(990))));
    table.figure(
        "send's ack → waiter told p50, p99",
        format!("{}, {}", us(wakes.p50()), us(wakes.permille(990))),
    );
    let ratio = wakes.permille(990).as_secs_f64() / pings.permille(990).as_secs_f64();
    let bar = format!("≤ {MAX_WAKE} ×");
    table.row(
        "wake p99 ÷ ping p99",
        format!("{ratio:.2} ×"),
        bar,
        Judgement::of(ratio <= MAX_WAKE),
    );
    let ratio = deliveries.p50().as_secs_f64() / shells.p50().as_secs_f64();
    let bar = format!("≤ {MAX_DELIVERY} ×");
    let words = format!("{ratio:.2} × ({})", us(deliveries.p50()));
    table.row(
        "send → delivered ÷ sh -c /bin/true",
        words,
        bar,
        Judgement::of(ratio <= MAX_DELIVERY),
    );
    Ok(())
}

/// A placeholder while the real connection is in use.
fn park_nothing(state: &Path) -> Result<Conn> {
    Conn::open(state, PATIENCE).ok().context("not connected")
}

fn ping(state: &Path) -> Result<Duration> {
    let begun = Instant::now();
    let mut conn = Conn::open(state, PATIENCE).ok().context("no daemon")?;
    conn.send(Kind::Control, [br#"{"do":"ping"}"#], PATIENCE).ok().context("not sent")?;
    conn.receive(PATIENCE).ok().context("no answer")?;
    Ok(begun.elapsed())
}

/// The agent of each session.
fn names(sandbox: &Sandbox) -> Result<HashMap<String, String>> {
    let conn = journal::open(&sandbox.database())?;
    let mut statement = conn.prepare(
        "select s.session, a.name from agent_sessions s join agents a on a.id = s.agent",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
