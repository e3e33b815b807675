//! `sp init`: creates a repository with an example skill and pack.

use std::path::Path;

use sp_formats::output::InitReport;
use sp_tree::atomic::{self, ExistingFilePolicy, FileAccess, OutputFile};
use sp_tree::{Dir, Follow, Name, RelPath};

use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::files::canonicalize_existing;
use crate::plan_id::{ApplyOptions, PlanHasher, PlanId};

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
    if let Some((existing, _)) =
        files.iter().find(|(path, _)| root.join(path).symlink_metadata().is_ok())
    {
        return Err(Error::new(
            ErrorCode::AlreadyExists,
            format!("`{}` already exists", context.display_path(&root.join(existing))),
        )
        .hint("run `sp init` in an empty directory, or create a new one with `sp init <dir>`"));
    }
    let real_root = canonicalize_existing(&root);
    let status = apply.confirm(plan_id(&real_root, &files))?;
    if status.applied {
        let top = Dir::create_all(&root)?;
        for (path, text) in &files {
            write_new_file(context, &top, path, text)?;
        }
    }
    let files = files.into_iter().map(|(path, _)| path).collect();
    Ok(InitReport { status, root: real_root, pack, files })
}

fn plan_id(root: &Path, files: &[(String, String)]) -> PlanId {
    let mut hasher = PlanHasher::of_operation("init");
    hasher.path(root);
    hasher.list(files.iter(), |hasher, (path, text)| {
        hasher.text(path);
        hasher.text(text);
    });
    hasher.finish()
}

fn write_new_file(context: &Context<'_>, top: &Dir, path: &str, text: &str) -> Result<()> {
    let invalid =
        |why: sp_tree::PathError| Error::new(ErrorCode::UnsafePath, format!("`{path}`: {why}"));
    let path = RelPath::new(path).map_err(invalid)?;
    let mut dir: Option<Dir> = None;
    for segment in path.parent().into_iter().flat_map(|parent| parent.split('/')) {
        let here = dir.as_ref().unwrap_or(top);
        let name = Name::new(segment).map_err(invalid)?;
        if here.stat(&name, Follow::Never)?.is_none() {
            here.create_dir(&name)?;
        }
        dir = Some(here.open_dir(&name, Follow::Links)?);
    }
    let name = Name::new(path.file_name()).map_err(invalid)?;
    let file = OutputFile {
        bytes: text.as_bytes(),
        access: FileAccess::Ordinary,
        if_exists: ExistingFilePolicy::Refuse,
    };
    Ok(atomic::write_file(dir.as_ref().unwrap_or(top), &name, &context.run_id, file)?)
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
