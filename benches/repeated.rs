//! 16 MiB of one repeated token, in the `SKILL.md` and in a script: `check`, `audit` and `cost`.
//!
//! Each takes less than a second and less than 128 MiB, whatever the token is.

use std::path::Path;
use std::time::{Duration, Instant};

use super::{Bench, peak_memory};

const SIZE: usize = 16 * 1024 * 1024;
const MAX_SECONDS: f64 = 1.0;
const MAX_MIB: u64 = 128;

/// What scanners of text look for, and what once took them hours.
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
    /// The slowest and the largest of the tokens, for each command and each place.
    pub(super) fn repeated(&self) {
        println!(
            "\n16 MiB of one of {} tokens: less than {MAX_SECONDS} s and {MAX_MIB} MiB",
            TOKENS.len()
        );
        println!("{:<24} {:>8} {:<16} {:>8} {:<16}", "what", "seconds", "token", "MiB", "token");
        for verb in ["check", "audit", "cost"] {
            for file in ["SKILL.md", "notes.md", "run.sh"] {
                self.worst_token(verb, file);
            }
        }
    }

    fn worst_token(&self, verb: &str, file: &str) {
        let mut slowest = (Duration::ZERO, "");
        let mut largest = (0, "");
        for token in TOKENS {
            self.write_repeated(file, token);
            // No count is known from a run before.
            self.remove("home");
            let start = Instant::now();
            let peak = peak_memory(&mut self.sp(&[verb, "repeated/tidy"]));
            slowest = slowest.max((start.elapsed(), token));
            largest = largest.max((peak / 1024, token));
        }
        let (seconds, slow_token) = (slowest.0.as_secs_f64(), format!("{:?}", slowest.1));
        let (mib, large_token) = (largest.0, format!("{:?}", largest.1));
        let is_over = seconds > MAX_SECONDS || mib > MAX_MIB;
        let mark = if is_over { "over the limit" } else { "" };
        println!(
            "{:<24} {seconds:>8.2} {slow_token:<16} {mib:>8} {large_token:<16} {mark}",
            format!("{verb} {file}")
        );
    }

    fn write_repeated(&self, file: &str, token: &str) {
        let dir = self.path("repeated/tidy");
        self.remove("repeated");
        std::fs::create_dir_all(&dir).expect("a directory");
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
    std::fs::write(path, [head, text].concat()).expect("a file");
}
