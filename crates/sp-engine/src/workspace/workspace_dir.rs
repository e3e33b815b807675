//! A workspace on disk: `SKILLBAG.md`, `.skills/`, the contexts and the lockfile.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sp_formats::JsonRecord;
use sp_formats::project::lock::ProjectLock;
use sp_formats::project::{self, MANIFEST_FILE};
use sp_formats::report::Report;
use sp_formats::skill::SKILL_FILE;
use sp_formats::workspace::{
    CONTEXT_FILE, ENTRYPOINT_FILE, LOCK_FILE, ParameterLayer, SKILLS_DIR, SkillTags,
    USER_CONTEXT_FILE, WorkspaceContext, WorkspaceLock, WorkspaceSkill, read_context,
    read_workspace_skill,
};
use sp_tree::{Digest, Dir, EntryKind, hash_installed, read_optional};

use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

const MAX_PROJECT_LOCK_BYTES: u64 = 64 * 1024 * 1024;

/// The content of a workspace.
pub(crate) struct Workspace {
    pub root: PathBuf,
    /// The valid skills, sorted by name.
    pub skills: Vec<WorkspaceSkill>,
    pub invalid_skills: Vec<InvalidSkill>,
    /// `USER_CONTEXT.md`, `CONTEXT.md` and `SKILLBAG.md`, by priority. A missing file is empty.
    pub contexts: [WorkspaceContext; 3],
    pub lock: WorkspaceLock,
    /// The lockfile of the manifest next to the workspace, which has the lock then.
    pub project_lock: Option<ProjectLock>,
}

/// A `SKILL.md` that is invalid.
pub(crate) struct InvalidSkill {
    pub path: PathBuf,
    pub report: Report,
}

/// Finds the workspace: the given one, or the nearest one upward from the current directory.
pub fn find_root(context: &Context<'_>, root: Option<&Path>) -> Result<PathBuf> {
    if let Some(root) = root {
        let root = context.expand(&root.to_string_lossy());
        if !root.is_dir() {
            return Err(Error::new(
                ErrorCode::DirectoryNotFound,
                format!("directory not found: `{}`", root.display()),
            )
            .hint("pass the directory that contains `SKILLBAG.md` to `--root`"));
        }
        return Ok(root);
    }
    let found = context.current_dir.ancestors().find(|dir| is_workspace(dir));
    found.map(Into::into).ok_or_else(|| {
        let dir = context.display_path(&context.current_dir);
        Error::new(
            ErrorCode::WorkspaceNotFound,
            format!("no workspace found: neither `{dir}` nor a parent directory contains `{ENTRYPOINT_FILE}`"),
        )
        .hint("run `sp bag init` to create a workspace here")
    })
}

/// Whether a directory has a `SKILLBAG.md` or a `.skills/`.
pub(crate) fn is_workspace(dir: &Path) -> bool {
    dir.join(ENTRYPOINT_FILE).is_file() || dir.join(SKILLS_DIR).is_dir()
}

impl Workspace {
    /// Finds and reads a workspace.
    pub(crate) fn open(session: &Session<'_>, root: Option<&Path>) -> Result<Self> {
        Self::read(session, find_root(session.context, root)?)
    }

    /// Reads the workspace in a directory.
    pub(crate) fn read(session: &Session<'_>, root: PathBuf) -> Result<Self> {
        let mut workspace = Self {
            skills: Vec::new(),
            invalid_skills: Vec::new(),
            contexts: [USER_CONTEXT_FILE, CONTEXT_FILE, ENTRYPOINT_FILE]
                .map(|file| WorkspaceContext { file: file.into(), ..WorkspaceContext::default() }),
            lock: WorkspaceLock::default(),
            project_lock: None,
            root,
        };
        workspace.read_skills(session)?;
        for index in 0..workspace.contexts.len() {
            let path = workspace.root.join(&workspace.contexts[index].file);
            if let Some(context) = read_context_file(session, &path)? {
                workspace.contexts[index] = context;
            }
        }
        if let Some(lock) = read_lock(session, &workspace.skills_dir().join(LOCK_FILE))? {
            workspace.lock = lock;
        }
        if workspace.root.join(MANIFEST_FILE).is_file() {
            let project_lock = read_project_lock(session, &workspace.root)?;
            workspace.lock.skills.extend(project_lock.workspace.clone());
            workspace.project_lock = Some(project_lock);
        }
        Ok(workspace)
    }

    fn read_skills(&mut self, session: &Session<'_>) -> Result<()> {
        for folder in skill_folders(&self.skills_dir())? {
            let path = self.skills_dir().join(&folder).join(SKILL_FILE);
            let Some(bytes) = read_optional(&path, session.limits.markdown_bytes)? else {
                continue;
            };
            let (skill, report) = read_workspace_skill(
                &session.context.display_relative_path(&path),
                &folder,
                &bytes,
                &session.limits,
            );
            match skill {
                Some(skill) => self.skills.push(skill),
                None => self.invalid_skills.push(InvalidSkill { path, report }),
            }
        }
        self.skills.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(())
    }

    /// Refuses a workspace with invalid skills: they cannot be in the catalog, and omitting them
    /// silently would hide them.
    pub(super) fn refuse_invalid_skills(&self) -> Result<()> {
        if self.invalid_skills.is_empty() {
            return Ok(());
        }
        let mut error = Error::new(ErrorCode::InvalidWorkspace, "invalid skills in `.skills/`")
            .hint("nothing was changed: fix these skills, or move them out of `.skills/`");
        error.reports = self.invalid_skills.iter().map(|skill| skill.report.clone()).collect();
        Err(error)
    }

    pub(crate) fn skills_dir(&self) -> PathBuf {
        self.root.join(SKILLS_DIR)
    }

    /// Returns the valid skill with this name.
    pub(crate) fn skill(&self, name: &str) -> Option<&WorkspaceSkill> {
        self.skills.iter().find(|skill| skill.name.as_str() == name)
    }

    /// Returns the skill with this name. Fails if there is none or it is invalid.
    pub(super) fn require_skill(&self, name: &str) -> Result<&WorkspaceSkill> {
        self.skill(name).ok_or_else(|| {
            let invalid = self
                .invalid_skills
                .iter()
                .find(|skill| skill.path.parent().is_some_and(|dir| dir.ends_with(name)));
            if let Some(invalid) = invalid {
                return Error::in_file(
                    ErrorCode::InvalidSkill,
                    format!("invalid skill `{name}`"),
                    invalid.report.clone(),
                );
            }
            self.skill_not_found(name)
        })
    }

    fn skill_not_found(&self, name: &str) -> Error {
        let names: Vec<&str> = self.skills.iter().map(|skill| skill.name.as_str()).collect();
        let error =
            Error::new(ErrorCode::SkillNotFound, format!("no skill `{name}` in `.skills/`"));
        error.suggest(name, &names, "available skills")
    }

    /// Returns the tags of a skill after the changes of all contexts. `USER_CONTEXT.md` comes last.
    pub(crate) fn tags(&self, skill: &WorkspaceSkill) -> SkillTags {
        let changes = self.contexts.iter().rev().flat_map(|context| &context.tags);
        let own_changes = changes.filter(|change| change.skill == skill.name.as_str());
        own_changes.fold(skill.tags(), sp_formats::workspace::SkillTags::with_change)
    }

    /// Returns the settings of each level for the parameters of a skill, by priority.
    pub(crate) fn layers(
        &self,
        skill: &WorkspaceSkill,
        conversation: ParameterLayer,
    ) -> [ParameterLayer; 4] {
        let [user, project, entrypoint] =
            self.contexts.each_ref().map(|context| context.parameter_layer(skill.name.as_str()));
        [conversation, user, project, entrypoint]
    }

    /// Returns the sort key for the precedence of a skill: the position in `USER_CONTEXT.md`, then
    /// that in `CONTEXT.md`, then the name.
    pub(crate) fn rank(&self, name: &str) -> (usize, usize, String) {
        let position = |context: &WorkspaceContext| {
            let order = &context.precedence;
            order.iter().position(|other| other == name).unwrap_or(usize::MAX)
        };
        (position(&self.contexts[0]), position(&self.contexts[1]), name.into())
    }

    /// Whether a skill differs from what was installed. A skill without a record counts as edited.
    pub(crate) fn is_edited(&self, session: &Session<'_>, name: &str) -> Result<bool> {
        let Some(record) = self.lock.skills.get(name) else {
            return Ok(true);
        };
        Ok(folder_digest(session, &self.skills_dir().join(name))? != Some(record.tree))
    }
}

/// Reads a context. Returns `None` if it does not exist.
fn read_context_file(session: &Session<'_>, path: &Path) -> Result<Option<WorkspaceContext>> {
    let Some(text) = read_optional_text(path, session.limits.markdown_bytes)? else {
        return Ok(None);
    };
    let file = session.context.display_relative_path(path);
    let (context, report) = read_context(&file, &text, &session.limits);
    if report.is_usable() {
        return Ok(Some(context));
    }
    Err(Error::in_file(ErrorCode::InvalidWorkspace, format!("invalid `{}`", report.file), report)
        .hint("nothing was changed: fix the file, then run the command again"))
}

/// Reads the lockfile. Returns `None` if it does not exist.
fn read_lock(session: &Session<'_>, path: &Path) -> Result<Option<WorkspaceLock>> {
    let Some(bytes) = read_optional(path, session.limits.file_bytes)? else {
        return Ok(None);
    };
    WorkspaceLock::parse(&bytes).map(Some).map_err(|why| {
        Error::new(
            ErrorCode::InvalidWorkspace,
            format!("cannot read `{}`", session.context.display_path(path)),
        )
        .because(why)
        .hint("restore it from version control, or remove it: without it, `sp` treats all skills as edited")
    })
}

/// Reads `skillpack.lock`.
fn read_project_lock(session: &Session<'_>, root: &Path) -> Result<ProjectLock> {
    let path = root.join(project::LOCK_FILE);
    let Some(text) = read_optional_text(&path, MAX_PROJECT_LOCK_BYTES)? else {
        return Ok(ProjectLock::default());
    };
    let (lock, report) = project::lock::read(&session.context.display_relative_path(&path), &text);
    lock.ok_or_else(|| {
        Error::in_file(ErrorCode::InvalidProject, "the lockfile is invalid", report)
            .hint("nothing was changed")
    })
}

/// Returns the digest of a folder, or `None` if it contains something that `sp` never installs.
pub(crate) fn folder_digest(session: &Session<'_>, folder: &Path) -> Result<Option<Digest>> {
    let hashed = hash_installed(&Dir::open(folder)?, &session.limits)?;
    Ok(hashed.map(|hashed| hashed.tree.digest()))
}

/// Returns the names of the folders in a directory, sorted. A missing directory has none.
pub(crate) fn skill_folders(dir: &Path) -> Result<Vec<String>> {
    let opened = match Dir::open(dir) {
        Ok(opened) => opened,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(e.into()),
    };
    let entries = opened.entries()?;
    let is_folder = |name: &std::ffi::OsStr| dir.join(name).is_dir();
    let mut folders: Vec<String> = entries
        .iter()
        .filter(|entry| {
            entry.kind == EntryKind::Dir || entry.kind == EntryKind::Link && is_folder(entry.name())
        })
        .map(|entry| entry.name().to_string_lossy().into_owned())
        // Hidden folders are stages of a transaction, or belong to other tools.
        .filter(|name| !name.starts_with('.'))
        .collect();
    folders.sort();
    Ok(folders)
}

/// Reads a text file. Returns `None` if it does not exist.
pub(crate) fn read_optional_text(path: &Path, limit: u64) -> Result<Option<String>> {
    let bytes = read_optional(path, limit)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}
