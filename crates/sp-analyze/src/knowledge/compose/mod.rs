//! Composes the files of a context pack from sentences of the sources.
//!
//! Every sentence is a quote with a footnote. [`collect_claims`] ranks everything quotable into a
//! [`ClaimPool`], the caller may narrow it with [`ClaimPool::apply_selection`], and [`compose`]
//! writes the files. Nothing is invented or padded: a file without content is omitted.

mod budget;
mod pool;
mod rule_files;
mod section_files;
mod sources_file;

use std::collections::{BTreeMap, HashMap};

use sp_formats::context_pack::{
    AGENTS_FILE, CURSOR_FILE, ContextPackSourceEntry, PROMPTS_FILE, SKILLS_FILE, SOURCES_FILE,
    TASKS_FILE,
};
use sp_tree::RelPath;

use crate::knowledge::classify::RelevanceScorer;
use crate::knowledge::document::KnowledgeDocument;
use crate::knowledge::rank::KnowledgeQuery;
use crate::knowledge::source_id;

pub use budget::BudgetError;
pub use pool::{CandidateList, CandidateSentence, ClaimPool, SelectedQuote};

/// What a pack is for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Brief {
    /// A short label.
    pub name: String,
    /// What the project is about.
    pub description: String,
    /// The user's request.
    pub prompt: Option<String>,
    /// The technologies in use.
    pub stack: Vec<String>,
}

/// Weights of the words in prompt, description, stack and name.
const QUERY_WEIGHTS: [f64; 4] = [1.0, 1.0, 0.7, 0.6];

impl Brief {
    /// The query for ranking documents.
    pub fn to_query(&self) -> KnowledgeQuery {
        let stack = self.stack.join(" ");
        let texts =
            [self.prompt.as_deref().unwrap_or_default(), &self.description, &stack, &self.name];
        KnowledgeQuery::new(&texts.into_iter().zip(QUERY_WEIGHTS).collect::<Vec<_>>())
    }
}

/// A selected document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankedSource {
    /// The ID that footnotes refer to.
    pub id: String,
    /// Relevance to the query.
    pub score: u64,
    pub document: KnowledgeDocument,
}

impl RankedSource {
    pub fn new(document: KnowledgeDocument, score: u64) -> Self {
        Self { id: source_id(&document.url), score, document }
    }
}

/// Something that was left out of the pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedItem {
    /// URL of the document.
    pub url: String,
    /// The sentence; `None` for the whole document.
    pub text: Option<String>,
    pub reason: String,
}

/// A pack without its manifest.
#[derive(Debug, Clone, Default)]
pub struct ComposedFiles {
    /// Markdown of each file, by path.
    pub documents: BTreeMap<RelPath, String>,
    /// The cited sources, most relevant first.
    pub sources: Vec<ContextPackSourceEntry>,
    pub omitted: Vec<OmittedItem>,
}

/// Collects and ranks the quotable sentences of the sources. The caller may select among them with
/// [`ClaimPool::apply_selection`] before composing.
pub fn collect_claims(sources: Vec<RankedSource>, word_weights: HashMap<u64, f64>) -> ClaimPool {
    ClaimPool::new(sources, RelevanceScorer::new(word_weights))
}

/// Composes the files, each within `budget` tokens.
pub fn compose(
    brief: &Brief,
    mut pool: ClaimPool,
    budget: usize,
) -> Result<ComposedFiles, BudgetError> {
    let mut composed = ComposedFiles::default();
    let bibliography = sources_file::fit_sources(&mut pool, budget)?;
    let rules = rule_files::RuleFiles::new(brief, &mut pool, bibliography.source_count, budget)?;
    let sections =
        section_files::SectionFiles::new(brief, &mut pool, bibliography.source_count, budget);
    let files = [
        (CURSOR_FILE, Some(rules.cursor)),
        (AGENTS_FILE, Some(rules.agents)),
        (SKILLS_FILE, sections.skills),
        (SOURCES_FILE, Some(bibliography.text).filter(|_| bibliography.source_count > 0)),
        (PROMPTS_FILE, sections.prompts),
        (TASKS_FILE, sections.tasks),
    ];
    for (path, text) in files {
        if let (Some(text), Ok(path)) = (text, RelPath::new(path)) {
            composed.documents.insert(path, text);
        }
    }
    composed.sources =
        pool.sources[..bibliography.source_count].iter().map(sources_file::source_entry).collect();
    composed.omitted = std::mem::take(&mut pool.omitted);
    Ok(composed)
}
