//! `sp installed`: lists installed packs.

use std::path::{Path, PathBuf};

use sp_formats::output::{ImportItem, InstalledItem, InstalledList};
use sp_formats::state::InstallRecord;

use crate::agent_set::AgentSet;
use crate::built_in_sinks::CUSTOM_SINK;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::home::read_state;
use crate::session::Session;
use crate::sinks::{Sink, SinkRequest, SinkScope, project_root, resolve_sink};

/// Which installed packs to list. Without any condition, all of them.
#[derive(Debug, Clone, Default)]
pub struct InstalledFilter {
    /// Packs in the directories of these agents.
    pub agents: Vec<String>,
    /// Packs in this directory.
    pub path: Option<PathBuf>,
    /// Packs for the user, or in the current project.
    pub scope: Option<SinkScope>,
}

/// Returns the packs that are installed.
pub fn installed(context: &Context<'_>, filter: &InstalledFilter) -> Result<InstalledList> {
    let session = Session::begin(context)?;
    let sinks = filtered_sinks(&session, filter)?;
    let is_listed = |install: &&InstallRecord| match (&sinks, filter.scope) {
        (Some(sinks), _) => sinks.iter().any(|sink| is_in_sink(sink, install)),
        (None, Some(scope)) => is_in_scope(&session, install, scope),
        (None, None) => true,
    };
    let state = read_state(context)?;
    let mut installs: Vec<InstalledItem> =
        state.installs.iter().filter(is_listed).map(installed_item).collect();
    installs.sort_by(|a, b| (&a.sink, &a.path, &a.pack).cmp(&(&b.sink, &b.path, &b.pack)));
    Ok(InstalledList { installs })
}

/// Returns the sinks of the agents and the path of a filter. `None` if it has neither.
fn filtered_sinks(session: &Session<'_>, filter: &InstalledFilter) -> Result<Option<Vec<Sink>>> {
    if filter.agents.is_empty() && filter.path.is_none() {
        return Ok(None);
    }
    let custom = [CUSTOM_SINK.to_owned()];
    let names = if filter.agents.is_empty() { &custom[..] } else { &filter.agents };
    let mut sinks = Vec::new();
    for name in names {
        sinks.extend(sinks_of_agent(session, name, filter)?);
    }
    Ok(Some(sinks))
}

/// Returns the sinks of an agent in the scope, or in both. It may have none in one of both.
fn sinks_of_agent(
    session: &Session<'_>,
    name: &str,
    filter: &InstalledFilter,
) -> Result<Vec<Sink>> {
    let resolve = |scope| {
        let request = SinkRequest { name: name.to_owned(), path: filter.path.clone(), scope };
        resolve_sink(session, &request)
    };
    if let Some(scope) = filter.scope {
        return Ok(vec![resolve(scope)?]);
    }
    let mut sinks = Vec::new();
    for scope in [SinkScope::Global, SinkScope::Project] {
        match resolve(scope) {
            Ok(sink) => sinks.push(sink),
            Err(error) if is_unsupported_scope(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sinks)
}

fn is_unsupported_scope(error: &Error) -> bool {
    error.code == ErrorCode::AgentScopeUnsupported
}

/// Whether a record belongs to a sink, or to a directory that its agent does not read anymore.
fn is_in_sink(sink: &Sink, install: &InstallRecord) -> bool {
    sink.matches_record(install) || sink.former.iter().any(|former| former.has_install(install))
}

/// Whether a record belongs to the user's or the project's sink of one of its agents. A directory
/// of no agent belongs to the project if it is below its root.
fn is_in_scope(session: &Session<'_>, install: &InstallRecord, scope: SinkScope) -> bool {
    let is_in = |scope| {
        AgentSet::of_record(install).names().iter().any(|name| {
            let request = SinkRequest { name: name.clone(), path: None, scope };
            resolve_sink(session, &request).is_ok_and(|sink| is_in_sink(&sink, install))
        })
    };
    match scope {
        SinkScope::Global => is_in(SinkScope::Global),
        SinkScope::Project => {
            let root = project_root(session.context);
            let is_below = || {
                let root = root.canonicalize();
                root.is_ok_and(|root| Path::new(&install.sink_path).starts_with(root))
            };
            let is_custom = AgentSet::of_record(install) == AgentSet::from(CUSTOM_SINK);
            is_in(SinkScope::Project) || is_custom && is_below()
        }
    }
}

fn installed_item(install: &InstallRecord) -> InstalledItem {
    let folder_name = |path: &String| path.rsplit('/').next().unwrap_or(path).to_owned();
    InstalledItem {
        sink: install.sink.clone(),
        agents: AgentSet::of_record(install).names().to_vec(),
        path: install.sink_path.clone().into(),
        pack: install.pack.clone(),
        pack_file: install.source.to_string(),
        folders: install.installed_paths.iter().map(folder_name).collect(),
        imports: install
            .imports
            .iter()
            .map(|import| ImportItem {
                repo: import.repo.clone(),
                git_ref: import.git_ref.clone(),
                commit: import.commit.clone(),
            })
            .collect(),
        installed_at: install.installed_at.clone(),
    }
}
