//! Our plugin for a client whose hooks are JavaScript, in a bare interpreter: what it does when the daemon answers, when
//! there is none, and when nothing of ours is there.

use substrate_testkit::{Run, Running, TestEnv, bin, write_file};

use crate::house::SOON;

/// Calls the plugin as the client does, and prints the refusal of one command, or `passed`; then how long a call takes.
const SCRIPT: &str = r#"
import { pathToFileURL } from "node:url";
const { Substrate } = await import(pathToFileURL(process.argv[2]));
const client = { session: { get: async () => ({ data: {} }), promptAsync: async () => {} } };
const hooks = await Substrate({ client, directory: process.argv[3] });
const call = async (command, callID) => {
  const input = { tool: "bash", sessionID: "ses_1", callID };
  try {
    await hooks["tool.execute.before"](input, { args: { command } });
    const output = { title: "", metadata: {}, output: "out" };
    await hooks["tool.execute.after"]({ ...input, args: { command } }, output);
    return "passed";
  } catch (error) {
    return error.message;
  }
};
console.log(await call("git reset --hard", "c0"));
const times = [];
for (let n = 1; n <= 100; n++) {
  const begun = performance.now();
  await call("true", `c${n}`);
  times.push((performance.now() - begun) / 2);
}
console.error(`p50 ${times.sort((a, b) => a - b)[50].toFixed(2)} ms`);
"#;

fn run(env: &TestEnv) -> Run {
    let (script, plugin) = (env.root().join("script.mjs"), env.root().join("plugin.mjs"));
    write_file(&script, SCRIPT);
    std::fs::copy(env.home().join(".config/opencode/plugins/substrate.js"), &plugin).unwrap();
    let mut node = env.command("node");
    node.arg(script).arg(plugin).arg(env.project());
    Running::start(node, Vec::new()).finish(SOON)
}

#[test]
fn it_refuses_what_the_daemon_refuses_starts_one_that_is_missing_and_lets_pass_without_us() {
    let env = TestEnv::new();
    std::fs::create_dir(env.project().join(".git")).unwrap();
    let programs = env.root().join("programs");
    std::fs::create_dir(&programs).unwrap();
    for name in ["substrate", "substrate-hook"] {
        std::fs::copy(bin(name), programs.join(name)).unwrap();
    }
    let mut install = env.command(programs.join("substrate"));
    install.args(["hooks", "install", "--client", "opencode"]);
    assert!(install.status().unwrap().success());
    // The first call finds no daemon, and the program starts one.
    for _ in 0..2 {
        let ran = run(&env);
        eprint!("{}", ran.stderr);
        assert!(ran.stdout.contains("[guards.git-reset-hard]"), "{ran}");
    }
    let mut down = env.command(programs.join("substrate"));
    assert!(down.arg("down").status().unwrap().success());
    std::fs::rename(&programs, env.root().join("away")).unwrap();
    assert_eq!(run(&env).stdout, "passed\n");
}
