//! Context packs as folders and zips: what is checked like a folder, and what is refused before it
//! is read.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test arranges its world with the plain calls"
)]

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use sp_testkit::{Run, World, world, zip};

/// A pack of the corpus.
fn corpus(case: &str) -> Vec<(String, Vec<u8>)> {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(case).join("tree");
    let files = std::fs::read_dir(tree).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files
        .map(|path| {
            (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// A zip with these files below a folder, or at its top if that is empty.
fn packed(files: &[(String, Vec<u8>)], folder: &str) -> Vec<u8> {
    let named: Vec<(String, &[u8])> =
        files.iter().map(|(path, bytes)| (format!("{folder}{path}"), bytes.as_slice())).collect();
    zip(&named.iter().map(|(path, bytes)| (path.as_str(), *bytes)).collect::<Vec<_>>())
}

fn golden_with(more: &[(&str, &[u8])]) -> Vec<u8> {
    let golden = corpus("good-ctx-golden");
    let named: Vec<(String, &[u8])> =
        golden.iter().map(|(path, bytes)| (format!("pack/{path}"), bytes.as_slice())).collect();
    let members =
        named.iter().map(|(path, bytes)| (path.as_str(), *bytes)).chain(more.iter().copied());
    zip(&members.collect::<Vec<_>>())
}

fn check(world: &World, path: &str, format: &str) -> Run {
    world.sp_in("home", &["check", path, "--format", format])
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run}"))
}

/// Every finding, by its place in the pack.
fn findings(run: &Run, pack: &str) -> Vec<String> {
    let found = json(run);
    let line = |one: &Value| {
        let file =
            one["file"].as_str().unwrap().strip_prefix(&format!("{pack}/")).unwrap().to_owned();
        format!(
            "{file}:{}:{}: {} {} {}",
            one["line"], one["column"], one["severity"], one["rule"], one["message"]
        )
    };
    found["findings"].as_array().unwrap().iter().map(line).collect()
}

#[track_caller]
fn refused(what: &str, bytes: &[u8], words: &str) {
    let world = world!();
    std::fs::write(world.home().join("x.zip"), bytes).unwrap();
    let run = check(&world, "x.zip", "human").fails(3);
    assert!(run.stderr.contains(words), "{what}: `{words}` is not in {run}");
}

#[test]
fn cp_15_a_zip_with_one_folder_is_checked_like_the_folder() {
    for case in [
        "good-ctx-golden",
        "ctx-footnote-to-nothing",
        "ctx-file-not-utf8",
        "ctx-path-unlisted",
        "ctx-hash-before-windows-ends",
    ] {
        let (world, files) = (world!(), corpus(case));
        for (path, bytes) in &files {
            let path = world.home().join("folder").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        std::fs::write(world.home().join("pack.zip"), packed(&files, "context-pack/")).unwrap();
        let (folder, zip) = (check(&world, "folder", "json"), check(&world, "pack.zip", "json"));
        assert_eq!(folder.code, zip.code, "{case}: {folder} {zip}");
        assert_eq!(findings(&folder, "folder"), findings(&zip, "pack.zip"), "{case}");
        let manifest = check(&world, "folder/pack.json", "json");
        assert_eq!(findings(&folder, "folder"), findings(&manifest, "folder"), "{case}");
    }
}

#[test]
fn cp_15_a_zip_without_exactly_one_folder_at_its_top_is_refused() {
    let words = "one folder at its top";
    let golden = corpus("good-ctx-golden");
    refused("no folder", &packed(&golden, ""), words);
    refused("a file beside it", &golden_with(&[("README.md", b"x")]), words);
    refused("two folders", &golden_with(&[("other/README.md", b"x")]), words);
    refused("an empty folder beside it", &golden_with(&[("other/", b"")]), words);
    refused("what a Mac adds", &golden_with(&[("__MACOSX/pack/._pack.json", b"x")]), words);
    refused("nothing", &zip(&[]), words);
}

#[test]
fn cp_15_a_zip_with_an_empty_folder_has_no_manifest() {
    let world = world!();
    std::fs::write(world.home().join("x.zip"), zip(&[("pack/", b"")])).unwrap();
    let run = check(&world, "x.zip", "plain").fails(1);
    assert!(run.stdout.contains("there is no `pack.json`"), "{run}");
}

#[test]
fn se_04_members_that_lead_elsewhere_are_refused() {
    for (name, words) in [
        ("pack/../../evil.md", "`..`"),
        ("/etc/evil.md", "cannot be taken"),
        ("pack/a\\b.md", "cannot be taken"),
        ("pack/C:evil.md", "cannot be taken"),
        ("pack/aux.md", "cannot be taken"),
        ("pack/SKILLS.md", "are one name"),
        ("pack/a\nb.md", "cannot be taken"),
    ] {
        refused(name, &golden_with(&[(name, b"x")]), words);
    }
}

/// The bytes of a zip with other ones in the entry of its directory for a member.
fn with_directory_bytes(mut bytes: Vec<u8>, name: &str, at: usize, new: &[u8]) -> Vec<u8> {
    const NAME: usize = 46;
    let start = bytes.windows(name.len()).rposition(|part| part == name.as_bytes()).unwrap() - NAME;
    bytes[start + at..start + at + new.len()].copy_from_slice(new);
    bytes
}

/// The zip with another size of a member in both of its headers.
fn with_size(mut bytes: Vec<u8>, name: &str, size: u32) -> Vec<u8> {
    const NAME: usize = 30;
    let start = bytes.windows(name.len()).position(|part| part == name.as_bytes()).unwrap() - NAME;
    bytes[start + 22..start + 26].copy_from_slice(&size.to_le_bytes());
    with_directory_bytes(bytes, name, 24, &size.to_le_bytes())
}

#[test]
fn se_04_links_and_what_is_encrypted_are_refused() {
    let (name, zip) = ("pack/more.md", golden_with(&[("pack/more.md", b"/etc/passwd")]));
    let link = (0o120_777_u32 << 16).to_le_bytes();
    refused("a link", &with_directory_bytes(zip.clone(), name, 38, &link), "it is a link");
    refused(
        "a pipe",
        &with_directory_bytes(zip.clone(), name, 38, &(0o010_644_u32 << 16).to_le_bytes()),
        "neither a file nor a folder",
    );
    refused("encrypted", &with_directory_bytes(zip, name, 8, &[1, 0]), "it is encrypted");
}

#[test]
fn se_04_what_is_no_zip_or_too_much_of_one_is_refused() {
    refused("no zip", b"PK but no zip", "is not a zip archive");
    refused("empty", b"", "is not a zip archive");
    let golden = golden_with(&[]);
    refused("cut", &golden[..golden.len() / 2], "is not a zip archive");
    let names: Vec<String> = (0..10_001).map(|at| format!("pack/{at}.md")).collect();
    let members: Vec<(&str, &[u8])> =
        names.iter().map(|name| (name.as_str(), b"".as_slice())).collect();
    refused("too many members", &zip(&members), "--limit zip-entries=");
    let deep = format!("pack/{}x.md", "a/".repeat(100));
    refused("too deep", &golden_with(&[(&deep, b"x")]), "--limit depth=");
    let bomb = with_size(golden_with(&[("pack/more.md", b"x")]), "pack/more.md", 0x00ff_ffff);
    refused("a member that claims 16 MiB", &bomb, "limit");
    let huge = with_size(golden_with(&[("pack/more.md", b"x")]), "pack/more.md", 0xf000_0000);
    refused("a member that claims gigabytes", &huge, "--limit zip-bytes=");
}

/// A pack that is good, as a folder.
fn folder(world: &World) -> std::path::PathBuf {
    let pack = world.home().join("pack");
    std::fs::create_dir_all(&pack).unwrap();
    for (path, bytes) in corpus("good-ctx-golden") {
        std::fs::write(pack.join(path), bytes).unwrap();
    }
    pack
}

#[test]
fn se_04_a_folder_with_too_much_in_it_is_refused_cheaply() {
    let world = world!();
    let pack = folder(&world);
    std::fs::create_dir(pack.join("more")).unwrap();
    (0..20_000)
        .for_each(|at| drop(std::fs::File::create(pack.join(format!("more/{at}.md"))).unwrap()));
    let run = check(&world, "pack", "human").fails(3);
    assert!(
        run.stderr.contains("more files than 10000")
            && run.stderr.contains("--limit skill-entries="),
        "{run}"
    );
    let run = world.sp_in("home", &["check", "pack", "--limit", "skill-entries=30000"]).ok();
    assert!(run.stdout.contains("none of the 20000 files"), "{run}");
}

#[test]
fn se_04_a_file_that_is_too_large_and_folders_too_deep_are_refused_cheaply() {
    let world = world!();
    let pack = folder(&world);
    std::fs::File::create(pack.join("skills.md")).unwrap().set_len(100 << 20).unwrap();
    let run = check(&world, "pack", "human").fails(3);
    assert!(
        run.stderr.contains("`skills.md` in `pack` has more bytes")
            && run.stderr.contains("--limit file-bytes="),
        "{run}"
    );
    std::fs::remove_file(pack.join("skills.md")).unwrap();
    std::fs::create_dir_all(pack.join("a/".repeat(100))).unwrap();
    let run = check(&world, "pack", "human").fails(3);
    assert!(
        run.stderr.contains("deeper folders than 64") && run.stderr.contains("--limit depth="),
        "{run}"
    );
}

#[test]
fn se_04_a_pipe_in_the_place_of_a_file_is_told_and_never_read() {
    let world = world!();
    let pack = folder(&world);
    std::fs::remove_file(pack.join("skills.md")).unwrap();
    assert!(Command::new("mkfifo").arg(pack.join("skills.md")).status().unwrap().success());
    let run = check(&world, "pack", "plain").fails(1);
    assert!(run.stdout.contains("`skills.md` is no file"), "{run}");
    assert!(Command::new("mkfifo").arg(pack.join("more.md")).status().unwrap().success());
    let run = check(&world, "pack", "plain").fails(1);
    assert!(run.stdout.contains("more.md") && run.stdout.contains("it is no file"), "{run}");
}

#[test]
fn cp_11_what_git_keeps_is_not_the_packs() {
    let world = world!();
    let pack = folder(&world);
    std::fs::create_dir(pack.join(".git")).unwrap();
    std::fs::write(pack.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let run = world.sp_in("home", &["check", "pack", "--strict"]).ok();
    assert!(!run.stdout.contains("CP-03"), "{run}");
}

#[test]
fn cp_11_json_and_sarif_tell_the_rule_and_the_place() {
    let world = world!();
    let pack = folder(&world);
    let skills = std::fs::read_to_string(pack.join("skills.md")).unwrap();
    std::fs::write(pack.join("skills.md"), skills.replacen("[^src_queues]", "[^src_other]", 1))
        .unwrap();
    let run = check(&world, "pack", "json").fails(1);
    let found = json(&run);
    let places: Vec<(&str, u64, &str)> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["file"].as_str().unwrap(),
                one["line"].as_u64().unwrap(),
                one["rule"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(places, [("pack/pack.json", 34, "CP-10"), ("pack/skills.md", 14, "CP-10")], "{run}");
    let sarif = json(&check(&world, "pack", "sarif").fails(1));
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    let place = &results[1]["locations"][0]["physicalLocation"];
    assert_eq!(results[1]["ruleId"], "CP-10");
    assert_eq!(results[1]["level"], "error");
    assert!(
        place["artifactLocation"]["uri"].as_str().unwrap().ends_with("pack/skills.md"),
        "{place}"
    );
    assert_eq!(
        (place["region"]["startLine"].as_u64(), place["region"]["startColumn"].as_u64()),
        (Some(14), Some(10))
    );
}
