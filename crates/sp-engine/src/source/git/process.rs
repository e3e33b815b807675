//! Memory limits on git and on every program it starts, and killing all of them.
//!
//! The limit is set on a running process, because setting it between fork and exec needs `unsafe`.
//! By then git may have started a helper, so the limit is set on the whole process tree, parents
//! first. No process is missed: what a limited parent starts inherits the limit, and what it
//! started before is listed.
//!
//! The limit is `RLIMIT_DATA`, which counts private writable memory: an endless response fills
//! that. `RLIMIT_AS` would also count mapped packs and the address space that credential helpers
//! written in Go or .NET reserve at start, and make them fail.
//!
//! Only Linux can limit another process. On other systems, only `GIT_ALLOC_LIMIT` applies, which
//! limits single allocations.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use sp_tree::Limits;

/// The limits of a git process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GitLimits {
    /// The maximum memory of each process.
    pub memory_bytes: u64,
    /// How long a server may send nothing.
    pub stall_seconds: u64,
}

impl GitLimits {
    /// Returns the maximum size of a single allocation, such as an object or a response.
    pub(super) fn allocation_bytes(self) -> u64 {
        self.memory_bytes / 4
    }
}

impl From<&Limits> for GitLimits {
    fn from(limits: &Limits) -> Self {
        Self { memory_bytes: limits.git_memory_bytes, stall_seconds: limits.stall_seconds }
    }
}

/// Limits the memory of a process and of each of its descendants.
#[cfg(target_os = "linux")]
pub(super) fn limit_memory(child: &Child, bytes: u64) {
    if let Some(pid) = pid_of(child) {
        limit_tree(pid, bytes);
    }
}

#[cfg(target_os = "linux")]
fn limit_tree(pid: Pid, bytes: u64) {
    use rustix::process::{Resource, Rlimit, prlimit};
    // Fails if the process has exited, or if its limit is already lower.
    let _ =
        prlimit(Some(pid), Resource::Data, Rlimit { current: Some(bytes), maximum: Some(bytes) });
    children(pid).into_iter().for_each(|child| limit_tree(child, bytes));
}

#[cfg(not(target_os = "linux"))]
pub(super) fn limit_memory(_: &Child, _: u64) {}

/// Kills a process and all its descendants. A helper that outlives git would go on reading an
/// endless response.
pub(super) fn kill_tree(child: &mut Child) {
    if let Some(pid) = pid_of(child) {
        kill_descendants(pid);
    }
    // Fails if the process has exited.
    let _ = child.kill();
}

/// Kills all descendants of a process. Each process is stopped before its children are listed, so
/// that it cannot start others.
fn kill_descendants(pid: Pid) {
    let _ = kill_process(pid, Signal::STOP);
    for child in children(pid) {
        kill_descendants(child);
        let _ = kill_process(child, Signal::KILL);
    }
}

fn pid_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Returns the child processes of a process. Empty on systems without `/proc`.
fn children(pid: Pid) -> Vec<Pid> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()))
        .into_iter()
        .flatten()
        .flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let ids: Vec<String> = lists
        .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    ids.iter().filter_map(|id| id.parse().ok().and_then(Pid::from_raw)).collect()
}

#[cfg(all(test, target_os = "linux"))]
#[expect(clippy::disallowed_methods, reason = "the test starts processes of its own")]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    #[test]
    fn process_started_before_the_limit_is_limited_and_killed() {
        // The inner shell prints its process ID before the limit is set, then waits for input.
        let script = "sh -c 'echo $$; read line'; true";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut inner = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut inner).unwrap();
        limit_memory(&child, 123 << 20);
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", inner.trim())).unwrap();
        let data = limits.lines().find(|line| line.starts_with("Max data size")).unwrap();
        assert_eq!(data.matches(&(123 << 20).to_string()).count(), 2, "{data}");
        kill_tree(&mut child);
        child.wait().unwrap();
        // The pipe closes when the last process that has it open exits.
        assert_eq!(output.read_line(&mut inner).unwrap(), 0);
    }
}
