//! `docs/rules.md`: every rule that `sp check` or `sp audit` can report, with the text of
//! `sp explain`.

use sp_analyze::hidden::mark;
use sp_engine::check_rules;
use sp_formats::printable::printable;
use sp_formats::rules::{CheckRule, ExampleContent, ExampleFile, example_files, truncate_example};

pub(crate) fn page() -> String {
    let mut text = String::from("# Rules of `sp check` and `sp audit`\n\n");
    text += &crate::notice("the `rules.rs` of each format");
    text += "\n`sp explain <RULE>` prints the same text. Depending on the problem, a finding is an error, a warning or \
             a note. With `--strict`, warnings are errors.\n";
    text += &check_rules().iter().map(|check| rule(check)).collect::<String>();
    text
}

fn rule(check: &CheckRule) -> String {
    let CheckRule { id, title, what, why, bad, good, .. } = check;
    format!(
        "\n## {id}\n\n{title}.\n\n{what}\n\n{why}\n\nBad:\n{}\nGood:\n{}",
        example(bad),
        example(good)
    )
}

fn example(text: &'static str) -> String {
    example_files(text).iter().map(file).collect()
}

fn file(file: &ExampleFile) -> String {
    let path = printable(file.path);
    match &file.content {
        ExampleContent::Link(target) => {
            format!("\n`{path}` is a link to `{}`.\n", printable(target))
        }
        ExampleContent::Text(text) => {
            let language = match path.rsplit('.').next() {
                Some("yaml") => "yaml",
                Some("ctxpkg") => "json",
                _ => "markdown",
            };
            let (shown, more) = truncate_example(text);
            let shown = mark(&shown);
            let more = if more > 0 { format!("… {more} more lines\n") } else { String::new() };
            // A text that contains a fence needs a longer fence around it.
            let fence = if shown.contains("```") { "````" } else { "```" };
            format!("\n`{path}`\n\n{fence}{language}\n{shown}{more}{fence}\n")
        }
    }
}
