//! Tests that every command line and flag that a message suggests exists.

use std::path::{Path, PathBuf};

use clap::Command;

/// Returns the source files of the crates that ship.
fn sources() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders
        .retain(|path| path.is_dir() && !path.ends_with("xtask") && !path.ends_with("sp-testkit"));
    folders.iter_mut().for_each(|path| path.push("src"));
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let list = if path.is_dir() { &mut folders } else { &mut files };
            list.push(path);
        }
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    files
}

/// Returns the text between backticks in the code of a file, without comments and tests.
fn quoted(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code: Vec<&str> =
        code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    // Join string literals that continue on the next line.
    let code = code.join("\n").replace("\\\n", "");
    let line =
        |line: &str| line.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    code.lines().flat_map(line).collect()
}

fn has_flag(command: &Command, flag: &str) -> bool {
    matches!(flag, "help" | "version")
        || command.get_arguments().any(|argument| {
            argument.get_long() == Some(flag)
                || argument.get_all_aliases().is_some_and(|names| names.contains(&flag))
        })
}

/// Returns the long flags among some words, without their values.
fn flags<'a>(words: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    let name = |word: &'a str| {
        word.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap_or_default()
    };
    words
        .filter_map(|word| word.trim_start_matches('[').strip_prefix("--"))
        .map(name)
        .filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Splits a command line into words. Single quotes group words.
pub(super) fn split_words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for c in line.chars() {
        match c {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            _ => words.last_mut().unwrap().push(c),
        }
    }
    words
}

/// Returns why a suggested command line is invalid, if it is.
fn problem(root: &Command, line: &str) -> Option<String> {
    let mut words = line.split_whitespace().skip(1).peekable();
    let (mut command, mut subcommands) = (root, Vec::new());
    while let Some(next) = words.peek().and_then(|word| command.find_subcommand(word)) {
        command = next;
        subcommands.extend(words.next());
    }
    // `sp …` and `sp {verb} …` are placeholders, not commands.
    let is_word = |word: &str| {
        word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-')
    };
    if command.has_subcommands()
        && let Some(unknown) = words.peek().filter(|word| is_word(word))
    {
        return Some(format!("unknown subcommand `{unknown}` of `sp {}`", subcommands.join(" ")));
    }
    if subcommands.is_empty() {
        return None;
    }
    flags(words)
        .find(|flag| !has_flag(command, flag))
        .map(|flag| format!("`sp {}` has no `--{flag}`", subcommands.join(" ")))
}

fn all_commands(command: &Command) -> Vec<&Command> {
    std::iter::once(command).chain(command.get_subcommands().flat_map(all_commands)).collect()
}

#[test]
fn every_suggested_command_line_exists() {
    let mut root = super::command();
    root.build();
    let (mut problems, mut checked) = (Vec::new(), 0);
    for path in sources() {
        let text = std::fs::read_to_string(&path).unwrap();
        for line in quoted(&text) {
            let found = if line.starts_with("sp ") {
                problem(&root, &line)
            } else if line.starts_with("--") {
                // A flag without a command must exist in some command.
                flags(line.split_whitespace())
                    .find(|flag| !all_commands(&root).iter().any(|command| has_flag(command, flag)))
                    .map(|flag| format!("no command has `--{flag}`"))
            } else {
                continue;
            };
            checked += 1;
            problems.extend(found.map(|found| format!("{}: `{line}`: {found}", path.display())));
        }
    }
    assert!(checked > 100, "found only {checked} suggestions");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn invalid_command_lines_are_reported() {
    let mut root = super::command();
    root.build();
    for (line, is_valid) in [
        ("sp pkg merge a b --force", true),
        ("sp pkg merge a --output x", true),
        ("sp pkg list --force", false),
        ("sp pkg nonsense", false),
        ("sp install {name} --agent=claude", true),
        ("sp install x --agents", false),
    ] {
        assert_eq!(problem(&root, line).is_none(), is_valid, "{line}");
    }
}
