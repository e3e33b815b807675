//! Tools of this machine: each is a verb of the engine.

use super::Local;
use crate::tools::Tool;

/// The tools.
pub(super) fn tools() -> Vec<Tool<Local>> {
    Vec::new()
}
