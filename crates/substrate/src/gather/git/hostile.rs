//! Repositories that name programs, in every way we know. None of our questions runs one.

use std::path::{Path, PathBuf};

use super::tests::{git, soon};
use super::*;
use crate::{fsx, proc};

/// A repository with two commits and a file that git has to check again.
struct Repo {
    _folder: tempfile::TempDir,
    dir: PathBuf,
    /// Where the questions are asked.
    asked: PathBuf,
    /// The program that a hostile setting names, and the trace that it leaves.
    program: PathBuf,
    ran: PathBuf,
}

impl Repo {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (dir, program, ran) = (root.join("repo"), root.join("program"), root.join("ran"));
        std::fs::create_dir(&dir).unwrap();
        let script = format!("#!/bin/sh\n: > '{}'\nexit 1\n", ran.display());
        fsx::replace(&program, script.as_bytes(), 0o755).unwrap();
        let repo = Self { _folder: folder, asked: dir.clone(), dir, program, ran };
        Self::begin(&repo.dir);
        repo
    }

    fn begin(dir: &Path) {
        std::fs::create_dir_all(dir).unwrap();
        git(dir, &["init", "-q", "-b", "main"]);
        for text in ["one", "two"] {
            Self::put_in(dir, "a.rs", text);
            git(dir, &["add", "."]);
            git(dir, &["commit", "-q", "-m", text]);
        }
    }

    fn put_in(dir: &Path, name: &str, text: &str) {
        std::fs::create_dir_all(dir.join(name).parent().unwrap()).unwrap();
        fsx::replace(&dir.join(name), text.as_bytes(), 0o700).unwrap();
    }

    fn put(&self, name: &str, text: &str) {
        Self::put_in(&self.dir, name, text);
    }

    fn name(&self) -> String {
        self.program.display().to_string()
    }

    fn config_in(&self, dir: &Path, key: &str, value: &str) {
        git(dir, &["config", key, &value.replace("PROGRAM", &self.name())]);
    }

    /// Replaces `PROGRAM` in a value with the program.
    fn config(&self, settings: &[(&str, &str)]) {
        for (key, value) in settings {
            self.config_in(&self.dir, key, value);
        }
    }

    /// The same content with another time: git reads the file again, through its filter.
    fn touch(dir: &Path) {
        Self::put_in(dir, "a.rs", "two");
    }

    fn filtered(&self, settings: &[(&str, &str)], name: &str) {
        self.put(".gitattributes", &format!("a.rs filter={name}\n"));
        self.config(settings);
        Self::touch(&self.dir);
    }

    /// A clone that lacks an object a status needs, and names a remote to fetch it from.
    fn lacking(&self, dir: &Path, url: &str, settings: &[(&str, &str)]) {
        for (key, value) in [
            ("core.repositoryformatversion", "1"),
            ("extensions.partialClone", "origin"),
            ("remote.origin.url", url),
            ("remote.origin.promisor", "true"),
            ("remote.origin.partialclonefilter", "blob:none"),
        ]
        .iter()
        .chain(settings)
        {
            self.config_in(dir, key, value);
        }
        git(dir, &["rm", "-q", "--cached", "a.rs"]);
        let gone = out(dir, &["rev-parse", "HEAD^{tree}"]);
        let (first, rest) = gone.trim().split_at(2);
        let git_dir = if dir.join(".git").exists() { dir.join(".git") } else { dir.to_owned() };
        std::fs::remove_file(git_dir.join("objects").join(first).join(rest)).unwrap();
    }

    /// A folder of the tree that is a bare repository, as a clone may bring one along.
    fn with_bare_inside(&mut self) -> PathBuf {
        let (made, bare) = (self.dir.join("made"), self.dir.join("docs"));
        Self::begin(&made);
        std::fs::rename(made.join(".git"), &bare).unwrap();
        Self::put_in(&bare, "a.rs", "two");
        self.asked.clone_from(&bare);
        bare
    }

    /// A submodule with a repository of its own.
    fn with_submodule(&self) -> PathBuf {
        let source = self.dir.parent().unwrap().join("source");
        Self::begin(&source);
        let url = source.display().to_string();
        let allow = ["-c", "protocol.file.allow=always"];
        git(&self.dir, &[&allow[..], &["submodule", "add", "-q", &url, "sub"]].concat());
        git(&self.dir, &["commit", "-q", "-m", "sub"]);
        self.dir.join("sub")
    }

    fn signed(&self, armour: &str) {
        let tree = out(&self.dir, &["rev-parse", "HEAD^{tree}"]);
        let text = format!(
            "tree {}\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\ngpgsig -----BEGIN {armour}-----\n \n x\n -----END {armour}-----\n\nsigned\n",
            tree.trim()
        );
        self.put("commit", &text);
        let id = out(&self.dir, &["hash-object", "-t", "commit", "-w", "commit"]);
        git(&self.dir, &["reset", "-q", "--soft", id.trim()]);
    }

    fn has_run(&self) -> bool {
        self.ran.exists()
    }

    /// Plain git, with nothing turned off.
    fn asked_plainly(&self) {
        let plain = |words: &[&str]| {
            let mut command = proc::command("git", &Env::of_this_process());
            command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_TERMINAL_PROMPT", "0");
            command.current_dir(&self.asked).args(words).stdin(Stdio::null());
            drop(command.output().unwrap());
        };
        plain(&["status", "--short", "--branch"]);
        plain(&["log", "--oneline", "-3"]);
    }
}

fn out(dir: &Path, args: &[&str]) -> String {
    let mut command = proc::command("git", &Env::of_this_process());
    let done = command.current_dir(dir).args(args).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// Does a plain `git status` or `git log` there run the program?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plainly {
    Runs,
    /// Only other commands would. The row is here in case a later git runs it.
    RunsNot,
}
use Plainly::{Runs, RunsNot};

type Row = (&'static str, Plainly, fn(&mut Repo));

const ROWS: &[Row] = &[
    ("core.fsmonitor", Runs, |r| r.config(&[("core.fsmonitor", "PROGRAM")])),
    ("core.fsmonitor, included", Runs, |r| {
        r.put(".git/more", &format!("[core]\nfsmonitor = {}\n", r.name()));
        r.config(&[("include.path", "more")]);
    }),
    ("core.fsmonitor, included for this tree", Runs, |r| {
        r.put(".git/more", &format!("[core]\nfsmonitor = {}\n", r.name()));
        r.config(&[("includeIf.gitdir:**.path", "more")]);
    }),
    ("core.fsmonitor, of a worktree's own settings", Runs, |r| {
        r.config(&[("core.repositoryformatversion", "1"), ("extensions.worktreeConfig", "true")]);
        r.put(".git/config.worktree", &format!("[core]\nfsmonitor = {}\n", r.name()));
    }),
    ("filter.clean", Runs, |r| r.filtered(&[("filter.evil.clean", "PROGRAM")], "evil")),
    ("filter.process, required", Runs, |r| {
        r.filtered(&[("filter.evil.process", "PROGRAM"), ("filter.evil.required", "true")], "evil");
    }),
    ("filter.smudge", RunsNot, |r| r.filtered(&[("filter.evil.smudge", "PROGRAM")], "evil")),
    ("a filter with an odd name", Runs, |r| {
        r.filtered(&[("filter.e=v.il x.clean", "PROGRAM")], "e=v.il");
        r.filtered(&[("filter.e=v.il.clean", "PROGRAM")], "e=v.il");
    }),
    ("a filter of .git/info/attributes", Runs, |r| {
        r.put(".git/info/attributes", "a.rs filter=evil\n");
        r.config(&[("filter.evil.clean", "PROGRAM")]);
        Repo::touch(&r.dir);
    }),
    ("a filter of core.attributesFile", Runs, |r| {
        r.put("attributes", "a.rs filter=evil\n");
        let file = r.dir.join("attributes").display().to_string();
        r.config(&[("filter.evil.clean", "PROGRAM"), ("core.attributesFile", &file)]);
        Repo::touch(&r.dir);
    }),
    ("a filter that is called as the user's", Runs, |r| {
        r.filtered(&[("filter.lfs.clean", "PROGRAM"), ("lfs.extension.x.clean", "PROGRAM")], "lfs");
    }),
    ("hooks/post-index-change", Runs, |r| {
        std::fs::copy(&r.program, r.dir.join(".git/hooks/post-index-change")).unwrap();
        Repo::touch(&r.dir);
    }),
    ("core.hooksPath", Runs, |r| {
        std::fs::create_dir(r.dir.join("own")).unwrap();
        std::fs::copy(&r.program, r.dir.join("own/post-index-change")).unwrap();
        r.config(&[("core.hooksPath", "own")]);
        Repo::touch(&r.dir);
    }),
    ("gpg.program", Runs, |r| {
        r.signed("PGP SIGNATURE");
        r.config(&[("log.showSignature", "true"), ("gpg.program", "PROGRAM")]);
    }),
    ("gpg.openpgp.program", Runs, |r| {
        r.signed("PGP SIGNATURE");
        r.config(&[("log.showSignature", "true"), ("gpg.openpgp.program", "PROGRAM")]);
    }),
    ("gpg.x509.program", Runs, |r| {
        r.signed("SIGNED MESSAGE");
        r.config(&[("log.showSignature", "true"), ("gpg.x509.program", "PROGRAM")]);
    }),
    ("gpg.ssh.program", Runs, |r| {
        r.signed("SSH SIGNATURE");
        r.put("signers", "a ssh-ed25519 AAAA\n");
        r.config(&[("log.showSignature", "true"), ("gpg.ssh.program", "PROGRAM")]);
        r.config(&[("gpg.ssh.allowedSignersFile", "signers")]);
    }),
    ("core.sshCommand of a promisor", Runs, |r| {
        let dir = r.dir.clone();
        r.lacking(&dir, "ssh://nowhere.invalid/x", &[("core.sshCommand", "PROGRAM")]);
    }),
    ("remote.uploadpack of a promisor", Runs, |r| {
        let dir = r.dir.clone();
        r.lacking(&dir, "/", &[("remote.origin.uploadpack", "PROGRAM")]);
    }),
    ("a promisor behind ext::", Runs, |r| {
        let dir = r.dir.clone();
        let url = format!("ext::{}", r.name());
        r.lacking(&dir, &url, &[("protocol.ext.allow", "always")]);
    }),
    ("core.gitProxy of a promisor", Runs, |r| {
        let dir = r.dir.clone();
        r.lacking(&dir, "git://nowhere.invalid/x", &[("core.gitProxy", "PROGRAM")]);
    }),
    ("a bare repository in the tree: fsmonitor", Runs, |r| {
        let bare = r.with_bare_inside();
        for (key, value) in
            [("core.bare", "false"), ("core.worktree", "."), ("core.fsmonitor", "PROGRAM")]
        {
            r.config_in(&bare, key, value);
        }
    }),
    ("a bare repository in the tree: promisor and core.sshCommand", Runs, |r| {
        let bare = r.with_bare_inside();
        for (key, value) in [("core.bare", "false"), ("core.worktree", ".")] {
            r.config_in(&bare, key, value);
        }
        let ssh = [("core.sshCommand", "PROGRAM")];
        r.lacking(&bare, "ssh://nowhere.invalid/x", &ssh);
    }),
    ("below a bare repository in the tree", Runs, |r| {
        let bare = r.with_bare_inside();
        for (key, value) in
            [("core.bare", "false"), ("core.worktree", "."), ("core.fsmonitor", "PROGRAM")]
        {
            r.config_in(&bare, key, value);
        }
        r.asked = bare.join("objects");
    }),
    ("a submodule's core.fsmonitor", Runs, |r| {
        let sub = r.with_submodule();
        r.config_in(&sub, "core.fsmonitor", "PROGRAM");
    }),
    ("a submodule's filter", Runs, |r| {
        let sub = r.with_submodule();
        Repo::put_in(&sub, ".gitattributes", "a.rs filter=evil\n");
        r.config_in(&sub, "filter.evil.clean", "PROGRAM");
        Repo::touch(&sub);
    }),
    ("a submodule that insists on being looked at", Runs, |r| {
        let sub = r.with_submodule();
        r.config_in(&sub, "core.fsmonitor", "PROGRAM");
        r.config(&[("submodule.sub.ignore", "none"), ("diff.ignoreSubmodules", "none")]);
        r.config(&[("status.submoduleSummary", "true"), ("submodule.recurse", "true")]);
    }),
    ("a .git that leads to a hostile repository", Runs, |r| {
        let elsewhere = r.dir.parent().unwrap().join("elsewhere");
        std::fs::rename(r.dir.join(".git"), &elsewhere).unwrap();
        r.put(".git", &format!("gitdir: {}\n", elsewhere.display()));
        r.config(&[("core.fsmonitor", "PROGRAM")]);
    }),
    ("core.pager", RunsNot, |r| {
        r.config(&[("core.pager", "PROGRAM"), ("pager.status", "PROGRAM")]);
    }),
    ("core.editor", RunsNot, |r| {
        r.config(&[("core.editor", "PROGRAM"), ("sequence.editor", "PROGRAM")]);
    }),
    ("alias", RunsNot, |r| r.config(&[("alias.status", "!PROGRAM"), ("alias.log", "!PROGRAM")])),
    ("diff.external", RunsNot, |r| {
        r.config(&[("diff.external", "PROGRAM")]);
        r.put("a.rs", "three");
    }),
    ("diff.command and textconv", RunsNot, |r| {
        r.put(".gitattributes", "a.rs diff=evil\n");
        r.config(&[("diff.evil.command", "PROGRAM"), ("diff.evil.textconv", "PROGRAM")]);
        r.put("a.rs", "three");
    }),
    ("merge.driver", RunsNot, |r| {
        r.put(".gitattributes", "a.rs merge=evil\n");
        r.config(&[
            ("merge.evil.driver", "PROGRAM"),
            ("merge.tool", "evil"),
            ("mergetool.evil.cmd", "PROGRAM"),
        ]);
    }),
    ("credential.helper and core.askPass", RunsNot, |r| {
        r.config(&[("credential.helper", "!PROGRAM"), ("core.askPass", "PROGRAM")]);
    }),
    ("core.alternateRefsCommand", RunsNot, |r| {
        r.config(&[("core.alternateRefsCommand", "PROGRAM")]);
        r.put(".git/objects/info/alternates", "/\n");
    }),
    ("submodule.update", RunsNot, |r| {
        let _sub = r.with_submodule();
        r.config(&[("submodule.sub.update", "!PROGRAM")]);
    }),
    ("uploadpack.packObjectsHook", RunsNot, |r| {
        r.config(&[("uploadpack.packObjectsHook", "PROGRAM"), ("receive.procReceiveRefs", "refs")]);
    }),
    ("interactive.diffFilter and other tools", RunsNot, |r| {
        r.config(&[
            ("interactive.diffFilter", "PROGRAM"),
            ("difftool.x.cmd", "PROGRAM"),
            ("diff.tool", "x"),
        ]);
        r.config(&[
            ("browser.x.cmd", "PROGRAM"),
            ("man.x.cmd", "PROGRAM"),
            ("sendemail.smtpServer", "PROGRAM"),
        ]);
        r.config(&[
            ("trailer.x.cmd", "PROGRAM"),
            ("trailer.x.command", "PROGRAM"),
            ("gc.recentObjectsHook", "PROGRAM"),
        ]);
    }),
    ("other hooks", RunsNot, |r| {
        for hook in [
            "pre-commit",
            "post-checkout",
            "fsmonitor-watchman",
            "reference-transaction",
            "pre-auto-gc",
        ] {
            std::fs::copy(&r.program, r.dir.join(".git/hooks").join(hook)).unwrap();
        }
    }),
    ("gpg.ssh.defaultKeyCommand", RunsNot, |r| {
        r.config(&[
            ("gpg.format", "ssh"),
            ("gpg.ssh.defaultKeyCommand", "PROGRAM"),
            ("commit.gpgSign", "true"),
        ]);
    }),
    ("trace2 targets", RunsNot, |r| {
        let ran = r.ran.display().to_string();
        r.config(&[("trace2.eventTarget", &ran), ("trace2.normalTarget", &ran)]);
    }),
];

/// In parts: each row creates a repository, which takes time on a busy machine.
#[rstest::rstest]
fn no_hostile_repository_runs_a_program(#[values(0, 1, 2, 3, 4, 5)] part: usize) {
    assert!(ROWS.len() >= 40, "{}", ROWS.len());
    for (name, plainly, set_up) in ROWS.iter().skip(part).step_by(6) {
        let mut repo = Repo::new();
        set_up(&mut repo);
        assert!(!repo.has_run(), "{name}: it ran while it was set up");
        let dir = repo.asked.display().to_string();
        let status = answer("git", &dir, GitQuestion::Status, soon());
        let log = answer("git", &dir, GitQuestion::Log { n: 3 }, soon());
        assert!(!repo.has_run(), "{name}: {status:?} {log:?}");
        let asked = crate::cli::commit_hook::asks(&repo.asked);
        assert!(!repo.has_run(), "{name}: the commit hook: {asked:?}");
        repo.asked_plainly();
        assert_eq!(repo.has_run(), *plainly == Runs, "{name}: a plain git");
    }
}

#[test]
fn most_of_them_are_answered_all_the_same() {
    for (name, expected) in [
        ("core.fsmonitor", true),
        ("filter.process, required", true),
        ("gpg.program", true),
        ("a submodule's filter", true),
        ("core.sshCommand of a promisor", false),
        ("a bare repository in the tree: fsmonitor", false),
    ] {
        let (_, _, set_up) = ROWS.iter().find(|(row, ..)| *row == name).unwrap();
        let mut repo = Repo::new();
        set_up(&mut repo);
        let dir = repo.asked.display().to_string();
        let status = answer("git", &dir, GitQuestion::Status, soon());
        assert_eq!(status.is_some(), expected, "{name}: {status:?}");
    }
}

/// `core.worktree` would tell a model the names of the user's own files.
#[test]
fn a_repository_does_not_choose_its_tree() {
    let repo = Repo::new();
    let home = repo.dir.parent().unwrap().join("home");
    Repo::put_in(&home, "private.txt", "x");
    repo.config(&[("core.worktree", &home.display().to_string())]);
    let status = answer("git", &repo.dir.display().to_string(), GitQuestion::Status, soon());
    assert_eq!(status.as_deref(), Some("## main\n"));
}
