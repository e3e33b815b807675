//! `cargo run -p xtask -- generate [--check]`: generates documentation pages from the source, or
//! reports which of them are stale. It uses no network and changes nothing else.

mod conformance;
mod errors;
mod json;
mod rules;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The command that regenerates the pages.
const COMMAND: &str = "cargo run -p xtask -- generate";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Write,
    Check,
}

struct Page {
    path: &'static str,
    text: String,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mode = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["generate"] => Mode::Write,
        ["generate", "--check"] => Mode::Check,
        _ => {
            eprintln!("usage: {COMMAND} [--check]");
            return ExitCode::from(2);
        }
    };
    match generate(&workspace(), mode) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn generate(root: &Path, mode: Mode) -> Result<(), String> {
    let pages = [
        Page { path: "docs/conformance.md", text: conformance::page(root)? },
        Page { path: "docs/errors.md", text: errors::page() },
        Page { path: "docs/json.md", text: json::page()? },
        Page { path: "docs/rules.md", text: rules::page() },
    ];
    let mut stale = Vec::new();
    for page in &pages {
        let path = root.join(page.path);
        if read(&path)?.as_deref() == Some(&page.text) {
            continue;
        }
        match mode {
            Mode::Check => stale.push(page.path),
            Mode::Write => {
                write(&path, &page.text)?;
                println!("wrote {}", page.path);
            }
        }
    }
    match stale[..] {
        [] => Ok(()),
        _ => Err(format!("stale: {}\nregenerate with: {COMMAND}", stale.join(", "))),
    }
}

/// Returns the workspace directory, two levels above this crate.
fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).into()
}

fn read(path: &Path) -> Result<Option<String>, String> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(format!("cannot read `{}`: {e}", path.display())),
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("cannot write `{}`: {e}", path.display());
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(failed)?;
    }
    fs::write(path, text).map_err(failed)
}

/// Returns the notice below the title of every page.
fn notice(from: &str) -> String {
    format!("<!-- Generated from {from} by `{COMMAND}`. Do not edit. -->\n")
}
