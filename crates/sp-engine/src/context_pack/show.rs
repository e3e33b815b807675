//! `sp context show`: describes a pack, its files and their tokens.

use std::path::Path;

use sp_analyze::tokens;
use sp_formats::Severity;
use sp_formats::context_pack::{ContextPackEntry, read};
use sp_formats::output::{ContextPackFileItem, ContextPackSourceItem, ContextPackView};

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
    let findings = |severity: Severity| {
        result
            .reports
            .iter()
            .flat_map(|report| &report.findings)
            .filter(|finding| finding.severity == severity)
            .count()
    };
    let (errors, warnings) = (findings(Severity::Error), findings(Severity::Warning));
    let Some(manifest) = result.manifest else {
        let message = format!("`{}` is no context pack", location.display_name(context));
        return Err(invalid_pack_error(&session, message, result.reports));
    };
    let files = manifest.files.iter().map(|file| {
        let text = match entries.get(file.path.as_str()) {
            Some(ContextPackEntry::File(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            _ => String::new(),
        };
        ContextPackFileItem {
            path: file.path.to_string(),
            bytes: text.len(),
            tokens: tokens::count(&text),
        }
    });
    let sources = manifest.sources.iter().map(|source| ContextPackSourceItem {
        id: source.id.clone(),
        title: source.title.clone(),
        url: source.url.clone(),
        kind: source.kind.clone(),
        captured_at: source.captured_at.clone(),
    });
    Ok(ContextPackView {
        pack_id: manifest.pack_id.clone(),
        generated_at: manifest.generated_at.clone(),
        generator: manifest.generator.name.clone(),
        name: manifest.project.name.clone(),
        description: manifest.project.description.clone(),
        stack: manifest.project.stack.clone(),
        files: files.collect(),
        sources: sources.collect(),
        tokenizer: tokens::TOKENIZER.into(),
        errors,
        warnings,
    })
}
