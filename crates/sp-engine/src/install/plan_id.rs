//! The ID of a plan: a digest over everything the plan would change.
//!
//! [`ChangePlan::id`] needs nothing but the plan. A dry run prints the ID, and `--plan` makes the
//! run that follows refuse any other plan. So the ID covers only what is equal in both runs: no
//! timestamps, no run IDs.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use sp_formats::output::FolderAction;
use sp_tree::transaction::PriorState;
use sp_tree::{Digest, DigestError, Hasher};

use super::plan::{ChangePlan, FilePlan, FolderPlan, SinkPlan};
use super::skill_set::{SkillContainer, SkillOrigin, SkillSource};
use crate::error::{Error, ErrorCode, Result};

/// Changes whenever the encoding of a plan changes.
const PLAN_ID_VERSION: &str = "sp plan 2";

/// The digest of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanId(Digest);

impl FromStr for PlanId {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        text.parse().map(Self)
    }
}

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl PlanId {
    /// Refuses a plan other than the expected one, if one is expected.
    fn ensure_matches(self, expected: Option<Self>) -> Result<()> {
        match expected {
            Some(shown) if shown != self => Err(Error::new(ErrorCode::PlanMismatch, "this is not what was shown")
                .because(format!("the plan that was shown is `{shown}`, and by now it is `{self}`"))
                .hint("nothing was changed: look at it again with `--dry-run`, and give the id that it tells")),
            _ => Ok(()),
        }
    }
}

impl ChangePlan {
    /// Returns the ID of the plan, unless another plan is expected.
    pub(super) fn verified_id(&self, expected: Option<PlanId>) -> Result<PlanId> {
        let id = self.id();
        id.ensure_matches(expected)?;
        Ok(id)
    }

    /// Returns the ID of the plan. The digests of all local skills must be known: see
    /// [`FolderPlan::digest`].
    pub(super) fn id(&self) -> PlanId {
        let mut hasher = PlanHasher::default();
        hasher.text(PLAN_ID_VERSION);
        hasher.list(self.sinks.iter(), hash_sink);
        hasher.list(self.files.iter(), hash_file);
        PlanId(hasher.0.finish())
    }
}

fn hash_sink(hasher: &mut PlanHasher, sink: &SinkPlan) {
    hasher.path(&sink.sink.path);
    hasher.text(&sink.sink.name);
    hasher.list(sink.packs.iter(), |hasher, origin| hash_origin(hasher, origin));
    hasher.list(sink.removed_packs.iter(), |hasher, pack| hasher.text(pack));
    hasher.list(sink.recorded_packs.iter(), |hasher, pack| {
        hasher.text(&pack.name);
        hasher.text(&pack.source.to_string());
    });
    hasher.list(sink.folders.iter(), hash_folder);
}

/// Hashes what is installed, with its version.
fn hash_origin(hasher: &mut PlanHasher, origin: &SkillOrigin) {
    match origin {
        SkillOrigin::Pack(pack) => {
            hasher.text("pack");
            hasher.text(&pack.name);
            hasher.path(&pack.file);
            hasher.list(pack.imports.iter(), |hasher, import| {
                hasher.text(&import.repo);
                hasher.text(import.git_ref.as_deref().unwrap_or_default());
                hasher.text(&import.commit);
            });
        }
        SkillOrigin::Package(package) => {
            hasher.text("package");
            hasher.text(package.name.as_str());
            hasher.text(package.version.as_str());
            hasher.text(&package.sha256);
        }
    }
}

fn hash_folder(hasher: &mut PlanHasher, folder: &FolderPlan) {
    hasher.text(folder.name.as_str());
    hasher.text(&folder.pack);
    hasher.text(folder.id.as_deref().unwrap_or_default());
    hasher.text(match folder.action {
        FolderAction::Add => "add",
        FolderAction::Update => "update",
        FolderAction::Remove => "remove",
        FolderAction::Keep => "keep",
    });
    hasher.text(if folder.edited { "edited" } else { "as it was left" });
    hasher.before(folder.before);
    hasher.digest(folder.current_digest);
    hash_content(hasher, folder);
}

/// Hashes the content that the folder will have.
fn hash_content(hasher: &mut PlanHasher, folder: &FolderPlan) {
    match folder.source.as_ref().map(SkillSource::container) {
        None => hasher.text("nothing"),
        // The commit determines every byte, so a dry run need not read the folder.
        Some(SkillContainer::Commit { url, commit }) => {
            hasher.text("commit");
            hasher.text(url);
            hasher.text(commit);
        }
        Some(SkillContainer::Directory(_) | SkillContainer::Package(_)) => {
            hasher.text("bytes");
            hasher.digest(folder.digest);
        }
    }
}

fn hash_file(hasher: &mut PlanHasher, file: &FilePlan) {
    hasher.path(&file.dir);
    hasher.text(file.name.as_str());
    hasher.before(file.before);
    hasher.digest(file.digest());
}

/// Hashes a sequence of values. Each is preceded by its length, so different sequences never encode
/// to the same bytes.
#[derive(Default)]
struct PlanHasher(Hasher);

impl PlanHasher {
    fn number(&mut self, number: usize) {
        self.0.update(&(number as u64).to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len());
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn path(&mut self, path: &Path) {
        self.bytes(path.as_os_str().as_encoded_bytes());
    }

    fn digest(&mut self, digest: Option<Digest>) {
        self.bytes(digest.as_ref().map_or(&[], |digest| digest.as_bytes()));
    }

    fn before(&mut self, before: PriorState) {
        match before {
            PriorState::Absent => self.text("nothing"),
            PriorState::UserFile(_, digest) => {
                self.text("seen");
                self.digest(Some(digest));
            }
            PriorState::Ours(digest) => {
                self.text("ours");
                self.digest(digest);
            }
        }
    }

    fn list<T>(
        &mut self,
        items: impl ExactSizeIterator<Item = T>,
        mut hash_item: impl FnMut(&mut Self, T),
    ) {
        self.number(items.len());
        items.for_each(|item| hash_item(self, item));
    }
}
