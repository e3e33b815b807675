//! `sp uninstall`: deletes exactly what is recorded.

use sp_formats::output::ChangeReport;

use crate::config::Session;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::home::{Indexes, read_state};
use crate::install::{Mode, Terms, change, distinct};
use crate::plan::{Others, Places, Replace, Wanted};
use crate::plan_id::PlanId;
use crate::sinks::{Sink, SinkRequest, find};

/// What is to be uninstalled from where.
#[derive(Debug, Clone)]
pub struct UninstallRequest {
    /// The packs, by name.
    pub packs: Vec<String>,
    /// The sinks.
    pub sinks: Vec<SinkRequest>,
    /// Whether it is done.
    pub mode: Mode,
    /// The plan that was shown: another is refused.
    pub plan: Option<PlanId>,
}

/// Uninstalls packs from sinks. Neither the repository nor the pack file need exist any more.
pub fn uninstall(context: &Context<'_>, request: &UninstallRequest) -> Result<ChangeReport> {
    let session = Session::begin(context)?;
    let sinks = distinct(request.sinks.iter().map(|sink| find(&session, sink)).collect::<Result<_>>()?);
    let state = read_state(context)?;
    for (sink, pack) in sinks.iter().flat_map(|sink| request.packs.iter().map(move |pack| (sink, pack))) {
        let here: Vec<&str> =
            state.installs.iter().filter(|install| sink.has(install)).map(|install| install.pack.as_str()).collect();
        if !here.contains(&pack.as_str()) {
            return Err(not_installed(context, sink, pack, &here));
        }
    }
    let wanted = Wanted {
        packs: &[],
        removed: request.packs.clone(),
        others: Others::Stay,
        replace: Replace::Refuse,
        places: Places::Everywhere,
    };
    let terms = Terms { mode: request.mode, shown: request.plan };
    change(&session, &sinks, &wanted, terms, &mut Indexes::new(context))
}

fn not_installed(context: &Context<'_>, sink: &Sink, pack: &str, here: &[&str]) -> Error {
    let error = Error::new(Kind::Request, format!("`{pack}` is not installed in `{}`", context.show(&sink.path)));
    match here {
        [] => error.hint("nothing is installed there; `sp installed` lists all sinks"),
        here => error.hint(format!("installed there: {}", here.join(", "))),
    }
}
