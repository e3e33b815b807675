//! The files of a pack, made of sentences that sources say, each with its footnote. Nothing is made up, and
//! nothing is padded: a file that would say nothing is left out.

mod budget;
mod pool;
mod rules;
mod sections;
mod sources;

use std::collections::{BTreeMap, HashMap};

use sp_formats::context_pack::{AGENTS, CURSOR, PROMPTS, SKILLS, SOURCES, SourceEntry, TASKS};
use sp_tree::RelPath;

use crate::knowledge::claim::Relevance;
use crate::knowledge::document::Document;
use crate::knowledge::rank::Question;
use crate::knowledge::source_id;

pub use budget::TooSmall;
pub use pool::{Choosable, Pick, Pool, Span};

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
const WEIGHTS: [f64; 4] = [1.0, 1.0, 0.7, 0.6];

impl Brief {
    /// What is asked for with it.
    pub fn question(&self) -> Question {
        let stack = self.stack.join(" ");
        let texts = [self.prompt.as_deref().unwrap_or_default(), &self.description, &stack, &self.name];
        Question::new(&texts.into_iter().zip(WEIGHTS).collect::<Vec<_>>())
    }
}

/// A document that was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// By which footnotes name it.
    pub id: String,
    /// How near it is to what is asked for.
    pub score: u64,
    /// What it says.
    pub document: Document,
}

impl Source {
    /// A document with its score.
    pub fn new(document: Document, score: u64) -> Self {
        Self { id: source_id(&document.url), score, document }
    }
}

/// Something that is not in the pack, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The address of the document.
    pub url: String,
    /// The sentence; none if it is the whole document.
    pub text: Option<String>,
    /// Why.
    pub why: String,
}

/// A pack without its manifest.
#[derive(Debug, Clone, Default)]
pub struct Composed {
    /// The Markdown of each file, by path.
    pub documents: BTreeMap<RelPath, String>,
    /// The sources that are cited, the most needed first.
    pub sources: Vec<SourceEntry>,
    /// What is not in it.
    pub left: Vec<Left>,
}

/// Everything that the files are made of, ranked. Who wants may [choose](Pool::choose) among it before it is composed.
pub fn gather(sources: Vec<Source>, worth: HashMap<u64, f64>) -> Pool {
    Pool::new(sources, Relevance::new(worth))
}

/// Makes the files, each of so many tokens at the most.
pub fn compose(brief: &Brief, mut pool: Pool, budget: usize) -> Result<Composed, TooSmall> {
    let mut composed = Composed::default();
    let bibliography = sources::fitting(&mut pool, budget)?;
    let rules = rules::Rules::new(brief, &mut pool, bibliography.count, budget)?;
    let sections = sections::Sections::new(brief, &mut pool, bibliography.count, budget);
    let files = [
        (CURSOR, Some(rules.cursor)),
        (AGENTS, Some(rules.agents)),
        (SKILLS, sections.skills),
        (SOURCES, Some(bibliography.text).filter(|_| bibliography.count > 0)),
        (PROMPTS, sections.prompts),
        (TASKS, sections.tasks),
    ];
    for (path, text) in files {
        if let (Some(text), Ok(path)) = (text, RelPath::new(path)) {
            composed.documents.insert(path, text);
        }
    }
    composed.sources = pool.sources[..bibliography.count].iter().map(sources::entry).collect();
    composed.left = std::mem::take(&mut pool.left);
    Ok(composed)
}
