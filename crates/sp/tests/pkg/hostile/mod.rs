//! Packages made to harm: each is refused by its exit code, soon, with little memory, and nothing
//! is stored.

mod display;
mod documents;
mod form;
mod hashes;
mod names;

use super::*;

/// What may be used at most while an attack is refused, in KiB.
const MEMORY: u64 = 100 * 1024;
const MIB: usize = 1024 * 1024;

/// How a run that is meant to be cheap went.
struct Cost {
    code: Option<i32>,
    stderr: String,
    /// The most memory that `sp` had, in KiB.
    memory: u64,
}

fn cost(world: &World, args: &[&str]) -> Cost {
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
    let end = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        // Before it is called so, it is still a copy of ourselves.
        let text = text.strip_prefix("Name:\tsp\n").unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        memory = memory.max(peak.unwrap_or(0));
        if let Some(end) = child.try_wait().unwrap() {
            break end;
        }
        if start.elapsed() > HANG_TIMEOUT {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let stderr = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(log).unwrap();
    Cost { code: end.code(), stderr, memory }
}

/// Imports these bytes, which must be refused soon, cheaply, and without a trace.
#[track_caller]
fn bomb(world: &World, what: &str, bytes: impl AsRef<[u8]>, code: i32, words: &str) {
    let file = write(world, "bomb.ctxpkg", bytes);
    let before = (records(world), world.files("project"));
    let cost = cost(world, &["import", &file]);
    let said: String = cost.stderr.chars().take(2000).collect();
    assert_eq!(cost.code, Some(code), "{what}: with {} KiB: {said}", cost.memory);
    assert!(cost.stderr.contains(words), "{what}: `{words}` is not in {said}");
    assert!(cost.stderr.len() < 200_000, "{what}: says {} bytes", cost.stderr.len());
    assert!(cost.memory < MEMORY, "{what}: it took {} KiB", cost.memory);
    assert_eq!((records(world), world.files("project")), before, "{what}: something was stored");
    no_leftovers(world, what);
}

fn good() -> Made {
    Made::new("x", "1.0.0")
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |sum, byte| sum << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * at) & 63) as usize];
            text.push(if at > chunk.len() { '=' } else { char::from(digit) });
        }
    }
    text
}

/// A document of these bytes, as it stands in a package.
pub(super) fn document(path: &str, bytes: &[u8]) -> Value {
    json!({"path": path, "sha256": Digest::of(bytes).hex(), "encoding": "zstd+base64", "body": base64(&sp_tree::compress(bytes))})
}

pub(super) fn documents(files: &[Value]) -> Made {
    let mut made =
        Made::skills("x", "1.0.0", &[]).holds(&json!({"documents": {"files": files}}).to_string());
    made.manifest.remove("conformance_level");
    made
}

pub(super) fn manual() -> Value {
    document("s/SKILL.md", skill("s", "").as_bytes())
}
