//! Clients of other projects. `interop/mcp/run` also runs the official conformance suite and the
//! inspector.

use std::path::Path;
use std::process::Command;

#[test]
fn mc_07_python_client_works_over_stdio_and_http() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let output = Command::new("bash")
        .arg(root.join("interop/mcp/run"))
        .env("SP", env!("CARGO_BIN_EXE_sp"))
        .env("ONLY", "python")
        .env("MODES", "auto,2025-11-25")
        .env("CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("interop"))
        .output()
        .unwrap();
    let log = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{log}");
    // Without Python the script succeeds and tests nothing.
    for mode in ["stdio, auto", "stdio, 2025-11-25", "http, auto", "http, 2025-11-25"] {
        assert!(log.contains(&format!("ok    python, {mode}: ")), "{mode}: {log}");
    }
}
