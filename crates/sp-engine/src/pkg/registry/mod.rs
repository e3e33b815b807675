//! `sp login`, `logout`, `publish`, `yank`, `search` and `info`: what this machine tells a registry, and asks it.

mod catalog;
mod client;
mod credentials;
mod info;
mod partial;

use sp_formats::output::{RegistryLogin, RegistryPublished, RegistrySearch, RegistryYanked};
use sp_formats::package::{PackageName, PackageVersion};
use sp_formats::registry::{PackageIndex, Place, SearchAnswer, TrustReport};
use sp_tree::Digest;

pub(super) use self::catalog::{Catalog, Offer, SEEN, is_registry};
pub(crate) use self::client::{Asked, Client};
use self::credentials::{Credentials, registry_of};
pub use self::info::info;
pub(super) use self::partial::Keep;
pub(crate) use self::partial::downloads_in;
use super::secret::{SecretFrom, read_secret};
use super::send::base;
use super::shelf::{Stock, read_shelf};
use super::subject::Subject;
use crate::config::Session;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::home::Home;

/// Whose registry it is, and the token for it.
#[derive(Debug, Clone)]
pub struct LoginRequest {
    /// The address.
    pub registry: String,
    /// Where the token comes from.
    pub token: SecretFrom,
    /// What becomes of what it was known to have.
    pub past: KnownPast,
}

/// What becomes of what a registry was known to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KnownPast {
    /// It must still have it.
    #[default]
    Counts,
    /// It was set up anew.
    Forgotten,
}

/// What is to be published.
#[derive(Debug, Clone)]
pub struct PublishRequest {
    /// A file, or a package of the store.
    pub package: String,
    /// The address; none means the one that was logged in to last.
    pub registry: Option<String>,
}

/// Which way it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Yanking {
    /// Out of what is newest.
    Yank,
    /// Back again.
    Undo,
}

/// What is to be yanked.
#[derive(Debug, Clone)]
pub struct YankRequest {
    /// The package with its version: `@team/notes@1.2.0`.
    pub package: String,
    /// Which way it goes.
    pub way: Yanking,
    /// The address; none means the one that was logged in to last.
    pub registry: Option<String>,
}

/// Whoever speaks to a registry: the one that is named, or the one that was logged in to last.
pub(crate) fn connect<'a>(session: &Session<'a>, registry: Option<&str>) -> Result<Client<'a>> {
    let credentials = Credentials::read(session.context)?;
    let address = registry_of(session, registry, &credentials)?;
    Client::new(session.context, &address, credentials.token(&address, true).as_deref())
}

/// Remembers a token, if the registry knows it.
pub fn login(context: &Context<'_>, request: &LoginRequest) -> Result<RegistryLogin> {
    let session = Session::begin(context)?;
    let address = base(&request.registry)?;
    let secret = read_secret(context, &request.token)?;
    let token = std::str::from_utf8(&secret).ok().map(str::trim).filter(|token| is_token(token)).ok_or_else(|| {
        Error::new(Kind::Usage, "the token is none")
            .hint("a token begins with `ctxp_` or `ctxr_`; `sp serve` shows one")
    })?;
    let answer = Client::new(context, &address, Some(token))?.ask(&Asked::get("whoami"))?;
    let who: serde_json::Value = answer.json()?;
    let text = |key: &str| who[key].as_str().unwrap_or_default().to_owned();
    let mut credentials = Credentials::read(context)?;
    credentials.remember(&address, token);
    credentials.store(context)?;
    if request.past == KnownPast::Forgotten {
        forget_past(&session, &address)?;
    }
    Ok(RegistryLogin { registry: address, user: Some(text("user")), scope: Some(text("scope")) })
}

/// Forgets what a registry had: it was set up anew.
fn forget_past(session: &Session<'_>, address: &str) -> Result<()> {
    let home = Home::open(session.context, &session.limits)?;
    let mut stock = Stock::open(session)?;
    stock.seen.registries.remove(address);
    stock.save(&home)
}

fn is_token(text: &str) -> bool {
    let is_known = text.starts_with("ctxp_") || text.starts_with("ctxr_");
    is_known && text.len() <= 128 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Forgets the token for a registry, or for the one that was logged in to last.
pub fn logout(context: &Context<'_>, registry: Option<&str>) -> Result<RegistryLogin> {
    let session = Session::begin(context)?;
    let mut credentials = Credentials::read(context)?;
    let address = registry_of(&session, registry, &credentials)?;
    if !credentials.forget(&address) {
        return Err(Error::new(Kind::Request, format!("there is no token for `{address}`")));
    }
    credentials.store(context)?;
    Ok(RegistryLogin { registry: address, user: None, scope: None })
}

/// Publishes a package that is verified here first.
pub fn publish(context: &Context<'_>, request: &PublishRequest) -> Result<RegistryPublished> {
    let session = Session::begin(context)?;
    let client = connect(&session, request.registry.as_deref())?;
    let address = client.address().to_owned();
    let (package, _) = Subject::parse(&session, &request.package)?.load(&session, &read_shelf(context)?)?;
    let place = place(&package.manifest.name)?;
    let version = &package.manifest.version;
    let path = format!("packages/{}/{}/{}", place.namespace(), place.name(), version.as_str());
    let bytes = package.text().as_bytes();
    let hash = Digest::of(bytes).hex();
    let answer = client.ask(&Asked::put(&path, bytes));
    let report = match answer {
        Ok(answer) => Some(answer.json::<TrustReport>()?),
        // An answer may have been lost: what is there may be this very package.
        Err(error) if has(&client, &place, version, &hash) => {
            context.tell(crate::context::Event::Detail(format!("it was there already: {error}")));
            None
        }
        Err(error) => return Err(error),
    };
    if report.as_ref().is_some_and(|report| report.sha256 != hash) {
        return Err(Error::new(Kind::Trust, format!("`{address}` says that it took other bytes"))
            .because(format!("they are {hash} here"))
            .hint("do not trust this registry"));
    }
    Ok(RegistryPublished {
        registry: address,
        name: place.to_string(),
        version: version.as_str().into(),
        sha256: hash,
        published: report.is_some(),
        signer: package.signer.map(|signer| signer.key.to_string()),
        warnings: report.map_or(0, |report| report.findings.len()),
    })
}

/// Whether a registry has a version with these bytes.
fn has(client: &Client<'_>, place: &Place, version: &PackageVersion, hash: &str) -> bool {
    let path = format!("packages/{}/{}/index.json", place.namespace(), place.name());
    let index = client.ask(&Asked::get(&path)).and_then(|answer| answer.json::<PackageIndex>());
    index.is_ok_and(|index| index.versions.iter().any(|item| item.version == version.as_str() && item.sha256 == hash))
}

/// Looks for packages.
pub fn search(context: &Context<'_>, words: &str, registry: Option<&str>) -> Result<RegistrySearch> {
    let session = Session::begin(context)?;
    let client = connect(&session, registry)?;
    let address = client.address().to_owned();
    let escaped: String = words.bytes().map(escaped).collect();
    let answer: SearchAnswer = client.ask(&Asked::get(&format!("search?q={escaped}")))?.json()?;
    Ok(RegistrySearch { registry: address, query: words.into(), packages: answer.packages })
}

/// A byte as it stands in a query.
fn escaped(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }
}

/// Takes a version out of what is newest, or back.
pub fn yank(context: &Context<'_>, request: &YankRequest) -> Result<RegistryYanked> {
    let session = Session::begin(context)?;
    let client = connect(&session, request.registry.as_deref())?;
    let wrong = || {
        Error::new(Kind::Usage, format!("`{}` names no version", request.package))
            .hint("write it as `@team/notes@1.2.0`")
    };
    let (name, version) = request.package.rsplit_once('@').filter(|(name, _)| !name.is_empty()).ok_or_else(wrong)?;
    let name = PackageName::new(name).map_err(|why| wrong().because(why))?;
    let version = PackageVersion::new(version).map_err(|why| wrong().because(why))?;
    let place = place(&name)?;
    let path = format!("packages/{}/{}/{}", place.namespace(), place.name(), version.as_str());
    match request.way {
        Yanking::Yank => client.ask(&Asked::delete(&path))?,
        Yanking::Undo => client.ask(&Asked::post(&format!("{path}/unyank")))?,
    };
    let yanked = request.way == Yanking::Yank;
    let registry = client.address().to_owned();
    Ok(RegistryYanked { registry, name: place.to_string(), version: version.as_str().into(), yanked })
}

fn place(name: &PackageName) -> Result<Place> {
    Place::of(name).map_err(|why| {
        Error::new(Kind::Request, format!("`{name}` cannot be in a registry"))
            .because(why)
            .hint("make it with `--scope <namespace>`")
    })
}
