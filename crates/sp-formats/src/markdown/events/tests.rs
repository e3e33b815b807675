use proptest::prelude::*;
use pulldown_cmark::{LinkType, Tag, TagEnd};

use super::*;

const OPTIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_TASKLISTS);

fn in_windows(text: &str, window_bytes: usize) -> Vec<(String, Range<usize>)> {
    let definitions = Some(Definitions::of(text, 0));
    Events { window_bytes, definitions, ..events(text, 0, OPTIONS) }.map(shown).collect()
}

fn as_a_whole(text: &str) -> Vec<(String, Range<usize>)> {
    // Both find the same definitions, so that only what windows do is compared.
    let definitions = Some(Definitions::of(text, 0));
    Parser::new_with_broken_link_callback(text, OPTIONS, definitions).into_offset_iter().map(shown).collect()
}

/// An event without what a definition in another window cannot tell: its title, and that it is known.
/// The parser counts blank lines and definitions behind a list as parts of it, until something follows.
fn shown((event, range): (Event<'_>, Range<usize>)) -> (String, Range<usize>) {
    let range = match event {
        Event::Start(Tag::List(_) | Tag::Item) | Event::End(TagEnd::List(_) | TagEnd::Item) => range.start..0,
        _ => range,
    };
    let event = match event {
        Event::Start(Tag::Link { dest_url, link_type, .. }) => {
            let is_inline = matches!(link_type, LinkType::Inline | LinkType::Autolink | LinkType::Email);
            format!("link {dest_url} {is_inline}")
        }
        other => format!("{other:?}"),
    };
    (event, range)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn se_04_windows_give_the_events_of_the_whole(
        lines in proptest::collection::vec(
            prop::sample::select(&[
                "", "", "", "words", "more words", "# head", "===", "---", "***", "- item", "* item", "1. item",
                "  - inner", "  below", "    code", "\tcode", "> quote", "> - both", ">", "```", "```sh", "~~~",
                "  ```", "<div>", "</div>", "<!-- open", "close -->", "<script>", "| a | b |", "|---|---|",
                "[x]: y", "[far]: z", "[x] and [far] and [none]", "a **b** `c` [d](e) <http://f>", "*open", "close*",
                "`open", "close`", "é 日本", "\\", "- [ ] task", "\r",
            ][..]),
            0..60,
        ),
        window_bytes in 8..200usize,
    ) {
        let text = lines.join("\n");
        prop_assert_eq!(in_windows(&text, window_bytes), as_a_whole(&text), "{:?}", text);
    }
}

#[test]
fn se_04_a_block_with_too_many_marks_is_split_and_said_to_be() {
    let text = format!("# Title\n\n{}", "a\n".repeat(400_000));
    let mut events = events(&text, 0, OPTIONS);
    let last = events.by_ref().last().unwrap();
    assert_eq!(last.1.end, text.len());
    assert_eq!(events.split_at().map(|at| text.as_bytes()[at - 1]), Some(b'\n'));
    let blocks = "a\n\n".repeat(400_000);
    let mut events = super::events(&blocks, 0, OPTIONS);
    assert_eq!(events.by_ref().filter(|(event, _)| matches!(event, Event::Text(_))).count(), 400_000);
    assert_eq!(events.split_at(), None);
}

#[test]
fn se_04_a_line_that_is_nested_too_deep_is_read_without_its_marks() {
    let text = format!("before\n\n{} inside\nlazy\n\nafter\n", "> ".repeat(MAX_DEPTH + 1));
    let mut events = events(&text, 0, OPTIONS);
    let words: Vec<String> = events
        .by_ref()
        .filter_map(|(event, _)| if let Event::Text(words) = event { Some(words.into()) } else { None })
        .collect();
    assert_eq!(words, ["before", "inside", "lazy", "after"]);
    assert_eq!(events.split_at(), Some("before\n\n".len()));
    let text = format!("{} inside\n", "> ".repeat(MAX_DEPTH));
    let mut events = super::events(&text, 0, OPTIONS);
    assert_eq!(
        events.by_ref().filter(|(event, _)| matches!(event, Event::Start(Tag::BlockQuote(_)))).count(),
        MAX_DEPTH
    );
    assert_eq!(events.split_at(), None);
}

#[test]
fn se_04_a_large_block_of_few_marks_is_one_block() {
    let text =
        format!("```json\n{}```\n", "{\"name\": \"a long line of some data, as files have it\"}\n".repeat(40_000));
    let mut events = events(&text, 0, OPTIONS);
    assert_eq!(events.by_ref().filter(|(event, _)| matches!(event, Event::Start(_))).count(), 1);
    assert_eq!(events.split_at(), None);
}
