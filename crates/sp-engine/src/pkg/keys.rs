//! `sp key`: our own keys, and whom we trust.

use std::path::{Path, PathBuf};

use sp_formats::json::{Json, Value, quoted};
use sp_formats::output::{KeyItem, KeyList, PinItem};
use sp_formats::package::store::Trust;
use sp_formats::package::{Coverage, PackageName, Signer};
use sp_tree::transaction::Before;
use sp_tree::{Dir, FileError, Name, PrivateKey, PublicKey, Signature, read_limited};

use super::secret::refuse_open;
use super::shelf::Stock;
use super::trust::{pin, read_trust};
use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};
use crate::files::{place_of, read_before};
use crate::home::Home;
use crate::install::{Change, Mode};
use crate::plan::FilePlan;

const KEYS: &str = "keys";
/// The key that is used where none is named.
pub(super) const DEFAULT: &str = "default";
const RETIRED: &str = ".retired";
/// Earlier versions gave the new key this name until a rotation was complete.
const NEXT: &str = ".next";
/// Earlier versions wrote keys to files of such names first, and left them behind when they were killed.
const UNFINISHED: &str = ".sp-new";
/// A private key in PEM has some hundred bytes.
const MAX_KEY: u64 = 16 * 1024;
const ROTATION: &str = "skillpack-key-rotation-v1";

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
    let home = Home::open(context, &session.limits)?;
    remove_unfinished(context, &home)?;
    let key = make(&session, &home, name)?;
    Ok(only(item(context, name, &key)))
}

/// Our keys, and whom we trust.
pub fn list_keys(context: &Context<'_>) -> Result<KeyList> {
    Session::begin(context)?;
    let pin = |(namespace, pin): (&String, &sp_formats::package::store::Pin)| PinItem {
        namespace: namespace.clone(),
        public_key: pin.key.hex(),
        since: pin.since.clone(),
        because: pin.because.clone(),
    };
    Ok(KeyList { keys: own(context)?, trusted: read_trust(context)?.pins.iter().map(pin).collect() })
}

/// The public half of a key; or its private half goes into a file.
pub fn export_key(context: &Context<'_>, name: &str, part: &KeyPart) -> Result<KeyList> {
    let session = Session::begin(context)?;
    let key = load(context, name)?;
    let mut list = only(item(context, name, &key));
    if let KeyPart::Private(path) = part {
        let path = context.absolute(path);
        let home = Home::open(context, &session.limits)?;
        let plan = new_file_plan(context, &path, pem(&key)?.as_bytes())?.private();
        change_files(&session, &home, vec![plan])?;
        list.keys[0].file = path;
    }
    Ok(list)
}

/// Takes a private key that was made elsewhere.
pub fn import_key(context: &Context<'_>, file: &Path, name: &str) -> Result<KeyList> {
    let session = Session::begin(context)?;
    let home = Home::open(context, &session.limits)?;
    remove_unfinished(context, &home)?;
    let path = context.absolute(file);
    let pem = zeroizing(read_limited(&path, MAX_KEY)?);
    let key = std::str::from_utf8(&pem).ok().and_then(|pem| PrivateKey::from_pem(pem).ok()).ok_or_else(|| {
        Error::new(Kind::Data, format!("`{}` is no Ed25519 private key in PEM", context.show(&path)))
            .hint("`openssl genpkey -algorithm ed25519` makes one, and so does `sp key new`")
    })?;
    store(&session, &home, name, &key)?;
    Ok(only(item(context, name, &key)))
}

/// Trusts a key for a namespace, whatever was trusted before.
pub fn trust_key(context: &Context<'_>, namespace: &str, key: &str) -> Result<KeyList> {
    let session = Session::begin(context)?;
    check_namespace(namespace)?;
    let key = PublicKey::from_hex(key).map_err(|why| {
        Error::new(Kind::Usage, "this is no public key").because(why).hint("`sp key export` prints one")
    })?;
    let home = Home::open(context, &session.limits)?;
    let mut stock = Stock::open(&session)?;
    let signer = Signer { key, coverage: Coverage::Content };
    stock.trust.pins.insert(namespace.into(), pin(context, &signer, "you said so"));
    stock.save(&home)?;
    drop(home);
    list_keys(context)
}

fn check_namespace(namespace: &str) -> Result<()> {
    let as_name = if namespace.starts_with('@') { format!("{namespace}/x") } else { namespace.to_owned() };
    PackageName::new(&as_name).map(drop).map_err(|why| {
        Error::new(Kind::Usage, format!("`{namespace}` is no namespace"))
            .because(why)
            .hint("name a scope such as `@acme`, or a package that has none")
    })
}

/// Makes a new key in the place of an old one, and a statement by which others can follow.
///
/// The new key, the retired old one, the statement and the record of whom we trust change in one transaction.
pub fn rotate_key(context: &Context<'_>, name: &str, statement: Option<&Path>) -> Result<KeyList> {
    let session = Session::begin(context)?;
    let home = Home::open(context, &session.limits)?;
    remove_unfinished(context, &home)?;
    check_name(name)?;
    let (_, before) = read_before(&path_of(context, name), MAX_KEY)?;
    let old = load(context, name)?;
    let next = format!("{name}{NEXT}");
    let (unused, next_before) = read_before(&path_of(context, &next), MAX_KEY)?;
    // A rotation that an earlier version did not complete: others may have its statement already.
    let new = if unused.is_some() { load(context, &next)? } else { generate(context)? };
    let mut plans = vec![key_plan(context, name, before, Some(&new))?];
    if unused.is_some() {
        plans.push(key_plan(context, &next, next_before, None)?);
    }
    let retired = format!("{name}{RETIRED}-{}", &old.public().short()[..8]);
    if !path_of(context, &retired).exists() {
        plans.push(key_plan(context, &retired, Before::Nothing, Some(&old))?);
    }
    if let Some(path) = statement {
        plans.extend(statement_plan(&session, &context.absolute(path), &old, &new)?);
    }
    let mut stock = Stock::open(&session)?;
    follow(context, &mut stock.trust, &old.public(), &new.public());
    plans.extend(stock.plans()?);
    change_files(&session, &home, plans)?;
    stock.tell();
    if statement.is_none() {
        context.tell(Event::Hint(format!(
            "whoever trusts the old key must hear of the new one: `sp key trust <namespace> {}`",
            new.public()
        )));
    }
    Ok(only(item(context, name, &new)))
}

/// The file with the statement, unless it is there already.
fn statement_plan(session: &Session<'_>, path: &Path, old: &PrivateKey, new: &PrivateKey) -> Result<Option<FilePlan>> {
    let there = read_limited(path, MAX_KEY).ok().and_then(|bytes| read_statement(&bytes, session));
    if there == Some((old.public(), new.public())) {
        return Ok(None);
    }
    new_file_plan(session.context, path, state(session.context, old, new).as_bytes()).map(Some)
}

/// Follows a statement by which an old key names its successor.
pub fn trust_rotation(context: &Context<'_>, file: &Path) -> Result<KeyList> {
    let session = Session::begin(context)?;
    let path = context.absolute(file);
    let bytes = read_limited(&path, MAX_KEY)?;
    let refuse = || {
        Error::new(
            Kind::Trust,
            format!("`{}` is no statement that an old key and a new one both signed", context.show(&path)),
        )
        .hint("nothing was changed: get it again from whoever made it")
    };
    let (old, new) = read_statement(&bytes, &session).ok_or_else(refuse)?;
    let home = Home::open(context, &session.limits)?;
    let mut stock = Stock::open(&session)?;
    if follow(context, &mut stock.trust, &old, &new) == 0 {
        return Err(Error::new(Kind::Request, format!("no namespace has the key {old}"))
            .hint("`sp key list` shows whom you trust"));
    }
    stock.save(&home)?;
    drop(home);
    list_keys(context)
}

fn follow(context: &Context<'_>, trust: &mut Trust, old: &PublicKey, new: &PublicKey) -> usize {
    let mut changed = 0;
    for pinned in trust.pins.values_mut().filter(|pin| pin.key == *old) {
        let coverage = if pinned.whole { Coverage::Whole } else { Coverage::Content };
        *pinned = pin(context, &Signer { key: *new, coverage }, "rotation");
        changed += 1;
    }
    changed
}

fn state(context: &Context<'_>, old: &PrivateKey, new: &PrivateKey) -> String {
    let at = context.timestamp();
    let message = format!("{ROTATION}:{}:{}:{at}", old.public(), new.public());
    format!(
        "{{\n  \"statement\": \"{ROTATION}\",\n  \"old\": \"{}\",\n  \"new\": \"{}\",\n  \"at\": {},\n  \"by_old\": \"{}\",\n  \"by_new\": \"{}\"\n}}\n",
        old.public(),
        new.public(),
        quoted(&at),
        old.sign(message.as_bytes()).hex(),
        new.sign(message.as_bytes()).hex()
    )
}

fn read_statement(bytes: &[u8], session: &Session<'_>) -> Option<(PublicKey, PublicKey)> {
    let json = Json::parse(std::str::from_utf8(bytes).ok()?, &session.limits).ok()?;
    let text = |key: &str| json.root().get(key).and_then(Value::text);
    if text("statement")? != ROTATION {
        return None;
    }
    let (old, new) = (PublicKey::from_hex(&text("old")?).ok()?, PublicKey::from_hex(&text("new")?).ok()?);
    let message = format!("{ROTATION}:{old}:{new}:{}", text("at")?);
    for (key, member) in [(&old, "by_old"), (&new, "by_new")] {
        let signature = Signature::from_hex(&text(member)?).ok()?;
        key.verify(message.as_bytes(), &signature).ok()?;
    }
    Some((old, new))
}

/// The key to sign with. The default key is made if it is missing, and where it is, is told.
pub(super) fn signing_key(session: &Session<'_>, home: &Home<'_>, name: Option<&str>) -> Result<PrivateKey> {
    let wanted = name.unwrap_or(DEFAULT);
    let missing = !path_of(session.context, wanted).exists();
    if missing && name.is_none() {
        let key = make(session, home, DEFAULT)?;
        let path = session.context.show(&path_of(session.context, DEFAULT));
        session.context.tell(Event::Hint(format!("a key was made: {} in `{path}`", key.public())));
        return Ok(key);
    }
    load(session.context, wanted)
}

/// The key of ours with this public half, if we have it.
pub(super) fn key_of(context: &Context<'_>, public: &PublicKey) -> Result<Option<PrivateKey>> {
    let found = own(context)?.into_iter().find(|key| key.public_key == public.hex());
    found.map(|key| load(context, &key.name)).transpose()
}

fn make(session: &Session<'_>, home: &Home<'_>, name: &str) -> Result<PrivateKey> {
    let key = generate(session.context)?;
    store(session, home, name, &key)?;
    Ok(key)
}

fn generate(context: &Context<'_>) -> Result<PrivateKey> {
    let mut seed = zeroizing([0; 32]);
    (context.random)(&mut *seed)
        .map_err(|e| Error::new(Kind::Environment, "the system gives no random bytes").because(e))?;
    Ok(PrivateKey::from_seed(&seed))
}

/// Bytes that are wiped when they are dropped.
fn zeroizing<T: sp_tree::Zeroize>(value: T) -> sp_tree::Zeroizing<T> {
    sp_tree::Zeroizing::new(value)
}

fn store(session: &Session<'_>, home: &Home<'_>, name: &str, key: &PrivateKey) -> Result<()> {
    check_name(name)?;
    if path_of(session.context, name).symlink_metadata().is_ok() {
        return Err(Error::new(Kind::Request, format!("there is a key called `{name}` already"))
            .hint("give the new one another name, or use `sp key rotate`"));
    }
    change_files(session, home, vec![key_plan(session.context, name, Before::Nothing, Some(key))?])
}

/// Changes files of keys, all of them or none.
fn change_files(session: &Session<'_>, home: &Home<'_>, plans: Vec<FilePlan>) -> Result<()> {
    Change { session, home: Some(home), terms: Mode::Apply.into() }.make_files(plans)
}

/// The change that gives a key's file this key, or removes it.
fn key_plan(context: &Context<'_>, name: &str, before: Before, key: Option<&PrivateKey>) -> Result<FilePlan> {
    let path = path_of(context, name);
    let home = context.home.canonicalize().map_err(|e| FileError::new("find", &context.home, e))?;
    let bytes = key.map(pem).transpose()?.map(|pem| pem.as_bytes().into());
    Ok(FilePlan::new(home.join(KEYS), place_of(&path)?.1, before, bytes).private())
}

/// The change that creates a file where the user wants it.
fn new_file_plan(context: &Context<'_>, path: &Path, bytes: &[u8]) -> Result<FilePlan> {
    let (dir, name) = place_of(path)?;
    if path.symlink_metadata().is_ok() {
        return Err(Error::new(Kind::Request, format!("`{}` is there already", context.show(path)))
            .hint("nothing was changed: choose another file, or remove this one"));
    }
    let dir = dir.canonicalize().map_err(|e| FileError::new("find", dir, e))?;
    Ok(FilePlan::new(dir, name, Before::Nothing, Some(bytes.into())))
}

fn pem(key: &PrivateKey) -> Result<sp_tree::Zeroizing<String>> {
    key.to_pem().map_err(|e| Error::new(Kind::Data, "the key cannot be written").because(e))
}

/// Removes private keys that earlier versions left behind when they were killed.
fn remove_unfinished(context: &Context<'_>, _locked: &Home<'_>) -> Result<()> {
    let dir = match Dir::open(&context.home.join(KEYS)) {
        Ok(dir) => dir,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e.into()),
    };
    let is_unfinished = |name: &str| name.starts_with('.') && name.ends_with(UNFINISHED);
    for entry in dir.entries()?.iter().filter(|entry| entry.name().to_str().is_some_and(is_unfinished)) {
        dir.remove_file(entry)?;
    }
    Ok(())
}

fn load(context: &Context<'_>, name: &str) -> Result<PrivateKey> {
    check_name(name)?;
    let path = path_of(context, name);
    if path.exists() {
        refuse_open(context, &path)?;
    }
    let pem = read_limited(&path, MAX_KEY).map(zeroizing).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::new(Kind::Request, format!("there is no key called `{name}`"))
            .hint("`sp key new` makes one, `sp key list` shows all"),
        _ => error.into(),
    })?;
    let key = std::str::from_utf8(&pem).ok().and_then(|pem| PrivateKey::from_pem(pem).ok());
    key.ok_or_else(|| {
        Error::new(Kind::Data, format!("the key `{name}` cannot be read"))
            .hint(format!("look at `{}`, and make a new one if it is lost", context.show(&path)))
    })
}

fn path_of(context: &Context<'_>, name: &str) -> PathBuf {
    context.home.join(KEYS).join(format!("{name}.pem"))
}

fn check_name(name: &str) -> Result<()> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
    match Name::new(&format!("{name}.pem")) {
        Ok(_) if plain && !name.is_empty() && !name.starts_with('.') => Ok(()),
        _ => Err(Error::new(Kind::Usage, format!("`{name}` is no name for a key"))
            .hint("use letters, digits, `.`, `_` and `-`")),
    }
}

/// Our own keys, sorted by name.
fn own(context: &Context<'_>) -> Result<Vec<KeyItem>> {
    let dir = match Dir::open(&context.home.join(KEYS)) {
        Ok(dir) => dir,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(e.into()),
    };
    let entries = dir.entries()?;
    let names = entries.iter().filter_map(|entry| entry.name().to_str()?.strip_suffix(".pem"));
    let mut names: Vec<&str> = names.filter(|name| check_name(name).is_ok()).collect();
    names.sort_unstable();
    names.into_iter().map(|name| Ok(item(context, name, &load(context, name)?))).collect()
}

fn item(context: &Context<'_>, name: &str, key: &PrivateKey) -> KeyItem {
    KeyItem {
        name: name.into(),
        public_key: key.public().hex(),
        file: path_of(context, name),
        retired: name.contains(RETIRED),
    }
}

fn only(key: KeyItem) -> KeyList {
    KeyList { keys: vec![key], trusted: Vec::new() }
}
