//! A verb once per line of input, over one connection. Lines that are ready go together, and each gets its own answer.

use std::io::{BufRead, BufReader, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use substrate_core::Verb;

use super::Context;
use super::call::Line;
use super::dispatch::request;
use crate::error::{AppError, Kind, Result};
use crate::ui;

/// The most lines in one request.
const MAX_LINES: usize = 128;

/// About the most bytes in one request.
const MAX_BYTES: usize = 4 << 20;

pub(super) fn run(context: &Context, verb: &'static Verb, source: &str) -> Result<()> {
    let fail = |error: std::io::Error| {
        AppError::new(Kind::User, format!("`{source}` could not be read: {error}"))
    };
    let mut input: BufReader<Box<dyn std::io::Read>> = if source == "-" {
        BufReader::with_capacity(1 << 16, Box::new(std::io::stdin()))
    } else {
        BufReader::with_capacity(1 << 16, Box::new(std::fs::File::open(source).map_err(fail)?))
    };
    let mut line = Line::new(context, verb);
    let counted = Arc::new(AtomicUsize::new(0));
    // On a terminal the answers themselves show how far it is.
    let progress = (!std::io::stdout().is_terminal()).then(|| {
        let counted = Arc::clone(&counted);
        ui::progress("Sending", move || Some(format!("{} lines", counted.load(Ordering::Relaxed))))
    });
    let (mut n_done, mut n_failed) = (0_usize, 0_usize);
    loop {
        let lines = ready_lines(&mut input).map_err(fail)?;
        if lines.is_empty() {
            break;
        }
        let output = line.call(json!({ "lines": lines }), &request())?;
        for answer in output.json.as_array().into_iter().flatten() {
            n_done += 1;
            counted.store(n_done, Ordering::Relaxed);
            n_failed += usize::from(answer["ok"] != json!(true));
            ui::data(&format!("{answer}\n"));
        }
    }
    drop(progress);
    if n_failed > 0 {
        let error = format!("{n_failed} of {n_done} lines were not done");
        return Err(AppError::new(Kind::User, error).hint("each line's answer says why"));
    }
    Ok(())
}

/// Waits for one line, and takes others only if they are ready.
fn ready_lines(input: &mut BufReader<Box<dyn std::io::Read>>) -> std::io::Result<Vec<Value>> {
    let mut out = Vec::new();
    let mut n_bytes = 0;
    while out.len() < MAX_LINES && n_bytes < MAX_BYTES {
        if !out.is_empty() && !input.buffer().contains(&b'\n') {
            break;
        }
        let mut bytes = Vec::new();
        if input.read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        n_bytes += bytes.len();
        let text = String::from_utf8_lossy(&bytes);
        if text.trim().is_empty() {
            continue;
        }
        // The verb refuses what is not JSON, in its place.
        out.push(serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.into_owned())));
    }
    Ok(out)
}
