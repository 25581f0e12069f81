//! Who calls: an invented client with real processes below it, which claim what they like.

use rstest::rstest;
use serde_json::{Value, json};
use substrate_testkit::{Run, Running, TestEnv, wait_until, write_file};

use crate::house::{SOON, daemon_pid, plain};

/// It reports its start as the real client does, and runs a command line in a shell as its tool does. With a second
/// word it lives until a file `done` exists.
const CLIENT: &str = r#"#!/bin/sh
export CLAUDE_PID=$$ CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=s1
printf '{"session_id":"s1","cwd":"%s","hook_event_name":"SessionStart","source":"startup"}' "$PWD" |
  AGENT_ID=Lead substrate-hook claude-code SessionStart > /dev/null
sh -c "$1" < /dev/null
code=$?
[ -z "$2" ] || while [ ! -e done ]; do sleep 0.01; done
exit $code
"#;

/// Nothing of the client's variables is left.
const BARE: &str = "env -i PATH=$PATH HOME=$HOME SUBSTRATE_HOME=$SUBSTRATE_HOME";

/// A daemon that knows Lead's client, and an agent Other with a message and a lease.
fn house() -> TestEnv {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    let path = env.project().join("claude");
    write_file(&path, CLIENT.as_bytes());
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path, mode).unwrap();
    env.substrate(["daemon", "start"]).success();
    let _none = env
        .hook_with("SessionStart", plain("s2", "SessionStart"), &[("AGENT_ID", "Other")])
        .code(0);
    inside(&env, "true").code(0);
    let send = ["send", "--to", "Other", "--subject", "for Other only", "--body", "x"];
    env.substrate(send).success();
    env.substrate(["locks", "acquire", "a.rs", "--session-id", "s2"]).success();
    env
}

/// Runs a line in the shell of Lead's client.
fn inside(env: &TestEnv, line: &str) -> Run {
    let mut client = env.command(env.project().join("claude"));
    client.arg(line);
    Running::start(client, Vec::new()).finish(SOON)
}

fn json_of(run: Run) -> Value {
    serde_json::from_str(&run.success()).unwrap()
}

/// Whom the user has mail from.
fn senders(env: &TestEnv) -> Vec<String> {
    let inbox = json_of(env.substrate(["inbox", "--format", "json"]));
    let text = inbox.to_string();
    ["Lead", "Other"]
        .into_iter()
        .filter(|name| text.contains(&format!("\"{name}\"")))
        .map(str::to_owned)
        .collect()
}

/// Other's message is unread, its lease is held, and it is still there.
fn other_is_untouched(env: &TestEnv) {
    let agents = env.substrate(["agent", "list", "--all"]).success();
    assert!(agents.contains("Other"), "{agents}");
    let locks = env.substrate(["locks", "list"]).success();
    assert!(locks.contains("a.rs") && locks.contains("Other"), "{locks}");
    let unread = env.substrate(["inbox", "--agent", "Other"]).success();
    assert!(unread.contains("for Other only"), "{unread}");
}

#[rstest]
#[case::plain("substrate")]
#[case::without_variables(&format!("{BARE} substrate"))]
#[case::in_a_session_of_its_own("setsid -w substrate")]
#[case::below_more_programs("timeout 10 nice substrate")]
fn a_command_below_a_client_is_its_agents(#[case] substrate: &str) {
    let env = house();
    let line =
        format!("{substrate} send --to User --subject hello --body x && {substrate} agent whoami");
    let said = inside(&env, &line).success();
    assert!(said.contains("Lead"), "{said}");
    assert_eq!(senders(&env), ["Lead"]);
}

#[rstest]
#[case::nohup("nohup", "", true)]
#[case::setsid("setsid -f", "", true)]
#[case::nohup_of_a_client_that_ended("nohup", "", false)]
#[case::setsid_of_a_client_that_ended("setsid -f", "", false)]
#[case::for_another_session("setsid -f", "--session-id s2", true)]
#[case::for_another_agent("nohup", "--agent Other", false)]
fn a_detached_command_is_its_agents_too(
    #[case] how: &str,
    #[case] flags: &str,
    #[case] lives: bool,
) {
    let env = house();
    // It begins when the shell that started it has ended.
    let command =
        format!("substrate send {flags} --to User --subject hello --body x 2> error; echo > done");
    let line = format!(
        "{how} sh -c 'while [ ! -e go ]; do sleep 0.01; done; {command}' > /dev/null 2>&1 &"
    );
    let mut client = env.command(env.project().join("claude"));
    client.arg(line).args(lives.then_some("stays"));
    let client = Running::start(client, Vec::new());
    if lives {
        write_file(&env.project().join("go"), b"");
        let _code = client.finish(SOON).code(0);
    } else {
        let _code = client.finish(SOON).code(0);
        write_file(&env.project().join("go"), b"");
    }
    wait_until(SOON, "the command", || env.project().join("done").exists());
    let error = std::fs::read_to_string(env.project().join("error")).unwrap();
    if flags.is_empty() {
        assert_eq!(error, "");
        assert_eq!(senders(&env), ["Lead"]);
    } else {
        assert!(error.contains("can't act for Other"), "{error}");
        assert_eq!(senders(&env), Vec::<String>::new());
    }
}

#[rstest]
#[case::reads_its_mail("inbox --session-id s2")]
#[case::reads_its_mail_by_name("inbox --agent Other")]
#[case::reads_its_mail_by_both("inbox --agent Other --session-id s2")]
#[case::releases_its_leases("locks release --all --session-id s2")]
#[case::releases_one_by_name("locks release a.rs --agent Other")]
#[case::releases_by_force("locks release --all --force")]
#[case::sends_as_it("send --to User --subject forged --body x --session-id s2")]
#[case::sends_as_it_by_name("send --to User --subject forged --body x --agent Other")]
#[case::sends_as_the_user("send --to Other --subject forged --body x --agent User")]
#[case::deletes_it("agent delete Other")]
#[case::deletes_it_as_itself("agent delete Other --session-id s2")]
#[case::renames_it("identity rename Mine --session-id s2")]
#[case::keeps_it_alive("heartbeat --session-id s2")]
#[case::takes_its_name("identity restore --session-id s9 --agent Other")]
#[case::makes_a_session("identity ensure --session-id s9")]
fn no_agent_acts_for_another(#[case] command: &str) {
    let env = house();
    for before in ["", BARE, "CLAUDE_PID=1 CLAUDECODE= AGENT_ID=Other"] {
        let refused = inside(&env, &format!("{before} substrate {command}")).code(1);
        let says = |words: &str| refused.stderr.contains(words);
        assert!(
            says("can't act for") || says("only") || says("has no agent yet"),
            "{command}: {refused}"
        );
        assert!(says("hint: ") && refused.stdout.is_empty(), "{refused}");
    }
    let session = inside(&env, "CLAUDE_CODE_SESSION_ID=s2 substrate inbox").code(1);
    assert!(
        session.stderr.contains("this command runs inside Lead's session and can't act for Other"),
        "{session}"
    );
    other_is_untouched(&env);
    assert_eq!(senders(&env), Vec::<String>::new());
}

#[rstest]
#[case::run("run -- touch opened")]
#[case::hooks_install("hooks install --yes")]
#[case::hooks_uninstall("hooks uninstall")]
#[case::up("up --yes")]
#[case::down("down")]
#[case::uninstall("uninstall --yes --delete-data")]
#[case::daemon_stop("daemon stop")]
#[case::daemon_restart("daemon restart")]
#[case::db_restore("db restore")]
#[case::db_backup("db backup opened")]
#[case::settings("config set guards.on false")]
#[case::settings_by_hand("config edit")]
#[case::git_guard("locks guard install")]
#[case::an_event_by_hand("hook Stop")]
#[case::colours("tmux on --socket /tmp/none")]
#[case::supervise("supervise note t --pid 1 --child 1")]
fn what_is_the_users_is_refused_inside_a_session(#[case] command: &str) {
    let env = house();
    let daemon = daemon_pid(&env);
    let settings = env.config().join("settings.json");
    for before in ["", BARE] {
        let refused = inside(&env, &format!("{before} substrate {command}")).code(1);
        let words = [
            "is only for the user, and this command runs inside Lead's session",
            "in a terminal of their own",
        ];
        assert!(words.iter().all(|words| refused.stderr.contains(words)), "{refused}");
    }
    assert_eq!(daemon_pid(&env), daemon, "it still runs");
    assert!(!env.project().join("opened").exists() && !settings.exists());
    assert!(!env.project().join(".git/hooks/pre-commit").exists());
}

#[test]
fn another_state_home_does_not_lead_out_of_a_session() {
    let env = house();
    let elsewhere = "CLAUDE_CONFIG_DIR=$CLAUDE_CONFIG_DIR SUBSTRATE_HOME=$PWD/empty substrate";
    for command in ["hooks install --yes", "hooks uninstall", "up --yes"] {
        let refused = inside(&env, &format!("{BARE} {elsewhere} {command}")).code(1);
        assert!(refused.stderr.contains("runs inside Lead's session"), "{refused}");
    }
    assert!(!env.config().join("settings.json").exists() && !env.project().join("empty").exists());
}

#[test]
fn the_daemon_itself_refuses_to_be_stopped_from_below_a_client() {
    let env = house();
    let daemon = daemon_pid(&env);
    // The frame that `substrate daemon stop` sends, from a program of the agent's own.
    let body = json!({"do": "stop"}).to_string();
    let script = format!(
        "import socket,struct,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\ns.sendall(bytes([{header}])+{body:?}.encode())\ns.recv(65536)\n",
        header = frame_header(body.len()),
    );
    write_file(&env.project().join("stop.py"), script.as_bytes());
    inside(&env, "python3 stop.py \"$SUBSTRATE_HOME/daemon.sock\"").code(0);
    assert_eq!(daemon_pid(&env), daemon);
}

/// The bytes in front of a control frame, as text.
fn frame_header(len: usize) -> String {
    let header = ipc::Header::bytes(ipc::Kind::Control, len);
    header.iter().map(u8::to_string).collect::<Vec<_>>().join(",")
}

#[test]
fn the_user_acts_for_any_agent() {
    let env = house();
    other_is_untouched(&env);
    let released = env.substrate(["locks", "release", "--all", "--force"]).success();
    assert!(released.contains("Released 1 file"), "{released}");
    env.substrate(["send", "--session-id", "s2", "--to", "User", "--subject", "x", "--body", "x"])
        .success();
    assert_eq!(senders(&env), ["Other"]);
}
