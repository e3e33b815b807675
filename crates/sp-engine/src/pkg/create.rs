//! `sp pkg create`: a package of what was written by hand, of skills, or of a project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::output::{StoredPackageItem, StoredPackageList};
use sp_formats::package::store::StoredPackage;
use sp_formats::package::{
    self, CanonicalGraph, Package, PackageDependency, PackageDraft, PackageInput, PackageInputFile,
    PackageKind, PackageName, PackageVersion, PackageWriteError, VersionRange, read_input,
    write_documents,
};
use sp_formats::skill::SKILL_FILE;
use sp_tree::atomic::{ExistingFilePolicy, FileAccess, OutputFile};
use sp_tree::{Dir, LoadedTree, PrivateKey, RelPath, load_untrusted, read_limited};

use super::extract::extract;
use super::keys::signing_key;
use super::manage::{OUTPUT_OR_FORCE_HINT, Overwrite, add_packages, write_output_file};
use super::package_spec::load_stored;
use super::package_store::{PackageStore, find_best_stored, read_blob, read_store_index};
use super::trust::TrustOverrides;
use crate::context::{Context, Event};
use crate::error::{Error, FailureKind, Result};
use crate::home::LockedHome;
use crate::install::selection::resolve_pack;
use crate::repository::find_pack;
use crate::select::SkillSource;
use crate::session::Session;
use crate::source::load_commit_folder;

/// What a package is made of.
#[derive(Debug, Clone)]
pub enum CreateSource {
    /// A file with nodes and layers, written by hand.
    Input(PathBuf),
    /// Skills, or packs by name.
    Skills(Vec<String>),
    /// The documents of a project.
    Project(PathBuf),
    /// A graph that was merged.
    Merged(Arc<CanonicalGraph>),
    /// What somebody might have written by hand, as JSON.
    Text(String),
}

/// What is to be made.
#[derive(Debug, Clone)]
pub struct CreateRequest {
    /// The name, if the file does not say it.
    pub name: Option<String>,
    /// The scope.
    pub scope: Option<String>,
    /// The version, if it is not to be counted on.
    pub version: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// Free words.
    pub tags: Vec<String>,
    /// What it needs, as `name@range`.
    pub dependencies: Vec<String>,
    /// The level that it is to have.
    pub level: Option<u64>,
    /// What it is made of.
    pub source: CreateSource,
    /// The key to sign with: none, the default one, or one by name.
    pub sign: Option<Option<String>>,
    /// A file to write besides.
    pub output: Option<PathBuf>,
    /// Whether that file may be replaced.
    pub overwrite: Overwrite,
    /// The repository of skills and packs, if it was given.
    pub root: Option<PathBuf>,
}

impl CreateRequest {
    /// A request that says nothing but what the package is made of.
    pub fn of(source: CreateSource) -> Self {
        Self {
            name: None,
            scope: None,
            version: None,
            description: None,
            author: None,
            tags: Vec::new(),
            dependencies: Vec::new(),
            level: None,
            source,
            sign: None,
            output: None,
            overwrite: Overwrite::Refuse,
            root: None,
        }
    }
}

/// Makes a package and puts it into the store.
pub fn create(context: &Context<'_>, request: &CreateRequest) -> Result<StoredPackageList> {
    let session = Session::begin(context)?;
    let PreparedDraft { mut draft, input_file: file, has_explicit_time: has_own_time } =
        prepare_draft(&session, request)?;
    context.check_cancelled()?;
    let home = LockedHome::open(context, &session.limits)?;
    let key = match &request.sign {
        Some(name) => Some(signing_key(&session, &home, name.as_deref())?),
        None => None,
    };
    let package = match request.version.is_some() || draft.version.as_str() != UNSET_VERSION {
        true => build_given_version(&session, &draft, key.as_ref(), has_own_time),
        false => build_next_version(&session, &mut draft, key.as_ref()),
    };
    let package = package.map_err(|error| relocate_reports(error, file.as_ref()))?;
    // What comes next is done to its end.
    context.check_cancelled()?;
    let text = package.text().clone();
    let mut stock = PackageStore::open(&session)?;
    let made = [(package, "this machine".to_owned())];
    let mut taken = add_packages(&session, &mut stock, &made, TrustOverrides::default())
        .map_err(hint_signing)?;
    stock.save(&home)?;
    if let (Some(output), Some(StoredPackageItem { file, .. })) =
        (&request.output, taken.packages.first_mut())
    {
        let path = context.absolute(output);
        let existing = if request.overwrite == Overwrite::Allow {
            ExistingFilePolicy::Replace
        } else {
            ExistingFilePolicy::Refuse
        };
        write_output_file(
            context,
            &path,
            OutputFile {
                bytes: text.as_bytes(),
                access: FileAccess::Ordinary,
                if_exists: existing,
            },
            OUTPUT_OR_FORCE_HINT,
        )?;
        *file = Some(path);
    }
    Ok(taken)
}

/// Reports problems of a package at their places in the file that it was made of.
fn relocate_reports(mut error: Error, file: Option<&PackageInputFile>) -> Error {
    if let Some(file) = file {
        error.reports = error.reports.into_iter().map(|report| file.relocate(report)).collect();
    }
    error
}

/// What others would refuse is not made.
fn hint_signing(error: Error) -> Error {
    match error.kind {
        FailureKind::Trust => {
            let hint = "`--sign` signs it with your key, `--sign=<key>` with another; `sp key trust` changes whose it is";
            Error { hints: vec![hint.into()], ..error }
        }
        _ => error,
    }
}

/// Stands for a version that is counted on from what the store has.
const UNSET_VERSION: &str = "0.0.0-unset";

/// Makes the package, and tells why it cannot be made.
fn build_package(
    session: &Session<'_>,
    draft: &PackageDraft,
    key: Option<&PrivateKey>,
) -> Result<Package> {
    package::build(draft, key, &session.limits).map_err(write_error)
}

pub(super) fn write_error(error: PackageWriteError) -> Error {
    match error {
        PackageWriteError::InvalidContent(report) | PackageWriteError::Unreadable(report) => {
            let mut report = *report;
            report.findings.retain(|finding| finding.severity == sp_formats::Severity::Error);
            Error::in_file("a package cannot be made of this", report)
        }
        PackageWriteError::InvalidVersion(version) => {
            Error::new(FailureKind::Usage, format!("`{version}` is no SemVer"))
                .hint("write it as `1.2.3`; packages that we make have no other versions")
        }
        other => Error::new(FailureKind::Data, "a package cannot be made of this")
            .because(other)
            .hint("nothing was changed"),
    }
}

/// Without a version: the same content is the same version, and other content is the next patch.
fn build_next_version(
    session: &Session<'_>,
    draft: &mut PackageDraft,
    key: Option<&PrivateKey>,
) -> Result<Package> {
    let shelf = read_store_index(session.context)?;
    let set = |text: &str| {
        PackageVersion::new(text).map_err(|e| Error::new(FailureKind::Data, e.to_string()))
    };
    let Ok(newest) = find_best_stored(&shelf, &draft.name, None) else {
        let known = shelf.known.get(&draft.name).into_iter().flat_map(|versions| versions.keys());
        let highest = known.filter_map(|text| semver::Version::parse(text).ok()).max();
        draft.version = set(&highest.map_or("1.0.0".into(), |highest| next_patch(&highest)))?;
        return build_package(session, draft, key);
    };
    draft.version = newest.version.clone();
    if let Some(same) = find_unchanged(session, draft, key, newest)? {
        return Ok(same);
    }
    let known = shelf.known.get(&draft.name).into_iter().flat_map(|versions| versions.keys());
    let highest = known.filter_map(|text| semver::Version::parse(text).ok()).max();
    draft.version = set(&highest.map_or("1.0.0".into(), |highest| next_patch(&highest)))?;
    build_package(session, draft, key)
}

/// With a version: what the store has under it if the content is the same, else a new package.
fn build_given_version(
    session: &Session<'_>,
    draft: &PackageDraft,
    key: Option<&PrivateKey>,
    has_own_time: bool,
) -> Result<Package> {
    let shelf = read_store_index(session.context)?;
    let is_this =
        |stored: &&StoredPackage| stored.name == draft.name && stored.version == draft.version;
    let stored = shelf.packages.iter().find(is_this).filter(|_| !has_own_time);
    let same = match stored {
        Some(stored) => find_unchanged(session, draft, key, stored)?,
        None => None,
    };
    same.map_or_else(|| build_package(session, draft, key), Ok)
}

/// The package of the store, if the draft differs from it in nothing but when and by which release it was made.
fn find_unchanged(
    session: &Session<'_>,
    draft: &PackageDraft,
    key: Option<&PrivateKey>,
    stored: &StoredPackage,
) -> Result<Option<Package>> {
    if stored.version.semver().is_none() {
        return Ok(None);
    }
    // Made at the same time by the same release, the same content has the same bytes.
    let mut again = draft.clone();
    again.created_at = stored.created_at.clone().unwrap_or(again.created_at);
    let mut same = build_package(session, &again, key)?;
    if same.digest() == stored.digest {
        // What the store has is held against its digest, and then it is this.
        read_blob(session.context, &stored.digest)?;
        return Ok(Some(same));
    }
    if same.manifest.integrity.sha256 != stored.sha256 {
        return Ok(None);
    }
    let kept = load_stored(session, stored)?;
    if let Some(made) =
        kept.manifest.provenance.as_ref().filter(|made| made.tool_version != again.tool_version)
    {
        again.tool_version.clone_from(&made.tool_version);
        same = build_package(session, &again, key)?;
    }
    let is_same =
        same.identity() == stored.identity && stored.signer == same.signer.map(|signer| signer.key);
    Ok(is_same.then_some(kept))
}

fn next_patch(version: &semver::Version) -> String {
    match version.pre.is_empty() {
        true => format!("{}.{}.{}", version.major, version.minor, version.patch.saturating_add(1)),
        false => format!("{}.{}.{}", version.major, version.minor, version.patch),
    }
}

/// A draft and where it comes from.
struct PreparedDraft {
    draft: PackageDraft,
    input_file: Option<PackageInputFile>,
    /// Whether the input says when the package was made.
    has_explicit_time: bool,
}

fn prepare_draft(session: &Session<'_>, request: &CreateRequest) -> Result<PreparedDraft> {
    let context = session.context;
    let (mut input, kind, about) = match &request.source {
        CreateSource::Input(path) => (read_input_file(session, path)?, None, String::new()),
        CreateSource::Text(text) => {
            (parse_input(session, "the package", text.as_bytes())?, None, String::new())
        }
        CreateSource::Merged(_) => (PackageInput::default(), None, String::new()),
        CreateSource::Skills(paths) => {
            (skills_input(session, request, paths)?, Some(PackageKind::Skills), "Skills".to_owned())
        }
        CreateSource::Project(dir) => {
            let dir: PathBuf = context.expand(&dir.to_string_lossy()).components().collect();
            let named = dir
                .canonicalize()
                .ok()
                .and_then(|dir| Some(dir.file_name()?.to_string_lossy().into_owned()));
            (
                project_input(session, &dir, request.level)?,
                None,
                format!("Context of {}", named.unwrap_or_default()),
            )
        }
    };
    let version = match &request.version {
        Some(text) => PackageVersion::new(text).map_err(|why| {
            Error::new(FailureKind::Usage, format!("`{text}` is no version"))
                .because(why)
                .hint("write it as `1.2.3`")
        })?,
        None => input
            .version
            .clone()
            .map_or_else(|| PackageVersion::new(UNSET_VERSION), Ok)
            .map_err(|e| Error::new(FailureKind::Data, e.to_string()))?,
    };
    let level = request.level.or(input.level);
    if let Some(level) = level.filter(|level| !(1..=3).contains(level)) {
        return Err(Error::new(
            FailureKind::Usage,
            format!("there is no conformance level {level}"),
        )
        .hint("the levels are 1, 2 and 3"));
    }
    let mut dependencies = input.dependencies;
    for text in &request.dependencies {
        dependencies.push(parse_dependency(text)?);
    }
    let (file, has_own_time) = (input.file.take(), input.created_at.is_some());
    let draft = PackageDraft {
        name: package_name(request, input.name.as_ref())?,
        version,
        description: request.description.clone().or(input.description).unwrap_or(about),
        author: request.author.clone().or(input.author),
        created_at: input.created_at.unwrap_or_else(|| context.timestamp()),
        kind: kind.or(input.kind).unwrap_or(PackageKind::Context),
        level: if kind == Some(PackageKind::Skills) { None } else { level },
        tags: input.tags.into_iter().chain(request.tags.iter().cloned()).collect(),
        dependencies,
        conflicts: input.conflicts,
        tool_version: env!("CARGO_PKG_VERSION").into(),
        extra_members: input.extra_members,
        content: input.content,
        merged_graph: match &request.source {
            CreateSource::Merged(merged) => Some(Arc::clone(merged)),
            _ => None,
        },
    };
    Ok(PreparedDraft { draft, input_file: file, has_explicit_time: has_own_time })
}

fn package_name(request: &CreateRequest, said: Option<&PackageName>) -> Result<PackageName> {
    let missing =
        || Error::new(FailureKind::Usage, "the package has no name").hint("add `--name <name>`");
    let plain =
        request.name.clone().or_else(|| said.map(ToString::to_string)).ok_or_else(missing)?;
    let full = match &request.scope {
        Some(scope) if !plain.starts_with('@') => {
            format!("@{}/{plain}", scope.trim_start_matches('@'))
        }
        _ => plain,
    };
    PackageName::new(&full).map_err(|why| {
        Error::new(FailureKind::Usage, format!("`{full}` is no name of a package"))
            .because(why)
            .hint("write a name such as `my-project`")
    })
}

fn parse_dependency(text: &str) -> Result<PackageDependency> {
    let (name, range) = match text.rfind('@') {
        Some(at) if at > 0 => (&text[..at], &text[at + 1..]),
        _ => (text, "*"),
    };
    let wrong = |why: String| {
        Error::new(FailureKind::Usage, format!("`{text}` is no dependency"))
            .because(why)
            .hint("write it as `name@^1.2`")
    };
    let name = PackageName::new(name).map_err(|why| wrong(why.to_string()))?;
    let range = VersionRange::new(range);
    match range.is_semver() {
        true => Ok(PackageDependency { name, range, optional: false }),
        false => Err(wrong(format!("`{range}` is no range of versions"))),
    }
}

fn read_input_file(session: &Session<'_>, path: &Path) -> Result<PackageInput> {
    let path = session.context.expand(&path.to_string_lossy());
    let bytes = read_limited(&path, session.limits.package_bytes)?;
    parse_input(session, &session.context.display_relative_path(&path), &bytes)
}

fn parse_input(session: &Session<'_>, shown: &str, bytes: &[u8]) -> Result<PackageInput> {
    let limits = sp_tree::Limits {
        // A file of one's own may be as large as the package that it becomes.
        yaml_bytes: session.limits.package_bytes,
        yaml_nodes: session.limits.yaml_nodes.max(1_000_000),
        ..session.limits.clone()
    };
    let (input, report) = read_input(shown, bytes, &limits);
    match input {
        Some(input) => {
            if !report.findings.is_empty() {
                session.context.emit(Event::Findings(&report));
            }
            Ok(input)
        }
        None => Err(Error::in_file(format!("no package can be made of `{shown}`"), report)),
    }
}

/// What a project says of itself, as a content.
fn project_input(session: &Session<'_>, dir: &Path, level: Option<u64>) -> Result<PackageInput> {
    let graph = extract(session, dir, level.unwrap_or(2))?;
    // Where nothing hangs together, and nobody asked for more, nothing more is claimed.
    let reached = if graph.edges.is_empty() { 1 } else { 2 };
    Ok(PackageInput {
        content: graph.to_content_json(),
        level: Some(level.unwrap_or(reached)),
        ..PackageInput::default()
    })
}

/// Skills, each a folder, or all that a pack selects, as documents.
fn skills_input(
    session: &Session<'_>,
    request: &CreateRequest,
    named: &[String],
) -> Result<PackageInput> {
    let mut files: Vec<(RelPath, bool, Vec<u8>)> = Vec::new();
    for text in named {
        session.context.check_cancelled()?;
        let path = session.context.expand(text);
        match path.join(SKILL_FILE).is_file() {
            true => add_skill(
                &load_untrusted(&Dir::open(&path)?, &session.limits)?,
                &dir_name(&path)?,
                &mut files,
            )?,
            false => add_pack(session, request, text, &mut files)?,
        }
    }
    let limits = &session.limits;
    let total: u64 = files.iter().map(|(_, _, bytes)| bytes.len() as u64).sum();
    let largest = files.iter().map(|(_, _, bytes)| bytes.len() as u64).max().unwrap_or(0);
    for (what, is, most) in [
        ("files", files.len() as u64, limits.package_files),
        ("bytes in one file", largest, limits.package_file_bytes),
        ("bytes in all", total, limits.package_files_bytes),
    ] {
        if is > most {
            return Err(Error::new(
                FailureKind::Data,
                format!("the skills have {is} {what}, and a package carries {most} at the most"),
            )
            .hint("make several packages, or leave out what no agent reads"));
        }
    }
    Ok(PackageInput {
        content: format!("{{\"documents\":{}}}", write_documents(&files)),
        ..PackageInput::default()
    })
}

fn dir_name(path: &Path) -> Result<String> {
    let real = path.canonicalize().map_err(|e| sp_tree::FileError::new("find", path, e))?;
    real.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .ok_or_else(|| Error::new(FailureKind::Usage, "a skill has a folder of its own"))
}

fn add_skill(
    content: &LoadedTree,
    folder: &str,
    files: &mut Vec<(RelPath, bool, Vec<u8>)>,
) -> Result<()> {
    for (path, executable, bytes) in content.files() {
        let full = RelPath::new(&format!("{folder}/{path}"))
            .map_err(|why| Error::new(FailureKind::Data, format!("`{folder}/{path}`: {why}")))?;
        if files.iter().any(|(known, ..)| *known == full) {
            return Err(Error::new(FailureKind::Data, format!("two skills are called `{folder}`"))
                .hint("rename one of the two"));
        }
        files.push((full, executable, bytes.to_vec()));
    }
    Ok(())
}

fn add_pack(
    session: &Session<'_>,
    request: &CreateRequest,
    named: &str,
    files: &mut Vec<(RelPath, bool, Vec<u8>)>,
) -> Result<()> {
    let found = find_pack(session, request.root.as_deref(), named).map_err(|error| {
        Error::new(FailureKind::Request, format!("`{named}` is neither a skill nor a pack"))
            .because(error.to_string())
            .hint(format!("name a folder with a `{SKILL_FILE}`, or a pack by name or path"))
    })?;
    drop(found);
    let chosen = resolve_pack(session, request.root.as_deref(), named, None)?;
    for skill in &chosen.skills {
        let folder = skill.id.rsplit('/').next().unwrap_or(&skill.id);
        let content = match skill.source {
            SkillSource::Import(number) => {
                load_commit_folder(session, &chosen.checkouts[number], &skill.id)?
            }
            _ => load_untrusted(&Dir::open(&chosen.local_skill_dir(&skill.id))?, &session.limits)?,
        };
        add_skill(&content, folder, files)?;
    }
    Ok(())
}
