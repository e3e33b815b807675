//! Files that the real tools wrote, and hostile ones.

use super::*;
use crate::report::Severity;

fn file(path: &str, location: ForeignLocation) -> &'static ForeignFile {
    let found = FILES.iter().find(|file| file.path == path && file.location == location);
    found.unwrap_or_else(|| panic!("{path}"))
}

/// Reads a file of a project, which must be valid.
fn read(path: &str, text: &str) -> (ForeignRecord, Report) {
    read_from(file(path, ForeignLocation::Project), text)
}

fn read_from(file: &ForeignFile, text: &str) -> (ForeignRecord, Report) {
    let (record, report) = file.read(text, &Limits::default());
    (record.unwrap_or_else(|| panic!("{}: {:#?}", file.path, report.findings)), report)
}

/// Describes an entry in one line.
fn describe(entry: &ForeignEntry) -> String {
    let ForeignSelection { folder, plugin, skills, exclude } = &entry.selection;
    let mut line = entry.source.to_string();
    let mut add = |name: &str, value: Option<&str>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            line += &format!(" {name}={value}");
        }
    };
    add("ref", entry.version.as_ref().map(SourceVersion::as_str));
    add("folder", folder.as_deref());
    add("plugin", plugin.as_deref());
    add("skills", Some(&skills.join(",")));
    add("exclude", Some(&exclude.join(",")));
    add("agents", Some(&entry.agents.join(",")));
    add("as", entry.folder_name.as_deref());
    add("in", Some(&entry.installed_folders.join(",")));
    add("commit", entry.commit.as_deref().map(|commit| &commit[..7]));
    add("digest", entry.digest.as_ref().map(|digest| &digest.hex()[..7]));
    line
}

fn entries(record: &ForeignRecord) -> Vec<String> {
    record.entries.iter().map(describe).collect()
}

fn skipped(record: &ForeignRecord) -> Vec<String> {
    let describe = |item: &SkippedItem| format!("{}: {}", item.name, item.reason);
    record.skipped.iter().map(describe).collect()
}

/// Returns the positions and messages of the findings.
fn findings(path: &str, text: &str) -> Vec<String> {
    let (record, report) = file(path, ForeignLocation::Project).read(text, &Limits::default());
    assert_eq!(record.is_some(), report.is_usable(), "{text}");
    assert!(report.findings.iter().all(|finding| finding.severity == Severity::Error));
    let describe = |finding: &crate::Finding| {
        format!("{} {}", report.format_location(finding), finding.message)
    };
    report.findings.iter().map(describe).collect()
}

#[test]
fn lc_17_lockfile_of_skills_is_read() {
    let (record, report) =
        read("skills-lock.json", include_str!("../../tests/foreign/skills-lock.json"));
    assert_eq!(
        entries(&record),
        [
            "/home/ada/project/own/local-notes skills=local-notes digest=ea5c896",
            "acme/skills ref=v1.0.0 folder=skills/notes skills=notes digest=66629a5",
            "acme/skills folder=skills/review skills=review digest=40c34a9",
            "https://gitlab.com/group/sub/skills.git ref=main folder=tools/deep/tidy-up \
             skills=tidy-up digest=31d3d36",
        ]
    );
    assert_eq!(report.format_position(record.entries[1].span.start), "skills-lock.json:9:5");
    let home = file(".agents/.skill-lock.json", ForeignLocation::Home);
    let (record, _) = read_from(home, include_str!("../../tests/foreign/skill-lock.json"));
    assert_eq!(entries(&record), ["acme/skills folder=skills/review skills=review digest=40c34a9"]);
}

#[test]
fn lc_17_other_kinds_of_sources_of_skills_are_read_or_skipped() {
    let skill = |members: &str| {
        let text = format!("{{\"version\": 1, \"skills\": {{\"x\": {{{members}}}}}}}");
        let (record, _) = read("skills-lock.json", &text);
        [entries(&record), skipped(&record)].concat().join("; ")
    };
    for (members, expected) in [
        (
            r#""source": "docs.example.com", "sourceType": "well-known""#,
            "https://docs.example.com skills=x",
        ),
        (
            r#""source": "left-pad", "sourceType": "node_modules""#,
            "x: it comes from the npm package `left-pad`",
        ),
        (
            r#""source": "a/b", "sourceType": "github", "skillPath": "SKILL.md""#,
            "a/b folder=. skills=x",
        ),
        (r#""source": "g/s/r", "sourceType": "gitlab""#, "https://gitlab.com/g/s/r skills=x"),
        (r#""source": "own", "sourceType": "local""#, "./own skills=x"),
        (
            r#""source": "a/b", "sourceType": "github", "ref": "-x""#,
            "x: unsupported ref: it starts with `-`",
        ),
        (
            r#""source": "ext::sh -c x", "sourceType": "git""#,
            "x: unsupported source `ext::sh -c x`: it makes git run a helper program (`ext::`)",
        ),
    ] {
        assert_eq!(skill(members), expected, "{members}");
    }
}

#[test]
fn lc_17_manifest_and_lockfile_of_apm_are_read() {
    let (record, report) = read("apm.yml", include_str!("../../tests/foreign/apm.yml"));
    assert_eq!(
        entries(&record),
        [
            "acme/skills ref=v1.0.0 folder=skills/review",
            "acme/tools",
            "https://git.example.com/team/skills.git ref=v1.0.0 folder=tools/deep/tidy-up",
            "https://git.example.com/team/skills.git folder=skills/notes as=my-notes",
            "./own/local-notes",
        ]
    );
    let agents: Vec<&str> = record.agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(agents, ["claude", "codex"]);
    assert_eq!(report.format_position(record.entries[0].span.start), "apm.yml:10:7");
    let (record, _) = read("apm.lock.yaml", include_str!("../../tests/foreign/apm.lock.yaml"));
    assert_eq!(
        entries(&record),
        [
            "./own/local-notes in=.agents/skills/local-notes,.claude/skills/local-notes \
             digest=ea5c896",
            "acme/skills ref=v1.0.0 folder=skills/review commit=9f90a6d digest=6ddb31d",
            "acme/tools in=.agents/skills/notes,.agents/skills/review,.claude/skills/notes,\
             .claude/skills/review commit=99088a1 digest=828f2df",
            "https://git.example.com/team/skills folder=skills/notes as=my-notes \
             in=.agents/skills/my-notes,.claude/skills/my-notes commit=99088a1 digest=cf78d41",
            "https://git.example.com/team/skills ref=v1.0.0 folder=tools/deep/tidy-up \
             in=.agents/skills/tidy-up,.claude/skills/tidy-up commit=9f90a6d digest=31d3d36",
        ]
    );
}

#[test]
fn lc_17_what_apm_installs_besides_skills_is_listed() {
    let text = "target: claude, cursor\ndependencies:\n  apm:\n    - acme/p/prompts/a.prompt.md\n    \
                - git: parent\n      path: shared\n    - name: x\n      marketplace: m\n    - id: y\n    \
                - git: https://example.com/a.git\n      skills: [one, two]\n      targets: [claude]\n  \
                mcp:\n    - io.example/server\n    - name: local\n      command: x\n";
    let (record, _) = read("apm.yml", text);
    assert_eq!(entries(&record), ["https://example.com/a.git skills=one,two agents=claude"]);
    assert_eq!(
        skipped(&record),
        [
            "acme/p/prompts/a.prompt.md: `prompts/a.prompt.md` is a single file, not a skill",
            "shared: it is a folder of the repository that contains this package",
            "x: it is a plugin of a marketplace",
            "y: it is a package of a registry of apm",
            "MCP server `io.example/server`: it is not a skill but an MCP server",
            "MCP server `local`: it is not a skill but an MCP server",
        ]
    );
    let text = "lockfile_version: '2'\ndependencies:\n- repo_url: a/b\n  package_type: apm_package\n- \
                repo_url: c\n  source: registry\n";
    let (record, _) = read("apm.lock.yaml", text);
    assert_eq!(
        skipped(&record),
        [
            "a/b: it is a package without skills (`apm_package`)",
            "c: it is a package of a registry of apm",
        ]
    );
}

#[test]
fn lc_17_manifest_and_lockfile_of_dotagents_are_read() {
    let (record, report) = read("agents.toml", include_str!("../../tests/foreign/agents.toml"));
    assert_eq!(
        entries(&record),
        [
            "acme/skills skills=review",
            "https://git.example.com/team/skills.git ref=v1.0.0 folder=tools/deep/tidy-up \
             skills=tidy-up",
            "acme/tools ref=v1.0.0 exclude=review",
            "./own/local-notes skills=local-notes",
        ]
    );
    assert_eq!(record.agents.len(), 2);
    assert_eq!(report.format_position(record.entries[1].span.start), "agents.toml:12:1");
    let (record, _) = read("agents.lock", include_str!("../../tests/foreign/agents.lock"));
    assert_eq!(
        entries(&record),
        [
            "./own/local-notes skills=local-notes",
            "https://github.com/acme/tools ref=v1.0.0 folder=skills/notes skills=notes \
             commit=9f90a6d",
            "https://github.com/acme/skills folder=skills/review skills=review commit=99088a1",
            "https://git.example.com/team/skills.git ref=v1.0.0 folder=tools/deep/tidy-up \
             skills=tidy-up commit=9f90a6d",
        ]
    );
    let text = "version = 1\n[[mcp]]\nname = \"m\"\n[[hooks]]\nevent = \"Stop\"\n[[subagents]]\n\
                name = \"s\"\nsource = \"a/b\"\n";
    let (record, _) = read("agents.toml", text);
    assert_eq!(
        skipped(&record),
        [
            "m: it is not a skill but an MCP server",
            "Stop: it is not a skill but a hook",
            "s: it is not a skill but a subagent",
        ]
    );
}

#[test]
fn lc_17_metadata_of_openskills_and_skil_are_read() {
    let metadata = file(".openskills.json", ForeignLocation::SkillFolder);
    let (record, _) = read_from(metadata, include_str!("../../tests/foreign/openskills.json"));
    assert_eq!(entries(&record), ["https://github.com/acme/skills folder=skills/notes"]);
    let local = r#"{"source": "../a", "sourceType": "local", "localPath": "/srv/a"}"#;
    assert_eq!(entries(&read_from(metadata, local).0), ["/srv/a"]);
    let text = format!(
        "[source.\"acme/skills\"]\nsource-type = \"github\"\nbranch = \"main\"\nrevision = \"{}\"\n\
         skills = [\"a\", \"b\"]\n[source.\"g/r\"]\nsource-type = \"gitlab\"\nsubpath = \"x\"\n\
         skills = []\n",
        "a".repeat(40)
    );
    assert_eq!(
        entries(&read(".skil.toml", &text).0),
        ["acme/skills ref=main skills=a,b commit=aaaaaaa", "https://gitlab.com/g/r folder=x"]
    );
}

#[test]
fn lc_17_plugins_of_claude_code_are_read() {
    let text = r#"{
  "permissions": {"allow": ["Bash"]},
  "enabledPlugins": {
    "review@team": true, "notes@team": false, "pdf@anthropic-agent-skills": true,
    "x@zip": ["1.0"], "y@nowhere": true, "own@here": true
  },
  "extraKnownMarketplaces": {
    "team": {"source": {"source": "github", "repo": "acme/plugins", "ref": "v1"}},
    "here": {"source": {"source": "directory", "path": "./plugins"}},
    "zip": {"source": {"source": "url", "url": "https://example.com/marketplace.json"}}
  }
}"#;
    let (record, report) = read(".claude/settings.json", text);
    assert_eq!(
        entries(&record),
        [
            "acme/plugins ref=v1 plugin=review",
            "anthropics/skills plugin=pdf",
            "./plugins plugin=own",
        ]
    );
    assert_eq!(report.format_position(record.entries[0].span.start), ".claude/settings.json:4:5");
    assert_eq!(
        skipped(&record),
        [
            "notes@team: the plugin is disabled",
            "x@zip: the marketplace `zip` cannot be used: its kind of source, `url`, is not \
             supported",
            "y@nowhere: the source of the marketplace `nowhere` is not in these settings",
        ]
    );
    let written = include_str!("../../tests/foreign/claude-settings.json");
    let (record, _) = read(".claude/settings.json", written);
    assert_eq!(entries(&record), ["acme/plugins plugin=review"]);
    let (record, _) = read(".claude/settings.json", "{}");
    assert!(record.entries.is_empty() && record.skipped.is_empty());
}

#[test]
fn lc_17_invalid_files_are_errors_with_a_position() {
    for (path, text, expected) in [
        ("skills-lock.json", "", "skills-lock.json:1:1 invalid JSON"),
        (
            "skills-lock.json",
            "[]",
            "skills-lock.json:1:1 the lockfile must be a mapping, not a list",
        ),
        ("skills-lock.json", "{}", "skills-lock.json:1:1 `version` is missing"),
        (
            "skills-lock.json",
            "{\"version\": 2}",
            "skills-lock.json:1:13 unsupported version 2 of the file",
        ),
        (
            "skills-lock.json",
            "{\"version\": 1,\n \"version\": 1}",
            "skills-lock.json:2:2 invalid JSON",
        ),
        (
            "skills-lock.json",
            "{\"version\": 1, \"skills\": {\"a\": {\"source\": 1}}}",
            "skills-lock.json:1:43 `source` must be text, not a number",
        ),
        (
            "skills-lock.json",
            "{\"version\": 1, \"skills\": {\"a\": {}}}",
            "skills-lock.json:1:32 `source` is missing",
        ),
        ("skills-lock.json", "{\"version\": 1, \"skills\": {\"a\": {\"sou", "skills-lock.json:1:3"),
        ("apm.yml", "dependencies:\n  apm: 1\n", "apm.yml:2:8 `apm` must be a list, not text"),
        (
            "apm.yml",
            "dependencies:\n  apm:\n    - ref: x\n",
            "apm.yml:3:7 the dependency has neither `git` nor `path`",
        ),
        ("apm.yml", "a: 1\na: 2\n", "apm.yml:2:1 invalid YAML"),
        ("apm.yml", "a: &x [*x]\n", "apm.yml:1:"),
        (
            "apm.lock.yaml",
            "lockfile_version: '9'\n",
            "apm.lock.yaml:1:19 unsupported version 9 of the file",
        ),
        (
            "apm.lock.yaml",
            "lockfile_version: '1'\ndependencies:\n- name: x\n",
            "apm.lock.yaml:3:3 `repo_url` is missing",
        ),
        ("agents.toml", "version = 2\n", "agents.toml:1:11 unsupported version 2 of the file"),
        ("agents.toml", "version = 1\nversion = 1\n", "agents.toml:2:1 invalid TOML"),
        (
            "agents.toml",
            "version = 1\n[[skills]]\nname = \"a\"\n",
            "agents.toml:2:1 `source` is missing",
        ),
        (
            "agents.toml",
            "version = 1\nagents = [1]\n",
            "agents.toml:2:11 an item of `agents` must be text, not a number",
        ),
        (
            "agents.lock",
            "version = 1\n[skills.a]\nresolved_url = \"x\"\n",
            "agents.lock:2:1 `source` is missing",
        ),
        (
            ".claude/settings.json",
            "{\"enabledPlugins\": {\"a\": true}}",
            ".claude/settings.json:1:21 expected `<plugin>@<marketplace>`",
        ),
        (".skil.toml", "[source.a]\nskills = []\n", ".skil.toml:1:1 `source-type` is missing"),
    ] {
        let findings = findings(path, text);
        assert!(
            findings.len() == 1 && findings[0].starts_with(expected),
            "{text:?}: {findings:#?}, not {expected}"
        );
    }
}

#[test]
fn lc_17_truncated_files_never_panic() {
    let originals = [
        ("skills-lock.json", include_str!("../../tests/foreign/skills-lock.json")),
        ("apm.yml", include_str!("../../tests/foreign/apm.yml")),
        ("agents.toml", include_str!("../../tests/foreign/agents.toml")),
        ("agents.lock", include_str!("../../tests/foreign/agents.lock")),
    ];
    for (path, text) in originals {
        let file = file(path, ForeignLocation::Project);
        for (end, _) in text.char_indices() {
            let (record, report) = file.read(&text[..end], &Limits::default());
            assert_eq!(record.is_some(), report.is_usable(), "{path} to {end}");
        }
    }
}

#[test]
fn lc_17_huge_and_deep_files_are_rejected() {
    let limits = Limits { yaml_bytes: 1000, ..Limits::default() };
    for file in FILES {
        let (record, report) = file.read(&" ".repeat(1001), &limits);
        assert_eq!((record, report.findings.len()), (None, 1), "{}", file.path);
    }
    let depth = 100_000;
    for (path, text) in [
        ("skills-lock.json", "[".repeat(depth)),
        ("skills-lock.json", format!("{{\"version\": 1, \"skills\": {}", "{\"a\":".repeat(depth))),
        ("apm.yml", "[".repeat(depth)),
        ("agents.toml", format!("a = {}", "[".repeat(depth))),
    ] {
        assert_eq!(findings(path, &text).len(), 1, "{path}");
    }
}
