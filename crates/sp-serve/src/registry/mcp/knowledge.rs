//! What packages of the registry know, for `load_context` and `graph_neighbors`.

use crate::mcp::Call;
use crate::mcp::knowledge::{Knowledge, Loading};
use sp_engine::graph::{Question, Shape};
use sp_engine::pkg::{Query, best_of, load_packages, named, query_packages};
use sp_engine::{Error, Kind, Result};
use sp_formats::output::{GraphView, PackageLoaded};
use sp_formats::package::{self, Package, PackageName, PackageVersion, Range};
use sp_formats::printable::printable;
use sp_formats::registry::{Place, VersionItem};
use sp_tree::{Digest, from_hex};

use super::RegistryShelf;

/// Packages that are asked together have so many bytes at the most.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

impl Knowledge for RegistryShelf {
    fn load(&self, packages: &[String], wanted: Loading, _: &Call) -> Result<PackageLoaded> {
        let packages = self.read_packages(packages)?;
        let question = Question { budget: wanted.budget, focus: &wanted.focus, at: self.now() };
        load_packages(self.store.stock.skills.limits(), packages, &question, Shape::Markdown)
    }

    fn query(&self, packages: &[String], query: Query, _: &Call) -> Result<GraphView> {
        let packages = self.read_packages(packages)?;
        query_packages(self.store.stock.skills.limits(), packages, &query, self.now())
    }
}

impl RegistryShelf {
    /// The packages that are named, verified.
    fn read_packages(&self, names: &[String]) -> Result<Vec<Package>> {
        if names.is_empty() {
            return Err(Error::new(Kind::Usage, "no package is named")
                .hint("`search` finds packages; name them as `@acme/notes` or `@acme/notes@^1`"));
        }
        let chosen: Vec<(&String, VersionItem)> =
            names.iter().map(|name| Ok((name, self.version_meant(name)?))).collect::<Result<_>>()?;
        let bytes: u64 = chosen.iter().map(|(_, version)| version.bytes).sum();
        if bytes > MOST_BYTES {
            let message = format!("these packages have {bytes} bytes, and {MOST_BYTES} can be asked together");
            return Err(Error::new(Kind::Request, message).hint("name fewer packages"));
        }
        chosen.into_iter().map(|(name, version)| self.read_package(name, &version)).collect()
    }

    /// The version that a name, perhaps with a range, means.
    fn version_meant(&self, text: &str) -> Result<VersionItem> {
        let (name, range) = named(text)?;
        let place = Place::of(&name).map_err(|why| {
            Error::new(Kind::Request, format!("`{name}` cannot be in a registry"))
                .because(why)
                .hint("name it as `@acme/notes`")
        })?;
        let found = self.ask(|database, reader| database.versions(&place, reader))?;
        let versions = found.ok_or_else(|| not_there(text))?.versions.into_iter();
        let versions: Vec<(PackageVersion, VersionItem)> =
            versions.filter_map(|item| Some((PackageVersion::new(&item.version).ok()?, item))).collect();
        let best = best_of(versions.iter(), |(version, item)| (version, item.yanked), range.as_ref());
        let best = best.map(|(_, item)| item.clone());
        best.ok_or_else(|| none_fits(&name, range.as_ref(), &versions))
    }

    fn read_package(&self, name: &str, version: &VersionItem) -> Result<Package> {
        let digest = from_hex(&version.sha256).map(Digest::from_bytes).ok_or_else(|| not_there(name))?;
        let bytes = self.object(&digest)?.ok_or_else(|| not_there(name))?;
        package::read("package", bytes, self.store.stock.skills.limits()).package.ok_or_else(|| not_there(name))
    }
}

fn not_there(name: &str) -> Error {
    Error::new(Kind::Request, format!("there is no package `{}` here", printable(name)))
        .hint("`search` finds those that you may see")
}

fn none_fits(name: &PackageName, range: Option<&Range>, all: &[(PackageVersion, VersionItem)]) -> Error {
    let versions: Vec<&str> = all.iter().map(|(version, _)| version.as_str()).collect();
    let message = match range {
        Some(range) => format!("no version of `{name}` fits `{}`", printable(range.as_str())),
        None => format!("every version of `{name}` was yanked"),
    };
    Error::new(Kind::Request, message).hint(format!("there are: {}", versions.join(", ")))
}
