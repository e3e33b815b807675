//! Whom a package may come from: trust on first use, by namespace, and what the config asks.

use sp_formats::package::store::{Pin, Trust};
use sp_formats::package::{Coverage, Package, Signer};

use super::shelf::{Stock, read_record};
use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};

/// Whether a package that nobody signed is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unsigned {
    /// With a warning, as long as its namespace was never signed.
    #[default]
    Warn,
    /// Never.
    Refuse,
}

/// Whether a package may be signed less well than those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Downgrade {
    /// No.
    #[default]
    Refuse,
    /// Yes, with a warning.
    Allow,
}

/// Whether another key than the one that is pinned is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NewKey {
    /// No.
    #[default]
    Refuse,
    /// Yes, and it is pinned from now on.
    Accept,
}

/// What a user accepts for once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Acceptance {
    /// Whether a package that nobody signed is taken.
    pub unsigned: Unsigned,
    /// Whether a package may be signed less well than those before it.
    pub downgrade: Downgrade,
    /// Whether another key than the one that is pinned is taken.
    pub new_key: NewKey,
}

/// How a package stands to whom we trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nobody signed it, and nobody ever signed its namespace.
    Unsigned,
    /// The key that is pinned.
    Pinned,
    /// The first key of the namespace.
    FirstUse,
    /// Accepted against what is pinned.
    Accepted(String),
}

/// Whom we trust.
pub(super) fn read_trust(context: &Context<'_>) -> Result<Trust> {
    read_record(context, "trust.json")
}

/// What the config asks of every package, whenever it was taken.
pub(super) fn follow_policy(session: &Session<'_>, package: &Package, unsigned: Unsigned) -> Result<()> {
    let (policy, name) = (&session.config.packages, &package.manifest.name);
    match package.signer {
        None if unsigned == Unsigned::Refuse || policy.require_signed || !policy.trusted_keys.is_empty() => {
            Err(Error::new(Kind::Trust, format!("`{name}` is not signed"))
                .because("only signed packages are taken here")
                .hint("ask whoever made it to sign it; `require-signed` and `trusted-keys` stand in the config"))
        }
        Some(signer) if !policy.trusted_keys.is_empty() && !policy.trusted_keys.contains(&signer.key) => {
            Err(Error::new(Kind::Trust, format!("`{name}` is signed by a key that is not trusted here"))
                .because(format!("the key is {}", signer.key))
                .hint("add it to `trusted-keys` in the config if you know whose it is"))
        }
        _ => Ok(()),
    }
}

/// Judges a package by who signed it. What is refused here is a trust error.
pub(super) fn judge(session: &Session<'_>, trust: &Trust, package: &Package, accepted: Acceptance) -> Result<Standing> {
    let name = &package.manifest.name;
    let namespace = name.namespace();
    let pin = trust.pins.get(namespace);
    follow_policy(session, package, accepted.unsigned)?;
    let Some(signer) = package.signer else {
        return match pin {
            None => Ok(Standing::Unsigned),
            Some(pin) => downgrade(
                accepted,
                format!("`{name}` is not signed, and what came before was signed by {}", pin.key.short()),
            ),
        };
    };
    match pin {
        None => Ok(Standing::FirstUse),
        Some(pin) if pin.key == signer.key && pin.whole && signer.coverage == Coverage::Content => {
            downgrade(accepted, format!("the manifest of `{name}` is not signed, and that of those before it was"))
        }
        Some(pin) if pin.key == signer.key => Ok(Standing::Pinned),
        Some(pin) if accepted.new_key == NewKey::Accept => Ok(Standing::Accepted(format!(
            "`{namespace}` had the key {}, and has {} from now on",
            pin.key.short(),
            signer.key.short()
        ))),
        Some(pin) => Err(Error::new(Kind::Trust, format!("`{name}` is signed by another key than before"))
            .because(format!(
                "`{namespace}` has the key {} ({} since {}), and this one is signed by {}",
                pin.key, pin.because, pin.since, signer.key
            ))
            .hint("ask whoever made it whether they have a new key; then `--accept-new-key`, or `sp key trust`")),
    }
}

fn downgrade(accepted: Acceptance, message: String) -> Result<Standing> {
    match accepted.downgrade {
        Downgrade::Allow => Ok(Standing::Accepted(message)),
        Downgrade::Refuse => Err(Error::new(Kind::Trust, message)
            .because("somebody may have taken the signature away")
            .hint("ask whoever made it; `--allow-downgrade` takes it all the same")),
    }
}

/// Pins a key that is new, and says then what must be known of how a package stands.
pub(super) fn note(session: &Session<'_>, stock: &mut Stock<'_>, package: &Package, standing: &Standing) {
    let namespace = package.manifest.name.namespace();
    match (standing, package.signer) {
        (Standing::FirstUse, Some(signer)) => stock.tell_then(Event::Hint(format!(
            "this is the first package of `{namespace}`: it is signed by {}, and from now on only that key counts",
            signer.key
        ))),
        (Standing::Accepted(what), _) => {
            stock.tell_then(Event::Warning(format!("taken because you said so: {what}")));
        }
        _ => {}
    }
    let Some(signer) = package.signer else { return };
    let old = stock.trust.pins.get(namespace);
    let another = old.is_some_and(|pin| pin.key != signer.key);
    // A pin never loses what it asks for by a package that was taken for once.
    if another || old.is_none_or(|pin| !pin.whole && signer.coverage == Coverage::Whole) {
        let because = if another { "you said so" } else { old.map_or("first use", |pin| &pin.because) };
        let pin = pin(session.context, &signer, because);
        stock.trust.pins.insert(namespace.into(), pin);
    }
}

pub(super) fn pin(context: &Context<'_>, signer: &Signer, because: &str) -> Pin {
    Pin {
        key: signer.key,
        whole: signer.coverage == Coverage::Whole,
        since: context.timestamp(),
        because: because.into(),
    }
}
