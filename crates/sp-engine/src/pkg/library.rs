//! What the packages of the store hold, for whoever serves it.

use std::collections::BTreeMap;

use sp_formats::package::store::StoredPackage;
use sp_formats::package::{PackageKind, PackageName};

use super::shelf::read_shelf;
use super::subject::{Subject, load_stored};
use crate::config::Session;
use crate::context::Event;
use crate::error::{Error, Result};
use crate::library::{PackedSkills, Unpacked};

/// The skills of the newest version of each package of skills. One that cannot be read is told of and left out.
pub(crate) fn skills_of_store(session: &Session<'_>, unpacked: &Unpacked) -> Result<Vec<(String, PackedSkills)>> {
    let shelf = read_shelf(session.context)?;
    let mut newest: BTreeMap<&PackageName, &StoredPackage> = BTreeMap::new();
    for stored in shelf.packages.iter().filter(|one| one.kind == PackageKind::Skills && !one.withdrawn) {
        let known = newest.entry(&stored.name).or_insert(stored);
        if stored.version > known.version {
            *known = stored;
        }
    }
    let mut found = Vec::new();
    for (name, stored) in newest {
        let unpack = || -> Result<_, Error> { Ok(load_stored(session, stored)?.skills().skills.into()) };
        match unpacked.get(&stored.digest, unpack) {
            Ok(skills) => found.push((name.as_str().trim_start_matches('@').to_owned(), skills)),
            Err(error) => session.context.tell(Event::Warning(error.to_string())),
        }
    }
    Ok(found)
}

/// The text of a package, verified.
pub(crate) fn text_of(session: &Session<'_>, subject: &str) -> Result<String> {
    let shelf = read_shelf(session.context)?;
    let (package, _) = Subject::parse(session, subject)?.load(session, &shelf)?;
    Ok(package.text().to_string())
}
