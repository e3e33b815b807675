//! The audit of packs: of every skill that they select, imports included.

use std::path::{Path, PathBuf};

use sp_formats::FileFindings;
use sp_formats::accept::AcceptFile;
use sp_formats::report::LocatedFinding;
use sp_formats::skill::{self, SKILL_FILE};
use sp_tree::{Dir, LoadedTree, scan_dir};

use super::AuditRequest;
use crate::check::{CheckResults, ImportPolicy, UnreadableTarget};
use crate::content_audit::{AuditFiles, audit_content, finding_reports, to_audited_skill};
use crate::error::Result;
use crate::install::selection::resolve_pack;
use crate::install::skill_set::{InstallableSkill, SkillSource};
use crate::project_acceptance::{accepts_in_content, read_accept_file};
use crate::repository::is_pack_file;
use crate::session::Session;
use crate::source::load_commit_folder;

/// Audits the skills of the packs that the request names.
pub(super) fn audit_packs(
    auditor: &ContentAuditor<'_>,
    request: &AuditRequest,
    checked: &mut CheckResults,
) {
    let packs = request.paths.iter().filter(|path| is_pack_file(path) && path.is_file());
    for path in packs {
        if let Err(error) = audit_pack(auditor, request, path, checked) {
            let kind = error.kind();
            checked.unreadable.push(UnreadableTarget { error, kind });
        }
    }
}

fn audit_pack(
    auditor: &ContentAuditor<'_>,
    request: &AuditRequest,
    path: &Path,
    checked: &mut CheckResults,
) -> Result<()> {
    let (session, spec) = (auditor.session, path.to_string_lossy());
    if request.imports == ImportPolicy::Skip {
        return Ok(());
    }
    let pack = resolve_pack(session, request.root.as_deref(), &spec, None)?;
    checked.imports_left = 0;
    for skill in &pack.skills {
        session.context.check_cancelled()?;
        let (path, files) = load_skill(session, skill)?;
        // Two packs, or a pack and its repository, may contain the same skill.
        if checked.facts.skills.iter().all(|known| known.path != path) {
            auditor.add_skill(path, skill.source.id(), &files, checked);
        }
    }
    Ok(())
}

/// Reads a skill, and returns the path that identifies it in reports.
fn load_skill(session: &Session<'_>, skill: &InstallableSkill) -> Result<(PathBuf, LoadedFiles)> {
    match &skill.source {
        SkillSource::Local { skills_dir, id, .. } => {
            let path = skills_dir.join(id);
            let dir = Dir::open(&path)?;
            let listing = scan_dir(&dir, &session.limits)?.listing;
            let files = AuditFiles::from_dir(&dir, &listing, session.limits.file_bytes)?;
            let text =
                sp_tree::read_limited(&path.join(SKILL_FILE), session.limits.markdown_bytes)?;
            Ok((path, LoadedFiles { files, skill_file: text }))
        }
        SkillSource::Git { checkout, id, .. } => {
            let tree = load_commit_folder(session, checkout, id)?;
            let path = format!("{}@{}/{id}", checkout.repo, checkout.commit);
            Ok((path.into(), LoadedFiles::of(&tree)))
        }
        SkillSource::Package { package, id, content } => {
            Ok((format!("{package}/{id}").into(), LoadedFiles::of(content)))
        }
        SkillSource::Locked(tree) => {
            let path = format!("{}/{}", tree.source, tree.id);
            let files = tree.content.as_deref().map(LoadedFiles::of).unwrap_or_default();
            Ok((path.into(), files))
        }
    }
}

#[derive(Default)]
pub(super) struct LoadedFiles {
    files: AuditFiles,
    skill_file: Vec<u8>,
}

impl LoadedFiles {
    pub(super) fn of(tree: &LoadedTree) -> Self {
        let skill_file = tree.get(SKILL_FILE).unwrap_or_default().to_vec();
        Self { files: AuditFiles::from_tree(tree, ""), skill_file }
    }
}

/// Audits skills that are not a part of the project, and leaves out the findings that the project
/// accepts.
pub(super) struct ContentAuditor<'a> {
    pub session: &'a Session<'a>,
    accepted: AcceptFile,
}

impl<'a> ContentAuditor<'a> {
    pub(super) fn new(session: &'a Session<'a>, root: Option<&Path>) -> Result<Self> {
        Ok(Self { session, accepted: read_accept_file(session, root)? })
    }

    /// Audits a skill. `path` identifies it in reports, and `id` is its path in its source.
    pub(super) fn add_skill(
        &self,
        path: PathBuf,
        id: &str,
        loaded: &LoadedFiles,
        checked: &mut CheckResults,
    ) {
        let session = self.session;
        let audit = audit_content(&session.audits, &loaded.files);
        for (file, report) in finding_reports(&audit, &loaded.files) {
            let full = path.join(&file);
            let mut findings = FileFindings {
                file: session.context.display_relative_path(&full),
                path: full,
                findings: report.located_findings(),
                digest: None,
            };
            let count = findings.findings.len();
            findings.findings.retain(|placed| !self.accepts(placed, (id, &file)));
            checked.accepted.by_file += count - findings.findings.len();
            findings.sort();
            checked.files.push(findings);
        }
        let folder = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let metadata = skill::read("", &folder, &loaded.skill_file, &session.limits).0;
        let name = metadata.and_then(|metadata| metadata.name);
        *checked.items.entry("skills").or_default() += 1;
        checked.facts.skills.push(to_audited_skill(path, name, &audit));
    }

    fn accepts(&self, placed: &LocatedFinding, place: (&str, &str)) -> bool {
        let finding = &placed.finding;
        let id = finding.audit.as_deref().map_or("", |audit| audit.id.as_str());
        let now = self.session.context.now;
        accepts_in_content(&self.accepted, now, [finding.check.id, id], place)
    }
}
