//! Whom a package may come from: trust on first use, by namespace, and what the config asks.

use sp_formats::package::store::{KeyPin, TrustStore};
use sp_formats::package::{Package, SignatureCoverage, Signer};

use super::package_store::{PackageStore, read_record};
use crate::context::{Context, Event};
use crate::error::{Error, FailureKind, Result};
use crate::session::Session;

/// Whether a package that nobody signed is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnsignedPolicy {
    /// With a warning, as long as its namespace was never signed.
    #[default]
    Warn,
    /// Never.
    Refuse,
}

/// Whether a package may be signed less well than those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DowngradePolicy {
    /// No.
    #[default]
    Refuse,
    /// Yes, with a warning.
    Allow,
}

/// Whether another key than the one that is pinned is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NewKeyPolicy {
    /// No.
    #[default]
    Refuse,
    /// Yes, and it is pinned from now on.
    Accept,
}

/// What a user accepts for once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrustOverrides {
    /// Whether a package that nobody signed is taken.
    pub unsigned: UnsignedPolicy,
    /// Whether a package may be signed less well than those before it.
    pub downgrade: DowngradePolicy,
    /// Whether another key than the one that is pinned is taken.
    pub new_key: NewKeyPolicy,
}

/// How a package stands to whom we trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SignerStatus {
    /// Nobody signed it, and nobody ever signed its namespace.
    Unsigned,
    /// The key that is pinned.
    Pinned,
    /// The first key of the namespace.
    FirstUse,
    /// Accepted against what is pinned.
    Overridden(String),
}

/// Whom we trust.
pub(super) fn read_trust_pins(context: &Context<'_>) -> Result<TrustStore> {
    read_record(context, "trust.json")
}

/// What the config asks of every package, whenever it was taken.
pub(super) fn check_signing_policy(
    session: &Session<'_>,
    package: &Package,
    unsigned: UnsignedPolicy,
) -> Result<()> {
    let (policy, name) = (&session.config.packages, &package.manifest.name);
    match package.signer {
        None if unsigned == UnsignedPolicy::Refuse || policy.require_signed || !policy.trusted_keys.is_empty() => {
            Err(Error::new(FailureKind::Trust, format!("`{name}` is not signed"))
                .because("only signed packages are taken here")
                .hint("ask whoever made it to sign it; `require-signed` and `trusted-keys` stand in the config"))
        }
        Some(signer) if !policy.trusted_keys.is_empty() && !policy.trusted_keys.contains(&signer.key) => {
            Err(Error::new(FailureKind::Trust, format!("`{name}` is signed by a key that is not trusted here"))
                .because(format!("the key is {}", signer.key))
                .hint("add it to `trusted-keys` in the config if you know whose it is"))
        }
        _ => Ok(()),
    }
}

/// Judges a package by who signed it. What is refused here is a trust error.
pub(super) fn check_signer(
    session: &Session<'_>,
    trust: &TrustStore,
    package: &Package,
    accepted: TrustOverrides,
) -> Result<SignerStatus> {
    let name = &package.manifest.name;
    let namespace = name.namespace();
    let pin = trust.pins.get(namespace);
    check_signing_policy(session, package, accepted.unsigned)?;
    let Some(signer) = package.signer else {
        return match pin {
            None => Ok(SignerStatus::Unsigned),
            Some(pin) => check_downgrade(
                accepted,
                format!(
                    "`{name}` is not signed, and what came before was signed by {}",
                    pin.key.short_hex()
                ),
            ),
        };
    };
    match pin {
        None => Ok(SignerStatus::FirstUse),
        Some(pin) if pin.key == signer.key && pin.whole && signer.coverage == SignatureCoverage::Content => {
            check_downgrade(accepted, format!("the manifest of `{name}` is not signed, and that of those before it was"))
        }
        Some(pin) if pin.key == signer.key => Ok(SignerStatus::Pinned),
        Some(pin) if accepted.new_key == NewKeyPolicy::Accept => Ok(SignerStatus::Overridden(format!(
            "`{namespace}` had the key {}, and has {} from now on",
            pin.key.short_hex(),
            signer.key.short_hex()
        ))),
        Some(pin) => Err(Error::new(FailureKind::Trust, format!("`{name}` is signed by another key than before"))
            .because(format!(
                "`{namespace}` has the key {} ({} since {}), and this one is signed by {}",
                pin.key, pin.because, pin.since, signer.key
            ))
            .hint("ask whoever made it whether they have a new key; then `--accept-new-key`, or `sp key trust`")),
    }
}

fn check_downgrade(accepted: TrustOverrides, message: String) -> Result<SignerStatus> {
    match accepted.downgrade {
        DowngradePolicy::Allow => Ok(SignerStatus::Overridden(message)),
        DowngradePolicy::Refuse => Err(Error::new(FailureKind::Trust, message)
            .because("somebody may have taken the signature away")
            .hint("ask whoever made it; `--allow-downgrade` takes it all the same")),
    }
}

/// Pins a key that is new, and says then what must be known of how a package stands.
pub(super) fn record_signer(
    session: &Session<'_>,
    stock: &mut PackageStore<'_>,
    package: &Package,
    standing: &SignerStatus,
) {
    let namespace = package.manifest.name.namespace();
    match (standing, package.signer) {
        (SignerStatus::FirstUse, Some(signer)) => stock.defer_event(Event::Hint(format!(
            "this is the first package of `{namespace}`: it is signed by {}, and from now on only that key counts",
            signer.key
        ))),
        (SignerStatus::Overridden(what), _) => {
            stock.defer_event(Event::Warning(format!("taken because you said so: {what}")));
        }
        _ => {}
    }
    let Some(signer) = package.signer else { return };
    let old = stock.trust.pins.get(namespace);
    let another = old.is_some_and(|pin| pin.key != signer.key);
    // A pin never loses what it asks for by a package that was taken for once.
    if another || old.is_none_or(|pin| !pin.whole && signer.coverage == SignatureCoverage::Whole) {
        let because =
            if another { "you said so" } else { old.map_or("first use", |pin| &pin.because) };
        let pin = new_pin(session.context, &signer, because);
        stock.trust.pins.insert(namespace.into(), pin);
    }
}

pub(super) fn new_pin(context: &Context<'_>, signer: &Signer, because: &str) -> KeyPin {
    KeyPin {
        key: signer.key,
        whole: signer.coverage == SignatureCoverage::Whole,
        since: context.timestamp(),
        because: because.into(),
    }
}
