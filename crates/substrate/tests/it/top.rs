//! `substrate top` in a real terminal, with a real daemon.

use substrate_testkit::{TestEnv, wait_until};

use crate::house::{SOON, daemon_pid, signal};
use crate::pane::Pane;

/// Starts it in the pane. Returns its pid.
fn start(env: &TestEnv, pane: &Pane<'_>, flags: &str) -> u32 {
    let file = env.project().join("top.pid");
    let _none_yet = std::fs::remove_file(&file);
    pane.line(&format!("sh -c 'echo $$ > {}; exec substrate top {flags}'", file.display()));
    pane.wait(" 1 Needs you");
    std::fs::read_to_string(&file).unwrap().trim().parse().unwrap()
}

/// The shell is back, and shows what is typed.
fn is_back(pane: &Pane<'_>, n: u32) {
    wait_until(SOON, "the usual screen", || pane.state("alternate_on") == "0");
    pane.line(&format!("stty -a | grep -o ' echo ' ; echo back-{n}"));
    pane.wait(&format!("back-{n}"));
    let screen = pane.screen();
    assert!(screen.contains("\n echo"), "{screen}");
    assert_eq!(pane.state("cursor_flag"), "1");
}

/// Processor time of a process, in ticks of 10 ms.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn it_follows_the_fleet_through_the_end_of_the_daemon_and_gives_the_terminal_back() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    env.substrate(["send", "User", "Which port?"]).success();
    let pane = Pane::start(&env);
    let pid = start(&env, &pane, "");
    assert_eq!(pane.state("alternate_on"), "1");
    pane.wait(" 1 Needs you 1");
    // A change shows by itself.
    env.substrate(["send", "User", "And which host?"]).success();
    pane.wait(" 1 Needs you 2");
    // Nothing happens, and nothing is done.
    let before = ticks(pid);
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert!(ticks(pid) - before <= 3, "{} ticks in 3 s", ticks(pid) - before);
    // The daemon is killed. It says so, and goes on with the next one.
    signal(&env, "-KILL", daemon_pid(&env));
    wait_until(SOON, "the word", || pane.screen().contains("no daemon for"));
    assert!(pane.screen().contains("Which port?"), "what it had stays: {}", pane.screen());
    env.substrate(["send", "User", "Third"]).success();
    pane.wait(" 1 Needs you 3");
    assert!(!pane.screen().contains("no daemon"), "{}", pane.screen());
    env.substrate(["daemon", "restart"]).success();
    env.substrate(["send", "User", "Fourth"]).success();
    pane.wait(" 1 Needs you 4");
    // A reply goes out.
    pane.keys("r");
    pane.line("443, please");
    wait_until(SOON, "the reply", || pane.screen().contains("Sent #5"));
    pane.keys("6");
    wait_until(SOON, "the journal", || pane.screen().contains("No events yet."));
    pane.keys("3");
    pane.resize("200", "50");
    wait_until(SOON, "the wide screen", || {
        pane.screen().lines().any(|line| line.contains("subject") && line.contains("───"))
    });
    pane.keys("q");
    is_back(&pane, 1);
}

#[test]
fn a_signal_and_control_c_give_the_terminal_back() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let pane = Pane::start(&env);
    for (n, name) in ["-TERM", "-HUP", "-INT"].into_iter().enumerate() {
        let pid = start(&env, &pane, "");
        signal(&env, name, pid);
        is_back(&pane, u32::try_from(n).unwrap());
    }
    start(&env, &pane, "");
    pane.keys("C-c");
    is_back(&pane, 9);
}

/// Its memory is used up, so that the thread which would send a reply can't begin.
#[test]
fn a_panic_gives_the_terminal_back_and_is_readable() {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    env.substrate(["send", "User", "Which port?"]).success();
    let pane = Pane::start(&env);
    let pid = start(&env, &pane, "");
    pane.wait(" 1 Needs you 1");
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap();
    let pages: u64 = statm.split(' ').next().unwrap().parse().unwrap();
    // Room for small things, and not for the stack of a thread.
    let most = pages * 4_096 + (1 << 20);
    let limit = Rlimit { current: Some(most), maximum: Some(most) };
    prlimit(Pid::from_raw(pid.cast_signed()), Resource::As, limit).unwrap();
    pane.keys("r");
    pane.line("443, please");
    wait_until(SOON, "the panic", || pane.screen().contains("panicked at"));
    is_back(&pane, 1);
}

/// What the view has not loaded is found all the same.
#[test]
fn a_search_asks_the_daemon() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let send = ["send", "--to", "User", "--subject", "Which port?", "--body", "a needle"];
    env.substrate(send).success();
    let pane = Pane::start(&env);
    start(&env, &pane, "");
    pane.wait(" 1 Needs you 1");
    pane.keys("6");
    wait_until(SOON, "the journal", || pane.screen().contains("No events yet."));
    pane.keys("/");
    pane.line("port needle");
    let is_found = |screen: &str| screen.contains("1 found") && screen.contains("Which port?");
    wait_until(SOON, "the hit", || is_found(&pane.screen()));
    pane.keys("Escape");
    wait_until(SOON, "the journal", || pane.screen().contains("No events yet."));
    pane.keys("q");
    is_back(&pane, 1);
}

#[test]
fn inline_it_leaves_what_is_on_the_screen() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    env.substrate(["send", "User", "Which port?"]).success();
    let pane = Pane::start(&env);
    pane.line("echo what was here");
    pane.wait("what was here");
    start(&env, &pane, "--inline");
    pane.wait(" 1 Needs you 1");
    assert_eq!(pane.state("alternate_on"), "0");
    assert!(pane.screen().contains("\nwhat was here"), "{}", pane.screen());
    pane.keys("q");
    is_back(&pane, 1);
    let screen = pane.screen();
    assert!(screen.contains("\nwhat was here") && !screen.contains("1 Needs you"), "{screen}");
}

#[test]
fn without_a_terminal_it_names_the_commands_that_print() {
    let env = TestEnv::new();
    let said = env.substrate(["top"]).code(1).stderr;
    assert!(said.contains("needs a terminal") && said.contains("`substrate needs`"), "{said}");
}
