//! Packages of the store: put there, taken out, looked at.

use std::path::{Path, PathBuf};

use sp_formats::output::{
    PackageDependencyItem, PackageExportReport, PackageFileItem, PackageInfo, PackageItem,
    PackageList, PackageLog, PackageRemoveReport, StoredPackageItem, StoredPackageList, TypeCount,
};
use sp_formats::package::store::StoredPackage;
use sp_formats::package::{Package, PackageName, Provenance, read, write_lean_ctx_compatible};
use sp_tree::atomic::{self, ExistingFilePolicy, FileAccess, OutputFile};
use sp_tree::{Name, read_optional};

use super::keys::find_private_key;
use super::package_spec::{PackageSpec, load_file, load_stored, require_package};
use super::package_store::{
    PackageStore, find_best_stored, package_item, read_blob, read_store_index,
    unstored_package_item, waiting_id, waiting_item,
};
use super::project::PackageProject;
use super::trust::{TrustOverrides, check_signer, record_signer};
use crate::apply_mode::ApplyMode;
use crate::context::{Context, Event};
use crate::error::{Error, FailureKind, Result};
use crate::home::LockedHome;
use crate::session::Session;

/// What `sp pkg import` takes.
#[derive(Debug, Clone)]
pub struct ImportRequest {
    /// The files.
    pub files: Vec<PathBuf>,
    /// What is accepted for once.
    pub trust: TrustOverrides,
}

/// What `sp pkg export` gives.
#[derive(Debug, Clone)]
pub struct ExportRequest {
    /// The package.
    pub package: String,
    /// The file, if it is not to be called as the package is.
    pub output: Option<PathBuf>,
    /// Whether a file that is there may be replaced.
    pub overwrite: Overwrite,
    /// For whom it is.
    pub compat: ExportCompat,
}

/// Whether a file that is there may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// No.
    Refuse,
    /// Yes.
    Allow,
}

/// For whom a package is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportCompat {
    /// For anybody: to the letter.
    None,
    /// For lean-ctx, which refuses a layer that it does not know.
    LeanCtx,
}

/// Puts packages into the store, all or none.
pub fn import(context: &Context<'_>, request: &ImportRequest) -> Result<StoredPackageList> {
    let session = Session::begin(context)?;
    let packages: Vec<(Package, String)> = request
        .files
        .iter()
        .map(|file| {
            let path = context.expand(&file.to_string_lossy());
            Ok((load_file(&session, &path)?, context.display_path(&path)))
        })
        .collect::<Result<_>>()?;
    let home = LockedHome::open(context, &session.limits)?;
    let mut stock = PackageStore::open(&session)?;
    let taken = add_packages(&session, &mut stock, &packages, request.trust)?;
    stock.save(&home)?;
    Ok(taken)
}

/// Judges packages and puts them on the shelf; nothing is written yet.
pub(super) fn add_packages(
    session: &Session<'_>,
    stock: &mut PackageStore<'_>,
    packages: &[(Package, String)],
    accepted: TrustOverrides,
) -> Result<StoredPackageList> {
    let mut taken = Vec::new();
    for (package, from) in packages {
        let standing = check_signer(session, &stock.trust, package, accepted)?;
        record_signer(session, stock, package, &standing);
        warn_if_older(stock, package);
        let (stored, new) = stock.put(package, from)?;
        taken.push(StoredPackageItem { package: package_item(&stored), new, file: None });
    }
    Ok(StoredPackageList { packages: taken })
}

/// An old version that comes after a newer one may be somebody's way back to a known weakness.
fn warn_if_older(stock: &mut PackageStore<'_>, package: &Package) {
    let manifest = &package.manifest;
    let newest = find_best_stored(&stock.index, &manifest.name, None)
        .ok()
        .map(|newest| newest.version.clone());
    if let Some(newest) = newest.filter(|newest| *newest > manifest.version) {
        stock.defer_event(Event::Warning(format!(
            "`{} {}` is older than {newest}, which is in the store and stays the one that is chosen",
            manifest.name, manifest.version
        )));
    }
}

/// What is to become of a package that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewDecision {
    /// It goes into the store.
    Accept,
    /// It goes away.
    Reject,
}

/// Takes or refuses a package that was received and waits.
pub fn review_waiting_package(
    context: &Context<'_>,
    id: &str,
    answer: ReviewDecision,
    accepted: TrustOverrides,
) -> Result<StoredPackageList> {
    let session = Session::begin(context)?;
    let home = LockedHome::open(context, &session.limits)?;
    let mut stock = PackageStore::open(&session)?;
    let found = stock.index.waiting.iter().position(|waiting| waiting_id(waiting) == id);
    let at = found.ok_or_else(|| {
        let ids: Vec<String> = stock.index.waiting.iter().map(waiting_id).collect();
        let error =
            Error::new(FailureKind::Request, format!("no package called `{id}` is waiting"));
        match ids.is_empty() {
            true => error.hint("nothing is waiting"),
            false => error.hint(format!("waiting: {}", ids.join(", "))),
        }
    })?;
    let waiting = stock.index.waiting.remove(at);
    let taken = match answer {
        ReviewDecision::Reject => StoredPackageList { packages: Vec::new() },
        ReviewDecision::Accept => {
            let bytes = read_blob(context, &waiting.digest)?;
            let shown = format!("{} {}", waiting.name, waiting.version);
            let package = require_package(&session, read(&shown, bytes, &session.limits), &shown)?;
            add_packages(
                &session,
                &mut stock,
                &[(package, format!("sent by {}", waiting.sender))],
                accepted,
            )?
        }
    };
    stock.save(&home)?;
    Ok(taken)
}

/// The packages of the store.
pub fn list(context: &Context<'_>, root: Option<&Path>) -> Result<PackageList> {
    let session = Session::begin(context)?;
    let shelf = read_store_index(context)?;
    let project = PackageProject::find(&session, root)?;
    let packages = shelf.packages.iter().map(|stored| item_for_project(&project, stored)).collect();
    Ok(PackageList { packages, waiting: shelf.waiting.iter().map(waiting_item).collect() })
}

fn item_for_project(project: &PackageProject, stored: &StoredPackage) -> PackageItem {
    let locked = project.lock.packages.get(&stored.name);
    PackageItem {
        installed: locked.is_some_and(|locked| locked.version == stored.version),
        ..package_item(stored)
    }
}

/// Everything about a package.
pub fn info(context: &Context<'_>, subject: &str) -> Result<PackageInfo> {
    let session = Session::begin(context)?;
    let shelf = read_store_index(context)?;
    let subject = PackageSpec::parse(&session, subject)?;
    let (package, item) = match &subject {
        PackageSpec::File(path) => {
            let package = load_file(&session, path)?;
            let item = unstored_package_item(context, &package);
            (package, item)
        }
        PackageSpec::Named(name, range) => {
            let stored = find_best_stored(&shelf, name, range.as_ref())?;
            (load_stored(&session, stored)?, package_item(stored))
        }
    };
    let graph = package.graph();
    let manifest = &package.manifest;
    let made_by = |provenance: &Provenance| {
        format!("{} {}", provenance.tool, provenance.tool_version).trim_end().to_owned()
    };
    let files = package.documents.iter().flat_map(|documents| {
        documents.files().map(|(path, _, bytes)| PackageFileItem {
            path: path.to_string(),
            size: bytes.len() as u64,
        })
    });
    Ok(PackageInfo {
        schema_version: manifest.schema,
        conformance_level: manifest.level,
        author: manifest.author.clone(),
        made_by: manifest.provenance.as_ref().map(made_by),
        layers: manifest.layers.iter().map(|(layer, _)| layer.clone()).collect(),
        tags: manifest.tags.clone(),
        node_types: count_by_type(graph.nodes.iter().map(|node| &*node.kind)),
        edge_types: count_by_type(graph.edges.iter().map(|edge| &*edge.kind)),
        dependencies: manifest
            .dependencies
            .iter()
            .map(|one| PackageDependencyItem {
                name: one.name.to_string(),
                range: one.range.to_string(),
                optional: one.optional,
            })
            .collect(),
        conflicts: manifest.conflicts.iter().map(ToString::to_string).collect(),
        files: files.collect(),
        package: item,
    })
}

fn count_by_type<'a>(kinds: impl Iterator<Item = &'a str>) -> Vec<TypeCount> {
    let mut counts: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    kinds.for_each(|kind| *counts.entry(kind).or_default() += 1);
    counts.into_iter().map(|(kind, count)| TypeCount { kind: kind.into(), count }).collect()
}

/// Writes a package of the store into a file, to the letter.
pub fn export(context: &Context<'_>, request: &ExportRequest) -> Result<PackageExportReport> {
    let session = Session::begin(context)?;
    let shelf = read_store_index(context)?;
    let (package, _) = PackageSpec::parse(&session, &request.package)?.load(&session, &shelf)?;
    let manifest = &package.manifest;
    let text = match request.compat {
        ExportCompat::None => package.text().to_string(),
        ExportCompat::LeanCtx => to_lean_ctx(&session, &package)?,
    };
    let path = match &request.output {
        Some(path) => context.absolute(path),
        None => context.current_dir.join(format!(
            "{}-{}.ctxpkg",
            manifest.name.file_stem(),
            manifest.version
        )),
    };
    let existing = match request.overwrite {
        Overwrite::Refuse => ExistingFilePolicy::Refuse,
        Overwrite::Allow => ExistingFilePolicy::Replace,
    };
    let same = read_optional(&path, session.limits.package_bytes.max(text.len() as u64) + 1);
    if !same.is_ok_and(|bytes| bytes.as_deref() == Some(text.as_bytes())) {
        write_output_file(
            context,
            &path,
            OutputFile {
                bytes: text.as_bytes(),
                access: FileAccess::Ordinary,
                if_exists: existing,
            },
            OUTPUT_OR_FORCE_HINT,
        )?;
    }
    Ok(PackageExportReport {
        name: manifest.name.to_string(),
        version: manifest.version.to_string(),
        size: text.len() as u64,
        file: path.canonicalize().unwrap_or(path),
    })
}

fn to_lean_ctx(session: &Session<'_>, package: &Package) -> Result<String> {
    let key = package
        .signer
        .map(|signer| find_private_key(session.context, &signer.key))
        .transpose()?
        .flatten();
    if package.signer.is_some() && key.is_none() {
        session.context.emit(Event::Warning(
            "its manifest changes, and the key that signed it is not here: the signature covers the content alone"
                .into(),
        ));
    }
    write_lean_ctx_compatible(package, key.as_ref(), &session.limits)
        .map_err(super::create::write_error)
}

/// What to do about a file that is there, for commands that have both flags.
pub(crate) const OUTPUT_OR_FORCE_HINT: &str =
    "choose another file with `--output`, or add `--force` to replace this one";

/// Writes a file where the user wants it, whole or not at all. If the file is there and must stay, `hint` says what to
/// do, by flags that the command has.
pub(crate) fn write_output_file(
    context: &Context<'_>,
    path: &Path,
    delivery: OutputFile<'_>,
    hint: &str,
) -> Result<()> {
    let temp = Name::new(&format!(".{}.sp-new", context.run_id))
        .map_err(|e| Error::new(FailureKind::Usage, e.to_string()))?;
    atomic::write_output(path, &temp, delivery).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Error::new(
            FailureKind::Request,
            format!("`{}` is there already", context.display_path(path)),
        )
        .hint(hint),
        _ => error.into(),
    })
}

/// Takes packages out of the store; with a name alone, every version of it.
pub fn remove(
    context: &Context<'_>,
    names: &[String],
    mode: ApplyMode,
) -> Result<PackageRemoveReport> {
    let session = Session::begin(context)?;
    let home = LockedHome::open(context, &session.limits)?;
    let mut stock = PackageStore::open(&session)?;
    let mut removed = Vec::new();
    for text in names {
        let PackageSpec::Named(name, range) = PackageSpec::parse(&session, text)? else {
            return Err(Error::new(
                FailureKind::Usage,
                format!("`{text}` is a file, and not a package of the store"),
            )
            .hint("name the package: `sp pkg list` shows them"));
        };
        let goes = |stored: &StoredPackage| {
            stored.name == name
                && range.as_ref().is_none_or(|range| {
                    range.matches(&stored.version) || range.is_exactly(&stored.version)
                })
        };
        let found: Vec<StoredPackage> =
            stock.index.packages.iter().filter(|stored| goes(stored)).cloned().collect();
        if found.is_empty() {
            find_best_stored(&stock.index, &name, range.as_ref())?;
        }
        stock.index.packages.retain(|stored| !goes(stored));
        removed.extend(found.iter().map(package_item));
    }
    if mode == ApplyMode::Apply {
        stock.save(&home)?;
    }
    Ok(PackageRemoveReport { removed })
}

/// The versions of a package, the newest first.
pub fn log(context: &Context<'_>, root: Option<&Path>, name: &str) -> Result<PackageLog> {
    let session = Session::begin(context)?;
    let shelf = read_store_index(context)?;
    let project = PackageProject::find(&session, root)?;
    let named = PackageName::new(name).map_err(|why| {
        Error::new(FailureKind::Usage, format!("`{name}` is no name of a package"))
            .because(why)
            .hint("name one without a version")
    })?;
    let versions: Vec<&StoredPackage> =
        shelf.packages.iter().filter(|stored| stored.name == named).rev().collect();
    let known = shelf.known.get(&named);
    if versions.is_empty() && known.is_none() {
        find_best_stored(&shelf, &named, None)?;
    }
    let gone = |version: &&String| {
        !versions.iter().any(|stored| stored.version.as_str() == version.as_str())
    };
    let removed =
        known.into_iter().flat_map(|versions| versions.keys()).filter(gone).cloned().collect();
    let versions = versions.iter().map(|stored| item_for_project(&project, stored)).collect();
    Ok(PackageLog { name: name.into(), versions, removed })
}
