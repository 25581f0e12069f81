//! Whatever breaks, the agent goes on, nothing is lost, and the failure is reported.

use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use ipc::{Conn, Kind, Reply};
use rstest::rstest;
use substrate_testkit::{Run, Running, TestEnv, bin, wait_until, write_file};

use crate::house::{DENY, SOON, bash, bytes, configure, daemon_pid, journal, plain, rule, signal};

/// A hook's whole deadline, and what a busy machine adds.
const DEADLINE: Duration = Duration::from_secs(13);

/// Runs a hook and checks its deadline.
fn timed(env: &TestEnv, session: &str) -> (Run, Duration) {
    let begun = Instant::now();
    let run = env.hook("PreToolUse", bash(session, "ls"));
    let took = begun.elapsed();
    assert!(took < DEADLINE, "the hook took {took:?}");
    (run, took)
}

fn denied(run: Run) {
    let out = run.success();
    assert!(out.contains("\"permissionDecision\":\"deny\"") && out.contains("not here"), "{out}");
}

#[test]
fn a_killed_daemon_is_replaced_and_guards_hold() {
    let env = TestEnv::new();
    configure(&env, DENY);
    env.substrate(["daemon", "start"]).success();
    let pid = daemon_pid(&env);
    denied(timed(&env, "before").0);
    signal(&env, "-KILL", pid);
    denied(timed(&env, "after").0);
    wait_until(SOON, "a new daemon runs", || env.substrate(["daemon", "status"]).status == Some(0));
    assert_ne!(daemon_pid(&env), pid);
    denied(timed(&env, "again").0);
    let hosts: Vec<_> =
        journal(&env).iter().map(|entry| entry["host"].as_str().unwrap().to_owned()).collect();
    assert_eq!(hosts, ["daemon", "daemon", "daemon"], "one writer");
}

#[test]
fn a_frozen_daemon_is_replaced_and_nothing_of_it_comes_back() {
    let env = TestEnv::new();
    configure(&env, DENY);
    env.substrate(["daemon", "start"]).success();
    let old = daemon_pid(&env);
    signal(&env, "-STOP", old);
    denied(timed(&env, "first").0);
    for n in 0..3 {
        denied(timed(&env, &format!("next{n}")).0);
    }
    assert_ne!(daemon_pid(&env), old);
    let stat = std::fs::read_to_string(format!("/proc/{old}/stat")).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "the frozen one was ended: {stat}");
    let entries = journal(&env);
    let sessions: Vec<_> = entries.iter().map(|entry| entry["session"].as_str().unwrap()).collect();
    assert_eq!(sessions, ["first", "next0", "next1", "next2"], "each exactly once");
    let trace = String::from_utf8(bytes(&env.state().join("logs/hook-trace.log"))).unwrap();
    assert!(trace.contains("replaced a daemon that did not answer"), "{trace}");
}

#[test]
fn a_command_replaces_a_frozen_daemon_too() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let old = daemon_pid(&env);
    signal(&env, "-STOP", old);
    env.substrate(["send", "--to", "User", "--subject", "hi", "--body", "x"]).success();
    assert_ne!(daemon_pid(&env), old);
}

/// Holds the database with a transaction of another program, until it is dropped.
struct Holder(std::process::Child);

impl Holder {
    fn begin(env: &TestEnv) -> Self {
        let hold = "import sqlite3,sys,time; c=sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('begin immediate'); print('held', flush=True); time.sleep(60)";
        Self::run(env, hold)
    }

    /// Runs a program on the database, and returns once it holds the database.
    fn run(env: &TestEnv, hold: &str) -> Self {
        let mut holder = env.command("python3");
        holder.args(["-c", hold, &substrate_store_path(env)]).stdout(std::process::Stdio::piped());
        let mut holder = holder.spawn().unwrap();
        let mut out = std::io::BufReader::new(holder.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut String::new()).unwrap();
        Self(holder)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_database_that_another_program_holds_stops_no_guard() {
    let env = TestEnv::new();
    configure(&env, DENY);
    timed(&env, "first").0.success();
    {
        let _holder = Holder::begin(&env);
        denied(timed(&env, "meanwhile").0);
    }
    denied(timed(&env, "after").0);
    wait_until(SOON, "the database is used again", || {
        timed(&env, "again").0.success();
        journal(&env).iter().any(|entry| entry["session"] == "again")
    });
}

/// Takes all reader slots in the database's log, until it is dropped: a reader waits for one.
fn keeps_readers_out(env: &TestEnv) -> Holder {
    let hold = "import fcntl,sys,time; f=open(sys.argv[1]+'-shm', 'r+b'); fcntl.lockf(f, fcntl.LOCK_EX, 5, 123); print('held', flush=True); time.sleep(60)";
    Holder::run(env, hold)
}

/// The reader takes longer than a daemon may sleep while a request waits for it.
#[test]
fn a_daemon_whose_reader_is_slow_is_not_frozen() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let daemon = daemon_pid(&env);
    let holder = keeps_readers_out(&env);
    let begun = Instant::now();
    let mut command = env.command(bin("substrate"));
    command.args(["journal", "list"]);
    let mut reader = Running::start(command, Vec::new());
    wait_until(SOON, "it has waited long", || begun.elapsed() > Duration::from_millis(2_500));
    assert!(reader.is_running(), "it waits for the database");
    drop(holder);
    reader.finish(SOON).success();
    assert_eq!(daemon_pid(&env), daemon, "the same one");
    let trace = String::from_utf8(bytes(&env.state().join("logs/hook-trace.log"))).unwrap();
    assert!(!trace.contains("replaced a daemon"), "{trace}");
}

#[test]
fn a_daemon_makes_a_new_socket_as_soon_as_a_hook_misses_it() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let pid = daemon_pid(&env);
    std::fs::remove_file(env.state().join("daemon.sock")).unwrap();
    timed(&env, "without").0.success();
    assert_eq!(daemon_pid(&env), pid, "the same daemon, and only one");
    assert_eq!(journal(&env).len(), 1);
}

#[test]
fn a_socket_that_accepts_and_says_nothing_stops_no_agent() {
    let env = TestEnv::new();
    configure(&env, DENY);
    let silent = UnixListener::bind(env.state().join("daemon.sock")).unwrap();
    denied(timed(&env, "a").0);
    drop(silent);
    denied(timed(&env, "b").0);
    let sessions: Vec<_> = journal(&env).iter().map(|entry| entry["session"].clone()).collect();
    assert_eq!(sessions, ["a", "b"]);
}

/// The daemon dies after it has sent an answer and before the hook reports that it printed it. The next one is told.
#[rstest]
#[case::by_the_hook(0)]
#[case::by_what_it_became(1)]
fn what_was_printed_is_reported_to_the_next_daemon(#[case] n_deaths_before: usize) {
    let env = TestEnv::new();
    let listener = UnixListener::bind(env.state().join("daemon.sock")).unwrap();
    listener.set_nonblocking(true).unwrap();
    let mut command = env.command(bin("substrate-hook"));
    command.args(["claude-code", "UserPromptSubmit"]);
    let hook = Running::start(command, plain("a", "UserPromptSubmit").to_string().into_bytes());
    let next = || {
        let mut asking = None;
        wait_until(SOON, "the hook asks", || {
            asking = listener.accept().ok();
            asking.is_some()
        });
        let (stream, _) = asking.unwrap();
        let mut conn = Conn::inherited(OwnedFd::from(stream.try_clone().unwrap()));
        let (kind, body) = conn.receive(SOON).unwrap();
        (stream, conn, kind, body)
    };
    for _ in 0..n_deaths_before {
        assert_eq!(next().2, Kind::Hook);
    }
    let (stream, conn, kind, asked) = next();
    assert_eq!(kind, Kind::Hook);
    // From here on it hears nothing more.
    stream.shutdown(Shutdown::Read).unwrap();
    let reply = Reply { exit: 0, stdout: b"{}", stderr: b"" };
    conn.send(Kind::Confirm, [&reply.bytes()], SOON).unwrap();
    drop((stream, conn));

    let (_stream, mut conn, kind, request) = next();
    assert_eq!(kind, Kind::Printed);
    assert_eq!(request, ipc::HookRequest::read(&asked).unwrap().id);
    conn.send(Kind::Reply, [&Reply::default().bytes()], SOON).unwrap();
    assert_eq!(conn.receive(SOON).unwrap().0, Kind::Leaving);
    assert_eq!(hook.finish(SOON).success(), "{}");
}

#[test]
fn a_file_in_the_sockets_place_stops_no_agent() {
    let env = TestEnv::new();
    write_file(&env.state().join("daemon.sock"), b"not a socket");
    timed(&env, "a").0.success();
    timed(&env, "b").0.success();
    assert_eq!(journal(&env).len(), 2);
}

#[test]
fn a_damaged_database_is_left_alone_and_told() {
    let env = TestEnv::new();
    let garbage = vec![0x5a; 20_000];
    write_file(&env.state().join("subtrate.db"), &garbage);
    let (run, _) = timed(&env, "a");
    let told = run.success();
    assert!(told.contains("systemMessage") && told.contains("damaged"), "{told}");
    assert_eq!(timed(&env, "a").0.success(), "", "told once");
    let told = env.substrate(["journal"]).code(4);
    assert!(told.stderr.contains("damaged") && told.stderr.contains("hint: "), "{}", told.stderr);
    env.substrate(["db", "check"]).code(4);
    let listed = env.substrate(["locks", "list"]).success();
    assert!(listed.starts_with("In memory only, because the database can't be used ("), "{listed}");
    for verb in [&["locks", "list"][..], &["agent", "list", "--all"]] {
        let listed = env.substrate(verb.iter().chain(&["--format", "json"])).success();
        let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
        let one = listed.get(0).unwrap_or(&listed);
        let why = one["in_memory_only"].as_str().unwrap_or_default();
        assert!(why.contains("damaged") || why.contains("not a database"), "{verb:?}: {listed}");
    }
    assert!(bytes(&env.state().join("subtrate.db")) == garbage, "the file was changed");
    let trace = String::from_utf8(bytes(&env.state().join("logs/hook-trace.log"))).unwrap();
    assert!(trace.contains("damaged"), "doctor finds a trace: {trace}");
}

#[test]
fn a_newer_database_is_refused_in_words() {
    let env = TestEnv::new();
    env.hook("Stop", plain("a", "Stop")).success();
    env.substrate(["daemon", "stop"]).success();
    let db = substrate_store_path(&env);
    let sql = "insert into schema_migration values ('journal', 99, 'x', 'from the future', 0)";
    let status = env.command("python3").args(["-c", "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()", &db, sql]).status();
    assert!(status.unwrap().success());
    let told = env.hook("Stop", plain("b", "Stop")).success();
    assert!(told.contains("systemMessage") && told.contains("newer version"), "{told}");
    let told = env.substrate(["send", "--to", "User", "--subject", "s", "--body", "x"]).code(4);
    assert!(told.stderr.contains("newer version of Substrate"), "{}", told.stderr);
}

#[test]
fn a_home_that_cannot_be_written_stops_no_agent() {
    let env = TestEnv::new();
    write_file(&env.root().join("file"), b"");
    let home = env.root().join("file/state").display().to_string();
    let vars = [("SUBSTRATE_HOME", home.as_str())];
    assert_eq!(env.hook_with("Stop", plain("a", "Stop"), &vars).success(), "");
    let told = env.substrate_with(["journal"], &vars).code(4);
    assert!(told.stderr.contains("hint: "), "{}", told.stderr);
    env.substrate_with(["daemon", "start"], &vars).code(4);
}

#[test]
fn bad_settings_stop_no_agent_and_are_told_by_line() {
    let env = TestEnv::new();
    configure(&env, "[journal]\nmax_age = \"14 days\"\n[jurnal]\nx = 1\n= broken\n");
    assert_eq!(env.hook("SessionEnd", plain("a", "SessionEnd")).success(), "");
    let told = env.substrate(["config", "check"]).code(4);
    let file = env.state().join("config.toml").display().to_string();
    for line in ["2: `journal.max_age` must be a duration", "4: unknown key `jurnal.x`", "5: "] {
        assert!(
            told.stdout.contains(&format!("{file}:{line}")),
            "{line} is not in\n{}",
            told.stdout
        );
    }
    let warned = env.substrate(["journal"]).code(0);
    assert!(warned.stderr.contains("warning: "), "{}", warned.stderr);
}

#[test]
fn a_feature_that_fails_is_contained_and_recorded() {
    let env = TestEnv::new();
    let fails = rule("PreToolUse", "deny", "never").replace("\"true\"", "\"input.nothing == 1\"");
    configure(&env, &fails);
    env.substrate(["daemon", "start"]).success();
    let pid = daemon_pid(&env);
    assert_eq!(timed(&env, "a").0.success(), "");
    let entries = journal(&env);
    assert_eq!(entries[0]["failures"][0]["feature"], "guards");
    assert_eq!(entries[0]["failures"][0]["panicked"], false);
    assert_eq!(daemon_pid(&env), pid, "the daemon survives a feature that fails");
}

fn substrate_store_path(env: &TestEnv) -> String {
    env.substrate(["db", "path"]).success().trim().to_owned()
}
