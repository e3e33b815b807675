//! Whether an operation applies its changes or only reports them.

/// Whether an operation applies its changes or only reports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApplyMode {
    /// Apply the changes.
    Apply,
    /// Report the changes (`--dry-run`). Nothing is written.
    DryRun,
}
