//! Packages made to harm: each is refused by its exit code, soon, with little memory, and nothing is stored.

use super::*;

/// What may be used at most while an attack is refused, in KiB.
const MEMORY: u64 = 100 * 1024;
const MIB: usize = 1024 * 1024;

/// How a run that is meant to be cheap went.
struct Cost {
    code: Option<i32>,
    stderr: String,
    /// The most memory that `sp` had, in KiB.
    memory: u64,
}

fn cost(world: &World, args: &[&str]) -> Cost {
    let start = Instant::now();
    let mut command = world.command(&[&["pkg"], args].concat());
    let log = world.path("stderr.log");
    command
        .current_dir(world.path("project"))
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log).unwrap());
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut memory = 0;
    let end = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        // Before it is called so, it is still a copy of ourselves.
        let text = text.strip_prefix("Name:\tsp\n").unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        memory = memory.max(peak.unwrap_or(0));
        if let Some(end) = child.try_wait().unwrap() {
            break end;
        }
        if start.elapsed() > HANG_TIMEOUT {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let stderr = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(log).unwrap();
    Cost { code: end.code(), stderr, memory }
}

/// Imports these bytes, which must be refused soon, cheaply, and without a trace.
#[track_caller]
fn bomb(world: &World, what: &str, bytes: impl AsRef<[u8]>, code: i32, words: &str) {
    let file = write(world, "bomb.ctxpkg", bytes);
    let before = (records(world), world.files("project"));
    let cost = cost(world, &["import", &file]);
    let said: String = cost.stderr.chars().take(2000).collect();
    assert_eq!(cost.code, Some(code), "{what}: with {} KiB: {said}", cost.memory);
    assert!(cost.stderr.contains(words), "{what}: `{words}` is not in {said}");
    assert!(cost.stderr.len() < 200_000, "{what}: says {} bytes", cost.stderr.len());
    assert!(cost.memory < MEMORY, "{what}: it took {} KiB", cost.memory);
    assert_eq!((records(world), world.files("project")), before, "{what}: something was stored");
    no_leftovers(world, what);
}

fn good() -> Made {
    Made::new("x", "1.0.0")
}

// Form.

#[test]
fn pk_01_se_04_bombs_of_json_are_refused_cheaply() {
    let world = project();
    let keys: String = (0..900_000).map(|at| format!("\"{at}\":0,")).collect();
    for (what, text) in [
        ("brackets", "[".repeat(10 * MIB - 1)),
        ("braces", "{\"a\":".repeat(2_000_000)),
        (
            "nested in the content",
            good().holds(&format!("{{\"a\":{}}}", "[".repeat(9_000_000))).text(),
        ),
        ("nearly a million keys and no package", format!("{{{keys}\"manifest\":1}}")),
        ("a million digits and no package", format!("{{\"manifest\":{}}}", "1".repeat(1_000_000))),
        ("a million backslashes", format!("{{\"manifest\":\"{}\"}}", "\\\\".repeat(1_000_000))),
        ("a string without end", format!("{{\"manifest\":\"{}", "x".repeat(9_000_000))),
        ("commas", format!("[{}", "0,".repeat(5_000_000))),
    ] {
        bomb(&world, what, text, 3, "PK-01");
    }
    let long = good().with("name", json!("x".repeat(5_000_000)));
    bomb(&world, "a name of five million letters", long.text(), 3, "PK-03");
    let keys: String = (0..500_000).map(|at| format!("\"k{at}\":0,")).collect();
    let twice = good().holds(&format!("{{{keys}\"k0\":1}}"));
    bomb(&world, "a twin among half a million", twice.text(), 3, "PK-01");
}

#[test]
fn se_04_long_lists_in_a_manifest_are_cheap() {
    let world = project();
    let many = |item: &dyn Fn(usize) -> Value| Value::Array((0..100_000).map(item).collect());
    for (what, key, list) in [
        ("tags", "tags", many(&|_| json!(1))),
        ("layers", "layers", many(&|_| json!(1))),
        ("unknown layers", "layers", many(&|at| json!(at.to_string()))),
        ("the same layer", "layers", many(&|_| json!("knowledge"))),
        ("dependencies", "dependencies", many(&|_| json!(1))),
        (
            "bad ranges",
            "dependencies",
            many(&|at| json!({"name": format!("y{at}"), "version_req": "!"})),
        ),
        ("the same dependency", "dependencies", many(&|_| json!({"name": "y"}))),
        ("conflicts", "conflicts", many(&|_| json!(1))),
    ] {
        let file = good().with(key, list).put(&world, "bomb.ctxpkg");
        let cost = cost(&world, &["verify", &file]);
        assert!(cost.stderr.len() < 200_000, "{what}: says {} bytes", cost.stderr.len());
        assert!(cost.memory < MEMORY, "{what}: it took {} KiB", cost.memory);
    }
}

#[test]
fn se_04_long_lists_in_the_content_are_cheap() {
    let world = project();
    let graph = |nodes: &str, edges: &str| {
        format!(r#"{{"context_graph":{{"nodes":[{nodes}],"edges":[{edges}]}}}}"#)
    };
    let many = |item: &str| vec![item; 100_000].join(",");
    for (what, content) in [
        ("nodes", graph(&many("{}"), "")),
        ("numbers for nodes", graph(&many("0"), "")),
        ("twins", graph(&many(r#"{"id":"a","type":"f","content":"x"}"#), "")),
        ("edges", graph("", &many("{}"))),
        ("edges that lead nowhere", graph("", &many(r#"{"from":"a","to":"b","type":"t"}"#))),
        ("facts", format!(r#"{{"knowledge":{{"facts":[{}]}}}}"#, many("{}"))),
    ] {
        let file = good().holds(&content).put(&world, "bomb.ctxpkg");
        let cost = cost(&world, &["verify", &file]);
        assert!(cost.stderr.len() < 200_000, "{what}: says {} bytes", cost.stderr.len());
        assert!(cost.memory < MEMORY, "{what}: it took {} KiB", cost.memory);
    }
}

#[test]
fn pk_01_what_is_no_single_json_object_is_refused() {
    let world = project();
    let text = good().text();
    for (what, text) in [
        ("nothing", String::new()),
        ("a byte order mark", format!("\u{feff}{text}")),
        ("something behind", format!("{text} x")),
        ("two of them", format!("{text}{text}")),
        ("a NUL behind", format!("{text}\0")),
        ("a list", format!("[{text}]")),
        ("NaN", text.replace("1.0}", "NaN}")),
        ("Infinity", text.replace("1.0}", "Infinity}")),
        ("a leading zero", text.replace("\"conformance_level\":1", "\"conformance_level\":01")),
        ("a plus", text.replace("\"conformance_level\":1", "\"conformance_level\":+1")),
        ("hex", text.replace("\"conformance_level\":1", "\"conformance_level\":0x1")),
        ("a comment", text.replace("{\"manifest\"", "{/**/\"manifest\"")),
        ("a trailing comma", text.replace("\"edges\":[]", "\"edges\":[],")),
        ("single quotes", text.replace("\"edges\"", "'edges'")),
        ("a control character", text.replace("A test.", "A\u{1}test.")),
        ("a line feed in a string", text.replace("A test.", "A\ntest.")),
        ("a NUL in a string", text.replace("A test.", "A\0test.")),
        ("a lone surrogate", text.replace("A test.", "\\ud800")),
        ("a bad escape", text.replace("A test.", "\\x41")),
        ("a twin at the top", text.replacen('{', "{\"manifest\":{},", 1)),
        ("a twin in the manifest", text.replace("\"layers\"", "\"name\":\"y\",\"layers\"")),
        ("a twin by an escape", text.replace("\"layers\"", "\"n\\u0061me\":\"y\",\"layers\"")),
        ("a twin in the content", text.replace("\"edges\":[]", "\"edges\":[],\"edges\":[]")),
        ("a twin in a node", text.replace("\"id\":", "\"\\u0069d\":\"z\",\"id\":")),
        ("no content", text.replace("\"content\":{", "\"contents\":{")),
        ("no manifest", text.replace("\"manifest\":", "\"manifests\":")),
        ("a space that JSON does not know", text.replacen('{', "{\u{a0}", 1)),
    ] {
        bomb(&world, what, text, 3, "PK-01");
    }
    let mut latin = text.into_bytes();
    latin[30] = 0xe9;
    bomb(&world, "no UTF-8", latin, 3, "UTF-8");
}

#[test]
fn pk_01_nesting_of_128_is_taken_and_129_is_not() {
    let world = project();
    // The document, its content and the member are three of them.
    let nested = |depth: usize| {
        good().holds(&format!("{{\"a\":{}1{}}}", "[".repeat(depth - 2), "]".repeat(depth - 2)))
    };
    bomb(&world, "129 deep", nested(129).text(), 3, "PK-01");
    let file = nested(128).put(&world, "deep.ctxpkg");
    pkg(&world, &["import", &file]).ok();
}

#[test]
fn pk_01_ten_mebibytes_are_taken_and_one_more_is_not_unless_it_is_said() {
    let world = project();
    let sized = |name: &str, size: usize| {
        let made = |fill: usize| {
            Made::new(name, "1.0.0").holds(&format!("{{\"z\":\"{}\"}}", "z".repeat(fill)))
        };
        // The number of bytes stands in it too, and may have a digit more.
        let text = made(size - made(0).text().len() - 16).text();
        let pad = size - text.len();
        text + &" ".repeat(pad)
    };
    let past = sized("past", 10 * MIB + 1);
    bomb(&world, "past the limit", &past, 3, "--max-size");
    let at = write(&world, "at.ctxpkg", sized("at", 10 * MIB));
    pkg(&world, &["import", &at]).ok();
    let file = write(&world, "past.ctxpkg", &past);
    pkg(&world, &["import", &file, "--max-size", "20000000"]).ok();
    pkg(&world, &["export", "past", "--output", "out.ctxpkg"]).ok();
    assert!(read(&world, "project/out.ctxpkg") == past);
    pkg(&world, &["install", "past"]).ok();
    std::fs::File::create(world.path("sparse.ctxpkg")).unwrap().set_len(1 << 40).unwrap();
    let sparse = world.path("sparse.ctxpkg").display().to_string();
    let cost = cost(&world, &["import", &sparse]);
    assert!(cost.code == Some(3) && cost.memory < MEMORY, "{}", cost.stderr);
}

// Names and versions.

#[test]
fn pk_03_se_03_names_and_versions_that_are_paths_are_refused() {
    let world = project();
    let long = "x".repeat(129);
    let scoped = format!("@{}/y", "x".repeat(126));
    for name in [
        "../../x",
        "@a/../b",
        "@a/..",
        "@../b",
        "..",
        ".",
        "",
        "a/b",
        "/etc/passwd",
        "a\\b",
        "@a",
        "@/b",
        "@a/",
        "@a/b/c",
        "a b",
        "a\u{0}b",
        "\u{e9}",
        "a\u{202e}b",
        "C:x",
        "a+b",
        &long,
        &scoped,
        "x\n",
    ] {
        bomb(&world, name, good().with("name", json!(name)).text(), 3, "PK-03");
    }
    let long = format!("1.0.0-{}", "9".repeat(59));
    assert_eq!(long.len(), 65);
    for version in ["../1", "..", ".1", "", "1/2", "1 0", "1\u{0}", &long, "1.0.0\u{202e}"] {
        bomb(&world, version, good().with("version", json!(version)).text(), 3, "PK-03");
    }
    for dependency in ["../../x", "", "@a"] {
        bomb(&world, dependency, good().needs(&[(dependency, "*")]).text(), 3, "PK-05");
    }
    for (key, value) in [
        ("name", json!(1)),
        ("version", json!(1.0)),
        ("name", Value::Null),
        ("schema_version", json!(3)),
        ("schema_version", json!("2")),
    ] {
        bomb(&world, key, good().with(key, value).text(), 3, "PK-03");
    }
}

#[test]
fn pk_03_the_longest_names_and_versions_are_taken() {
    let world = project();
    let name = "n".repeat(128);
    let version = format!("1.0.0-a{}", "9".repeat(57));
    assert_eq!(version.len(), 64);
    import(
        &world,
        &[
            Made::new(&name, &version),
            Made::new(&format!("@{}/y", "x".repeat(125)), "99999999999999999999.0.0"),
        ],
    );
    pkg(&world, &["install", &name]).ok();
    pkg(&world, &["export", &name]).ok();
    let run = pkg(&world, &["list"]).ok();
    assert!(run.stdout.contains("nnnn"), "{run}");
}

#[test]
fn pk_04_a_kind_that_nobody_knows_is_refused_by_name() {
    let world = project();
    for kind in [json!("trojan"), json!("Context"), json!(""), json!(1), json!(["skills"])] {
        bomb(&world, &kind.to_string(), good().with("kind", kind.clone()).text(), 3, "PK-04");
    }
    let old = good()
        .with("kind", json!("addon"))
        .with("schema_version", json!(1))
        .with("layers", json!(["knowledge"]));
    bomb(&world, "an addon of schema 1", old.text(), 3, "needs schema 2");
    bomb(&world, "level 4", good().with("conformance_level", json!(4)).text(), 3, "PK-04");
}

// Hashes.

#[test]
fn pk_10_what_does_not_hash_to_what_it_says_is_refused_by_exit_code_4() {
    let world = project();
    let made = good();
    let integrity = made.manifest()["integrity"].clone();
    let with = |key: &str, value: Value| {
        let mut integrity = integrity.clone();
        integrity[key] = value;
        good().with("integrity", integrity).text()
    };
    for (what, text, words) in [
        (
            "content",
            made.text().replace("It is so.", "It is No."),
            "content is not what was hashed",
        ),
        (
            "a space in a string",
            made.text().replace("It is so.", "It  is so."),
            "content is not what was hashed",
        ),
        (
            "another spelling",
            made.text().replace("It is so.", "\\u0049t is so."),
            "content is not what was hashed",
        ),
        ("another number", made.text().replace("1.0}", "1.00}"), "content is not what was hashed"),
        ("name", made.text().replace("\"name\":\"x\"", "\"name\":\"y\""), "do not belong together"),
        ("version", made.text().replace("\"1.0.0\"", "\"1.0.1\""), "do not belong together"),
        ("composite", with("sha256", json!("0".repeat(64))), "do not belong together"),
        ("size", with("byte_size", json!(1)), "size"),
        (
            "upper case",
            with("content_hash", json!(integrity["content_hash"].as_str().unwrap().to_uppercase())),
            "PK-08",
        ),
    ] {
        bomb(&world, what, text, 4, words);
    }
    for (what, text) in [
        ("no integrity", with("sha256", Value::Null)),
        ("a size of text", with("byte_size", json!("1"))),
        ("a negative size", with("byte_size", json!(-1))),
    ] {
        bomb(&world, what, text, 3, "PK-08");
    }
    let signed = good().signed(1, Signs::Whole).text();
    let value = good().signed(1, Signs::Whole).manifest()["signature"].clone();
    for (what, text) in [
        ("another key", signed.replace(&public(1), &public(2))),
        ("a key of zeros", signed.replace(&public(1), &"0".repeat(64))),
        ("another algorithm", signed.replace("ed25519", "none")),
        ("a description", signed.replace("A test.", "A trap.")),
        ("a member more", signed.replace("\"layers\"", "\"more\":1,\"layers\"")),
        ("a signature of text", signed.replace(&value.to_string(), "\"yes\"")),
        ("an empty signature", signed.replace(&value.to_string(), "{}")),
        (
            "upper case",
            signed.replace(
                value["value"].as_str().unwrap(),
                &value["value"].as_str().unwrap().to_uppercase(),
            ),
        ),
    ] {
        bomb(&world, what, text, 4, "PK-1");
    }
}

// Documents.

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |sum, byte| sum << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * at) & 63) as usize];
            text.push(if at > chunk.len() { '=' } else { char::from(digit) });
        }
    }
    text
}

/// A document of these bytes, as it stands in a package.
pub(super) fn document(path: &str, bytes: &[u8]) -> Value {
    json!({"path": path, "sha256": Digest::of(bytes).hex(), "encoding": "zstd+base64", "body": base64(&sp_tree::compress(bytes))})
}

pub(super) fn documents(files: &[Value]) -> Made {
    let mut made =
        Made::skills("x", "1.0.0", &[]).holds(&json!({"documents": {"files": files}}).to_string());
    made.manifest.remove("conformance_level");
    made
}

pub(super) fn manual() -> Value {
    document("s/SKILL.md", skill("s", "").as_bytes())
}

#[test]
fn pk_24_se_03_documents_that_lead_out_or_collide_are_refused() {
    let world = project();
    for path in [
        "../x",
        "s/../../x",
        "/etc/passwd",
        "..",
        ".",
        "",
        "s//x",
        "s/./x",
        "s/x/",
        "s\\..\\x",
        "s/\u{0}",
        "s/a\nb",
        "~/x/..",
        "s/con",
    ] {
        let file = world.path("bomb.ctxpkg").display().to_string();
        let made = documents(&[manual(), document(path, b"x")]);
        made.put(&world, "bomb.ctxpkg");
        let run = pkg(&world, &["import", &file]);
        if run.code == Some(0) {
            // What is harmless as a path may be taken; it is then written below the sink and nowhere else.
            let before = world.files("home/.ssh");
            pkg(&world, &["install", &file, "--agent", "claude"]);
            assert_eq!(world.files("home/.ssh"), before);
            panic!("{path:?} is taken: {:?}", world.files("home/.claude"));
        }
        assert!(run.code == Some(3) && run.stderr.contains("PK-24"), "{path:?}: {run}");
        assert!(records(&world).is_empty(), "{path:?}");
    }
    for (what, files) in [
        ("twins", vec![document("s/a", b"x"), document("s/a", b"y")]),
        ("case", vec![document("s/A", b"x"), document("s/a", b"y")]),
        ("normal forms", vec![document("s/e\u{301}", b"x"), document("s/\u{e9}", b"y")]),
        ("a file that is a folder", vec![document("s/a", b"x"), document("s/a/b", b"y")]),
        ("folders that collide", vec![document("S/a", b"x"), document("s/b", b"y")]),
    ] {
        let files = [vec![manual()], files].concat();
        bomb(&world, what, documents(&files).text(), 3, "PK-24");
    }
}

#[test]
fn pk_24_se_04_frames_that_explode_are_refused_cheaply() {
    let world = project();
    let zeros = base64(&sp_tree::compress(&vec![0; 200 * MIB]));
    let lie = |body: &str| json!({"path": "s/x", "sha256": "0".repeat(64), "encoding": "zstd+base64", "body": body});
    bomb(
        &world,
        "200 MiB of zeros",
        documents(&[manual(), lie(&zeros)]).text(),
        3,
        "package-file-bytes",
    );
    let mib = document("s/x", &vec![0; MIB]);
    let many: Vec<Value> = (0..256).map(|at| json!({"path": format!("s/{at:03}"), "sha256": mib["sha256"], "encoding": mib["encoding"], "body": mib["body"]})).collect();
    bomb(&world, "256 MiB in all", documents(&many).text(), 3, "package-files-bytes");
    // A frame whose header asks for a window of two gigabytes.
    let window = base64(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x01, 0x00, 0x00]);
    bomb(&world, "a huge window", documents(&[manual(), lie(&window)]).text(), 3, "PK-24");
    // A frame that says that it holds an exabyte.
    let size = base64(&[0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0x01, 0x00, 0x00]);
    bomb(&world, "a huge size", documents(&[manual(), lie(&size)]).text(), 3, "PK-24");
    let skip = base64(&[0x50, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff]);
    bomb(&world, "a frame that is skipped", documents(&[manual(), lie(&skip)]).text(), 3, "PK-24");
    for (what, body) in [
        ("no base64", "%%%"),
        ("no frame", "AAAA"),
        ("nothing", ""),
        ("base64 for URLs", "KLUv_Q=="),
        ("a break", "KLUv\\n/Q=="),
    ] {
        bomb(&world, what, documents(&[manual(), lie(body)]).text(), 3, "PK-24");
    }
    let two = base64(&[sp_tree::compress(b"x"), sp_tree::compress(b"y")].concat());
    bomb(&world, "two frames", documents(&[manual(), lie(&two)]).text(), 3, "PK-24");
}

#[test]
fn se_04_that_the_sum_is_too_large_is_said_once() {
    let world = project();
    let mib = document("s/x", &vec![0; MIB]);
    let file = |at: usize| json!({"path": format!("s/{at:03}"), "sha256": mib["sha256"], "encoding": mib["encoding"], "body": mib["body"]});
    let file = documents(&(0..256).map(file).collect::<Vec<_>>()).put(&world, "bomb.ctxpkg");
    let run = pkg(&world, &["import", &file]).fails(3);
    assert_eq!(run.stderr.matches("error[PK-24]").count(), 1, "{} bytes", run.stderr.len());
}

#[test]
fn pk_24_documents_that_are_not_what_they_say_are_refused() {
    let world = project();
    let with = |key: &str, value: Value| {
        let mut document = document("s/x", b"x");
        document[key] = value;
        documents(&[manual(), document]).text()
    };
    for (what, text) in [
        ("sha256", with("sha256", json!(Digest::of(b"y").hex()))),
        ("encoding", with("encoding", json!("gzip+base64"))),
        ("no encoding", with("encoding", Value::Null)),
        ("no body", with("body", Value::Null)),
        ("a path of numbers", with("path", json!(1))),
        ("files that are no list", documents(&[]).holds(r#"{"documents":{"files":{}}}"#).text()),
        ("no files", documents(&[]).holds(r#"{"documents":{}}"#).text()),
        ("no documents", documents(&[]).holds("{}").text()),
    ] {
        bomb(&world, what, text, 3, "PK-24");
    }
}

#[test]
fn pk_24_documents_at_each_limit_are_taken_and_one_past_it_are_not() {
    let world = project();
    let small = |count: usize| -> Vec<Value> {
        (0..count).map(|at| document(&format!("s/{at:03}"), b"x")).collect()
    };
    let with_manual = |files: Vec<Value>| [vec![manual()], files].concat();
    bomb(&world, "257 files", documents(&with_manual(small(256))).text(), 3, "package-files=");
    let large = |size: usize| document("s/large", &vec![b'x'; size]);
    bomb(
        &world,
        "a file over 1 MiB",
        documents(&with_manual(vec![large(MIB + 1)])).text(),
        3,
        "package-file-bytes",
    );
    let manual_size = skill("s", "").len();
    let eight = |last: usize| -> Vec<Value> {
        let file =
            |at: usize| document(&format!("s/{at}"), &vec![b'x'; if at == 7 { last } else { MIB }]);
        with_manual((0..8).map(file).collect())
    };
    bomb(
        &world,
        "over 8 MiB in all",
        documents(&eight(MIB - manual_size + 1)).text(),
        3,
        "package-files-bytes",
    );
    for (name, files) in [
        ("many", with_manual(small(255))),
        ("large", with_manual(vec![large(MIB)])),
        ("all", eight(MIB - manual_size)),
    ] {
        let file = documents(&files).with("name", json!(name)).put(&world, "good.ctxpkg");
        pkg(&world, &["import", &file]).ok();
        pkg(&world, &["install", name, "--agent", "claude"]).ok();
        pkg(&world, &["uninstall", name]).ok();
    }
    let skill_of = |files: &[(&str, usize)]| {
        for (path, size) in files {
            world.write(&format!("skills/big/{path}"), vec![b'x'; *size]);
        }
        world.skill("big");
        let path = world.repo().join("skills/big").display().to_string();
        let run = pkg(&world, &["create", "--kind", "skills", "--name", "big", &path]);
        std::fs::remove_dir_all(world.repo().join("skills/big")).unwrap();
        run
    };
    assert!(
        skill_of(&[("a", MIB + 1)]).fails(3).stderr.contains("at the most"),
        "writing has the same limits"
    );
    skill_of(&[("a", MIB)]).ok();
}

// What is shown.

#[test]
fn se_08_text_from_packages_is_shown_escaped() {
    let world = project();
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}gnp.exe\u{9b}31m\r\u{200b}";
    let made = Made::new("x", "1.0.0")
        .with("description", json!(evil))
        .with("author", json!(evil))
        .with("tags", json!([evil]))
        .with("updated_at", json!(evil))
        .with("provenance", json!({"tool": evil, "tool_version": evil}))
        .with("scope", json!(evil))
        .with(evil, json!(1))
        .with("graph_summary", json!({"node_count": evil}))
        .with("layers", json!([evil]))
        .with("dependencies", json!([{"name": "y", "version_req": evil, "optional": true}]));
    let node =
        json!({"id": evil, "type": evil, "content": evil, "activation": 1.0, "file_path": evil});
    let edge = json!({"from": evil, "to": evil, "type": evil});
    let graph = |nodes: Value| {
        json!({evil: 1, "context_graph": {"format": evil, "nodes": nodes, "edges": [edge]}})
            .to_string()
    };
    let file = made.clone().holds(&graph(json!([node]))).put(&world, "x.ctxpkg");
    let other = made
        .clone()
        .holds(&graph(json!([])))
        .with("version", json!("2.0.0"))
        .put(&world, "y.ctxpkg");
    let bad = made.clone().with("name", json!(evil)).put(&world, "bad.ctxpkg");
    let kind = made.clone().with("kind", json!(evil)).put(&world, "kind.ctxpkg");
    let hash = made
        .with("integrity", json!({"sha256": evil, "content_hash": evil, "byte_size": 1}))
        .put(&world, "hash.ctxpkg");
    let path = documents(&[manual(), document(evil, b"x")]).put(&world, "path.ctxpkg");
    for format in ["human", "plain"] {
        for args in [
            &["import", file.as_str(), &other][..],
            &["info", &file],
            &["info", "x"],
            &["list"],
            &["log", "x"],
            &["verify", &file],
            &["diff", &file, &other],
            &["diff", &other, &file],
            &["import", &bad],
            &["import", &kind],
            &["import", &hash],
            &["import", &path],
            &["verify", &hash],
            &["install", "x", "--dry-run"],
            &["info", evil],
            &["remove", evil],
            &["export", evil],
            &["rollback", evil],
            &["uninstall", evil],
            &["create", "--name", evil, "--from", "."],
        ] {
            let run = pkg(&world, &[args, &["--format", format]].concat());
            for text in [&run.stdout, &run.stderr] {
                let odd = |c: char| {
                    c.is_control() && c != '\n' && c != '\t' || "\u{202e}\u{9b}\u{200b}".contains(c)
                };
                let shown: Vec<&str> = text.lines().filter(|line| line.contains(odd)).collect();
                assert!(shown.is_empty(), "{args:?} as {format}: {shown:?}");
            }
        }
    }
}

#[test]
fn se_08_a_plain_line_is_one_item_whatever_a_package_says() {
    let world = project();
    let made = Made::new("x", "1.0.0").with("description", json!("a\nx\t9.9.9\tsha256:0"));
    import(&world, &[made]);
    assert_eq!(pkg(&world, &["list", "--format", "plain"]).ok().stdout.lines().count(), 1);
    assert_eq!(pkg(&world, &["log", "x", "--format", "plain"]).ok().stdout.lines().count(), 1);
}
