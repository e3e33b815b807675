//! Private keys in `~/.skillpack/keys`, one PEM file each, and the commands that manage them.
//!
//! Files are readable by their owner only, and a key file that others can read is refused. The
//! bytes of private keys are zeroed when dropped. Which public keys are trusted is the business of
//! `trust` and `trust_key`.

use std::path::{Path, PathBuf};

use sp_formats::output::{KeyItem, KeyList, KeyPinItem, PlanStatus};
use sp_formats::package::store::{KeyPin, TrustStore};
use sp_tree::transaction::PriorState;
use sp_tree::{Dir, FileError, Name, PrivateKey, PublicKey, read_limited};

use super::package_store::read_trust_pins;
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::files::{InputKind, canonicalize_existing, parent_and_name, require_input};
use crate::home::LockedHome;
use crate::install::change::ChangeExecutor;
use crate::install::plan::FilePlan;
use crate::plan_id::{ApplyOptions, PlanHasher};
use crate::secret::check_private_file;
use crate::session::Session;

pub(crate) const KEYS_DIR: &str = "keys";
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

/// Generates a key. The plan ID covers only its name and place, because the key is random.
pub fn new_key(context: &Context<'_>, name: &str, apply: ApplyOptions) -> Result<KeyList> {
    let session = Session::begin(context)?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, apply.mode)?;
    check_new_key(context, name)?;
    let mut hasher = PlanHasher::of_operation("key new");
    hasher.path(&canonicalize_existing(&key_path(context, name)));
    let status = apply.confirm(hasher.finish())?;
    let item = match &home {
        Some(home) => {
            remove_unfinished_keys(context, home)?;
            key_item(context, name, &create_key(&session, home, name)?)
        }
        None => planned_key_item(context, name),
    };
    Ok(key_change(status, item))
}

/// Lists the private keys and the trusted public keys.
pub fn list_keys(context: &Context<'_>) -> Result<KeyList> {
    Session::begin(context)?;
    key_list(context, &read_trust_pins(context)?, None)
}

/// Returns the private keys, and these trusted public keys.
pub(super) fn key_list(
    context: &Context<'_>,
    trust: &TrustStore,
    status: Option<PlanStatus>,
) -> Result<KeyList> {
    let pin_item = |(namespace, pin): (&String, &KeyPin)| KeyPinItem {
        namespace: namespace.clone(),
        public_key: pin.key.hex(),
        since: pin.since.clone(),
        because: pin.because.clone(),
    };
    Ok(KeyList {
        status,
        keys: own_keys(context)?,
        trusted: trust.pins.iter().map(pin_item).collect(),
    })
}

/// Returns a public key, and writes the private key to a file if that was asked for.
pub fn export_key(
    context: &Context<'_>,
    name: &str,
    part: &KeyPart,
    apply: ApplyOptions,
) -> Result<KeyList> {
    let session = Session::begin(context)?;
    let key = load_key(context, name)?;
    let keys = vec![key_item(context, name, &key)];
    let mut list = KeyList { status: None, keys, trusted: Vec::new() };
    if let KeyPart::Private(path) = part {
        let path = context.absolute(path);
        let home = LockedHome::open_unless_dry_run(context, &session.limits, apply.mode)?;
        let plan = new_file_plan(context, &path, encode_pem(&key)?.as_bytes())?.private();
        let executor = ChangeExecutor { session: &session, home: home.as_ref(), options: apply };
        list.status = Some(executor.execute_files(vec![plan])?);
        list.keys[0].file = path;
    }
    Ok(list)
}

/// Imports a private key from a PEM file.
pub fn import_key(
    context: &Context<'_>,
    file: &Path,
    name: &str,
    apply: ApplyOptions,
) -> Result<KeyList> {
    let session = Session::begin(context)?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, apply.mode)?;
    if let Some(home) = &home {
        remove_unfinished_keys(context, home)?;
    }
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
    check_new_key(context, name)?;
    let plan = key_plan(context, name, PriorState::Absent, Some(&key))?;
    let executor = ChangeExecutor { session: &session, home: home.as_ref(), options: apply };
    let status = executor.execute_files(vec![plan])?;
    Ok(key_change(status, key_item(context, name, &key)))
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

/// The key to sign with. A missing default key is generated, but not stored before the package is
/// known to be valid.
pub(super) enum SigningKey {
    None,
    Stored(PrivateKey),
    New(PrivateKey),
}

impl SigningKey {
    /// Finds or generates the key. Changes nothing.
    pub(super) fn find(context: &Context<'_>, signing: &PackageSigning) -> Result<Self> {
        Ok(match signing {
            PackageSigning::Unsigned => Self::None,
            PackageSigning::NamedKey(name) => Self::Stored(load_key(context, name)?),
            PackageSigning::DefaultKey if key_path(context, DEFAULT_KEY).exists() => {
                Self::Stored(load_key(context, DEFAULT_KEY)?)
            }
            PackageSigning::DefaultKey => Self::New(generate_key(context)?),
        })
    }

    pub(super) fn key(&self) -> Option<&PrivateKey> {
        match self {
            Self::None => None,
            Self::Stored(key) | Self::New(key) => Some(key),
        }
    }

    /// Returns what a plan ID covers of the key. A new one is random.
    pub(super) fn plan_text(&self) -> String {
        match self {
            Self::None => "unsigned".into(),
            Self::Stored(key) => key.public().hex(),
            Self::New(_) => "new key".into(),
        }
    }

    /// Stores a key that was generated.
    pub(super) fn store_if_new(&self, session: &Session<'_>, home: &LockedHome<'_>) -> Result<()> {
        let Self::New(key) = self else { return Ok(()) };
        store_key(session, home, DEFAULT_KEY, key)?;
        let context = session.context;
        let path = context.display_path(&key_path(context, DEFAULT_KEY));
        let public = key.public();
        context.emit(Event::Hint(format!("created the signing key {public} in `{path}`")));
        Ok(())
    }
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
    check_new_key(session.context, name)?;
    let plan = key_plan(session.context, name, PriorState::Absent, Some(key))?;
    ChangeExecutor { session, home: Some(home), options: ApplyOptions::APPLY }
        .execute_files(vec![plan])
        .map(drop)
}

/// Fails if the name of a new key is invalid or in use.
fn check_new_key(context: &Context<'_>, name: &str) -> Result<()> {
    check_key_name(name)?;
    if key_path(context, name).symlink_metadata().is_err() {
        return Ok(());
    }
    Err(Error::new(ErrorCode::AlreadyExists, format!("key `{name}` already exists"))
        .hint("choose another name, or replace the key with `sp key rotate`"))
}

/// Plans the write of a key file, or its removal.
pub(super) fn key_plan(
    context: &Context<'_>,
    name: &str,
    before: PriorState,
    key: Option<&PrivateKey>,
) -> Result<FilePlan> {
    let path = key_path(context, name);
    let home = canonicalize_existing(&context.home);
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

/// Returns the item of a key that a dry run does not generate.
pub(super) fn planned_key_item(context: &Context<'_>, name: &str) -> KeyItem {
    let (file, public_key) = (key_path(context, name), String::new());
    KeyItem { name: name.into(), public_key, file, retired: false }
}

/// Returns the report of a change of one key.
pub(super) fn key_change(status: PlanStatus, key: KeyItem) -> KeyList {
    KeyList { status: Some(status), keys: vec![key], trusted: Vec::new() }
}
