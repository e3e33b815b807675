//! Prompts, from the `prompts.md` files of context packs.

use rmcp::ErrorData;
use rmcp::model::{CacheScope, GetPromptResult, ListPromptsResult, Prompt, PromptMessage, Role};
use sp_engine::hidden;
use sp_formats::context_pack::{PROMPTS_FILE, read_prompts, without_frontmatter};
use sp_formats::printable::printable;

use crate::mcp::backend::McpBackend;
use crate::mcp::pagination::{TTL_MS, paginate};
use crate::mcp::response::internal_error;

struct NamedPrompt {
    name: String,
    title: String,
    pack: String,
    text: String,
}

/// Returns all prompts. Names are slugs of their headings, with a number where they collide.
fn all_prompts<B: McpBackend>(backend: &B) -> Result<Vec<NamedPrompt>, ErrorData> {
    let mut found: Vec<NamedPrompt> = Vec::new();
    for pack in backend.context_packs().map_err(|e| internal_error(&e))? {
        let Some(text) =
            pack.files.get(PROMPTS_FILE).and_then(|bytes| std::str::from_utf8(bytes).ok())
        else {
            continue;
        };
        for prompt in read_prompts(without_frontmatter(text)) {
            let name =
                unique_name(slug(&prompt.title), |name| found.iter().any(|one| one.name == name));
            let shown = |text: &str| hidden::mark(text).into_owned();
            found.push(NamedPrompt {
                name,
                title: shown(&prompt.title),
                pack: shown(&pack.name),
                text: shown(&prompt.text),
            });
        }
    }
    Ok(found)
}

/// Appends the first number that makes the name unique, if it is taken.
fn unique_name(base: String, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered =
        (2..).map(|number: usize| format!("{base}-{number}")).find(|name| !is_taken(name));
    if is_taken(&base) { numbered.unwrap_or(base) } else { base }
}

fn slug(title: &str) -> String {
    let lower = title.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "prompt".into() } else { words.join("-").chars().take(64).collect() }
}

pub(crate) fn list<B: McpBackend>(
    backend: &B,
    cursor: Option<&str>,
) -> Result<ListPromptsResult, ErrorData> {
    let all = all_prompts(backend)?;
    let (page, next) = paginate(&all, cursor, |prompt| &prompt.name)?;
    let to_prompt = |prompt: &NamedPrompt| {
        let about = format!("Prompt from the context pack `{}`", prompt.pack);
        Prompt::new(&prompt.name, Some(about), None).with_title(&prompt.title)
    };
    let mut result = ListPromptsResult::with_all_items(page.iter().map(to_prompt).collect());
    result.next_cursor = next;
    Ok(result.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Private))
}

pub(crate) fn get<B: McpBackend>(backend: &B, name: &str) -> Result<GetPromptResult, ErrorData> {
    let found = all_prompts(backend)?.into_iter().find(|prompt| prompt.name == name);
    let found = found.ok_or_else(|| {
        ErrorData::invalid_params(format!("unknown prompt `{}`", printable(name)), None)
    })?;
    let message = PromptMessage::new_text(Role::User, found.text);
    Ok(GetPromptResult::new(vec![message]).with_description(found.title))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mc_04_prompt_names_are_unique() {
        let mut names: Vec<String> = Vec::new();
        for title in ["A 2", "A", "A", "a!", "\u{3164}\u{3164}", "日本語"] {
            let name = unique_name(slug(title), |name| names.iter().any(|known| known == name));
            names.push(name);
        }
        assert_eq!(names, ["a-2", "a", "a-3", "a-4", "prompt", "prompt-2"]);
    }
}
