//! Context packs: uploads, downloads, ranges, backups, and the way from one machine to another.

use serde_json::{Value, json};
use sp_testkit::{Registry, World, eventually, zip};
use sp_tree::Digest;

use super::uploads::{ID, OTHER, golden, golden_files, push, pushed, small, text, url, zipped};
use super::{get, get_with, raw, running, start};

#[test]
fn cp_16_a_pack_is_taken_once_and_read_by_whoever_has_an_address() {
    let (world, registry, _, me) = running(module_path!());
    let answer = push(&registry, &me, ID, &zipped(&golden_files()));
    assert_eq!(answer.status, 201, "{answer:?}");
    let taken = answer.json();
    assert_eq!((text(&taken, "pack_id"), &taken["files"]), (ID, &json!(golden_files().len())));
    // The zip is the one that `sp context zip` makes, whoever packed it.
    let here = world.path("here.zip").display().to_string();
    world.sp(&["context", "zip", &golden().display().to_string(), "--output", &here]).ok();
    let canonical = std::fs::read(&here).unwrap();
    assert_eq!(text(&taken, "sha256"), Digest::of(&canonical).hex());
    assert_eq!(push(&registry, &me, ID, &canonical).status, 200);
    let given = url(&registry, &me, ID);
    let (folder, query) =
        (text(&given, "folder"), text(&given, "manifest").split_once('?').unwrap().1.to_owned());
    for (name, bytes) in golden_files() {
        let kind =
            if name == "pack.json" { "application/json" } else { "text/markdown; charset=utf-8" };
        for path in [format!("{folder}{name}"), format!("/packs/{ID}/{name}?{query}")] {
            let answer = get(&registry, &path);
            assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)), "{path}");
            assert_eq!(
                answer.header("etag"),
                Some(format!("\"{}\"", Digest::of(&bytes).hex()).as_str())
            );
            assert_eq!(answer.header("cache-control"), Some("private, no-cache"));
            assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
            assert_eq!(answer.body, bytes, "{path}");
        }
    }
    for path in [text(&given, "zip").to_owned(), format!("/packs/{ID}.zip?{query}")] {
        let answer = get(&registry, &path);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("application/zip")),
            "{path}"
        );
        assert_eq!(answer.body, canonical);
    }
    for nothing in
        ["x.md", "PACK.JSON", "%2e%2e/pack.json", "..%2fpack.json", "a/../pack.json", "pack.json/"]
    {
        assert_eq!(get(&registry, &format!("{folder}{nothing}")).status, 404, "{nothing}");
    }
}

#[test]
fn cp_16_a_folder_is_a_page_for_people_that_gives_nothing_away() {
    let (_world, registry, _, me) = running(module_path!());
    assert_eq!(push(&registry, &me, ID, &zipped(&golden_files())).status, 201);
    let given = url(&registry, &me, ID);
    let (folder, query) =
        (text(&given, "folder"), text(&given, "manifest").split_once('?').unwrap().1);
    for (path, link) in
        [(folder.to_owned(), String::new()), (format!("/packs/{ID}/?{query}"), format!("?{query}"))]
    {
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
        // A login would take the address along.
        assert!(!html.contains("next="), "{html}");
    }
    let other = format!("{}x/packs/{ID}/", folder.split("/packs/").next().unwrap());
    assert_eq!(get(&registry, &other).status, 403);
    let hostile = small(OTHER, "<script>alert(1)</script>");
    assert_eq!(push(&registry, &me, OTHER, &hostile).status, 201);
    let html = get(&registry, text(&url(&registry, &me, OTHER), "folder"));
    assert!(!String::from_utf8(html.body).unwrap().contains("<script>"));
}

#[test]
fn cp_16_the_gate_is_the_reader_of_packs() {
    let (_world, registry, _, me) = running(module_path!());
    let mut forged = golden_files();
    forged.iter_mut().find(|(name, _)| name == "tasks.md").unwrap().1.extend(b"More.\n");
    let answer = push(&registry, &me, ID, &zipped(&forged));
    assert_eq!(answer.status, 400, "{answer:?}");
    let told = answer.json();
    let is_told = |finding: &Value| {
        finding["rule"] == "CP-10" && text(finding, "message").starts_with("pack.json: ")
    };
    assert!(told["findings"].as_array().unwrap().iter().any(is_told), "{told}");
    let manifest = golden_files().into_iter().find(|(name, _)| name == "pack.json").unwrap().1;
    let (good, manifest) = (zipped(&golden_files()), manifest.as_slice());
    let mut link =
        zip(&[("context-pack/pack.json", manifest), ("context-pack/x.md", b"/etc/passwd")]);
    // The mode of the second member, which stands in the directory at the end, says that it is a
    // link.
    let file = (0o100_644_u32 << 16).to_le_bytes();
    let at = link.windows(4).rposition(|bytes| bytes == file).unwrap();
    link[at..at + 4].copy_from_slice(&(0o120_777_u32 << 16).to_le_bytes());
    let cut = &good[..good.len() - 10];
    for (attack, bytes, code) in [
        ("no zip", b"no zip".as_slice(), 400),
        ("nothing", b"", 400),
        ("cut off", cut, 400),
        ("no folder", &zip(&[("pack.json", manifest)]), 400),
        ("two folders", &zip(&[("a/pack.json", manifest), ("b/x.md", b"x")]), 400),
        ("no manifest", &zip(&[("context-pack/x.md", b"x")]), 400),
        (
            "traversal",
            &zip(&[("context-pack/pack.json", manifest), ("context-pack/../../x", b"x")]),
            400,
        ),
        ("absolute", &zip(&[("/context-pack/pack.json", manifest)]), 400),
        (
            "twice",
            &zip(&[("context-pack/pack.json", manifest), ("context-pack/pack.json", b"{}")]),
            400,
        ),
        (
            "twice but for case",
            &zip(&[("context-pack/pack.json", manifest), ("context-pack/PACK.json", b"{}")]),
            400,
        ),
        ("a link", &link, 400),
        ("a bomb", &bomb(), 400),
        ("another id", &small(OTHER, "Other"), 400),
        ("too large", &vec![0; 11 * 1024 * 1024], 413),
    ] {
        let answer = push(&registry, &me, ID, bytes);
        assert_eq!(answer.status, code, "{attack}: {answer:?}");
        assert!(
            answer.json()["message"].as_str().is_some_and(|message| !message.is_empty()),
            "{attack}"
        );
    }
    for id in ["..%2f..", "nothing", "%00"] {
        assert_eq!(push(&registry, &me, id, &good).status, 400, "{id}");
    }
    assert_eq!(
        registry.ask("GET /api/v1/context-packs", Some(&me), b"").json()["packs"],
        json!([])
    );
    assert_eq!(push(&registry, &me, ID, &good).status, 201);
}

/// A zip of which one member says that it unpacks to a gigabyte.
fn bomb() -> Vec<u8> {
    let mut bytes = zip(&[("context-pack/pack.json", b"{}"), ("context-pack/x.md", &[0; 100])]);
    let size = 100_u32.to_le_bytes();
    let places: Vec<usize> = (0..bytes.len() - 4).filter(|at| bytes[*at..at + 4] == size).collect();
    for at in places {
        bytes[at..at + 4].copy_from_slice(&(1_u32 << 30).to_le_bytes());
    }
    bytes
}

#[test]
fn cp_16_parts_heads_and_conditions_are_answered() {
    let (_world, registry, _, me) = running(module_path!());
    let path = format!("{}pack.json", pushed(&registry, &me));
    let whole = get(&registry, &path);
    let (bytes, tag) = (whole.body.clone(), whole.header("etag").unwrap().to_owned());
    let date = whole
        .head
        .lines()
        .find_map(|line| line.strip_prefix("last-modified: "))
        .unwrap()
        .to_owned();
    // Headers are held against each other in lower case here; a date is written as HTTP has it.
    let date = httpdate(&date);
    let length = bytes.len();
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    let head = registry.ask(&format!("HEAD {path}"), None, b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
    let all = length.to_string();
    for name in [
        "etag",
        "content-length",
        "content-type",
        "accept-ranges",
        "last-modified",
        "cache-control",
    ] {
        assert_eq!(head.header(name), whole.header(name), "{name}");
    }
    assert_eq!(head.header("content-length"), Some(all.as_str()));
    let last = format!("bytes {}-{}/{length}", length - 5, length - 1);
    let nothing = format!("bytes */{length}");
    let past = format!("bytes={length}-");
    for (headers, status, range, expected) in [
        (vec![("range", "bytes=0-9")], 206, Some(format!("bytes 0-9/{length}")), &bytes[..10]),
        (vec![("range", "bytes=-5")], 206, Some(last), &bytes[length - 5..]),
        (vec![("range", &past)], 416, Some(nothing), &[]),
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
        // A refusal is told as all of them are.
        match status {
            412 | 416 => assert_eq!(answer.json()["code"], "invalid", "{headers:?}"),
            _ => assert_eq!(answer.body, expected, "{headers:?}"),
        }
        assert_eq!(answer.header("cache-control"), Some("private, no-cache"), "{headers:?}");
    }
    // What is no longer open says nothing of what is the same.
    let closed = path.replace("pack.json", "").replace(ID, OTHER);
    assert_eq!(
        get_with(&registry, &format!("{closed}pack.json"), &[("if-none-match", &tag)]).status,
        403
    );
}

/// `mon, 16 nov 2026 01:48:19 gmt` as it was written.
fn httpdate(lower: &str) -> String {
    let word = |word: &str| match word {
        "gmt" => "GMT".to_owned(),
        word => {
            word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect()
        }
    };
    lower.trim().split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn pk_25_a_download_that_broke_off_goes_on_where_it_was() {
    let (_world, registry, _, me) = running(module_path!());
    let skill = "---\nname: review\ndescription: Reviews.\n---\n\n# Review\n";
    let bytes = super::discovery::publish(
        &registry,
        &me,
        ("acme/tools", "1.0.0"),
        &[("review/SKILL.md", skill)],
    );
    let path = "/api/v1/packages/acme/tools/1.0.0/download";
    let head = registry.ask(&format!("HEAD {path}"), None, b"");
    assert_eq!((head.status, head.header("accept-ranges")), (200, Some("bytes")));
    let first = get_with(&registry, path, &[("range", "bytes=0-99")]);
    assert_eq!(first.status, 206);
    let tag = first.header("etag").unwrap().to_owned();
    let rest = get_with(&registry, path, &[("range", "bytes=100-"), ("if-range", &tag)]);
    assert_eq!(rest.status, 206);
    assert_eq!(rest.header("x-ctxpkg-sha256"), Some(Digest::of(&bytes).hex().as_str()));
    assert_eq!([first.body, rest.body].concat(), bytes);
    assert_eq!(get_with(&registry, path, &[("if-none-match", &tag)]).status, 304);
    // Counts are written in order: once the last download is counted, all are.
    assert_eq!(get(&registry, path).status, 200);
    let index =
        || get(&registry, "/api/v1/packages/acme/tools/index.json").json()["downloads"].as_u64();
    assert_eq!(
        eventually(|| index().filter(|count| *count > 1)),
        2,
        "the parts of one download count once"
    );
}

#[test]
fn cp_16_a_backup_has_the_packs_and_their_keys() {
    let (world, registry, _, me) = running(module_path!());
    let folder = pushed(&registry, &me);
    let at = |name: &str| world.path(name).display().to_string();
    if module_path!().ends_with("postgres") {
        // A server's own programs copy its databases.
        let run = world.sp(&["serve", "backup", "--data", &at("registry"), &at("backup")]).fails(2);
        assert!(run.stderr.contains("pg_dump"), "{run}");
        return;
    }
    world.sp(&["serve", "backup", "--data", &at("registry"), &at("backup")]).ok();
    registry.kill();
    std::fs::remove_dir_all(world.path("registry")).unwrap();
    world.sp(&["serve", "restore", &at("backup"), "--data", &at("registry")]).ok();
    let registry = start(&world);
    for (name, bytes) in golden_files() {
        assert_eq!(get(&registry, &format!("{folder}{name}")).body, bytes, "{name}");
    }
    assert_eq!(
        get(&registry, &folder.replace(&format!("{ID}/"), &format!("{ID}.zip"))).status,
        200
    );
}

fn logged_in(world: &mut World, registry: &Registry, token: &str) {
    world.set_env("SP_REGISTRY_TOKEN", token);
    world.sp(&["login", &registry.address]).ok();
    world.set_env("SP_REGISTRY_TOKEN", "");
}

#[test]
fn cp_16_a_pack_goes_from_one_command_line_to_another() {
    let (mut world, registry, _, me) = running(module_path!());
    let pack = golden().display().to_string();
    let refused = world.sp(&["context", "push", &pack]).fails(2);
    assert!(refused.stderr.contains("sp login"), "{refused}");
    logged_in(&mut world, &registry, &me);
    let run = world.sp(&["context", "push", &pack]).ok();
    assert!(run.stdout.starts_with(&format!("pushed {ID}")), "{run}");
    assert!(run.stdout.contains(&format!("next: sp context url {ID}\n")), "{run}");
    let again = world.sp(&["context", "push", &pack]).ok();
    assert!(again.stdout.starts_with(&format!("it was there already: {ID}")), "{again}");
    let report: Value = serde_json::from_str(
        &world.sp(&["context", "push", &pack, "--format", "json"]).ok().stdout,
    )
    .unwrap();
    assert_eq!((text(&report, "pack_id"), &report["new"]), (ID, &json!(false)));
    let given: Value = serde_json::from_str(&raw(
        &world,
        &["context", "url", ID, "--expires", "2h", "--format", "json"],
    ))
    .unwrap();
    let copy = world.path("copy.zip").display().to_string();
    for key in ["url", "query_url", "zip_url"] {
        let address = text(&given, key).to_owned();
        world.sp(&["context", "check", "--strict", &address]).ok();
        let shown = world.sp(&["context", "show", &address]).ok();
        assert!(shown.stdout.contains(ID), "{shown}");
        let same = world.sp(&["context", "diff", &pack, &address]).ok();
        assert!(same.stdout.contains("no difference"), "{same}");
        world.sp(&["context", "zip", &address, "--output", &copy, "--force"]).ok();
        assert_eq!(text(&report, "sha256"), Digest::of(&std::fs::read(&copy).unwrap()).hex());
        let root = world.path(&format!("repo-{key}"));
        std::fs::create_dir_all(&root).unwrap();
        world.sp(&["context", "install", &address, "--root", &root.display().to_string()]).ok();
        assert!(root.join("AGENTS.md").is_file());
    }
    let revoked = world.sp(&["context", "revoke", ID]).ok();
    assert!(revoked.stdout.contains(ID), "{revoked}");
    let signature = text(&given, "query_url").rsplit('=').next().unwrap().to_owned();
    for key in ["url", "query_url", "zip_url"] {
        let closed = world.sp(&["context", "check", text(&given, key)]).fails(5);
        assert!(
            closed.stderr.contains("403") && !closed.to_string().contains(&signature),
            "{closed}"
        );
    }
    let fresh = raw(&world, &["context", "url", ID, "--format", "plain"]);
    world.sp(&["context", "check", fresh.trim()]).ok();
    for (args, code) in [
        (&["context", "url", ID, "--expires", "8d"][..], 2),
        (&["context", "url", "nothing"], 2),
        (&["context", "url", OTHER], 1),
        (&["context", "revoke", OTHER], 1),
        (&["--offline", "context", "push", &pack], 5),
    ] {
        world.sp(args).fails(code);
    }
    // Nothing that opens a pack stays in the registry's own folder but the keys themselves.
    let found = std::process::Command::new("grep")
        .args(["-rlF", &signature])
        .arg(world.path("registry"))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}
