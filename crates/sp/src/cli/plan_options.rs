//! Checks that every command that changes something has `--dry-run` and `--plan`.

use std::collections::BTreeSet;

use super::command;

/// Commands that change nothing but caches.
const READ_ONLY: &[&str] = &[
    "audit",
    "bag deps",
    "bag enter",
    "bag list",
    "bag params",
    "completions",
    "config",
    "context diff",
    "context kb list",
    "context kb search",
    "context kb stats",
    "context show",
    "cost",
    "diff",
    "explain",
    "info",
    "installed",
    "key list",
    "list",
    "outdated",
    "packs",
    "pkg diff",
    "pkg info",
    "pkg list",
    "pkg load",
    "pkg log",
    "pkg query",
    "pkg stale",
    "pkg verify",
    "policy check",
    "policy show",
    "publisher list",
    "schema",
    "search",
    "show",
    "status",
    "why",
];

/// Commands that only write the file or directory that the user names. They refuse to replace an
/// existing one without `--force`.
const OUTPUT_ONLY: &[&str] = &["context unzip", "context zip", "man", "pkg export", "pkg graph"];

/// Commands that change something at a registry or at another machine, or the token for it.
const REMOTE: &[&str] = &[
    "context push",
    "context revoke",
    "context url",
    "login",
    "logout",
    "pkg send",
    "publish",
    "publisher add",
    "publisher remove",
    "publisher require",
    "yank",
];

/// Servers, and the commands of the operator of a registry.
const SERVERS: &[&str] = &["mcp", "pkg receive", "serve"];

/// Returns every command without subcommands, or that can be used without one, with its path.
fn commands() -> Vec<(String, clap::Command)> {
    fn add(command: &clap::Command, path: &str, found: &mut Vec<(String, clap::Command)>) {
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            let path = format!("{path} {}", below.get_name());
            if !below.has_subcommands() || below.get_arguments().any(|arg| !arg.is_global_set()) {
                found.push((path.trim().to_owned(), below.clone()));
            }
            add(below, &path, found);
        }
    }
    let mut found = Vec::new();
    add(&command(), "", &mut found);
    found
}

#[test]
fn mc_03_every_command_that_changes_something_has_dry_run_and_plan() {
    let exempt: BTreeSet<&str> = [READ_ONLY, OUTPUT_ONLY, REMOTE].concat().into_iter().collect();
    let is_server = |path: &str| SERVERS.contains(&path) || path.starts_with("serve ");
    let (mut seen, mut lacking) = (BTreeSet::new(), Vec::new());
    for (path, command) in commands() {
        let has = |name: &str| command.get_arguments().any(|arg| arg.get_long() == Some(name));
        let has_short = command.get_arguments().any(|arg| arg.get_short() == Some('n'));
        let options = (has("dry-run"), has_short, has("plan"));
        if exempt.contains(path.as_str()) {
            assert_eq!(options, (false, false, false), "`sp {path}` has a plan: remove it here");
            seen.insert(path);
        } else if !is_server(&path) && options != (true, true, true) {
            lacking.push(path);
        }
    }
    assert!(lacking.is_empty(), "commands without `-n/--dry-run` or `--plan`: {lacking:?}");
    let unknown: Vec<&&str> = exempt.iter().filter(|path| !seen.contains(**path)).collect();
    assert!(unknown.is_empty(), "unknown commands: {unknown:?}");
}
