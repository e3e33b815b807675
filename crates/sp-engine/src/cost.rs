//! `sp cost`: how many tokens skills cost, by when an agent reads them.

use std::path::PathBuf;

use sp_analyze::tokens::TOKENIZER;
use sp_formats::output::{CostGroup, CostReport, SkillCost};

use crate::agents::agents;
use crate::check::{CheckRequest, Imports, Strictness, costs};
use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};
use crate::sinks::{BUILT_IN, Scope, Sink, SinkRequest, find};
use crate::tokens::Tokens;

/// What is to be counted.
#[derive(Debug, Clone)]
pub struct CostRequest {
    /// Skills, repositories or folders of skills.
    pub paths: Vec<PathBuf>,
    /// The repository, where it is not the nearest upward.
    pub root: Option<PathBuf>,
    /// Agents, with all that they read.
    pub sinks: Vec<SinkRequest>,
}

/// Counts. Where nothing is named it is what the current directory is in, or else every agent
/// on this machine that has skills.
pub fn cost(context: &Context<'_>, request: &CostRequest) -> Result<CostReport> {
    let session = Session::begin(context)?;
    let tokens = Tokens::open(context);
    let groups = groups(&session, request, &tokens)?;
    tokens.store();
    Ok(CostReport { tokenizer: TOKENIZER.into(), groups })
}

fn groups(session: &Session<'_>, request: &CostRequest, tokens: &Tokens<'_>) -> Result<Vec<CostGroup>> {
    if !request.sinks.is_empty() {
        return request.sinks.iter().map(|wanted| sink_group(session, &find(session, wanted)?, tokens)).collect();
    }
    let here = check_request(request.paths.clone(), request.root.clone());
    let named = !request.paths.is_empty() || request.root.is_some();
    match costs(session, &here, tokens) {
        Ok(groups) => Ok(groups.into_iter().map(|(path, skills)| group(None, path, skills)).collect()),
        Err(error) if named => Err(error),
        Err(_) => every_sink(session, tokens),
    }
}

fn check_request(paths: Vec<PathBuf>, root: Option<PathBuf>) -> CheckRequest {
    CheckRequest { paths, root, strictness: Strictness::Lenient, imports: Imports::Leave }
}

fn sink_group(session: &Session<'_>, sink: &Sink, tokens: &Tokens<'_>) -> Result<CostGroup> {
    let is_empty = |dir: &PathBuf| dir.read_dir().map_or(true, |mut entries| entries.next().is_none());
    let skills = match is_empty(&sink.path) {
        true => Vec::new(),
        false => costs(session, &check_request(vec![sink.path.clone()], None), tokens)
            .map(|groups| groups.into_iter().flat_map(|(_, skills)| skills).collect())
            .or_else(|error| {
                session.context.tell(Event::Warning(error.to_string()));
                Ok::<_, Error>(Vec::new())
            })?,
    };
    Ok(group(Some(sink.name.clone()), sink.path.clone(), skills))
}

/// Every agent that has skills on this machine, each place once.
fn every_sink(session: &Session<'_>, tokens: &Tokens<'_>) -> Result<Vec<CostGroup>> {
    let configured = session.config.sinks.iter().map(|(name, _)| name.as_str());
    let names = BUILT_IN.iter().map(|(name, ..)| *name).chain(configured).chain(agents().iter().map(|agent| agent.id));
    let mut groups: Vec<CostGroup> = Vec::new();
    for name in names {
        let wanted = SinkRequest { name: name.into(), path: None, scope: Scope::Global };
        let Ok(sink) = find(session, &wanted) else { continue };
        if !groups.iter().any(|group| group.path == sink.path) {
            let group = sink_group(session, &sink, tokens)?;
            groups.extend((!group.skills.is_empty()).then_some(group));
        }
    }
    if groups.is_empty() {
        return Err(Error::new(Kind::Request, "there are no skills here, and none is installed for any agent")
            .hint("name a skill, a directory with skills, or an agent: `sp cost --agent claude`"));
    }
    Ok(groups)
}

fn group(sink: Option<String>, path: PathBuf, mut skills: Vec<SkillCost>) -> CostGroup {
    let sum = |tier: fn(&SkillCost) -> usize| skills.iter().map(tier).sum();
    let (always, body, files) = (sum(|skill| skill.always), sum(|skill| skill.body), sum(|skill| skill.files));
    let total = |skill: &SkillCost| skill.always + skill.body + skill.files;
    skills.sort_by(|a, b| total(b).cmp(&total(a)).then_with(|| a.path.cmp(&b.path)));
    CostGroup { sink, path, always, body, files, skills }
}
