//! What the registries of this machine offer. Nothing that one says is believed where it can be verified.
//!
//! A name is looked for in one registry: the one that the config binds its namespace to, or the first that knows
//! it. So nobody takes a name over by publishing it elsewhere.

use rayon::prelude::*;
use sp_formats::package::store::SeenRegistryVersions;
use sp_formats::package::{Package, PackageDependency, PackageName, PackageVersion, VersionRange};
use sp_formats::printable::printable;
use sp_formats::registry::{PackageIndex, PackageVersionItem, RegistryPackageName, latest_version};
use sp_tree::{Digest, PublicKey};

use super::client::{DownloadHeaders, RegistryClient, RegistryRequest};
use super::credentials::RegistryCredentials;
use super::partial_download::{KeepPartial, PartialDownload};
use crate::context::Network;
use crate::error::{Error, FailureKind, Result};
use crate::pkg::package_spec::require_package;
use crate::pkg::package_store::read_record;
use crate::pkg::send::normalize_server_url;
use crate::session::Session;

/// Where it is remembered what registries had.
pub(in crate::pkg) const SEEN_VERSIONS_FILE: &str = "registries.json";
/// More versions than this no package has.
const MAX_VERSIONS: usize = 100_000;

/// A registry that this machine knows.
struct KnownRegistry {
    address: String,
    /// The namespaces that are looked for here and nowhere else.
    namespaces: Vec<String>,
    token: Option<String>,
    /// Whether names are looked for here that are bound to no registry.
    is_default: bool,
}

/// The registries that this machine knows.
pub(in crate::pkg) struct KnownRegistries<'a> {
    session: &'a Session<'a>,
    registries: Vec<KnownRegistry>,
    seen_versions: SeenRegistryVersions,
    /// Whether one registry was named, which alone is asked.
    is_explicit: bool,
}

/// What a registry offers of a package.
#[derive(Debug, Clone)]
pub(in crate::pkg) struct AvailablePackage {
    pub name: PackageName,
    /// The address of the registry.
    pub registry: String,
    registry_name: RegistryPackageName,
    pub versions: Vec<AvailableVersion>,
}

/// What a registry says of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pkg) struct AvailableVersion {
    pub version: PackageVersion,
    pub digest: Digest,
    size: u64,
    pub yanked: bool,
    signer: Option<PublicKey>,
    pub dependencies: Vec<PackageDependency>,
    pub conflicts: Vec<PackageName>,
}

impl AvailablePackage {
    pub(in crate::pkg) fn version(&self, version: &PackageVersion) -> Option<&AvailableVersion> {
        self.versions.iter().find(|one| one.version == *version)
    }
}

impl<'a> KnownRegistries<'a> {
    /// The registry that was named, or those of the config, or the one that was logged in to last.
    pub(in crate::pkg) fn open(session: &'a Session<'a>, named: Option<&str>) -> Result<Self> {
        let context = session.context;
        let seen = read_record(context, SEEN_VERSIONS_FILE)?;
        let mut sites: Vec<KnownRegistry> = Vec::new();
        if context.network == Network::Offline {
            return Ok(Self {
                session,
                registries: sites,
                seen_versions: seen,
                is_explicit: false,
            });
        }
        let credentials = RegistryCredentials::read(context)?;
        let configured = &session.config.registries;
        let mut add =
            |url: &str, namespaces: &[String], is_general: bool, is_meant: bool| -> Result<()> {
                let address = normalize_server_url(url)?;
                if !sites.iter().any(|site| site.address == address) {
                    let token = credentials.token(&address, is_meant);
                    sites.push(KnownRegistry {
                        address,
                        namespaces: namespaces.into(),
                        token,
                        is_default: is_general,
                    });
                }
                Ok(())
            };
        match (named, configured.as_slice()) {
            // Who names a registry means that one alone, whatever config and lock say.
            (Some(named), _) => add(named, &[], true, true)?,
            (None, registries) => {
                for registry in registries {
                    let is_general = registry.namespaces.is_empty();
                    add(&registry.url, &registry.namespaces, is_general, registries.len() == 1)?;
                }
                let last = credentials.last_address().filter(|_| registries.is_empty());
                last.map_or(Ok(()), |last| add(&last, &[], true, true))?;
                // What a lock names is asked for at any registry that this machine's user has named once.
                credentials
                    .addresses()
                    .iter()
                    .try_for_each(|address| add(address, &[], false, false))?;
            }
        }
        Ok(Self { session, registries: sites, seen_versions: seen, is_explicit: named.is_some() })
    }

    /// Whether there is a registry that a name could be in.
    fn registry_name(&self, name: &PackageName) -> Option<RegistryPackageName> {
        if self.registries.is_empty() {
            None
        } else {
            RegistryPackageName::from_package_name(name).ok()
        }
    }

    /// What is offered of some packages; what no registry knows is left out. `from` is where one came from before.
    pub(in crate::pkg) fn query(
        &mut self,
        names: &[PackageName],
        from: impl Fn(&PackageName) -> Option<String>,
    ) -> Result<Vec<AvailablePackage>> {
        let wanted: Vec<(PackageName, RegistryPackageName, Option<String>)> = names
            .iter()
            .filter_map(|name| Some((name.clone(), self.registry_name(name)?, from(name))))
            .collect();
        let known = &*self;
        let found: Vec<Result<Option<AvailablePackage>>> = wanted
            .par_iter()
            .map(|(name, place, from)| known.query_one(name, place, from.as_deref()))
            .collect();
        let offers: Vec<AvailablePackage> =
            found.into_iter().filter_map(Result::transpose).collect::<Result<_>>()?;
        offers.iter().for_each(|offer| self.record_seen(offer));
        Ok(offers)
    }

    fn query_one(
        &self,
        name: &PackageName,
        place: &RegistryPackageName,
        from: Option<&str>,
    ) -> Result<Option<AvailablePackage>> {
        for site in self.registries_for(name, place, from)? {
            let path = format!("packages/{}/{}/index.json", place.namespace(), place.name());
            if let Some(told) = self.client(site)?.execute_optional(&RegistryRequest::get(&path))? {
                return self.validate_index(site, name, place, &told.json()?).map(Some);
            }
            self.check_append_only(site, name, &[])?;
        }
        Ok(None)
    }

    /// Where a name is looked for.
    fn registries_for(
        &self,
        name: &PackageName,
        place: &RegistryPackageName,
        from: Option<&str>,
    ) -> Result<Vec<&KnownRegistry>> {
        let bound =
            |site: &&KnownRegistry| site.namespaces.iter().any(|one| one == place.namespace());
        let origin = from.filter(|from| is_registry_url(from) && !self.is_explicit);
        match (self.registries.iter().find(bound), origin) {
            (Some(site), Some(origin)) if site.address != origin => Err(Error::new(
                FailureKind::Trust,
                format!("`{name}` came from another registry than it may"),
            )
            .because(format!(
                "`ctxpkg.lock` says `{}`, and the config binds `{}` to `{}`",
                printable(origin),
                place.namespace(),
                site.address
            ))
            .hint("nothing was changed: find out who changed the lock, or mend the config")),
            (Some(site), _) => Ok(vec![site]),
            (None, Some(origin)) => {
                let known = self.registries.iter().find(|site| site.address == origin);
                // Nobody's lock makes this machine speak to a host that its user never named.
                known.map(|site| vec![site]).ok_or_else(|| {
                    Error::new(
                        FailureKind::Trust,
                        format!("`{name}` came from a registry that is not known here"),
                    )
                    .because(format!("`ctxpkg.lock` says `{}`", printable(origin)))
                    .hint(format!("if you know it, `--registry {}` asks it", printable(origin)))
                })
            }
            (None, None) => Ok(self.registries.iter().filter(|site| site.is_default).collect()),
        }
    }

    fn client(&self, site: &KnownRegistry) -> Result<RegistryClient<'a>> {
        RegistryClient::new(self.session.context, &site.address, site.token.as_deref())
    }

    /// What a registry says, if it can be so.
    fn validate_index(
        &self,
        site: &KnownRegistry,
        name: &PackageName,
        place: &RegistryPackageName,
        index: &PackageIndex,
    ) -> Result<AvailablePackage> {
        let lies = |why: String| {
            Error::new(
                FailureKind::Trust,
                format!("what `{}` says of `{name}` cannot be so", site.address),
            )
            .because(printable(&why).into_owned())
            .hint("nothing was changed: do not trust this registry, or what stands between")
        };
        if (index.namespace.as_str(), index.name.as_str()) != (place.namespace(), place.name()) {
            return Err(lies(format!("it answers for `@{}/{}`", index.namespace, index.name)));
        }
        if index.versions.len() > MAX_VERSIONS {
            return Err(lies(format!("it says that there are {} versions", index.versions.len())));
        }
        let versions = index
            .versions
            .iter()
            .map(parse_version_item)
            .collect::<std::result::Result<Vec<_>, String>>();
        let mut versions = versions.map_err(lies)?;
        versions.sort_by(|a, b| a.version.cmp(&b.version));
        if let Some(twice) = versions.windows(2).find(|pair| pair[0].version == pair[1].version) {
            return Err(lies(format!("it has {} twice", twice[0].version)));
        }
        let newest =
            latest_version(versions.iter().filter(|one| !one.yanked).map(|one| &one.version));
        if newest.map(PackageVersion::as_str) != index.latest.as_deref() {
            let (said, is) = (
                index.latest.as_deref().unwrap_or("none"),
                newest.map_or("none", PackageVersion::as_str),
            );
            return Err(lies(format!(
                "it says that {said} is the newest that was not yanked, and by its list it is {is}"
            )));
        }
        self.check_append_only(site, name, &versions)?;
        Ok(AvailablePackage {
            name: name.clone(),
            registry: site.address.clone(),
            registry_name: place.clone(),
            versions,
        })
    }

    /// What a registry had once, it has for ever, and as it was.
    fn check_append_only(
        &self,
        site: &KnownRegistry,
        name: &PackageName,
        versions: &[AvailableVersion],
    ) -> Result<()> {
        let had = self
            .seen_versions
            .registries
            .get(&site.address)
            .and_then(|packages| packages.get(name));
        for (version, digest) in had.into_iter().flatten() {
            let now = versions.iter().find(|one| one.version.as_str() == version);
            let why = match now {
                Some(now) if now.digest == *digest => continue,
                Some(now) => format!("`{name} {version}` was {digest}, and is {} now", now.digest),
                None => format!("it had `{name} {version}` before, and does not know it any more"),
            };
            return Err(Error::new(
                FailureKind::Trust,
                format!("`{}` shows an old or another index", site.address),
            )
            .because(why)
            .hint("nothing was changed: ask whoever runs it")
            .hint(format!(
                "if it was set up anew, `sp login --anew {}` forgets what it had",
                site.address
            )));
        }
        Ok(())
    }

    fn record_seen(&mut self, offer: &AvailablePackage) {
        let packages = self.seen_versions.registries.entry(offer.registry.clone()).or_default();
        let versions = packages.entry(offer.name.clone()).or_default();
        versions.extend(offer.versions.iter().map(|one| (one.version.to_string(), one.digest)));
    }

    /// What was seen, to be kept.
    pub(in crate::pkg) fn seen_versions(&self) -> &SeenRegistryVersions {
        &self.seen_versions
    }

    /// The addresses that names are looked for at which are bound to none.
    pub(in crate::pkg) fn default_addresses(&self) -> Vec<&str> {
        self.registries
            .iter()
            .filter(|site| site.is_default)
            .map(|site| site.address.as_str())
            .collect()
    }

    /// Gets versions, verifies their bytes, and holds against them what the registry said.
    pub(in crate::pkg) fn download(
        &self,
        wanted: &[(&AvailablePackage, &AvailableVersion)],
        keep: KeepPartial,
    ) -> Result<Vec<Package>> {
        let packages: Vec<Result<Package>> = wanted
            .par_iter()
            .map(|(offer, version)| self.download_one(offer, version, keep))
            .collect();
        packages.into_iter().collect()
    }

    fn download_one(
        &self,
        offer: &AvailablePackage,
        wanted: &AvailableVersion,
        keep: KeepPartial,
    ) -> Result<Package> {
        let shown = format!("{} {}", offer.name, wanted.version);
        let most = self.session.limits.package_bytes;
        if wanted.size > most {
            return Err(Error::new(
                FailureKind::Data,
                format!("`{shown}` is larger than the limit of {most} bytes"),
            )
            .because(format!("`{}` says that it has {}", offer.registry, wanted.size))
            .hint("raise it with `--max-size <bytes>` if you trust it"));
        }
        let site = self.registries.iter().find(|site| site.address == offer.registry);
        let site = site.ok_or_else(|| {
            Error::new(FailureKind::Request, format!("`{}` is not known", offer.registry))
        })?;
        let (namespace, name, version) =
            (offer.registry_name.namespace(), offer.registry_name.name(), wanted.version.as_str());
        let path = format!("packages/{namespace}/{name}/{version}/download");
        let client = self.client(site)?;
        let mut partial = PartialDownload::resume(
            self.session.context,
            shown.clone(),
            (wanted.digest, wanted.size),
            keep,
        )?;
        let was_begun = partial.len() > 0;
        let mut marks = client.download(&path, &mut partial)?;
        if was_begun && !partial.matches_digest() {
            // What an earlier run left may be spoilt: that is nobody's lie.
            partial.restart();
            marks = client.download(&path, &mut partial)?;
        }
        let bytes = partial.finish()?;
        let lies = |why: String| {
            Error::new(
                FailureKind::Trust,
                format!("`{shown}` is not what `{}` says", offer.registry),
            )
            .because(why)
            .hint("nothing was changed: do not trust this registry, or what stands between")
        };
        check_headers(&marks, wanted).map_err(lies)?;
        let read = sp_formats::package::read(&shown, bytes, &self.session.limits);
        let package = require_package(self.session, read, &shown)?;
        check_package(&package, offer, wanted).map_err(lies)?;
        Ok(package)
    }
}

/// Whether where something came from is a registry.
pub(in crate::pkg) fn is_registry_url(from: &str) -> bool {
    from.starts_with("https://") || from.starts_with("http://")
}

fn parse_version_item(item: &PackageVersionItem) -> std::result::Result<AvailableVersion, String> {
    let version =
        PackageVersion::new(&item.version).map_err(|why| format!("`{}`: {why}", item.version))?;
    let digest = format!("sha256:{}", item.sha256)
        .parse()
        .map_err(|_| format!("the hash of {version} is none"))?;
    let key = |text: &String| {
        PublicKey::from_hex(text).map_err(|why| format!("the signer of {version}: {why}"))
    };
    let named = |text: &str| {
        PackageName::new(text).map_err(|why| format!("`{text}`, which {version} names: {why}"))
    };
    let needed = item.dependencies.iter().map(|needed| {
        Ok(PackageDependency {
            name: named(&needed.name)?,
            range: VersionRange::new(&needed.range),
            optional: needed.optional,
        })
    });
    Ok(AvailableVersion {
        digest,
        size: item.bytes,
        yanked: item.yanked,
        signer: item.signer.as_ref().map(key).transpose()?,
        dependencies: needed.collect::<std::result::Result<_, String>>()?,
        conflicts: item
            .conflicts
            .iter()
            .map(|name| named(name))
            .collect::<std::result::Result<_, String>>()?,
        version,
    })
}

/// What stands beside the bytes must be what the index says.
fn check_headers(
    marks: &DownloadHeaders,
    wanted: &AvailableVersion,
) -> std::result::Result<(), String> {
    match (&marks.sha256, marks.yanked) {
        (Some(hash), _) if *hash != wanted.digest.hex() => Err(format!(
            "its index names {}, and beside the bytes stands {}",
            wanted.digest,
            printable(hash)
        )),
        (_, Some(true)) if !wanted.yanked => {
            Err("it was yanked, and the index does not say so: if that was just now, try again"
                .into())
        }
        _ => Ok(()),
    }
}

/// What a package says of itself must be what the index says of it.
fn check_package(
    package: &Package,
    offer: &AvailablePackage,
    wanted: &AvailableVersion,
) -> std::result::Result<(), String> {
    let manifest = &package.manifest;
    if (&manifest.name, &manifest.version) != (&offer.name, &wanted.version) {
        return Err(format!("the package is `{} {}`", manifest.name, manifest.version));
    }
    let signer = package.signer.map(|signer| signer.key);
    if signer != wanted.signer {
        let shown =
            |key: Option<PublicKey>| key.map_or_else(|| "nobody".into(), |key| key.to_string());
        return Err(format!(
            "it is signed by {}, and the index says {}",
            shown(signer),
            shown(wanted.signer)
        ));
    }
    if manifest.dependencies != wanted.dependencies || manifest.conflicts != wanted.conflicts {
        return Err("it needs or excludes other packages than the index says".into());
    }
    Ok(())
}
