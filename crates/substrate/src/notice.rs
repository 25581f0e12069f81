//! Where notifications go: the desktop, and a command of the user. Text is passed as arguments, never through a shell.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::FileTypeExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use substrate_core::Settings;
use substrate_core::text::one_line;

use crate::config::Env;
use crate::proc::{self, TimedChild};

/// How long a program may take. Then it is killed, with everything it started.
const PATIENCE: Duration = Duration::from_secs(10);

/// How much of its complaint is read.
const MAX_COMPLAINT: u64 = 4_096;

/// Variables that a program needs to find the user's desktop.
const DESKTOP: [&str; 5] =
    ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"];

/// The script takes the text as arguments, so that none of it is part of the script.
const SCRIPT: &str =
    "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";

/// What the user is told.
#[derive(Clone, Debug)]
pub(crate) struct Notification {
    pub(crate) title: String,
    pub(crate) body: String,
    /// The rows, for programs.
    pub(crate) needs: Value,
}

/// A place for notifications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    Desktop,
    Command(Vec<String>),
}

impl Channel {
    /// The places that the settings name.
    pub(crate) fn of(settings: &Settings) -> Vec<Self> {
        let mut out = Vec::new();
        if settings.on("notify.desktop") {
            out.push(Self::Desktop);
        }
        let command = settings.texts("notify.command");
        if !command.is_empty() {
            out.push(Self::Command(command.to_vec()));
        }
        out
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Desktop => "desktop".to_owned(),
            Self::Command(words) => one_line(words.first().map_or("", String::as_str), 80),
        }
    }

    /// Tells it, and waits for the end of the program. The error is for a person.
    pub(crate) fn tell(&self, what: &Notification, env: &Env) -> Result<(), String> {
        let (program, args) = self.line(what);
        let mut command = proc::command(&program, env);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        add_desktop(&mut command, env);
        run(&mut command, what).map_err(|error| format!("`{}` {error}", one_line(&program, 80)))
    }

    /// The program and its arguments.
    fn line(&self, what: &Notification) -> (String, Vec<String>) {
        let words = |all: &[&str]| all.iter().map(|word| (*word).to_owned()).collect();
        let Notification { title, body, .. } = what;
        match self {
            Self::Desktop if cfg!(target_os = "macos") => {
                ("osascript".to_owned(), words(&["-e", SCRIPT, title, body]))
            }
            Self::Desktop => {
                let body = marked_up(body);
                ("notify-send".to_owned(), words(&["--app-name=Substrate", "--", title, &body]))
            }
            Self::Command(given) => {
                let (program, args) = given
                    .split_first()
                    .map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
                let mut args = args.to_vec();
                args.extend([title.clone(), body.clone()]);
                (program.to_owned(), args)
            }
        }
    }
}

/// Desktops read a text as markup.
fn marked_up(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The daemon may have been started from where no desktop is known. The bus of the user has a fixed place.
fn add_desktop(command: &mut Command, env: &Env) {
    for name in DESKTOP {
        if let Some(value) = env.get(name) {
            command.env(name, value);
        }
    }
    if env.get("DBUS_SESSION_BUS_ADDRESS").is_none() {
        let bus = format!("/run/user/{}/bus", rustix::process::geteuid().as_raw());
        if std::fs::metadata(&bus).is_ok_and(|found| found.file_type().is_socket()) {
            command.env("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={bus}"));
        }
    }
}

fn run(command: &mut Command, what: &Notification) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    let mut child =
        TimedChild::start(command).map_err(|error| format!("could not be started: {error}"))?;
    let input = json!({"title": what.title, "body": what.body, "needs": what.needs}).to_string();
    let (stdin, stderr) = (child.child().stdin.take(), child.child().stderr.take());
    // On threads of their own: a program may read nothing, and its children may keep the streams open.
    std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(input.as_bytes())));
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let _cut_short = stderr.map(|stderr| stderr.take(MAX_COMPLAINT).read_to_end(&mut text));
        let _abandoned = tell.send(text);
    });
    match child.succeeded(deadline) {
        Some(true) => Ok(()),
        Some(false) => {
            let text = told.recv_timeout(Duration::from_millis(200)).unwrap_or_default();
            match one_line(&String::from_utf8_lossy(&text), 160) {
                words if words.is_empty() => Err("failed".to_owned()),
                words => Err(format!("failed: {words}")),
            }
        }
        None => Err(format!("did not end within {} s, and was killed", PATIENCE.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hostile() -> Notification {
        Notification {
            title: "$(id) \"; rm -rf ~ #".to_owned(),
            body: "<b>bold</b> & `id`".to_owned(),
            needs: json!([]),
        }
    }

    #[test]
    fn text_is_an_argument_of_its_own_in_every_place() {
        let (program, args) = Channel::Desktop.line(&hostile());
        let title = hostile().title;
        assert!(args.contains(&title), "{program} {args:?}");
        if !cfg!(target_os = "macos") {
            assert_eq!(args.last().map(String::as_str), Some("&lt;b&gt;bold&lt;/b&gt; &amp; `id`"));
        }
        let own = Channel::Command(vec!["say".to_owned(), "--loud".to_owned()]);
        let expected = ["--loud", &title, &hostile().body];
        assert_eq!(own.line(&hostile()), ("say".to_owned(), expected.map(str::to_owned).to_vec()));
    }
}
