//! Many writers, hostile projects, and what a rotation removes.

use std::fs::{FileTimes, OpenOptions};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use super::*;
use crate::config::Env;
use crate::proc;

fn text(root: &Path) -> String {
    root.display().to_string()
}

fn put(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    crate::fsx::replace(path, b"{}\n", 0o644).unwrap();
}

/// Sets the modification time of everything below a folder.
fn age(path: &Path, seconds: u64) {
    if path.is_dir() {
        for entry in path.read_dir().unwrap() {
            age(&entry.unwrap().path(), seconds);
        }
    }
    let at = UNIX_EPOCH + Duration::from_secs(seconds);
    let times = FileTimes::new().set_modified(at).set_accessed(at);
    OpenOptions::new().read(true).open(path).unwrap().set_times(times).unwrap();
}

#[test]
fn lines_of_many_writers_stay_whole() {
    let root = tempfile::tempdir().unwrap();
    let at = text(root.path());
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let at = &at;
            scope.spawn(move || {
                let line = format!("{}\n", writer.to_string().repeat(3_000));
                for _ in 0..50 {
                    append(at, "s/a/agent-stop.jsonl", &line).unwrap();
                }
            });
        }
    });
    let file = root.path().join("logs/sessions/s/a/agent-stop.jsonl");
    let all = std::fs::read_to_string(file).unwrap();
    assert_eq!(all.lines().count(), 400);
    for line in all.lines() {
        assert!(line.len() == 3_000 && line.bytes().all(|b| b == line.as_bytes()[0]), "{line}");
    }
}

#[test]
fn nothing_is_written_through_a_link_at_any_step() {
    for link in ["logs", "logs/sessions", "logs/sessions/s", "logs/sessions/s/a"] {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let link = root.path().join(link);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(other.path(), &link).unwrap();
        let at = text(root.path());
        assert!(append(&at, "s/a/agent-stop.jsonl", "{}\n").is_err(), "{}", link.display());
        assert!(ensure(&at, "s/a").is_err());
        assert_eq!(other.path().read_dir().unwrap().count(), 0, "{}", link.display());
    }
}

#[test]
fn only_a_plain_file_of_one_name_is_written_to() {
    let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = text(root.path());
    let precious = other.path().join("precious");
    put(&precious);
    let folder = root.path().join("logs/sessions/s");
    std::fs::create_dir_all(folder.join("folder")).unwrap();
    symlink(&precious, folder.join("link")).unwrap();
    symlink(other.path().join("new"), folder.join("dangling")).unwrap();
    std::fs::hard_link(&precious, folder.join("hard")).unwrap();
    let pipe = folder.join("pipe");
    let made = proc::command("mkfifo", &Env::of_this_process()).arg(&pipe).status().unwrap();
    assert!(made.success());
    for name in ["link", "dangling", "hard", "pipe", "folder"] {
        assert!(append(&at, &format!("s/{name}"), "{}\n").is_err(), "{name}");
    }
    assert_eq!(std::fs::read(&precious).unwrap(), b"{}\n");
    assert_eq!(other.path().read_dir().unwrap().count(), 1);
}

#[test]
fn names_are_no_paths() {
    let root = tempfile::tempdir().unwrap();
    let at = text(root.path());
    for path in ["../x", "s/../../../x", "/x", "s//x", "./x", "x", "", "s/"] {
        assert!(append(&at, path, "{}\n").is_err(), "{path}");
    }
    assert!(append("relative", "s/x", "{}\n").is_err());
    assert!(append(&at, "s/x", "no end").is_err());
    assert!(append(&at, "s/x", &format!("{}\n", "y".repeat(MAX_LINE))).is_err());
    assert!(!root.path().join("x").exists() && !root.path().join("logs/sessions/s/x").exists());
}

#[test]
fn old_sessions_of_our_making_go_and_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    let at = text(root.path());
    let logs = root.path().join(LOGS);
    for session in ["old", "new", "fresh-agent", "theirs", "theirs-deep", "linked"] {
        put(&logs.join(session).join("events.log"));
        put(&logs.join(session).join("session-start.jsonl"));
        put(&logs.join(session).join("a1/agent-start.jsonl"));
    }
    std::fs::create_dir(logs.join("empty")).unwrap();
    put(&logs.join("notes.md"));
    put(&logs.join("theirs/notes.md"));
    put(&logs.join("theirs-deep/a1/notes.md"));
    age(&logs, 1_000);
    put(&logs.join("fresh-agent/a1/agent-stop.jsonl"));
    age(&logs.join("fresh-agent/a1/agent-stop.jsonl"), 5_000);
    append(&at, "new/events.log", "again\n").unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    put(&elsewhere.path().join("events.log"));
    age(elsewhere.path(), 1_000);
    symlink(elsewhere.path(), logs.join("link")).unwrap();
    symlink(elsewhere.path(), logs.join("linked/a2")).unwrap();
    assert_eq!(rotate(&at, Timestamp(2_000_000)).unwrap(), 2, "`old` and `empty`");
    let mut left: Vec<String> = logs
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["fresh-agent", "link", "linked", "new", "notes.md", "theirs", "theirs-deep"]);
    assert!(logs.join("theirs/session-start.jsonl").exists(), "all of it stays");
    assert!(elsewhere.path().join("events.log").exists());
    assert_eq!(rotate(&text(elsewhere.path()), Timestamp(2_000_000)).unwrap(), 0, "no logs at all");
}

#[test]
fn the_last_line_is_a_whole_one() {
    let root = tempfile::tempdir().unwrap();
    let at = text(root.path());
    assert_eq!(last_line(&at, "s/a/agent-start.jsonl"), None);
    append(&at, "s/a/agent-start.jsonl", "one\n").unwrap();
    append(&at, "s/a/agent-start.jsonl", "two\n").unwrap();
    let file = root.path().join("logs/sessions/s/a/agent-start.jsonl");
    OpenOptions::new().append(true).open(file).unwrap().write_all(b"torn").unwrap();
    assert_eq!(last_line(&at, "s/a/agent-start.jsonl").as_deref(), Some("two"));
    assert_eq!(n_agents(&at, "s"), 1);
    assert_eq!(n_agents(&at, "unknown"), 0);
}

#[test]
fn a_project_gets_its_folders_again_and_again() {
    let root = tempfile::tempdir().unwrap();
    let at = text(root.path());
    make_folders(&at).unwrap();
    make_folders(&at).unwrap();
    assert!(root.path().join("logs/sessions").is_dir());
    assert!(root.path().join(".serena/memories").is_dir());
}
