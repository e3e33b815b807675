//! `sp context show`: describes a pack, its files and their tokens.

use std::path::Path;

use sp_analyze::tokens;
use sp_formats::context_pack::{
    ContextPackEntries, ContextPackEntry, ContextPackFileEntry, ContextPackManifest,
    ContextPackSourceEntry, read,
};
use sp_formats::output::{ContextPackFileItem, ContextPackSourceItem, ContextPackView};
use sp_formats::report::{Report, Severity};

use super::archive::invalid_pack_error;
use super::entries::{ContextPackLocation, read_entries};
use crate::context::Context;
use crate::error::Result;
use crate::session::Session;

/// Describes a pack, even if it has errors.
pub fn show(context: &Context<'_>, path: &Path) -> Result<ContextPackView> {
    let session = Session::begin(context)?;
    let location = ContextPackLocation::new(context, path)?;
    let entries = read_entries(&session, &location)?;
    let result = read(&entries, &session.limits);
    let count = |severity| count_findings(&result.reports, severity);
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let Some(manifest) = result.manifest else {
        let message = format!("`{}` is not a context pack", location.display_name(context));
        return Err(invalid_pack_error(&session, message, result.reports));
    };
    Ok(ContextPackView {
        files: file_items(&manifest, &entries),
        sources: manifest.sources.iter().map(source_item).collect(),
        pack_id: manifest.pack_id,
        generated_at: manifest.generated_at,
        generator: manifest.generator.name,
        name: manifest.project.name,
        description: manifest.project.description,
        stack: manifest.project.stack,
        tokenizer: tokens::TOKENIZER.into(),
        errors,
        warnings,
    })
}

fn count_findings(reports: &[Report], severity: Severity) -> usize {
    let findings = reports.iter().flat_map(|report| &report.findings);
    findings.filter(|finding| finding.severity == severity).count()
}

fn file_items(
    manifest: &ContextPackManifest,
    entries: &ContextPackEntries,
) -> Vec<ContextPackFileItem> {
    let item = |file: &ContextPackFileEntry| {
        let text = match entries.get(file.path.as_str()) {
            Some(ContextPackEntry::File(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            _ => String::new(),
        };
        ContextPackFileItem {
            path: file.path.to_string(),
            bytes: text.len(),
            tokens: tokens::count(&text),
        }
    };
    manifest.files.iter().map(item).collect()
}

pub(super) fn source_item(source: &ContextPackSourceEntry) -> ContextPackSourceItem {
    ContextPackSourceItem {
        id: source.id.clone(),
        title: source.title.clone(),
        url: source.url.clone(),
        kind: source.kind.clone(),
        captured_at: source.captured_at.clone(),
    }
}
