//! `sp pkg verify`: reports each verification step of a package.

use sp_formats::output::{PackageVerification, VerificationStepItem};
use sp_formats::package::{
    Package, PackageReadResult, VerificationCheck, VerificationOutcome, VerificationStep, read,
    read_hashed,
};
use sp_formats::time;
use sp_tree::HashedBytes;

use super::load_package::{read_file, unusable_code, without_size_limit};
use super::package_spec::PackageSpec;
use super::package_store::{find_best_stored, read_blob, read_store_index, read_trust_pins};
use super::trust::{DowngradePolicy, NewKeyPolicy, SignerStatus, TrustOverrides, check_signer};
use crate::context::{Context, Event};
use crate::error::{Error, Result};
use crate::session::Session;

const DAY_SECONDS: i64 = 24 * 60 * 60;

/// Verifies a file or a package of the store. A failed step is in the report, and is also returned
/// as an error.
pub fn verify(
    context: &Context<'_>,
    spec: &str,
    overrides: TrustOverrides,
) -> Result<(PackageVerification, Option<Error>)> {
    let session = Session::begin(context)?;
    let subject = read_subject(&session, spec, overrides)?;
    let label = &subject.label;
    let result = match subject.bytes {
        SubjectBytes::File(bytes) => read(label, bytes, &session.limits),
        SubjectBytes::Stored(bytes) => {
            read_hashed(label, bytes, &without_size_limit(&session.limits))
        }
    };
    let mut steps = result.steps.clone();
    // The signer step comes right after the signature step.
    let signer_index = steps
        .iter()
        .position(|step| step.check == VerificationCheck::Provenance)
        .unwrap_or(steps.len());
    let failure = match &result.package {
        Some(package) => {
            let trust = read_trust_pins(context)?;
            let status = check_signer(&session, &trust, package, subject.overrides);
            steps.insert(signer_index, signer_step(package, &status));
            steps.push(freshness_step(context, package));
            status.err()
        }
        None => {
            steps.insert(signer_index, skipped_step(VerificationCheck::Signer));
            steps.push(skipped_step(VerificationCheck::Freshness));
            Some(invalid_package_error(label, &result))
        }
    };
    if result.package.is_some() && !result.report.findings.is_empty() {
        context.emit(Event::Findings(&result.report));
    }
    Ok((verification_report(label, &result, &steps, failure.as_ref()), failure))
}

/// A package to verify.
struct VerifySubject {
    label: String,
    bytes: SubjectBytes,
    overrides: TrustOverrides,
}

enum SubjectBytes {
    File(Vec<u8>),
    Stored(HashedBytes),
}

fn read_subject(
    session: &Session<'_>,
    spec: &str,
    overrides: TrustOverrides,
) -> Result<VerifySubject> {
    let context = session.context;
    match PackageSpec::parse(session, spec)? {
        PackageSpec::File(path) => Ok(VerifySubject {
            label: context.display_relative_path(&path),
            bytes: SubjectBytes::File(read_file(session, &path)?),
            overrides,
        }),
        PackageSpec::Named(name, range) => {
            let index = read_store_index(context)?;
            let stored = find_best_stored(&index, &name, range.as_ref())?;
            // The signer was checked when the package was added; the pin may have changed since.
            let overrides = TrustOverrides {
                downgrade: DowngradePolicy::Allow,
                new_key: NewKeyPolicy::Accept,
                ..overrides
            };
            let label = format!("{} {}", stored.name, stored.version);
            let bytes = SubjectBytes::Stored(read_blob(context, &stored.digest)?);
            Ok(VerifySubject { label, bytes, overrides })
        }
    }
}

fn invalid_package_error(label: &str, result: &PackageReadResult) -> Error {
    let message = format!("`{label}` failed verification");
    Error::in_file(unusable_code(result), message, result.report.clone())
        .hint("do not use this package; get it again from the publisher")
}

fn skipped_step(check: VerificationCheck) -> VerificationStep {
    VerificationStep::new(check, VerificationOutcome::Skipped, "not checked")
}

fn verification_report(
    label: &str,
    result: &PackageReadResult,
    steps: &[VerificationStep],
    failure: Option<&Error>,
) -> PackageVerification {
    PackageVerification {
        subject: label.into(),
        name: result.claimed_id.as_ref().map(|(name, _)| name.to_string()),
        version: result.claimed_id.as_ref().map(|(_, version)| version.to_string()),
        verified: failure.is_none(),
        steps: steps
            .iter()
            .map(|step| VerificationStepItem {
                step: step.check.as_str().into(),
                outcome: step.outcome,
                detail: step.detail.clone(),
            })
            .collect(),
    }
}

/// Returns the step that checks whether the signer of a package is trusted, without overrides.
pub(crate) fn verify_signer(session: &Session<'_>, package: &Package) -> Result<VerificationStep> {
    let trust = read_trust_pins(session.context)?;
    Ok(signer_step(package, &check_signer(session, &trust, package, TrustOverrides::default())))
}

fn signer_step(package: &Package, status: &Result<SignerStatus>) -> VerificationStep {
    let Some(signer) = package.signer else {
        let (outcome, detail) = match status {
            Err(error) => (VerificationOutcome::Failed, error.to_string()),
            Ok(SignerStatus::Overridden(why)) => (VerificationOutcome::Warned, why.clone()),
            Ok(_) => (VerificationOutcome::Skipped, "not signed".into()),
        };
        return VerificationStep::new(VerificationCheck::Signer, outcome, detail);
    };
    let key = signer.key;
    let namespace = package.manifest.name.namespace();
    let (outcome, detail) = match status {
        Ok(SignerStatus::Pinned) => {
            (VerificationOutcome::Passed, format!("{key}, trusted for `{namespace}`"))
        }
        Ok(SignerStatus::Overridden(why)) => (VerificationOutcome::Warned, why.clone()),
        Ok(_) => (VerificationOutcome::Warned, format!("{key}, first seen for `{namespace}`")),
        Err(error) => (VerificationOutcome::Failed, format!("{key}: {error}")),
    };
    VerificationStep::new(VerificationCheck::Signer, outcome, detail)
}

/// Returns the step that reports the age of a package, by its own timestamps.
fn freshness_step(context: &Context<'_>, package: &Package) -> VerificationStep {
    let manifest = &package.manifest;
    let date = manifest.updated_at.as_deref().or(manifest.created_at.as_deref());
    let Some(time) = date.and_then(time::parse) else {
        return VerificationStep::new(
            VerificationCheck::Freshness,
            VerificationOutcome::Warned,
            "the package has no creation time",
        );
    };
    let date = date.unwrap_or_default();
    let seconds = context.now.as_second() - time.as_second();
    let (outcome, age) = match seconds / DAY_SECONDS {
        _ if seconds < -DAY_SECONDS => (VerificationOutcome::Warned, "in the future".to_owned()),
        0 => (VerificationOutcome::Passed, "today".into()),
        1 => (VerificationOutcome::Passed, "1 day ago".into()),
        days => (VerificationOutcome::Passed, format!("{} days ago", days.max(0))),
    };
    VerificationStep::new(VerificationCheck::Freshness, outcome, format!("created {date}, {age}"))
}
