//! The instruction files of a repository, and the context packs in them.
//!
//! `AGENTS.md` and `CLAUDE.md` have a marked block next to the user's text; the rules file for
//! Cursor belongs to `sp` alone. A marker names the packs in a block: by ID for `sp context
//! install`, and by ID and version for the packs of a manifest, which only its commands change.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sp_formats::context_pack::{
    AGENTS_FILE, CURSOR_FILE, ContextPack, ContextPackDocument, MarkedBlockError, TextWithoutBlock,
    find_block, put_block, remove_block,
};
use sp_tree::{Digest, read_optional};

use super::write::FileReplacement;
use crate::error::{Error, ErrorCode, Result};
use crate::files::canonicalize_existing;
use crate::session::Session;

/// The rules file for Cursor, which belongs to `sp` alone.
const CURSOR_RULES: &str = ".cursor/rules/context-pack.mdc";
/// The directories of that file, outermost first. They are removed with it if they are empty then.
const CURSOR_DIRS: &[&str] = &[".cursor", ".cursor/rules"];
const CLAUDE_FILE: &str = "CLAUDE.md";
/// The line that makes Claude read `AGENTS.md`.
const AGENTS_IMPORT: &str = "@AGENTS.md";
const INSTRUCTION_FILES: [&str; 3] = [AGENTS_FILE, CLAUDE_FILE, CURSOR_RULES];

const MARKER_PREFIX: &str = "<!-- skillpack: context pack ";
/// The part of a rules file's marker that precedes the digest of the rest of the file.
const RULES_HASH: &str = " sha256=";
const HASH_HEX_LEN: usize = 16;

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

/// What an instruction file has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InstalledInstructions {
    Absent,
    /// The packs that a marker names.
    Present {
        marker: PackMarker,
        /// The digest of the block, or of the rules file.
        content: Digest,
        is_edited: bool,
    },
}

/// What identifies the packs in an instruction file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackMarker(String);

impl PackMarker {
    /// The marker of a pack that a command installed by itself.
    pub(super) fn of_pack(pack_id: &str) -> Self {
        Self(pack_id.to_owned())
    }

    /// The marker of the packs of a manifest: their IDs and the digests of their manifests.
    pub(crate) fn of_versions<'v>(packs: impl Iterator<Item = (&'v str, Digest)>) -> Self {
        let version =
            |(id, manifest): (&str, Digest)| format!("{id}@{}", &manifest.hex()[..HASH_HEX_LEN]);
        Self(packs.map(version).collect::<Vec<_>>().join(","))
    }

    /// Whether the packs belong to a manifest.
    fn has_versions(&self) -> bool {
        self.0.contains('@')
    }
}

/// The instruction files of a repository.
pub(crate) struct InstructionFiles<'a> {
    pub(super) session: &'a Session<'a>,
    pub(super) root: PathBuf,
}

impl<'a> InstructionFiles<'a> {
    pub(crate) fn new(session: &'a Session<'a>, root: PathBuf) -> Self {
        Self { session, root }
    }

    /// Returns the files that packs with these documents are installed in for agents.
    pub(crate) fn wanted(
        &self,
        agents: &[ContextPackAgent],
        documents: &[String],
    ) -> Result<Vec<&'static str>> {
        let includes = |agent| agents.contains(&agent);
        let has = |name: &str| documents.iter().any(|document| document == name);
        let mut files = Vec::new();
        if has(AGENTS_FILE)
            && (includes(ContextPackAgent::Agents) || includes(ContextPackAgent::Claude))
        {
            files.push(AGENTS_FILE);
            if includes(ContextPackAgent::Claude) && !self.imports_agents()? {
                files.push(CLAUDE_FILE);
            }
        }
        if includes(ContextPackAgent::Cursor) && has(CURSOR_FILE) {
            files.push(CURSOR_RULES);
        }
        Ok(files)
    }

    /// Returns the files that have packs of a manifest.
    pub(crate) fn with_versions(&self) -> Result<Vec<&'static str>> {
        let mut files = Vec::new();
        for file in INSTRUCTION_FILES {
            let installed = self.installed(file)?;
            if matches!(installed, InstalledInstructions::Present { marker, .. } if marker.has_versions())
            {
                files.push(file);
            }
        }
        Ok(files)
    }

    /// Returns what a file has.
    pub(crate) fn installed(&self, file: &str) -> Result<InstalledInstructions> {
        if file == CLAUDE_FILE && self.is_link_to_agents() {
            return Ok(InstalledInstructions::Absent);
        }
        let Some(text) = self.read_text(file)? else { return Ok(InstalledInstructions::Absent) };
        installed_in(file, &text).map_err(|why| self.block_error(file, why))
    }

    /// Returns the digest that a file's block, or the rules file, has with these packs.
    pub(crate) fn expected_content(
        &self,
        file: &str,
        packs: &[&ContextPack],
        marker: &PackMarker,
    ) -> Result<Option<Digest>> {
        let change = self.install(file, packs, marker)?;
        let installed = change.new_text().map(|text| installed_in(file, text));
        let installed = installed.transpose().map_err(|why| self.block_error(file, why))?;
        Ok(match installed {
            Some(InstalledInstructions::Present { content, .. }) => Some(content),
            Some(InstalledInstructions::Absent) | None => None,
        })
    }

    /// Returns the change that installs packs in a file.
    pub(crate) fn install(
        &self,
        file: &str,
        packs: &[&ContextPack],
        marker: &PackMarker,
    ) -> Result<FileReplacement> {
        match file {
            CURSOR_RULES => {
                let old = self.read_owned(CURSOR_RULES)?;
                let new = cursor_rules(packs, marker);
                Ok(FileReplacement::new(old, Some(new)))
            }
            CLAUDE_FILE => {
                let old = self.read_text(CLAUDE_FILE)?;
                let new = self.put_block(CLAUDE_FILE, old.as_deref(), marker, AGENTS_IMPORT)?;
                Ok(FileReplacement::new(old, Some(new)))
            }
            _ => {
                let bodies: Vec<String> =
                    packs.iter().filter_map(|pack| body_of(pack, AGENTS_FILE)).collect();
                let old = self.read_text(file)?;
                let new = self.put_block(file, old.as_deref(), marker, &bodies.join("\n"))?;
                Ok(FileReplacement::new(old, Some(new)))
            }
        }
    }

    /// Returns the changes that remove all packs.
    pub(super) fn remove_all(&self) -> Result<BTreeMap<String, FileReplacement>> {
        let mut files = BTreeMap::new();
        for file in INSTRUCTION_FILES {
            if let Some(removal) = self.removal(file)? {
                files.insert(file.to_owned(), removal);
            }
        }
        Ok(files)
    }

    /// Returns the change that removes the packs from a file; none if it has none.
    pub(crate) fn removal(&self, file: &str) -> Result<Option<FileReplacement>> {
        if file == CLAUDE_FILE && self.is_link_to_agents() {
            return Ok(None);
        }
        if file == CURSOR_RULES {
            let old = self.read_owned(CURSOR_RULES)?;
            let removal = |old| FileReplacement::new(Some(old), None).with_owned_dirs(CURSOR_DIRS);
            return Ok(old.map(removal));
        }
        let Some(old) = self.read_text(file)? else { return Ok(None) };
        let rest = remove_block(&old).map_err(|why| self.block_error(file, why))?;
        Ok(rest.map(|rest| FileReplacement::new(Some(old), TextWithoutBlock::into_content(rest))))
    }

    /// Whether Claude reads `AGENTS.md` without a block: because of a line that the user wrote, or
    /// of a link.
    pub(super) fn imports_agents(&self) -> Result<bool> {
        if self.is_link_to_agents() {
            return Ok(true);
        }
        let Some(text) = self.read_text(CLAUDE_FILE)? else { return Ok(false) };
        let has_import = text.lines().any(|line| line.trim() == AGENTS_IMPORT);
        Ok(has_import && !matches!(find_block(&text), Ok(Some(_))))
    }

    /// Returns whether `CLAUDE.md` is a symlink to `AGENTS.md`, which is common; then Claude reads
    /// that file already.
    fn is_link_to_agents(&self) -> bool {
        let real = |file: &str| self.root.join(file).canonicalize().ok();
        let link = self.root.join(CLAUDE_FILE);
        let target = link.read_link().ok();
        link.is_symlink()
            && (target.is_some_and(|target| target.as_os_str() == AGENTS_FILE)
                || real(CLAUDE_FILE).is_some() && real(CLAUDE_FILE) == real(AGENTS_FILE))
    }

    /// Reads a text file. A symlink is refused, since its target may be outside the repository, and
    /// so is a file in a directory that leads outside.
    fn read_text(&self, file: &str) -> Result<Option<String>> {
        let path = self.root.join(file);
        let parent = canonicalize_existing(path.parent().unwrap_or(&self.root));
        if path.is_symlink() || !parent.starts_with(canonicalize_existing(&self.root)) {
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
        marker: &PackMarker,
        body: &str,
    ) -> Result<String> {
        put_block(old, &marker.0, body).map_err(|why| self.block_error(file, why))
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

/// Returns the names of the documents of a pack that are installed.
pub(crate) fn installable_documents(pack: &ContextPack) -> Vec<String> {
    let is_present = |name: &&str| find_document(pack, name).is_some();
    [AGENTS_FILE, CURSOR_FILE].into_iter().filter(is_present).map(str::to_owned).collect()
}

/// Returns a source ID that two packs use for different URLs, and the positions of the packs. In
/// one file, its footnotes would all refer to the first of them.
pub(crate) fn conflicting_source(packs: &[&ContextPack]) -> Option<(String, [usize; 2])> {
    let mut known: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    for (position, pack) in packs.iter().enumerate() {
        for source in &pack.manifest.sources {
            let (url, first) = *known.entry(&source.id).or_insert((&source.url, position));
            if url != source.url {
                return Some((source.id.clone(), [first, position]));
            }
        }
    }
    None
}

fn find_document<'p>(pack: &'p ContextPack, name: &str) -> Option<&'p ContextPackDocument> {
    pack.documents.iter().find(|(path, _)| path.as_str() == name).map(|(_, document)| document)
}

/// Returns what a document of a pack installs.
fn body_of(pack: &ContextPack, name: &str) -> Option<String> {
    find_document(pack, name).map(|document| document_body(pack, document))
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

/// Returns the bodies as a Cursor rules file.
fn cursor_rules(packs: &[&ContextPack], marker: &PackMarker) -> String {
    let names: Vec<String> = packs
        .iter()
        .map(|pack| pack.manifest.project.name.replace(['\n', '"', '\\'], " "))
        .collect();
    let names = names.join(", ");
    let head =
        format!("---\ndescription: \"Context of {names}\"\nglobs:\nalwaysApply: true\n---\n");
    let bodies: Vec<String> = packs.iter().filter_map(|pack| body_of(pack, CURSOR_FILE)).collect();
    let body = format!("\n\n{}", bodies.join("\n"));
    let hash = if marker.has_versions() {
        format!("{RULES_HASH}{}", short_hash(&[&head, &body]))
    } else {
        String::new()
    };
    format!("{head}{MARKER_PREFIX}{}{hash} -->{body}", marker.0)
}

/// Returns what the text of a file has.
fn installed_in(file: &str, text: &str) -> Result<InstalledInstructions, MarkedBlockError> {
    if file == CURSOR_RULES {
        return Ok(installed_rules(text));
    }
    Ok(find_block(text)?.map_or(InstalledInstructions::Absent, |block| {
        InstalledInstructions::Present {
            is_edited: block.is_edited(),
            content: block.content,
            marker: PackMarker(block.pack_id),
        }
    }))
}

/// Returns what a rules file has.
fn installed_rules(text: &str) -> InstalledInstructions {
    let marked = text.split_once(MARKER_PREFIX);
    let Some((head, (marker, body))) =
        marked.and_then(|(head, rest)| Some((head, rest.split_once(" -->")?)))
    else {
        return InstalledInstructions::Absent;
    };
    let (marker, hash) = match marker.split_once(RULES_HASH) {
        Some((marker, hash)) => (marker, Some(hash)),
        None => (marker, None),
    };
    let is_edited = hash.is_some_and(|hash| hash != short_hash(&[head, body]));
    let content = Digest::of(text.as_bytes());
    InstalledInstructions::Present { marker: PackMarker(marker.to_owned()), content, is_edited }
}

fn short_hash(parts: &[&str]) -> String {
    Digest::of(parts.concat().as_bytes()).hex()[..HASH_HEX_LEN].to_owned()
}
