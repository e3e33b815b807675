//! Plans the installation of the skills of packages. A package of skills is converted to a pack, so
//! that it is installed, updated and removed like any other pack.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use sp_formats::naming::FolderNaming;
use sp_formats::pack::Pack;
use sp_formats::package::{BundledSkills, Package, PackageKind, PackageName};
use sp_formats::report::Report;
use sp_formats::skill::SKILL_FILE;
use sp_formats::state::InstallRecord;
use sp_tree::{LoadedTree, StampScope, fold_name};

use super::{PackageSkillPlan, ProjectChange, ResolvedPackages};
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::home::read_state;
use crate::install::selection::{PackagedSkills, ResolvedPack};
use crate::repository::{SkillRepository, ValidPackFile};
use crate::select::{SelectedSkill, SkillSource};
use crate::sinks::dedup_sinks;
use crate::sinks::{Sink, agent_for_sink, pin_sink_dir, resolve_sink};

/// The skills of a package, and the content of each.
struct SelectedContents {
    skills: Vec<SelectedSkill>,
    contents: Vec<LoadedTree>,
}

impl ProjectChange<'_> {
    /// Plans the skills of all packages that are written or removed.
    pub(super) fn plan_skills(
        &self,
        targets: &mut ResolvedPackages,
        requested: &BTreeSet<PackageName>,
    ) -> Result<PackageSkillPlan> {
        let requested_sinks: Vec<Sink> = self
            .options
            .sinks
            .iter()
            .map(|sink| resolve_sink(self.session, sink))
            .collect::<Result<_>>()?;
        let mut sinks = Vec::new();
        let (mut packs, mut placements) = (Vec::new(), HashSet::new());
        for (name, target) in
            targets.iter_mut().filter(|(_, target)| target.locked.kind == PackageKind::Skills)
        {
            let Some(package) = target.package.take() else { continue };
            let package_sinks = self.sinks_of_package(name, &requested_sinks, requested)?;
            let pack_index = packs.len();
            placements.extend(package_sinks.iter().map(|sink| (sink.path.clone(), pack_index)));
            sinks.extend(package_sinks);
            packs.push(self.to_pack(&package, requested)?);
            target.package = Some(package);
        }
        for name in self.removed_packages(targets) {
            sinks.extend(self.recorded_sinks(&name)?);
        }
        Ok(PackageSkillPlan { sinks: dedup_sinks(sinks), packs, placements })
    }

    /// Returns the sinks for a package of skills: those where it is installed, the requested ones
    /// if it is new or was named, or else those that a rollback restores.
    fn sinks_of_package(
        &self,
        name: &PackageName,
        requested_sinks: &[Sink],
        requested: &BTreeSet<PackageName>,
    ) -> Result<Vec<Sink>> {
        let mut sinks = self.recorded_sinks(name)?;
        let is_new = !self.project.lock.packages.contains_key(name);
        if sinks.is_empty() || is_new || requested.contains(name) {
            sinks.extend(requested_sinks.iter().cloned());
        }
        if sinks.is_empty() {
            let past = self.past_sinks.get(name).into_iter().flatten();
            let past = past.map(|sink| recorded_sink(self.session.context, &sink.name, &sink.path));
            sinks.extend(past.collect::<Result<Vec<Sink>>>()?);
        }
        if sinks.is_empty() {
            return Err(Error::new(
                ErrorCode::AgentRequired,
                format!("`{name}` is a package of skills, and no agent is named"),
            )
            .hint("add `--agent claude`, or another; `sp config` lists them"));
        }
        Ok(sinks)
    }

    /// Returns the sinks where a package of skills is installed.
    pub(super) fn recorded_sinks(&self, name: &PackageName) -> Result<Vec<Sink>> {
        let state = read_state(self.session.context)?;
        let installs = state.installs.iter().filter(|install| is_install_of(install, name));
        let sink = |install: &InstallRecord| {
            recorded_sink(self.session.context, &install.sink, &install.sink_path)
        };
        let mut sinks: Vec<Sink> = installs.map(sink).collect::<Result<_>>()?;
        sinks.retain(|sink| state.installs.iter().any(|install| sink.matches_record(install)));
        Ok(sinks)
    }

    /// Converts a package of skills to a pack.
    fn to_pack(
        &self,
        package: &Package,
        requested: &BTreeSet<PackageName>,
    ) -> Result<ResolvedPack> {
        let manifest = &package.manifest;
        let prefix = self.folder_prefix(&manifest.name, requested)?;
        let naming = FolderNaming { prefix, sep: "__".into(), flatten: true };
        let SelectedContents { skills, contents } = self.select_contents(package, &naming)?;
        Ok(ResolvedPack {
            repository: SkillRepository { root: PathBuf::new() },
            file: pack_file(&manifest.name, naming),
            skills,
            checkouts: Vec::new(),
            stamp_scope: StampScope::All,
            packaged_skills: Some(PackagedSkills {
                version: manifest.version.to_string(),
                sha256: manifest.integrity.sha256.clone(),
                contents,
            }),
        })
    }

    /// Selects all skills of a package, and names their folders.
    fn select_contents(
        &self,
        package: &Package,
        naming: &FolderNaming,
    ) -> Result<SelectedContents> {
        let name = &package.manifest.name;
        let mut skills: Vec<SelectedSkill> = Vec::new();
        let mut contents = Vec::new();
        for (id, content) in self.skill_contents(package) {
            let folder = naming.folder_name(&id).map_err(|why| {
                Error::new(
                    ErrorCode::InvalidPackage,
                    format!("`{id}` of `{name}` cannot be installed"),
                )
                .because(why)
                .hint("give another `--prefix`")
            })?;
            let skill = SelectedSkill { source: SkillSource::Package(contents.len()), id, folder };
            refuse_shared_folder(name, &skills, &skill)?;
            skills.push(skill);
            contents.push(content);
        }
        if skills.is_empty() {
            return Err(no_skill_error(name));
        }
        Ok(SelectedContents { skills, contents })
    }

    /// Returns the prefix of skill folders: that of this command, or else that of the installation.
    fn folder_prefix(
        &self,
        name: &PackageName,
        requested: &BTreeSet<PackageName>,
    ) -> Result<String> {
        if let (Some(prefix), true) = (self.options.prefix, requested.contains(name)) {
            return Ok(prefix.to_owned());
        }
        let state = read_state(self.session.context)?;
        let install = state.installs.into_iter().find(|install| is_install_of(install, name));
        Ok(install.map(|install| install.prefix).unwrap_or_default())
    }

    /// Returns the skills of a package, and warns about files that belong to none.
    fn skill_contents(&self, package: &Package) -> Vec<(String, LoadedTree)> {
        let BundledSkills { skills, unassigned_files } = package.skills();
        if unassigned_files > 0 {
            let files = if unassigned_files == 1 {
                "a file".into()
            } else {
                format!("{unassigned_files} files")
            };
            self.session.context.emit(Event::Warning(format!(
                "{files} of `{}` belongs to no skill and is left out",
                package.manifest.name
            )));
        }
        skills
    }
}

/// Refuses a skill whose folder is that of another skill on a case-insensitive file system.
fn refuse_shared_folder(
    package: &PackageName,
    skills: &[SelectedSkill],
    skill: &SelectedSkill,
) -> Result<()> {
    let SelectedSkill { id, folder, .. } = skill;
    let is_same =
        |other: &&SelectedSkill| fold_name(other.folder.as_str()) == fold_name(folder.as_str());
    match skills.iter().find(is_same) {
        None => Ok(()),
        Some(other) => Err(Error::new(
            ErrorCode::NameCollision,
            format!(
                "`{}` and `{id}` of `{package}` would both be installed as `{folder}`",
                other.id
            ),
        )
        .hint("whoever made it must rename one of the two")),
    }
}

fn no_skill_error(package: &PackageName) -> Error {
    Error::new(ErrorCode::InvalidPackage, format!("`{package}` has no skill in it"))
        .because(format!("no folder of it has a `{SKILL_FILE}`"))
        .hint("nothing was changed")
}

/// Returns what stands for the pack file of a package.
fn pack_file(package: &PackageName, naming: FolderNaming) -> ValidPackFile {
    let name = package.to_string();
    let report = Report::new(name.clone(), "");
    let pack = Pack {
        name,
        name_span: 0..0,
        include: Vec::new(),
        exclude: Vec::new(),
        imports: Vec::new(),
        naming,
    };
    ValidPackFile { path: pack_file_key(package).into(), pack, report }
}

/// Returns the sink of an installation record.
fn recorded_sink(context: &Context<'_>, name: &str, path: &str) -> Result<Sink> {
    let path = Path::new(path);
    Ok(Sink {
        name: name.into(),
        path: path.into(),
        pinned: pin_sink_dir(context, path)?,
        agent: agent_for_sink(name),
        agent_dir: None,
    })
}

fn is_install_of(install: &InstallRecord, name: &PackageName) -> bool {
    install.pack == name.as_str() && install.pack_file == pack_file_key(name)
}

/// Returns what installation records of a package have in place of the path of a pack file.
fn pack_file_key(name: &PackageName) -> String {
    format!("ctxpkg:{name}")
}
