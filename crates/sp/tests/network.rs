//! Servers that send too much, too slowly or without an end: each is refused, the limit is named, and `sp` takes
//! no more memory than the limit allows.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests make hostile repositories by hand")]

use std::process::Command;

use sp_testkit::{Answer, Measured, WebServer, World, gzip_blanks, world};

const MIB: usize = 1024 * 1024;
/// What a program that was built for tests takes before it has read anything.
const BASE_BYTES: u64 = 40 * MIB as u64;

/// Runs a command that must fail with this exit code and these words, within `max_bytes` of memory for each process.
#[track_caller]
fn refused(world: &World, command: Command, (code, words): (i32, &[&str]), max_bytes: u64) -> Measured {
    let measured = world.measure(command);
    let Measured { run, peak_bytes } = &measured;
    assert_eq!(run.code, Some(code), "{run}");
    for words in words {
        assert!(run.stderr.contains(words), "`{words}` is missing: {run}");
    }
    assert!(*peak_bytes < max_bytes, "a process took {} MiB: {run}", *peak_bytes / MIB as u64);
    measured
}

// Response bodies.

#[test]
fn se_04_a_compressed_response_of_a_registry_counts_by_its_decompressed_size() {
    let (world, server) = (world!(), WebServer::start());
    let bomb = gzip_blanks(320 * MIB);
    assert!(bomb.len() < 3 * MIB, "{}", bomb.len());
    server.everywhere(Answer::Gzip(bomb));
    let address = server.url("");
    for args in [&["search", "notes"][..], &["info", "@team/notes"], &["pkg", "install", "@team/notes"]] {
        let mut command = world.command(args);
        match args {
            ["pkg", ..] => {
                std::fs::create_dir_all(world.path("home/.skillpack")).unwrap();
                let config = format!("registries: ['{address}']\n");
                std::fs::write(world.path("home/.skillpack/config.yaml"), config).unwrap();
            }
            _ => drop(command.args(["--registry", &address])),
        }
        let words = ["cannot read the response of `http://127.0.0.1:[PORT]/api/v1/", "more than 16777216 bytes"];
        refused(&world, command, (3, &words), 48 * MIB as u64 + BASE_BYTES);
    }
    // What is too large is too large the next time, too.
    assert!(server.asked().len() < 8, "{:?}", server.asked());
}

#[test]
fn se_04_a_compressed_answer_to_a_sent_package_counts_by_its_decompressed_size() {
    let (world, server) = (world!(), WebServer::start());
    server.everywhere(Answer::Gzip(gzip_blanks(320 * MIB)));
    world.skill("notes");
    world.sp(&["pkg", "create", "--name", "notes", "--kind", "skills", "skills/notes"]).ok();
    let mut command = world.command(&["pkg", "send", "notes", "--target", &server.url("")]);
    command.env("SP_TRANSPORT_SECRET", "shared");
    let words = ["cannot read the response of `http://127.0.0.1:[PORT]/", "more than 65536 bytes"];
    refused(&world, command, (3, &words), 8 * MIB as u64 + BASE_BYTES);
}

#[test]
fn se_04_a_compressed_zip_from_the_web_counts_by_its_decompressed_size() {
    let (world, server) = (world!(), WebServer::start());
    let url = server.page("/x.zip", Answer::Gzip(gzip_blanks(320 * MIB)));
    let command = world.command(&["context", "check", &url, "--limit", "zip-bytes=1000000"]);
    let words = ["`http://127.0.0.1:[PORT]/x.zip` has more bytes than allowed", "--limit zip-bytes="];
    refused(&world, command, (3, &words), 8 * MIB as u64 + BASE_BYTES);
}

#[test]
fn se_04_a_chunked_response_that_does_not_end_is_cut_off() {
    let (world, server) = (world!(), WebServer::start());
    let endless = Answer::Stream {
        content_type: "application/json",
        start: b"{\"packages\":[".to_vec(),
        block: vec![b' '; MIB],
        times: 600,
    };
    server.everywhere(endless);
    let command = world.command(&["search", "notes", "--registry", &server.url("")]);
    refused(&world, command, (3, &["more than 16777216 bytes"]), 48 * MIB as u64 + BASE_BYTES);
}

#[test]
fn se_12_a_server_that_sends_nothing_is_given_up_and_the_limit_is_named() {
    let (world, server) = (world!(), WebServer::start());
    let url = server.page("/x.zip", Answer::Stall(b"PK".to_vec()));
    let run = world.sp(&["context", "check", &url, "--limit", "stall-seconds=1"]).fails(5);
    assert!(run.stderr.contains("the server sent nothing for 1 s"), "{run}");
    assert!(run.stderr.contains("`--limit stall-seconds=<seconds>`"), "{run}");
}

#[test]
fn se_12_a_server_that_sends_a_byte_now_and_then_is_given_up_and_the_limit_is_named() {
    let (world, server) = (world!(), WebServer::start());
    let url = server.page("/x.zip", Answer::Trickle);
    let limits = ["--limit", "download-seconds=2", "--limit", "stall-seconds=1"];
    let run = world.sp(&[&["context", "check", &url], &limits[..]].concat()).fails(5);
    assert!(run.stderr.contains("the download was not complete after 2 s"), "{run}");
    assert!(run.stderr.contains("`--limit download-seconds=<seconds>`"), "{run}");
}
