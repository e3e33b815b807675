//! Captures: one JSON object a line, each a document.

use serde_json::Value;

use super::{Give, MOST_BYTES};
use crate::knowledge::markdown::{self, Text, is_too_deep};
use crate::knowledge::meta::Meta;
use crate::knowledge::page;

pub(super) fn read(text: &str, give: &mut Give<'_>) {
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        if let Err(why) = capture(number, line, give) {
            give.skip(Some(number), why);
        }
    }
}

fn capture(number: usize, line: &str, give: &mut Give<'_>) -> Result<(), String> {
    if line.len() as u64 > MOST_BYTES {
        return Err(format!("the line has more than {} MB", MOST_BYTES / (1024 * 1024)));
    }
    let value: Value = serde_json::from_str(line).map_err(|error| format!("it is no JSON: {error}"))?;
    if !value.is_object() {
        return Err("it is no object".into());
    }
    let mut meta = Meta::of(&value);
    let text = match (meta.text.take(), meta.html.take()) {
        (Some(text), _) if is_too_deep(&text) => return Err("its lists and quotes stand in each other too deep".into()),
        (Some(text), _) => markdown::read(&text),
        (None, Some(html)) => match page::refusal(&html) {
            Some(why) => return Err(why.into()),
            None => markdown::read(&page::article(&html).1),
        },
        (None, None) => Text::default(),
    };
    give.document(Some(number), meta, text);
    Ok(())
}
