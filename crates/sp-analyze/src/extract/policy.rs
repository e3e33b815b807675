//! Project policies: code owners, lints, formatting, licenses.

use sp_formats::yaml::{self, YamlNode};
use sp_tree::Limits;
use toml::de::DeValue;

use crate::extract::file_extract::{ExtractedNote, FileExtract};
use crate::extract::line_range::LineRange;
use crate::extract::source_text::SourceText;
use crate::extract::text::collapse_whitespace;
use crate::extract::toml_file::{TomlFile, format_value};

type PolicyReader = fn(SourceText<'_>, &mut FileExtract);

const READERS: &[(&[&str], PolicyReader)] = &[
    (&["CODEOWNERS"], read_codeowners),
    (&["clippy.toml", ".clippy.toml"], read_clippy_config),
    (
        &["rustfmt.toml", ".rustfmt.toml", "deny.toml", "ruff.toml", ".ruff.toml", "taplo.toml"],
        read_toml_settings,
    ),
    (
        &[".editorconfig", ".flake8", "mypy.ini", ".pylintrc", "setup.cfg", "tox.ini", ".yamllint"],
        read_plain_settings,
    ),
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
        read_plain_settings,
    ),
    (&[".pre-commit-config.yaml"], read_pre_commit),
    (
        &[
            "LICENSE",
            "LICENSE.md",
            "LICENSE.txt",
            "LICENCE",
            "COPYING",
            "LICENSE-MIT",
            "LICENSE-APACHE",
        ],
        read_license,
    ),
];
const MAX_SETTINGS_LEN: usize = 1_200;
const MAX_OWNER_RULES: usize = 60;
const LICENSE_PHRASES: &[(&str, &str)] = &[
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

/// Returns the reader for a file name.
pub(crate) fn reader_of(_folder: &str, name: &str) -> Option<PolicyReader> {
    READERS.iter().find(|(names, _)| names.contains(&name)).map(|(_, reader)| *reader)
}

/// Adds the owners of each path.
fn read_codeowners(source: SourceText<'_>, found: &mut FileExtract) {
    let rules = source
        .text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with(['#', '[']));
    for (index, line) in rules.take(MAX_OWNER_RULES) {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(pattern) = words.next() else { continue };
        let owners: Vec<&str> = words.collect();
        if owners.is_empty() {
            continue;
        }
        let mut note = ExtractedNote::new(
            "policy",
            "ownership",
            format!("Changes to `{pattern}` require a review by {}.", owners.join(", ")),
            LineRange { first: index + 1, last: index + 1 },
        );
        note.mentions = vec![
            pattern.trim_matches('/').trim_end_matches("/*").trim_end_matches("/**").to_owned(),
        ];
        found.add_note(note);
    }
}

/// Adds disallowed methods and types, with their replacements.
fn read_clippy_config(source: SourceText<'_>, found: &mut FileExtract) {
    let Some(toml) = TomlFile::parse(source) else { return };
    for (key, verb) in [
        ("disallowed-methods", "called"),
        ("disallowed-types", "used"),
        ("disallowed-macros", "used"),
    ] {
        let Some(value) = toml.value(&[key]) else { continue };
        let DeValue::Array(list) = value.get_ref() else { continue };
        for item in list {
            if let Some(content) = describe_disallowed(item.get_ref(), verb) {
                let lines = source.line_range(&item.span());
                found.add_note(ExtractedNote::new("policy", "lint", content, lines));
            }
        }
    }
    let settings: Vec<String> = toml
        .entries(&[])
        .into_iter()
        .filter(|(key, _)| !key.starts_with("disallowed"))
        .map(|(key, value)| format!("{key} = {}", format_value(value)))
        .collect();
    if !settings.is_empty() {
        let content = format!("Settings for clippy: {}.", settings.join(", "));
        found.add_note(ExtractedNote::new("policy", "lint", content, source.all_lines()));
    }
}

/// Describes an entry with a path and a reason.
fn describe_disallowed(entry: &DeValue<'_>, verb: &str) -> Option<String> {
    let DeValue::Table(rule) = entry else { return None };
    let text = |key: &str| crate::extract::toml_file::text(rule.get(key)?.get_ref());
    let (path, reason) = (text("path")?, text("reason")?);
    Some(format!("`{path}` must not be {verb}: {reason}."))
}

fn read_toml_settings(source: SourceText<'_>, found: &mut FileExtract) {
    let Some(toml) = TomlFile::parse(source) else { return };
    let list: Vec<String> = toml
        .entries(&[])
        .into_iter()
        .map(|(key, value)| format!("{key} = {}", format_value(value)))
        .collect();
    add_settings(source, &list.join(", "), found);
}

/// Adds the settings of a file, without comments and blank lines.
fn read_plain_settings(source: SourceText<'_>, found: &mut FileExtract) {
    let lines: Vec<&str> = source
        .text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with(['#', ';']))
        .collect();
    add_settings(source, &lines.join("\n"), found);
}

fn add_settings(source: SourceText<'_>, settings: &str, found: &mut FileExtract) {
    if !settings.is_empty() && settings.len() <= MAX_SETTINGS_LEN {
        let content = format!("Settings in `{}`:\n{settings}", source.path);
        found.add_note(ExtractedNote::new("policy", "lint", content, source.all_lines()));
    }
}

/// Adds the hooks that run before a commit.
fn read_pre_commit(source: SourceText<'_>, found: &mut FileExtract) {
    let Ok(root) = yaml::parse(source.text, &Limits::default()) else { return };
    let repos = root.get("repos").into_iter().flat_map(YamlNode::items);
    let hooks = repos.filter_map(|repo| repo.get("hooks")).flat_map(YamlNode::items);
    let ids: Vec<&str> = hooks.filter_map(|hook| hook.get("id")?.text()).collect();
    if !ids.is_empty() {
        let content = format!("pre-commit runs before every commit: {}.", ids.join(", "));
        found.add_note(ExtractedNote::new("policy", "lint", content, source.all_lines()));
    }
}

fn read_license(source: SourceText<'_>, found: &mut FileExtract) {
    // Licenses in subdirectories belong to vendored code or repeat the main one.
    if !source.folder().is_empty() {
        return;
    }
    let head: String = source.text.chars().take(1_500).collect::<String>().to_lowercase();
    let head = collapse_whitespace(&head);
    if let Some((_, name)) = LICENSE_PHRASES.iter().find(|(words, _)| head.contains(words)) {
        found.add_note(ExtractedNote::fact(
            "licence",
            format!("The license in `{}` is {name}.", source.path),
            source.all_lines(),
        ));
    }
}
