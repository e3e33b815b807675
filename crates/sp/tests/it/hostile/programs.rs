//! Repositories that try to make git run a program.

use super::*;

/// Replaces `git` with a program that only logs that it was started, and returns the log.
fn replace_git(world: &mut World) -> PathBuf {
    let (bin, log) = (world.path("bin"), world.path("git-was-started"));
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(
        bin.join("git"),
        format!("#!/bin/sh\necho \"$@\" >> '{}'\nexit 1\n", log.display()),
    )
    .unwrap();
    std::fs::set_permissions(bin.join("git"), PermissionsExt::from_mode(0o755)).unwrap();
    world.set_env("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
    log
}

#[test]
fn se_05_urls_that_would_run_code_are_refused_before_git_starts() {
    let mut world = guarded();
    let log = replace_git(&mut world);
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
        refused(&world, "SP-08");
        assert!(!log.exists(), "{url}: {}", std::fs::read_to_string(&log).unwrap_or_default());
    }
}

#[test]
fn se_05_plain_http_to_another_machine_is_refused_before_git_starts() {
    let mut world = guarded();
    let log = replace_git(&mut world);
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
        refused(&world, "SP-08");
        assert!(!log.exists(), "{url}");
    }
}

#[test]
fn se_05_refs_with_special_meaning_are_refused_before_git_starts() {
    let mut world = guarded();
    let repo = remote(&world);
    repo.commit("one");
    let log = replace_git(&mut world);
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
        refused(&world, "SP-10");
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
    refused(&world, "E-git");
    thread.join().unwrap();
}

/// Creates a program that writes a file to `marks` when it runs, and returns its path.
fn trap(world: &World, name: &str) -> String {
    let path = world.path("traps").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(
        &path,
        format!("#!/bin/sh\ntouch '{}'\nexit 0\n", world.path("marks").join(name).display()),
    )
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

/// Names such a program in every setting and hook of a repository.
fn add_traps(world: &World, repo: &GitRepository) {
    std::fs::create_dir_all(world.path("marks")).unwrap();
    for hook in HOOKS {
        let program = trap(world, hook);
        std::fs::create_dir_all(repo.path().join(".git/hooks")).unwrap();
        symlink(program, repo.path().join(".git/hooks").join(hook)).unwrap();
    }
    for key in PROGRAMS {
        repo.git(&["config", key, &trap(world, key)]);
    }
    for command in [
        "upload-pack",
        "ls-remote",
        "fetch",
        "ls-tree",
        "cat-file",
        "config",
        "init",
        "rev-parse",
        "update-ref",
    ] {
        repo.git(&["config", &format!("alias.{command}"), &format!("!{}", trap(world, command))]);
    }
    repo.git(&["config", "protocol.ext.allow", "always"]);
    repo.git(&["config", &format!("url.ext::{} .insteadOf", trap(world, "instead-of")), "file://"]);
}

#[test]
fn se_05_hooks_of_a_remote_never_run() {
    let world = guarded();
    let repo = remote(&world);
    repo.write("tools/x/data.evil", "as it is\n")
        .write(".gitattributes", "*.evil filter=evil diff=evil merge=evil\n");
    repo.commit("one");
    add_traps(&world, &repo);
    for url in [repo.path().display().to_string(), repo.url(), "../../git/remote/.git".into()] {
        import(&world, &url, "tools/**");
        install(&world, "bad").ok();
        world.sp(&["show", "bad"]).ok();
        assert_eq!(world.files("marks"), FileMap::new(), "{url}");
    }
    assert_eq!(
        world.files("sink/bad__tools__x")["data.evil"],
        FileEntry::File("as it is\n".into(), false)
    );
    let _ = Command::new("git")
        .args(["status"])
        .current_dir(repo.path())
        .env("HOME", "/nonexistent")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(!world.files("marks").is_empty(), "the traps work");
}

#[test]
fn se_05_settings_of_the_repository_of_the_pack_run_nothing() {
    let world = guarded();
    let repo = remote(&world);
    repo.commit("one");
    let around = GitRepository::new(world.repo());
    add_traps(&world, &around);
    install(&world, "bad").ok();
    world.sp(&["list"]).ok();
    assert_eq!(world.files("marks"), FileMap::new());
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
        std::fs::remove_file(
            repo.path().join(".git/objects").join(&blob[..2]).join(blob[2..].trim()),
        )
        .unwrap();
        import(&world, &repo.path().display().to_string(), "tools/**");
        refused(&world, "E-git");
        assert_eq!(world.files("marks"), FileMap::new());
    }
}

#[test]
fn sp_09_git_attributes_do_not_change_file_contents() {
    let mut world = guarded();
    let repo = remote(&world);
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
    repo.write("tools/x/model.bin", pointer)
        .write("tools/x/unix.txt", "a\nb\n")
        .write("tools/x/private", "kept")
        .write("tools/x/id", "$Id$\n");
    // `git add` would apply the attributes to the stored files.
    repo.commit("one");
    let attributes = "*.bin filter=lfs diff=lfs merge=lfs -text\n*.txt text eol=crlf working-tree-encoding=UTF-16\nprivate export-ignore\nid ident\n";
    repo.write(".gitattributes", attributes).write("tools/x/.gitattributes", attributes);
    repo.git(&["add", ".gitattributes", "tools/x/.gitattributes"]);
    repo.git(&["commit", "--quiet", "-m", "two"]);
    let config = format!(
        "[filter \"lfs\"]\n\tsmudge = {0}\n\tprocess = {0}\n\trequired = true\n",
        trap(&world, "lfs")
    );
    std::fs::create_dir_all(world.path("marks")).unwrap();
    std::fs::write(world.home().join(".gitconfig"), config).unwrap();
    world.set_env("GIT_ATTR_SOURCE", "HEAD");
    install(&world, "bad").ok();
    let read =
        |path: &str| std::fs::read_to_string(world.path("sink/bad__tools__x").join(path)).unwrap();
    assert_eq!(
        (read("model.bin"), read("unix.txt"), read("private"), read("id")),
        (pointer.into(), "a\nb\n".into(), "kept".into(), "$Id$\n".into())
    );
    assert_eq!(read(".gitattributes"), attributes);
    assert_eq!(world.files("marks"), FileMap::new());
}

#[test]
fn sp_09_submodules_are_refused_in_selected_skills_and_ignored_elsewhere() {
    let world = guarded();
    let repo = remote(&world);
    let skill = repo.blob(b"---\nname: x\ndescription: x\n---\n");
    let modules = format!(
        "[submodule \"evil\"]\n\tpath = tools/x/vendor\n\turl = ext::sh -c touch% {}\n",
        world.path("pwned").display()
    );
    let good = tree(&repo, &[("100644 blob", &skill, b"SKILL.md")]);
    let x = tree(
        &repo,
        &[("100644 blob", &skill, b"SKILL.md"), ("160000 commit", &"1".repeat(40), b"vendor")],
    );
    let tools = tree(
        &repo,
        &[
            ("040000 tree", &good, b"good"),
            ("160000 commit", &"2".repeat(40), b"sub"),
            ("040000 tree", &x, b"x"),
        ],
    );
    let modules = repo.blob(modules.as_bytes());
    let root = tree(
        &repo,
        &[("100644 blob", &modules, b".gitmodules"), ("040000 tree", &tools, b"tools")],
    );
    commit_root(&repo, &root);
    let error = refused(&world, "E-invalid-git-tree");
    assert!(text_of(&error).contains("`vendor`"), "{error:?}");
    import(&world, &repo.url(), "tools/good");
    install(&world, "bad").ok();
    assert!(!world.path("pwned").exists());
}
