//! The number of files that this process may open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Assumed where there is no limit.
const UNLIMITED: u64 = 1 << 20;

/// Raises the limit on open files as far as the system allows, and returns it. Every connection of
/// a server is an open file.
pub fn raise_open_file_limit() -> u64 {
    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: before.maximum, maximum: before.maximum };
    let limit = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => before.maximum,
        Err(_) => before.current,
    };
    limit.unwrap_or(UNLIMITED)
}
