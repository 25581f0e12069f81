//! Unusable state, in every way that we know: guards still refuse, and doctor and the status line say so.

use std::path::{Path, PathBuf};

use serde_json::json;
use substrate_testkit::{Running, TestEnv, bin, write_file};

use crate::house::{SOON, bash, configure, plain};

const RULE: &str = "[[guards.rules]]\nname = \"no-npm\"\nwhen = 'runs(\"npm\")'\naction = \"deny\"\nreason = \"Use pnpm.\"\nnext = \"`pnpm install`\"\n";

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    /// The database is a folder.
    Unopenable,
    Newer,
    Damaged,
    Empty,
    ReadOnly,
    /// The whole home is read-only.
    HomeReadOnly,
    /// A file is in the place of the home.
    HomeIsAFile,
    /// Nor can it be created.
    HomeNowhere,
    HomeRelative,
    /// Neither SUBSTRATE_HOME nor HOME is set.
    NoHome,
}

/// A mount for a test.
struct Mounted<'e>(&'e TestEnv, PathBuf);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _maybe_busy = self.0.command("umount").arg("-l").arg(&self.1).status();
    }
}

/// Mounts a path over itself, read-only. `None`, said loudly: that is impossible here.
fn read_only<'e>(env: &'e TestEnv, path: &Path) -> Option<Mounted<'e>> {
    let mount = |args: &[&str]| {
        let done = env.command("mount").args(args).arg(path).status();
        done.is_ok_and(|status| status.success())
    };
    let text = path.display().to_string();
    if !mount(&["--bind", &text]) {
        eprintln!("NOT RUN: nothing can be mounted here (needs root)");
        return None;
    }
    let mounted = Mounted(env, path.to_owned());
    mount(&["-o", "remount,bind,ro"]).then_some(mounted)
}

/// An installation that is broken like this, and the caller's variables.
struct Case<'e> {
    env: &'e TestEnv,
    vars: Vec<(&'static str, String)>,
    without: &'static [&'static str],
    _mounted: Option<Mounted<'e>>,
}

impl<'e> Case<'e> {
    /// `None`: that is impossible here.
    fn new(env: &'e TestEnv, broken: Broken) -> Option<Self> {
        configure(env, RULE);
        // Without a home the user has no rules. The project's rules stand in for them.
        write_file(&env.project().join(".substrate.toml"), RULE.as_bytes());
        let database = env.state().join("subtrate.db");
        let mut case = Self { env, vars: Vec::new(), without: &[], _mounted: None };
        match broken {
            Broken::Unopenable => std::fs::create_dir(&database).unwrap(),
            Broken::Newer | Broken::ReadOnly | Broken::HomeReadOnly => {
                env.hook("Stop", plain("a", "Stop")).success();
                env.substrate(["daemon", "stop"]).success();
                match broken {
                    Broken::Newer => case.make_newer(),
                    Broken::ReadOnly => case._mounted = Some(read_only(env, &database)?),
                    _ => case._mounted = Some(read_only(env, &env.state())?),
                }
            }
            Broken::Damaged => write_file(&database, vec![0x5a; 20_000]),
            Broken::Empty => write_file(&database, b""),
            Broken::HomeIsAFile | Broken::HomeNowhere => {
                let file = env.root().join("file");
                write_file(&file, b"");
                let home = if broken == Broken::HomeIsAFile { file } else { file.join("state") };
                case.vars.push(("SUBSTRATE_HOME", home.display().to_string()));
            }
            Broken::HomeRelative => case.vars.push(("SUBSTRATE_HOME", "state".to_owned())),
            Broken::NoHome => case.without = &["SUBSTRATE_HOME", "HOME"],
        }
        Some(case)
    }

    fn make_newer(&self) {
        let script = "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); \
            c.execute(\"insert into schema_migration values ('journal', 99, 'x', 'from the future', 0)\"); c.commit()";
        let database = self.env.state().join("subtrate.db");
        let done = self.env.command("python3").args(["-c", script]).arg(database).status();
        assert!(done.unwrap().success());
    }

    fn run(
        &self,
        program: &str,
        args: &[&str],
        input: &serde_json::Value,
    ) -> substrate_testkit::Run {
        let mut command = self.env.command(bin(program));
        command.args(args).envs(self.vars.iter().cloned());
        for name in self.without {
            command.env_remove(name);
        }
        Running::start(command, input.to_string().into_bytes()).finish(SOON * 2)
    }

    fn guard(&self, line: &str) -> String {
        let mut payload = bash("a", line);
        payload["cwd"] = json!(self.env.project());
        self.run("substrate-hook", &["claude-code", "PreToolUse"], &payload).success()
    }
}

#[rstest::rstest]
fn guards_refuse_and_it_is_said(
    #[values(
        Broken::Unopenable,
        Broken::Newer,
        Broken::Damaged,
        Broken::Empty,
        Broken::ReadOnly,
        Broken::HomeReadOnly,
        Broken::HomeIsAFile,
        Broken::HomeNowhere,
        Broken::HomeRelative,
        Broken::NoHome
    )]
    broken: Broken,
) {
    let env = TestEnv::new();
    let Some(case) = Case::new(&env, broken) else { return };
    for (line, rule) in [("rm -rf ~", "[guards."), ("npm ci", "Use pnpm.")] {
        let said = case.guard(line);
        assert!(
            said.contains("\"permissionDecision\":\"deny\"") && said.contains(rule),
            "{broken:?}: {line}: {said}"
        );
    }
    let said = case.guard("ls");
    assert!(!said.contains("permissionDecision"), "{broken:?}: harmless: {said}");
    let doctor = case.run("substrate", &["doctor"], &json!(null));
    assert!(!matches!(doctor.status, Some(0)), "{broken:?}: {}", doctor.stdout);
    let told = format!("{}{}", doctor.stdout, doctor.stderr);
    assert!(told.contains("state not usable"), "{broken:?}: doctor says\n{told}");
    let line = case.run("substrate", &["statusline"], &json!({"session_id": "a"})).success();
    assert!(
        line.starts_with("Substrate: state not usable (") && line.lines().count() == 1,
        "{broken:?}: the status line says {line}"
    );
}
