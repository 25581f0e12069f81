//! What `/proc` says about the daemons of one state home.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

/// The live daemons of that state home: by their arguments and their environment, never by name alone.
pub(crate) fn daemons(state_home: &Path) -> Vec<i32> {
    let mut wanted = b"SUBSTRATE_HOME=".to_vec();
    wanted.extend_from_slice(state_home.as_os_str().as_bytes());
    let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
    all.flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            is_daemon(*pid) && fields(*pid, "environ").contains(&wanted) && is_alive(*pid)
        })
        .collect()
}

fn is_daemon(pid: i32) -> bool {
    fields(pid, "cmdline").windows(2).any(|pair| pair[0] == b"daemon" && pair[1] == b"run")
}

/// Neither gone nor a zombie.
pub(crate) fn is_alive(pid: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Resident memory in KB.
pub(crate) fn rss_kb(pid: i32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Clock ticks of CPU used so far, in user and kernel space.
pub(crate) fn ticks(pid: i32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

fn fields(pid: i32, file: &str) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

/// The CPU time of a process, all of its threads together.
pub(crate) fn processor_time(pid: i32) -> Result<Duration> {
    let mut nanos = 0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = std::fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        nanos +=
            text.split_whitespace().next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(nanos))
}
