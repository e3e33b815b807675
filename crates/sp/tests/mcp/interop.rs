//! Clients that others wrote. The whole of it, with the official suite and the inspector, is
//! `interop/mcp/run`.

use std::path::Path;
use std::process::Command;

#[test]
fn mc_07_the_python_client_gets_what_it_asks_for_over_stdio_and_http() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let output = Command::new("bash")
        .arg(root.join("interop/mcp/run"))
        .env("SP", env!("CARGO_BIN_EXE_sp"))
        .env("ONLY", "python")
        .env("MODES", "auto,2025-11-25")
        .env("CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("interop"))
        .output()
        .unwrap();
    let told = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success() && told.contains("all went well"), "{told}");
    for way in ["stdio, auto", "stdio, 2025-11-25", "http, auto", "http, 2025-11-25"] {
        assert!(
            told.contains(&format!("ok    python, {way}: has skills to the byte")),
            "{way}: {told}"
        );
    }
}
