//! `sp context new` and `sp context seal`: creates a pack to be edited by hand, and updates its
//! frontmatter and hashes after editing.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use sp_formats::context_pack::rules::CP_02;
use sp_formats::context_pack::{
    AGENTS_FILE, CURSOR_FILE, ContextPackDraft, ContextPackEntries, ContextPackEntry,
    ContextPackGenerator, ContextPackManifest, ContextPackProject, ContextPackReadResult,
    MANIFEST_FILE, PROMPTS_FILE, SKILLS_FILE, SOURCES_FILE, SPEC_VERSION, TASKS_FILE,
    derive_pack_id, is_pack_id, read, seal_files,
};
use sp_formats::json::{JsonDocument, JsonValue};
use sp_formats::output::ContextPackWriteReport;
use sp_formats::report::{Report, Severity};
use sp_tree::{Digest, Dir, Limits, RelPath};

use super::archive::invalid_pack_error;
use super::entries::{ContextPackLocation, read_entries};
use super::write::write_files;
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::files::canonicalize_existing;
use crate::plan_id::{ApplyOptions, PlanHasher};
use crate::session::Session;

/// The arguments of `sp context new`.
#[derive(Debug, Clone)]
pub struct ContextPackNewRequest {
    /// The directory of the new pack.
    pub dir: PathBuf,
    /// The name of the project. The default is that of the directory.
    pub name: Option<String>,
    /// What the project is about.
    pub description: Option<String>,
    /// The technologies of the project.
    pub stack: Vec<String>,
    pub apply: ApplyOptions,
}

const RULES_TEMPLATE: &str = include_str!("templates/rules.md");

/// Writes a valid pack with placeholders.
pub fn new(
    context: &Context<'_>,
    request: &ContextPackNewRequest,
) -> Result<ContextPackWriteReport> {
    let session = Session::begin(context)?;
    let dir = context.absolute(&request.dir);
    if dir.join(MANIFEST_FILE).symlink_metadata().is_ok() {
        return Err(Error::new(
            ErrorCode::AlreadyExists,
            format!("`{}` already has a `{MANIFEST_FILE}`", context.display_path(&dir)),
        )
        .hint("choose another directory, or edit the existing files and run `sp context seal`"));
    }
    let manifest = new_manifest(context, request, &dir);
    let documents = placeholder_documents(&manifest.project)?;
    // The manifest has the time and an ID that is derived from it.
    let mut hasher = PlanHasher::of_operation("context new");
    hasher.path(&canonicalize_existing(&dir));
    hash_documents(&mut hasher, &documents);
    let status = request.apply.confirm(hasher.finish())?;
    if status.applied {
        Dir::create_all(&dir)?;
    }
    let files = ContextPackDraft { manifest, documents }.files();
    let report = write_files(&session, &dir, &files, request.apply.mode)?;
    Ok(ContextPackWriteReport { status, ..report })
}

fn hash_documents(hasher: &mut PlanHasher, documents: &BTreeMap<RelPath, String>) {
    hasher.list(documents.iter(), |hasher, (path, text)| {
        hasher.text(path.as_str());
        hasher.text(text);
    });
}

fn new_manifest(
    context: &Context<'_>,
    request: &ContextPackNewRequest,
    dir: &Path,
) -> ContextPackManifest {
    let folder = dir.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = request.name.clone().or(folder).unwrap_or_else(|| "project".into());
    let description = request
        .description
        .clone()
        .unwrap_or_else(|| "Describe in one to three sentences what you want to do.".into());
    ContextPackManifest {
        spec_version: SPEC_VERSION.into(),
        pack_id: derive_pack_id(context.now, &Digest::of(name.as_bytes())),
        generated_at: context.timestamp(),
        generator: ContextPackGenerator {
            name: "skillpack".into(),
            version: Some(env!("CARGO_PKG_VERSION").into()),
            ..ContextPackGenerator::default()
        },
        project: ContextPackProject {
            name,
            description,
            stack: request.stack.clone(),
            ..ContextPackProject::default()
        },
        ..ContextPackManifest::default()
    }
}

fn placeholder_documents(project: &ContextPackProject) -> Result<BTreeMap<RelPath, String>> {
    let stack: String = match project.stack.as_slice() {
        [] => "- Languages, frameworks and tools\n".into(),
        words => words.iter().map(|word| format!("- {word}\n")).collect(),
    };
    let rules = RULES_TEMPLATE
        .replace("{name}", &project.name)
        .replace("{description}", &project.description)
        .replace("{stack}\n", &stack);
    let texts = [
        (CURSOR_FILE, rules.as_str()),
        (AGENTS_FILE, rules.as_str()),
        (SKILLS_FILE, include_str!("templates/skills.md")),
        (SOURCES_FILE, include_str!("templates/sources.md")),
        (PROMPTS_FILE, include_str!("templates/prompts.md")),
        (TASKS_FILE, include_str!("templates/tasks.md")),
    ];
    texts.into_iter().map(|(path, text)| Ok((pack_path(path)?, text.to_owned()))).collect()
}

/// Updates the frontmatter and the hashes of a pack. Nothing is written if there is a problem that
/// only the author can fix.
pub fn seal(
    context: &Context<'_>,
    dir: &Path,
    apply: ApplyOptions,
) -> Result<ContextPackWriteReport> {
    let session = Session::begin(context)?;
    let dir = local_dir(context, dir)?;
    let entries = read_entries(&session, &ContextPackLocation::Local(dir.clone()))?;
    let label = context.display_relative_path(&dir);
    let mut manifest = sealable_manifest(&session, &entries, &label)?;
    let documents = markdown_files(&entries)?;
    // What is sealed determines the result, except for a new pack ID, which depends on the time.
    let mut hasher = PlanHasher::of_operation("context seal");
    hasher.path(&canonicalize_existing(&dir));
    hasher.list(entries.iter(), |hasher, (path, entry)| {
        hasher.text(path);
        match entry {
            ContextPackEntry::File(bytes) => hasher.bytes(bytes),
            ContextPackEntry::NotAFile => hasher.text("not a file"),
        }
    });
    let plan_id = hasher.finish();
    if !is_pack_id(&manifest.pack_id) {
        let all: String = documents.values().map(String::as_str).collect();
        manifest.pack_id = derive_pack_id(context.now, &Digest::of(all.as_bytes()));
    }
    let files = seal_files(&manifest, &documents, other_files(context, &manifest, &entries));
    let sealed_entries: ContextPackEntries = files
        .iter()
        .map(|(path, bytes)| (path.clone(), ContextPackEntry::File(bytes.clone())))
        .collect();
    let result = read(&sealed_entries, &session.limits);
    if !result.is_valid() {
        let message = format!("cannot seal `{label}`; nothing was changed");
        return Err(invalid_pack_error(&session, message, result.reports));
    }
    let status = apply.confirm(plan_id)?;
    let report = write_files(&session, &dir, &files, apply.mode)?;
    Ok(ContextPackWriteReport { status, ..report })
}

fn local_dir(context: &Context<'_>, dir: &Path) -> Result<PathBuf> {
    match ContextPackLocation::new(context, dir)? {
        ContextPackLocation::Local(dir) => Ok(dir),
        ContextPackLocation::Remote(address) => Err(Error::new(
            ErrorCode::Unsupported,
            format!("cannot seal the remote context pack `{address}`"),
        )
        .hint("run `sp context unzip <URL> <dir>` to download it first")),
    }
}

/// Returns the manifest of a pack. Fails if it has problems that sealing does not fix.
fn sealable_manifest(
    session: &Session<'_>,
    entries: &ContextPackEntries,
    label: &str,
) -> Result<ContextPackManifest> {
    let ContextPackReadResult { manifest, reports, .. } = read(entries, &session.limits);
    let Some(manifest) = manifest else {
        let message = format!("cannot seal `{label}`");
        return Err(invalid_pack_error(session, message, reports));
    };
    let report = reports.first();
    match report.and_then(|report| unfixable_findings(report, &session.limits)) {
        None => Ok(manifest),
        Some(unfixable) => {
            let message = format!("cannot seal `{label}`; nothing was changed");
            Err(invalid_pack_error(session, message, vec![unfixable]))
        }
    }
}

/// Returns the listed files that are not Markdown, unchanged, and warns about listed files that are
/// missing.
fn other_files(
    context: &Context<'_>,
    manifest: &ContextPackManifest,
    entries: &ContextPackEntries,
) -> BTreeMap<String, Vec<u8>> {
    let mut others = BTreeMap::new();
    for path in manifest.files.iter().map(|file| file.path.as_str()) {
        match entries.get(path) {
            Some(ContextPackEntry::File(_)) if path.ends_with(".md") => {}
            Some(ContextPackEntry::File(bytes)) => {
                drop(others.insert(path.to_owned(), bytes.clone()));
            }
            _ => {
                context.emit(Event::Warning(format!(
                    "removed the missing file `{path}` from the manifest"
                )));
            }
        }
    }
    others
}

/// Returns the errors of a manifest outside the members that sealing replaces. Members that cannot
/// be read would be lost.
fn unfixable_findings(report: &Report, limits: &Limits) -> Option<Report> {
    // A byte order mark is fixed by sealing. Three spaces in its place keep the positions.
    let text = report.text.strip_prefix('\u{feff}').map(|rest| format!("   {rest}"));
    let json = JsonDocument::parse(text.as_deref().unwrap_or(&report.text), limits).ok()?;
    let replaced: Vec<Range<usize>> = ["pack_id", "files"]
        .iter()
        .filter_map(|key| json.root().get(key))
        .map(JsonValue::span)
        .collect();
    let is_fixed = |span: &Range<usize>| {
        let is_missing = span.start == json.root().span().start;
        is_missing || replaced.iter().any(|part| part.start <= span.start && span.end <= part.end)
    };
    let mut report = report.clone();
    report.findings.retain(|finding| {
        finding.severity == Severity::Error
            && finding.check.id == CP_02.id
            && finding.span.as_ref().is_some_and(|span| !is_fixed(span))
    });
    (!report.findings.is_empty()).then_some(report)
}

/// Returns the Markdown files of a pack.
fn markdown_files(entries: &ContextPackEntries) -> Result<BTreeMap<RelPath, String>> {
    let mut documents = BTreeMap::new();
    for (path, entry) in entries.iter().filter(|(path, _)| path.ends_with(".md")) {
        let ContextPackEntry::File(bytes) = entry else { continue };
        let text = String::from_utf8(bytes.clone()).map_err(|_| {
            Error::new(ErrorCode::NotUtf8, format!("`{path}` is not valid UTF-8"))
                .hint("save the file as UTF-8")
        })?;
        documents.insert(pack_path(path)?, text);
    }
    Ok(documents)
}

fn pack_path(path: &str) -> Result<RelPath> {
    RelPath::new(path).map_err(|why| {
        Error::new(ErrorCode::UnsafePath, format!("`{path}` is not a valid path in a context pack"))
            .because(why)
    })
}
