//! Differences between two values, member by member, for `sp pkg diff` and `sp context diff`.

use std::collections::BTreeMap;

use sp_formats::output::{ChangeKind, DiffEntry, MemberChange};

/// Members by name, each as canonical JSON.
pub(crate) type DiffMembers = BTreeMap<String, String>;

/// Returns the members that differ, sorted by name.
pub(crate) fn diff_members(before: &DiffMembers, after: &DiffMembers) -> Vec<MemberChange> {
    let change = |key: &String| MemberChange {
        member: key.clone(),
        before: before.get(key).cloned(),
        after: after.get(key).cloned(),
    };
    merged_keys(before, after)
        .into_iter()
        .filter(|key| before.get(*key) != after.get(*key))
        .map(change)
        .collect()
}

/// Returns the items that differ, sorted by ID.
pub(crate) fn diff_items(
    before: &BTreeMap<String, DiffMembers>,
    after: &BTreeMap<String, DiffMembers>,
) -> Vec<DiffEntry> {
    let none = DiffMembers::new();
    let item = |id: &String| {
        let (old, new) = (before.get(id), after.get(id));
        Some(DiffEntry {
            id: id.clone(),
            change: change_kind(old, new)?,
            members: diff_members(old.unwrap_or(&none), new.unwrap_or(&none)),
        })
    };
    merged_keys(before, after).into_iter().filter_map(item).collect()
}

/// Returns how a value changed, or `None` if it did not.
pub(crate) fn change_kind<T: PartialEq>(before: Option<T>, after: Option<T>) -> Option<ChangeKind> {
    match (before, after) {
        (before, after) if before == after => None,
        (None, _) => Some(ChangeKind::Added),
        (_, None) => Some(ChangeKind::Removed),
        _ => Some(ChangeKind::Changed),
    }
}

/// Returns the keys of both maps, sorted and without duplicates.
pub(crate) fn merged_keys<'m, V>(
    before: &'m BTreeMap<String, V>,
    after: &'m BTreeMap<String, V>,
) -> Vec<&'m String> {
    let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
    keys.sort();
    keys.dedup();
    keys
}
