//! What a skill can do: hosts, programs, paths and the like, each with its positions.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A kind of capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CapabilityKind {
    /// A host that a command or a script contacts.
    Host,
    /// A program that is executed.
    Program,
    /// A path outside of the skill that is read.
    PathRead,
    /// A path outside of the skill that is created, changed or deleted.
    PathWrite,
    /// An environment variable that is read.
    Environment,
    /// A file or a variable with credentials.
    Secret,
    /// A package that is installed.
    PackageInstall,
    /// A mechanism that runs something later.
    Persistence,
    /// A tool that the agent may use without asking.
    Tool,
    /// An MCP server.
    McpServer,
    /// A URL with instructions or code that are loaded when the skill is used.
    RemoteInstructions,
}

impl CapabilityKind {
    pub const ALL: [Self; 11] = [
        Self::Host,
        Self::Program,
        Self::PathRead,
        Self::PathWrite,
        Self::Environment,
        Self::Secret,
        Self::PackageInstall,
        Self::Persistence,
        Self::Tool,
        Self::McpServer,
        Self::RemoteInstructions,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Program => "program",
            Self::PathRead => "read",
            Self::PathWrite => "write",
            Self::Environment => "environment",
            Self::Secret => "secret",
            Self::PackageInstall => "package-install",
            Self::Persistence => "persistence",
            Self::Tool => "tool",
            Self::McpServer => "mcp-server",
            Self::RemoteInstructions => "remote-instructions",
        }
    }
}

/// Where a capability or a finding is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AuditPosition {
    /// The path of the file in the audited tree.
    pub file: String,
    /// One-based line.
    pub line: u32,
    /// One-based column, in characters.
    pub column: u32,
}

/// Something that a skill can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capability {
    pub kind: CapabilityKind,
    pub value: String,
    /// At least one, and at most `MAX_POSITIONS`.
    pub positions: Vec<AuditPosition>,
}

impl Capability {
    /// What the capability is, without its positions.
    pub fn key(&self) -> (CapabilityKind, &str) {
        (self.kind, &self.value)
    }
}

/// What an update adds and removes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CapabilityDiff {
    pub added: Vec<Capability>,
    pub removed: Vec<Capability>,
}

impl CapabilityDiff {
    /// Compares the capabilities of two versions.
    pub fn between(old: &[Capability], new: &[Capability]) -> Self {
        Self { added: missing_from(new, old), removed: missing_from(old, new) }
    }

    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

/// The capabilities of `from` that `others` does not contain.
fn missing_from(from: &[Capability], others: &[Capability]) -> Vec<Capability> {
    let known: BTreeSet<_> = others.iter().map(Capability::key).collect();
    from.iter().filter(|capability| !known.contains(&capability.key())).cloned().collect()
}
