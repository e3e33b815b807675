//! The names in a lockfile, for the completion of shells.

use super::{CONTEXT, SKILL, SOURCE};

/// The names in a lockfile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockedNames {
    pub skills: Vec<String>,
    pub sources: Vec<String>,
    /// The locations of context packs.
    pub contexts: Vec<String>,
}

/// Returns the names of the skills, sources and context packs in a lockfile that `sp` wrote. Reads
/// it line by line, which is much faster than [`read`](super::read), and skips what it does not
/// recognize.
pub fn scan_names(text: &str) -> LockedNames {
    let mut names = LockedNames::default();
    let mut block = "";
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("[[").and_then(|line| line.strip_suffix("]]")) {
            block = name;
        }
        let (kind, list) = match block {
            "skill" => (SKILL, &mut names.skills),
            "source" => (SOURCE, &mut names.sources),
            "context" => (CONTEXT, &mut names.contexts),
            _ => continue,
        };
        let value = line.strip_prefix(kind.key).and_then(|line| line.strip_prefix(" = \""));
        let value = value.and_then(|value| value.strip_suffix('"'));
        list.extend(value.filter(|value| !value.contains('\\')).map(str::to_owned));
    }
    names
}
