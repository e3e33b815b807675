//! A workspace: `SKILLBAG.md`, `.skills/`, and what the contexts say.

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
use crate::error::{Error, FailureKind, Result};
use crate::session::Session;

/// A workspace that was read.
pub(crate) struct Workspace {
    pub root: PathBuf,
    /// The valid skills, sorted by name.
    pub skills: Vec<WorkspaceSkill>,
    /// What is wrong with the folders that are no skills.
    pub invalid_skills: Vec<(PathBuf, Report)>,
    /// `USER_CONTEXT.md`, `CONTEXT.md` and `SKILLBAG.md`; empty where there is none.
    pub contexts: [WorkspaceContext; 3],
    /// What was installed from where.
    pub lock: WorkspaceLock,
}

/// The directory of the workspace that the user means: a given one, or the nearest upward.
pub fn find_root(context: &Context<'_>, given: Option<&Path>) -> Result<PathBuf> {
    if let Some(given) = given {
        let root = context.expand(&given.to_string_lossy());
        return match root.is_dir() {
            true => Ok(root),
            false => Err(Error::new(
                FailureKind::Request,
                format!("there is no directory `{}`", root.display()),
            )
            .hint("give `--root` the directory that holds `SKILLBAG.md`")),
        };
    }
    let found = context.current_dir.ancestors().find(|dir| is_workspace(dir));
    found.map(Into::into).ok_or_else(|| {
        let shown = context.display_path(&context.current_dir);
        Error::new(
            FailureKind::Request,
            format!("neither `{shown}` nor a directory above it has a `{ENTRYPOINT_FILE}`"),
        )
        .hint("run `sp bag init` to make a workspace here")
    })
}

/// Whether a directory is a workspace, or has skills as one has.
pub(crate) fn is_workspace(dir: &Path) -> bool {
    dir.join(ENTRYPOINT_FILE).is_file() || dir.join(SKILLS_DIR).is_dir()
}

impl Workspace {
    /// Reads the workspace that the user means.
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
        for at in 0..workspace.contexts.len() {
            let path = workspace.root.join(&workspace.contexts[at].file);
            if let Some(text) = read_optional_text(&path, session.limits.markdown_bytes)? {
                let (context, report) = read_context(
                    &session.context.display_relative_path(&path),
                    &text,
                    &session.limits,
                );
                if !report.is_usable() {
                    return Err(Error::in_file(
                        format!("`{}` cannot be used", report.file),
                        report,
                    )
                    .hint("mend it; nothing was changed"));
                }
                workspace.contexts[at] = context;
            }
        }
        let path = workspace.skills_dir().join(LOCK_FILE);
        if let Some(bytes) = read_optional(&path, session.limits.file_bytes)? {
            workspace.lock = WorkspaceLock::parse(&bytes).map_err(|why| {
                Error::new(
                    FailureKind::Data,
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

    /// The valid skill of this name.
    pub(crate) fn skill(&self, name: &str) -> Option<&WorkspaceSkill> {
        self.skills.iter().find(|skill| skill.name.as_str() == name)
    }

    /// A skill's tags, after the contexts had their say; the user's last.
    pub(crate) fn tags(&self, skill: &WorkspaceSkill) -> SkillTags {
        let changes = self.contexts.iter().rev().flat_map(|context| &context.tags);
        let mine = changes.filter(|change| change.skill == skill.name.as_str());
        mine.fold(skill.tags(), sp_formats::workspace::SkillTags::with_change)
    }

    /// What each level says of the parameters of a skill; `said` is the conversation.
    pub(crate) fn layers(
        &self,
        skill: &WorkspaceSkill,
        said: ParameterLayer,
    ) -> [ParameterLayer; 4] {
        let [user, project, entry] =
            [0, 1, 2].map(|at| self.contexts[at].parameter_layer(skill.name.as_str()));
        [said, user, project, entry]
    }

    /// Where a skill stands in the order in which skills prevail: by the user, the project, the name.
    pub(crate) fn rank(&self, name: &str) -> (usize, usize, String) {
        let place = |at: usize| {
            let order = &self.contexts[at].precedence;
            order.iter().position(|other| other == name).unwrap_or(usize::MAX)
        };
        (place(0), place(1), name.into())
    }

    /// Whether what stands at a skill's place is other than what was installed there.
    pub(crate) fn is_edited(&self, session: &Session<'_>, name: &str) -> Result<bool> {
        let Some(record) = self.lock.skills.get(name) else {
            return Ok(true);
        };
        Ok(folder_digest(session, &self.skills_dir().join(name))? != Some(record.tree))
    }
}

/// The digest of a folder; none if it holds what is never installed.
pub(crate) fn folder_digest(session: &Session<'_>, folder: &Path) -> Result<Option<Digest>> {
    let measured = hash_installed(&Dir::open(folder)?, &session.limits)?;
    Ok(measured.map(|measured| measured.tree.digest()))
}

/// The folders directly below a directory, sorted; none if it is not there.
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
        // What starts with a dot is a stage of ours, or somebody's own affair.
        .filter(|name| !name.starts_with('.'))
        .collect();
    folders.sort();
    Ok(folders)
}

/// The text of a file; none if it is not there.
pub(crate) fn read_optional_text(path: &Path, limit: u64) -> Result<Option<String>> {
    let bytes = read_optional(path, limit)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}
