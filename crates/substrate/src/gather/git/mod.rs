//! Asks git about a folder. It changes nothing, runs no program that the repository names, and has a time limit.

use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use substrate_core::facts::GitQuestion;

use crate::config::Env;
use crate::git::{self, FILTERS, Hooks, tree};
use crate::proc::TimedChild;

#[cfg(test)]
mod hostile;

/// How long git may take.
const PATIENCE: Duration = Duration::from_millis(200);

/// How much of its output is read.
const MAX: u64 = 64 << 10;

/// Its output. `None` if git or the repository is missing, or git takes too long.
pub(super) fn ask(dir: &str, what: GitQuestion, deadline: Instant) -> Option<String> {
    answer("git", dir, what, deadline.min(Instant::now() + PATIENCE))
}

fn answer(program: &str, dir: &str, what: GitQuestion, deadline: Instant) -> Option<String> {
    let ask = GitQuery { program, dir: Path::new(dir), tree: tree(Path::new(dir))?, deadline };
    let off = match what {
        GitQuestion::Status => ask.filters()?,
        GitQuestion::Log { .. } => Vec::new(),
    };
    let said = ask.run(&words(what), &off)?;
    if said.is_whole && !said.is_well {
        return None;
    }
    let end = match said.is_whole {
        true => said.bytes.len(),
        false => said.bytes.iter().rposition(|b| *b == b'\n')?,
    };
    Some(String::from_utf8_lossy(&said.bytes[..end]).into_owned())
}

/// What git printed before it ended, or before the limit.
struct GitOutput {
    bytes: Vec<u8>,
    is_whole: bool,
    is_well: bool,
}

/// One question to git.
struct GitQuery<'a> {
    program: &'a str,
    dir: &'a Path,
    /// The working tree, whatever the repository's settings say.
    tree: &'a Path,
    deadline: Instant,
}

impl GitQuery<'_> {
    /// Settings that turn off the filter programs that a status would run. The user's own filters are off too: the
    /// repository decides which files and settings they get.
    fn filters(&self) -> Option<Vec<(String, &'static str)>> {
        let words = ["config", "--name-only", "-z", "--get-regexp", FILTERS];
        let said = self.run(&words.map(str::to_owned), &[])?;
        if !said.is_whole {
            return None;
        }
        let text = String::from_utf8(said.bytes).ok()?;
        let mut out = Vec::new();
        for (filter, _) in text.split_terminator('\0').filter_map(|name| name.rsplit_once('.')) {
            let set = |key: &str, value| (format!("{filter}.{key}"), value);
            out.extend([set("clean", ""), set("smudge", ""), set("process", "")]);
            out.push(set("required", "false"));
        }
        Some(out)
    }

    /// Runs git with some of its settings replaced.
    fn run(&self, words: &[String], settings: &[(String, &str)]) -> Option<GitOutput> {
        let mut command = git::command(self.program, &Env::of_this_process(), self.dir, Hooks::Off);
        command
            .env("GIT_WORK_TREE", self.tree)
            // The tree's own repository, or none.
            .env("GIT_CEILING_DIRECTORIES", self.tree.parent().unwrap_or(self.tree))
            .env("GIT_CONFIG_COUNT", settings.len().to_string())
            .args(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        for (n, (name, value)) in settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{n}"), name);
            command.env(format!("GIT_CONFIG_VALUE_{n}"), value);
        }
        let mut git = TimedChild::start(&mut command).ok()?;
        let mut stdout = git.child().stdout.take()?;
        let (tell, told) = mpsc::channel();
        // A thread of its own, so that a silent git can be abandoned.
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = stdout.by_ref().take(MAX).read_to_end(&mut bytes);
            let _abandoned = tell.send(read.map(|_| bytes));
        });
        let left = self.deadline.saturating_duration_since(Instant::now());
        let bytes = told.recv_timeout(left).ok()?.ok()?;
        let is_whole = u64::try_from(bytes.len()).is_ok_and(|len| len < MAX);
        let is_well = is_whole && git.succeeded(self.deadline) == Some(true);
        Some(GitOutput { bytes, is_whole, is_well })
    }
}

fn words(what: GitQuestion) -> Vec<String> {
    let text = match what {
        GitQuestion::Status => {
            "status --short --branch --no-column --ignore-submodules=all".to_owned()
        }
        GitQuestion::Log { n } => format!(
            "log --oneline --no-color --no-decorate --no-show-signature --no-ext-diff --no-textconv --no-notes -{n}"
        ),
    };
    text.split(' ').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fsx, proc};

    const STATUS: GitQuestion = GitQuestion::Status;

    /// Longer than git takes on a busy machine.
    pub(super) fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    pub(super) fn git(dir: &Path, args: &[&str]) {
        let mut command = proc::command("git", &Env::of_this_process());
        let who = [
            "-c",
            "user.name=dev",
            "-c",
            "user.email=dev@example.org",
            "-c",
            "commit.gpgsign=false",
        ];
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").current_dir(dir).args(who).args(args);
        let done = command.output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    fn ask(dir: &Path, what: GitQuestion) -> Option<String> {
        answer("git", &dir.display().to_string(), what, soon())
    }

    #[test]
    fn status_and_commits_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        git(dir, &["init", "-q", "-b", "main"]);
        assert_eq!(ask(dir, GitQuestion::Log { n: 2 }), None, "no commit yet");
        for n in 1..=3 {
            git(dir, &["commit", "-q", "--allow-empty", "-m", &format!("step {n}")]);
        }
        fsx::replace(&dir.join("ä b"), b"", 0o600).unwrap();
        assert_eq!(ask(dir, STATUS).unwrap(), "## main\n?? \"ä b\"\n");
        let log = ask(dir, GitQuestion::Log { n: 2 }).unwrap();
        let subjects: Vec<&str> = log.lines().map(|line| line.split_once(' ').unwrap().1).collect();
        assert_eq!(subjects, ["step 3", "step 2"]);
    }

    #[test]
    fn there_is_no_answer_without_a_repository_a_folder_or_git() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().display().to_string();
        assert_eq!(ask(folder.path(), STATUS), None);
        assert_eq!(ask(Path::new("/nowhere/at/all"), STATUS), None);
        assert_eq!(answer("no-such-git", &dir, STATUS, soon()), None);
    }

    #[test]
    fn a_git_that_takes_too_long_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let slow = folder.path().join("slow");
        fsx::replace(&slow, b"#!/bin/sh\nsleep 60\n", 0o755).unwrap();
        let (slow, dir) = (slow.display().to_string(), folder.path().display().to_string());
        let begun = Instant::now();
        assert_eq!(answer(&slow, &dir, STATUS, begun + Duration::from_millis(50)), None);
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}
