//! `sp login`, `logout`, `publish`, `yank`, `search` and `info`: what this machine tells a registry, and asks it.

mod client;
mod credentials;
mod info;
mod known_registries;
mod partial_download;

use sp_formats::output::{
    RegistryLoginReport, RegistryPublishReport, RegistrySearchReport, RegistryYankReport,
};
use sp_formats::package::{PackageName, PackageVersion};
use sp_formats::registry::{
    PackageIndex, RegistryPackageName, RegistrySearchResponse, TrustReport,
};
use sp_tree::Digest;

pub(crate) use self::client::{RegistryClient, RegistryRequest};
use self::credentials::{RegistryCredentials, select_registry};
pub use self::info::info;
pub(super) use self::known_registries::{
    AvailablePackage, KnownRegistries, SEEN_VERSIONS_FILE, is_registry_url,
};
pub(super) use self::partial_download::KeepPartial;
pub(crate) use self::partial_download::downloads_dir;
use super::package_spec::PackageSpec;
use super::package_store::{PackageStore, read_store_index};
use super::secret::{SecretSource, read_secret};
use super::send::normalize_server_url;
use crate::context::Context;
use crate::error::{Error, FailureKind, Result};
use crate::home::LockedHome;
use crate::session::Session;

/// Whose registry it is, and the token for it.
#[derive(Debug, Clone)]
pub struct LoginRequest {
    /// The address.
    pub registry: String,
    /// Where the token comes from.
    pub token: SecretSource,
    /// What becomes of what it was known to have.
    pub history: RegistryHistoryPolicy,
}

/// What becomes of what a registry was known to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RegistryHistoryPolicy {
    /// It must still have it.
    #[default]
    Enforce,
    /// It was set up anew.
    Reset,
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
pub enum YankAction {
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
    pub action: YankAction,
    /// The address; none means the one that was logged in to last.
    pub registry: Option<String>,
}

/// Whoever speaks to a registry: the one that is named, or the one that was logged in to last.
pub(crate) fn connect<'a>(
    session: &Session<'a>,
    registry: Option<&str>,
) -> Result<RegistryClient<'a>> {
    let credentials = RegistryCredentials::read(session.context)?;
    let address = select_registry(session, registry, &credentials)?;
    RegistryClient::new(session.context, &address, credentials.token(&address, true).as_deref())
}

/// Remembers a token, if the registry knows it.
pub fn login(context: &Context<'_>, request: &LoginRequest) -> Result<RegistryLoginReport> {
    let session = Session::begin(context)?;
    let address = normalize_server_url(&request.registry)?;
    let secret = read_secret(context, &request.token)?;
    let token = std::str::from_utf8(&secret)
        .ok()
        .map(str::trim)
        .filter(|token| has_token_format(token))
        .ok_or_else(|| {
            Error::new(FailureKind::Usage, "the token is none")
                .hint("a token begins with `ctxp_` or `ctxr_`; `sp serve` shows one")
        })?;
    let answer = RegistryClient::new(context, &address, Some(token))?
        .execute(&RegistryRequest::get("whoami"))?;
    let who: serde_json::Value = answer.json()?;
    let text = |key: &str| who[key].as_str().unwrap_or_default().to_owned();
    let mut credentials = RegistryCredentials::read(context)?;
    credentials.insert(&address, token);
    credentials.save(context)?;
    if request.history == RegistryHistoryPolicy::Reset {
        forget_registry_history(&session, &address)?;
    }
    Ok(RegistryLoginReport {
        registry: address,
        user: Some(text("user")),
        scope: Some(text("scope")),
    })
}

/// Forgets what a registry had: it was set up anew.
fn forget_registry_history(session: &Session<'_>, address: &str) -> Result<()> {
    let home = LockedHome::open(session.context, &session.limits)?;
    let mut stock = PackageStore::open(session)?;
    stock.seen_versions.registries.remove(address);
    stock.save(&home)
}

fn has_token_format(text: &str) -> bool {
    let is_known = text.starts_with("ctxp_") || text.starts_with("ctxr_");
    is_known
        && text.len() <= 128
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Forgets the token for a registry, or for the one that was logged in to last.
pub fn logout(context: &Context<'_>, registry: Option<&str>) -> Result<RegistryLoginReport> {
    let session = Session::begin(context)?;
    let mut credentials = RegistryCredentials::read(context)?;
    let address = select_registry(&session, registry, &credentials)?;
    if !credentials.remove(&address) {
        return Err(Error::new(FailureKind::Request, format!("there is no token for `{address}`")));
    }
    credentials.save(context)?;
    Ok(RegistryLoginReport { registry: address, user: None, scope: None })
}

/// Publishes a package that is verified here first.
pub fn publish(context: &Context<'_>, request: &PublishRequest) -> Result<RegistryPublishReport> {
    let session = Session::begin(context)?;
    let client = connect(&session, request.registry.as_deref())?;
    let address = client.address().to_owned();
    let (package, _) = PackageSpec::parse(&session, &request.package)?
        .load(&session, &read_store_index(context)?)?;
    let place = registry_name(&package.manifest.name)?;
    let version = &package.manifest.version;
    let path = format!("packages/{}/{}/{}", place.namespace(), place.name(), version.as_str());
    let bytes = package.text().as_bytes();
    let hash = Digest::of(bytes).hex();
    let answer = client.execute(&RegistryRequest::put(&path, bytes));
    let report = match answer {
        Ok(answer) => Some(answer.json::<TrustReport>()?),
        // An answer may have been lost: what is there may be this very package.
        Err(error) if has_version(&client, &place, version, &hash) => {
            context.emit(crate::context::Event::Detail(format!("it was there already: {error}")));
            None
        }
        Err(error) => return Err(error),
    };
    if report.as_ref().is_some_and(|report| report.sha256 != hash) {
        return Err(Error::new(
            FailureKind::Trust,
            format!("`{address}` says that it took other bytes"),
        )
        .because(format!("they are {hash} here"))
        .hint("do not trust this registry"));
    }
    Ok(RegistryPublishReport {
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
fn has_version(
    client: &RegistryClient<'_>,
    place: &RegistryPackageName,
    version: &PackageVersion,
    hash: &str,
) -> bool {
    let path = format!("packages/{}/{}/index.json", place.namespace(), place.name());
    let index = client
        .execute(&RegistryRequest::get(&path))
        .and_then(|answer| answer.json::<PackageIndex>());
    index.is_ok_and(|index| {
        index.versions.iter().any(|item| item.version == version.as_str() && item.sha256 == hash)
    })
}

/// Looks for packages.
pub fn search(
    context: &Context<'_>,
    words: &str,
    registry: Option<&str>,
) -> Result<RegistrySearchReport> {
    let session = Session::begin(context)?;
    let client = connect(&session, registry)?;
    let address = client.address().to_owned();
    let escaped: String = words.bytes().map(percent_encode_byte).collect();
    let answer: RegistrySearchResponse =
        client.execute(&RegistryRequest::get(&format!("search?q={escaped}")))?.json()?;
    Ok(RegistrySearchReport { registry: address, query: words.into(), packages: answer.packages })
}

/// A byte as it stands in a query.
fn percent_encode_byte(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }
}

/// Takes a version out of what is newest, or back.
pub fn yank(context: &Context<'_>, request: &YankRequest) -> Result<RegistryYankReport> {
    let session = Session::begin(context)?;
    let client = connect(&session, request.registry.as_deref())?;
    let wrong = || {
        Error::new(FailureKind::Usage, format!("`{}` names no version", request.package))
            .hint("write it as `@team/notes@1.2.0`")
    };
    let (name, version) =
        request.package.rsplit_once('@').filter(|(name, _)| !name.is_empty()).ok_or_else(wrong)?;
    let name = PackageName::new(name).map_err(|why| wrong().because(why))?;
    let version = PackageVersion::new(version).map_err(|why| wrong().because(why))?;
    let place = registry_name(&name)?;
    let path = format!("packages/{}/{}/{}", place.namespace(), place.name(), version.as_str());
    match request.action {
        YankAction::Yank => client.execute(&RegistryRequest::delete(&path))?,
        YankAction::Undo => client.execute(&RegistryRequest::post(&format!("{path}/unyank")))?,
    };
    let yanked = request.action == YankAction::Yank;
    let registry = client.address().to_owned();
    Ok(RegistryYankReport {
        registry,
        name: place.to_string(),
        version: version.as_str().into(),
        yanked,
    })
}

fn registry_name(name: &PackageName) -> Result<RegistryPackageName> {
    RegistryPackageName::from_package_name(name).map_err(|why| {
        Error::new(FailureKind::Request, format!("`{name}` cannot be in a registry"))
            .because(why)
            .hint("make it with `--scope <namespace>`")
    })
}
