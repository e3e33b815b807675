//! The same input gives the same bytes, wherever and however it lies.

use std::fs::FileTimes;
use std::time::SystemTime;

use proptest::prelude::*;

use super::*;

/// What a pack is made from, besides the notes: one of each form whose order could matter.
const MORE: &[(&str, &str)] = &[
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
    [NOTES, MORE].concat()
}

/// Every file of the pack, and the zip.
fn built(
    world: &World,
    command: impl FnOnce(&mut std::process::Command),
) -> BTreeMap<String, Vec<u8>> {
    let args = [&["context"], &building(PROMPT)[..], &["--zip", "--force"]].concat();
    let mut run = world.command(&args);
    run.current_dir(world.path("work"));
    command(&mut run);
    world.run(run).ok();
    let mut files = bytes(world, "pack");
    assert!(files.len() >= 6, "{:?}", files.keys());
    files.insert("the zip".into(), std::fs::read(world.path("work/pack.zip")).unwrap());
    files
}

#[test]
fn cp_13_neither_place_nor_language_nor_threads_nor_order_on_disk_changes_a_byte() {
    let first = with(&files());
    let expected = built(&first, |_| {});
    assert_eq!(built(&first, |_| {}), expected, "built again");
    for (locale, threads) in
        [("C", "1"), ("tr_TR.UTF-8", "2"), ("ja_JP.eucJP", "7"), ("de_DE.UTF-8", "1")]
    {
        let world = empty();
        let mut files = files();
        files.sort_by_key(|(path, _)| {
            sp_tree::Digest::of(format!("{threads}{path}").as_bytes()).hex()
        });
        for (number, (path, text)) in (1_u64..).zip(&files) {
            put(&world, path, text);
            let file =
                std::fs::File::options().write(true).open(world.path("work").join(path)).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(number * 86_400);
            file.set_times(FileTimes::new().set_modified(time)).unwrap();
        }
        let now = built(&world, |command| {
            command.env("LC_ALL", locale).env("LANG", locale).env("RAYON_NUM_THREADS", threads);
            command.env("TZ", "Asia/Tokyo").env("SOURCE_DATE_EPOCH", "1");
        });
        assert_eq!(now, expected, "{locale}, {threads} threads");
    }
}

#[test]
fn cp_13_the_folder_may_lie_elsewhere_and_be_named_otherwise() {
    let first = with(&files());
    let expected = built(&first, |_| {});
    let world = with(&files());
    std::fs::create_dir_all(world.path("work/deep er/ä")).unwrap();
    std::fs::rename(world.path("work/kb"), world.path("work/deep er/ä/kb")).unwrap();
    let place = world.path("work/deep er/ä/kb");
    for dir in ["deep er/ä/kb", "./deep er/../deep er/ä/kb/", place.to_str().unwrap()] {
        let args = [
            &["build", "--kb", dir, "--out", "pack", "--generated-at", WHEN],
            BRIEF,
            PROMPT,
            &["--force", "--zip"],
        ];
        sp(&world, &args.concat()).ok();
        let mut now = bytes(&world, "pack");
        now.insert("the zip".into(), std::fs::read(world.path("work/pack.zip")).unwrap());
        assert_eq!(now, expected, "{dir}");
    }
    let twice = [
        "build",
        "--kb",
        "deep er/ä/kb",
        "--kb",
        "./deep er/ä/kb",
        "--out",
        "pack",
        "--generated-at",
        WHEN,
    ];
    let args = [&twice, BRIEF, PROMPT];
    sp(&world, &args.concat()).ok();
    let mut once = expected;
    once.remove("the zip");
    assert_eq!(bytes(&world, "pack"), once, "a folder that is named twice counts once");
}

#[test]
fn cp_13_an_index_that_was_brought_up_to_date_gives_what_a_fresh_one_gives() {
    let world = with(&files());
    let expected = built(&world, |_| {});
    // Back and forth: other texts, other names, other sets of files.
    put(
        &world,
        "kb/retries.md",
        note(
            "https://docs.example.com/retries",
            "Other",
            "Webhooks say otherwise here. Never trust webhooks.",
        ),
    );
    put(
        &world,
        "kb/a-first.md",
        note("https://example.com/first", "First", "Webhooks come first here. Use webhooks early."),
    );
    std::fs::remove_file(world.path("work/kb/captures.jsonl")).unwrap();
    std::fs::rename(world.path("work/kb/storage.md"), world.path("work/kb/aaa.md")).unwrap();
    let between = built(&world, |_| {});
    assert_ne!(between, expected);
    std::fs::remove_file(world.path("work/kb/a-first.md")).unwrap();
    std::fs::rename(world.path("work/kb/aaa.md"), world.path("work/kb/storage.md")).unwrap();
    files().iter().rev().for_each(|(path, text)| put(&world, path, text));
    assert_eq!(built(&world, |_| {}), expected, "brought up to date");
    std::fs::remove_dir_all(world.path("home/.skillpack/kb")).unwrap();
    assert_eq!(built(&world, |_| {}), expected, "made anew");
}

/// The pack at another moment.
fn at(world: &World, epoch: &str) -> BTreeMap<String, String> {
    let args = [&["context", "build", "--kb", "kb", "--out", "pack"], BRIEF, PROMPT].concat();
    let mut run = world.command(&args);
    run.current_dir(world.path("work")).env("SOURCE_DATE_EPOCH", epoch);
    world.run(run).ok();
    let text = |(path, bytes): (String, Vec<u8>)| (path, String::from_utf8(bytes).unwrap());
    bytes(world, "pack").into_iter().map(text).collect()
}

#[test]
fn cp_13_at_another_moment_only_the_moment_and_the_id_differ() {
    let world = with(&files());
    let (early, late) = (at(&world, "1777000000"), at(&world, "1777000001"));
    let id = |pack: &BTreeMap<String, String>| {
        let manifest: Value = serde_json::from_str(&pack["pack.json"]).unwrap();
        (
            manifest["pack_id"].as_str().unwrap().to_owned(),
            manifest["generated_at"].as_str().unwrap().to_owned(),
        )
    };
    let ((early_id, early_at), (late_id, late_at)) = (id(&early), id(&late));
    assert_ne!(early_id, late_id);
    assert_eq!(
        (early_at.as_str(), late_at.as_str()),
        ("2026-04-24T03:06:40Z", "2026-04-24T03:06:41Z")
    );
    assert_eq!(early_id[13..], late_id[13..], "the hash of the input is the same");
    assert!(early.keys().eq(late.keys()));
    for (path, text) in &late {
        // Hashes of files change with the id in their frontmatter.
        let lines = |text: &str| {
            let kept = text.lines().filter(|line| !line.contains("\"sha256\""));
            kept.map(str::to_owned).collect::<Vec<_>>()
        };
        let back = text.replace(&late_id, &early_id).replace(&late_at, &early_at);
        assert_eq!(lines(&back), lines(&early[path]), "{path}");
    }
    assert_eq!(at(&world, "1777000000"), early, "and it comes back");
}

#[test]
fn cp_13_another_input_gives_another_id_and_one_that_is_given_is_taken() {
    let world = with(&files());
    let mut ids = vec![build(&world, PROMPT)["pack_id"].as_str().unwrap().to_owned()];
    let ids_of_sources = |answer: &Value| {
        let one = |source: &Value| (source["url"].to_string(), source["id"].to_string());
        answer["sources"].as_array().unwrap().iter().map(one).collect::<BTreeMap<String, String>>()
    };
    let before = ids_of_sources(&build(&world, PROMPT));
    for more in [
        &[][..],
        &["--prompt", "Webhooks?"],
        &["--stack", "webhooks"],
        &["--since", "1y"],
        &["--budget", "5000"],
    ] {
        ids.push(build(&world, more)["pack_id"].as_str().unwrap().to_owned());
    }
    put(&world, "kb/storage.md", NOTES[3].1.replace("at night", "at noon"));
    let answer = build(&world, PROMPT);
    ids.push(answer["pack_id"].as_str().unwrap().to_owned());
    assert_eq!(ids_of_sources(&answer), before, "an address has the same id in every generation");
    assert!(ids.iter().all(|id| id.starts_with("pk_") && id.len() == 29), "{ids:?}");
    let mut different = ids.clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), ids.len(), "{ids:?}");
    for given in ["pk_01KPZXWZQR5NRHCGNQ4TR480B2", "5f0c7a0e-2a3b-4c5d-8e9f-0a1b2c3d4e5f"] {
        assert_eq!(build(&world, &["--pack-id", given])["pack_id"], given);
        let front = read(&world, "pack/AGENTS.md").lines().nth(2).unwrap().replace('"', "");
        assert_eq!(front, format!("pack_id: {given}"));
        is_valid(&world);
    }
    let before = bytes(&world, "pack");
    for bad in ["pk_1", "../x", "", "pk_01KPZXWZQR5NRHCGNQ4TR480B2\n"] {
        let run = sp(&world, &building(&["--pack-id", bad])).fails(2);
        assert!(run.stderr.contains("neither a ULID nor a UUID"), "{run}");
    }
    assert_eq!(bytes(&world, "pack"), before);
}

/// A knowledge base that nobody thought of: texts of words that overlap, so that scores tie and
/// sentences repeat.
fn any_files() -> impl Strategy<Value = Vec<(String, String)>> {
    let word = proptest::sample::select(vec![
        "webhooks", "shops", "retry", "queue", "never", "always", "use", "order", "`limit`",
        "secret", "postgres", "sign", "must", "delivery", "ä", "認証",
    ]);
    let sentence =
        proptest::collection::vec(word, 4..9).prop_map(|words| format!("{}.", words.join(" ")));
    let block = (
        proptest::sample::select(vec!["", "- ", "1. ", "## ", "> [!warning]\n> ", "- [ ] "]),
        sentence,
    );
    let text = proptest::collection::vec(block, 3..9).prop_map(|blocks| {
        blocks.iter().map(|(mark, text)| format!("{mark}{text}\n\n")).collect::<String>()
    });
    // Few addresses and days, so that documents meet.
    let file = (0..4_usize, 0..12_usize, 1..28_usize, text);
    proptest::collection::vec(file, 2..12)
        .prop_map(|files| files.iter().enumerate().map(any_file).collect())
}

fn any_file(
    (number, (form, place, day, text)): (usize, &(usize, usize, usize, String)),
) -> (String, String) {
    let (url, date) = (format!("https://example.com/p{place}"), format!("2026-03-{day:02}"));
    match form {
        0 => {
            let line = serde_json::json!({"url": url, "title": "Webhooks", "captured_at": date, "text": text});
            (format!("kb/c{number}.jsonl"), format!("{line}\n"))
        }
        1 => {
            let body: String = text.split("\n\n").map(|part| format!("<p>{part}</p>")).collect();
            let head = format!(
                "<title>Webhooks</title><link rel=canonical href='{url}'><meta name=date content='{date}'>"
            );
            (
                format!("kb/d/p{number}.html"),
                format!("<html><head>{head}</head><body><article>{body}</article></body></html>"),
            )
        }
        _ => (
            format!("kb/n{number}.md"),
            format!("---\nurl: {url}\ncaptured_at: {date}\n---\n\n{text}"),
        ),
    }
}

/// What a build makes of files that are written in some order, or how it refuses.
fn made(
    files: &[(String, String)],
    place: &str,
    threads: &str,
    locale: &str,
) -> BTreeMap<String, Vec<u8>> {
    let world = empty();
    std::fs::create_dir_all(world.path("work").join(place)).unwrap();
    for (path, text) in files {
        put(&world, &format!("{place}/{path}"), text);
    }
    let kb = format!("{place}/kb");
    let args = [
        "build",
        "--kb",
        &kb,
        "--out",
        "pack",
        "--generated-at",
        WHEN,
        "--zip",
        "--explain",
        "--format",
        "json",
    ];
    let args = [&["context"], &args[..], BRIEF, PROMPT].concat();
    let mut run = world.command(&args);
    run.current_dir(world.path("work")).env("RAYON_NUM_THREADS", threads).env("LC_ALL", locale);
    let run = world.run(run);
    if run.code != Some(0) {
        return BTreeMap::from([("refused".into(), run.stderr.into_bytes())]);
    }
    let mut made = bytes(&world, "pack");
    made.insert("the zip".into(), std::fs::read(world.path("work/pack.zip")).unwrap());
    let told: Value = serde_json::from_str(&run.stdout).unwrap();
    made.insert("the ledger".into(), told["left"].to_string().into_bytes());
    made
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cp_13_any_knowledge_base_gives_the_same_bytes_everywhere(files in any_files(), turn in 0..12_usize) {
        let expected = made(&files, "here", "1", "C");
        // Where nothing can be quoted there is nothing to compare.
        prop_assume!(!expected.contains_key("refused"));
        let mut other = files;
        other.reverse();
        let turn = turn % other.len();
        other.rotate_left(turn);
        prop_assert_eq!(made(&other, "else where/ö", "5", "tr_TR.UTF-8"), expected);
    }
}
