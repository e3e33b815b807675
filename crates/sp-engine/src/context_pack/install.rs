//! `sp context install` and `uninstall`: a pack in a repository, beside what its people wrote themselves.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sp_formats::context_pack::{
    AGENTS_FILE, CURSOR_FILE, ContextPack, ContextPackDocument, MarkedBlockError, TextWithoutBlock,
    find_block, put_block, remove_block,
};
use sp_formats::output::ContextPackWriteReport;
use sp_tree::read_optional;

use super::archive::read_valid_pack;
use super::write::{FileReplacement, change_files};
use crate::apply_mode::ApplyMode;
use crate::context::Context;
use crate::error::{Error, FailureKind, Result};
use crate::session::Session;

/// Rules that Cursor reads: one file of ours.
const CURSOR_RULES: &str = ".cursor/rules/context-pack.mdc";
/// The directories of that file, outermost first: they go with it if nothing else is in them.
const CURSOR_DIRS: &[&str] = &[".cursor", ".cursor/rules"];
const CLAUDE_FILE: &str = "CLAUDE.md";
/// With this Claude reads `AGENTS.md` too.
const AGENTS_IMPORT: &str = "@AGENTS.md";

/// For whom a pack is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextPackAgent {
    /// Cursor: `.cursor/rules/`.
    Cursor,
    /// Every agent that reads `AGENTS.md`.
    Agents,
    /// Claude, which reads `CLAUDE.md`; that one leads to `AGENTS.md`.
    Claude,
}

/// What is to be installed where.
#[derive(Debug, Clone)]
pub struct ContextPackInstallRequest {
    /// The pack: a folder, a zip or an address.
    pub pack: PathBuf,
    /// The repository; none means the current directory.
    pub root: Option<PathBuf>,
    /// For whom.
    pub agents: Vec<ContextPackAgent>,
    /// Whether anything is written.
    pub mode: ApplyMode,
}

/// Puts a pack into a repository.
pub fn install(
    context: &Context<'_>,
    request: &ContextPackInstallRequest,
) -> Result<ContextPackWriteReport> {
    let session = Session::begin(context)?;
    let (pack, _) = read_valid_pack(&session, &request.pack)?;
    let repo = InstallRoot::at(&session, request.root.as_deref());
    let mut files = BTreeMap::new();
    let wants = |reader: ContextPackAgent| request.agents.contains(&reader);
    if wants(ContextPackAgent::Cursor)
        && let Some(document) = find_document(&pack, CURSOR_FILE)
    {
        let text = repo.read_owned(CURSOR_RULES)?;
        files.insert(
            CURSOR_RULES.to_owned(),
            FileReplacement::new(text, Some(cursor_rules(&pack, document))),
        );
    }
    if wants(ContextPackAgent::Agents) || wants(ContextPackAgent::Claude) {
        let document = find_document(&pack, AGENTS_FILE).ok_or_else(|| {
            Error::new(FailureKind::Request, format!("the pack has no `{AGENTS_FILE}`"))
                .hint("install it for Cursor only: `--agent cursor`")
        })?;
        let old = repo.read_text(AGENTS_FILE)?;
        let new = repo.put_block(
            AGENTS_FILE,
            old.as_deref(),
            &pack.manifest.pack_id,
            &document_body(&pack, document),
        )?;
        files.insert(AGENTS_FILE.to_owned(), FileReplacement::new(old, Some(new)));
    }
    if wants(ContextPackAgent::Claude) {
        let old = if repo.is_link_to_agents() {
            Some(AGENTS_IMPORT.to_owned())
        } else {
            repo.read_text(CLAUDE_FILE)?
        };
        let leads_there = old
            .as_deref()
            .is_some_and(|text| text.lines().any(|line| line.trim() == AGENTS_IMPORT));
        if !leads_there
            || old.as_deref().is_some_and(|text| matches!(find_block(text), Ok(Some(_))))
        {
            let new =
                repo.put_block(CLAUDE_FILE, old.as_deref(), &pack.manifest.pack_id, AGENTS_IMPORT)?;
            files.insert(CLAUDE_FILE.to_owned(), FileReplacement::new(old, Some(new)));
        }
    }
    change_files(&session, &repo.root, files, request.mode)
}

/// Takes what was installed out of a repository: every file is as it was.
pub fn uninstall(
    context: &Context<'_>,
    root: Option<&Path>,
    mode: ApplyMode,
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
            format!("no context pack is installed in `{}`", context.display_path(&repo.root));
        return Err(Error::new(FailureKind::Request, message)
            .hint("name the repository with `--root <dir>`"));
    }
    change_files(&session, &repo.root, files, mode)
}

fn find_document<'p>(pack: &'p ContextPack, name: &str) -> Option<&'p ContextPackDocument> {
    pack.documents.iter().find(|(path, _)| path.as_str() == name).map(|(_, document)| document)
}

/// What a document says, with the sources that it cites: the bibliography stays in the pack.
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

/// The same in the form that Cursor reads.
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

    /// Whether `CLAUDE.md` is `AGENTS.md` by a link, as many have it: then Claude reads that one already.
    fn is_link_to_agents(&self) -> bool {
        let real = |file: &str| self.root.join(file).canonicalize().ok();
        self.root.join(CLAUDE_FILE).is_symlink()
            && real(CLAUDE_FILE).is_some()
            && real(CLAUDE_FILE) == real(AGENTS_FILE)
    }

    /// The text of a file, if it is there. A link is refused: what it leads to is changed where it is.
    fn read_text(&self, file: &str) -> Result<Option<String>> {
        let path = self.root.join(file);
        if path.is_symlink() {
            return Err(Error::new(
                FailureKind::Trust,
                format!("`{}` is a link", self.session.context.display_path(&path)),
            )
            .hint(
                "nothing was changed: name the repository that it leads to with `--root <dir>`",
            ));
        }
        let Some(bytes) = read_optional(&path, self.session.limits.markdown_bytes)? else {
            return Ok(None);
        };
        String::from_utf8(bytes).map(Some).map_err(|_| {
            Error::new(
                FailureKind::Data,
                format!("`{}` is not UTF-8", self.session.context.display_path(&path)),
            )
            .hint("nothing was changed: save it as UTF-8")
        })
    }

    /// The text of a file that is ours alone; what somebody else put there is refused.
    fn read_owned(&self, file: &str) -> Result<Option<String>> {
        match self.read_text(file)? {
            Some(text) if !text.contains(MARKER_PREFIX) => {
                let path = self.session.context.display_path(&self.root.join(file));
                Err(Error::new(FailureKind::Trust, format!("`{path}` is not ours"))
                    .hint("nothing was changed: move it away"))
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
                "nothing was changed: move your text out of the block, and put back what was there"
            }
            MarkedBlockError::Broken => "nothing was changed: mend the marks, or take them out",
        };
        Error::new(FailureKind::Trust, format!("`{path}` cannot be changed"))
            .because(why)
            .hint(hint)
    }
}
