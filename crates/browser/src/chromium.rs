//! The browser's process: its program, its flags, its fonts, its end.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::tab::Tab;
use crate::wire::Wire;

/// Debian's own program first: the one on the `PATH` is a script around it.
const PROGRAMS: [&str; 2] = ["/usr/lib/chromium/chromium", "/usr/bin/chromium"];

/// Pictures and widths are the same on every machine that has these.
const FONTS: [&str; 2] =
    ["/usr/share/fonts/truetype/liberation", "/usr/share/fonts/truetype/dejavu"];

const FLAGS: [&str; 21] = [
    "--headless",
    "--remote-debugging-pipe",
    // As root there is no sandbox, and the only pages are our own.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--metrics-recording-only",
    "--password-store=basic",
    "--use-mock-keychain",
    // A tab in the background is throttled otherwise, and two tabs are a story of ours.
    "--disable-renderer-backgrounding",
    "--font-render-hinting=none",
    "--disable-lcd-text",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
];

/// A running browser; ended when dropped.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    wire: Arc<Wire>,
    /// Profile and fonts. Deleted after `Drop for Browser` has ended the process.
    folder: TempDir,
}

impl Browser {
    /// Starts Chromium with an empty profile.
    ///
    /// # Panics
    /// If it is not installed or does not start.
    pub fn start() -> Self {
        let program = PROGRAMS.iter().find(|path| Path::new(path).is_file()).unwrap_or_else(|| {
            panic!(
                "Chromium is not installed: run `scripts/test-tools`, or `apt-get install chromium`"
            )
        });
        let folder = tempfile::Builder::new().prefix("sub-chromium-").tempdir();
        let folder = folder.expect("the temp folder can be written");
        let fonts = folder.path().join("fonts.conf");
        write(&fonts, &font_settings(folder.path()));
        // The pipes are the descriptors 3 and 4. The shell puts them there, and becomes the browser.
        #[expect(clippy::disallowed_methods, reason = "this clears the environment itself")]
        let mut command = Command::new("/bin/sh");
        command
            .env_clear()
            .env("HOME", folder.path())
            .env("PATH", "/usr/bin:/bin")
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .env("FONTCONFIG_FILE", &fonts)
            .args(["-c", r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null"#, "sh", program])
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().expect("`/bin/sh` starts");
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let wire = Wire::new(to.expect("stdin is piped"), from.expect("stdout is piped"));
        let browser = Self { child, wire, folder };
        browser.call("Browser.getVersion", &json!({}));
        browser
    }

    /// A new tab. Tabs share cookies.
    pub fn tab(&self) -> Tab {
        let opened = self.call("Target.createTarget", &json!({"url": "about:blank"}));
        let flat = json!({"targetId": opened["targetId"], "flatten": true});
        let attached = self.call("Target.attachToTarget", &flat);
        let session = attached["sessionId"].as_str().unwrap_or_default().to_owned();
        Tab::new(Arc::clone(&self.wire), session)
    }

    fn call(&self, method: &str, params: &Value) -> Value {
        self.wire.call("", method, params).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Its profile and its fonts.
    #[cfg(test)]
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The resident memory of all of its processes, in KB.
    pub fn memory_kb(&self) -> u64 {
        let mut all = vec![self.child.id()];
        let mut at = 0;
        while let Some(pid) = all.get(at).copied() {
            at += 1;
            let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
            for task in tasks.into_iter().flatten().flatten() {
                let children = std::fs::read_to_string(task.path().join("children"));
                let children = children.unwrap_or_default();
                all.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
            }
        }
        let rss = |pid: &u32| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
            line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
        };
        all.iter().filter_map(rss).sum()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its other processes end with it.
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
        // They write into the profile until they have noticed.
        let until = Instant::now() + Duration::from_secs(2);
        while std::fs::remove_dir_all(self.folder.path()).is_err()
            && self.folder.path().exists()
            && Instant::now() < until
        {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn font_settings(folder: &Path) -> String {
    for fonts in FONTS {
        assert!(Path::new(fonts).is_dir(), "fonts are missing: run `scripts/test-tools` ({fonts})");
    }
    let dirs: String = FONTS.iter().map(|dir| format!("<dir>{dir}</dir>")).collect();
    let alias = |name: &str, font: &str| {
        format!(
            "<match target=\"pattern\"><test name=\"family\"><string>{name}</string></test>\
             <edit name=\"family\" mode=\"assign\" binding=\"strong\"><string>{font}</string></edit></match>"
        )
    };
    let sans = ["system-ui", "sans-serif", "sans", "Arial", "Helvetica"];
    let mono = ["ui-monospace", "monospace", "Menlo", "Consolas"];
    let aliases: String = sans.map(|name| alias(name, "Liberation Sans")).concat()
        + &mono.map(|name| alias(name, "DejaVu Sans Mono")).concat();
    let cache = folder.join("font-cache");
    // Any other family is the sans as well.
    let last = "<match target=\"pattern\"><edit name=\"family\" mode=\"append_last\"><string>Liberation Sans</string></edit></match>";
    format!(
        "<?xml version=\"1.0\"?><!DOCTYPE fontconfig SYSTEM \"fonts.dtd\"><fontconfig>{dirs}{aliases}{last}\
         <cachedir>{}</cachedir></fontconfig>",
        cache.display()
    )
}

fn write(path: &PathBuf, text: &str) {
    #[expect(clippy::disallowed_methods, reason = "a fixture has no reader to tear it from")]
    std::fs::write(path, text).expect("a new temp folder can be written");
}
