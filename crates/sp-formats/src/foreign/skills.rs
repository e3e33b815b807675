//! `skills` of npm: `skills-lock.json` of a project, and `.skill-lock.json` of the user.
//!
//! Both map the names of skills to their sources. The lockfile of a project has version 1 and a
//! SHA-256 of each folder. That of the user has version 3, and for repositories on GitHub the hash
//! of git's tree. `skil` writes the latter file, too, with `sourceBranch` instead of `ref`.

use sp_tree::Limits;

use super::digest::ForeignDigest;
use super::reader::{EntryDraft, ForeignMap, ForeignReader, local_source};
use super::syntax::{ForeignMember, ForeignSyntax};
use super::{ForeignSelection, ForeignTool};
use crate::skill::SKILL_FILE;

pub(super) fn read_project_lock(reader: &mut ForeignReader<'_>, limits: &Limits) {
    read_lock(reader, limits, "1");
}

pub(super) fn read_user_lock(reader: &mut ForeignReader<'_>, limits: &Limits) {
    read_lock(reader, limits, "3");
}

fn read_lock(reader: &mut ForeignReader<'_>, limits: &Limits, version: &str) {
    let Some(root) = reader.parse(ForeignSyntax::Json, limits) else { return };
    let Some(root) = reader.map(&root, "the lockfile") else { return };
    if reader.check_version(&root, "version", &[version]).is_none() {
        return;
    }
    reader.read_agents(&root, "lastSelectedAgents");
    let Some(skills) = reader.map_member(&root, "skills") else { return };
    for skill in skills.members {
        read_skill(reader, skill);
    }
}

fn read_skill(reader: &mut ForeignReader<'_>, skill: &ForeignMember) {
    let span = skill.key_span.start..skill.node.span.end;
    let Some(map) = reader.map(&skill.node, "a skill") else { return };
    let Some(source) = reader.required(&map, "source") else { return };
    let kind = reader.text_member(&map, "sourceType").unwrap_or_default();
    if kind == "node_modules" {
        let reason = format!("it comes from the npm package `{}`", source.text);
        reader.skip(span, &skill.key, reason);
        return;
    }
    let source = match kind.as_str() {
        "local" => local_source(source.text),
        "github" => source.text.to_owned(),
        "gitlab" if !source.text.contains(':') => format!("https://gitlab.com/{}", source.text),
        _ => source.text.to_owned(),
    };
    let version = match reader.text_member(&map, "ref") {
        Some(version) => Some(version),
        None => reader.text_member(&map, "sourceBranch"),
    };
    let folder = reader.text_member(&map, "skillPath").map(|path| skill_folder(&path));
    let selection =
        ForeignSelection { folder, skills: vec![skill.key.clone()], ..Default::default() };
    let digest = read_digest(reader, &map);
    let draft = EntryDraft { span, name: skill.key.clone(), source, version, selection };
    if let Some(entry) = reader.add(draft) {
        entry.digest = digest;
    }
}

fn read_digest(reader: &mut ForeignReader<'_>, map: &ForeignMap<'_>) -> Option<ForeignDigest> {
    let computed = reader.text_member(map, "computedHash");
    let recorded = computed.or_else(|| reader.text_member(map, "skillFolderHash"))?;
    ForeignDigest::parse(ForeignTool::Skills, &recorded)
}

/// Returns the folder of a path to a `SKILL.md`.
fn skill_folder(path: &str) -> String {
    let folder = path.strip_suffix(SKILL_FILE).unwrap_or(path).trim_end_matches('/');
    if folder.is_empty() { ".".into() } else { folder.into() }
}
