//! The engine context of one tool call: a fresh clock and run ID, and a listener that forwards
//! events to the client.

use sp_engine::{Context, Event, EventListener, Result};

use super::LocalBackend;
use crate::mcp::tool_call::{ToolCall, ToolProgress};

/// Ignores all events.
pub struct SilentListener;

impl EventListener for SilentListener {
    fn on_event(&self, _: Event<'_>) {}
}

/// Forwards progress and warnings to the caller of a tool.
struct ToolCallListener<'a>(&'a ToolCall);

impl EventListener for ToolCallListener<'_> {
    fn on_event(&self, event: Event<'_>) {
        let (done, total, message) = match event {
            Event::Warning(text) | Event::Hint(text) => return self.0.add_note(&text),
            Event::Staging { done, total } => (done, Some(total), "copying skills".to_owned()),
            Event::Checking { done } => (done, None, "checking skills".to_owned()),
            Event::Reading { done, total } => (done, Some(total), "reading files".to_owned()),
            Event::Composing { done, total } => (done, Some(total), "composing".to_owned()),
            Event::Fetching { repo, .. } => (0, None, format!("fetching {repo}")),
            Event::Downloading { what, .. } => (0, None, format!("downloading {what}")),
            _ => return,
        };
        self.0.report_progress(ToolProgress {
            done: done as u64,
            total: total.map(|total| total as u64),
            message,
        });
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

impl LocalBackend {
    /// Runs an engine operation with a fresh context. Its events go to `call`, if there is one.
    pub(super) fn with_context<T>(
        &self,
        call: Option<&ToolCall>,
        ask: impl FnOnce(&Context<'_>) -> Result<T>,
    ) -> Result<T> {
        let passing = call.map(ToolCallListener);
        let listener: &dyn EventListener = match &passing {
            Some(passing) => passing,
            None => &SilentListener,
        };
        let base: Context<'_> = self.settings.context.clone();
        let mut context = Context { listener, ..base };
        (self.settings.refresh)(&mut context);
        ask(&context)
    }
}
