//! What users and namespaces have stored and published.

use super::super::sql::{SqlConnection, SqlParam, query_value};
use super::super::{PublishContext, Result, TokenScope};
use crate::registry::quotas::{ExceededQuota, QuotaUsage};

const USER_BYTES: &str = "SELECT CAST(
    (SELECT COALESCE(SUM(bytes), 0) FROM versions WHERE published_by = $1 AND deleted_at IS NULL)
    + (SELECT COALESCE(SUM(bytes), 0) FROM context_packs WHERE owner = $1 AND NOT removed)
    AS BIGINT)";
const USER_PACKAGES: &str = "SELECT COUNT(DISTINCT package) FROM versions WHERE published_by = $1";
const USER_PUBLISHES: &str =
    "SELECT COUNT(*) FROM versions WHERE published_by = $1 AND published_at > $2";
const NAMESPACE_BYTES: &str = "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM versions
    JOIN packages ON packages.id = package WHERE namespace = $1 AND deleted_at IS NULL";
const NAMESPACE_PACKAGES: &str = "SELECT COUNT(*) FROM packages WHERE namespace = $1";
const NAMESPACE_PUBLISHES: &str = "SELECT COUNT(*) FROM versions
    JOIN packages ON packages.id = package WHERE namespace = $1 AND published_at > $2";

/// Returns the limit that would be exceeded if something were added.
pub(super) fn exceeded(
    sql: &mut dyn SqlConnection,
    namespace: &str,
    context: &PublishContext,
    added: &QuotaUsage,
) -> Result<Option<ExceededQuota>> {
    let PublishContext { who, hour_ago, quotas, .. } = context;
    if who.scope == TokenScope::Admin {
        return Ok(None);
    }
    for (of, subject, quota, queries) in [
        ("user", who.user.as_str(), &quotas.user, [USER_BYTES, USER_PACKAGES, USER_PUBLISHES]),
        (
            "namespace",
            namespace,
            &quotas.namespace,
            [NAMESPACE_BYTES, NAMESPACE_PACKAGES, NAMESPACE_PUBLISHES],
        ),
    ] {
        // Context packs have no namespace.
        if *quota == Default::default() || subject.is_empty() {
            continue;
        }
        let values = [SqlParam::from(subject), hour_ago.into()];
        let mut count = |query, values| query_value::<u64>(sql, query, values);
        let usage = QuotaUsage {
            bytes: count(queries[0], &values[..1])?.saturating_add(added.bytes),
            packages: count(queries[1], &values[..1])? + added.packages,
            publishes: count(queries[2], &values)? + added.publishes,
        };
        if let Some(limit) = quota.exceeded_by(&usage) {
            return Ok(Some(ExceededQuota { of, limit }));
        }
    }
    Ok(None)
}
