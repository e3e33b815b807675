//! Completions, man pages, version and help.

use super::*;

#[test]
fn completions_exist_for_every_shell() {
    let world = world!();
    for shell in ["bash", "zsh", "fish"] {
        let run = world.sp(&["completions", shell]).ok();
        assert!(run.stdout.contains("__complete") && run.stderr.is_empty(), "{shell}: {run}");
    }
    for shell in ["elvish", "powershell"] {
        let run = world.sp(&["completions", shell]).ok();
        for word in ["uninstall", "switch", "--repo-root", "dry-run"] {
            assert!(run.stdout.contains(word), "{shell}: {word}");
        }
        assert_eq!(run.stderr, "", "{shell}");
    }
}

/// Every command with a man page.
const PAGES: &[&str] = &[
    "add",
    "adopt",
    "audit",
    "bag",
    "bag-add",
    "bag-check",
    "bag-deps",
    "bag-enter",
    "bag-init",
    "bag-list",
    "bag-params",
    "bag-remove",
    "bag-run",
    "bag-source",
    "bag-source-init",
    "bag-sync",
    "check",
    "clean",
    "completions",
    "config",
    "context",
    "context-build",
    "context-check",
    "context-diff",
    "context-install",
    "context-kb",
    "context-kb-add",
    "context-kb-list",
    "context-kb-remove",
    "context-kb-search",
    "context-kb-stats",
    "context-new",
    "context-push",
    "context-revoke",
    "context-seal",
    "context-show",
    "context-uninstall",
    "context-unzip",
    "context-url",
    "context-zip",
    "cost",
    "diff",
    "disable",
    "doctor",
    "enable",
    "explain",
    "info",
    "init",
    "install",
    "installed",
    "key",
    "key-export",
    "key-import",
    "key-list",
    "key-new",
    "key-rotate",
    "key-trust",
    "list",
    "login",
    "logout",
    "man",
    "mcp",
    "mcp-install",
    "mcp-uninstall",
    "migrate",
    "outdated",
    "packs",
    "pkg",
    "pkg-create",
    "pkg-diff",
    "pkg-export",
    "pkg-graph",
    "pkg-import",
    "pkg-inbox",
    "pkg-info",
    "pkg-install",
    "pkg-list",
    "pkg-load",
    "pkg-log",
    "pkg-merge",
    "pkg-prune",
    "pkg-query",
    "pkg-receive",
    "pkg-reinforce",
    "pkg-remove",
    "pkg-rollback",
    "pkg-send",
    "pkg-stale",
    "pkg-touch",
    "pkg-uninstall",
    "pkg-verify",
    "policy",
    "policy-check",
    "policy-show",
    "publish",
    "publisher",
    "publisher-add",
    "publisher-list",
    "publisher-remove",
    "publisher-require",
    "remove",
    "restore",
    "schema",
    "search",
    "serve",
    "serve-backup",
    "serve-delete",
    "serve-gc",
    "serve-restore",
    "serve-token",
    "serve-verify",
    "show",
    "status",
    "switch",
    "sync",
    "uninstall",
    "update",
    "why",
    "yank",
];

#[test]
fn man_pages_are_written_for_every_command() {
    let world = world!();
    let page = world.sp(&["man"]).ok().stdout;
    assert!(page.contains(".TH sp 1"), "{page}");
    world.sp(&["man", "share/man"]).ok();
    let pages: Vec<String> = world.files("home/repo/share/man").into_keys().collect();
    let mut expected: Vec<String> =
        PAGES.iter().map(|command| format!("sp-{command}.1")).chain(["sp.1".into()]).collect();
    expected.sort();
    assert_eq!(pages, expected);
    let page = std::fs::read_to_string(world.repo().join("share/man/sp-install.1")).unwrap();
    assert!(page.contains("dry\\-run") && page.contains("SYNOPSIS"), "{page}");
    assert!(
        page.replace("\\fB", "").replace("\\fR", "").contains("sp install "),
        "commands have spaces: {page}"
    );
}

#[test]
fn version_and_help_go_to_stdout() {
    let world = world!();
    let version = world.sp(&["--version"]).ok();
    assert_eq!(version.stdout, format!("sp {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(world.sp(&["-V"]), version);
    for args in [&["--help"][..], &["help", "install"], &["install", "--help"]] {
        let run = world.sp(args).ok();
        assert!(run.stdout.contains("Usage: sp") && run.stderr.is_empty(), "{run}");
    }
}
