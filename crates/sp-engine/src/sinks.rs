//! From what `--agent`, `--path` and `--scope` say to a directory on this machine.

use std::path::{Path, PathBuf};

use sp_formats::config::Config;
use sp_formats::suggest::nearest;

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sink {
    pub name: String,
    /// The real path; what does not exist yet is appended to what does.
    pub path: PathBuf,
    pub agent: Option<&'static Agent>,
    /// Where the agent really reads, where that is not the path.
    pub reads: Option<PathBuf>,
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
    let path = real_path(context, &path)?;
    let reads = match (&request.path, request.scope) {
        (None, Scope::Global) => reads_elsewhere(context, name, &path),
        _ => None,
    };
    Ok(Sink { name: name.into(), path, agent, reads })
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

/// The path with every link in it resolved, as far as it exists.
pub(crate) fn real_path(context: &Context<'_>, path: &Path) -> Result<PathBuf> {
    let failed = |source: std::io::Error| {
        Error::new(Kind::Environment, format!("cannot use `{}` as a sink", context.show(path)))
            .because(source)
            .hint("choose a directory that exists or can be made")
    };
    for existing in path.ancestors() {
        match existing.canonicalize() {
            Ok(real) => {
                let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
                let plain = rest.components().all(|part| matches!(part, std::path::Component::Normal(_)));
                if !plain {
                    return Err(failed(std::io::ErrorKind::NotFound.into()));
                }
                if !real.is_dir() {
                    return Err(failed(std::io::ErrorKind::NotADirectory.into()));
                }
                let real = if rest.as_os_str().is_empty() { real } else { real.join(rest) };
                return match real.to_str() {
                    Some(_) => Ok(real),
                    None => Err(failed(std::io::ErrorKind::InvalidFilename.into())),
                };
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                // A link to nothing exists, and making a directory through it would surprise.
                if existing.symlink_metadata().is_ok() {
                    return Err(failed(e));
                }
            }
            Err(e) => return Err(failed(e)),
        }
    }
    Err(failed(std::io::ErrorKind::NotFound.into()))
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
