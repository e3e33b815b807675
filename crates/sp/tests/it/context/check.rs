//! `sp check` on context packs in directories and zip files.

use std::path::PathBuf;
use std::process::Command;

use super::*;

/// A finding, without its message.
#[derive(Debug, PartialEq)]
struct Finding {
    rule: String,
    file: String,
    line: u64,
}

impl Finding {
    fn new(rule: &str, file: &str, line: u64) -> Self {
        Self { rule: rule.into(), file: file.into(), line }
    }
}

/// Returns what `sp check` reports.
fn findings(run: &Run) -> Vec<Finding> {
    let report = json(run);
    let finding = |finding: &Value| {
        let member = |name: &str| finding[name].as_str().unwrap();
        Finding::new(member("rule"), member("file"), finding["line"].as_u64().unwrap())
    };
    report["findings"].as_array().unwrap().iter().map(finding).collect()
}

/// Returns the complete findings, with paths relative to the pack.
fn relative_findings(run: &Run, pack: &str) -> Vec<Value> {
    let mut findings = json(run)["findings"].as_array().unwrap().clone();
    for finding in &mut findings {
        let file = finding["file"].as_str().unwrap();
        finding["file"] = file.strip_prefix(&format!("{pack}/")).unwrap().into();
    }
    findings
}

fn check(world: &World, path: &str, format: &str) -> Run {
    world.sp_in("home", &["check", path, "--format", format])
}

fn zip_with(members: &[(&str, &[u8])]) -> Vec<u8> {
    let files: PackFiles =
        valid_pack().into_iter().map(|(path, bytes)| (format!("pack/{path}"), bytes)).collect();
    let files = files.iter().map(|(path, bytes)| (&**path, &**bytes));
    zip(&files.chain(members.iter().copied()).collect::<Vec<_>>())
}

/// Returns the error of checking a zip with these bytes.
#[track_caller]
fn zip_error(bytes: &[u8]) -> UnreadablePack {
    let world = world!();
    std::fs::write(world.home().join("x.zip"), bytes).unwrap();
    check_unreadable(&world, &["check", "x.zip"])
}

/// Writes the valid context pack to `~/pack`.
fn write_valid_pack(world: &World) -> PathBuf {
    let pack = world.home().join("pack");
    std::fs::create_dir_all(&pack).unwrap();
    for (path, bytes) in valid_pack() {
        std::fs::write(pack.join(path), bytes).unwrap();
    }
    pack
}

#[test]
fn cp_15_zip_with_one_directory_is_checked_like_the_directory() {
    for case in [
        "valid/context-packs/golden",
        "CP-10/ctx-footnote-to-nothing",
        "CP-01/ctx-file-not-utf8",
        "CP-03/ctx-path-unlisted",
        "CP-10/ctx-hash-before-windows-ends",
    ] {
        let (world, files) = (world!(), corpus_pack(case));
        std::fs::create_dir(world.home().join("dir")).unwrap();
        for (path, bytes) in &files {
            std::fs::write(world.home().join("dir").join(path), bytes).unwrap();
        }
        std::fs::write(world.home().join("pack.zip"), zip_pack(&files, "context-pack/")).unwrap();
        let dir = check(&world, "dir", "json");
        let zip = check(&world, "pack.zip", "json");
        assert_eq!(dir.code, zip.code, "{case}: {dir} {zip}");
        let expected = relative_findings(&dir, "dir");
        assert_eq!(relative_findings(&zip, "pack.zip"), expected, "{case}");
        let manifest = check(&world, "dir/pack.json", "json");
        assert_eq!(relative_findings(&manifest, "dir"), expected, "{case}");
    }
}

#[test]
fn cp_15_zip_must_have_exactly_one_top_level_directory() {
    for (case, bytes) in [
        ("no directory", zip_pack(&valid_pack(), "")),
        ("another file", zip_with(&[("README.md", b"x")])),
        ("two directories", zip_with(&[("other/README.md", b"x")])),
        ("an empty directory", zip_with(&[("other/", b"")])),
        ("metadata of macOS", zip_with(&[("__MACOSX/pack/._pack.json", b"x")])),
        ("no members", zip(&[])),
    ] {
        assert_eq!(zip_error(&bytes).code, "E-invalid-context-pack", "{case}");
    }
}

#[test]
fn cp_15_zip_with_an_empty_directory_has_no_manifest() {
    let world = world!();
    std::fs::write(world.home().join("x.zip"), zip(&[("pack/", b"")])).unwrap();
    let run = check(&world, "x.zip", "json").fails(1);
    assert_eq!(findings(&run), [Finding::new("CP-01", "x.zip/pack.json", 1)]);
}

#[test]
fn se_04_zip_members_with_unsafe_paths_are_refused() {
    for name in [
        "pack/../../evil.md",
        "/etc/evil.md",
        "pack/a\\b.md",
        "pack/C:evil.md",
        "pack/aux.md",
        "pack/SKILLS.md",
        "pack/a\nb.md",
    ] {
        let error = zip_error(&zip_with(&[(name, b"x")]));
        assert_eq!(error.code, "E-invalid-archive", "{name}: {}", error.report);
    }
}

/// Overwrites bytes of a member's entry in the central directory of a zip.
fn patch_directory(mut zip: Vec<u8>, name: &str, offset: usize, bytes: &[u8]) -> Vec<u8> {
    const NAME: usize = 46;
    let start = zip.windows(name.len()).rposition(|part| part == name.as_bytes()).unwrap() - NAME;
    zip[start + offset..start + offset + bytes.len()].copy_from_slice(bytes);
    zip
}

/// Overwrites the size of a member in its local header and in the central directory.
fn patch_size(mut zip: Vec<u8>, name: &str, size: u32) -> Vec<u8> {
    const NAME: usize = 30;
    let start = zip.windows(name.len()).position(|part| part == name.as_bytes()).unwrap() - NAME;
    zip[start + 22..start + 26].copy_from_slice(&size.to_le_bytes());
    patch_directory(zip, name, 24, &size.to_le_bytes())
}

#[test]
fn se_04_links_pipes_and_encrypted_zip_members_are_refused() {
    let name = "pack/more.md";
    let zip = zip_with(&[(name, b"/etc/passwd")]);
    let link = (0o120_777_u32 << 16).to_le_bytes();
    let pipe = (0o010_644_u32 << 16).to_le_bytes();
    for (case, offset, bytes) in
        [("a link", 38, &link[..]), ("a pipe", 38, &pipe), ("encrypted", 8, &[1, 0])]
    {
        let error = zip_error(&patch_directory(zip.clone(), name, offset, bytes));
        assert_eq!(error.code, "E-invalid-archive", "{case}");
        assert!(error.message.contains("more.md"), "{case}: {}", error.report);
    }
}

#[test]
fn se_04_invalid_and_oversized_zips_are_refused() {
    let valid = zip_with(&[]);
    for bytes in [b"PK but no zip", &b""[..], &valid[..valid.len() / 2]] {
        assert_eq!(zip_error(bytes).code, "E-invalid-archive");
    }
    let names: Vec<String> = (0..10_001).map(|number| format!("pack/{number}.md")).collect();
    let members: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &b""[..])).collect();
    let deep = format!("pack/{}x.md", "a/".repeat(100));
    let more = zip_with(&[("pack/more.md", b"x")]);
    for (bytes, flag) in [
        (zip(&members), "--limit zip-entries="),
        (zip_with(&[(&deep, b"x")]), "--limit depth="),
        (patch_size(more.clone(), "pack/more.md", 0x00ff_ffff), "--limit "),
        (patch_size(more, "pack/more.md", 0xf000_0000), "--limit zip-bytes="),
    ] {
        let error = zip_error(&bytes);
        assert_eq!(error.code, "E-limit-exceeded", "{flag}");
        assert!(error.hints_at(flag), "{flag}: {}", error.report);
    }
}

#[test]
fn se_04_number_of_files_in_a_directory_is_limited() {
    let world = world!();
    let pack = write_valid_pack(&world);
    std::fs::create_dir(pack.join("more")).unwrap();
    for number in 0..20_000 {
        std::fs::File::create(pack.join(format!("more/{number}.md"))).unwrap();
    }
    let error = check_unreadable(&world, &["check", "pack"]);
    assert_eq!(error.code, "E-limit-exceeded");
    assert!(error.message.contains("10000"), "{}", error.report);
    assert!(error.hints_at("--limit skill-entries="), "{}", error.report);
    let args = ["check", "pack", "--limit", "skill-entries=30000", "--format", "json"];
    let report = json(&world.sp_in("home", &args).ok());
    let finding = &report["findings"][0];
    assert_eq!(finding["rule"], "CP-03", "{report}");
    assert!(finding["message"].as_str().unwrap().contains("20000"), "{report}");
}

#[test]
fn se_04_file_size_and_directory_depth_are_limited() {
    let world = world!();
    let pack = write_valid_pack(&world);
    std::fs::File::create(pack.join("skills.md")).unwrap().set_len(100 << 20).unwrap();
    let error = check_unreadable(&world, &["check", "pack"]);
    assert_eq!(error.code, "E-limit-exceeded");
    assert!(error.message.contains("`skills.md`"), "{}", error.report);
    assert!(error.hints_at("--limit file-bytes="), "{}", error.report);
    std::fs::remove_file(pack.join("skills.md")).unwrap();
    std::fs::create_dir_all(pack.join("a/".repeat(100))).unwrap();
    let error = check_unreadable(&world, &["check", "pack"]);
    assert_eq!(error.code, "E-limit-exceeded");
    assert!(error.message.contains("64") && error.hints_at("--limit depth="), "{}", error.report);
}

fn make_pipe(path: PathBuf) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn se_04_pipes_are_reported_and_never_read() {
    let world = world!();
    let pack = write_valid_pack(&world);
    std::fs::remove_file(pack.join("skills.md")).unwrap();
    make_pipe(pack.join("skills.md"));
    let run = check(&world, "pack", "plain").fails(1);
    assert!(run.stdout.contains("CP-03") && run.stdout.contains("skills.md"), "{run}");
    make_pipe(pack.join("more.md"));
    let run = check(&world, "pack", "plain").fails(1);
    assert!(run.stdout.contains("more.md"), "{run}");
}

#[test]
fn cp_11_git_directory_is_not_part_of_a_pack() {
    let world = world!();
    let pack = write_valid_pack(&world);
    std::fs::create_dir(pack.join(".git")).unwrap();
    std::fs::write(pack.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let run = world.sp_in("home", &["check", "pack", "--strict"]).ok();
    assert!(!run.stdout.contains("CP-03"), "{run}");
}

#[test]
fn cp_11_json_and_sarif_have_rule_and_position() {
    let world = world!();
    let pack = write_valid_pack(&world);
    let skills = std::fs::read_to_string(pack.join("skills.md")).unwrap();
    std::fs::write(pack.join("skills.md"), skills.replacen("[^src_queues]", "[^src_other]", 1))
        .unwrap();
    let run = check(&world, "pack", "json").fails(1);
    assert_eq!(
        findings(&run),
        [Finding::new("CP-10", "pack/pack.json", 34), Finding::new("CP-10", "pack/skills.md", 14)]
    );
    let sarif = json(&check(&world, "pack", "sarif").fails(1));
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!(results[1]["ruleId"], "CP-10");
    assert_eq!(results[1]["level"], "error");
    let location = &results[1]["locations"][0]["physicalLocation"];
    let uri = location["artifactLocation"]["uri"].as_str().unwrap();
    assert!(uri.ends_with("pack/skills.md"), "{location}");
    assert_eq!(location["region"]["startLine"], 14);
    assert_eq!(location["region"]["startColumn"], 10);
}
