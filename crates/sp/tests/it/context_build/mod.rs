//! `sp context kb` and `sp context build`: knowledge bases, and the context packs generated from
//! them.

mod determinism;
mod formats;
mod hostile;
mod index;
mod output_dir;

use std::collections::BTreeMap;

use serde_json::Value;
use sp_testkit::{CliError, Run, World, world};

/// The default generation time of a pack.
const GENERATED_AT: &str = "2026-04-24T14:22:03Z";
const NAME: &str = "Relay";
const DESCRIPTION: &str = "A service that delivers webhooks to shops.";

/// The required arguments of a build.
const BRIEF: &[&str] = &["--name", NAME, "--description", DESCRIPTION];
const PROMPT: &[&str] =
    &["--prompt", "How do I deliver webhooks without losing any?", "--stack", "rust,postgres"];

/// Four notes with enough content for a pack without warnings.
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
fn empty_world() -> World {
    let world = world!();
    std::fs::create_dir_all(world.path("work/kb")).unwrap();
    world
}

/// A world with these files below `work`.
fn world_with(files: &[(&str, &str)]) -> World {
    let world = empty_world();
    files.iter().for_each(|(path, text)| write(&world, path, text));
    world
}

/// A world with [`NOTES`] in its knowledge base.
fn world_with_notes() -> World {
    world_with(NOTES)
}

/// Writes a file below `work`.
fn write(world: &World, path: &str, bytes: impl AsRef<[u8]>) {
    let path = world.path("work").join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// A note with a URL and a date.
fn note(url: &str, title: &str, body: &str) -> String {
    format!("---\nurl: {url}\ntitle: {title}\ncaptured_at: 2026-04-01\n---\n\n{body}\n")
}

/// Runs `sp context` in `work`.
fn sp(world: &World, args: &[&str]) -> Run {
    world.sp_in("work", &[&["context"], args].concat())
}

#[track_caller]
fn sp_error(world: &World, args: &[&str]) -> CliError {
    world.sp_error_in("work", &[&["context"], args].concat())
}

/// The arguments that build `work/pack` from `work/kb`.
fn build_args<'a>(options: &[&'a str]) -> Vec<&'a str> {
    let args = ["build", "--kb", "kb", "--output", "pack", "--generated-at", GENERATED_AT];
    [&args, BRIEF, options].concat()
}

/// Builds `work/pack` from `work/kb`, and returns the report.
#[track_caller]
fn build(world: &World, options: &[&str]) -> Value {
    json(&sp(world, &[&build_args(options)[..], &["--format", "json"]].concat()).ok())
}

#[track_caller]
fn build_error(world: &World, options: &[&str]) -> CliError {
    sp_error(world, &build_args(options))
}

/// Runs `sp context kb`, and returns the report.
#[track_caller]
fn kb(world: &World, args: &[&str]) -> Value {
    json(&sp(world, &[&["kb"], args, &["--format", "json"]].concat()).ok())
}

#[track_caller]
fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run}"))
}

/// Returns a member of a report that is a list.
#[track_caller]
fn list<'r>(report: &'r Value, member: &str) -> &'r [Value] {
    report[member].as_array().unwrap_or_else(|| panic!("no `{member}`: {report}"))
}

/// Reads a file below `work`.
#[track_caller]
fn read(world: &World, path: &str) -> String {
    std::fs::read_to_string(world.path("work").join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Returns the bytes of every file of a directory below `work`.
fn dir_bytes(world: &World, dir: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(world.path("work").join(dir)).unwrap().map(Result::unwrap);
    entries
        .map(|e| (e.file_name().into_string().unwrap(), std::fs::read(e.path()).unwrap()))
        .collect()
}

/// Returns the text of all files of `work/pack`, including the manifest.
fn pack_text(world: &World) -> String {
    let files = dir_bytes(world, "pack").into_values();
    files.map(|bytes| String::from_utf8(bytes).unwrap()).collect()
}

fn manifest(world: &World) -> Value {
    serde_json::from_str(&read(world, "pack/pack.json")).unwrap()
}

/// A file of a knowledge base, or a line of one, that was skipped.
#[derive(Debug)]
struct Skipped {
    /// `file`, or `file:line`.
    position: String,
    reason: String,
}

fn skipped(report: &Value) -> Vec<Skipped> {
    let skipped = |item: &Value| {
        let line = item["line"].as_u64().map(|line| format!(":{line}")).unwrap_or_default();
        Skipped {
            position: format!("{}{line}", item["file"].as_str().unwrap()),
            reason: item["why"].as_str().unwrap().to_owned(),
        }
    };
    report["skipped"].as_array().into_iter().flatten().map(skipped).collect()
}

/// Checks what was skipped: each position, and a part of the reason such as the name of a field.
#[track_caller]
fn assert_skipped(skipped: &[Skipped], expected: &[(&str, &str)]) {
    let positions: Vec<&str> = skipped.iter().map(|item| item.position.as_str()).collect();
    let expected_positions: Vec<&str> = expected.iter().map(|(position, _)| *position).collect();
    assert_eq!(positions, expected_positions, "{skipped:#?}");
    for (item, (_, detail)) in skipped.iter().zip(expected) {
        assert!(item.reason.contains(detail), "`{detail}` is not in {item:?}");
    }
}

/// Returns the source of the manifest with this member.
#[track_caller]
fn source_with(world: &World, member: &str, value: &str) -> Value {
    let manifest = manifest(world);
    let source = list(&manifest, "sources").iter().find(|source| source[member] == value);
    source.unwrap_or_else(|| panic!("{value} is not in {manifest:#}")).clone()
}

#[track_caller]
fn source_id(world: &World, url: &str) -> String {
    source_with(world, "url", url)["id"].as_str().unwrap().to_owned()
}

/// Checks that `AGENTS.md` lists a sentence with the footnote of this source.
#[track_caller]
fn assert_rule(world: &World, sentence: &str, url: &str) {
    let line = format!("- {sentence} [^{}]", source_id(world, url));
    let text = read(world, "pack/AGENTS.md");
    assert!(text.lines().any(|other| other == line), "`{line}` is not in {text}");
}

/// Checks that the pack quotes a sentence of this source, in any file.
#[track_caller]
fn assert_quoted(world: &World, sentence: &str, url: &str) {
    let id = source_id(world, url);
    let sources = read(world, "pack/sources.md");
    let heading = format!("[^{id}]");
    let section = sources.split("\n## ").find(|section| section.starts_with(&heading)).unwrap();
    let is_cited = pack_text(world).contains(&format!("{sentence} {heading}"));
    assert!(section.contains(sentence) || is_cited, "`{sentence}` is not in {sources}");
}

#[track_caller]
fn assert_valid(world: &World) {
    sp(world, &["check", "pack"]).ok();
}

/// The number of seconds after which the modification time of a file is reliable, and more.
const SETTLED: u32 = 10;

/// Sets the clock of later runs ahead.
fn set_clock_offset(world: &mut World, seconds: u32) {
    world.set_env("SP_CLOCK_OFFSET", &seconds.to_string());
}
