//! The HTTP server: loopback, a port of its own, one thread; stopped when dropped.
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use axum::Json;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::pick;
use super::protocols::{CHAT, GEMINI, GEMINI_STREAM, Protocol, RESPONSES, Said};
use super::record::{Recorded, Recorder, Thread};
use super::reply::{Reply, fitting};
use super::script::{Block, Say, Script, Turn};

/// A running scripted model; it derefs to its [`Recorder`].
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    recorder: Recorder,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// Starts on a free port of 127.0.0.1.
    pub fn start(script: Script) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let recorder = Recorder::new();
        let model = Model { script, recorder: recorder.clone(), n_replies: AtomicUsize::new(0) };
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || serve(listener, model, stopped));
        Self { address, recorder, stop: Some(stop), thread: Some(thread) }
    }

    /// For `ANTHROPIC_BASE_URL`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Deref for ModelServer {
    type Target = Recorder;

    fn deref(&self) -> &Recorder {
        &self.recorder
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        // Fails only if the thread is gone already. `join` reports that.
        self.stop.take().map(|stop| stop.send(()));
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the model server panicked");
        }
    }
}

struct Model {
    script: Script,
    recorder: Recorder,
    /// For unique ids only, never to pick a turn.
    n_replies: AtomicUsize,
}

fn serve(listener: TcpListener, model: Model, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be built").block_on(async {
        listener.set_nonblocking(true).expect("a new socket can be set");
        let listener = tokio::net::TcpListener::from_std(listener).expect("it is non-blocking");
        // Without this, every step of a session takes 40 ms longer.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let app = Router::new()
            .route("/", get(async || StatusCode::OK))
            .route("/v1/messages", post(messages))
            .route("/v1/messages/count_tokens", post(async || Json(json!({"input_tokens": 10}))))
            .route("/v1/responses", post(async |model, body| other(model, RESPONSES, body).await))
            .route("/v1/chat/completions", post(async |model, body| other(model, CHAT, body).await))
            .route("/v1beta/models/{call}", post(gemini))
            .route("/v1/models", get(async || Json(json!({"data": [], "has_more": false}))))
            .route("/v1/models/{id}", get(async || StatusCode::NOT_FOUND))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::new(model));
        // Not graceful: the client keeps its connections open.
        tokio::select! {
            ended = async { axum::serve(listener, app).await } => ended.expect("loopback works"),
            _ = stopped => {}
        }
    });
}

async fn messages(
    State(model): State<Arc<Model>>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    let asker = asker(&headers, &body);
    let summary = pick::wants_summary(&body);
    let thread = if summary { Thread::Side } else { asker.clone() };
    let session = text_of(&headers, "x-claude-code-session-id");
    let request = model.recorder.add(thread, session, body);
    let turn = match (summary, &request.thread) {
        (true, _) => Turn::text(pick::summary(&model.script, &asker, &request)),
        (false, Thread::Side) => Turn::text(errand(&request.body)),
        (false, Thread::Main | Thread::Subagent(_)) => next(&model.script, &request),
    };
    tokio::time::sleep(turn.after).await;
    let reply = Reply {
        number: model.n_replies.fetch_add(1, Ordering::Relaxed),
        model: request.body["model"].as_str().unwrap_or("scripted"),
        blocks: blocks(&turn),
        usage: turn.usage,
    };
    if request.body["stream"] == true {
        ([(header::CONTENT_TYPE, "text/event-stream")], reply.events()).into_response()
    } else {
        Json(reply.json()).into_response()
    }
}

async fn gemini(model: State<Arc<Model>>, Path(call): Path<String>, body: Json<Value>) -> Response {
    match call.split_once(':').map(|(_, verb)| verb) {
        Some("streamGenerateContent") => other(model, GEMINI_STREAM, body).await,
        Some("countTokens") => Json(json!({"totalTokens": 100})).into_response(),
        _ => other(model, GEMINI, body).await,
    }
}

async fn other(
    State(model): State<Arc<Model>>,
    protocol: Protocol,
    Json(body): Json<Value>,
) -> Response {
    let conversation = protocol.conversation(&body);
    let thread = protocol.asker(&model.script, &conversation);
    let request = model.recorder.add(thread, None, conversation);
    let turn = match &request.thread {
        Thread::Side => Turn::text(side_answer(&request.body["raw"])),
        Thread::Main | Thread::Subagent(_) => next(&model.script, &request),
    };
    tokio::time::sleep(turn.after).await;
    let number = model.n_replies.fetch_add(1, Ordering::Relaxed);
    match (protocol.reply)(number, &request.body["raw"], blocks(&turn)) {
        Said::Json(json) => Json(json).into_response(),
        Said::Events(events) => {
            ([(header::CONTENT_TYPE, "text/event-stream")], events).into_response()
        }
    }
}

/// A client's own request may want JSON of a certain form.
fn side_answer(body: &Value) -> String {
    let schemas = [
        &body["text"]["format"]["schema"],
        &body["response_format"]["json_schema"]["schema"],
        &body["generationConfig"]["responseJsonSchema"],
    ];
    let found = schemas.into_iter().find(|schema| schema.is_object());
    found.map_or_else(|| "ok".into(), |schema| fitting(schema).to_string())
}

fn next(script: &Script, request: &Recorded) -> Turn {
    let turn = pick::turn(script, request).cloned().unwrap_or_else(|| Turn::text("done"));
    match &turn.say {
        Say::Blocks(_) => turn,
        Say::Later(decide) => Turn { after: turn.after, ..(decide.0)(request) },
    }
}

fn blocks(turn: &Turn) -> &[Block] {
    match &turn.say {
        Say::Blocks(blocks) => blocks,
        Say::Later(_) => panic!("a turn that was decided by the request must not decide again"),
    }
}

/// Threads have tools. A request without any is the client's own.
fn asker(headers: &HeaderMap, body: &Value) -> Thread {
    if body["tools"].as_array().is_none_or(Vec::is_empty) {
        return Thread::Side;
    }
    text_of(headers, "x-claude-code-agent-id").map_or(Thread::Main, Thread::Subagent)
}

fn errand(body: &Value) -> String {
    let schema = &body["output_config"]["format"]["schema"];
    if schema.is_object() { fitting(schema).to_string() } else { "ok".into() }
}

fn text_of(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}
