//! What people read about a decision.

use std::path::Path;

use crate::output::{PolicyDecisionItem, PolicyEffect};
use crate::printable::printable;

/// Explains a decision in one line, with the position of the first rule that leads to it. `label`
/// formats the path of a policy.
pub fn explain_decision(decision: &PolicyDecisionItem, label: &dyn Fn(&Path) -> String) -> String {
    let (subject, value) = (&decision.subject, printable(&decision.value));
    let Some(rule) = decision.rules.first() else { return format!("{subject} `{value}`") };
    let at = format!("{}:{}:{}", label(&rule.file), rule.line, rule.column);
    let pattern = rule.rule.as_deref().map(printable).unwrap_or_default();
    match (rule.effect, subject.as_str()) {
        (PolicyEffect::Allow, _) => format!("{subject} `{value}` is allowed by `{pattern}` ({at})"),
        (PolicyEffect::Deny, _) => format!("{subject} `{value}` is denied by `{pattern}` ({at})"),
        (PolicyEffect::NotAllowed, _) => {
            let section = &rule.section;
            format!("{subject} `{value}` is not in the list `allow` of `{section}` ({at})")
        }
        (PolicyEffect::Require, "lock") => {
            format!("no lockfile would record `{value}`, but a policy requires `{pattern}` ({at})")
        }
        (PolicyEffect::Require, _) => {
            format!("`{value}` is not signed, but a policy requires `{pattern}` ({at})")
        }
    }
}
