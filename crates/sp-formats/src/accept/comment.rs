//! Comments that accept findings: `<!-- skillpack-accept: AS-07 the list is generated -->`.

/// What a comment starts with.
const MARKER: &str = "skillpack-accept:";

/// The starts of comments in Markdown, YAML and programming languages.
const COMMENT_STARTS: [&str; 6] = ["<!--", "#", "//", "--", ";", "/*"];

/// Maximum number of comments per file.
const MAX_COMMENTS: usize = 1_000;

/// A comment that accepts findings of its line. If there is nothing else on its line, it accepts
/// those of the next line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptingComment {
    /// The line, starting at 1, on which findings are accepted.
    pub line: usize,
    /// The IDs of the rules.
    pub rules: Vec<String>,
}

/// Finds the comments of a text, in order.
pub fn accepting_comments(text: &str) -> Vec<AcceptingComment> {
    if !text.contains(MARKER) {
        return Vec::new();
    }
    let lines = text.lines().enumerate();
    lines.filter_map(|(index, line)| parse(line, index + 1)).take(MAX_COMMENTS).collect()
}

fn parse(line: &str, number: usize) -> Option<AcceptingComment> {
    let (before, after) = line.split_once(MARKER)?;
    let before = before.trim_end();
    let code = COMMENT_STARTS.iter().find_map(|start| before.strip_suffix(start))?;
    let words = after.split([' ', '\t', ',']).filter(|word| !word.is_empty());
    let rules: Vec<String> =
        words.map_while(|word| is_rule_id(word).then(|| word.into())).collect();
    let next = usize::from(code.trim().is_empty());
    (!rules.is_empty()).then_some(AcceptingComment { line: number + next, rules })
}

/// Whether a word has the form of `AS-07`.
fn is_rule_id(word: &str) -> bool {
    matches!(word.as_bytes(), [a, b, b'-', c, d]
        if a.is_ascii_uppercase() && b.is_ascii_uppercase() && c.is_ascii_digit() && d.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn au_07_a_comment_accepts_findings_of_its_own_or_the_next_line() {
        for (text, expected) in [
            ("a\n<!-- skillpack-accept: AS-07 generated -->\n", Some((3, vec!["AS-07"]))),
            ("[a](b.md) <!-- skillpack-accept: AS-07 -->", Some((1, vec!["AS-07"]))),
            ("# skillpack-accept: AS-05, SE-09 we need it", Some((2, vec!["AS-05", "SE-09"]))),
            ("x = 1  // skillpack-accept: SE-09", Some((1, vec!["SE-09"]))),
            ("Write `skillpack-accept: AS-07` into a comment.", None),
            ("# skillpack-accept: everything", None),
            ("# skillpack-accept AS-07", None),
        ] {
            let comments = accepting_comments(text);
            let found = comments.first().map(|comment| {
                (comment.line, comment.rules.iter().map(String::as_str).collect::<Vec<_>>())
            });
            assert_eq!(found, expected, "{text}");
        }
    }
}
