//! Scans a script and the scripts that it executes.

use super::code::scan_code;
use super::evidence::{Evidence, Scope};
use super::flow::{EmbeddedScript, ScriptFlow, ScriptLanguage};
use super::other_languages::scan_lines;
use super::shell::scan_shell;

/// Maximum number of bytes of scripts inside of scripts that are scanned.
const MAX_EMBEDDED_BYTES: usize = 1024 * 1024;

/// Scans a script. What cannot be parsed is searched line by line.
pub(super) fn scan_script(
    language: ScriptLanguage,
    text: &str,
    scope: &Scope,
    evidence: &mut Evidence,
) -> bool {
    let mut flow = ScriptFlow::new(evidence, scope.clone());
    let mut is_complete = scan(language, text, &mut flow);
    let mut done = 0;
    let mut bytes_left = MAX_EMBEDDED_BYTES;
    while done < flow.embedded.len() {
        let EmbeddedScript { language, text, scope } = std::mem::replace(
            &mut flow.embedded[done],
            EmbeddedScript { language, text: String::new(), scope: scope.clone() },
        );
        done += 1;
        if text.len() > bytes_left {
            is_complete = false;
            continue;
        }
        bytes_left -= text.len();
        flow.enter(scope);
        scan(language, &text, &mut flow);
    }
    flow.enter(scope.clone());
    flow.finish();
    if !is_complete {
        scan_lines(text, scope, evidence);
    }
    is_complete
}

fn scan(language: ScriptLanguage, text: &str, flow: &mut ScriptFlow<'_>) -> bool {
    match language {
        ScriptLanguage::Shell => scan_shell(text, flow),
        _ => scan_code(language, text, flow),
    }
}
