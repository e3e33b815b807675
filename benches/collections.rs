//! A knowledge base of 10,000 documents (50 MB): the first index, an update after one change, and a
//! context pack built from it.

use std::path::Path;
use std::process::{Command, Stdio};

use super::{Bench, peak_memory, time};

const DOCUMENTS: usize = 10_000;
/// Sentences per document, for about 50 MB in total.
const SENTENCES: usize = 60;
const MAX_FIRST_INDEX_SECONDS: f64 = 20.0;
const MAX_BUILD_SECONDS: f64 = 2.0;
const MAX_UPDATE_SECONDS: f64 = 1.0;

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
    /// Indexes notes, saved pages and captures.
    pub(crate) fn knowledge(&self) {
        let root = self.path("kb");
        (0..DOCUMENTS).for_each(|number| write_document(&root, number));
        let _ = std::fs::create_dir(self.path("home"));
        // The index rereads files that changed within the last seconds.
        std::thread::sleep(std::time::Duration::from_secs(3));
        let mut find = Command::new("find");
        find.arg(&root).args(["-type", "f", "-exec", "sha256sum", "{}", "+"]).stdout(Stdio::null());
        let hash_seconds = time(&mut find).as_secs_f64();
        let add = ["context", "kb", "add", "kb"];
        let index_seconds = time(&mut self.sp(&add)).as_secs_f64();
        let unchanged_seconds = time(&mut self.sp(&add)).as_secs_f64();
        write_document(&root, DOCUMENTS);
        let changed_seconds = time(&mut self.sp(&add)).as_secs_f64();
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
        let build_seconds = time(&mut self.sp(&build)).as_secs_f64();
        let build_memory = peak_memory(&mut self.sp(&build));
        self.remove("home");
        let _ = std::fs::create_dir(self.path("home"));
        let index_memory = peak_memory(&mut self.sp(&add));
        println!(
            "\n{:<44} {index_seconds:>8.2} s {hash_seconds:>8.2} s {:>7.1}",
            "index of 10000 documents : sha256sum",
            index_seconds / hash_seconds
        );
        for (label, seconds, limit) in [
            ("  first index : limit", index_seconds, MAX_FIRST_INDEX_SECONDS),
            ("  update without changes : limit", unchanged_seconds, MAX_UPDATE_SECONDS),
            ("  update after one change : limit", changed_seconds, MAX_UPDATE_SECONDS),
            ("  context pack : limit", build_seconds, MAX_BUILD_SECONDS),
        ] {
            println!("{label:<44} {seconds:>8.2} s {limit:>21.0}");
        }
        println!(
            "{:<44} {index_memory:>6} KiB {build_memory:>6} KiB",
            "  peak memory : first index, context pack"
        );
    }
}

fn write_document(root: &Path, number: usize) {
    let folder = root.join(format!("f{}", number / 200));
    std::fs::create_dir_all(&folder).expect("create folder");
    let (extension, text) = match number % 4 {
        0 => ("html", page(number)),
        1 => ("jsonl", capture(number)),
        _ => ("md", note(number)),
    };
    std::fs::write(folder.join(format!("d{number}.{extension}")), text).expect("write file");
}

/// Generates a sentence; few are identical.
fn sentence(document: usize, index: usize) -> String {
    let hash = document.wrapping_mul(2_654_435_761).wrapping_add(index.wrapping_mul(40_503));
    let pick = |list: &[&'static str], divisor: usize| list[hash / divisor % list.len()];
    format!(
        "{} {} {} in step {} of part{}.",
        pick(SUBJECTS, 1),
        pick(VERBS, 16),
        pick(OBJECTS, 256),
        hash % 97,
        hash / 7 % 4001
    )
}

fn paragraphs(document: usize, open: &str, close: &str) -> String {
    let render = |paragraph: usize| {
        let sentences: Vec<String> =
            (0..4).map(|index| sentence(document, paragraph * 4 + index)).collect();
        format!("{open}{}{close}", sentences.join(" "))
    };
    (0..SENTENCES / 4).map(render).collect()
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
