//! Removes what looks like a secret from an extract.

use crate::secrets::{has_secret, is_secret};

use crate::extract::file_extract::FileExtract;
use crate::extract::parsed_code::Symbol;

/// Removes everything that looks like a secret and records its lines.
pub(crate) fn redact_secrets(found: &mut FileExtract) {
    if has_secret(&found.path) {
        *found = FileExtract {
            secret_lines: vec![1],
            skip_reason: found.skip_reason,
            ..FileExtract::new(&found.path)
        };
        return;
    }
    let secret_lines = &mut found.secret_lines;
    found.notes.retain(|note| {
        let is_secret = has_secret(&note.content) || note.key.as_deref().is_some_and(has_secret);
        if is_secret {
            secret_lines.push(note.lines.first);
        }
        !is_secret
    });
    if let Some(code) = &mut found.code {
        secret_lines.extend(
            code.symbols
                .iter_mut()
                .filter_map(|symbol| redact_symbol(symbol).then_some(symbol.lines.first)),
        );
        if has_secret(&code.doc) {
            secret_lines.push(1);
            code.doc.clear();
        }
    }
    secret_lines.sort_unstable();
    secret_lines.dedup();
}

/// Removes the parts of a symbol that look like a secret. Returns whether its lines have one.
fn redact_symbol(symbol: &mut Symbol) -> bool {
    let has_secret_name = is_secret(&symbol.name) || symbol.owner.as_deref().is_some_and(is_secret);
    let has_secret_text = has_secret(&symbol.signature) || has_secret(&symbol.doc);
    if has_secret_name {
        // Without a name, the symbol gets no node and nothing links to it.
        *symbol = Symbol {
            kind: symbol.kind,
            parent: symbol.parent,
            lines: symbol.lines,
            ..Symbol::default()
        };
    } else if has_secret_text {
        symbol.signature = symbol.name.clone();
        symbol.doc = String::new();
        symbol.members.clear();
    }
    symbol.members.retain(|member| !has_secret(member));
    has_secret_name || has_secret_text
}
