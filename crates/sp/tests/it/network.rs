//! Servers that send too much, too slowly or endlessly. Each is an error that names the limit, and
//! neither `sp` nor its git process uses more memory than allowed.

use std::process::Command;

use sp_testkit::{
    CliError, GitRepository, HttpServer, MeasuredRun, WebResponse, WebServer, World, gzip_blanks,
    world,
};

const MIB: usize = 1024 * 1024;
/// The memory of a debug build before it has read anything.
const BASE_BYTES: u64 = 40 * MIB as u64;
/// A small memory limit for git, which makes the tests fast.
const GIT_MEMORY_BYTES: u64 = 64 * MIB as u64;

/// Runs a command whose input must exceed a limit, with at most `max_bytes` of memory for each
/// process.
#[track_caller]
fn limit_error(world: &World, mut command: Command, max_bytes: u64) -> CliError {
    command.args(["--format", "json"]);
    let MeasuredRun { run, peak_bytes } = world.measure(command);
    assert!(peak_bytes < max_bytes, "a process used {} MiB: {run}", peak_bytes / MIB as u64);
    run.error()
}

#[test]
fn se_04_compressed_registry_response_counts_decompressed() {
    let (world, server) = (world!(), WebServer::start());
    let bomb = gzip_blanks(320 * MIB);
    assert!(bomb.len() < 3 * MIB, "{}", bomb.len());
    server.respond_to_others(WebResponse::Gzip(bomb));
    let url = server.url("");
    for args in
        [&["search", "notes"][..], &["info", "@team/notes"], &["pkg", "install", "@team/notes"]]
    {
        let mut command = world.command(args);
        if args[0] == "pkg" {
            std::fs::create_dir_all(world.path("home/.skillpack")).unwrap();
            let config = format!("registries: ['{url}']\n");
            std::fs::write(world.path("home/.skillpack/config.yaml"), config).unwrap();
        } else {
            command.args(["--registry", &url]);
        }
        let error = limit_error(&world, command, 48 * MIB as u64 + BASE_BYTES);
        assert_eq!(error.code, "E-invalid-response");
        assert!(error.message.contains("`http://127.0.0.1:[PORT]/api/v1/"), "{error:#?}");
        assert!(error.because.concat().contains("16 MiB"), "{error:#?}");
    }
    // Exceeding a limit is not retried.
    assert!(server.requested_paths().len() < 8, "{:?}", server.requested_paths());
}

#[test]
fn se_04_compressed_response_to_a_sent_package_counts_decompressed() {
    let (world, server) = (world!(), WebServer::start());
    server.respond_to_others(WebResponse::Gzip(gzip_blanks(320 * MIB)));
    world.skill("notes");
    world.sp(&["pkg", "create", "--name", "notes", "--kind", "skills", "skills/notes"]).ok();
    let mut command = world.command(&["pkg", "send", "notes", "--target", &server.url("")]);
    command.env("SP_TRANSPORT_SECRET", "shared");
    let error = limit_error(&world, command, 8 * MIB as u64 + BASE_BYTES);
    assert_eq!(error.code, "E-invalid-response");
    assert!(error.message.contains("`http://127.0.0.1:[PORT]/"), "{error:#?}");
    assert!(error.because.concat().contains("64 KiB"), "{error:#?}");
}

#[test]
fn se_04_compressed_zip_download_counts_decompressed() {
    let (world, server) = (world!(), WebServer::start());
    let url = server.respond("/x.zip", WebResponse::Gzip(gzip_blanks(320 * MIB)));
    let command = world.command(&["context", "show", &url, "--limit", "zip-bytes=1000000"]);
    let error = limit_error(&world, command, 8 * MIB as u64 + BASE_BYTES);
    assert_eq!(error.code, "E-limit-exceeded");
    assert!(error.message.contains("`http://127.0.0.1:[PORT]/x.zip`"), "{error:#?}");
    assert!(error.hints_at("--limit zip-bytes="), "{error:#?}");
}

#[test]
fn se_04_endless_chunked_response_is_cut_off() {
    let (world, server) = (world!(), WebServer::start());
    let endless = WebResponse::Stream {
        content_type: "application/json",
        start: b"{\"packages\":[".to_vec(),
        block: vec![b' '; MIB],
        times: 600,
    };
    server.respond_to_others(endless);
    let command = world.command(&["search", "notes", "--registry", &server.url("")]);
    let error = limit_error(&world, command, 48 * MIB as u64 + BASE_BYTES);
    assert_eq!(error.code, "E-invalid-response");
    assert!(error.because.concat().contains("16 MiB"), "{error:#?}");
}

#[test]
fn se_12_silent_server_times_out_and_the_limit_is_named() {
    let (world, server) = (world!(), WebServer::start());
    let url = server.respond("/x.zip", WebResponse::Stall(b"PK".to_vec()));
    let error = world.sp_error(&["context", "show", &url, "--limit", "stall-seconds=1"]);
    assert_eq!(error.code, "E-stalled");
    assert!(error.hints_at("`--limit stall-seconds=<seconds>`"), "{error:#?}");
}

#[test]
fn se_12_slow_server_times_out_and_the_limit_is_named() {
    let (world, server) = (world!(), WebServer::start());
    let url = server.respond("/x.zip", WebResponse::Trickle);
    let limits = ["--limit", "download-seconds=2", "--limit", "stall-seconds=1"];
    let error = world.sp_error(&[&["context", "show", &url], &limits[..]].concat());
    assert_eq!(error.code, "E-network");
    assert!(error.hints_at("`--limit download-seconds=<seconds>`"), "{error:#?}");
}

const ADVERTISEMENT: &str = "application/x-git-upload-pack-advertisement";
const RESULT: &str = "application/x-git-upload-pack-result";
/// More than a client without a limit could read within its memory.
const REFS_MIB: usize = 700;

/// Returns a line of the git protocol.
fn packet(text: &str) -> Vec<u8> {
    format!("{:04x}{text}", text.len() + 4).into_bytes()
}

/// Returns about 1 MiB of refs.
fn refs() -> Vec<u8> {
    (0..14_000)
        .flat_map(|number| packet(&format!("{number:040x} refs/heads/branch-{number}\n")))
        .collect()
}

/// Returns a command that installs a pack with an import from this URL, with little memory for git.
fn install_from(world: &World, url: &str, limits: &[&str]) -> Command {
    world.pack("bad", &format!("name: bad\nimports:\n  - repo: {url}\n    include: ['**']\n"));
    let sink = world.path("sink").display().to_string();
    let memory = format!("git-memory-bytes={GIT_MEMORY_BYTES}");
    let args = ["install", "bad", "--agent", "custom", "--path", &sink, "--limit", &memory];
    let limits = limits.iter().flat_map(|limit| ["--limit", limit]);
    world.command(&args.into_iter().chain(limits).collect::<Vec<_>>())
}

/// Installs from this URL with little memory for git, which must fail.
#[track_caller]
fn git_limit_error(world: &World, url: &str) -> CliError {
    let error = limit_error(world, install_from(world, url, &[]), GIT_MEMORY_BYTES + BASE_BYTES);
    assert!(!world.path("sink").exists());
    error
}

#[track_caller]
fn assert_git_memory_limit(world: &World, url: &str) {
    let error = git_limit_error(world, url);
    assert_eq!(error.code, "E-limit-exceeded");
    assert!(error.hints_at("--limit git-memory-bytes="), "{error:#?}");
}

#[test]
fn se_04_endless_git_refs_of_protocol_1_stay_within_the_memory_limit() {
    let (world, server) = (world!(), WebServer::start());
    let start = [packet("# service=git-upload-pack\n"), b"0000".to_vec()].concat();
    let endless =
        WebResponse::Stream { content_type: ADVERTISEMENT, start, block: refs(), times: REFS_MIB };
    server.respond("/smart/info/refs?service=git-upload-pack", endless);
    assert_git_memory_limit(&world, &server.url("/smart"));
}

#[test]
fn se_04_endless_git_refs_of_the_dumb_protocol_stay_within_the_memory_limit() {
    let (world, server) = (world!(), WebServer::start());
    let block: Vec<u8> =
        (0..16_000).flat_map(|n| format!("{n:040x}\trefs/heads/b{n}\n").into_bytes()).collect();
    let endless = WebResponse::Stream {
        content_type: "text/plain",
        start: block.clone(),
        block,
        times: REFS_MIB,
    };
    server.respond("/dumb/info/refs?service=git-upload-pack", endless);
    assert_git_memory_limit(&world, &server.url("/dumb"));
}

#[test]
fn se_04_endless_git_refs_of_protocol_2_stay_within_the_memory_limit() {
    let (world, server) = (world!(), WebServer::start());
    let lines = ["# service=git-upload-pack\n"].map(packet).concat();
    let capabilities =
        ["version 2\n", "ls-refs=unborn\n", "fetch=shallow filter\n", "object-format=sha1\n"];
    let start =
        [lines, b"0000".to_vec(), capabilities.map(packet).concat(), b"0000".to_vec()].concat();
    let answer =
        WebResponse::Stream { content_type: ADVERTISEMENT, start, block: Vec::new(), times: 0 };
    server.respond("/v2/info/refs?service=git-upload-pack", answer);
    let endless =
        WebResponse::Stream { content_type: RESULT, start: refs(), block: refs(), times: REFS_MIB };
    server.respond("/v2/git-upload-pack", endless);
    assert_git_memory_limit(&world, &server.url("/v2"));
}

#[test]
fn se_12_silent_git_server_times_out_and_the_limit_is_named() {
    let (world, server) = (world!(), WebServer::start());
    server
        .respond("/silent/info/refs?service=git-upload-pack", WebResponse::Stall(b"001e".to_vec()));
    let mut command = install_from(&world, &server.url("/silent"), &["stall-seconds=1"]);
    command.args(["--format", "json"]);
    let error = world.run(command).error();
    assert_eq!(error.code, "E-stalled");
    assert!(error.hints_at("`--limit stall-seconds=<seconds>`"), "{error:#?}");
}

/// Serves a repository with a skill that has these files, without support for partial fetches.
fn serve_files(world: &World, files: &[(&str, &[u8])]) -> (GitRepository, HttpServer) {
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
fn se_04_large_git_blob_is_rejected_before_it_uses_memory() {
    let world = world!();
    let (_repo, server) = serve_files(&world, &[("zeros", &vec![0; 480 * MIB])]);
    let error = git_limit_error(&world, &server.url("shared"));
    assert_eq!(error.code, "E-limit-exceeded");
    assert!(error.hints_at("--limit file-bytes="), "{error:#?}");
    assert!(error.because[0].contains("`zeros`"), "{error:#?}");
    assert!(error.because[0].contains("480 MiB"), "{error:#?}");
}

#[test]
fn se_04_large_git_delta_is_rejected_before_it_uses_memory() {
    let world = world!();
    // Git stores the second file as a delta, and would restore it in memory.
    let (first, second) = (vec![0; 90 * MIB], [vec![0; 90 * MIB], b"and more".to_vec()].concat());
    let (repo, server) = serve_files(&world, &[("first", &first), ("second", &second)]);
    repo.git(&["repack", "-a", "-d", "-q", "--window=10"]);
    let info = "%(objectsize) %(deltabase)";
    let blobs = repo.git(&["cat-file", "--batch-all-objects", &format!("--batch-check={info}")]);
    let is_delta = |line: &str| line.starts_with("94371") && !line.ends_with(&"0".repeat(40));
    assert!(blobs.lines().any(is_delta), "git stored no delta: {blobs}");
    assert_git_memory_limit(&world, &server.url("shared"));
}
