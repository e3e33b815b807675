//! Which skills of packages are installed into which sinks.
//!
//! A package of skills becomes a [`SkillSet`], as a pack does, so that both are installed, updated
//! and removed by the same code.

use std::path::Path;
use std::sync::Arc;

use sp_formats::naming::FolderNaming;
use sp_formats::package::{BundledSkills, Package, PackageKind, PackageName};
use sp_formats::skill::SKILL_FILE;
use sp_formats::state::InstallRecord;
use sp_tree::{LoadedTree, fold_name};

use super::ProjectChange;
use super::fetch::FetchedPackages;
use super::request::ChangeRequest;
use super::resolution::Resolution;
use crate::agent_set::AgentSet;
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::install::plan::{SinkTarget, TargetSet};
use crate::install::skill_set::{
    InstallableSkill, PackageOrigin, SkillOrigin, SkillSet, SkillSource,
};
use crate::sinks::{Sink, SinkRequest, SinkScope, pin_sink_dir, resolve_sink, resolve_sinks};

impl ProjectChange<'_> {
    /// Returns the sinks that change, each with the packages to install into it. A sink that loses
    /// a package is among them.
    pub(super) fn sink_targets(
        &self,
        request: &ChangeRequest,
        resolution: &Resolution,
        packages: &FetchedPackages,
    ) -> Result<Vec<SinkTarget>> {
        let requested_sinks = resolve_sinks(self.session, self.options.sinks)?;
        let mut targets = Vec::new();
        for (name, fetched) in packages {
            let (PackageKind::Skills, Some(package)) = (fetched.locked.kind, &fetched.package)
            else {
                continue;
            };
            let sinks = self.sinks_of_package(name, &requested_sinks, request)?;
            let set = Arc::new(self.skill_set(package, request)?);
            for sink in sinks {
                add_target(&mut targets, sink, Some(&set));
            }
        }
        for name in &resolution.removed {
            for sink in self.recorded_sinks(name)? {
                add_target(&mut targets, sink, None);
            }
        }
        Ok(targets)
    }

    /// Returns the sinks for a package of skills: those where it is installed, the requested ones
    /// if it is new or was named, or else those that a rollback restores.
    fn sinks_of_package(
        &self,
        name: &PackageName,
        requested_sinks: &[Sink],
        request: &ChangeRequest,
    ) -> Result<Vec<Sink>> {
        let recorded = self.recorded_sinks(name)?;
        let recorded = recorded.into_iter().map(|sink| self.current_sinks(sink, name));
        let mut sinks = recorded.collect::<Result<Vec<_>>>()?.concat();
        let is_new = !self.project.lock.packages.contains_key(name);
        if sinks.is_empty() || is_new || request.named.contains(name) {
            sinks.extend(requested_sinks.iter().cloned());
        }
        if sinks.is_empty() {
            let past = request.past_sinks.get(name).into_iter().flatten();
            let context = self.session.context;
            let past = past
                .map(|sink| recorded_sink(context, AgentSet::from(sink.name.as_str()), &sink.path));
            sinks.extend(past.collect::<Result<Vec<Sink>>>()?);
        }
        if sinks.is_empty() {
            return Err(Error::new(
                ErrorCode::AgentRequired,
                format!("`{name}` contains skills, but no agent is specified"),
            )
            .hint("add `--agent claude` or another agent; run `sp config` to list the agents"));
        }
        Ok(sinks)
    }

    /// Returns the sinks where a package of skills is installed.
    pub(super) fn recorded_sinks(&self, name: &PackageName) -> Result<Vec<Sink>> {
        let installs = self.state.installs.iter().filter(|install| is_install_of(install, name));
        let sink = |install: &InstallRecord| {
            let agents = AgentSet::of_record(install);
            recorded_sink(self.session.context, agents, &install.sink_path)
        };
        let mut sinks: Vec<Sink> = installs.map(sink).collect::<Result<_>>()?;
        sinks.retain(|sink| self.state.installs.iter().any(|install| sink.matches_record(install)));
        Ok(sinks)
    }

    /// Returns the sinks that the agents of a recorded sink read. Agents that do not read it on
    /// this machine have another one, where the package moves to.
    fn current_sinks(&self, recorded: Sink, name: &PackageName) -> Result<Vec<Sink>> {
        let mut staying = AgentSet::default();
        let mut sinks = Vec::new();
        let is_former = |sink: &Sink| {
            let mut installs = self.state.installs.iter();
            installs.any(|install| {
                is_install_of(install, name)
                    && recorded.matches_record(install)
                    && sink.former.iter().any(|former| former.matches_record(install))
            })
        };
        for agent in recorded.agents.names() {
            let request = SinkRequest { name: agent.clone(), path: None, scope: SinkScope::Global };
            match resolve_sink(self.session, &request) {
                Ok(sink) if is_former(&sink) => sinks.push(sink),
                // An agent without a directory for the user has a recorded one.
                _ => staying.insert(agent),
            }
        }
        if !staying.is_empty() {
            sinks.push(Sink { agents: staying, ..recorded });
        }
        Ok(sinks)
    }

    /// Returns all skills of a package, with the names of their folders.
    fn skill_set(&self, package: &Package, request: &ChangeRequest) -> Result<SkillSet> {
        let manifest = &package.manifest;
        let prefix = self.folder_prefix(&manifest.name, request);
        let naming = FolderNaming { prefix, sep: "__".into(), flatten: true };
        let mut skills: Vec<InstallableSkill> = Vec::new();
        for (id, content) in self.skill_contents(package) {
            let skill = installable_skill(&manifest.name, &naming, id, content)?;
            refuse_shared_folder(&manifest.name, &skills, &skill)?;
            skills.push(skill);
        }
        if skills.is_empty() {
            return Err(no_skill_error(&manifest.name));
        }
        let origin = SkillOrigin::Package(PackageOrigin {
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            sha256: manifest.integrity.sha256.clone(),
            naming,
        });
        Ok(SkillSet { origin: Arc::new(origin), skills })
    }

    /// Returns the prefix of skill folders: that of this command, or else that of the installation.
    fn folder_prefix(&self, name: &PackageName, request: &ChangeRequest) -> String {
        if let (Some(prefix), true) = (self.options.prefix, request.named.contains(name)) {
            return prefix.to_owned();
        }
        let install = self.state.installs.iter().find(|install| is_install_of(install, name));
        install.map(|install| install.prefix.clone()).unwrap_or_default()
    }

    /// Returns the skills of a package, and warns about files that belong to none.
    fn skill_contents(&self, package: &Package) -> Vec<(String, LoadedTree)> {
        let BundledSkills { skills, unassigned_files } = package.skills();
        if unassigned_files > 0 {
            let files = if unassigned_files == 1 {
                "1 file".into()
            } else {
                format!("{unassigned_files} files")
            };
            self.session.context.emit(Event::Warning(format!(
                "ignoring {files} of `{}` outside of any skill",
                package.manifest.name
            )));
        }
        skills
    }
}

/// Adds a sink to the targets, unless it is one, and the package to install into it.
fn add_target(targets: &mut Vec<SinkTarget>, sink: Sink, set: Option<&Arc<SkillSet>>) {
    let agents = sink.agents.clone();
    let at = match targets.iter().position(|target| target.sink.path == sink.path) {
        None => {
            targets.push(SinkTarget::new(sink));
            targets.len() - 1
        }
        Some(at) => {
            let target = &mut targets[at];
            target.uninstall_for.extend(&agents);
            target.sink.merge(sink);
            at
        }
    };
    let Some(set) = set else { return };
    let sets = &mut targets[at].sets;
    match sets.iter_mut().find(|target| Arc::ptr_eq(&target.set, set)) {
        None => sets.push(TargetSet { set: Arc::clone(set), agents }),
        Some(target) => target.agents.extend(&agents),
    }
}

fn installable_skill(
    package: &PackageName,
    naming: &FolderNaming,
    id: String,
    content: LoadedTree,
) -> Result<InstallableSkill> {
    let folder = naming.folder_name(&id).map_err(|why| {
        let message = format!("cannot install `{id}` from `{package}`");
        Error::new(ErrorCode::InvalidPackage, message)
            .because(why)
            .hint("set a different prefix with `--prefix`")
    })?;
    let source = SkillSource::Package { package: package.clone(), id, content: Arc::new(content) };
    Ok(InstallableSkill { folder, source })
}

/// Refuses a skill whose folder is that of another skill on a case-insensitive file system.
fn refuse_shared_folder(
    package: &PackageName,
    skills: &[InstallableSkill],
    skill: &InstallableSkill,
) -> Result<()> {
    let folded = fold_name(skill.folder.as_str());
    match skills.iter().find(|other| fold_name(other.folder.as_str()) == folded) {
        None => Ok(()),
        Some(other) => Err(Error::new(
            ErrorCode::NameCollision,
            format!(
                "`{}` and `{}` from `{package}` would both be installed as `{}`",
                other.source.id(),
                skill.source.id(),
                skill.folder
            ),
        )
        .hint("ask the author of the package to rename one of the two")),
    }
}

fn no_skill_error(package: &PackageName) -> Error {
    Error::new(ErrorCode::InvalidPackage, format!("`{package}` contains no skills"))
        .because(format!("none of its directories has a `{SKILL_FILE}`"))
        .hint("ask the author of the package to add one; nothing was changed")
}

/// Returns the sink of an installation record.
fn recorded_sink(context: &Context<'_>, agents: AgentSet, path: &str) -> Result<Sink> {
    let path = Path::new(path);
    Ok(Sink { path: path.into(), ..Sink::new(agents, pin_sink_dir(context, path)?) })
}

fn is_install_of(install: &InstallRecord, name: &PackageName) -> bool {
    install.pack == name.as_str() && install.source.package() == Some(name)
}
