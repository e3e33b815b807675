//! Collects facts about a skill that matter before trusting it: its scripts, the tools it requests,
//! the hosts it mentions, and what looks like a secret.
//!
//! These are facts, not verdicts: a script may be exactly what a skill is for. All lists are
//! bounded, however large the skill is.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::hosts::{external_host, host_ranges};
use crate::secrets::find_secrets;
use sp_formats::output::{AuditedSecret, AuditedSkill, FactList, SecretList};
use sp_formats::skill::SkillMetadata;

/// Maximum number of entries listed per category.
const MAX_LISTED: usize = 50;
/// Maximum number of distinct entries counted per category.
const MAX_COUNTED: usize = 1_000;

/// Extensions of executable files.
const SCRIPT_EXTENSIONS: &[&str] = &[
    "bash", "bat", "cjs", "cmd", "com", "dll", "dylib", "exe", "fish", "jar", "js", "ksh", "lua",
    "mjs", "php", "pl", "ps1", "psm1", "py", "pyc", "rb", "sh", "so", "ts", "vbs", "wasm", "zsh",
];

/// The facts about one skill, collected file by file.
#[derive(Debug, Default)]
pub struct SkillFacts {
    name: Option<String>,
    tools: Vec<String>,
    scripts: BTreeSet<String>,
    hosts: BTreeSet<String>,
    /// The first secrets, and the number of all.
    secrets: Vec<AuditedSecret>,
    secret_count: usize,
}

impl SkillFacts {
    /// Starts with the facts from `SKILL.md`.
    pub fn of(skill: &SkillMetadata) -> Self {
        Self { name: skill.name.clone(), tools: skill.allowed_tools.clone(), ..Self::default() }
    }

    /// Adds a file by its path in the skill. `text` is `None` for binary files.
    pub fn add_file(&mut self, path: &str, executable: bool, text: Option<&str>) {
        if executable || is_script(path) || text.is_some_and(|text| text.starts_with("#!")) {
            insert_bounded(&mut self.scripts, path.into());
        }
        let Some(text) = text else { return };
        for host in host_ranges(text).filter_map(|range| external_host(&text[range])) {
            insert_bounded(&mut self.hosts, host);
        }
        for found in find_secrets(text) {
            self.secret_count += 1;
            if self.secrets.len() < MAX_LISTED {
                self.secrets.push(AuditedSecret {
                    file: path.into(),
                    line: found.line,
                    column: found.column,
                    kind: found.kind.name().into(),
                });
            }
        }
    }

    pub fn into_audited_skill(mut self, path: PathBuf) -> AuditedSkill {
        self.secrets.sort();
        AuditedSkill {
            path,
            name: self.name,
            allowed_tools: to_fact_list(self.tools.into_iter().collect()),
            scripts: to_fact_list(self.scripts),
            hosts: to_fact_list(self.hosts),
            secrets: SecretList { count: self.secret_count.min(MAX_COUNTED), listed: self.secrets },
        }
    }
}

fn is_script(path: &str) -> bool {
    let ending =
        path.rsplit('/').next().unwrap_or_default().rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| {
        SCRIPT_EXTENSIONS.iter().any(|known| known.eq_ignore_ascii_case(ending))
    })
}

fn insert_bounded(all: &mut BTreeSet<String>, one: String) {
    if all.len() < MAX_COUNTED {
        all.insert(one);
    }
}

fn to_fact_list(all: BTreeSet<String>) -> FactList {
    FactList { count: all.len(), listed: all.into_iter().take(MAX_LISTED).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn se_09_scripts_hosts_and_secrets_are_collected_and_bounded() {
        let mut facts = SkillFacts::default();
        facts.add_file(
            "SKILL.md",
            false,
            Some("See https://Docs.example/a and http://localhost:1/ and https://docs.example."),
        );
        facts.add_file("bin/tool", true, None);
        facts.add_file("run", false, Some("#!/bin/sh\n"));
        facts.add_file("a.PY", false, Some("TOKEN = 'ghp_k7Qz9XbR2mVt4LwPs8YcJ3nHd6Tf1Gq5Zr0W'\n"));
        facts.add_file(
            "notes.md",
            false,
            Some(&(0..2000).map(|n| format!("https://h{n}.example/ ")).collect::<String>()),
        );
        let audited = facts.into_audited_skill("x".into());
        assert_eq!(audited.scripts.listed, ["a.PY", "bin/tool", "run"]);
        let secrets: Vec<String> = audited.secrets.listed.iter().map(ToString::to_string).collect();
        assert_eq!(secrets, ["a.PY:1:10 (access token)"]);
        assert_eq!((audited.hosts.count, audited.hosts.listed.len()), (MAX_COUNTED, MAX_LISTED));
        assert_eq!(audited.hosts.listed[0], "docs.example");
    }
}
