//! What the registries of this machine offer. Nothing that one says is believed where it can be verified.
//!
//! A name is looked for in one registry: the one that the config binds its namespace to, or the first that knows
//! it. So nobody takes a name over by publishing it elsewhere.

use rayon::prelude::*;
use sp_formats::package::store::Seen;
use sp_formats::package::{Dependency, Package, PackageName, PackageVersion, Range};
use sp_formats::printable::printable;
use sp_formats::registry::{PackageIndex, Place, VersionItem, latest};
use sp_tree::{Digest, PublicKey};

use super::client::{Asked, Client, Marks};
use super::credentials::Credentials;
use super::partial::{Keep, Partial};
use crate::config::Session;
use crate::context::Network;
use crate::error::{Error, Kind, Result};
use crate::pkg::send::base;
use crate::pkg::shelf::read_record;
use crate::pkg::subject::accept;

/// Where it is remembered what registries had.
pub(in crate::pkg) const SEEN: &str = "registries.json";
/// More versions than this no package has.
const MOST_VERSIONS: usize = 100_000;

/// A registry that this machine knows.
struct Site {
    address: String,
    /// The namespaces that are looked for here and nowhere else.
    namespaces: Vec<String>,
    token: Option<String>,
    /// Whether names are looked for here that are bound to no registry.
    is_general: bool,
}

/// The registries that this machine knows.
pub(in crate::pkg) struct Catalog<'a> {
    session: &'a Session<'a>,
    sites: Vec<Site>,
    seen: Seen,
    /// Whether one registry was named, which alone is asked.
    is_named: bool,
}

/// What a registry offers of a package.
#[derive(Debug, Clone)]
pub(in crate::pkg) struct Offer {
    pub name: PackageName,
    /// The address of the registry.
    pub registry: String,
    place: Place,
    pub versions: Vec<OfferedVersion>,
}

/// What a registry says of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pkg) struct OfferedVersion {
    pub version: PackageVersion,
    pub digest: Digest,
    bytes: u64,
    pub yanked: bool,
    signer: Option<PublicKey>,
    pub dependencies: Vec<Dependency>,
    pub conflicts: Vec<PackageName>,
}

impl Offer {
    pub(in crate::pkg) fn version(&self, version: &PackageVersion) -> Option<&OfferedVersion> {
        self.versions.iter().find(|one| one.version == *version)
    }
}

impl<'a> Catalog<'a> {
    /// The registry that was named, or those of the config, or the one that was logged in to last.
    pub(in crate::pkg) fn open(session: &'a Session<'a>, named: Option<&str>) -> Result<Self> {
        let context = session.context;
        let seen = read_record(context, SEEN)?;
        let mut sites: Vec<Site> = Vec::new();
        if context.network == Network::Offline {
            return Ok(Self { session, sites, seen, is_named: false });
        }
        let credentials = Credentials::read(context)?;
        let configured = &session.config.registries;
        let mut add = |url: &str, namespaces: &[String], is_general: bool, is_meant: bool| -> Result<()> {
            let address = base(url)?;
            if !sites.iter().any(|site| site.address == address) {
                let token = credentials.token(&address, is_meant);
                sites.push(Site { address, namespaces: namespaces.into(), token, is_general });
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
                let last = credentials.last().filter(|_| registries.is_empty());
                last.map_or(Ok(()), |last| add(&last, &[], true, true))?;
                // What a lock names is asked for at any registry that this machine's user has named once.
                credentials.addresses().iter().try_for_each(|address| add(address, &[], false, false))?;
            }
        }
        Ok(Self { session, sites, seen, is_named: named.is_some() })
    }

    /// Whether there is a registry that a name could be in.
    fn could_have(&self, name: &PackageName) -> Option<Place> {
        if self.sites.is_empty() { None } else { Place::of(name).ok() }
    }

    /// What is offered of some packages; what no registry knows is left out. `from` is where one came from before.
    pub(in crate::pkg) fn find(
        &mut self,
        names: &[PackageName],
        from: impl Fn(&PackageName) -> Option<String>,
    ) -> Result<Vec<Offer>> {
        let wanted: Vec<(PackageName, Place, Option<String>)> =
            names.iter().filter_map(|name| Some((name.clone(), self.could_have(name)?, from(name)))).collect();
        let known = &*self;
        let found: Vec<Result<Option<Offer>>> =
            wanted.par_iter().map(|(name, place, from)| known.find_one(name, place, from.as_deref())).collect();
        let offers: Vec<Offer> = found.into_iter().filter_map(Result::transpose).collect::<Result<_>>()?;
        offers.iter().for_each(|offer| self.remember(offer));
        Ok(offers)
    }

    fn find_one(&self, name: &PackageName, place: &Place, from: Option<&str>) -> Result<Option<Offer>> {
        for site in self.sites_for(name, place, from)? {
            let path = format!("packages/{}/{}/index.json", place.namespace(), place.name());
            if let Some(told) = self.client(site)?.find(&Asked::get(&path))? {
                return self.believe(site, name, place, &told.json()?).map(Some);
            }
            self.refuse_forgotten(site, name, &[])?;
        }
        Ok(None)
    }

    /// Where a name is looked for.
    fn sites_for(&self, name: &PackageName, place: &Place, from: Option<&str>) -> Result<Vec<&Site>> {
        let bound = |site: &&Site| site.namespaces.iter().any(|one| one == place.namespace());
        let origin = from.filter(|from| is_registry(from) && !self.is_named);
        match (self.sites.iter().find(bound), origin) {
            (Some(site), Some(origin)) if site.address != origin => {
                Err(Error::new(Kind::Trust, format!("`{name}` came from another registry than it may"))
                    .because(format!(
                        "`ctxpkg.lock` says `{}`, and the config binds `{}` to `{}`",
                        printable(origin),
                        place.namespace(),
                        site.address
                    ))
                    .hint("nothing was changed: find out who changed the lock, or mend the config"))
            }
            (Some(site), _) => Ok(vec![site]),
            (None, Some(origin)) => {
                let known = self.sites.iter().find(|site| site.address == origin);
                // Nobody's lock makes this machine speak to a host that its user never named.
                known.map(|site| vec![site]).ok_or_else(|| {
                    Error::new(Kind::Trust, format!("`{name}` came from a registry that is not known here"))
                        .because(format!("`ctxpkg.lock` says `{}`", printable(origin)))
                        .hint(format!("if you know it, `--registry {}` asks it", printable(origin)))
                })
            }
            (None, None) => Ok(self.sites.iter().filter(|site| site.is_general).collect()),
        }
    }

    fn client(&self, site: &Site) -> Result<Client<'a>> {
        Client::new(self.session.context, &site.address, site.token.as_deref())
    }

    /// What a registry says, if it can be so.
    fn believe(&self, site: &Site, name: &PackageName, place: &Place, index: &PackageIndex) -> Result<Offer> {
        let lies = |why: String| {
            Error::new(Kind::Trust, format!("what `{}` says of `{name}` cannot be so", site.address))
                .because(printable(&why).into_owned())
                .hint("nothing was changed: do not trust this registry, or what stands between")
        };
        if (index.namespace.as_str(), index.name.as_str()) != (place.namespace(), place.name()) {
            return Err(lies(format!("it answers for `@{}/{}`", index.namespace, index.name)));
        }
        if index.versions.len() > MOST_VERSIONS {
            return Err(lies(format!("it says that there are {} versions", index.versions.len())));
        }
        let versions = index.versions.iter().map(read_version).collect::<std::result::Result<Vec<_>, String>>();
        let mut versions = versions.map_err(lies)?;
        versions.sort_by(|a, b| a.version.cmp(&b.version));
        if let Some(twice) = versions.windows(2).find(|pair| pair[0].version == pair[1].version) {
            return Err(lies(format!("it has {} twice", twice[0].version)));
        }
        let newest = latest(versions.iter().filter(|one| !one.yanked).map(|one| &one.version));
        if newest.map(PackageVersion::as_str) != index.latest.as_deref() {
            let (said, is) = (index.latest.as_deref().unwrap_or("none"), newest.map_or("none", PackageVersion::as_str));
            return Err(lies(format!(
                "it says that {said} is the newest that was not yanked, and by its list it is {is}"
            )));
        }
        self.refuse_forgotten(site, name, &versions)?;
        Ok(Offer { name: name.clone(), registry: site.address.clone(), place: place.clone(), versions })
    }

    /// What a registry had once, it has for ever, and as it was.
    fn refuse_forgotten(&self, site: &Site, name: &PackageName, versions: &[OfferedVersion]) -> Result<()> {
        let had = self.seen.registries.get(&site.address).and_then(|packages| packages.get(name));
        for (version, digest) in had.into_iter().flatten() {
            let now = versions.iter().find(|one| one.version.as_str() == version);
            let why = match now {
                Some(now) if now.digest == *digest => continue,
                Some(now) => format!("`{name} {version}` was {digest}, and is {} now", now.digest),
                None => format!("it had `{name} {version}` before, and does not know it any more"),
            };
            return Err(Error::new(Kind::Trust, format!("`{}` shows an old or another index", site.address))
                .because(why)
                .hint("nothing was changed: ask whoever runs it")
                .hint(format!("if it was set up anew, `sp login --anew {}` forgets what it had", site.address)));
        }
        Ok(())
    }

    fn remember(&mut self, offer: &Offer) {
        let packages = self.seen.registries.entry(offer.registry.clone()).or_default();
        let versions = packages.entry(offer.name.clone()).or_default();
        versions.extend(offer.versions.iter().map(|one| (one.version.to_string(), one.digest)));
    }

    /// What was seen, to be kept.
    pub(in crate::pkg) fn seen(&self) -> &Seen {
        &self.seen
    }

    /// The addresses that names are looked for at which are bound to none.
    pub(in crate::pkg) fn asked(&self) -> Vec<&str> {
        self.sites.iter().filter(|site| site.is_general).map(|site| site.address.as_str()).collect()
    }

    /// Gets versions, verifies their bytes, and holds against them what the registry said.
    pub(in crate::pkg) fn download(&self, wanted: &[(&Offer, &OfferedVersion)], keep: Keep) -> Result<Vec<Package>> {
        let packages: Vec<Result<Package>> =
            wanted.par_iter().map(|(offer, version)| self.download_one(offer, version, keep)).collect();
        packages.into_iter().collect()
    }

    fn download_one(&self, offer: &Offer, wanted: &OfferedVersion, keep: Keep) -> Result<Package> {
        let shown = format!("{} {}", offer.name, wanted.version);
        let most = self.session.limits.package_bytes;
        if wanted.bytes > most {
            return Err(Error::new(Kind::Data, format!("`{shown}` is larger than the limit of {most} bytes"))
                .because(format!("`{}` says that it has {}", offer.registry, wanted.bytes))
                .hint("raise it with `--max-size <bytes>` if you trust it"));
        }
        let site = self.sites.iter().find(|site| site.address == offer.registry);
        let site = site.ok_or_else(|| Error::new(Kind::Request, format!("`{}` is not known", offer.registry)))?;
        let (namespace, name, version) = (offer.place.namespace(), offer.place.name(), wanted.version.as_str());
        let path = format!("packages/{namespace}/{name}/{version}/download");
        let client = self.client(site)?;
        let mut partial = Partial::begin(self.session.context, shown.clone(), (wanted.digest, wanted.bytes), keep)?;
        let was_begun = partial.len() > 0;
        let mut marks = client.download(&path, &mut partial)?;
        if was_begun && !partial.is_right() {
            // What an earlier run left may be spoilt: that is nobody's lie.
            partial.restart();
            marks = client.download(&path, &mut partial)?;
        }
        let bytes = partial.finish()?;
        let lies = |why: String| {
            Error::new(Kind::Trust, format!("`{shown}` is not what `{}` says", offer.registry))
                .because(why)
                .hint("nothing was changed: do not trust this registry, or what stands between")
        };
        agree(&marks, wanted).map_err(lies)?;
        let read = sp_formats::package::read(&shown, bytes, &self.session.limits);
        let package = accept(self.session, read, &shown)?;
        is_same(&package, offer, wanted).map_err(lies)?;
        Ok(package)
    }
}

/// Whether where something came from is a registry.
pub(in crate::pkg) fn is_registry(from: &str) -> bool {
    from.starts_with("https://") || from.starts_with("http://")
}

fn read_version(item: &VersionItem) -> std::result::Result<OfferedVersion, String> {
    let version = PackageVersion::new(&item.version).map_err(|why| format!("`{}`: {why}", item.version))?;
    let digest = format!("sha256:{}", item.sha256).parse().map_err(|_| format!("the hash of {version} is none"))?;
    let key = |text: &String| PublicKey::from_hex(text).map_err(|why| format!("the signer of {version}: {why}"));
    let named = |text: &str| PackageName::new(text).map_err(|why| format!("`{text}`, which {version} names: {why}"));
    let needed = item.dependencies.iter().map(|needed| {
        Ok(Dependency { name: named(&needed.name)?, range: Range::new(&needed.range), optional: needed.optional })
    });
    Ok(OfferedVersion {
        digest,
        bytes: item.bytes,
        yanked: item.yanked,
        signer: item.signer.as_ref().map(key).transpose()?,
        dependencies: needed.collect::<std::result::Result<_, String>>()?,
        conflicts: item.conflicts.iter().map(|name| named(name)).collect::<std::result::Result<_, String>>()?,
        version,
    })
}

/// What stands beside the bytes must be what the index says.
fn agree(marks: &Marks, wanted: &OfferedVersion) -> std::result::Result<(), String> {
    match (&marks.sha256, marks.yanked) {
        (Some(hash), _) if *hash != wanted.digest.hex() => {
            Err(format!("its index names {}, and beside the bytes stands {}", wanted.digest, printable(hash)))
        }
        (_, Some(true)) if !wanted.yanked => {
            Err("it was yanked, and the index does not say so: if that was just now, try again".into())
        }
        _ => Ok(()),
    }
}

/// What a package says of itself must be what the index says of it.
fn is_same(package: &Package, offer: &Offer, wanted: &OfferedVersion) -> std::result::Result<(), String> {
    let manifest = &package.manifest;
    if (&manifest.name, &manifest.version) != (&offer.name, &wanted.version) {
        return Err(format!("the package is `{} {}`", manifest.name, manifest.version));
    }
    let signer = package.signer.map(|signer| signer.key);
    if signer != wanted.signer {
        let shown = |key: Option<PublicKey>| key.map_or_else(|| "nobody".into(), |key| key.to_string());
        return Err(format!("it is signed by {}, and the index says {}", shown(signer), shown(wanted.signer)));
    }
    if manifest.dependencies != wanted.dependencies || manifest.conflicts != wanted.conflicts {
        return Err("it needs or excludes other packages than the index says".into());
    }
    Ok(())
}
