//! `substrate top` in a terminal of its own: how fast it opens, and what it costs while nothing happens.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::procfs;
use crate::sandbox::Sandbox;
use crate::say::{Judgement, Table};
use crate::stats::{Times, ms};

const MAX_OPEN: Duration = Duration::from_millis(50);
const N_STARTS: usize = 11;
const IDLE: Duration = Duration::from_secs(10);

/// A frame is whole when its last view is named on the screen.
const DRAWN: &str = "Needs you";

pub(super) fn measure(sandbox: &Sandbox, table: &mut Table) -> Result<()> {
    if !sandbox.substrate(&["top", "--help"])?.status.success() {
        table.row("substrate top", "is not there", "", Judgement::NotJudged("not built"));
        return Ok(());
    }
    let mut times = Vec::new();
    for _ in 0..N_STARTS {
        let mut top = Top::start(sandbox)?;
        times.push(top.drawn()?);
    }
    let times = Times::of(times);
    let words = format!("{}, max {}", ms(times.p50()), ms(times.max()));
    let ok = Judgement::of(times.p50() <= MAX_OPEN);
    table.row("substrate top opens in", words, format!("≤ {}", ms(MAX_OPEN)), ok);
    let mut top = Top::start(sandbox)?;
    top.drawn()?;
    let pid = i32::try_from(top.child.id())?;
    // It may still look around after its first frame.
    std::thread::sleep(Duration::from_secs(2));
    let begun = procfs::processor_time(pid)?;
    let ticks = procfs::ticks(pid).context("it is gone")?;
    std::thread::sleep(IDLE);
    let used = procfs::ticks(pid).context("it is gone")? - ticks;
    let spent = procfs::processor_time(pid)?.saturating_sub(begun);
    let words = format!("{used} ticks, {}", ms(spent));
    table.row("its processor time in 10 idle seconds", words, "0 ticks", Judgement::of(used == 0));
    Ok(())
}

/// A running `substrate top`; ended when dropped.
struct Top {
    child: Child,
    terminal: File,
    begun: Instant,
}

impl Top {
    fn start(sandbox: &Sandbox) -> Result<Self> {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&terminal)?;
        unlockpt(&terminal)?;
        let size = Winsize { ws_row: 50, ws_col: 160, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size)?;
        let name = PathBuf::from(ptsname(&terminal, Vec::new())?.to_str()?);
        let end = || File::options().read(true).write(true).open(&name);
        let mut command = sandbox.command(sandbox.program("substrate"));
        command.arg("top").env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        command.stdin(end()?).stdout(end()?).stderr(Stdio::null());
        let begun = Instant::now();
        Ok(Self { child: command.spawn()?, terminal: File::from(terminal), begun })
    }

    /// Waits for the first frame: how long it took.
    fn drawn(&mut self) -> Result<Duration> {
        let (mut seen, mut chunk) = (Vec::new(), [0; 16 << 10]);
        loop {
            let mut ready = [PollFd::new(&self.terminal, PollFlags::IN)];
            let patience = Timespec { tv_sec: 10, tv_nsec: 0 };
            let is_ready = poll(&mut ready, Some(&patience))? > 0;
            let n = if is_ready { self.terminal.read(&mut chunk).unwrap_or(0) } else { 0 };
            seen.extend_from_slice(&chunk[..n]);
            let text = String::from_utf8_lossy(&seen);
            // Between the letters there may be nothing but colours.
            if text.replace("\u{1b}[0m", "").contains(DRAWN) {
                return Ok(self.begun.elapsed());
            }
            anyhow::ensure!(n > 0, "`substrate top` drew nothing: {text:?}");
        }
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _gone = self.child.kill().and_then(|()| self.child.wait());
    }
}
