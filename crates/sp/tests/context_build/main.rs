//! `sp context build` and `sp context kb`: packs from what somebody collected, in every form, from
//! friend and foe.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test arranges its world with the plain calls"
)]

mod determinism;
mod forms;
mod hostile;
mod index;
mod protection;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use sp_testkit::{Run, World, world};

/// When every pack is made, unless a test says otherwise.
const WHEN: &str = "2026-04-24T14:22:03Z";
const NAME: &str = "Relay";
const DESCRIPTION: &str = "A service that delivers webhooks to shops.";

/// What a pack is made for, as arguments.
const BRIEF: &[&str] = &["--name", NAME, "--description", DESCRIPTION];
const PROMPT: &[&str] =
    &["--prompt", "How do I deliver webhooks without losing any?", "--stack", "rust,postgres"];

/// Four notes that know enough for a pack without a warning.
const NOTES: &[(&str, &str)] = &[
    (
        "kb/retries.md",
        "---\nurl: https://docs.example.com/retries\ntitle: Retries of webhooks\nkind: docs\ncaptured_at: 2026-04-02\npublished_at: 2025-11-30\ntags: [webhooks]\n---\n\n\
         A webhook sender repeats every delivery that was not answered in time.\n\n\
         ## Limits of retries\n\n\
         A receiver that is down for an hour gets all of its webhooks again.\n\n\
         - Use a limit of ten attempts for every webhook.\n\
         - Add jitter to the pause between two deliveries of a webhook.\n\
         - Never retry a webhook whose receiver answered with 410.\n\n\
         ## Set up the retry queue\n\n\
         1. Create the table for webhook attempts.\n\
         2. Start one worker for each shop.\n\
         3. Measure how old the oldest webhook is.\n\n\
         You should see an empty queue after a minute.\n",
    ),
    (
        "kb/signatures.md",
        "---\nurl: https://docs.example.com/signatures\ntitle: Signatures of webhooks\nkind: docs\ncaptured_at: 2026-04-03\n---\n\n\
         Receivers check the HMAC of a webhook before they read its body.\n\n\
         ## Signing secrets\n\n\
         Every shop has a signing secret of its own, which only the relay knows.\n\n\
         - Compare signatures of webhooks in constant time.\n\
         - Sign the timestamp together with the payload of the webhook.\n\
         - Do not log the header that carries the signature of a webhook.\n",
    ),
    (
        "kb/ordering.md",
        "---\nurl: https://blog.example.com/ordering\ntitle: Webhooks out of order\nkind: article\ncaptured_at: 2026-03-14\n---\n\n\
         Events of one shop may overtake each other on their way.\n\n\
         ## Sequence numbers\n\n\
         A counter per shop tells receivers which webhook is the newest.\n\n\
         - Send the counter of the shop with each webhook.\n\
         - Receivers should drop webhooks with a counter that they have seen.\n\
         - Avoid clocks as the order of webhooks.\n",
    ),
    (
        "kb/storage.md",
        "---\nurl: https://blog.example.com/storage\ntitle: Webhooks in Postgres\nkind: article\ncaptured_at: 2026-03-15\n---\n\n\
         Postgres keeps the outbox of webhooks beside the orders that cause them.\n\n\
         ## The outbox table\n\n\
         Writing the order and its webhook in one transaction loses neither.\n\n\
         - Insert the webhook in the transaction of its order.\n\
         - Delete delivered webhooks in batches at night.\n\
         - Keep an index over the undelivered rows only, so that polling for webhooks is cheap.\n",
    ),
];

/// A world with an empty knowledge base in `work/kb`.
fn empty() -> World {
    let world = world!();
    std::fs::create_dir_all(world.path("work/kb")).unwrap();
    world
}

/// A world whose knowledge base has these files.
fn with(files: &[(&str, &str)]) -> World {
    let world = empty();
    files.iter().for_each(|(path, text)| put(&world, path, text));
    world
}

/// A world whose knowledge base knows enough.
fn rich() -> World {
    with(NOTES)
}

/// Writes a file below `work`.
fn put(world: &World, path: &str, bytes: impl AsRef<[u8]>) {
    let path = world.path("work").join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// A note with an address and a day.
fn note(url: &str, title: &str, body: &str) -> String {
    format!("---\nurl: {url}\ntitle: {title}\ncaptured_at: 2026-04-01\n---\n\n{body}\n")
}

fn sp(world: &World, args: &[&str]) -> Run {
    world.sp_in("work", &[&["context"], args].concat())
}

/// The arguments that build `work/pack` from `work/kb`.
fn building<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [
        &["build", "--kb", "kb", "--out", "pack", "--generated-at", WHEN, "--format", "json"],
        BRIEF,
        more,
    ]
    .concat()
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run}"))
}

/// Builds `work/pack` from `work/kb`; what was told of it.
#[track_caller]
fn build(world: &World, more: &[&str]) -> Value {
    json(&sp(world, &building(more)).ok())
}

#[track_caller]
fn kb(world: &World, args: &[&str]) -> Value {
    json(&sp(world, &[&["kb"], args, &["--format", "json"]].concat()).ok())
}

#[track_caller]
fn read(world: &World, path: &str) -> String {
    std::fs::read_to_string(world.path("work").join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Every file of a folder below `work`, with its bytes.
fn bytes(world: &World, dir: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(world.path("work").join(dir)).unwrap().map(Result::unwrap);
    entries
        .map(|e| (e.file_name().into_string().unwrap(), std::fs::read(e.path()).unwrap()))
        .collect()
}

/// Everything that the pack in `work/pack` says, the manifest included.
fn all(world: &World) -> String {
    bytes(world, "pack").into_values().map(|bytes| String::from_utf8(bytes).unwrap()).collect()
}

fn manifest(world: &World) -> Value {
    serde_json::from_str(&read(world, "pack/pack.json")).unwrap()
}

/// The reasons why things were skipped: `file: why`, or `file:line: why`.
fn skipped(answer: &Value) -> Vec<String> {
    let one = |one: &Value| {
        let line = one["line"].as_u64().map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{line}: {}", one["file"].as_str().unwrap(), one["why"].as_str().unwrap())
    };
    answer["skipped"].as_array().into_iter().flatten().map(one).collect()
}

/// The id of the source with this address.
#[track_caller]
fn source_id(world: &World, url: &str) -> String {
    let manifest = manifest(world);
    let sources = manifest["sources"].as_array().unwrap();
    let found = sources.iter().find(|source| source["url"] == url);
    found.unwrap_or_else(|| panic!("{url} is not in {sources:#?}"))["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// A sentence stands in a list of `AGENTS.md`, with the footnote of this source.
#[track_caller]
fn says(world: &World, sentence: &str, url: &str) {
    let line = format!("- {sentence} [^{}]", source_id(world, url));
    let text = read(world, "pack/AGENTS.md");
    assert!(text.lines().any(|found| found == line), "`{line}` is not in {text}");
}

/// A sentence is quoted from this source, in whichever file.
#[track_caller]
fn quotes(world: &World, sentence: &str, url: &str) {
    let id = source_id(world, url);
    let sources = read(world, "pack/sources.md");
    let section =
        sources.split("\n## ").find(|section| section.starts_with(&format!("[^{id}]"))).unwrap();
    let is_cited = all(world).contains(&format!("{sentence} [^{id}]"));
    assert!(section.contains(sentence) || is_cited, "`{sentence}` is not in {sources}");
}

#[track_caller]
fn is_valid(world: &World) {
    sp(world, &["check", "pack"]).ok();
}

/// Waits until what was written before is old enough that its time tells whether it changed.
fn settle() {
    std::thread::sleep(Duration::from_millis(2100));
}
