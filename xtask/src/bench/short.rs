//! `cargo xtask bench short`: what people and clients start all the time, against `/bin/true`: the status line, and the first
//! answer of the tool server.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use crate::args::Args;
use crate::sandbox::{Autostart, Sandbox};
use crate::say::{Judgement, Table, say};
use crate::stats::{Times, us};
use crate::{dist, payload, proc, procfs};

const MAX_STATUS_LINE: f64 = 3.0;
const MAX_FIRST_ANSWER: f64 = 10.0;
const MAX_SERVER_KB: u64 = 6 << 10;

const STATUS: &str =
    include_str!("../../../crates/clients/src/claude_code/samples/_statusLine.json");

pub(super) fn run(mut args: Args) -> Result<bool> {
    let rounds: usize = args.value("--rounds")?.unwrap_or(300);
    args.end()?;
    let dist = dist::build()?;
    let sandbox = Sandbox::new(&dist, Autostart::Off)?;
    sandbox.start_daemon()?;
    proc::feed(&mut sandbox.hook(), &payload::pre_tool_use("toolu_1", "Write", 2 << 10))?;
    let (mut base, mut line, mut server) = (Vec::new(), Vec::new(), Vec::new());
    let mut rss_kb = 0;
    for _ in 0..rounds {
        base.push(proc::feed(&mut sandbox.command("/bin/true"), b"")?.took);
        let mut status_line = sandbox.command(sandbox.program("substrate"));
        let ran = proc::feed(status_line.arg("statusline"), STATUS.as_bytes())?;
        ensure!(ran.ok() && !ran.stdout.is_empty(), "the status line ended with {}", ran.status);
        line.push(ran.took);
        let mut command = sandbox.command(sandbox.program("substrate"));
        let (took, kb) = first_answer(command.arg("mcp"))?;
        server.push(took);
        rss_kb = rss_kb.max(kb);
    }
    let base = Times::of(base).p50();
    let mut table = Table::default();
    table.figure("/bin/true", us(base));
    for (name, times, max) in [
        ("statusline", line, MAX_STATUS_LINE),
        ("mcp, start to first answer", server, MAX_FIRST_ANSWER),
    ] {
        let time = Times::of(times).p50();
        let ratio = time.as_secs_f64() / base.as_secs_f64();
        let words = format!("{ratio:.2} ({})", us(time));
        table.row(
            format!("{name} ÷ /bin/true"),
            words,
            format!("≤ {max}"),
            Judgement::of(ratio <= max),
        );
    }
    let bar = format!("≤ {MAX_SERVER_KB} KB");
    let is_small = Judgement::of(rss_kb <= MAX_SERVER_KB);
    table.row("mcp: resident memory", format!("{rss_kb} KB"), bar, is_small);
    say!("medians of {rounds} rounds, interleaved:");
    Ok(table.print())
}

/// From the start of the server to its first answer, and its memory after two more.
fn first_answer(command: &mut Command) -> Result<(Duration, u64)> {
    let begun = Instant::now();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    let mut stdout = BufReader::new(child.stdout.take().context("no stdout")?);
    let mut ask = |n: u64, method: &str, params: serde_json::Value| -> Result<()> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let mut params = params;
        params["_meta"] = meta;
        let request = json!({"jsonrpc": "2.0", "id": n, "method": method, "params": params});
        writeln!(stdin, "{request}")?;
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        let answer: serde_json::Value = serde_json::from_str(&line)?;
        ensure!(answer["id"] == n && answer["error"].is_null(), "{method}: {line}");
        Ok(())
    };
    ask(1, "server/discover", json!({}))?;
    let took = begun.elapsed();
    ask(2, "tools/list", json!({}))?;
    ask(3, "tools/call", json!({"name": "fleet", "arguments": {"do": "list"}}))?;
    let kb = procfs::rss_kb(i32::try_from(child.id())?).context("the server is gone")?;
    drop(stdin);
    child.wait()?;
    Ok((took, kb))
}
