//! Handling of programs that hang.
//!
//! No test asserts how long a program takes, because that would fail on a busy machine. A program
//! that does not end is killed after [`HANG_TIMEOUT`], which only a bug reaches.

use std::io;
use std::process::{Child, ExitStatus, Output};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Far longer than anything in the tests takes, even on a busy machine.
pub const HANG_TIMEOUT: Duration = Duration::from_secs(300);

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Waits for a program to end, and kills it if it hangs. It then has no exit code.
pub(crate) fn output_of(child: Child) -> io::Result<Output> {
    guarded(child.id(), HANG_TIMEOUT, || child.wait_with_output())
}

/// Waits for a program to end, and kills it after a timeout.
pub(crate) fn wait_or_kill(child: &mut Child, timeout: Duration) -> io::Result<ExitStatus> {
    guarded(child.id(), timeout, || child.wait())
}

/// Runs `wait`, which waits for a process, and kills the process if that takes too long.
fn guarded<T>(id: u32, timeout: Duration, wait: impl FnOnce() -> T) -> T {
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    let (ended, waits) = mpsc::channel::<()>();
    let guard = std::thread::spawn(move || {
        if let (Err(mpsc::RecvTimeoutError::Timeout), Some(pid)) =
            (waits.recv_timeout(timeout), pid)
        {
            let _ = kill_process(pid, Signal::KILL);
        }
    });
    let result = wait();
    drop(ended);
    let _ = guard.join();
    result
}

/// Polls until there is a value, for at most [`HANG_TIMEOUT`].
#[track_caller]
pub fn eventually<T>(poll: impl FnMut() -> Option<T>) -> T {
    eventually_every(POLL_INTERVAL, poll)
}

/// Like [`eventually`], at another interval.
#[track_caller]
pub(crate) fn eventually_every<T>(interval: Duration, mut poll: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = poll() {
            return value;
        }
        assert!(start.elapsed() < HANG_TIMEOUT, "timed out");
        std::thread::sleep(interval);
    }
}
