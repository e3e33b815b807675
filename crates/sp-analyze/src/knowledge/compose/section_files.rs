//! `skills.md`, `prompts.md` and `tasks.md`: techniques, prompts and tasks from sections of the
//! sources.

use std::collections::{BTreeMap, HashSet};

use super::Brief;
use super::budget::max_fitting;
use super::pool::{ClaimPool, MAX_SCORE_RATIO, SourceClaim};
use crate::knowledge::classify::{
    SentenceRole, TOO_SHORT, is_imperative, is_near_duplicate, rejection_reason, shows_success,
    standalone_percent, word_set,
};
use crate::knowledge::document::{KnowledgeBlockKind, KnowledgeSection};
use crate::knowledge::sentence::{escape_markdown, to_plain_text};

/// Maximum number of entries per file.
const MAX_SKILLS: usize = 10;
const MAX_PROMPTS: usize = 8;
const MAX_TASKS: usize = 10;
/// Maximum number of entries from one source.
const MAX_PER_SOURCE: usize = 3;
/// Maximum number of bullets per skill and per task.
const MAX_PATTERN_LINES: usize = 5;
const MAX_STEPS: usize = 8;
/// Headings that mean nothing without the title above them.
#[rustfmt::skip]
const GENERIC_HEADINGS: &[&str] = &[
    "introduction", "overview", "usage", "example", "examples", "notes", "summary", "background",
    "details", "steps", "setup", "conclusion", "tips", "how to", "why", "basics", "tl;dr",
    "takeaways", "key points", "checklist", "todo", "to do", "next steps", "what to do", "do",
    "rules", "the fix", "solution", "problem", "what", "how", "in practice", "fact", "decision",
    "gotcha", "convention", "pattern", "insight",
];
/// Order of tasks, by words in the heading.
#[rustfmt::skip]
const PHASES: &[(usize, &[&str])] = &[
    (0, &["install", "setup", "set up", "prerequisite", "getting started", "create", "init", "scaffold", "prepare"]),
    (1, &["config", "connect", "schema", "model", "design"]),
    (3, &["test", "verify", "debug", "measure", "profile", "check", "validate"]),
    (4, &["deploy", "release", "roll", "monitor", "production", "publish", "migrate", "operate", "backup"]),
];

/// The three files; `None` for those without content.
#[derive(Default)]
pub(super) struct SectionFiles {
    pub skills: Option<String>,
    pub prompts: Option<String>,
    pub tasks: Option<String>,
}

impl SectionFiles {
    pub(super) fn new(brief: &Brief, pool: &mut ClaimPool, sources: usize, budget: usize) -> Self {
        let claims = claims_by_section(pool, sources);
        let skills = collect_skills(pool, &claims);
        let tasks = collect_tasks(pool, &claims);
        let prompts = render_prompts(brief, pool, sources, &skills);
        let of_skills: Vec<String> = skills.iter().map(|skill| skill.to_markdown(pool)).collect();
        Self {
            skills: render_file("Skills", &of_skills, budget),
            prompts: render_file("Prompts", &prompts, budget),
            tasks: render_file("Tasks", &render_tasks(&tasks, pool), budget),
        }
    }
}

/// A section of a source, by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SectionKey {
    source: usize,
    section: usize,
}

/// The claims of each section, in document order.
type ClaimsBySection<'p> = BTreeMap<SectionKey, Vec<&'p SourceClaim>>;

fn claims_by_section(pool: &ClaimPool, sources: usize) -> ClaimsBySection<'_> {
    let mut sections = ClaimsBySection::new();
    for claim in pool.claims.iter().filter(|claim| claim.source < sources) {
        let key = SectionKey { source: claim.source, section: claim.position.section };
        sections.entry(key).or_default().push(claim);
    }
    sections.values_mut().for_each(|claims| claims.sort_by_key(|claim| claim.position));
    sections
}

/// Renders a file with as many sections as fit; `None` if there are none.
fn render_file(title: &str, sections: &[String], budget: usize) -> Option<String> {
    let text = |count: usize| format!("# {title}\n\n{}", sections[..count].join("\n"));
    let count = max_fitting(sections.len(), budget, text).filter(|count| *count > 0)?;
    Some(text(count))
}

/// A technique: a heading of a source and the sentences below it.
struct SkillSection {
    source: usize,
    title: String,
    context: String,
    pattern: Vec<String>,
    score: u64,
    section_index: usize,
}

impl SkillSection {
    fn to_markdown(&self, pool: &ClaimPool) -> String {
        let id = &pool.sources[self.source].id;
        let pattern: String =
            self.pattern.iter().map(|line| format!("- {line} [^{id}]\n")).collect();
        format!(
            "## {}\n\nContext: {} [^{id}]\n\nPattern:\n\n{pattern}\nSources: [^{id}]\n",
            self.title, self.context
        )
    }
}

fn collect_skills(pool: &ClaimPool, claims: &ClaimsBySection<'_>) -> Vec<SkillSection> {
    let mut found: Vec<SkillSection> =
        claims.iter().filter_map(|(key, claims)| skill_from_section(pool, *key, claims)).collect();
    found.sort_by(|a, b| {
        b.score
            .cmp(&a.score)
            .then(a.source.cmp(&b.source))
            .then(a.section_index.cmp(&b.section_index))
    });
    let best = found.first().map_or(0, |skill| skill.score);
    let mut chosen: Vec<(SkillSection, HashSet<u64>)> = Vec::new();
    for skill in found.into_iter().filter(|skill| skill.score * MAX_SCORE_RATIO >= best) {
        let words =
            word_set(&format!("{} {} {}", skill.title, skill.context, skill.pattern.join(" ")));
        let is_known = chosen
            .iter()
            .any(|(known, seen)| known.title == skill.title || is_near_duplicate(seen, &words));
        let of_source = chosen.iter().filter(|(known, _)| known.source == skill.source).count();
        if !is_known && of_source < MAX_PER_SOURCE && chosen.len() < MAX_SKILLS {
            chosen.push((skill, words));
        }
    }
    chosen.into_iter().map(|(skill, _)| skill).collect()
}

/// Turns a section into a skill if it says when to use it and has at least two instructions.
fn skill_from_section(
    pool: &ClaimPool,
    SectionKey { source, section: section_index }: SectionKey,
    claims: &[&SourceClaim],
) -> Option<SkillSection> {
    let document = &pool.sources[source].document;
    let section = &document.sections[section_index];
    let context = context_claim(section, claims)?;
    let pattern = instructions(section, claims, context);
    if pattern.len() < 2 {
        return None;
    }
    let mean_score: u64 =
        pattern.iter().map(|claim| claim.score).sum::<u64>() / pattern.len() as u64;
    let texts: Vec<&str> =
        pattern.iter().copied().chain([context]).map(|claim| claim.text.as_str()).collect();
    let relevance =
        pool.relevance.score(&to_plain_text(&format!("{} {}", section.title, texts.join(" "))));
    Some(SkillSection {
        source,
        title: section_title(&document.title, section),
        context: context.text.clone(),
        pattern: pattern.iter().map(|claim| claim.text.clone()).collect(),
        score: mean_score * relevance,
        section_index,
    })
}

fn block_kind(section: &KnowledgeSection, claim: &SourceClaim) -> KnowledgeBlockKind {
    section.blocks[claim.position.block].sort
}

/// The claim that says when to use a skill: a fact that stands alone, any fact, or any text.
fn context_claim<'c>(
    section: &KnowledgeSection,
    claims: &[&'c SourceClaim],
) -> Option<&'c SourceClaim> {
    let texts = || {
        claims.iter().copied().filter(|claim| {
            matches!(
                block_kind(section, claim),
                KnowledgeBlockKind::Text | KnowledgeBlockKind::Highlight
            )
        })
    };
    let facts = || texts().filter(|claim| claim.role == SentenceRole::Fact);
    facts()
        .find(|claim| standalone_percent(&claim.text) == 100)
        .or_else(|| facts().next())
        .or_else(|| texts().next())
}

/// The distinct instructions of a section, without its context.
fn instructions<'c>(
    section: &KnowledgeSection,
    claims: &[&'c SourceClaim],
    context: &SourceClaim,
) -> Vec<&'c SourceClaim> {
    let is_instruction = |claim: &SourceClaim| {
        let kind = block_kind(section, claim);
        let is_listed = matches!(
            kind,
            KnowledgeBlockKind::Item | KnowledgeBlockKind::Step | KnowledgeBlockKind::Tip
        );
        (claim.role != SentenceRole::Fact || is_listed) && kind != KnowledgeBlockKind::Todo
    };
    let mut seen = HashSet::new();
    claims
        .iter()
        .copied()
        .filter(|claim| {
            claim.text != context.text && is_instruction(claim) && seen.insert(claim.text.as_str())
        })
        .take(MAX_PATTERN_LINES)
        .collect()
}

/// The heading of a section, with the document title if it means nothing alone.
fn section_title(document: &str, section: &KnowledgeSection) -> String {
    let heading = section.title.trim_end_matches([':', '.']);
    let bare = to_plain_text(heading).to_lowercase();
    let bare = bare.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ' ');
    let document = escape_markdown(document);
    if bare.is_empty() || to_plain_text(heading) == to_plain_text(&document) {
        document
    } else if GENERIC_HEADINGS.contains(&bare) {
        format!("{document}: {heading}")
    } else {
        strip_number(heading).to_owned()
    }
}

/// The heading without a leading number.
fn strip_number(heading: &str) -> &str {
    let rest = heading.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = if rest.len() < heading.len() {
        rest.trim_start_matches(['\\', '.', ')', ':', ' '])
    } else {
        heading
    };
    if rest.is_empty() { heading } else { rest }
}

/// A task: numbered steps of a source, or a to-do.
struct TaskSection {
    source: usize,
    title: String,
    steps: Vec<String>,
    acceptance: Option<String>,
    phase: usize,
    score: u64,
    section_index: usize,
}

fn collect_tasks(pool: &ClaimPool, claims: &ClaimsBySection<'_>) -> Vec<TaskSection> {
    let mut found: Vec<TaskSection> = Vec::new();
    for (key, claims) in claims {
        let of_source = found.iter().rev().take_while(|known| known.source == key.source).count();
        if of_source < MAX_PER_SOURCE {
            found.extend(task_from_section(pool, *key, claims));
        }
    }
    found.sort_by(|a, b| {
        b.score
            .cmp(&a.score)
            .then(a.source.cmp(&b.source))
            .then(a.section_index.cmp(&b.section_index))
    });
    found.truncate(MAX_TASKS);
    found.sort_by_key(|task| task.phase);
    found
}

fn task_from_section(
    pool: &ClaimPool,
    SectionKey { source, section: section_index }: SectionKey,
    claims: &[&SourceClaim],
) -> Option<TaskSection> {
    let document = &pool.sources[source].document;
    let section = &document.sections[section_index];
    let steps = task_steps(section)?;
    let acceptance = section
        .blocks
        .iter()
        .filter(|block| !is_task_step(block.sort))
        .flat_map(|block| &block.sentences)
        .filter(|text| rejection_reason(text).is_none())
        .find(|text| shows_success(text))
        .cloned();
    let title = section_title(&document.title, section);
    let score = claims.iter().map(|claim| claim.score).max()? + pool.relevance.score(&title);
    let lower = title.to_lowercase();
    let phase = PHASES
        .iter()
        .find(|(_, words)| words.iter().any(|word| lower.contains(word)))
        .map_or(2, |(phase, _)| *phase);
    Some(TaskSection { source, title, steps, acceptance, phase, score, section_index })
}

fn is_task_step(kind: KnowledgeBlockKind) -> bool {
    matches!(kind, KnowledgeBlockKind::Step | KnowledgeBlockKind::Todo)
}

/// The steps of a section, if it has at least two and half of them are instructions.
fn task_steps(section: &KnowledgeSection) -> Option<Vec<String>> {
    let blocks = section.blocks.iter().filter(|block| is_task_step(block.sort));
    // The sentences after the first one of a step explain it.
    let sentences =
        blocks.filter_map(|block| block.sentences.first().map(|first| (block.sort, first)));
    // A step may be short, because the heading gives its context.
    let is_fine = |text: &str| !matches!(rejection_reason(text), Some(why) if why != TOO_SHORT);
    let steps: Vec<(KnowledgeBlockKind, &String)> =
        sentences.filter(|(_, text)| is_fine(text)).take(MAX_STEPS).collect();
    // Numbered lists also enumerate things; without instructions they are not tasks.
    let instruction_count = steps
        .iter()
        .filter(|(kind, text)| *kind == KnowledgeBlockKind::Todo || is_imperative(text))
        .count();
    if steps.len() < 2 || instruction_count * 2 < steps.len() {
        return None;
    }
    Some(steps.into_iter().map(|(_, text)| text.clone()).collect())
}

fn render_tasks(tasks: &[TaskSection], pool: &ClaimPool) -> Vec<String> {
    let render = |(number, task): (usize, &TaskSection)| {
        let id = &pool.sources[task.source].id;
        let steps: String = task.steps.iter().map(|step| format!("- {step} [^{id}]\n")).collect();
        let acceptance = task
            .acceptance
            .as_deref()
            .unwrap_or("Every step above is complete, as described in the source.");
        format!("## {number}. {}\n\n{steps}- Acceptance: {acceptance} [^{id}]\n", task.title)
    };
    (1..).zip(tasks).map(render).collect()
}

/// Renders prompts to paste: the user's request, and one per technique.
fn render_prompts(
    brief: &Brief,
    pool: &ClaimPool,
    sources: usize,
    skills: &[SkillSection],
) -> Vec<String> {
    let mut prompts = Vec::new();
    if let Some(prompt) = brief.prompt.as_deref().filter(|prompt| !prompt.trim().is_empty()) {
        let cited: Vec<String> = pool.sources[..sources]
            .iter()
            .take(3)
            .map(|source| format!("[^{}]", source.id))
            .collect();
        let text = format!(
            "{}\n\nFollow AGENTS.md and its footnotes. Cite the source of every decision.",
            prompt.trim()
        );
        if !cited.is_empty() {
            prompts.push(render_prompt("Original request", &text, &cited.join(", ")));
        }
    }
    for skill in skills.iter().take(MAX_PROMPTS - prompts.len()) {
        let id = &pool.sources[skill.source].id;
        let pattern: String = skill
            .pattern
            .iter()
            .map(|line| format!("- {} [^{id}]\n", unescape_outside_code(line)))
            .collect();
        let text = format!(
            "Project: {}. {}\n\nApply this to the project: {}\n{pattern}\n\
             Follow AGENTS.md. Cite the source of every decision.",
            brief.name,
            brief.description.trim(),
            unescape_outside_code(&skill.title),
        );
        prompts.push(render_prompt(&format!("Apply: {}", skill.title), &text, &format!("[^{id}]")));
    }
    prompts
}

/// Renders a prompt as a code block with a fence that its text cannot close.
fn render_prompt(title: &str, text: &str, sources: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("## {title}\n\n{fence}text\n{text}\n{fence}\n\nSources: {sources}\n")
}

/// Removes Markdown escapes outside code spans.
fn unescape_outside_code(sentence: &str) -> String {
    let pieces: Vec<&str> = sentence.split('`').collect();
    let piece = |(at, piece): (usize, &&str)| {
        if at % 2 == 0 { to_plain_text(piece) } else { format!("`{piece}`") }
    };
    pieces.iter().enumerate().map(piece).collect()
}
