//! Renders untrusted Markdown to safe HTML: no raw HTML, no script URLs, no external images.

use pulldown_cmark::{Alignment, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};
use sp_formats::printable::printable_text;
use sp_formats::text::escape_markup;

/// Longer text is truncated.
pub(super) const MAX_MARKDOWN_BYTES: usize = 256 * 1024;

/// Renders Markdown, with headings demoted below those of the page. Also returns whether the text
/// was truncated.
pub(super) fn render(text: &str) -> (String, bool) {
    let truncated = &text[..text.floor_char_boundary(MAX_MARKDOWN_BYTES)];
    // Make invisible characters visible, since they could hide something.
    let visible = printable_text(truncated);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let events = Parser::new_ext(&visible, options).flat_map(sanitize_event);
    let mut page = String::with_capacity(visible.len() * 3 / 2);
    html::push_html(&mut page, events);
    (page, truncated.len() < text.len())
}

/// Replaces what is not safe.
fn sanitize_event(event: Event<'_>) -> Vec<Event<'_>> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => vec![Event::Text(text)],
        Event::Start(Tag::HtmlBlock) => vec![Event::Start(Tag::Paragraph)],
        Event::End(TagEnd::HtmlBlock) => vec![Event::End(TagEnd::Paragraph)],
        Event::Start(Tag::Heading { level, .. }) => {
            vec![Event::Start(Tag::Heading {
                level: demote_heading(level),
                id: None,
                classes: Vec::new(),
                attrs: Vec::new(),
            })]
        }
        Event::End(TagEnd::Heading(level)) => {
            vec![Event::End(TagEnd::Heading(demote_heading(level)))]
        }
        // Alignment needs inline styles, which the content security policy forbids.
        Event::Start(Tag::Table(columns)) => {
            let plain = vec![Alignment::None; columns.len()];
            vec![
                trusted_html(r#"<div class="wide" tabindex="0" role="region" aria-label="Table">"#),
                Event::Start(Tag::Table(plain)),
            ]
        }
        Event::End(TagEnd::Table) => vec![Event::End(TagEnd::Table), trusted_html("</div>")],
        Event::Start(Tag::Link { dest_url, .. }) => vec![link_start(&dest_url)],
        Event::End(TagEnd::Link) => vec![trusted_html("</a>")],
        Event::Start(Tag::Image { dest_url, .. }) => {
            vec![link_start(&dest_url), trusted_html("picture: ")]
        }
        Event::End(TagEnd::Image) => vec![trusted_html("</a>")],
        other => vec![other],
    }
}

fn trusted_html(markup: &'static str) -> Event<'static> {
    Event::InlineHtml(CowStr::Borrowed(markup))
}

/// A link, without a target if its URL is not safe.
fn link_start<'a>(address: &str) -> Event<'a> {
    let markup = if is_safe_url(address) {
        format!(r#"<a href="{}" rel="nofollow noopener noreferrer">"#, escape_markup(address))
    } else {
        "<a>".into()
    };
    Event::InlineHtml(markup.into())
}

/// Whether a URL is HTTP, mail or relative.
fn is_safe_url(address: &str) -> bool {
    // Browsers ignore these characters, so they could hide the scheme.
    if address.bytes().any(|byte| byte.is_ascii_control() || byte == b'\\')
        || address.starts_with(' ')
    {
        return false;
    }
    match address.split(['/', '?', '#']).next().and_then(|start| start.split_once(':')) {
        Some((scheme, _)) => {
            ["http", "https", "mailto"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
        }
        None => true,
    }
}

/// The page uses the first two levels itself.
fn demote_heading(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_html_is_escaped() {
        let hostile = "<script>alert(1)</script>\n\ntext <img src=x onerror=alert(1)> more </main>\n\n\
                       <!-- --><iframe src=\"//evil\">\n\n```<b>\n</code></pre><script>\n```\n";
        let (html, _) = render(hostile);
        for tag in ["<script", "<img", "<iframe", "</main", "<!--", "<b>"] {
            assert!(!html.contains(tag), "{tag} in {html}");
        }
        assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{html}");
    }

    #[test]
    fn unsafe_links_have_no_target() {
        for address in [
            "https://example.com/a?b=1&c",
            "mailto:a@b.c",
            "#part",
            "docs/a:b.md",
            "../x",
            "HTTP://x",
        ] {
            let (html, _) = render(&format!("[a]({address})"));
            assert!(
                html.contains("<a href=") && html.contains("nofollow noopener noreferrer"),
                "{html}"
            );
        }
        let unsafe_addresses = [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "file:///etc/passwd",
            "<java\tscript:alert(1)>",
            "&#106;avascript:alert(1)",
            "<\\\\evil>",
            "<\u{1}javascript:x>",
            "blob:x",
        ];
        for address in unsafe_addresses {
            for form in [
                format!("[a]({address})"),
                format!("![a]({address})"),
                format!("[a][x]\n\n[x]: {address}"),
            ] {
                let (html, _) = render(&form);
                assert!(!html.contains("href"), "{address}: {html}");
            }
        }
        let (html, _) = render("[a](<https://x/\"onmouseover=\"alert(1)>)");
        assert!(!html.contains("\"onmouseover"), "{html}");
    }

    #[test]
    fn images_become_links_and_tables_have_no_inline_style() {
        let (html, _) = render("![map](https://example.com/m.png)\n\n| a |\n|--:|\n| b |\n");
        assert!(!html.contains("<img") && !html.contains("style="), "{html}");
        assert!(
            html.contains(r#"<a href="https://example.com/m.png""#)
                && html.contains("picture: map</a>"),
            "{html}"
        );
        assert!(html.contains(r#"<div class="wide""#), "{html}");
    }

    #[test]
    fn headings_are_demoted_and_long_text_is_truncated() {
        let (html, truncated) = render("# One\n\n#### Four\n");
        assert!(
            html.contains("<h3>One</h3>") && html.contains("<h6>Four</h6>") && !truncated,
            "{html}"
        );
        let (html, truncated) = render(&"é ".repeat(MAX_MARKDOWN_BYTES));
        assert!(truncated && html.len() < 2 * MAX_MARKDOWN_BYTES);
    }

    #[test]
    fn pathological_input_does_not_hang() {
        for text in [
            ">".repeat(MAX_MARKDOWN_BYTES),
            "[".repeat(MAX_MARKDOWN_BYTES),
            "*a_ ".repeat(MAX_MARKDOWN_BYTES / 4),
            "<!--".repeat(MAX_MARKDOWN_BYTES / 4),
        ] {
            let (html, _) = render(&text);
            assert!(html.len() < 64 * MAX_MARKDOWN_BYTES, "{}", &text[..8]);
        }
    }
}
