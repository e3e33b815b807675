//! Imports from real repositories over real transports.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests make and break files and processes by hand")]

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sp_testkit::{Daemon, Entry, HttpServer, Repo, Run, World, world};

/// A `git` older than the one that comes first on the PATH, where a machine has two.
const OLDER_GIT: &str = "/usr/bin:/bin";

fn shared(world: &World) -> Repo {
    let repo = world.git("shared");
    repo.skill("tools/review").skill("tools/deploy").skill("other/big");
    repo.write("tools/review/scripts/run.sh", "echo hi\n");
    repo
}

fn pack(url: &str, rest: &str) -> String {
    format!("name: team\nimports:\n  - repo: {url}\n    include: ['tools/*']\n{rest}")
}

fn at(url: &str, git_ref: &str) -> String {
    pack(url, &format!("    ref: '{git_ref}'\n"))
}

fn install_into(world: &World, sink: &str, extra: &[&str]) -> Run {
    let path = world.path(sink).display().to_string();
    world.sp(&[&["install", "team", "--agent", "custom", "--path", &path], extra].concat())
}

fn install(world: &World) -> Run {
    install_into(world, "sink", &[])
}

fn folders(world: &World, sink: &str) -> Vec<String> {
    world.files(sink).into_keys().filter(|name| !name.contains('/')).collect()
}

/// A file of the sink.
fn text(world: &World, path: &str) -> String {
    std::fs::read_to_string(world.path("sink").join(path)).unwrap()
}

/// The commits that the state records.
fn commits(world: &World) -> Vec<String> {
    let state = std::fs::read_to_string(world.path("home/.skillpack/state.json")).unwrap();
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    let installs = state["installs"].as_array().unwrap().iter();
    let imports = installs.flat_map(|install| install["imports"].as_array().unwrap());
    imports.map(|import| import["commit"].as_str().unwrap().to_owned()).collect()
}

/// The bare repositories of the cache.
fn caches(world: &World) -> Vec<PathBuf> {
    let dirs = std::fs::read_dir(world.path("home/.skillpack/cache/git")).unwrap();
    dirs.map(|dir| dir.unwrap().path()).collect()
}

/// The blobs in the cache of the one repository that was imported.
fn cached_blobs(world: &World, repo: &Repo) -> BTreeSet<String> {
    let dirs = caches(world);
    assert_eq!(dirs.len(), 1, "{dirs:?}");
    let list =
        repo.git(&["--git-dir", &dirs[0].display().to_string(), "cat-file", "--batch-all-objects", "--batch-check"]);
    list.lines().filter(|line| line.contains(" blob ")).map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

fn ids(repo: &Repo, paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|path| repo.git(&["rev-parse", &format!("HEAD:{path}")]).trim().to_owned()).collect()
}

/// Bytes that do not compress.
fn noise(length: usize) -> Vec<u8> {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed.to_le_bytes()[3]
    };
    (0..length).map(|_| next()).collect()
}

/// How a [`Relay`] changes what goes through it.
#[derive(Clone, Copy, PartialEq)]
enum Meddling {
    /// The server does not hear that the client speaks protocol 2, as with old servers.
    OldProtocol,
    /// After so many bytes of one answer nothing more comes.
    StallAfter(usize),
}

/// Stands between a client and a git daemon.
struct Relay {
    port: u16,
    stop: Arc<AtomicBool>,
    stalled: Arc<AtomicUsize>,
}

impl Relay {
    fn start(daemon: &Daemon, meddling: Meddling) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = daemon.url("").trim_start_matches("git://").trim_end_matches('/').to_owned();
        let relay = Self { port, stop: Arc::default(), stalled: Arc::default() };
        let (stop, stalled) = (Arc::clone(&relay.stop), Arc::clone(&relay.stalled));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let (server, stop, stalled) = (server.clone(), Arc::clone(&stop), Arc::clone(&stalled));
                std::thread::spawn(move || relay_one(client, &server, meddling, &stop, &stalled));
            }
        });
        relay
    }

    fn url(&self, name: &str) -> String {
        format!("git://127.0.0.1:{}/{name}", self.port)
    }

    fn wait_until_stalled(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.stalled.load(Ordering::SeqCst) == 0 {
            assert!(Instant::now() < deadline, "the transfer never came to the point where it stalls");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn relay_one(mut client: TcpStream, server: &str, meddling: Meddling, stop: &AtomicBool, stalled: &AtomicUsize) {
    let mut length = [0; 4];
    let Ok(()) = client.read_exact(&mut length) else { return };
    let size = usize::from_str_radix(std::str::from_utf8(&length).unwrap(), 16).unwrap();
    let mut request = vec![0; size - 4];
    client.read_exact(&mut request).unwrap();
    let version = b"\0version=2\0";
    if meddling == Meddling::OldProtocol && request.ends_with(version) {
        request.truncate(request.len() - version.len());
    }
    let mut server = TcpStream::connect(server).unwrap();
    write!(server, "{:04x}", request.len() + 4).unwrap();
    server.write_all(&request).unwrap();
    let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let (mut buffer, mut passed) = ([0; 4096], 0);
    while let Ok(count) = server.read(&mut buffer)
        && count > 0
        && client.write_all(&buffer[..count]).is_ok()
    {
        passed += count;
        if matches!(meddling, Meddling::StallAfter(most) if passed > most) {
            stalled.fetch_add(1, Ordering::SeqCst);
            while !stop.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
            }
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
}

/// What every git that we support must bring about.
fn main_scenarios(world: &World) {
    let repo = shared(world);
    let first = repo.commit("one");
    repo.git(&["tag", "-a", "v1", "-m", "the first"]);
    repo.write("tools/review/SKILL.md", "---\nname: review\ndescription: New.\n---\n");
    let second = repo.commit("two");
    let daemon = Daemon::start(&world.path("git"));
    let http = HttpServer::start(&world.path("git"));
    for (number, url) in
        [repo.url(), repo.path().display().to_string(), daemon.url("shared"), http.url("shared")].iter().enumerate()
    {
        for (git_ref, commit) in [("v1", &first), ("main", &second), (&first[..9], &first), (&second, &second)] {
            world.pack("team", &at(url, git_ref));
            install_into(world, &format!("sink{number}"), &[]).ok();
            assert_eq!(commits(world).last(), Some(commit), "{url} {git_ref}");
        }
        assert_eq!(folders(world, &format!("sink{number}")), ["team__tools__deploy", "team__tools__review"], "{url}");
    }
    world.pack("team", &at(&daemon.url("shared"), "main"));
    drop(daemon);
    install_into(world, "sink-offline", &["--offline"]).ok();
    assert_eq!(folders(world, "sink-offline"), ["team__tools__deploy", "team__tools__review"]);
}

#[test]
fn sp_07_remote_skills_are_found_anywhere_over_every_transport() {
    let world = world!();
    let repo = shared(&world);
    let commit = repo.commit("one");
    let daemon = Daemon::start(&world.path("git"));
    let http = HttpServer::start(&world.path("git"));
    for (number, url) in
        [repo.url(), repo.path().display().to_string(), daemon.url("shared"), http.url("shared")].iter().enumerate()
    {
        world.pack("team", &pack(url, ""));
        let sink = format!("sink{number}");
        world.sp(&["install", "team", "--agent", "custom", "--path", &world.path(&sink).display().to_string()]).ok();
        let names: Vec<String> = world.files(&sink).into_keys().filter(|name| !name.contains('/')).collect();
        assert_eq!(names, ["team__tools__deploy", "team__tools__review"], "{url}");
    }
    let state = std::fs::read_to_string(world.path("home/.skillpack/state.json")).unwrap();
    assert!(state.contains(&commit), "the full commit is recorded");
}

#[test]
fn sp_07_a_remote_skill_is_a_leaf_with_skill_md_in_just_this_case() {
    let world = world!();
    let repo = world.git("shared");
    repo.skill("deep/down/in/here").skill("group").skill("group/one").skill("group/two/three");
    repo.write("lower/skill.md", "---\nname: lower\n---\n").write("docs/README.md", "no skill\n");
    repo.commit("one");
    world.pack("team", &format!("name: team\nimports:\n  - {{repo: '{}', include: ['**']}}\n", repo.url()));
    let shown = world.sp(&["show", "team", "--format", "plain"]).ok().stdout;
    let ids: Vec<&str> = shown.lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
    assert_eq!(ids, ["deep/down/in/here", "group/one", "group/two/three"]);
}

#[test]
fn sp_08_a_path_starts_at_the_authoring_repository_or_the_home() {
    let world = world!();
    shared(&world).commit("one");
    for (number, path) in ["../../git/shared", "./../../git/shared/.git", "~/../git/shared"].into_iter().enumerate() {
        world.pack("team", &pack(path, ""));
        install_into(&world, &format!("sink{number}"), &[]).ok();
        assert_eq!(folders(&world, &format!("sink{number}")).len(), 2, "{path}");
    }
    world.pack("team", &pack("./nowhere", ""));
    let run = install(&world).fails(5);
    assert!(run.stderr.contains("cannot open the repository `./nowhere`"), "{run}");
}

/// A program in the place of ssh that runs the command on this machine.
fn local_ssh(world: &World) -> String {
    let script = world.path("ssh");
    std::fs::write(
        &script,
        "#!/bin/sh\necho ran >> \"$(dirname \"$0\")/ssh.log\"\nfor last; do :; done\nexec sh -c \"$last\"\n",
    )
    .unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    script.display().to_string()
}

#[test]
fn sp_08_ssh_urls_and_the_short_form_go_through_ssh() {
    let mut world = world!();
    let repo = shared(&world);
    repo.commit("one");
    let ssh = local_ssh(&world);
    world.set_env("GIT_SSH_COMMAND", &ssh);
    let path = repo.path().display().to_string();
    for (number, url) in [format!("ssh://git@localhost{path}"), format!("git@localhost:{path}")].iter().enumerate() {
        world.pack("team", &pack(url, ""));
        install_into(&world, &format!("sink{number}"), &[]).ok();
        assert_eq!(folders(&world, &format!("sink{number}")).len(), 2, "{url}");
    }
    assert!(world.path("ssh.log").exists());
}

#[test]
fn se_05_the_users_own_ssh_command_is_used() {
    let world = world!();
    let repo = shared(&world);
    repo.commit("one");
    std::fs::write(world.home().join(".gitconfig"), format!("[core]\n\tsshCommand = {}\n", local_ssh(&world))).unwrap();
    world.pack("team", &pack(&format!("ssh://git@localhost{}", repo.path().display()), ""));
    install(&world).ok();
    assert!(world.path("ssh.log").exists());
}

#[test]
fn sp_09_executable_bits_are_kept_and_no_others() {
    let world = world!();
    let repo = shared(&world);
    std::fs::set_permissions(repo.path().join("tools/review/scripts/run.sh"), PermissionsExt::from_mode(0o777))
        .unwrap();
    repo.commit("one");
    world.pack("team", &pack(&repo.url(), ""));
    install(&world).ok();
    let mode = |path: &str| {
        world.path("sink/team__tools__review").join(path).metadata().unwrap().permissions().mode() & 0o7777
    };
    assert_eq!(mode("scripts/run.sh") & 0o7133, 0o111, "{:o}", mode("scripts/run.sh"));
    assert_eq!(mode("SKILL.md") & 0o7133, 0, "{:o}", mode("SKILL.md"));
}

#[test]
fn sp_10_a_ref_is_a_tag_a_branch_or_a_commit_and_head_without_one() {
    let world = world!();
    let repo = shared(&world);
    let one = repo.commit("one");
    repo.git(&["tag", "light"]);
    repo.git(&["tag", "-a", "annotated", "-m", "a tag with a body"]);
    repo.write("tools/review/SKILL.md", "---\nname: review\ndescription: Two.\n---\n");
    let two = repo.commit("two");
    repo.git(&["branch", "topic/x"]);
    repo.write("tools/review/SKILL.md", "---\nname: review\ndescription: Three.\n---\n");
    let three = repo.commit("three");
    let http = HttpServer::start(&world.path("git"));
    for url in [repo.url(), http.url("shared")] {
        for (git_ref, commit) in [
            ("light", &one),
            ("annotated", &one),
            ("topic/x", &two),
            ("main", &three),
            ("refs/heads/topic/x", &two),
            ("refs/tags/annotated", &one),
            (&three, &three),
            (&one, &one),
            (&three[..7], &three),
            (&one[..7], &one),
        ] {
            world.pack("team", &at(&url, git_ref));
            install(&world).ok();
            assert_eq!(commits(&world), [commit.as_str()], "{url} {git_ref}");
            let want = repo.git(&["show", &format!("{commit}:tools/review/SKILL.md")]);
            assert_eq!(text(&world, "team__tools__review/SKILL.md"), want, "{url} {git_ref}");
        }
    }
    world.pack("team", &pack(&repo.url(), ""));
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/topic/x"]);
    install(&world).ok();
    assert_eq!(commits(&world), [two], "without a ref, HEAD counts");
}

#[test]
fn sp_10_a_tag_wins_over_a_branch_of_its_name_with_a_warning() {
    let world = world!();
    let repo = shared(&world);
    let tagged = repo.commit("one");
    repo.git(&["tag", "-a", "stable", "-m", "x"]);
    repo.commit("two");
    repo.git(&["branch", "stable"]);
    world.pack("team", &at(&repo.url(), "stable"));
    let run = install(&world).ok();
    assert_eq!(commits(&world), [tagged]);
    assert!(run.stderr.contains("has a tag and a branch called `stable`: the tag is used"), "{run}");
}

#[test]
fn sp_10_an_unknown_ref_is_an_error_that_suggests() {
    let world = world!();
    let repo = shared(&world);
    repo.commit("one");
    repo.git(&["tag", "v1.3.0"]);
    for (git_ref, words) in [
        ("v1.3.1", "did you mean `v1.3.0`?"),
        ("mian", "did you mean `main`?"),
        ("deadbee", "git ls-remote"),
        (&"5".repeat(40), "cannot fetch"),
    ] {
        world.pack("team", &at(&repo.url(), git_ref));
        let run = install(&world);
        assert!(matches!(run.code, Some(1 | 5)), "{run}");
        assert!(
            run.stderr.contains(words) && run.stderr.contains(git_ref.get(..7).unwrap_or(git_ref))
                || git_ref.len() == 40,
            "{run}"
        );
        assert!(!world.path("sink").exists());
    }
}

#[test]
fn sp_10_a_head_that_points_nowhere_is_not_an_empty_repository() {
    let world = world!();
    let repo = shared(&world);
    repo.commit("one");
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/gone"]);
    world.pack("team", &pack(&repo.url(), ""));
    let run = install(&world).fails(1);
    assert!(!run.stderr.contains("has no commits"), "it has one, on `main`: {run}");
    assert!(run.stderr.contains("ref"), "the way out is to name a ref: {run}");
}

#[test]
fn sp_10_an_empty_repository_is_a_clear_error() {
    let world = world!();
    let repo = world.git("shared");
    world.pack("team", &pack(&repo.url(), ""));
    let run = install(&world).fails(1);
    assert!(run.stderr.contains("has no commits"), "{run}");
}

#[test]
fn sp_10_a_sha_256_repository_works() {
    let world = world!();
    let repo = Repo::with(world.path("git/shared"), &["--object-format=sha256"]);
    repo.skill("tools/review");
    let one = repo.commit("one");
    let two = repo.commit("two");
    assert_eq!(one.len(), 64);
    let http = HttpServer::start(&world.path("git"));
    for url in [repo.url(), http.url("shared")] {
        for (git_ref, commit) in [("main", &two), (&one[..10], &one), (&one, &one)] {
            world.pack("team", &at(&url, git_ref));
            install(&world).ok();
            assert_eq!(commits(&world), [commit.as_str()], "{url} {git_ref}");
        }
    }
    assert_eq!(folders(&world, "sink"), ["team__tools__review"]);
}

#[test]
fn sp_35_one_repository_at_two_refs_gives_each_its_own_content() {
    let world = world!();
    let repo = shared(&world);
    repo.write("tools/deploy/notes", "one").write("tools/review/notes", "one");
    let one = repo.commit("one");
    repo.git(&["tag", "v1"]);
    repo.write("tools/deploy/notes", "two").write("tools/review/notes", "two");
    let two = repo.commit("two");
    let url = repo.url();
    world.pack("team", &format!("name: team\nimports:\n- {{repo: '{url}', ref: v1, include: [tools/review]}}\n- {{repo: '{url}', ref: main, include: [tools/deploy]}}\n"));
    install(&world).ok();
    assert_eq!(
        (text(&world, "team__tools__review/notes"), text(&world, "team__tools__deploy/notes")),
        ("one".into(), "two".into())
    );
    assert_eq!(commits(&world), [one, two]);
}

#[test]
fn sp_35_a_tag_and_a_branch_below_its_name_can_be_imported_together() {
    let world = world!();
    let repo = shared(&world);
    let one = repo.commit("one");
    repo.git(&["tag", "v1"]);
    let two = repo.commit("two");
    repo.git(&["branch", "v1/fix"]);
    let url = repo.url();
    world.pack("team", &format!("name: team\nimports:\n- {{repo: '{url}', ref: v1, include: [tools/review]}}\n- {{repo: '{url}', ref: v1/fix, include: [tools/deploy]}}\n"));
    install(&world).ok();
    assert_eq!(commits(&world), [one, two]);
    install_into(&world, "sink2", &["--offline"]).ok();
}

#[test]
fn sp_35_a_branch_advances_on_the_next_install_and_a_commit_does_not() {
    let world = world!();
    let repo = shared(&world);
    repo.write("tools/review/notes", "old");
    let old = repo.commit("one");
    world.pack("team", &at(&repo.url(), "main"));
    install(&world).ok();
    repo.write("tools/review/notes", "new");
    std::fs::remove_dir_all(repo.path().join("tools/deploy")).unwrap();
    let new = repo.commit("two");
    install(&world).ok();
    assert_eq!((text(&world, "team__tools__review/notes"), commits(&world)), ("new".into(), vec![new]));
    assert_eq!(folders(&world, "sink"), ["team__tools__review"]);
    world.pack("team", &at(&repo.url(), &old));
    install(&world).ok();
    assert_eq!((text(&world, "team__tools__review/notes"), commits(&world)), ("old".into(), vec![old]));
}

#[test]
fn sp_35_a_rewritten_branch_is_followed() {
    let world = world!();
    let repo = shared(&world);
    repo.commit("one");
    world.pack("team", &at(&repo.url(), "main"));
    install(&world).ok();
    repo.git(&["checkout", "--quiet", "--orphan", "fresh"]);
    repo.write("tools/review/notes", "rewritten");
    repo.commit("another history");
    repo.git(&["branch", "--force", "main"]);
    install(&world).ok();
    assert_eq!(text(&world, "team__tools__review/notes"), "rewritten");
}

#[test]
fn sp_35_only_the_blobs_of_selected_skills_are_fetched() {
    let world = world!();
    let repo = shared(&world);
    repo.write("other/big/data", noise(300_000));
    repo.commit("one");
    let daemon = Daemon::start(&world.path("git"));
    world.pack("team", &pack(&daemon.url("shared"), ""));
    world.sp(&["show", "team"]).ok();
    assert_eq!(cached_blobs(&world, &repo), BTreeSet::new(), "to show needs trees only");
    install(&world).ok();
    let wanted = ids(&repo, &["tools/review/SKILL.md", "tools/review/scripts/run.sh", "tools/deploy/SKILL.md"]);
    assert_eq!(cached_blobs(&world, &repo), wanted);
}

#[test]
fn sp_35_the_blobs_come_in_one_batch() {
    let world = world!();
    let repo = shared(&world);
    for number in 0..40 {
        repo.write(&format!("tools/review/{number}"), number.to_string());
    }
    repo.commit("one");
    let http = HttpServer::start(&world.path("git"));
    world.pack("team", &pack(&http.url("shared"), ""));
    install(&world).ok();
    assert!(http.requests() < 12, "{} connections for 43 files", http.requests());
}

#[test]
fn sp_35_offline_works_after_a_first_install_with_the_server_gone() {
    let world = world!();
    let repo = shared(&world);
    let commit = repo.commit("one");
    for git_ref in ["main", commit.as_str(), &commit[..8]] {
        let daemon = Daemon::start(&world.path("git"));
        world.pack("team", &at(&daemon.url("shared"), git_ref));
        let (online, offline) = (format!("online-{git_ref}"), format!("offline-{git_ref}"));
        install_into(&world, &online, &[]).ok();
        drop(daemon);
        install_into(&world, &offline, &["--offline"]).ok();
        assert_eq!(world.files(&offline), world.files(&online), "{git_ref}");
        assert_eq!(folders(&world, &offline).len(), 2);
    }
}

#[test]
fn sp_35_offline_without_a_first_install_is_a_clear_error() {
    let world = world!();
    let repo = shared(&world);
    let commit = repo.commit("one");
    let daemon = Daemon::start(&world.path("git"));
    for git_ref in ["main", commit.as_str()] {
        world.pack("team", &at(&daemon.url("shared"), git_ref));
        let run = install_into(&world, "sink", &["--offline"]).fails(5);
        assert!(run.stderr.contains("hint: run it once without `--offline`"), "{run}");
        assert!(!world.path("sink").exists());
    }
    world.pack("team", &pack(&daemon.url("shared"), ""));
    world.sp(&["show", "team"]).ok();
    let run = install_into(&world, "sink", &["--offline"]).fails(5);
    assert!(run.stderr.contains("files of") && run.stderr.contains("`--offline`"), "only the trees are here: {run}");
}

#[test]
fn sp_35_a_pinned_commit_needs_no_server_once_it_is_cached() {
    let world = world!();
    let repo = shared(&world);
    let commit = repo.commit("one");
    let daemon = Daemon::start(&world.path("git"));
    world.pack("team", &at(&daemon.url("shared"), &commit));
    install(&world).ok();
    drop(daemon);
    install_into(&world, "other-sink", &[]).ok();
    assert_eq!(world.files("other-sink"), world.files("sink"));
}

#[test]
fn sp_35_a_server_without_filters_works() {
    let world = world!();
    let repo = shared(&world);
    let one = repo.commit("one");
    let two = repo.commit("two");
    repo.git(&["config", "uploadpack.allowFilter", "false"]);
    let daemon = Daemon::start(&world.path("git"));
    for (git_ref, commit) in [("main", &two), (&one[..8], &one)] {
        world.pack("team", &at(&daemon.url("shared"), git_ref));
        install(&world).ok();
        assert_eq!(commits(&world), [commit.as_str()]);
    }
    assert_eq!(folders(&world, "sink"), ["team__tools__deploy", "team__tools__review"]);
}

/// An old server as it comes: protocol 0, only what refs point to.
fn old_server(world: &World, repo: &Repo, filter: &str) -> (Daemon, Relay) {
    repo.git(&["config", "uploadpack.allowFilter", filter]);
    repo.git(&["config", "uploadpack.allowAnySHA1InWant", "false"]);
    let daemon = Daemon::start(&world.path("git"));
    let relay = Relay::start(&daemon, Meddling::OldProtocol);
    (daemon, relay)
}

#[test]
fn sp_35_a_server_that_refuses_unadvertised_objects_gives_branches_and_tags() {
    let world = world!();
    let repo = shared(&world);
    let one = repo.commit("one");
    repo.git(&["tag", "light"]);
    repo.git(&["tag", "-a", "annotated", "-m", "x"]);
    let two = repo.commit("two");
    let (_daemon, relay) = old_server(&world, &repo, "false");
    for (git_ref, commit) in [("main", &two), ("light", &one), ("annotated", &one)] {
        world.pack("team", &at(&relay.url("shared"), git_ref));
        world.sp(&["clean", "--cache"]).ok();
        install(&world).ok();
        assert_eq!(commits(&world), [commit.as_str()], "{git_ref}");
    }
}

#[test]
fn sp_35_an_annotated_tag_that_no_other_ref_points_to_comes_from_an_old_server() {
    let world = world!();
    let repo = shared(&world);
    let one = repo.commit("one");
    repo.git(&["tag", "-a", "annotated", "-m", "x"]);
    repo.commit("two");
    let (_daemon, relay) = old_server(&world, &repo, "false");
    world.pack("team", &at(&relay.url("shared"), "annotated"));
    install(&world).ok();
    assert_eq!(commits(&world), [one]);
}

#[test]
fn sp_35_a_commit_that_is_no_tip_comes_from_a_server_that_refuses_unadvertised_objects() {
    let world = world!();
    let repo = shared(&world);
    let one = repo.commit("one");
    repo.commit("two");
    let (_daemon, relay) = old_server(&world, &repo, "false");
    for git_ref in [one.as_str(), &one[..8]] {
        world.pack("team", &at(&relay.url("shared"), git_ref));
        world.sp(&["clean", "--cache"]).ok();
        install(&world).ok();
        assert_eq!(commits(&world), [one.as_str()], "{git_ref}");
    }
}

#[test]
fn sp_35_a_server_that_filters_but_refuses_single_objects_works() {
    let world = world!();
    let repo = shared(&world);
    let commit = repo.commit("one");
    let (_daemon, relay) = old_server(&world, &repo, "true");
    world.pack("team", &at(&relay.url("shared"), "main"));
    install(&world).ok();
    assert_eq!(commits(&world), [commit]);
    assert_eq!(folders(&world, "sink"), ["team__tools__deploy", "team__tools__review"]);
}

#[test]
fn sp_35_another_repository_around_or_in_the_environment_makes_no_difference() {
    let mut world = world!();
    let repo = shared(&world);
    repo.commit("one");
    let around = Repo::new(world.repo());
    let bystander = world.git("bystander");
    bystander.skill("tools/wrong");
    bystander.commit("wrong");
    world.pack("team", &pack(&repo.url(), ""));
    around.commit("the authoring repository");
    let before = (world.files("home/repo"), world.files("git"));
    let git_dir = bystander.path().join(".git").display().to_string();
    world.set_env("GIT_DIR", &git_dir);
    world.set_env("GIT_WORK_TREE", &bystander.path().display().to_string());
    world.set_env("GIT_INDEX_FILE", &format!("{git_dir}/index"));
    world.set_env("GIT_OBJECT_DIRECTORY", &format!("{git_dir}/objects"));
    world.set_env("GIT_NAMESPACE", "elsewhere");
    world.set_env("GIT_CEILING_DIRECTORIES", "/");
    world.set_env("GIT_CONFIG_COUNT", "1");
    world.set_env("GIT_CONFIG_KEY_0", &format!("url.{}.insteadOf", bystander.url()));
    world.set_env("GIT_CONFIG_VALUE_0", &repo.url());
    install(&world).ok();
    let path = world.path("sink").display().to_string();
    world
        .sp_in("git/bystander", &["install", "team", "--agent", "custom", "--path", &path, "--root", "../../home/repo"])
        .ok();
    assert_eq!(folders(&world, "sink"), ["team__tools__deploy", "team__tools__review"]);
    assert!((world.files("home/repo"), world.files("git")) == before, "no repository was written to");
}

#[test]
fn sp_35_several_repositories_are_imported_at_once() {
    let world = world!();
    let mut yaml = String::from("name: team\nimports:\n");
    for number in 0..10 {
        let repo = world.git(&format!("repo{number}"));
        repo.skill(&format!("tools/s{number}"));
        repo.commit("one");
    }
    let daemon = Daemon::start(&world.path("git"));
    for number in 0..10 {
        yaml += &format!("- {{repo: '{}', include: ['**']}}\n", daemon.url(&format!("repo{number}")));
    }
    world.pack("team", &yaml);
    install(&world).ok();
    let wanted: Vec<String> = (0..10).map(|number| format!("team__tools__s{number}")).collect();
    assert_eq!(folders(&world, "sink"), wanted);
}

#[test]
fn sp_35_a_repository_with_three_thousand_files() {
    let world = world!();
    let repo = shared(&world);
    for number in 0..3000 {
        repo.write(&format!("tools/review/{}/{number}", number % 30), format!("{number}\n"));
    }
    repo.commit("many");
    let daemon = Daemon::start(&world.path("git"));
    world.pack("team", &pack(&daemon.url("shared"), ""));
    install(&world).ok();
    let files = world.files("sink/team__tools__review");
    assert_eq!(files.values().filter(|entry| matches!(entry, Entry::File(..))).count(), 3002);
    assert_eq!(files["29/2999"], Entry::File("2999\n".into(), false));
}

#[test]
fn sp_35_every_git_brings_about_the_same() {
    let world = world!();
    main_scenarios(&world);
}

#[test]
fn sp_35_an_older_git_brings_about_the_same() {
    let mut world = world!();
    world.set_env("PATH", OLDER_GIT);
    main_scenarios(&world);
}

#[test]
fn sp_35_an_older_git_fetches_only_what_is_selected_and_reads_sha_256() {
    let mut world = world!();
    world.set_env("PATH", OLDER_GIT);
    let repo = Repo::with(world.path("git/shared"), &["--object-format=sha256"]);
    repo.skill("tools/review").write("other/data", noise(100_000));
    repo.commit("one");
    let daemon = Daemon::start(&world.path("git"));
    world.pack("team", &pack(&daemon.url("shared"), ""));
    install(&world).ok();
    assert_eq!(cached_blobs(&world, &repo), ids(&repo, &["tools/review/SKILL.md"]));
}

#[test]
fn se_12_a_machine_without_git_is_told_so() {
    let mut world = world!();
    let repo = shared(&world);
    repo.commit("one");
    world.pack("team", &pack(&repo.url(), ""));
    world.set_env("PATH", "/nonexistent");
    let run = install(&world).fails(5);
    assert!(run.stderr.contains("cannot run `git`") && run.stderr.contains("hint: install git"), "{run}");
}

#[test]
fn se_05_a_server_that_demands_a_password_fails_at_once_and_asks_nobody() {
    let world = world!();
    shared(&world).commit("one");
    let http = HttpServer::start_with(&world.path("git"), Some("dXNlcjpwYXNz"));
    world.pack("team", &pack(&http.url("shared"), ""));
    let start = Instant::now();
    let run = install(&world).fails(5);
    assert!(start.elapsed() < Duration::from_secs(10), "it took {:?}", start.elapsed());
    assert!(
        run.stderr.contains("cannot reach the repository") && run.stderr.contains("check the address and your access"),
        "{run}"
    );
    assert!(!world.path("sink").exists());
}

#[test]
fn se_05_the_users_own_credential_helper_is_asked() {
    let world = world!();
    shared(&world).commit("one");
    let http = HttpServer::start_with(&world.path("git"), Some("dXNlcjpwYXNz"));
    std::fs::write(
        world.home().join(".gitconfig"),
        "[credential]\n\thelper = \"!f() { echo username=user; echo password=pass; }; f\"\n",
    )
    .unwrap();
    world.pack("team", &pack(&http.url("shared"), ""));
    install(&world).ok();
    assert_eq!(folders(&world, "sink").len(), 2);
}

#[test]
fn se_12_an_unreachable_port_is_an_error_of_the_environment() {
    let world = world!();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for scheme in ["git", "http"] {
        world.pack("team", &pack(&format!("{scheme}://127.0.0.1:{port}/shared"), ""));
        let run = install(&world).fails(5);
        assert!(run.stderr.contains("cannot reach the repository") && run.stderr.contains("--offline"), "{run}");
    }
}

#[test]
fn se_12_one_failing_import_of_several_installs_nothing() {
    let world = world!();
    let repo = shared(&world);
    repo.commit("one");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    world.pack("team", &pack(&repo.url(), &format!("  - {{repo: 'git://127.0.0.1:{port}/x', include: ['**']}}\n")));
    install(&world).fails(5);
    assert!(!world.path("sink").exists());
}

/// Where a fetch is cut short: a skill of some size behind a relay that stalls in the middle.
fn stalled_install(world: &World, repo: &Repo) -> (Daemon, Relay, std::process::Child) {
    repo.write("tools/review/data", noise(2_000_000));
    repo.commit("one");
    // Without filters all bytes come with the first, shallow fetch, while git holds its locks.
    repo.git(&["config", "uploadpack.allowFilter", "false"]);
    let daemon = Daemon::start(&world.path("git"));
    let relay = Relay::start(&daemon, Meddling::StallAfter(500_000));
    world.pack("team", &pack(&relay.url("shared"), ""));
    let path = world.path("sink").display().to_string();
    let mut command = world.command(&["install", "team", "--agent", "custom", "--path", &path]);
    let child = command
        .process_group(0)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    relay.wait_until_stalled();
    (daemon, relay, child)
}

/// The same repository through the same port: the URL, and so the cache, stays.
fn install_through(world: &World, daemon: &Daemon, port: u16) -> Run {
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let server = daemon.url("").trim_start_matches("git://").trim_end_matches('/').to_owned();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            if stopped.load(Ordering::SeqCst) {
                return;
            }
            relay_one(client, &server, Meddling::StallAfter(usize::MAX), &stopped, &AtomicUsize::new(0));
        }
    });
    let run = install(world);
    stop.store(true, Ordering::SeqCst);
    let _ = TcpStream::connect(("127.0.0.1", port));
    thread.join().unwrap();
    run
}

fn close(relay: Relay) -> u16 {
    let port = relay.port;
    drop(relay);
    let deadline = Instant::now() + Duration::from_secs(10);
    while TcpListener::bind(("127.0.0.1", port)).is_err() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    port
}

#[test]
fn se_01_a_kill_in_the_middle_of_a_fetch_leaves_nothing_that_hinders_the_next_run() {
    let world = world!();
    let repo = shared(&world);
    let (daemon, relay, mut child) = stalled_install(&world, &repo);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!world.path("sink").exists());
    // The connection breaks, and with it the git that `sp` had started.
    let port = close(relay);
    std::thread::sleep(Duration::from_millis(200));
    install_through(&world, &daemon, port).ok();
    assert_eq!(folders(&world, "sink"), ["team__tools__deploy", "team__tools__review"]);
}

#[test]
fn se_01_a_kill_of_sp_and_git_together_leaves_nothing_that_hinders_the_next_run() {
    let world = world!();
    let repo = shared(&world);
    let (daemon, relay, mut child) = stalled_install(&world, &repo);
    let group = format!("-{}", child.id());
    assert!(std::process::Command::new("kill").args(["-KILL", "--", &group]).status().unwrap().success());
    child.wait().unwrap();
    let port = close(relay);
    install_through(&world, &daemon, port).ok();
    assert_eq!(folders(&world, "sink"), ["team__tools__deploy", "team__tools__review"]);
    let leftovers: Vec<String> = caches(&world).iter().flat_map(|dir| unfinished(dir)).collect();
    assert_eq!(leftovers, [""; 0]);
}

/// Half-received packs and lock files of git's.
fn unfinished(cache: &Path) -> Vec<String> {
    let is_left = |path: &String| path.contains("/tmp_") || path.ends_with(".lock");
    sp_testkit::files(cache).into_keys().filter(is_left).collect()
}

#[test]
fn se_12_a_damaged_cache_is_a_clear_error_and_clean_mends_it() {
    for keep in [0, 60] {
        let world = world!();
        let repo = shared(&world);
        let commit = repo.commit("one");
        for git_ref in ["main", commit.as_str()] {
            world.pack("team", &at(&repo.url(), git_ref));
            install(&world).ok();
            for (path, entry) in world.files("home/.skillpack/cache/git") {
                if path.ends_with(".pack") && matches!(entry, Entry::File(..)) {
                    let path = world.path("home/.skillpack/cache/git").join(path);
                    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
                    std::fs::File::options().write(true).open(&path).unwrap().set_len(keep).unwrap();
                }
            }
            let run = install_into(&world, "sink2", &[]).fails(5);
            assert!(run.stderr.contains("sp clean --cache"), "{git_ref}, {keep} bytes left: {run}");
            assert!(!world.path("sink2").exists());
            world.sp(&["clean", "--cache"]).ok();
            install_into(&world, "sink2", &[]).ok();
            assert_eq!(world.files("sink2"), world.files("sink"));
            std::fs::remove_dir_all(world.path("sink2")).unwrap();
            std::fs::remove_dir_all(world.path("home/.skillpack")).unwrap();
            std::fs::remove_dir_all(world.path("sink")).unwrap();
        }
    }
}

#[test]
fn sp_35_the_cache_may_stand_elsewhere() {
    let world = world!();
    let repo = shared(&world);
    repo.commit("one");
    world.pack("team", &pack(&repo.url(), ""));
    let cache = world.path("cache").display().to_string();
    install_into(&world, "sink", &["--cache-dir", &cache]).ok();
    assert!(world.path("cache/git").is_dir() && !world.path("home/.skillpack/cache").exists());
}
