//! `sp context install` and `uninstall`: adds a pack to the instruction files of a repository, next
//! to the text that is already there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sp_formats::context_pack::{
    AGENTS_FILE, CURSOR_FILE, ContextPack, ContextPackDocument, MarkedBlockError, TextWithoutBlock,
    find_block, put_block, remove_block,
};
use sp_formats::output::ContextPackWriteReport;
use sp_tree::read_optional;

use super::archive::read_valid_pack;
use super::write::{FileReplacement, change_files};
use crate::content_audit::AuditFiles;
use crate::content_gate::{ContentGate, ContentOwner, GatedContent};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// The rules file for Cursor, which belongs to `sp` alone.
const CURSOR_RULES: &str = ".cursor/rules/context-pack.mdc";
/// The directories of that file, outermost first. They are removed with it if they are empty then.
const CURSOR_DIRS: &[&str] = &[".cursor", ".cursor/rules"];
const CLAUDE_FILE: &str = "CLAUDE.md";
/// The line that makes Claude read `AGENTS.md`.
const AGENTS_IMPORT: &str = "@AGENTS.md";

/// The agent that a pack is installed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextPackAgent {
    /// Cursor, which reads `.cursor/rules/`.
    Cursor,
    /// Every agent that reads `AGENTS.md`.
    Agents,
    /// Claude, which reads `CLAUDE.md`. That file imports `AGENTS.md`.
    Claude,
}

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
    let repo = InstallRoot::at(&session, request.root.as_deref());
    check_content(&session, &repo.root, request, &pack)?;
    let includes = |agent: ContextPackAgent| request.agents.contains(&agent);
    let mut files = BTreeMap::new();
    if includes(ContextPackAgent::Cursor)
        && let Some(document) = find_document(&pack, CURSOR_FILE)
    {
        let old = repo.read_owned(CURSOR_RULES)?;
        let new = cursor_rules(&pack, document);
        files.insert(CURSOR_RULES.to_owned(), FileReplacement::new(old, Some(new)));
    }
    if includes(ContextPackAgent::Agents) || includes(ContextPackAgent::Claude) {
        files.insert(AGENTS_FILE.to_owned(), agents_replacement(&repo, &pack)?);
    }
    if includes(ContextPackAgent::Claude)
        && let Some(replacement) = claude_replacement(&repo, &pack)?
    {
        files.insert(CLAUDE_FILE.to_owned(), replacement);
    }
    change_files(&session, &repo.root, files, request.apply)
}

/// Refuses a pack that the audit blocks.
fn check_content(
    session: &Session<'_>,
    root: &Path,
    request: &ContextPackInstallRequest,
    pack: &ContextPack,
) -> Result<()> {
    let mut files = AuditFiles::default();
    for (path, document) in &pack.documents {
        files.add(path.as_str(), document.text.as_bytes());
    }
    let gate = ContentGate::new(session, Some(root), &BTreeSet::new())?;
    let source = request.pack.to_string_lossy();
    let id = pack.manifest.project.name.as_str();
    gate.check_files(GatedContent { id, source: &source, owner: ContentOwner::Fetched }, files);
    gate.finish(None)
}

fn agents_replacement(repo: &InstallRoot<'_>, pack: &ContextPack) -> Result<FileReplacement> {
    let document = find_document(pack, AGENTS_FILE).ok_or_else(|| {
        Error::new(ErrorCode::NothingFound, format!("the context pack has no `{AGENTS_FILE}`"))
            .hint("install it for Cursor only with `--agent cursor`")
    })?;
    let old = repo.read_text(AGENTS_FILE)?;
    let body = document_body(pack, document);
    let new = repo.put_block(AGENTS_FILE, old.as_deref(), &pack.manifest.pack_id, &body)?;
    Ok(FileReplacement::new(old, Some(new)))
}

/// Returns a `CLAUDE.md` that imports `AGENTS.md`; none if the author's text does that already.
fn claude_replacement(
    repo: &InstallRoot<'_>,
    pack: &ContextPack,
) -> Result<Option<FileReplacement>> {
    let old = if repo.is_link_to_agents() {
        Some(AGENTS_IMPORT.to_owned())
    } else {
        repo.read_text(CLAUDE_FILE)?
    };
    if let Some(text) = old.as_deref() {
        let has_import = text.lines().any(|line| line.trim() == AGENTS_IMPORT);
        let has_block = matches!(find_block(text), Ok(Some(_)));
        if has_import && !has_block {
            return Ok(None);
        }
    }
    let id = &pack.manifest.pack_id;
    let new = repo.put_block(CLAUDE_FILE, old.as_deref(), id, AGENTS_IMPORT)?;
    Ok(Some(FileReplacement::new(old, Some(new))))
}

/// Removes an installed pack, and restores every file as it was.
pub fn uninstall(
    context: &Context<'_>,
    root: Option<&Path>,
    apply: ApplyOptions,
) -> Result<ContextPackWriteReport> {
    let session = Session::begin(context)?;
    let repo = InstallRoot::at(&session, root);
    let mut files = BTreeMap::new();
    for file in [AGENTS_FILE, CLAUDE_FILE] {
        if file == CLAUDE_FILE && repo.is_link_to_agents() {
            continue;
        }
        let Some(old) = repo.read_text(file)? else { continue };
        if let Some(rest) = remove_block(&old).map_err(|why| repo.block_error(file, why))? {
            files.insert(
                file.to_owned(),
                FileReplacement::new(Some(old), TextWithoutBlock::into_content(rest)),
            );
        }
    }
    if let Some(old) = repo.read_owned(CURSOR_RULES)? {
        files.insert(
            CURSOR_RULES.to_owned(),
            FileReplacement::new(Some(old), None).with_owned_dirs(CURSOR_DIRS),
        );
    }
    if files.is_empty() {
        let message =
            format!("no context pack installed in `{}`", context.display_path(&repo.root));
        return Err(Error::new(ErrorCode::NotInstalled, message)
            .hint("specify the repository with `--root <dir>`"));
    }
    change_files(&session, &repo.root, files, apply)
}

fn find_document<'p>(pack: &'p ContextPack, name: &str) -> Option<&'p ContextPackDocument> {
    pack.documents.iter().find(|(path, _)| path.as_str() == name).map(|(_, document)| document)
}

/// Returns the body of a document with the sources that it cites. The full bibliography stays in
/// the pack.
fn document_body(pack: &ContextPack, document: &ContextPackDocument) -> String {
    let cited = |id: &str| document.footnotes.iter().any(|reference| reference.id == id);
    let notes: String = pack
        .manifest
        .sources
        .iter()
        .filter(|source| cited(&source.id))
        .map(|source| {
            format!("[^{}]: {}, {}\n", source.id, source.title.replace('\n', " "), source.url)
        })
        .collect();
    let text = document.text[document.body_start..].trim();
    if notes.is_empty() { format!("{text}\n") } else { format!("{text}\n\n{notes}") }
}

/// Returns the body as a Cursor rules file.
fn cursor_rules(pack: &ContextPack, document: &ContextPackDocument) -> String {
    let name = pack.manifest.project.name.replace(['\n', '"', '\\'], " ");
    let head = format!("---\ndescription: \"Context of {name}\"\nglobs:\nalwaysApply: true\n---\n");
    format!("{head}{}\n\n{}", marker(&pack.manifest.pack_id), document_body(pack, document))
}

const MARKER_PREFIX: &str = "<!-- skillpack: context pack ";

fn marker(pack_id: &str) -> String {
    format!("{MARKER_PREFIX}{pack_id} -->")
}

struct InstallRoot<'a> {
    session: &'a Session<'a>,
    root: PathBuf,
}

impl<'a> InstallRoot<'a> {
    fn at(session: &'a Session<'a>, root: Option<&Path>) -> Self {
        let context = session.context;
        let root = root.map_or_else(|| context.current_dir.clone(), |root| context.absolute(root));
        Self { session, root }
    }

    /// Returns whether `CLAUDE.md` is a symlink to `AGENTS.md`, which is common; then Claude reads
    /// that file already.
    fn is_link_to_agents(&self) -> bool {
        let real = |file: &str| self.root.join(file).canonicalize().ok();
        self.root.join(CLAUDE_FILE).is_symlink()
            && real(CLAUDE_FILE).is_some()
            && real(CLAUDE_FILE) == real(AGENTS_FILE)
    }

    /// Reads a text file. A symlink is refused, since its target may be outside the repository.
    fn read_text(&self, file: &str) -> Result<Option<String>> {
        let path = self.root.join(file);
        if path.is_symlink() {
            return Err(Error::new(
                ErrorCode::PathIsLink,
                format!("`{}` is a link", self.session.context.display_path(&path)),
            )
            .hint("specify the repository that it points to with `--root <dir>`"));
        }
        let Some(bytes) = read_optional(&path, self.session.limits.markdown_bytes)? else {
            return Ok(None);
        };
        String::from_utf8(bytes).map(Some).map_err(|_| {
            Error::new(
                ErrorCode::NotUtf8,
                format!("`{}` is not valid UTF-8", self.session.context.display_path(&path)),
            )
            .hint("save the file as UTF-8")
        })
    }

    /// Reads a file that belongs to `sp` alone. A file that `sp` did not write is refused.
    fn read_owned(&self, file: &str) -> Result<Option<String>> {
        match self.read_text(file)? {
            Some(text) if !text.contains(MARKER_PREFIX) => {
                let path = self.session.context.display_path(&self.root.join(file));
                Err(Error::new(ErrorCode::NotOwned, format!("`{path}` was not written by `sp`"))
                    .hint("move it to another directory"))
            }
            other => Ok(other),
        }
    }

    fn put_block(
        &self,
        file: &str,
        old: Option<&str>,
        pack_id: &str,
        body: &str,
    ) -> Result<String> {
        put_block(old, pack_id, body).map_err(|why| self.block_error(file, why))
    }

    fn block_error(&self, file: &str, why: MarkedBlockError) -> Error {
        let path = self.session.context.display_path(&self.root.join(file));
        let hint = match why {
            MarkedBlockError::Edited => {
                "move your text out of the block and restore its original content"
            }
            MarkedBlockError::Broken => "fix or remove the marker comments",
        };
        Error::new(ErrorCode::NotOwned, format!("cannot update `{path}`")).because(why).hint(hint)
    }
}
