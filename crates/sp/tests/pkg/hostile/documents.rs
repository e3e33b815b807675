//! Documents.

use super::*;

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
            // What is harmless as a path may be taken; it is then written below the sink and
            // nowhere else.
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
