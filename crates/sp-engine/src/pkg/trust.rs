//! Decides whether the signer of a package is trusted.
//!
//! Each namespace is pinned to the key of its first signed package (trust on first use). A later
//! package with another key, or with a weaker signature, is refused unless the user overrides that
//! for one command ([`TrustOverrides`]). The config can also require signatures in general.
//!
//! The functions here are pure decisions; [`PackageStore`](super::package_store::PackageStore)
//! holds the pins and saves them.

use sp_formats::package::store::{KeyPin, TrustStore};
use sp_formats::package::{Package, PackageName, SignatureCoverage, Signer};
use sp_tree::PublicKey;

use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// Whether unsigned packages are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnsignedPolicy {
    /// Accepted with a warning, unless an earlier package of the namespace was signed.
    #[default]
    Warn,
    /// Never accepted.
    Refuse,
}

/// Whether a package may have a weaker signature than earlier ones of its namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DowngradePolicy {
    #[default]
    Refuse,
    /// Allowed, with a warning.
    Allow,
}

/// Whether a key other than the pinned one is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NewKeyPolicy {
    #[default]
    Refuse,
    /// Accepted, and pinned from now on.
    Accept,
}

/// What the user accepts for one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrustOverrides {
    pub unsigned: UnsignedPolicy,
    pub downgrade: DowngradePolicy,
    pub new_key: NewKeyPolicy,
}

/// The result of a trust decision that accepts a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SignerStatus {
    /// Not signed, and no package of its namespace ever was.
    Unsigned,
    /// Signed by the pinned key.
    Pinned,
    /// Signed by the first key of its namespace.
    FirstUse,
    /// Accepted only because of an override, which the text describes.
    Overridden(String),
}

/// Checks what the policies and the config require of every package, whenever it was added.
pub(super) fn check_signing_policy(
    session: &Session<'_>,
    name: &PackageName,
    signer: Option<PublicKey>,
    unsigned: UnsignedPolicy,
) -> Result<()> {
    session.policies(None)?.require_signer(name.as_str(), signer)?;
    let policy = &session.config.packages;
    match signer {
        None if unsigned == UnsignedPolicy::Refuse
            || policy.require_signed
            || !policy.trusted_keys.is_empty() =>
        {
            Err(Error::new(ErrorCode::Unsigned, format!("`{name}` is not signed"))
                .because("the configuration requires signed packages")
                .hint(
                    "ask the publisher to sign it, or change `require-signed` and `trusted-keys` \
                     in the configuration",
                ))
        }
        Some(signer)
            if !policy.trusted_keys.is_empty() && !policy.trusted_keys.contains(&signer) =>
        {
            Err(Error::new(
                ErrorCode::UntrustedKey,
                format!("`{name}` is signed by an untrusted key"),
            )
            .because(format!("the signing key is {signer}"))
            .hint("add the key to `trusted-keys` in the configuration if you know its owner"))
        }
        _ => Ok(()),
    }
}

/// Decides whether a package is accepted. A refusal is a trust error.
pub(super) fn check_signer(
    session: &Session<'_>,
    trust: &TrustStore,
    package: &Package,
    overrides: TrustOverrides,
) -> Result<SignerStatus> {
    let name = &package.manifest.name;
    let namespace = name.namespace();
    let pin = trust.pins.get(namespace);
    let signer = package.signer.map(|signer| signer.key);
    check_signing_policy(session, name, signer, overrides.unsigned)?;
    let Some(signer) = package.signer else {
        return match pin {
            None => Ok(SignerStatus::Unsigned),
            Some(pin) => check_downgrade(
                overrides,
                format!(
                    "`{name}` is not signed, but earlier packages were signed by {}",
                    pin.key.short_hex()
                ),
            ),
        };
    };
    let Some(pin) = pin else { return Ok(SignerStatus::FirstUse) };
    if pin.key == signer.key {
        return if pin.whole && signer.coverage == SignatureCoverage::Content {
            check_downgrade(
                overrides,
                format!(
                    "the manifest of `{name}` is not signed, but those of earlier packages were"
                ),
            )
        } else {
            Ok(SignerStatus::Pinned)
        };
    }
    match overrides.new_key {
        NewKeyPolicy::Accept => Ok(SignerStatus::Overridden(format!(
            "the trusted key for `{namespace}` changed from {} to {}",
            pin.key.short_hex(),
            signer.key.short_hex()
        ))),
        NewKeyPolicy::Refuse => Err(key_changed_error(name, pin, &signer)),
    }
}

fn key_changed_error(name: &PackageName, pin: &KeyPin, signer: &Signer) -> Error {
    Error::new(ErrorCode::KeyChanged, format!("the signing key of `{name}` has changed"))
        .because(format!(
            "`{}` is pinned to the key {} ({}, since {}), but this package is signed by {}",
            name.namespace(),
            pin.key,
            pin.because,
            pin.since,
            signer.key
        ))
        .hint(
            "verify the new key with the publisher, then use `--accept-new-key` or `sp key trust`",
        )
}

fn check_downgrade(overrides: TrustOverrides, message: String) -> Result<SignerStatus> {
    match overrides.downgrade {
        DowngradePolicy::Allow => Ok(SignerStatus::Overridden(message)),
        DowngradePolicy::Refuse => Err(Error::new(ErrorCode::SignerDowngrade, message)
            .because("the signature may have been removed by an attacker")
            .hint(
                "verify the package with the publisher, then use `--allow-downgrade` to accept it",
            )),
    }
}

/// Pins the signer of an accepted package, if its key or coverage is new. Returns what the user has
/// to know about it.
pub(super) fn record_signer(
    context: &Context<'_>,
    trust: &mut TrustStore,
    package: &Package,
    status: &SignerStatus,
) -> Option<Event<'static>> {
    let namespace = package.manifest.name.namespace();
    if let Some(signer) = package.signer {
        update_pin(context, trust, namespace, &signer);
    }
    match (status, package.signer) {
        (SignerStatus::FirstUse, Some(signer)) => Some(Event::Hint(format!(
            "this is the first package of `{namespace}`; its signing key {} is now trusted for \
             this namespace",
            signer.key
        ))),
        (SignerStatus::Overridden(why), _) => {
            Some(Event::Warning(format!("accepted because of an override: {why}")))
        }
        _ => None,
    }
}

/// Pins a signer, if its key is new or it now signs the whole package.
fn update_pin(context: &Context<'_>, trust: &mut TrustStore, namespace: &str, signer: &Signer) {
    let pin = trust.pins.get(namespace);
    let is_new_key = pin.is_some_and(|pin| pin.key != signer.key);
    // An override for one package never weakens the pin of a key.
    let is_stronger =
        pin.is_none_or(|pin| !pin.whole && signer.coverage == SignatureCoverage::Whole);
    if !is_new_key && !is_stronger {
        return;
    }
    let because =
        if is_new_key { "you said so" } else { pin.map_or("first use", |pin| &pin.because) };
    let pin = new_pin(context, signer, because);
    trust.pins.insert(namespace.into(), pin);
}

pub(super) fn new_pin(context: &Context<'_>, signer: &Signer, because: &str) -> KeyPin {
    KeyPin {
        key: signer.key,
        whole: signer.coverage == SignatureCoverage::Whole,
        since: context.timestamp(),
        because: because.into(),
    }
}
