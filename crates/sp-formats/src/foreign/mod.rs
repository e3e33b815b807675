//! Manifests and lockfiles of other tools that install skills, so that a project can be migrated.
//!
//! [`FILES`] lists the files and where they are. Reading one returns a [`ForeignRecord`]: what the
//! tool installed, as [`ForeignEntry`]s whose sources this crate understands, and what cannot be
//! migrated, as [`SkippedItem`]s with reasons. Both know their position in the file.
//!
//! Members that are not needed are ignored, because these formats grow. A needed member with a
//! wrong type is an error with a position, so that a migration never guesses. Recorded digests are
//! [`ForeignDigest`]s, which can be compared with the files of a folder.
//!
//! Nothing here writes these files or decides what a migration does.
//!
//! ```
//! use sp_formats::foreign;
//! use sp_tree::Limits;
//!
//! let text = r#"{"version": 1, "skills": {"pdf": {"source": "acme/skills", "sourceType": "github",
//!   "skillPath": "skills/pdf/SKILL.md"}}}"#;
//! let file = foreign::FILES.iter().find(|file| file.path == "skills-lock.json").expect("listed");
//! let (record, report) = file.read(text, &Limits::default());
//! let entry = &record.expect("it has no errors").entries[0];
//! assert_eq!(entry.source.to_string(), "acme/skills");
//! assert_eq!(entry.selection.folder.as_deref(), Some("skills/pdf"));
//! assert_eq!(report.format_position(entry.span.start), "skills-lock.json:1:27");
//! ```

mod apm;
mod apm_lock;
mod claude;
mod digest;
mod dotagents;
mod openskills;
mod reader;
mod skil;
mod skills;
mod syntax;

use std::fmt;
use std::ops::Range;

use sp_tree::Limits;

pub use digest::{DigestedFile, ForeignDigest, ForeignDigestKind};
pub use openskills::METADATA_FILE as OPENSKILLS_METADATA_FILE;

use crate::project::source::{ManifestSource, SourceVersion};
use crate::report::Report;
use crate::rules::CheckRule;

/// A tool that installs skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ForeignTool {
    /// `skills` of npm.
    Skills,
    /// `apm-cli` of PyPI.
    Apm,
    /// `@sentry/dotagents` of npm.
    Dotagents,
    /// `openskills` of npm.
    Openskills,
    /// `skil` of crates.io.
    Skil,
    /// Plugins of Claude Code.
    ClaudePlugins,
}

impl fmt::Display for ForeignTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Skills => "skills",
            Self::Apm => "apm",
            Self::Dotagents => "dotagents",
            Self::Openskills => "openskills",
            Self::Skil => "skil",
            Self::ClaudePlugins => "Claude Code plugins",
        })
    }
}

/// Where a file of another tool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignLocation {
    /// In the root of a project.
    Project,
    /// In the home directory of the user.
    Home,
    /// In the folder of each installed skill.
    SkillFolder,
}

/// Whether a file says what is wanted, or what was installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignFileKind {
    Manifest,
    Lockfile,
}

/// A file of another tool.
#[derive(Debug, Clone, Copy)]
pub struct ForeignFile {
    pub tool: ForeignTool,
    pub kind: ForeignFileKind,
    pub location: ForeignLocation,
    /// The path in [`location`](Self::location).
    pub path: &'static str,
    read: fn(&mut reader::ForeignReader<'_>, &Limits),
}

/// Every file that can be read.
pub const FILES: &[ForeignFile] = {
    use ForeignFileKind::{Lockfile, Manifest};
    use ForeignLocation::{Home, Project, SkillFolder};
    use ForeignTool::{Apm, ClaudePlugins, Dotagents, Openskills, Skil, Skills};
    const fn file(
        tool: ForeignTool,
        kind: ForeignFileKind,
        location: ForeignLocation,
        path: &'static str,
        read: fn(&mut reader::ForeignReader<'_>, &Limits),
    ) -> ForeignFile {
        ForeignFile { tool, kind, location, path, read }
    }
    &[
        file(Skills, Lockfile, Project, "skills-lock.json", skills::read_project_lock),
        file(Skills, Lockfile, Home, ".agents/.skill-lock.json", skills::read_user_lock),
        file(Apm, Manifest, Project, "apm.yml", apm::read_manifest),
        file(Apm, Lockfile, Project, "apm.lock.yaml", apm_lock::read_lock),
        file(Apm, Manifest, Home, ".apm/apm.yml", apm::read_manifest),
        file(Apm, Lockfile, Home, ".apm/apm.lock.yaml", apm_lock::read_lock),
        file(Dotagents, Manifest, Project, "agents.toml", dotagents::read_manifest),
        file(Dotagents, Lockfile, Project, "agents.lock", dotagents::read_lock),
        file(Dotagents, Manifest, Home, ".agents/agents.toml", dotagents::read_manifest),
        file(Dotagents, Lockfile, Home, ".agents/agents.lock", dotagents::read_lock),
        file(
            Openskills,
            Lockfile,
            SkillFolder,
            openskills::METADATA_FILE,
            openskills::read_metadata,
        ),
        file(Skil, Lockfile, Project, ".skil.toml", skil::read_config),
        file(Skil, Lockfile, Home, ".config/skil/config.toml", skil::read_config),
        file(ClaudePlugins, Manifest, Project, ".claude/settings.json", claude::read_settings),
        file(
            ClaudePlugins,
            Manifest,
            Project,
            ".claude/settings.local.json",
            claude::read_settings,
        ),
        file(ClaudePlugins, Manifest, Home, ".claude/settings.json", claude::read_settings),
    ]
};

impl ForeignFile {
    /// Reads the file. The record is `Some` exactly if the report has no error.
    pub fn read(&self, text: &str, limits: &Limits) -> (Option<ForeignRecord>, Report) {
        self.read_as(self.path, text, limits)
    }

    /// Reads the file, which the user knows as `file`.
    pub fn read_as(
        &self,
        file: &str,
        text: &str,
        limits: &Limits,
    ) -> (Option<ForeignRecord>, Report) {
        let mut report = Report::new(file, text);
        let mut reader = reader::ForeignReader::new(text, &mut report);
        (self.read)(&mut reader, limits);
        let ForeignItems { agents, entries, skipped } = reader.items;
        report.sort();
        let record = ForeignRecord { tool: self.tool, kind: self.kind, agents, entries, skipped };
        (Some(record).filter(|_| report.is_usable()), report)
    }
}

/// What a file of another tool contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignRecord {
    pub tool: ForeignTool,
    pub kind: ForeignFileKind,
    /// The agents of all entries, by the names that the tool uses.
    pub agents: Vec<ForeignAgent>,
    pub entries: Vec<ForeignEntry>,
    /// What cannot be migrated.
    pub skipped: Vec<SkippedItem>,
}

/// The items of a file, while it is being read.
#[derive(Debug, Default)]
struct ForeignItems {
    agents: Vec<ForeignAgent>,
    entries: Vec<ForeignEntry>,
    skipped: Vec<SkippedItem>,
}

/// An agent, by the name that the tool uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignAgent {
    pub span: Range<usize>,
    pub name: String,
}

/// Skills from one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignEntry {
    /// The entry in the file.
    pub span: Range<usize>,
    pub source: ManifestSource,
    /// The tag, branch or commit that was requested.
    pub version: Option<SourceVersion>,
    pub selection: ForeignSelection,
    /// The agents of this entry, if not those of the record.
    pub agents: Vec<String>,
    /// The name of the installed folder, if it differs from that of the skill.
    pub folder_name: Option<String>,
    /// The installed folders, relative to the project, if the file lists them.
    pub installed_folders: Vec<String>,
    /// The full commit that was installed.
    pub commit: Option<String>,
    /// The digest of what was installed.
    pub digest: Option<ForeignDigest>,
}

/// Which skills of a source an entry selects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForeignSelection {
    /// The folder of a skill or of several skills, from the root of the source. `.` is the root.
    pub folder: Option<String>,
    /// The plugin of a marketplace.
    pub plugin: Option<String>,
    /// The names of the skills; empty for all.
    pub skills: Vec<String>,
    /// The names of skills that are left out.
    pub exclude: Vec<String>,
}

/// Something that cannot be migrated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedItem {
    pub span: Range<usize>,
    /// What it is, in the words of the file.
    pub name: String,
    /// Why, as a sentence without a period.
    pub reason: String,
}

/// The rule that a file violates if it cannot be read.
const LC_17: CheckRule = CheckRule {
    id: "LC-17",
    title: "`sp migrate` takes over what other tools installed",
    what: "The manifests and lockfiles of other tools are valid JSON, YAML or TOML of a version that \
           this `sp` supports.",
    why: "A file that is read only in part would lose skills.",
    bad: "",
    good: "",
    is_security: false,
};

#[cfg(test)]
mod tests;
