//! Where the manifest of the current project is, and which agents it names.

use std::path::Path;

use sp_formats::project::MANIFEST_FILE;
use sp_formats::project::manifest;
use sp_tree::read_limited;

use crate::context::Context;
use crate::files::canonicalize_existing;
use crate::sinks::project_root;

/// Returns the nearest directory upward that has a manifest, but not above the root of the git
/// repository. Without a repository, the search ends at the home directory of the user, and outside
/// of that at the current directory: others may write to the directories above.
pub(crate) fn find_manifest_dir<'c>(context: &'c Context<'_>) -> Option<&'c Path> {
    let here = context.current_dir.as_path();
    let root = project_root(context);
    let home = canonicalize_existing(&context.user_home);
    let top = if root.join(".git").exists() {
        root
    } else if here.starts_with(&home) {
        &home
    } else {
        here
    };
    let inside = here.ancestors().take_while(|dir| dir.starts_with(top));
    inside.into_iter().find(|dir| has_manifest(dir))
}

pub(crate) fn has_manifest(dir: &Path) -> bool {
    dir.join(MANIFEST_FILE).symlink_metadata().is_ok()
}

/// Returns the agents that the manifest of the current project names. None of an invalid manifest,
/// which is reported by the commands that use it.
pub(crate) fn manifest_agents(context: &Context<'_>) -> Vec<String> {
    let limits = sp_tree::Limits::default();
    let read = |dir: &Path| {
        let bytes = read_limited(&dir.join(MANIFEST_FILE), limits.yaml_bytes).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        Some(manifest::read(MANIFEST_FILE, &text, &limits).0?.agents)
    };
    find_manifest_dir(context).and_then(read).unwrap_or_default()
}
