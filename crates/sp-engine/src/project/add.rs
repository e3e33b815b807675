//! `sp add`: shows what sources contain, and adds the selected skills, packs and context packs to
//! the manifest.

use sp_formats::output::{ProjectAddReport, SourceContent, SourceContentList};
use sp_formats::pattern::Pattern;
use sp_formats::project::MANIFEST_FILE;
use sp_formats::project::manifest::{EntryKey, ProjectManifest, SkillsEntry};
use sp_formats::project::manifest_edit::{ItemList, ManifestEdit, NewEntry, PatternList};
use sp_formats::project::source::SourceArgument;
use sp_formats::suggest::nearest_few;

use super::added_sources::{AddedContextPack, AddedPack, OpenedArguments, open_arguments};
use super::catalog::{CatalogSkill, SourceCatalog};
use super::change::LifecycleChange;
use super::context_packs::context_pack_key;
use super::files::{GitConflicts, MissingManifest, ProjectDir, ProjectFiles, ProjectLocation};
use super::lifecycle_request::LifecycleRequest;
use super::offer::{describe, describe_context_pack};
use super::resolution::is_literal;
use super::targets::expand_agents;
use crate::agent_selection::{ALL_AGENTS, DETECTED_AGENTS};
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// How many names an error lists.
const MAX_LISTED_NAMES: usize = 20;

/// Which skills of the sources to add.
#[derive(Debug, Clone)]
pub enum SkillChoice {
    /// The only one, or those that the user picks.
    Ask,
    All,
    /// Names, IDs or patterns.
    Named(Vec<String>),
}

/// Lets the user pick skills.
pub trait SkillPicker {
    /// Returns the IDs of the picked skills. None if no one can be asked.
    fn pick(&self, content: &SourceContent) -> Result<Option<Vec<String>>>;
}

/// What to add to which manifest.
#[derive(Debug, Clone)]
pub struct AddRequest {
    pub location: ProjectLocation,
    /// Sources, each with an optional ref, skill or version.
    pub sources: Vec<String>,
    pub skills: SkillChoice,
    /// The agents to install for; those of the manifest if empty.
    pub agents: Vec<String>,
    /// Names or paths of packs to add from the sources, in place of skills.
    pub packs: Vec<String>,
    /// What the names of folders start with.
    pub prefix: String,
    pub apply: ApplyOptions,
}

/// An opened source, and what to select from it.
struct AddedSource {
    argument: SourceArgument,
    catalog: SourceCatalog,
    selection: Selection,
}

/// The selected skills of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Selection {
    All,
    /// IDs and patterns.
    Patterns(Vec<String>),
}

impl Selection {
    fn includes(&self, id: &str) -> bool {
        match self {
            Self::All => true,
            Self::Patterns(patterns) => patterns.iter().any(|pattern| {
                pattern == id || Pattern::new(pattern).is_ok_and(|it| it.matches(id))
            }),
        }
    }
}

/// Lists what sources contain. Nothing is changed.
pub fn list_source_skills(
    context: &Context<'_>,
    request: &AddRequest,
) -> Result<SourceContentList> {
    let session = Session::begin(context)?;
    let dir = ProjectDir::find(context, &request.location, MissingManifest::Create)?;
    let files = ProjectFiles::read(&session, &dir, GitConflicts::Refuse)?;
    let opened = open_arguments(&session, &files, (&request.sources, &request.packs))?;
    let mut sources = Vec::new();
    for (argument, catalog) in opened.skills {
        let names = wanted_names(&argument, &request.skills);
        let matches =
            |skill: &CatalogSkill| names.iter().any(|name| is_named(&skill.id, &skill.name, name));
        let shown: Vec<&CatalogSkill> =
            catalog.skills.iter().filter(|skill| names.is_empty() || matches(skill)).collect();
        sources.push(describe(&session, &catalog, &shown, &|_| false)?);
    }
    sources.extend(describe_packs(&session, &opened.packs, &opened.context_packs)?);
    Ok(SourceContentList { sources })
}

/// Adds skills to a manifest, and installs them.
pub fn add(
    context: &Context<'_>,
    request: &AddRequest,
    picker: &dyn SkillPicker,
) -> Result<ProjectAddReport> {
    let session = Session::begin(context)?;
    let dir = ProjectDir::find(context, &request.location, MissingManifest::Create)?;
    // Sources are opened, and skills picked, before other commands have to wait.
    let before = ProjectFiles::read(&session, &dir, GitConflicts::Refuse)?;
    let opened = open_arguments(&session, &before, (&request.sources, &request.packs))?;
    let OpenedArguments { skills, packs, context_packs } = opened;
    let has_packs = !packs.is_empty() || !context_packs.is_empty();
    let added = if has_packs && skills.is_empty() {
        refuse_skill_options(request)?;
        Vec::new()
    } else {
        select_skills(&session, skills, &request.skills, picker)?
    };
    let mut contents = Vec::new();
    for source in &added {
        if let Some(steps) = &source.catalog.extra_steps {
            context.emit(Event::Warning(format!(
                "`{}` requires installation steps that `sp` does not run:\n{steps}",
                source.catalog.key
            )));
        }
        let includes = |id: &str| source.selection.includes(id);
        let selected: Vec<&CatalogSkill> =
            source.catalog.skills.iter().filter(|skill| includes(&skill.id)).collect();
        contents.push(describe(&session, &source.catalog, &selected, &|_| true)?);
    }
    contents.extend(describe_packs(&session, &packs, &context_packs)?);
    let mode = request.apply.mode;
    let home = LockedHome::open_unless_missing(context, &session.limits, mode)?;
    let files = ProjectFiles::read(&session, &dir, GitConflicts::Refuse)?;
    let mut edits = manifest_edits(&session, &files.manifest, request, &added)?;
    if has_packs {
        refuse_other_agents(&session, &files.manifest, &request.agents)?;
        edits.extend(pack_edits(&files.manifest, &packs, &context_packs));
    }
    let lifecycle = LifecycleRequest::edit(edits, request.apply);
    let catalogs = added.into_iter().map(|source| source.catalog);
    let catalogs = catalogs.chain(packs.into_iter().map(|pack| pack.catalog)).collect();
    let change = LifecycleChange::new(&session, home.as_ref(), &files, lifecycle, catalogs)?
        .with_context_packs(context_packs.into_iter().map(|it| (it.key, it.opened)).collect());
    Ok(ProjectAddReport { change: change.run()?, sources: contents })
}

/// Returns the names that select skills of a source.
pub(super) fn wanted_names(argument: &SourceArgument, choice: &SkillChoice) -> Vec<String> {
    let named = match choice {
        SkillChoice::Named(names) => names.as_slice(),
        SkillChoice::Ask | SkillChoice::All => &[],
    };
    argument.skill.iter().chain(named).cloned().collect()
}

/// Whether a name, an ID or a pattern means a skill.
pub(super) fn is_named(skill_id: &str, skill_name: &str, name: &str) -> bool {
    skill_id == name
        || skill_name == name
        || !is_literal(name)
            && Pattern::new(name).is_ok_and(|it| it.matches(skill_id) || it.matches(skill_name))
}

fn select_skills(
    session: &Session<'_>,
    opened: Vec<(SourceArgument, SourceCatalog)>,
    choice: &SkillChoice,
    picker: &dyn SkillPicker,
) -> Result<Vec<AddedSource>> {
    if let SkillChoice::Named(names) = choice {
        for name in names {
            let is_found = |(_, catalog): &(SourceArgument, SourceCatalog)| {
                catalog.skills.iter().any(|skill| is_named(&skill.id, &skill.name, name))
            };
            if !opened.iter().any(is_found) {
                return Err(unknown_skill(&opened, name));
            }
        }
    }
    let mut added = Vec::new();
    for (argument, catalog) in opened {
        let names = wanted_names(&argument, choice);
        let selection = match choice {
            _ if !names.is_empty() => named_selection(session, &catalog, &names)?,
            SkillChoice::All => Selection::All,
            _ if catalog.skills.len() == 1 => {
                Selection::Patterns(vec![catalog.skills[0].id.clone()])
            }
            _ => picked_selection(session, &catalog, picker)?,
        };
        if selection != Selection::Patterns(Vec::new()) {
            added.push(AddedSource { argument, catalog, selection });
        }
    }
    if added.is_empty() {
        return Err(Error::new(ErrorCode::NothingFound, "no skill was selected")
            .hint("nothing was changed"));
    }
    Ok(added)
}

fn named_selection(
    session: &Session<'_>,
    catalog: &SourceCatalog,
    names: &[String],
) -> Result<Selection> {
    let mut patterns: Vec<String> = Vec::new();
    for name in names {
        let ids: Vec<String> = if catalog.skills.iter().any(|skill| skill.id == *name) {
            vec![name.clone()]
        } else if is_literal(name) {
            named_ids(session, catalog, name)?
        } else if catalog
            .skills
            .iter()
            .any(|skill| Pattern::new(name).is_ok_and(|pattern| pattern.matches(&skill.id)))
        {
            vec![name.clone()]
        } else {
            let named =
                catalog.skills.iter().filter(|skill| is_named(&skill.id, &skill.name, name));
            named.map(|skill| skill.id.clone()).collect()
        };
        patterns.extend(ids.into_iter().filter(|id| !patterns.contains(id)).collect::<Vec<_>>());
    }
    Ok(Selection::Patterns(patterns))
}

/// Returns the ID of the skill with a name. Copies of one skill count once.
fn named_ids(session: &Session<'_>, catalog: &SourceCatalog, name: &str) -> Result<Vec<String>> {
    let named: Vec<&str> = catalog
        .skills
        .iter()
        .filter(|skill| skill.name == name)
        .map(|skill| skill.id.as_str())
        .collect();
    let distinct = catalog.select(session, &|id| named.contains(&id))?;
    let ids: Vec<String> = distinct.iter().map(|skill| skill.id.clone()).collect();
    if ids.len() > 1 {
        let message = format!("`{}` has several skills named `{name}`", catalog.key);
        return Err(Error::new(ErrorCode::AmbiguousSkill, message)
            .because(format!("their IDs are: {}", ids.join(", ")))
            .hint(format!("select one by its ID: `--skill {}`", ids[0])));
    }
    Ok(ids)
}

fn picked_selection(
    session: &Session<'_>,
    catalog: &SourceCatalog,
    picker: &dyn SkillPicker,
) -> Result<Selection> {
    let all = catalog.select(session, &|_| true)?;
    let content = describe(session, catalog, &all, &|_| false)?;
    match picker.pick(&content)? {
        Some(ids) => Ok(Selection::Patterns(ids)),
        None => {
            let message = format!("`{}` contains {} skills", catalog.key, all.len());
            Err(Error::new(ErrorCode::MissingArgument, message)
                .because(listed_names(all.iter().map(|skill| skill.name.as_str())))
                .hint("select skills with `--skill <name>`, or all of them with `--all`")
                .hint("`--list` shows what they do and cost"))
        }
    }
}

fn listed_names<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    let shown = names[..names.len().min(MAX_LISTED_NAMES)].join(", ");
    match names.len().checked_sub(MAX_LISTED_NAMES) {
        Some(more) if more > 0 => format!("{shown}, and {more} more"),
        _ => shown,
    }
}

fn unknown_skill(opened: &[(SourceArgument, SourceCatalog)], name: &str) -> Error {
    let sources: Vec<String> =
        opened.iter().map(|(_, catalog)| format!("`{}`", catalog.key)).collect();
    let message = format!("no skill `{name}` in {}", sources.join(" or "));
    let names = opened
        .iter()
        .flat_map(|(_, catalog)| &catalog.skills)
        .flat_map(|skill| [skill.name.as_str(), skill.id.as_str()]);
    let error = Error::new(ErrorCode::SkillNotFound, message);
    match nearest_few(name, names, 3).as_slice() {
        [] => error.hint("`--list` shows all skills"),
        near => error.hint(format!("similar skills: {}", near.join(", "))),
    }
}

/// Describes all skills of packs, and context packs.
fn describe_packs(
    session: &Session<'_>,
    packs: &[AddedPack],
    context_packs: &[AddedContextPack],
) -> Result<Vec<SourceContent>> {
    let mut contents = Vec::new();
    for AddedPack { catalog, .. } in packs {
        let skills: Vec<&CatalogSkill> = catalog.skills.iter().collect();
        contents.push(describe(session, catalog, &skills, &|_| true)?);
    }
    contents
        .extend(context_packs.iter().map(|pack| describe_context_pack(&pack.key, &pack.opened)));
    Ok(contents)
}

/// Refuses options that select or name skills, for sources that are packs or context packs.
fn refuse_skill_options(request: &AddRequest) -> Result<()> {
    let refused = if matches!(request.skills, SkillChoice::Named(_)) {
        "--skill"
    } else if request.prefix.is_empty() {
        return Ok(());
    } else {
        "--prefix"
    };
    let message = format!("`{refused}` does not apply to packs and context packs");
    Err(Error::new(ErrorCode::InvalidArguments, message).hint("nothing was changed"))
}

/// Refuses agents that the manifest does not name: packs and context packs are installed for all
/// agents of the manifest.
fn refuse_other_agents(
    session: &Session<'_>,
    manifest: &ProjectManifest,
    names: &[String],
) -> Result<()> {
    let is_new = manifest.agents.is_empty();
    if is_new || names.is_empty() {
        return Ok(());
    }
    let known = expand_agents(session, &manifest.agents)?;
    let requested = requested_agents(session, manifest, names)?;
    let is_known = |name: &&String| known.contains(name) || manifest.agents.contains(name);
    match requested.iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(other) => {
            let message = format!("`{MANIFEST_FILE}` does not name the agent `{other}`");
            Err(Error::new(ErrorCode::InvalidArguments, message)
                .because("packs are installed for all agents of the manifest")
                .hint(format!("add `{other}` to `agents` in `{MANIFEST_FILE}`")))
        }
    }
}

/// Returns the edits that add packs and context packs to a manifest.
fn pack_edits(
    manifest: &ProjectManifest,
    packs: &[AddedPack],
    context_packs: &[AddedContextPack],
) -> Vec<ManifestEdit> {
    let is_new = |pack: &&AddedPack| manifest.packs.iter().all(|known| known.text != pack.text);
    let packs = packs.iter().filter(is_new).map(|pack| (ItemList::Packs, pack.text.clone()));
    let is_new = |pack: &&AddedContextPack| {
        manifest.context.iter().all(|known| context_pack_key(&known.location) != pack.key)
    };
    let context_packs = context_packs.iter().filter(is_new);
    let context_packs = context_packs.map(|pack| (ItemList::Context, pack.text.clone()));
    packs.chain(context_packs).map(|(list, text)| ManifestEdit::AddItem { list, text }).collect()
}

/// Returns the edits that add the selected skills to a manifest.
fn manifest_edits(
    session: &Session<'_>,
    manifest: &ProjectManifest,
    request: &AddRequest,
    added: &[AddedSource],
) -> Result<Vec<ManifestEdit>> {
    let agents = requested_agents(session, manifest, &request.agents)?;
    let mut edits = Vec::new();
    let is_new = manifest.agents.is_empty() && manifest.skills.is_empty();
    let mut entry_agents = agents.clone();
    if is_new {
        let list = ItemList::Agents;
        let added = agents.iter().cloned();
        edits.extend(added.map(|text| ManifestEdit::AddItem { list, text }));
        entry_agents.clear();
    } else if same_agents(&agents, &manifest.agents) {
        entry_agents.clear();
    }
    for source in added {
        let new = NewEntry {
            source: source.argument.source.to_string(),
            version: source.argument.version.as_ref().map(ToString::to_string),
            include: match &source.selection {
                Selection::All => Vec::new(),
                Selection::Patterns(patterns) => patterns.clone(),
            },
            agents: entry_agents.clone(),
            prefix: request.prefix.clone(),
            ..NewEntry::default()
        };
        let key = EntryKey {
            source: source.argument.source.identity(),
            version: new.version.clone(),
            prefix: request.prefix.clone(),
        };
        match manifest.skills.iter().find(|entry| entry.key() == key) {
            None => edits.push(ManifestEdit::AddEntry(new)),
            Some(entry) => edits.extend(entry_edits(manifest, entry, &new, &agents)),
        }
    }
    Ok(edits)
}

/// Returns the agents that the command names. `all` stands for those of the manifest.
fn requested_agents(
    session: &Session<'_>,
    manifest: &ProjectManifest,
    names: &[String],
) -> Result<Vec<String>> {
    let mut agents: Vec<String> = Vec::new();
    for name in names {
        let meant = match name.as_str() {
            ALL_AGENTS if !manifest.agents.is_empty() => manifest.agents.clone(),
            ALL_AGENTS => expand_agents(session, std::slice::from_ref(name))?,
            // On each machine, those that are detected there.
            DETECTED_AGENTS => vec![name.clone()],
            _ => vec![name.clone()],
        };
        for agent in meant {
            if !agents.contains(&agent) {
                agents.push(agent);
            }
        }
    }
    Ok(agents)
}

fn same_agents(one: &[String], other: &[String]) -> bool {
    one.iter().all(|name| other.contains(name)) && other.iter().all(|name| one.contains(name))
}

/// Returns the edits that add skills and agents to an entry.
fn entry_edits(
    manifest: &ProjectManifest,
    entry: &SkillsEntry,
    new: &NewEntry,
    agents: &[String],
) -> Vec<ManifestEdit> {
    let key = entry.key();
    let mut merged = NewEntry::from(entry);
    if !entry.agents.is_empty() {
        merged.agents.extend(agents.iter().filter(|it| !entry.agents.contains(it)).cloned());
    } else if !new.agents.is_empty() {
        // The skills that the entry has stay where they are.
        merged.agents.clone_from(&manifest.agents);
        if merged.agents.is_empty() {
            merged.agents.push(ALL_AGENTS.to_owned());
        }
        merged.agents.extend(agents.iter().filter(|it| !manifest.agents.contains(it)).cloned());
    }
    let replaces_list = new.include.is_empty() && !entry.include.is_empty();
    if replaces_list || merged.agents != entry.agents {
        if new.include.is_empty() {
            merged.include.clear();
        } else if !merged.include.is_empty() {
            let missing = new.include.iter().filter(|it| !entry.selects(it));
            merged.include.extend(missing.cloned());
        }
        merged.exclude.retain(|pattern| !new.include.contains(pattern));
        return vec![ManifestEdit::RemoveEntry(key), ManifestEdit::AddEntry(merged)];
    }
    let mut edits = Vec::new();
    for pattern in new.include.iter().filter(|pattern| !entry.selects(pattern)) {
        let is_listed = |list: &[sp_formats::pack::SpannedPattern]| {
            list.iter().any(|it| it.pattern.as_str() == pattern)
        };
        let edit = |list| (key.clone(), list, pattern.clone());
        if is_listed(&entry.exclude) {
            let (entry, list, pattern) = edit(PatternList::Exclude);
            edits.push(ManifestEdit::RemovePattern { entry, list, pattern });
        }
        let is_included =
            entry.include.is_empty() || entry.include.iter().any(|it| it.pattern.matches(pattern));
        if !is_included {
            let (entry, list, pattern) = edit(PatternList::Include);
            edits.push(ManifestEdit::AddPattern { entry, list, pattern });
        }
    }
    edits
}
