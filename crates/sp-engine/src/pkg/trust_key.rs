//! `sp key trust`: pins a public key to a namespace, or follows a rotation statement.

use std::path::Path;

use sp_formats::output::KeyList;
use sp_formats::package::{PackageName, SignatureCoverage, Signer};
use sp_tree::{PublicKey, read_limited};

use super::keys::{MAX_KEY_BYTES, key_list};
use super::package_store::PackageStore;
use super::rotate_key::{parse_rotation_statement, replace_pins};
use super::trust::new_pin;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::files::{InputKind, require_input};
use crate::home::LockedHome;
use crate::install::change::ChangeExecutor;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// Pins a public key to a namespace, and replaces an earlier pin.
pub fn trust_key(
    context: &Context<'_>,
    namespace: &str,
    key: &str,
    apply: ApplyOptions,
) -> Result<KeyList> {
    let session = Session::begin(context)?;
    check_namespace(namespace)?;
    let key = PublicKey::from_hex(key).map_err(|why| {
        Error::new(ErrorCode::InvalidPublicKey, "invalid public key")
            .because(why)
            .hint("use the public key that `sp key export` prints")
    })?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, apply.mode)?;
    let mut store = PackageStore::open(&session)?;
    let signer = Signer { key, coverage: SignatureCoverage::Content };
    store.trust.pins.insert(namespace.into(), new_pin(context, &signer, "you said so"));
    save_trust(&session, home.as_ref(), store, apply)
}

/// Saves the trusted keys, and lists them.
fn save_trust(
    session: &Session<'_>,
    home: Option<&LockedHome<'_>>,
    store: PackageStore<'_>,
    options: ApplyOptions,
) -> Result<KeyList> {
    let list = key_list(session.context, &store.trust, None)?;
    let status = store.save_with(&ChangeExecutor { session, home, options })?;
    Ok(KeyList { status: Some(status), ..list })
}

fn check_namespace(namespace: &str) -> Result<()> {
    // A scope is valid if a package in it could be named.
    let as_name =
        if namespace.starts_with('@') { format!("{namespace}/x") } else { namespace.to_owned() };
    PackageName::new(&as_name).map(drop).map_err(|why| {
        Error::new(ErrorCode::InvalidName, format!("invalid namespace `{namespace}`"))
            .because(why)
            .hint("specify a scope such as `@acme`, or the name of a package without a scope")
    })
}

/// Replaces the pins of an old key with the new key that its rotation statement names.
pub fn trust_rotation(context: &Context<'_>, file: &Path, apply: ApplyOptions) -> Result<KeyList> {
    let session = Session::begin(context)?;
    let path = context.absolute(file);
    require_input(context, &path, InputKind::File)?;
    let bytes = read_limited(&path, MAX_KEY_BYTES)?;
    let refuse = || {
        Error::new(
            ErrorCode::InvalidRotation,
            format!(
                "`{}` is not a valid key rotation statement signed by the old and the new key",
                context.display_path(&path)
            ),
        )
        .hint("get the statement again from its author")
    };
    let rotation = parse_rotation_statement(&bytes, &session).ok_or_else(refuse)?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, apply.mode)?;
    let mut store = PackageStore::open(&session)?;
    if replace_pins(context, &mut store.trust, &rotation) == 0 {
        let message = format!("no namespace trusts the key {}", rotation.old);
        return Err(Error::new(ErrorCode::KeyNotFound, message)
            .hint("run `sp key list` to list the trusted keys"));
    }
    save_trust(&session, home.as_ref(), store, apply)
}
