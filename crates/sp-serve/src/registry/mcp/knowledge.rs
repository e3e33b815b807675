//! Graph queries on the packages of the registry, for `load_context` and `graph_neighbors`.

use sp_engine::graph::{ContextFormat, SelectionQuery};
use sp_engine::pkg::{
    GraphQuery, load_packages, parse_versioned_name, query_packages, select_best_version,
};
use sp_engine::{Error, ErrorCode, Result};
use sp_formats::output::{GraphView, PackageLoadReport};
use sp_formats::package::{self, Package, PackageName, PackageVersion, VersionRange};
use sp_formats::printable::printable;
use sp_formats::registry::{PackageVersionItem, RegistryPackageName};
use sp_formats::text::OverLimit;
use sp_tree::{Digest, from_hex};

use super::RegistryBackend;
use crate::mcp::ToolCall;
use crate::mcp::knowledge::{KnowledgeBackend, KnowledgeLoadRequest};

/// Maximum total size of the packages of one query.
const MAX_PACKAGE_BYTES: u64 = 64 * 1024 * 1024;

impl KnowledgeBackend for RegistryBackend {
    fn load(
        &self,
        packages: &[String],
        request: KnowledgeLoadRequest,
        _: &ToolCall,
    ) -> Result<PackageLoadReport> {
        let packages = self.read_packages(packages)?;
        let question =
            SelectionQuery { budget: request.budget, focus: &request.focus, at: self.now() };
        load_packages(
            self.cache.stores.skills.limits(),
            packages,
            &question,
            ContextFormat::Markdown,
        )
    }

    fn query(&self, packages: &[String], query: GraphQuery, _: &ToolCall) -> Result<GraphView> {
        let packages = self.read_packages(packages)?;
        query_packages(self.cache.stores.skills.limits(), packages, &query, self.now())
    }
}

impl RegistryBackend {
    /// Resolves, reads and verifies packages.
    fn read_packages(&self, names: &[String]) -> Result<Vec<Package>> {
        if names.is_empty() {
            return Err(Error::new(ErrorCode::MissingArgument, "no packages given").hint(
                "find packages with `search`, and pass names such as `@acme/notes` or \
                     `@acme/notes@^1`",
            ));
        }
        let chosen: Vec<(&String, PackageVersionItem)> = names
            .iter()
            .map(|name| Ok((name, self.resolve_version(name)?)))
            .collect::<Result<_>>()?;
        let bytes: u64 = chosen.iter().map(|(_, version)| version.bytes).sum();
        if bytes > MAX_PACKAGE_BYTES {
            let message = format!(
                "the packages together are {}",
                OverLimit { bytes, limit: MAX_PACKAGE_BYTES }
            );
            return Err(
                Error::new(ErrorCode::ResponseTooLarge, message).hint("pass fewer packages")
            );
        }
        chosen.into_iter().map(|(name, version)| self.read_package(name, &version)).collect()
    }

    /// Resolves a package name with an optional version range.
    fn resolve_version(&self, text: &str) -> Result<PackageVersionItem> {
        let (name, range) = parse_versioned_name(text)?;
        let package = RegistryPackageName::from_package_name(&name).map_err(|why| {
            Error::new(ErrorCode::Unsupported, format!("invalid registry package name `{name}`"))
                .because(why)
                .hint("use a name such as `@acme/notes`")
        })?;
        let found = self.with_database(|database, reader| database.versions(&package, reader))?;
        let versions = found.ok_or_else(|| package_not_found(text))?.versions.into_iter();
        let versions: Vec<(PackageVersion, PackageVersionItem)> = versions
            .filter_map(|item| Some((PackageVersion::new(&item.version).ok()?, item)))
            .collect();
        let best = select_best_version(
            versions.iter(),
            |(version, item)| (version, item.yanked),
            range.as_ref(),
        );
        let best = best.map(|(_, item)| item.clone());
        best.ok_or_else(|| no_matching_version(&name, range.as_ref(), &versions))
    }

    fn read_package(&self, name: &str, version: &PackageVersionItem) -> Result<Package> {
        let digest = from_hex(&version.sha256)
            .map(Digest::from_bytes)
            .ok_or_else(|| package_not_found(name))?;
        let bytes = self.read_object(&digest)?;
        package::read("package", bytes, self.cache.stores.skills.limits())
            .package
            .ok_or_else(|| package_not_found(name))
    }
}

fn package_not_found(name: &str) -> Error {
    Error::new(ErrorCode::PackageNotFound, format!("package `{}` not found", printable(name)))
        .hint("use `search` to find packages")
}

fn no_matching_version(
    name: &PackageName,
    range: Option<&VersionRange>,
    all: &[(PackageVersion, PackageVersionItem)],
) -> Error {
    let versions: Vec<&str> = all.iter().map(|(version, _)| version.as_str()).collect();
    let message = match range {
        Some(range) => format!("no version of `{name}` matches `{}`", printable(range.as_str())),
        None => format!("all versions of `{name}` are yanked"),
    };
    Error::new(ErrorCode::VersionNotFound, message)
        .hint(format!("available versions: {}", versions.join(", ")))
}
