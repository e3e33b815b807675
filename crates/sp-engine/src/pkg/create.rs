//! `sp pkg create`: a package of what was written by hand, of skills, or of a project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::output::{PackageStored, PackagesStored};
use sp_formats::package::store::StoredPackage;
use sp_formats::package::{
    self, CanonicalGraph, Dependency, Draft, Input, InputFile, Package, PackageKind, PackageName, PackageVersion,
    Range, WriteError, read_input, write_documents,
};
use sp_formats::skill::SKILL_FILE;
use sp_tree::atomic::{Delivery, Existing, Readers};
use sp_tree::{Content, Dir, PrivateKey, RelPath, load, read_limited};

use super::extract::extract;
use super::keys::signing_key;
use super::manage::{OUTPUT_OR_FORCE, Overwrite, deliver, take};
use super::shelf::{Stock, best, read_blob, read_shelf};
use super::subject::load_stored;
use super::trust::Acceptance;
use crate::authoring::find_pack;
use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};
use crate::home::Home;
use crate::resolve::Origin;
use crate::show::choose;
use crate::source::load_commit;

/// What a package is made of.
#[derive(Debug, Clone)]
pub enum Material {
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
    pub material: Material,
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
    pub fn of(material: Material) -> Self {
        Self {
            name: None,
            scope: None,
            version: None,
            description: None,
            author: None,
            tags: Vec::new(),
            dependencies: Vec::new(),
            level: None,
            material,
            sign: None,
            output: None,
            overwrite: Overwrite::Refuse,
            root: None,
        }
    }
}

/// Makes a package and puts it into the store.
pub fn create(context: &Context<'_>, request: &CreateRequest) -> Result<PackagesStored> {
    let session = Session::begin(context)?;
    let Drafted { mut draft, file, has_own_time } = draft(&session, request)?;
    context.go_on()?;
    let home = Home::open(context, &session.limits)?;
    let key = match &request.sign {
        Some(name) => Some(signing_key(&session, &home, name.as_deref())?),
        None => None,
    };
    let package = match request.version.is_some() || draft.version.as_str() != UNSET {
        true => set_version(&session, &draft, key.as_ref(), has_own_time),
        false => next_version(&session, &mut draft, key.as_ref()),
    };
    let package = package.map_err(|error| in_input_file(error, file.as_ref()))?;
    // What comes next is done to its end.
    context.go_on()?;
    let text = package.text().clone();
    let mut stock = Stock::open(&session)?;
    let made = [(package, "this machine".to_owned())];
    let mut taken = take(&session, &mut stock, &made, Acceptance::default()).map_err(unlike_before)?;
    stock.save(&home)?;
    if let (Some(output), Some(PackageStored { file, .. })) = (&request.output, taken.packages.first_mut()) {
        let path = context.absolute(output);
        let existing = if request.overwrite == Overwrite::Allow { Existing::Replace } else { Existing::Keep };
        deliver(
            context,
            &path,
            Delivery { bytes: text.as_bytes(), readers: Readers::Anybody, existing },
            OUTPUT_OR_FORCE,
        )?;
        *file = Some(path);
    }
    Ok(taken)
}

/// Reports problems of a package at their places in the file that it was made of.
fn in_input_file(mut error: Error, file: Option<&InputFile>) -> Error {
    if let Some(file) = file {
        error.reports = error.reports.into_iter().map(|report| file.relocate(report)).collect();
    }
    error
}

/// What others would refuse is not made.
fn unlike_before(error: Error) -> Error {
    match error.kind {
        Kind::Trust => {
            let hint =
                "`--sign` signs it with your key, `--sign=<key>` with another; `sp key trust` changes whose it is";
            Error { hints: vec![hint.into()], ..error }
        }
        _ => error,
    }
}

/// Stands for a version that is counted on from what the store has.
const UNSET: &str = "0.0.0-unset";

/// Makes the package, and tells why it cannot be made.
fn build(session: &Session<'_>, draft: &Draft, key: Option<&PrivateKey>) -> Result<Package> {
    package::build(draft, key, &session.limits).map_err(unwritable)
}

pub(super) fn unwritable(error: WriteError) -> Error {
    match error {
        WriteError::Content(report) | WriteError::Refused(report) => {
            let mut report = *report;
            report.findings.retain(|finding| finding.severity == sp_formats::Severity::Error);
            Error::in_file("a package cannot be made of this", report)
        }
        WriteError::Version(version) => Error::new(Kind::Usage, format!("`{version}` is no SemVer"))
            .hint("write it as `1.2.3`; packages that we make have no other versions"),
        other => Error::new(Kind::Data, "a package cannot be made of this").because(other).hint("nothing was changed"),
    }
}

/// Without a version: the same content is the same version, and other content is the next patch.
fn next_version(session: &Session<'_>, draft: &mut Draft, key: Option<&PrivateKey>) -> Result<Package> {
    let shelf = read_shelf(session.context)?;
    let set = |text: &str| PackageVersion::new(text).map_err(|e| Error::new(Kind::Data, e.to_string()));
    let Ok(newest) = best(&shelf, &draft.name, None) else {
        let known = shelf.known.get(&draft.name).into_iter().flat_map(|versions| versions.keys());
        let highest = known.filter_map(|text| semver::Version::parse(text).ok()).max();
        draft.version = set(&highest.map_or("1.0.0".into(), |highest| bumped(&highest)))?;
        return build(session, draft, key);
    };
    draft.version = newest.version.clone();
    if let Some(same) = unchanged(session, draft, key, newest)? {
        return Ok(same);
    }
    let known = shelf.known.get(&draft.name).into_iter().flat_map(|versions| versions.keys());
    let highest = known.filter_map(|text| semver::Version::parse(text).ok()).max();
    draft.version = set(&highest.map_or("1.0.0".into(), |highest| bumped(&highest)))?;
    build(session, draft, key)
}

/// With a version: what the store has under it if the content is the same, else a new package.
fn set_version(session: &Session<'_>, draft: &Draft, key: Option<&PrivateKey>, has_own_time: bool) -> Result<Package> {
    let shelf = read_shelf(session.context)?;
    let is_this = |stored: &&StoredPackage| stored.name == draft.name && stored.version == draft.version;
    let stored = shelf.packages.iter().find(is_this).filter(|_| !has_own_time);
    let same = match stored {
        Some(stored) => unchanged(session, draft, key, stored)?,
        None => None,
    };
    same.map_or_else(|| build(session, draft, key), Ok)
}

/// The package of the store, if the draft differs from it in nothing but when and by which release it was made.
fn unchanged(
    session: &Session<'_>,
    draft: &Draft,
    key: Option<&PrivateKey>,
    stored: &StoredPackage,
) -> Result<Option<Package>> {
    if stored.version.semver().is_none() {
        return Ok(None);
    }
    // Made at the same time by the same release, the same content has the same bytes.
    let mut again = draft.clone();
    again.created_at = stored.created_at.clone().unwrap_or(again.created_at);
    let mut same = build(session, &again, key)?;
    if same.digest() == stored.digest {
        // What the store has is held against its digest, and then it is this.
        read_blob(session.context, &stored.digest)?;
        return Ok(Some(same));
    }
    if same.manifest.integrity.sha256 != stored.sha256 {
        return Ok(None);
    }
    let kept = load_stored(session, stored)?;
    if let Some(made) = kept.manifest.provenance.as_ref().filter(|made| made.tool_version != again.tool_version) {
        again.tool_version.clone_from(&made.tool_version);
        same = build(session, &again, key)?;
    }
    let is_same = same.identity() == stored.identity && stored.signer == same.signer.map(|signer| signer.key);
    Ok(is_same.then_some(kept))
}

fn bumped(version: &semver::Version) -> String {
    match version.pre.is_empty() {
        true => format!("{}.{}.{}", version.major, version.minor, version.patch.saturating_add(1)),
        false => format!("{}.{}.{}", version.major, version.minor, version.patch),
    }
}

/// A draft and where it comes from.
struct Drafted {
    draft: Draft,
    file: Option<InputFile>,
    /// Whether the input says when the package was made.
    has_own_time: bool,
}

fn draft(session: &Session<'_>, request: &CreateRequest) -> Result<Drafted> {
    let context = session.context;
    let (mut input, kind, about) = match &request.material {
        Material::Input(path) => (read_hand_written(session, path)?, None, String::new()),
        Material::Text(text) => (read_text(session, "the package", text.as_bytes())?, None, String::new()),
        Material::Merged(_) => (Input::default(), None, String::new()),
        Material::Skills(paths) => (skills(session, request, paths)?, Some(PackageKind::Skills), "Skills".to_owned()),
        Material::Project(dir) => {
            let dir: PathBuf = context.expand(&dir.to_string_lossy()).components().collect();
            let named = dir.canonicalize().ok().and_then(|dir| Some(dir.file_name()?.to_string_lossy().into_owned()));
            (project(session, &dir, request.level)?, None, format!("Context of {}", named.unwrap_or_default()))
        }
    };
    let version = match &request.version {
        Some(text) => PackageVersion::new(text).map_err(|why| {
            Error::new(Kind::Usage, format!("`{text}` is no version")).because(why).hint("write it as `1.2.3`")
        })?,
        None => input
            .version
            .clone()
            .map_or_else(|| PackageVersion::new(UNSET), Ok)
            .map_err(|e| Error::new(Kind::Data, e.to_string()))?,
    };
    let level = request.level.or(input.level);
    if let Some(level) = level.filter(|level| !(1..=3).contains(level)) {
        return Err(
            Error::new(Kind::Usage, format!("there is no conformance level {level}")).hint("the levels are 1, 2 and 3")
        );
    }
    let mut dependencies = input.dependencies;
    for text in &request.dependencies {
        dependencies.push(dependency(text)?);
    }
    let (file, has_own_time) = (input.file.take(), input.created_at.is_some());
    let draft = Draft {
        name: name(request, input.name.as_ref())?,
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
        more: input.more,
        content: input.content,
        merged: match &request.material {
            Material::Merged(merged) => Some(Arc::clone(merged)),
            _ => None,
        },
    };
    Ok(Drafted { draft, file, has_own_time })
}

fn name(request: &CreateRequest, said: Option<&PackageName>) -> Result<PackageName> {
    let missing = || Error::new(Kind::Usage, "the package has no name").hint("add `--name <name>`");
    let plain = request.name.clone().or_else(|| said.map(ToString::to_string)).ok_or_else(missing)?;
    let full = match &request.scope {
        Some(scope) if !plain.starts_with('@') => format!("@{}/{plain}", scope.trim_start_matches('@')),
        _ => plain,
    };
    PackageName::new(&full).map_err(|why| {
        Error::new(Kind::Usage, format!("`{full}` is no name of a package"))
            .because(why)
            .hint("write a name such as `my-project`")
    })
}

fn dependency(text: &str) -> Result<Dependency> {
    let (name, range) = match text.rfind('@') {
        Some(at) if at > 0 => (&text[..at], &text[at + 1..]),
        _ => (text, "*"),
    };
    let wrong = |why: String| {
        Error::new(Kind::Usage, format!("`{text}` is no dependency")).because(why).hint("write it as `name@^1.2`")
    };
    let name = PackageName::new(name).map_err(|why| wrong(why.to_string()))?;
    let range = Range::new(range);
    match range.is_semver() {
        true => Ok(Dependency { name, range, optional: false }),
        false => Err(wrong(format!("`{range}` is no range of versions"))),
    }
}

fn read_hand_written(session: &Session<'_>, path: &Path) -> Result<Input> {
    let path = session.context.expand(&path.to_string_lossy());
    let bytes = read_limited(&path, session.limits.package_bytes)?;
    read_text(session, &session.context.show_near(&path), &bytes)
}

fn read_text(session: &Session<'_>, shown: &str, bytes: &[u8]) -> Result<Input> {
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
                session.context.tell(Event::Findings(&report));
            }
            Ok(input)
        }
        None => Err(Error::in_file(format!("no package can be made of `{shown}`"), report)),
    }
}

/// What a project says of itself, as a content.
fn project(session: &Session<'_>, dir: &Path, level: Option<u64>) -> Result<Input> {
    let graph = extract(session, dir, level.unwrap_or(2))?;
    // Where nothing hangs together, and nobody asked for more, nothing more is claimed.
    let reached = if graph.edges.is_empty() { 1 } else { 2 };
    Ok(Input { content: graph.to_content(), level: Some(level.unwrap_or(reached)), ..Input::default() })
}

/// Skills, each a folder, or all that a pack selects, as documents.
fn skills(session: &Session<'_>, request: &CreateRequest, named: &[String]) -> Result<Input> {
    let mut files: Vec<(RelPath, bool, Vec<u8>)> = Vec::new();
    for text in named {
        session.context.go_on()?;
        let path = session.context.expand(text);
        match path.join(SKILL_FILE).is_file() {
            true => add_skill(&load(&Dir::open(&path)?, &session.limits)?, &leaf(&path)?, &mut files)?,
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
                Kind::Data,
                format!("the skills have {is} {what}, and a package carries {most} at the most"),
            )
            .hint("make several packages, or leave out what no agent reads"));
        }
    }
    Ok(Input { content: format!("{{\"documents\":{}}}", write_documents(&files)), ..Input::default() })
}

fn leaf(path: &Path) -> Result<String> {
    let real = path.canonicalize().map_err(|e| sp_tree::FileError::new("find", path, e))?;
    real.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .ok_or_else(|| Error::new(Kind::Usage, "a skill has a folder of its own"))
}

fn add_skill(content: &Content, folder: &str, files: &mut Vec<(RelPath, bool, Vec<u8>)>) -> Result<()> {
    for (path, executable, bytes) in content.files() {
        let full = RelPath::new(&format!("{folder}/{path}"))
            .map_err(|why| Error::new(Kind::Data, format!("`{folder}/{path}`: {why}")))?;
        if files.iter().any(|(known, ..)| *known == full) {
            return Err(
                Error::new(Kind::Data, format!("two skills are called `{folder}`")).hint("rename one of the two")
            );
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
        Error::new(Kind::Request, format!("`{named}` is neither a skill nor a pack"))
            .because(error.to_string())
            .hint(format!("name a folder with a `{SKILL_FILE}`, or a pack by name or path"))
    })?;
    drop(found);
    let chosen = choose(session, request.root.as_deref(), named, None)?;
    for skill in &chosen.skills {
        let folder = skill.id.rsplit('/').next().unwrap_or(&skill.id);
        let content = match skill.origin {
            Origin::Import(number) => load_commit(session, &chosen.checkouts[number], &skill.id)?,
            _ => load(&Dir::open(&chosen.local_dir(&skill.id))?, &session.limits)?,
        };
        add_skill(&content, folder, files)?;
    }
    Ok(())
}
