//! The blocks of skills in a lockfile, in the form in which `sp` writes them.
//!
//! Almost all of a lockfile is blocks of strings on one line each. Those are read and written here,
//! which takes a small part of the time that a TOML parser needs. Everything else is left to the
//! parser, so that any valid lockfile is read and any invalid one is reported with its position.

use std::collections::BTreeMap;

use serde_json::Map;
use sp_tree::Name;

use super::{LockedProjectSkill, SourceKey};

const HEADER: &str = "[[skill]]";

/// A lockfile, split by who reads it.
pub(super) struct SplitLock {
    pub skills: BTreeMap<String, LockedProjectSkill>,
    /// Everything else, which is TOML too.
    pub rest: String,
}

/// Separates the blocks of skills that have the plain form. None if the text may contain something
/// that a line does not show, such as a value on several lines.
pub(super) fn split(text: &str) -> Option<SplitLock> {
    let mut found = SplitLock { skills: BTreeMap::new(), rest: String::new() };
    if text.contains("\"\"\"") || text.contains("'''") || text.contains('\r') {
        return None;
    }
    let mut rest = text;
    while let Some(start) = find_header(rest) {
        let (before, block) = rest.split_at(start);
        found.push_rest(before)?;
        let end = block[HEADER.len()..].find("\n[").map_or(block.len(), |at| HEADER.len() + at + 1);
        let (block, after) = block.split_at(end);
        match read_block(block) {
            Some((name, skill)) => {
                if found.skills.insert(name, skill).is_some() {
                    return None;
                }
            }
            None => found.push_rest(block)?,
        }
        rest = after;
    }
    found.push_rest(rest)?;
    Some(found)
}

/// Returns where the next block starts.
fn find_header(text: &str) -> Option<usize> {
    if text.starts_with("[[skill]]\n") {
        return Some(0);
    }
    text.find("\n[[skill]]\n").map(|at| at + 1)
}

impl SplitLock {
    fn push_rest(&mut self, text: &str) -> Option<()> {
        if !text.lines().all(is_complete) {
            return None;
        }
        self.rest.push_str(text);
        Some(())
    }
}

/// Whether a line is complete in itself, and no table of a skill.
fn is_complete(line: &str) -> bool {
    let is_word = |name: &str| name.bytes().all(|byte| byte.is_ascii_lowercase());
    if let Some(header) = line.strip_prefix('[') {
        let name = header.strip_suffix(']').unwrap_or(header);
        let is_list = name.starts_with('[') && name.ends_with(']');
        let name = name.trim_start_matches('[').trim_end_matches(']');
        return is_word(name) && (is_list || name != "skill");
    }
    !line.starts_with([' ', '\t', ']', '"', '\'']) && !line.ends_with(['[', ',', '{'])
}

fn read_block(block: &str) -> Option<(String, LockedProjectSkill)> {
    let (mut name, mut source, mut id, mut tree) = (None, None, None, None);
    let (mut packs, mut required_by) = (None, None);
    let (mut capabilities, mut accepted) = (None, None);
    for line in block.lines().skip(1).filter(|line| !line.is_empty()) {
        let (key, value) = line.split_once(" = ")?;
        let is_new = match key {
            "name" => name.replace(plain_string(value)?).is_none(),
            "source" => source.replace(plain_string(value)?).is_none(),
            "id" => id.replace(plain_string(value)?).is_none(),
            "tree" => tree.replace(plain_string(value)?).is_none(),
            "packs" => packs.replace(plain_list(value)?).is_none(),
            "required_by" => required_by.replace(plain_list(value)?).is_none(),
            "capabilities" => capabilities.replace(plain_list(value)?).is_none(),
            "accepted" => accepted.replace(plain_list(value)?).is_none(),
            _ => return None,
        };
        if !is_new {
            return None;
        }
    }
    let skill = LockedProjectSkill {
        source: SourceKey::from_lock(source?),
        id: id?.to_owned(),
        tree: tree?.parse().ok()?,
        packs: packs.unwrap_or_default(),
        required_by: required_by.unwrap_or_default(),
        capabilities: capabilities.unwrap_or_default(),
        accepted: accepted.unwrap_or_default(),
        extra: Map::new(),
    };
    Some((Name::new(name?).ok()?.to_string(), skill))
}

/// Returns the text of a string without escapes.
fn plain_string(value: &str) -> Option<&str> {
    let text = value.strip_prefix('"')?.strip_suffix('"')?;
    is_plain(text).then_some(text)
}

/// Whether a text is written between quotation marks as it is.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1f | 0x7f))
}

fn plain_list(value: &str) -> Option<Vec<String>> {
    let items = value.strip_prefix('[')?.strip_suffix(']')?;
    let items = items.strip_prefix('"')?.strip_suffix('"')?.split("\", \"");
    items.map(|item| is_plain(item).then(|| item.to_owned())).collect()
}

/// Writes a block. None if it does not have the plain form.
pub(super) fn write_block(text: &mut String, name: &str, skill: &LockedProjectSkill) -> Option<()> {
    let tree = skill.tree.to_string();
    let strings =
        [("name", name), ("source", skill.source.as_str()), ("id", &skill.id), ("tree", &tree)];
    let lists = [
        ("packs", &skill.packs),
        ("required_by", &skill.required_by),
        ("capabilities", &skill.capabilities),
        ("accepted", &skill.accepted),
    ];
    let are_plain = strings.iter().all(|(_, value)| is_plain(value))
        && lists.iter().all(|(_, items)| items.iter().all(|item| is_plain(item)));
    if !are_plain || !skill.extra.is_empty() {
        return None;
    }
    text.push_str("\n[[skill]]\n");
    for (key, value) in strings {
        text.extend([key, " = \"", value, "\"\n"]);
    }
    for (key, items) in lists.into_iter().filter(|(_, items)| !items.is_empty()) {
        text.extend([key, " = [\"", &items.join("\", \""), "\"]\n"]);
    }
    Some(())
}
