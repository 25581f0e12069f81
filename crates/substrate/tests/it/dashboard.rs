//! The dashboard on 127.0.0.1: who gets in, and what is answered. Plain requests to a real daemon.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rstest::rstest;
use serde_json::Value;
use substrate_testkit::{Running, TestEnv, wait_until};

use crate::house::{SOON, bash, configure, plain};

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

    /// Sends a form of a page: `_row` and `_nonce` come from the page itself.
    fn post(&self, path: &str, body: &str) -> Answer {
        let (port, cookie) = (self.port, &self.cookie);
        ask(
            port,
            &format!(
                "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\n"
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

/// One request: how it differs from a good one, and the answer.
struct Row {
    name: &'static str,
    line: &'static str,
    /// `{port}` is the port, `{cookie}` the cookie.
    headers: &'static [&'static str],
    body: &'static str,
    expected: u16,
}

const HOST: &str = "Host: 127.0.0.1:{port}";
const COOKIE: &str = "Cookie: {cookie}";
const SAME: &str = "Sec-Fetch-Site: same-origin";
const FORM: &str = "Content-Type: application/x-www-form-urlencoded";

const fn row(
    name: &'static str,
    line: &'static str,
    headers: &'static [&'static str],
    expected: u16,
) -> Row {
    Row { name, line, headers, body: "", expected }
}

const REQUESTS: &[Row] = &[
    row("a page", "GET /", &[HOST, COOKIE], 200),
    row("by its other name", "GET /", &["Host: localhost:{port}", COOKIE], 200),
    row("a page, head only", "HEAD /", &[HOST, COOKIE], 200),
    row(
        "a link from another site, signed in",
        "GET /",
        &[HOST, COOKIE, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"],
        200,
    ),
    row("the stylesheet", "GET /substrate.css", &[HOST], 200),
    row("the script", "GET /substrate.js", &[HOST], 200),
    row("the api", "GET /api/fleet/list", &[HOST, COOKIE], 200),
    row("no host", "GET /", &[COOKIE], 421),
    row("two hosts", "GET /", &[HOST, HOST, COOKIE], 421),
    row("another name that means us", "GET /", &["Host: rebind.example:{port}", COOKIE], 421),
    row("another name, same start", "GET /", &["Host: 127.0.0.1.evil.example:{port}", COOKIE], 421),
    row("a name below ours", "GET /", &["Host: x.localhost:{port}", COOKIE], 421),
    row("without the port", "GET /", &["Host: 127.0.0.1", COOKIE], 421),
    row("another port", "GET /", &["Host: 127.0.0.1:1", COOKIE], 421),
    row("all interfaces", "GET /", &["Host: 0.0.0.0:{port}", COOKIE], 421),
    row("the number as one", "GET /", &["Host: 2130706433:{port}", COOKIE], 421),
    row("IPv6", "GET /", &["Host: [::1]:{port}", COOKIE], 421),
    row("upper case", "GET /", &["Host: LOCALHOST:{port}", COOKIE], 421),
    row("a dot at the end", "GET /", &["Host: localhost.:{port}", COOKIE], 421),
    row("a proxy's form", "GET http://rebind.example/", &[HOST, COOKIE], 421),
    row("a stream by another name", "GET /stream", &["Host: rebind.example:{port}", COOKIE], 421),
    row("a file by another name", "GET /substrate.css", &["Host: rebind.example:{port}"], 421),
    row("no cookie", "GET /", &[HOST], 401),
    row("no cookie, the api", "GET /api/fleet/list", &[HOST], 401),
    row("no cookie, a stream", "GET /stream", &[HOST], 401),
    row("no cookie, a form", "POST /do/fleet/check", &[HOST, SAME, FORM], 401),
    row(
        "another cookie",
        "GET /",
        &[HOST, "Cookie: substrate-{port}=00000000000000000000000000000000"],
        401,
    ),
    row("an empty cookie", "GET /", &[HOST, "Cookie: substrate-{port}="], 401),
    row("the cookie of another port", "GET /", &[HOST, "Cookie: substrate-1=x"], 401),
    row("no key", "GET /enter", &[HOST], 403),
    row("a wrong key", "GET /enter?key=ffffffffffffffffffffffffffffffff", &[HOST], 403),
    row("a key by head", "HEAD /enter?key=x", &[HOST], 403),
    row("a key by prefetch", "GET /enter?key=x", &[HOST, "Sec-Purpose: prefetch"], 403),
    row(
        "another site loads a page",
        "GET /",
        &[HOST, COOKIE, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"],
        403,
    ),
    row(
        "another port loads the api",
        "GET /api/fleet/list",
        &[HOST, COOKIE, "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors"],
        403,
    ),
    row(
        "another site streams",
        "GET /stream",
        &[HOST, COOKIE, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors"],
        403,
    ),
    row(
        "a form of another site",
        "POST /do/fleet/check",
        &[HOST, COOKIE, FORM, "Sec-Fetch-Site: cross-site"],
        403,
    ),
    row(
        "a form of another port",
        "POST /do/fleet/check",
        &[HOST, COOKIE, FORM, "Sec-Fetch-Site: same-site"],
        403,
    ),
    row("a form without a sender", "POST /do/fleet/check", &[HOST, COOKIE, FORM], 403),
    row(
        "a form of another origin",
        "POST /do/fleet/check",
        &[HOST, COOKIE, FORM, "Origin: http://evil.example"],
        403,
    ),
    row("a form of no origin", "POST /do/fleet/check", &[HOST, COOKIE, FORM, "Origin: null"], 403),
    row(
        "both, and one does not fit",
        "POST /do/fleet/check",
        &[HOST, COOKIE, FORM, SAME, "Origin: http://evil.example"],
        403,
    ),
    row("a form without a nonce", "POST /do/fleet/check", &[HOST, COOKIE, FORM, SAME], 403),
    row(
        "our origin, no nonce",
        "POST /do/fleet/check",
        &[HOST, COOKIE, FORM, "Origin: http://127.0.0.1:{port}"],
        403,
    ),
    row(
        "plain text",
        "POST /do/fleet/check",
        &[HOST, COOKIE, SAME, "Content-Type: text/plain"],
        415,
    ),
    row(
        "a file form",
        "POST /do/fleet/check",
        &[HOST, COOKIE, SAME, "Content-Type: multipart/form-data; boundary=x"],
        415,
    ),
    row("no type", "POST /do/fleet/check", &[HOST, COOKIE, SAME], 415),
    row("a form to a page", "POST /", &[HOST, COOKIE, SAME, FORM], 405),
    row("PUT", "PUT /", &[HOST, COOKIE, SAME], 405),
    row("DELETE", "DELETE /", &[HOST, COOKIE, SAME], 405),
    row(
        "a question before a request",
        "OPTIONS /api/fleet/list",
        &[HOST, COOKIE, "Origin: http://evil.example", "Access-Control-Request-Method: GET"],
        405,
    ),
    row("TRACE", "TRACE /", &[HOST, COOKIE], 405),
    row("up a folder", "GET /../ui-keys.json", &[HOST, COOKIE], 400),
    row("up a folder, encoded", "GET /%2e%2e/ui-keys.json", &[HOST, COOKIE], 400),
    row("an encoded slash", "GET /mail%2f1", &[HOST, COOKIE], 400),
    row("two slashes", "GET //evil.example/", &[HOST, COOKIE], 400),
    row("a zero", "GET /mail%00", &[HOST, COOKIE], 400),
    row("a backslash", "GET /a%5cb", &[HOST, COOKIE], 400),
    row("a file of the state home", "GET /subtrate.db", &[HOST, COOKIE], 404),
    row("no such page", "GET /nowhere", &[HOST, COOKIE], 404),
    row("no such command", "GET /api/no/such", &[HOST, COOKIE], 404),
    row("a hidden command", "GET /api/supervise", &[HOST, COOKIE], 404),
    row("a command that writes, read", "GET /api/send?to=User&body=x", &[HOST, COOKIE], 405),
    row("a field that is not there", "GET /api/fleet/list?nonsense=1", &[HOST, COOKIE], 422),
    row("a value that does not fit", "GET /api/journal/list?limit=many", &[HOST, COOKIE], 422),
    row("a stream from nowhere", "GET /stream?after=x", &[HOST, COOKIE], 400),
    row(
        "our own address as a proxy sends it",
        "GET http://127.0.0.1:{port}/",
        &[HOST, COOKIE],
        200,
    ),
    row("a name before ours", "GET /", &["Host: evil.example@127.0.0.1:{port}", COOKIE], 421),
    row("our name among others", "GET /", &["Host: 127.0.0.1:{port}, evil.example", COOKIE], 421),
    row("an empty host", "GET /", &["Host:", COOKIE], 421),
    row("the number in hex", "GET /", &["Host: 0x7f000001:{port}", COOKIE], 421),
    row("another loopback address", "GET /", &["Host: 127.0.0.2:{port}", COOKIE], 421),
    row("a name of IPv4 in IPv6", "GET /", &["Host: [::ffff:127.0.0.1]:{port}", COOKIE], 421),
    row(
        "a forwarded host does not count",
        "GET /",
        &["Host: rebind.example:{port}", "X-Forwarded-Host: 127.0.0.1:{port}", COOKIE],
        421,
    ),
    row(
        "a form by another name",
        "POST /do/fleet/check",
        &["Host: rebind.example:{port}", COOKIE, SAME, FORM],
        421,
    ),
    row("a key in the address of a page", "GET /?key={cookie}", &[HOST], 401),
    row("a key in another header", "GET /", &[HOST, "Authorization: Bearer {cookie}"], 401),
    row("a cookie of another name", "GET /", &[HOST, "Cookie: session=x; other=y"], 401),
    row(
        "two cookies, the first is wrong",
        "GET /",
        &[HOST, "Cookie: substrate-{port}=x; {cookie}"],
        401,
    ),
    row(
        "another site frames a page",
        "GET /",
        &[
            HOST,
            COOKIE,
            "Sec-Fetch-Site: cross-site",
            "Sec-Fetch-Mode: no-cors",
            "Sec-Fetch-Dest: iframe",
        ],
        403,
    ),
    row(
        "another site loads the script",
        "GET /substrate.js",
        &[HOST, COOKIE, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"],
        403,
    ),
    row("an unknown word for a site", "GET /", &[HOST, COOKIE, "Sec-Fetch-Site: trusted"], 403),
    row(
        "our other name as the origin",
        "POST /do/fleet/check",
        &[HOST, COOKIE, FORM, SAME, "Origin: http://localhost:{port}"],
        403,
    ),
    row(
        "our address over TLS as the origin",
        "POST /do/fleet/check",
        &[HOST, COOKIE, FORM, SAME, "Origin: https://127.0.0.1:{port}"],
        403,
    ),
    row(
        "a sandboxed page of another site",
        "POST /do/fleet/check",
        &[HOST, COOKIE, FORM, "Sec-Fetch-Site: cross-site", "Origin: null"],
        403,
    ),
    row(
        "a hidden origin of nowhere",
        "POST /do/fleet/check",
        &[HOST, COOKIE, FORM, "Sec-Fetch-Site: none", "Origin: null"],
        403,
    ),
    row(
        "JSON of another origin",
        "POST /do/fleet/check",
        &[HOST, COOKIE, "Content-Type: application/json", "Origin: http://evil.example"],
        403,
    ),
    row(
        "JSON that hides its type",
        "POST /do/fleet/check",
        &[HOST, COOKIE, SAME, "Content-Type: text/plain; application/json"],
        415,
    ),
    row("a key exchanged by a form", "POST /enter?key=x", &[HOST, SAME, FORM], 403),
    row("a method of its own", "PROPFIND /", &[HOST, COOKIE], 405),
    row("a form to the api", "POST /api/fleet/list", &[HOST, COOKIE, SAME, FORM], 405),
    row("up a folder after a file", "GET /substrate.css/../ui-keys.json", &[HOST, COOKIE], 400),
    row("up a folder, encoded twice", "GET /%252e%252e/ui-keys.json", &[HOST, COOKIE], 400),
    row("up a folder with a parameter", "GET /..;/ui-keys.json", &[HOST, COOKIE], 400),
    row("a folder of the machine", "GET /etc/passwd", &[HOST, COOKIE], 404),
    row("the socket", "GET /daemon.sock", &[HOST, COOKIE], 404),
    row("a way up in a command", "GET /api/../enter", &[HOST, COOKIE], 400),
];

#[test]
fn every_request_gets_the_answer_of_the_table() {
    let browser = Browser::new();
    let fill = |text: &str| {
        text.replace("{port}", &browser.port.to_string()).replace("{cookie}", &browser.cookie)
    };
    let mut wrong = Vec::new();
    for Row { name, line, headers, body, expected } in REQUESTS {
        let headers: String =
            headers.iter().map(|header| format!("{}\r\n", fill(header))).collect();
        let line = fill(line);
        let answer = ask(browser.port, &format!("{line} HTTP/1.1\r\n{headers}"), body);
        if answer.status != *expected {
            wrong.push(format!("{name}: {} and not {expected}", answer.status));
        }
        let head = answer.head.to_lowercase();
        for needed in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self';",
            "require-trusted-types-for 'script'",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-opener-policy: same-origin",
            "cross-origin-resource-policy: same-origin",
            "cache-control: no-store",
        ] {
            if !head.contains(needed) {
                wrong.push(format!("{name}: no {needed}"));
            }
        }
        if head.contains("access-control-") || answer.body.contains(" style=") {
            wrong.push(format!("{name}: it has what it must not have"));
        }
    }
    assert!(REQUESTS.len() >= 90, "{}", REQUESTS.len());
    assert_eq!(wrong, Vec::<String>::new());
}

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

#[rstest]
#[case("fleet/list", &["fleet", "list"])]
#[case("journal/list?limit=3&event=Stop", &["journal", "list", "--limit", "3", "--event", "Stop"])]
#[case("locks/list", &["locks", "list", "--project-dir", "/"])]
fn the_api_is_what_the_command_prints(#[case] path: &str, #[case] words: &[&str]) {
    let browser = Browser::new();
    browser.env.hook("Stop", plain("a", "Stop")).success();
    let without_ages = |text: &str| -> Value {
        let mut json: Value = serde_json::from_str(text).unwrap();
        if let Some(first) = json.get_mut("actors").and_then(|actors| actors.get_mut(0)) {
            first["silent_ms"].take();
        }
        json
    };
    let api = browser.get(&format!("/api/{path}"));
    let printed = browser.env.substrate([words, &["--format", "json"]].concat()).success();
    assert_eq!(api.status, 200, "{}", api.body);
    assert_eq!(without_ages(&api.body), without_ages(&printed));
}

/// Reads the stream until `enough`, and returns the ids of the entries.
fn streamed(
    browser: &Browser,
    after: i64,
    header: bool,
    enough: impl Fn(&[i64]) -> bool,
) -> Vec<i64> {
    let mut stream = TcpStream::connect(("127.0.0.1", browser.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let (query, last) = match header {
        true => (String::new(), format!("Last-Event-ID: {after}\r\n")),
        false => (format!("?after={after}"), String::new()),
    };
    let request = format!(
        "GET /stream{query} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nCookie: {}\r\n{last}\r\n",
        browser.port, browser.cookie
    );
    stream.write_all(request.as_bytes()).unwrap();
    let (mut text, begun) = (Vec::new(), Instant::now());
    loop {
        let mut buffer = [0; 64 << 10];
        let n = stream.read(&mut buffer).unwrap_or(0);
        text.extend_from_slice(&buffer[..n]);
        let text = String::from_utf8_lossy(&text);
        let mut ids = Vec::new();
        for event in text.split("\n\n").filter(|event| event.contains("event: entries")) {
            let Some(data) = event.split("data: ").nth(1) else { continue };
            let Ok(Value::Array(rows)) = serde_json::from_str(data.trim_end()) else { continue };
            ids.extend(rows.iter().filter_map(|row| row["id"].as_i64()));
        }
        if enough(&ids) || begun.elapsed() > SOON {
            return ids;
        }
    }
}

#[test]
fn a_stream_replays_every_entry_once() {
    let browser = Browser::new();
    for n in 0..30 {
        browser.env.hook("Stop", plain(&format!("s{n}"), "Stop")).success();
    }
    let all = streamed(&browser, 0, true, |ids| ids.len() >= 30);
    assert_eq!(all, (1..=30).collect::<Vec<_>>());
    assert_eq!(streamed(&browser, 25, true, |ids| ids.len() >= 5), [26, 27, 28, 29, 30]);
    assert_eq!(streamed(&browser, 28, false, |ids| ids.len() >= 2), [29, 30]);
    browser.env.substrate(["daemon", "restart"]).success();
    wait_until(SOON, "it is back", || TcpStream::connect(("127.0.0.1", browser.port)).is_ok());
    browser.env.hook("Stop", plain("last", "Stop")).success();
    assert_eq!(streamed(&browser, 30, true, |ids| !ids.is_empty()), [31]);
}

/// The hidden fields of the form that posts to that path, as a body.
fn hidden(page: &str, action: &str) -> String {
    let form = page.split(&format!("action=\"{action}\"")).nth(1).unwrap();
    let form = form.split("</form>").next().unwrap();
    let mut out = String::new();
    for field in form.split("type=\"hidden\" name=\"").skip(1) {
        let (name, rest) = field.split_once("\" value=\"").unwrap();
        let value = rest.split('"').next().unwrap().replace(' ', "+");
        out.extend([name, "=", &value, "&"]);
    }
    out
}

#[test]
fn mail_written_on_the_page_is_sent_once() {
    let browser = Browser::new();
    browser.env.hook("SessionStart", plain("a", "SessionStart")).success();
    let fleet: Value = serde_json::from_str(&browser.get("/api/fleet/list").body).unwrap();
    let name = fleet["actors"][0]["agent"].as_str().unwrap().to_owned();
    let fields = hidden(&browser.get("/mail").body, "/do/send");
    let form =
        format!("{fields}to={name}&subject=&body=Split+it+%3Cb%3E&deadline=&priority=normal");
    let sent = browser.post("/do/send", &form);
    assert_eq!(sent.status, 303, "{}", sent.body);
    assert!(sent.head.contains("location: /mail\r\n"), "{}", sent.head);
    assert_eq!(browser.post("/do/send", &form).status, 409);
    let other_row = form.replace("_row=", "_row=x");
    assert_eq!(browser.post("/do/send", &other_row).status, 403);
    let page = browser.get("/mail?box=sent").body;
    assert_eq!(page.matches("Split it &lt;b&gt;</p>").count(), 1, "{page}");
    let unknown = hidden(&browser.get("/mail").body, "/do/send");
    let refused = browser.post("/do/send", &format!("{unknown}to=NoSuch&body=x"));
    assert_eq!(refused.status, 422, "{}", refused.body);
}

#[test]
fn a_dialog_is_answered_on_the_page() {
    let env = TestEnv::new();
    configure(&env, "[ui]\nanswer = true\n");
    let browser = Browser::of(env);
    let call = bash("a", "git push <origin>");
    browser.env.hook("PreToolUse", call.clone()).success();
    let mut asked = call;
    asked["hook_event_name"] = Value::from("PermissionRequest");
    let attended = [("CLAUDE_CODE_SESSION_ATTENDED", "1")];
    let dialog = browser.env.start_hook("PermissionRequest", asked, &attended);
    wait_until(SOON, "it is on the page", || browser.get("/").body.contains("/do/answer"));
    let page = browser.get("/").body;
    assert_eq!(page.matches("git push &lt;origin&gt;</pre>").count(), 1, "{page}");
    assert!(page.contains("<title>(1) Needs you"), "{page}");
    let form = hidden(&page, "/do/answer");
    assert!(form.contains("decision=allow"), "{form}");
    let answered = browser.post("/do/answer", &form);
    assert_eq!(answered.status, 303, "{}", answered.body);
    let printed = dialog.finish(SOON).success();
    assert!(printed.contains("\"behavior\":\"allow\""), "{printed}");
    assert_eq!(browser.post("/do/answer", &form).status, 409, "once");
    wait_until(SOON, "the row is gone", || !browser.get("/").body.contains("/do/answer"));
}

#[test]
fn what_an_agent_wrote_never_acts_and_never_hides() {
    let browser = Browser::new();
    let hostile = "\"'><script>alert(1)</script><img src=x onerror=alert(2)> \u{202e}txt.exe \u{7}";
    let mut prompt = plain("a", "UserPromptSubmit");
    prompt["prompt"] = Value::from(hostile);
    browser.env.hook("UserPromptSubmit", prompt).success();
    let mut call = bash("a", &format!("rm -rf ~/ {hostile}"));
    call["cwd"] = Value::from("/home/dev/<script>alert(3)</script>");
    browser.env.hook("PreToolUse", call.clone()).success();
    call["hook_event_name"] = Value::from("PermissionRequest");
    browser.env.hook("PermissionRequest", call).success();
    browser.env.substrate(["send", "User", hostile, "--subject", hostile]).success();
    let fleet: Value = serde_json::from_str(&browser.get("/api/fleet/list").body).unwrap();
    let name = fleet["actors"][0]["agent"].as_str().unwrap().to_owned();
    let agent = format!("/agent?who={name}");
    for path in [
        "/",
        "/mail",
        "/why",
        "/locks",
        "/health",
        "/cost",
        &agent,
        "/search?q=alert",
        "/agent?who=%3Cscript%3E",
        "/nowhere",
    ] {
        let page = browser.get(path).body;
        for bad in ["<script>", "<img", "onerror=alert(2)\"", "\u{202e}", "\u{7}"] {
            assert!(!page.contains(bad), "{path}: {bad:?} in {page}");
        }
    }
    assert!(browser.get("/mail").body.contains("<span class=\"ctl\">U+202E</span>"));
}
