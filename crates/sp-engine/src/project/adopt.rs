//! `sp adopt`: takes folders that you made, or that another tool installed, under management.
//!
//! If a locked source of the project has the same files, the manifest selects the skill from there.
//! Otherwise the files are copied into `skills/` of the project, which becomes the source. The
//! folder itself stays as it is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::output::ProjectChangeReport;
use sp_formats::project::manifest::SkillsEntry;
use sp_formats::project::manifest_edit::{ManifestEdit, NewEntry, PatternList};
use sp_formats::project::source::ManifestSource;
use sp_formats::skill::SKILL_FILE;
use sp_tree::transaction::PriorState;
use sp_tree::{Dir, LoadedTree, Name, load_untrusted};

use super::bases::base_plan;
use super::catalog::{CatalogRequest, SourceCatalog, open_catalog, open_local_or_empty};
use super::change::LifecycleChange;
use super::files::{GitConflicts, MissingManifest, ProjectDir, ProjectFiles, ProjectLocation};
use super::lifecycle_request::LifecycleRequest;
use super::resolution::entry_source_key;
use super::targets::{ProjectSinks, expand_agents};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::install::plan::FilePlan;
use crate::plan_id::ApplyOptions;
use crate::session::Session;
use crate::sinks::{Sink, merge_sinks};

/// The directory of a project for skills that have no other source.
const OWN_SKILLS: &str = "skills";
const OWN_SOURCE: &str = "./skills";

/// Which folders to adopt.
#[derive(Debug, Clone)]
pub struct AdoptRequest {
    pub location: ProjectLocation,
    /// Names of folders in the agents' directories, or paths.
    pub folders: Vec<String>,
    pub apply: ApplyOptions,
}

/// Takes folders under management.
pub fn adopt(context: &Context<'_>, request: &AdoptRequest) -> Result<ProjectChangeReport> {
    let session = Session::begin(context)?;
    let dir = ProjectDir::find(context, &request.location, MissingManifest::Create)?;
    let mode = request.apply.mode;
    let home = LockedHome::open_unless_missing(context, &session.limits, mode)?;
    let files = ProjectFiles::read(&session, &dir, GitConflicts::Refuse)?;
    let mut adoption = Adoption {
        session: &session,
        files: &files,
        edits: Vec::new(),
        plans: Vec::new(),
        own: None,
    };
    for folder in &request.folders {
        adoption.add(folder)?;
    }
    let Adoption { edits, plans, own, .. } = adoption;
    let lifecycle =
        LifecycleRequest { files: plans, ..LifecycleRequest::edit(edits, request.apply) };
    let opened = own.into_iter().collect();
    LifecycleChange::new(&session, home.as_ref(), &files, lifecycle, opened)?.run()
}

/// The change that adopts folders, while it is put together.
struct Adoption<'a> {
    session: &'a Session<'a>,
    files: &'a ProjectFiles,
    edits: Vec<ManifestEdit>,
    plans: Vec<FilePlan>,
    /// The source `./skills` with the copied skills.
    own: Option<SourceCatalog>,
}

/// A folder to adopt.
struct AdoptedFolder {
    name: Name,
    path: PathBuf,
    tree: Arc<LoadedTree>,
}

impl Adoption<'_> {
    fn add(&mut self, folder: &str) -> Result<()> {
        let folder = self.find(folder)?;
        if let Some(known) = self.files.lock.skills.get(folder.name.as_str()) {
            let message = format!("`{}` is managed already", folder.name);
            return Err(Error::new(ErrorCode::AlreadyExists, message)
                .because(format!("it comes from `{}`", known.source))
                .hint(format!("nothing was changed: run `sp why {}`", folder.name)));
        }
        self.plans.extend(base_plan(self.session, &folder.tree.digest(), &folder.tree)?);
        match self.matching_entry(&folder)? {
            Some(edit) => self.edits.push(edit),
            None => self.copy(&folder)?,
        }
        Ok(())
    }

    /// Finds a folder by its path, or by its name in the agents' directories.
    fn find(&self, text: &str) -> Result<AdoptedFolder> {
        let context = self.session.context;
        let sinks = self.sinks()?;
        let (parent, name) = if text.contains('/') {
            let path = context.expand(text.trim_end_matches('/'));
            let parent = path.parent().unwrap_or(&path).canonicalize().unwrap_or_default();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (Some(parent), name)
        } else {
            (None, text.to_owned())
        };
        let name = Name::new(&name)?;
        let is_here = |sink: &&Sink| {
            parent.as_ref().is_none_or(|parent| *parent == sink.path)
                && sink.path.join(name.as_str()).join(SKILL_FILE).is_file()
        };
        let found: Vec<&Sink> = sinks.iter().filter(is_here).collect();
        let [sink, others @ ..] = found.as_slice() else {
            return Err(self.not_found(text, &sinks));
        };
        let path = sink.path.join(name.as_str());
        let tree = self.load(&path)?;
        for other in others {
            if self.load(&other.path.join(name.as_str()))?.digest() != tree.digest() {
                let message = format!("there are several different folders `{name}`");
                let shown = context.display_relative_path(&path);
                return Err(Error::new(ErrorCode::AmbiguousSkill, message)
                    .hint(format!("nothing was changed: specify the path, such as `{shown}`")));
            }
        }
        Ok(AdoptedFolder { name, path, tree: tree.into() })
    }

    fn load(&self, path: &Path) -> Result<LoadedTree> {
        Ok(load_untrusted(&Dir::open(path)?, &self.session.limits)?)
    }

    fn sinks(&self) -> Result<Vec<Sink>> {
        let mut sinks = ProjectSinks::new(self.session, &self.files.dir);
        let agents = expand_agents(self.session, &self.files.manifest.agents)?;
        let found: Vec<Sink> =
            agents.iter().map(|agent| sinks.of_agent(agent)).collect::<Result<_>>()?;
        Ok(merge_sinks(found))
    }

    fn not_found(&self, text: &str, sinks: &[Sink]) -> Error {
        let display = |sink: &Sink| self.session.context.display_relative_path(&sink.path);
        let places: Vec<String> = sinks.iter().map(display).collect();
        let message = format!("no skill folder `{text}` in the agents' directories");
        Error::new(ErrorCode::SkillNotFound, message)
            .because(format!("the directories are: {}", places.join(", ")))
            .hint("run `sp status` to list foreign skills; for other folders, use `sp add <path>`")
    }

    /// Returns the edit that selects the folder from a source that has the same files.
    fn matching_entry(&self, folder: &AdoptedFolder) -> Result<Option<ManifestEdit>> {
        let digest = folder.tree.digest();
        for entry in &self.files.manifest.skills {
            let Some(lock) = self.files.lock.sources.get(&entry_source_key(entry)) else {
                continue;
            };
            let request = CatalogRequest::Locked { version: entry.version.as_ref(), lock };
            let base = &self.files.dir.path;
            let catalog = open_catalog(self.session, base, &entry.source, request)?;
            let is_namesake =
                |name: &str| entry.folder_name(name).is_ok_and(|found| found == folder.name);
            let ids: Vec<&str> = catalog
                .skills
                .iter()
                .filter(|skill| is_namesake(&skill.name))
                .map(|skill| skill.id.as_str())
                .collect();
            let trees = catalog.load(self.session, &ids)?;
            let same = ids.iter().zip(trees).find(|(_, tree)| tree.digest() == digest);
            if let Some((id, _)) = same.filter(|(id, _)| can_include(entry, id)) {
                return Ok(Some(include(entry, id)));
            }
        }
        Ok(None)
    }

    /// Copies a folder into `skills/`, and selects it from there.
    fn copy(&mut self, folder: &AdoptedFolder) -> Result<()> {
        let source = ManifestSource::Dir(OWN_SOURCE.to_owned());
        let target = self.files.dir.path.join(OWN_SKILLS).join(folder.name.as_str());
        if target.symlink_metadata().is_ok() {
            if self.load(&target)?.digest() != folder.tree.digest() {
                let shown = self.session.context.display_relative_path(&target);
                return Err(Error::new(
                    ErrorCode::AlreadyExists,
                    format!("`{shown}` already exists"),
                )
                .because("it has other files")
                .hint("nothing was changed: rename one of the two folders"));
            }
        } else {
            self.refuse_empty_dirs(folder)?;
            self.plans.extend(copy_plans(&target, &folder.tree)?);
        }
        let base = &self.files.dir.path;
        let catalog = match self.own.take() {
            Some(catalog) => catalog,
            None => open_local_or_empty(self.session, base, &source)?,
        };
        let catalog = catalog.with_skill(self.session, folder.name.as_str(), &folder.tree)?;
        let name = &catalog.skill(folder.name.as_str())?.name;
        if name != folder.name.as_str() {
            let shown = self.session.context.display_relative_path(&folder.path);
            let message = format!("the folder `{shown}` contains the skill `{name}`");
            return Err(Error::new(ErrorCode::InvalidSkill, message)
                .because("a skill is installed into the folder of its name")
                .hint(format!("nothing was changed: rename the folder to `{name}`")));
        }
        self.own = Some(catalog);
        let identity = source.identity();
        let mut entries = self.files.manifest.skills.iter();
        let is_own =
            |entry: &&SkillsEntry| entry.source.identity() == identity && entry.prefix.is_empty();
        let added = self.edits.iter_mut().find_map(|edit| match edit {
            ManifestEdit::AddEntry(entry) => Some(&mut entry.include),
            _ => None,
        });
        match (entries.find(is_own), added) {
            (Some(entry), _) if entry.selects(folder.name.as_str()) => {}
            (Some(entry), _) if can_include(entry, folder.name.as_str()) => {
                self.edits.push(include(entry, folder.name.as_str()));
            }
            (_, Some(included)) => included.push(folder.name.to_string()),
            _ => self.edits.push(ManifestEdit::AddEntry(NewEntry {
                source: OWN_SOURCE.to_owned(),
                include: vec![folder.name.to_string()],
                ..NewEntry::default()
            })),
        }
        Ok(())
    }

    /// Refuses empty directories: git does not keep them, so that other machines would lack them.
    fn refuse_empty_dirs(&self, folder: &AdoptedFolder) -> Result<()> {
        let is_empty = |dir: &&sp_tree::RelPath| {
            let prefix = format!("{dir}/");
            !folder.tree.files().any(|(path, ..)| path.as_str().starts_with(&prefix))
        };
        let Some(empty) = folder.tree.dirs().find(is_empty) else { return Ok(()) };
        let shown = self.session.context.display_relative_path(&folder.path.join(empty.as_str()));
        Err(Error::new(ErrorCode::Unsupported, format!("the directory `{shown}` is empty"))
            .because("version control does not keep empty directories")
            .hint("nothing was changed: remove the directory"))
    }
}

/// Whether adding an ID to the `include` of an entry selects it.
fn can_include(entry: &SkillsEntry, id: &str) -> bool {
    !entry.include.is_empty() && !entry.exclude.iter().any(|it| it.pattern.matches(id))
}

fn include(entry: &SkillsEntry, id: &str) -> ManifestEdit {
    let (entry, list) = (entry.key(), PatternList::Include);
    ManifestEdit::AddPattern { entry, list, pattern: id.to_owned() }
}

/// Plans the files of a copied folder.
fn copy_plans(target: &Path, tree: &LoadedTree) -> Result<Vec<FilePlan>> {
    let plan = |(path, executable, bytes): (&sp_tree::RelPath, bool, &[u8])| {
        let dir = path.parent().map_or_else(|| target.to_path_buf(), |parent| target.join(parent));
        let name = Name::new(path.file_name())?;
        let plan = FilePlan::new(dir, name, PriorState::Absent, Some(bytes.into()));
        Ok(if executable { plan.executable() } else { plan })
    };
    tree.files().map(plan).collect()
}
