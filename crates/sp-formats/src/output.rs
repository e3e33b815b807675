//! What `--format json` prints, one type a command. Members are only ever added.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::report::Placed;

/// `sp list`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SkillList {
    /// The directory that holds `skills/` and `packs/`.
    pub root: PathBuf,
    /// The skills, sorted by id.
    pub skills: Vec<SkillItem>,
    /// Directories with a `SKILL.md` that are no skills because another stands below them.
    pub hidden: Vec<String>,
}

/// A local skill.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SkillItem {
    /// The path below `skills/`.
    pub id: String,
    /// Where it is.
    pub path: PathBuf,
}

/// `sp packs`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackList {
    /// The directory that holds `skills/` and `packs/`.
    pub root: PathBuf,
    /// The packs, sorted by name.
    pub packs: Vec<PackItem>,
}

/// A pack file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackItem {
    /// The pack's name.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// Whether it can be read; `sp show` says what is wrong if not.
    pub valid: bool,
}

/// `sp show`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackView {
    /// The pack's name.
    pub pack: String,
    /// The pack file.
    pub pack_file: PathBuf,
    /// The selected skills in the order of installation: local ones, then imports.
    pub skills: Vec<SelectedItem>,
    /// What was imported, in the order of the file.
    pub imports: Vec<ImportItem>,
}

/// A selected skill.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SelectedItem {
    /// The skill's id in its source.
    pub id: String,
    /// Which of the imports it comes from; none for a local skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import: Option<usize>,
    /// The folder that it gets in a sink.
    pub folder: String,
}

/// An import and what it resolved to.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ImportItem {
    /// The repository, as the pack names it, without credentials.
    pub repo: String,
    /// The ref that the pack asks for.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub git_ref: Option<String>,
    /// The full commit.
    pub commit: String,
}

/// `sp install`, `sp uninstall` and `sp switch`, also with `--dry-run`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChangeReport {
    /// Whether it was done, or only planned.
    pub applied: bool,
    /// What changed, or would, by sink.
    pub sinks: Vec<SinkChange>,
}

/// What changed in one sink.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SinkChange {
    /// The sink's name.
    pub sink: String,
    /// Its real path.
    pub path: PathBuf,
    /// The packs that are installed there by this command.
    pub packs: Vec<String>,
    /// The packs that are removed from there by this command.
    pub removed_packs: Vec<String>,
    /// The folders, in the order of the plan.
    pub folders: Vec<FolderChange>,
    /// Old folders that were kept because they had been edited.
    pub kept: Vec<KeptFolder>,
}

/// What happens to one folder.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FolderChange {
    /// The folder's name.
    pub folder: String,
    /// The pack that it belongs to.
    pub pack: String,
    /// The skill's id, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What happens.
    pub action: FolderAction,
    /// Whether somebody has edited the folder since it was installed.
    pub edited: bool,
}

/// What happens to a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FolderAction {
    /// It is new.
    Add,
    /// Its content changes.
    Update,
    /// It goes.
    Remove,
    /// It stays as it is.
    Keep,
}

/// An old folder that was kept.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct KeptFolder {
    /// The folder's name in the sink.
    pub folder: String,
    /// Where it is now, until `sp clean`.
    pub kept_at: PathBuf,
}

/// `sp installed`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct InstalledList {
    /// The records, sorted by sink and pack.
    pub installs: Vec<InstalledItem>,
}

/// A pack in a sink.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct InstalledItem {
    /// The sink's name.
    pub sink: String,
    /// The sink's path.
    pub path: PathBuf,
    /// The pack's name.
    pub pack: String,
    /// The pack file it came from.
    pub pack_file: String,
    /// The folders.
    pub folders: Vec<String>,
    /// What was imported.
    pub imports: Vec<ImportItem>,
    /// When, in RFC 3339.
    pub installed_at: String,
}

/// `sp config`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ConfigView {
    /// Skillpack's own directory.
    pub home: PathBuf,
    /// The config file, whether it exists or not.
    pub config_file: PathBuf,
    /// The git cache.
    pub cache: PathBuf,
    /// Every sink, built-in and configured ones first.
    pub sinks: Vec<SinkItem>,
    /// The limits in force.
    pub limits: Vec<LimitItem>,
}

/// A sink.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SinkItem {
    /// Its name, as `--agent` takes it.
    pub sink: String,
    /// The agent's own name.
    pub agent: String,
    /// Where a global install goes; none where the agent has no such place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Where a project install goes, from the project's directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_path: Option<PathBuf>,
    /// Where the sink comes from.
    pub origin: SinkOrigin,
    /// Whether the agent was found on this machine.
    pub found: bool,
    /// Where the agent really reads on this machine, if it is elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<PathBuf>,
}

/// Where a sink comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SinkOrigin {
    /// One of the format's own sinks.
    BuiltIn,
    /// The user's config.
    Config,
    /// The table of agents.
    Table,
}

/// A limit in force.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LimitItem {
    /// Its name, as `--limit` takes it.
    pub name: String,
    /// Its value.
    pub value: u64,
}

/// `sp init`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct InitReport {
    /// The new repository.
    pub root: PathBuf,
    /// The pack that it has.
    pub pack: String,
    /// The files that were written.
    pub files: Vec<String>,
}

/// `sp clean`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CleanReport {
    /// Whether it was done, or only planned.
    pub applied: bool,
    /// What was removed.
    pub removed: Vec<PathBuf>,
    /// Their bytes together.
    pub bytes: u64,
}

/// `sp check`, also with `--fix`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CheckReport {
    /// How many findings there are.
    pub summary: CheckSummary,
    /// Everything that was found, sorted by file and place.
    pub findings: Vec<FindingItem>,
    /// What each skill costs, sorted by path.
    pub skills: Vec<SkillCost>,
    /// Which tokenizer counted.
    pub tokenizer: String,
    /// The files that were mended, or would be with `--dry-run`.
    pub fixed: Vec<FixedItem>,
    /// What could not be read at all.
    pub unreadable: Vec<UnreadableItem>,
}

/// How many findings there are.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CheckSummary {
    /// How many skills were checked.
    pub skills: usize,
    /// How many packs were checked.
    pub packs: usize,
    /// How many errors there are.
    pub errors: usize,
    /// How many warnings there are.
    pub warnings: usize,
    /// How many notes there are.
    pub notes: usize,
    /// How many findings `--fix` would mend.
    pub fixable: usize,
    /// How many imports were not looked at; `--imports` does.
    pub imports_left: usize,
}

/// What a skill costs in tokens, by when it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SkillCost {
    /// The skill's folder.
    pub path: PathBuf,
    /// The skill's own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The name and description, which every session reads.
    pub always: usize,
    /// The body, which is read when the skill is used.
    pub body: usize,
    /// The other files, which are read when they are needed.
    pub files: usize,
}

/// A file that was mended.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FixedItem {
    /// The file.
    pub file: String,
    /// Whether it was written, or only shown.
    pub applied: bool,
    /// The change as a unified diff.
    pub diff: String,
}

/// Something that could not be read.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UnreadableItem {
    /// What failed.
    pub message: String,
    /// Why, outermost first.
    pub because: Vec<String>,
}

/// `sp cost`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CostReport {
    /// Which tokenizer counted.
    pub tokenizer: String,
    /// What is looked at together, such as an agent's sink.
    pub groups: Vec<CostGroup>,
}

/// Skills that are looked at together.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CostGroup {
    /// The sink's name, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sink: Option<String>,
    /// Where they are.
    pub path: PathBuf,
    /// The names and descriptions together: what every session pays before the first word.
    pub always: usize,
    /// All bodies together.
    pub body: usize,
    /// All other files together.
    pub files: usize,
    /// The skills, the dearest first.
    pub skills: Vec<SkillCost>,
}

/// `sp explain`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RuleList {
    /// The rules.
    pub rules: Vec<RuleItem>,
}

/// A rule that `sp check` can report.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RuleItem {
    /// Its id.
    pub rule: String,
    /// What it asks, in a line.
    pub title: String,
    /// What it asks.
    pub what: String,
    /// Why it is there.
    pub why: String,
    /// Files that break it.
    pub bad: Vec<ExampleItem>,
    /// The same files, mended.
    pub good: Vec<ExampleItem>,
}

/// A file of an example.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ExampleItem {
    /// Its path.
    pub path: String,
    /// Its text, if it is a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its target, if it is a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// `sp bag init`, `sp bag get`, `sp bag sync`, `sp bag remove` and `sp bag source init`
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct BagChange {
    /// Whether it was done, or only planned.
    pub applied: bool,
    /// The workspace.
    pub root: PathBuf,
    /// What happens to skills, sorted by name.
    pub skills: Vec<BagSkillChange>,
    /// Files outside the skills that were written.
    pub files: Vec<String>,
    /// Whether the catalog is other than it was.
    pub catalog_changed: bool,
    /// Old folders that were kept because they had been edited.
    pub kept: Vec<KeptFolder>,
}

/// What happens to a skill of a workspace.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BagSkillChange {
    /// The skill.
    pub name: String,
    /// What happens.
    pub action: FolderAction,
    /// Who asked for it.
    pub by: Vec<String>,
    /// Where it comes from, if it does not stay as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// `sp bag list`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BagList {
    /// The workspace.
    pub root: PathBuf,
    /// Its skills, sorted by name.
    pub skills: Vec<BagListItem>,
}

/// A skill of a workspace.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BagListItem {
    /// The skill.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its tags, after the contexts had their say.
    pub tags: Vec<String>,
    /// Where it came from; absent if it was not installed by `sp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The version that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The full commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether it is other than what was installed.
    pub edited: bool,
}

/// `sp bag deps`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BagDependencies {
    /// The workspace.
    pub root: PathBuf,
    /// The skills that are here.
    pub skills: Vec<String>,
    /// Who needs whom.
    pub dependencies: Vec<BagDependency>,
    /// Where two declarations want different things, in words.
    pub conflicts: Vec<String>,
}

/// A declared dependency.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BagDependency {
    /// The skill that is needed.
    pub name: String,
    /// Who needs it: a skill, or a context file.
    pub by: String,
    /// Where it is to come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Which version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether it cannot be done without.
    pub required: bool,
    /// Whether it is here.
    pub present: bool,
}

/// `sp bag enter`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BagDigest {
    /// The workspace.
    pub root: PathBuf,
    /// The version that the entrypoint states.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The context files that are there.
    pub contexts: Vec<String>,
    /// The catalog.
    pub skills: Vec<BagDigestSkill>,
    /// The skills that run without being asked for, in order.
    pub always: Vec<String>,
    /// Skills that are needed and not here.
    pub missing: Vec<String>,
}

/// A skill of the catalog.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BagDigestSkill {
    /// The skill.
    pub name: String,
    /// The identifier by which it is run.
    pub run: String,
    /// What it does.
    pub description: String,
    /// Its tags, after the contexts had their say.
    pub tags: Vec<String>,
}

/// `sp bag run`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BagRun {
    /// The skill.
    pub skill: BagRunSkill,
    /// Its parameters.
    pub parameters: Vec<ParameterItem>,
    /// Required parameters that nobody has given.
    pub missing: Vec<String>,
    /// Skills that run with it.
    pub companions: Vec<BagRunSkill>,
    /// Whether values were written to `USER_CONTEXT.md`.
    pub saved: bool,
}

/// A skill that is ready.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BagRunSkill {
    /// The skill.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// What to do.
    pub instructions: String,
}

/// `sp bag params`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ParameterList {
    /// The skill.
    pub skill: String,
    /// Its parameters, in the order of its file.
    pub parameters: Vec<ParameterItem>,
}

/// A parameter and why it is what it is.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ParameterItem {
    /// Its name.
    pub name: String,
    /// Whether the skill cannot run without it.
    pub required: bool,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The value that counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<ParameterOrigin>,
    /// What it overrode, the nearest first.
    pub overrode: Vec<ParameterOrigin>,
    /// What a prohibition kept out.
    pub kept_out: Vec<ParameterOrigin>,
}

/// A value and where it was said.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ParameterOrigin {
    /// The value.
    pub value: serde_json::Value,
    /// `conversation`, `user context`, `context`, `entrypoint` or `skill`.
    pub level: String,
    /// The file.
    pub file: String,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Where it was prohibited, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prohibited_by: Option<String>,
}

/// What is printed on stderr when a command fails.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ErrorReport {
    /// The error.
    pub error: ErrorItem,
}

/// An error.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ErrorItem {
    /// The exit code that goes with it.
    pub exit_code: u8,
    /// What failed.
    pub message: String,
    /// Why, outermost first.
    pub because: Vec<String>,
    /// What to do.
    pub hints: Vec<String>,
    /// Problems in files.
    pub findings: Vec<FindingItem>,
}

/// A problem in a file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FindingItem {
    /// The rule's id.
    pub rule: String,
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The line on which it ends; absent if it is about the file as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<usize>,
    /// The column behind its last character.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<usize>,
    /// The first of its bytes, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_byte: Option<usize>,
    /// The byte behind its last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_byte: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Whether `sp check --fix` mends it.
    pub fixable: bool,
}

impl FindingItem {
    /// A finding in a file.
    pub fn new(file: &str, placed: &Placed) -> Self {
        let Placed { finding, place } = placed;
        let place = place.as_ref();
        Self {
            rule: finding.check.id.into(),
            severity: finding.severity.word().into(),
            file: file.into(),
            line: place.map_or(1, |place| place.start.line),
            column: place.map_or(1, |place| place.start.column),
            end_line: place.map(|place| place.end.line),
            end_column: place.map(|place| place.end.column),
            start_byte: place.map(|place| place.span.start),
            end_byte: place.map(|place| place.span.end),
            message: finding.message.clone(),
            help: finding.help.clone(),
            fixable: !finding.fix.is_empty(),
        }
    }
}

/// The JSON Schema of what each command prints, by command.
pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
    vec![
        ("list", schemars::schema_for!(SkillList)),
        ("packs", schemars::schema_for!(PackList)),
        ("show", schemars::schema_for!(PackView)),
        ("install", schemars::schema_for!(ChangeReport)),
        ("installed", schemars::schema_for!(InstalledList)),
        ("config", schemars::schema_for!(ConfigView)),
        ("init", schemars::schema_for!(InitReport)),
        ("clean", schemars::schema_for!(CleanReport)),
        ("check", schemars::schema_for!(CheckReport)),
        ("cost", schemars::schema_for!(CostReport)),
        ("explain", schemars::schema_for!(RuleList)),
        ("bag get", schemars::schema_for!(BagChange)),
        ("bag list", schemars::schema_for!(BagList)),
        ("bag deps", schemars::schema_for!(BagDependencies)),
        ("bag enter", schemars::schema_for!(BagDigest)),
        ("bag run", schemars::schema_for!(BagRun)),
        ("bag params", schemars::schema_for!(ParameterList)),
        ("error", schemars::schema_for!(ErrorReport)),
    ]
}
