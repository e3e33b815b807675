//! The ID of a plan: a digest of everything that an operation would change.
//!
//! A dry run reports the ID, and `--plan` makes the run that follows refuse any other plan. So an
//! ID covers only what is equal in both runs: no timestamps, no run IDs, no new random keys.
//!
//! [`PlanHasher`] is the encoding. The ID of a change of sinks and files follows from its plan (see
//! [`install::plan_id`](crate::install)). Every other operation hashes what it would do: the
//! request, what it found, and what it would send or remove. [`ApplyOptions`] is the condition that
//! an operation checks with [`ApplyOptions::confirm`], after everything that can be checked was
//! checked and before the first change.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use sp_formats::output::PlanStatus;
use sp_tree::transaction::PriorState;
use sp_tree::{Digest, DigestError, Hasher};

use crate::apply_mode::ApplyMode;
use crate::error::{Error, ErrorCode, Result};

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
    pub(crate) fn ensure_matches(self, expected: Option<Self>) -> Result<()> {
        match expected {
            Some(expected) if expected != self => {
                let because = format!("the dry run showed `{expected}`, the plan is now `{self}`");
                Err(Error::new(ErrorCode::PlanMismatch, "the plan has changed since the dry run")
                    .because(because)
                    .hint("nothing was changed: review the new plan with `--dry-run`"))
            }
            _ => Ok(()),
        }
    }
}

/// Whether a change is applied, and on what condition.
#[derive(Debug, Clone, Copy)]
pub struct ApplyOptions {
    pub mode: ApplyMode,
    /// The plan ID of an earlier dry run. If set, any other plan is refused.
    pub expected_plan: Option<PlanId>,
}

impl ApplyOptions {
    /// Applies the change, whatever it is.
    pub const APPLY: Self = Self { mode: ApplyMode::Apply, expected_plan: None };

    pub(crate) fn is_dry_run(self) -> bool {
        self.mode == ApplyMode::DryRun
    }

    /// Returns the same condition for a change that is not made.
    pub(crate) fn as_dry_run(self) -> Self {
        Self { mode: ApplyMode::DryRun, ..self }
    }

    /// Returns the status of a plan with this ID, unless another plan is expected.
    ///
    /// Call it before the first change.
    pub(crate) fn confirm(self, id: PlanId) -> Result<PlanStatus> {
        id.ensure_matches(self.expected_plan)?;
        Ok(PlanStatus { applied: !self.is_dry_run(), plan: id.to_string() })
    }
}

impl From<ApplyMode> for ApplyOptions {
    fn from(mode: ApplyMode) -> Self {
        Self { mode, expected_plan: None }
    }
}

/// Hashes a sequence of values. Each is preceded by its length, so different sequences never encode
/// to the same bytes.
#[derive(Default)]
pub(crate) struct PlanHasher(Hasher);

impl PlanHasher {
    /// Starts the plan of an operation that is not a change of sinks and files.
    pub(crate) fn of_operation(name: &str) -> Self {
        let mut hasher = Self::default();
        hasher.text(name);
        hasher
    }

    pub(crate) fn number(&mut self, number: usize) {
        self.0.update(&(number as u64).to_le_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len());
        self.0.update(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn path(&mut self, path: &Path) {
        self.bytes(path.as_os_str().as_encoded_bytes());
    }

    pub(crate) fn digest(&mut self, digest: Option<Digest>) {
        self.bytes(digest.as_ref().map_or(&[], |digest| digest.as_bytes()));
    }

    /// Hashes what a change replaces.
    pub(crate) fn prior_state(&mut self, before: PriorState) {
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

    pub(crate) fn list<T>(
        &mut self,
        items: impl ExactSizeIterator<Item = T>,
        mut hash_item: impl FnMut(&mut Self, T),
    ) {
        self.number(items.len());
        items.for_each(|item| hash_item(self, item));
    }

    pub(crate) fn finish(self) -> PlanId {
        PlanId(self.0.finish())
    }
}
