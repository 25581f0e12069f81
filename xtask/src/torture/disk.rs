//! A full disk, a read-only home, a damaged database, broken settings: agents go on, commands say what is wrong, and
//! nothing is deleted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount};

use super::workers::Observations;
use super::{Report, Setting};
use crate::journal;
use crate::sandbox::{Autostart, Sandbox, put_file};
use crate::{payload, proc};

/// The exit code for a state home that is not usable.
const STATE: i32 = 4;

pub(super) fn run(setting: &Setting, report: &mut Report) -> Result<()> {
    full_from_the_start(setting, report)?;
    full_later(setting, report)?;
    read_only(setting, report)?;
    no_folder(setting, report)?;
    damaged(setting, report)?;
    bad_settings(setting, report)
}

fn full_from_the_start(setting: &Setting, report: &mut Report) -> Result<()> {
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    let Some(_small) = SmallDisk::new(&sandbox.state(), 256) else {
        report.not_run("full disk: no tmpfs can be mounted here (needs root)");
        return Ok(());
    };
    fill(&sandbox.state().join("filler"));
    hooks_go_on(&sandbox, "full disk, no database yet", report)?;
    exclude_each_other(&sandbox, "full disk, no database yet", report)?;
    commands_say(&sandbox, "full disk, no database yet", &[&["journal"]], report)
}

fn full_later(setting: &Setting, report: &mut Report) -> Result<()> {
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    let Some(_small) = SmallDisk::new(&sandbox.state(), 2_048) else { return Ok(()) };
    sandbox.settings("[[guards.rules]]\nname = \"never\"\ntool = \"Bash\"\nwhen = \"true\"\naction = \"deny\"\nreason = \"no\"\nnext = \"Leave it.\"\n")?;
    sandbox.start_daemon()?;
    let mut before = Observations::default();
    before.hook(&sandbox, "toolu_before".to_owned())?;
    let filler = sandbox.state().join("filler");
    fill(&filler);
    // As many as it takes until nothing can be written any more.
    let mut seen = Observations::default();
    for n in 0..300 {
        seen.hook(&sandbox, format!("toolu_{n}"))?;
    }
    let found = journal::compare(&sandbox.database(), &seen.sent)?;
    let words =
        format!("{} of 300 not journaled, max {:.0?}", found.lost.len(), seen.times().max());
    report.promise("disk fills up: some events are not journaled", words, !found.lost.is_empty());
    report.no("disk fills up: hooks that failed", &seen.failed);
    report.hooks(seen.hook_times());
    // The hooks above write. A rule refuses this one, and the full disk must not turn that off.
    let payload = payload::pre_tool_use("toolu_refused", "Bash", 1 << 10);
    let refused = proc::feed(&mut sandbox.hook(), &payload)?;
    let holds = refused.ok() && String::from_utf8_lossy(&refused.stdout).contains("\"deny\"");
    report.promise("disk is full: a guard still refuses", holds, holds);
    exclude_each_other(&sandbox, "disk is full", report)?;
    std::fs::remove_file(filler)?;
    let is_back = proc::wait_until(Duration::from_secs(10), || {
        let status = sandbox.substrate(&["daemon", "status", "--format", "json"]);
        status.is_ok_and(|status| {
            String::from_utf8_lossy(&status.stdout).contains("\"trouble\": null")
        })
    });
    report.promise("disk has space again: the database is used again", is_back, is_back);
    before.hook(&sandbox, "toolu_after".to_owned())?;
    let found = journal::compare(&sandbox.database(), &before.sent)?;
    let words = format!("lost {}, doubled {}", found.lost.len(), found.doubled.len());
    report.promise("disk has space again: events are journaled", words, found.lost.is_empty());
    let check = sandbox.substrate(&["db", "check"])?;
    report.promise("… and the database is whole", check.status, check.status.success());
    Ok(())
}

/// Two agents want one file. The database can't be written, so the daemon keeps their leases in memory.
fn exclude_each_other(sandbox: &Sandbox, name: &str, report: &mut Report) -> Result<()> {
    let edit = |session: &str| -> Result<bool> {
        let payload = serde_json::json!({
            "session_id": session, "cwd": sandbox.path("project"), "hook_event_name": "PreToolUse",
            "tool_name": "Edit", "tool_use_id": "t",
            "tool_input": {"file_path": sandbox.path("project").join("new.rs"), "old_string": "a", "new_string": "b"},
        });
        let ran = proc::feed(&mut sandbox.hook(), payload.to_string().as_bytes())?;
        Ok(String::from_utf8_lossy(&ran.stdout).contains("\"permissionDecision\":\"deny\""))
    };
    let denied = [edit("full-a")?, edit("full-b")?, edit("full-a")?];
    let words = format!("refused: {denied:?}");
    report.promise(
        &format!("{name}: two agents exclude each other"),
        words,
        denied == [false, true, false],
    );
    Ok(())
}

fn read_only(setting: &Setting, report: &mut Report) -> Result<()> {
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    let Some(small) = SmallDisk::new(&sandbox.state(), 4_096) else {
        report.not_run("read-only home: no tmpfs can be mounted here (needs root)");
        return Ok(());
    };
    sandbox.start_daemon()?;
    Observations::default().hook(&sandbox, "toolu_before".to_owned())?;
    sandbox.stop_daemon()?;
    if !small.read_only() || std::fs::File::create(sandbox.state().join("x")).is_ok() {
        report.not_run("read-only home: it can't be remounted");
        return Ok(());
    }
    let before = std::fs::read(sandbox.database())?;
    hooks_go_on(&sandbox, "read-only home", report)?;
    for words in [&["journal"][..], &["db", "check"]] {
        // Reading may work. If it does not, the command must say so.
        if !sandbox.substrate(words)?.status.success() {
            commands_say(&sandbox, "read-only home", &[words], report)?;
        }
    }
    commands_say(&sandbox, "read-only home", &[&["daemon", "start"]], report)?;
    let same = std::fs::read(sandbox.database())? == before;
    report.promise("read-only home: database unchanged", same, same);
    Ok(())
}

/// A regular file where the home's parent should be. This stops root too.
fn no_folder(setting: &Setting, report: &mut Report) -> Result<()> {
    let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
    std::fs::remove_dir_all(sandbox.state())?;
    put_file(&sandbox.state(), b"not a folder\n")?;
    hooks_go_on(&sandbox, "home is a file", report)?;
    commands_say(&sandbox, "home is a file", &[&["journal"], &["daemon", "start"]], report)?;
    let same = std::fs::read(sandbox.state())? == b"not a folder\n";
    report.promise("home is a file: unchanged", same, same);
    Ok(())
}

fn damaged(setting: &Setting, report: &mut Report) -> Result<()> {
    let mut rng = setting.rng();
    for (name, from) in [("database is noise", 0), ("database is noise after its header", 100)] {
        let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
        sandbox.start_daemon()?;
        let mut seen = Observations::default();
        for n in 0..50 {
            seen.hook(&sandbox, format!("toolu_{n}"))?;
        }
        sandbox.stop_daemon()?;
        for log in ["subtrate.db-wal", "subtrate.db-shm"] {
            let _maybe_none = std::fs::remove_file(sandbox.state().join(log));
        }
        let mut bytes = std::fs::read(sandbox.database())?;
        let len = bytes.len() - from;
        bytes.splice(from.., rng.bytes(len));
        put_file(&sandbox.database(), &bytes)?;
        hooks_go_on(&sandbox, name, report)?;
        commands_say(&sandbox, name, &[&["journal"], &["db", "check"]], report)?;
        let same = std::fs::read(sandbox.database())? == bytes;
        report.promise(&format!("{name}: file unchanged"), same, same);
    }
    Ok(())
}

/// Broken settings: the defaults apply, and the error says where the problem is.
fn bad_settings(setting: &Setting, report: &mut Report) -> Result<()> {
    let mut rng = setting.rng();
    let noise = rng.bytes(5_000);
    for (name, text) in
        [("config.toml is cut", &b"[daemon\nautostart = tr"[..]), ("config.toml is noise", &noise)]
    {
        let sandbox = Sandbox::new(&setting.dist, Autostart::On)?;
        put_file(&sandbox.state().join("config.toml"), text)?;
        let seen = hooks_go_on(&sandbox, name, report)?;
        commands_say(&sandbox, name, &[&["config", "check"]], report)?;
        let said = sandbox.substrate(&["journal"])?;
        let text_said = String::from_utf8_lossy(&said.stderr).into_owned();
        let warned = said.status.success() && text_said.contains("config.toml");
        report.promise(&format!("{name}: `journal` warns and works"), said.status, warned);
        let found = journal::compare(&sandbox.database(), &seen.sent)?;
        report.promise(&format!("{name}: journal"), found.words(), found.is_exact());
        let same = std::fs::read(sandbox.state().join("config.toml"))? == text;
        report.promise(&format!("{name}: file unchanged"), same, same);
    }
    Ok(())
}

/// Ten hooks: all exit 0, print nothing, in time.
fn hooks_go_on(sandbox: &Sandbox, name: &str, report: &mut Report) -> Result<Observations> {
    let mut seen = Observations::default();
    for n in 0..10 {
        seen.hook(sandbox, format!("toolu_{n}"))?;
    }
    let words = format!("{} failed, max {:.0?}", seen.failed.len(), seen.times().max());
    report.promise(&format!("{name}: hooks go on"), words, seen.failed.is_empty());
    seen.failed.iter().take(3).for_each(|line| report.evidence(line.clone()));
    report.hooks(seen.hook_times());
    // No hook kept starting a daemon that can't work.
    proc::wait_until(Duration::from_secs(3), || sandbox.daemons().len() <= 1);
    Ok(seen)
}

/// Each command exits with the code for such a state, and says what is wrong and what to do.
fn commands_say(
    sandbox: &Sandbox,
    name: &str,
    commands: &[&[&str]],
    report: &mut Report,
) -> Result<()> {
    for words in commands {
        let output = sandbox.substrate(words)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let code = output.status.code().context("ended by a signal")?;
        let kept = code == STATE && said.contains("error: ") && said.contains("hint: ");
        let first = said.lines().next().unwrap_or("nothing");
        let hint = if said.contains("hint: ") { "hint" } else { "NO hint" };
        let seen = format!("exit {code}, {hint}, {first}");
        report.promise(&format!("{name}: `substrate {}`", words.join(" ")), seen, kept);
    }
    Ok(())
}

/// Uses up all the space that is left.
fn fill(path: &Path) {
    use std::io::Write as _;
    let Ok(mut file) = std::fs::File::create(path) else { return };
    for size in [64 << 10, 4 << 10, 1] {
        let block = vec![b'x'; size];
        while file.write_all(&block).is_ok() {}
    }
}

/// A tmpfs that is unmounted with this value.
struct SmallDisk {
    at: PathBuf,
}

impl SmallDisk {
    /// `None`: we may not mount here.
    fn new(at: &Path, kb: usize) -> Option<Self> {
        let data = std::ffi::CString::new(format!("size={kb}k,mode=0700")).ok()?;
        mount("tmpfs", at, "tmpfs", MountFlags::NOSUID, Some(data.as_c_str())).ok()?;
        Some(Self { at: at.to_owned() })
    }

    fn read_only(&self) -> bool {
        mount_remount(&self.at, MountFlags::RDONLY, "").is_ok()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _gone = unmount(&self.at, UnmountFlags::DETACH);
    }
}
