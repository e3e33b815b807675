//! The log of a registry: its requests, and what happens besides them.

mod request_entry;

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::registry::environment::RegistryEnvironment;

pub use request_entry::RequestLogEntry;
pub(crate) use request_entry::{contains_token, redact_path};

/// Receives the entries of the log.
pub type RegistryLogger = Arc<dyn Fn(LogEntry<'_>) + Send + Sync>;

/// A line of the log.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub enum LogEntry<'a> {
    Request(&'a RequestLogEntry),
    Event(&'a ServerEvent),
}

/// Something that happened besides requests. Contains no secrets.
#[derive(Debug, Clone, Serialize)]
pub struct ServerEvent {
    pub at: String,
    pub event: ServerEventKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerEventKind {
    Started,
    /// It accepts no more connections, and finishes the requests that run.
    Stopping,
    Stopped,
    CertificateReplaced,
    /// The files of the certificate are invalid. The one before stays in use.
    CertificateRejected,
    /// The counts of downloads cannot be written. They are kept.
    CountsDelayed,
    CountsWritten,
}

impl ServerEventKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::CertificateReplaced => "certificate replaced",
            Self::CertificateRejected => "certificate rejected",
            Self::CountsDelayed => "download counts delayed",
            Self::CountsWritten => "download counts written",
        }
    }
}

impl fmt::Display for LogEntry<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(entry) => entry.fmt(out),
            Self::Event(ServerEvent { at, event, detail }) => {
                write!(out, "{at} {}", event.as_str())?;
                // Escaped, so that every entry is one line.
                detail.as_ref().map_or(Ok(()), |detail| write!(out, " {detail:?}"))
            }
        }
    }
}

/// Writes the log, if there is one.
#[derive(Clone)]
pub(crate) struct ServerLog {
    pub logger: Option<RegistryLogger>,
    pub environment: RegistryEnvironment,
}

impl ServerLog {
    pub(crate) fn request(&self, entry: &RequestLogEntry) {
        if let Some(log) = &self.logger {
            log(LogEntry::Request(entry));
        }
    }

    pub(crate) fn event(&self, event: ServerEventKind, detail: Option<String>) {
        if let Some(log) = &self.logger {
            let at = self.environment.timestamp();
            log(LogEntry::Event(&ServerEvent { at, event, detail }));
        }
    }
}
