//! Members of namespaces, and the visibility of packages.

use super::super::sql::SqlConnection;
use super::super::{Database, NamespaceChange, Result, TokenOwner};
use super::{AuditActor, add_member, can_manage, members_of, record_audit};

impl Database {
    /// Returns the members of a namespace if `who` is one of them.
    pub(crate) fn members(&self, namespace: &str, who: &TokenOwner) -> Result<Option<Vec<String>>> {
        let members = self.read(|sql| members_of(sql, namespace))?;
        Ok((!members.is_empty() && can_manage(&members, who)).then_some(members))
    }

    /// Changes a namespace. Returns false if `who` is not a member, or there is nothing to change.
    pub(crate) fn change_namespace(
        &self,
        namespace: &str,
        change: &NamespaceChange,
        who: &TokenOwner,
        at: &str,
    ) -> Result<bool> {
        self.write(|sql| {
            let members = members_of(sql, namespace)?;
            if members.is_empty()
                || !can_manage(&members, who)
                || !apply(sql, namespace, change, &members)?
            {
                return Ok(false);
            }
            let (action, subject) = match change {
                NamespaceChange::AddMember(user) => ("add-member", format!("{namespace} {user}")),
                NamespaceChange::RemoveMember(user) => {
                    ("remove-member", format!("{namespace} {user}"))
                }
                NamespaceChange::SetPrivate(package, private) => {
                    (if *private { "hide" } else { "show" }, package.to_string())
                }
            };
            record_audit(sql, AuditActor { who, at }, action, &subject)?;
            Ok(true)
        })
    }
}

/// Returns whether something changed.
fn apply(
    sql: &mut dyn SqlConnection,
    namespace: &str,
    change: &NamespaceChange,
    members: &[String],
) -> Result<bool> {
    const REMOVE: &str = "DELETE FROM members WHERE namespace = $1 AND username = $2";
    const HIDE: &str = "UPDATE packages SET private = $3 WHERE namespace = $1 AND name = $2";
    match change {
        NamespaceChange::AddMember(user) => add_member(sql, namespace, user).map(|()| true),
        // A namespace keeps its last member, so that it cannot be taken over.
        NamespaceChange::RemoveMember(_) if members.len() < 2 => Ok(false),
        NamespaceChange::RemoveMember(user) => {
            Ok(sql.execute(REMOVE, &[namespace.into(), user.into()])? > 0)
        }
        NamespaceChange::SetPrivate(package, private) => Ok(sql
            .execute(HIDE, &[namespace.into(), package.name().into(), (*private).into()])?
            > 0),
    }
}
