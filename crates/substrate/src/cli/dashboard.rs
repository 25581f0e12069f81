//! `substrate ui`, `ui stop|keys|revoke|pair`

use std::fmt::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::Value;
use substrate_core::Audience;
use substrate_core::text::one_line;
use substrate_core::time::{Ago, parse_span};

use super::table::Definition;
use super::{Context, call, print};
use crate::daemon::{self, Stay, UiAsk};
use crate::error::{AppError, Kind, Result};
use crate::{clock, proc, ui};

/// How long a daemon may take to start.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a device stays paired.
const PAIRED: &str = "7d";

pub(super) const COMMANDS: &[Definition] = &[
    Definition::new(
        &["ui", "open"],
        Audience::User,
        "Open the dashboard in a browser: who needs you, and why",
        open,
    )
    .taking(open_flags)
    .by_default(),
    Definition::new(
        &["ui", "stop"],
        Audience::User,
        "Turn the dashboard off. Keys stay valid for the next time",
        |context, _| {
            let json = ask(context, &UiAsk::Stop)?;
            ui::talk(if json["stopped"] == true {
                "the dashboard is off\n"
            } else {
                "the dashboard was off\n"
            });
            print::to_programs(context, &json);
            Ok(())
        },
    ),
    Definition::new(
        &["ui", "keys"],
        Audience::User,
        "List the browsers and devices that have a key",
        |context, _| {
            let json = ask(context, &UiAsk::Keys)?;
            print::result(context, &json, || list(&json));
            Ok(())
        },
    ),
    Definition::new(
        &["ui", "revoke"],
        Audience::User,
        "Withdraw the key of a browser or device, or all keys",
        revoke,
    )
    .taking(|command| {
        command
            .arg(
                Arg::new("id")
                    .value_name("KEY")
                    .value_parser(clap::value_parser!(i64))
                    .help("The key's number, from `ui keys`"),
            )
            .arg(
                Arg::new("all")
                    .long("all")
                    .action(ArgAction::SetTrue)
                    .conflicts_with("id")
                    .help("Withdraw every key"),
            )
    }),
    Definition::new(
        &["ui", "pair"],
        Audience::User,
        "Show a code that opens the dashboard on a phone, to look only",
        pair,
    )
    .taking(pair_flags),
];

fn open_flags(command: Command) -> Command {
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
    };
    command
        .arg(flag("open", "Open a browser even if no display is seen").conflicts_with("no-open"))
        .arg(flag("no-open", "Only print the address"))
        .arg(
            Arg::new("port")
                .long("port")
                .value_name("N")
                .value_parser(clap::value_parser!(u16).range(1..))
                .help("Listen on this port of 127.0.0.1 (default: the last one, or any)"),
        )
}

fn pair_flags(command: Command) -> Command {
    command
        .arg(
            Arg::new("name")
                .long("name")
                .value_name("NAME")
                .default_value("phone")
                .help("What the device is called in `ui keys`"),
        )
        .arg(
            Arg::new("for")
                .long("for")
                .value_name("SPAN")
                .default_value(PAIRED)
                .help("How long its key lasts"),
        )
        .arg(
            Arg::new("may-act")
                .long("may-act")
                .action(ArgAction::SetTrue)
                .help("The device may also answer, send and release"),
        )
}

fn open(context: &Context, flags: &ArgMatches) -> Result<()> {
    let port = flags.get_one::<u16>("port").copied();
    let json = ask(context, &UiAsk::Open { port })?;
    let url = json["url"].as_str().unwrap_or_default().to_owned();
    let has_display =
        ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| context.env.get(name).is_some());
    let wants = flags.get_flag("open")
        || (!flags.get_flag("no-open")
            && (has_display || cfg!(target_os = "macos"))
            && ui::can_ask());
    let is_opened = wants && browse(&url);
    if flags.get_flag("open") && !is_opened {
        ui::talk("warning: no browser could be started\n");
    }
    print::result(context, &json, || {
        let then =
            if is_opened { "A browser opens it" } else { "Open it in a browser on this machine" };
        format!(
            "{url}\n{then}; it works once, within five minutes. `substrate ui stop` turns the dashboard off.\n"
        )
    });
    Ok(())
}

/// Asks the desktop to open an address.
fn browse(url: &str) -> bool {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = proc::as_asked(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn list(json: &Value) -> String {
    let now = clock::now().0;
    let mut out = match json["port"].as_u64() {
        Some(port) => format!("the dashboard is on, at http://127.0.0.1:{port}/\n"),
        None => "the dashboard is off; `substrate ui` turns it on\n".to_owned(),
    };
    let keys = json["keys"].as_array().map(Vec::as_slice).unwrap_or_default();
    if keys.is_empty() {
        out.push_str("no browser has a key\n");
    }
    for key in keys {
        let ms = |name: &str| key[name].as_i64().unwrap_or(0);
        let may = if key["may_act"] == true { "may act" } else { "only looks" };
        let _infallible = writeln!(
            out,
            "{:>4}  {:<8} {:<16} {may:<10}  used {} ago, ends in {}",
            ms("id"),
            key["kind"].as_str().unwrap_or_default(),
            one_line(key["name"].as_str().unwrap_or_default(), 16),
            Ago(now - ms("used_ms")),
            Ago(ms("expires_ms") - now),
        );
    }
    out
}

fn revoke(context: &Context, flags: &ArgMatches) -> Result<()> {
    let id = flags.get_one::<i64>("id").copied();
    if id.is_none() && !flags.get_flag("all") {
        return Err(AppError::new(Kind::User, "which key is to be withdrawn?")
            .hint("`substrate ui keys` lists them; `substrate ui revoke --all` withdraws all"));
    }
    let json = ask(context, &UiAsk::Revoke { id })?;
    let n = json["revoked"].as_u64().unwrap_or(0);
    ui::talk(&format!("withdrawn: {n}\n"));
    print::to_programs(context, &json);
    Ok(())
}

fn pair(context: &Context, flags: &ArgMatches) -> Result<()> {
    let text = |name: &str| flags.get_one::<String>(name).cloned().unwrap_or_default();
    let lasts_ms = parse_span(&text("for")).filter(|span| *span > 0).ok_or_else(|| {
        AppError::new(Kind::User, format!("`{}` is not a duration", text("for")))
            .hint("write it like `8h` or `7d`")
    })?;
    let may_act = flags.get_flag("may-act");
    let json = ask(context, &UiAsk::Pair { name: one_line(&text("name"), 40), lasts_ms, may_act })?;
    let url = json["url"].as_str().unwrap_or_default().to_owned();
    print::result(context, &json, || {
        let port = &json["port"];
        format!(
            "{}{url}\nThe address works once, within five minutes. The dashboard listens on this machine only, so the device\nneeds a way in: `ssh -L {port}:127.0.0.1:{port} <this machine>`, for example. `substrate ui revoke` ends it.\n",
            code(&url)
        )
    });
    Ok(())
}

/// The address as a QR code, two rows of it in each line. Dark on light, whatever the terminal's colours are.
fn code(text: &str) -> String {
    let Ok(code) = qrcode::QrCode::with_error_correction_level(text, qrcode::EcLevel::L) else {
        return String::new();
    };
    let (width, modules) = (code.width(), code.to_colors());
    // Two light modules around it: a camera needs them.
    let is_dark = |x: usize, y: usize| {
        let inside = (2..width + 2).contains(&x) && (2..width + 2).contains(&y);
        inside && modules[(y - 2) * width + x - 2] == qrcode::Color::Dark
    };
    let mut out = String::new();
    for y in (0..width + 4).step_by(2) {
        for x in 0..width + 4 {
            out.push(match (is_dark(x, y), is_dark(x, y + 1)) {
                (true, true) => ' ',
                (true, false) => '▄',
                (false, true) => '▀',
                (false, false) => '█',
            });
        }
        out.push('\n');
    }
    out
}

/// Asks the daemon about its dashboard, and starts a daemon that stays where none runs.
fn ask(context: &Context, ask: &UiAsk) -> Result<Value> {
    let begun = Instant::now();
    loop {
        if !matches!(ask, UiAsk::Stop | UiAsk::Keys | UiAsk::Revoke { .. })
            || daemon::holder(&context.home).is_none()
        {
            daemon::start(&context.env, &context.home, Stay::Long)?;
        }
        match call::ask_dashboard(&context.home, ask, PATIENCE) {
            Ok(answer) => return answer,
            Err(_) if begun.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
            Err(error) => {
                return Err(AppError::new(
                    Kind::Daemon,
                    format!("the daemon did not answer ({})", error.name()),
                )
                .hint("`substrate daemon status` tells more"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_square_and_has_a_margin() {
        let code = code("http://127.0.0.1:40000/enter?key=0123456789abcdef0123456789abcdef");
        let lines: Vec<&str> = code.lines().collect();
        let width = lines[0].chars().count();
        assert_eq!(lines.len(), width.div_ceil(2));
        assert!(lines.iter().all(|line| line.chars().count() == width));
        assert!(lines[0].chars().all(|c| c == '█') && lines[1].starts_with("██"));
        assert!(width <= 45, "{width} columns fit any terminal");
    }
}
