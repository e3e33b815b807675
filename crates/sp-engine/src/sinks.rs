//! Sinks: the directories that agents read skills from.
//!
//! [`resolve_sink`] turns a [`SinkRequest`], the values of `--agent`, `--path` and `--scope`, into
//! a [`Sink`] on this machine. A path comes from `--path`, else from `sinks` in the configuration,
//! else from the built-in sinks of the Skillpacks format, else from the table of agents.
//!
//! A [`Sink`] has the real path and an open directory. Everything done in a sink is done through
//! that directory, so replacing the path by a link later has no effect.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::config::Config;
use sp_formats::state::InstallRecord;
use sp_formats::suggest::nearest_few;
use sp_tree::PinnedDir;

use crate::agents::{Agent, agents, find_agent};
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::repository::SkillRepository;
use crate::session::Session;

/// The sink without a default directory: it requires `--path`.
pub(crate) const CUSTOM_SINK: &str = "custom";

/// A sink of the Skillpacks format.
pub(crate) struct BuiltInSink {
    pub name: &'static str,
    default_path: &'static str,
    /// The agent's ID in the table of agents.
    agent_id: &'static str,
}

pub(crate) const BUILT_IN_SINKS: [BuiltInSink; 5] = [
    BuiltInSink::new("codex", "~/.codex/skills", "codex"),
    BuiltInSink::new("claude", "~/.claude/skills", "claude-code"),
    BuiltInSink::new("copilot", "~/.copilot/skills", "github-copilot"),
    BuiltInSink::new("cursor", "~/.cursor/skills", "cursor"),
    BuiltInSink::new("windsurf", "~/.windsurf/skills", "windsurf"),
];

impl BuiltInSink {
    const fn new(name: &'static str, default_path: &'static str, agent_id: &'static str) -> Self {
        Self { name, default_path, agent_id }
    }

    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        BUILT_IN_SINKS.iter().find(|sink| sink.name == name)
    }
}

/// Whether an agent reads a sink for the user or for one project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SinkScope {
    /// In every project of the user.
    Global,
    /// Only in the project of the current directory.
    Project,
}

/// A sink as given on the command line.
#[derive(Debug, Clone)]
pub struct SinkRequest {
    /// The value of `--agent`.
    pub name: String,
    /// The value of `--path`.
    pub path: Option<PathBuf>,
    pub scope: SinkScope,
}

/// A sink on this machine.
#[derive(Debug, Clone)]
pub(crate) struct Sink {
    pub name: String,
    /// The real path. Components that do not exist yet are appended to the part that does.
    pub path: PathBuf,
    /// The open directory, or its nearest existing parent.
    pub pinned: Arc<PinnedDir>,
    pub agent: Option<&'static Agent>,
    /// The directory that the agent reads, if it is not `path`.
    pub agent_dir: Option<PathBuf>,
}

impl Sink {
    /// Returns the device and inode of the directory in the form of the state, if it exists.
    pub(crate) fn id(&self) -> Option<String> {
        let (device, inode) = self.pinned.dir()?.identity().ok()?;
        Some(format!("{device:x}:{inode:x}"))
    }

    /// Whether an install record belongs to this sink.
    ///
    /// The recorded path may have become a link, because users move their dotfiles and link to
    /// them. The link is followed only if it leads to the recorded directory: an attacker could
    /// have put it there to make `sp` change another one.
    pub(crate) fn matches_record(&self, install: &InstallRecord) -> bool {
        let recorded = Path::new(&install.sink_path);
        let is_same_dir = || install.sink_id.is_none() || install.sink_id == self.id();
        recorded == self.path
            || is_same_dir() && recorded.canonicalize().is_ok_and(|real| real == self.path)
    }
}

/// Returns the agent that a sink belongs to.
pub(crate) fn agent_for_sink(name: &str) -> Option<&'static Agent> {
    find_agent(BuiltInSink::find(name).map_or(name, |sink| sink.agent_id))
}

/// Resolves requests to sinks. Two names of one directory are one sink.
pub(crate) fn resolve_sinks(session: &Session<'_>, requests: &[SinkRequest]) -> Result<Vec<Sink>> {
    let sinks: Result<_> = requests.iter().map(|request| resolve_sink(session, request)).collect();
    Ok(dedup_sinks(sinks?))
}

/// Removes sinks whose directory occurs before.
pub(crate) fn dedup_sinks(sinks: Vec<Sink>) -> Vec<Sink> {
    let mut seen = std::collections::HashSet::new();
    sinks.into_iter().filter(|sink| seen.insert(sink.path.clone())).collect()
}

/// Resolves a request to a directory.
pub(crate) fn resolve_sink(session: &Session<'_>, request: &SinkRequest) -> Result<Sink> {
    let (context, config) = (session.context, &session.config);
    let name = request.name.as_str();
    let agent = agent_for_sink(name);
    let known =
        name == CUSTOM_SINK || agent.is_some() || config.sinks.iter().any(|(sink, _)| sink == name);
    if !known {
        return Err(unknown_sink(name, config));
    }
    let pinned = pin_sink_dir(context, &requested_path(session, request, agent)?)?;
    let path = pinned.path().to_path_buf();
    let agent_dir = match (&request.path, request.scope) {
        (None, SinkScope::Global) => differing_agent_dir(context, name, &path),
        _ => None,
    };
    Ok(Sink { name: name.into(), path, pinned, agent, agent_dir })
}

/// Returns the path of a known sink, with links unresolved.
fn requested_path(
    session: &Session<'_>,
    request: &SinkRequest,
    agent: Option<&Agent>,
) -> Result<PathBuf> {
    let (context, name) = (session.context, request.name.as_str());
    match (&request.path, request.scope) {
        (Some(path), _) => Ok(context.expand(&path.to_string_lossy())),
        (None, _) if name == CUSTOM_SINK => {
            Err(Error::new(ErrorCode::AgentRequired, "`--agent custom` requires `--path <DIR>`")
                .hint("add `--path` with the directory to install into"))
        }
        (None, SinkScope::Project) => project_dir(context, name, agent),
        (None, SinkScope::Global) => global_dir(context, &session.config, name, agent),
    }
}

/// Returns the path of a sink for all projects, with links unresolved.
pub(crate) fn global_dir(
    context: &Context<'_>,
    config: &Config,
    name: &str,
    agent: Option<&Agent>,
) -> Result<PathBuf> {
    if let Some((_, path)) = config.sinks.iter().find(|(sink, _)| sink == name) {
        return Ok(context.expand(path));
    }
    if let Some(sink) = BuiltInSink::find(name) {
        return Ok(context.expand(sink.default_path));
    }
    agent.and_then(|agent| agent.global_dir(context)).ok_or_else(|| {
        Error::new(
            ErrorCode::AgentScopeUnsupported,
            format!("`{name}` has no skills directory for all projects"),
        )
        .hint("add `--scope project` or `--path <DIR>`")
    })
}

fn project_dir(context: &Context<'_>, name: &str, agent: Option<&Agent>) -> Result<PathBuf> {
    let Some(agent) = agent else {
        return Err(Error::new(
            ErrorCode::AgentScopeUnsupported,
            format!("`{name}` has no skills directory for a single project"),
        )
        .hint("omit `--scope project`, or add `--path <DIR>`"));
    };
    Ok(project_root(context).join(agent.project))
}

/// Returns the root of the git repository that contains the current directory, or else the current
/// directory.
pub(crate) fn project_root<'c>(context: &'c Context<'_>) -> &'c Path {
    let here = &context.current_dir;
    here.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(here)
}

/// Returns the directory that the agent of a built-in sink reads, if the agent is installed and
/// reads another directory than `path`.
pub(crate) fn differing_agent_dir(
    context: &Context<'_>,
    name: &str,
    path: &Path,
) -> Option<PathBuf> {
    let agent = find_agent(BuiltInSink::find(name)?.agent_id)?;
    let reads = agent.global_dir(context)?;
    let same = real_path(context, &reads).is_ok_and(|real| real == path);
    (!same && agent.is_installed(context)).then_some(reads)
}

fn unknown_sink(name: &str, config: &Config) -> Error {
    let configured = config.sinks.iter().map(|(sink, _)| sink.as_str());
    let built_in = BUILT_IN_SINKS.iter().map(|sink| sink.name).chain([CUSTOM_SINK]);
    let table = agents().iter().map(|agent| agent.id);
    let mut known: Vec<&str> = built_in.chain(configured).chain(table).collect();
    let mut seen = std::collections::HashSet::new();
    known.retain(|sink| seen.insert(*sink));
    let error = Error::new(ErrorCode::UnknownAgent, format!("unknown agent `{name}`"));
    let near = nearest_few(name, known.iter().copied(), 3);
    let error = if near.is_empty() {
        error
    } else {
        error.hint(format!("did you mean `{}`?", near.join("` or `")))
    };
    error.hint("run `sp config --verbose` to list all agents")
}

/// Opens the directory of a sink, or its nearest existing parent.
pub(crate) fn pin_sink_dir(context: &Context<'_>, path: &Path) -> Result<Arc<PinnedDir>> {
    let pinned = PinnedDir::open(path).map_err(|e| unusable_sink(context, path, e.source))?;
    match pinned.path().to_str() {
        Some(_) => Ok(Arc::new(pinned)),
        None => Err(unusable_sink(context, path, std::io::ErrorKind::InvalidFilename.into())),
    }
}

fn unusable_sink(context: &Context<'_>, path: &Path, source: std::io::Error) -> Error {
    Error::new(
        ErrorCode::DirectoryUnusable,
        format!("cannot use `{}` as a skills directory", context.display_path(path)),
    )
    .because(source)
    .hint("choose a directory that exists or can be created")
}

/// Resolves the links of a path, as far as it exists.
pub(crate) fn real_path(context: &Context<'_>, path: &Path) -> Result<PathBuf> {
    pin_sink_dir(context, path).map(|pinned| pinned.path().to_path_buf())
}

/// Refuses a sink that overlaps the repository: its installed skills would become local skills.
pub(crate) fn refuse_repository_overlap(
    context: &Context<'_>,
    sink: &Sink,
    repository: &SkillRepository,
) -> Result<()> {
    let dirs = [
        (repository.skills_dir(), "the skills of the repository"),
        (repository.packs_dir(), "the packs of the repository"),
    ];
    dirs.iter().try_for_each(|(dir, label)| match dir.canonicalize() {
        Ok(dir) => refuse_nested(context, sink, &dir, label),
        // A missing directory overlaps nothing.
        Err(_) => Ok(()),
    })
}

/// Refuses a sink that overlaps the home or cache directory of `sp`.
pub(crate) fn refuse_own_dirs(context: &Context<'_>, sink: &Sink) -> Result<()> {
    refuse_nested(context, sink, &real_path(context, &context.home)?, "Skillpack's own directory")?;
    refuse_nested(context, sink, &real_path(context, &context.cache_dir())?, "Skillpack's cache")
}

/// Rejects a sink that contains a directory or is inside it. Both paths must be real.
fn refuse_nested(context: &Context<'_>, sink: &Sink, dir: &Path, label: &str) -> Result<()> {
    if !sink.path.starts_with(dir) && !dir.starts_with(&sink.path) {
        return Ok(());
    }
    let message = format!(
        "the skills directory `{}` overlaps with {label} `{}`",
        context.display_path(&sink.path),
        context.display_path(dir)
    );
    Err(Error::new(ErrorCode::SinkOverlap, message).hint("choose another directory with `--path`"))
}

/// Emits a hint if the agent of a sink reads skills from another directory.
pub(crate) fn hint_agent_dir(context: &Context<'_>, sink: &Sink) {
    if let Some(agent_dir) = &sink.agent_dir {
        let agent = sink.agent.map_or(sink.name.as_str(), |agent| agent.name);
        hint_sink_config(context, &sink.name, agent, agent_dir);
    }
}

/// Emits a hint that an agent reads another directory, with the configuration that changes the
/// sink.
pub(crate) fn hint_sink_config(context: &Context<'_>, name: &str, agent: &str, reads: &Path) {
    let reads = context.display_path(reads);
    let config = context.display_path(&context.home.join("config.yaml"));
    context.emit(Event::Hint(format!(
        "on this machine, {agent} reads `{reads}`; to install there, add `sinks: {{{name}: {reads}}}` to `{config}`"
    )));
}
