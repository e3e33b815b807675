//! What holds of a registry, whichever database it stands on: this file is compiled once for each.

use std::time::Duration;

use serde_json::{Value, json};
use sp_testkit::{HttpAnswer, Registry, World, eventually};
use sp_tree::Digest;

use super::{Database, package, put, start, token};

/// What the name of the module says.
fn database() -> Database {
    if module_path!().ends_with("postgres") { Database::postgres() } else { Database::Sqlite }
}

/// A world with a registry, and the token of its admin.
fn running() -> (World, Registry, String) {
    super::running(&database())
}

fn get(registry: &Registry, token: Option<&str>, path: &str) -> HttpAnswer {
    registry.ask(&format!("GET /api/v1/{path}"), token, b"")
}

fn latest(registry: &Registry) -> Value {
    get(registry, None, "packages/acme/notes/index.json").json()["latest"].clone()
}

#[test]
fn pk_25_what_is_published_is_in_the_indexes_and_comes_back_to_the_byte() {
    let (_world, registry, admin) = running();
    let me = token(&registry, &admin, "me", "publish");
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
    // What other clients of the same API read.
    assert_eq!(versions["schema"], json!(1));
    assert_eq!(versions["versions"][0]["artifact_sha256"], json!(hash));
    let download = get(&registry, None, "packages/acme/notes/1.0.0/download");
    assert_eq!((download.status, download.body), (200, bytes));
    let head = HttpAnswer {
        body: Vec::new(),
        ..get(&registry, None, "packages/acme/notes/1.0.0/download")
    };
    assert_eq!(
        (head.header("x-ctxpkg-sha256"), head.header("x-ctxpkg-yanked")),
        (Some(hash.as_str()), Some("false"))
    );
    let described = get(&registry, None, "packages/acme/notes/1.0.0").json();
    assert_eq!(described["manifest"]["name"], "@acme/notes");
    let counted =
        || get(&registry, None, "packages/acme/notes/index.json").json()["downloads"] == 2;
    eventually(|| counted().then_some(()));
}

#[test]
fn pk_25_the_index_is_packed_where_that_is_understood_and_known_again() {
    let (_world, registry, admin) = running();
    let ask = |headers: &[(&str, &str)]| registry.send("GET /api/v1/index.json", headers, b"");
    let first = ask(&[]);
    let tag = first.header("etag").unwrap().to_owned();
    assert_eq!(ask(&[("if-none-match", &tag)]).status, 304);
    let packed = ask(&[("accept-encoding", "br, gzip;q=0.8")]);
    assert_eq!(
        (packed.header("content-encoding"), &packed.body[..2]),
        (Some("gzip"), &[0x1f, 0x8b][..])
    );
    // What is done is seen at once.
    let me = token(&registry, &admin, "me", "publish");
    put(&registry, &me, "acme/notes/1.0.0", &package("@acme/notes", "1.0.0", "It is so."));
    assert_eq!(ask(&[("if-none-match", &tag)]).json()["packages"][0]["name"], "notes");
    registry.ask("PUT /api/v1/packages/acme/notes/private", Some(&me), b"");
    assert_eq!(ask(&[]).json()["packages"], json!([]));
    let mine = get(&registry, Some(&me), "index.json").json();
    assert_eq!(
        mine["packages"][0]["name"], "notes",
        "who may see more is not given what strangers see"
    );
}

#[test]
fn se_03_no_address_leads_out_of_the_registry() {
    let (world, registry, admin) = running();
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
            let answer = registry.ask(&format!("GET {path}"), token, b"");
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
fn pk_25_the_gate_is_the_reader_of_packages() {
    let (_world, registry, admin) = running();
    let me = token(&registry, &admin, "me", "publish");
    let good = package("@acme/notes", "1.0.0", "Tenants never share rows.");
    let forged = String::from_utf8(good.clone()).unwrap().replace("never", "always");
    for (path, bytes, code) in [
        ("acme/notes/1.0.0", b"no package".as_slice(), 400),
        ("acme/notes/1.0.0", forged.as_bytes(), 400),
        ("acme/other/1.0.0", &good, 400),
        ("acme/notes/1.0.1", &good, 400),
        ("Acme/notes/1.0.0", &good, 400),
        ("acme/notes/1.0.0", &vec![b'x'; 11 * 1024 * 1024], 413),
    ] {
        let answer = put(&registry, &me, path, bytes);
        assert_eq!(answer.status, code, "{path}: {answer:?}");
        assert!(answer.json()["message"].as_str().is_some_and(|message| !message.is_empty()));
    }
    assert_eq!(get(&registry, None, "index.json").json()["packages"], json!([]));
    assert_eq!(put(&registry, &me, "acme/notes/1.0.0", &good).status, 201);
    let other = package("@acme/notes", "1.0.0", "Something else.");
    for again in [&good, &other] {
        assert_eq!(put(&registry, &me, "acme/notes/1.0.0", again).status, 409);
    }
    assert_eq!(get(&registry, None, "packages/acme/notes/1.0.0/download").body, good);
}

#[test]
fn pk_25_only_whose_token_it_is_may_do_what_it_is_for() {
    let database = database();
    let (world, registry, admin) = super::running(&database);
    let bytes = package("@acme/notes", "1.0.0", "Tenants never share rows.");
    let reader = token(&registry, &admin, "reader", "read");
    assert!(reader.starts_with("ctxr_"), "{reader}");
    for wrong in [None, Some(reader.as_str()), Some("ctxp_00"), Some("something")] {
        let answer = registry.ask("PUT /api/v1/packages/acme/notes/1.0.0", wrong, &bytes);
        assert_eq!(
            (answer.status, answer.header("www-authenticate")),
            (401, Some("bearer")),
            "{wrong:?}"
        );
    }
    let (me, you) =
        (token(&registry, &admin, "me", "publish"), token(&registry, &admin, "you", "publish"));
    assert_eq!(put(&registry, &me, "acme/notes/1.0.0", &bytes).status, 201);
    let next = package("@acme/notes", "1.1.0", "More.");
    assert_eq!(put(&registry, &you, "acme/notes/1.1.0", &next).status, 403);
    assert_eq!(registry.ask("PUT /api/v1/namespaces/acme/members/you", Some(&me), b"").status, 204);
    assert_eq!(put(&registry, &you, "acme/notes/1.1.0", &next).status, 201);
    assert_eq!(registry.ask("GET /api/v1/tokens", Some(&me), b"").status, 401);
    let listed = registry.ask("GET /api/v1/tokens", Some(&admin), b"");
    let id =
        listed.json().as_array().unwrap().iter().find(|item| item["user"] == "you").unwrap()["id"]
            .clone();
    assert_eq!(registry.ask(&format!("DELETE /api/v1/tokens/{id}"), Some(&admin), b"").status, 204);
    let third = package("@acme/notes", "1.2.0", "Even more.");
    assert_eq!(put(&registry, &you, "acme/notes/1.2.0", &third).status, 401);
    // Of a token nothing is kept but its hash.
    let text = String::from_utf8_lossy(&listed.body).into_owned();
    let kept = database.kept(&world);
    for secret in [&admin, &reader, &me, &you] {
        let bare = secret.split_once('_').unwrap().1;
        assert!(
            !text.contains(bare) && !kept.windows(bare.len()).any(|bytes| bytes == bare.as_bytes())
        );
    }
    let audit = registry.ask("GET /api/v1/audit", Some(&admin), b"").json();
    let actions: Vec<&str> =
        audit.as_array().unwrap().iter().map(|item| item["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["revoke", "publish", "add-member", "publish", "mint", "mint", "mint"]);
}

#[test]
fn pk_25_what_was_yanked_stays_and_leaves_latest() {
    let (_world, registry, admin) = running();
    let me = token(&registry, &admin, "me", "publish");
    for version in ["1.0.0", "1.1.0", "2.0.0-beta"] {
        let bytes = package("@acme/notes", version, version);
        assert_eq!(put(&registry, &me, &format!("acme/notes/{version}"), &bytes).status, 201);
    }
    assert_eq!(latest(&registry), "1.1.0");
    assert_eq!(registry.ask("DELETE /api/v1/packages/acme/notes/1.1.0", None, b"").status, 401);
    assert_eq!(
        registry.ask("DELETE /api/v1/packages/acme/notes/1.1.0", Some(&me), b"").status,
        204
    );
    assert_eq!(latest(&registry), "1.0.0");
    let download = get(&registry, None, "packages/acme/notes/1.1.0/download");
    assert_eq!((download.status, download.header("x-ctxpkg-yanked")), (200, Some("true")));
    assert_eq!(
        registry.ask("POST /api/v1/packages/acme/notes/1.1.0/unyank", Some(&me), b"").status,
        204
    );
    assert_eq!(latest(&registry), "1.1.0");
    assert_eq!(
        registry.ask("DELETE /api/v1/packages/acme/notes/9.9.9", Some(&me), b"").status,
        404
    );
    // A version that was yanked is not free again.
    registry.ask("DELETE /api/v1/packages/acme/notes/1.0.0", Some(&me), b"");
    let other = package("@acme/notes", "1.0.0", "Something else.");
    assert_eq!(put(&registry, &me, "acme/notes/1.0.0", &other).status, 409);
}

#[test]
fn pk_25_a_private_package_is_not_there_for_strangers() {
    let (_world, registry, admin) = running();
    let (me, you) =
        (token(&registry, &admin, "me", "publish"), token(&registry, &admin, "you", "read"));
    put(&registry, &me, "acme/notes/1.0.0", &package("@acme/notes", "1.0.0", "Ours."));
    assert_eq!(
        registry.ask("PUT /api/v1/packages/acme/notes/private", Some(&you), b"").status,
        401
    );
    assert_eq!(registry.ask("PUT /api/v1/packages/acme/notes/private", Some(&me), b"").status, 204);
    for path in ["index.json", "1.0.0", "1.0.0/download"] {
        for stranger in [None, Some(you.as_str())] {
            let hidden = get(&registry, stranger, &format!("packages/acme/notes/{path}"));
            let nothing = get(&registry, stranger, &format!("packages/acme/nothing/{path}"));
            assert_eq!((hidden.status, &hidden.body), (404, &nothing.body), "{path}");
            let head = |answer: &HttpAnswer| {
                answer.head.lines().filter(|line| !line.starts_with("date")).count()
            };
            assert_eq!(head(&hidden), head(&nothing));
        }
        assert_eq!(get(&registry, Some(&me), &format!("packages/acme/notes/{path}")).status, 200);
        assert_eq!(
            get(&registry, Some(&admin), &format!("packages/acme/notes/{path}")).status,
            200
        );
    }
    assert_eq!(get(&registry, None, "index.json").json()["packages"], json!([]));
    assert_eq!(registry.ask("PUT /api/v1/namespaces/acme/members/you", Some(&me), b"").status, 204);
    assert_eq!(get(&registry, Some(&you), "packages/acme/notes/index.json").status, 200);
}

#[test]
fn pk_25_of_many_who_publish_one_version_at_once_exactly_one_wins() {
    let (_world, registry, admin) = running();
    let me = token(&registry, &admin, "me", "publish");
    let codes: Vec<u16> = std::thread::scope(|scope| {
        let one = |number: usize| {
            let (registry, me) = (&registry, &me);
            scope.spawn(move || {
                let bytes = package("@acme/notes", "1.0.0", &format!("What {number} says."));
                put(registry, me, "acme/notes/1.0.0", &bytes).status
            })
        };
        let threads: Vec<_> = (0..100).map(one).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(codes.iter().filter(|code| **code == 201).count(), 1, "{codes:?}");
    assert!(codes.iter().all(|code| *code == 201 || *code == 409), "{codes:?}");
}

#[test]
fn pk_25_of_many_who_publish_first_into_a_namespace_exactly_one_owns_it() {
    let (_world, registry, admin) = running();
    let users: Vec<String> = (0..12).map(|number| format!("user{number}")).collect();
    let tokens: Vec<String> =
        users.iter().map(|user| token(&registry, &admin, user, "publish")).collect();
    let codes: Vec<u16> = std::thread::scope(|scope| {
        let one = |(user, mine): (&String, &String)| {
            let (registry, user, mine) = (&registry, user.clone(), mine.clone());
            scope.spawn(move || {
                let bytes = package(&format!("@acme/{user}"), "1.0.0", "Mine.");
                put(registry, &mine, &format!("acme/{user}/1.0.0"), &bytes).status
            })
        };
        let threads: Vec<_> = users.iter().zip(&tokens).map(one).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let winners: Vec<&String> =
        users.iter().zip(&codes).filter(|(_, code)| **code == 201).map(|(user, _)| user).collect();
    assert!(
        codes.iter().all(|code| *code == 201 || *code == 403) && winners.len() == 1,
        "{codes:?}"
    );
    let members = registry.ask("GET /api/v1/namespaces/acme/members", Some(&admin), b"").json();
    assert_eq!(members, json!(winners));
}

#[test]
fn pk_25_what_is_refused_changes_nothing() {
    let (_world, registry, admin) = running();
    let (me, you) =
        (token(&registry, &admin, "me", "publish"), token(&registry, &admin, "you", "publish"));
    let bytes = package("@acme/notes", "1.0.0", "Ours.");
    assert_eq!(put(&registry, &admin, "acme/notes/1.0.0", &bytes).status, 201);
    let index = get(&registry, None, "index.json").body;
    let other = String::from_utf8(bytes).unwrap().replace("\"Notes.\"", "\"Changed.\"");
    for (who, code) in [(&admin, 409), (&me, 403)] {
        assert_eq!(put(&registry, who, "acme/notes/1.0.0", other.as_bytes()).status, code);
    }
    assert_eq!(get(&registry, None, "index.json").body, index);
    // Who published first owns the namespace, the admin too; and the last member stays.
    let mine = package("@acme/mine", "1.0.0", "Mine.");
    assert_eq!(put(&registry, &me, "acme/mine/1.0.0", &mine).status, 403);
    for stranger in [&me, &you] {
        assert_eq!(
            registry.ask("DELETE /api/v1/packages/acme/notes/1.0.0", Some(stranger), b"").status,
            403
        );
    }
    assert_eq!(
        registry.ask("DELETE /api/v1/namespaces/acme/members/admin", Some(&admin), b"").status,
        404
    );
    for nowhere in ["packages/acme/notes/%00", "packages/acme/notes/%00/download"] {
        assert_eq!(get(&registry, None, nowhere).status, 404, "{nowhere}");
    }
    assert_eq!(registry.ask("GET /api/v1/namespaces/%00/members", Some(&me), b"").status, 404);
}

/// A hundred publishes are cut: four at once, at moments of their own, and all at another moment of
/// the registry.
#[test]
fn se_01_a_registry_that_is_killed_has_a_version_wholly_or_not_at_all() {
    const AT_ONCE: u64 = 4;
    let database = database();
    let (world, mut registry, admin) = super::running(&database);
    let me = token(&registry, &admin, "me", "publish");
    let mut state = 1_u64;
    let mut noise = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for round in 0..25_u64 {
        let versions: Vec<String> =
            (0..AT_ONCE).map(|number| format!("1.{round}.{number}")).collect();
        let bytes = |version: &str| package("@acme/notes", version, &"x".repeat(300_000));
        std::thread::scope(|scope| {
            for version in &versions {
                let (shared, me, later) = (&registry, &me, noise(30_000));
                let bytes = bytes(version);
                scope.spawn(move || {
                    std::thread::sleep(Duration::from_micros(later));
                    shared.try_ask(
                        &format!("PUT /api/v1/packages/acme/notes/{version}"),
                        Some(me),
                        &bytes,
                    )
                });
            }
            std::thread::sleep(Duration::from_micros(noise(60_000)));
            registry.kill();
        });
        database.settle();
        registry = start(&world);
        assert_eq!(registry.admin, None);
        for version in &versions {
            is_whole_or_absent(&registry, &me, version, &bytes(version));
        }
    }
}

fn is_whole_or_absent(registry: &Registry, me: &str, version: &str, bytes: &[u8]) {
    let found = get(registry, None, "packages/acme/notes/index.json");
    let listed = found.status == 200
        && found.json()["versions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|item| item["version"] == version);
    let download = get(registry, None, &format!("packages/acme/notes/{version}/download"));
    assert_eq!(download.status == 200, listed, "{version}");
    assert!(!listed || download.body == bytes, "{version}");
    // Whatever became of it, it can be published now, or is there.
    let again = put(registry, me, &format!("acme/notes/{version}"), bytes).status;
    assert_eq!(again, if listed { 409 } else { 201 }, "{version}");
}

#[test]
fn what_cannot_be_is_said_before_anything_listens() {
    let (world, registry, _) = running();
    let data = world.path("other").display().to_string();
    let taken = world.sp(&["serve", "--data", &data, "--listen", &registry.address]).fails(5);
    assert!(
        taken.stderr.contains("cannot listen on") && taken.stderr.contains("--listen"),
        "{taken}"
    );
    std::fs::write(world.path("file"), "").unwrap();
    let file = world.path("file").display().to_string();
    let unusable = world.sp(&["serve", "--data", &file, "--listen", "127.0.0.1:0"]).fails(5);
    assert!(
        unusable.stderr.contains("cannot use") && unusable.stderr.contains("--data"),
        "{unusable}"
    );
    assert_eq!(registry.ask("GET /healthz", None, b"").status, 200);
    assert_eq!(registry.ask("GET /readyz", None, b"").status, 200);
    for strange in [
        "GET /api/v1/packages/../../etc/passwd/index.json",
        "GET /nothing",
        "GET /api/v1/packages/acme/notes/%2e%2e/download",
    ] {
        assert_eq!(registry.ask(strange, None, b"").status, 404, "{strange}");
    }
}

#[test]
fn pk_22_a_package_is_published_and_yanked_from_the_command_line() {
    let (mut world, registry, admin) = running();
    let me = token(&registry, &admin, "me", "publish");
    std::fs::write(
        world.path("notes.ctxpkg"),
        package("@acme/notes", "1.0.0", "Tenants never share rows."),
    )
    .unwrap();
    let file = world.path("notes.ctxpkg").display().to_string();
    let refused = world.sp(&["publish", &file]).fails(2);
    assert!(refused.stderr.contains("sp login"), "{refused}");
    let refused = world.sp(&["publish", &file, "--registry", &registry.address]).fails(4);
    assert!(
        refused.stderr.contains("a token is needed") && refused.stderr.contains("sp login"),
        "{refused}"
    );
    let refused = world.sp(&["login", &registry.address]).fails(2);
    assert!(refused.stderr.contains("SP_REGISTRY_TOKEN"), "{refused}");
    world.set_env("SP_REGISTRY_TOKEN", &format!("ctxp_{}", "0".repeat(64)));
    world.sp(&["login", &registry.address]).fails(4);
    world.set_env("SP_REGISTRY_TOKEN", &me);
    let known: Value = serde_json::from_str(
        &world.sp(&["login", &registry.address, "--format", "json"]).ok().stdout,
    )
    .unwrap();
    assert_eq!((&known["user"], &known["scope"]), (&json!("me"), &json!("publish")));
    world.set_env("SP_REGISTRY_TOKEN", "");
    let published = world.sp(&["publish", &file]).ok();
    assert!(published.stdout.starts_with("published @acme/notes 1.0.0"), "{published}");
    let again = world.sp(&["publish", &file]).ok();
    assert!(again.stdout.starts_with("it was there already: @acme/notes 1.0.0"), "{again}");
    std::fs::write(world.path("other.ctxpkg"), package("@acme/notes", "1.0.0", "Something else."))
        .unwrap();
    let other = world.sp(&["publish", &world.path("other.ctxpkg").display().to_string()]).fails(1);
    assert!(other.stderr.contains("a version never changes"), "{other}");
    world.sp(&["yank", "@acme/notes@1.0.0"]).ok();
    assert_eq!(latest(&registry), Value::Null);
    world.sp(&["yank", "@acme/notes@1.0.0", "--undo"]).ok();
    assert_eq!(latest(&registry), "1.0.0");
    world.sp(&["yank", "@acme/notes"]).fails(2);
    world.sp(&["yank", "@acme/nothing@1.0.0"]).fails(1);
    world.sp(&["--offline", "yank", "@acme/notes@1.0.0"]).fails(5);
    std::fs::write(world.path("plain.ctxpkg"), package("notes", "1.0.0", "No namespace.")).unwrap();
    let plain = world.sp(&["publish", &world.path("plain.ctxpkg").display().to_string()]).fails(1);
    assert!(plain.stderr.contains("has a namespace"), "{plain}");
    world.sp(&["logout"]).ok();
    world.sp(&["publish", &file]).fails(2);
}

#[test]
fn se_07_a_token_is_kept_where_only_its_owner_reads_it_and_is_shown_nowhere() {
    use std::os::unix::fs::PermissionsExt;
    let (mut world, registry, admin) = running();
    let me = token(&registry, &admin, "me", "publish");
    world.set_env("SP_REGISTRY_TOKEN", &me);
    let run = world.sp(&["login", &registry.address, "--verbose"]).ok();
    assert!(!run.to_string().contains(&me), "{run}");
    let file = world.home().join(".skillpack/credentials.json");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    world.set_env("SP_REGISTRY_TOKEN", "");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let open = world.sp(&["yank", "@acme/notes@1.0.0"]).fails(4);
    assert!(open.stderr.contains("others can read") && !open.to_string().contains(&me), "{open}");
}

#[test]
fn pk_22_packages_are_found_by_their_words_even_if_they_are_written_a_little_wrong() {
    let (mut world, registry, admin) = running();
    let me = token(&registry, &admin, "me", "publish");
    for (name, said) in
        [("acme/postgres-notes", "a"), ("acme/kubernetes", "b"), ("acme/react-hooks", "c")]
    {
        let bytes = package(&format!("@{name}"), "1.0.0", said);
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
    for nothing in ["zzz", "xy", "%22%20OR%20%22", "*", "a%00b"] {
        assert_eq!(names(nothing, None), Vec::<String>::new(), "{nothing}");
    }
    for wrong in ["search", &format!("search?q={}", "x".repeat(300))] {
        assert_eq!(get(&registry, None, wrong).status, 400, "{wrong}");
    }
    registry.ask("PUT /api/v1/packages/acme/kubernetes/private", Some(&me), b"");
    assert_eq!(names("kubernetes", None), Vec::<String>::new());
    assert_eq!(names("kubernetes", Some(&me)), ["kubernetes"]);
    let run = world.sp(&["search", "postgers", "--registry", &registry.address]).ok();
    assert!(
        run.stdout.contains("@acme/postgres-notes") && run.stdout.contains("1 package"),
        "{run}"
    );
    world.set_env("SP_REGISTRY_TOKEN", &me);
    let run = world
        .sp(&["search", "kubernetes", "--registry", &registry.address, "--format", "plain"])
        .ok();
    assert_eq!(run.stdout, "@acme/kubernetes\t1.0.0\n");
}

#[test]
fn pk_25_names_and_numbers_that_cannot_be_are_not_there_and_break_nothing() {
    let (_world, registry, admin) = running();
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
    ] {
        let answer = registry.ask(request, Some(&admin), b"");
        assert_eq!(answer.status, status, "{request}: {answer:?}");
    }
    // What was not there to be ended is not told as done.
    let audit = get(&registry, Some(&admin), "audit").json();
    assert!(audit.as_array().unwrap().iter().all(|item| item["action"] != "revoke"), "{audit}");
}

#[test]
fn pk_25_a_range_behind_the_end_is_refused_with_the_length() {
    let (_world, registry, admin) = running();
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
