//! The methods. Each is answered by a thread that may wait; how many do at once is bounded.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, DiscoverResult, ErrorCode, GetPromptRequestParams,
    GetPromptResponse, Implementation, InitializeRequestParams, InitializeResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler};
use sp_formats::printable::printable;
use tokio::sync::Semaphore;

use crate::mcp::backend::BackendProvider;
use crate::mcp::pagination::LONG_TTL_MS;
use crate::mcp::tool::McpTool;
use crate::mcp::tool_call::start_call;
use crate::mcp::tool_set::McpToolSet;
use crate::mcp::{cursor, prompts, resources, skills_extension};

/// So many requests are worked on at once; the others wait.
const MAX_CONCURRENT_REQUESTS: usize = 8;
/// So many wait or are worked on at the most; more are refused.
const MAX_PENDING_REQUESTS: usize = 1024;

type McpRequestContext = RequestContext<RoleServer>;

/// One server for all clients of a provider.
pub struct McpHandler<P: BackendProvider> {
    provider: Arc<P>,
    tools: Arc<McpToolSet<P::Backend>>,
    run_permits: Arc<Semaphore>,
    queue_permits: Arc<Semaphore>,
}

impl<P: BackendProvider> Clone for McpHandler<P> {
    fn clone(&self) -> Self {
        Self {
            provider: Arc::clone(&self.provider),
            tools: Arc::clone(&self.tools),
            run_permits: Arc::clone(&self.run_permits),
            queue_permits: Arc::clone(&self.queue_permits),
        }
    }
}

impl<P: BackendProvider> McpHandler<P> {
    pub(crate) fn new(provider: Arc<P>) -> Self {
        Self {
            provider,
            tools: Arc::new(McpToolSet::new()),
            run_permits: Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS)),
            queue_permits: Arc::new(Semaphore::new(MAX_PENDING_REQUESTS)),
        }
    }

    /// Does something that may take a while, where nobody else is kept waiting by it. What nobody wants any more
    /// before its turn comes is not begun.
    async fn run_blocking<T: Send + 'static>(
        &self,
        context: &McpRequestContext,
        ask: impl FnOnce(&P::Backend) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let given_up = || ErrorData::internal_error("the request was given up", None);
        let _place = self
            .queue_permits
            .try_acquire()
            .map_err(|_| ErrorData::internal_error("too many requests wait", None))?;
        let room = tokio::select! {
            room = Arc::clone(&self.run_permits).acquire_owned() => room.map_err(|_| given_up())?,
            () = context.ct.cancelled() => return Err(given_up()),
        };
        let backend = self.provider.backend_for(&context.extensions);
        let work = move || {
            // The room is taken until the work is done, whether somebody waits for it or not.
            let _room = room;
            ask(&backend)
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| given_up())?
    }
}

fn request_cursor(request: Option<PaginatedRequestParams>) -> Option<String> {
    request.and_then(|request| request.cursor)
}

impl<P: BackendProvider> ServerHandler for McpHandler<P> {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .enable_extensions_with(skills_extension::capability())
            .build();
        let about =
            Implementation::new("skillpack", env!("CARGO_PKG_VERSION")).with_title("Skillpack");
        ServerConfig::new(capabilities)
            .with_server_info(about)
            .with_instructions(self.provider.instructions())
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        const SUPPORTED_VERSIONS: &[ProtocolVersion] = &[
            ProtocolVersion::V_2025_06_18,
            ProtocolVersion::V_2025_11_25,
            ProtocolVersion::V_2026_07_28,
        ];
        Cow::Borrowed(SUPPORTED_VERSIONS)
    }

    /// The stateless revision has no such method.
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        if is_stateless(&context) {
            return Err(method_not_found("initialize"));
        }
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let result = DiscoverResult::from_server_info(versions, self.get_info());
        Ok(result.with_ttl_ms(LONG_TTL_MS).with_cache_scope(CacheScope::Public))
    }

    /// It is not declared, and so not answered.
    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "completion/complete", None))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request_cursor(request).is_some() {
            return Err(cursor::unknown_cursor());
        }
        let result = ListToolsResult::with_all_items(self.tools.list());
        Ok(result.with_ttl_ms(LONG_TTL_MS).with_cache_scope(CacheScope::Private))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.get(name).map(McpTool::definition)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.tools.get(&request.name).is_none() {
            let message = format!("there is no tool called `{}`", printable(&request.name));
            return Err(ErrorData::invalid_params(message, None));
        }
        let (reporting, call) = start_call(&context);
        let tools = Arc::clone(&self.tools);
        let asked = self.run_blocking(&context, move |backend| tools.call(backend, request, &call));
        let (result, ()) = tokio::join!(asked, reporting);
        Ok(result?.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let after = request_cursor(request);
        self.run_blocking(&context, move |backend| resources::list(backend, after.as_deref())).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        match request_cursor(request) {
            Some(_) => Err(cursor::unknown_cursor()),
            None => Ok(resources::templates()),
        }
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = move |backend: &P::Backend| resources::read(backend, &request.uri);
        self.run_blocking(&context, read).await.map(Into::into)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let after = request_cursor(request);
        self.run_blocking(&context, move |backend| prompts::list(backend, after.as_deref())).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let get = move |backend: &P::Backend| prompts::get(backend, &request.name);
        self.run_blocking(&context, get).await.map(Into::into)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, params, .. } = request;
        if method == "initialize" && is_stateless(&context) {
            return Err(method_not_found(&method));
        }
        if !skills_extension::METHODS.contains(&method.as_str()) {
            return Err(unhandled_request(&method));
        }
        let answer = move |backend: &P::Backend| {
            skills_extension::handle_method(backend, &method, params)
                .unwrap_or_else(|| Err(unhandled_request(&method)))
        };
        self.run_blocking(&context, answer).await.map(CustomResult::new)
    }
}

/// A known method with other parameters than it has comes here as well.
fn unhandled_request(method: &str) -> ErrorData {
    const KNOWN_METHODS: [&str; 8] = [
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "prompts/list",
        "prompts/get",
        "initialize",
    ];
    match KNOWN_METHODS.contains(&method) {
        true => ErrorData::invalid_params(format!("these are no parameters of `{method}`"), None),
        false => method_not_found(method),
    }
}

fn method_not_found(method: &str) -> ErrorData {
    ErrorData::new(
        ErrorCode::METHOD_NOT_FOUND,
        format!("`{}` is not answered here", printable(method)),
        None,
    )
}

/// Whether a request says of itself that it is of a revision without a handshake.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    let revision = context.meta.protocol_version();
    revision.is_some_and(|revision| revision.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}
