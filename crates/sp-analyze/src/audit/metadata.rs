//! What a skill declares: its name, its tools and its promises, compared with what was found.

use std::ops::Range;

use sp_formats::skill::SkillMetadata;

use super::capability::{Capability, CapabilityKind};
use super::evidence::{Evidence, Origin, Scope};
use super::finding::{AuditClass, Confidence, Detection, Risk};
use super::typosquat::check_skill_name;

/// Reports what the frontmatter of a skill asks for.
pub(super) fn scan_metadata(text: &str, skill: &SkillMetadata, evidence: &mut Evidence) {
    let front = &text[..skill.body_start];
    let scope = Scope::new(Origin::Script, 0);
    if let Some(detection) = skill.name.as_deref().and_then(check_skill_name) {
        let span = front.find("name:").map_or(0..0, |at| line_at(front, at));
        evidence.report_decoded(Some(span), detection, None);
    }
    let tools_at = front.find("allowed-tools").map_or(0..0, |at| line_at(front, at));
    for tool in &skill.allowed_tools {
        evidence.capability(&scope, &tools_at, CapabilityKind::Tool, tool);
        if let Some((risk, confidence, why)) = judge_tool(tool) {
            let message = format!("`allowed-tools` contains `{tool}`: {why}");
            evidence.report_decoded(
                Some(tools_at.clone()),
                Detection::new(AuditClass::ToolGrant, risk, confidence, message),
                None,
            );
        }
    }
    for key in ["hooks:", "permissionMode:", "permission-mode:"] {
        if let Some(at) = front.find(&format!("\n{key}")) {
            let span = line_at(front, at + 1);
            let is_bypass = front[span.clone()].contains("bypass");
            let (risk, confidence) = if is_bypass {
                (Risk::High, Confidence::Likely)
            } else {
                (Risk::Low, Confidence::Hint)
            };
            let message = format!("the frontmatter sets `{}`", key.trim_end_matches(':'));
            evidence.report_decoded(
                Some(span),
                Detection::new(AuditClass::ToolGrant, risk, confidence, message),
                None,
            );
        }
    }
}

fn line_at(text: &str, at: usize) -> Range<usize> {
    at..text[at..].find('\n').map_or(text.len(), |length| at + length)
}

/// Tools that allow everything, or something dangerous.
fn judge_tool(tool: &str) -> Option<(Risk, Confidence, &'static str)> {
    let compact: String = tool.chars().filter(|c| !c.is_whitespace()).collect();
    let inside = compact.strip_prefix("Bash(").and_then(|rest| rest.strip_suffix(')'));
    let program = inside.map(|inside| inside.trim_end_matches(['*', ':']));
    Some(match (compact.as_str(), program) {
        ("*" | "All" | "all", _) => {
            (Risk::High, Confidence::Likely, "every tool may be used without asking")
        }
        (_, Some("")) => {
            (Risk::Medium, Confidence::Hint, "every command may be run without asking")
        }
        ("Bash" | "bash" | "Shell", _) => {
            (Risk::Low, Confidence::Hint, "every command may be run without asking")
        }
        ("mcp__*", _) => (
            Risk::Medium,
            Confidence::Likely,
            "every tool of every MCP server may be used without asking",
        ),
        (_, Some("sudo" | "su" | "doas")) => {
            (Risk::High, Confidence::Likely, "commands may be run as root without asking")
        }
        (_, Some("rm" | "rm-rf" | "dd" | "mkfs" | "shred")) => {
            (Risk::Medium, Confidence::Likely, "files may be deleted without asking")
        }
        (
            _,
            Some(
                "bash" | "sh" | "zsh" | "eval" | "sh-c" | "bash-c" | "source" | "xargs"
                | "osascript" | "ssh",
            ),
        ) => (Risk::Medium, Confidence::Likely, "every command may be run without asking"),
        (_, Some("nc" | "ncat" | "netcat" | "socat" | "scp")) => {
            (Risk::Medium, Confidence::Likely, "files may be sent anywhere without asking")
        }
        (
            _,
            Some("curl" | "wget" | "python" | "python3" | "node" | "npx" | "uvx" | "perl" | "ruby"),
        ) => (Risk::Low, Confidence::Hint, "programs may be downloaded and run without asking"),
        _ => return None,
    })
}

/// Promises in a description, and the capabilities that break them.
const PROMISES: &[(&[&str], &[CapabilityKind], &str)] = &[
    (
        &[
            "works offline",
            "fully offline",
            "runs offline",
            "completely offline",
            "offline-only",
            "entirely offline",
            "offline.",
            "no network",
            "without network",
            "no internet",
            "without internet",
            "air-gapped",
            "fully local",
            "locally only",
            "never connects",
            "network-free",
            "does not use the network",
            "no external requests",
            "never leaves",
            "no data leaves",
        ],
        &[CapabilityKind::Host, CapabilityKind::PackageInstall],
        "uses the network",
    ),
    (
        &[
            "read-only",
            "readonly",
            "never modifies",
            "does not modify",
            "never writes",
            "no side effects",
            "doesn't modify",
            "without modifying",
        ],
        &[CapabilityKind::PathWrite, CapabilityKind::Persistence],
        "changes files outside of the skill",
    ),
    (
        &[
            "no scripts",
            "no code execution",
            "prompt-only",
            "instructions only",
            "does not run any",
            "never runs commands",
            "no commands",
            "documentation only",
            "text only",
            "pure markdown",
        ],
        &[CapabilityKind::Program],
        "runs programs",
    ),
    (
        &[
            "does not access credentials",
            "never reads credentials",
            "no credentials",
            "no secrets",
            "never reads secrets",
            "no api key",
            "does not require credentials",
            "no keys required",
        ],
        &[CapabilityKind::Secret],
        "reads credentials",
    ),
];

/// Reports capabilities that the description rules out.
pub(super) fn check_promises(
    description: &str,
    capabilities: &[Capability],
) -> Vec<(Capability, Detection)> {
    let lower = description.to_lowercase();
    let mut found = Vec::new();
    for (words, kinds, what) in PROMISES {
        let Some(promise) = words.iter().find(|word| lower.contains(**word)) else { continue };
        let Some(broken) = capabilities.iter().find(|capability| kinds.contains(&capability.kind))
        else {
            continue;
        };
        let message =
            format!("the description says `{promise}`, but the skill {what}: `{}`", broken.value);
        found.push((
            broken.clone(),
            Detection::new(AuditClass::Mismatch, Risk::Medium, Confidence::Likely, message),
        ));
    }
    found
}

/// Reports commands of a skill whose `allowed-tools` contain none for commands.
pub(super) fn check_undeclared_commands(
    skill: &SkillMetadata,
    capabilities: &[Capability],
) -> Option<(Capability, Detection)> {
    let runs = |tool: &String| {
        ["bash", "shell", "execute", "terminal", "task", "run", "skill", "*"]
            .iter()
            .any(|word| tool.to_lowercase().contains(word))
    };
    if skill.allowed_tools.is_empty() || skill.allowed_tools.iter().any(runs) {
        return None;
    }
    let program =
        capabilities.iter().find(|capability| capability.kind == CapabilityKind::Program)?;
    let message =
        format!("`allowed-tools` allows no commands, but the skill runs `{}`", program.value);
    Some((
        program.clone(),
        Detection::new(AuditClass::Mismatch, Risk::Low, Confidence::Hint, message),
    ))
}
