use proptest::prelude::*;
use pulldown_cmark::{LinkType, Tag, TagEnd};

use super::*;

const OPTIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_TASKLISTS);

fn events_in_windows(text: &str, window_bytes: usize) -> Vec<(String, Range<usize>)> {
    let definitions = Some(LinkDestinations::of(text, 0));
    MarkdownEvents { window_bytes, definitions, ..events(text, 0, OPTIONS) }
        .map(comparable)
        .collect()
}

fn events_of_whole_text(text: &str) -> Vec<(String, Range<usize>)> {
    // The same link definitions as in `events_in_windows`, so that only the windows differ.
    let definitions = Some(LinkDestinations::of(text, 0));
    Parser::new_with_broken_link_callback(text, OPTIONS, definitions)
        .into_offset_iter()
        .map(comparable)
        .collect()
}

/// Removes from an event what differs between windows: the title of a link whose definition is in
/// another window, and whether that definition is known. Also removes the end of a list, because
/// the parser includes trailing blank lines and definitions in it until another block follows.
fn comparable((event, range): (Event<'_>, Range<usize>)) -> (String, Range<usize>) {
    let range = match event {
        Event::Start(Tag::List(_) | Tag::Item) | Event::End(TagEnd::List(_) | TagEnd::Item) => {
            range.start..0
        }
        _ => range,
    };
    let event = match event {
        Event::Start(Tag::Link { dest_url, link_type, .. }) => {
            let is_inline =
                matches!(link_type, LinkType::Inline | LinkType::Autolink | LinkType::Email);
            format!("link {dest_url} {is_inline}")
        }
        other => format!("{other:?}"),
    };
    (event, range)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn se_04_windows_give_the_same_events_as_the_whole_text(
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
        prop_assert_eq!(events_in_windows(&text, window_bytes), events_of_whole_text(&text), "{:?}", text);
    }
}

fn texts(events: &mut MarkdownEvents<'_>) -> Vec<String> {
    events
        .filter_map(
            |(event, _)| if let Event::Text(words) = event { Some(words.into()) } else { None },
        )
        .collect()
}

#[test]
fn se_04_block_with_too_many_marks_is_not_read() {
    let text = format!("# Title\n\nbefore\n\n{}\nafter\n", "a\n".repeat(MAX_BLOCK_MARKS));
    let mut events = events(&text, 0, OPTIONS);
    assert_eq!(texts(&mut events), ["Title", "before"]);
    assert_eq!(events.unread_from(), Some("# Title\n\nbefore\n\n".len()));
}

#[test]
fn se_04_text_with_too_many_marks_is_not_read_to_the_end() {
    let text = "a\n\n".repeat(200_000);
    let mut unlimited = events(&text, 0, OPTIONS);
    assert_eq!(texts(&mut unlimited).len(), 200_000);
    assert_eq!(unlimited.unread_from(), None);
    let mut limited = MarkdownEvents { marks_left: 400_000, ..events(&text, 0, OPTIONS) };
    let read_count = texts(&mut limited).len();
    assert!((50_000..=100_000).contains(&read_count), "{read_count}");
    assert!(text[..limited.unread_from().unwrap()].matches('a').count().abs_diff(read_count) <= 1);
}

#[test]
fn se_04_line_that_is_nested_too_deeply_is_not_read() {
    let text = format!("before\n\n{} inside\nlazy\n\nafter\n", "> ".repeat(MAX_DEPTH + 1));
    let mut events = events(&text, 0, OPTIONS);
    assert_eq!(texts(&mut events), ["before"]);
    assert_eq!(events.unread_from(), Some("before\n\n".len()));
    let text = format!("{} inside\n", "> ".repeat(MAX_DEPTH));
    let mut events = super::events(&text, 0, OPTIONS);
    assert_eq!(texts(&mut events), ["inside"]);
    assert_eq!(events.unread_from(), None);
}

#[test]
fn se_04_large_block_with_few_marks_is_one_block() {
    let line = "{\"name\": \"a long line of some data, as files have it\"}\n";
    let text = format!("```json\n{}```\n", line.repeat(20_000));
    let mut events = events(&text, 0, OPTIONS);
    assert_eq!(events.by_ref().filter(|(event, _)| matches!(event, Event::Start(_))).count(), 1);
    assert_eq!(events.unread_from(), None);
}
