//! `sp pkg import`: adds package files to the store.

use std::path::PathBuf;

use sp_formats::output::StoredPackageList;
use sp_formats::package::RecordedSource;

use super::load_package::load_file;
use super::package_gate::PackageGate;
use super::package_store::{LoadedPackage, PackageStore};
use super::trust::TrustOverrides;
use crate::content_gate::GatePosition;
use crate::context::Context;
use crate::error::Result;
use crate::home::LockedHome;
use crate::install::accepted_findings::plan_accepted_findings;
use crate::install::change::ChangeExecutor;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// The arguments of `sp pkg import`.
#[derive(Debug, Clone)]
pub struct ImportRequest {
    pub files: Vec<PathBuf>,
    pub trust: TrustOverrides,
    pub apply: ApplyOptions,
}

/// Adds packages to the store, all or none.
pub fn import(context: &Context<'_>, request: &ImportRequest) -> Result<StoredPackageList> {
    let session = Session::begin(context)?;
    let packages: Vec<LoadedPackage> = request
        .files
        .iter()
        .map(|file| {
            let path = context.expand(&file.to_string_lossy());
            let package = load_file(&session, &path)?.into();
            Ok(LoadedPackage {
                package,
                source: RecordedSource::Other(context.display_path(&path)),
            })
        })
        .collect::<Result<_>>()?;
    let options = request.apply;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, options.mode)?;
    PackageGate {
        session: &session,
        root: None,
        home: home.as_ref(),
        position: GatePosition::Last,
    }
    .check(&packages)?;
    let mut store = PackageStore::open(&session)?;
    let packages = store.add(&packages, request.trust)?;
    let executor = ChangeExecutor { session: &session, home: home.as_ref(), options };
    let accepted = plan_accepted_findings(&session, None, &context.current_dir)?;
    Ok(StoredPackageList { status: store.save_and_write(&executor, accepted)?, packages })
}
