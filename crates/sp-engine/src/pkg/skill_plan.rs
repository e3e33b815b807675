//! The skills that packages carry, on their way into sinks: a package of skills goes as a pack goes.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use sp_formats::naming::FolderNaming;
use sp_formats::pack::Pack;
use sp_formats::package::{BundledSkills, Package, PackageKind, PackageName};
use sp_formats::report::Report;
use sp_formats::skill::SKILL_FILE;
use sp_formats::state::InstallRecord;
use sp_tree::{LoadedTree, StampScope, fold_name};

use super::project_change::{ProjectChange, ResolvedPackage};
use crate::context::{Context, Event};
use crate::error::{Error, FailureKind, Result};
use crate::home::read_state;
use crate::install::selection::{PackagedSkills, ResolvedPack};
use crate::repository::{SkillRepository, ValidPackFile};
use crate::select::{SelectedSkill, SkillSource};
use crate::sinks::dedup_sinks;
use crate::sinks::{Sink, agent_for_sink, pin_sink_dir, resolve_sink};

/// What is to happen in sinks.
pub(super) struct PackageSkillPlan {
    /// The sinks in which something comes or goes.
    pub sinks: Vec<Sink>,
    /// The packages as packs.
    pub packs: Vec<ResolvedPack>,
    /// Which of them belongs into which sink.
    pub placements: HashSet<(PathBuf, usize)>,
}

impl ProjectChange<'_> {
    /// The skills of packages, as packs; into which sinks each goes.
    pub(super) fn plan_skills(
        &self,
        targets: &mut BTreeMap<PackageName, ResolvedPackage>,
        asked: &BTreeSet<PackageName>,
    ) -> Result<PackageSkillPlan> {
        let requested: Vec<Sink> = self
            .request
            .sinks
            .iter()
            .map(|sink| resolve_sink(self.session, sink))
            .collect::<Result<_>>()?;
        let mut sinks = Vec::new();
        let (mut chosen, mut places) = (Vec::new(), HashSet::new());
        for (name, target) in
            targets.iter_mut().filter(|(_, target)| target.locked.kind == PackageKind::Skills)
        {
            let Some(package) = target.package.take() else { continue };
            let mut own = self.recorded_sinks(name)?;
            let new = !self.project.lock.packages.contains_key(name);
            if own.is_empty() || new || asked.contains(name) {
                own.extend(requested.iter().cloned());
            }
            if own.is_empty() {
                let past = self.past_sinks.get(name).into_iter().flatten();
                let past = past.map(|(sink, path)| recorded_sink(self.session.context, sink, path));
                own.extend(past.collect::<Result<Vec<Sink>>>()?);
            }
            if own.is_empty() {
                return Err(Error::new(
                    FailureKind::Usage,
                    format!("`{name}` is a package of skills, and no agent is named"),
                )
                .hint("add `--agent claude`, or another; `sp config` lists them"));
            }
            places.extend(own.iter().map(|sink| (sink.path.clone(), chosen.len())));
            sinks.extend(own);
            chosen.push(self.to_pack(&package, asked)?);
            target.package = Some(package);
        }
        for name in self.removed_packages(targets) {
            sinks.extend(self.recorded_sinks(&name)?);
        }
        Ok(PackageSkillPlan { sinks: dedup_sinks(sinks), packs: chosen, placements: places })
    }

    /// The sinks in which a package of skills is on record.
    pub(super) fn recorded_sinks(&self, name: &PackageName) -> Result<Vec<Sink>> {
        let state = read_state(self.session.context)?;
        let here = state.installs.iter().filter(|install| {
            install.pack == name.as_str() && install.pack_file == pack_file_key(name)
        });
        let sink = |install: &InstallRecord| {
            recorded_sink(self.session.context, &install.sink, &install.sink_path)
        };
        let mut sinks: Vec<Sink> = here.map(sink).collect::<Result<_>>()?;
        sinks.retain(|sink| state.installs.iter().any(|install| sink.matches_record(install)));
        Ok(sinks)
    }

    /// A package of skills as a pack, so that it goes the way of every pack.
    fn to_pack(&self, package: &Package, asked: &BTreeSet<PackageName>) -> Result<ResolvedPack> {
        let manifest = &package.manifest;
        let name = manifest.name.to_string();
        let prefix = self.folder_prefix(&manifest.name, asked)?;
        let naming = FolderNaming { prefix, sep: "__".into(), flatten: true };
        let mut skills: Vec<SelectedSkill> = Vec::new();
        let mut contents = Vec::new();
        for (id, content) in self.skill_contents(package) {
            let folder = naming.folder_name(&id).map_err(|why| {
                Error::new(FailureKind::Data, format!("`{id}` of `{name}` cannot be installed"))
                    .because(why)
                    .hint("give another `--prefix`")
            })?;
            if let Some(twin) = skills
                .iter()
                .find(|skill| fold_name(skill.folder.as_str()) == fold_name(folder.as_str()))
            {
                return Err(Error::new(
                    FailureKind::Data,
                    format!(
                        "`{}` and `{id}` of `{name}` would both be installed as `{folder}`",
                        twin.id
                    ),
                )
                .hint("whoever made it must rename one of the two"));
            }
            skills.push(SelectedSkill { source: SkillSource::Package(contents.len()), id, folder });
            contents.push(content);
        }
        if skills.is_empty() {
            return Err(Error::new(FailureKind::Data, format!("`{name}` has no skill in it"))
                .because(format!("no folder of it has a `{SKILL_FILE}`"))
                .hint("nothing was changed"));
        }
        let report = Report::new(name.clone(), "");
        let pack = Pack {
            name,
            name_span: 0..0,
            include: Vec::new(),
            exclude: Vec::new(),
            imports: Vec::new(),
            naming,
        };
        Ok(ResolvedPack {
            repository: SkillRepository { root: PathBuf::new() },
            file: ValidPackFile { path: pack_file_key(&manifest.name).into(), pack, report },
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

    /// What stands before the names of its folders: what is said of it now, or what was said when it came.
    fn folder_prefix(&self, name: &PackageName, asked: &BTreeSet<PackageName>) -> Result<String> {
        if let (Some(prefix), true) = (&self.request.prefix, asked.contains(name)) {
            return Ok(prefix.clone());
        }
        let state = read_state(self.session.context)?;
        let mut known = state
            .installs
            .into_iter()
            .filter(|one| one.pack == name.as_str() && one.pack_file == pack_file_key(name));
        Ok(known.next().map(|install| install.prefix).unwrap_or_default())
    }

    /// The skills of a package. What belongs to none is told.
    fn skill_contents(&self, package: &Package) -> Vec<(String, LoadedTree)> {
        let BundledSkills { skills, unassigned_files: left } = package.skills();
        if left > 0 {
            let what = if left == 1 { "a file".into() } else { format!("{left} files") };
            self.session.context.emit(Event::Warning(format!(
                "{what} of `{}` belongs to no skill and is left out",
                package.manifest.name
            )));
        }
        skills
    }
}

/// A sink that is on record.
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

/// What stands in the records in the place of a pack's file.
fn pack_file_key(name: &PackageName) -> String {
    format!("ctxpkg:{name}")
}
