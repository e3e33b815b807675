//! A SkillBag source: fetched, and validated as a whole before anything of it is used.

use std::path::Path;

use sp_formats::report::Report;
use sp_formats::skill::SKILL_FILE;
use sp_formats::workspace::{
    AGENTS_FILE, CATALOG_FILE, SKILLS_DIR, SourceRef, WorkspaceSkill, check_catalog,
    read_agents_file, read_catalog, read_workspace_skill,
};
use sp_tree::{Digest, LoadedTree};

use crate::context::Event;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;
use crate::source::{OpenedSource, SourceRequest};

/// A valid SkillBag source.
pub(crate) struct WorkspaceSource {
    pub source: OpenedSource,
    pub display_name: String,
    /// The installation steps in its `AGENTS.md` that are not just copying.
    pub extra_steps: Option<String>,
    pub skills: Vec<WorkspaceSkill>,
}

/// The files of a source that are validated.
struct SourceFiles {
    agents: Vec<u8>,
    catalog: Vec<u8>,
    skills: Vec<SkillText>,
}

/// The `SKILL.md` in a folder.
struct SkillText {
    folder: String,
    bytes: Vec<u8>,
}

impl WorkspaceSource {
    /// Fetches and validates a source.
    pub(crate) fn open(
        session: &Session<'_>,
        source: &SourceRef,
        version: Option<&str>,
        base: &Path,
    ) -> Result<Self> {
        let display_name = source.to_string();
        let opened = OpenedSource::open(session, &SourceRequest { source, version, base })?;
        Self::validate(session, opened, display_name)
    }

    /// Whether a source is meant to be a SkillBag source: whether it has a catalog, and an
    /// `AGENTS.md` that names it.
    pub(crate) fn is_declared(session: &Session<'_>, source: &OpenedSource) -> Result<bool> {
        let files = source.read_files(session, &[AGENTS_FILE.to_owned(), catalog_path()])?;
        let text = |file: &Option<Vec<u8>>| {
            file.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        let names_itself = text(&files[0]).is_some_and(|agents| agents.contains("SKILLBAG"));
        Ok(names_itself && files[1].is_some())
    }

    /// Validates a source as a whole.
    pub(crate) fn validate(
        session: &Session<'_>,
        source: OpenedSource,
        display_name: String,
    ) -> Result<Self> {
        let files = read_source_files(session, &source, &display_name)?;
        let display_path = |path: &str| format!("{display_name}/{path}");
        let (agents, agents_report) =
            read_agents_file(&display_path(AGENTS_FILE), &String::from_utf8_lossy(&files.agents));
        let mut reports = vec![agents_report];
        let mut skills = Vec::new();
        for SkillText { folder, bytes } in &files.skills {
            let path = display_path(&skill_path(folder));
            let (skill, report) = read_workspace_skill(&path, folder, bytes, &session.limits);
            skills.extend(skill);
            reports.push(report);
        }
        let catalog = String::from_utf8_lossy(&files.catalog);
        let (catalog, mut report) = read_catalog(&display_path(&catalog_path()), &catalog);
        let lines: Vec<_> = skills.iter().map(WorkspaceSkill::catalog_line).collect();
        check_catalog(&catalog, &lines, &mut report);
        reports.push(report);
        refuse_invalid(session, &display_name, reports)?;
        Ok(Self { source, display_name, extra_steps: agents.install_steps, skills })
    }

    /// Returns the skill with this name.
    pub(crate) fn skill(&self, name: &str) -> Result<&WorkspaceSkill> {
        self.skills.iter().find(|skill| skill.name.as_str() == name).ok_or_else(|| {
            let names: Vec<&str> = self.skills.iter().map(|skill| skill.name.as_str()).collect();
            let error = Error::new(
                ErrorCode::SkillNotFound,
                format!("`{}` has no skill `{name}`", self.display_name),
            );
            error.suggest(name, &names, "available skills").hint("nothing was changed")
        })
    }

    /// Loads all files of a skill.
    pub(crate) fn load_skill(&self, session: &Session<'_>, name: &str) -> Result<LoadedTree> {
        self.source.load_folder(session, &format!("{SKILLS_DIR}/{name}"))
    }

    /// Returns the digest of an archive that the cache keeps.
    pub(crate) fn archive_digest(&self) -> Option<Digest> {
        self.source.archive_digest()
    }

    /// Returns the full commit ID of a git source.
    pub(crate) fn commit(&self) -> Option<&str> {
        self.source.commit()
    }
}

fn catalog_path() -> String {
    format!("{SKILLS_DIR}/{CATALOG_FILE}")
}

fn skill_path(folder: &str) -> String {
    format!("{SKILLS_DIR}/{folder}/{SKILL_FILE}")
}

fn read_source_files(
    session: &Session<'_>,
    source: &OpenedSource,
    display_name: &str,
) -> Result<SourceFiles> {
    let folders: Vec<String> =
        source.folders(SKILLS_DIR)?.into_iter().filter(|name| !name.starts_with('.')).collect();
    let paths: Vec<String> = [AGENTS_FILE.to_owned(), catalog_path()]
        .into_iter()
        .chain(folders.iter().map(|folder| skill_path(folder)))
        .collect();
    let mut contents = source.read_files(session, &paths)?.into_iter();
    let (Some(agents), Some(catalog)) = (contents.next().flatten(), contents.next().flatten())
    else {
        let has_agents = source.read_files(session, &paths[..1])?[0].is_some();
        let missing = if has_agents { &paths[1] } else { AGENTS_FILE };
        return Err(Error::new(
            ErrorCode::InvalidWorkspace,
            format!("`{display_name}` is not a SkillBag source: `{missing}` is missing"),
        )
        .hint("nothing was changed: use another source, or run `sp bag source init` in it"));
    };
    // A folder without a `SKILL.md` is not a skill. If the catalog lists it, that is an error.
    let skills = folders
        .into_iter()
        .zip(contents)
        .filter_map(|(folder, bytes)| Some(SkillText { folder, bytes: bytes? }));
    Ok(SourceFiles { agents, catalog, skills: skills.collect() })
}

/// Fails if any file has an error. Emits warnings.
fn refuse_invalid(session: &Session<'_>, display_name: &str, reports: Vec<Report>) -> Result<()> {
    let (unusable, usable): (Vec<Report>, Vec<Report>) =
        reports.into_iter().partition(|report| !report.is_usable());
    if !unusable.is_empty() {
        let mut error = Error::new(
            ErrorCode::InvalidWorkspace,
            format!("`{display_name}` is not a valid SkillBag source"),
        )
        .hint("nothing was changed: the author can find these problems with `sp check`");
        error.reports = unusable;
        return Err(error);
    }
    for report in usable.iter().filter(|report| !report.findings.is_empty()) {
        session.context.emit(Event::Findings(report));
    }
    Ok(())
}
