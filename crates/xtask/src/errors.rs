//! `docs/errors.md`: the codes of errors.

use sp_formats::error_code::{ErrorCode, FailureKind};

pub(crate) fn page() -> String {
    let mut text = String::from("# Error codes\n\n");
    text += &crate::notice("`crates/sp-formats/src/error_code.rs`");
    text += "\nWith `--format json`, a command that fails prints an error with a `code` (see \
             [json.md](json.md#error)). A code keeps its meaning; messages and hints may change \
             with any release. An error that is caused by findings in a file has the rule ID of \
             the first one as its code, such as `SP-11` (see [rules.md](rules.md)).\n";
    for (kind, title) in KINDS {
        text += &format!(
            "\n## Exit code {}: {title}\n\n| code | meaning |\n|---|---|\n",
            kind.exit_code()
        );
        for code in ErrorCode::ALL.iter().filter(|code| code.kind() == *kind) {
            text += &format!("| `{}` | {} |\n", code.as_str(), code.meaning());
        }
    }
    text
}

const KINDS: &[(FailureKind, &str)] = &[
    (FailureKind::Request, "the request failed"),
    (FailureKind::Cancelled, "the operation was cancelled"),
    (FailureKind::Usage, "invalid arguments"),
    (FailureKind::Data, "invalid data"),
    (FailureKind::Trust, "trust"),
    (FailureKind::Environment, "environment"),
];
