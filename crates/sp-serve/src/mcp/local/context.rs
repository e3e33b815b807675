//! The engine's surroundings for one call: its own clock and name, and a listener that passes on what it hears.

use sp_engine::{Context, Event, Listener, Result};

use super::Local;
use crate::mcp::tools::{Call, Progress};

/// Hears nothing.
pub struct Silent;

impl Listener for Silent {
    fn tell(&self, _: Event<'_>) {}
}

/// Passes on to whoever called.
struct Passing<'a>(&'a Call);

impl Listener for Passing<'_> {
    fn tell(&self, event: Event<'_>) {
        let (done, total, message) = match event {
            Event::Warning(text) | Event::Hint(text) => return self.0.note(&text),
            Event::Staging { done, total } => (done, Some(total), "copying skills".to_owned()),
            Event::Checking { done } => (done, None, "checking skills".to_owned()),
            Event::Reading { done, total } => (done, Some(total), "reading files".to_owned()),
            Event::Composing { done, total } => (done, Some(total), "composing".to_owned()),
            Event::Fetching { repo, .. } => (0, None, format!("fetching {repo}")),
            Event::Downloading { what, .. } => (0, None, format!("downloading {what}")),
            _ => return,
        };
        self.0.tell(Progress { done: done as u64, total: total.map(|total| total as u64), message });
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

impl Local {
    /// Calls the engine.
    pub(super) fn with<T>(&self, call: Option<&Call>, ask: impl FnOnce(&Context<'_>) -> Result<T>) -> Result<T> {
        let passing = call.map(Passing);
        let listener: &dyn Listener = match &passing {
            Some(passing) => passing,
            None => &Silent,
        };
        let base: Context<'_> = self.settings.context.clone();
        let mut context = Context { listener, ..base };
        (self.settings.renew)(&mut context);
        ask(&context)
    }
}
