//! Context packs: uploads, downloads, ranges, backups, and the commands that share them.

use serde_json::{Value, json};
use sp_testkit::{Registry, World, eventually, zip};
use sp_tree::Digest;

use super::uploads::{OTHER_ID, minimal_zip, push, push_golden, signed_urls, text};
use super::{get, get_with, raw_stdout, running, start};
use crate::support::registry_fixtures::{
    GOLDEN_ID, golden_dir, golden_files, skill_text, zip_context_pack,
};

#[test]
fn cp_16_pushed_context_pack_is_readable_with_a_signed_url() {
    let (world, registry, _, me) = running(module_path!());
    let answer = push(&registry, &me, GOLDEN_ID, &zip_context_pack(&golden_files()));
    assert_eq!(answer.status, 201, "{answer:?}");
    let report = answer.json();
    assert_eq!(
        (text(&report, "pack_id"), &report["files"]),
        (GOLDEN_ID, &json!(golden_files().len()))
    );
    // The registry stores the same zip that `sp context zip` writes.
    let local = world.path("local.zip").display().to_string();
    world.sp(&["context", "zip", &golden_dir().display().to_string(), "--output", &local]).ok();
    let canonical = std::fs::read(&local).unwrap();
    assert_eq!(text(&report, "sha256"), Digest::of(&canonical).hex());
    assert_eq!(push(&registry, &me, GOLDEN_ID, &canonical).status, 200);
    let urls = signed_urls(&registry, &me, GOLDEN_ID);
    let (folder, query) =
        (text(&urls, "folder"), text(&urls, "manifest").split_once('?').unwrap().1.to_owned());
    for (name, bytes) in golden_files() {
        let content_type =
            if name == "pack.json" { "application/json" } else { "text/markdown; charset=utf-8" };
        for path in [format!("{folder}{name}"), format!("/packs/{GOLDEN_ID}/{name}?{query}")] {
            let answer = get(&registry, &path);
            assert_eq!(
                (answer.status, answer.header("content-type")),
                (200, Some(content_type)),
                "{path}"
            );
            assert_eq!(
                answer.header("etag"),
                Some(format!("\"{}\"", Digest::of(&bytes).hex()).as_str())
            );
            assert_eq!(answer.header("cache-control"), Some("private, no-cache"));
            assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
            assert_eq!(answer.body, bytes, "{path}");
        }
    }
    for path in [text(&urls, "zip").to_owned(), format!("/packs/{GOLDEN_ID}.zip?{query}")] {
        let answer = get(&registry, &path);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("application/zip")),
            "{path}"
        );
        assert_eq!(answer.body, canonical);
    }
    for name in
        ["x.md", "PACK.JSON", "%2e%2e/pack.json", "..%2fpack.json", "a/../pack.json", "pack.json/"]
    {
        assert_eq!(get(&registry, &format!("{folder}{name}")).status, 404, "{name}");
    }
}

#[test]
fn cp_16_folder_page_links_the_files_and_leaks_no_url() {
    let (_world, registry, _, me) = running(module_path!());
    assert_eq!(push(&registry, &me, GOLDEN_ID, &zip_context_pack(&golden_files())).status, 201);
    let urls = signed_urls(&registry, &me, GOLDEN_ID);
    let (folder, query) =
        (text(&urls, "folder"), text(&urls, "manifest").split_once('?').unwrap().1);
    for (path, link) in [
        (folder.to_owned(), String::new()),
        (format!("/packs/{GOLDEN_ID}/?{query}"), format!("?{query}")),
    ] {
        let page = get(&registry, &path);
        assert_eq!(
            (page.status, page.header("content-type")),
            (200, Some("text/html; charset=utf-8")),
            "{path}"
        );
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
        assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
        let html = String::from_utf8(page.body).unwrap();
        let link = link.replace('&', "&#38;");
        assert!(html.contains(&format!("href=\"AGENTS.md{link}\"")), "{html}");
        assert!(html.contains("sp context install") && !html.contains("<script>"), "{html}");
        // A login link would contain the signed URL.
        assert!(!html.contains("next="), "{html}");
    }
    let wrong_signature =
        format!("{}x/packs/{GOLDEN_ID}/", folder.split("/packs/").next().unwrap());
    assert_eq!(get(&registry, &wrong_signature).status, 403);
    let hostile = minimal_zip(OTHER_ID, "<script>alert(1)</script>");
    assert_eq!(push(&registry, &me, OTHER_ID, &hostile).status, 201);
    let html = get(&registry, text(&signed_urls(&registry, &me, OTHER_ID), "folder"));
    assert!(!String::from_utf8(html.body).unwrap().contains("<script>"));
}

#[test]
fn cp_16_invalid_context_packs_are_refused() {
    let (_world, registry, _, me) = running(module_path!());
    let mut forged = golden_files();
    forged.iter_mut().find(|(name, _)| name == "tasks.md").unwrap().1.extend(b"More.\n");
    let answer = push(&registry, &me, GOLDEN_ID, &zip_context_pack(&forged));
    assert_eq!(answer.status, 400, "{answer:?}");
    let error = answer.json();
    let is_expected = |finding: &Value| {
        finding["rule"] == "CP-10" && text(finding, "message").starts_with("pack.json: ")
    };
    assert!(error["findings"].as_array().unwrap().iter().any(is_expected), "{error}");
    let manifest = golden_files().into_iter().find(|(name, _)| name == "pack.json").unwrap().1;
    let (good, manifest) = (zip_context_pack(&golden_files()), manifest.as_slice());
    let mut link =
        zip(&[("context-pack/pack.json", manifest), ("context-pack/x.md", b"/etc/passwd")]);
    // The mode of the second member in the central directory becomes that of a symlink.
    let file_mode = (0o100_644_u32 << 16).to_le_bytes();
    let offset = link.windows(4).rposition(|bytes| bytes == file_mode).unwrap();
    link[offset..offset + 4].copy_from_slice(&(0o120_777_u32 << 16).to_le_bytes());
    let truncated = &good[..good.len() - 10];
    for (attack, bytes, status) in [
        ("not a zip", b"not a zip".as_slice(), 400),
        ("empty", b"", 400),
        ("truncated", truncated, 400),
        ("no directory", &zip(&[("pack.json", manifest)]), 400),
        ("two directories", &zip(&[("a/pack.json", manifest), ("b/x.md", b"x")]), 400),
        ("no manifest", &zip(&[("context-pack/x.md", b"x")]), 400),
        (
            "traversal",
            &zip(&[("context-pack/pack.json", manifest), ("context-pack/../../x", b"x")]),
            400,
        ),
        ("absolute", &zip(&[("/context-pack/pack.json", manifest)]), 400),
        (
            "duplicate",
            &zip(&[("context-pack/pack.json", manifest), ("context-pack/pack.json", b"{}")]),
            400,
        ),
        (
            "duplicate except for case",
            &zip(&[("context-pack/pack.json", manifest), ("context-pack/PACK.json", b"{}")]),
            400,
        ),
        ("symlink", &link, 400),
        ("zip bomb", &zip_bomb(), 400),
        ("other ID", &minimal_zip(OTHER_ID, "Other"), 400),
        ("too large", &vec![0; 11 * 1024 * 1024], 413),
    ] {
        let answer = push(&registry, &me, GOLDEN_ID, bytes);
        assert_eq!(answer.status, status, "{attack}: {answer:?}");
        let code = if status == 413 { "too_large" } else { "invalid" };
        assert_eq!(answer.json()["code"], code, "{attack}: {answer:?}");
        assert!(
            answer.json()["message"].as_str().is_some_and(|message| !message.is_empty()),
            "{attack}"
        );
    }
    for id in ["..%2f..", "nothing", "%00"] {
        assert_eq!(push(&registry, &me, id, &good).status, 400, "{id}");
    }
    assert_eq!(
        registry.request("GET /api/v1/context-packs", Some(&me), b"").json()["packs"],
        json!([])
    );
    assert_eq!(push(&registry, &me, GOLDEN_ID, &good).status, 201);
}

/// Returns a zip whose second member claims an uncompressed size of one GiB.
fn zip_bomb() -> Vec<u8> {
    let mut bytes = zip(&[("context-pack/pack.json", b"{}"), ("context-pack/x.md", &[0; 100])]);
    let size = 100_u32.to_le_bytes();
    let offsets: Vec<usize> =
        (0..bytes.len() - 4).filter(|offset| bytes[*offset..offset + 4] == size).collect();
    for offset in offsets {
        bytes[offset..offset + 4].copy_from_slice(&(1_u32 << 30).to_le_bytes());
    }
    bytes
}

#[test]
fn cp_16_range_head_and_conditional_requests_are_supported() {
    let (_world, registry, _, me) = running(module_path!());
    let path = format!("{}pack.json", push_golden(&registry, &me));
    let complete = get(&registry, &path);
    let (bytes, tag) = (complete.body.clone(), complete.header("etag").unwrap().to_owned());
    let date = complete
        .head
        .lines()
        .find_map(|line| line.strip_prefix("last-modified: "))
        .unwrap()
        .to_owned();
    // The client lowercases headers, but an HTTP date is case-sensitive.
    let date = restore_date_case(&date);
    let length = bytes.len();
    assert_eq!(complete.header("accept-ranges"), Some("bytes"));
    let head = registry.request(&format!("HEAD {path}"), None, b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
    for name in [
        "etag",
        "content-length",
        "content-type",
        "accept-ranges",
        "last-modified",
        "cache-control",
    ] {
        assert_eq!(head.header(name), complete.header(name), "{name}");
    }
    assert_eq!(head.header("content-length"), Some(length.to_string().as_str()));
    let last = format!("bytes {}-{}/{length}", length - 5, length - 1);
    let unsatisfied = format!("bytes */{length}");
    let past_end = format!("bytes={length}-");
    for (headers, status, range, expected) in [
        (vec![("range", "bytes=0-9")], 206, Some(format!("bytes 0-9/{length}")), &bytes[..10]),
        (vec![("range", "bytes=-5")], 206, Some(last), &bytes[length - 5..]),
        (vec![("range", &past_end)], 416, Some(unsatisfied), &[]),
        (vec![("range", "bytes=0-1,4-5")], 200, None, &bytes[..]),
        (
            vec![("range", "bytes=0-9"), ("if-range", &tag)],
            206,
            Some(format!("bytes 0-9/{length}")),
            &bytes[..10],
        ),
        (vec![("range", "bytes=0-9"), ("if-range", "\"x\"")], 200, None, &bytes[..]),
        (vec![("if-none-match", &tag)], 304, None, &[]),
        (vec![("if-none-match", "\"x\"")], 200, None, &bytes[..]),
        (vec![("if-modified-since", &date)], 304, None, &[]),
        (vec![("if-modified-since", "Mon, 01 Jan 2024 00:00:00 GMT")], 200, None, &bytes[..]),
        (vec![("if-match", "\"x\"")], 412, None, &[]),
    ] {
        let answer = get_with(&registry, &path, &headers);
        assert_eq!(
            (answer.status, answer.header("content-range")),
            (status, range.as_deref()),
            "{headers:?}"
        );
        if [412, 416].contains(&status) {
            assert_eq!(answer.json()["code"], "invalid", "{headers:?}");
        } else {
            assert_eq!(answer.body, expected, "{headers:?}");
        }
        assert_eq!(answer.header("cache-control"), Some("private, no-cache"), "{headers:?}");
    }
    // Without a valid signature, the ETag is not compared.
    let forbidden = path.replace("pack.json", "").replace(GOLDEN_ID, OTHER_ID);
    assert_eq!(
        get_with(&registry, &format!("{forbidden}pack.json"), &[("if-none-match", &tag)]).status,
        403
    );
}

/// Returns `mon, 16 nov 2026 01:48:19 gmt` in its original case.
fn restore_date_case(lower: &str) -> String {
    let word = |word: &str| match word {
        "gmt" => "GMT".to_owned(),
        word => {
            word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect()
        }
    };
    lower.trim().split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn pk_25_interrupted_download_can_be_resumed() {
    let (_world, registry, _, me) = running(module_path!());
    let bytes = super::discovery::publish(
        &registry,
        &me,
        ("acme/tools", "1.0.0"),
        &[("review/SKILL.md", &skill_text("review"))],
    );
    let path = "/api/v1/packages/acme/tools/1.0.0/download";
    let head = registry.request(&format!("HEAD {path}"), None, b"");
    assert_eq!((head.status, head.header("accept-ranges")), (200, Some("bytes")));
    let first = get_with(&registry, path, &[("range", "bytes=0-99")]);
    assert_eq!(first.status, 206);
    let tag = first.header("etag").unwrap().to_owned();
    let rest = get_with(&registry, path, &[("range", "bytes=100-"), ("if-range", &tag)]);
    assert_eq!(rest.status, 206);
    assert_eq!(rest.header("x-ctxpkg-sha256"), Some(Digest::of(&bytes).hex().as_str()));
    assert_eq!([first.body, rest.body].concat(), bytes);
    assert_eq!(get_with(&registry, path, &[("if-none-match", &tag)]).status, 304);
    // Downloads are counted in order: once the last one is counted, all are.
    assert_eq!(get(&registry, path).status, 200);
    let downloads =
        || get(&registry, "/api/v1/packages/acme/tools/index.json").json()["downloads"].as_u64();
    assert_eq!(
        eventually(|| downloads().filter(|count| *count > 1)),
        2,
        "parts of a download are counted once"
    );
}

#[test]
fn cp_16_backup_has_the_context_packs_and_url_keys() {
    let (world, registry, _, me) = running(module_path!());
    let folder = push_golden(&registry, &me);
    let path = |name: &str| world.path(name).display().to_string();
    world.sp(&["serve", "backup", "--data", &path("registry"), &path("backup")]).ok();
    registry.kill();
    let other = super::world_of_module(module_path!());
    let data = other.path("registry").display().to_string();
    other.sp(&["serve", "restore", &path("backup"), "--data", &data]).ok();
    let registry = start(&other);
    for (name, bytes) in golden_files() {
        assert_eq!(get(&registry, &format!("{folder}{name}")).body, bytes, "{name}");
    }
    assert_eq!(
        get(&registry, &folder.replace(&format!("{GOLDEN_ID}/"), &format!("{GOLDEN_ID}.zip")))
            .status,
        200
    );
}

fn log_in(world: &mut World, registry: &Registry, token: &str) {
    world.set_env("SP_REGISTRY_TOKEN", token);
    world.sp(&["login", &registry.address]).ok();
    world.set_env("SP_REGISTRY_TOKEN", "");
}

#[test]
fn cp_16_context_pack_is_pushed_shared_and_revoked() {
    let (mut world, registry, _, me) = running(module_path!());
    let pack = golden_dir().display().to_string();
    let error = world.sp_error(&["context", "push", &pack]);
    assert_eq!(error.code, "E-no-registry");
    assert!(error.hints_at("sp login"), "{error:?}");
    log_in(&mut world, &registry, &me);
    let push_report = || -> Value {
        let run = world.sp(&["context", "push", &pack, "--format", "json"]).ok();
        serde_json::from_str(&run.stdout).unwrap()
    };
    let report = push_report();
    assert_eq!((text(&report, "pack_id"), &report["new"]), (GOLDEN_ID, &json!(true)));
    assert_eq!(push_report()["new"], false);
    let run = world.sp(&["context", "push", &pack]).ok();
    assert!(run.stdout.contains(&format!("sp context url {GOLDEN_ID}\n")), "{run}");
    let urls: Value = serde_json::from_str(&raw_stdout(
        &world,
        &["context", "url", GOLDEN_ID, "--expires", "2h", "--format", "json"],
    ))
    .unwrap();
    let copy = world.path("copy.zip").display().to_string();
    for key in ["url", "query_url", "zip_url"] {
        let url = text(&urls, key).to_owned();
        world.sp(&["context", "check", "--strict", &url]).ok();
        let run = world.sp(&["context", "show", &url]).ok();
        assert!(run.stdout.contains(GOLDEN_ID), "{run}");
        let diff = world.sp(&["context", "diff", &pack, &url, "--format", "plain"]).ok();
        assert_eq!(diff.stdout, "");
        world.sp(&["context", "zip", &url, "--output", &copy, "--force"]).ok();
        assert_eq!(text(&report, "sha256"), Digest::of(&std::fs::read(&copy).unwrap()).hex());
        let root = world.path(&format!("repo-{key}"));
        std::fs::create_dir_all(&root).unwrap();
        world.sp(&["context", "install", &url, "--root", &root.display().to_string()]).ok();
        assert!(root.join("AGENTS.md").is_file());
    }
    let run = world.sp(&["context", "revoke", GOLDEN_ID]).ok();
    assert!(run.stdout.contains(GOLDEN_ID), "{run}");
    let signature = text(&urls, "query_url").rsplit('=').next().unwrap().to_owned();
    for key in ["url", "query_url", "zip_url"] {
        let run = world.sp(&["context", "check", text(&urls, key)]).fails(5);
        assert!(run.stderr.contains("403") && !run.to_string().contains(&signature), "{run}");
    }
    let new_url = raw_stdout(&world, &["context", "url", GOLDEN_ID, "--format", "plain"]);
    world.sp(&["context", "check", new_url.trim()]).ok();
    for (args, code) in [
        (&["context", "url", GOLDEN_ID, "--expires", "8d"][..], "E-invalid-time"),
        (&["context", "url", "nothing"], "E-invalid-id"),
        (&["context", "url", OTHER_ID], "E-registry-refused"),
        (&["context", "revoke", OTHER_ID], "E-registry-refused"),
        (&["--offline", "context", "push", &pack], "E-offline"),
    ] {
        assert_eq!(world.sp_error(args).code, code, "{args:?}");
    }
    // The registry stores the keys, but no signatures.
    let matches = std::process::Command::new("grep")
        .args(["-rlF", &signature])
        .arg(world.path("registry"))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&matches.stdout), "");
}
