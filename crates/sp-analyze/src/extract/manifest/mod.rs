//! What machines read to build, test and run a project: its stack, its parts and its commands.

mod cargo;
mod container;
mod go;
mod java;
mod npm;
mod python;
mod tasks;
mod workflow;

use crate::extract::note::{Found, Lines, Note, Source};

type Reader = fn(Source<'_>, &mut Found);

/// Files by their names, and who reads them.
const READERS: &[(&[&str], Reader)] = &[
    (&["Cargo.toml"], cargo::read),
    (&["package.json"], npm::read),
    (&["tsconfig.json"], npm::compiler),
    (&["pyproject.toml"], python::project),
    (&["requirements.txt"], python::requirements),
    (&["go.mod"], go::read),
    (&["pom.xml"], java::maven),
    (&["build.gradle", "build.gradle.kts"], java::gradle),
    (&["Dockerfile", "Containerfile"], container::image),
    (&["docker-compose.yml", "docker-compose.yaml", "compose.yml", "compose.yaml"], container::services),
    (&["Makefile", "GNUmakefile", "makefile"], tasks::make),
    (&["justfile", "Justfile", ".justfile"], tasks::just),
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
        versions,
    ),
];
/// A version file says one thing.
const MOST_VERSIONS: usize = 400;

/// Who reads a file, by its name.
pub(crate) fn reader_of(folder: &str, name: &str) -> Option<Reader> {
    let is_workflow = folder == ".github/workflows" && (name.ends_with(".yml") || name.ends_with(".yaml"));
    if is_workflow || name == ".gitlab-ci.yml" {
        return Some(workflow::read);
    }
    READERS.iter().find(|(names, _)| names.contains(&name)).map(|(_, reader)| *reader)
}

/// Files that say which version of a tool is used.
fn versions(source: Source<'_>, found: &mut Found) {
    let text: Vec<&str> =
        source.text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let content = format!("Versions of tools (`{}`): {}", source.path, text.join(", "));
    if content.len() < MOST_VERSIONS {
        found.add(Note::fact("stack", content, source.whole()));
    }
}

/// What something is built on, if it is built on anything.
fn built_on(whose: &str, what: &str, names: &[String], lines: Lines) -> Option<Note> {
    const MOST: usize = 60;
    if names.is_empty() {
        return None;
    }
    let more = if names.len() > MOST { format!(" and {} more", names.len() - MOST) } else { String::new() };
    let shown: Vec<&str> = names.iter().take(MOST).map(String::as_str).collect();
    Some(Note::fact("stack", format!("{what} of {whose}: {}{more}", shown.join(", ")), lines))
}

/// What stands in the folder of a manifest, in words.
fn place(source: Source<'_>) -> String {
    match source.folder() {
        "" => String::new(),
        folder => format!(" in `{folder}`"),
    }
}
