//! Names of skills that imitate popular ones.

use super::finding::{AuditClass, Confidence, Detection, Risk};

/// Names of widely used skills, one per line.
const POPULAR: &str = include_str!("popular-skills.txt");

/// Shorter names are too close to each other to be compared.
const MIN_COMPARED_LEN: usize = 7;

/// Reports the name of a skill that is nearly that of a popular one.
pub(super) fn check_skill_name(name: &str) -> Option<Detection> {
    let lower = name.to_lowercase();
    let popular = || POPULAR.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    if popular().any(|known| known == lower) {
        return None;
    }
    let imitated = popular().find(|known| is_imitation(&lower, known))?;
    Some(Detection::new(
        AuditClass::Typosquat,
        Risk::Medium,
        Confidence::Likely,
        format!("the name `{name}` is nearly that of the popular skill `{imitated}`"),
    ))
}

fn is_imitation(name: &str, known: &str) -> bool {
    name != known
        && (is_misspelling(name, known)
            || name.is_ascii() && without_lookalikes(name) == without_lookalikes(known)
            || known.contains('-')
                && name.len() + 1 >= known.len()
                && name.replace(['-', '_'], "") == known.replace('-', "")
                && !name.contains('-'))
}

/// Replaces letters and digits that look alike.
fn without_lookalikes(name: &str) -> String {
    name.replace("rn", "m")
        .replace("vv", "w")
        .replace('0', "o")
        .replace(['1', 'i'], "l")
        .replace('5', "s")
        .replace('3', "e")
}

/// Whether a name is another one with one letter doubled, lost, replaced, added, or swapped with
/// the next one. Plurals and other endings are not misspellings.
pub(super) fn is_misspelling(name: &str, known: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (name.chars().collect(), known.chars().collect());
    if b.len() >= 5 && is_swapped(&a, &b) {
        return true;
    }
    if b.len() < MIN_COMPARED_LEN || a == b || a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let rest = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    // A different first or last character makes another word: `react` and `preact`, `test` and
    // `tests`, `-v1` and `-v2`.
    if same == 0 || rest == 0 {
        return false;
    }
    let (longer, shorter) = (a.len().max(b.len()), a.len().min(b.len()));
    let is_edit =
        same + rest >= longer - 1 && same + rest >= shorter - usize::from(longer == shorter);
    let changes_number = a.iter().chain(&b).any(char::is_ascii_digit)
        && a.iter().filter(|c| c.is_ascii_digit()).ne(b.iter().filter(|c| c.is_ascii_digit()));
    // A letter beside a hyphen makes another word: `code-review` and `codex-review`.
    let is_at_hyphen = same > 0 && (b.get(same) == Some(&'-') || a.get(same) == Some(&'-'));
    let changes_hyphen = is_at_hyphen
        || a.iter().filter(|c| **c == '-').count() != b.iter().filter(|c| **c == '-').count();
    is_edit && !changes_hyphen && !changes_number
}

/// Whether two neighboring characters are swapped.
fn is_swapped(a: &[char], b: &[char]) -> bool {
    if a.len() != b.len() || a == b {
        return false;
    }
    let Some(at) = a.iter().zip(b).position(|(a, b)| a != b) else { return false };
    at > 0
        && at + 1 < a.len()
        && a[at] == b[at + 1]
        && a[at + 1] == b[at]
        && a[at + 2..] == b[at + 2..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn au_06_names_that_imitate_popular_skills_are_reported() {
        for name in [
            "skill-creater",
            "skill-craetor",
            "frontend-desing",
            "mcp-bui1der",
            "brandguidelines",
            "webapp-testlng",
        ] {
            assert!(check_skill_name(name).is_some(), "{name}");
        }
        for name in [
            "skill-creator",
            "skills-creator-pro",
            "pdf",
            "pdfs",
            "deploy",
            "frontend-designs",
            "web-testing",
        ] {
            assert!(check_skill_name(name).is_none(), "{name}");
        }
    }
}
