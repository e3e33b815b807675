//! What differs between two sides of something, member by member: for `sp pkg diff` and `sp context diff`.

use std::collections::BTreeMap;

use sp_formats::output::{ChangeKind, ItemChange, MemberChange};

/// Members by name, each as canonical JSON.
pub(crate) type Members = BTreeMap<String, String>;

/// The members that differ, by name.
pub(crate) fn members(before: &Members, after: &Members) -> Vec<MemberChange> {
    let change = |key: &String| MemberChange {
        member: key.clone(),
        before: before.get(key).cloned(),
        after: after.get(key).cloned(),
    };
    keys(before, after).into_iter().filter(|key| before.get(*key) != after.get(*key)).map(change).collect()
}

/// The items that differ, by id.
pub(crate) fn items(before: &BTreeMap<String, Members>, after: &BTreeMap<String, Members>) -> Vec<ItemChange> {
    let none = Members::new();
    let item = |id: &String| {
        let (old, new) = (before.get(id), after.get(id));
        Some(ItemChange {
            id: id.clone(),
            change: change(old, new)?,
            members: members(old.unwrap_or(&none), new.unwrap_or(&none)),
        })
    };
    keys(before, after).into_iter().filter_map(item).collect()
}

/// What happened to something; none if it is what it was.
pub(crate) fn change<T: PartialEq>(before: Option<T>, after: Option<T>) -> Option<ChangeKind> {
    match (before, after) {
        (before, after) if before == after => None,
        (None, _) => Some(ChangeKind::Added),
        (_, None) => Some(ChangeKind::Removed),
        _ => Some(ChangeKind::Changed),
    }
}

/// Every key of the two, in order.
pub(crate) fn keys<'m, V>(before: &'m BTreeMap<String, V>, after: &'m BTreeMap<String, V>) -> Vec<&'m String> {
    let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
    keys.sort();
    keys.dedup();
    keys
}
