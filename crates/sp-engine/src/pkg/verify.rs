//! `sp pkg verify`: the pipeline, step by step.

use sp_formats::output::{PackageVerification, VerificationStep};
use sp_formats::package::{Outcome, Package, Read, Step, read, time};
use sp_tree::Limits;

use super::shelf::{best, read_blob, read_shelf};
use super::subject::{Subject, read_file};
use super::trust::{Acceptance, Downgrade, NewKey, Standing, judge, read_trust};
use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};

const DAY: i64 = 24 * 60 * 60;

/// Verifies a file or a package of the store. What failed is an error as well as a step of the report.
pub fn verify(
    context: &Context<'_>,
    subject: &str,
    accepted: Acceptance,
) -> Result<(PackageVerification, Option<Error>)> {
    let session = Session::begin(context)?;
    let (shown, bytes, accepted) = match Subject::parse(&session, subject)? {
        Subject::File(path) => (context.show_near(&path), read_file(&session, &path)?, accepted),
        Subject::Named(name, range) => {
            let shelf = read_shelf(context)?;
            let stored = best(&shelf, &name, range.as_ref())?;
            let shown = format!("{} {}", stored.name, stored.version);
            // It was judged when it was taken; keys may have changed since.
            let taken = Acceptance { downgrade: Downgrade::Allow, new_key: NewKey::Accept, ..accepted };
            (shown, read_blob(context, &stored.digest)?, taken)
        }
    };
    let limits =
        Limits { package_bytes: session.limits.package_bytes.max(bytes.len() as u64), ..session.limits.clone() };
    let read = read(&shown, bytes, &limits);
    let mut steps = read.steps.clone();
    let failure = match &read.package {
        Some(package) => {
            let trust = read_trust(context)?;
            let judged = judge(&session, &trust, package, accepted);
            // Who signed is told right after the signature.
            let at = steps.iter().position(|step| step.name == "provenance").unwrap_or(steps.len());
            steps.insert(at, signer(package, &judged));
            steps.push(freshness(context, package));
            judged.err()
        }
        None => {
            let forged = read.is_forged();
            let at = steps.iter().position(|step| step.name == "provenance").unwrap_or(steps.len());
            steps.insert(at, Step::new("signer", Outcome::Skipped, "not come to"));
            steps.push(Step::new("freshness", Outcome::Skipped, "not come to"));
            let error = Error::in_file(format!("`{shown}` does not hold"), read.report.clone());
            let kind = if forged { Kind::Trust } else { Kind::Data };
            Some(Error { kind, ..error }.hint("do not use it: get it again from whoever made it"))
        }
    };
    if read.package.is_some() && !read.report.findings.is_empty() {
        context.tell(Event::Findings(&read.report));
    }
    Ok((report(&shown, &read, &steps, failure.is_none()), failure))
}

fn report(shown: &str, read: &Read, steps: &[Step], verified: bool) -> PackageVerification {
    PackageVerification {
        subject: shown.into(),
        name: read.claims.as_ref().map(|(name, _)| name.to_string()),
        version: read.claims.as_ref().map(|(_, version)| version.to_string()),
        verified,
        steps: steps
            .iter()
            .map(|step| VerificationStep {
                step: step.name.into(),
                outcome: step.outcome.word().into(),
                detail: step.detail.clone(),
            })
            .collect(),
    }
}

/// Who signed a package, and whether that is who is trusted here; nothing is accepted for once.
pub(crate) fn signer_of(session: &Session<'_>, package: &Package) -> Result<Step> {
    let trust = read_trust(session.context)?;
    Ok(signer(package, &judge(session, &trust, package, Acceptance::default())))
}

fn signer(package: &Package, judged: &Result<Standing>) -> Step {
    let Some(signer) = package.signer else {
        let (outcome, detail) = match judged {
            Err(error) => (Outcome::Failed, error.to_string()),
            Ok(Standing::Accepted(what)) => (Outcome::Warned, what.clone()),
            Ok(_) => (Outcome::Skipped, "nobody".into()),
        };
        return Step::new("signer", outcome, detail);
    };
    let key = signer.key;
    let namespace = package.manifest.name.namespace();
    match judged {
        Ok(Standing::Pinned) => Step::new("signer", Outcome::Passed, format!("{key}, trusted for `{namespace}`")),
        Ok(Standing::Accepted(what)) => Step::new("signer", Outcome::Warned, what.as_str()),
        Ok(_) => Step::new("signer", Outcome::Warned, format!("{key}, not seen before for `{namespace}`")),
        Err(error) => Step::new("signer", Outcome::Failed, format!("{key}: {error}")),
    }
}

/// How old it is, as it says itself.
fn freshness(context: &Context<'_>, package: &Package) -> Step {
    let manifest = &package.manifest;
    let said = manifest.updated_at.as_deref().or(manifest.created_at.as_deref());
    let Some(time) = said.and_then(time::parse) else {
        return Step::new("freshness", Outcome::Warned, "it does not say when it was made");
    };
    let said = said.unwrap_or_default();
    let seconds = context.now.as_second() - time.as_second();
    let (outcome, age) = match seconds / DAY {
        _ if seconds < -DAY => (Outcome::Warned, "in the future".to_owned()),
        0 => (Outcome::Passed, "today".into()),
        1 => (Outcome::Passed, "a day ago".into()),
        days => (Outcome::Passed, format!("{} days ago", days.max(0))),
    };
    Step::new("freshness", outcome, format!("made {said}, {age}"))
}
