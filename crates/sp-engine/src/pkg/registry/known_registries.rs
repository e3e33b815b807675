//! The packages that registries offer, verified.
//!
//! A registry is not trusted. Its index must be consistent, must be append-only compared with what
//! this machine saw before, and must agree with every package that is downloaded.
//!
//! A name is looked up in one registry: the one that the config binds its namespace to, or else the
//! first that knows the name. So publishing a name in another registry cannot take it over.

use rayon::prelude::*;
use sp_formats::package::store::SeenRegistryVersions;
use sp_formats::package::{
    Package, PackageDependency, PackageName, PackageVersion, RecordedSource, VersionRange,
};
use sp_formats::printable::printable;
use sp_formats::registry::{PackageIndex, PackageVersionItem, RegistryPackageName, latest_version};
use sp_formats::text::ByteSize;
use sp_tree::{Digest, HashedBytes, PublicKey};

use super::package_path::{index_path, version_path};
use crate::context::Network;
use crate::error::{Error, ErrorCode, Result};
use crate::pkg::load_package::require_package;
use crate::registry::{
    DownloadHeaders, ExpectedBytes, KeepPartial, PartialDownload, RegistryClient,
    RegistryCredentials, RegistryRequest, TokenSource,
};
use crate::server_url::normalize_server_url;
use crate::session::Session;

/// The maximum number of versions in an index.
const MAX_VERSIONS: usize = 100_000;

/// A registry from the config, a login or the command line.
struct KnownRegistry {
    address: String,
    /// Namespaces that are looked up here and nowhere else.
    namespaces: Vec<String>,
    token: Option<String>,
    /// Whether names that are bound to no registry are looked up here.
    is_default: bool,
}

/// The names that are looked up in a registry.
#[derive(Clone, Copy)]
enum RegistryNames<'a> {
    /// Those that are bound to no registry.
    Unbound,
    /// Those in these namespaces.
    Namespaces(&'a [String]),
    /// Those that are locked to it.
    Locked,
}

/// The registries that are asked, and the versions that they showed.
pub(in crate::pkg) struct KnownRegistries<'a> {
    session: &'a Session<'a>,
    registries: Vec<KnownRegistry>,
    seen_versions: SeenRegistryVersions,
    /// Whether the user named a registry, which is then the only one asked.
    is_explicit: bool,
}

/// A package that a registry offers.
#[derive(Debug, Clone)]
pub(in crate::pkg) struct AvailablePackage {
    pub name: PackageName,
    /// The URL of the registry.
    pub registry: String,
    registry_name: RegistryPackageName,
    pub versions: Vec<AvailableVersion>,
}

/// A version that a registry offers, as its index describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pkg) struct AvailableVersion {
    pub version: PackageVersion,
    pub digest: Digest,
    size: u64,
    pub yanked: bool,
    pub signer: Option<PublicKey>,
    pub dependencies: Vec<PackageDependency>,
    pub conflicts: Vec<PackageName>,
}

/// A downloaded file, and what the response says about it.
struct DownloadedBytes {
    bytes: HashedBytes,
    headers: DownloadHeaders,
}

/// A package to look up.
struct RegistryLookup {
    name: PackageName,
    registry_name: RegistryPackageName,
    /// Where the project got the package before, from its lock.
    source: Option<RecordedSource>,
}

impl AvailablePackage {
    pub(in crate::pkg) fn version(&self, version: &PackageVersion) -> Option<&AvailableVersion> {
        self.versions.iter().find(|available| available.version == *version)
    }
}

impl<'a> KnownRegistries<'a> {
    /// Collects the registries: the named one alone, or those of the config and of logins. Offline,
    /// there are none.
    pub(in crate::pkg) fn open(
        session: &'a Session<'a>,
        registry: Option<&str>,
        seen_versions: SeenRegistryVersions,
    ) -> Result<Self> {
        let context = session.context;
        let mut known = Self { session, registries: Vec::new(), seen_versions, is_explicit: false };
        if context.network == Network::Offline {
            return Ok(known);
        }
        known.is_explicit = registry.is_some();
        let credentials = RegistryCredentials::read(context)?;
        match registry {
            // A named registry overrides the config and the lock.
            Some(url) => {
                let token = TokenSource::EnvironmentOrFile;
                known.add(&credentials, url, RegistryNames::Unbound, token)?;
            }
            None => known.add_configured(&credentials)?,
        }
        Ok(known)
    }

    /// Adds the registries of the config and of logins.
    fn add_configured(&mut self, credentials: &RegistryCredentials) -> Result<()> {
        let configured = &self.session.config.registries;
        let token = match configured.as_slice() {
            [_] => TokenSource::EnvironmentOrFile,
            _ => TokenSource::File,
        };
        for registry in configured {
            let names = match registry.namespaces.as_slice() {
                [] => RegistryNames::Unbound,
                namespaces => RegistryNames::Namespaces(namespaces),
            };
            self.add(credentials, &registry.url, names, token)?;
        }
        if let Some(last) = credentials.last_address().filter(|_| configured.is_empty()) {
            let token = TokenSource::EnvironmentOrFile;
            self.add(credentials, &last, RegistryNames::Unbound, token)?;
        }
        // A lock may name any registry that the user has logged in to.
        for address in credentials.addresses() {
            self.add(credentials, &address, RegistryNames::Locked, TokenSource::File)?;
        }
        Ok(())
    }

    /// Adds a registry, unless it is known.
    fn add(
        &mut self,
        credentials: &RegistryCredentials,
        url: &str,
        names: RegistryNames<'_>,
        token: TokenSource,
    ) -> Result<()> {
        let address = normalize_server_url(url)?;
        if self.registries.iter().any(|registry| registry.address == address) {
            return Ok(());
        }
        self.registries.push(KnownRegistry {
            token: credentials.token(&address, token),
            address,
            namespaces: match names {
                RegistryNames::Namespaces(namespaces) => namespaces.into(),
                RegistryNames::Unbound | RegistryNames::Locked => Vec::new(),
            },
            is_default: matches!(names, RegistryNames::Unbound),
        });
        Ok(())
    }

    /// Returns the name in a registry; none if there is no registry, or the name has no namespace.
    fn registry_name(&self, name: &PackageName) -> Option<RegistryPackageName> {
        if self.registries.is_empty() {
            None
        } else {
            RegistryPackageName::from_package_name(name).ok()
        }
    }

    /// Looks up packages in parallel, and leaves out those that no registry knows. `source` returns
    /// where the project got a package before.
    pub(in crate::pkg) fn query(
        &mut self,
        names: &[PackageName],
        source: impl Fn(&PackageName) -> Option<RecordedSource>,
    ) -> Result<Vec<AvailablePackage>> {
        let lookups: Vec<RegistryLookup> = names
            .iter()
            .filter_map(|name| {
                let registry_name = self.registry_name(name)?;
                Some(RegistryLookup { name: name.clone(), registry_name, source: source(name) })
            })
            .collect();
        let known = &*self;
        let results: Vec<Result<Option<AvailablePackage>>> =
            lookups.par_iter().map(|lookup| known.query_one(lookup)).collect();
        let available: Vec<AvailablePackage> =
            results.into_iter().filter_map(Result::transpose).collect::<Result<_>>()?;
        available.iter().for_each(|package| self.record_seen(package));
        Ok(available)
    }

    /// Looks up one package, without remembering its versions. `source` is where the project got it
    /// before.
    pub(in crate::pkg) fn find(
        &self,
        name: &PackageName,
        source: Option<RecordedSource>,
    ) -> Result<Option<AvailablePackage>> {
        match self.registry_name(name) {
            None => Ok(None),
            Some(registry_name) => {
                self.query_one(&RegistryLookup { name: name.clone(), registry_name, source })
            }
        }
    }

    fn query_one(&self, lookup: &RegistryLookup) -> Result<Option<AvailablePackage>> {
        let path = index_path(&lookup.registry_name);
        for registry in self.registries_for(lookup)? {
            let request = RegistryRequest::get(&path);
            if let Some(response) = self.client(registry)?.execute_optional(&request)? {
                return self.validate_index(registry, lookup, &response.json()?).map(Some);
            }
            self.check_append_only(registry, &lookup.name, &[])?;
        }
        Ok(None)
    }

    /// Returns the registries to ask for a package, in order.
    fn registries_for(&self, lookup: &RegistryLookup) -> Result<Vec<&KnownRegistry>> {
        let namespace = lookup.registry_name.namespace();
        let is_bound =
            |registry: &&KnownRegistry| registry.namespaces.iter().any(|bound| bound == namespace);
        let locked = lookup.source.as_ref().and_then(RecordedSource::registry);
        let locked = locked.filter(|_| !self.is_explicit);
        match (self.registries.iter().find(is_bound), locked) {
            (Some(registry), Some(locked)) if registry.address != locked => {
                Err(wrong_registry_error(lookup, registry, locked))
            }
            (Some(registry), _) => Ok(vec![registry]),
            (None, Some(locked)) => {
                let known = self.registries.iter().find(|registry| registry.address == locked);
                // A lockfile must not make this machine contact a host that its user never named.
                known
                    .map(|registry| vec![registry])
                    .ok_or_else(|| unknown_registry_error(&lookup.name, locked))
            }
            (None, None) => {
                Ok(self.registries.iter().filter(|registry| registry.is_default).collect())
            }
        }
    }

    fn client(&self, registry: &KnownRegistry) -> Result<RegistryClient<'a>> {
        self.session.policies(None)?.require_registry(&registry.address)?;
        RegistryClient::new(self.session.context, &registry.address, registry.token.as_deref())
    }

    /// Checks that an index is consistent, and converts it.
    fn validate_index(
        &self,
        registry: &KnownRegistry,
        lookup: &RegistryLookup,
        index: &PackageIndex,
    ) -> Result<AvailablePackage> {
        let RegistryLookup { name, registry_name, .. } = lookup;
        let versions = parse_index(registry_name, index).map_err(|why| {
            Error::new(
                ErrorCode::InvalidIndex,
                format!("`{}` returned an invalid index for `{name}`", registry.address),
            )
            .because(printable(&why).into_owned())
            .hint("do not trust this registry or the network path to it; nothing was changed")
        })?;
        self.check_append_only(registry, name, &versions)?;
        Ok(AvailablePackage {
            name: name.clone(),
            registry: registry.address.clone(),
            registry_name: registry_name.clone(),
            versions,
        })
    }

    /// Checks that the registry still has every version that it showed before, unchanged.
    fn check_append_only(
        &self,
        registry: &KnownRegistry,
        name: &PackageName,
        versions: &[AvailableVersion],
    ) -> Result<()> {
        let seen = self
            .seen_versions
            .registries
            .get(&registry.address)
            .and_then(|packages| packages.get(name));
        for (version, digest) in seen.into_iter().flatten() {
            let now = versions.iter().find(|available| available.version.as_str() == version);
            let why = match now {
                Some(now) if now.digest == *digest => continue,
                Some(now) => format!(
                    "the digest of `{name} {version}` was {digest}, but is now {}",
                    now.digest
                ),
                None => format!("`{name} {version}` is missing, but was available before"),
            };
            return Err(Error::new(
                ErrorCode::InvalidIndex,
                format!("`{}` returned an outdated or modified index", registry.address),
            )
            .because(why)
            .hint("ask the operator of the registry; nothing was changed")
            .hint(format!(
                "if the registry was reset, run `sp login --reset-history {}`",
                registry.address
            )));
        }
        Ok(())
    }

    fn record_seen(&mut self, package: &AvailablePackage) {
        let packages = self.seen_versions.registries.entry(package.registry.clone()).or_default();
        let versions = packages.entry(package.name.clone()).or_default();
        let seen = package.versions.iter();
        versions.extend(seen.map(|available| (available.version.to_string(), available.digest)));
    }

    /// Returns the versions that were seen so far, to be saved in the store.
    pub(in crate::pkg) fn seen_versions(&self) -> &SeenRegistryVersions {
        &self.seen_versions
    }

    /// Returns the URLs of the registries that are asked for names without a binding.
    pub(in crate::pkg) fn default_addresses(&self) -> Vec<&str> {
        self.registries
            .iter()
            .filter(|registry| registry.is_default)
            .map(|registry| registry.address.as_str())
            .collect()
    }

    /// Downloads versions in parallel, and verifies each against the index.
    pub(in crate::pkg) fn download(
        &self,
        selected: &[(&AvailablePackage, &AvailableVersion)],
        keep: KeepPartial,
    ) -> Result<Vec<Package>> {
        let packages: Vec<Result<Package>> = selected
            .par_iter()
            .map(|(package, version)| self.download_one(package, version, keep))
            .collect();
        packages.into_iter().collect()
    }

    fn download_one(
        &self,
        available: &AvailablePackage,
        version: &AvailableVersion,
        keep: KeepPartial,
    ) -> Result<Package> {
        let label = format!("{} {}", available.name, version.version);
        self.check_size(&label, available, version)?;
        let registry = self.registries.iter().find(|known| known.address == available.registry);
        let registry = registry.ok_or_else(|| {
            Error::new(
                ErrorCode::PackageNotFound,
                format!("unknown registry `{}`", available.registry),
            )
        })?;
        let path = format!("{}/download", version_path(&available.registry_name, &version.version));
        let expected = ExpectedBytes { digest: version.digest, len: version.size };
        let partial = PartialDownload::resume(self.session.context, label.clone(), expected, keep)?;
        let DownloadedBytes { bytes, headers } =
            download_bytes(&self.client(registry)?, &path, partial)?;
        let mismatch = |why: String| {
            Error::new(
                ErrorCode::DigestMismatch,
                format!("`{label}` does not match the index of `{}`", available.registry),
            )
            .because(why)
            .hint("do not trust this registry or the network path to it; nothing was changed")
        };
        check_headers(&headers, version).map_err(mismatch)?;
        let result = sp_formats::package::read_hashed(&label, bytes, &self.session.limits);
        let package = require_package(self.session, result, &label)?;
        check_package(&package, available, version).map_err(mismatch)?;
        Ok(package)
    }

    fn check_size(
        &self,
        label: &str,
        available: &AvailablePackage,
        version: &AvailableVersion,
    ) -> Result<()> {
        let limit = self.session.limits.package_bytes;
        if version.size <= limit {
            return Ok(());
        }
        Err(Error::new(
            ErrorCode::LimitExceeded,
            format!("`{label}` exceeds the limit of {}", ByteSize(limit)),
        )
        .because(format!(
            "according to `{}`, its size is {}",
            available.registry,
            ByteSize(version.size)
        ))
        .hint("raise the limit with `--max-size <bytes>` if you trust the package"))
    }
}

/// Continues a download to its end.
fn download_bytes(
    client: &RegistryClient<'_>,
    path: &str,
    mut partial: PartialDownload<'_>,
) -> Result<DownloadedBytes> {
    let is_resumed = partial.len() > 0;
    let mut headers = client.download(path, &mut partial)?;
    if is_resumed && !partial.matches_digest() {
        // The cached part may be corrupt, which is not the fault of the registry.
        partial.restart();
        headers = client.download(path, &mut partial)?;
    }
    Ok(DownloadedBytes { bytes: partial.finish()?, headers })
}

fn wrong_registry_error(lookup: &RegistryLookup, bound: &KnownRegistry, locked: &str) -> Error {
    Error::new(
        ErrorCode::RegistryMismatch,
        format!("`{}` is locked to a registry that the configuration does not allow", lookup.name),
    )
    .because(format!(
        "the lockfile has `{}`, but the configuration binds `{}` to `{}`",
        printable(locked),
        lookup.registry_name.namespace(),
        bound.address
    ))
    .hint("find out who changed the lockfile, or fix the configuration")
}

fn unknown_registry_error(name: &PackageName, locked: &str) -> Error {
    Error::new(ErrorCode::RegistryMismatch, format!("`{name}` is locked to an unknown registry"))
        .because(format!("the lockfile has `{}`", printable(locked)))
        .hint(format!(
            "if you trust this registry, run `sp login {0}`, or add `--registry {0}`",
            printable(locked)
        ))
}

/// Checks that an index is consistent in itself. Returns its versions, from old to new.
fn parse_index(
    name: &RegistryPackageName,
    index: &PackageIndex,
) -> std::result::Result<Vec<AvailableVersion>, String> {
    if (index.namespace.as_str(), index.name.as_str()) != (name.namespace(), name.name()) {
        return Err(format!("the index is for `@{}/{}`", index.namespace, index.name));
    }
    if index.versions.len() > MAX_VERSIONS {
        return Err(format!("the index has too many versions: {}", index.versions.len()));
    }
    let mut versions = index
        .versions
        .iter()
        .map(parse_version_item)
        .collect::<std::result::Result<Vec<AvailableVersion>, String>>()?;
    versions.sort_by(|a, b| a.version.cmp(&b.version));
    if let Some(pair) = versions.windows(2).find(|pair| pair[0].version == pair[1].version) {
        return Err(format!("duplicate version {}", pair[0].version));
    }
    check_latest(&versions, index.latest.as_deref())?;
    Ok(versions)
}

/// Checks that the newest version is the one that the index claims.
fn check_latest(
    versions: &[AvailableVersion],
    claimed: Option<&str>,
) -> std::result::Result<(), String> {
    let not_yanked = versions.iter().filter(|available| !available.yanked);
    let newest = latest_version(not_yanked.map(|available| &available.version));
    let newest = newest.map(PackageVersion::as_str);
    if newest == claimed {
        return Ok(());
    }
    Err(format!(
        "the index lists {} as the latest version, but the latest version that is not yanked is {}",
        claimed.unwrap_or("none"),
        newest.unwrap_or("none")
    ))
}

fn parse_version_item(item: &PackageVersionItem) -> std::result::Result<AvailableVersion, String> {
    let version =
        PackageVersion::new(&item.version).map_err(|why| format!("`{}`: {why}", item.version))?;
    let digest = format!("sha256:{}", item.sha256)
        .parse()
        .map_err(|_| format!("the digest of {version} is invalid"))?;
    let key = |text: &String| {
        PublicKey::from_hex(text).map_err(|why| format!("the signer of {version}: {why}"))
    };
    let name = |text: &str| {
        PackageName::new(text)
            .map_err(|why| format!("invalid package name `{text}` in {version}: {why}"))
    };
    let dependencies = item.dependencies.iter().map(|dependency| {
        Ok(PackageDependency {
            name: name(&dependency.name)?,
            range: VersionRange::new(&dependency.range),
            optional: dependency.optional,
        })
    });
    Ok(AvailableVersion {
        digest,
        size: item.bytes,
        yanked: item.yanked,
        signer: item.signer.as_ref().map(key).transpose()?,
        dependencies: dependencies.collect::<std::result::Result<_, String>>()?,
        conflicts: item
            .conflicts
            .iter()
            .map(|conflict| name(conflict))
            .collect::<std::result::Result<_, String>>()?,
        version,
    })
}

/// Checks that the response headers of a download agree with the index.
fn check_headers(
    headers: &DownloadHeaders,
    version: &AvailableVersion,
) -> std::result::Result<(), String> {
    match (&headers.sha256, headers.yanked) {
        (Some(hash), _) if *hash != version.digest.hex() => Err(format!(
            "the digest in the index is {}, but the response header has {}",
            version.digest,
            printable(hash)
        )),
        (_, Some(true)) if !version.yanked => {
            Err("the version is yanked, but not in the index; if it was yanked just now, run the \
                 command again"
                .into())
        }
        _ => Ok(()),
    }
}

/// Checks that the manifest of a package agrees with the index.
fn check_package(
    package: &Package,
    available: &AvailablePackage,
    version: &AvailableVersion,
) -> std::result::Result<(), String> {
    let manifest = &package.manifest;
    if (&manifest.name, &manifest.version) != (&available.name, &version.version) {
        return Err(format!("the downloaded package is `{} {}`", manifest.name, manifest.version));
    }
    let signer = package.signer.map(|signer| signer.key);
    if signer != version.signer {
        let shown =
            |key: Option<PublicKey>| key.map_or_else(|| "no key".into(), |key| key.to_string());
        return Err(format!(
            "the package is signed by {}, but the index lists {}",
            shown(signer),
            shown(version.signer)
        ));
    }
    if manifest.dependencies != version.dependencies || manifest.conflicts != version.conflicts {
        return Err("the dependencies or conflicts of the package differ from the index".into());
    }
    Ok(())
}
