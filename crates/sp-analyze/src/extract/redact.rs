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
    let withheld = &mut found.secret_lines;
    found.notes.retain(|note| {
        let hidden = has_secret(&note.content) || note.key.as_deref().is_some_and(has_secret);
        if hidden {
            withheld.push(note.lines.first);
        }
        !hidden
    });
    for symbol in found.code.iter_mut().flat_map(|code| &mut code.symbols) {
        if is_secret(&symbol.name) || symbol.owner.as_deref().is_some_and(is_secret) {
            withheld.push(symbol.lines.first);
            // Without a name, the symbol gets no node and nothing links to it.
            *symbol = Symbol {
                kind: symbol.kind,
                parent: symbol.parent,
                lines: symbol.lines,
                ..Symbol::default()
            };
        } else if has_secret(&symbol.signature) || has_secret(&symbol.doc) {
            withheld.push(symbol.lines.first);
            symbol.signature = symbol.name.clone();
            symbol.doc = String::new();
            symbol.members.clear();
        }
        symbol.members.retain(|member| !has_secret(member));
    }
    if let Some(code) = &mut found.code
        && has_secret(&code.doc)
    {
        withheld.push(1);
        code.doc.clear();
    }
    withheld.sort_unstable();
    withheld.dedup();
}
