//! `sp pkg create`: builds a package from an input file, from skills, or from a project.
//!
//! A source becomes a [`PackageInput`], the input and the flags become a [`PackageDraft`], and the
//! draft becomes a package that is added to the store. Creating the same content again returns the
//! package that the store already has; other content gets the next patch version.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::output::StoredPackageList;
use sp_formats::package::store::{PackageStoreIndex, StoredPackage};
use sp_formats::package::{
    self, CanonicalGraph, Package, PackageDependency, PackageDraft, PackageInput, PackageInputFile,
    PackageKind, PackageName, PackageVersion, RecordedSource, VersionRange, read_input,
    write_documents,
};
use sp_formats::skill::SKILL_FILE;
use sp_tree::atomic::{FileAccess, OutputFile};
use sp_tree::{Digest, Dir, LoadedTree, PrivateKey, RelPath, load_untrusted, read_limited};

use super::extract::extract;
use super::keys::{PackageSigning, SigningKey};
use super::load_package::load_stored;
use super::package_store::{
    LoadedPackage, PackageStore, find_best_stored, read_blob, read_store_index,
};
use super::trust::TrustOverrides;
use super::write_error::write_error;
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, FailureKind, Result};
use crate::files::{InputKind, require_input};
use crate::home::LockedHome;
use crate::install::plan::without_times;
use crate::install::selection::resolve_pack;
use crate::install::skill_set::{InstallableSkill, SkillSource};
use crate::output_file::{OUTPUT_OR_FORCE_HINT, Overwrite, check_output_file, write_output_file};
use crate::pack_intentions::find_pack;
use crate::plan_id::{ApplyOptions, PlanHasher, PlanId};
use crate::session::Session;
use crate::source::load_commit_folder;

/// What a package is created from.
#[derive(Debug, Clone)]
pub enum CreateSource {
    /// A JSON or YAML file with nodes and layers.
    Input(PathBuf),
    /// Skill folders, or packs by name or path.
    Skills(Vec<String>),
    /// A project directory, from which a graph is extracted.
    Project(PathBuf),
    /// A merged graph.
    Merged(Arc<CanonicalGraph>),
    /// The text of an input file, as JSON.
    Text(String),
}

/// The arguments of `sp pkg create`.
#[derive(Debug, Clone)]
pub struct CreateRequest {
    /// The name. The default is that of the input file.
    pub name: Option<String>,
    pub scope: Option<String>,
    /// The version. The default is that of the input file, or the next patch version.
    pub version: Option<String>,
    pub description: Option<String>,
    pub author: Option<String>,
    pub tags: Vec<String>,
    /// Dependencies as `name@range`, in addition to those of the input file.
    pub dependencies: Vec<String>,
    /// The conformance level that the package claims.
    pub level: Option<u64>,
    pub source: CreateSource,
    pub signing: PackageSigning,
    /// A file to write in addition to the store.
    pub output: Option<PathBuf>,
    pub overwrite: Overwrite,
    /// The repository with the skills and packs.
    pub root: Option<PathBuf>,
    pub apply: ApplyOptions,
}

impl CreateRequest {
    /// Returns a request with defaults for everything but the source.
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
            signing: PackageSigning::Unsigned,
            output: None,
            overwrite: Overwrite::Refuse,
            root: None,
            apply: ApplyOptions::APPLY,
        }
    }
}

/// Builds a package, writes the output file if there is one, and adds the package to the store.
pub fn create(context: &Context<'_>, request: &CreateRequest) -> Result<StoredPackageList> {
    create_from_origin(context, request, None)
}

/// Like [`create`]. The plan ID covers `origin`, if it is given, instead of the content, which may
/// depend on the time.
pub(super) fn create_from_origin(
    context: &Context<'_>,
    request: &CreateRequest,
    origin: Option<Digest>,
) -> Result<StoredPackageList> {
    let session = Session::begin(context)?;
    let PreparedDraft { mut draft, input_file, has_explicit_time } =
        prepare_draft(&session, request)?;
    context.check_cancelled()?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, request.apply.mode)?;
    let signing_key = SigningKey::find(context, &request.signing)?;
    let key = signing_key.key();
    let has_version = request.version.is_some() || draft.version.as_str() != UNSET_VERSION;
    let package = if has_version {
        build_given_version(&session, &draft, key, has_explicit_time)
    } else {
        build_next_version(&session, &mut draft, key)
    };
    let package = package.map_err(|error| relocate_reports(error, input_file.as_ref()))?;
    let undated = without_times(package.content().raw().as_bytes());
    let content = origin.unwrap_or_else(|| Digest::of(&undated));
    let plan_id = plan_id(request, &draft, &signing_key, content);
    let text = package.text().clone();
    let mut store = PackageStore::open(&session)?;
    let created = [LoadedPackage {
        package: package.into(),
        source: RecordedSource::Other("this machine".into()),
    }];
    let mut packages = store.add(&created, TrustOverrides::default()).map_err(hint_signing)?;
    let output = request.output.as_ref().map(|output| context.absolute(output));
    if let Some(path) = &output {
        check_output_file(context, path, request.overwrite, OUTPUT_OR_FORCE_HINT)?;
    }
    let status = request.apply.confirm(plan_id)?;
    if let Some(home) = &home {
        // From here on the command runs to its end.
        context.check_cancelled()?;
        signing_key.store_if_new(&session, home)?;
        // If the output file cannot be written, the store stays as it is.
        if let Some(path) = &output {
            write_package(context, path, &text, request.overwrite)?;
        }
        store.save(home)?;
    }
    if let Some(item) = packages.first_mut() {
        item.file = output;
    }
    Ok(StoredPackageList { status, packages })
}

/// Returns the ID of the plan. It does not cover the time and a new key, which differ in each run.
fn plan_id(
    request: &CreateRequest,
    draft: &PackageDraft,
    key: &SigningKey,
    content: Digest,
) -> PlanId {
    let mut hasher = PlanHasher::of_operation("pkg create");
    hasher.text(draft.name.as_str());
    hasher.text(draft.version.as_str());
    hasher.text(&draft.description);
    hasher.text(&format!("{:?} {:?} {:?}", draft.author, draft.kind, draft.level));
    hasher.text(&format!("{:?} {:?}", draft.tags, draft.dependencies));
    hasher.digest(Some(content));
    hasher.text(&key.plan_text());
    hasher.path(request.output.as_deref().unwrap_or(Path::new("")));
    hasher.finish()
}

fn write_package(
    context: &Context<'_>,
    path: &Path,
    text: &str,
    overwrite: Overwrite,
) -> Result<()> {
    let file = OutputFile {
        bytes: text.as_bytes(),
        access: FileAccess::Ordinary,
        if_exists: overwrite.into(),
    };
    write_output_file(context, path, file, OUTPUT_OR_FORCE_HINT)
}

/// Moves findings about the package to their positions in the input file.
fn relocate_reports(mut error: Error, file: Option<&PackageInputFile>) -> Error {
    if let Some(file) = file {
        error.reports = error.reports.into_iter().map(|report| file.relocate(report)).collect();
    }
    error
}

/// Replaces the hints of a trust error, which are meant for packages of others.
fn hint_signing(error: Error) -> Error {
    if error.kind() != FailureKind::Trust {
        return error;
    }
    let hint = "add `--sign` to sign with your default key or `--sign=<key>` for another one, or \
                change the trusted key with `sp key trust`";
    Error { hints: vec![hint.into()], ..error }
}

/// The placeholder for a version that is derived from the store.
const UNSET_VERSION: &str = "0.0.0-unset";

fn build_package(
    session: &Session<'_>,
    draft: &PackageDraft,
    key: Option<&PrivateKey>,
) -> Result<Package> {
    package::build(draft, key, &session.limits).map_err(write_error)
}

/// Builds a package without a given version: unchanged content keeps the version of the store, and
/// other content gets the next patch version.
fn build_next_version(
    session: &Session<'_>,
    draft: &mut PackageDraft,
    key: Option<&PrivateKey>,
) -> Result<Package> {
    let index = read_store_index(session.context)?;
    if let Ok(newest) = find_best_stored(&index, &draft.name, None) {
        draft.version = newest.version.clone();
        if let Some(unchanged) = find_unchanged(session, draft, key, newest)? {
            return Ok(unchanged);
        }
    }
    draft.version = next_version(&index, &draft.name)?;
    build_package(session, draft, key)
}

/// Returns the patch version after every version that was ever stored, or 1.0.0.
fn next_version(index: &PackageStoreIndex, name: &PackageName) -> Result<PackageVersion> {
    let known = index.known.get(name).into_iter().flat_map(|versions| versions.keys());
    let highest = known.filter_map(|text| semver::Version::parse(text).ok()).max();
    let text = highest.map_or("1.0.0".into(), |highest| next_patch(&highest));
    PackageVersion::new(&text).map_err(|e| Error::new(ErrorCode::Internal, e.to_string()))
}

/// Builds a package with a given version, or returns the stored one if nothing changed. An explicit
/// creation time counts as a change.
fn build_given_version(
    session: &Session<'_>,
    draft: &PackageDraft,
    key: Option<&PrivateKey>,
    has_explicit_time: bool,
) -> Result<Package> {
    let index = read_store_index(session.context)?;
    let is_same_version =
        |stored: &&StoredPackage| stored.name == draft.name && stored.version == draft.version;
    let stored = index.packages.iter().find(is_same_version).filter(|_| !has_explicit_time);
    let unchanged = match stored {
        Some(stored) => find_unchanged(session, draft, key, stored)?,
        None => None,
    };
    unchanged.map_or_else(|| build_package(session, draft, key), Ok)
}

/// Returns the stored package if the draft differs from it only in its creation time and the
/// version of `sp`.
fn find_unchanged(
    session: &Session<'_>,
    draft: &PackageDraft,
    key: Option<&PrivateKey>,
    stored: &StoredPackage,
) -> Result<Option<Package>> {
    if stored.version.semver().is_none() {
        return Ok(None);
    }
    // With the same creation time and tool version, the same content has the same bytes.
    let mut draft = draft.clone();
    draft.created_at = stored.created_at.clone().unwrap_or(draft.created_at);
    let mut rebuilt = build_package(session, &draft, key)?;
    if rebuilt.digest() == stored.digest {
        // Fails if the blob is missing or corrupt.
        read_blob(session.context, &stored.digest)?;
        return Ok(Some(rebuilt));
    }
    if rebuilt.manifest.integrity.sha256 != stored.sha256 {
        return Ok(None);
    }
    let existing = load_stored(session, stored)?;
    let provenance = existing.manifest.provenance.as_ref();
    if let Some(other) = provenance.filter(|by| by.tool_version != draft.tool_version) {
        draft.tool_version.clone_from(&other.tool_version);
        rebuilt = build_package(session, &draft, key)?;
    }
    let is_unchanged = rebuilt.identity() == stored.identity
        && stored.signer == rebuilt.signer.map(|signer| signer.key);
    Ok(is_unchanged.then_some(existing))
}

/// Returns the next patch version. After a pre-release, that is its release.
fn next_patch(version: &semver::Version) -> String {
    let patch =
        if version.pre.is_empty() { version.patch.saturating_add(1) } else { version.patch };
    format!("{}.{}.{patch}", version.major, version.minor)
}

/// A draft and the file that it was read from.
struct PreparedDraft {
    draft: PackageDraft,
    input_file: Option<PackageInputFile>,
    /// Whether the input has a creation time.
    has_explicit_time: bool,
}

fn prepare_draft(session: &Session<'_>, request: &CreateRequest) -> Result<PreparedDraft> {
    let SourceInput { mut input, kind, description } = read_source(session, request)?;
    let version = draft_version(request, input.version.as_ref())?;
    let level = request.level.or(input.level);
    check_level(level)?;
    let mut dependencies = input.dependencies;
    for text in &request.dependencies {
        dependencies.push(parse_dependency(text)?);
    }
    let (input_file, has_explicit_time) = (input.file.take(), input.created_at.is_some());
    let draft = PackageDraft {
        name: package_name(request, input.name.as_ref())?,
        version,
        description: request.description.clone().or(input.description).unwrap_or(description),
        author: request.author.clone().or(input.author),
        created_at: input.created_at.unwrap_or_else(|| session.context.timestamp()),
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
    Ok(PreparedDraft { draft, input_file, has_explicit_time })
}

/// The content of a source, and the defaults that follow from its type.
struct SourceInput {
    input: PackageInput,
    /// The kind of the package, if the source decides it.
    kind: Option<PackageKind>,
    /// The default description.
    description: String,
}

fn read_source(session: &Session<'_>, request: &CreateRequest) -> Result<SourceInput> {
    let input = match &request.source {
        CreateSource::Input(path) => read_input_file(session, path)?,
        CreateSource::Text(text) => parse_input(session, "<input>", text.as_bytes())?,
        CreateSource::Merged(_) => PackageInput::default(),
        CreateSource::Skills(skills) => {
            return Ok(SourceInput {
                input: skills_input(session, request, skills)?,
                kind: Some(PackageKind::Skills),
                description: "Skills".into(),
            });
        }
        CreateSource::Project(dir) => {
            let dir: PathBuf =
                session.context.expand(&dir.to_string_lossy()).components().collect();
            require_input(session.context, &dir, InputKind::Directory)?;
            let real_dir = dir.canonicalize().ok();
            let name =
                real_dir.and_then(|dir| Some(dir.file_name()?.to_string_lossy().into_owned()));
            return Ok(SourceInput {
                input: project_input(session, &dir, request.level)?,
                kind: None,
                description: format!("Context of {}", name.unwrap_or_default()),
            });
        }
    };
    Ok(SourceInput { input, kind: None, description: String::new() })
}

/// Returns the version of the request or of the input, or [`UNSET_VERSION`].
fn draft_version(
    request: &CreateRequest,
    input: Option<&PackageVersion>,
) -> Result<PackageVersion> {
    if let Some(text) = &request.version {
        return PackageVersion::new(text).map_err(|why| {
            Error::new(ErrorCode::InvalidVersion, format!("invalid version `{text}`"))
                .because(why)
                .hint("use a version such as `1.2.3`")
        });
    }
    match input {
        Some(version) => Ok(version.clone()),
        None => PackageVersion::new(UNSET_VERSION)
            .map_err(|e| Error::new(ErrorCode::Internal, e.to_string())),
    }
}

fn check_level(level: Option<u64>) -> Result<()> {
    match level.filter(|level| !(1..=3).contains(level)) {
        Some(level) => Err(Error::new(
            ErrorCode::InvalidArguments,
            format!("invalid conformance level {level}"),
        )
        .hint("use 1, 2 or 3")),
        None => Ok(()),
    }
}

fn package_name(request: &CreateRequest, input: Option<&PackageName>) -> Result<PackageName> {
    let missing = || {
        Error::new(ErrorCode::MissingArgument, "the package has no name")
            .hint("add `--name <name>`")
    };
    let name =
        request.name.clone().or_else(|| input.map(ToString::to_string)).ok_or_else(missing)?;
    let full = match &request.scope {
        Some(scope) if !name.starts_with('@') => {
            format!("@{}/{name}", scope.trim_start_matches('@'))
        }
        _ => name,
    };
    PackageName::new(&full).map_err(|why| {
        Error::new(ErrorCode::InvalidName, format!("invalid package name `{full}`"))
            .because(why)
            .hint("use a name such as `my-project`")
    })
}

fn parse_dependency(text: &str) -> Result<PackageDependency> {
    let (name, range) = match text.rfind('@') {
        Some(at) if at > 0 => (&text[..at], &text[at + 1..]),
        _ => (text, "*"),
    };
    let invalid = |why: String| {
        Error::new(ErrorCode::InvalidPackageSpec, format!("invalid dependency `{text}`"))
            .because(why)
            .hint("use the form `name@^1.2`")
    };
    let name = PackageName::new(name).map_err(|why| invalid(why.to_string()))?;
    let range = VersionRange::new(range);
    if !range.is_semver() {
        return Err(invalid(format!("invalid version range `{range}`")));
    }
    Ok(PackageDependency { name, range, optional: false })
}

fn read_input_file(session: &Session<'_>, path: &Path) -> Result<PackageInput> {
    let path = session.context.expand(&path.to_string_lossy());
    require_input(session.context, &path, InputKind::File)?;
    let bytes = read_limited(&path, session.limits.package_bytes)?;
    parse_input(session, &session.context.display_relative_path(&path), &bytes)
}

fn parse_input(session: &Session<'_>, label: &str, bytes: &[u8]) -> Result<PackageInput> {
    let limits = sp_tree::Limits {
        // The user's own file may be as large as the package that is built from it.
        yaml_bytes: session.limits.package_bytes,
        yaml_nodes: session.limits.yaml_nodes.max(1_000_000),
        ..session.limits.clone()
    };
    let (input, report) = read_input(label, bytes, &limits);
    match input {
        Some(input) => {
            if !report.findings.is_empty() {
                session.context.emit(Event::Findings(&report));
            }
            Ok(input)
        }
        None => Err(Error::in_file(
            ErrorCode::InvalidPackage,
            format!("cannot create a package from `{label}`"),
            report,
        )),
    }
}

/// Extracts the graph of a project.
fn project_input(session: &Session<'_>, dir: &Path, level: Option<u64>) -> Result<PackageInput> {
    let graph = extract(session, dir, level.unwrap_or(2))?;
    // Without edges the graph does not reach level 2.
    let reached = if graph.edges.is_empty() { 1 } else { 2 };
    Ok(PackageInput {
        content: graph.to_content_json(),
        level: Some(level.unwrap_or(reached)),
        ..PackageInput::default()
    })
}

/// A file of a skill, as [`write_documents`] takes it: path, executable bit, bytes.
type SkillFile = (RelPath, bool, Vec<u8>);

/// Reads skills, each a folder or all that a pack selects, as documents.
fn skills_input(
    session: &Session<'_>,
    request: &CreateRequest,
    skills: &[String],
) -> Result<PackageInput> {
    let mut files: Vec<SkillFile> = Vec::new();
    for text in skills {
        session.context.check_cancelled()?;
        let path = session.context.expand(text);
        if path.join(SKILL_FILE).is_file() {
            let content = load_untrusted(&Dir::open(&path)?, &session.limits)?;
            add_skill(&content, &dir_name(&path)?, &mut files)?;
        } else {
            add_pack(session, request, text, &mut files)?;
        }
    }
    check_file_limits(session, &files)?;
    Ok(PackageInput {
        content: format!("{{\"documents\":{}}}", write_documents(&files)),
        ..PackageInput::default()
    })
}

fn check_file_limits(session: &Session<'_>, files: &[SkillFile]) -> Result<()> {
    let limits = &session.limits;
    let total: u64 = files.iter().map(|(_, _, bytes)| bytes.len() as u64).sum();
    let largest = files.iter().map(|(_, _, bytes)| bytes.len() as u64).max().unwrap_or(0);
    for (what, count, limit) in [
        ("files", files.len() as u64, limits.package_files),
        ("bytes in one file", largest, limits.package_file_bytes),
        ("bytes in total", total, limits.package_files_bytes),
    ] {
        if count > limit {
            return Err(Error::new(
                ErrorCode::InvalidPackage,
                format!("the skills have {count} {what}, but the maximum for a package is {limit}"),
            )
            .hint(
                "split the skills into several packages, or remove files that agents do not need",
            ));
        }
    }
    Ok(())
}

fn dir_name(path: &Path) -> Result<String> {
    let real = path.canonicalize().map_err(|e| sp_tree::FileError::new("find", path, e))?;
    real.file_name().map(|name| name.to_string_lossy().into_owned()).ok_or_else(|| {
        Error::new(ErrorCode::InvalidArguments, "a skill must be in its own directory")
    })
}

fn add_skill(content: &LoadedTree, folder: &str, files: &mut Vec<SkillFile>) -> Result<()> {
    for (path, executable, bytes) in content.files() {
        let full = RelPath::new(&format!("{folder}/{path}")).map_err(|why| {
            Error::new(ErrorCode::UnsafePath, format!("`{folder}/{path}`: {why}"))
        })?;
        if files.iter().any(|(known, ..)| *known == full) {
            return Err(Error::new(
                ErrorCode::NameCollision,
                format!("two skills are named `{folder}`"),
            )
            .hint("rename one of the two skills"));
        }
        files.push((full, executable, bytes.to_vec()));
    }
    Ok(())
}

fn add_pack(
    session: &Session<'_>,
    request: &CreateRequest,
    pack: &str,
    files: &mut Vec<SkillFile>,
) -> Result<()> {
    find_pack(session, request.root.as_deref(), pack).map_err(|error| {
        Error::new(ErrorCode::PackNotFound, format!("no skill or pack `{pack}` found"))
            .because(error.to_string())
            .hint(format!(
                "specify a directory with a `{SKILL_FILE}`, or the name or path of a pack"
            ))
    })?;
    let resolved = resolve_pack(session, request.root.as_deref(), pack, None)?;
    for InstallableSkill { source, .. } in &resolved.skills {
        let id = source.id();
        let folder = id.rsplit('/').next().unwrap_or(id);
        let content = match source {
            SkillSource::Git { checkout, .. } => load_commit_folder(session, checkout, id)?,
            SkillSource::Local { skills_dir, .. } => {
                load_untrusted(&Dir::open(&skills_dir.join(id))?, &session.limits)?
            }
            SkillSource::Package { content, .. } => content.as_ref().clone(),
            SkillSource::Locked(locked) => locked.content.as_deref().cloned().unwrap_or_default(),
        };
        add_skill(&content, folder, files)?;
    }
    Ok(())
}
