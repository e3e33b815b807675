//! What a project says of itself in its own documents, as nodes. No network, no model, no guess.

use std::path::Path;

use jiff::Timestamp;
use sp_formats::bag::secret;
use sp_formats::json::quoted;
use sp_formats::markdown::sections;
use sp_formats::package::{NewGraph, NewNode};
use sp_tree::{Dir, EntryKind, Follow, RelPath, read_text};

use crate::config::Session;
use crate::context::Event;
use crate::error::{Error, Kind, Result};

/// Documents that many projects have, and what their sections are.
const DOCUMENTS: &[(&str, &str)] = &[
    ("README.md", "fact"),
    ("ARCHITECTURE.md", "fact"),
    ("CONTRIBUTING.md", "convention"),
    ("AGENTS.md", "convention"),
    ("CLAUDE.md", "convention"),
    ("GEMINI.md", "convention"),
    (".github/copilot-instructions.md", "convention"),
    (".cursorrules", "convention"),
    ("SECURITY.md", "policy"),
];
/// Folders whose documents are each a decision.
const DECISIONS: &[&str] = &["docs/adr", "docs/adrs", "docs/decisions", "doc/adr", "adr"];
/// A section that is longer is cut: a node is a piece of knowledge, and not a chapter.
const MOST_CHARACTERS: usize = 2_000;
const HALF_LIFE_DAYS: u32 = 90;

/// The nodes of a project's documents, and from level 2 on which document each is from.
pub(super) fn extract(session: &Session<'_>, dir: &Path, level: u64) -> Result<NewGraph> {
    let root = Dir::open(dir)?;
    let mut documents: Vec<(RelPath, &str)> = Vec::new();
    for (path, kind) in DOCUMENTS {
        let path = RelPath::new(path).map_err(|e| Error::new(Kind::Data, e.to_string()))?;
        if root.look_beneath(&path, Follow::Never)?.is_some_and(|stamp| stamp.kind() == EntryKind::File) {
            documents.push((path, kind));
        }
    }
    for folder in DECISIONS {
        documents.extend(markdown_in(dir, folder)?.into_iter().map(|path| (path, "decision")));
    }
    let mut graph = NewGraph::default();
    for (path, kind) in documents {
        let Some(text) = read_text(&root, &path, session.limits.markdown_bytes)? else { continue };
        let stamp = root.look_beneath(&path, Follow::Never)?;
        let modified = stamp.and_then(|stamp| Timestamp::from_nanosecond(stamp.modified.into()).ok());
        let fading = Fading { since: modified.filter(|_| level >= 3) };
        add(session, &mut graph, &Document { path, kind, text, fading }, level);
    }
    match graph.nodes.is_empty() {
        false => Ok(graph),
        true => Err(Error::new(Kind::Request, format!("there is nothing to pack in `{}`", session.context.show(dir)))
            .because("it has no README, no AGENTS.md or the like, and no decisions below `docs/adr`")
            .hint("write what is to be known with `--input <file>`: nodes in JSON or YAML")),
    }
}

fn markdown_in(dir: &Path, folder: &str) -> Result<Vec<RelPath>> {
    let path = dir.join(folder);
    if !path.is_dir() {
        return Ok(Vec::new());
    }
    let mut found: Vec<RelPath> = Dir::open(&path)?
        .entries()?
        .iter()
        .filter(|entry| entry.kind == EntryKind::File)
        .filter_map(|entry| entry.name().to_str().filter(|name| name.ends_with(".md")))
        .filter_map(|name| RelPath::new(&format!("{folder}/{name}")).ok())
        .collect();
    found.sort();
    Ok(found)
}

/// A document of a project.
struct Document<'a> {
    path: RelPath,
    /// What its sections are.
    kind: &'a str,
    text: String,
    fading: Fading,
}

/// What level 3 asks for besides: since when something is known, and how fast it fades.
struct Fading {
    since: Option<Timestamp>,
}

impl Fading {
    fn mark(&self, node: NewNode) -> NewNode {
        match self.since {
            None => node,
            Some(since) => node
                .with("created_at", Some(quoted(&since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())))
                .with("decay_half_life_days", Some(HALF_LIFE_DAYS.to_string())),
        }
    }
}

/// Adds the sections of a document, each with its own text only.
fn add(session: &Session<'_>, graph: &mut NewGraph, document: &Document<'_>, level: u64) {
    let Document { path, kind, text, fading } = document;
    let found = sections(text, 0);
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let file = Some(quoted(path.as_str()));
    let mut ids = Vec::new();
    for (at, section) in found.iter().enumerate() {
        let next = found.get(at + 1).map_or(text.len(), |next| next.heading.start);
        let own = text[section.body.start..next.max(section.body.start)].trim();
        if own.is_empty() {
            continue;
        }
        let first = line(section.heading.start);
        if own.split_whitespace().any(|word| secret("", word).is_some()) {
            let message = format!("`{path}:{first}` was left out: something in it looks like a secret");
            session.context.tell(Event::Warning(message));
            continue;
        }
        let short: String = own.chars().take(MOST_CHARACTERS).collect();
        let content = if section.title.is_empty() { short } else { format!("{}\n\n{short}", section.title) };
        let last = line(text[..next].trim_end().len());
        let node = NewNode::new(*kind, content)
            .with("file_path", file.clone())
            .with("line_start", Some(first.to_string()))
            .with("line_end", Some(last.to_string()));
        ids.push(graph.node(fading.mark(node)));
    }
    if level >= 2 && !ids.is_empty() {
        let title = found.first().map(|section| section.title.clone()).filter(|title| !title.is_empty());
        let node = NewNode::new("document", title.unwrap_or_else(|| path.to_string())).with("file_path", file);
        let node = graph.node(fading.mark(node));
        ids.iter().for_each(|id| graph.edge(&node, id, "contains"));
    }
}
