//! What `sp serve` prints.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

/// `sp serve`, once it listens
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RegistryStarted {
    /// Where it listens.
    pub address: String,
    /// Where everything is kept.
    pub data: PathBuf,
    /// The token of whoever runs it, the first time only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin_token: Option<String>,
}
