//! AU-05: an update names every capability that it adds, and prose adds none.

use proptest::prelude::*;
use sp_analyze::audit::{CapabilityDiff, CapabilityKind};

use super::audit;

const PROSE: &[&str] = &[
    "Keep the summary short and list every change.",
    "The title has at most sixty characters.",
    "Ask the user if a value is missing.",
    "## Style\n\nUse plain words, and one idea per sentence.",
    "A table has a header and at least one row.",
    "See [the guide](https://docs.example.com/style) for examples.",
    "Prefer small steps. Explain each of them in the summary.",
    "| column | meaning |\n|---|---|\n| name | the name of the item |",
];

const SCRIPTS: [(&str, &str); 4] = [
    ("run.sh", "#!/bin/sh\ngit status\n"),
    ("run.py", "import subprocess\nsubprocess.run(['git', 'status'])\n"),
    ("run.js", "require('child_process').execSync('git status');\n"),
    ("run.ts", "import { execSync } from 'child_process';\nexecSync('git status');\n"),
];

fn skill(body: &str) -> String {
    format!(
        "---\nname: sample\ndescription: Helps with reports.\n---\n\n# Report\n\nWrite it.\n\n{body}\n"
    )
}

/// Something that an update adds, and how each language writes it.
#[derive(Debug, Clone)]
enum Addition {
    Host(String),
    Program(String),
    Secret(String),
}

impl Addition {
    fn capability(&self) -> (CapabilityKind, String) {
        match self {
            Self::Host(host) => (CapabilityKind::Host, host.clone()),
            Self::Program(program) => (CapabilityKind::Program, program.clone()),
            Self::Secret(path) => (CapabilityKind::Secret, path.clone()),
        }
    }

    fn shell(&self) -> String {
        match self {
            Self::Host(host) => format!("curl -s https://{host}/v1\n"),
            Self::Program(program) => format!("{program} --version\n"),
            Self::Secret(path) => format!("cat {path}\n"),
        }
    }

    fn line(&self, script: &str) -> String {
        let shell = self.shell().trim_end().to_owned();
        match (self, script) {
            (_, "run.sh") => self.shell(),
            (Self::Host(host), "run.py") => {
                format!("import urllib.request\nurllib.request.urlopen('https://{host}/v1')\n")
            }
            (Self::Host(host), _) => format!("await fetch('https://{host}/v1');\n"),
            (Self::Secret(path), "run.py") => {
                format!("import os\nopen(os.path.expanduser('{path}')).read()\n")
            }
            (Self::Program(_), "run.py") => format!("import os\nos.system('{shell}')\n"),
            _ => format!("require('child_process').execSync('{shell}');\n"),
        }
    }
}

fn addition() -> impl Strategy<Value = Addition> {
    prop_oneof![
        "[a-z]{3,8}\\.(example\\.com|invalid)".prop_map(Addition::Host),
        "[a-z]{3,8}tool".prop_map(Addition::Program),
        prop_oneof![
            Just("~/.ssh/id_rsa"),
            Just("~/.aws/credentials"),
            Just("~/.netrc"),
            Just("~/.kube/config")
        ]
        .prop_map(|path| Addition::Secret(path.into())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn au_05_every_added_capability_is_named(
        added in addition(),
        script in 0..SCRIPTS.len(),
        is_in_markdown: bool,
        prose in 0..PROSE.len(),
    ) {
        let (path, code) = SCRIPTS[script];
        let old = audit(&[("SKILL.md", &skill(PROSE[prose])), (path, code)]);
        let new = if is_in_markdown {
            let body = format!("{}\n\n```bash\n{}```", PROSE[prose], added.shell());
            audit(&[("SKILL.md", &skill(&body)), (path, code)])
        } else {
            let longer = format!("{code}{}", added.line(path));
            audit(&[("SKILL.md", &skill(PROSE[prose])), (path, &longer)])
        };
        let diff = CapabilityDiff::between(&old.capabilities, &new.capabilities);
        let (kind, value) = added.capability();
        let is_named = diff.added.iter().any(|capability| capability.key() == (kind, value.as_str()));
        prop_assert!(is_named, "{added:?}: {:?}", diff.added);
    }

    #[test]
    fn au_05_prose_changes_no_capability(
        before in prop::collection::vec(0..PROSE.len(), 0..4),
        after in prop::collection::vec(0..PROSE.len(), 0..4),
        script in 0..SCRIPTS.len(),
    ) {
        let text = |parts: &[usize]| {
            parts.iter().map(|part| PROSE[*part]).collect::<Vec<_>>().join("\n\n")
        };
        let old = audit(&[("SKILL.md", &skill(&text(&before))), SCRIPTS[script]]);
        let new = audit(&[("SKILL.md", &skill(&text(&after))), SCRIPTS[script]]);
        let diff = CapabilityDiff::between(&old.capabilities, &new.capabilities);
        prop_assert!(diff.is_empty(), "{diff:?}");
    }
}
