//! Who publishes into a namespace, and which packages of it strangers see.

use super::super::sql::Sql;
use super::super::{Bearer, Change, Database, Result};
use super::{Deed, add_member, is_among, members_of, note};

impl Database {
    /// The members of a namespace, if somebody is one.
    pub(crate) fn members(&self, namespace: &str, who: &Bearer) -> Result<Option<Vec<String>>> {
        let members = self.read(|sql| members_of(sql, namespace))?;
        Ok((!members.is_empty() && is_among(&members, who)).then_some(members))
    }

    /// Changes a namespace of which somebody is a member; false if there is none, or nothing to change.
    pub(crate) fn change_namespace(&self, namespace: &str, what: &Change, who: &Bearer, at: &str) -> Result<bool> {
        self.change(|sql| {
            let members = members_of(sql, namespace)?;
            if members.is_empty() || !is_among(&members, who) || !apply(sql, namespace, what, &members)? {
                return Ok(false);
            }
            let (action, subject) = match what {
                Change::AddMember(user) => ("add-member", format!("{namespace} {user}")),
                Change::RemoveMember(user) => ("remove-member", format!("{namespace} {user}")),
                Change::Private(place, private) => (if *private { "hide" } else { "show" }, place.to_string()),
            };
            note(sql, Deed { who, at }, action, &subject)?;
            Ok(true)
        })
    }
}

/// Whether there was something to change.
fn apply(sql: &mut dyn Sql, namespace: &str, what: &Change, members: &[String]) -> Result<bool> {
    const REMOVE: &str = "DELETE FROM members WHERE namespace = $1 AND username = $2";
    const HIDE: &str = "UPDATE packages SET private = $3 WHERE namespace = $1 AND name = $2";
    match what {
        Change::AddMember(user) => add_member(sql, namespace, user).map(|()| true),
        // The last one stays: a namespace is never free again.
        Change::RemoveMember(_) if members.len() < 2 => Ok(false),
        Change::RemoveMember(user) => Ok(sql.execute(REMOVE, &[namespace.into(), user.into()])? > 0),
        Change::Private(place, private) => {
            Ok(sql.execute(HIDE, &[namespace.into(), place.name().into(), (*private).into()])? > 0)
        }
    }
}
