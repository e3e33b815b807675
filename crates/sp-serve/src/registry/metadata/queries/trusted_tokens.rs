//! Tokens of CI jobs.

use sp_formats::registry::RegistryPackageName;
use sp_tree::Digest;

use super::super::sql::SqlRow;
use super::super::{
    Database, MetadataError, NewTrustedToken, Result, TokenOwner, TokenScope, TrustedJob,
};

impl Database {
    /// Adds a token, unless the identity token that it is for was used before. Of several requests
    /// with one identity token, one succeeds.
    pub(crate) fn add_trusted_token(&self, new: &NewTrustedToken, now: &str) -> Result<bool> {
        const FORGET: &str = "DELETE FROM used_identity_tokens WHERE expires_at <= $1";
        const EXPIRE: &str = "DELETE FROM trusted_tokens WHERE expires_at <= $1";
        const USE: &str = "INSERT INTO used_identity_tokens (issuer, token_id, expires_at)
            VALUES ($1, $2, $3) ON CONFLICT (issuer, token_id) DO NOTHING";
        const ADD: &str = "INSERT INTO trusted_tokens (hash, publisher_ids, identity, expires_at)
            VALUES ($1, $2, $3, $4)";
        let publishers: Vec<String> = new.publishers.iter().map(i64::to_string).collect();
        let publishers = format!(" {} ", publishers.join(" "));
        self.write(|sql| {
            sql.execute(FORGET, &[now.into()])?;
            sql.execute(EXPIRE, &[now.into()])?;
            let used =
                [(&new.issuer).into(), (&new.token_id).into(), (&new.token_id_expires_at).into()];
            if sql.execute(USE, &used)? == 0 {
                return Ok(false);
            }
            let values = [
                (&new.hash).into(),
                (&publishers).into(),
                (&new.identity).into(),
                (&new.expires_at).into(),
            ];
            sql.execute(ADD, &values)?;
            Ok(true)
        })
    }

    /// Whether a token exists and has not expired.
    pub(crate) fn has_trusted_token(&self, hash: &Digest, now: &str) -> Result<bool> {
        const FIND: &str = "SELECT 1 FROM trusted_tokens WHERE hash = $1 AND expires_at > $2";
        Ok(self.read(|sql| sql.first(FIND, &[hash.into(), now.into()]))?.is_some())
    }

    /// Returns who publishes with a token: the user who registered the publisher of the package.
    /// `None` if the token is not for the package.
    pub(crate) fn trusted_owner(
        &self,
        hash: &Digest,
        package: &RegistryPackageName,
        now: &str,
    ) -> Result<Option<TokenOwner>> {
        const FIND: &str = "SELECT publishers.id, created_by, identity FROM trusted_tokens
            JOIN publishers ON publisher_ids LIKE '% ' || CAST(publishers.id AS TEXT) || ' %'
            WHERE hash = $1 AND expires_at > $2 AND namespace = $3 AND name = $4
            ORDER BY publishers.id LIMIT 1";
        let values = [hash.into(), now.into(), package.namespace().into(), package.name().into()];
        let found = self.read(|sql| sql.first(FIND, &values))?;
        let owner = |mut row: SqlRow| {
            let publisher = row.take()?;
            let user: String = row.take()?;
            let job = TrustedJob { publisher, package: package.clone(), identity: row.take()? };
            Ok::<_, MetadataError>(TokenOwner {
                token_id: None,
                user,
                scope: TokenScope::Trusted,
                limited_to: None,
                namespaces: Vec::new(),
                job: Some(job),
            })
        };
        found.map(owner).transpose()
    }

    /// Removes a token. Returns false if there was none.
    pub(crate) fn remove_trusted_token(&self, hash: &Digest, now: &str) -> Result<bool> {
        const REMOVE: &str = "DELETE FROM trusted_tokens WHERE hash = $1 AND expires_at > $2";
        Ok(self.write(|sql| sql.execute(REMOVE, &[hash.into(), now.into()]))? > 0)
    }
}
