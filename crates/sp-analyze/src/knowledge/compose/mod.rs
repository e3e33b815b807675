//! The files of a pack, made of sentences that sources say, each with its footnote. Nothing is made up, and
//! nothing is padded: a file that would say nothing is left out.

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
    /// What is intended.
    pub description: String,
    /// What was asked for.
    pub prompt: Option<String>,
    /// What it is built with.
    pub stack: Vec<String>,
}

/// What words of the prompt, the description, the stack and the name weigh.
const QUERY_WEIGHTS: [f64; 4] = [1.0, 1.0, 0.7, 0.6];

impl Brief {
    /// What is asked for with it.
    pub fn to_query(&self) -> KnowledgeQuery {
        let stack = self.stack.join(" ");
        let texts =
            [self.prompt.as_deref().unwrap_or_default(), &self.description, &stack, &self.name];
        KnowledgeQuery::new(&texts.into_iter().zip(QUERY_WEIGHTS).collect::<Vec<_>>())
    }
}

/// A document that was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankedSource {
    /// By which footnotes name it.
    pub id: String,
    /// How near it is to what is asked for.
    pub score: u64,
    /// What it says.
    pub document: KnowledgeDocument,
}

impl RankedSource {
    /// A document with its score.
    pub fn new(document: KnowledgeDocument, score: u64) -> Self {
        Self { id: source_id(&document.url), score, document }
    }
}

/// Something that is not in the pack, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedItem {
    /// The address of the document.
    pub url: String,
    /// The sentence; none if it is the whole document.
    pub text: Option<String>,
    /// Why.
    pub reason: String,
}

/// A pack without its manifest.
#[derive(Debug, Clone, Default)]
pub struct ComposedFiles {
    /// The Markdown of each file, by path.
    pub documents: BTreeMap<RelPath, String>,
    /// The sources that are cited, the most needed first.
    pub sources: Vec<ContextPackSourceEntry>,
    /// What is not in it.
    pub omitted: Vec<OmittedItem>,
}

/// Everything that the files are made of, ranked. Who wants may [choose](Pool::choose) among it before it is composed.
pub fn collect_claims(sources: Vec<RankedSource>, worth: HashMap<u64, f64>) -> ClaimPool {
    ClaimPool::new(sources, RelevanceScorer::new(worth))
}

/// Makes the files, each of so many tokens at the most.
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
