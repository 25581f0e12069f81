//! Asks the user, through the client, before something that can't be undone.
//!
//! Since protocol 2026-07-28 the answer to a call is the question, and the client calls again with what the user said. Before,
//! the server asks while the call is open.

use std::collections::BTreeMap;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationSchema, InputRequest, InputRequiredResult, ProtocolVersion,
    ServerRequest,
};
use rmcp::service::RequestContext;

/// The name of our one question in a call.
const KEY: &str = "confirm";

/// What the user says.
pub(super) enum Word {
    Yes,
    No,
    /// They have to be asked: answer the call with this.
    Ask(Box<InputRequiredResult>),
    /// The client can't ask.
    Unasked,
}

pub(super) async fn ask(
    client: &RequestContext<RoleServer>,
    call: &CallToolRequestParams,
    question: &str,
) -> Word {
    let can_ask = client.client_capabilities().is_some_and(|can| can.elicitation.is_some());
    if !can_ask {
        return Word::Unasked;
    }
    let asks_by_answer = client
        .protocol_version()
        .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
    if asks_by_answer { answered(call, question) } else { asked(client, question).await }
}

fn answered(call: &CallToolRequestParams, question: &str) -> Word {
    // The answer to another question is not an answer to this one.
    let is_same = call.request_state.as_deref() == Some(question);
    let said = call.input_responses.as_ref().and_then(|said| said.get(KEY)).filter(|_| is_same);
    match said.map(|said| serde_json::from_value::<ElicitResult>(said.clone())) {
        Some(Ok(said)) => word(&said),
        Some(Err(_)) => Word::No,
        None => {
            let request = InputRequest::Elicitation(ElicitRequest::new(form(question)));
            let requests = BTreeMap::from([(KEY.to_owned(), request)]);
            let asking = InputRequiredResult::new(Some(requests), Some(question.to_owned()));
            Word::Ask(Box::new(asking))
        }
    }
}

async fn asked(client: &RequestContext<RoleServer>, question: &str) -> Word {
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form(question)));
    match client.peer.send_request(request).await {
        Ok(ClientResult::ElicitResult(said)) => word(&said),
        Ok(_) | Err(_) => Word::Unasked,
    }
}

fn word(said: &ElicitResult) -> Word {
    if said.action == ElicitationAction::Accept { Word::Yes } else { Word::No }
}

/// Nothing to fill in: the answer is yes or no.
fn form(question: &str) -> ElicitRequestParams {
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question.to_owned(),
        requested_schema: ElicitationSchema::new(BTreeMap::new()),
    }
}
