//! Attacks: each is refused with its exit code, a sink keeps what it had, and nothing else is written.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests make hostile files and processes by hand")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sp_testkit::{Entry, Files, HttpServer, Repo, Run, World, world};

/// What may be used at most while an attack is refused.
const MEMORY: u64 = 64 * 1024;

/// A world with a canary tree on all sides and a sink in which a good pack stands.
fn guarded() -> World {
    let world = world!();
    world.skill("good");
    world.pack("good", "name: good\ninclude: [good]\n");
    for place in ["canary", "home/canary", "home/repo/canary", "sink/canary", "sink/not-ours"] {
        std::fs::create_dir_all(world.path(place)).unwrap();
        std::fs::write(world.path(place).join("SKILL.md"), "do not touch").unwrap();
    }
    install(&world, "good").ok();
    world
}

fn sink(world: &World) -> String {
    world.path("sink").display().to_string()
}

fn install(world: &World, pack: &str) -> Run {
    install_with(world, pack, &[])
}

fn install_with(world: &World, pack: &str, extra: &[&str]) -> Run {
    world.sp(&[&["install", pack, "--agent", "custom", "--path", &sink(world)], extra].concat())
}

/// Everything but our own home, of which only the state counts.
fn everything(world: &World) -> Files {
    let mut files = world.files("");
    files.retain(|path, _| !path.starts_with("home/.skillpack") || path == "home/.skillpack/state.json");
    files
}

#[track_caller]
fn unchanged(before: &Files, world: &World, what: &str) {
    let after = everything(world);
    let differs = |a: &Files, b: &Files| {
        a.iter().filter(|(path, entry)| b.get(*path) != Some(entry)).map(|(path, _)| path.clone()).collect::<Vec<_>>()
    };
    assert_eq!((differs(before, &after), differs(&after, before)), (vec![], vec![]), "{what}");
}

/// Installs the pack `bad`, which must be refused without a trace.
#[track_caller]
fn refused_with(world: &World, extra: &[&str], code: i32, words: &str) -> Run {
    let before = everything(world);
    let run = install_with(world, "bad", extra).fails(code);
    assert!(run.stderr.contains(words), "`{words}` is not in {run}");
    assert!(run.stdout.is_empty(), "{run}");
    unchanged(&before, world, words);
    run
}

#[track_caller]
fn refused(world: &World, code: i32, words: &str) -> Run {
    refused_with(world, &[], code, words)
}

/// The text as a double-quoted scalar, control characters escaped as YAML wants it.
fn quoted(text: &str) -> String {
    let plain = |c: char| if c.is_control() { format!("\\x{:02x}", u32::from(c)) } else { c.to_string() };
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").chars().map(plain).collect::<String>())
}

fn import(world: &World, url: &str, include: &str) {
    let url = quoted(url);
    world.pack("bad", &format!("name: bad\nimports:\n  - repo: {url}\n    include: ['{include}']\n"));
}

/// A repository with the good skill `tools/x`, imported whole by the pack `bad`.
fn remote(world: &World) -> Repo {
    let repo = world.git("remote");
    repo.skill("tools/x");
    import(world, &repo.url(), "tools/**");
    repo
}

/// Commits a skill `tools/x` whose folder has these entries for `git mktree -z`, besides its `SKILL.md`.
fn commit_skill(repo: &Repo, entries: &[(&str, &str, &[u8])]) {
    let skill = repo.blob(b"---\nname: x\ndescription: Does x.\n---\n");
    let mut lines: Vec<(&str, &str, &[u8])> = vec![("100644 blob", &skill, b"SKILL.md")];
    lines.extend(entries);
    let tools = tree(repo, &[("040000 tree", &tree(repo, &lines), b"x")]);
    commit_root(repo, &tree(repo, &[("040000 tree", &tools, b"tools")]));
}

/// Makes a tree of what no working tree need be able to hold.
fn tree(repo: &Repo, entries: &[(&str, &str, &[u8])]) -> String {
    let lines: Vec<u8> = entries
        .iter()
        .flat_map(|(mode, id, name)| [format!("{mode} {id}\t").as_bytes(), name, b"\0"].concat())
        .collect();
    repo.feed(&["mktree", "-z", "--missing"], &lines).trim().into()
}

fn commit_root(repo: &Repo, tree: &str) {
    let commit = repo.git(&["commit-tree", "-m", "made by hand", tree]);
    repo.git(&["update-ref", "refs/heads/main", commit.trim()]);
}

/// A tree object with names that `git mktree` refuses.
fn raw_tree(repo: &Repo, entries: &[(&str, &str, &[u8])]) -> String {
    let mut bytes = Vec::new();
    for (mode, id, name) in entries {
        let id: Vec<u8> = (0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap()).collect();
        bytes.extend([mode.as_bytes(), b" ", name, b"\0", &id].concat());
    }
    repo.feed(&["hash-object", "-t", "tree", "-w", "--stdin", "--literally"], &bytes).trim().into()
}

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

/// How a run that is meant to be cheap went: its end, its time, and the most memory that `sp` itself had, in KiB.
struct Cost {
    code: Option<i32>,
    stderr: String,
    time: Duration,
    memory: u64,
}

fn cost(world: &World, args: &[&str]) -> Cost {
    let start = Instant::now();
    let mut command = world.command(args);
    let log = world.path("stderr.log");
    let mut child = command.stdout(Stdio::null()).stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut memory = 0;
    let end = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let peak = text
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        memory = memory.max(peak.unwrap_or(0));
        if let Some(end) = child.try_wait().unwrap() {
            break end;
        }
        if start.elapsed() > Duration::from_secs(12) {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let (time, stderr) = (start.elapsed(), std::fs::read_to_string(&log).unwrap());
    std::fs::remove_file(log).unwrap();
    Cost { code: end.code(), stderr, time, memory }
}

/// Installs the pack `bad`, which must be refused soon and with little memory.
#[track_caller]
fn refused_cheaply(world: &World, words: &str, most: Duration) {
    let before = everything(world);
    let cost = cost(world, &["install", "bad", "--agent", "custom", "--path", &sink(world)]);
    assert_eq!(cost.code, Some(3), "after {:?} with {} KiB: {}", cost.time, cost.memory, cost.stderr);
    assert!(cost.stderr.contains(words), "{}", cost.stderr);
    assert!(cost.time < most, "it took {:?}", cost.time);
    assert!(cost.memory < MEMORY, "it took {} KiB", cost.memory);
    unchanged(&before, world, words);
}

// Names that lead out of the sink.

#[test]
fn sp_13_prefix_sep_and_name_that_lead_out_of_the_sink_are_refused() {
    let world = guarded();
    let absolute = world.path("canary").display().to_string();
    for install in [
        "{prefix: '..'}",
        "{prefix: '../canary'}",
        "{prefix: '.'}",
        "{prefix: '..', sep: '/'}",
        "{sep: '/'}",
        "{sep: '/../../canary/'}",
        "{sep: '\\'}",
        "{prefix: 'a/b'}",
        "{prefix: 'a\\b'}",
        "{prefix: \"a\\0b\"}",
        "{prefix: \"a\\nb\"}",
        "{prefix: ' a'}",
        "{prefix: '', sep: '..'}",
        &format!("{{prefix: '{absolute}'}}"),
        &format!("{{sep: '{absolute}'}}"),
    ] {
        for pick in ["include: [good]", "include: ['**']\nexclude: []"] {
            world.pack("bad", &format!("name: bad\n{pick}\ninstall: {install}\n"));
            if install.contains("sep: '..'") {
                // Without a prefix the separator is dropped, so this one is harmless.
                continue;
            }
            refused(&world, 3, "SP-13");
        }
    }
    for name in ["..", ".", "../canary", "a/b", "/canary", "'a\\b'", "\"a\\0b\"", "\"a\\nb\"", "' '"] {
        world.pack("bad", &format!("name: {name}\ninclude: [good]\n"));
        refused(&world, 3, "SP-1");
    }
}

#[test]
fn sp_13_a_remote_folder_whose_name_no_file_system_should_hold_is_refused() {
    for (name, words) in [
        (&b"a\\b"[..], "it has a `\\`"),
        (b"con", "device name on Windows"),
        (b"x:y", "it has a `:`"),
        (b"name.", "a dot or a space"),
        (b"name ", "a dot or a space"),
        (b"esc\x1b[31m", "control character"),
    ] {
        let world = guarded();
        let repo = remote(&world);
        let skill = tree(&repo, &[("100644 blob", &repo.blob(b"---\nname: x\n---\n"), b"SKILL.md")]);
        commit_root(&repo, &tree(&repo, &[("040000 tree", &skill, name)]));
        world.pack(
            "bad",
            &format!("name: bad\nimports:\n  - {{repo: '{}', include: ['**']}}\ninstall: {{prefix: ''}}\n", repo.url()),
        );
        let run = refused(&world, 3, words);
        assert!(!run.stderr.contains('\u{1b}'), "{run:?}");
    }
}

#[test]
fn sp_09_file_names_in_a_remote_skill_that_trick_a_file_system_are_refused() {
    for (name, words) in [
        (&b"a\\b"[..], "it has a `\\`"),
        (b"..\\..\\canary", "it has a `\\`"),
        (b"con", "device name on Windows"),
        (b"AUX.txt", "device name on Windows"),
        (b"x:y", "it has a `:`"),
        (b"name.", "a dot or a space"),
        (b"line\nfeed", "control character"),
        (b"esc\x1b[2J", "control character"),
        (b"not-utf8-\xff\xfe", "it is not UTF-8"),
        (b".GIT", "a name that git itself uses"),
        (b"git~1", "a name that git itself uses"),
        (b"GIT~1", "a name that git itself uses"),
    ] {
        let world = guarded();
        let repo = remote(&world);
        let blob = repo.blob(b"x");
        commit_skill(&repo, &[("100644 blob", &blob, name)]);
        let run = refused(&world, 3, words);
        assert!(run.stderr.contains("tools/x") && run.stderr.contains("hint: "), "{run}");
        assert!(!run.stderr.contains('\u{1b}'), "{run:?}");
    }
}

#[test]
fn sp_09_names_that_git_itself_refuses_are_refused_in_trees_made_by_hand() {
    for name in [&b".git"[..], b"..", b".", b"../../../canary/SKILL.md", b"/canary/SKILL.md", b"a//b", b""] {
        let world = guarded();
        let repo = remote(&world);
        let (skill, evil) = (repo.blob(b"---\nname: x\n---\n"), repo.blob(b"evil"));
        let x = raw_tree(&repo, &[("100644", &skill, b"SKILL.md"), ("100644", &evil, name)]);
        let tools = raw_tree(&repo, &[("40000", &x, b"x")]);
        commit_root(&repo, &raw_tree(&repo, &[("40000", &tools, b"tools")]));
        let before = everything(&world);
        let run = install(&world, "bad");
        assert!(matches!(run.code, Some(3 | 5)), "{:?}: {run}", String::from_utf8_lossy(name));
        unchanged(&before, &world, &String::from_utf8_lossy(name));
    }
}

#[test]
fn sp_34_a_git_folder_in_a_remote_is_no_place_for_skills() {
    let world = guarded();
    let repo = remote(&world);
    let blob = repo.blob(b"---\nname: x\ndescription: x\n---\n");
    let skill = raw_tree(&repo, &[("100644", &blob, b"SKILL.md")]);
    let hidden = raw_tree(&repo, &[("40000", &skill, b"evil")]);
    let tools = raw_tree(&repo, &[("40000", &hidden, b".git"), ("40000", &skill, b"x")]);
    commit_root(&repo, &raw_tree(&repo, &[("40000", &hidden, b".git"), ("40000", &tools, b"tools")]));
    import(&world, &repo.url(), "**");
    install(&world, "bad").ok();
    let installed = |path: &String| path.starts_with("bad") && !path.contains('/');
    assert_eq!(world.files("sink").into_keys().filter(installed).collect::<Vec<_>>(), ["bad__tools__x"]);
}

#[test]
fn sp_34_a_branch_called_like_a_skill_is_none() {
    let world = guarded();
    let repo = Repo::new(world.repo());
    repo.commit("one");
    repo.git(&["branch", "zz/SKILL.md"]);
    // A repository below `skills/`, whose refs are files called `SKILL.md`.
    let inner = Repo::new(world.repo().join("skills/inner"));
    inner.write("README", "x");
    inner.commit("one");
    inner.git(&["branch", "zz/SKILL.md"]);
    assert!(world.repo().join("skills/inner/.git/refs/heads/zz/SKILL.md").is_file());
    assert_eq!(world.sp(&["list"]).ok().stdout, "good\n");
    import(&world, &inner.url(), "**");
    refused(&world, 3, "SP-17");
}

#[test]
fn sp_02_a_skill_md_at_the_root_of_a_remote_is_passed_over_with_a_warning() {
    let world = guarded();
    let repo = remote(&world);
    repo.write("SKILL.md", "---\nname: root\ndescription: The root.\n---\n");
    repo.commit("one");
    import(&world, &repo.url(), "**");
    let run = install(&world, "bad").ok();
    assert!(run.stderr.contains("warning: ") && run.stderr.contains("SKILL.md"), "{run}");
    assert!(world.path("sink/bad__tools__x/SKILL.md").is_file());
    assert_eq!(world.files("sink").keys().filter(|path| path.starts_with("bad") && !path.contains('/')).count(), 1);
}

// Links.

#[test]
fn sp_09_link_to_a_secret_of_this_machine_is_refused() {
    for target in ["/etc/passwd", "/", "/proc/self/environ", "//etc/passwd"] {
        let world = guarded();
        let repo = remote(&world);
        repo.link("tools/x/secret", target);
        repo.commit("one");
        let run = refused(&world, 3, "leads out of the repository");
        assert!(run.stderr.contains(target) && !run.stderr.contains("root:"), "{run}");
    }
}

#[test]
fn sp_09_link_out_of_the_repo_is_refused() {
    for target in [
        "../../..",
        "../../../canary/SKILL.md",
        "../../../../../../../../etc/passwd",
        "../x/../../../canary",
        "./././../../../canary",
    ] {
        let world = guarded();
        let repo = remote(&world);
        repo.link("tools/x/out", target);
        repo.commit("one");
        refused(&world, 3, "leads out of the repository");
    }
}

#[test]
fn sp_09_link_out_through_another_link_is_refused() {
    let world = guarded();
    let repo = remote(&world);
    repo.link("tools/x/innocent", "../../lib/step/canary").link("lib/step", "up").link("lib/up", "../..");
    repo.commit("one");
    refused(&world, 3, "leads out of the repository");
}

#[test]
fn sp_09_skill_md_that_is_a_link_out_of_the_repo_is_refused() {
    let world = guarded();
    let repo = remote(&world);
    repo.link("tools/y/SKILL.md", "/etc/passwd");
    repo.commit("one");
    refused(&world, 3, "leads out of the repository");
}

#[test]
fn sp_09_link_cycles_in_a_remote_are_refused() {
    for links in [
        &[("tools/x/self", "self")][..],
        &[("tools/x/a", "b"), ("tools/x/b", "a")],
        &[("tools/x/loop", ".")],
        &[("tools/x/up", "..")],
        &[("tools/x/root", "../..")],
        &[("tools/x/there", "../../lib"), ("lib/back", "../tools/x")],
        &[("tools/x/sub/deep", "../../x/sub")],
    ] {
        let world = guarded();
        let repo = remote(&world);
        repo.write("README", "at the root");
        for (path, target) in links {
            repo.link(path, target);
        }
        repo.commit("one");
        let run = refused(&world, 3, "cannot be installed");
        assert!(run.stderr.contains("circle") || run.stderr.contains("leads back"), "{links:?}: {run}");
    }
}

#[test]
fn sp_09_link_to_nothing_is_refused() {
    let world = guarded();
    let repo = remote(&world);
    repo.link("tools/x/gone", "../nowhere");
    repo.commit("one");
    refused(&world, 3, "points to nothing");
}

#[test]
fn sp_09_links_that_stay_inside_the_repo_become_regular_files() {
    let world = guarded();
    let repo = remote(&world);
    repo.write("shared/lib/run.sh", "echo hi\n").write("shared/text", "words");
    std::fs::set_permissions(repo.path().join("shared/lib/run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    repo.link("tools/x/one", "two").link("tools/x/two", "../../hop/three").link("hop/three", "../shared/text");
    repo.link("tools/x/lib", "../../hop/lib").link("hop/lib", "../shared/lib").link("tools/y", "x");
    repo.commit("one");
    import(&world, &repo.url(), "tools/x");
    install(&world, "bad").ok();
    let files = world.files("sink/bad__tools__x");
    assert_eq!(files["one"], Entry::File("words".into(), false));
    assert_eq!(files["two"], Entry::File("words".into(), false));
    assert_eq!(files["lib"], Entry::Dir);
    assert_eq!(files["lib/run.sh"], Entry::File("echo hi\n".into(), true));
    assert!(!files.values().any(|entry| matches!(entry, Entry::Link(_))), "{files:?}");
}

#[test]
fn se_04_a_bomb_of_links_to_links_is_refused_cheaply() {
    let world = guarded();
    let repo = remote(&world);
    for level in 0..12 {
        for number in 0..10 {
            repo.link(&format!("tools/x/d{level:02}/{number}"), &format!("../d{:02}", level + 1));
        }
    }
    repo.write("tools/x/d12/end", "x");
    repo.commit("one");
    refused_cheaply(&world, "files and folders", Duration::from_secs(5));
}

#[test]
fn se_04_a_link_with_an_endless_target_is_refused_cheaply() {
    let world = guarded();
    let repo = remote(&world);
    let long = repo.blob(&vec![b'a'; 150 * 1024 * 1024]);
    commit_skill(&repo, &[("120000 blob", &long, b"link")]);
    refused_cheaply(&world, "link", Duration::from_secs(10));
}

#[test]
fn sp_38_a_destination_replaced_by_a_link_is_never_followed() {
    let world = guarded();
    let canary = world.files("canary");
    for target in ["canary", "canary/SKILL.md", "nowhere"] {
        let installed = world.path("sink/good__good");
        for change in ["same", "other"] {
            std::fs::remove_dir_all(&installed).unwrap();
            symlink(world.path(target), &installed).unwrap();
            world.write("skills/good/note", change);
            install(&world, "good").ok();
            assert_eq!(world.files("canary"), canary, "{target}");
            assert!(installed.symlink_metadata().unwrap().is_dir(), "{target}");
            assert_eq!(world.files("sink/good__good")["note"], Entry::File(change.into(), false));
        }
        std::fs::remove_dir_all(&installed).unwrap();
        symlink(world.path(target), &installed).unwrap();
        world.sp(&["uninstall", "good", "--agent", "custom", "--path", &sink(&world)]).ok();
        assert_eq!(world.files("canary"), canary, "{target}");
        assert!(installed.symlink_metadata().is_err(), "the link itself is gone");
        install(&world, "good").ok();
    }
    assert!(!world.path("nowhere").exists());
}

#[test]
fn sp_38_a_link_inside_an_installed_folder_is_never_followed() {
    let world = guarded();
    let canary = world.files("canary");
    for replaced in ["sub", "SKILL.md"] {
        world.write("skills/good/sub/file", replaced);
        install(&world, "good").ok();
        let inside = world.path("sink/good__good").join(replaced);
        let _ = std::fs::remove_dir_all(&inside);
        let _ = std::fs::remove_file(&inside);
        symlink(world.path("canary"), &inside).unwrap();
        install(&world, "good").ok();
        assert_eq!(world.files("canary"), canary);
        assert!(!world.files("sink/good__good").values().any(|entry| matches!(entry, Entry::Link(_))));
        let _ = std::fs::remove_dir_all(&inside);
        let _ = std::fs::remove_file(&inside);
        symlink(world.path("canary"), &inside).unwrap();
        world.sp(&["uninstall", "good", "--agent", "custom", "--path", &sink(&world)]).ok();
        assert_eq!(world.files("canary"), canary);
        world.sp(&["clean"]).ok();
        assert_eq!(world.files("canary"), canary, "the trash holds a link, and it is not followed either");
        install(&world, "good").ok();
    }
}

#[test]
fn sp_22_a_link_that_is_not_ours_is_refused_and_stays() {
    let world = guarded();
    world.pack("bad", "name: bad\ninclude: [good]\n");
    symlink(world.path("canary"), world.path("sink/bad__good")).unwrap();
    refused(&world, 4, "was not installed by this pack");
}

// What is neither a file nor a folder.

/// Puts something at a path.
type Maker<'a> = &'a dyn Fn(&Path);

#[test]
fn sp_21_fifos_sockets_and_devices_in_a_local_skill_are_refused_unopened() {
    let made: [(&str, Maker<'_>); 5] = [
        ("fifo", &|path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success())),
        ("socket", &|path| drop(UnixListener::bind(path).unwrap())),
        ("device", &|path| {
            // Only root may make a device; a link to one is followed to the same end.
            let made = Command::new("mknod").arg(path).args(["c", "1", "5"]).stderr(Stdio::null()).status();
            if !made.is_ok_and(|status| status.success()) {
                symlink("/dev/zero", path).unwrap();
            }
        }),
        ("link-to-device", &|path| symlink("/dev/zero", path).unwrap()),
        ("terminal", &|path| symlink("/dev/tty", path).unwrap()),
    ];
    for (name, make) in made {
        let world = guarded();
        world.skill("evil");
        make(&world.repo().join("skills/evil").join(name));
        world.pack("bad", "name: bad\ninclude: [evil]\n");
        let start = Instant::now();
        let run = refused(&world, 3, "is neither a file nor a folder");
        assert!(run.stderr.contains(name) && start.elapsed() < Duration::from_secs(5), "{run}");
    }
}

#[test]
fn sp_21_a_fifo_in_the_place_of_skill_md_or_of_a_pack_does_not_hang() {
    let world = guarded();
    std::fs::create_dir_all(world.repo().join("skills/evil")).unwrap();
    for path in ["skills/evil/SKILL.md", "packs/pipe.yaml"] {
        assert!(Command::new("mkfifo").arg(world.repo().join(path)).status().unwrap().success());
    }
    let start = Instant::now();
    assert_eq!(world.sp(&["list"]).ok().stdout, "good\n");
    world.sp(&["packs"]).ok();
    world.sp(&["show", "packs/pipe.yaml"]).fails(1);
    world.pack("bad", "name: bad\ninclude: [evil]\n");
    refused(&world, 3, "SP-17");
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn se_06_setuid_setgid_sticky_and_world_writable_bits_are_dropped() {
    let world = guarded();
    world.write("skills/good/tool", "x");
    world.write("skills/good/open/file", "x");
    let mode = |path: &str, mode: u32| {
        std::fs::set_permissions(world.repo().join("skills/good").join(path), PermissionsExt::from_mode(mode)).unwrap();
    };
    mode("tool", 0o6777);
    mode("open/file", 0o666);
    mode("open", 0o3777);
    install(&world, "good").ok();
    let mode = |path: &str| world.path("sink/good__good").join(path).metadata().unwrap().permissions().mode() & 0o7022;
    assert_eq!((mode("tool"), mode("open"), mode("open/file")), (0, 0, 0));
    assert_eq!(world.files("sink/good__good")["tool"], Entry::File("x".into(), true));
}

// Names that are not text, or that are one name.

#[test]
fn sp_05_names_that_are_not_utf_8_are_refused_and_shown_escaped() {
    use std::os::unix::ffi::OsStrExt;
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let world = guarded();
    world.skill("evil");
    std::fs::write(world.repo().join("skills/evil").join(name), "x").unwrap();
    world.pack("bad", "name: bad\ninclude: [evil]\n");
    refused(&world, 3, "caf\\xe9");
    let world = guarded();
    std::fs::create_dir_all(world.repo().join("skills").join(name)).unwrap();
    std::fs::write(world.repo().join("skills").join(name).join("SKILL.md"), "x").unwrap();
    world.pack("bad", "name: bad\ninclude: [good]\n");
    refused(&world, 3, "caf\\xe9");
}

#[test]
fn sp_05_a_remote_name_that_is_not_utf_8_is_refused_where_it_is_selected_and_ignored_elsewhere() {
    let world = guarded();
    let repo = remote(&world);
    let blob = repo.blob(b"---\nname: x\ndescription: x\n---\n");
    let skill = tree(&repo, &[("100644 blob", &blob, b"SKILL.md"), ("100644 blob", &blob, b"caf\xe9")]);
    let good = tree(&repo, &[("100644 blob", &blob, b"SKILL.md")]);
    let tools = tree(
        &repo,
        &[("040000 tree", &good, b"good"), ("040000 tree", &good, b"n\xe9"), ("040000 tree", &skill, b"x")],
    );
    commit_root(&repo, &tree(&repo, &[("040000 tree", &tools, b"tools")]));
    refused(&world, 3, "caf\\xe9");
    import(&world, &repo.url(), "tools/good");
    install(&world, "bad").ok();
}

#[test]
fn se_03_twins_by_case_or_unicode_form_in_a_remote_skill_are_refused() {
    for (one, other) in
        [("README.md", "readme.md"), ("caf\u{e9}", "cafe\u{301}"), ("\u{212a}", "k"), ("Stra\u{df}e", "STRASSE")]
    {
        let world = guarded();
        let repo = remote(&world);
        let blob = repo.blob(b"x");
        commit_skill(&repo, &[("100644 blob", &blob, one.as_bytes()), ("100644 blob", &blob, other.as_bytes())]);
        refused(&world, 3, "are one name where case or Unicode form does not count");
    }
}

#[test]
fn se_03_a_folder_and_a_file_that_are_twins_are_refused() {
    let world = guarded();
    let repo = remote(&world);
    let blob = repo.blob(b"x");
    let dir = tree(&repo, &[("100644 blob", &blob, b"inner")]);
    commit_skill(&repo, &[("120000 blob", &repo.blob(b"Data"), b"data"), ("040000 tree", &dir, b"Data")]);
    refused(&world, 3, "are one name where case or Unicode form does not count");
}

#[test]
fn sp_19_two_remote_skills_that_are_one_folder_are_refused() {
    let world = guarded();
    let repo = remote(&world);
    let skill = tree(&repo, &[("100644 blob", &repo.blob(b"---\nname: x\n---\n"), b"SKILL.md")]);
    for (one, other) in [("review", "Review"), ("caf\u{e9}", "cafe\u{301}")] {
        let tools = tree(&repo, &[("040000 tree", &skill, one.as_bytes()), ("040000 tree", &skill, other.as_bytes())]);
        commit_root(&repo, &tree(&repo, &[("040000 tree", &tools, b"tools")]));
        refused(&world, 3, "would both be installed as");
    }
}

#[test]
fn se_08_escapes_and_bidi_characters_of_a_remote_are_shown_escaped() {
    let world = guarded();
    let repo = remote(&world);
    let skill = tree(&repo, &[("100644 blob", &repo.blob(b"---\nname: \"x\\e[31m\"\n---\n"), b"SKILL.md")]);
    let tools =
        tree(&repo, &[("040000 tree", &skill, "a\u{202e}b".as_bytes()), ("040000 tree", &skill, b"c\x1b[31md")]);
    commit_root(&repo, &tree(&repo, &[("040000 tree", &tools, b"tools")]));
    let commands: [&[&str]; 3] =
        [&["show", "bad"], &["show", "bad", "--format", "plain"], &["install", "bad", "--agent", "codex", "--dry-run"]];
    for args in commands {
        let run = world.sp(args);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(!said.contains(['\u{1b}', '\u{202e}']), "{args:?}: {said:?}");
    }
}

// Repositories and refs that would make git do something else.

/// A `git` that only notes that it was started.
fn tripwire(world: &mut World) -> PathBuf {
    let (bin, log) = (world.path("bin"), world.path("git-was-started"));
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(bin.join("git"), format!("#!/bin/sh\necho \"$@\" >> '{}'\nexit 1\n", log.display())).unwrap();
    std::fs::set_permissions(bin.join("git"), PermissionsExt::from_mode(0o755)).unwrap();
    world.set_env("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
    log
}

#[test]
fn se_05_urls_that_would_run_code_are_refused_before_git_starts() {
    let mut world = guarded();
    let log = tripwire(&mut world);
    for url in [
        "-u./evil",
        "--upload-pack=touch canary/pwned",
        "ext::sh -c touch% canary/pwned",
        "fd::17",
        "transport::address",
        "EXT::sh",
        "https://example.invalid/\u{1}x",
        "https://example.invalid/x\n[core]",
        "https://example.invalid/\u{7f}",
        "ssh://-oProxyCommand=touch/x",
        "ssh://git@-oProxyCommand=touch/x",
        "ssh://-l@host/x",
        "git@-oProxyCommand=touch:x",
        "host:-x",
        "-oProxyCommand=touch:x",
        "javascript://x/y",
        "ftp://example.invalid/x",
        "rsync://example.invalid/x",
        "FILE:///etc",
        "git+ssh://example.invalid/x",
        "http+unix://%2Ftmp/x",
        "https://",
        "https:///x",
        "",
    ] {
        import(&world, url, "**");
        refused(&world, 3, "SP-08");
        assert!(!log.exists(), "{url}: {}", std::fs::read_to_string(&log).unwrap_or_default());
    }
}

#[test]
fn se_05_plain_http_to_another_machine_is_refused_before_git_starts() {
    let mut world = guarded();
    let log = tripwire(&mut world);
    for url in [
        "http://example.invalid/x",
        "http://127.0.0.1.example.invalid/x",
        "http://127.0.0.1@example.invalid/x",
        "http://localhost:pw@example.invalid/x",
        "http://localhost.example.invalid/x",
        "http://[::2]/x",
        "http://0.0.0.0/x",
        "http://10.0.0.1/x",
        "HTTP://example.invalid/x",
        "http://127.0.0.1:80#@example.invalid/x",
        "http://127.0.0.1?@example.invalid/x",
    ] {
        import(&world, url, "**");
        refused(&world, 3, "is not allowed");
        assert!(!log.exists(), "{url}");
    }
}

#[test]
fn se_05_refs_that_git_could_misread_are_refused_before_git_starts() {
    let mut world = guarded();
    let repo = remote(&world);
    repo.commit("one");
    let log = tripwire(&mut world);
    for git_ref in [
        "-x",
        "--upload-pack=touch canary/pwned",
        "a..b",
        "main:refs/heads/evil",
        "main^{/x}",
        "main~1",
        "a b",
        "a\u{1}b",
        "a\nb",
        "@{-1}",
        "refs/heads/*",
        ":/message",
    ] {
        world.pack(
            "bad",
            &format!(
                "name: bad\nimports:\n  - repo: '{}'\n    ref: {}\n    include: ['**']\n",
                repo.url(),
                quoted(git_ref)
            ),
        );
        refused(&world, 3, "SP-10");
        assert!(!log.exists(), "{git_ref}");
    }
}

#[test]
fn se_05_a_redirect_to_a_file_is_not_followed() {
    use std::io::{Read, Write};
    let world = guarded();
    let repo = remote(&world);
    repo.commit("one");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let target = repo.url();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        write!(stream, "HTTP/1.1 302 Found\r\nLocation: {target}/info/refs?service=git-upload-pack\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    });
    import(&world, &format!("http://127.0.0.1:{port}/x"), "**");
    refused(&world, 5, "cannot reach the repository");
    thread.join().unwrap();
}

// Code in repositories.

/// A program that leaves a mark.
fn trap(world: &World, name: &str) -> String {
    let path = world.path("traps").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, format!("#!/bin/sh\ntouch '{}'\nexit 0\n", world.path("marks").join(name).display()))
        .unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path.display().to_string()
}

const HOOKS: [&str; 14] = [
    "post-checkout",
    "post-merge",
    "post-index-change",
    "reference-transaction",
    "pre-auto-gc",
    "post-rewrite",
    "pre-receive",
    "update",
    "post-receive",
    "post-update",
    "proc-receive",
    "push-to-checkout",
    "fsmonitor-watchman",
    "post-upload-pack",
];

const PROGRAMS: [&str; 17] = [
    "uploadpack.packObjectsHook",
    "core.fsmonitor",
    "core.sshCommand",
    "core.pager",
    "core.editor",
    "core.askPass",
    "core.alternateRefsCommand",
    "core.gitProxy",
    "credential.helper",
    "diff.external",
    "gpg.program",
    "filter.evil.smudge",
    "filter.evil.clean",
    "filter.evil.process",
    "remote.origin.uploadpack",
    "remote.origin.receivepack",
    "merge.evil.driver",
];

/// Puts a trap into every place where a repository can name a program.
fn booby_trap(world: &World, repo: &Repo) {
    std::fs::create_dir_all(world.path("marks")).unwrap();
    for hook in HOOKS {
        let program = trap(world, hook);
        std::fs::create_dir_all(repo.path().join(".git/hooks")).unwrap();
        symlink(program, repo.path().join(".git/hooks").join(hook)).unwrap();
    }
    for key in PROGRAMS {
        repo.git(&["config", key, &trap(world, key)]);
    }
    for command in
        ["upload-pack", "ls-remote", "fetch", "ls-tree", "cat-file", "config", "init", "rev-parse", "update-ref"]
    {
        repo.git(&["config", &format!("alias.{command}"), &format!("!{}", trap(world, command))]);
    }
    repo.git(&["config", "protocol.ext.allow", "always"]);
    repo.git(&["config", &format!("url.ext::{} .insteadOf", trap(world, "instead-of")), "file://"]);
}

#[test]
fn se_05_hooks_of_a_remote_never_run() {
    let world = guarded();
    let repo = remote(&world);
    repo.write("tools/x/data.evil", "as it is\n").write(".gitattributes", "*.evil filter=evil diff=evil merge=evil\n");
    repo.commit("one");
    booby_trap(&world, &repo);
    for url in [repo.path().display().to_string(), repo.url(), "../../git/remote/.git".into()] {
        import(&world, &url, "tools/**");
        install(&world, "bad").ok();
        world.sp(&["show", "bad"]).ok();
        assert_eq!(world.files("marks"), Files::new(), "{url}");
    }
    assert_eq!(world.files("sink/bad__tools__x")["data.evil"], Entry::File("as it is\n".into(), false));
    let _ = Command::new("git")
        .args(["status"])
        .current_dir(repo.path())
        .env("HOME", "/nonexistent")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(!world.files("marks").is_empty(), "the traps were armed");
}

#[test]
fn se_05_a_hostile_repository_around_the_pack_never_runs_anything() {
    let world = guarded();
    let repo = remote(&world);
    repo.commit("one");
    let around = Repo::new(world.repo());
    booby_trap(&world, &around);
    install(&world, "bad").ok();
    world.sp(&["list"]).ok();
    assert_eq!(world.files("marks"), Files::new());
}

#[test]
fn se_05_a_hostile_partial_clone_never_fetches_from_elsewhere() {
    for scheme in ["ext::", "ssh://evil/"] {
        let world = guarded();
        let repo = remote(&world);
        repo.write("tools/x/gone", "missing");
        repo.commit("one");
        std::fs::create_dir_all(world.path("marks")).unwrap();
        let program = trap(&world, "lazy");
        for (key, value) in [
            ("core.repositoryFormatVersion", "1"),
            ("extensions.partialClone", "evil"),
            ("remote.evil.promisor", "true"),
            ("remote.evil.url", &format!("{scheme}{program}")),
            ("core.sshCommand", &program),
            ("protocol.ext.allow", "always"),
        ] {
            repo.git(&["config", key, value]);
        }
        let blob = repo.git(&["rev-parse", "HEAD:tools/x/gone"]);
        std::fs::remove_file(repo.path().join(".git/objects").join(&blob[..2]).join(blob[2..].trim())).unwrap();
        import(&world, &repo.path().display().to_string(), "tools/**");
        refused(&world, 5, "cannot fetch");
        assert_eq!(world.files("marks"), Files::new());
    }
}

#[test]
fn sp_09_lfs_pointers_filters_and_export_ignore_change_no_byte() {
    let mut world = guarded();
    let repo = remote(&world);
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
    repo.write("tools/x/model.bin", pointer)
        .write("tools/x/unix.txt", "a\nb\n")
        .write("tools/x/private", "kept")
        .write("tools/x/id", "$Id$\n");
    // With attributes in force, `git add` would already change what is stored.
    repo.commit("one");
    let attributes = "*.bin filter=lfs diff=lfs merge=lfs -text\n*.txt text eol=crlf working-tree-encoding=UTF-16\nprivate export-ignore\nid ident\n";
    repo.write(".gitattributes", attributes).write("tools/x/.gitattributes", attributes);
    repo.git(&["add", ".gitattributes", "tools/x/.gitattributes"]);
    repo.git(&["commit", "--quiet", "-m", "two"]);
    let config = format!("[filter \"lfs\"]\n\tsmudge = {0}\n\tprocess = {0}\n\trequired = true\n", trap(&world, "lfs"));
    std::fs::create_dir_all(world.path("marks")).unwrap();
    std::fs::write(world.home().join(".gitconfig"), config).unwrap();
    world.set_env("GIT_ATTR_SOURCE", "HEAD");
    install(&world, "bad").ok();
    let read = |path: &str| std::fs::read_to_string(world.path("sink/bad__tools__x").join(path)).unwrap();
    assert_eq!(
        (read("model.bin"), read("unix.txt"), read("private"), read("id")),
        (pointer.into(), "a\nb\n".into(), "kept".into(), "$Id$\n".into())
    );
    assert_eq!(read(".gitattributes"), attributes);
    assert_eq!(world.files("marks"), Files::new());
}

#[test]
fn sp_09_a_submodule_in_a_selected_skill_is_refused_and_elsewhere_ignored() {
    let world = guarded();
    let repo = remote(&world);
    let skill = repo.blob(b"---\nname: x\ndescription: x\n---\n");
    let modules = format!(
        "[submodule \"evil\"]\n\tpath = tools/x/vendor\n\turl = ext::sh -c touch% {}\n",
        world.path("pwned").display()
    );
    let good = tree(&repo, &[("100644 blob", &skill, b"SKILL.md")]);
    let x = tree(&repo, &[("100644 blob", &skill, b"SKILL.md"), ("160000 commit", &"1".repeat(40), b"vendor")]);
    let tools = tree(
        &repo,
        &[("040000 tree", &good, b"good"), ("160000 commit", &"2".repeat(40), b"sub"), ("040000 tree", &x, b"x")],
    );
    commit_root(
        &repo,
        &tree(
            &repo,
            &[("100644 blob", &repo.blob(modules.as_bytes()), b".gitmodules"), ("040000 tree", &tools, b"tools")],
        ),
    );
    refused(&world, 3, "`vendor` is a submodule");
    import(&world, &repo.url(), "tools/good");
    install(&world, "bad").ok();
    assert!(!world.path("pwned").exists());
}

// Too much of anything.

#[test]
fn se_04_yaml_bombs_are_refused_cheaply() {
    let world = guarded();
    let mut aliases = String::from("a: &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (last, next) in ('a'..'i').zip('b'..='i') {
        writeln!(aliases, "{next}: &{next} [*{last}, *{last}, *{last}, *{last}, *{last}, *{last}, *{last}, *{last}]")
            .unwrap();
    }
    for (bomb, words) in [
        (aliases, "nodes"),
        (format!("name: {}", "[".repeat(400_000)), "SP-11"),
        (format!("include: {}", "{a: ".repeat(200_000)), "SP-11"),
        ("- ".repeat(400_000), "SP-11"),
        (format!("include: [{}]", "x,".repeat(400_000)), "more than 10000 nodes"),
        (format!("name: &a x\ninclude: [{}]", "*a,".repeat(200)), "more than 100 aliases"),
        (format!("name: {}", "\"\\x41".repeat(200_000)), "SP-11"),
    ] {
        world.pack("bad", &bomb);
        refused_cheaply(&world, words, Duration::from_secs(2));
    }
}

#[test]
fn se_04_a_pack_file_of_a_gigabyte_is_refused_cheaply() {
    let world = guarded();
    let file = std::fs::File::create(world.repo().join("packs/bad.yaml")).unwrap();
    file.set_len(1 << 30).unwrap();
    let cost = cost(&world, &["install", "bad", "--agent", "custom", "--path", &sink(&world)]);
    assert_eq!(cost.code, Some(3), "{}", cost.stderr);
    assert!(cost.stderr.contains("1073741824 bytes") && cost.stderr.contains("--limit yaml-bytes="), "{}", cost.stderr);
    assert!(cost.time < Duration::from_secs(2), "{:?}", cost.time);
    assert!(cost.memory < MEMORY, "{} KiB", cost.memory);
}

#[test]
fn se_04_one_huge_pack_file_does_not_hide_the_others() {
    let world = guarded();
    std::fs::File::create(world.repo().join("packs/huge.yaml")).unwrap().set_len(1 << 30).unwrap();
    world.sp(&["show", "good"]).ok();
    let run = world.sp(&["packs"]).fails(3);
    assert_eq!(run.stdout, "good\nhuge\n", "{run}");
}

#[test]
fn sp_15_a_pattern_made_to_backtrack_is_harmless() {
    let world = guarded();
    let long = format!("{}/{}", "a".repeat(200), "a".repeat(200));
    world.skill(&long);
    let evil = format!("{}b", "*a".repeat(90));
    let worse = format!("{}b", "**a".repeat(90));
    world.pack("bad", &format!("name: bad\ninclude: ['{evil}', '{worse}', '{}']\n", "**/*".repeat(60)));
    let start = Instant::now();
    refused(&world, 3, "SP-17");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[test]
fn se_04_a_remote_file_over_the_limit_is_refused_and_the_limit_named() {
    let world = guarded();
    let repo = remote(&world);
    repo.write("tools/x/big", vec![b'x'; 1000]);
    repo.commit("one");
    let run =
        refused_with(&world, &["--limit", "file-bytes=999"], 3, "`big` has 1000 bytes, more than the limit of 999");
    assert!(run.stderr.contains("`--limit file-bytes=<number>`"), "{run}");
    install_with(&world, "bad", &["--limit", "file-bytes=1000"]).ok();
}

#[test]
fn se_04_a_compressed_remote_file_is_refused_by_its_full_size_cheaply() {
    let world = guarded();
    let repo = remote(&world);
    let zeros = repo.blob(&vec![0; 150 * 1024 * 1024]);
    commit_skill(&repo, &[("100644 blob", &zeros, b"bomb")]);
    refused_cheaply(&world, "`bomb` has 157286400 bytes", Duration::from_secs(10));
}

#[test]
fn se_04_a_remote_skill_over_the_limit_of_bytes_is_refused() {
    let world = guarded();
    let repo = remote(&world);
    repo.write("tools/x/a", [b'a'; 600]).write("tools/x/b", [b'b'; 600]);
    repo.commit("one");
    let run = refused_with(&world, &["--limit", "skill-bytes=1200"], 3, "its files have more than 1200 bytes together");
    assert!(run.stderr.contains("`--limit skill-bytes=<number>`"), "{run}");
    install_with(&world, "bad", &["--limit", "skill-bytes=1300"]).ok();
}

#[test]
fn se_04_a_remote_skill_with_too_many_entries_is_refused_and_the_limit_named() {
    let world = guarded();
    let repo = remote(&world);
    for number in 0..20 {
        repo.write(&format!("tools/x/{number}"), "x");
    }
    repo.commit("one");
    let run = refused_with(&world, &["--limit", "skill-entries=20"], 3, "more than 20 files and folders");
    assert!(run.stderr.contains("--limit skill-entries="), "{run}");
    install_with(&world, "bad", &["--limit", "skill-entries=21"]).ok();
}

#[test]
fn se_04_a_remote_skill_that_is_too_deep_is_refused_and_the_limit_can_be_raised() {
    let world = guarded();
    let repo = remote(&world);
    repo.write(&format!("tools/x/{}end", "d/".repeat(70)), "x");
    repo.commit("one");
    let run = refused(&world, 3, "64 folders deep");
    assert!(run.stderr.contains("--limit depth="), "{run}");
    refused_with(&world, &["--limit", "depth=10"], 3, "10 folders deep");
    install_with(&world, "bad", &["--limit", "depth=80"]).ok();
}

#[test]
fn se_04_a_local_skill_over_each_limit_is_refused_and_the_limit_named() {
    let world = guarded();
    world.skill("evil");
    world.write("skills/evil/a/b/c", [b'x'; 500]);
    world.pack("bad", "name: bad\ninclude: [evil]\n");
    for (limit, words) in [
        ("file-bytes=499", "more than the limit of 499"),
        ("skill-bytes=500", "more than 500 bytes together"),
        ("skill-entries=3", "more than 3 files"),
        ("depth=2", "2 folders deep"),
    ] {
        let run = refused_with(&world, &["--limit", limit], 3, words);
        assert!(run.stderr.contains(&format!("--limit {}=", limit.split('=').next().unwrap())), "{run}");
    }
    std::fs::File::create(world.repo().join("skills/evil/sparse")).unwrap().set_len(1 << 40).unwrap();
    refused_cheaply(&world, "1099511627776 bytes", Duration::from_secs(2));
}

#[test]
fn se_04_a_repository_with_too_many_entries_is_refused() {
    let world = guarded();
    let repo = remote(&world);
    repo.commit("one");
    let run = refused_with(&world, &["--limit", "repo-entries=2"], 3, "has more than 2 files and folders");
    assert!(run.stderr.contains("--limit repo-entries="), "{run}");
}

#[test]
fn se_04_a_tree_that_unfolds_without_end_is_refused() {
    let world = guarded();
    let repo = remote(&world);
    let mut level = tree(&repo, &[("100644 blob", &repo.blob(b"---\nname: x\n---\n"), b"SKILL.md")]);
    for _ in 0..10 {
        let names: Vec<String> = (0..10).map(|number| number.to_string()).collect();
        let entries: Vec<(&str, &str, &[u8])> =
            names.iter().map(|name| ("040000 tree", level.as_str(), name.as_bytes())).collect();
        level = tree(&repo, &entries);
    }
    commit_root(&repo, &tree(&repo, &[("040000 tree", &level, b"tools")]));
    refused_cheaply(&world, "files and folders", Duration::from_secs(15));
}

#[test]
fn se_04_more_bytes_from_git_than_the_limit_are_refused_and_the_limit_named() {
    for filter in ["true", "false"] {
        let world = guarded();
        let repo = remote(&world);
        repo.write("tools/x/noise", noise(3_000_000));
        repo.commit("one");
        repo.git(&["config", "uploadpack.allowFilter", filter]);
        for _ in 0..2 {
            let run = refused_with(&world, &["--limit", "git-pack-bytes=100000"], 3, "sends more than 100000 bytes");
            assert!(run.stderr.contains("`--limit git-pack-bytes=<bytes>`"), "{run}");
        }
        let left: Vec<String> = world
            .files("home/.skillpack/cache")
            .into_keys()
            .filter(|path| path.contains("/tmp_") || path.ends_with(".lock"))
            .collect();
        assert_eq!(left, [""; 0], "what was refused is not left behind");
        install(&world, "bad").ok();
    }
}

// Credentials.

const TOKEN: &str = "CANARY-2b7e151628aed2a6";
/// `user:CANARY-2b7e151628aed2a6` in Base64, and the token alone as a user.
const BASE64: [&str; 2] = ["dXNlcjpDQU5BUlktMmI3ZTE1MTYyOGFlZDJhNg==", "Q0FOQVJZLTJiN2UxNTE2MjhhZWQyYTY6"];

/// Every needle that gives the token away.
fn gives_away(text: &str) -> bool {
    text.contains(TOKEN)
        || BASE64.iter().any(|code| text.contains(code.trim_end_matches('=')))
        || text.contains("CANARY%2D")
}

#[track_caller]
fn silent(run: &Run) {
    assert!(!gives_away(&run.stdout) && !gives_away(&run.stderr), "the token is in the output: {run}");
}

/// Nothing in the world but the pack file, in which its author wrote it, has the token.
#[track_caller]
fn nothing_written(world: &World) {
    let mut seen = 0;
    for (path, entry) in world.files("") {
        if matches!(entry, Entry::File(..)) && path != "home/repo/packs/bad.yaml" {
            let bytes = std::fs::read(world.path(&path)).unwrap();
            assert!(!gives_away(&String::from_utf8_lossy(&bytes)), "the token is in {path}");
            seen += 1;
        }
        assert!(!gives_away(&path), "the token is in the name {path}");
    }
    assert!(seen > 5);
}

/// A `git` that notes its arguments and the names of its variables, then does its work.
fn noting_git(world: &mut World) -> PathBuf {
    let (bin, log) = (world.path("bin"), world.path("git-calls"));
    let path = Command::new("sh").args(["-c", "echo \"$PATH\"; command -v git"]).output().unwrap();
    let path = String::from_utf8(path.stdout).unwrap();
    let (paths, git) = path.trim().split_once('\n').unwrap();
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(
        bin.join("git"),
        format!(
            "#!/bin/sh\n{{ echo \"$@\"; env | sed 's/^\\(SP_GIT_[A-Z]*\\)=.*/\\1/'; }} >> '{}'\nexec '{git}' \"$@\"\n",
            log.display()
        ),
    )
    .unwrap();
    std::fs::set_permissions(bin.join("git"), PermissionsExt::from_mode(0o755)).unwrap();
    world.set_env("PATH", &format!("{}:{paths}", bin.display()));
    log
}

/// The command lines of all processes of this world, gathered until `stop`.
fn watch_command_lines(world: &World, stop: &AtomicBool) -> BTreeSet<String> {
    let home = world.home().display().to_string();
    let read = |process: &Path, file: &str| {
        String::from_utf8_lossy(&std::fs::read(process.join(file)).unwrap_or_default()).into_owned()
    };
    let mut seen = BTreeSet::new();
    while !stop.load(Ordering::SeqCst) {
        let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|process| process.path());
        for process in processes.filter(|process| read(process, "environ").contains(&home)) {
            seen.insert(read(&process, "cmdline"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    seen
}

#[test]
fn se_07_a_token_in_a_url_is_used_and_never_written_or_printed() {
    for (credentials, base64) in [(format!("user:{TOKEN}"), BASE64[0]), (TOKEN.to_owned(), BASE64[1])] {
        let mut world = guarded();
        remote(&world).commit("one");
        let log = noting_git(&mut world);
        let http = HttpServer::start_with(&world.path("git"), Some(base64));
        import(&world, &http.url_with(&credentials, "remote"), "tools/**");
        let stop = AtomicBool::new(false);
        let lines = std::thread::scope(|scope| {
            let watcher = scope.spawn(|| watch_command_lines(&world, &stop));
            silent(&install_with(&world, "bad", &["--dry-run"]).ok());
            silent(&install_with(&world, "bad", &["--verbose"]).ok());
            for format in ["human", "plain", "json"] {
                silent(&world.sp(&["show", "bad", "--format", format, "--verbose"]).ok());
                silent(&world.sp(&["installed", "--format", format]).ok());
                silent(&install_with(&world, "bad", &["--format", format]).ok());
            }
            stop.store(true, Ordering::SeqCst);
            watcher.join().unwrap()
        });
        assert!(lines.iter().any(|line| line.contains("ls-remote")), "the watcher saw git");
        assert!(!lines.iter().any(|line| gives_away(line)), "the token is on a command line");
        assert!(world.path("sink/bad__tools__x/SKILL.md").is_file());
        let calls = std::fs::read_to_string(log).unwrap();
        assert!(calls.contains("SP_GIT_PASSWORD") && calls.contains("ls-remote"), "{calls}");
        nothing_written(&world);
    }
}

#[test]
fn se_07_a_token_that_fails_is_never_written_or_printed() {
    let world = guarded();
    remote(&world).commit("one");
    let http = HttpServer::start_with(&world.path("git"), Some("b3RoZXI6b3RoZXI="));
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for url in [
        http.url_with(&format!("user:{TOKEN}"), "remote"),
        http.url_with(TOKEN, "remote"),
        format!("http://user:{TOKEN}@127.0.0.1:{gone}/x"),
    ] {
        import(&world, &url, "tools/**");
        for format in ["human", "plain", "json"] {
            for args in [
                &["install", "bad", "--agent", "codex"][..],
                &["show", "bad"],
                &["install", "bad", "--agent", "codex", "--dry-run"],
                &["install", "bad", "--agent", "codex", "--offline"],
            ] {
                silent(&world.sp(&[args, &["--verbose", "--format", format]].concat()).fails(5));
            }
        }
    }
    nothing_written(&world);
}

#[test]
fn se_07_a_token_in_a_line_that_is_shown_because_it_is_wrong_is_masked() {
    let mut world = guarded();
    remote(&world).commit("one");
    world.set_env("GIT_SSH_COMMAND", "false");
    let http = HttpServer::start_with(&world.path("git"), Some(BASE64[0]));
    let url = http.url_with(&format!("user:{TOKEN}"), "remote");
    for pack in [
        format!("name: bad\nimports:\n- {{repo: '{url}', include: [nothing]}}\n"),
        format!("name: bad\nimports:\n- {{repo: '{url}', include: ['**'], exclude: [nothing]}}\n"),
        format!("name: bad\nimports:\n- {{repo: '{url}', ref: 'a..b', include: ['**']}}\n"),
        format!("name: bad\nimports:\n- {{repo: '{url}'}}\n"),
        format!("name: bad\nimports:\n- {{rep: '{url}', include: ['**']}}\n"),
        format!("name: bad\nimports:\n- repo: http://user:{TOKEN}@example.invalid/x\n  include: ['**']\n"),
        format!("name: bad\nimports:\n- repo: ftp://user:{TOKEN}@example.invalid/x\n  include: ['**']\n"),
        format!("name: bad\nimports:\n- repo: ftp://{TOKEN}@example.invalid/x\n  include: ['**']\n"),
        format!("name: bad\nimports:\n- repo: {url}\n  repo: {url}\n  include: ['**']\n"),
        format!("name: bad\nimports: {url}\n"),
        format!("{url}\n"),
        format!("name: bad\nimports:\n- repo: user:{TOKEN}@127.0.0.1:x\n  include: ['**']\n"),
    ] {
        world.pack("bad", &pack);
        for format in ["human", "plain", "json"] {
            let run = world.sp(&["install", "bad", "--agent", "codex", "--format", format, "--dry-run"]);
            assert!(
                !gives_away(&run.stdout) && !gives_away(&run.stderr),
                "with {pack}the token is in the output: {run}"
            );
            silent(&world.sp(&["packs", "--format", format, "--verbose"]));
        }
        nothing_written(&world);
    }
}
