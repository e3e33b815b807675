//! The HTTP API of a registry. This file is compiled once for each database.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Sender, channel};

use serde_json::json;
use sp_testkit::{HttpResponse, Registry, World, eventually};
use sp_tree::Digest;

use super::{
    Database, create_token, get, latest, package, put, running, running_on, serve_command, start,
};

#[test]
fn pk_25_published_package_is_indexed_and_downloads_unchanged() {
    let (_world, registry, admin) = running(module_path!());
    let me = create_token(&registry, &admin, "me", "publish");
    assert!(me.starts_with("ctxp_") && me.len() == 69, "{me}");
    let bytes = package("@acme/notes", "1.0.0", "Tenants never share rows.");
    let answer = put(&registry, &me, "acme/notes/1.0.0", &bytes);
    assert_eq!(answer.status, 201, "{answer:?}");
    let report = answer.json();
    let hash = Digest::of(&bytes).hex();
    assert_eq!((&report["sha256"], &report["bytes"]), (&json!(hash), &json!(bytes.len())));
    assert!(
        report["steps"].as_array().unwrap().iter().any(|step| step["outcome"] == "passed"),
        "{report}"
    );
    let index = get(&registry, None, "index.json").json();
    assert_eq!(index["packages"][0]["namespace"], "acme");
    assert_eq!(
        (&index["packages"][0]["name"], &index["packages"][0]["latest"]),
        (&json!("notes"), &json!("1.0.0"))
    );
    let versions = get(&registry, None, "packages/acme/notes/index.json").json();
    assert_eq!(versions["versions"][0]["sha256"], json!(hash));
    // Other clients of this API read these members.
    assert_eq!(versions["schema"], json!(1));
    assert_eq!(versions["versions"][0]["artifact_sha256"], json!(hash));
    let download = get(&registry, None, "packages/acme/notes/1.0.0/download");
    assert_eq!((download.status, download.body), (200, bytes));
    let head = HttpResponse {
        body: Vec::new(),
        ..get(&registry, None, "packages/acme/notes/1.0.0/download")
    };
    assert_eq!(
        (head.header("x-ctxpkg-sha256"), head.header("x-ctxpkg-yanked")),
        (Some(hash.as_str()), Some("false"))
    );
    let version = get(&registry, None, "packages/acme/notes/1.0.0").json();
    assert_eq!(version["manifest"]["name"], "@acme/notes");
    let is_counted =
        || get(&registry, None, "packages/acme/notes/index.json").json()["downloads"] == 2;
    eventually(|| is_counted().then_some(()));
}

#[test]
fn pk_25_index_has_pages() {
    let (_world, registry, admin) = running(module_path!());
    let names = ["acme/one", "acme/two", "beta/one", "beta/two", "core/one"];
    for name in names {
        let bytes = package(&format!("@{name}"), "1.0.0", name);
        assert_eq!(put(&registry, &admin, &format!("{name}/1.0.0"), &bytes).status, 201);
    }
    for token in [None, Some(&*admin)] {
        let (mut found, mut path) = (Vec::new(), "index.json?limit=2".to_owned());
        loop {
            let page = get(&registry, token, &path).json();
            let packages = page["packages"].as_array().unwrap();
            let name = |item: &serde_json::Value| {
                [&item["namespace"], &item["name"]].map(|part| part.as_str().unwrap()).join("/")
            };
            found.push(packages.iter().map(name).collect::<Vec<_>>());
            let Some(next) = page["next"].as_str() else { break };
            path = format!("index.json?limit=2&after={next}");
        }
        assert_eq!(found, [&names[..2], &names[2..4], &names[4..]]);
        let all = get(&registry, token, "index.json").json();
        assert_eq!((all["packages"].as_array().map(Vec::len), all.get("next")), (Some(5), None));
    }
    for query in ["limit=0", "limit=10001", "limit=x", "after=a", "after=A/b"] {
        assert_eq!(get(&registry, None, &format!("index.json?{query}")).status, 400, "{query}");
    }
}

#[test]
fn pk_25_only_downloads_of_public_packages_are_cached_by_others() {
    let (world, registry, admin) = running(module_path!());
    let bytes = package("@acme/notes", "1.0.0", "Ours.");
    assert_eq!(put(&registry, &admin, "acme/notes/1.0.0", &bytes).status, 201);
    let cache_control = |registry: &Registry| {
        let answer = get(registry, Some(&admin), "packages/acme/notes/1.0.0/download");
        assert_eq!(answer.status, 200);
        answer.header("cache-control").unwrap().to_owned()
    };
    assert_eq!(cache_control(&registry), "public, max-age=86400, immutable");
    registry.request("PUT /api/v1/packages/acme/notes/private", Some(&admin), b"");
    assert_eq!(cache_control(&registry), "private, no-cache");
    registry.request("DELETE /api/v1/packages/acme/notes/private", Some(&admin), b"");
    registry.kill();
    let registry = Registry::start(serve_command(&world, &["--login-required"]));
    assert_eq!(cache_control(&registry), "private, no-cache");
}

#[test]
fn pk_25_index_supports_compression_and_etags() {
    let (_world, registry, admin) = running(module_path!());
    let get_index =
        |headers: &[(&str, &str)]| registry.send("GET /api/v1/index.json", headers, b"");
    let first = get_index(&[]);
    let tag = first.header("etag").unwrap().to_owned();
    assert_eq!(get_index(&[("if-none-match", &tag)]).status, 304);
    let compressed = get_index(&[("accept-encoding", "br, gzip;q=0.8")]);
    assert_eq!(
        (compressed.header("content-encoding"), &compressed.body[..2]),
        (Some("gzip"), &[0x1f, 0x8b][..])
    );
    // Changes are visible at once.
    let me = create_token(&registry, &admin, "me", "publish");
    put(&registry, &me, "acme/notes/1.0.0", &package("@acme/notes", "1.0.0", "It is so."));
    assert_eq!(get_index(&[("if-none-match", &tag)]).json()["packages"][0]["name"], "notes");
    registry.request("PUT /api/v1/packages/acme/notes/private", Some(&me), b"");
    assert_eq!(get_index(&[]).json()["packages"], json!([]));
    let index = get(&registry, Some(&me), "index.json").json();
    assert_eq!(index["packages"][0]["name"], "notes", "members see private packages");
}

#[test]
fn se_03_no_path_leaves_the_registry() {
    let (world, registry, admin) = running(module_path!());
    std::fs::write(world.path("registry/secret.txt"), "a secret").unwrap();
    let version = "/api/v1/packages/acme/notes";
    for path in [
        "/../secret.txt".to_owned(),
        "/..%2fsecret.txt".into(),
        "/api/v1/../../secret.txt".into(),
        "/api/v1/packages/..%2f..%2fsecret.txt/x/1.0.0/download".into(),
        "/api/v1/packages/../secret.txt/1.0.0/download".into(),
        format!("{version}/..%2f..%2f..%2fsecret.txt/download"),
        format!("{version}/%2e%2e/download"),
        format!("{version}/1.0.0%00/download"),
        "/-/static/..%2f..%2fsecret.txt".into(),
        "/-/static/%2fetc%2fpasswd".into(),
        "/badges/acme/..%2f..%2fsecret.txt".into(),
        "/.well-known/agent-skills/..%2f..%2fsecret.txt".into(),
        "/.well-known/skills/../../../secret.txt".into(),
        "//etc/passwd".into(),
        "/packages/%5c..%5c..%5csecret.txt/x".into(),
    ] {
        for token in [None, Some(admin.as_str())] {
            let answer = registry.request(&format!("GET {path}"), token, b"");
            assert!((400..500).contains(&answer.status), "{path}: {answer:?}");
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            assert!(!text.contains("a secret") && !text.contains("root:"), "{path}: {text}");
        }
    }
    let bytes = package("@acme/notes", "1.0.0", "It is so.");
    for path in [
        "..%2f..%2fx/notes/1.0.0",
        "acme/..%2fnotes/1.0.0",
        "acme/notes/..%2f1.0.0",
        "acme/notes/1.0.0%2f..",
    ] {
        assert_eq!(put(&registry, &admin, path, &bytes).status, 400, "{path}");
    }
}

#[test]
fn pk_25_invalid_packages_and_existing_versions_are_refused() {
    let (_world, registry, admin) = running(module_path!());
    let me = create_token(&registry, &admin, "me", "publish");
    let good = package("@acme/notes", "1.0.0", "Tenants never share rows.");
    let forged = String::from_utf8(good.clone()).unwrap().replace("never", "always");
    for (path, bytes, status) in [
        ("acme/notes/1.0.0", b"no package".as_slice(), 400),
        ("acme/notes/1.0.0", forged.as_bytes(), 400),
        ("acme/other/1.0.0", &good, 400),
        ("acme/notes/1.0.1", &good, 400),
        ("Acme/notes/1.0.0", &good, 400),
        ("acme/notes/1.0.0", &vec![b'x'; 11 * 1024 * 1024], 413),
    ] {
        let answer = put(&registry, &me, path, bytes);
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        let code = if status == 413 { "too_large" } else { "invalid" };
        assert_eq!(answer.json()["code"], code, "{path}: {answer:?}");
        assert!(answer.json()["message"].as_str().is_some_and(|message| !message.is_empty()));
    }
    assert_eq!(get(&registry, None, "index.json").json()["packages"], json!([]));
    assert_eq!(put(&registry, &me, "acme/notes/1.0.0", &good).status, 201);
    let other = package("@acme/notes", "1.0.0", "Something else.");
    for bytes in [&good, &other] {
        assert_eq!(put(&registry, &me, "acme/notes/1.0.0", bytes).status, 409);
    }
    assert_eq!(get(&registry, None, "packages/acme/notes/1.0.0/download").body, good);
}

#[test]
fn pk_25_tokens_authorize_and_are_stored_as_hashes() {
    let database = Database::of_module(module_path!());
    let (world, registry, admin) = running_on(&database);
    let bytes = package("@acme/notes", "1.0.0", "Tenants never share rows.");
    let reader = create_token(&registry, &admin, "reader", "read");
    assert!(reader.starts_with("ctxr_"), "{reader}");
    for token in [None, Some(reader.as_str()), Some("ctxp_00"), Some("something")] {
        let answer = registry.request("PUT /api/v1/packages/acme/notes/1.0.0", token, &bytes);
        assert_eq!(
            (answer.status, answer.header("www-authenticate")),
            (401, Some("bearer")),
            "{token:?}"
        );
    }
    let (me, you) = (
        create_token(&registry, &admin, "me", "publish"),
        create_token(&registry, &admin, "you", "publish"),
    );
    assert_eq!(put(&registry, &me, "acme/notes/1.0.0", &bytes).status, 201);
    let next = package("@acme/notes", "1.1.0", "More.");
    assert_eq!(put(&registry, &you, "acme/notes/1.1.0", &next).status, 403);
    assert_eq!(
        registry.request("PUT /api/v1/namespaces/acme/members/you", Some(&me), b"").status,
        204
    );
    assert_eq!(put(&registry, &you, "acme/notes/1.1.0", &next).status, 201);
    assert_eq!(registry.request("GET /api/v1/tokens", Some(&me), b"").status, 401);
    let listed = registry.request("GET /api/v1/tokens", Some(&admin), b"");
    let id =
        listed.json().as_array().unwrap().iter().find(|item| item["user"] == "you").unwrap()["id"]
            .clone();
    assert_eq!(
        registry.request(&format!("DELETE /api/v1/tokens/{id}"), Some(&admin), b"").status,
        204
    );
    let third = package("@acme/notes", "1.2.0", "Even more.");
    assert_eq!(put(&registry, &you, "acme/notes/1.2.0", &third).status, 401);
    // Only the hashes of tokens are stored.
    let text = String::from_utf8_lossy(&listed.body).into_owned();
    let stored = database.dump(&world);
    for secret in [&admin, &reader, &me, &you] {
        let secret = secret.split_once('_').unwrap().1;
        let is_stored = stored.windows(secret.len()).any(|bytes| bytes == secret.as_bytes());
        assert!(!text.contains(secret) && !is_stored);
    }
    let audit = registry.request("GET /api/v1/audit", Some(&admin), b"").json();
    let actions: Vec<&str> =
        audit.as_array().unwrap().iter().map(|item| item["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["revoke", "publish", "add-member", "publish", "mint", "mint", "mint"]);
}

#[test]
fn pk_25_yanked_version_is_downloadable_and_not_latest() {
    let (_world, registry, admin) = running(module_path!());
    let me = create_token(&registry, &admin, "me", "publish");
    for version in ["1.0.0", "1.1.0", "2.0.0-beta"] {
        let bytes = package("@acme/notes", version, version);
        assert_eq!(put(&registry, &me, &format!("acme/notes/{version}"), &bytes).status, 201);
    }
    assert_eq!(latest(&registry), "1.1.0");
    assert_eq!(registry.request("DELETE /api/v1/packages/acme/notes/1.1.0", None, b"").status, 401);
    assert_eq!(
        registry.request("DELETE /api/v1/packages/acme/notes/1.1.0", Some(&me), b"").status,
        204
    );
    assert_eq!(latest(&registry), "1.0.0");
    let download = get(&registry, None, "packages/acme/notes/1.1.0/download");
    assert_eq!((download.status, download.header("x-ctxpkg-yanked")), (200, Some("true")));
    assert_eq!(
        registry.request("POST /api/v1/packages/acme/notes/1.1.0/unyank", Some(&me), b"").status,
        204
    );
    assert_eq!(latest(&registry), "1.1.0");
    assert_eq!(
        registry.request("DELETE /api/v1/packages/acme/notes/9.9.9", Some(&me), b"").status,
        404
    );
    // A yanked version cannot be published again.
    registry.request("DELETE /api/v1/packages/acme/notes/1.0.0", Some(&me), b"");
    let other = package("@acme/notes", "1.0.0", "Something else.");
    assert_eq!(put(&registry, &me, "acme/notes/1.0.0", &other).status, 409);
}

#[test]
fn pk_25_private_package_is_not_found_for_non_members() {
    let (_world, registry, admin) = running(module_path!());
    let (me, you) = (
        create_token(&registry, &admin, "me", "publish"),
        create_token(&registry, &admin, "you", "read"),
    );
    put(&registry, &me, "acme/notes/1.0.0", &package("@acme/notes", "1.0.0", "Ours."));
    assert_eq!(
        registry.request("PUT /api/v1/packages/acme/notes/private", Some(&you), b"").status,
        401
    );
    assert_eq!(
        registry.request("PUT /api/v1/packages/acme/notes/private", Some(&me), b"").status,
        204
    );
    for path in ["index.json", "1.0.0", "1.0.0/download"] {
        for token in [None, Some(you.as_str())] {
            let private = get(&registry, token, &format!("packages/acme/notes/{path}"));
            let missing = get(&registry, token, &format!("packages/acme/nothing/{path}"));
            assert_eq!((private.status, &private.body), (404, &missing.body), "{path}");
            let header_count = |answer: &HttpResponse| {
                answer.head.lines().filter(|line| !line.starts_with("date")).count()
            };
            assert_eq!(header_count(&private), header_count(&missing));
        }
        assert_eq!(get(&registry, Some(&me), &format!("packages/acme/notes/{path}")).status, 200);
        assert_eq!(
            get(&registry, Some(&admin), &format!("packages/acme/notes/{path}")).status,
            200
        );
    }
    assert_eq!(get(&registry, None, "index.json").json()["packages"], json!([]));
    assert_eq!(
        registry.request("PUT /api/v1/namespaces/acme/members/you", Some(&me), b"").status,
        204
    );
    assert_eq!(get(&registry, Some(&you), "packages/acme/notes/index.json").status, 200);
}

#[test]
fn pk_25_one_of_many_concurrent_publishes_of_a_version_succeeds() {
    let (_world, registry, admin) = running(module_path!());
    let me = create_token(&registry, &admin, "me", "publish");
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let publish = |number: usize| {
            let (registry, me) = (&registry, &me);
            scope.spawn(move || {
                let bytes = package("@acme/notes", "1.0.0", &format!("Content {number}."));
                put(registry, me, "acme/notes/1.0.0", &bytes).status
            })
        };
        let threads: Vec<_> = (0..100).map(publish).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| [201, 409].contains(status)), "{statuses:?}");
}

#[test]
fn pk_25_one_of_many_concurrent_first_publishers_owns_the_namespace() {
    let (_world, registry, admin) = running(module_path!());
    let users: Vec<String> = (0..12).map(|number| format!("user{number}")).collect();
    let tokens: Vec<String> =
        users.iter().map(|user| create_token(&registry, &admin, user, "publish")).collect();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let publish = |(user, token): (&String, &String)| {
            let (registry, user, token) = (&registry, user.clone(), token.clone());
            scope.spawn(move || {
                let bytes = package(&format!("@acme/{user}"), "1.0.0", "Mine.");
                put(registry, &token, &format!("acme/{user}/1.0.0"), &bytes).status
            })
        };
        let threads: Vec<_> = users.iter().zip(&tokens).map(publish).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let owners: Vec<&String> = users
        .iter()
        .zip(&statuses)
        .filter(|(_, status)| **status == 201)
        .map(|(user, _)| user)
        .collect();
    assert!(
        statuses.iter().all(|status| [201, 403].contains(status)) && owners.len() == 1,
        "{statuses:?}"
    );
    let members = registry.request("GET /api/v1/namespaces/acme/members", Some(&admin), b"").json();
    assert_eq!(members, json!([{"user": owners[0], "role": "owner"}]));
}

#[test]
fn pk_25_refused_requests_change_nothing() {
    let (_world, registry, admin) = running(module_path!());
    let (me, you) = (
        create_token(&registry, &admin, "me", "publish"),
        create_token(&registry, &admin, "you", "publish"),
    );
    let bytes = package("@acme/notes", "1.0.0", "Ours.");
    assert_eq!(put(&registry, &admin, "acme/notes/1.0.0", &bytes).status, 201);
    let index = get(&registry, None, "index.json").body;
    let other = String::from_utf8(bytes).unwrap().replace("\"Notes.\"", "\"Changed.\"");
    for (token, status) in [(&admin, 409), (&me, 403)] {
        assert_eq!(put(&registry, token, "acme/notes/1.0.0", other.as_bytes()).status, status);
    }
    assert_eq!(get(&registry, None, "index.json").body, index);
    // The first publisher owns the namespace, and the last member cannot be removed.
    let mine = package("@acme/mine", "1.0.0", "Mine.");
    assert_eq!(put(&registry, &me, "acme/mine/1.0.0", &mine).status, 403);
    for token in [&me, &you] {
        assert_eq!(
            registry.request("DELETE /api/v1/packages/acme/notes/1.0.0", Some(token), b"").status,
            403
        );
    }
    assert_eq!(
        registry.request("DELETE /api/v1/namespaces/acme/members/admin", Some(&admin), b"").status,
        409
    );
    for path in ["packages/acme/notes/%00", "packages/acme/notes/%00/download"] {
        assert_eq!(get(&registry, None, path).status, 404, "{path}");
    }
    assert_eq!(registry.request("GET /api/v1/namespaces/%00/members", Some(&me), b"").status, 404);
}

const PIECE_BYTES: usize = 64 * 1024;

/// Publishes a package, and sends a message for each piece that was sent and for the response.
/// Stops without a word when the registry is killed.
fn publish_in_pieces(
    address: &str,
    token: &str,
    version: &str,
    bytes: &[u8],
    steps: &Sender<()>,
) -> Option<()> {
    let mut stream = TcpStream::connect(address).ok()?;
    let head = format!(
        "PUT /api/v1/packages/acme/notes/{version} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         authorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n",
        bytes.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    for piece in bytes.chunks(PIECE_BYTES) {
        stream.write_all(piece).ok()?;
        steps.send(()).ok()?;
    }
    stream.read_exact(&mut [0]).ok()?;
    steps.send(()).ok()
}

/// Kills the registry 25 times during four concurrent publishes, after a pseudo-random step.
#[test]
fn se_01_killed_registry_has_each_version_completely_or_not_at_all() {
    const CONCURRENT: u64 = 4;
    let database = Database::of_module(module_path!());
    let (world, mut registry, admin) = running_on(&database);
    let me = create_token(&registry, &admin, "me", "publish");
    let mut state = 1_u64;
    let mut random_below = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for round in 0..25_u64 {
        let versions: Vec<String> =
            (0..CONCURRENT).map(|number| format!("1.{round}.{number}")).collect();
        let bytes = |version: &str| package("@acme/notes", version, &"x".repeat(300_000));
        // Each publish makes a step for every piece that it sends, and one for its response.
        let steps = CONCURRENT * (bytes("1.0.0").chunks(PIECE_BYTES).len() as u64 + 1);
        let last_step = random_below(steps + 1);
        std::thread::scope(|scope| {
            let (sender, done) = channel();
            for version in &versions {
                let (address, me, sender) = (&registry.address, &me, sender.clone());
                let bytes = bytes(version);
                scope.spawn(move || publish_in_pieces(address, me, version, &bytes, &sender));
            }
            drop(sender);
            (0..last_step).for_each(|_| _ = done.recv());
            registry.kill();
        });
        database.wait_until_idle();
        registry = start(&world);
        assert_eq!(registry.admin, None);
        for version in &versions {
            assert_complete_or_absent(&registry, &me, version, &bytes(version));
        }
    }
}

fn assert_complete_or_absent(registry: &Registry, me: &str, version: &str, bytes: &[u8]) {
    let index = get(registry, None, "packages/acme/notes/index.json");
    let is_listed = index.status == 200
        && index.json()["versions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|item| item["version"] == version);
    let download = get(registry, None, &format!("packages/acme/notes/{version}/download"));
    assert_eq!(download.status == 200, is_listed, "{version}");
    assert!(!is_listed || download.body == bytes, "{version}");
    // It can be published again unless it is already there.
    let status = put(registry, me, &format!("acme/notes/{version}"), bytes).status;
    assert_eq!(status, if is_listed { 409 } else { 201 }, "{version}");
}

#[test]
fn pk_22_search_finds_packages_despite_typos() {
    let (mut world, registry, admin) = running(module_path!());
    let me = create_token(&registry, &admin, "me", "publish");
    for name in ["acme/postgres-notes", "acme/kubernetes", "acme/react-hooks"] {
        let bytes = package(&format!("@{name}"), "1.0.0", "It is so.");
        assert_eq!(put(&registry, &me, &format!("{name}/1.0.0"), &bytes).status, 201);
    }
    let names = |query: &str, token: Option<&str>| -> Vec<String> {
        let answer = get(&registry, token, &format!("search?q={query}")).json();
        answer["packages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names("postgres", None), ["postgres-notes"]);
    assert_eq!(names("POSTGRSE", None), ["postgres-notes"]);
    assert_eq!(names("kuberntes", None), ["kubernetes"]);
    assert_eq!(names("acme", None).len(), 3);
    for query in ["zzz", "xy", "%22%20OR%20%22", "*", "a%00b"] {
        assert_eq!(names(query, None), Vec::<String>::new(), "{query}");
    }
    for path in ["search", &format!("search?q={}", "x".repeat(300))] {
        assert_eq!(get(&registry, None, path).status, 400, "{path}");
    }
    registry.request("PUT /api/v1/packages/acme/kubernetes/private", Some(&me), b"");
    assert_eq!(names("kubernetes", None), Vec::<String>::new());
    assert_eq!(names("kubernetes", Some(&me)), ["kubernetes"]);
    let search = |world: &World, query: &str| {
        let args = ["search", query, "--registry", &registry.address, "--format", "plain"];
        world.sp(&args).ok().stdout
    };
    assert_eq!(search(&world, "postgers"), "@acme/postgres-notes\t1.0.0\n");
    world.set_env("SP_REGISTRY_TOKEN", &me);
    assert_eq!(search(&world, "kubernetes"), "@acme/kubernetes\t1.0.0\n");
}

#[test]
fn pk_25_invalid_names_and_numbers_do_not_break_the_registry() {
    let (_world, registry, admin) = running(module_path!());
    let bytes = package("@acme/notes", "1.0.0", "Tenants never share rows.");
    assert_eq!(put(&registry, &admin, "acme/notes/1.0.0", &bytes).status, 201);
    for (request, status) in [
        ("GET /api/v1/packages/%00/notes/index.json", 404),
        ("GET /api/v1/packages/acme/notes/%00", 404),
        ("GET /api/v1/packages/acme/notes/1.0.0%00/readme", 404),
        ("GET /api/v1/packages/acme/notes/1.0.0%00/download", 404),
        ("DELETE /api/v1/packages/acme/notes/%00", 404),
        ("POST /api/v1/packages/acme/notes/%00/unyank", 404),
        ("GET /api/v1/namespaces/a%00/members", 404),
        ("PUT /api/v1/namespaces/a%00/members/ann", 404),
        ("PUT /api/v1/namespaces/acme/members/a%00", 400),
        ("DELETE /api/v1/namespaces/acme/members/a%00", 404),
        ("DELETE /api/v1/url-keys/k%00", 404),
        ("DELETE /api/v1/context-packs/%00", 404),
        ("GET /api/v1/search?q=te%00nants", 200),
        ("GET /api/v1/search?q=notes&limit=99999999999999999999", 400),
        ("DELETE /api/v1/tokens/9223372036854775808", 400),
        ("DELETE /api/v1/tokens/-9223372036854775808", 404),
        ("GET /api/v1/packages/%ff/notes/index.json", 400),
        ("GET /namespaces/a%00", 404),
        ("GET /packages/acme/notes/%00", 404),
        ("GET /badges/acme/%00.svg", 404),
        ("GET /api/v1/packages/../../etc/passwd/index.json", 404),
        ("GET /api/v1/packages/acme/notes/%2e%2e/download", 404),
        ("GET /nothing", 404),
    ] {
        let answer = registry.request(request, Some(&admin), b"");
        assert_eq!(answer.status, status, "{request}: {answer:?}");
    }
    // Revoking a token that does not exist is not logged.
    let audit = get(&registry, Some(&admin), "audit").json();
    assert!(audit.as_array().unwrap().iter().all(|item| item["action"] != "revoke"), "{audit}");
}

#[test]
fn pk_25_range_past_the_end_is_refused_with_the_length() {
    let (_world, registry, admin) = running(module_path!());
    let bytes = package("@acme/notes", "1.0.0", "Tenants never share rows.");
    assert_eq!(put(&registry, &admin, "acme/notes/1.0.0", &bytes).status, 201);
    let range = [("range", "bytes=99999999999999999999-")];
    let answer = registry.send("GET /api/v1/packages/acme/notes/1.0.0/download", &range, b"");
    let length = format!("bytes */{}", bytes.len());
    assert_eq!(
        (answer.status, answer.header("content-range")),
        (416, Some(length.as_str())),
        "{answer:?}"
    );
    assert_eq!(answer.json()["code"], "invalid");
}
