//! `sp check --watch`: waits until something that is checked changes.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::{CheckRequest, target};
use crate::context::Context;
use crate::error::{Error, FailureKind, Result};

/// An editor writes a file in several steps; the check waits until it has been quiet for this long.
const DEBOUNCE_INTERVAL: Duration = Duration::from_millis(80);

/// Watches what a request names.
pub struct CheckWatcher {
    changes: Receiver<notify::Result<Event>>,
    // Dropping it ends the watching.
    _watcher: RecommendedWatcher,
}

/// Starts watching what a request names.
pub fn watch(context: &Context<'_>, request: &CheckRequest) -> Result<CheckWatcher> {
    let (sender, changes) = channel();
    let failed = |e: notify::Error| {
        Error::new(FailureKind::Environment, "cannot watch for changes")
            .because(e)
            .hint("on Linux, `sysctl fs.inotify.max_user_watches` limits how many directories can be watched")
    };
    let mut watcher = notify::recommended_watcher(sender).map_err(failed)?;
    for place in target::resolve_targets(context, request)? {
        place.require_local("nothing tells when it changes: check it without `--watch`")?;
        place.require_exists(context)?;
        // Editors replace a file by another, so it is its directory that is watched.
        let dir = if place.is_dir() {
            place.path.as_path()
        } else {
            place.path.parent().unwrap_or(Path::new("/"))
        };
        watcher.watch(dir, RecursiveMode::Recursive).map_err(failed)?;
    }
    Ok(CheckWatcher { changes, _watcher: watcher })
}

impl CheckWatcher {
    /// Waits for the next change, and until it is quiet again.
    pub fn wait(&self) -> Result<()> {
        let ended = || Error::new(FailureKind::Environment, "cannot watch for changes any longer");
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

/// Reading is no change, and neither is what git does for itself.
fn is_relevant(event: &Event) -> bool {
    let changed = match event.kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    };
    changed
        && event.paths.iter().any(|path| !path.components().any(|part| part.as_os_str() == ".git"))
}
