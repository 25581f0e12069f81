//! Any input on stdin or as arguments: exit code 0, in time, and nothing but JSON on stdout.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::{Report, Setting, garbage};
use crate::payload;
use crate::proc::{self, Ran};
use crate::sandbox::{Autostart, Sandbox};
use crate::stats::Rng;

pub(super) fn run(setting: &Setting, report: &mut Report) -> Result<()> {
    let mut rng = setting.rng();
    let up = Sandbox::new(&setting.dist, Autostart::Off)?;
    let pid = up.start_daemon()?;
    let away = Sandbox::new(&setting.dist, Autostart::Off)?;
    let mut findings = Findings::default();
    for _ in 0..setting.rounds(1, 6) {
        for sandbox in [&up, &away] {
            for (name, stdin) in inputs(&mut rng, setting.short) {
                findings.add(&name, &proc::feed(&mut sandbox.hook(), &stdin)?);
            }
            for (name, mut command) in wrong_arguments(sandbox, &mut rng) {
                findings.add(&name, &proc::feed(&mut command, b"{}\n")?);
            }
            // They only wait, so they wait together.
            let dripped = std::thread::scope(|scope| {
                let drip = |(name, pieces, pause): (&'static str, Vec<Vec<u8>>, Duration)| {
                    scope.spawn(move || (name, drip(&mut sandbox.hook(), &pieces, pause)))
                };
                let running: Vec<_> = slow_pipes().into_iter().map(drip).collect();
                running.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
            });
            for one in dripped {
                let (name, ran) = one.map_err(|_| anyhow::anyhow!("a slow pipe panicked"))?;
                findings.add(name, &ran?);
            }
            odd_streams(sandbox, &mut findings)?;
        }
    }
    report.hooks(findings.times);
    report.no("violations", &findings.bad);
    garbage::throw(setting, &up, &mut rng, report)?;
    let alive = up.daemons() == [pid];
    report.promise("the daemon is alive", alive, alive);
    Ok(())
}

#[derive(Default)]
struct Findings {
    times: Vec<Duration>,
    bad: Vec<String>,
}

impl Findings {
    fn add(&mut self, name: &str, ran: &Ran) {
        self.times.push(ran.took);
        let mut bad = |what: String| self.bad.push(format!("{name}: {what}"));
        if ran.status.code() != Some(0) {
            bad(format!("ended with {}", ran.status));
        }
        if !ran.stdout.is_empty()
            && serde_json::from_slice::<serde_json::Value>(&ran.stdout).is_err()
        {
            bad(format!("printed {}", String::from_utf8_lossy(&ran.stdout)));
        }
    }
}

fn inputs(rng: &mut Rng, short: bool) -> Vec<(String, Vec<u8>)> {
    let good = payload::pre_tool_use("toolu_fuzz", "Bash", 2 << 10);
    let mut list: Vec<(String, Vec<u8>)> = Vec::new();
    let mut add = |name: &str, bytes: Vec<u8>| list.push((name.to_owned(), bytes));
    add("empty", Vec::new());
    add("white space", b" \n\t\n".to_vec());
    add("NULs", vec![0; 5_000]);
    add("not an object", b"[1, 2, 3]\n".to_vec());
    add("numbers that are none", b"{\"session_id\": 1e999, \"tool_input\": -}\n".to_vec());
    add("nested arrays", b"[".repeat(200_000));
    let deep = [b"{\"tool_input\":".repeat(50_000), b"1".to_vec(), b"}".repeat(50_000)].concat();
    add("nested objects", deep);
    let mut inner = good.clone();
    inner.splice(
        1..1,
        [&b"\"x\":"[..], &b"[".repeat(100_000), &b"]".repeat(100_000), b","].concat(),
    );
    add("nested inside a good one", inner);
    add("8 MB, good", payload::pre_tool_use("toolu_fuzz", "Write", 8 << 20));
    add(
        "8 MB of one string that does not end",
        [b"{\"a\":\"".to_vec(), vec![b'x'; 8 << 20]].concat(),
    );
    add("8 MB of random bytes", rng.bytes(8 << 20));
    if !short {
        add("40 MB, good", payload::pre_tool_use("toolu_fuzz", "Write", 40 << 20));
    }
    let mut twice = good.clone();
    twice.extend_from_slice(&good);
    add("two payloads", twice);
    for _ in 0..10 {
        let len = rng.below(4_096);
        add("random bytes", rng.bytes(len));
        add("cut", good[..rng.below(good.len())].to_vec());
        let mut bent = good.clone();
        for _ in 0..=rng.below(8) {
            let at = rng.below(bent.len());
            bent[at] = rng.next().to_le_bytes()[0];
        }
        add("some bytes changed", bent);
        let mut not_text = good.clone();
        let at = rng.below(not_text.len());
        not_text.splice(at..at, [0xff, 0xc0, 0x80, 0xed, 0xa0, 0x80]);
        add("no UTF-8", not_text);
    }
    list
}

fn wrong_arguments(sandbox: &Sandbox, rng: &mut Rng) -> Vec<(String, Command)> {
    use std::os::unix::ffi::OsStringExt as _;
    let hook = |args: Vec<Vec<u8>>| {
        let mut command = sandbox.as_hook(sandbox.program("substrate-hook"));
        command.args(args.into_iter().map(std::ffi::OsString::from_vec));
        command
    };
    let words = |text: &str| text.split_whitespace().map(|word| word.as_bytes().to_vec()).collect();
    let random: Vec<u8> = rng.bytes(300).into_iter().filter(|byte| *byte != 0).collect();
    vec![
        ("no arguments".to_owned(), hook(Vec::new())),
        ("one argument".to_owned(), hook(words("claude-code"))),
        ("unknown client".to_owned(), hook(words("no-client PreToolUse"))),
        ("unknown event".to_owned(), hook(words("claude-code NoSuchEvent"))),
        ("unknown flags".to_owned(), hook(words("claude-code Stop --what --is=this -x"))),
        ("--help".to_owned(), hook(words("--help"))),
        ("random arguments".to_owned(), hook(vec![random.clone(), random])),
        ("empty arguments".to_owned(), hook(vec![Vec::new(), Vec::new()])),
        ("a thousand arguments".to_owned(), hook(vec![b"claude-code".to_vec(); 1_000])),
        ("a long argument".to_owned(), hook(vec![b"claude-code".to_vec(), vec![b'x'; 100_000]])),
    ]
}

/// Callers that do not close the pipe.
fn slow_pipes() -> Vec<(&'static str, Vec<Vec<u8>>, Duration)> {
    let good = payload::pre_tool_use("toolu_fuzz", "Bash", 2 << 10);
    let drops = |n: usize| good.chunks(n).map(<[u8]>::to_vec).collect();
    vec![
        ("pipe stays open after a whole line", vec![good.clone()], Duration::from_secs(4)),
        ("pipe stays open after half a line", vec![good[..900].to_vec()], Duration::from_secs(4)),
        ("pipe stays open, nothing said", vec![Vec::new()], Duration::from_secs(4)),
        ("a piece each 80 ms, for 4 s", drops(40), Duration::from_millis(80)),
        ("a piece each 150 ms, for 4 s", drops(76), Duration::from_millis(150)),
    ]
}

/// Writes pieces with pauses, and closes the pipe only after them.
fn drip(command: &mut Command, pieces: &[Vec<u8>], pause: Duration) -> Result<Ran> {
    let begun = Instant::now();
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut pipe = child.stdin.take().context("no stdin")?;
    let ended = std::sync::atomic::AtomicBool::new(false);
    let ended = &ended;
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            let ran = proc::finish(child, begun);
            ended.store(true, std::sync::atomic::Ordering::Relaxed);
            ran
        });
        for piece in pieces {
            if pipe.write_all(piece).is_err() {
                break;
            }
            proc::wait_until(pause, || ended.load(std::sync::atomic::Ordering::Relaxed));
        }
        drop(pipe);
        waiting.join().map_err(|_| anyhow::anyhow!("a waiter panicked"))?
    })
}

/// Standard streams that are not what they should be.
fn odd_streams(sandbox: &Sandbox, findings: &mut Findings) -> Result<()> {
    let folder = || std::fs::File::open(sandbox.state());
    let full = || std::fs::File::options().write(true).open("/dev/full");
    let cases: [(&str, Stdio, Stdio); 4] = [
        ("stdin is a folder", Stdio::from(folder()?), Stdio::piped()),
        ("stdin is /dev/null", Stdio::null(), Stdio::piped()),
        ("stdout is full", Stdio::null(), Stdio::from(full()?)),
        ("stdout is a folder", Stdio::null(), Stdio::from(folder()?)),
    ];
    for (name, stdin, stdout) in cases {
        let begun = Instant::now();
        let child = sandbox.hook().stdin(stdin).stdout(stdout).stderr(Stdio::null()).spawn()?;
        findings.add(name, &proc::finish(child, begun)?);
    }
    Ok(())
}
