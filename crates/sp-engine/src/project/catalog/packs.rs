//! Packs: the skills that a pack file selects, with the names of their folders.
//!
//! A pack of this repository is read with the code of `sp install`. The file of a pack of another
//! repository is read from a commit, and never from a working tree; its imports must not name
//! paths, which would be on this machine. In both cases, [`select_skills`] applies the patterns.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::git_repo::{GitRef, GitTransport};
use sp_formats::pack::{self, Pack, PackImport};
use sp_formats::project::lock::{LockedImport, LockedSource};
use sp_formats::project::source::{ManifestSource, PackSource, RemotePack, SourceVersion};
use sp_formats::skill::SKILL_FILE;
use sp_tree::Name;

use super::{CatalogRequest, CatalogSkill, OfferedSkills, SkillContent};
use crate::context::Event;
use crate::error::{Error, ErrorCode, Result};
use crate::install::selection::importable_skills;
use crate::pack_intentions::find_pack;
use crate::repository::{ValidPackFile, partition_skill_dirs};
use crate::select::{ImportableSkills, SelectedSkill, select_skills};
use crate::session::Session;
use crate::source::OpenedSource;
use crate::source::git::{CheckoutOpener, GitCheckout};

/// A pack file, and the skills next to it.
struct OpenedPack {
    file: ValidPackFile,
    /// The directory that relative imports start from.
    root: PathBuf,
    /// The repository of the pack.
    own: Arc<OpenedSource>,
    /// The path of `skills/` in it.
    skills_dir: String,
    /// The IDs of its skills.
    ids: Vec<String>,
    locked: LockedSource,
}

pub(super) fn open_pack(
    session: &Session<'_>,
    base: &Path,
    source: &PackSource,
    request: CatalogRequest<'_>,
) -> Result<OfferedSkills> {
    let mut opened = match source {
        PackSource::Local(spec) => open_local(session, base, spec)?,
        PackSource::Remote(remote) => open_remote(session, base, remote, request)?,
    };
    let known = request.lock().map(|lock| lock.imports.as_slice()).unwrap_or_default();
    let imports = pinned(&opened.file.pack.imports, known)?;
    let policies = session.policies(Some(base))?;
    for import in &imports {
        policies.require_source(&import.repo.to_string(), &opened.root)?;
    }
    let opener =
        CheckoutOpener { context: session.context, limits: &session.limits, root: &opened.root };
    let checkouts = opener.open(&imports).map_err(|error| error.in_pack(&opened.file.report))?;
    let offers: Vec<ImportableSkills> =
        checkouts.iter().map(|checkout| importable_skills(session.context, checkout)).collect();
    let report = &mut opened.file.report;
    let selected = select_skills(&opened.file.pack, &opened.ids, &offers, report);
    report.sort();
    if !report.is_usable() {
        let message = format!("the pack `{}` is invalid", opened.file.pack.name);
        return Err(Error::in_file(ErrorCode::InvalidPack, message, opened.file.report));
    }
    if !report.findings.is_empty() {
        session.context.emit(Event::Findings(report));
    }
    opened.locked.imports = locked_imports(&opened.file.pack.imports, &checkouts);
    let sources: Vec<Arc<OpenedSource>> = checkouts
        .into_iter()
        .map(|checkout| Arc::new(OpenedSource::Git(Arc::new(checkout))))
        .collect();
    let skills = selected.into_iter().map(|skill| catalog_skill(&opened, &sources, skill));
    let skills = skills.collect();
    Ok(OfferedSkills { locked: opened.locked, skills, ..OfferedSkills::default() })
}

/// Opens a pack of the repository of the manifest.
fn open_local(session: &Session<'_>, base: &Path, spec: &str) -> Result<OpenedPack> {
    let (repository, file) = find_pack(session, Some(base), spec)?;
    let ids = if file.pack.include.is_empty() {
        Vec::new()
    } else {
        repository.skills(session, None)?.ids
    };
    Ok(OpenedPack {
        file,
        own: Arc::new(OpenedSource::Dir(repository.skills_dir())),
        root: repository.root,
        skills_dir: String::new(),
        ids,
        locked: LockedSource::default(),
    })
}

/// Opens a pack of another repository.
fn open_remote(
    session: &Session<'_>,
    base: &Path,
    remote: &RemotePack,
    request: CatalogRequest<'_>,
) -> Result<OpenedPack> {
    let ManifestSource::Git(git) = &remote.source else {
        return Err(Error::new(ErrorCode::Unsupported, "only git repositories have packs"));
    };
    let opener = CheckoutOpener { context: session.context, limits: &session.limits, root: base };
    let locked =
        request.lock().and_then(|lock| lock.commit.as_deref()).map(parse_ref).transpose()?;
    let wanted = match &remote.version {
        Some(SourceVersion::Git(git_ref)) => Some(git_ref.clone()),
        Some(SourceVersion::Range(_)) | None => None,
    };
    let checkout = Arc::new(opener.open_ref(&git.repo, locked.or(wanted).as_ref())?);
    let commit = checkout.commit.clone();
    let own = OpenedSource::Git(checkout);
    let texts = own.read_files(session, std::slice::from_ref(&remote.file))?;
    let label = remote.to_string();
    let text = texts.into_iter().next().flatten().ok_or_else(|| {
        Error::new(ErrorCode::PackNotFound, format!("`{label}` does not exist"))
            .because(format!("the commit is {commit}"))
            .hint("check the path; it starts at the root of the repository")
    })?;
    let file = read_remote(session, &label, &text)?;
    let parent = remote.file.rsplit_once('/').map_or("", |(parent, _)| parent);
    let skills_dir = match parent.strip_suffix("packs").and_then(|root| root.strip_suffix('/')) {
        Some(root) => format!("{root}/skills"),
        None => "skills".to_owned(),
    };
    let prefix = format!("{skills_dir}/");
    let found = own.folders_with(session, &Name::new(SKILL_FILE)?, &[])?;
    let below: Vec<&str> = found.paths.iter().filter_map(|it| it.strip_prefix(&prefix)).collect();
    let (ids, _) = partition_skill_dirs(&below);
    Ok(OpenedPack {
        file,
        root: base.to_path_buf(),
        own: Arc::new(own),
        skills_dir,
        ids,
        locked: LockedSource { commit: Some(commit), ..LockedSource::default() },
    })
}

fn read_remote(session: &Session<'_>, label: &str, bytes: &[u8]) -> Result<ValidPackFile> {
    let text = String::from_utf8_lossy(bytes);
    let (pack, report) = pack::read(label, &text, &session.limits);
    let Some(pack) = pack else {
        let message = format!("the pack `{label}` is invalid");
        return Err(Error::in_file(ErrorCode::InvalidPack, message, report));
    };
    refuse_local_imports(label, &pack)?;
    Ok(ValidPackFile { path: PathBuf::from(label), pack, report })
}

/// Refuses imports of paths: they would be paths of this machine.
fn refuse_local_imports(label: &str, pack: &Pack) -> Result<()> {
    let is_path = |import: &&PackImport| import.repo.transport == GitTransport::Path;
    match pack.imports.iter().find(is_path) {
        None => Ok(()),
        Some(import) => {
            let message = format!("`{label}` imports a path: `{}`", import.repo);
            Err(Error::new(ErrorCode::ForeignLocalSource, message)
                .because("the path would be on this machine")
                .hint("ask the author of the pack to import a URL"))
        }
    }
}

fn parse_ref(commit: &str) -> Result<GitRef> {
    GitRef::new(commit).map_err(|why| {
        Error::new(ErrorCode::InvalidGitRef, "a pack is locked to an invalid commit")
            .because(why)
            .hint("restore `skillpack.lock` from version control")
    })
}

/// Returns the imports of a pack at the commits in the lockfile. New ones keep their ref.
fn pinned(imports: &[PackImport], known: &[LockedImport]) -> Result<Vec<PackImport>> {
    let pin = |import: &PackImport| {
        let mut import = import.clone();
        let is_same = |locked: &&LockedImport| {
            locked.repo == import.repo.display_url
                && locked.git_ref == import.git_ref.as_ref().map(ToString::to_string)
        };
        if let Some(locked) = known.iter().find(is_same) {
            import.git_ref = Some(parse_ref(&locked.commit)?);
        }
        Ok(import)
    };
    imports.iter().map(pin).collect()
}

fn locked_imports(imports: &[PackImport], checkouts: &[GitCheckout]) -> Vec<LockedImport> {
    let locked = imports.iter().zip(checkouts).map(|(import, checkout)| LockedImport {
        repo: import.repo.display_url.clone(),
        git_ref: import.git_ref.as_ref().map(ToString::to_string),
        commit: checkout.commit.clone(),
    });
    locked.collect()
}

fn catalog_skill(
    opened: &OpenedPack,
    imports: &[Arc<OpenedSource>],
    selected: SelectedSkill,
) -> CatalogSkill {
    let SelectedSkill { import, id, folder } = selected;
    let (source, path, id) = match import {
        None if opened.skills_dir.is_empty() => (Arc::clone(&opened.own), id.clone(), id),
        None => (Arc::clone(&opened.own), format!("{}/{id}", opened.skills_dir), id),
        Some(number) => {
            let import = &opened.file.pack.imports[number];
            let qualified = format!("{}//{id}", import.repo.display_url);
            (Arc::clone(&imports[number]), id, qualified)
        }
    };
    CatalogSkill {
        id,
        name: folder.to_string(),
        description: String::new(),
        dependencies: Vec::new(),
        content: SkillContent::Elsewhere { source, path },
    }
}
