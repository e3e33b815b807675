//! `sp cost`: the token cost of skills, by when an agent reads them.

use std::path::{Path, PathBuf};

use sp_analyze::tokens::TOKENIZER;
use sp_formats::output::{CostGroup, CostReport, SkillCost};
use sp_formats::skill::{self, SKILL_FILE};
use sp_formats::web_url::has_web_scheme;
use sp_tree::{Dir, LoadedTree, load_untrusted};

use crate::agents::agents;
use crate::built_in_sinks::BUILT_IN_SINKS;
use crate::check::{CheckRequest, CheckStrictness, ImportPolicy, skill_costs};
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::files::{InputKind, require_input};
use crate::install::selection::resolve_pack;
use crate::install::skill_set::{InstallableSkill, SkillSource};
use crate::repository::is_pack_file;
use crate::session::Session;
use crate::sinks::{Sink, SinkRequest, SinkScope, resolve_sink, resolve_sinks};
use crate::source::load_commit_folder;
use crate::token_counter::TokenCounter;

/// What to count. If everything is empty, the directory that `sp check` would check or, if there is
/// none, the skills of all installed agents.
#[derive(Debug, Clone)]
pub struct CostRequest {
    /// Packs, skills, repositories or directories of skills.
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
    if request.paths.is_empty() {
        let here = check_request(Vec::new(), request.root.clone());
        return match skill_costs(session, &here, tokens) {
            Ok(groups) => Ok(path_groups(groups)),
            Err(error) if request.root.is_some() => Err(error),
            Err(_) => all_sink_groups(session, tokens),
        };
    }
    let mut groups = Vec::new();
    for path in &request.paths {
        match pack_spec(session.context, path) {
            Some(spec) => groups.push(pack_group(session, request.root.as_deref(), spec, tokens)?),
            None => {
                let real = session.context.expand(&path.to_string_lossy());
                if !has_web_scheme(&path.to_string_lossy()) {
                    require_input(session.context, &real, InputKind::FileOrDirectory)?;
                }
                let at = check_request(vec![path.clone()], request.root.clone());
                groups.extend(path_groups(skill_costs(session, &at, tokens)?));
            }
        }
    }
    Ok(groups)
}

fn path_groups(groups: Vec<(PathBuf, Vec<SkillCost>)>) -> Vec<CostGroup> {
    groups.into_iter().map(|(path, skills)| cost_group(path, skills)).collect()
}

/// Returns the argument if it names a pack: a pack file, or a word that is not a path.
fn pack_spec<'p>(context: &Context<'_>, argument: &'p Path) -> Option<&'p str> {
    let text = argument.to_str()?;
    let path = context.expand(text);
    let is_pack = match path.metadata() {
        Ok(metadata) => metadata.is_file() && is_pack_file(&path),
        Err(_) => !text.contains('/'),
    };
    is_pack.then_some(text)
}

/// Counts the skills that a pack selects, fetching its imports if needed.
fn pack_group(
    session: &Session<'_>,
    root: Option<&Path>,
    spec: &str,
    tokens: &TokenCounter<'_>,
) -> Result<CostGroup> {
    let resolved = resolve_pack(session, root, spec, None).map_err(|error| {
        if error.has_code(ErrorCode::RepositoryNotFound) {
            Error::new(ErrorCode::FileNotFound, format!("`{spec}` is not a path, nor a pack"))
                .hint("check the path, or run `sp cost` in the repository of the pack")
        } else {
            error
        }
    })?;
    let cost_of = |skill: &InstallableSkill| -> Result<SkillCost> {
        let id = skill.source.id();
        let (path, content) = match &skill.source {
            SkillSource::Local { skills_dir, .. } => {
                let path = skills_dir.join(id);
                let content = load_untrusted(&Dir::open(&path)?, &session.limits)?;
                (path, content)
            }
            SkillSource::Git { checkout, .. } => {
                let path = Path::new(&checkout.repo.display_url).join(id);
                (path, load_commit_folder(session, checkout, id)?)
            }
            SkillSource::Package { content, .. } => (id.into(), content.as_ref().clone()),
            SkillSource::Locked(locked) => {
                (id.into(), locked.content.as_deref().cloned().unwrap_or_default())
            }
        };
        Ok(tree_cost(session, path, &content, tokens))
    };
    let skills: Vec<SkillCost> = resolved.skills.iter().map(cost_of).collect::<Result<_>>()?;
    Ok(CostGroup { pack: Some(resolved.origin.name), ..cost_group(resolved.path, skills) })
}

/// Counts the tokens of a skill in memory.
fn tree_cost(
    session: &Session<'_>,
    path: PathBuf,
    content: &LoadedTree,
    tokens: &TokenCounter<'_>,
) -> SkillCost {
    let folder = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut cost = SkillCost { path, name: None, always: 0, body: 0, files: 0 };
    for (file, _, bytes) in content.files() {
        let Some(text) = std::str::from_utf8(bytes).ok().filter(|_| !bytes.contains(&0)) else {
            continue;
        };
        if file.as_str() != SKILL_FILE {
            cost.files += tokens.count(text);
            continue;
        }
        let Some(skill) = skill::read("", &folder, bytes, &session.limits).0 else { continue };
        let count = |text: Option<&String>| text.map_or(0, |text| tokens.count(text));
        cost.always = count(skill.name.as_ref()) + count(skill.description.as_ref());
        cost.body = tokens.count(text[skill.body_start..].trim());
        cost.name = skill.name;
    }
    cost
}

fn check_request(paths: Vec<PathBuf>, root: Option<PathBuf>) -> CheckRequest {
    CheckRequest {
        paths,
        root,
        strictness: CheckStrictness::Lenient,
        imports: ImportPolicy::Skip,
        baseline: None,
    }
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
    let group = cost_group(sink.path.clone(), skills);
    let agents = sink.agents.names().to_vec();
    Ok(CostGroup { sink: agents.first().cloned(), agents, ..group })
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

fn cost_group(path: PathBuf, mut skills: Vec<SkillCost>) -> CostGroup {
    let sum = |tier: fn(&SkillCost) -> usize| skills.iter().map(tier).sum();
    let (always, body, files) =
        (sum(|skill| skill.always), sum(|skill| skill.body), sum(|skill| skill.files));
    let total = |skill: &SkillCost| skill.always + skill.body + skill.files;
    skills.sort_by(|a, b| total(b).cmp(&total(a)).then_with(|| a.path.cmp(&b.path)));
    CostGroup { sink: None, agents: Vec::new(), pack: None, path, always, body, files, skills }
}
