//! The scripted model as plain HTTP, without a client.
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use substrate_testkit::{ModelServer, Script, Thread, Turn};

fn ask(model: &ModelServer, head: &str, body: &Value) -> String {
    let url = model.base_url();
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).expect("it listens");
    let body = body.to_string();
    let length = body.len();
    write!(
        stream,
        "{head}\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

fn conversation(stream: bool) -> Value {
    let messages = json!([{"role": "user", "content": "hi"}]);
    json!({"model": "m", "stream": stream, "tools": [{"name": "Bash"}], "messages": messages})
}

#[test]
fn it_answers_as_json_or_as_events_and_a_retry_gets_the_same_turn() {
    let model = ModelServer::start(Script::new([Turn::text("hello"), Turn::text("never")]));
    let post = "POST /v1/messages?beta=true HTTP/1.1";
    let plain = ask(&model, post, &conversation(false));
    assert!(plain.contains("application/json") && plain.contains("hello"), "{plain}");
    let events = ask(&model, post, &conversation(true));
    assert!(events.contains("text/event-stream") && events.contains("message_stop"), "{events}");
    assert!(events.contains("hello"), "{events}");
    assert_eq!(model.main_requests().len(), 2);
    model.wait_for_request("hi", Duration::from_secs(1));
}

#[test]
fn a_subagent_is_known_by_its_header() {
    let model = ModelServer::start(Script::default().subagent("hi", [Turn::text("sub here")]));
    let head = "POST /v1/messages HTTP/1.1\r\nx-claude-code-agent-id: a1";
    assert!(ask(&model, head, &conversation(false)).contains("sub here"));
    assert_eq!(model.requests()[0].thread, Thread::Subagent("a1".into()));
}

#[test]
fn errands_are_answered_and_are_not_part_of_a_turn() {
    let model = ModelServer::start(Script::new([Turn::text("hello")]));
    let mut body = conversation(false);
    body["tools"] = json!([]);
    let answer = ask(&model, "POST /v1/messages HTTP/1.1", &body);
    assert!(answer.starts_with("HTTP/1.1 200") && !answer.contains("hello"), "{answer}");
    assert_eq!(model.requests()[0].thread, Thread::Side);
    for (head, expected) in [
        ("POST /v1/messages/count_tokens HTTP/1.1", "HTTP/1.1 200"),
        ("GET /v1/models?limit=1000 HTTP/1.1", "HTTP/1.1 200"),
        ("HEAD / HTTP/1.1", "HTTP/1.1 200"),
        ("GET /api/anything HTTP/1.1", "HTTP/1.1 404"),
    ] {
        let answer = ask(&model, head, &json!({}));
        assert!(answer.starts_with(expected), "{head}: {answer}");
    }
}
