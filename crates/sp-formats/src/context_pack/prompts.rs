//! The prompts of a context pack.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Tag, TagEnd};

use crate::markdown::events;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextPackPrompt {
    /// The heading.
    pub title: String,
    /// The text to paste.
    pub text: String,
}

/// Reads the prompts in the body of `prompts.md`: the first `text` block below each `##` heading.
pub fn read_prompts(body: &str) -> Vec<ContextPackPrompt> {
    let mut prompts: Vec<ContextPackPrompt> = Vec::new();
    let (mut in_title, mut in_block) = (false, false);
    for (event, _) in events(body, 0, Options::empty()) {
        match event {
            Event::Start(Tag::Heading { level: HeadingLevel::H2, .. }) => {
                in_title = true;
                prompts.push(ContextPackPrompt { title: String::new(), text: String::new() });
            }
            Event::End(TagEnd::Heading(_)) => in_title = false,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                in_block =
                    &*info == "text" && prompts.last().is_some_and(|prompt| prompt.text.is_empty());
            }
            Event::End(TagEnd::CodeBlock) => in_block = false,
            Event::Text(text) | Event::Code(text) => {
                if let Some(prompt) = prompts.last_mut() {
                    let part = if in_title {
                        Some(&mut prompt.title)
                    } else {
                        in_block.then_some(&mut prompt.text)
                    };
                    part.into_iter().for_each(|part| part.push_str(&text));
                }
            }
            _ => {}
        }
    }
    prompts.retain(|prompt| !prompt.title.trim().is_empty() && !prompt.text.trim().is_empty());
    prompts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mc_04_prompt_is_the_first_text_block_below_a_heading() {
        let body = "# Prompts\n\n## Set `up`\n\n````text\nDo ```this```.\nThen that.\n````\n\nSources: [^a]\n\n\
                    ```text\nnot this\n```\n\n## Without a block\n\ntext\n\n## Two\n\n```text\nx\n```\n";
        let prompts = read_prompts(body);
        let titles_and_texts: Vec<(&str, &str)> =
            prompts.iter().map(|prompt| (prompt.title.as_str(), prompt.text.as_str())).collect();
        assert_eq!(titles_and_texts, [("Set up", "Do ```this```.\nThen that.\n"), ("Two", "x\n")]);
    }
}
