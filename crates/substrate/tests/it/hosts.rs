//! A daemon that stays and one that serves a single request (`daemon.autostart = false`) give the same answers.

use serde_json::Value;
use substrate_testkit::{TestEnv, wait_until};

use crate::house::{SOON, configure, journal, samples, told};

/// Every feature, and no turn that is held until mail comes.
const EVERYTHING: &str = "profile = \"all\"\n[persist]\nmode = \"off\"\n";

/// The project of the samples.
const SAMPLED: &str = "/home/dev/app";

/// One home, and how its hooks find a host.
struct Host {
    env: TestEnv,
    stays: bool,
}

impl Host {
    fn new(stays: bool) -> Self {
        let env = TestEnv::new();
        std::fs::create_dir(env.project().join(".git")).unwrap();
        configure(&env, &format!("daemon.autostart = {stays}\n{EVERYTHING}"));
        if stays {
            env.substrate(["daemon", "start"]).success();
        }
        Self { env, stays }
    }

    /// Sends a sample through the real hook. Returns the exit code, stdout and stderr, without the paths of this home.
    fn answer(&self, event: &str, sample: &Value) -> (Option<i32>, String, String) {
        let project = self.env.project().display().to_string();
        let payload = sample.to_string().replace(SAMPLED, &project);
        let run = self.env.hook(event, payload.as_str());
        if !self.stays {
            let socket = self.env.state().join("daemon.sock");
            wait_until(SOON, "the end of the daemon", || !socket.exists());
        }
        let root = self.env.root().display().to_string();
        (run.status, run.stdout.replace(&root, "ROOT"), run.stderr.replace(&root, "ROOT"))
    }

    /// How many daemons have run here.
    fn n_daemons(&self) -> usize {
        let logs = std::fs::read_dir(self.env.state().join("logs")).unwrap().flatten();
        let texts = logs.map(|file| std::fs::read_to_string(file.path()).unwrap());
        texts.map(|text| text.matches("daemon began").count()).sum()
    }
}

#[test]
fn a_daemon_and_a_one_request_host_give_the_same_answers() {
    let mut samples = samples();
    // This event starts no daemon: a client reports an uninstall like this, too.
    samples.retain(|(event, _)| event != "ConfigChange");
    // A session starts before anything else happens in it. The sort is stable.
    samples.sort_by_key(|(event, _)| event != "SessionStart");
    let (daemon, brief) = (Host::new(true), Host::new(false));
    let mut n_spoken = 0;
    for (at, (event, sample)) in samples.iter().enumerate() {
        let expected = daemon.answer(event, sample);
        assert_eq!(brief.answer(event, sample), expected, "sample {at}: {sample}");
        n_spoken += usize::from(!expected.1.is_empty());
    }
    assert!(n_spoken >= 10, "only {n_spoken} of {} were answered with words", samples.len());
    assert_eq!(daemon.n_daemons(), 1);
    assert_eq!(brief.n_daemons(), samples.len(), "one for each request");
    assert_eq!(told(&journal(&brief.env)), told(&journal(&daemon.env)));
}
