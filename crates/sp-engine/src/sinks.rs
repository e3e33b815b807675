//! Sinks: the directories that agents read skills from.
//!
//! [`resolve_sink`] turns a [`SinkRequest`], the values of `--agent`, `--path` and `--scope`, into
//! a [`Sink`] on this machine. A path comes from `--path`, else from `sinks` in the configuration,
//! else from the built-in sinks of the Skillpacks format, else from the table of agents. Where the
//! agent does not read the default directory on this machine, the sink is the directory that it
//! reads, and the default one is a former sink: packs may be recorded there, and move.
//!
//! A [`Sink`] has the real path and an open directory. Everything done in a sink is done through
//! that directory, so replacing the path by a link later has no effect. Agents that read the same
//! directory are one sink.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::config::Config;
use sp_formats::state::InstallRecord;
use sp_formats::suggest::did_you_mean;
use sp_tree::PinnedDir;

use crate::agent_set::AgentSet;
use crate::agents::{Agent, agents};
use crate::built_in_sinks::{BUILT_IN_SINKS, BuiltInSink, CUSTOM_SINK, agent_for_sink};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::repository::SkillRepository;
use crate::session::Session;

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
    /// The agents that the operation is for. All of them read the directory.
    pub agents: AgentSet,
    /// The real path. Components that do not exist yet are appended to the part that does.
    pub path: PathBuf,
    /// The open directory, or its nearest existing parent.
    pub pinned: Arc<PinnedDir>,
    /// The default sinks of these agents, where they do not read them on this machine.
    pub former: Vec<Sink>,
}

impl Sink {
    pub(crate) fn new(agents: AgentSet, pinned: Arc<PinnedDir>) -> Self {
        Self { agents, path: pinned.path().to_path_buf(), pinned, former: Vec::new() }
    }

    /// Adds the agents of another sink with the same directory.
    pub(crate) fn merge(&mut self, other: Self) {
        self.agents.extend(&other.agents);
        self.former.extend(other.former);
        self.former = merge_sinks(std::mem::take(&mut self.former));
    }

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

    /// Whether an install record belongs to this sink and to one of its agents.
    pub(crate) fn has_install(&self, install: &InstallRecord) -> bool {
        self.matches_record(install) && AgentSet::of_record(install).intersects(&self.agents)
    }
}

/// Resolves requests to sinks. Agents that read the same directory are one sink.
pub(crate) fn resolve_sinks(session: &Session<'_>, requests: &[SinkRequest]) -> Result<Vec<Sink>> {
    let sinks: Result<_> = requests.iter().map(|request| resolve_sink(session, request)).collect();
    Ok(merge_sinks(sinks?))
}

/// Merges sinks of the same directory.
pub(crate) fn merge_sinks(sinks: Vec<Sink>) -> Vec<Sink> {
    let mut merged: Vec<Sink> = Vec::new();
    for sink in sinks {
        match merged.iter_mut().find(|known| known.path == sink.path) {
            Some(known) => known.merge(sink),
            None => merged.push(sink),
        }
    }
    merged
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
    let SinkDirs { dir, unread_default } = requested_dirs(session, request, agent)?;
    let mut sink = Sink::new(name.into(), pin_sink_dir(context, &dir)?);
    // Nothing can be recorded in a directory that cannot be opened.
    let former = unread_default.and_then(|dir| pin_sink_dir(context, &dir).ok());
    let former = former.filter(|former| former.path() != sink.path);
    sink.former.extend(former.map(|former| Sink::new(name.into(), former)));
    Ok(sink)
}

/// The directories of a sink, with links unresolved.
pub(crate) struct SinkDirs {
    /// Where packs are installed.
    pub dir: PathBuf,
    /// The default directory, if the agent does not read it on this machine.
    pub unread_default: Option<PathBuf>,
}

impl From<PathBuf> for SinkDirs {
    fn from(dir: PathBuf) -> Self {
        Self { dir, unread_default: None }
    }
}

/// Returns the directories of a known sink.
fn requested_dirs(
    session: &Session<'_>,
    request: &SinkRequest,
    agent: Option<&Agent>,
) -> Result<SinkDirs> {
    let (context, name) = (session.context, request.name.as_str());
    match (&request.path, request.scope) {
        (Some(path), _) => Ok(context.expand(&path.to_string_lossy()).into()),
        (None, _) if name == CUSTOM_SINK => {
            Err(Error::new(ErrorCode::AgentRequired, "`--agent custom` requires `--path <DIR>`")
                .hint("add `--path` with the directory to install into"))
        }
        (None, SinkScope::Project) => project_dir(context, name, agent).map(SinkDirs::from),
        (None, SinkScope::Global) => global_dirs(context, &session.config, name),
    }
}

/// Returns the directories of a sink for all projects.
pub(crate) fn global_dirs(context: &Context<'_>, config: &Config, name: &str) -> Result<SinkDirs> {
    if let Some((_, path)) = config.sinks.iter().find(|(sink, _)| sink == name) {
        return Ok(context.expand(path).into());
    }
    let agent = agent_for_sink(name);
    let dirs = match BuiltInSink::find(name) {
        Some(sink) => Some((sink.dir_read(context), sink.default_dir(context))),
        None => agent.and_then(|agent| agent.global_dir(context).zip(agent.default_dir(context))),
    };
    let (dir, default) = dirs.ok_or_else(|| {
        Error::new(
            ErrorCode::AgentScopeUnsupported,
            format!("`{name}` has no skills directory for all projects"),
        )
        .hint("add `--scope project` or `--path <DIR>`")
    })?;
    let unread_default = (dir != default).then_some(default);
    Ok(SinkDirs { dir, unread_default })
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
/// does not read `path`, which is real.
pub(crate) fn dir_read_elsewhere(
    context: &Context<'_>,
    name: &str,
    path: &Path,
) -> Option<PathBuf> {
    let (sink, agent) = (BuiltInSink::find(name)?, agent_for_sink(name)?);
    let reads = sink.dir_read(context);
    let is_read = [Some(reads.clone()), agent.global_dir(context)]
        .into_iter()
        .flatten()
        .any(|dir| real_path(context, &dir).is_ok_and(|real| real == path));
    (!is_read && agent.is_installed(context)).then_some(reads)
}

fn unknown_sink(name: &str, config: &Config) -> Error {
    let configured = config.sinks.iter().map(|(sink, _)| sink.as_str());
    let built_in = BUILT_IN_SINKS.iter().map(|sink| sink.name).chain([CUSTOM_SINK]);
    let table = agents().iter().map(|agent| agent.id);
    let known: BTreeSet<&str> = built_in.chain(configured).chain(table).collect();
    let error = Error::new(ErrorCode::UnknownAgent, format!("unknown agent `{name}`"));
    let error = match did_you_mean(name, known) {
        Some(question) => error.hint(question),
        None => error,
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
