//! A document: a saved text with its URL and dates, split into sentences.

use serde::{Deserialize, Serialize};

/// A saved text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnowledgeDocument {
    pub url: String,
    pub title: String,
    /// `docs`, `article`, `repo`, `video`, `paper`, `discussion`, `skill` or `package`.
    pub kind: String,
    /// Publication time in UTC.
    pub published_at: Option<String>,
    /// Time of saving in UTC.
    pub captured_at: String,
    /// Single words, sorted.
    pub tags: Vec<String>,
    pub sections: Vec<KnowledgeSection>,
    /// Code in the document. It is searched but never quoted.
    #[serde(skip)]
    pub code: String,
}

/// A heading with the content up to the next heading.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnowledgeSection {
    /// Empty for content before the first heading.
    pub title: String,
    pub blocks: Vec<KnowledgeBlock>,
}

/// A paragraph, a list item or similar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnowledgeBlock {
    pub sort: KnowledgeBlockKind,
    /// Sentences as single-line Markdown, in which everything except code spans is escaped.
    pub sentences: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KnowledgeBlockKind {
    /// A paragraph.
    Text,
    /// An item of an unordered list.
    Item,
    /// An item of an ordered list.
    Step,
    /// An unchecked task list item.
    Todo,
    /// Inside a warning callout.
    Warning,
    /// Inside a tip callout.
    Tip,
    /// Highlighted by the reader.
    Highlight,
}

impl KnowledgeDocument {
    /// Iterates over all blocks with the heading above each.
    pub fn blocks(&self) -> impl Iterator<Item = (&str, &KnowledgeBlock)> {
        self.sections
            .iter()
            .flat_map(|section| section.blocks.iter().map(|block| (section.title.as_str(), block)))
    }

    pub fn sentences(&self) -> impl Iterator<Item = &str> {
        self.blocks().flat_map(|(_, block)| block.sentences.iter().map(String::as_str))
    }

    /// Merges another document with the same URL into this one.
    pub fn merge(&mut self, other: Self) {
        if self.url.starts_with("http:") && other.url.starts_with("https:") {
            self.url = other.url;
        }
        // Prefer `Retries` to `Retries - Some Site`.
        if has_site_suffix(&self.title, &other.title) {
            self.title = other.title;
        }
        self.published_at =
            [self.published_at.take(), other.published_at].into_iter().flatten().min();
        self.captured_at = std::mem::take(&mut self.captured_at).max(other.captured_at);
        self.tags.extend(other.tags);
        self.tags.sort();
        self.tags.dedup();
        let known: std::collections::HashSet<&str> = self.sentences().collect();
        let is_new = |sentence: &String| !known.contains(sentence.as_str());
        let mut more = Vec::new();
        for mut section in other.sections {
            for block in &mut section.blocks {
                // Highlights repeat a part of the text, and count for more.
                if block.sort != KnowledgeBlockKind::Highlight {
                    block.sentences.retain(is_new);
                }
            }
            section.blocks.retain(|block| !block.sentences.is_empty());
            if !section.blocks.is_empty() {
                more.push(section);
            }
        }
        self.sections.extend(more);
        self.code.push_str(&other.code);
    }
}

/// Whether `title` is `other` followed by the name of a site.
pub(crate) fn has_site_suffix(title: &str, other: &str) -> bool {
    let rest = title.strip_prefix(other).filter(|_| !other.is_empty());
    rest.is_some_and(|rest| {
        [" - ", " | ", " — ", " – ", " · ", " :: "].iter().any(|sign| rest.starts_with(sign))
    })
}
