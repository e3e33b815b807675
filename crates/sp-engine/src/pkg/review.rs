//! `sp pkg inbox`: accepts or rejects packages that were received and wait for review.

use sp_formats::output::StoredPackageList;
use sp_formats::package::{RecordedSource, read_hashed};
use sp_formats::suggest::list_few;

use super::items::waiting_id;
use super::load_package::require_package;
use super::package_gate::PackageGate;
use super::package_store::{LoadedPackage, PackageStore, read_blob};
use super::trust::TrustOverrides;
use crate::content_gate::GatePosition;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::home::LockedHome;
use crate::install::change::ChangeExecutor;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// What happens to a waiting package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewDecision {
    /// Add it to the store.
    Accept,
    /// Delete it.
    Reject,
}

/// Accepts or rejects the waiting package with this ID.
pub fn review_waiting_package(
    context: &Context<'_>,
    id: &str,
    decision: ReviewDecision,
    trust: TrustOverrides,
    apply: ApplyOptions,
) -> Result<StoredPackageList> {
    let session = Session::begin(context)?;
    let home = LockedHome::open_unless_dry_run(context, &session.limits, apply.mode)?;
    let mut store = PackageStore::open(&session)?;
    let position = store.index.waiting.iter().position(|waiting| waiting_id(waiting) == id);
    let position = position.ok_or_else(|| unknown_id_error(&store, id))?;
    let waiting = store.index.waiting.remove(position);
    let packages = match decision {
        ReviewDecision::Reject => Vec::new(),
        ReviewDecision::Accept => {
            let bytes = read_blob(context, &waiting.digest)?;
            let label = format!("{} {}", waiting.name, waiting.version);
            let result = read_hashed(&label, bytes, &session.limits);
            let package = require_package(&session, result, &label)?.into();
            let source = RecordedSource::Other(format!("sent by {}", waiting.sender));
            let packages = [LoadedPackage { package, source }];
            let (home, position) = (home.as_ref(), GatePosition::Last);
            PackageGate { session: &session, root: None, home, position }.check(&packages)?;
            store.add(&packages, trust)?
        }
    };
    let executor = ChangeExecutor { session: &session, home: home.as_ref(), options: apply };
    Ok(StoredPackageList { status: store.save_with(&executor)?, packages })
}

fn unknown_id_error(store: &PackageStore<'_>, id: &str) -> Error {
    let ids: Vec<String> = store.index.waiting.iter().map(waiting_id).collect();
    let error =
        Error::new(ErrorCode::PackageNotFound, format!("no package `{id}` is waiting for review"));
    if ids.is_empty() {
        error.hint("run `sp pkg inbox` to list waiting packages; there are none at the moment")
    } else {
        error.hint(format!("waiting for review: {}", list_few(&ids)))
    }
}
