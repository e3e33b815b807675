//! `POST /mcp`: authenticates the client and passes the request on to the MCP endpoint.

use axum::extract::{Request, State as Shared};
use axum::response::Response;

use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::state::AppState;
use crate::registry::tokens::authenticate;

pub(super) async fn handle(
    Shared(state): Shared<AppState>,
    request: Request,
) -> ApiResult<Response> {
    let owner = authenticate(&state.metadata, request.headers()).await?;
    let owner = owner.ok_or_else(ResponseError::unauthorized)?;
    Ok(state.mcp.handle(owner, request).await)
}
