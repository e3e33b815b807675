//! The state that every operation starts from.
//!
//! [`Session::begin`] is the first call of every public operation. It reads `config.yaml`, computes
//! the effective limits, and finishes or rolls back whatever an interrupted run left behind. Code
//! below the public operations takes a [`Session`] instead of a [`Context`] when it needs the
//! limits or the configuration.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use sp_formats::config::{self, Config};
use sp_tree::{Limits, read_limited};

use crate::content_audit::AuditCache;
use crate::context::Context;
use crate::downloads::remove_stale_downloads;
use crate::error::{Error, ErrorCode, Result};
use crate::home::recover_interrupted;
use crate::policy::{PolicyCache, PolicySet};

/// A [`Context`] together with the user's configuration.
pub(crate) struct Session<'a> {
    pub context: &'a Context<'a>,
    pub config: Config,
    pub limits: Limits,
    /// What is known about content.
    pub audits: AuditCache<'a>,
    policies: PolicyCache,
    /// What the gates of this operation found.
    pub gated: GatedFindings,
}

/// The certain findings in all content that one operation gated.
#[derive(Debug, Default)]
pub(crate) struct GatedFindings(Mutex<GatedIds>);

#[derive(Debug, Default)]
struct GatedIds {
    items: usize,
    ids: BTreeSet<String>,
}

impl GatedFindings {
    /// Adds what a gate found.
    pub(crate) fn add(&self, items: usize, ids: impl IntoIterator<Item = String>) {
        let mut gated = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        gated.items += items;
        gated.ids.extend(ids);
    }

    /// Returns the IDs of all findings; none if there was no content.
    pub(crate) fn ids(&self) -> Option<BTreeSet<String>> {
        let gated = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (gated.items > 0).then(|| gated.ids.clone())
    }
}

impl<'a> Session<'a> {
    /// Reads the configuration and recovers from an interrupted run.
    #[tracing::instrument(level = "debug", skip_all)]
    pub(crate) fn begin(context: &'a Context<'a>) -> Result<Self> {
        let config = load_config(context)?;
        let limits = effective_limits(context, &config);
        recover_interrupted(context, &limits)?;
        remove_stale_downloads(context);
        Ok(Self::with(context, config, limits))
    }

    /// Reads the configuration, or ignores it if it is invalid. For code that must not change
    /// anything, and has nowhere to report a failure.
    pub(crate) fn read_only(context: &'a Context<'a>) -> Self {
        let config = load_config(context).unwrap_or_default();
        let limits = effective_limits(context, &config);
        Self::with(context, config, limits)
    }

    /// Creates a session with a known configuration.
    pub(crate) fn with(context: &'a Context<'a>, config: Config, limits: Limits) -> Self {
        Self {
            context,
            config,
            limits,
            audits: AuditCache::new(context),
            policies: PolicyCache::default(),
            gated: GatedFindings::default(),
        }
    }

    /// Returns the policies for the project in `root`, or else in the current directory.
    pub(crate) fn policies(&self, root: Option<&Path>) -> Result<Arc<PolicySet>> {
        self.policies.get(self.context, &self.limits, root)
    }
}

/// Reads `config.yaml`. A missing file is an empty configuration.
pub(crate) fn load_config(context: &Context<'_>) -> Result<Config> {
    let path = context.home.join("config.yaml");
    let limits = effective_limits(context, &Config::default());
    let bytes = match read_limited(&path, limits.yaml_bytes) {
        Ok(bytes) => bytes,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Config::default());
        }
        Err(e) => return Err(e.into()),
    };
    let (config, report) = config::read_bytes(&context.display_path(&path), &bytes, &limits);
    config.ok_or_else(|| Error::in_file(ErrorCode::InvalidConfig, "invalid configuration", report))
}

/// Returns the default limits, overridden by the configuration, overridden by command-line flags.
fn effective_limits(context: &Context<'_>, config: &Config) -> Limits {
    let mut limits = Limits::default();
    for (name, value) in config.limits.iter().chain(&context.limits) {
        // The names were validated when the configuration and the flags were parsed.
        let _ = limits.set(name, *value);
    }
    limits
}
