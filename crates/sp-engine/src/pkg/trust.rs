//! Whom a package may come from: trust on first use, by namespace, and what the config asks.

use sp_formats::package::store::{Pin, Trust};
use sp_formats::package::{Coverage, Package, Signer};
use sp_tree::Fixed;

use super::shelf::{read_record, write_record};
use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};
use crate::home::Home;

const TRUST: Fixed = Fixed("trust.json");
const TRUST_TEMP: Fixed = Fixed("trust.json.tmp");

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
    read_record(context, TRUST.0)
}

/// Stores whom we trust.
pub(super) fn write_trust(home: &Home<'_>, trust: &Trust) -> Result<()> {
    write_record(home, TRUST, TRUST_TEMP, trust)
}

/// Judges a package by who signed it. What is refused here is a trust error.
pub(super) fn judge(session: &Session<'_>, trust: &Trust, package: &Package, accepted: Acceptance) -> Result<Standing> {
    let name = &package.manifest.name;
    let namespace = name.namespace();
    let pin = trust.pins.get(namespace);
    let policy = &session.config.packages;
    let Some(signer) = package.signer else {
        if accepted.unsigned == Unsigned::Refuse || policy.require_signed || !policy.trusted_keys.is_empty() {
            return Err(Error::new(Kind::Trust, format!("`{name}` is not signed"))
                .because("only signed packages are taken here")
                .hint("ask whoever made it to sign it; `require-signed` and `trusted-keys` stand in the config"));
        }
        return match pin {
            None => Ok(Standing::Unsigned),
            Some(pin) => downgrade(
                accepted,
                format!("`{name}` is not signed, and what came before was signed by {}", pin.key.short()),
            ),
        };
    };
    if !policy.trusted_keys.is_empty() && !policy.trusted_keys.contains(&signer.key) {
        return Err(Error::new(Kind::Trust, format!("`{name}` is signed by a key that is not trusted here"))
            .because(format!("the key is {}", signer.key))
            .hint("add it to `trusted-keys` in the config if you know whose it is"));
    }
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

/// Says what must be known of how a package stands, and pins a key that is new.
pub(super) fn note(session: &Session<'_>, trust: &mut Trust, package: &Package, standing: &Standing) {
    let context = session.context;
    let namespace = package.manifest.name.namespace();
    match standing {
        Standing::Unsigned | Standing::Pinned => {}
        Standing::FirstUse => {
            if let Some(signer) = package.signer {
                context.tell(Event::Hint(format!(
                    "this is the first package of `{namespace}`: it is signed by {}, and from now on only that key counts",
                    signer.key
                )));
            }
        }
        Standing::Accepted(what) => context.tell(Event::Warning(format!("taken because you said so: {what}"))),
    }
    if let Some(signer) = package.signer {
        let old = trust.pins.get(namespace);
        // A pin never loses what it asks for by a package that was taken for once.
        if old.is_none_or(|pin| pin.key != signer.key || !pin.whole && signer.coverage == Coverage::Whole) {
            let because = if old.is_some_and(|pin| pin.key != signer.key) { "you said so" } else { "first use" };
            trust.pins.insert(namespace.into(), pin(context, &signer, because));
        }
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
