//! Stories on the pages: the API, the stream, mail, a dialog, and hostile text.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rstest::rstest;
use serde_json::Value;
use substrate_testkit::{TestEnv, wait_until};

use super::Browser;
use crate::house::{SOON, bash, configure, plain};

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
    let (query, last) = match header {
        true => (String::new(), format!("Last-Event-ID: {after}\r\n")),
        false => (format!("?after={after}"), String::new()),
    };
    let request = format!(
        "GET /stream{query} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nCookie: {}\r\n{last}\r\n",
        browser.port, browser.cookie
    );
    let open = || {
        let mut stream = TcpStream::connect(("127.0.0.1", browser.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
        stream.write_all(request.as_bytes()).ok()?;
        Some(stream)
    };
    let (mut stream, mut text, begun) = (open(), Vec::new(), Instant::now());
    loop {
        let mut buffer = [0; 64 << 10];
        let read = stream.as_mut().map_or(Ok(0), |stream| stream.read(&mut buffer));
        // A daemon that gives way to the next one ends its streams, and a browser comes back.
        if matches!(read, Ok(0)) {
            std::thread::sleep(Duration::from_millis(20));
            stream = open();
            text.clear();
        }
        let n = read.unwrap_or(0);
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
