//! The protocol's requests, each answered from the tables or by the daemon.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation, JsonObject,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, PromptMessage, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ResourceContents, Role, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use substrate_clients::mcp;
use substrate_core::Output;
use substrate_core::text::one_line;

use super::super::Context;
use super::confirm::{self, Word};
use super::pipe::{Ready, call_id};
use super::receipts::Receipts;
use super::{tools, views};
use crate::error::{AppError, Kind};

/// How much of a message the user sees in a question.
const MAX_QUOTE: usize = 400;

type Answer<T> = Result<T, ErrorData>;

pub(super) struct Server {
    context: Context,
    receipts: Receipts,
}

impl Server {
    pub(super) fn new(context: Context, receipts: Receipts) -> Self {
        Self { context, receipts }
    }

    async fn call(
        &self,
        call: &CallToolRequestParams,
        client: &RequestContext<RoleServer>,
    ) -> Answer<CallToolResponse> {
        let arguments = call.arguments.clone().unwrap_or_default();
        let line = match tools::line(&call.name, &arguments) {
            Ok(line) => line,
            Err(wrong) if tools::ALL.iter().all(|tool| tool.name != call.name) => {
                return Err(ErrorData::invalid_params(wrong, None));
            }
            Err(wrong) => return Ok(failed(&AppError::new(Kind::User, wrong))),
        };
        let mut ready = match Ready::read(&self.context, &call_id(client), &line.args) {
            Ok(ready) => ready,
            Err(error) => return Ok(failed(&error)),
        };
        // The user decides about the very message.
        let asks = |text: &str| (format!("{text}\n\n{}", quoted(&arguments)), ready.body.clone());
        let mut question = line.question.map(asks);
        loop {
            if let Some((text, body)) = question.take() {
                match confirm::ask(client, call, &text).await {
                    Word::Yes => ready = ready.with(body),
                    Word::No => return Ok(failed(&refused())),
                    Word::Ask(asking) => return Ok(CallToolResponse::InputRequired(*asking)),
                    Word::Unasked => return Ok(failed(&unasked(&text))),
                }
            }
            match ready.clone().run_for(client).await {
                None => return Err(ErrorData::internal_error("cancelled", None)),
                Some(Ok(output)) => {
                    let Output { text, after, .. } = output;
                    if let Some(after) = after {
                        self.receipts.expect(client.id.clone(), ready.after(after));
                    }
                    return Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into());
                }
                Some(Err(AppError { question: Some(asks), .. })) => {
                    question = Some((asks.text, asks.body));
                }
                Some(Err(error)) => return Ok(failed(&error)),
            }
        }
    }

    /// What a command prints for a resource or a prompt. Errors are part of the text: the reader must know.
    async fn printed(&self, client: &RequestContext<RoleServer>, line: &[String]) -> String {
        let output = match Ready::read(&self.context, &call_id(client), line) {
            Ok(ready) => ready.run().await,
            Err(error) => Err(error),
        };
        output.map_or_else(|error| error.render(), |output| output.text)
    }
}

/// What the model reads in place of an output.
fn failed(error: &AppError) -> CallToolResponse {
    CallToolResult::error(vec![ContentBlock::text(error.render())]).into()
}

/// What a model wants to send, as the user sees it.
fn quoted(arguments: &JsonObject) -> String {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    one_line(&format!("{}: {}", text("subject"), text("text")), MAX_QUOTE)
}

fn refused() -> AppError {
    AppError::new(Kind::User, "the user said no, and nothing was done")
}

fn unasked(question: &str) -> AppError {
    AppError::new(Kind::User, format!("this client can't ask the user: {question}"))
        .hint("nothing was done; ask the user to run the `substrate` command in a terminal")
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        ServerConfig::new(can)
            .with_server_info(
                Implementation::new("substrate", env!("CARGO_PKG_VERSION")).with_title("Substrate"),
            )
            .with_instructions(tools::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListToolsResult> {
        let keys: Vec<&str> = mcp::ALL.iter().filter_map(|known| known.search_hint).collect();
        Ok(ListToolsResult::with_all_items(tools::list(&keys)))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        client: RequestContext<RoleServer>,
    ) -> Answer<CallToolResponse> {
        self.call(&call, &client).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListResourcesResult> {
        Ok(ListResourcesResult::with_all_items(views::resources()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListResourceTemplatesResult> {
        Ok(ListResourceTemplatesResult::with_all_items(views::templates()))
    }

    async fn read_resource(
        &self,
        wanted: ReadResourceRequestParams,
        client: RequestContext<RoleServer>,
    ) -> Answer<ReadResourceResponse> {
        let Some(line) = views::resource(&wanted.uri) else {
            return Err(ErrorData::resource_not_found("there is no such resource", None));
        };
        let text = self.printed(&client, &line).await;
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, wanted.uri)]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListPromptsResult> {
        Ok(ListPromptsResult::with_all_items(views::prompts()))
    }

    async fn get_prompt(
        &self,
        wanted: GetPromptRequestParams,
        client: RequestContext<RoleServer>,
    ) -> Answer<GetPromptResponse> {
        let arguments = wanted.arguments.unwrap_or_default();
        let Some(prompt) = views::prompt(&wanted.name, &arguments) else {
            return Err(ErrorData::invalid_params("there is no such prompt", None));
        };
        let mut text = prompt.text;
        for words in prompt.quotes {
            let line: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let printed = self.printed(&client, &line).await;
            text.extend(["\n\n`", &words.join(" "), "`:\n", &printed]);
        }
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).into())
    }
}
