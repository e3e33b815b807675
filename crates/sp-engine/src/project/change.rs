//! One change of a project: manifest × lock × sources × sinks × state → plan → one transaction.
//!
//! `add`, `sync`, `remove` and `update` differ in the manifest that they resolve, in the sources
//! that move to a newer version, and in what may change. Everything else is here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use sp_formats::Report;
use sp_formats::naming::FolderNaming;
use sp_formats::output::{EditedSkillItem, PlanStatus, ProjectChangeReport};
use sp_formats::package::PackageName;
use sp_formats::project::lock::{LockedProjectSkill, ProjectLock, SourceKey};
use sp_formats::project::manifest::{self, ProjectManifest, SkillsEntry};
use sp_formats::project::manifest_edit::{ManifestEditError, apply_all};
use sp_formats::project::source::SourceArgument;
use sp_formats::project::{LOCK_FILE, MANIFEST_FILE};
use sp_formats::state::{InstallSource, InstallState};
use sp_tree::{Digest, LoadedTree};

use super::approval::{AddedCapabilities, SkillOwners, acceptance, record_audits};
use super::bases::{base_plan, read_base};
use super::catalog::SourceCatalog;
use super::context_packs::{
    ContextPacks, InstructionChange, LockedContextPacks, context_pack_changes,
};
use super::disabled::DisabledRecord;
use super::edits::EditPlanner;
use super::files::ProjectFiles;
use super::lifecycle_request::{LifecycleRequest, LockChange};
use super::local_sources::unchanged_sources;
use super::overrides::apply_overrides;
use super::packages::{
    changed_packages, changed_skill_packages, entry_of_error, has_packages, package_lock,
    package_requests, package_source_keys, unlocked_packages, with_pack_entries,
    with_package_entries,
};
use super::resolution::{
    ProjectResolution, SelectedSkill, add_locked_dependencies, demands, entry_source_key, resolve,
    select, select_locked,
};
use super::skill_changes::{LockSide, skill_changes};
use super::source_demand::{DemandedVersion, SourceDemand};
use super::sources::ProjectSources;
use super::targets::{ProjectSinks, recorded_sink};
use crate::agent_set::AgentSet;
use crate::context::Event;
use crate::context_pack::OpenedContextPack;
use crate::error::{Error, ErrorCode, Result};
use crate::home::{DigestIndexes, LockedHome};
use crate::install::change::ChangeExecutor;
use crate::install::plan::{ChangePlan, FilePlan, PlanRequest, SinkTarget, TargetSet};
use crate::install::skill_set::{
    InstallableSkill, LockedTree, ProjectOrigin, SkillOrigin, SkillSet, SkillSource,
};
use crate::pkg::{ManifestPackageOptions, ManifestPackages, ResolvedPackages, TrustOverrides};
use crate::session::Session;
use crate::sinks::Sink;

/// A change of a project.
pub(super) struct LifecycleChange<'a> {
    session: &'a Session<'a>,
    home: Option<&'a LockedHome<'a>>,
    files: &'a ProjectFiles,
    request: LifecycleRequest,
    /// The manifest after the change, with entries for the skills of packages.
    manifest: ProjectManifest,
    manifest_text: String,
    /// A report without findings about the manifest after the change, for positions.
    manifest_report: Report,
    /// The manifest before the change, with entries for the skills of packages.
    manifest_before: ProjectManifest,
    /// The packages, if they were read already.
    packages: Option<ManifestPackages<'a>>,
    sources: ProjectSources<'a>,
    contexts: ContextPacks<'a>,
    disabled: DisabledRecord,
}

/// The folders of each sink, before and after the change.
struct SinkFolders {
    sink: Sink,
    /// The agents that the manifest names.
    agents: AgentSet,
    /// The agents that the state records.
    recorded: AgentSet,
    /// The digests in the lockfile before the change.
    locked: BTreeMap<String, Digest>,
    skills: Vec<InstallableSkill>,
}

impl<'a> LifecycleChange<'a> {
    /// Edits the manifest. `opened` are sources that were opened already.
    pub(super) fn new(
        session: &'a Session<'a>,
        home: Option<&'a LockedHome<'a>>,
        files: &'a ProjectFiles,
        request: LifecycleRequest,
        opened: Vec<SourceCatalog>,
    ) -> Result<Self> {
        let edits = [files.conversion_edits(), request.edits.clone()].concat();
        let manifest_text = apply_all(&files.manifest_text, &edits, &session.limits)
            .map_err(|why| edit_error(session, files, &why))?;
        let (manifest, report) = manifest::read(MANIFEST_FILE, &manifest_text, &session.limits);
        let manifest = manifest.ok_or_else(|| {
            Error::in_file(ErrorCode::InvalidProject, "the manifest would be invalid", report)
        })?;
        let contexts = ContextPacks::new(session, &files.dir, (&manifest, &manifest_text))?;
        let label = session.context.display_relative_path(&files.dir.manifest_path());
        let report = Report::new(label, manifest_text.as_str());
        let mut sources = ProjectSources::new(
            session,
            &files.dir.path,
            report.clone(),
            request.refreshed.clone(),
        );
        opened.into_iter().for_each(|catalog| sources.insert(catalog));
        let disabled = DisabledRecord::read(session)?;
        let manifest = with_pack_entries(&manifest);
        let manifest_before = with_package_entries(&files.manifest, &files.lock.packages);
        Ok(Self {
            session,
            home,
            files,
            request,
            manifest,
            manifest_text,
            manifest_report: report,
            manifest_before,
            packages: None,
            sources,
            contexts,
            disabled,
        })
    }

    /// Sets the packages of the project, if they were read already.
    pub(super) fn with_packages(self, packages: ManifestPackages<'a>) -> Self {
        Self { packages: Some(packages), ..self }
    }

    /// Adds context packs that were opened already, by location.
    pub(super) fn with_context_packs(mut self, opened: Vec<(String, OpenedContextPack)>) -> Self {
        self.contexts.add_opened(opened);
        self
    }

    /// Plans the change and, unless it is a dry run, applies it.
    pub(super) fn run(mut self) -> Result<ProjectChangeReport> {
        let mut packages = self.resolve_packages()?;
        let mut indexes = DigestIndexes::new(self.session.context);
        let mut resolution = self.resolve(&mut indexes)?;
        self.sources.add_to_indexes(&mut indexes);
        if let Some(packages) = &packages {
            resolution.lock.packages.clone_from(&packages.lock.packages);
            resolution.lock.merged.clone_from(&packages.lock.context);
        }
        resolution.lock.contexts = self.lock_context_packs()?;
        self.refuse_lock_change(&resolution.lock)?;
        let executor = ChangeExecutor {
            session: self.session,
            home: self.home,
            options: self.request.options,
        };
        let state = executor.state()?;
        let sinks = self.sink_folders(&resolution, &state)?;
        let plan_request = PlanRequest { targets: self.targets(sinks), ..PlanRequest::default() };
        let mut plan = executor.plan(state, &plan_request, Vec::new(), &mut indexes)?;
        let edits = self.plan_edits(&mut plan, &resolution)?;
        apply_overrides(&mut plan, &self.request.overrides, &resolution.lock);
        self.add_content(&mut plan, &resolution.lock)?;
        let added = self.record_audits(&mut resolution.lock)?;
        plan.acceptance = acceptance(&self.files.dir, &resolution.lock);
        plan.files = self.file_plans(&plan, &resolution.lock)?;
        let instructions = self.plan_instructions(&resolution.lock)?;
        plan.files.extend(instructions.plans);
        let events = self.add_files(&mut plan, packages.as_mut())?;
        let texts = self.request.texts;
        let before = &self.files.lock;
        let mut skills =
            skill_changes(before, &resolution.lock, texts, &mut |side, folder| match side {
                LockSide::Before => self.earlier_version(folder),
                LockSide::After => self.version_of(&resolution.lock, folder),
            })?;
        for skill in &mut skills {
            skill.added_capabilities = added.of(&skill.name).to_vec();
        }
        added.require_consent(self.session.context, self.request.options.mode)?;
        let outcome = executor.run(plan, &mut indexes)?;
        if outcome.report.applied {
            events.into_iter().for_each(|event: Event<'_>| self.session.context.emit(event));
        }
        Ok(ProjectChangeReport {
            status: PlanStatus { applied: outcome.report.applied, plan: outcome.report.plan },
            manifest: self.files.dir.manifest_path(),
            manifest_changed: self.files.changes_manifest(&self.manifest_text),
            lock_changed: self.files.changes_lock(&resolution.lock),
            united: self.files.united.iter().map(|name| (*name).to_owned()).collect(),
            skills,
            sinks: outcome.report.sinks,
            edits,
            workspace: None,
            converted: self.files.converted(),
            packages: packages.as_mut().map(|it| std::mem::take(&mut it.items)).unwrap_or_default(),
            context: packages.and_then(|it| it.context),
            context_packs: context_pack_changes(&before.contexts, &resolution.lock.contexts),
            instructions: instructions.written,
            kept: outcome.trashed_files,
        })
    }

    /// Adds the files that the command and packages change, and returns the events to emit when the
    /// change was applied.
    fn add_files(
        &mut self,
        plan: &mut ChangePlan,
        packages: Option<&mut ResolvedPackages<'a>>,
    ) -> Result<Vec<Event<'static>>> {
        for file in std::mem::take(&mut self.request.files) {
            if !plan.files.iter().any(|known| (&known.dir, &known.name) == (&file.dir, &file.name))
            {
                plan.files.push(file);
            }
        }
        let (stored, events) = match packages {
            Some(packages) => {
                plan.files.append(&mut packages.files);
                packages.store_plans(&self.sources.packages())?
            }
            None => self.sources.plan_packages()?,
        };
        plan.files.extend(stored);
        Ok(events)
    }

    /// Selects the packages, and adds entries for their skills to the manifest.
    fn resolve_packages(&mut self) -> Result<Option<ResolvedPackages<'a>>> {
        let (session, files) = (self.session, self.files);
        let open = match self.packages.take() {
            Some(open) => open,
            None if !has_packages(&self.manifest, &files.lock) => return Ok(None),
            None => {
                let options = ManifestPackageOptions {
                    trust: TrustOverrides::default(),
                    registry: None,
                    apply: self.request.options,
                };
                let project = (files.dir.path.as_path(), package_lock(files));
                ManifestPackages::open(session, self.home, project, options)?
            }
        };
        let unlocked = unlocked_packages(&self.manifest, &files.lock);
        if self.request.lock_change == LockChange::Refused && !unlocked.is_empty() {
            let names: Vec<&str> = unlocked.into_iter().map(PackageName::as_str).collect();
            return Err(lock_mismatch("these packages are not locked", &names));
        }
        let selection = std::mem::take(&mut self.request.packages);
        let resolved = open
            .resolve(package_requests(&self.manifest), selection)
            .map_err(|error| self.locate_package(error))?;
        let packages = &resolved.lock.packages;
        self.manifest = with_package_entries(&self.manifest, packages);
        for catalog in changed_skill_packages(session, &files.dir.path, &resolved, &files.lock)? {
            self.sources.insert(catalog);
        }
        // They have the version that was just selected.
        let keys = package_source_keys(packages);
        self.request.refreshed.retain(|key| !keys.contains(key));
        Ok(Some(resolved))
    }

    /// Adds the position of the entry of the package that an error is about.
    fn locate_package(&self, error: Error) -> Error {
        match entry_of_error(&self.manifest, &self.files.lock, &error) {
            Some(entry) => {
                let span = entry.span.clone();
                error.within(&self.manifest_report, &span)
            }
            None => error,
        }
    }

    /// Returns the versions of the context packs.
    fn lock_context_packs(&mut self) -> Result<LockedContextPacks> {
        let before = &self.files.lock.contexts;
        let unlocked = self.contexts.unlocked(before);
        if self.request.lock_change == LockChange::Refused && !unlocked.is_empty() {
            return Err(lock_mismatch("these context packs are not locked", &unlocked));
        }
        self.contexts.lock(before, &self.request.refreshed_contexts)
    }

    /// Plans the instruction files that context packs are installed in.
    fn plan_instructions(&mut self, lock: &ProjectLock) -> Result<InstructionChange> {
        if lock.contexts.is_empty() && self.files.lock.contexts.is_empty() {
            return Ok(InstructionChange::default());
        }
        self.contexts.plan(self.home, &lock.contexts)
    }

    /// Opens the sources that are needed, and decides what each folder contains.
    fn resolve(&mut self, indexes: &mut DigestIndexes<'_>) -> Result<ProjectResolution> {
        let lock = &self.files.lock;
        let base = &self.files.dir.path;
        let unchanged = unchanged_sources(self.session, base, (&self.manifest, lock), indexes);
        let demands = demands(&self.manifest, lock, &self.request.refreshed, &unchanged);
        self.sources.open(&demands, lock)?;
        let offers = self.sources.offers(&self.manifest)?;
        let mut report = self.manifest_report.clone();
        let mut selected = select(&self.manifest, lock, &offers, &mut report);
        if !report.is_usable() {
            report.sort();
            let message = "the manifest selects skills that do not exist";
            return Err(Error::in_file(ErrorCode::InvalidProject, message, report));
        }
        add_locked_dependencies(&mut selected, lock);
        self.sources.add_dependencies(&self.manifest, lock, &mut selected)?;
        self.sources.load(&selected)?;
        let digest = |skill: &SelectedSkill| self.sources.digest(skill);
        resolve(&self.manifest, lock, &self.sources.locked(), selected, &digest)
    }

    fn refuse_lock_change(&self, lock: &ProjectLock) -> Result<()> {
        if self.request.lock_change == LockChange::Allowed || !self.files.changes_lock(lock) {
            return Ok(());
        }
        let old = &self.files.lock;
        let mut changed: Vec<&str> = lock
            .skills
            .iter()
            .filter(|(name, skill)| old.skills.get(*name) != Some(skill))
            .map(|(name, _)| name.as_str())
            .collect();
        changed.extend(
            old.skills.keys().filter(|name| !lock.skills.contains_key(*name)).map(String::as_str),
        );
        changed.extend(changed_packages(old, lock));
        let contexts = context_pack_changes(&old.contexts, &lock.contexts);
        changed.extend(contexts.iter().map(|item| item.location.as_str()));
        Err(lock_mismatch("these would change", &changed))
    }

    /// Returns what each sink contains before and after the change, by the path of the sink.
    fn sink_folders(
        &self,
        resolution: &ProjectResolution,
        state: &InstallState,
    ) -> Result<BTreeMap<PathBuf, SinkFolders>> {
        let mut sinks = ProjectSinks::new(self.session, &self.files.dir);
        let mut folders: BTreeMap<PathBuf, SinkFolders> = BTreeMap::new();
        let mut owners = SkillOwners::new(&self.files.dir);
        for skill in &resolution.skills {
            let source = SkillSource::Locked(LockedTree {
                source: skill.locked.source.as_str().into(),
                id: skill.locked.id.clone(),
                digest: skill.locked.tree,
                owner: owners.owner_of(&skill.locked),
                content: None,
            });
            for sink in sinks.of_entries(&self.manifest, &skill.entries)? {
                let installable =
                    InstallableSkill { folder: skill.folder.clone(), source: source.clone() };
                let agents = sink.agents.clone();
                let is_disabled = self.is_disabled(&sink, skill.folder.as_str());
                let folders = SinkFolders::of(&mut folders, sink);
                folders.agents.extend(&agents);
                if self.request.adopted.contains(skill.folder.as_str()) {
                    folders.locked.insert(skill.folder.to_string(), skill.locked.tree);
                }
                if !is_disabled {
                    folders.skills.push(installable);
                }
            }
        }
        for skill in self.locked_before() {
            // The agents of the old manifest may be unknown here; then nothing is known of them.
            let found = sinks.of_entries(&self.manifest_before, &skill.entries).unwrap_or_default();
            for sink in found {
                let digest = skill.locked_digest.map(|digest| (skill.folder.to_string(), digest));
                SinkFolders::of(&mut folders, sink).locked.extend(digest);
            }
        }
        let project = InstallSource::Project(self.project_name());
        for install in state.installs.iter().filter(|install| install.source == project) {
            let sink = recorded_sink(self.session, install)?;
            if sink.matches_record(install) {
                let recorded = sink.agents.clone();
                SinkFolders::of(&mut folders, sink).recorded.extend(&recorded);
            }
        }
        Ok(folders)
    }

    /// Returns the skills of the lockfile before the change, with the entries that select them.
    fn locked_before(&self) -> Vec<SelectedSkill> {
        select_locked(&self.manifest_before, &self.files.lock)
    }

    fn is_disabled(&self, sink: &Sink, folder: &str) -> bool {
        let disabled = self.request.disabled.as_ref().unwrap_or(&self.disabled.skills);
        disabled.find(&self.project_name(), &sink.path.to_string_lossy(), folder).is_some()
    }

    fn project_name(&self) -> String {
        self.files.dir.manifest_path().to_string_lossy().into_owned()
    }

    fn targets(&self, sinks: BTreeMap<PathBuf, SinkFolders>) -> Vec<SinkTarget> {
        let target = |mut folders: SinkFolders| {
            if !folders.agents.is_empty() {
                folders.sink.agents = folders.agents.clone();
            }
            let origin = SkillOrigin::Project(ProjectOrigin {
                manifest: self.project_name(),
                naming: FolderNaming { prefix: String::new(), sep: String::new(), flatten: true },
                locked_folders: folders.locked,
            });
            let set = SkillSet { origin: Arc::new(origin), skills: folders.skills };
            let set = TargetSet { set: Arc::new(set), agents: folders.agents };
            // The agents of the manifest replace those of the record.
            let uninstall_for = folders.recorded;
            SinkTarget { sets: vec![set], uninstall_for, ..SinkTarget::new(folders.sink) }
        };
        sinks.into_values().map(target).collect()
    }

    fn plan_edits(
        &mut self,
        plan: &mut ChangePlan,
        resolution: &ProjectResolution,
    ) -> Result<Vec<EditedSkillItem>> {
        let project = self.project_name();
        let policies = resolution.skills.iter().map(|it| (it.folder.to_string(), it.edits));
        let planner = EditPlanner {
            session: self.session,
            project: &project,
            choice: self.request.edit_choice,
            policies: policies.collect(),
        };
        let mut load = |folder: &str, digest: Digest| {
            let has_digest = |lock: &ProjectLock| {
                lock.skills.get(folder).is_some_and(|skill| skill.tree == digest)
            };
            if has_digest(&resolution.lock) {
                self.version_of(&resolution.lock, folder)
            } else if has_digest(&self.files.lock) {
                self.earlier_version(folder)
            } else {
                Ok(None)
            }
        };
        planner.apply(plan, &mut load)
    }

    /// Returns the content of a skill in the new lockfile: from this machine, or else from its
    /// source.
    fn version_of(&mut self, lock: &ProjectLock, folder: &str) -> Result<Option<Arc<LoadedTree>>> {
        let Some(skill) = lock.skills.get(folder) else { return Ok(None) };
        if let Some(known) = self.known_version(skill)? {
            return Ok(Some(known));
        }
        let Some(demand) = self.demand_of(&skill.source) else { return Ok(None) };
        self.sources.content(&demand, &skill.id, skill.tree, lock).map(Some)
    }

    /// Returns the content of a skill in the lockfile before the change. None if its source does
    /// not have it anymore.
    fn earlier_version(&mut self, folder: &str) -> Result<Option<Arc<LoadedTree>>> {
        let lock = &self.files.lock;
        let Some(skill) = lock.skills.get(folder) else { return Ok(None) };
        if let Some(known) = self.known_version(skill)? {
            return Ok(Some(known));
        }
        let Some(demand) = self.demand_of(&skill.source) else { return Ok(None) };
        Ok(self.sources.earlier_content(&demand, &skill.id, skill.tree, lock))
    }

    /// Returns the content of a locked skill if it is on this machine.
    fn known_version(&self, skill: &LockedProjectSkill) -> Result<Option<Arc<LoadedTree>>> {
        match self.sources.loaded(&skill.source, &skill.id, skill.tree) {
            Some(loaded) => Ok(Some(loaded)),
            None => Ok(read_base(self.session, &skill.tree)?.map(Arc::new)),
        }
    }

    /// Returns how to open a locked source.
    fn demand_of(&self, key: &SourceKey) -> Option<SourceDemand> {
        let is_meant = |entry: &&SkillsEntry| entry_source_key(entry) == *key;
        let entry = self.manifest.skills.iter().find(is_meant);
        let span = entry.map(|entry| entry.source_span.clone());
        let (source, version) =
            match entry.or_else(|| self.manifest_before.skills.iter().find(is_meant)) {
                Some(entry) => (entry.source.clone(), entry.version.clone()),
                // The source of a dependency.
                None => {
                    let argument = SourceArgument::parse(key.as_str()).ok()?;
                    (argument.source, argument.version)
                }
            };
        let demanded = DemandedVersion::Locked;
        Some(SourceDemand { key: key.clone(), source, version, demanded, span })
    }

    /// Records what the audits of changed skills found, and returns the added capabilities.
    fn record_audits(&mut self, lock: &mut ProjectLock) -> Result<AddedCapabilities> {
        let (session, files) = (self.session, self.files);
        let after = lock.clone();
        let mut load = |side: LockSide, folder: &str| match side {
            LockSide::Before => self.earlier_version(folder),
            LockSide::After => self.version_of(&after, folder),
        };
        record_audits(session, files, lock, &mut load)
    }

    /// Loads what the plan writes.
    fn add_content(&mut self, plan: &mut ChangePlan, lock: &ProjectLock) -> Result<()> {
        let folders = plan.sinks.iter_mut().flat_map(|sink| &mut sink.folders);
        for folder in folders.filter(|folder| folder.is_changed()) {
            let Some(SkillSource::Locked(locked)) = &mut folder.source else { continue };
            if locked.content.is_none() {
                locked.content = self.version_of(lock, folder.name.as_str())?;
            }
        }
        Ok(())
    }

    /// Plans the manifest, the lockfile and the versions to keep for merges.
    fn file_plans(&mut self, plan: &ChangePlan, lock: &ProjectLock) -> Result<Vec<FilePlan>> {
        let mut files = self.files.plans(&self.manifest_text, lock)?;
        if let Some(disabled) = &self.request.disabled {
            files.extend(self.disabled.plan(disabled)?);
        }
        let changed = plan.changed_folders().map(|(_, folder)| folder);
        let recorded: BTreeSet<&str> =
            changed.filter(|it| it.source.is_some()).map(|it| it.name.as_str()).collect();
        let mut stored: BTreeSet<Digest> = BTreeSet::new();
        for folder in recorded {
            let Some(skill) = lock.skills.get(folder) else { continue };
            if !stored.insert(skill.tree) {
                continue;
            }
            if let Some(tree) = self.version_of(lock, folder)? {
                files.extend(base_plan(self.session, &skill.tree, &tree)?);
            }
        }
        Ok(files)
    }
}

impl SinkFolders {
    /// Returns the folders of a sink.
    fn of(all: &mut BTreeMap<PathBuf, Self>, sink: Sink) -> &mut Self {
        all.entry(sink.path.clone()).or_insert_with(|| Self {
            sink,
            agents: AgentSet::default(),
            recorded: AgentSet::default(),
            locked: BTreeMap::new(),
            skills: Vec::new(),
        })
    }
}

fn lock_mismatch(what: &str, names: &[&str]) -> Error {
    let message = format!("`{LOCK_FILE}` does not match `{MANIFEST_FILE}`");
    let error = Error::new(ErrorCode::LockMismatch, message);
    let error = if names.is_empty() {
        error
    } else {
        error.because(format!("{what}: {}", names.join(", ")))
    };
    error.hint("nothing was changed: run `sp sync`, and commit the lockfile")
}

fn edit_error(session: &Session<'_>, files: &ProjectFiles, why: &ManifestEditError) -> Error {
    let path = session.context.display_relative_path(&files.dir.manifest_path());
    Error::new(ErrorCode::NotFixable, format!("cannot edit `{path}`"))
        .because(why.to_string())
        .hint("nothing was changed: edit the file by hand, then run `sp sync`")
}
