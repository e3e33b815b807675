//! A document: something that was kept, with where it is from and when, cut into sentences.

use serde::{Deserialize, Serialize};

/// Something that somebody kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnowledgeDocument {
    /// Where it is from.
    pub url: String,
    /// What it is called.
    pub title: String,
    /// What it is: docs, article, repo, video, paper, discussion, skill, package.
    pub kind: String,
    /// When it was published, as a time in UTC.
    pub published_at: Option<String>,
    /// When it was kept, as a time in UTC.
    pub captured_at: String,
    /// What it is about, in single words, sorted.
    pub tags: Vec<String>,
    /// What it says.
    pub sections: Vec<KnowledgeSection>,
    /// The code in it: it is searched, and never quoted.
    #[serde(skip)]
    pub code: String,
}

/// A heading and what stands below it, up to the next heading.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnowledgeSection {
    /// The heading; empty for what stands before the first.
    pub title: String,
    /// What stands below it.
    pub blocks: Vec<KnowledgeBlock>,
}

/// A paragraph, an item of a list, or whatever else stands by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnowledgeBlock {
    /// What it is.
    pub sort: KnowledgeBlockKind,
    /// Its sentences, as Markdown on one line that means nothing but its words.
    pub sentences: Vec<String>,
}

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KnowledgeBlockKind {
    /// A paragraph.
    Text,
    /// An item of a list.
    Item,
    /// An item of a numbered list.
    Step,
    /// Something that is still to be done.
    Todo,
    /// In a box that warns.
    Warning,
    /// In a box that advises.
    Tip,
    /// What the reader marked.
    Highlight,
}

impl KnowledgeDocument {
    /// Every block, with the heading above it.
    pub fn blocks(&self) -> impl Iterator<Item = (&str, &KnowledgeBlock)> {
        self.sections
            .iter()
            .flat_map(|section| section.blocks.iter().map(|block| (section.title.as_str(), block)))
    }

    /// Every sentence.
    pub fn sentences(&self) -> impl Iterator<Item = &str> {
        self.blocks().flat_map(|(_, block)| block.sentences.iter().map(String::as_str))
    }

    /// Joins another document of the same address to this one: what it says, and what it knows better.
    pub fn merge(&mut self, other: Self) {
        if self.url.starts_with("http:") && other.url.starts_with("https:") {
            self.url = other.url;
        }
        // A page that is called `Retries - Some Site` in one place is called `Retries`.
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
                // What the reader marked stands in the text, too, and counts for more there.
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

/// Whether a title is another one with the name of a site behind it.
pub(crate) fn has_site_suffix(title: &str, other: &str) -> bool {
    let rest = title.strip_prefix(other).filter(|_| !other.is_empty());
    rest.is_some_and(|rest| {
        [" - ", " | ", " — ", " – ", " · ", " :: "].iter().any(|sign| rest.starts_with(sign))
    })
}
