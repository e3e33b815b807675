//! `cursor.md` and `AGENTS.md`: what an agent must know before it starts.

use sp_formats::context_pack::{AGENTS_FILE, CURSOR_FILE};

use super::Brief;
use super::budget::{BudgetError, max_fitting, token_cost};
use super::pool::{CONVENTIONS, ClaimPool, DONTS, SourceClaim};
use crate::knowledge::classify::SentenceRole;
use crate::knowledge::document::KnowledgeBlockKind;
use crate::knowledge::sentence::{
    escape_line_start, escape_markdown, split_sentences, to_plain_text,
};

/// Maximum number of to-dos, and of sentences from the request.
const MAX_TODOS: usize = 5;
const MAX_PROMPT_SENTENCES: usize = 5;

pub(super) struct RuleFiles {
    pub cursor: String,
    pub agents: String,
}

impl RuleFiles {
    pub(super) fn new(
        brief: &Brief,
        pool: &mut ClaimPool,
        sources: usize,
        budget: usize,
    ) -> Result<Self, BudgetError> {
        let conventions = pool.best_claims(&CONVENTIONS, sources);
        let donts = pool.best_claims(&DONTS, sources);
        let todos = todos(pool, sources);
        let mut ranked: Vec<(RuleSection, SourceClaim)> =
            conventions.into_iter().map(|claim| (RuleSection::Conventions, claim)).collect();
        ranked.extend(donts.into_iter().map(|claim| (RuleSection::Dont, claim)));
        ranked.extend(todos.into_iter().map(|claim| (RuleSection::Focus, claim)));
        ranked.sort_by(|(_, a), (_, b)| a.cmp_by_rank(b));
        let cursor = RuleFile { file: CURSOR_FILE, brief, sources }.fit(pool, &ranked, budget)?;
        let (generic, cursors): (Vec<_>, Vec<_>) =
            ranked.into_iter().partition(|(_, claim)| !mentions_cursor(&claim.text));
        for (_, claim) in cursors {
            let url = pool.sources[claim.source].document.url.clone();
            pool.omit(&url, &claim.text, "it mentions Cursor, but `AGENTS.md` is for all agents");
        }
        let agents = RuleFile { file: AGENTS_FILE, brief, sources }.fit(pool, &generic, budget)?;
        Ok(Self { cursor, agents })
    }
}

/// The section of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleSection {
    Conventions,
    Focus,
    Dont,
}

/// Whether a text mentions the Cursor editor. `AGENTS.md` is for every agent.
fn mentions_cursor(text: &str) -> bool {
    ["Cursor", ".cursor/", "cursor.md"].iter().any(|name| text.contains(name))
}

/// To-dos that the sources mention.
fn todos(pool: &ClaimPool, sources: usize) -> Vec<SourceClaim> {
    let is_todo = |claim: &&SourceClaim| pool.block_kind(claim) == KnowledgeBlockKind::Todo;
    // Advice among the to-dos goes into the lists of advice.
    let todos = pool
        .claims
        .iter()
        .filter(|claim| claim.source < sources && claim.role == SentenceRole::Fact)
        .filter(is_todo);
    todos.take(MAX_TODOS).cloned().collect()
}

/// One of the two files, before its claims are chosen.
struct RuleFile<'b> {
    file: &'static str,
    brief: &'b Brief,
    /// Number of leading sources that are cited.
    sources: usize,
}

impl RuleFile<'_> {
    /// Renders the file with as many claims as fit the budget.
    fn fit(
        &self,
        pool: &mut ClaimPool,
        ranked: &[(RuleSection, SourceClaim)],
        budget: usize,
    ) -> Result<String, BudgetError> {
        let render = |count: usize| self.render(pool, &ranked[..count]);
        let Some(count) = max_fitting(ranked.len(), budget, render) else {
            return Err(BudgetError { file: self.file, required_tokens: token_cost(&render(0)) });
        };
        let text = render(count);
        for (_, claim) in &ranked[count..] {
            let url = pool.sources[claim.source].document.url.clone();
            pool.omit(
                &url,
                &claim.text,
                &format!("it exceeds the token budget of `{}`", self.file),
            );
        }
        Ok(text)
    }

    fn render(&self, pool: &ClaimPool, claims: &[(RuleSection, SourceClaim)]) -> String {
        let lines = |section: RuleSection| -> String {
            claims
                .iter()
                .filter(|(of, _)| *of == section)
                .map(|(_, claim)| {
                    format!("- {} [^{}]\n", claim.text, pool.sources[claim.source].id)
                })
                .collect()
        };
        let stack: String = self
            .brief
            .stack
            .iter()
            .map(|word| format!("- {}\n", escape_line_start(&escape_markdown(word))))
            .collect();
        format!(
            "# Project: {}\n\n## Summary\n\n{}\n\n## Stack\n\n{}\n## Conventions\n\n{}\n\
             ## Current focus\n\n{}{}\n## Don't\n\n{}\n\
             ## Citations\n\nFootnotes refer to `sources.md`.\n\n{}",
            escape_markdown(&self.brief.name),
            split_sentences(&escape_markdown(&self.brief.description)).join(" "),
            non_empty_or(stack, "- Not specified.\n"),
            non_empty_or(
                lines(RuleSection::Conventions),
                "- No conventions found in the sources.\n"
            ),
            focus_lines(self.brief),
            lines(RuleSection::Focus),
            non_empty_or(lines(RuleSection::Dont), "- No restrictions found in the sources.\n"),
            self.citations(pool),
        )
    }

    fn citations(&self, pool: &ClaimPool) -> String {
        pool.sources[..self.sources]
            .iter()
            .filter(|source| self.file != AGENTS_FILE || !mentions_cursor(&source.document.title))
            .map(|source| {
                let title = escape_line_start(&escape_markdown(&source.document.title));
                format!("- {title} [^{}]\n", source.id)
            })
            .collect()
    }
}

fn non_empty_or(text: String, default: &str) -> String {
    if text.is_empty() { default.to_owned() } else { text }
}

/// The request in the user's own words.
fn focus_lines(brief: &Brief) -> String {
    let asked = brief.prompt.as_deref().unwrap_or(&brief.description);
    let lines = split_sentences(&escape_markdown(asked));
    lines
        .iter()
        .filter(|line| !to_plain_text(line).trim().is_empty())
        .take(MAX_PROMPT_SENTENCES)
        .map(|line| format!("- {line}\n"))
        .collect()
}
