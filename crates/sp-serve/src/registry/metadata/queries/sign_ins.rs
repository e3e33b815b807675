//! Logins with an identity provider.

use super::super::sql::{SqlConnection, query_value};
use super::super::{Database, NewSignIn, NewToken, Result, SignInOutcome, TokenOwner, TokenScope};
use super::tokens::add_token;
use super::{AuditActor, record_audit};

const LABEL: &str = "web login";

impl Database {
    /// Adds the token of a session. A user of the issuer keeps the name of the first login.
    pub(crate) fn sign_in(&self, new: &NewSignIn, now: &str) -> Result<SignInOutcome> {
        const EXPIRE: &str = "DELETE FROM tokens WHERE is_web_login AND expires_at <= $1";
        const MARK: &str = "UPDATE tokens SET is_web_login = TRUE WHERE id = $1";
        self.write(|sql| {
            let user = match bound_name(sql, new)? {
                Some(user) => user,
                None if is_bound(sql, new)? => return Ok(SignInOutcome::NameTaken),
                None if !new.may_create && !is_known(sql, new)? => {
                    return Ok(SignInOutcome::UnknownUser);
                }
                None => bind_name(sql, new, now)?,
            };
            sql.execute(EXPIRE, &[now.into()])?;
            let token = NewToken {
                user: user.clone(),
                scope: TokenScope::Publish,
                label: Some(LABEL.into()),
                limited_to: None,
                expires_at: Some(new.expires_at.clone()),
                hash: new.token_hash,
            };
            let id = add_token(sql, &token, now)?;
            sql.execute(MARK, &[id.into()])?;
            let who = TokenOwner {
                token_id: Some(id),
                user,
                scope: TokenScope::Publish,
                limited_to: None,
                namespaces: Vec::new(),
                job: None,
            };
            let subject = format!("token {id}: {} {}", new.issuer, new.subject);
            record_audit(sql, AuditActor { who: &who, at: now }, "login", &subject)?;
            Ok(SignInOutcome::Done)
        })
    }
}

/// Returns the name that a user of the issuer has here.
fn bound_name(sql: &mut dyn SqlConnection, new: &NewSignIn) -> Result<Option<String>> {
    const FIND: &str = "SELECT username FROM identities WHERE issuer = $1 AND subject = $2";
    let found = sql.first(FIND, &[(&new.issuer).into(), (&new.subject).into()])?;
    found.map(|mut row| row.take()).transpose()
}

/// Whether another user of the issuer has the name.
fn is_bound(sql: &mut dyn SqlConnection, new: &NewSignIn) -> Result<bool> {
    const ASK: &str = "SELECT EXISTS (SELECT 1 FROM identities
        WHERE issuer = $1 AND username = $2)";
    query_value(sql, ASK, &[(&new.issuer).into(), (&new.user).into()])
}

/// Whether a user has a token or is a member of a namespace.
fn is_known(sql: &mut dyn SqlConnection, new: &NewSignIn) -> Result<bool> {
    const ASK: &str = "SELECT EXISTS (SELECT 1 FROM tokens WHERE username = $1)
        OR EXISTS (SELECT 1 FROM members WHERE username = $1)";
    query_value(sql, ASK, &[(&new.user).into()])
}

fn bind_name(sql: &mut dyn SqlConnection, new: &NewSignIn, now: &str) -> Result<String> {
    const BIND: &str = "INSERT INTO identities (issuer, subject, username, created_at)
        VALUES ($1, $2, $3, $4)";
    let NewSignIn { issuer, subject, user, .. } = new;
    sql.execute(BIND, &[issuer.into(), subject.into(), user.into(), now.into()])?;
    Ok(user.clone())
}
