//! Private keys in `~/.skillpack/keys`, one PEM file each, and the commands that manage them.
//!
//! Files are readable by their owner only, and a key file that others can read is refused. The
//! bytes of private keys are zeroed when dropped. Which public keys are trusted is the business of
//! `trust` and `trust_key`.

use std::path::{Path, PathBuf};

use sp_formats::output::{KeyItem, KeyList, KeyPinItem};
use sp_formats::package::store::KeyPin;
use sp_tree::transaction::PriorState;
use sp_tree::{Dir, FileError, Name, PrivateKey, PublicKey, read_limited};

use super::package_store::read_trust_pins;
use crate::apply_mode::ApplyMode;
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::files::parent_and_name;
use crate::files::{InputKind, require_input};
use crate::home::LockedHome;
use crate::install::change::ChangeExecutor;
use crate::install::plan::FilePlan;
use crate::secret::check_private_file;
use crate::session::Session;

const KEYS_DIR: &str = "keys";
/// The key that signs if none is named.
const DEFAULT_KEY: &str = "default";
/// Marks the file name of a key that was replaced by a rotation.
pub(super) const RETIRED_SUFFIX: &str = ".retired";
/// The suffix of temporary files of earlier versions, which stayed when the process was killed.
const UNFINISHED_SUFFIX: &str = ".sp-new";
/// The maximum size of a key file. A private key in PEM has a few hundred bytes.
pub(super) const MAX_KEY_BYTES: u64 = 16 * 1024;

/// Which half of a key is exported.
#[derive(Debug, Clone)]
pub enum KeyPart {
    /// Print the public key.
    Public,
    /// Write the private key to a file that only its owner can read.
    Private(PathBuf),
}

/// Generates a key.
pub fn new_key(context: &Context<'_>, name: &str) -> Result<KeyList> {
    let session = Session::begin(context)?;
    let home = LockedHome::open(context, &session.limits)?;
    remove_unfinished_keys(context, &home)?;
    let key = create_key(&session, &home, name)?;
    Ok(single_key_list(key_item(context, name, &key)))
}

/// Lists the private keys and the trusted public keys.
pub fn list_keys(context: &Context<'_>) -> Result<KeyList> {
    Session::begin(context)?;
    let pin_item = |(namespace, pin): (&String, &KeyPin)| KeyPinItem {
        namespace: namespace.clone(),
        public_key: pin.key.hex(),
        since: pin.since.clone(),
        because: pin.because.clone(),
    };
    Ok(KeyList {
        keys: own_keys(context)?,
        trusted: read_trust_pins(context)?.pins.iter().map(pin_item).collect(),
    })
}

/// Returns a public key, and writes the private key to a file if that was asked for.
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

/// Imports a private key from a PEM file.
pub fn import_key(context: &Context<'_>, file: &Path, name: &str) -> Result<KeyList> {
    let session = Session::begin(context)?;
    let home = LockedHome::open(context, &session.limits)?;
    remove_unfinished_keys(context, &home)?;
    let path = context.absolute(file);
    require_input(context, &path, InputKind::File)?;
    let pem = zeroizing(read_limited(&path, MAX_KEY_BYTES)?);
    let key = std::str::from_utf8(&pem)
        .ok()
        .and_then(|pem| PrivateKey::from_pem(pem).ok())
        .ok_or_else(|| {
            Error::new(
                ErrorCode::InvalidKeyFile,
                format!(
                    "`{}` is not an Ed25519 private key in PEM format",
                    context.display_path(&path)
                ),
            )
            .hint("create one with `sp key new` or `openssl genpkey -algorithm ed25519`")
        })?;
    store_key(&session, &home, name, &key)?;
    Ok(single_key_list(key_item(context, name, &key)))
}

/// The key that signs a new package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackageSigning {
    Unsigned,
    /// The default key, which is generated if it does not exist.
    DefaultKey,
    /// The key with this name.
    NamedKey(String),
}

/// Returns the key to sign with.
pub(super) fn signing_key(
    session: &Session<'_>,
    home: &LockedHome<'_>,
    signing: &PackageSigning,
) -> Result<Option<PrivateKey>> {
    match signing {
        PackageSigning::Unsigned => Ok(None),
        PackageSigning::DefaultKey => default_key(session, home).map(Some),
        PackageSigning::NamedKey(name) => load_key(session.context, name).map(Some),
    }
}

fn default_key(session: &Session<'_>, home: &LockedHome<'_>) -> Result<PrivateKey> {
    let path = key_path(session.context, DEFAULT_KEY);
    if path.exists() {
        return load_key(session.context, DEFAULT_KEY);
    }
    let key = create_key(session, home, DEFAULT_KEY)?;
    let path = session.context.display_path(&path);
    session
        .context
        .emit(Event::Hint(format!("created the signing key {} in `{path}`", key.public())));
    Ok(key)
}

/// Returns the private key for a public key, if it is on this machine.
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

pub(super) fn generate_key(context: &Context<'_>) -> Result<PrivateKey> {
    let mut seed = zeroizing([0; 32]);
    (context.random)(&mut *seed).map_err(|e| {
        Error::new(ErrorCode::Randomness, "cannot read random bytes from the system").because(e)
    })?;
    Ok(PrivateKey::from_seed(&seed))
}

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
        return Err(Error::new(ErrorCode::AlreadyExists, format!("key `{name}` already exists"))
            .hint("choose another name, or replace the key with `sp key rotate`"));
    }
    change_files(
        session,
        home,
        vec![key_plan(session.context, name, PriorState::Absent, Some(key))?],
    )
}

/// Changes files in one transaction.
pub(super) fn change_files(
    session: &Session<'_>,
    home: &LockedHome<'_>,
    plans: Vec<FilePlan>,
) -> Result<()> {
    ChangeExecutor { session, home: Some(home), options: ApplyMode::Apply.into() }
        .execute_files(plans)
        .map(drop)
}

/// Plans the write of a key file, or its removal.
pub(super) fn key_plan(
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

/// Plans a new file that the user asked for. An existing file is an error.
pub(super) fn new_file_plan(context: &Context<'_>, path: &Path, bytes: &[u8]) -> Result<FilePlan> {
    let (dir, name) = parent_and_name(path)?;
    if path.symlink_metadata().is_ok() {
        return Err(Error::new(
            ErrorCode::AlreadyExists,
            format!("`{}` already exists", context.display_path(path)),
        )
        .hint("choose another file, or remove this one"));
    }
    let dir = dir.canonicalize().map_err(|e| FileError::new("find", dir, e))?;
    Ok(FilePlan::new(dir, name, PriorState::Absent, Some(bytes.into())))
}

fn encode_pem(key: &PrivateKey) -> Result<sp_tree::Zeroizing<String>> {
    key.to_pem().map_err(|e| Error::new(ErrorCode::Internal, "cannot serialize the key").because(e))
}

/// Removes temporary files with private keys that earlier versions left behind when killed.
pub(super) fn remove_unfinished_keys(
    context: &Context<'_>,
    _locked: &LockedHome<'_>,
) -> Result<()> {
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

pub(super) fn load_key(context: &Context<'_>, name: &str) -> Result<PrivateKey> {
    check_key_name(name)?;
    let path = key_path(context, name);
    if path.exists() {
        check_private_file(context, &path)?;
    }
    let pem =
        read_limited(&path, MAX_KEY_BYTES).map(zeroizing).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Error::new(ErrorCode::KeyNotFound, format!("key `{name}` not found"))
                    .hint("run `sp key list` to list your keys, or `sp key new` to create one")
            }
            _ => error.into(),
        })?;
    let key = std::str::from_utf8(&pem).ok().and_then(|pem| PrivateKey::from_pem(pem).ok());
    key.ok_or_else(|| {
        Error::new(ErrorCode::InvalidKeyFile, format!("the key `{name}` is invalid")).hint(format!(
            "check `{}`, or create a new key if it is lost",
            context.display_path(&path)
        ))
    })
}

pub(super) fn key_path(context: &Context<'_>, name: &str) -> PathBuf {
    context.home.join(KEYS_DIR).join(format!("{name}.pem"))
}

pub(super) fn check_key_name(name: &str) -> Result<()> {
    let plain =
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
    match Name::new(&format!("{name}.pem")) {
        Ok(_) if plain && !name.is_empty() && !name.starts_with('.') => Ok(()),
        _ => Err(Error::new(ErrorCode::InvalidName, format!("invalid key name `{name}`"))
            .hint("use only letters, digits, `.`, `_` and `-`")),
    }
}

/// Returns the private keys, sorted by name.
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

pub(super) fn key_item(context: &Context<'_>, name: &str, key: &PrivateKey) -> KeyItem {
    KeyItem {
        name: name.into(),
        public_key: key.public().hex(),
        file: key_path(context, name),
        retired: name.contains(RETIRED_SUFFIX),
    }
}

pub(super) fn single_key_list(key: KeyItem) -> KeyList {
    KeyList { keys: vec![key], trusted: Vec::new() }
}
