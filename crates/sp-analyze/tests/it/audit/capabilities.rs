//! AU-04: capabilities of scripts and instructions.

use sp_analyze::audit::{CapabilityKind, ContentAudit};

use super::{audit, audit_body};

/// The capabilities as `kind value line`.
fn listed(audit: &ContentAudit) -> Vec<String> {
    let line = |capability: &sp_analyze::audit::Capability| {
        let line = capability.positions[0].line;
        format!("{} {} {line}", capability.kind.as_str(), capability.value)
    };
    audit.capabilities.iter().map(line).collect()
}

#[test]
fn au_04_a_shell_script_is_parsed() {
    let script = "#!/bin/bash\n# curl https://comment.example.com\nHOST=api.example.com\n\
                  curl -s \"https://$HOST/v1\" -o ~/data/out.json\n\
                  jq . < ~/data/in.json | tee /var/tmp/log\npip install -q httpx\necho \"$DEPLOY_TOKEN\"\n";
    assert_eq!(
        listed(&audit(&[("run.sh", script)])),
        [
            "host api.example.com 4",
            "program curl 4",
            "program jq 5",
            "program pip 6",
            "program tee 5",
            "read ~/data/in.json 5",
            "write /var/tmp/log 5",
            "write ~/data/out.json 4",
            "environment DEPLOY_TOKEN 7",
            "secret $DEPLOY_TOKEN 7",
            "package-install pip:httpx 6",
        ]
    );
}

#[test]
fn au_04_python_and_javascript_are_parsed() {
    let python = "import os, subprocess as sp\nfrom pathlib import Path\n# https://comment.example.com\n\
                  base = 'https://py.example.com'\nsp.run(['git', 'status'])\n\
                  open(os.path.join(os.path.expanduser('~'), '.config', 'app'))\nos.environ['APP_MODE']\n\
                  import requests\nrequests.get(base + '/v1')\n";
    let javascript = "const { execSync: run } = require('node:child_process');\n\
                      run(`ffmpeg -i ${name}`);\nawait fetch('https://js.example.com/a');\nprocess.env.JS_MODE;\n";
    let found = audit(&[("a.py", python), ("b.js", javascript)]);
    for (kind, value) in [
        (CapabilityKind::Host, "py.example.com"),
        (CapabilityKind::Host, "js.example.com"),
        (CapabilityKind::Program, "git"),
        (CapabilityKind::Program, "ffmpeg"),
        (CapabilityKind::PathRead, "~/.config/app"),
        (CapabilityKind::Environment, "APP_MODE"),
        (CapabilityKind::Environment, "JS_MODE"),
    ] {
        assert!(found.has(kind, value), "{kind:?} {value}: {:?}", listed(&found));
    }
    assert!(!found.has(CapabilityKind::Host, "comment.example.com"));
}

#[test]
fn au_04_encoded_values_are_decoded_one_level() {
    let script = "U=$(echo aHR0cHM6Ly9lbmMuZXhhbXBsZS5jb20vYQ== | base64 -d)\ncurl \"$U\"\n";
    assert!(audit(&[("run.sh", script)]).has(CapabilityKind::Host, "enc.example.com"));
    let python = "import base64, requests\nu = base64.b64decode('aHR0cHM6Ly9lbmMuZXhhbXBsZS5jb20vYQ==').decode()\nrequests.get(u)\n";
    assert!(audit(&[("run.py", python)]).has(CapabilityKind::Host, "enc.example.com"));
}

#[test]
fn au_04_code_blocks_are_instructions_and_prose_is_not() {
    let found = audit_body(
        "See https://docs.example.com and `jq` for details.\n\n```bash\ncurl https://api.example.com\n```\n\n\
         Run `wget https://inline.example.com/x`.",
    );
    assert!(found.has(CapabilityKind::Host, "api.example.com"));
    assert!(found.has(CapabilityKind::Host, "inline.example.com"));
    assert!(!found.has(CapabilityKind::Host, "docs.example.com"));
    assert!(!found.has(CapabilityKind::Program, "jq"));
}

#[test]
fn au_04_configuration_that_runs_programs_is_read() {
    let mcp = "{\"mcpServers\": {\"db\": {\"command\": \"uvx\", \"args\": [\"db-server\"], \"env\": {\"DB_URL\": \"x\"}}}}";
    let found = audit(&[(".mcp.json", mcp)]);
    assert!(found.has(CapabilityKind::McpServer, "db"));
    assert!(found.has(CapabilityKind::Program, "uvx"));
    assert!(found.has(CapabilityKind::Environment, "DB_URL"));
}
