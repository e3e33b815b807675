//! `sp key`: our own keys, and whom we trust.

use std::path::{Path, PathBuf};

use sp_formats::json::{JsonDocument, JsonValue, quoted};
use sp_formats::output::{KeyItem, KeyList, KeyPinItem};
use sp_formats::package::store::TrustStore;
use sp_formats::package::{PackageName, SignatureCoverage, Signer};
use sp_tree::transaction::PriorState;
use sp_tree::{Dir, FileError, Name, PrivateKey, PublicKey, Signature, read_limited};

use super::package_store::PackageStore;
use super::secret::check_private_file;
use super::trust::{new_pin, read_trust_pins};
use crate::apply_mode::ApplyMode;
use crate::context::{Context, Event};
use crate::error::{Error, FailureKind, Result};
use crate::files::{parent_and_name, read_for_update};
use crate::home::LockedHome;
use crate::install::change::ChangeExecutor;
use crate::install::plan::FilePlan;
use crate::session::Session;

const KEYS_DIR: &str = "keys";
/// The key that is used where none is named.
pub(super) const DEFAULT_KEY: &str = "default";
const RETIRED_SUFFIX: &str = ".retired";
/// Earlier versions gave the new key this name until a rotation was complete.
const NEXT_SUFFIX: &str = ".next";
/// Earlier versions wrote keys to files of such names first, and left them behind when they were killed.
const UNFINISHED_SUFFIX: &str = ".sp-new";
/// A private key in PEM has some hundred bytes.
const MAX_KEY_BYTES: u64 = 16 * 1024;
const ROTATION_STATEMENT: &str = "skillpack-key-rotation-v1";

/// Which half of a key is exported.
#[derive(Debug, Clone)]
pub enum KeyPart {
    /// The half that others verify with.
    Public,
    /// The half that signs, into a file that only its owner may read.
    Private(PathBuf),
}

/// Makes a key.
pub fn new_key(context: &Context<'_>, name: &str) -> Result<KeyList> {
    let session = Session::begin(context)?;
    let home = LockedHome::open(context, &session.limits)?;
    remove_unfinished_keys(context, &home)?;
    let key = create_key(&session, &home, name)?;
    Ok(single_key_list(key_item(context, name, &key)))
}

/// Our keys, and whom we trust.
pub fn list_keys(context: &Context<'_>) -> Result<KeyList> {
    Session::begin(context)?;
    let pin = |(namespace, pin): (&String, &sp_formats::package::store::KeyPin)| KeyPinItem {
        namespace: namespace.clone(),
        public_key: pin.key.hex(),
        since: pin.since.clone(),
        because: pin.because.clone(),
    };
    Ok(KeyList {
        keys: own_keys(context)?,
        trusted: read_trust_pins(context)?.pins.iter().map(pin).collect(),
    })
}

/// The public half of a key; or its private half goes into a file.
pub fn export_key(context: &Context<'_>, name: &str, part: &KeyPart) -> Result<KeyList> {
    let session = Session::begin(context)?;
    let key = load_key(context, name)?;
    let mut list = single_key_list(key_item(context, name, &key));
    if let KeyPart::Private(path) = part {
        let path = context.absolute(path);
        let home = LockedHome::open(context, &session.limits)?;
        let plan = new_file_plan(context, &path, encode_pem(&key)?.as_bytes())?.private();
        change_files(&session, &home, vec![plan])?;
        list.keys[0].file = path;
    }
    Ok(list)
}

/// Takes a private key that was made elsewhere.
pub fn import_key(context: &Context<'_>, file: &Path, name: &str) -> Result<KeyList> {
    let session = Session::begin(context)?;
    let home = LockedHome::open(context, &session.limits)?;
    remove_unfinished_keys(context, &home)?;
    let path = context.absolute(file);
    let pem = zeroizing(read_limited(&path, MAX_KEY_BYTES)?);
    let key = std::str::from_utf8(&pem)
        .ok()
        .and_then(|pem| PrivateKey::from_pem(pem).ok())
        .ok_or_else(|| {
            Error::new(
                FailureKind::Data,
                format!("`{}` is no Ed25519 private key in PEM", context.display_path(&path)),
            )
            .hint("`openssl genpkey -algorithm ed25519` makes one, and so does `sp key new`")
        })?;
    store_key(&session, &home, name, &key)?;
    Ok(single_key_list(key_item(context, name, &key)))
}

/// Trusts a key for a namespace, whatever was trusted before.
pub fn trust_key(context: &Context<'_>, namespace: &str, key: &str) -> Result<KeyList> {
    let session = Session::begin(context)?;
    check_namespace(namespace)?;
    let key = PublicKey::from_hex(key).map_err(|why| {
        Error::new(FailureKind::Usage, "this is no public key")
            .because(why)
            .hint("`sp key export` prints one")
    })?;
    let home = LockedHome::open(context, &session.limits)?;
    let mut stock = PackageStore::open(&session)?;
    let signer = Signer { key, coverage: SignatureCoverage::Content };
    stock.trust.pins.insert(namespace.into(), new_pin(context, &signer, "you said so"));
    stock.save(&home)?;
    drop(home);
    list_keys(context)
}

fn check_namespace(namespace: &str) -> Result<()> {
    let as_name =
        if namespace.starts_with('@') { format!("{namespace}/x") } else { namespace.to_owned() };
    PackageName::new(&as_name).map(drop).map_err(|why| {
        Error::new(FailureKind::Usage, format!("`{namespace}` is no namespace"))
            .because(why)
            .hint("name a scope such as `@acme`, or a package that has none")
    })
}

/// Makes a new key in the place of an old one, and a statement by which others can follow.
///
/// The new key, the retired old one, the statement and the record of whom we trust change in one transaction.
pub fn rotate_key(context: &Context<'_>, name: &str, statement: Option<&Path>) -> Result<KeyList> {
    let session = Session::begin(context)?;
    let home = LockedHome::open(context, &session.limits)?;
    remove_unfinished_keys(context, &home)?;
    check_key_name(name)?;
    let (_, before) = read_for_update(&key_path(context, name), MAX_KEY_BYTES)?;
    let old = load_key(context, name)?;
    let next = format!("{name}{NEXT_SUFFIX}");
    let (unused, next_before) = read_for_update(&key_path(context, &next), MAX_KEY_BYTES)?;
    // A rotation that an earlier version did not complete: others may have its statement already.
    let new = if unused.is_some() { load_key(context, &next)? } else { generate_key(context)? };
    let mut plans = vec![key_plan(context, name, before, Some(&new))?];
    if unused.is_some() {
        plans.push(key_plan(context, &next, next_before, None)?);
    }
    let retired = format!("{name}{RETIRED_SUFFIX}-{}", &old.public().short_hex()[..8]);
    if !key_path(context, &retired).exists() {
        plans.push(key_plan(context, &retired, PriorState::Absent, Some(&old))?);
    }
    if let Some(path) = statement {
        plans.extend(statement_plan(&session, &context.absolute(path), &old, &new)?);
    }
    let mut stock = PackageStore::open(&session)?;
    replace_pins(context, &mut stock.trust, &old.public(), &new.public());
    plans.extend(stock.file_plans()?);
    change_files(&session, &home, plans)?;
    stock.emit_deferred_events();
    if statement.is_none() {
        context.emit(Event::Hint(format!(
            "whoever trusts the old key must hear of the new one: `sp key trust <namespace> {}`",
            new.public()
        )));
    }
    Ok(single_key_list(key_item(context, name, &new)))
}

/// The file with the statement, unless it is there already.
fn statement_plan(
    session: &Session<'_>,
    path: &Path,
    old: &PrivateKey,
    new: &PrivateKey,
) -> Result<Option<FilePlan>> {
    let there = read_limited(path, MAX_KEY_BYTES)
        .ok()
        .and_then(|bytes| parse_rotation_statement(&bytes, session));
    if there == Some((old.public(), new.public())) {
        return Ok(None);
    }
    new_file_plan(session.context, path, rotation_statement(session.context, old, new).as_bytes())
        .map(Some)
}

/// Follows a statement by which an old key names its successor.
pub fn trust_rotation(context: &Context<'_>, file: &Path) -> Result<KeyList> {
    let session = Session::begin(context)?;
    let path = context.absolute(file);
    let bytes = read_limited(&path, MAX_KEY_BYTES)?;
    let refuse = || {
        Error::new(
            FailureKind::Trust,
            format!(
                "`{}` is no statement that an old key and a new one both signed",
                context.display_path(&path)
            ),
        )
        .hint("nothing was changed: get it again from whoever made it")
    };
    let (old, new) = parse_rotation_statement(&bytes, &session).ok_or_else(refuse)?;
    let home = LockedHome::open(context, &session.limits)?;
    let mut stock = PackageStore::open(&session)?;
    if replace_pins(context, &mut stock.trust, &old, &new) == 0 {
        return Err(Error::new(FailureKind::Request, format!("no namespace has the key {old}"))
            .hint("`sp key list` shows whom you trust"));
    }
    stock.save(&home)?;
    drop(home);
    list_keys(context)
}

fn replace_pins(
    context: &Context<'_>,
    trust: &mut TrustStore,
    old: &PublicKey,
    new: &PublicKey,
) -> usize {
    let mut changed = 0;
    for pinned in trust.pins.values_mut().filter(|pin| pin.key == *old) {
        let coverage =
            if pinned.whole { SignatureCoverage::Whole } else { SignatureCoverage::Content };
        *pinned = new_pin(context, &Signer { key: *new, coverage }, "rotation");
        changed += 1;
    }
    changed
}

fn rotation_statement(context: &Context<'_>, old: &PrivateKey, new: &PrivateKey) -> String {
    let at = context.timestamp();
    let message = format!("{ROTATION_STATEMENT}:{}:{}:{at}", old.public(), new.public());
    format!(
        "{{\n  \"statement\": \"{ROTATION_STATEMENT}\",\n  \"old\": \"{}\",\n  \"new\": \"{}\",\n  \"at\": {},\n  \"by_old\": \"{}\",\n  \"by_new\": \"{}\"\n}}\n",
        old.public(),
        new.public(),
        quoted(&at),
        old.sign(message.as_bytes()).hex(),
        new.sign(message.as_bytes()).hex()
    )
}

fn parse_rotation_statement(bytes: &[u8], session: &Session<'_>) -> Option<(PublicKey, PublicKey)> {
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
    Some((old, new))
}

/// The key to sign with. The default key is made if it is missing, and where it is, is told.
pub(super) fn signing_key(
    session: &Session<'_>,
    home: &LockedHome<'_>,
    name: Option<&str>,
) -> Result<PrivateKey> {
    let wanted = name.unwrap_or(DEFAULT_KEY);
    let missing = !key_path(session.context, wanted).exists();
    if missing && name.is_none() {
        let key = create_key(session, home, DEFAULT_KEY)?;
        let path = session.context.display_path(&key_path(session.context, DEFAULT_KEY));
        session.context.emit(Event::Hint(format!("a key was made: {} in `{path}`", key.public())));
        return Ok(key);
    }
    load_key(session.context, wanted)
}

/// The key of ours with this public half, if we have it.
pub(super) fn find_private_key(
    context: &Context<'_>,
    public: &PublicKey,
) -> Result<Option<PrivateKey>> {
    let found = own_keys(context)?.into_iter().find(|key| key.public_key == public.hex());
    found.map(|key| load_key(context, &key.name)).transpose()
}

fn create_key(session: &Session<'_>, home: &LockedHome<'_>, name: &str) -> Result<PrivateKey> {
    let key = generate_key(session.context)?;
    store_key(session, home, name, &key)?;
    Ok(key)
}

fn generate_key(context: &Context<'_>) -> Result<PrivateKey> {
    let mut seed = zeroizing([0; 32]);
    (context.random)(&mut *seed).map_err(|e| {
        Error::new(FailureKind::Environment, "the system gives no random bytes").because(e)
    })?;
    Ok(PrivateKey::from_seed(&seed))
}

/// Bytes that are wiped when they are dropped.
fn zeroizing<T: sp_tree::Zeroize>(value: T) -> sp_tree::Zeroizing<T> {
    sp_tree::Zeroizing::new(value)
}

fn store_key(
    session: &Session<'_>,
    home: &LockedHome<'_>,
    name: &str,
    key: &PrivateKey,
) -> Result<()> {
    check_key_name(name)?;
    if key_path(session.context, name).symlink_metadata().is_ok() {
        return Err(Error::new(
            FailureKind::Request,
            format!("there is a key called `{name}` already"),
        )
        .hint("give the new one another name, or use `sp key rotate`"));
    }
    change_files(
        session,
        home,
        vec![key_plan(session.context, name, PriorState::Absent, Some(key))?],
    )
}

/// Changes files of keys, all of them or none.
fn change_files(session: &Session<'_>, home: &LockedHome<'_>, plans: Vec<FilePlan>) -> Result<()> {
    ChangeExecutor { session, home: Some(home), options: ApplyMode::Apply.into() }
        .execute_files(plans)
}

/// The change that gives a key's file this key, or removes it.
fn key_plan(
    context: &Context<'_>,
    name: &str,
    before: PriorState,
    key: Option<&PrivateKey>,
) -> Result<FilePlan> {
    let path = key_path(context, name);
    let home = context.home.canonicalize().map_err(|e| FileError::new("find", &context.home, e))?;
    let bytes = key.map(encode_pem).transpose()?.map(|pem| pem.as_bytes().into());
    Ok(FilePlan::new(home.join(KEYS_DIR), parent_and_name(&path)?.1, before, bytes).private())
}

/// The change that creates a file where the user wants it.
fn new_file_plan(context: &Context<'_>, path: &Path, bytes: &[u8]) -> Result<FilePlan> {
    let (dir, name) = parent_and_name(path)?;
    if path.symlink_metadata().is_ok() {
        return Err(Error::new(
            FailureKind::Request,
            format!("`{}` is there already", context.display_path(path)),
        )
        .hint("nothing was changed: choose another file, or remove this one"));
    }
    let dir = dir.canonicalize().map_err(|e| FileError::new("find", dir, e))?;
    Ok(FilePlan::new(dir, name, PriorState::Absent, Some(bytes.into())))
}

fn encode_pem(key: &PrivateKey) -> Result<sp_tree::Zeroizing<String>> {
    key.to_pem().map_err(|e| Error::new(FailureKind::Data, "the key cannot be written").because(e))
}

/// Removes private keys that earlier versions left behind when they were killed.
fn remove_unfinished_keys(context: &Context<'_>, _locked: &LockedHome<'_>) -> Result<()> {
    let dir = match Dir::open(&context.home.join(KEYS_DIR)) {
        Ok(dir) => dir,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e.into()),
    };
    let is_unfinished = |name: &str| name.starts_with('.') && name.ends_with(UNFINISHED_SUFFIX);
    for entry in
        dir.entries()?.iter().filter(|entry| entry.name().to_str().is_some_and(is_unfinished))
    {
        dir.remove_file(entry)?;
    }
    Ok(())
}

fn load_key(context: &Context<'_>, name: &str) -> Result<PrivateKey> {
    check_key_name(name)?;
    let path = key_path(context, name);
    if path.exists() {
        check_private_file(context, &path)?;
    }
    let pem =
        read_limited(&path, MAX_KEY_BYTES).map(zeroizing).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Error::new(FailureKind::Request, format!("there is no key called `{name}`"))
                    .hint("`sp key new` makes one, `sp key list` shows all")
            }
            _ => error.into(),
        })?;
    let key = std::str::from_utf8(&pem).ok().and_then(|pem| PrivateKey::from_pem(pem).ok());
    key.ok_or_else(|| {
        Error::new(FailureKind::Data, format!("the key `{name}` cannot be read")).hint(format!(
            "look at `{}`, and make a new one if it is lost",
            context.display_path(&path)
        ))
    })
}

fn key_path(context: &Context<'_>, name: &str) -> PathBuf {
    context.home.join(KEYS_DIR).join(format!("{name}.pem"))
}

fn check_key_name(name: &str) -> Result<()> {
    let plain =
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
    match Name::new(&format!("{name}.pem")) {
        Ok(_) if plain && !name.is_empty() && !name.starts_with('.') => Ok(()),
        _ => Err(Error::new(FailureKind::Usage, format!("`{name}` is no name for a key"))
            .hint("use letters, digits, `.`, `_` and `-`")),
    }
}

/// Our own keys, sorted by name.
fn own_keys(context: &Context<'_>) -> Result<Vec<KeyItem>> {
    let dir = match Dir::open(&context.home.join(KEYS_DIR)) {
        Ok(dir) => dir,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(e.into()),
    };
    let entries = dir.entries()?;
    let names = entries.iter().filter_map(|entry| entry.name().to_str()?.strip_suffix(".pem"));
    let mut names: Vec<&str> = names.filter(|name| check_key_name(name).is_ok()).collect();
    names.sort_unstable();
    names.into_iter().map(|name| Ok(key_item(context, name, &load_key(context, name)?))).collect()
}

fn key_item(context: &Context<'_>, name: &str, key: &PrivateKey) -> KeyItem {
    KeyItem {
        name: name.into(),
        public_key: key.public().hex(),
        file: key_path(context, name),
        retired: name.contains(RETIRED_SUFFIX),
    }
}

fn single_key_list(key: KeyItem) -> KeyList {
    KeyList { keys: vec![key], trusted: Vec::new() }
}
