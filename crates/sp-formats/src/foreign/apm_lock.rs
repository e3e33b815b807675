//! `apm-cli` of PyPI: the lockfile `apm.lock.yaml`.
//!
//! Each dependency has a commit, the digest of the whole package, its kind, and the files that were
//! installed. A package with several skills is installed as several folders.

use sp_tree::Limits;

use super::digest::ForeignDigest;
use super::reader::{EntryDraft, ForeignMap, ForeignReader, is_commit, local_source};
use super::syntax::{ForeignNode, ForeignSyntax};
use super::{ForeignSelection, ForeignTool};
use crate::printable::printable;

const SUPPORTED_VERSIONS: &[&str] = &["1", "2", "3"];

/// The kinds of packages that may have skills.
const SKILL_PACKAGES: &[&str] =
    &["claude_skill", "skill_bundle", "hybrid", "agent_plugin", "marketplace_plugin"];

/// The host of packages without one.
const DEFAULT_HOST: &str = "github.com";

pub(super) fn read_lock(reader: &mut ForeignReader<'_>, limits: &Limits) {
    let Some(root) = reader.parse(ForeignSyntax::Yaml, limits) else { return };
    let Some(root) = reader.map(&root, "the lockfile") else { return };
    if reader.check_version(&root, "lockfile_version", SUPPORTED_VERSIONS).is_none() {
        return;
    }
    for dependency in reader.list(&root, "dependencies") {
        read_dependency(reader, dependency);
    }
}

fn read_dependency(reader: &mut ForeignReader<'_>, node: &ForeignNode) {
    let Some(map) = reader.map(node, "a dependency") else { return };
    let Some(repo) = reader.required(&map, "repo_url") else { return };
    let name = reader.text_member(&map, "name").unwrap_or_else(|| repo.text.to_owned());
    let kind = reader.text_member(&map, "package_type").unwrap_or_default();
    let installed_folders = installed_folders(&reader.texts(&map, "deployed_files"));
    if !kind.is_empty() && !SKILL_PACKAGES.contains(&kind.as_str()) && installed_folders.is_empty()
    {
        let reason = format!("it is a package without skills (`{}`)", printable(&kind));
        reader.skip(map.span, name, reason);
        return;
    }
    let Some(source) = read_source(reader, &map, repo.text, &name) else { return };
    let version = reader.text_member(&map, "resolved_tag");
    let version = version.or_else(|| reader.text_member(&map, "resolved_ref"));
    let selection = ForeignSelection {
        folder: reader.text_member(&map, "virtual_path"),
        skills: reader.texts(&map, "skill_subset"),
        ..ForeignSelection::default()
    };
    let agents = reader.texts(&map, "target_subset");
    let folder_name = reader.text_member(&map, "alias");
    let commit = reader.text_member(&map, "resolved_commit");
    let digest = reader.text_member(&map, "content_hash");
    let version = if source.is_local { None } else { version };
    let draft = EntryDraft { span: map.span, name, source: source.text, version, selection };
    if let Some(entry) = reader.add(draft) {
        entry.agents = agents;
        entry.folder_name = folder_name;
        entry.installed_folders = installed_folders;
        entry.commit = commit.filter(|commit| is_commit(commit));
        entry.digest = digest.and_then(|text| ForeignDigest::parse(ForeignTool::Apm, &text));
    }
}

struct LockedLocation {
    text: String,
    is_local: bool,
}

fn read_source(
    reader: &mut ForeignReader<'_>,
    map: &ForeignMap<'_>,
    repo: &str,
    name: &str,
) -> Option<LockedLocation> {
    match reader.text_member(map, "source").as_deref() {
        Some("local") => {
            let path = reader.required(map, "local_path")?;
            return Some(LockedLocation { text: local_source(path.text), is_local: true });
        }
        Some("registry") => {
            reader.skip(map.span.clone(), name, "it is a package of a registry of apm");
            return None;
        }
        _ => {}
    }
    let host = reader.text_member(map, "host").unwrap_or_else(|| DEFAULT_HOST.into());
    let is_url = repo.contains(':');
    let text = match host.as_str() {
        _ if is_url => repo.to_owned(),
        DEFAULT_HOST => repo.to_owned(),
        host => format!("https://{host}/{repo}"),
    };
    Some(LockedLocation { text, is_local: false })
}

/// Returns the folders of skills among the installed files: `<agent>/skills/<name>`.
fn installed_folders(files: &[String]) -> Vec<String> {
    let mut folders: Vec<String> = Vec::new();
    for file in files {
        let Some((base, below)) = file.split_once("/skills/") else { continue };
        let name = below.split('/').next().unwrap_or_default();
        let folder = format!("{base}/skills/{name}");
        if !name.is_empty() && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}
