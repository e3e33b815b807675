//! What the readers of all tools share: typed access to members, and the conversion of sources.

use std::ops::Range;

use sp_tree::Limits;

use super::syntax::{ForeignMember, ForeignNode, ForeignSyntax, ForeignValue};
use super::{ForeignAgent, ForeignEntry, ForeignItems, ForeignSelection, LC_17, SkippedItem};
use crate::printable::printable;
use crate::project::source::{ManifestSource, SourceVersion};
use crate::report::Report;

const FILE_HELP: &str = "fix the file, or restore it from version control";

/// Reads one file.
pub(super) struct ForeignReader<'r> {
    text: &'r str,
    report: &'r mut Report,
    pub items: ForeignItems,
}

/// The members of a mapping.
#[derive(Clone)]
pub(super) struct ForeignMap<'n> {
    pub span: Range<usize>,
    pub members: &'n [ForeignMember],
}

/// Text and its position.
#[derive(Debug, Clone)]
pub(super) struct ForeignText<'n> {
    pub span: Range<usize>,
    pub text: &'n str,
}

/// An entry of a file, before its source is checked.
#[derive(Debug, Clone, Default)]
pub(super) struct EntryDraft {
    pub span: Range<usize>,
    /// What it is called in messages.
    pub name: String,
    /// A source in the notation of manifests.
    pub source: String,
    pub version: Option<String>,
    pub selection: ForeignSelection,
}

impl<'n> ForeignMap<'n> {
    pub(super) fn get(&self, key: &str) -> Option<&'n ForeignNode> {
        let member = self.members.iter().find(|member| member.key == key)?;
        (!matches!(member.node.value, ForeignValue::Null)).then_some(&member.node)
    }
}

impl<'r> ForeignReader<'r> {
    pub(super) fn new(text: &'r str, report: &'r mut Report) -> Self {
        Self { text, report, items: ForeignItems::default() }
    }

    /// Parses the file.
    pub(super) fn parse(&mut self, syntax: ForeignSyntax, limits: &Limits) -> Option<ForeignNode> {
        match syntax.parse(self.text, limits) {
            Ok(node) => Some(node),
            Err(error) => {
                self.error(error.span, error.message, error.help);
                None
            }
        }
    }

    pub(super) fn error(&mut self, span: Range<usize>, message: impl Into<String>, help: &str) {
        self.report.error(&LC_17, span, message).help(help);
    }

    fn type_error(&mut self, node: &ForeignNode, what: &str, expected: &str) {
        let message = format!("{what} must be {expected}, not {}", node.kind());
        self.error(node.span.clone(), message, FILE_HELP);
    }

    pub(super) fn skip(
        &mut self,
        span: Range<usize>,
        name: impl Into<String>,
        reason: impl Into<String>,
    ) {
        self.items.skipped.push(SkippedItem { span, name: name.into(), reason: reason.into() });
    }

    /// Returns the members of a mapping.
    pub(super) fn map<'n>(&mut self, node: &'n ForeignNode, what: &str) -> Option<ForeignMap<'n>> {
        match &node.value {
            ForeignValue::Map(members) => Some(ForeignMap { span: node.span.clone(), members }),
            _ => {
                self.type_error(node, what, "a mapping");
                None
            }
        }
    }

    /// Returns the members of a member; none if it is missing.
    pub(super) fn map_member<'n>(
        &mut self,
        map: &ForeignMap<'n>,
        key: &str,
    ) -> Option<ForeignMap<'n>> {
        let node = map.get(key)?;
        self.map(node, &format!("`{key}`"))
    }

    /// Returns the items of a list; none if it is missing.
    pub(super) fn list<'n>(&mut self, map: &ForeignMap<'n>, key: &str) -> &'n [ForeignNode] {
        match map.get(key) {
            Some(ForeignNode { value: ForeignValue::List(items), .. }) => items,
            Some(node) => {
                self.type_error(node, &format!("`{key}`"), "a list");
                &[]
            }
            None => &[],
        }
    }

    /// Returns the text of a node.
    pub(super) fn text<'n>(
        &mut self,
        node: &'n ForeignNode,
        what: &str,
    ) -> Option<ForeignText<'n>> {
        match &node.value {
            ForeignValue::Text(text) => Some(ForeignText { span: node.span.clone(), text }),
            _ => {
                self.type_error(node, what, "text");
                None
            }
        }
    }

    /// Returns the text of a member; none if it is missing.
    pub(super) fn member<'n>(
        &mut self,
        map: &ForeignMap<'n>,
        key: &str,
    ) -> Option<ForeignText<'n>> {
        let node = map.get(key)?;
        self.text(node, &format!("`{key}`"))
    }

    /// Returns the text of a member, without its position.
    pub(super) fn text_member(&mut self, map: &ForeignMap<'_>, key: &str) -> Option<String> {
        self.member(map, key).map(|text| text.text.to_owned())
    }

    /// Returns the text of a member that must be present.
    pub(super) fn required<'n>(
        &mut self,
        map: &ForeignMap<'n>,
        key: &str,
    ) -> Option<ForeignText<'n>> {
        if map.get(key).is_none() {
            let start = map.span.start;
            self.error(start..start, format!("`{key}` is missing"), FILE_HELP);
        }
        self.member(map, key)
    }

    /// Returns the texts of a list; empty if it is missing.
    pub(super) fn texts(&mut self, map: &ForeignMap<'_>, key: &str) -> Vec<String> {
        let items = self.list(map, key);
        let what = format!("an item of `{key}`");
        items.iter().filter_map(|item| Some(self.text(item, &what)?.text.to_owned())).collect()
    }

    /// Checks that the version of a file is supported.
    pub(super) fn check_version(
        &mut self,
        map: &ForeignMap<'_>,
        key: &str,
        supported: &[&str],
    ) -> Option<()> {
        let Some(node) = map.get(key) else {
            self.error(map.span.start..map.span.start, format!("`{key}` is missing"), FILE_HELP);
            return None;
        };
        match &node.value {
            ForeignValue::Number(version) | ForeignValue::Text(version)
                if supported.contains(&version.as_str()) =>
            {
                Some(())
            }
            ForeignValue::Number(version) | ForeignValue::Text(version) => {
                let version = printable(version).into_owned();
                let message = format!("unsupported version {version} of the file");
                let help = format!("supported versions: {}", supported.join(", "));
                self.error(node.span.clone(), message, &help);
                None
            }
            _ => {
                self.type_error(node, &format!("`{key}`"), "a version");
                None
            }
        }
    }

    /// Reads the agents of the file.
    pub(super) fn read_agents(&mut self, map: &ForeignMap<'_>, key: &str) {
        for node in self.list(map, key) {
            if let Some(agent) = self.text(node, &format!("an item of `{key}`")) {
                self.add_agent(agent.span, agent.text);
            }
        }
    }

    pub(super) fn add_agent(&mut self, span: Range<usize>, name: &str) {
        if !self.items.agents.iter().any(|agent| agent.name == name) {
            self.items.agents.push(ForeignAgent { span, name: name.into() });
        }
    }

    /// Adds an entry, and returns it so that more can be set. An entry whose source or ref is not
    /// supported is skipped.
    pub(super) fn add(&mut self, draft: EntryDraft) -> Option<&mut ForeignEntry> {
        let EntryDraft { span, name, source, version, selection } = draft;
        let source = match ManifestSource::new(&source) {
            Ok(source) => source,
            Err(why) => {
                let source = printable(&source);
                self.skip(span, name, format!("unsupported source `{source}`: {why}"));
                return None;
            }
        };
        let version = match version.map(|text| SourceVersion::new(&source, &text)).transpose() {
            Ok(version) => version,
            Err(why) => {
                self.skip(span, name, format!("unsupported ref: {why}"));
                return None;
            }
        };
        self.items.entries.push(ForeignEntry {
            span,
            source,
            version,
            selection,
            agents: Vec::new(),
            folder_name: None,
            installed_folders: Vec::new(),
            commit: None,
            digest: None,
        });
        self.items.entries.last_mut()
    }
}

/// Returns a path of this machine as a source: a relative one starts with `./` or `../`.
pub(super) fn local_source(path: &str) -> String {
    let is_explicit = ["./", "../", "/", "~/"].iter().any(|start| path.starts_with(start))
        || matches!(path, "." | "..");
    if is_explicit { path.into() } else { format!("./{path}") }
}

/// Whether a text is a full commit.
pub(super) fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
