//! What a test does with a program that hangs.
//!
//! No test asserts how long a program takes: a busy machine would fail it. A program that never
//! ends is killed after [`HANG_TIMEOUT`], which only a defect reaches.

use std::io;
use std::process::{Child, Output};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Far longer than anything in the tests takes, also on a busy machine.
pub const HANG_TIMEOUT: Duration = Duration::from_secs(300);

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Waits for a program to end, and kills it if it hangs: then it has no exit code.
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

/// Asks again and again until there is an answer, at most for [`HANG_TIMEOUT`].
#[track_caller]
pub fn eventually<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < HANG_TIMEOUT, "it never came");
        std::thread::sleep(POLL_INTERVAL);
    }
}
