//! Servers that send too much, too slowly or without an end: each is refused, the limit is named,
//! and neither `sp` nor the git that it starts takes more memory than the limit allows.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests make hostile repositories by hand"
)]

use std::process::Command;

use sp_testkit::{Answer, HttpServer, Measured, Repo, WebServer, World, gzip_blanks, world};

const MIB: usize = 1024 * 1024;
/// What a program that was built for tests takes before it has read anything.
const BASE_BYTES: u64 = 40 * MIB as u64;
/// The limit of memory that the tests set for git, to be quick.
const GIT_MEMORY_BYTES: u64 = 64 * MIB as u64;

/// Runs a command that must fail with this exit code and these words, within `max_bytes` of memory
/// for each process.
#[track_caller]
fn refused(
    world: &World,
    command: Command,
    (code, words): (i32, &[&str]),
    max_bytes: u64,
) -> Measured {
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
    for args in
        [&["search", "notes"][..], &["info", "@team/notes"], &["pkg", "install", "@team/notes"]]
    {
        let mut command = world.command(args);
        match args {
            ["pkg", ..] => {
                std::fs::create_dir_all(world.path("home/.skillpack")).unwrap();
                let config = format!("registries: ['{address}']\n");
                std::fs::write(world.path("home/.skillpack/config.yaml"), config).unwrap();
            }
            _ => drop(command.args(["--registry", &address])),
        }
        let words = [
            "cannot read the response of `http://127.0.0.1:[PORT]/api/v1/",
            "more than 16777216 bytes",
        ];
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
    let words =
        ["`http://127.0.0.1:[PORT]/x.zip` has more bytes than allowed", "--limit zip-bytes="];
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

// Git servers.

const ADVERTISEMENT: &str = "application/x-git-upload-pack-advertisement";
const RESULT: &str = "application/x-git-upload-pack-result";
/// Enough to show that nothing stops git: a client without a limit takes all of it.
const REFS_MIB: usize = 700;

/// A line of the git protocol.
fn packet(text: &str) -> Vec<u8> {
    format!("{:04x}{text}", text.len() + 4).into_bytes()
}

/// About a mebibyte of refs.
fn refs() -> Vec<u8> {
    (0..14_000)
        .flat_map(|number| packet(&format!("{number:040x} refs/heads/branch-{number}\n")))
        .collect()
}

/// An install of a pack that imports from this URL, with little memory for git.
fn install_from(world: &World, url: &str, limits: &[&str]) -> Command {
    world.pack("bad", &format!("name: bad\nimports:\n  - repo: {url}\n    include: ['**']\n"));
    let sink = world.path("sink").display().to_string();
    let memory = format!("git-memory-bytes={GIT_MEMORY_BYTES}");
    let args = ["install", "bad", "--agent", "custom", "--path", &sink, "--limit", &memory];
    let limits = limits.iter().flat_map(|limit| ["--limit", limit]);
    world.command(&args.into_iter().chain(limits).collect::<Vec<_>>())
}

#[track_caller]
fn out_of_memory(world: &World, url: &str) {
    let words = ["makes git use more memory than allowed", "--limit git-memory-bytes="];
    refused(world, install_from(world, url, &[]), (3, &words), GIT_MEMORY_BYTES + BASE_BYTES);
    assert!(!world.path("sink").exists());
}

#[test]
fn se_04_git_refs_of_the_first_protocol_without_an_end_take_no_more_than_the_limit() {
    let (world, server) = (world!(), WebServer::start());
    let start = [packet("# service=git-upload-pack\n"), b"0000".to_vec()].concat();
    let endless =
        Answer::Stream { content_type: ADVERTISEMENT, start, block: refs(), times: REFS_MIB };
    server.page("/smart/info/refs?service=git-upload-pack", endless);
    out_of_memory(&world, &server.url("/smart"));
}

#[test]
fn se_04_a_plain_list_of_git_refs_without_an_end_takes_no_more_than_the_limit() {
    let (world, server) = (world!(), WebServer::start());
    let block: Vec<u8> =
        (0..16_000).flat_map(|n| format!("{n:040x}\trefs/heads/b{n}\n").into_bytes()).collect();
    let endless =
        Answer::Stream { content_type: "text/plain", start: block.clone(), block, times: REFS_MIB };
    server.page("/dumb/info/refs?service=git-upload-pack", endless);
    out_of_memory(&world, &server.url("/dumb"));
}

#[test]
fn se_04_git_refs_of_the_second_protocol_without_an_end_take_no_more_than_the_limit() {
    let (world, server) = (world!(), WebServer::start());
    let lines = ["# service=git-upload-pack\n"].map(packet).concat();
    let capabilities =
        ["version 2\n", "ls-refs=unborn\n", "fetch=shallow filter\n", "object-format=sha1\n"];
    let start =
        [lines, b"0000".to_vec(), capabilities.map(packet).concat(), b"0000".to_vec()].concat();
    let answer = Answer::Stream { content_type: ADVERTISEMENT, start, block: Vec::new(), times: 0 };
    server.page("/v2/info/refs?service=git-upload-pack", answer);
    let endless =
        Answer::Stream { content_type: RESULT, start: refs(), block: refs(), times: REFS_MIB };
    server.page("/v2/git-upload-pack", endless);
    out_of_memory(&world, &server.url("/v2"));
}

#[test]
fn se_12_a_git_server_that_sends_nothing_is_given_up_and_the_limit_is_named() {
    let (world, server) = (world!(), WebServer::start());
    server.page("/silent/info/refs?service=git-upload-pack", Answer::Stall(b"001e".to_vec()));
    let run =
        world.run(install_from(&world, &server.url("/silent"), &["stall-seconds=1"])).fails(5);
    assert!(run.stderr.contains("the server sent nothing for 1 s"), "{run}");
    assert!(run.stderr.contains("`--limit stall-seconds=<seconds>`"), "{run}");
}

/// A repository with a skill of these files, none of which the server leaves out of a fetch.
fn served(world: &World, files: &[(&str, &[u8])]) -> (Repo, HttpServer) {
    let repo = world.git("shared");
    repo.skill("tools/x");
    for (path, bytes) in files {
        repo.write(&format!("tools/x/{path}"), bytes);
    }
    repo.commit("one");
    repo.git(&["config", "uploadpack.allowFilter", "false"]);
    let server = HttpServer::start(&world.path("git"));
    (repo, server)
}

#[test]
fn se_04_a_git_blob_that_inflates_to_much_is_refused_before_it_takes_memory() {
    let world = world!();
    let (_repo, server) = served(&world, &[("zeros", &vec![0; 480 * MIB])]);
    let words = ["`zeros` has 503316480 bytes", "--limit file-bytes="];
    let command = install_from(&world, &server.url("shared"), &[]);
    refused(&world, command, (3, &words), GIT_MEMORY_BYTES + BASE_BYTES);
    assert!(!world.path("sink").exists());
}

#[test]
fn se_04_a_git_delta_that_unfolds_to_much_is_refused_before_it_takes_memory() {
    let world = world!();
    // The second is stored as a difference to the first, and would be put together in memory.
    let (first, second) = (vec![0; 90 * MIB], [vec![0; 90 * MIB], b"and more".to_vec()].concat());
    let (repo, server) = served(&world, &[("first", &first), ("second", &second)]);
    repo.git(&["repack", "-a", "-d", "-q", "--window=10"]);
    let info = "%(objectsize) %(deltabase)";
    let blobs = repo.git(&["cat-file", "--batch-all-objects", &format!("--batch-check={info}")]);
    let is_delta = |line: &str| line.starts_with("94371") && !line.ends_with(&"0".repeat(40));
    assert!(blobs.lines().any(is_delta), "git stored no delta: {blobs}");
    out_of_memory(&world, &server.url("shared"));
}
