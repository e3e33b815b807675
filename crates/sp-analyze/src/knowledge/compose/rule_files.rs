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
        let cursor = fit_page(brief, pool, (&ranked, sources), (CURSOR_FILE, budget))?;
        let (generic, cursors): (Vec<_>, Vec<_>) =
            ranked.into_iter().partition(|(_, claim)| !mentions_cursor(&claim.text));
        for (_, claim) in cursors {
            let url = pool.sources[claim.source].document.url.clone();
            pool.omit(&url, &claim.text, "`AGENTS.md` is for every agent, and it names one");
        }
        let agents = fit_page(brief, pool, (&generic, sources), (AGENTS_FILE, budget))?;
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
    let is_todo = |claim: &&SourceClaim| {
        let (section, block, _) = claim.position;
        pool.sources[claim.source].document.sections[section].blocks[block].sort
            == KnowledgeBlockKind::Todo
    };
    // Advice among the to-dos goes into the lists of advice.
    let todos = pool
        .claims
        .iter()
        .filter(|claim| claim.source < sources && claim.role == SentenceRole::Fact)
        .filter(is_todo);
    todos.take(MAX_TODOS).cloned().collect()
}

/// Renders a file with as many sentences as fit.
fn fit_page(
    brief: &Brief,
    pool: &mut ClaimPool,
    (ranked, sources): (&[(RuleSection, SourceClaim)], usize),
    (file, budget): (&'static str, usize),
) -> Result<String, BudgetError> {
    let render = |count: usize| render_page(brief, pool, (&ranked[..count], sources), file);
    let Some(count) = max_fitting(ranked.len(), budget, render) else {
        return Err(BudgetError { file, required_tokens: token_cost(&render(0)) });
    };
    let page = render(count);
    for (_, claim) in &ranked[count..] {
        let url = pool.sources[claim.source].document.url.clone();
        pool.omit(&url, &claim.text, &format!("`{file}` has no room for it"));
    }
    Ok(page)
}

fn render_page(
    brief: &Brief,
    pool: &ClaimPool,
    (claims, sources): (&[(RuleSection, SourceClaim)], usize),
    file: &str,
) -> String {
    let list = |list: RuleSection, none: &str| {
        let of_list = claims.iter().filter(|(of, _)| *of == list);
        let lines: String = of_list
            .map(|(_, claim)| format!("- {} [^{}]\n", claim.text, pool.sources[claim.source].id))
            .collect();
        if lines.is_empty() { format!("- {none}\n") } else { lines }
    };
    let stack: String = brief
        .stack
        .iter()
        .map(|word| format!("- {}\n", escape_line_start(&escape_markdown(word))))
        .collect();
    let stack = if stack.is_empty() { "- Nothing was said of it.\n".into() } else { stack };
    let todos: String = claims
        .iter()
        .filter(|(of, _)| *of == RuleSection::Focus)
        .map(|(_, claim)| format!("- {} [^{}]\n", claim.text, pool.sources[claim.source].id))
        .collect();
    let cited: String = pool.sources[..sources]
        .iter()
        .filter(|source| file != AGENTS_FILE || !mentions_cursor(&source.document.title))
        .map(|source| {
            format!(
                "- {} [^{}]\n",
                escape_line_start(&escape_markdown(&source.document.title)),
                source.id
            )
        })
        .collect();
    format!(
        "# Project: {}\n\n## Summary\n\n{}\n\n## Stack\n\n{stack}\n## Conventions\n\n{}\n## Current focus\n\n{}{todos}\n\
         ## Don't\n\n{}\n## Citations\n\nFootnotes lead to `sources.md`.\n\n{cited}",
        escape_markdown(&brief.name),
        split_sentences(&escape_markdown(&brief.description)).join(" "),
        list(RuleSection::Conventions, "The sources name none."),
        focus_lines(brief),
        list(RuleSection::Dont, "The sources name nothing to avoid."),
    )
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
