//! Which sources have a newer version, as far as this machine knows. No source is asked.

use std::collections::BTreeSet;

use sp_formats::project::lock::SourceKey;
use sp_formats::project::source::{ManifestSource, RepoFolder, SourceVersion};

use super::known_newest::{KnownSubject, known_newest};
use super::local_changes::locked_content;
use super::outdated::{SourceQuestion, questions_about, version_text};
use super::resolution::entry_source_key;
use super::view::ProjectView;
use crate::source::git::CheckoutOpener;

/// Returns the sources of which a command has seen a newer version.
pub(super) fn known_outdated_sources(view: &ProjectView<'_>) -> BTreeSet<SourceKey> {
    let lock = &view.files.lock;
    let mut outdated = BTreeSet::new();
    for entry in &view.manifest.skills {
        let key = entry_source_key(entry);
        let Some(locked) = lock.sources.get(&key) else { continue };
        let subject = KnownSubject::Source(key.as_str());
        let is_local_outdated = || {
            let locked = || locked_content(lock, &key).to_string();
            entry.source.is_local() && is_known_outdated(view, subject, &locked)
        };
        // A pack of this repository has imports of others.
        let has_newer =
            || questions_about(entry, &key, locked).iter().any(|it| has_newer_version(view, it));
        let is_outdated = is_local_outdated() || has_newer();
        if is_outdated {
            outdated.insert(key);
        }
    }
    outdated
}

fn is_known_outdated(
    view: &ProjectView<'_>,
    subject: KnownSubject<'_>,
    locked: &dyn Fn() -> String,
) -> bool {
    known_newest(view.session.context, subject, locked).is_some()
}

fn has_newer_version(view: &ProjectView<'_>, question: &SourceQuestion) -> bool {
    let locked = || version_text(&question.locked);
    let is_source_outdated =
        || is_known_outdated(view, KnownSubject::Source(question.key.as_str()), &locked);
    match &question.source {
        ManifestSource::Git(git) => {
            let session = view.session;
            let opener = CheckoutOpener {
                context: session.context,
                limits: &session.limits,
                root: &view.files.dir.path,
            };
            let git_ref = match (&question.version, &git.folder) {
                (Some(SourceVersion::Git(git_ref)), _) => Some(git_ref.as_str()),
                (_, Some(RepoFolder::RefAndPath(_))) => question.locked.git_ref.as_deref(),
                _ => None,
            };
            let newest = opener.newest_known(&git.repo, git_ref);
            newest.is_some_and(|newest| question.locked.commit.as_deref() != Some(&*newest))
        }
        ManifestSource::Package(name) => {
            is_known_outdated(view, KnownSubject::Package(name.as_str()), &locked)
                || is_source_outdated()
        }
        _ => is_source_outdated(),
    }
}
