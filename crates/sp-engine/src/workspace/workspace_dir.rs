//! A workspace on disk: `SKILLBAG.md`, `.skills/`, the contexts and the lockfile.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sp_formats::report::Report;
use sp_formats::skill::SKILL_FILE;
use sp_formats::workspace::{
    CATALOG_FILE, CONTEXT_FILE, ENTRYPOINT_FILE, LOCK_FILE, ParameterLayer, SKILLS_DIR, SkillTags,
    USER_CONTEXT_FILE, WorkspaceContext, WorkspaceLock, WorkspaceSkill, read_context,
    read_workspace_skill,
};
use sp_tree::{Digest, Dir, EntryKind, hash_installed, read_optional};

use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// The content of a workspace.
pub(crate) struct Workspace {
    pub root: PathBuf,
    /// The valid skills, sorted by name.
    pub skills: Vec<WorkspaceSkill>,
    /// The `SKILL.md` files that are invalid, with their findings.
    pub invalid_skills: Vec<(PathBuf, Report)>,
    /// `USER_CONTEXT.md`, `CONTEXT.md` and `SKILLBAG.md`, by priority. A missing file is empty.
    pub contexts: [WorkspaceContext; 3],
    pub lock: WorkspaceLock,
}

/// Finds the workspace: the given one, or the nearest one upward from the current directory.
pub fn find_root(context: &Context<'_>, given: Option<&Path>) -> Result<PathBuf> {
    if let Some(given) = given {
        let root = context.expand(&given.to_string_lossy());
        if !root.is_dir() {
            return Err(Error::new(
                ErrorCode::DirectoryNotFound,
                format!("there is no directory `{}`", root.display()),
            )
            .hint("give `--root` the directory that holds `SKILLBAG.md`"));
        }
        return Ok(root);
    }
    let found = context.current_dir.ancestors().find(|dir| is_workspace(dir));
    found.map(Into::into).ok_or_else(|| {
        let shown = context.display_path(&context.current_dir);
        Error::new(
            ErrorCode::WorkspaceNotFound,
            format!("neither `{shown}` nor a directory above it has a `{ENTRYPOINT_FILE}`"),
        )
        .hint("run `sp bag init` to make a workspace here")
    })
}

/// Whether a directory has a `SKILLBAG.md` or a `.skills/`.
pub(crate) fn is_workspace(dir: &Path) -> bool {
    dir.join(ENTRYPOINT_FILE).is_file() || dir.join(SKILLS_DIR).is_dir()
}

impl Workspace {
    /// Finds and reads a workspace.
    pub(crate) fn open(session: &Session<'_>, given: Option<&Path>) -> Result<Self> {
        Self::read(session, find_root(session.context, given)?)
    }

    /// Reads the workspace in a directory.
    pub(crate) fn read(session: &Session<'_>, root: PathBuf) -> Result<Self> {
        let mut workspace = Self {
            skills: Vec::new(),
            invalid_skills: Vec::new(),
            contexts: [USER_CONTEXT_FILE, CONTEXT_FILE, ENTRYPOINT_FILE]
                .map(|file| WorkspaceContext { file: file.into(), ..WorkspaceContext::default() }),
            lock: WorkspaceLock::default(),
            root,
        };
        workspace.read_skills(session)?;
        for index in 0..workspace.contexts.len() {
            let path = workspace.root.join(&workspace.contexts[index].file);
            if let Some(text) = read_optional_text(&path, session.limits.markdown_bytes)? {
                let (context, report) = read_context(
                    &session.context.display_relative_path(&path),
                    &text,
                    &session.limits,
                );
                if !report.is_usable() {
                    return Err(Error::in_file(
                        ErrorCode::InvalidWorkspace,
                        format!("`{}` cannot be used", report.file),
                        report,
                    )
                    .hint("mend it; nothing was changed"));
                }
                workspace.contexts[index] = context;
            }
        }
        let path = workspace.skills_dir().join(LOCK_FILE);
        if let Some(bytes) = read_optional(&path, session.limits.file_bytes)? {
            workspace.lock = WorkspaceLock::parse(&bytes).map_err(|why| {
                Error::new(
                    ErrorCode::InvalidWorkspace,
                    format!("`{}` cannot be used", session.context.display_path(&path)),
                )
                .because(why)
                .hint("mend it, or remove it: skills without a record count as edited by you")
            })?;
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
                None => self.invalid_skills.push((path, report)),
            }
        }
        self.skills.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(())
    }

    pub(crate) fn skills_dir(&self) -> PathBuf {
        self.root.join(SKILLS_DIR)
    }

    pub(crate) fn catalog_path(&self) -> PathBuf {
        self.skills_dir().join(CATALOG_FILE)
    }

    /// Returns the valid skill with this name.
    pub(crate) fn skill(&self, name: &str) -> Option<&WorkspaceSkill> {
        self.skills.iter().find(|skill| skill.name.as_str() == name)
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
