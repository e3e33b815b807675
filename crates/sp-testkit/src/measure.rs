//! The memory of a run, including the processes it starts.

use std::collections::BTreeMap;
use std::fs::File;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

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
    #[expect(clippy::expect_used, reason = "a test ends at the first surprise")]
    pub fn measure(&self, mut command: Command) -> MeasuredRun {
        let (stdout, stderr) = (self.path("measured.out"), self.path("measured.err"));
        let file = |path| File::create(path).expect("a file for the output");
        let mut child = command
            .stdout(file(&stdout))
            .stderr(file(&stderr))
            .stdin(Stdio::null())
            .spawn()
            .expect("a program that starts");
        let mut peaks = BTreeMap::new();
        let status = loop {
            sample(child.id(), &mut peaks);
            if let Some(status) = child.try_wait().expect("a child") {
                break status;
            }
            std::thread::sleep(SAMPLE_INTERVAL);
        };
        let read = |path| std::fs::read(path).expect("the output");
        let output = Output { status, stdout: read(&stdout), stderr: read(&stderr) };
        let removed = [stdout, stderr].map(std::fs::remove_file);
        assert!(removed.iter().all(Result::is_ok), "{removed:?}");
        let run = Run::of(&output, |text| self.normalize(text));
        MeasuredRun { run, peak_bytes: peaks.values().copied().max().unwrap_or(0) }
    }
}

/// Records the peaks of a process and its descendants.
fn sample(pid: u32, peaks: &mut BTreeMap<u32, u64>) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes: Option<u64> =
        peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok());
    let known = peaks.entry(pid).or_default();
    *known = (*known).max(kibibytes.unwrap_or(0) * 1024);
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    for task in tasks {
        let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        children
            .split_whitespace()
            .filter_map(|id| id.parse().ok())
            .for_each(|id| sample(id, peaks));
    }
}
