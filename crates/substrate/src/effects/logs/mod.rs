//! The session logs of a project: appends lines, and removes old sessions. Everything happens below `logs/sessions/`
//! (and `.serena/memories/`, which is only created), and never through a link.

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result, Seek as _, SeekFrom, Write as _};

use rustix::fs::FileType;
use substrate_core::Timestamp;
use substrate_core::redact::clean;
use substrate_features::journal::project_logs::entry::{AGENT_FILES, SESSION_FILES};

use crate::inside::Folder;

/// Where a project has its logs.
pub(crate) const LOGS: &str = "logs/sessions";

/// The other folder that an initialized project gets.
const MEMORIES: &str = ".serena/memories";

/// The longest line that we write.
const MAX_LINE: usize = 128 << 10;
/// A file that is longer gets no more lines: its writer has a bug.
const MAX_FILE: u64 = 32 << 20;

/// How many sessions a rotation examines and removes. The rest is left for the next one.
const MAX_LOOKED: usize = 10_000;
const MAX_REMOVED: usize = 1_000;
/// A folder with more entries is left alone.
const MAX_ENTRIES: usize = 10_000;
/// How much of a file's end is read to find its last line.
const MAX_TAIL: u64 = 128 << 10;

/// Appends a line, including its line break, to a file below the logs. Each line is one `write`, which the system
/// appends atomically next to other writers.
pub(crate) fn append(root: &str, path: &str, line: &str) -> Result<()> {
    if line.len() > MAX_LINE || !line.ends_with('\n') {
        return Err(ErrorKind::InvalidInput.into());
    }
    let line = clean(line);
    let (folder, name) = path.rsplit_once('/').ok_or(ErrorKind::InvalidInput)?;
    let (mut file, length) = made(root, folder)?.append(name, 0o644)?;
    if length > MAX_FILE {
        return Err(Error::new(ErrorKind::FileTooLarge, "the log is full"));
    }
    let n = file.write(line.as_bytes())?;
    if n < line.len() {
        take_back(&mut file, n as u64)?;
        return Err(ErrorKind::StorageFull.into());
    }
    Ok(())
}

/// On a full disk, half a line would spoil the next one too. It is cut off again, unless another writer has appended
/// since.
fn take_back(file: &mut File, n: u64) -> Result<()> {
    let end = file.stream_position()?;
    if file.metadata()?.len() == end {
        file.set_len(end.saturating_sub(n))?;
    }
    Ok(())
}

/// Creates a folder below the logs.
pub(crate) fn ensure(root: &str, folder: &str) -> Result<()> {
    made(root, folder).map(drop)
}

/// Creates a project's folders. One that fails does not stop the others.
pub(crate) fn make_folders(root: &str) -> Result<()> {
    let memories = || -> Result<()> {
        let mut here = Folder::root(root)?;
        for name in MEMORIES.split('/') {
            here = here.made(name)?;
        }
        Ok(())
    };
    let made = [all(root).map(drop), memories()];
    made.into_iter().collect()
}

/// The last whole line of a file below the logs.
pub(crate) fn last_line(root: &str, path: &str) -> Option<String> {
    let (folder, name) = path.rsplit_once('/')?;
    let (mut file, length) = there(root, folder).ok()?.read(name).ok()?;
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_TAIL))).ok()?;
    let mut tail = Vec::new();
    file.take(MAX_TAIL).read_to_end(&mut tail).ok()?;
    let text = String::from_utf8_lossy(&tail);
    let (whole, _torn) = text.rsplit_once('\n')?;
    whole.lines().next_back().map(str::to_owned)
}

/// How many subagents have a folder in that session.
pub(crate) fn n_agents(root: &str, session: &str) -> i64 {
    let count = || -> Result<usize> {
        let folder = there(root, session)?;
        let is_agent =
            |name: &String| folder.look(name).is_ok_and(|found| found.kind == FileType::Directory);
        Ok(folder.names(MAX_ENTRIES)?.iter().filter(|name| is_agent(name)).count())
    };
    i64::try_from(count().unwrap_or(0)).unwrap_or(i64::MAX)
}

/// Removes the sessions that got nothing since then, and returns how many. A folder with any foreign file stays, all of
/// it.
pub(crate) fn rotate(root: &str, before: Timestamp) -> Result<usize> {
    let logs = match there(root, "") {
        Ok(logs) => logs,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut n = 0;
    for session in logs.names(MAX_LOOKED)? {
        let Ok(found) = logs.look(&session) else { continue };
        if found.kind != FileType::Directory {
            continue;
        }
        let Ok(folder) = logs.below(&session) else { continue };
        let Some(agents) = old(&folder, found.changed_ms, before) else { continue };
        // A writer that appends meanwhile creates the folder again, or keeps it from being empty.
        if remove(&folder, &agents).and_then(|()| logs.remove_folder(&session)).is_ok() {
            n += 1;
        }
        if n == MAX_REMOVED {
            break;
        }
    }
    Ok(n)
}

/// The subagents of an old session that has nothing but our files. `None`: it stays.
fn old(session: &Folder, changed_ms: i64, before: Timestamp) -> Option<Vec<String>> {
    let mut agents = Vec::new();
    // An empty folder's own time counts. For others it only says when an entry was created.
    let mut newest = changed_ms;
    let names = session.names(MAX_ENTRIES).ok().filter(|names| names.len() < MAX_ENTRIES)?;
    for name in names {
        let found = session.look(&name).ok()?;
        newest = newest.max(found.changed_ms);
        if found.kind == FileType::Directory {
            newest = newest.max(newest_of_agent(&session.below(&name).ok()?)?);
            agents.push(name);
        } else if found.kind != FileType::RegularFile || !SESSION_FILES.contains(&name.as_str()) {
            return None;
        }
    }
    (newest < before.0).then_some(agents)
}

/// When a subagent's newest file was written. `None`: it has a foreign file.
fn newest_of_agent(agent: &Folder) -> Option<i64> {
    let mut newest = 0;
    for name in agent.names(AGENT_FILES.len() + 1).ok()? {
        let found = agent.look(&name).ok()?;
        if found.kind != FileType::RegularFile || !AGENT_FILES.contains(&name.as_str()) {
            return None;
        }
        newest = newest.max(found.changed_ms);
    }
    Some(newest)
}

fn remove(session: &Folder, agents: &[String]) -> Result<()> {
    for name in agents {
        let agent = session.below(name)?;
        remove_files(&agent, &AGENT_FILES)?;
        session.remove_folder(name)?;
    }
    remove_files(session, &SESSION_FILES)
}

fn remove_files(folder: &Folder, names: &[&str]) -> Result<()> {
    for name in names {
        match folder.remove_file(name) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// A folder below the logs, created if necessary.
fn made(root: &str, folder: &str) -> Result<Folder> {
    let mut here = all(root)?;
    for name in folder.split('/') {
        here = here.made(name)?;
    }
    Ok(here)
}

/// The folder of all logs. If we create it, git ignores it.
fn all(root: &str) -> Result<Folder> {
    let mut here = Folder::root(root)?;
    let mut is_new = false;
    for name in LOGS.split('/') {
        is_new = here.look(name).is_err();
        here = here.made(name)?;
    }
    if is_new {
        let _goes_without = here.append(".gitignore", 0o644).and_then(|(mut file, length)| {
            if length == 0 { file.write_all(b"*\n") } else { Ok(()) }
        });
    }
    Ok(here)
}

/// A folder below the logs, if it exists.
fn there(root: &str, folder: &str) -> Result<Folder> {
    let mut here = Folder::root(root)?;
    for name in LOGS.split('/').chain(folder.split('/').filter(|name| !name.is_empty())) {
        here = here.below(name)?;
    }
    Ok(here)
}

#[cfg(test)]
mod tests;
