//! `sp check --watch`: waits for changes to the targets of a check.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::CheckRequest;
use super::resolve::resolve_targets;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};

/// How long to wait for further changes. An editor writes a file in several steps.
const DEBOUNCE_INTERVAL: Duration = Duration::from_millis(80);

/// Watches the targets of a check.
pub struct CheckWatcher {
    changes: Receiver<notify::Result<Event>>,
    // Dropping it stops watching.
    _watcher: RecommendedWatcher,
}

/// Starts watching the targets of a request.
pub fn watch(context: &Context<'_>, request: &CheckRequest) -> Result<CheckWatcher> {
    let (sender, changes) = channel();
    let failed = |e: notify::Error| {
        Error::new(ErrorCode::Watch, "cannot watch for changes")
            .because(e)
            .hint("on Linux, `sysctl fs.inotify.max_user_watches` limits how many directories can be watched")
    };
    let mut watcher = notify::recommended_watcher(sender).map_err(failed)?;
    for target in resolve_targets(context, request)? {
        target.require_local("changes of a URL cannot be watched; check it without `--watch`")?;
        target.require_exists(context)?;
        // Editors replace files, so the directory is watched.
        let dir = if target.is_dir() {
            target.path.as_path()
        } else {
            target.path.parent().unwrap_or(Path::new("/"))
        };
        watcher.watch(dir, RecursiveMode::Recursive).map_err(failed)?;
    }
    Ok(CheckWatcher { changes, _watcher: watcher })
}

impl CheckWatcher {
    /// Waits for a change, then until there are no further changes.
    pub fn wait(&self) -> Result<()> {
        let ended = || Error::new(ErrorCode::Watch, "watching for changes has stopped");
        while !self.changes.recv().map_err(|_| ended())?.is_ok_and(|event| is_relevant(&event)) {}
        loop {
            match self.changes.recv_timeout(DEBOUNCE_INTERVAL) {
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => return Err(ended()),
            }
        }
    }
}

/// Whether an event is a change, and not in `.git`.
fn is_relevant(event: &Event) -> bool {
    let changed = match event.kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    };
    changed
        && event.paths.iter().any(|path| !path.components().any(|part| part.as_os_str() == ".git"))
}
