//! A busy machine: processes that only compute, and one that calls fsync all the time.
//!
//! They are processes of this program. Each reads a pipe that only we hold, and ends when the pipe closes: even if we
//! are killed, none is left behind.

use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::args::Args;
use crate::proc;

/// The scratch file is overwritten from its beginning at this size.
const MAX_SCRATCH: u64 = 4 << 20;

/// Processes that end with this value.
pub(super) struct Load(Vec<Child>);

impl Load {
    /// This many busy loops per core, and the one that calls fsync. Nothing at all for 0.
    pub(super) fn start(per_core: usize) -> Result<Self> {
        let mut load = Self(Vec::new());
        if per_core == 0 {
            return Ok(load);
        }
        let exe = std::env::current_exe()?;
        for _ in 0..per_core * std::thread::available_parallelism()?.get() {
            load.add(proc::command(&exe).arg("__busy"))?;
        }
        load.add(proc::command(&exe).arg("__fsync").arg(std::env::temp_dir()))?;
        Ok(load)
    }

    fn add(&mut self, command: &mut Command) -> Result<()> {
        // The child keeps the pipe's other end until it is dropped.
        self.0.push(command.stdin(Stdio::piped()).spawn().context("a busy loop")?);
        Ok(())
    }

    /// How many of them run.
    pub(super) fn n_running(&mut self) -> usize {
        self.0.iter_mut().filter_map(|child| child.try_wait().ok()).filter(Option::is_none).count()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // Both fail only if it has ended already.
            let _gone = child.kill();
            let _reaped = child.wait();
        }
    }
}

/// `xtask __busy`: computes until stdin ends.
pub(super) fn busy(args: Args) -> Result<bool> {
    args.end()?;
    std::thread::spawn(|| {
        for n in 0_u64.. {
            std::hint::black_box(n);
        }
    });
    until_stdin_ends()
}

/// `xtask __fsync FOLDER`: writes and calls fsync until stdin ends. Its file has no name, so none is left behind.
pub(super) fn fsync(mut args: Args) -> Result<bool> {
    let folder = args.word().context("no folder")?;
    args.end()?;
    let mut file = tempfile::tempfile_in(Path::new(&folder))?;
    std::thread::spawn(move || -> std::io::Result<()> {
        let block = [7; 64 << 10];
        loop {
            if file.stream_position()? >= MAX_SCRATCH {
                file.seek(SeekFrom::Start(0))?;
            }
            file.write_all(&block)?;
            file.sync_all()?;
        }
    });
    until_stdin_ends()
}

fn until_stdin_ends() -> Result<bool> {
    let mut nothing = [0; 1];
    while std::io::stdin().read(&mut nothing)? > 0 {}
    Ok(true)
}

/// Whether other programs use over half of the CPUs, so that times say nothing about ours.
pub(super) fn is_machine_busy() -> bool {
    let Some(before) = processor_ticks() else { return false };
    std::thread::sleep(Duration::from_millis(300));
    let Some(after) = processor_ticks() else { return false };
    is_busy(before, after)
}

/// Idle ticks and all ticks.
fn processor_ticks() -> Option<(u64, u64)> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    ticks_of(stat.lines().next()?)
}

/// Of a line `cpu user nice system idle iowait …`.
fn ticks_of(line: &str) -> Option<(u64, u64)> {
    let ticks: Vec<u64> =
        line.split_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
    Some((ticks.get(3)? + ticks.get(4)?, ticks.iter().sum()))
}

fn is_busy(before: (u64, u64), after: (u64, u64)) -> bool {
    let (idle, all) = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
    idle * 2 < all
}

#[cfg(test)]
mod tests {
    use super::{is_busy, ticks_of};

    #[test]
    fn a_machine_is_busy_if_less_than_half_is_idle() {
        let before = ticks_of("cpu  10 0 10 100 20 0 0 0 0 0").unwrap();
        assert_eq!(before, (120, 140));
        assert!(is_busy(before, (139, 180)));
        assert!(!is_busy(before, (141, 180)));
        assert!(!is_busy(before, before));
    }
}
