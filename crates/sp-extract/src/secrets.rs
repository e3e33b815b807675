//! What looks like a secret is left out, whatever else it says.

use sp_formats::bag::secret;

use crate::note::Found;

/// Takes out everything that looks like a secret, and remembers where it stood.
pub(crate) fn withhold(found: &mut Found) {
    let withheld = &mut found.withheld;
    found.notes.retain(|note| {
        let hidden = has_secret(&note.content) || note.key.as_deref().is_some_and(has_secret);
        if hidden {
            withheld.push(note.lines.first);
        }
        !hidden
    });
    for symbol in found.code.iter_mut().flat_map(|code| &mut code.symbols) {
        if has_secret(&symbol.signature) || has_secret(&symbol.doc) {
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
}

/// Whether there is a word in a text that looks like a secret, or a name of one with its value.
pub(crate) fn has_secret(text: &str) -> bool {
    text.contains("PRIVATE KEY-----")
        || text.split_whitespace().any(|word| secret("", word).is_some())
        || text.lines().any(assigns_secret)
}

/// `password = "hunter2"`: a telling name, and a value that is one, and not a type, a place or a sentence.
fn assigns_secret(line: &str) -> bool {
    let Some(at) = line.find(['=', ':']) else { return false };
    let (name, value) = (line[..at].trim(), line[at + 1..].trim_start_matches('='));
    let name =
        name.rsplit(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))).find(|word| !word.is_empty());
    let Some(name) = name else { return false };
    let value = value.trim().trim_end_matches([',', ';']);
    let quoted = ['"', '\'', '`']
        .iter()
        .find_map(|quote| value.strip_prefix(*quote)?.split_once(*quote).map(|(inside, _)| inside));
    let bare = || Some(value).filter(|value| line[at..].starts_with('=') && !value.contains(char::is_whitespace));
    let Some(value) = quoted.or_else(bare) else { return false };
    is_literal(value) && secret(name, value).is_some()
}

/// Not a reference to a variable, a placeholder or a piece of code.
fn is_literal(value: &str) -> bool {
    let stands_for_another = value.starts_with(['$', '<', '{', '%', '*', '[', '(']) || value.contains(['(', '{', '<']);
    let words = ["changeme", "example", "your", "xxx", "placeholder", "dummy", "test", "todo", "..."];
    let lower = value.to_ascii_lowercase();
    value.len() >= 6 && !stands_for_another && !words.iter().any(|word| lower.contains(word))
}
