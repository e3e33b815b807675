//! `sp init`: creates a repository with an example skill and pack.

use std::path::Path;

use sp_formats::output::InitReport;
use sp_tree::Name;
use sp_tree::transaction::PriorState;

use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::files::{canonicalize_existing, parent_and_name};
use crate::home::LockedHome;
use crate::install::change::ChangeExecutor;
use crate::install::plan::FilePlan;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

const SKILL_TEMPLATE: &str = include_str!("init/SKILL.md");
const CHECKLIST_TEMPLATE: &str = include_str!("init/checklist.md");
const PACK_TEMPLATE: &str = include_str!("init/pack.yaml");
const README_TEMPLATE: &str = include_str!("init/README.md");

/// Creates a repository in `dir`. Fails if one of its files exists.
pub fn init(context: &Context<'_>, dir: Option<&Path>, apply: ApplyOptions) -> Result<InitReport> {
    let root = dir
        .map_or_else(|| context.current_dir.clone(), |dir| context.expand(&dir.to_string_lossy()));
    let pack = default_pack_name(&root);
    let files = [
        ("README.md".to_owned(), README_TEMPLATE.replace("{pack}", &pack)),
        (format!("packs/{pack}.yaml"), PACK_TEMPLATE.replace("{pack}", &pack)),
        ("skills/general/write-commit-message/SKILL.md".into(), SKILL_TEMPLATE.into()),
        (
            "skills/general/write-commit-message/references/checklist.md".into(),
            CHECKLIST_TEMPLATE.into(),
        ),
    ];
    let session = Session::begin(context)?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, apply.mode)?;
    let existing = files.iter().map(|(path, _)| root.join(path));
    if let Some(path) = existing.into_iter().find(|path| path.symlink_metadata().is_ok()) {
        return Err(Error::new(
            ErrorCode::AlreadyExists,
            format!("`{}` already exists", context.display_path(&path)),
        )
        .hint("run `sp init` in an empty directory, or create a new one with `sp init <dir>`"));
    }
    let real_root = canonicalize_existing(&root);
    let plans: Result<Vec<FilePlan>> =
        files.iter().map(|(path, text)| plan_new_file(&real_root.join(path), text)).collect();
    let status = ChangeExecutor { session: &session, home: home.as_ref(), options: apply }
        .execute_files(plans?)?;
    let files = files.into_iter().map(|(path, _)| path).collect();
    Ok(InitReport { status, root: real_root, pack, files })
}

fn plan_new_file(path: &Path, text: &str) -> Result<FilePlan> {
    let (dir, name) = parent_and_name(path)?;
    let bytes = text.as_bytes().into();
    Ok(FilePlan::new(canonicalize_existing(dir), name, PriorState::Absent, Some(bytes)))
}

/// Returns the name of the directory if it is a valid pack name, and else `team`.
fn default_pack_name(root: &Path) -> String {
    let name =
        root.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let name = name.trim_matches('-');
    // Exclude words that are not strings in YAML, and names that Windows reserves.
    let is_valid = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && !matches!(name, "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n")
        && Name::new(&format!("{name}.yaml")).is_ok();
    if is_valid { name.into() } else { "team".into() }
}
