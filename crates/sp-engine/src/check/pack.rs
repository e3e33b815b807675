//! Pack files, alone and among others.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use sp_formats::checks::{SP_11, SP_12, SP_17};
use sp_formats::pack::{self, Pack};
use sp_formats::report::{Report, Severity};

use super::place::{Place, is_repo};
use super::{Checker, Format, Imports, hidden, repo};
use crate::authoring::{Authoring, ReadPack, is_pack_file, read_pack_partly};
use crate::error::Result;
use crate::resolve::{Offer, resolve};
use crate::show::offer;
use crate::source::git::Checkouts;

/// A pack file.
pub(super) struct PackFile;

impl Format for PackFile {
    fn is_at(&self, place: &Place) -> bool {
        is_pack_file(&place.path) && place.path.is_file() && (place.is_in_dir_called("packs") || !place.is_in_a_skill())
    }

    fn check(&self, checker: &Checker<'_>, place: &Place) -> Result<()> {
        let read = read(checker, place.path.clone())?;
        match root_of(checker, &place.path) {
            Some(root) => {
                let local = repo::local_ids(checker, &root)?;
                check_pack(checker, &root, &local, read)
            }
            None => {
                finish(checker, &read.0, &read.2, 0);
                Ok(())
            }
        }
    }
}

/// The repository that a pack file belongs to, if it is in one.
fn root_of(checker: &Checker<'_>, file: &Path) -> Option<PathBuf> {
    let given = checker.request.root.as_deref();
    let given = given.map(|root| checker.session.context.expand(&root.to_string_lossy()));
    given.or_else(|| file.ancestors().skip(1).find(|dir| is_repo(dir)).map(Into::into))
}

fn read(checker: &Checker<'_>, path: PathBuf) -> Result<ReadPack> {
    let bytes = checker.drafts.read(&path, checker.session.limits.yaml_bytes);
    if let Ok(bytes) = &bytes {
        hidden::in_bytes(checker, &path, bytes);
    }
    read_pack_partly(checker.session, path, bytes)
}

/// Checks every pack of a repository.
pub(super) fn check_packs(checker: &Checker<'_>, authoring: &Authoring, local: &[String]) -> Result<()> {
    let (paths, odd): (Vec<PathBuf>, Vec<PathBuf>) =
        authoring.pack_paths()?.into_iter().partition(|path| path.is_file());
    for path in odd {
        let mut report = Report::new("", "");
        report.whole(Severity::Error, &SP_11, "it is called as a pack, and is no file").help("remove it, or rename it");
        checker.findings.report(&path, &report);
    }
    let mut packs: Vec<ReadPack> = paths.into_iter().map(|path| read(checker, path)).collect::<Result<_>>()?;
    report_twins(checker, &mut packs);
    packs.into_iter().try_for_each(|pack| check_pack(checker, &authoring.root, local, pack))
}

fn report_twins(checker: &Checker<'_>, packs: &mut [ReadPack]) {
    let mut by_name: HashMap<String, Vec<PathBuf>> = HashMap::new();
    for (path, pack, _) in packs.iter() {
        if let Some(pack) = pack {
            by_name.entry(pack.name.clone()).or_default().push(path.clone());
        }
    }
    for (path, pack, report) in packs {
        let Some(pack) = pack else { continue };
        let others: Vec<String> = by_name[&pack.name]
            .iter()
            .filter(|other| *other != path)
            .map(|other| format!("`{}`", checker.session.context.show_near(other)))
            .collect();
        if !others.is_empty() {
            let message = format!("the name `{}` is also that of {}", pack.name, others.join(" and "));
            report.error(&SP_12, pack.name_span.clone(), message).help("give each pack its own `name`");
        }
    }
}

fn check_pack(checker: &Checker<'_>, root: &Path, local: &[String], read: ReadPack) -> Result<()> {
    let (path, pack, mut report) = read;
    let Some(pack) = pack else {
        finish(checker, &path, &report, 0);
        return Ok(());
    };
    pack::advise(&pack, &mut report);
    if !report.is_usable() || checker.request.imports == Imports::Leave && !pack.imports.is_empty() {
        check_local(checker, &path, pack, local, report);
        return Ok(());
    }
    let (context, limits) = (checker.session.context, &checker.session.limits);
    match (Checkouts { context, limits, root }.open(&pack.imports)) {
        Ok(checkouts) => {
            let offers: Vec<Offer> = checkouts.iter().map(|checkout| offer(context, checkout)).collect();
            resolve(&pack, local, &offers, &mut report);
            finish(checker, &path, &report, 0);
        }
        // What is wrong with the rest of it is told all the same.
        Err(error) => {
            checker.findings.unreadable(error);
            check_local(checker, &path, pack, local, report);
        }
    }
    Ok(())
}

/// Checks the half of a pack that needs no import.
fn check_local(checker: &Checker<'_>, path: &Path, pack: Pack, local: &[String], mut report: Report) {
    let imports = pack.imports.len();
    let excludes: Vec<_> = pack.exclude.iter().map(|exclude| Some(exclude.span.clone())).collect();
    resolve(&Pack { imports: Vec::new(), ..pack }, local, &[], &mut report);
    // An exclude may be meant for what is missing here.
    report.findings.retain(|finding| {
        finding.severity == Severity::Error || finding.check.id != SP_17.id || !excludes.contains(&finding.span)
    });
    finish(checker, path, &report, imports);
}

fn finish(checker: &Checker<'_>, path: &Path, report: &Report, imports_left: usize) {
    checker.findings.report(path, report);
    checker.findings.pack(path, imports_left);
}
