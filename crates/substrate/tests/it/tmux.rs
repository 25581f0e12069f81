//! The colours of a real tmux server: checked for each status, and restored in the end.

use serde_json::json;
use substrate_testkit::{Running, TestEnv, wait_until};

use crate::fleet::{Agent, fleet};
use crate::house::SOON;

/// A tmux server of our own, inside the sandbox; ended when dropped.
pub(crate) struct Tmux<'a> {
    env: &'a TestEnv,
    name: &'static str,
}

impl<'a> Tmux<'a> {
    /// With one session of one window, in which that command runs.
    pub(crate) fn start(env: &'a TestEnv, name: &'static str, command: &str) -> Self {
        let tmux = Self { env, name };
        tmux.run(&["new-session", "-d", "-x", "80", "-y", "24", command]);
        tmux
    }

    pub(crate) fn run(&self, args: &[&str]) -> String {
        self.start_command(args).finish(SOON).success().trim_end().to_owned()
    }

    fn start_command(&self, args: &[&str]) -> Running {
        let mut command = self.env.command("tmux");
        command.env("TMUX_TMPDIR", self.env.root());
        command.args(["-L", self.name, "-f", "/dev/null"]).args(args);
        Running::start(command, Vec::new())
    }

    /// What tmux puts into the environment of its panes.
    pub(crate) fn var(&self) -> String {
        format!("{},1,0", self.run(&["display-message", "-p", "#{socket_path}"]))
    }

    /// The pane's own style, its style when it is active, and that of its window's tab.
    fn styles(&self, pane: &str) -> [String; 3] {
        [
            self.run(&["show-options", "-pqv", "-t", pane, "window-style"]),
            self.run(&["show-options", "-pqv", "-t", pane, "window-active-style"]),
            self.run(&["show-options", "-wqv", "-t", pane, "window-status-style"]),
        ]
    }

    #[track_caller]
    fn shows(&self, pane: &str, what: &str, styles: [&str; 3]) {
        let mut seen = Default::default();
        let shown = soon(|| {
            seen = self.styles(pane);
            seen == styles
        });
        assert!(shown, "{what}: {seen:?} instead of {styles:?}");
    }

    /// Nothing of ours is left.
    #[track_caller]
    pub(crate) fn is_clean(&self) {
        for list in ["-g", "-s", "-gw"] {
            let left = self.run(&["show-options", list]);
            assert!(!left.contains("substrate"), "{left}");
        }
        for pane in self.run(&["list-panes", "-a", "-F", "#{pane_id}"]).lines() {
            for list in ["-p", "-w"] {
                let left = self.run(&["show-options", list, "-t", pane]);
                assert!(!left.contains("substrate"), "{left}");
            }
        }
        for list in ["-g", "-gw"] {
            let left = self.run(&["show-hooks", list]);
            assert!(
                !left.contains("substrate")
                    && left.contains("display-message mine") == (list == "-gw"),
                "{left}"
            );
        }
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        drop(self.start_command(&["kill-server"]).finish(SOON));
    }
}

/// Whether it becomes true soon.
fn soon(mut holds: impl FnMut() -> bool) -> bool {
    let begun = std::time::Instant::now();
    while begun.elapsed() < SOON {
        if holds() {
            return true;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    holds()
}

/// What the person has set for the first pane.
const OWN: [&str; 3] = ["fg=colour99", "", "fg=colour200"];

#[test]
fn going_to_an_agent_brings_its_pane_to_the_front() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let tmux = Tmux::start(&env, "goes", "sleep 600");
    tmux.run(&["split-window", "-t", "%0", "sleep 600"]);
    tmux.run(&["new-window", "sleep 600"]);
    let var = tmux.var();
    let lion = Agent::begin(&env, "s1", "NobleLion", &[("TMUX", &var), ("TMUX_PANE", "%0")]);
    lion.event("UserPromptSubmit", json!({"prompt": "go"}));
    let front = || tmux.run(&["display-message", "-p", "#{pane_id}"]);
    assert_eq!(front(), "%2");
    let said = env.substrate(["fleet", "go", "NobleLion"]).success();
    assert!(said.starts_with("NobleLion is in pane %0."), "{said}");
    assert!(soon(|| front() == "%0"), "{}", front());
    Agent::begin(&env, "s2", "CalmOtter", &[]);
    let nowhere = env.substrate(["fleet", "go", "CalmOtter"]).code(1);
    assert!(nowhere.stderr.contains("in which tmux pane CalmOtter runs"), "{nowhere}");
}

#[test]
fn each_status_has_its_colours_and_everything_is_given_back() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let tmux = Tmux::start(&env, "colours", "sleep 600");
    tmux.run(&["set-option", "-p", "-t", "%0", "window-style", OWN[0]]);
    tmux.run(&["set-option", "-w", "-t", "%0", "window-status-style", OWN[2]]);
    tmux.run(&["set-option", "-gw", "window-status-current-style", "bold"]);
    tmux.run(&["set-hook", "-g", "pane-focus-in", "display-message mine"]);
    let var = tmux.var();
    let inside = [("TMUX", var.as_str()), ("TMUX_PANE", "%0")];
    let not_in_tmux = env.substrate(["tmux", "on"]).code(1);
    assert!(not_in_tmux.stderr.contains("you are not in tmux"), "{not_in_tmux}");

    let lion = Agent::begin(&env, "s1", "NobleLion", &inside);
    lion.event("UserPromptSubmit", json!({"prompt": "go"}));
    tmux.shows("%0", "off", OWN);
    let on = env.substrate_with(["tmux", "on"], &inside).success();
    assert!(on.contains("agents are in 1 pane of it"), "{on}");
    tmux.shows("%0", "working", [OWN[0], "", "fg=colour200,bg=#10263a"]);
    // The current window's tab has a style of its own, which must not hide the colour.
    let current = ["show-options", "-wqv", "-t", "%0", "window-status-current-style"];
    assert_eq!(tmux.run(&current), "bold,bg=#10263a");
    lion.bash("PreToolUse", "make");
    lion.bash("PermissionRequest", "make");
    tmux.shows(
        "%0",
        "attention",
        ["fg=colour99,bg=#3a3010", "default,bg=#3a3010", "fg=colour200,bg=#3a3010"],
    );
    lion.bash("PostToolUseFailure", "make");
    tmux.shows(
        "%0",
        "error",
        ["fg=colour99,bg=#3a1418", "default,bg=#3a1418", "fg=colour200,bg=#3a1418"],
    );
    let stop = json!({"stop_hook_active": false, "last_assistant_message": "Built."});
    lion.event("Stop", stop.clone());
    tmux.shows(
        "%0",
        "done",
        ["fg=colour99,bg=#12301c", "default,bg=#12301c", "fg=colour200,bg=#12301c"],
    );
    let status = env.substrate_with(["tmux", "status"], &inside).success();
    assert!(status.contains("%0    done       NobleLion"), "{status}");
    assert!(status.contains("`focus-events` is off"), "{status}");
    env.substrate(["fleet", "check", "NobleLion"]).success();
    tmux.shows(
        "%0",
        "checked",
        ["fg=colour99,bg=#262626", "default,bg=#262626", "fg=colour200,bg=#262626"],
    );

    // Of two panes in one window the stronger one colours the tab.
    tmux.run(&["split-window", "-d", "sleep 600"]);
    let otter = Agent::begin(&env, "s2", "CalmOtter", &[("TMUX", &var), ("TMUX_PANE", "%1")]);
    otter.event("UserPromptSubmit", json!({"prompt": "go"}));
    tmux.shows("%1", "working beside", ["", "", "fg=colour200,bg=#10263a"]);
    otter.event("SessionEnd", json!({"reason": "other"}));
    tmux.shows("%1", "checked again", ["", "", "fg=colour200,bg=#262626"]);
    lion.event("SessionEnd", json!({"reason": "other"}));
    tmux.shows("%0", "ended", OWN);

    lion.event("UserPromptSubmit", json!({"prompt": "go"}));
    lion.event("Stop", stop);
    tmux.shows(
        "%0",
        "done",
        ["fg=colour99,bg=#12301c", "default,bg=#12301c", "fg=colour200,bg=#12301c"],
    );
    env.substrate(["daemon", "stop"]).success();
    tmux.shows("%0", "without a daemon", OWN);
    env.substrate(["daemon", "start"]).success();
    lion.bash("PreToolUse", "make");
    tmux.shows("%0", "with a daemon", [OWN[0], "", "fg=colour200,bg=#10263a"]);
    let off = env.substrate_with(["tmux", "off"], &inside).success();
    assert!(off.contains("1 pane got back what they had"), "{off}");
    assert_eq!(tmux.styles("%0"), OWN);
    assert_eq!(tmux.run(&current), "");
    tmux.is_clean();
    lion.bash("PermissionRequest", "make");
    assert_eq!(fleet(&env)[0], "NobleLion attention");
    assert_eq!(tmux.styles("%0"), OWN);
}

#[test]
fn a_pane_that_a_person_turns_to_is_checked() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let tmux = Tmux::start(&env, "inner", "sleep 600");
    tmux.run(&["set-hook", "-g", "pane-focus-in", "display-message mine"]);
    tmux.run(&["new-window", "-d", "sleep 600"]);
    let var = tmux.var();
    let lion = Agent::begin(&env, "s1", "NobleLion", &[("TMUX", &var), ("TMUX_PANE", "%1")]);
    env.substrate_with(["tmux", "on"], &[("TMUX", &var)]).success();
    lion.event("UserPromptSubmit", json!({"prompt": "go"}));
    lion.event("Stop", json!({"stop_hook_active": false}));
    // No one is attached, so no one looks.
    tmux.run(&["select-window", "-t", ":1"]);
    tmux.run(&["select-window", "-t", ":0"]);
    let attach = format!("TMUX= TMUX_TMPDIR={} tmux -L inner attach", env.root().display());
    let _screen = Tmux::start(&env, "outer", &attach);
    wait_until(SOON, "a person who looks", || {
        tmux.run(&["display-message", "-p", "#{session_attached}"]) == "1"
    });
    assert_eq!(fleet(&env), ["NobleLion done"]);
    tmux.run(&["select-window", "-t", ":1"]);
    wait_until(SOON, "the look", || fleet(&env) == ["NobleLion checked"]);
    // A restarted server shows nothing, and is not reported to.
    tmux.run(&["set-option", "-gu", "@substrate_on"]);
    let status = env.substrate_with(["tmux", "status"], &[("TMUX", &var)]).success();
    assert!(status.starts_with("Colours were on for a tmux server that has ended"), "{status}");
    env.substrate_with(["tmux", "off"], &[("TMUX", &var)]).success();
    tmux.is_clean();
}

#[test]
fn in_a_terminal_the_fleet_is_drawn_again_when_it_changes() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    let tmux = Tmux::start(&env, "watch", "substrate fleet --watch");
    tmux.run(&["set-option", "-g", "remain-on-exit", "on"]);
    let shows =
        |what: &str| wait_until(SOON, what, || tmux.run(&["capture-pane", "-p"]).contains(what));
    shows("No agents yet.");
    let lion = Agent::begin(&env, "s1", "NobleLion", &[]);
    shows("idle       NobleLion");
    lion.bash("PreToolUse", "make");
    shows("working    NobleLion");
    let screen = tmux.run(&["capture-pane", "-p"]);
    assert!(!screen.contains("No agents") && !screen.contains("idle "), "{screen}");
    // What needs a person stays visible, even if not everything fits.
    for n in 2..9 {
        let name = format!("Otter{n}");
        let otter = Agent::begin(&env, &format!("s{n}"), &name, &[]);
        otter.event("UserPromptSubmit", json!({"prompt": "go"}));
    }
    lion.bash("PermissionRequest", "make");
    tmux.run(&["resize-window", "-x", "40", "-y", "6"]);
    shows("more lines: `substrate fleet`");
    let screen = tmux.run(&["capture-pane", "-p"]);
    assert!(screen.starts_with("Needs you\n  attention  NobleLion"), "{screen}");
    tmux.run(&["send-keys", "C-c"]);
    wait_until(SOON, "the end", || tmux.run(&["display-message", "-p", "#{pane_dead}"]) == "1");
}
