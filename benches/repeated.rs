//! `check`, `audit` and `cost` on 16 MiB of one repeated token, in `SKILL.md`, a note or a script.
//!
//! Each must take less than a second and less than 128 MiB for every token.

use std::path::Path;
use std::time::{Duration, Instant};

use super::{Bench, peak_memory};

const SIZE: usize = 16 * 1024 * 1024;
const MAX_SECONDS: f64 = 1.0;
const MAX_MIB: u64 = 128;

/// Tokens with a meaning for text scanners, some of which once took hours.
const TOKENS: &[&str] = &[
    "a=>",
    "lambda:",
    "<http://",
    "0",
    "a",
    " ",
    "\n",
    "a\n",
    "a\n\n",
    "[",
    "![",
    "](",
    "[a](",
    "[a]: b\n",
    "*",
    "*a ",
    "_",
    "`",
    "~",
    "|a",
    "| a |\n|---|\n",
    "&#",
    "&amp;",
    "<!--",
    "<a ",
    "$(",
    "\"",
    "'",
    "\\",
    "\t",
    "> ",
    "- ",
    "- a\n",
    "#\n",
    "{",
    ":",
    "[^a]",
    "x=\"",
    "password: ",
    "token=your ",
    "@",
    "a@b ",
    "/\n",
    "scripts/a.b ",
    "\r",
    "\u{200b}",
    "\u{301}",
    "\u{430}",
    "\u{e0041}",
    "é ",
    "日本",
    "🙂\n",
];

impl Bench {
    /// Prints the slowest token and the one with the highest peak memory, per command and file.
    pub(super) fn repeated(&self) {
        println!(
            "\n16 MiB of one repeated token, {} tokens; limit: {MAX_SECONDS} s, {MAX_MIB} MiB",
            TOKENS.len()
        );
        println!("{:<24} {:>8} {:<16} {:>8} {:<16}", "command", "seconds", "token", "MiB", "token");
        for command in ["check", "audit", "cost"] {
            for file in ["SKILL.md", "notes.md", "run.sh"] {
                self.worst_token(command, file);
            }
        }
    }

    fn worst_token(&self, command: &str, file: &str) {
        let mut slowest = (Duration::ZERO, "");
        let mut largest = (0, "");
        for token in TOKENS {
            self.write_repeated(file, token);
            // Remove the token counts cached by the previous run.
            self.remove("home");
            let start = Instant::now();
            let peak = peak_memory(&mut self.sp(&[command, "repeated/tidy"]));
            slowest = slowest.max((start.elapsed(), token));
            largest = largest.max((peak / 1024, token));
        }
        let (seconds, slow_token) = (slowest.0.as_secs_f64(), format!("{:?}", slowest.1));
        let (mib, large_token) = (largest.0, format!("{:?}", largest.1));
        let is_over = seconds > MAX_SECONDS || mib > MAX_MIB;
        let mark = if is_over { "over the limit" } else { "" };
        println!(
            "{:<24} {seconds:>8.2} {slow_token:<16} {mib:>8} {large_token:<16} {mark}",
            format!("{command} {file}")
        );
    }

    fn write_repeated(&self, file: &str, token: &str) {
        let dir = self.path("repeated/tidy");
        self.remove("repeated");
        std::fs::create_dir_all(&dir).expect("create directory");
        let head = "---\nname: tidy\ndescription: Tidies up.\n---\n";
        let repeated = token.repeat((SIZE - head.len()) / token.len());
        write(
            &dir.join("SKILL.md"),
            head,
            if file == "SKILL.md" { &repeated } else { "Remove it.\n" },
        );
        if file != "SKILL.md" {
            write(&dir.join(file), "", &repeated);
        }
    }
}

fn write(path: &Path, head: &str, text: &str) {
    std::fs::write(path, [head, text].concat()).expect("write file");
}
