//! Context packs at a URL: a zip, or files next to a `pack.json`, from a server on loopback.

use sp_testkit::{WebResponse, WebServer};

use super::*;

/// The secret part of the URLs. It must not be printed or written to a file.
const SIGNATURE: &str = "canary-77aa";
const DIR: &str = "/packs/pk_1/";

fn query() -> String {
    format!("?exp=1777044123&kid=k1&sig={SIGNATURE}")
}

/// Returns the request path of a file of the pack, with the query.
fn request_path(file: &str) -> String {
    format!("{DIR}{file}{}", query())
}

/// Serves the files of a pack at signed URLs. Returns the URL of the directory.
fn serve(server: &WebServer, files: &[(String, Vec<u8>)]) -> String {
    for (path, bytes) in files {
        server.respond(&request_path(path), WebResponse::Bytes(bytes.clone()));
    }
    server.url(&request_path(""))
}

/// Serves a pack as a zip at a signed URL.
fn serve_zip(server: &WebServer, path: &str, files: &[(String, Vec<u8>)]) -> String {
    let zip = zip_pack(files, "context-pack/");
    server.respond(&format!("{path}{}", query()), WebResponse::Bytes(zip))
}

/// Returns a URL as messages show it: without the query, and with the port of [`World::steady`].
fn display_url(path: &str) -> String {
    format!("http://127.0.0.1:[PORT]{path}")
}

/// Runs `sp` in the home directory, and checks that it does not print the signature.
fn sp_home(world: &World, args: &[&str]) -> Run {
    let run = world.sp_in("home", args);
    assert!(!run.to_string().contains(SIGNATURE), "{run}");
    run
}

/// Returns the error of a command. Neither the text nor the JSON may contain the signature.
#[track_caller]
fn home_error(world: &World, args: &[&str]) -> CliError {
    let human = sp_home(world, args);
    assert!(human.stderr.contains("hint:"), "{human}");
    let run = sp_home(world, &[args, &["--format", "json"]].concat());
    assert_eq!(human.code, run.code, "{human} {run}");
    run.error()
}

/// Like [`check_unreadable`], and checks that the signature is not printed.
#[track_caller]
fn check_error(world: &World, args: &[&str]) -> UnreadablePack {
    let error = check_unreadable(world, &[&["context", "check"], args].concat());
    assert!(error.report.contains("hint:"), "{}", error.report);
    assert!(!error.report.contains(SIGNATURE), "{}", error.report);
    assert!(!error.message.contains(SIGNATURE), "{}", error.message);
    error
}

/// Returns the findings of a failed check, as `RULE file`.
#[track_caller]
fn findings(world: &World, url: &str) -> Vec<String> {
    let run = sp_home(world, &["context", "check", url, "--format", "json"]).fails(1);
    let report = json(&run);
    let finding = |finding: &Value| {
        format!("{} {}", finding["rule"].as_str().unwrap(), finding["file"].as_str().unwrap())
    };
    report["findings"].as_array().unwrap().iter().map(finding).collect()
}

fn without_file(path: &str) -> PackFiles {
    valid_pack().into_iter().filter(|(other, _)| other != path).collect()
}

#[test]
fn cp_11_files_at_a_url_are_requested_with_its_query_and_checked() {
    let (world, server) = (world!(), WebServer::start());
    let dir = serve(&server, &valid_pack());
    sp_home(&world, &["context", "check", &dir, "--strict"]).ok();
    let mut requests = server.requested_paths();
    assert_eq!(requests[0], request_path("pack.json"), "the manifest names the other files");
    requests.sort();
    let mut expected: Vec<String> =
        valid_pack().iter().map(|(path, _)| request_path(path)).collect();
    expected.sort();
    assert_eq!(requests, expected);
    let manifest = dir.replace('?', "pack.json?");
    sp_home(&world, &["context", "check", &manifest, "--verbose"]).ok();
    assert_eq!(server.requested_paths().len(), 2 * expected.len());
    sp_home(&world, &["check", &dir]).ok();
    let grep = std::process::Command::new("grep")
        .args(["-rl", SIGNATURE])
        .arg(world.root())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&grep.stdout), "");
}

#[test]
fn cp_11_zip_at_a_url_is_checked_like_a_local_zip() {
    let (world, server) = (world!(), WebServer::start());
    let url = serve_zip(&server, "/x.zip", &valid_pack());
    server.respond("/moved.zip", WebResponse::Redirect(format!("/x.zip{}", query())));
    sp_home(&world, &["context", "check", &url]).ok();
    sp_home(&world, &["context", "check", &server.url("/moved.zip")]).ok();
    let urls: Vec<String> =
        (0..8).map(|number| serve_zip(&server, &format!("/{number}.zip"), &valid_pack())).collect();
    let mut args = vec!["context", "check", "--format", "json"];
    args.extend(urls.iter().map(String::as_str));
    assert_eq!(json(&sp_home(&world, &args).ok())["summary"]["context_packs"], 8);
    let url = serve_zip(&server, "/y.zip", &without_file("skills.md"));
    let manifest = display_url("/y.zip/pack.json");
    assert!(findings(&world, &url).contains(&format!("CP-10 {manifest}")));
    let url = server.respond("/z.zip", WebResponse::Bytes(b"<html>Sign in</html>".to_vec()));
    let error = check_error(&world, &[&url]);
    assert_eq!(error.code, "E-invalid-archive");
    assert!(error.message.contains(&display_url("/z.zip")), "{}", error.message);
}

#[test]
fn cp_11_missing_and_changed_files_at_a_url_are_reported() {
    let (world, server) = (world!(), WebServer::start());
    let mut files = without_file("tasks.md");
    files.iter_mut().find(|(path, _)| path == "skills.md").unwrap().1.extend(b"\nMore.\n");
    let dir = serve(&server, &files);
    let manifest = display_url("/packs/pk_1/pack.json");
    let report = json(&sp_home(&world, &["context", "check", &dir, "--format", "json"]).fails(1));
    for (rule, path) in [("CP-10", "`tasks.md`"), ("CP-10", "`skills.md`")] {
        let is_reported = |finding: &Value| {
            finding["rule"] == rule
                && finding["file"] == *manifest
                && finding["message"].as_str().unwrap().contains(path)
        };
        assert!(report["findings"].as_array().unwrap().iter().any(is_reported), "{rule}: {report}");
    }
    let run = sp_home(&world, &["context", "check", &dir, "--format", "plain"]).fails(1);
    assert!(run.stdout.starts_with(&format!("{manifest}:")), "{run}");
    let run = sp_home(&world, &["context", "check", &dir, "--format", "sarif"]).fails(1);
    assert!(run.stdout.contains(&format!("\"uri\": \"{manifest}\"")), "{run}");
}

#[test]
fn cp_11_failed_downloads_are_environment_errors() {
    let loop_url = request_path("skills.md");
    let file_url = format!("file:///etc/passwd{}", query());
    for (path, answer, code, detail) in [
        ("pack.json", WebResponse::Status(404), "E-network", "404"),
        ("pack.json", WebResponse::Status(403), "E-network", "403"),
        ("skills.md", WebResponse::Status(403), "E-network", "403"),
        ("skills.md", WebResponse::Status(500), "E-network", "500"),
        ("skills.md", WebResponse::Redirect(loop_url), "E-redirected", ""),
        ("pack.json", WebResponse::Redirect(file_url), "E-network", ""),
        ("skills.md", WebResponse::Stall(b"x".to_vec()), "E-network", ""),
    ] {
        let case = format!("{path}: {answer:?}");
        let (world, server) = (world!(), WebServer::start());
        let dir = serve(&server, &valid_pack());
        server.respond(&request_path(path), answer);
        let error = check_error(&world, &[&dir, "--limit", "download-seconds=2"]);
        assert_eq!((error.code.as_str(), error.exit_code), (code, 5), "{case}");
        assert!(error.message.contains(detail), "{case}: {}", error.message);
        let url = display_url(&format!("{DIR}{path}"));
        assert!(error.message.contains(&url), "{case}: {}", error.message);
    }
}

#[test]
fn se_04_downloads_are_limited_like_directories() {
    let (world, server) = (world!(), WebServer::start());
    let dir = serve(&server, &valid_pack());
    server.respond(&request_path("skills.md"), WebResponse::Endless);
    let endless = server.respond("/endless.zip", WebResponse::Endless);
    for (url, limit) in [
        (&dir, "file-bytes=100000"),
        (&dir, "skill-bytes=100000"),
        (&dir, "skill-entries=2"),
        (&endless, "zip-bytes=100000"),
    ] {
        let error = check_error(&world, &[url, "--limit", limit]);
        assert_eq!(error.code, "E-limit-exceeded", "{limit}");
        let (name, _) = limit.split_once('=').unwrap();
        assert!(error.hints_at(&format!("--limit {name}=")), "{}", error.report);
        if name == "file-bytes" {
            assert!(error.message.contains("`skills.md`"), "{}", error.message);
        }
    }
}

#[test]
fn se_04_unsafe_paths_in_a_manifest_are_reported_and_never_requested() {
    let (world, server) = (world!(), WebServer::start());
    let unsafe_paths = [
        "../secret.md",
        "/etc/passwd",
        "a/../../x.md",
        "//evil/x.md",
        "http://evil/x.md",
        "x.md?a=b",
        "a\\\\b.md",
    ];
    let hash = "0".repeat(64);
    let entries: String = unsafe_paths
        .iter()
        .map(|path| format!("{{\"path\": \"{path}\", \"sha256\": \"{hash}\"}}, "))
        .collect();
    let mut files = valid_pack();
    let manifest = &mut files.iter_mut().find(|(path, _)| path == "pack.json").unwrap().1;
    let text = String::from_utf8(manifest.clone()).unwrap();
    *manifest = text.replace("\"files\": [", &format!("\"files\": [{entries}")).into_bytes();
    let dir = serve(&server, &files);
    let expected = format!("CP-03 {}", display_url("/packs/pk_1/pack.json"));
    assert_eq!(findings(&world, &dir), vec![expected; unsafe_paths.len()]);
    let known: Vec<String> = files.iter().map(|(path, _)| request_path(path)).collect();
    assert!(
        server.requested_paths().iter().all(|path| known.contains(path)),
        "{:?}",
        server.requested_paths()
    );
}

#[test]
fn cp_11_no_request_is_sent_offline() {
    let (world, server) = (world!(), WebServer::start());
    let dir = serve(&server, &valid_pack());
    let zip = serve_zip(&server, "/x.zip", &valid_pack());
    for url in [&dir, &zip] {
        let error = check_error(&world, &[url, "--offline"]);
        assert_eq!(error.code, "E-offline");
    }
    assert_eq!(server.requested_paths(), [""; 0]);
}

#[test]
fn cp_11_commands_that_read_a_pack_accept_a_url() {
    let (world, server) = (world!(), WebServer::start());
    let dir = serve(&server, &valid_pack());
    let zip = serve_zip(&server, "/x.zip", &valid_pack());
    let show = |url: &str| sp_home(&world, &["context", "show", url, "--format", "json"]).ok();
    assert_eq!(show(&dir).stdout, show(&zip).stdout);
    let diff = sp_home(&world, &["context", "diff", &dir, &zip, "--format", "json"]).ok();
    assert_eq!(json(&diff)["same"], true);
    sp_home(&world, &["context", "diff", &dir, &zip]).ok();
    sp_home(&world, &["context", "unzip", &dir, "here"]).ok();
    sp_home(&world, &["context", "diff", "here", &zip, "--format", "plain"]).ok();
    sp_home(&world, &["context", "zip", &dir, "--output", "a.zip"]).ok();
    sp_home(&world, &["context", "zip", "here", "--output", "b.zip"]).ok();
    let bytes = |name: &str| std::fs::read(world.home().join(name)).unwrap();
    assert_eq!(bytes("a.zip"), bytes("b.zip"));
    sp_home(&world, &["context", "install", &zip]).ok();
    assert!(world.home().join("AGENTS.md").is_file());
}

#[test]
fn cp_11_commands_that_cannot_use_a_url_refuse_it() {
    let (world, server) = (world!(), WebServer::start());
    let dir = serve(&server, &valid_pack());
    for (args, code) in [
        (&["context", "seal", &dir][..], "E-unsupported"),
        (&["context", "check", &dir, "--watch"], "E-unsupported"),
        (&["cost", &dir], "E-unsupported"),
        (&["check", "https://example.com/acme/skills"], "E-invalid-context-pack"),
        (&["context", "show", "https://example.com"], "E-invalid-context-pack"),
    ] {
        let error = home_error(&world, args);
        assert_eq!(error.code, code, "{args:?}: {error:?}");
        assert!(args[0] != "cost" || error.hints_at("sp context show"), "{error:?}");
    }
    assert_eq!(server.requested_paths(), [""; 0]);
}
