//! The dashboard on 127.0.0.1: who gets in, and what is answered. Plain requests to a real daemon.

mod access;
mod pages;
mod requests;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use substrate_testkit::TestEnv;

/// A dashboard, and a browser that has signed in.
struct Browser {
    env: TestEnv,
    port: u16,
    cookie: String,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Browser {
    fn new() -> Self {
        Self::of(TestEnv::new())
    }

    fn of(env: TestEnv) -> Self {
        let (port, key) = opened(&env, &["ui", "--no-open", "--format", "json"]);
        let cookie = entered(port, &key);
        Self { env, port, cookie }
    }

    /// A GET as a browser sends it.
    fn get(&self, path: &str) -> Answer {
        ask(
            self.port,
            &format!(
                "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nCookie: {}\r\nSec-Fetch-Site: same-origin\r\n",
                self.port, self.cookie
            ),
            "",
        )
    }

    /// Sends a form of a page: `_row` and `_nonce` come from the page itself. Our pages send no referrer, so a browser hides
    /// their origin too.
    fn post(&self, path: &str, body: &str) -> Answer {
        let (port, cookie) = (self.port, &self.cookie);
        ask(
            port,
            &format!(
                "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\nSec-Fetch-Site: same-origin\r\nOrigin: null\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            ),
            body,
        )
    }
}

/// The port and the key that a command prints.
pub(crate) fn opened(env: &TestEnv, args: &[&str]) -> (u16, String) {
    let printed: Value = serde_json::from_str(&env.substrate(args).success()).unwrap();
    let url = printed["url"].as_str().unwrap();
    let (_, key) = url.split_once("/enter?key=").unwrap();
    (u16::try_from(printed["port"].as_u64().unwrap()).unwrap(), key.to_owned())
}

/// Opens the address of a key, and returns the cookie.
fn entered(port: u16, key: &str) -> String {
    let answer =
        ask(port, &format!("GET /enter?key={key} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"), "");
    assert_eq!(answer.status, 303, "{}", answer.body);
    assert!(answer.head.contains("location: /\r\n"), "{}", answer.head);
    let cookie = answer.head.split("set-cookie: ").nth(1).unwrap().split("\r\n").next().unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="] {
        assert!(cookie.contains(part), "{cookie}");
    }
    cookie.split(';').next().unwrap().to_owned()
}

fn ask(port: u16, head: &str, body: &str) -> Answer {
    let length = if head.starts_with("POST") && !head.contains("Content-Length") {
        format!("Content-Length: {}\r\n", body.len())
    } else {
        String::new()
    };
    raw(port, &format!("{head}{length}Connection: close\r\n\r\n{body}"))
}

fn raw(port: u16, request: &str) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let _reset = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    Answer { status, head: format!("{head}\r\n"), body: body.to_owned() }
}
