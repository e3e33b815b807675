//! Members of namespaces, and the visibility of packages.

use sp_formats::registry::RegistryPackageName;

use super::super::sql::SqlConnection;
use super::super::{
    Database, NamespaceChange, NamespaceMember, NamespaceOutcome, NamespaceRole, Result, TokenOwner,
};
use super::{AuditActor, members_of, record_audit, role_in, set_role};

impl Database {
    /// Returns the members of a namespace if `who` is one of them.
    pub(crate) fn members(
        &self,
        namespace: &str,
        who: &TokenOwner,
    ) -> Result<Option<Vec<NamespaceMember>>> {
        let members = self.read(|sql| members_of(sql, namespace))?;
        let is_member = !members.is_empty() && role_in(namespace, &members, who).is_some();
        Ok(is_member.then_some(members))
    }

    /// Changes a namespace. Only its owners may do that.
    pub(crate) fn change_namespace(
        &self,
        namespace: &str,
        change: &NamespaceChange,
        who: &TokenOwner,
        at: &str,
    ) -> Result<NamespaceOutcome> {
        self.write(|sql| {
            let members = members_of(sql, namespace)?;
            match role_in(namespace, &members, who).filter(|_| !members.is_empty()) {
                None => return Ok(NamespaceOutcome::NotFound),
                Some(NamespaceRole::Owner) => {}
                Some(_) => return Ok(NamespaceOutcome::Forbidden),
            }
            let outcome = apply(sql, namespace, change, &members)?;
            if outcome == NamespaceOutcome::Done {
                let (action, subject) = audit_text(namespace, change);
                record_audit(sql, AuditActor { who, at }, action, &subject)?;
            }
            Ok(outcome)
        })
    }
}

fn audit_text(namespace: &str, change: &NamespaceChange) -> (&'static str, String) {
    match change {
        NamespaceChange::SetRole(user, role) => {
            ("add-member", format!("{namespace} {user} {}", role.as_str()))
        }
        NamespaceChange::RemoveMember(user) => ("remove-member", format!("{namespace} {user}")),
        NamespaceChange::SetPrivateByDefault(private) => {
            (if *private { "hide-new" } else { "show-new" }, namespace.to_owned())
        }
        NamespaceChange::SetPrivate(package, private) => {
            (if *private { "hide" } else { "show" }, package.to_string())
        }
        NamespaceChange::SetTrustedOnly(package, trusted_only) => {
            (if *trusted_only { "trusted-only" } else { "all-publishers" }, package.to_string())
        }
    }
}

fn apply(
    sql: &mut dyn SqlConnection,
    namespace: &str,
    change: &NamespaceChange,
    members: &[NamespaceMember],
) -> Result<NamespaceOutcome> {
    const REMOVE: &str = "DELETE FROM members WHERE namespace = $1 AND username = $2";
    const HIDE: &str = "UPDATE packages SET private = $3 WHERE namespace = $1 AND name = $2";
    const TRUST: &str = "UPDATE packages SET trusted_only = $3 WHERE namespace = $1 AND name = $2";
    const SET_DEFAULT: &str = "INSERT INTO namespaces (name, private) VALUES ($1, $2)
        ON CONFLICT (name) DO UPDATE SET private = excluded.private";
    // A namespace without owners could be taken over.
    let is_last_owner = |user: &str| {
        let mut owners = members.iter().filter(|member| member.role == NamespaceRole::Owner);
        owners.next().is_some_and(|owner| owner.user == user) && owners.next().is_none()
    };
    let changed = match change {
        NamespaceChange::SetRole(user, role) => {
            if *role != NamespaceRole::Owner && is_last_owner(user) {
                return Ok(NamespaceOutcome::LastOwner);
            }
            set_role(sql, namespace, user, *role)?;
            1
        }
        NamespaceChange::RemoveMember(user) if is_last_owner(user) => {
            return Ok(NamespaceOutcome::LastOwner);
        }
        NamespaceChange::RemoveMember(user) => {
            sql.execute(REMOVE, &[namespace.into(), user.into()])?
        }
        NamespaceChange::SetPrivate(package, false) if is_marked_private(sql, package)? => {
            return Ok(NamespaceOutcome::MarkedPrivate);
        }
        NamespaceChange::SetPrivateByDefault(private) => {
            sql.execute(SET_DEFAULT, &[namespace.into(), (*private).into()])?
        }
        NamespaceChange::SetPrivate(package, private) => {
            sql.execute(HIDE, &[namespace.into(), package.name().into(), (*private).into()])?
        }
        NamespaceChange::SetTrustedOnly(package, trusted_only) => {
            sql.execute(TRUST, &[namespace.into(), package.name().into(), (*trusted_only).into()])?
        }
    };
    Ok(if changed > 0 { NamespaceOutcome::Done } else { NamespaceOutcome::NotFound })
}

/// Whether a version of a package says that it is private.
fn is_marked_private(sql: &mut dyn SqlConnection, package: &RegistryPackageName) -> Result<bool> {
    const LIST: &str = "SELECT manifest FROM versions JOIN packages ON packages.id = package
        WHERE namespace = $1 AND name = $2 AND manifest LIKE '%private%'";
    for mut row in sql.query(LIST, &[package.namespace().into(), package.name().into()])? {
        let manifest: serde_json::Value =
            serde_json::from_str(&row.take::<String>()?).unwrap_or_default();
        if manifest.get("visibility").is_some_and(|visibility| visibility == "private") {
            return Ok(true);
        }
    }
    Ok(false)
}
