//! Hostile packages: each is refused quickly and with little memory, and nothing is stored.

mod display;
mod documents;
mod hashes;
mod json;
mod names;

use sp_testkit::MeasuredRun;

use super::*;

/// The maximum memory for refusing a package, in bytes.
const MAX_MEMORY: u64 = 100 * 1024 * 1024;
/// The maximum size of the error output, in bytes: 500 findings with an excerpt of a long line.
const MAX_STDERR: usize = 400_000;
const MIB: usize = 1024 * 1024;

fn measured_pkg(world: &World, args: &[&str]) -> MeasuredRun {
    let mut command = world.command(&[&["pkg"], args].concat());
    command.current_dir(world.path("project"));
    world.measure_alone(command)
}

#[track_caller]
fn assert_cheap(MeasuredRun { run, peak_bytes }: &MeasuredRun, context: &str) {
    let size = run.stderr.len();
    assert!(size < MAX_STDERR, "{context}: {size} bytes of error output");
    assert!(*peak_bytes < MAX_MEMORY, "{context}: {} KiB of memory", peak_bytes / 1024);
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
    let measured = measured_pkg(world, &["import", &file]);
    let run = &measured.run;
    let start: String = run.stderr.chars().take(2000).collect();
    let kib = measured.peak_bytes / 1024;
    assert_eq!(run.code, Some(exit_code), "{case}: with {kib} KiB: {start}");
    assert!(run.stderr.contains(marker), "{case}: `{marker}` is not in {start}");
    assert_cheap(&measured, case);
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
