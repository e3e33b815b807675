//! The same input gives the same bytes, wherever it is and in whatever order it is read.

use std::collections::BTreeSet;
use std::fs::FileTimes;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::*;

/// Documents of other formats, whose order could matter.
const OTHER_FORMATS: &[(&str, &str)] = &[
    (
        "kb/captures.jsonl",
        "{\"url\": \"https://docs.example.com/retries\", \"title\": \"Retries of webhooks - Docs\", \"date\": \"2026-04-10\", \"highlights\": [\"Use a limit of ten attempts for every webhook.\"]}\n\
         {\"url\": \"https://example.com/tie-b\", \"title\": \"Tie\", \"date\": \"2026-04-10\", \"text\": \"Webhooks tie in their scores. Use the address of webhooks to break it.\"}\n\
         {\"url\": \"https://example.com/tie-a\", \"title\": \"Tie\", \"date\": \"2026-04-10\", \"text\": \"Webhooks tie in their scores. Use the address of webhooks to break it.\"}\n\
         {\"url\": \"https://example.com/nowhen\", \"title\": \"Skipped\", \"text\": \"Webhooks without a day.\"}\n",
    ),
    (
        "kb/z/page.html",
        "<html><head><title>Ordering</title><link rel=canonical href='https://blog.example.com/ordering'><meta name=date content='2026-03-20'></head><body><p>Shops see webhooks out of order.</p></body></html>",
    ),
];

fn files() -> Vec<(&'static str, &'static str)> {
    [NOTES, OTHER_FORMATS].concat()
}

/// Returns the files of `work/pack`, and the zip next to it.
fn pack_and_zip(world: &World) -> BTreeMap<String, Vec<u8>> {
    let mut files = dir_bytes(world, "pack");
    assert!(files.len() >= 6, "{:?}", files.keys());
    files.insert("pack.zip".into(), std::fs::read(world.path("work/pack.zip")).unwrap());
    files
}

/// Builds the pack and its zip, with these environment variables.
fn build_in_env(world: &World, env: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    let args = [&["context"], &build_args(PROMPT)[..], &["--zip", "--force"]].concat();
    let mut command = world.command(&args);
    command.current_dir(world.path("work")).envs(env.iter().copied());
    world.run(command).ok();
    pack_and_zip(world)
}

#[test]
fn cp_13_location_locale_threads_and_directory_order_change_no_byte() {
    let first = world_with(&files());
    let expected = build_in_env(&first, &[]);
    assert_eq!(build_in_env(&first, &[]), expected, "rebuilt");
    for (locale, threads) in
        [("C", "1"), ("tr_TR.UTF-8", "2"), ("ja_JP.eucJP", "7"), ("de_DE.UTF-8", "1")]
    {
        let world = empty_world();
        let mut files = files();
        files.sort_by_key(|(path, _)| {
            sp_tree::Digest::of(format!("{threads}{path}").as_bytes()).hex()
        });
        for (number, (path, text)) in (1_u64..).zip(&files) {
            write(&world, path, text);
            let path = world.path("work").join(path);
            let file = std::fs::File::options().write(true).open(path).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(number * 86_400);
            file.set_times(FileTimes::new().set_modified(time)).unwrap();
        }
        let env = [
            ("LC_ALL", locale),
            ("LANG", locale),
            ("RAYON_NUM_THREADS", threads),
            ("TZ", "Asia/Tokyo"),
            ("SOURCE_DATE_EPOCH", "1"),
        ];
        assert_eq!(build_in_env(&world, &env), expected, "{locale}, {threads} threads");
    }
}

#[test]
fn cp_13_path_of_the_knowledge_base_changes_no_byte() {
    let mut expected = build_in_env(&world_with(&files()), &[]);
    let world = world_with(&files());
    std::fs::create_dir_all(world.path("work/deep er/ä")).unwrap();
    std::fs::rename(world.path("work/kb"), world.path("work/deep er/ä/kb")).unwrap();
    let options = [&["--output", "pack", "--generated-at", GENERATED_AT], BRIEF, PROMPT].concat();
    let absolute = world.path("work/deep er/ä/kb");
    for dir in ["deep er/ä/kb", "./deep er/../deep er/ä/kb/", absolute.to_str().unwrap()] {
        sp(&world, &[&["build", "--kb", dir, "--zip", "--force"], &options[..]].concat()).ok();
        assert_eq!(pack_and_zip(&world), expected, "{dir}");
    }
    let twice = ["build", "--kb", "deep er/ä/kb", "--kb", "./deep er/ä/kb"];
    sp(&world, &[&twice, &options[..]].concat()).ok();
    expected.remove("pack.zip");
    assert_eq!(dir_bytes(&world, "pack"), expected, "duplicates are ignored");
}

#[test]
fn cp_13_updated_index_gives_the_same_pack_as_a_new_one() {
    let world = world_with(&files());
    let expected = build_in_env(&world, &[]);
    // Change contents, names and the set of files, and then revert everything.
    write(
        &world,
        "kb/retries.md",
        note(
            "https://docs.example.com/retries",
            "Other",
            "Webhooks say otherwise here. Never trust webhooks.",
        ),
    );
    write(
        &world,
        "kb/a-first.md",
        note("https://example.com/first", "First", "Webhooks come first here. Use webhooks early."),
    );
    std::fs::remove_file(world.path("work/kb/captures.jsonl")).unwrap();
    std::fs::rename(world.path("work/kb/storage.md"), world.path("work/kb/aaa.md")).unwrap();
    assert_ne!(build_in_env(&world, &[]), expected);
    std::fs::remove_file(world.path("work/kb/a-first.md")).unwrap();
    std::fs::rename(world.path("work/kb/aaa.md"), world.path("work/kb/storage.md")).unwrap();
    files().iter().rev().for_each(|(path, text)| write(&world, path, text));
    assert_eq!(build_in_env(&world, &[]), expected, "updated index");
    std::fs::remove_dir_all(world.path("home/.skillpack/kb")).unwrap();
    assert_eq!(build_in_env(&world, &[]), expected, "new index");
}

/// A pack as text, by file.
struct PackAtTime {
    files: BTreeMap<String, String>,
    id: String,
    generated_at: String,
}

/// Builds the pack at this time, in seconds since the epoch.
fn build_at(world: &World, epoch: &str) -> PackAtTime {
    let args = [&["context", "build", "--kb", "kb", "--output", "pack"], BRIEF, PROMPT].concat();
    let mut command = world.command(&args);
    command.current_dir(world.path("work")).env("SOURCE_DATE_EPOCH", epoch);
    world.run(command).ok();
    let text = |(path, bytes): (String, Vec<u8>)| (path, String::from_utf8(bytes).unwrap());
    let manifest = manifest(world);
    let member = |name: &str| manifest[name].as_str().unwrap().to_owned();
    PackAtTime {
        files: dir_bytes(world, "pack").into_iter().map(text).collect(),
        id: member("pack_id"),
        generated_at: member("generated_at"),
    }
}

#[test]
fn cp_13_generation_time_changes_only_the_time_and_the_id() {
    let world = world_with(&files());
    let (early, late) = (build_at(&world, "1777000000"), build_at(&world, "1777000001"));
    assert_ne!(early.id, late.id);
    assert_eq!(early.generated_at, "2026-04-24T03:06:40Z");
    assert_eq!(late.generated_at, "2026-04-24T03:06:41Z");
    assert_eq!(early.id[13..], late.id[13..], "the hash of the input is the same");
    assert!(early.files.keys().eq(late.files.keys()));
    // The hashes of files change with the ID in their frontmatter.
    let without_hashes = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.contains("\"sha256\"")).map(str::to_owned).collect()
    };
    for (path, text) in &late.files {
        let text =
            text.replace(&late.id, &early.id).replace(&late.generated_at, &early.generated_at);
        assert_eq!(without_hashes(&text), without_hashes(&early.files[path]), "{path}");
    }
    assert_eq!(build_at(&world, "1777000000").files, early.files);
}

/// Returns the IDs of the sources in a report, by URL.
fn source_ids(report: &Value) -> BTreeMap<String, String> {
    let sources = list(report, "sources").iter();
    sources.map(|source| (source["url"].to_string(), source["id"].to_string())).collect()
}

#[test]
fn cp_13_pack_id_depends_on_the_input_and_source_ids_do_not() {
    let world = world_with(&files());
    let first = build(&world, PROMPT);
    let mut reports = vec![first.clone()];
    for options in [
        &[][..],
        &["--prompt", "Webhooks?"],
        &["--stack", "webhooks"],
        &["--since", "1y"],
        &["--budget", "5000"],
    ] {
        reports.push(build(&world, options));
    }
    write(&world, "kb/storage.md", NOTES[3].1.replace("at night", "at noon"));
    let edited = build(&world, PROMPT);
    assert_eq!(source_ids(&edited), source_ids(&first));
    reports.push(edited);
    let ids: BTreeSet<&str> =
        reports.iter().map(|report| report["pack_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), reports.len(), "{ids:?}");
    assert!(ids.iter().all(|id| id.starts_with("pk_") && id.len() == 29), "{ids:?}");
}

#[test]
fn cp_13_valid_pack_id_argument_is_used() {
    let world = world_with(&files());
    for id in ["pk_01KPZXWZQR5NRHCGNQ4TR480B2", "5f0c7a0e-2a3b-4c5d-8e9f-0a1b2c3d4e5f"] {
        assert_eq!(build(&world, &["--pack-id", id])["pack_id"], id);
        let line = read(&world, "pack/AGENTS.md").lines().nth(2).unwrap().replace('"', "");
        assert_eq!(line, format!("pack_id: {id}"));
        assert_valid(&world);
    }
    let before = dir_bytes(&world, "pack");
    for invalid in ["pk_1", "../x", "", "pk_01KPZXWZQR5NRHCGNQ4TR480B2\n"] {
        assert_eq!(build_error(&world, &["--pack-id", invalid]).code, "E-invalid-id");
    }
    assert_eq!(dir_bytes(&world, "pack"), before);
}

/// Documents whose words overlap, so that scores tie and sentences repeat.
fn any_files() -> impl Strategy<Value = Vec<(String, String)>> {
    let word = proptest::sample::select(vec![
        "webhooks", "shops", "retry", "queue", "never", "always", "use", "order", "`limit`",
        "secret", "postgres", "sign", "must", "delivery", "ä", "認証",
    ]);
    let sentence =
        proptest::collection::vec(word, 4..9).prop_map(|words| format!("{}.", words.join(" ")));
    let marker =
        proptest::sample::select(vec!["", "- ", "1. ", "## ", "> [!warning]\n> ", "- [ ] "]);
    let block = (marker, sentence).prop_map(|(marker, text)| format!("{marker}{text}\n\n"));
    let text = proptest::collection::vec(block, 3..9).prop_map(|blocks| blocks.concat());
    // Few URLs and days, so that documents share them.
    let document = (0..4_usize, 0..12_usize, 1..28_usize, text)
        .prop_map(|(format, page, day, text)| AnyDocument { format, page, day, text });
    proptest::collection::vec(document, 2..12).prop_map(|documents| {
        documents.iter().enumerate().map(|(number, document)| document.file(number)).collect()
    })
}

/// A generated document.
#[derive(Debug)]
struct AnyDocument {
    format: usize,
    page: usize,
    day: usize,
    text: String,
}

impl AnyDocument {
    /// Returns the path and the content of a file with this document.
    fn file(&self, number: usize) -> (String, String) {
        let text = &self.text;
        let url = format!("https://example.com/p{}", self.page);
        let date = format!("2026-03-{:02}", self.day);
        match self.format {
            0 => {
                let line = serde_json::json!(
                    {"url": url, "title": "Webhooks", "captured_at": date, "text": text}
                );
                (format!("kb/c{number}.jsonl"), format!("{line}\n"))
            }
            1 => {
                let paragraphs: String =
                    text.split("\n\n").map(|part| format!("<p>{part}</p>")).collect();
                let page = format!(
                    "<html><head><title>Webhooks</title><link rel=canonical href='{url}'>\
                     <meta name=date content='{date}'></head>\
                     <body><article>{paragraphs}</article></body></html>"
                );
                (format!("kb/d/p{number}.html"), page)
            }
            _ => {
                let front = format!("---\nurl: {url}\ncaptured_at: {date}\n---\n\n");
                (format!("kb/n{number}.md"), front + text)
            }
        }
    }
}

/// Where and how a generated knowledge base is built.
struct BuildSetting {
    dir: &'static str,
    threads: &'static str,
    locale: &'static str,
}

/// Writes the files in their order and builds a pack. Returns the pack, its zip and what it omits;
/// nothing if there is no sentence to quote.
fn build_any(
    files: &[(String, String)],
    setting: &BuildSetting,
) -> Option<BTreeMap<String, Vec<u8>>> {
    let world = empty_world();
    for (path, text) in files {
        write(&world, &format!("{}/{path}", setting.dir), text);
    }
    let kb = format!("{}/kb", setting.dir);
    let args =
        ["context", "build", "--kb", &kb, "--output", "pack", "--generated-at", GENERATED_AT];
    let options = ["--zip", "--explain", "--format", "json"];
    let mut command = world.command(&[&args, BRIEF, PROMPT, &options].concat());
    command
        .current_dir(world.path("work"))
        .env("RAYON_NUM_THREADS", setting.threads)
        .env("LC_ALL", setting.locale);
    let run = world.run(command);
    if run.code != Some(0) {
        assert_eq!(run.error().code, "E-nothing-found");
        return None;
    }
    let mut files = dir_bytes(&world, "pack");
    files.insert("pack.zip".into(), std::fs::read(world.path("work/pack.zip")).unwrap());
    files.insert("omitted".into(), json(&run)["left"].to_string().into_bytes());
    Some(files)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cp_13_any_knowledge_base_gives_the_same_bytes_everywhere(
        files in any_files(),
        rotation in 0..12_usize,
    ) {
        let setting = BuildSetting { dir: "here", threads: "1", locale: "C" };
        let expected = build_any(&files, &setting);
        // Without a sentence to quote there is nothing to compare.
        prop_assume!(expected.is_some());
        let mut reordered = files;
        reordered.reverse();
        let rotation = rotation % reordered.len();
        reordered.rotate_left(rotation);
        let setting =
            BuildSetting { dir: "else where/ö", threads: "5", locale: "tr_TR.UTF-8" };
        prop_assert_eq!(build_any(&reordered, &setting), expected);
    }
}
