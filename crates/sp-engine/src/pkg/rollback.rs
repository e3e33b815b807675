//! `sp pkg rollback`: a project, or the store, as it was before.

use std::collections::BTreeSet;

use sp_formats::output::{FolderAction, PackageChange, PackageChangeItem};
use sp_formats::package::lock::{History, Past};
use sp_formats::package::{PackageName, PackageVersion, Range};

use super::install::InstallPackages;
use super::project::Project;
use super::shelf::{Stock, best, read_shelf};
use super::solve::Wanted as Asked;
use super::work::Work;
use crate::config::Session;
use crate::context::Context;
use crate::error::{Error, Kind, Result};
use crate::home::Home;
use crate::install::Mode;

/// Goes back: a project to an earlier version of a package, or to all that it had before; the store to an earlier version.
pub fn rollback(
    context: &Context<'_>,
    name: Option<&str>,
    to: Option<&str>,
    request: &InstallPackages,
) -> Result<PackageChange> {
    let session = Session::begin(context)?;
    let home = Home::open_for(context, &session.limits, request.mode)?;
    let project = Project::find(&session, request.root.as_deref())?;
    let history = project.history(&session)?;
    let Some(text) = name else {
        let work = Work::new(&session, home.as_ref(), project, request)?;
        return roll_back_all(work, &history);
    };
    let named = PackageName::new(text)
        .map_err(|why| Error::new(Kind::Usage, format!("`{text}` is no name of a package")).because(why))?;
    if !project.lock.packages.contains_key(&named) {
        return roll_back_store(&session, home.as_ref(), (&named, to), request.mode);
    }
    let work = Work::new(&session, home.as_ref(), project, request)?;
    roll_back_one(work, &history, named, to)
}

/// The project as it was before its last change.
fn roll_back_all(mut work: Work<'_>, history: &History) -> Result<PackageChange> {
    let past = history.entries.last().ok_or_else(|| {
        Error::new(Kind::Request, "this project has no earlier state")
            .hint("`sp pkg rollback <name>` goes back in the store")
    })?;
    let exactly = past.lock.packages.iter().map(|(name, locked)| (name.clone(), Range::exactly(&locked.version)));
    let wanted = Asked { requests: exactly.collect(), ..Asked::default() };
    work.back_to = Some(history.entries.len() - 1);
    work.past_sinks.clone_from(&past.sinks);
    let world = work.world();
    work.apply(&world, &wanted, &past.lock.requests, &BTreeSet::new())
}

/// One package of the project in the version that it had before, or in one that is named.
fn roll_back_one(mut work: Work<'_>, history: &History, name: PackageName, to: Option<&str>) -> Result<PackageChange> {
    let now = work.project.lock.packages.get(&name).map(|locked| &locked.version);
    let version_in = |past: &Past| past.lock.packages.get(&name).map(|locked| locked.version.clone());
    let other = |past: &Past| version_in(past).filter(|version| Some(version) != now);
    let earlier = history.entries.iter().enumerate().rev().find_map(|(at, past)| Some((at, other(past)?)));
    let target = match (to, earlier) {
        (Some(version), _) => PackageVersion::new(version)
            .map_err(|why| Error::new(Kind::Usage, format!("`{version}` is no version")).because(why))?,
        (None, Some((at, version))) => {
            work.back_to = Some(at);
            version
        }
        (None, None) => {
            return Err(Error::new(Kind::Request, format!("this project never had another version of `{name}`"))
                .hint(format!("name one with `--to`; `sp pkg log {name}` lists them")));
        }
    };
    let mut stays = work.project.lock.requests.clone();
    // What only others asked for does not become something that was asked for.
    if let Some(range) = stays.get_mut(&name) {
        *range = Range::exactly(&target);
    }
    let mut requests = stays.clone();
    requests.insert(name.clone(), Range::exactly(&target));
    let mut preferred = work.locked_versions();
    preferred.remove(&name);
    let wanted = Asked { requests, preferred, with_optional: false };
    let world = work.world();
    work.apply(&world, &wanted, &stays, &BTreeSet::from([name]))
}

/// Makes an earlier version the one that the store gives; later ones stay and are named exactly.
fn roll_back_store(
    session: &Session<'_>,
    home: Option<&Home<'_>>,
    (name, to): (&PackageName, Option<&str>),
    mode: Mode,
) -> Result<PackageChange> {
    let mut shelf = read_shelf(session.context)?;
    let current = best(&shelf, name, None)?.clone();
    let target = match to {
        Some(version) => best(&shelf, name, Some(&Range::new(&format!("={version}"))))?.clone(),
        None => {
            let earlier = shelf
                .packages
                .iter()
                .filter(|one| one.name == *name && one.version < current.version && !one.withdrawn);
            earlier.max_by_key(|one| &one.version).cloned().ok_or_else(|| {
                Error::new(Kind::Request, format!("the store has no earlier version of `{name}`"))
                    .hint(format!("`sp pkg log {name}` lists its versions"))
            })?
        }
    };
    for stored in shelf.packages.iter_mut().filter(|stored| stored.name == *name) {
        stored.withdrawn = stored.version > target.version;
    }
    if let (Mode::Apply, Some(home)) = (mode, home) {
        let mut stock = Stock::open(session)?;
        stock.shelf = shelf;
        stock.save(home)?;
    }
    let item = PackageChangeItem {
        name: name.to_string(),
        action: FolderAction::Update,
        version: target.version.to_string(),
        from_version: Some(current.version.to_string()),
        kind: target.kind.word().into(),
        needed_by: Vec::new(),
    };
    Ok(PackageChange {
        applied: mode == Mode::Apply,
        root: session.context.home.join("store"),
        packages: vec![item],
        sinks: Vec::new(),
        kept: Vec::new(),
        context: None,
    })
}
