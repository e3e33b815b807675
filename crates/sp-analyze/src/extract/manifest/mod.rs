//! Manifests and build files: the stack, the packages and the commands of a project.
//!
//! One file per ecosystem; [`READERS`] maps file names to their readers.

mod cargo;
mod container;
mod go;
mod java;
mod npm;
mod python;
mod tasks;
mod workflow;

use crate::extract::file_extract::{ExtractedNote, FileExtract};
use crate::extract::line_range::LineRange;
use crate::extract::source_text::SourceText;

type ManifestReader = fn(SourceText<'_>, &mut FileExtract);

/// File names and their readers.
const READERS: &[(&[&str], ManifestReader)] = &[
    (&["Cargo.toml"], cargo::read),
    (&["package.json"], npm::read),
    (&["tsconfig.json"], npm::read_tsconfig),
    (&["pyproject.toml"], python::read_pyproject),
    (&["requirements.txt"], python::read_requirements),
    (&["go.mod"], go::read),
    (&["pom.xml"], java::read_maven),
    (&["build.gradle", "build.gradle.kts"], java::read_gradle),
    (&["Dockerfile", "Containerfile"], container::read_image),
    (
        &["docker-compose.yml", "docker-compose.yaml", "compose.yml", "compose.yaml"],
        container::read_services,
    ),
    (&["Makefile", "GNUmakefile", "makefile"], tasks::read_makefile),
    (&["justfile", "Justfile", ".justfile"], tasks::read_justfile),
    (
        &[
            "rust-toolchain",
            "rust-toolchain.toml",
            ".nvmrc",
            ".node-version",
            ".python-version",
            ".ruby-version",
            ".tool-versions",
            ".java-version",
            "go.work",
        ],
        read_tool_versions,
    ),
];
/// Longer files are not version files.
const MAX_VERSIONS_LEN: usize = 400;

/// Returns the reader for a file name.
pub(crate) fn reader_of(folder: &str, name: &str) -> Option<ManifestReader> {
    let is_workflow =
        folder == ".github/workflows" && (name.ends_with(".yml") || name.ends_with(".yaml"));
    if is_workflow || name == ".gitlab-ci.yml" {
        return Some(workflow::read);
    }
    READERS.iter().find(|(names, _)| names.contains(&name)).map(|(_, reader)| *reader)
}

/// Adds the tool versions of a version file.
fn read_tool_versions(source: SourceText<'_>, found: &mut FileExtract) {
    let text: Vec<&str> = source
        .text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let content = format!("Tool versions (`{}`): {}", source.path, text.join(", "));
    if content.len() < MAX_VERSIONS_LEN {
        found.add_note(ExtractedNote::fact("stack", content, source.all_lines()));
    }
}

/// Lists dependencies; `None` if there are none.
fn dependency_note(
    whose: &str,
    what: &str,
    names: &[String],
    lines: LineRange,
) -> Option<ExtractedNote> {
    const MAX_DEPENDENCIES: usize = 60;
    if names.is_empty() {
        return None;
    }
    let more = if names.len() > MAX_DEPENDENCIES {
        format!(" and {} more", names.len() - MAX_DEPENDENCIES)
    } else {
        String::new()
    };
    let shown: Vec<&str> = names.iter().take(MAX_DEPENDENCIES).map(String::as_str).collect();
    Some(ExtractedNote::fact(
        "stack",
        format!("{what} of {whose}: {}{more}", shown.join(", ")),
        lines,
    ))
}

/// Names the directory of a manifest; empty at the project root.
fn location_suffix(source: SourceText<'_>) -> String {
    match source.folder() {
        "" => String::new(),
        folder => format!(" in `{folder}`"),
    }
}
