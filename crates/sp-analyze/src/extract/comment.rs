//! Comments of source code, as text without markers.

/// A comment with its markers.
#[derive(Debug, Clone)]
pub(crate) struct CodeComment {
    pub text: String,
    pub line: usize,
}

/// Removes the comment markers.
pub(crate) fn strip_comment_markers(comment: &str) -> String {
    strip_line_markers(comment).join("\n").trim().to_owned()
}

/// Removes the comment markers from each line, keeping the number of lines.
pub(crate) fn strip_line_markers(comment: &str) -> Vec<String> {
    let comment = comment.trim();
    let inside = comment.strip_prefix("/*").map(|rest| {
        rest.trim_start_matches(['*', '!']).trim_end_matches("*/").trim_end_matches('*')
    });
    let clean = |line: &str| {
        let line = line.trim();
        let line = match inside {
            Some(_) => line.strip_prefix('*').unwrap_or(line),
            None => line
                .trim_start_matches('/')
                .trim_start_matches(['!', '#', ';'])
                .trim_start_matches("--"),
        };
        line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()
    };
    inside.unwrap_or(comment).lines().map(clean).collect()
}

/// Whether a comment is a license header or a directive for a tool.
pub(crate) fn is_boilerplate(text: &str) -> bool {
    const BOILERPLATE_MARKERS: &[&str] = &[
        "copyright",
        "spdx-license",
        "licensed under",
        "all rights reserved",
        "eslint",
        "prettier-ignore",
        "@ts-",
        "#!/",
        "go:build",
        "+build",
        "pylint:",
        "istanbul",
    ];
    let lower = text.to_lowercase();
    BOILERPLATE_MARKERS.iter().any(|mark| lower.contains(mark))
}
