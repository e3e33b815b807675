//! Hostile packages: each is refused quickly and with little memory, and nothing is stored.

mod display;
mod documents;
mod hashes;
mod json;
mod names;

use super::*;

/// The maximum memory for refusing a package, in KiB.
const MAX_MEMORY: u64 = 100 * 1024;
/// The maximum size of the error output, in bytes.
const MAX_STDERR: usize = 200_000;
const MIB: usize = 1024 * 1024;

/// The result and the memory usage of a run.
struct MeasuredRun {
    code: Option<i32>,
    stderr: String,
    /// The peak memory, in KiB.
    memory: u64,
}

fn measured_pkg(world: &World, args: &[&str]) -> MeasuredRun {
    let start = Instant::now();
    let mut command = world.command(&[&["pkg"], args].concat());
    let log = world.path("stderr.log");
    command
        .current_dir(world.path("project"))
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log).unwrap());
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut memory = 0;
    let exit = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        // Until `exec`, the process is a copy of the test itself.
        let text = text.strip_prefix("Name:\tsp\n").unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        memory = memory.max(peak.unwrap_or(0));
        if let Some(exit) = child.try_wait().unwrap() {
            break exit;
        }
        if start.elapsed() > HANG_TIMEOUT {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let stderr = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(log).unwrap();
    MeasuredRun { code: exit.code(), stderr, memory }
}

impl MeasuredRun {
    #[track_caller]
    fn assert_cheap(&self, context: &str) {
        let size = self.stderr.len();
        assert!(size < MAX_STDERR, "{context}: {size} bytes of error output");
        assert!(self.memory < MAX_MEMORY, "{context}: {} KiB of memory", self.memory);
    }
}

/// Panics unless the import of these bytes fails with exit code 3, cheaply and without changes. The
/// error output must contain `marker`: a rule ID, a position, or the name of a flag or limit.
#[track_caller]
fn assert_invalid(world: &World, case: &str, bytes: impl AsRef<[u8]>, marker: &str) {
    assert_import_fails(world, case, bytes.as_ref(), 3, marker);
}

/// Like [`assert_invalid`], with the exit code 4.
#[track_caller]
fn assert_forged(world: &World, case: &str, bytes: impl AsRef<[u8]>, marker: &str) {
    assert_import_fails(world, case, bytes.as_ref(), 4, marker);
}

#[track_caller]
fn assert_import_fails(world: &World, case: &str, bytes: &[u8], exit_code: i32, marker: &str) {
    let file = write(world, "bomb.ctxpkg", bytes);
    let before = (records(world), world.files("project"));
    let run = measured_pkg(world, &["import", &file]);
    let start: String = run.stderr.chars().take(2000).collect();
    assert_eq!(run.code, Some(exit_code), "{case}: with {} KiB: {start}", run.memory);
    assert!(run.stderr.contains(marker), "{case}: `{marker}` is not in {start}");
    run.assert_cheap(case);
    assert_eq!((records(world), world.files("project")), before, "{case}: something was stored");
    assert_no_leftovers(world, case);
}

fn valid() -> TestPackage {
    TestPackage::new("x", "1.0.0")
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |sum, byte| sum << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for index in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * index) & 63) as usize];
            text.push(if index > chunk.len() { '=' } else { char::from(digit) });
        }
    }
    text
}

/// A member of the documents of a package.
pub(super) fn document(path: &str, bytes: &[u8]) -> Value {
    json!({"path": path, "sha256": Digest::of(bytes).hex(), "encoding": "zstd+base64", "body": base64(&sp_tree::compress(bytes))})
}

/// A package of skills with these documents.
pub(super) fn documents(files: &[Value]) -> TestPackage {
    let mut package = TestPackage::skills("x", "1.0.0", &[])
        .with_content(&json!({"documents": {"files": files}}).to_string());
    package.manifest.remove("conformance_level");
    package
}

/// The document of a valid `SKILL.md`.
pub(super) fn manual() -> Value {
    document("s/SKILL.md", skill("s", "").as_bytes())
}
