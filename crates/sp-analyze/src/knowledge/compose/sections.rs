//! `skills.md`, `prompts.md` and `tasks.md`: what sections of sources teach, ask and tell to do.

use std::collections::{BTreeMap, HashSet};

use super::Brief;
use super::budget::most_that_fit;
use super::pool::{Claim, FARTHEST, Pool};
use crate::knowledge::claim::{Role, TOO_SHORT, commands, is_same, refusal, shows_success, stands, word_set};
use crate::knowledge::document::{Section, Sort};
use crate::knowledge::sentence::{escaped, plain};

/// How many there are at the most.
const SKILLS: usize = 10;
const PROMPTS: usize = 8;
const TASKS: usize = 10;
/// Of one source.
const OF_ONE: usize = 3;
/// How many bullets a skill and a task have.
const PATTERN: usize = 5;
const STEPS: usize = 8;
/// Headings that say nothing without the title above them.
#[rustfmt::skip]
const BARE: &[&str] = &[
    "introduction", "overview", "usage", "example", "examples", "notes", "summary", "background", "details", "steps",
    "setup", "conclusion", "tips", "how to", "why", "basics", "tl;dr", "takeaways", "key points", "checklist", "todo",
    "to do", "next steps", "what to do", "do", "rules", "the fix", "solution", "problem", "what", "how",
    "in practice", "fact", "decision", "gotcha", "convention", "pattern", "insight",
];
/// In which order things are done, by the words of a heading.
#[rustfmt::skip]
const PHASES: &[(usize, &[&str])] = &[
    (0, &["install", "setup", "set up", "prerequisite", "getting started", "create", "init", "scaffold", "prepare"]),
    (1, &["config", "connect", "schema", "model", "design"]),
    (3, &["test", "verify", "debug", "measure", "profile", "check", "validate"]),
    (4, &["deploy", "release", "roll", "monitor", "production", "publish", "migrate", "operate", "backup"]),
];

/// The three files; none where there is nothing to say.
#[derive(Default)]
pub(super) struct Sections {
    pub skills: Option<String>,
    pub prompts: Option<String>,
    pub tasks: Option<String>,
}

impl Sections {
    pub(super) fn new(brief: &Brief, pool: &mut Pool, sources: usize, budget: usize) -> Self {
        let claims = by_section(pool, sources);
        let skills = skills(pool, &claims);
        let tasks = tasks(pool, &claims);
        let prompts = prompts(brief, pool, sources, &skills);
        let of_skills: Vec<String> = skills.iter().map(|skill| skill.text(pool)).collect();
        Self {
            skills: file("Skills", &of_skills, budget),
            prompts: file("Prompts", &prompts, budget),
            tasks: file("Tasks", &numbered(&tasks, pool), budget),
        }
    }
}

/// The sentences of each section of each source that has any, in their order.
type BySection<'p> = BTreeMap<(usize, usize), Vec<&'p Claim>>;

fn by_section(pool: &Pool, sources: usize) -> BySection<'_> {
    let mut sections = BySection::new();
    for claim in pool.claims.iter().filter(|claim| claim.source < sources) {
        sections.entry((claim.source, claim.place.0)).or_default().push(claim);
    }
    sections.values_mut().for_each(|claims| claims.sort_by_key(|claim| claim.place));
    sections
}

/// A file of sections, as many as fit; none without any.
fn file(title: &str, sections: &[String], budget: usize) -> Option<String> {
    let text = |count: usize| format!("# {title}\n\n{}", sections[..count].join("\n"));
    let count = most_that_fit(sections.len(), budget, text).filter(|count| *count > 0)?;
    Some(text(count))
}

/// A technique: a heading of a source, and what stands below it.
struct Skill {
    source: usize,
    title: String,
    context: String,
    pattern: Vec<String>,
    score: u64,
    place: usize,
}

impl Skill {
    fn text(&self, pool: &Pool) -> String {
        let id = &pool.sources[self.source].id;
        let pattern: String = self.pattern.iter().map(|line| format!("- {line} [^{id}]\n")).collect();
        format!("## {}\n\nContext: {} [^{id}]\n\nPattern:\n\n{pattern}\nSources: [^{id}]\n", self.title, self.context)
    }
}

fn skills(pool: &Pool, claims: &BySection<'_>) -> Vec<Skill> {
    let mut found: Vec<Skill> = claims.iter().filter_map(|(place, here)| skill(pool, *place, here)).collect();
    found.sort_by(|a, b| b.score.cmp(&a.score).then(a.source.cmp(&b.source)).then(a.place.cmp(&b.place)));
    let best = found.first().map_or(0, |skill| skill.score);
    let mut chosen: Vec<(Skill, HashSet<u64>)> = Vec::new();
    for skill in found.into_iter().filter(|skill| skill.score * FARTHEST >= best) {
        let words = word_set(&format!("{} {} {}", skill.title, skill.context, skill.pattern.join(" ")));
        let is_known = chosen.iter().any(|(known, seen)| known.title == skill.title || is_same(seen, &words));
        let of_source = chosen.iter().filter(|(known, _)| known.source == skill.source).count();
        if !is_known && of_source < OF_ONE && chosen.len() < SKILLS {
            chosen.push((skill, words));
        }
    }
    chosen.into_iter().map(|(skill, _)| skill).collect()
}

/// What a section teaches: when it helps, and at least two things that are done.
fn skill(pool: &Pool, (source, place): (usize, usize), here: &[&Claim]) -> Option<Skill> {
    let document = &pool.sources[source].document;
    let section = &document.sections[place];
    let sort = |claim: &Claim| section.blocks[claim.place.1].sort;
    let is_text = |claim: &Claim| matches!(sort(claim), Sort::Text | Sort::Highlight);
    let texts = || here.iter().filter(|claim| is_text(claim));
    let is_clear = |claim: &&&Claim| claim.role == Role::Fact && stands(&claim.text) == 100;
    let context =
        texts().find(is_clear).or_else(|| texts().find(|claim| claim.role == Role::Fact)).or_else(|| texts().next())?;
    let is_step =
        |claim: &Claim| claim.role != Role::Fact || matches!(sort(claim), Sort::Item | Sort::Step | Sort::Tip);
    let mut seen = HashSet::new();
    let pattern: Vec<&&Claim> = here
        .iter()
        .filter(|claim| {
            claim.text != context.text
                && is_step(claim)
                && sort(claim) != Sort::Todo
                && seen.insert(claim.text.as_str())
        })
        .take(PATTERN)
        .collect();
    if pattern.len() < 2 {
        return None;
    }
    let best: u64 = pattern.iter().map(|claim| claim.score).sum::<u64>() / pattern.len() as u64;
    let all: Vec<&str> = pattern.iter().chain([&context]).map(|claim| claim.text.as_str()).collect();
    let near = pool.relevance.of(&plain(&format!("{} {}", section.title, all.join(" "))));
    Some(Skill {
        source,
        title: title(&document.title, section),
        context: context.text.clone(),
        pattern: pattern.iter().map(|claim| claim.text.clone()).collect(),
        score: best * near,
        place,
    })
}

/// The heading of a section; with the title of the document where it says nothing alone.
fn title(document: &str, section: &Section) -> String {
    let heading = section.title.trim_end_matches([':', '.']);
    let bare = plain(heading).to_lowercase();
    let bare = bare.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ' ');
    let document = escaped(document);
    match () {
        () if bare.is_empty() || plain(heading) == plain(&document) => document,
        () if BARE.contains(&bare) => format!("{document}: {heading}"),
        () => unnumbered(heading).to_owned(),
    }
}

/// A heading without the number before it.
fn unnumbered(heading: &str) -> &str {
    let rest = heading.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = if rest.len() < heading.len() { rest.trim_start_matches(['\\', '.', ')', ':', ' ']) } else { heading };
    if rest.is_empty() { heading } else { rest }
}

/// A thing to do: steps that a source numbers, or what somebody noted for later.
struct Task {
    source: usize,
    title: String,
    steps: Vec<String>,
    acceptance: Option<String>,
    phase: usize,
    score: u64,
    place: usize,
}

fn tasks(pool: &Pool, claims: &BySection<'_>) -> Vec<Task> {
    let mut found: Vec<Task> = Vec::new();
    for (place, here) in claims {
        let of_source = found.iter().rev().take_while(|known| known.source == place.0).count();
        if of_source < OF_ONE {
            found.extend(task(pool, *place, here));
        }
    }
    found.sort_by(|a, b| b.score.cmp(&a.score).then(a.source.cmp(&b.source)).then(a.place.cmp(&b.place)));
    found.truncate(TASKS);
    found.sort_by_key(|task| task.phase);
    found
}

fn task(pool: &Pool, (source, place): (usize, usize), here: &[&Claim]) -> Option<Task> {
    let document = &pool.sources[source].document;
    let section = &document.sections[place];
    let is_step = |sort: Sort| matches!(sort, Sort::Step | Sort::Todo);
    let blocks = section.blocks.iter().filter(|block| is_step(block.sort));
    // What follows the first sentence of a step explains it.
    let sentences = blocks.filter_map(|block| block.sentences.first().map(|first| (block.sort, first)));
    // A step may be short: the heading says what it is about.
    let is_fine = |text: &str| !matches!(refusal(text), Some(why) if why != TOO_SHORT);
    let steps: Vec<(Sort, &String)> = sentences.filter(|(_, text)| is_fine(text)).take(STEPS).collect();
    // Numbers stand before things that are counted, too: then they are nothing to do.
    let commanding = steps.iter().filter(|(sort, text)| *sort == Sort::Todo || commands(text)).count();
    if steps.len() < 2 || commanding * 2 < steps.len() {
        return None;
    }
    let steps: Vec<String> = steps.into_iter().map(|(_, text)| text.clone()).collect();
    let all = section.blocks.iter().filter(|block| !is_step(block.sort)).flat_map(|block| &block.sentences);
    let acceptance = all.filter(|text| refusal(text).is_none()).find(|text| shows_success(text)).cloned();
    let title = title(&document.title, section);
    let score = here.iter().map(|claim| claim.score).max()? + pool.relevance.of(&title);
    let lower = title.to_lowercase();
    let phase =
        PHASES.iter().find(|(_, words)| words.iter().any(|word| lower.contains(word))).map_or(2, |(phase, _)| *phase);
    Some(Task { source, title, steps, acceptance, phase, score, place })
}

fn numbered(tasks: &[Task], pool: &Pool) -> Vec<String> {
    let one = |(number, task): (usize, &Task)| {
        let id = &pool.sources[task.source].id;
        let steps: String = task.steps.iter().map(|step| format!("- {step} [^{id}]\n")).collect();
        let acceptance = task.acceptance.as_deref().unwrap_or("Every step above is done as the source says.");
        format!("## {number}. {}\n\n{steps}- Acceptance: {acceptance} [^{id}]\n", task.title)
    };
    (1..).zip(tasks).map(one).collect()
}

/// Prompts to be pasted: what the user asked for, and one for each technique.
fn prompts(brief: &Brief, pool: &Pool, sources: usize, skills: &[Skill]) -> Vec<String> {
    let mut prompts = Vec::new();
    if let Some(prompt) = brief.prompt.as_deref().filter(|prompt| !prompt.trim().is_empty()) {
        let cited: Vec<String> =
            pool.sources[..sources].iter().take(3).map(|source| format!("[^{}]", source.id)).collect();
        let text =
            format!("{}\n\nFollow AGENTS.md and its footnotes. Name the source behind every choice.", prompt.trim());
        if !cited.is_empty() {
            prompts.push(section("What was asked for", &text, &cited.join(", ")));
        }
    }
    for skill in skills.iter().take(PROMPTS - prompts.len()) {
        let id = &pool.sources[skill.source].id;
        let pattern: String = skill.pattern.iter().map(|line| format!("- {} [^{id}]\n", shown(line))).collect();
        let text = format!(
            "Project: {}. {}\n\nApply this to the project: {}\n{pattern}\nFollow AGENTS.md. Name the source behind every choice.",
            brief.name,
            brief.description.trim(),
            shown(&skill.title),
        );
        prompts.push(section(&format!("Apply: {}", skill.title), &text, &format!("[^{id}]")));
    }
    prompts
}

/// A prompt in a block of text that nothing in it can end.
fn section(title: &str, text: &str, sources: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("## {title}\n\n{fence}text\n{text}\n{fence}\n\nSources: {sources}\n")
}

/// A sentence as it is shown where Markdown means nothing: without the marks of escaping, with those of code.
fn shown(sentence: &str) -> String {
    let pieces: Vec<&str> = sentence.split('`').collect();
    let piece = |(at, piece): (usize, &&str)| if at % 2 == 0 { plain(piece) } else { format!("`{piece}`") };
    pieces.iter().enumerate().map(piece).collect()
}
