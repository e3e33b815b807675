//! `sp context install` and `uninstall`: adds a pack to the instruction files of a repository, next
//! to the text that is already there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sp_formats::context_pack::{AGENTS_FILE, ContextPack};
use sp_formats::output::ContextPackWriteReport;

use super::archive::read_valid_pack;
use super::instructions::{ContextPackAgent, InstructionFiles, PackMarker, installable_documents};
use super::write::{change_files, change_files_and};
use crate::content_audit::AuditFiles;
use crate::content_gate::{ContentGate, ContentOwner, GatePosition, GatedContent};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::install::accepted_findings::plan_accepted_findings;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// The arguments of `sp context install`.
#[derive(Debug, Clone)]
pub struct ContextPackInstallRequest {
    /// The pack: a directory, a zip or a URL.
    pub pack: PathBuf,
    /// The repository. The default is the current directory.
    pub root: Option<PathBuf>,
    pub agents: Vec<ContextPackAgent>,
    pub apply: ApplyOptions,
}

/// Installs a pack in a repository.
pub fn install(
    context: &Context<'_>,
    request: &ContextPackInstallRequest,
) -> Result<ContextPackWriteReport> {
    let session = Session::begin(context)?;
    let (pack, _) = read_valid_pack(&session, &request.pack)?;
    let repo = InstructionFiles::new(&session, install_root(context, request.root.as_deref()));
    let gate = ContentGate::new(&session, Some(&repo.root), &BTreeSet::new())?;
    // A relative path starts at the current directory, not at the repository.
    let written = request.pack.to_string_lossy();
    let local = context.expand(&written);
    let source = if local.exists() { local.to_string_lossy() } else { written };
    gate.refuse_unlocked(gated_pack(&source, &pack));
    check_content(&gate, &source, &pack);
    gate.finish(None, GatePosition::Last)?;
    let documents = installable_documents(&pack);
    require_agents_document(&request.agents, &documents)?;
    let marker = PackMarker::of_pack(&pack.manifest.pack_id);
    let mut files = BTreeMap::new();
    for file in repo.wanted(&request.agents, &documents)? {
        files.insert(file.to_owned(), repo.install(file, &[&pack], &marker)?);
    }
    let accepted = plan_accepted_findings(&session, Some(&repo.root), &repo.root)?;
    change_files_and(&session, &repo.root, files, accepted, request.apply)
}

fn require_agents_document(agents: &[ContextPackAgent], documents: &[String]) -> Result<()> {
    let is_needed = agents.iter().any(|agent| *agent != ContextPackAgent::Cursor);
    if !is_needed || documents.iter().any(|document| document == AGENTS_FILE) {
        return Ok(());
    }
    let message = format!("the context pack has no `{AGENTS_FILE}`");
    Err(Error::new(ErrorCode::NothingFound, message)
        .hint("install it for Cursor only with `--agent cursor`"))
}

/// Audits the documents of a pack.
pub(crate) fn check_content(gate: &ContentGate<'_>, source: &str, pack: &ContextPack) {
    gate.check_files(gated_pack(source, pack), audited_files(pack));
}

fn gated_pack<'a>(source: &'a str, pack: &'a ContextPack) -> GatedContent<'a> {
    let id = pack.manifest.project.name.as_str();
    GatedContent { id, source, owner: ContentOwner::Fetched }
}

/// Returns what the audit of a pack reads.
pub(crate) fn audited_files(pack: &ContextPack) -> AuditFiles {
    let mut files = AuditFiles::default();
    for (path, document) in &pack.documents {
        files.add(path.as_str(), document.text.as_bytes());
    }
    files
}

/// Removes an installed pack, and restores every file as it was.
pub fn uninstall(
    context: &Context<'_>,
    root: Option<&Path>,
    apply: ApplyOptions,
) -> Result<ContextPackWriteReport> {
    let session = Session::begin(context)?;
    let repo = InstructionFiles::new(&session, install_root(context, root));
    let files = repo.remove_all()?;
    if files.is_empty() {
        let message =
            format!("no context pack installed in `{}`", context.display_path(&repo.root));
        return Err(Error::new(ErrorCode::NotInstalled, message)
            .hint("specify the repository with `--root <dir>`"));
    }
    change_files(&session, &repo.root, files, apply)
}

fn install_root(context: &Context<'_>, root: Option<&Path>) -> PathBuf {
    root.map_or_else(|| context.current_dir.clone(), |root| context.absolute(root))
}
