//! The ID of a plan: a digest over everything the plan would change.
//!
//! A dry run prints the ID, and `--plan` makes the run that follows refuse any other plan. So the
//! ID covers only what is equal in both runs: no timestamps, no run IDs.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use sp_formats::output::FolderAction;
use sp_tree::transaction::PriorState;
use sp_tree::{Digest, DigestError, Hasher};

use super::plan::{ChangePlan, FilePlan, FolderPlan, SinkPlan};
use super::selection::{ResolvedPack, SkillIndex};
use crate::error::{Error, ErrorCode, Result};
use crate::select::SkillSource;

/// Changes whenever the encoding of a plan changes.
const PLAN_ID_VERSION: &str = "sp plan 1";

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
    pub(super) fn ensure_matches(self, expected: Option<Self>) -> Result<()> {
        match expected {
            Some(shown) if shown != self => Err(Error::new(ErrorCode::PlanMismatch, "this is not what was shown")
                .because(format!("the plan that was shown is `{shown}`, and by now it is `{self}`"))
                .hint("nothing was changed: look at it again with `--dry-run`, and give the id that it tells")),
            _ => Ok(()),
        }
    }
}

/// A plan with everything its ID covers.
pub(super) struct PlanIdInput<'a> {
    pub plan: &'a ChangePlan,
    pub packs: &'a [ResolvedPack],
    /// Returns the digest of a skill that the plan installs.
    pub skill_digest: &'a dyn Fn(SkillIndex) -> Option<Digest>,
}

impl PlanIdInput<'_> {
    pub(super) fn plan_id(&self) -> PlanId {
        let mut hasher = PlanHasher::default();
        hasher.text(PLAN_ID_VERSION);
        hasher.list(self.packs.iter(), hash_pack);
        hasher.list(self.plan.sinks.iter(), |hasher, sink| self.hash_sink(hasher, sink));
        hasher.list(self.plan.files.iter(), hash_file);
        PlanId(hasher.0.finish())
    }

    fn hash_sink(&self, hasher: &mut PlanHasher, sink: &SinkPlan) {
        hasher.path(&sink.sink.path);
        hasher.text(&sink.sink.name);
        hasher.list(sink.packs.iter(), |hasher, number| hasher.number(*number));
        hasher.list(sink.removed_packs.iter(), |hasher, pack| hasher.text(pack));
        hasher.list(sink.recorded_packs.iter(), |hasher, (pack, file)| {
            hasher.text(pack);
            hasher.text(file);
        });
        hasher.list(sink.folders.iter(), |hasher, folder| self.hash_folder(hasher, folder));
    }

    fn hash_folder(&self, hasher: &mut PlanHasher, folder: &FolderPlan) {
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
        self.hash_content(hasher, folder);
    }

    /// Hashes the content that the folder will have.
    fn hash_content(&self, hasher: &mut PlanHasher, folder: &FolderPlan) {
        let Some(index) = folder.skill else { return hasher.text("nothing") };
        match self.packs[index.pack].skills[index.skill].source {
            // The commit of the import is hashed with the pack and determines every byte.
            SkillSource::Import(number) => {
                hasher.text("import");
                hasher.number(number);
            }
            SkillSource::Local | SkillSource::Package(_) => {
                hasher.text("bytes");
                hasher.digest(folder.unchanged_digest.or_else(|| (self.skill_digest)(index)));
            }
        }
    }
}

/// Hashes the source of a pack.
fn hash_pack(hasher: &mut PlanHasher, resolved: &ResolvedPack) {
    let (pack, path) = (&resolved.file.pack, &resolved.file.path);
    hasher.text(&pack.name);
    hasher.path(&path.canonicalize().unwrap_or_else(|_| path.clone()));
    hasher.list(pack.imports.iter().zip(&resolved.checkouts), |hasher, (import, checkout)| {
        hasher.text(&import.repo.display_url);
        hasher.text(&import.git_ref.as_ref().map(ToString::to_string).unwrap_or_default());
        hasher.text(&checkout.commit);
    });
    hasher.list(resolved.packaged_skills.iter(), |hasher, packaged| {
        hasher.text(&packaged.version);
        hasher.text(&packaged.sha256);
    });
}

fn hash_file(hasher: &mut PlanHasher, file: &FilePlan) {
    hasher.path(&file.dir);
    hasher.text(file.name.as_str());
    hasher.before(file.before);
    hasher.digest(file.bytes.as_ref().map(|bytes| Digest::of(bytes)));
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
