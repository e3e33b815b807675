//! `sp search`: searches a registry for packages.

use sp_formats::output::RegistrySearchReport;
use sp_formats::percent::{self, COMPONENT};
use sp_formats::registry::RegistrySearchResponse;

use crate::context::Context;
use crate::error::Result;
use crate::registry::{RegistryRequest, connect};
use crate::session::Session;

/// Searches a registry for packages.
pub fn search(
    context: &Context<'_>,
    query: &str,
    registry: Option<&str>,
) -> Result<RegistrySearchReport> {
    let session = Session::begin(context)?;
    let client = connect(&session, registry)?;
    let address = client.address().to_owned();
    let escaped = percent::encode(query, COMPONENT);
    let response: RegistrySearchResponse =
        client.execute(&RegistryRequest::get(&format!("search?q={escaped}")))?.json()?;
    Ok(RegistrySearchReport { registry: address, query: query.into(), packages: response.packages })
}
