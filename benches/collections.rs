//! A knowledge base of ten thousand documents, 50 MB: the first index, one file changed, a pack
//! built from it.

use std::path::Path;
use std::process::{Command, Stdio};

use super::{Bench, peak_memory, time};

const DOCUMENTS: usize = 10_000;
/// Sentences in each, so that all of them have about 50 MB.
const SENTENCES: usize = 60;
const FIRST: f64 = 20.0;
const BUILD: f64 = 2.0;
const CHANGED: f64 = 1.0;

const SUBJECTS: &[&str] = &[
    "The scheduler",
    "A replica",
    "The index",
    "Every client",
    "The cache",
    "A worker",
    "The token",
    "This endpoint",
    "The migration",
    "A partition",
    "The parser",
    "Each tenant",
    "The queue",
    "A session",
    "The certificate",
    "The log",
];
const VERBS: &[&str] = &[
    "keeps",
    "must not lose",
    "should retry",
    "always stores",
    "rarely needs",
    "returns",
    "never shares",
    "prefers",
    "validates",
    "drops",
    "waits for",
    "replaces",
    "measures",
    "encrypts",
    "batches",
    "streams",
];
const OBJECTS: &[&str] = &[
    "the connection of another request",
    "rows that no transaction sees",
    "a signed address with an expiry",
    "messages in the order of their keys",
    "the schema of the last release",
    "pages that were read before",
    "a lock on the whole table",
    "the embedding of a paragraph",
    "credentials from the environment",
    "headers that a proxy adds",
    "the offset of a consumer group",
    "snapshots of the working tree",
    "a budget of tokens",
    "timeouts that add up",
    "the plan of a query",
    "metrics with many labels",
];

impl Bench {
    /// Notes, saved pages and captures.
    pub(crate) fn knowledge(&self) {
        let root = self.path("kb");
        (0..DOCUMENTS).for_each(|number| write(&root, number));
        let _ = std::fs::create_dir(self.path("home"));
        // What changed within the last seconds is read again in any case.
        std::thread::sleep(std::time::Duration::from_secs(3));
        let mut find = Command::new("find");
        find.arg(&root).args(["-type", "f", "-exec", "sha256sum", "{}", "+"]).stdout(Stdio::null());
        let hashed = time(&mut find).as_secs_f64();
        let add = ["context", "kb", "add", "kb"];
        let first = time(&mut self.sp(&add)).as_secs_f64();
        let again = time(&mut self.sp(&add)).as_secs_f64();
        write(&root, DOCUMENTS);
        let changed = time(&mut self.sp(&add)).as_secs_f64();
        let brief =
            "Keep tenants apart in a shared database with signed addresses and short locks.";
        let build = [
            "context",
            "build",
            "--kb",
            "kb",
            "--name",
            "Tenants",
            "--description",
            brief,
            "--out",
            "pack",
        ];
        let built = time(&mut self.sp(&build)).as_secs_f64();
        let memory = peak_memory(&mut self.sp(&build));
        self.remove("home");
        let _ = std::fs::create_dir(self.path("home"));
        let first_memory = peak_memory(&mut self.sp(&add));
        println!(
            "\n{:<44} {first:>8.2} s {hashed:>8.2} s {:>7.1}",
            "index of 10000 documents : sha256sum",
            first / hashed
        );
        for (what, taken, limit) in [
            ("  the first index, and the limit", first, FIRST),
            ("  nothing changed, and the limit", again, CHANGED),
            ("  one file changed, and the limit", changed, CHANGED),
            ("  a pack, and the limit", built, BUILD),
        ] {
            println!("{what:<44} {taken:>8.2} s {limit:>21.0}");
        }
        println!(
            "{:<44} {first_memory:>8} kB {memory:>7} kB",
            "  peak memory of the first index and the pack"
        );
    }
}

fn write(root: &Path, number: usize) {
    let folder = root.join(format!("f{}", number / 200));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (ending, text) = match number % 4 {
        0 => ("html", page(number)),
        1 => ("jsonl", capture(number)),
        _ => ("md", note(number)),
    };
    std::fs::write(folder.join(format!("d{number}.{ending}")), text).expect("a file");
}

/// A sentence; few are the same.
fn sentence(document: usize, at: usize) -> String {
    let mix = document.wrapping_mul(2_654_435_761).wrapping_add(at.wrapping_mul(40_503));
    let pick = |list: &[&'static str], by: usize| list[mix / by % list.len()];
    format!(
        "{} {} {} in step {} of part{}.",
        pick(SUBJECTS, 1),
        pick(VERBS, 16),
        pick(OBJECTS, 256),
        mix % 97,
        mix / 7 % 4001
    )
}

fn paragraphs(document: usize, open: &str, close: &str) -> String {
    let one = |paragraph: usize| {
        let sentences: Vec<String> =
            (0..4).map(|at| sentence(document, paragraph * 4 + at)).collect();
        format!("{open}{}{close}", sentences.join(" "))
    };
    (0..SENTENCES / 4).map(one).collect()
}

fn note(number: usize) -> String {
    format!(
        "---\nurl: https://n{number}.example.com/a\ntitle: Note {number}\ncaptured_at: 2026-0{}-11\ntags: [t{}]\n---\n\n# Note {number}\n\n{}",
        1 + number % 9,
        number % 50,
        paragraphs(number, "", "\n\n")
    )
}

fn page(number: usize) -> String {
    format!(
        "<html><head><title>Page {number}</title><link rel=canonical href=\"https://p{number}.example.com/a\"><meta name=date content=2026-03-1{}></head>\
         <body><nav><a href=/>Home</a></nav><article><h1>Page {number}</h1>{}</article><footer>All rights reserved</footer></body></html>",
        number % 10,
        paragraphs(number, "<p>", "</p>\n")
    )
}

fn capture(number: usize) -> String {
    let text = paragraphs(number, "", "\\n\\n");
    format!(
        "{{\"url\":\"https://c{number}.example.com/a\",\"title\":\"Capture {number}\",\"captured_at\":\"2026-05-01\",\"text\":\"{text}\"}}\n"
    )
}
