//! The memory of a run, including the processes it starts.

use std::collections::BTreeMap;
use std::fs::File;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::hang::eventually_every;
use crate::run::Run;
use crate::world::World;

/// How often the processes are listed. The kernel records peaks, so only memory that a process
/// allocates just before it ends can be missed.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(1);

/// A run, and its memory.
#[derive(Debug)]
pub struct MeasuredRun {
    pub run: Run,
    /// The peak memory of the largest process, in bytes.
    pub peak_bytes: u64,
}

impl World {
    /// Runs a command to its end, and measures it and every process it starts.
    pub fn measure(&self, command: Command) -> MeasuredRun {
        let mut peaks = BTreeMap::new();
        let run = self.run_sampled(command, |pid| sample(pid, &mut peaks));
        MeasuredRun { run, peak_bytes: peaks.values().copied().max().unwrap_or(0) }
    }

    /// Runs `sp` to its end, and measures it without the processes it starts.
    pub fn measure_alone(&self, command: Command) -> MeasuredRun {
        let mut peak_bytes = 0;
        let run = self.run_sampled(command, |pid| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            // Before it calls `exec`, the process has the memory of the test.
            if status.starts_with("Name:\tsp\n") {
                peak_bytes = peak_bytes.max(peak_in(&status));
            }
        });
        MeasuredRun { run, peak_bytes }
    }

    /// Runs a command to its end, and calls `sample` with its process ID repeatedly.
    #[expect(clippy::expect_used, reason = "a test ends at the first surprise")]
    fn run_sampled(&self, mut command: Command, mut sample: impl FnMut(u32)) -> Run {
        let (stdout, stderr) = (self.path("measured.out"), self.path("measured.err"));
        let file = |path| File::create(path).expect("a file for the output");
        let mut child = command
            .stdout(file(&stdout))
            .stderr(file(&stderr))
            .stdin(Stdio::null())
            .spawn()
            .expect("a program that starts");
        let status = eventually_every(SAMPLE_INTERVAL, || {
            sample(child.id());
            child.try_wait().expect("a child")
        });
        let read = |path| std::fs::read(path).expect("the output");
        let output = Output { status, stdout: read(&stdout), stderr: read(&stderr) };
        let removed = [stdout, stderr].map(std::fs::remove_file);
        assert!(removed.iter().all(Result::is_ok), "{removed:?}");
        Run::of(&output, |text| self.normalize(text))
    }
}

/// Records the peaks of a process and its descendants.
fn sample(pid: u32, peaks: &mut BTreeMap<u32, u64>) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let known = peaks.entry(pid).or_default();
    *known = (*known).max(peak_in(&status));
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    for task in tasks {
        let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        children
            .split_whitespace()
            .filter_map(|id| id.parse().ok())
            .for_each(|id| sample(id, peaks));
    }
}

/// Returns the peak memory in the status of a process, in bytes.
pub(crate) fn peak_in(status: &str) -> u64 {
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes: Option<u64> =
        peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok());
    kibibytes.unwrap_or(0) * 1024
}
