//! `sp pkg export`: writes a package to a file.

use std::path::PathBuf;

use sp_formats::output::PackageExportReport;
use sp_formats::package::{Package, write_lean_ctx_compatible};
use sp_tree::atomic::{FileAccess, OutputFile};
use sp_tree::read_optional;

use super::keys::find_private_key;
use super::load_package::load_package;
use super::package_spec::PackageSpec;
use super::package_store::read_store_index;
use super::write_error::write_error;
use crate::context::{Context, Event};
use crate::error::Result;
use crate::output_file::{OUTPUT_OR_FORCE_HINT, Overwrite, write_output_file};
use crate::session::Session;

/// The arguments of `sp pkg export`.
#[derive(Debug, Clone)]
pub struct ExportRequest {
    pub package: String,
    /// The output file. The default is `<name>-<version>.ctxpkg` in the current directory.
    pub output: Option<PathBuf>,
    pub overwrite: Overwrite,
    pub compat: ExportCompat,
}

/// The tool that must be able to read an exported package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportCompat {
    /// Any tool: the package is exported byte for byte.
    None,
    /// lean-ctx, which refuses layers that it does not know.
    LeanCtx,
}

/// Writes a package to a file. A file that already has these bytes is left alone.
pub fn export(context: &Context<'_>, request: &ExportRequest) -> Result<PackageExportReport> {
    let session = Session::begin(context)?;
    let index = read_store_index(context)?;
    let spec = PackageSpec::parse(&session, &request.package)?;
    let package = load_package(&session, &index, &spec)?.package;
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
    let existing = read_optional(&path, session.limits.package_bytes.max(text.len() as u64) + 1);
    if !existing.is_ok_and(|bytes| bytes.as_deref() == Some(text.as_bytes())) {
        let file = OutputFile {
            bytes: text.as_bytes(),
            access: FileAccess::Ordinary,
            if_exists: request.overwrite.into(),
        };
        write_output_file(context, &path, file, OUTPUT_OR_FORCE_HINT)?;
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
            "the exported signature covers only the content, because the manifest changes and the \
             signing key is not on this machine"
                .into(),
        ));
    }
    write_lean_ctx_compatible(package, key.as_ref(), &session.limits).map_err(write_error)
}
