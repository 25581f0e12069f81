//! Keys, other users, paired devices, and requests that are too long or too slow.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;
use substrate_testkit::{Running, TestEnv, wait_until};

use super::{Browser, ask, entered, opened, raw};
use crate::house::SOON;

#[test]
fn a_key_works_once_and_can_be_withdrawn() {
    let env = TestEnv::new();
    let (port, key) = opened(&env, &["ui", "--no-open", "--format", "json"]);
    let cookie = entered(port, &key);
    let again =
        ask(port, &format!("GET /enter?key={key} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"), "");
    assert_eq!(again.status, 403);
    let browser = Browser { env, port, cookie };
    assert_eq!(browser.get("/").status, 200);
    use std::os::unix::fs::PermissionsExt as _;
    let keys = browser.env.state().join("ui-keys.json");
    assert_eq!(keys.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let secret = browser.cookie.split_once('=').unwrap().1.to_owned();
    assert!(!std::fs::read_to_string(&keys).unwrap().contains(&secret));
    let listed: Value =
        serde_json::from_str(&browser.env.substrate(["ui", "keys", "--format", "json"]).success())
            .unwrap();
    let id = listed["keys"][0]["id"].to_string();
    browser.env.substrate(["ui", "revoke", id.as_str()]).success();
    assert_eq!(browser.get("/").status, 401);
    browser.env.substrate(["ui", "revoke", id.as_str()]).code(1);
}

#[test]
fn it_goes_on_in_the_next_daemon_and_ends_when_told() {
    let browser = Browser::new();
    browser.env.substrate(["daemon", "restart"]).success();
    wait_until(SOON, "the same port and the same key work again", || {
        TcpStream::connect(("127.0.0.1", browser.port)).is_ok() && browser.get("/").status == 200
    });
    browser.env.substrate(["daemon", "stop"]).success();
    browser.env.substrate(["daemon", "start"]).success();
    wait_until(SOON, "and after a stop", || {
        TcpStream::connect(("127.0.0.1", browser.port)).is_ok() && browser.get("/").status == 200
    });
    browser.env.substrate(["ui", "stop"]).success();
    wait_until(SOON, "it is off", || TcpStream::connect(("127.0.0.1", browser.port)).is_err());
}

/// The addresses on which this port is listened to, as the kernel lists them.
fn listens(port: u16) -> Vec<String> {
    let port = format!(":{port:04X}");
    let mut out = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = std::fs::read_to_string(table).unwrap_or_default();
        let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let open = words.filter(|words| words.get(3) == Some(&"0A") && words[1].ends_with(&port));
        out.extend(open.map(|words| words[1].to_owned()));
    }
    out
}

#[test]
fn it_is_off_until_told_and_then_on_loopback_only() {
    let env = TestEnv::new();
    env.substrate(["daemon", "start"]).success();
    assert!(!env.state().join("ui-keys.json").exists());
    let (port, _) = opened(&env, &["ui", "--no-open", "--format", "json"]);
    assert_eq!(listens(port), [format!("0100007F:{port:04X}")]);
    env.substrate(["ui", "stop"]).success();
    wait_until(SOON, "it is off", || listens(port).is_empty());
}

/// All users of a machine share its loopback. Another user has no key, and can't read ours.
#[test]
fn a_process_of_another_user_gets_nothing() {
    let browser = Browser::new();
    let keys = browser.env.state().join("ui-keys.json");
    let as_other = |script: &str| {
        let mut command = browser.env.command("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "python3", "-c", script]);
        command.current_dir("/");
        Running::start(command, Vec::new()).finish(SOON)
    };
    let me = Running::start(
        {
            let mut id = browser.env.command("id");
            id.arg("-u");
            id
        },
        Vec::new(),
    );
    if me.finish(SOON).success().trim() != "0" {
        // Only root can become another user. What keeps them out is the file's mode, which another test looks at.
        return;
    }
    let read = as_other(&format!("print(open({:?}).read())", keys.display().to_string()));
    assert!(read.code(1).stderr.contains("Permission denied"));
    let script = format!(
        "import http.client\nc = http.client.HTTPConnection('127.0.0.1', {})\nfor path in ('/', '/stream', '/api/fleet/list'):\n    c.request('GET', path); r = c.getresponse(); r.read(); print(r.status)",
        browser.port
    );
    assert_eq!(as_other(&script).success(), "401\n401\n401\n");
}

#[test]
fn a_paired_device_only_looks() {
    let browser = Browser::new();
    let (port, key) = opened(&browser.env, &["ui", "pair", "--for", "1h", "--format", "json"]);
    let phone = Browser { cookie: entered(port, &key), port, env: browser.env };
    assert_eq!(phone.get("/").status, 200);
    let refused = phone.post("/do/fleet/check", "names=x");
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("may only look"), "{}", refused.body);
}

#[test]
fn oversized_and_slow_requests_end() {
    let browser = Browser::new();
    let port = browser.port;
    let long = "x".repeat(300 << 10);
    assert_eq!(browser.post("/do/fleet/check", &long).status, 413);
    assert_eq!(browser.get(&format!("/?q={}", "x".repeat(5_000))).status, 414);
    let huge =
        format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX: {}\r\n\r\n", "x".repeat(64 << 10));
    assert!(matches!(raw(port, &huge).status, 0 | 400 | 431));
    let begun = Instant::now();
    let slow = raw(port, &format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"));
    assert!(matches!(slow.status, 0 | 408), "{}", slow.status);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert_eq!(browser.get("/").status, 200);
    // More connections than there are places for, all silent: each ends, and pages come again.
    let silent: Vec<TcpStream> =
        (0..600).map_while(|_| TcpStream::connect(("127.0.0.1", port)).ok()).collect();
    assert!(silent.len() > 500, "{}", silent.len());
    assert_eq!(browser.get("/").status, 200);
    drop(silent);
}

#[test]
fn a_form_that_never_comes_whole_ends() {
    let browser = Browser::new();
    let (port, cookie) = (browser.port, &browser.cookie);
    let begun = Instant::now();
    let half = raw(
        port,
        &format!(
            "POST /do/fleet/check HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nnames=x"
        ),
    );
    assert!(matches!(half.status, 0 | 408), "{}", half.status);
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
}
