//! From a call of a tool to the daemon and back.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use serde_json::Value;
use substrate_clients::mcp;
use substrate_core::{Caller, Output, Verb};

use super::super::call::Line;
use super::super::dispatch::request;
use super::super::local::ThisProcess;
use super::super::table::{self, Run};
use super::super::{Context, help};
use crate::error::{AppError, Kind, Result};

/// How often a client hears that a call still waits. Some give up on calls that are silent for half a minute.
const PROGRESS: Duration = Duration::from_secs(15);

/// When it hears so first.
const FIRST: Duration = Duration::from_secs(2);

/// A command that is ready to be sent to the daemon.
#[derive(Clone)]
pub(super) struct Ready {
    context: Arc<Context>,
    verb: &'static Verb,
    pub(super) body: Value,
    request: String,
}

impl Ready {
    /// Reads a command line. `call` is the client's id of the tool call, empty if there is none.
    pub(super) fn read(context: &Context, call: &str, args: &[String]) -> Result<Self> {
        let wrong = |message: String| AppError::new(Kind::User, message);
        let command =
            help::typed(args).ok_or_else(|| wrong(format!("no command `{}`", args.join(" "))))?;
        let matches = command.try_get_matches_from(args).map_err(|error| {
            let text = error.to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text);
            wrong(text.split("\n\nUsage:").next().unwrap_or_default().trim().to_owned())
        })?;
        let (words, flags) = table::words(&matches);
        let Some(Run::Verb(verb)) = table::typed(&words).map(|found| found.run) else {
            return Err(wrong(format!("no command `{}`", args.join(" "))));
        };
        let caller = Caller { tool_call: Some(call.to_owned()), ..context.caller.clone() };
        let context = Context { caller, ..context.clone() };
        let body = (verb.body)(flags, &mut ThisProcess::new(&context))?;
        Ok(Self { context: Arc::new(context), verb, body, request: request() })
    }

    /// The same command with another body: a new request.
    pub(super) fn with(&self, body: Value) -> Self {
        Self { body, request: request(), ..self.clone() }
    }

    /// Tells the daemon that the output reached the client.
    pub(super) fn after(&self, body: Value) -> Self {
        Self { body, ..self.clone() }
    }

    /// Runs it in the daemon.
    pub(super) async fn run(self) -> Result<Output> {
        let call =
            move || Line::silent(&self.context, self.verb).call(self.body.clone(), &self.request);
        let ended = tokio::task::spawn_blocking(call).await;
        ended.unwrap_or_else(|_| {
            Err(AppError::new(Kind::Internal, "the call panicked in the tool server"))
        })
    }

    /// The same, with signs of life to the client while it takes long. `None`: the client cancelled it.
    pub(super) async fn run_for(
        self,
        client: &RequestContext<RoleServer>,
    ) -> Option<Result<Output>> {
        let token = client.meta.get_progress_token();
        let running = self.run();
        tokio::pin!(running);
        let mut waited = Duration::ZERO;
        loop {
            let pause = if waited.is_zero() { FIRST } else { PROGRESS };
            tokio::select! {
                output = &mut running => return Some(output),
                () = client.ct.cancelled() => return None,
                () = tokio::time::sleep(pause) => {
                    waited += pause;
                    if let Some(token) = &token {
                        let param = ProgressNotificationParam::new(token.clone(), waited.as_secs_f64())
                            .with_message("still waiting");
                        let _client_gone = client.peer.notify_progress(param).await;
                    }
                }
            }
        }
    }
}

/// The client's id of a call, as its hooks also report it. Empty: it says none.
pub(super) fn call_id(client: &RequestContext<RoleServer>) -> String {
    let meta = &client.meta.0.0;
    let found = mcp::ALL.iter().find_map(|known| meta.get(known.call_id)?.as_str());
    found.unwrap_or_default().to_owned()
}
