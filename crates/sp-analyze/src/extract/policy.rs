//! What must hold: owners, lints, formats, licences.

use sp_formats::yaml::{self, Node};
use sp_tree::Limits;
use toml::de::DeValue;

use crate::extract::note::{Found, Lines, Note, Source};
use crate::extract::toml_file::{Toml, shown};

type Reader = fn(Source<'_>, &mut Found);

const READERS: &[(&[&str], Reader)] = &[
    (&["CODEOWNERS"], owners),
    (&["clippy.toml", ".clippy.toml"], clippy),
    (&["rustfmt.toml", ".rustfmt.toml", "deny.toml", "ruff.toml", ".ruff.toml", "taplo.toml"], settings),
    (&[".editorconfig", ".flake8", "mypy.ini", ".pylintrc", "setup.cfg", "tox.ini", ".yamllint"], plain_settings),
    (
        &[
            ".prettierrc",
            ".prettierrc.json",
            ".eslintrc.json",
            ".eslintrc",
            "biome.json",
            ".markdownlint.json",
            ".golangci.yml",
            ".golangci.yaml",
        ],
        plain_settings,
    ),
    (&[".pre-commit-config.yaml"], hooks),
    (&["LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE", "COPYING", "LICENSE-MIT", "LICENSE-APACHE"], licence),
];
const MOST_SETTINGS: usize = 1_200;
const MOST_OWNERS: usize = 60;
const LICENCES: &[(&str, &str)] = &[
    ("apache license", "Apache License"),
    ("mit license", "MIT License"),
    ("permission is hereby granted, free of charge", "MIT License"),
    ("gnu affero general public license", "GNU AGPL"),
    ("gnu lesser general public license", "GNU LGPL"),
    ("gnu general public license", "GNU GPL"),
    ("mozilla public license", "Mozilla Public License"),
    ("redistribution and use in source and binary forms", "a BSD License"),
    ("isc license", "ISC License"),
    ("this is free and unencumbered software", "the Unlicense"),
    ("business source license", "Business Source License"),
];

/// Who reads a file, by its name.
pub(crate) fn reader_of(_folder: &str, name: &str) -> Option<Reader> {
    READERS.iter().find(|(names, _)| names.contains(&name)).map(|(_, reader)| *reader)
}

/// Who must agree to a change of what.
fn owners(source: Source<'_>, found: &mut Found) {
    let rules =
        source.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with(['#', '[']));
    for (at, line) in rules.take(MOST_OWNERS) {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(pattern) = words.next() else { continue };
        let owners: Vec<&str> = words.collect();
        if owners.is_empty() {
            continue;
        }
        let mut note = Note::new(
            "policy",
            "ownership",
            format!("Changes to `{pattern}` need the review of {}.", owners.join(", ")),
            Lines { first: at + 1, last: at + 1 },
        );
        note.mentions = vec![pattern.trim_matches('/').trim_end_matches("/*").trim_end_matches("/**").to_owned()];
        found.add(note);
    }
}

/// What may not be called, and what to call instead.
fn clippy(source: Source<'_>, found: &mut Found) {
    let Some(toml) = Toml::read(source) else { return };
    for (key, what) in [("disallowed-methods", "called"), ("disallowed-types", "used"), ("disallowed-macros", "used")] {
        let Some(value) = toml.value(&[key]) else { continue };
        let DeValue::Array(list) = value.get_ref() else { continue };
        for item in list {
            let DeValue::Table(rule) = item.get_ref() else { continue };
            let text = |key: &str| rule.get(key).and_then(|value| crate::extract::toml_file::text(value.get_ref()));
            if let (Some(path), Some(reason)) = (text("path"), text("reason")) {
                let content = format!("`{path}` may not be {what}: {reason}.");
                found.add(Note::new("policy", "lint", content, source.lines(&item.span())));
            }
        }
    }
    let rest: Vec<String> = toml
        .entries(&[])
        .into_iter()
        .filter(|(key, _)| !key.starts_with("disallowed"))
        .map(|(key, value)| format!("{key} = {}", shown(value)))
        .collect();
    if !rest.is_empty() {
        found.add(Note::new("policy", "lint", format!("Settings of clippy: {}.", rest.join(", ")), source.whole()));
    }
}

fn settings(source: Source<'_>, found: &mut Found) {
    let Some(toml) = Toml::read(source) else { return };
    let list: Vec<String> =
        toml.entries(&[]).into_iter().map(|(key, value)| format!("{key} = {}", shown(value))).collect();
    add(source, &list.join(", "), found);
}

/// Settings as they stand, without comments and blank lines.
fn plain_settings(source: Source<'_>, found: &mut Found) {
    let lines: Vec<&str> = source
        .text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with(['#', ';']))
        .collect();
    add(source, &lines.join("\n"), found);
}

fn add(source: Source<'_>, settings: &str, found: &mut Found) {
    if !settings.is_empty() && settings.len() <= MOST_SETTINGS {
        let content = format!("Settings in `{}`:\n{settings}", source.path);
        found.add(Note::new("policy", "lint", content, source.whole()));
    }
}

/// What is run before a commit.
fn hooks(source: Source<'_>, found: &mut Found) {
    let Ok(root) = yaml::parse(source.text, &Limits::default()) else { return };
    let repos = root.get("repos").into_iter().flat_map(Node::items);
    let hooks = repos.filter_map(|repo| repo.get("hooks")).flat_map(Node::items);
    let ids: Vec<&str> = hooks.filter_map(|hook| hook.get("id")?.text()).collect();
    if !ids.is_empty() {
        let content = format!("Before every commit pre-commit runs: {}.", ids.join(", "));
        found.add(Note::new("policy", "lint", content, source.whole()));
    }
}

fn licence(source: Source<'_>, found: &mut Found) {
    // What lies deeper has come from elsewhere, or says the same.
    if !source.folder().is_empty() {
        return;
    }
    let head: String = source.text.chars().take(1_500).collect::<String>().to_lowercase();
    let head = crate::extract::note::on_one_line(&head);
    if let Some((_, name)) = LICENCES.iter().find(|(words, _)| head.contains(words)) {
        found.add(Note::fact("licence", format!("The licence in `{}` is {name}.", source.path), source.whole()));
    }
}
