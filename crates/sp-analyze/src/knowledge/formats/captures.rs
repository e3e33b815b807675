//! Captures: JSON Lines, one document per line.

use serde_json::Value;
use sp_formats::text::ByteSize;

use super::{DocumentCollector, MAX_DOCUMENT_BYTES};
use crate::knowledge::markdown::{self, MarkdownContent, is_too_deep};
use crate::knowledge::meta::DocumentMeta;
use crate::knowledge::web_page;

pub(super) fn read(text: &str, give: &mut DocumentCollector<'_>) {
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        if let Err(why) = read_capture(number, line, give) {
            give.skip(Some(number), why);
        }
    }
}

fn read_capture(number: usize, line: &str, give: &mut DocumentCollector<'_>) -> Result<(), String> {
    if line.len() as u64 > MAX_DOCUMENT_BYTES {
        return Err(format!("the line is larger than {}", ByteSize(MAX_DOCUMENT_BYTES)));
    }
    let value: Value =
        serde_json::from_str(line).map_err(|error| format!("invalid JSON: {error}"))?;
    if !value.is_object() {
        return Err("not a JSON object".into());
    }
    let mut meta = DocumentMeta::from_json(&value);
    let text = match (meta.text.take(), meta.html.take()) {
        (Some(text), _) if is_too_deep(&text) => {
            return Err("lists and quotes are nested too deeply".into());
        }
        (Some(text), _) => markdown::parse(&text),
        (None, Some(html)) => match web_page::rejection_reason(&html) {
            Some(why) => return Err(why.into()),
            None => markdown::parse(&web_page::extract_article(&html).1),
        },
        (None, None) => MarkdownContent::default(),
    };
    give.push_document(Some(number), meta, text);
    Ok(())
}
