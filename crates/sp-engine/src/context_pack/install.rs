//! `sp context install` and `uninstall`: a pack in a repository, beside what its people wrote themselves.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sp_formats::context_pack::{AGENTS, BlockError, CURSOR, ContextPack, Document, Remainder, find, put, take_out};
use sp_formats::output::ContextPackWritten;
use sp_tree::read_optional;

use super::archive::valid;
use super::write::{Target, change_files};
use crate::config::Session;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::install::Mode;

/// Rules that Cursor reads: one file of ours.
const CURSOR_RULES: &str = ".cursor/rules/context-pack.mdc";
/// The directories of that file, outermost first: they go with it if nothing else is in them.
const CURSOR_DIRS: &[&str] = &[".cursor", ".cursor/rules"];
const CLAUDE: &str = "CLAUDE.md";
/// With this Claude reads `AGENTS.md` too.
const IMPORT: &str = "@AGENTS.md";

/// For whom a pack is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Cursor: `.cursor/rules/`.
    Cursor,
    /// Every agent that reads `AGENTS.md`.
    Agents,
    /// Claude, which reads `CLAUDE.md`; that one leads to `AGENTS.md`.
    Claude,
}

/// What is to be installed where.
#[derive(Debug, Clone)]
pub struct InstallPack {
    /// The pack: a folder, a zip or an address.
    pub pack: PathBuf,
    /// The repository; none means the current directory.
    pub root: Option<PathBuf>,
    /// For whom.
    pub readers: Vec<Reader>,
    /// Whether anything is written.
    pub mode: Mode,
}

/// Puts a pack into a repository.
pub fn install(context: &Context<'_>, request: &InstallPack) -> Result<ContextPackWritten> {
    let session = Session::begin(context)?;
    let (pack, _) = valid(&session, &request.pack)?;
    let repo = Repository::at(&session, request.root.as_deref());
    let mut files = BTreeMap::new();
    let wants = |reader: Reader| request.readers.contains(&reader);
    if wants(Reader::Cursor)
        && let Some(document) = document(&pack, CURSOR)
    {
        let text = repo.own(CURSOR_RULES)?;
        files.insert(CURSOR_RULES.to_owned(), Target::new(text, Some(cursor_rules(&pack, document))));
    }
    if wants(Reader::Agents) || wants(Reader::Claude) {
        let document = document(&pack, AGENTS).ok_or_else(|| {
            Error::new(Kind::Request, format!("the pack has no `{AGENTS}`"))
                .hint("install it for Cursor only: `--agent cursor`")
        })?;
        let old = repo.text(AGENTS)?;
        let new = repo.put(AGENTS, old.as_deref(), &pack.manifest.pack_id, &body(&pack, document))?;
        files.insert(AGENTS.to_owned(), Target::new(old, Some(new)));
    }
    if wants(Reader::Claude) {
        let old = if repo.is_link_to_agents() { Some(IMPORT.to_owned()) } else { repo.text(CLAUDE)? };
        let leads_there = old.as_deref().is_some_and(|text| text.lines().any(|line| line.trim() == IMPORT));
        if !leads_there || old.as_deref().is_some_and(|text| matches!(find(text), Ok(Some(_)))) {
            let new = repo.put(CLAUDE, old.as_deref(), &pack.manifest.pack_id, IMPORT)?;
            files.insert(CLAUDE.to_owned(), Target::new(old, Some(new)));
        }
    }
    change_files(&session, &repo.root, files, request.mode)
}

/// Takes what was installed out of a repository: every file is as it was.
pub fn uninstall(context: &Context<'_>, root: Option<&Path>, mode: Mode) -> Result<ContextPackWritten> {
    let session = Session::begin(context)?;
    let repo = Repository::at(&session, root);
    let mut files = BTreeMap::new();
    for file in [AGENTS, CLAUDE] {
        if file == CLAUDE && repo.is_link_to_agents() {
            continue;
        }
        let Some(old) = repo.text(file)? else { continue };
        if let Some(rest) = take_out(&old).map_err(|why| repo.refused(file, why))? {
            files.insert(file.to_owned(), Target::new(Some(old), Remainder::content(rest)));
        }
    }
    if let Some(old) = repo.own(CURSOR_RULES)? {
        files.insert(CURSOR_RULES.to_owned(), Target::new(Some(old), None).in_dirs_of_ours(CURSOR_DIRS));
    }
    if files.is_empty() {
        let message = format!("no context pack is installed in `{}`", context.show(&repo.root));
        return Err(Error::new(Kind::Request, message).hint("name the repository with `--root <dir>`"));
    }
    change_files(&session, &repo.root, files, mode)
}

fn document<'p>(pack: &'p ContextPack, name: &str) -> Option<&'p Document> {
    pack.documents.iter().find(|(path, _)| path.as_str() == name).map(|(_, document)| document)
}

/// What a document says, with the sources that it cites: the bibliography stays in the pack.
fn body(pack: &ContextPack, document: &Document) -> String {
    let cited = |id: &str| document.refers.iter().any(|reference| reference.id == id);
    let notes: String = pack
        .manifest
        .sources
        .iter()
        .filter(|source| cited(&source.id))
        .map(|source| format!("[^{}]: {}, {}\n", source.id, source.title.replace('\n', " "), source.url))
        .collect();
    let text = document.text[document.body..].trim();
    if notes.is_empty() { format!("{text}\n") } else { format!("{text}\n\n{notes}") }
}

/// The same in the form that Cursor reads.
fn cursor_rules(pack: &ContextPack, document: &Document) -> String {
    let name = pack.manifest.project.name.replace(['\n', '"', '\\'], " ");
    let head = format!("---\ndescription: \"Context of {name}\"\nglobs:\nalwaysApply: true\n---\n");
    format!("{head}{}\n\n{}", mark(&pack.manifest.pack_id), body(pack, document))
}

const MARK: &str = "<!-- skillpack: context pack ";

fn mark(pack_id: &str) -> String {
    format!("{MARK}{pack_id} -->")
}

struct Repository<'a> {
    session: &'a Session<'a>,
    root: PathBuf,
}

impl<'a> Repository<'a> {
    fn at(session: &'a Session<'a>, root: Option<&Path>) -> Self {
        let context = session.context;
        let root = root.map_or_else(|| context.current_dir.clone(), |root| context.absolute(root));
        Self { session, root }
    }

    /// Whether `CLAUDE.md` is `AGENTS.md` by a link, as many have it: then Claude reads that one already.
    fn is_link_to_agents(&self) -> bool {
        let real = |file: &str| self.root.join(file).canonicalize().ok();
        self.root.join(CLAUDE).is_symlink() && real(CLAUDE).is_some() && real(CLAUDE) == real(AGENTS)
    }

    /// The text of a file, if it is there. A link is refused: what it leads to is changed where it is.
    fn text(&self, file: &str) -> Result<Option<String>> {
        let path = self.root.join(file);
        if path.is_symlink() {
            return Err(Error::new(Kind::Trust, format!("`{}` is a link", self.session.context.show(&path)))
                .hint("nothing was changed: name the repository that it leads to with `--root <dir>`"));
        }
        let Some(bytes) = read_optional(&path, self.session.limits.markdown_bytes)? else { return Ok(None) };
        String::from_utf8(bytes).map(Some).map_err(|_| {
            Error::new(Kind::Data, format!("`{}` is not UTF-8", self.session.context.show(&path)))
                .hint("nothing was changed: save it as UTF-8")
        })
    }

    /// The text of a file that is ours alone; what somebody else put there is refused.
    fn own(&self, file: &str) -> Result<Option<String>> {
        match self.text(file)? {
            Some(text) if !text.contains(MARK) => {
                let path = self.session.context.show(&self.root.join(file));
                Err(Error::new(Kind::Trust, format!("`{path}` is not ours")).hint("nothing was changed: move it away"))
            }
            other => Ok(other),
        }
    }

    fn put(&self, file: &str, old: Option<&str>, pack_id: &str, body: &str) -> Result<String> {
        put(old, pack_id, body).map_err(|why| self.refused(file, why))
    }

    fn refused(&self, file: &str, why: BlockError) -> Error {
        let path = self.session.context.show(&self.root.join(file));
        let hint = match why {
            BlockError::Edited => "nothing was changed: move your text out of the block, and put back what was there",
            BlockError::Broken => "nothing was changed: mend the marks, or take them out",
        };
        Error::new(Kind::Trust, format!("`{path}` cannot be changed")).because(why).hint(hint)
    }
}
