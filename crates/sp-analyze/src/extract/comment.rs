//! Comments as text: without their markers.

/// A comment of a file of code, with its marks.
#[derive(Debug, Clone)]
pub(crate) struct CodeComment {
    pub text: String,
    pub line: usize,
}

/// The words of a comment, without what makes it one.
pub(crate) fn strip_comment_markers(comment: &str) -> String {
    strip_line_markers(comment).join("\n").trim().to_owned()
}

/// The same for each of its lines, from the first to the last.
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

/// Whether a comment says whose the file is, or speaks to a tool, and nothing of what is in it.
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
