//! From what `--agent`, `--path` and `--scope` say to a directory on this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::config::Config;
use sp_formats::state::Install;
use sp_formats::suggest::nearest;
use sp_tree::PinnedDir;

use crate::agents::{Agent, agent, agents};
use crate::authoring::Authoring;
use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};

/// The sink that has no place of its own.
pub(crate) const CUSTOM: &str = "custom";

/// The format's own sinks: name, default path, and the row of the table that is the same agent.
pub(crate) const BUILT_IN: [(&str, &str, &str); 5] = [
    ("codex", "~/.codex/skills", "codex"),
    ("claude", "~/.claude/skills", "claude-code"),
    ("copilot", "~/.copilot/skills", "github-copilot"),
    ("cursor", "~/.cursor/skills", "cursor"),
    ("windsurf", "~/.windsurf/skills", "windsurf"),
];

/// Where an agent reads: for the user, or in one project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// For the user, in every project.
    Global,
    /// In the project of the current directory.
    Project,
}

/// A sink as the user names it.
#[derive(Debug, Clone)]
pub struct SinkRequest {
    /// The name that was given to `--agent`.
    pub name: String,
    /// The path that was given to `--path`.
    pub path: Option<PathBuf>,
    /// The scope.
    pub scope: Scope,
}

/// A sink on this machine.
#[derive(Debug, Clone)]
pub(crate) struct Sink {
    pub name: String,
    /// The real path; what does not exist yet is appended to what does.
    pub path: PathBuf,
    /// The directory, opened once: whatever is done in the sink is done through it.
    pub pinned: Arc<PinnedDir>,
    pub agent: Option<&'static Agent>,
    /// Where the agent really reads, where that is not the path.
    pub reads: Option<PathBuf>,
}

impl Sink {
    /// The device and inode of the directory, as a record has them; none before it exists.
    pub(crate) fn id(&self) -> Option<String> {
        let (device, inode) = self.pinned.dir()?.identity().ok()?;
        Some(format!("{device:x}:{inode:x}"))
    }

    /// Whether a record is about this sink.
    ///
    /// A path on record may be a link by now. It is followed only to the directory that was on
    /// record: people move their dotfiles and link them, and an attacker links something else.
    pub(crate) fn has(&self, install: &Install) -> bool {
        let recorded = Path::new(&install.sink_path);
        let same = || install.sink_id.is_none() || install.sink_id == self.id();
        recorded == self.path || same() && recorded.canonicalize().is_ok_and(|real| real == self.path)
    }
}

/// The agent behind a sink's name.
pub(crate) fn agent_of(name: &str) -> Option<&'static Agent> {
    let row = BUILT_IN.iter().find(|(sink, ..)| *sink == name).map_or(name, |(_, _, row)| row);
    agent(row)
}

/// Finds the directory that a request means.
pub(crate) fn find(session: &Session<'_>, request: &SinkRequest) -> Result<Sink> {
    let (context, config) = (session.context, &session.config);
    let name = request.name.as_str();
    let agent = agent_of(name);
    let known = name == CUSTOM || agent.is_some() || config.sinks.iter().any(|(sink, _)| sink == name);
    if !known {
        return Err(unknown(name, config));
    }
    let path = match (&request.path, request.scope) {
        (Some(path), _) => context.expand(&path.to_string_lossy()),
        (None, _) if name == CUSTOM => {
            return Err(
                Error::new(Kind::Usage, "the sink `custom` has no place of its own").hint("add `--path <directory>`")
            );
        }
        (None, Scope::Project) => project_dir(context, name, agent)?,
        (None, Scope::Global) => global_dir(context, config, name, agent)?,
    };
    let pinned = pin(context, &path)?;
    let path = pinned.path().to_path_buf();
    let reads = match (&request.path, request.scope) {
        (None, Scope::Global) => reads_elsewhere(context, name, &path),
        _ => None,
    };
    Ok(Sink { name: name.into(), path, pinned, agent, reads })
}

/// The path of a sink for the user, before links are resolved.
pub(crate) fn global_dir(context: &Context<'_>, config: &Config, name: &str, agent: Option<&Agent>) -> Result<PathBuf> {
    if let Some((_, path)) = config.sinks.iter().find(|(sink, _)| sink == name) {
        return Ok(context.expand(path));
    }
    if let Some((_, path, _)) = BUILT_IN.iter().find(|(sink, ..)| *sink == name) {
        return Ok(context.expand(path));
    }
    agent.and_then(|agent| agent.global_dir(context)).ok_or_else(|| {
        Error::new(Kind::Request, format!("`{name}` has no place for all projects"))
            .hint("add `--scope project`, or `--path <directory>`")
    })
}

fn project_dir(context: &Context<'_>, name: &str, agent: Option<&Agent>) -> Result<PathBuf> {
    let Some(agent) = agent else {
        return Err(Error::new(Kind::Request, format!("the sink `{name}` has no place in a project"))
            .hint("leave out `--scope project`, or add `--path <directory>`"));
    };
    Ok(project_root(context).join(agent.project))
}

/// The project of the current directory: the repository that it is in, else itself.
pub(crate) fn project_root<'c>(context: &'c Context<'_>) -> &'c Path {
    let here = &context.current_dir;
    here.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(here)
}

/// Where the agent of a built-in sink really reads, if it is on this machine and reads elsewhere.
pub(crate) fn reads_elsewhere(context: &Context<'_>, name: &str, path: &Path) -> Option<PathBuf> {
    let (_, _, row) = BUILT_IN.iter().find(|(sink, ..)| *sink == name)?;
    let agent = agent(row)?;
    let reads = agent.global_dir(context)?;
    let same = real_path(context, &reads).is_ok_and(|real| real == path);
    (!same && agent.is_found(context)).then_some(reads)
}

fn unknown(name: &str, config: &Config) -> Error {
    let configured = config.sinks.iter().map(|(sink, _)| sink.as_str());
    let built_in = BUILT_IN.iter().map(|(sink, ..)| *sink).chain([CUSTOM]);
    let table = agents().iter().map(|agent| agent.id);
    let mut known: Vec<&str> = built_in.chain(configured).chain(table).collect();
    let mut seen = std::collections::HashSet::new();
    known.retain(|sink| seen.insert(*sink));
    let error = Error::new(Kind::Usage, format!("there is no sink called `{name}`"));
    let error = match nearest(name, known.iter().copied()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    };
    error.hint(format!("the sinks are: {}", known.join(", ")))
}

/// Resolves and opens the directory of a sink, or the nearest parent of it that exists.
pub(crate) fn pin(context: &Context<'_>, path: &Path) -> Result<Arc<PinnedDir>> {
    let pinned = PinnedDir::open(path).map_err(|e| unusable(context, path, e.source))?;
    match pinned.path().to_str() {
        Some(_) => Ok(Arc::new(pinned)),
        None => Err(unusable(context, path, std::io::ErrorKind::InvalidFilename.into())),
    }
}

fn unusable(context: &Context<'_>, path: &Path, source: std::io::Error) -> Error {
    Error::new(Kind::Environment, format!("cannot use `{}` as a sink", context.show(path)))
        .because(source)
        .hint("choose a directory that exists or can be made")
}

/// The path with every link in it resolved, as far as it exists.
pub(crate) fn real_path(context: &Context<'_>, path: &Path) -> Result<PathBuf> {
    pin(context, path).map(|pinned| pinned.path().to_path_buf())
}

/// Refuses a sink that overlaps the authoring tree: the next walk would find what was installed.
pub(crate) fn refuse_overlap(context: &Context<'_>, sink: &Sink, authoring: &Authoring) -> Result<()> {
    let dirs = [(authoring.skills_dir(), "the authoring tree"), (authoring.packs_dir(), "the directory of the packs")];
    dirs.iter().try_for_each(|(dir, what)| match dir.canonicalize() {
        Ok(dir) => refuse_inside(context, sink, &dir, what),
        // What is not there overlaps nothing.
        Err(_) => Ok(()),
    })
}

/// Refuses a sink that overlaps Skillpack's own directories: installed folders would mix with its records.
pub(crate) fn refuse_own_dirs(context: &Context<'_>, sink: &Sink) -> Result<()> {
    refuse_inside(context, sink, &real_path(context, &context.home)?, "Skillpack's own directory")?;
    refuse_inside(context, sink, &real_path(context, &context.cache_dir())?, "Skillpack's cache")
}

/// Refuses a sink that lies in a directory, or in which the directory lies. Both paths are real.
fn refuse_inside(context: &Context<'_>, sink: &Sink, dir: &Path, what: &str) -> Result<()> {
    if !sink.path.starts_with(dir) && !dir.starts_with(&sink.path) {
        return Ok(());
    }
    let message =
        format!("the sink `{}` and {what} `{}` lie inside one another", context.show(&sink.path), context.show(dir));
    Err(Error::new(Kind::Request, message).hint("choose another sink with `--path`"))
}

/// Says where an agent of this machine really reads, and the line of config that mends it.
pub(crate) fn hint_place(context: &Context<'_>, name: &str, agent: &str, reads: &Path) {
    let reads = context.show(reads);
    let config = context.show(&context.home.join("config.yaml"));
    context.tell(Event::Hint(format!(
        "on this machine {agent} reads `{reads}`; to install there, put `sinks: {{{name}: {reads}}}` into `{config}`"
    )));
}
