//! What the areas of an examination have in common.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sp_formats::state::InstallState;
use sp_formats::text::shell_quote;

use super::project_files::ExaminedProject;
use crate::agents::agents;
use crate::error::Result;
use crate::home::read_state;
use crate::session::Session;
use crate::sinks::global_dirs;

/// What several areas need, read once.
pub(super) struct ExaminedMachine<'a> {
    pub session: &'a Session<'a>,
    pub state: Result<InstallState>,
    pub projects: Vec<ExaminedProject<'a>>,
    /// The project given with `--root`.
    pub root: Option<PathBuf>,
}

impl<'a> ExaminedMachine<'a> {
    pub(super) fn read(session: &'a Session<'a>, root: Option<&Path>) -> Self {
        Self {
            session,
            state: read_state(session.context),
            projects: ExaminedProject::read_all(session, root),
            root: root.map(Into::into),
        }
    }

    /// Returns the directories that skills are installed into: recorded ones, those of projects,
    /// configured ones, and those of detected agents. Some may not exist.
    pub(super) fn skill_dirs(&self) -> BTreeSet<PathBuf> {
        let Session { context, config, .. } = self.session;
        let mut dirs = BTreeSet::new();
        let installs = self.state.iter().flat_map(|state| &state.installs);
        dirs.extend(installs.map(|install| PathBuf::from(&install.sink_path)));
        dirs.extend(self.projects.iter().flat_map(ExaminedProject::skill_dirs));
        let detected = agents().iter().filter(|agent| agent.is_installed(context));
        let configured = config.sinks.iter().map(|(name, _)| name.as_str());
        for name in detected.map(|agent| agent.id).chain(configured) {
            dirs.extend(global_dirs(context, config, name).ok().map(|found| found.dir));
        }
        dirs.into_iter().map(|dir| dir.canonicalize().unwrap_or(dir)).collect()
    }

    /// Formats a path for a command line.
    pub(super) fn shell_path(&self, path: &Path) -> String {
        shell_quote(&self.session.context.display_path(path))
    }

    /// Returns the command that installs what a manifest in `dir` declares.
    pub(super) fn sync_command(&self, dir: &Path) -> String {
        self.project_command("sync", dir)
    }

    /// Returns a command for the project in `dir`.
    pub(super) fn project_command(&self, command: &str, dir: &Path) -> String {
        let context = self.session.context;
        let is_home = context.home.canonicalize().is_ok_and(|home| home == dir);
        if is_home {
            format!("sp {command} --global")
        } else if context.current_dir.starts_with(dir) {
            format!("sp {command}")
        } else {
            format!("sp {command} --root {}", self.shell_path(dir))
        }
    }
}
