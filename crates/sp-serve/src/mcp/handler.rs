//! The MCP methods.
//!
//! Backends block, so each request runs on a blocking thread. The number of running and of queued
//! requests is limited.

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

/// Maximum number of concurrent requests; others are queued.
const MAX_CONCURRENT_REQUESTS: usize = 8;
/// Maximum number of running and queued requests; others are rejected.
const MAX_PENDING_REQUESTS: usize = 1024;

type McpRequestContext = RequestContext<RoleServer>;

/// The MCP server. Clones share its limits.
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

    /// Runs `work` on a blocking thread. Requests cancelled while queued are never started.
    async fn run_blocking<T: Send + 'static>(
        &self,
        context: &McpRequestContext,
        work: impl FnOnce(&P::Backend) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let cancelled = || ErrorData::internal_error("the request was cancelled", None);
        let _queued = self
            .queue_permits
            .try_acquire()
            .map_err(|_| ErrorData::internal_error("too many pending requests", None))?;
        let permit = tokio::select! {
            permit = Arc::clone(&self.run_permits).acquire_owned() => permit.map_err(|_| cancelled())?,
            () = context.ct.cancelled() => return Err(cancelled()),
        };
        let backend = self.provider.backend_for(&context.extensions);
        let run = move || {
            // Held until the work is done, even if the client has stopped waiting.
            let _permit = permit;
            work(&backend)
        };
        tokio::task::spawn_blocking(run).await.map_err(|_| cancelled())?
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

    /// The stateless protocol revision has no `initialize`.
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

    /// Not supported: the capability is not declared.
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
            let message = format!("unknown tool `{}`", printable(&request.name));
            return Err(ErrorData::invalid_params(message, None));
        }
        let (progress, call) = start_call(&context);
        let tools = Arc::clone(&self.tools);
        let result =
            self.run_blocking(&context, move |backend| tools.call(backend, request, &call));
        let (result, ()) = tokio::join!(result, progress);
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

/// The error for a request that matches no method. `rmcp` also reports known methods with invalid
/// parameters this way.
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
    if KNOWN_METHODS.contains(&method) {
        ErrorData::invalid_params(format!("invalid parameters for `{method}`"), None)
    } else {
        method_not_found(method)
    }
}

fn method_not_found(method: &str) -> ErrorData {
    ErrorData::new(
        ErrorCode::METHOD_NOT_FOUND,
        format!("unknown method `{}`", printable(method)),
        None,
    )
}

/// Whether a request declares a protocol revision without a handshake.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    let revision = context.meta.protocol_version();
    revision.is_some_and(|revision| revision.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}
