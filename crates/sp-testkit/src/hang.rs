//! Handling of programs that hang.
//!
//! No test asserts how long a program takes, because that would fail on a busy machine. A program
//! that does not end is killed after [`HANG_TIMEOUT`], which only a bug reaches.

use std::io;
use std::process::{Child, Output};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Far longer than anything in the tests takes, even on a busy machine.
pub const HANG_TIMEOUT: Duration = Duration::from_secs(300);

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Waits for a program to end, and kills it if it hangs. It then has no exit code.
pub(crate) fn output_of(child: Child) -> io::Result<Output> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (ended, waits) = mpsc::channel::<()>();
    let guard = std::thread::spawn(move || {
        if let (Err(mpsc::RecvTimeoutError::Timeout), Some(pid)) =
            (waits.recv_timeout(HANG_TIMEOUT), pid)
        {
            let _ = kill_process(pid, Signal::KILL);
        }
    });
    let output = child.wait_with_output();
    drop(ended);
    let _ = guard.join();
    output
}

/// Polls until there is a value, for at most [`HANG_TIMEOUT`].
#[track_caller]
pub fn eventually<T>(mut poll: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = poll() {
            return value;
        }
        assert!(start.elapsed() < HANG_TIMEOUT, "timed out");
        std::thread::sleep(POLL_INTERVAL);
    }
}
