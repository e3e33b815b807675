//! `sp init`: a small, good authoring repository.

use std::path::Path;

use sp_formats::output::InitReport;
use sp_tree::{Dir, Follow, Name, RelPath};

use crate::context::Context;
use crate::error::{Error, Kind, Result};

const SKILL: &str = include_str!("init/SKILL.md");
const CHECKLIST: &str = include_str!("init/checklist.md");
const PACK: &str = include_str!("init/pack.yaml");
const README: &str = include_str!("init/README.md");

/// Makes an authoring repository in `dir`, touching no file that is there.
pub fn init(context: &Context<'_>, dir: Option<&Path>) -> Result<InitReport> {
    let root = dir.map_or_else(|| context.current_dir.clone(), |dir| context.expand(&dir.to_string_lossy()));
    let pack = pack_name(&root);
    let files = [
        ("README.md".to_owned(), README.replace("{pack}", &pack)),
        (format!("packs/{pack}.yaml"), PACK.replace("{pack}", &pack)),
        ("skills/general/write-commit-message/SKILL.md".into(), SKILL.into()),
        ("skills/general/write-commit-message/references/checklist.md".into(), CHECKLIST.into()),
    ];
    if let Some((taken, _)) = files.iter().find(|(path, _)| root.join(path).symlink_metadata().is_ok()) {
        return Err(Error::new(Kind::Request, format!("`{}` is already there", context.show(&root.join(taken))))
            .hint("nothing was changed: run it in an empty directory, or name a new one: `sp init <dir>`"));
    }
    let top = Dir::create_all(&root)?;
    let root = root.canonicalize().unwrap_or(root);
    for (path, text) in &files {
        write(&top, path, text)?;
    }
    Ok(InitReport { root, pack, files: files.into_iter().map(|(path, _)| path).collect() })
}

fn write(top: &Dir, path: &str, text: &str) -> Result<()> {
    let invalid = |why: sp_tree::PathError| Error::new(Kind::Data, format!("`{path}`: {why}"));
    let path = RelPath::new(path).map_err(invalid)?;
    let mut dir: Option<Dir> = None;
    for segment in path.parent().into_iter().flat_map(|parent| parent.split('/')) {
        let here = dir.as_ref().unwrap_or(top);
        let name = Name::new(segment).map_err(invalid)?;
        if here.look(&name, Follow::Never)?.is_none() {
            here.create_dir(&name)?;
        }
        dir = Some(here.open_dir(&name, Follow::Links)?);
    }
    let name = Name::new(path.leaf()).map_err(invalid)?;
    let mut file = dir.as_ref().unwrap_or(top).create_file(&name, false)?;
    file.write(text.as_bytes())?;
    Ok(())
}

/// The directory's own name as a pack's name, or `team` where it has none that could be one.
fn pack_name(root: &Path) -> String {
    let name = root.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let name = name.trim_matches('-');
    // Not one of the words that YAML or Windows read otherwise.
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && !matches!(name, "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n")
        && Name::new(&format!("{name}.yaml")).is_ok();
    if plain { name.into() } else { "team".into() }
}
