//! `sp key rotate`: replaces a key, and writes a statement that lets others follow.
//!
//! The statement names the old and the new public key and is signed by both, so that
//! `sp key trust --rotation` can replace the pins of the old key without trusting anybody else.

use std::path::Path;

use sp_formats::json::{JsonDocument, JsonValue, quoted};
use sp_formats::output::KeyList;
use sp_formats::package::store::TrustStore;
use sp_formats::package::{SignatureCoverage, Signer};
use sp_tree::transaction::PriorState;
use sp_tree::{PrivateKey, PublicKey, Signature, read_limited};

use super::keys::{
    MAX_KEY_BYTES, RETIRED_SUFFIX, check_key_name, generate_key, key_change, key_item, key_path,
    key_plan, load_key, new_file_plan, planned_key_item, remove_unfinished_keys,
};
use super::package_store::PackageStore;
use super::trust::new_pin;
use crate::context::{Context, Event};
use crate::error::Result;
use crate::files::read_for_update;
use crate::home::LockedHome;
use crate::install::change::ChangeExecutor;
use crate::install::plan::FilePlan;
use crate::plan_id::{ApplyOptions, PlanHasher, PlanId};
use crate::session::Session;

/// Earlier versions gave the new key this name until a rotation was complete.
const NEXT_SUFFIX: &str = ".next";
const ROTATION_STATEMENT: &str = "skillpack-key-rotation-v1";

/// Generates a new key under the name of an old one, and writes the rotation statement to a file.
///
/// The new key, the retired old key, the statement and the trust pins change in one transaction.
/// The plan ID covers the old key, the statement file and the pins, but not the new key, which is
/// random.
pub fn rotate_key(
    context: &Context<'_>,
    name: &str,
    statement: Option<&Path>,
    apply: ApplyOptions,
) -> Result<KeyList> {
    let session = Session::begin(context)?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, apply.mode)?;
    if let Some(home) = &home {
        remove_unfinished_keys(context, home)?;
    }
    check_key_name(name)?;
    let (_, before) = read_for_update(&key_path(context, name), MAX_KEY_BYTES)?;
    let old = load_key(context, name)?;
    let next = format!("{name}{NEXT_SUFFIX}");
    let (unfinished, next_before) = read_for_update(&key_path(context, &next), MAX_KEY_BYTES)?;
    // An earlier version did not complete this rotation, but others may have its statement already.
    let new = if unfinished.is_some() { load_key(context, &next)? } else { generate_key(context)? };
    let mut plans = vec![key_plan(context, name, before, Some(&new))?];
    if unfinished.is_some() {
        plans.push(key_plan(context, &next, next_before, None)?);
    }
    let retired = format!("{name}{RETIRED_SUFFIX}-{}", &old.public().short_hex()[..8]);
    if !key_path(context, &retired).exists() {
        plans.push(key_plan(context, &retired, PriorState::Absent, Some(&old))?);
    }
    if let Some(path) = statement {
        plans.extend(statement_plan(&session, &context.absolute(path), &old, &new)?);
    }
    let mut store = PackageStore::open(&session)?;
    replace_pins(context, &mut store.trust, &KeyRotation { old: old.public(), new: new.public() });
    let status = apply.confirm(plan_id(context, &old, &store.trust, &plans))?;
    plans.extend(store.file_plans()?);
    ChangeExecutor { session: &session, home: home.as_ref(), options: apply.mode.into() }
        .execute_files(plans)?;
    if !status.applied {
        return Ok(key_change(status, planned_key_item(context, name)));
    }
    store.emit_deferred_events();
    if statement.is_none() {
        context.emit(Event::Hint(format!(
            "ask everyone who trusts the old key to run `sp key trust <namespace> {}`",
            new.public()
        )));
    }
    Ok(key_change(status, key_item(context, name, &new)))
}

fn plan_id(
    context: &Context<'_>,
    old: &PrivateKey,
    trust: &TrustStore,
    plans: &[FilePlan],
) -> PlanId {
    let mut hasher = PlanHasher::of_operation("key rotate");
    hasher.path(&context.home);
    hasher.text(&old.public().hex());
    hasher.list(plans.iter(), |hasher, plan| {
        hasher.path(&plan.dir);
        hasher.text(plan.name.as_str());
        hasher.prior_state(plan.before);
    });
    hasher.list(trust.pins.keys(), |hasher, namespace| hasher.text(namespace));
    hasher.finish()
}

/// Plans the statement file; none if it exists and has the same statement.
fn statement_plan(
    session: &Session<'_>,
    path: &Path,
    old: &PrivateKey,
    new: &PrivateKey,
) -> Result<Option<FilePlan>> {
    let existing = read_limited(path, MAX_KEY_BYTES)
        .ok()
        .and_then(|bytes| parse_rotation_statement(&bytes, session));
    if existing == Some(KeyRotation { old: old.public(), new: new.public() }) {
        return Ok(None);
    }
    new_file_plan(session.context, path, rotation_statement(session.context, old, new).as_bytes())
        .map(Some)
}

/// A verified rotation statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyRotation {
    pub old: PublicKey,
    pub new: PublicKey,
}

/// Replaces the pins of the old key, and returns their number.
pub(super) fn replace_pins(
    context: &Context<'_>,
    trust: &mut TrustStore,
    rotation: &KeyRotation,
) -> usize {
    let mut changed = 0;
    for pin in trust.pins.values_mut().filter(|pin| pin.key == rotation.old) {
        let coverage =
            if pin.whole { SignatureCoverage::Whole } else { SignatureCoverage::Content };
        *pin = new_pin(context, &Signer { key: rotation.new, coverage }, "rotation");
        changed += 1;
    }
    changed
}

fn rotation_statement(context: &Context<'_>, old: &PrivateKey, new: &PrivateKey) -> String {
    let time = context.timestamp();
    let message = format!("{ROTATION_STATEMENT}:{}:{}:{time}", old.public(), new.public());
    format!(
        "{{\n  \"statement\": \"{ROTATION_STATEMENT}\",\n  \"old\": \"{}\",\n  \"new\": \"{}\",\n  \"at\": {},\n  \"by_old\": \"{}\",\n  \"by_new\": \"{}\"\n}}\n",
        old.public(),
        new.public(),
        quoted(&time),
        old.sign(message.as_bytes()).hex(),
        new.sign(message.as_bytes()).hex()
    )
}

/// Parses a statement. Returns `None` if it is malformed or a signature is invalid.
pub(super) fn parse_rotation_statement(bytes: &[u8], session: &Session<'_>) -> Option<KeyRotation> {
    let json = JsonDocument::parse(std::str::from_utf8(bytes).ok()?, &session.limits).ok()?;
    let text = |key: &str| json.root().get(key).and_then(JsonValue::text);
    if text("statement")? != ROTATION_STATEMENT {
        return None;
    }
    let (old, new) =
        (PublicKey::from_hex(&text("old")?).ok()?, PublicKey::from_hex(&text("new")?).ok()?);
    let message = format!("{ROTATION_STATEMENT}:{old}:{new}:{}", text("at")?);
    for (key, member) in [(&old, "by_old"), (&new, "by_new")] {
        let signature = Signature::from_hex(&text(member)?).ok()?;
        key.verify(message.as_bytes(), &signature).ok()?;
    }
    Some(KeyRotation { old, new })
}
