//! `sp cost`: the token cost of skills, by when an agent reads them.

use std::path::PathBuf;

use sp_analyze::tokens::TOKENIZER;
use sp_formats::output::{CostGroup, CostReport, SkillCost};

use crate::agents::agents;
use crate::built_in_sinks::BUILT_IN_SINKS;
use crate::check::{CheckRequest, CheckStrictness, ImportPolicy, skill_costs};
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;
use crate::sinks::{Sink, SinkRequest, SinkScope, resolve_sink, resolve_sinks};
use crate::token_counter::TokenCounter;

/// What to count. If everything is empty, the directory that `sp check` would check or, if there is
/// none, the skills of all installed agents.
#[derive(Debug, Clone)]
pub struct CostRequest {
    /// Skills, repositories or directories of skills.
    pub paths: Vec<PathBuf>,
    /// The repository given with `--root`. By default, the nearest one upward.
    pub root: Option<PathBuf>,
    /// Agents whose installed skills are counted.
    pub sinks: Vec<SinkRequest>,
}

/// Counts the tokens of skills.
pub fn cost(context: &Context<'_>, request: &CostRequest) -> Result<CostReport> {
    let session = Session::begin(context)?;
    let tokens = TokenCounter::open(context);
    let groups = cost_groups(&session, request, &tokens)?;
    tokens.store();
    Ok(CostReport { tokenizer: TOKENIZER.into(), groups })
}

fn cost_groups(
    session: &Session<'_>,
    request: &CostRequest,
    tokens: &TokenCounter<'_>,
) -> Result<Vec<CostGroup>> {
    if !request.sinks.is_empty() {
        let sinks = resolve_sinks(session, &request.sinks)?;
        return sinks.iter().map(|sink| sink_group(session, sink, tokens)).collect();
    }
    let here = check_request(request.paths.clone(), request.root.clone());
    let is_explicit = !request.paths.is_empty() || request.root.is_some();
    match skill_costs(session, &here, tokens) {
        Ok(groups) => {
            Ok(groups.into_iter().map(|(path, skills)| cost_group(None, path, skills)).collect())
        }
        Err(error) if is_explicit => Err(error),
        Err(_) => all_sink_groups(session, tokens),
    }
}

fn check_request(paths: Vec<PathBuf>, root: Option<PathBuf>) -> CheckRequest {
    CheckRequest { paths, root, strictness: CheckStrictness::Lenient, imports: ImportPolicy::Skip }
}

fn sink_group(session: &Session<'_>, sink: &Sink, tokens: &TokenCounter<'_>) -> Result<CostGroup> {
    let is_empty =
        |dir: &PathBuf| dir.read_dir().map_or(true, |mut entries| entries.next().is_none());
    let mut skills = Vec::new();
    if !is_empty(&sink.path) {
        match skill_costs(session, &check_request(vec![sink.path.clone()], None), tokens) {
            Ok(groups) => skills.extend(groups.into_iter().flat_map(|(_, skills)| skills)),
            Err(error) => session.context.emit(Event::Warning(error.to_string())),
        }
    }
    Ok(cost_group(Some(sink.agents.names().join(", ")), sink.path.clone(), skills))
}

/// Counts the skills of every agent that has any. Agents that share a directory are counted once.
fn all_sink_groups(session: &Session<'_>, tokens: &TokenCounter<'_>) -> Result<Vec<CostGroup>> {
    let configured = session.config.sinks.iter().map(|(name, _)| name.as_str());
    let names = BUILT_IN_SINKS
        .iter()
        .map(|sink| sink.name)
        .chain(configured)
        .chain(agents().iter().map(|agent| agent.id));
    let mut groups: Vec<CostGroup> = Vec::new();
    for name in names {
        let request = SinkRequest { name: name.into(), path: None, scope: SinkScope::Global };
        let Ok(sink) = resolve_sink(session, &request) else { continue };
        if !groups.iter().any(|group| group.path == sink.path) {
            let group = sink_group(session, &sink, tokens)?;
            groups.extend((!group.skills.is_empty()).then_some(group));
        }
    }
    if groups.is_empty() {
        return Err(Error::new(
            ErrorCode::NothingFound,
            "no skills found in this repository or installed for any agent",
        )
        .hint("specify a skill, a directory with skills, or an agent: `sp cost --agent claude`"));
    }
    Ok(groups)
}

fn cost_group(sink: Option<String>, path: PathBuf, mut skills: Vec<SkillCost>) -> CostGroup {
    let sum = |tier: fn(&SkillCost) -> usize| skills.iter().map(tier).sum();
    let (always, body, files) =
        (sum(|skill| skill.always), sum(|skill| skill.body), sum(|skill| skill.files));
    let total = |skill: &SkillCost| skill.always + skill.body + skill.files;
    skills.sort_by(|a, b| total(b).cmp(&total(a)).then_with(|| a.path.cmp(&b.path)));
    CostGroup { sink, path, always, body, files, skills }
}
