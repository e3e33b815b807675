//! Packages of skills from a registry.

use std::sync::Arc;

use sp_formats::package::{PackageName, PackageVersion};
use sp_formats::project::lock::LockedSource;
use sp_formats::project::source::SourceVersion;
use sp_formats::skill::SKILL_FILE;

use super::{CatalogRequest, OfferedSkills, ROOT_ID, SkillContent, SkillDraft};
use crate::error::{Error, ErrorCode, Result};
use crate::pkg::{LockedSkillPackage, SkillPackage, SkillPackageVersion, open_skill_package};
use crate::session::Session;

pub(super) fn open_package(
    session: &Session<'_>,
    name: &PackageName,
    request: CatalogRequest<'_>,
) -> Result<OfferedSkills> {
    let locked = request.lock().map(|lock| locked_package(name, lock)).transpose()?.flatten();
    let range = match request.version() {
        Some(SourceVersion::Range(range)) => Some(range),
        Some(SourceVersion::Git(_)) | None => None,
    };
    let version = match &locked {
        Some(locked) => SkillPackageVersion::Locked(locked),
        None => SkillPackageVersion::Newest(range),
    };
    Ok(offered_by(session, name, open_skill_package(session, name, version)?))
}

/// Returns what an opened package offers.
pub(super) fn offered_by(
    session: &Session<'_>,
    name: &PackageName,
    package: SkillPackage,
) -> OfferedSkills {
    let leaf = name.as_str().rsplit('/').next().unwrap_or_default();
    let skills = package.skills().into_iter().filter_map(|(path, content)| {
        let content = Arc::new(content);
        let draft = SkillDraft {
            folder: path.rsplit('/').next().filter(|leaf| !leaf.is_empty()).unwrap_or(leaf),
            id: if path.is_empty() { ROOT_ID.to_owned() } else { path.clone() },
            bytes: content.get(SKILL_FILE).unwrap_or_default(),
            content: SkillContent::Loaded(Arc::clone(&content)),
        };
        draft.read(session)
    });
    OfferedSkills {
        skills: skills.collect(),
        locked: lock_of(&package.locked()),
        package: Some(package),
        ..OfferedSkills::default()
    }
}

/// Reads what a lockfile records of a package. None if it has no version.
pub(super) fn locked_package(
    name: &PackageName,
    lock: &LockedSource,
) -> Result<Option<LockedSkillPackage>> {
    let Some(version) = &lock.version else { return Ok(None) };
    let version = PackageVersion::new(version).map_err(|why| {
        Error::new(ErrorCode::InvalidVersion, format!("`{name}` is locked to an invalid version"))
            .because(why)
            .hint("restore `skillpack.lock` from version control")
    })?;
    let registry = lock.registry.clone();
    Ok(Some(LockedSkillPackage { version, digest: lock.digest, registry }))
}

pub(super) fn lock_of(package: &LockedSkillPackage) -> LockedSource {
    LockedSource {
        version: Some(package.version.to_string()),
        digest: package.digest,
        registry: package.registry.clone(),
        ..LockedSource::default()
    }
}
