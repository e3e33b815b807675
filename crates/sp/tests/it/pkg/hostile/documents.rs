//! Documents: the files in packages of skills.

use super::*;

/// A document with the same bytes and another path.
fn copy_of(document: &Value, index: usize) -> Value {
    let mut copy = document.clone();
    copy["path"] = json!(format!("s/{index:03}"));
    copy
}

#[test]
fn pk_24_se_03_unsafe_or_colliding_document_paths_are_refused() {
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
        let package = documents(&[manual(), document(path, b"x")]);
        let file = package.write_to(&world, "bomb.ctxpkg");
        refused(&world, &["import", &file], "PK-24");
        assert!(records(&world).is_empty(), "{path:?}");
    }
    for (case, files) in [
        ("duplicates", vec![document("s/a", b"x"), document("s/a", b"y")]),
        ("case", vec![document("s/A", b"x"), document("s/a", b"y")]),
        ("normal forms", vec![document("s/e\u{301}", b"x"), document("s/\u{e9}", b"y")]),
        ("a file that is also a directory", vec![document("s/a", b"x"), document("s/a/b", b"y")]),
        ("colliding directories", vec![document("S/a", b"x"), document("s/b", b"y")]),
    ] {
        let files = [vec![manual()], files].concat();
        assert_invalid(&world, case, documents(&files).to_json(), "PK-24");
    }
}

#[test]
fn pk_24_se_04_decompression_bombs_are_refused_cheaply() {
    let world = project();
    let zeros = base64(&sp_tree::compress(&vec![0; 200 * MIB]));
    let with_body = |body: &str| json!({"path": "s/x", "sha256": "0".repeat(64), "encoding": "zstd+base64", "body": body});
    assert_invalid(
        &world,
        "200 MiB of zeros",
        documents(&[manual(), with_body(&zeros)]).to_json(),
        "package-file-bytes",
    );
    let mib = document("s/x", &vec![0; MIB]);
    let many: Vec<Value> = (0..256).map(|index| copy_of(&mib, index)).collect();
    assert_invalid(&world, "256 MiB in total", documents(&many).to_json(), "package-files-bytes");
    // A frame header with a window of 2 GiB.
    let window = base64(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x01, 0x00, 0x00]);
    assert_invalid(
        &world,
        "a huge window",
        documents(&[manual(), with_body(&window)]).to_json(),
        "PK-24",
    );
    // A frame header with a content size of 1 EiB.
    let size = base64(&[0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0x01, 0x00, 0x00]);
    assert_invalid(
        &world,
        "a huge size",
        documents(&[manual(), with_body(&size)]).to_json(),
        "PK-24",
    );
    let skip = base64(&[0x50, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff]);
    assert_invalid(
        &world,
        "a skippable frame",
        documents(&[manual(), with_body(&skip)]).to_json(),
        "PK-24",
    );
    for (case, body) in [
        ("invalid base64", "%%%"),
        ("not a frame", "AAAA"),
        ("empty", ""),
        ("URL-safe base64", "KLUv_Q=="),
        ("a line break", "KLUv\\n/Q=="),
    ] {
        assert_invalid(&world, case, documents(&[manual(), with_body(body)]).to_json(), "PK-24");
    }
    let two = base64(&[sp_tree::compress(b"x"), sp_tree::compress(b"y")].concat());
    assert_invalid(
        &world,
        "two frames",
        documents(&[manual(), with_body(&two)]).to_json(),
        "PK-24",
    );
}

#[test]
fn se_04_exceeded_total_size_is_reported_once() {
    let world = project();
    let mib = document("s/x", &vec![0; MIB]);
    let files: Vec<Value> = (0..256).map(|index| copy_of(&mib, index)).collect();
    let file = documents(&files).write_to(&world, "bomb.ctxpkg");
    let run = pkg(&world, &["import", &file]).fails(3);
    assert_eq!(run.stderr.matches("error[PK-24]").count(), 1, "{} bytes", run.stderr.len());
}

#[test]
fn pk_24_documents_with_invalid_members_are_refused() {
    let world = project();
    let with = |key: &str, value: Value| {
        let mut document = document("s/x", b"x");
        document[key] = value;
        documents(&[manual(), document]).to_json()
    };
    for (case, text) in [
        ("sha256", with("sha256", json!(Digest::of(b"y").hex()))),
        ("encoding", with("encoding", json!("gzip+base64"))),
        ("no encoding", with("encoding", Value::Null)),
        ("no body", with("body", Value::Null)),
        ("a number as path", with("path", json!(1))),
        (
            "files that are not a list",
            documents(&[]).with_content(r#"{"documents":{"files":{}}}"#).to_json(),
        ),
        ("no files", documents(&[]).with_content(r#"{"documents":{}}"#).to_json()),
        ("no documents", documents(&[]).with_content("{}").to_json()),
    ] {
        assert_invalid(&world, case, text, "PK-24");
    }
}

#[test]
fn pk_24_documents_are_accepted_up_to_each_limit() {
    let world = project();
    let small = |count: usize| -> Vec<Value> {
        (0..count).map(|index| document(&format!("s/{index:03}"), b"x")).collect()
    };
    let with_manual = |files: Vec<Value>| [vec![manual()], files].concat();
    assert_invalid(
        &world,
        "257 files",
        documents(&with_manual(small(256))).to_json(),
        "package-files=",
    );
    let large = |size: usize| document("s/large", &vec![b'x'; size]);
    assert_invalid(
        &world,
        "a file over 1 MiB",
        documents(&with_manual(vec![large(MIB + 1)])).to_json(),
        "package-file-bytes",
    );
    let manual_size = skill("s", "").len();
    let eight = |last: usize| -> Vec<Value> {
        let size = |index: usize| if index == 7 { last } else { MIB };
        let file = |index: usize| document(&format!("s/{index}"), &vec![b'x'; size(index)]);
        with_manual((0..8).map(file).collect())
    };
    assert_invalid(
        &world,
        "over 8 MiB in total",
        documents(&eight(MIB - manual_size + 1)).to_json(),
        "package-files-bytes",
    );
    for (name, files) in [
        ("many", with_manual(small(255))),
        ("large", with_manual(vec![large(MIB)])),
        ("total", eight(MIB - manual_size)),
    ] {
        let file = documents(&files).with("name", json!(name)).write_to(&world, "good.ctxpkg");
        pkg(&world, &["import", &file]).ok();
        pkg(&world, &["install", name, "--agent", "claude"]).ok();
        pkg(&world, &["uninstall", name]).ok();
    }
    // Packages are created with the same limits.
    world.skill("big");
    let path = world.repo().join("skills/big").display().to_string();
    let create = ["create", "--kind", "skills", "--name", "big", &path];
    world.write("skills/big/a", vec![b'x'; MIB + 1]);
    assert_mentions(&refused(&world, &create, "E-invalid-package"), &MIB.to_string());
    world.write("skills/big/a", vec![b'x'; MIB]);
    pkg(&world, &create).ok();
}
