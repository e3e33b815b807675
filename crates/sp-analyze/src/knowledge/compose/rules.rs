//! `cursor.md` and `AGENTS.md`: what an agent must know before it begins.

use sp_formats::context_pack::{AGENTS, CURSOR};

use super::Brief;
use super::budget::{TooSmall, cost, most_that_fit};
use super::pool::{CONVENTIONS, Claim, DONTS, Pool};
use crate::knowledge::claim::Role;
use crate::knowledge::document::Sort;
use crate::knowledge::sentence::{escaped, guarded, plain, sentences};

/// How many things to do stand there at the most, and how many sentences of what was asked for.
const TODOS: usize = 5;
const ASKED: usize = 5;

/// The two files.
pub(super) struct Rules {
    pub cursor: String,
    pub agents: String,
}

impl Rules {
    pub(super) fn new(brief: &Brief, pool: &mut Pool, sources: usize, budget: usize) -> Result<Self, TooSmall> {
        let conventions = pool.best(&CONVENTIONS, sources);
        let donts = pool.best(&DONTS, sources);
        let todos = todos(pool, sources);
        let mut ranked: Vec<(List, Claim)> = conventions.into_iter().map(|claim| (List::Conventions, claim)).collect();
        ranked.extend(donts.into_iter().map(|claim| (List::Dont, claim)));
        ranked.extend(todos.into_iter().map(|claim| (List::Focus, claim)));
        ranked.sort_by(|(_, a), (_, b)| a.order(b));
        let cursor = page(brief, pool, (&ranked, sources), (CURSOR, budget))?;
        let (generic, cursors): (Vec<_>, Vec<_>) =
            ranked.into_iter().partition(|(_, claim)| !names_cursor(&claim.text));
        for (_, claim) in cursors {
            let url = pool.sources[claim.source].document.url.clone();
            pool.leave(&url, &claim.text, "`AGENTS.md` is for every agent, and it names one");
        }
        let agents = page(brief, pool, (&generic, sources), (AGENTS, budget))?;
        Ok(Self { cursor, agents })
    }
}

/// Where a sentence stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    Conventions,
    Focus,
    Dont,
}

/// Whether a text speaks of the editor: `AGENTS.md` is for every agent.
fn names_cursor(text: &str) -> bool {
    ["Cursor", ".cursor/", "cursor.md"].iter().any(|name| text.contains(name))
}

/// What people noted that is still to be done.
fn todos(pool: &Pool, sources: usize) -> Vec<Claim> {
    let is_todo = |claim: &&Claim| {
        let (section, block, _) = claim.place;
        pool.sources[claim.source].document.sections[section].blocks[block].sort == Sort::Todo
    };
    // Advice among them stands where advice does.
    let todos = pool.claims.iter().filter(|claim| claim.source < sources && claim.role == Role::Fact).filter(is_todo);
    todos.take(TODOS).cloned().collect()
}

/// One of the files, with as many sentences as fit.
fn page(
    brief: &Brief,
    pool: &mut Pool,
    (ranked, sources): (&[(List, Claim)], usize),
    (file, budget): (&'static str, usize),
) -> Result<String, TooSmall> {
    let render = |count: usize| text(brief, pool, (&ranked[..count], sources), file);
    let Some(count) = most_that_fit(ranked.len(), budget, render) else {
        return Err(TooSmall { file, needs: cost(&render(0)) });
    };
    let page = render(count);
    for (_, claim) in &ranked[count..] {
        let url = pool.sources[claim.source].document.url.clone();
        pool.leave(&url, &claim.text, &format!("`{file}` has no room for it"));
    }
    Ok(page)
}

fn text(brief: &Brief, pool: &Pool, (claims, sources): (&[(List, Claim)], usize), file: &str) -> String {
    let list = |list: List, none: &str| {
        let of_list = claims.iter().filter(|(of, _)| *of == list);
        let lines: String =
            of_list.map(|(_, claim)| format!("- {} [^{}]\n", claim.text, pool.sources[claim.source].id)).collect();
        if lines.is_empty() { format!("- {none}\n") } else { lines }
    };
    let stack: String = brief.stack.iter().map(|word| format!("- {}\n", guarded(&escaped(word)))).collect();
    let stack = if stack.is_empty() { "- Nothing was said of it.\n".into() } else { stack };
    let todos: String = claims
        .iter()
        .filter(|(of, _)| *of == List::Focus)
        .map(|(_, claim)| format!("- {} [^{}]\n", claim.text, pool.sources[claim.source].id))
        .collect();
    let cited: String = pool.sources[..sources]
        .iter()
        .filter(|source| file != AGENTS || !names_cursor(&source.document.title))
        .map(|source| format!("- {} [^{}]\n", guarded(&escaped(&source.document.title)), source.id))
        .collect();
    format!(
        "# Project: {}\n\n## Summary\n\n{}\n\n## Stack\n\n{stack}\n## Conventions\n\n{}\n## Current focus\n\n{}{todos}\n\
         ## Don't\n\n{}\n## Citations\n\nFootnotes lead to `sources.md`.\n\n{cited}",
        escaped(&brief.name),
        sentences(&escaped(&brief.description)).join(" "),
        list(List::Conventions, "The sources name none."),
        focus(brief),
        list(List::Dont, "The sources name nothing to avoid."),
    )
}

/// What the user wants, in the user's words.
fn focus(brief: &Brief) -> String {
    let asked = brief.prompt.as_deref().unwrap_or(&brief.description);
    let lines = sentences(&escaped(asked));
    lines.iter().filter(|line| !plain(line).trim().is_empty()).take(ASKED).map(|line| format!("- {line}\n")).collect()
}
