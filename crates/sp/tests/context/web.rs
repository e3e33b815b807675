//! Context packs at an address: a zip, or files beside a `pack.json`, from a real server on
//! loopback.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test arranges its world with the plain calls"
)]

use std::path::Path;

use sp_testkit::{Answer, Run, WebServer, World, world, zip};

/// What opens the pack; nothing that is printed or written may have it.
const SIGNATURE: &str = "canary-77aa";
const FOLDER: &str = "/packs/pk_1/";

type Files = Vec<(String, Vec<u8>)>;

/// A good pack.
fn golden() -> Files {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/good-ctx-golden/tree");
    let files = std::fs::read_dir(tree).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| {
            (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap())
        })
        .collect()
}

fn query() -> String {
    format!("?exp=1777044123&kid=k1&sig={SIGNATURE}")
}

fn zipped(files: &Files) -> Vec<u8> {
    let named: Vec<(String, &[u8])> = files
        .iter()
        .map(|(path, bytes)| (format!("context-pack/{path}"), bytes.as_slice()))
        .collect();
    zip(&named.iter().map(|(path, bytes)| (path.as_str(), *bytes)).collect::<Vec<_>>())
}

/// Serves files to those who bring the signature. Returns the address of the folder.
fn serve(server: &WebServer, files: &Files) -> String {
    for (path, bytes) in files {
        server.page(&format!("{FOLDER}{path}{}", query()), Answer::Bytes(bytes.clone()));
    }
    server.url(&format!("{FOLDER}{}", query()))
}

/// How an address is shown; runs tell every port by one name.
fn shown(path: &str) -> String {
    format!("http://127.0.0.1:[PORT]{path}")
}

fn sp(world: &World, args: &[&str]) -> Run {
    let run = world.sp_in("home", &[&["context"], args].concat());
    assert!(!run.to_string().contains(SIGNATURE), "{run}");
    run
}

fn check(world: &World, args: &[&str], code: i32) -> Run {
    sp(world, &[&["check"], args].concat()).fails(code)
}

#[test]
fn cp_11_files_at_an_address_are_asked_for_with_its_query_and_checked() {
    let (world, server) = (world!(), WebServer::start());
    let folder = serve(&server, &golden());
    sp(&world, &["check", &folder, "--strict"]).ok();
    let mut asked = server.asked();
    assert_eq!(
        asked.first(),
        Some(&format!("{FOLDER}pack.json{}", query())),
        "the manifest tells the rest"
    );
    asked.sort();
    let mut expected: Vec<String> =
        golden().into_iter().map(|(path, _)| format!("{FOLDER}{path}{}", query())).collect();
    expected.sort();
    assert_eq!(asked, expected);
    let manifest = folder.replace('?', "pack.json?");
    sp(&world, &["check", &manifest, "--verbose"]).ok();
    assert_eq!(server.asked().len(), 2 * expected.len());
    world.sp_in("home", &["check", &folder]).ok();
    let found = std::process::Command::new("grep")
        .args(["-rl", SIGNATURE])
        .arg(world.root())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}

#[test]
fn cp_11_a_zip_at_an_address_is_checked_like_the_zip() {
    let (world, server) = (world!(), WebServer::start());
    let path = format!("/x.zip{}", query());
    let url = server.page(&path, Answer::Bytes(zipped(&golden())));
    server.page("/over.zip", Answer::Redirect(path));
    sp(&world, &["check", &url]).ok();
    sp(&world, &["check", &server.url("/over.zip")]).ok();
    let many: Vec<String> = (0..8)
        .map(|at| server.page(&format!("/{at}.zip"), Answer::Bytes(zipped(&golden()))))
        .collect();
    let run = sp(
        &world,
        &[&["check"], &many.iter().map(String::as_str).collect::<Vec<_>>()[..]].concat(),
    )
    .ok();
    assert!(run.stdout.contains("8 context packs"), "{run}");
    let broken: Files = golden().into_iter().filter(|(path, _)| path != "skills.md").collect();
    let url = server.page(&format!("/y.zip{}", query()), Answer::Bytes(zipped(&broken)));
    let run = check(&world, &[&url, "--format", "plain"], 1);
    let place = format!("{}/pack.json:", shown("/y.zip"));
    assert!(
        run.stdout.contains(&place) && run.stdout.contains("`skills.md` is listed and not there"),
        "{run}"
    );
    let url = server.page("/z.zip", Answer::Bytes(b"<html>Sign in</html>".to_vec()));
    let run = check(&world, &[&url], 3);
    assert!(run.stderr.contains(&format!("`{}` is not a zip archive", shown("/z.zip"))), "{run}");
}

#[test]
fn cp_11_a_file_that_is_listed_and_not_found_is_missing_and_a_changed_one_is_told() {
    let (world, server) = (world!(), WebServer::start());
    let mut files: Files = golden().into_iter().filter(|(path, _)| path != "tasks.md").collect();
    files.iter_mut().find(|(path, _)| path == "skills.md").unwrap().1.extend(b"\nMore.\n");
    let folder = serve(&server, &files);
    let run = check(&world, &[&folder, "--format", "plain"], 1);
    for words in ["`tasks.md` is listed and not there", "the SHA-256 of `skills.md` is another"] {
        assert!(run.stdout.contains(words), "{words}: {run}");
    }
    let place = shown("/packs/pk_1/pack.json");
    assert!(run.stdout.starts_with(&format!("{place}:")), "{run}");
    let run = check(&world, &[&folder, "--format", "sarif"], 1);
    assert!(run.stdout.contains(&format!("\"uri\": \"{place}\"")), "{run}");
}

#[test]
fn cp_11_what_cannot_be_had_is_an_error_of_the_surroundings() {
    for (path, answer, words) in [
        ("pack.json", Answer::Status(404), "404"),
        ("pack.json", Answer::Status(403), "403"),
        ("skills.md", Answer::Status(403), "403"),
        ("skills.md", Answer::Status(500), "500"),
        ("skills.md", Answer::Redirect(format!("{FOLDER}skills.md{}", query())), "redirect"),
        ("pack.json", Answer::Redirect(format!("file:///etc/passwd{}", query())), "cannot fetch"),
        ("skills.md", Answer::Stall(b"x".to_vec()), "cannot fetch"),
    ] {
        let (world, server) = (world!(), WebServer::start());
        let folder = serve(&server, &golden());
        server.page(&format!("{FOLDER}{path}{}", query()), answer);
        let run = check(&world, &[&folder, "--limit", "download-seconds=2"], 5);
        assert!(
            run.stderr.contains(words) && run.stderr.contains("hint:"),
            "{path} {words}: {run}"
        );
        assert!(run.stderr.contains(&shown(&format!("{FOLDER}{path}"))), "{path} {words}: {run}");
    }
}

#[test]
fn se_04_more_than_a_folder_may_have_is_not_fetched() {
    let (world, server) = (world!(), WebServer::start());
    let folder = serve(&server, &golden());
    server.page(&format!("{FOLDER}skills.md{}", query()), Answer::Endless);
    let run = check(&world, &[&folder, "--limit", "file-bytes=100000"], 3);
    assert!(
        run.stderr.contains("`skills.md` in `http") && run.stderr.contains("--limit file-bytes="),
        "{run}"
    );
    let run = check(&world, &[&folder, "--limit", "skill-bytes=100000"], 3);
    assert!(run.stderr.contains("--limit skill-bytes="), "{run}");
    let run = check(&world, &[&folder, "--limit", "skill-entries=2"], 3);
    assert!(run.stderr.contains("more files than 2"), "{run}");
    let endless = server.page("/endless.zip", Answer::Endless);
    let run = check(&world, &[&endless, "--limit", "zip-bytes=100000"], 3);
    assert!(run.stderr.contains("--limit zip-bytes="), "{run}");
}

#[test]
fn se_04_a_hostile_path_of_a_manifest_is_told_and_never_asked_for() {
    let (world, server) = (world!(), WebServer::start());
    let hash = "0".repeat(64);
    let hostile = [
        "../secret.md",
        "/etc/passwd",
        "a/../../x.md",
        "//evil/x.md",
        "http://evil/x.md",
        "x.md?a=b",
        "a\\\\b.md",
    ];
    let listed: Vec<String> = hostile
        .iter()
        .map(|path| format!("{{\"path\": \"{path}\", \"sha256\": \"{hash}\"}}"))
        .collect();
    let text =
        String::from_utf8(golden().into_iter().find(|(path, _)| path == "pack.json").unwrap().1)
            .unwrap();
    let at = text.find("\"files\": [").unwrap() + "\"files\": [".len();
    let text = format!("{}{}, {}", &text[..at], listed.join(", "), &text[at..]);
    let mut files: Files = golden().into_iter().filter(|(path, _)| path != "pack.json").collect();
    files.push(("pack.json".into(), text.into_bytes()));
    let folder = serve(&server, &files);
    let run = check(&world, &[&folder, "--format", "plain"], 1);
    assert_eq!(run.stdout.matches("is no path in a pack").count(), hostile.len(), "{run}");
    let known: Vec<String> =
        files.iter().map(|(path, _)| format!("{FOLDER}{path}{}", query())).collect();
    assert!(server.asked().iter().all(|asked| known.contains(asked)), "{:?}", server.asked());
}

#[test]
fn cp_11_offline_no_server_is_asked() {
    let (world, server) = (world!(), WebServer::start());
    let folder = serve(&server, &golden());
    let url = server.page(&format!("/x.zip{}", query()), Answer::Bytes(zipped(&golden())));
    for address in [&folder, &url] {
        let run = check(&world, &[address, "--offline"], 5);
        assert!(run.stderr.contains("would have to be fetched"), "{run}");
    }
    assert_eq!(server.asked(), [""; 0]);
}

#[test]
fn cp_11_every_verb_that_reads_takes_an_address() {
    let (world, server) = (world!(), WebServer::start());
    let folder = serve(&server, &golden());
    let url = server.page(&format!("/x.zip{}", query()), Answer::Bytes(zipped(&golden())));
    assert_eq!(
        sp(&world, &["show", &folder, "--format", "json"]).ok().stdout,
        sp(&world, &["show", &url, "--format", "json"]).ok().stdout
    );
    let run = sp(&world, &["diff", &folder, &url]).ok();
    assert!(run.stdout.contains("no difference"), "{run}");
    sp(&world, &["unzip", &folder, "here"]).ok();
    sp(&world, &["diff", "here", &url, "--format", "plain"]).ok();
    sp(&world, &["zip", &folder, "--output", "a.zip"]).ok();
    sp(&world, &["zip", "here", "--output", "b.zip"]).ok();
    assert_eq!(
        std::fs::read(world.home().join("a.zip")).unwrap(),
        std::fs::read(world.home().join("b.zip")).unwrap()
    );
    sp(&world, &["install", &url]).ok();
    assert!(world.home().join("AGENTS.md").is_file());
}

#[test]
fn cp_11_what_no_address_can_be_used_for_is_told() {
    let (world, server) = (world!(), WebServer::start());
    let folder = serve(&server, &golden());
    for (args, code, words) in [
        (&["context", "seal", &folder][..], 1, "cannot be sealed from here"),
        (&["context", "check", &folder, "--watch"], 1, "is on the web"),
        (&["cost", &folder], 1, "sp context show"),
        (&["check", "https://example.com/acme/skills"], 3, "is no address of a context pack"),
        (&["context", "show", "https://example.com"], 3, "is no address of a context pack"),
    ] {
        let run = world.sp_in("home", args).fails(code);
        assert!(run.stderr.contains(words) && run.stderr.contains("hint:"), "{run}");
        assert!(!run.to_string().contains(SIGNATURE), "{run}");
    }
    assert_eq!(server.asked(), [""; 0]);
}
