//! Trusted publishers, their tokens, and the users of an identity provider.

use std::collections::BTreeMap;

use sp_formats::registry::RegistryPackageName;
use sp_formats::trusted_publisher::TrustedPublisher;
use sp_tree::Digest;

/// A publisher to add.
#[derive(Debug, Clone)]
pub(crate) struct NewPublisher {
    pub package: RegistryPackageName,
    pub issuer: String,
    pub audience: String,
    pub claims: BTreeMap<String, String>,
    /// When it expires if the package does not exist.
    pub pending_until: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PublisherOutcome {
    Added(TrustedPublisher),
    /// The same publisher exists.
    Exists,
    /// The package has as many publishers as are allowed.
    TooMany,
    /// There is no such namespace that the user may know of.
    NotFound,
    /// The user is not a member who may publish.
    Forbidden,
}

/// A token for a CI job to add. Only the hash of its secret is stored.
#[derive(Debug, Clone)]
pub(crate) struct NewTrustedToken {
    pub hash: Digest,
    pub expires_at: String,
    /// The publishers that trust the job.
    pub publishers: Vec<i64>,
    /// The job, for the audit log.
    pub identity: String,
    pub issuer: String,
    /// Hash of the ID of the identity token, which is used only once.
    pub token_id: Digest,
    /// Until when the ID must be remembered.
    pub token_id_expires_at: String,
}

/// What lets a CI job publish a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrustedJob {
    pub publisher: i64,
    pub package: RegistryPackageName,
    /// For the audit log.
    pub identity: String,
}

/// A user who logs in with an identity provider.
#[derive(Debug, Clone)]
pub(crate) struct NewSignIn {
    pub issuer: String,
    /// The ID of the user at the issuer, which never changes.
    pub subject: String,
    /// The name for a user who logs in for the first time.
    pub user: String,
    /// Whether users may be new to the registry.
    pub may_create: bool,
    /// Of the token that the session belongs to.
    pub token_hash: Digest,
    pub expires_at: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SignInOutcome {
    Done,
    /// The registry has no such user, and does not create users.
    UnknownUser,
    /// The name belongs to another user of the issuer.
    NameTaken,
}
