//! Sources that are trees of files: git repositories, directories and zip archives.

use std::path::Path;

use sp_formats::git_repo::GitRef;
use sp_formats::project::lock::LockedSource;
use sp_formats::project::source::{GitSource, RepoFolder, SourceVersion};
use sp_formats::skill::SKILL_FILE;
use sp_formats::workspace::{SKILLS_DIR, SourceRef, WebSource};
use sp_tree::Name;

use super::dir_index::{ReadDir, ZipStamp};
use super::skill_dirs::{SKIPPED_DIRS, SkillDirs};
use super::{CatalogRequest, CatalogSkill, OfferedSkills, ROOT_ID, SkillContent, SkillDraft};
use crate::context::Event;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;
use crate::source::git::{CheckoutOpener, GitCheckout, GitPage};
use crate::source::web::file_digest;
use crate::source::{OpenedSource, SourceRequest, resolve_path};
use crate::workspace::WorkspaceSource;

/// The maximum number of skills in a source.
const MAX_SKILLS: usize = 2_000;

/// An opened source, and the folder of it that is the root of the catalog.
struct SourceFolder {
    opened: OpenedSource,
    /// The path of the folder; empty for the whole source.
    folder: String,
    /// The name of the root, for a skill without a valid name of its own.
    root_name: String,
    /// The source, for messages.
    display_name: String,
}

/// The skills of a source, before they are read.
struct FoundSkills {
    dirs: SkillDirs,
    read_dir: Option<ReadDir>,
}

/// A commit and a folder of it.
struct CommitFolder {
    checkout: GitCheckout,
    folder: String,
    /// The ref in the URL of a page.
    git_ref: Option<GitRef>,
}

pub(super) fn open_git(
    session: &Session<'_>,
    base: &Path,
    git: &GitSource,
    request: CatalogRequest<'_>,
) -> Result<OfferedSkills> {
    let commit = open_commit(session, base, git, request)?;
    if !commit.checkout.tree.is_folder(&commit.folder) {
        return Err(missing_folder_error(git, &commit));
    }
    let repo_name = git.repo.display_url.trim_end_matches('/').trim_end_matches(".git");
    let last = |path: &str| path.rsplit(['/', ':']).next().unwrap_or_default().to_owned();
    let root_name = if commit.folder.is_empty() { last(repo_name) } else { last(&commit.folder) };
    let locked = LockedSource {
        commit: Some(commit.checkout.commit.clone()),
        git_ref: commit.git_ref.map(|git_ref| git_ref.to_string()),
        ..LockedSource::default()
    };
    let source = SourceFolder {
        folder: commit.folder,
        opened: OpenedSource::Git(commit.checkout.into()),
        root_name,
        display_name: git.repo.to_string(),
    };
    source.into_catalog(session, locked)
}

fn open_commit(
    session: &Session<'_>,
    base: &Path,
    git: &GitSource,
    request: CatalogRequest<'_>,
) -> Result<CommitFolder> {
    let opener = CheckoutOpener { context: session.context, limits: &session.limits, root: base };
    let version = match request.version() {
        Some(SourceVersion::Git(git_ref)) => Some(git_ref.clone()),
        Some(SourceVersion::Range(_)) | None => None,
    };
    let locked = request.lock().and_then(|lock| lock.commit.as_deref());
    let locked = locked.map(GitRef::new).transpose().map_err(|why| {
        Error::new(
            ErrorCode::InvalidGitRef,
            format!("`{}` is locked to an invalid commit", git.repo),
        )
        .because(why)
        .hint("restore `skillpack.lock` from version control")
    })?;
    match &git.folder {
        Some(RepoFolder::RefAndPath(page)) => {
            let known_ref = request.lock().and_then(|lock| lock.git_ref.as_deref());
            match (locked, known_ref.and_then(|known| split_page(page, known))) {
                (Some(commit), Some((git_ref, folder))) => {
                    let checkout = opener.open_ref(&git.repo, Some(&commit))?;
                    Ok(CommitFolder { checkout, folder, git_ref: Some(git_ref) })
                }
                _ => {
                    let GitPage { checkout, git_ref, path } = opener.open_page(&git.repo, page)?;
                    Ok(CommitFolder { checkout, folder: path, git_ref: Some(git_ref) })
                }
            }
        }
        folder => {
            let checkout = opener.open_ref(&git.repo, locked.or(version).as_ref())?;
            let folder = match folder {
                Some(RepoFolder::Path(path)) => path.clone(),
                _ => String::new(),
            };
            Ok(CommitFolder { checkout, folder, git_ref: None })
        }
    }
}

/// Splits `<ref>/<path>` after a known ref.
fn split_page(page: &str, git_ref: &str) -> Option<(GitRef, String)> {
    let path = page.strip_prefix(git_ref)?;
    let path = if path.is_empty() { path } else { path.strip_prefix('/')? };
    Some((GitRef::new(git_ref).ok()?, sp_formats::percent::decode_lossy(path).into_owned()))
}

fn missing_folder_error(git: &GitSource, commit: &CommitFolder) -> Error {
    let CommitFolder { checkout, folder, .. } = commit;
    let parents: Vec<&str> = checkout
        .tree
        .ids
        .iter()
        .filter_map(|id| id.rsplit_once('/').map(|(parent, _)| parent))
        .collect();
    let message = format!("`{}` has no folder `{folder}`", git.repo);
    let error = Error::new(ErrorCode::SourceNotFound, message)
        .because(format!("the commit is {}", checkout.commit));
    match sp_formats::suggest::nearest(folder, parents) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("check the path; upper and lower case are distinguished"),
    }
}

pub(super) fn open_dir(session: &Session<'_>, base: &Path, path: &str) -> Result<OfferedSkills> {
    let source = SourceRef::Dir(path.to_owned());
    let request = SourceRequest { source: &source, version: None, base };
    let opened = OpenedSource::open(session, &request)?;
    let real = resolve_path(session, base, path).canonicalize().unwrap_or_default();
    let root_name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let source =
        SourceFolder { opened, folder: String::new(), root_name, display_name: path.into() };
    source.into_catalog(session, LockedSource::default())
}

pub(super) fn open_zip(session: &Session<'_>, base: &Path, path: &str) -> Result<OfferedSkills> {
    let full = resolve_path(session, base, path);
    if !full.is_file() {
        let message = format!("file `{}` not found", session.context.display_path(&full));
        return Err(Error::new(ErrorCode::SourceNotFound, message)
            .hint("check the path; relative paths start at the directory of `skillpack.yaml`"));
    }
    let stamp = ZipStamp::of(&full);
    let opened = OpenedSource::open_zip(session, &full, None)?;
    let digest = file_digest(&full, session.limits.zip_bytes)
        .map_err(|e| sp_tree::FileError::new("read", &full, e))?;
    let source = SourceFolder {
        opened,
        folder: String::new(),
        root_name: file_stem(path),
        display_name: path.into(),
    };
    let locked = LockedSource { digest: Some(digest), ..LockedSource::default() };
    let offered = source.into_catalog(session, locked)?;
    let read_zip = stamp.map(|stamp| stamp.read(session, digest));
    Ok(OfferedSkills { read_zip, ..offered })
}

pub(super) fn open_web_zip(
    session: &Session<'_>,
    web: &WebSource,
    request: CatalogRequest<'_>,
) -> Result<OfferedSkills> {
    let expected = request.lock().and_then(|lock| lock.digest);
    let opened = OpenedSource::open_web_archive(session, web, expected)?;
    let locked = LockedSource { digest: opened.archive_digest(), ..LockedSource::default() };
    let path = web.url.split(['?', '#']).next().unwrap_or_default();
    let source = SourceFolder {
        opened,
        folder: String::new(),
        root_name: file_stem(path),
        display_name: web.to_string(),
    };
    source.into_catalog(session, locked)
}

/// Returns the name of an archive without its extension.
fn file_stem(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
}

impl SourceFolder {
    fn into_catalog(self, session: &Session<'_>, locked: LockedSource) -> Result<OfferedSkills> {
        if self.folder.is_empty() && WorkspaceSource::is_declared(session, &self.opened)? {
            return self.into_workspace_catalog(session, locked);
        }
        let FoundSkills { dirs, read_dir } = self.find_skills(session)?;
        let skills = self.read_skills(session, &dirs)?;
        let opened = Some(self.opened);
        Ok(OfferedSkills { locked, skills, opened, read_dir, ..OfferedSkills::default() })
    }

    /// Returns the catalog of a SkillBag source, which is valid as a whole.
    fn into_workspace_catalog(
        self,
        session: &Session<'_>,
        locked: LockedSource,
    ) -> Result<OfferedSkills> {
        let Self { opened, root_name, display_name, folder } = self;
        let source = WorkspaceSource::validate(session, opened, display_name.clone())?;
        let (skills, extra_steps) = (source.skills, source.extra_steps);
        let names = skills.iter().map(|skill| format!("{SKILLS_DIR}/{}", skill.name));
        let dirs = SkillDirs { paths: names.collect(), ignored_root: false };
        let this = Self { opened: source.source, root_name, display_name, folder };
        let mut offered = this.read_skills(session, &dirs)?;
        for skill in skills {
            let same = offered.iter_mut().find(|offered| offered.name == skill.name.as_str());
            if let Some(same) = same {
                // With the tags that YAML reads as a comment.
                same.description = skill.description;
            }
        }
        let opened = Some(this.opened);
        let offered = OfferedSkills { skills: offered, locked, ..OfferedSkills::default() };
        Ok(OfferedSkills { extra_steps, opened, ..offered })
    }

    /// Finds the skills. Their paths start at the folder.
    fn find_skills(&self, session: &Session<'_>) -> Result<FoundSkills> {
        let file = Name::new(SKILL_FILE)?;
        let found = self.opened.folders_with(session, &file, &SKIPPED_DIRS)?;
        let read_dir = match (&self.opened, found.walk) {
            (OpenedSource::Dir(root), Some(walk)) => ReadDir::new(session, root, walk),
            _ => None,
        };
        let below = found.paths.into_iter().filter_map(|path| self.strip_folder(&path));
        let dirs = SkillDirs::select(below.collect());
        if dirs.ignored_root {
            session.context.emit(Event::Warning(format!(
                "`{}` has a `{SKILL_FILE}` at its root, which is ignored, because it has other \
                 skills",
                self.display_name
            )));
        }
        if dirs.paths.len() > MAX_SKILLS {
            let message = format!(
                "`{}` contains {} skills; the maximum is {MAX_SKILLS}",
                self.display_name,
                dirs.paths.len()
            );
            return Err(Error::new(ErrorCode::LimitExceeded, message)
                .hint("use a folder of the source, such as `<owner>/<repo>/<folder>`"));
        }
        Ok(FoundSkills { dirs, read_dir })
    }

    /// Makes a path relative to the folder.
    fn strip_folder(&self, path: &str) -> Option<String> {
        if self.folder.is_empty() || path == self.folder {
            let path = if self.folder.is_empty() { path } else { "" };
            return Some(path.to_owned());
        }
        Some(path.strip_prefix(&self.folder)?.strip_prefix('/')?.to_owned())
    }

    fn full_path(&self, path: &str) -> String {
        match (self.folder.as_str(), path) {
            ("", path) => path.to_owned(),
            (folder, "") => folder.to_owned(),
            (folder, path) => format!("{folder}/{path}"),
        }
    }

    fn read_skills(&self, session: &Session<'_>, dirs: &SkillDirs) -> Result<Vec<CatalogSkill>> {
        let folders: Vec<String> = dirs.paths.iter().map(|path| self.full_path(path)).collect();
        let file_of = |folder: &String| match folder.as_str() {
            "" => SKILL_FILE.to_owned(),
            folder => format!("{folder}/{SKILL_FILE}"),
        };
        let files: Vec<String> = folders.iter().map(file_of).collect();
        let texts = self.opened.read_files(session, &files)?;
        let mut skills = Vec::new();
        for ((path, folder), bytes) in dirs.paths.iter().zip(folders).zip(texts) {
            // Without bytes, the file is behind a link, and the skill is listed where that leads.
            let Some(bytes) = bytes else { continue };
            let leaf = path.rsplit('/').next().filter(|leaf| !leaf.is_empty());
            let draft = SkillDraft {
                id: if path.is_empty() { ROOT_ID.to_owned() } else { path.clone() },
                folder: leaf.unwrap_or(&self.root_name),
                bytes: &bytes,
                content: SkillContent::Folder(folder),
            };
            match draft.read(session) {
                Some(skill) => skills.push(skill),
                None => session.context.emit(Event::Warning(format!(
                    "skipped `{path}` of `{}`: its `{SKILL_FILE}` is not UTF-8 text",
                    self.display_name
                ))),
            }
        }
        Ok(skills)
    }
}
