//! What the packages of the store hold, for whoever serves it.

use std::collections::BTreeMap;

use sp_formats::package::store::StoredPackage;
use sp_formats::package::{PackageKind, PackageName};

use super::package_spec::{PackageSpec, load_stored};
use super::package_store::read_store_index;
use crate::context::Event;
use crate::error::{Error, Result};
use crate::library::{UnpackedSkills, UnpackedSkillsCache};
use crate::session::Session;

/// The skills of the newest version of each package of skills. One that cannot be read is told of and left out.
pub(crate) fn stored_skills(
    session: &Session<'_>,
    unpacked: &UnpackedSkillsCache,
) -> Result<Vec<(String, UnpackedSkills)>> {
    let shelf = read_store_index(session.context)?;
    let mut newest: BTreeMap<&PackageName, &StoredPackage> = BTreeMap::new();
    for stored in
        shelf.packages.iter().filter(|one| one.kind == PackageKind::Skills && !one.withdrawn)
    {
        let known = newest.entry(&stored.name).or_insert(stored);
        if stored.version > known.version {
            *known = stored;
        }
    }
    let mut found = Vec::new();
    for (name, stored) in newest {
        let unpack =
            || -> Result<_, Error> { Ok(load_stored(session, stored)?.skills().skills.into()) };
        match unpacked.get_or_try_insert(&stored.digest, unpack) {
            Ok(skills) => found.push((name.as_str().trim_start_matches('@').to_owned(), skills)),
            Err(error) => session.context.emit(Event::Warning(error.to_string())),
        }
    }
    Ok(found)
}

/// The text of a package, verified.
pub(crate) fn load_package_text(session: &Session<'_>, subject: &str) -> Result<String> {
    let shelf = read_store_index(session.context)?;
    let (package, _) = PackageSpec::parse(session, subject)?.load(session, &shelf)?;
    Ok(package.text().to_string())
}
