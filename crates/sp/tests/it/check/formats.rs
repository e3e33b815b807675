//! The five output formats of findings.

use std::collections::BTreeSet;

use sp_engine::check_rules;

use super::*;

#[test]
fn sp_31_human_output_is_sorted_and_ends_with_a_summary() {
    insta::assert_snapshot!(check(&sample(), &[]), @"
    exit: 1
    --- stdout
    error[SP-17]: `tdy-up` matches no local skill
     --> packs/team.yaml:3:5
      |
    3 |   - tdy-up
      |     ^^^^^^
      |
      = help: similar skills: tidy-up

    warning[AS-02]: the name `Tidy Up` contains `T`
     --> skills/tidy-up/SKILL.md:2:7
      |
    2 | name: Tidy Up
      |       ^^^^^^^
      |
      = help: use 1 to 64 characters of a-z, 0-9 and single hyphens, such as `tidy-up`

    warning[AS-04]: an unquoted value contains `: `
     --> skills/tidy-up/SKILL.md:3:14
      |
    3 | description: Use when: code is dead.
      |              ^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: quote the value: description: 'Use when: code is dead.'

    warning[AS-05]: `version` is not a standard field
     --> skills/tidy-up/SKILL.md:4:1
      |
    4 | version: 1.0
      | ^^^^^^^
      |
      = help: agents ignore it: move it to `metadata:` as `  version: …`

    warning[AS-02]: `allowed-tools` must be text, not a list
     --> skills/tidy-up/SKILL.md:5:16
      |
    5 | allowed-tools: [Read, Grep]
      |                ^^^^^^^^^^^^
      |
      = help: write `allowed-tools: Read Grep`

    error[AS-07]: `references/lst.md` does not exist in the skill
     --> skills/tidy-up/SKILL.md:7:16
      |
    7 | See [the list](references/lst.md) and `scripts/run.sh`.
      |                ^^^^^^^^^^^^^^^^^
      |
      = help: did you mean `references/list.md`?

    warning[AS-07]: `scripts/run.sh` does not exist in the skill
     --> skills/tidy-up/SKILL.md:7:40
      |
    7 | See [the list](references/lst.md) and `scripts/run.sh`.
      |                                        ^^^^^^^^^^^^^^
      |
      = help: add the file, or fix the path

    2 skills and 1 pack: 2 errors, 5 warnings in 2 files
    tokens: 14 always, 19 when used, 4 in other files (o200k_base)
    run `sp check --fix` to fix 2 problems, or `sp explain <RULE>` for details about a rule
    ");
}

#[test]
fn sp_31_plain_output_has_one_line_per_finding() {
    let world = sample();
    let run = check(&world, &["--format", "plain"]).fails(1);
    assert_eq!(run.stderr, "");
    assert_eq!(
        positions(&run),
        [
            "packs/team.yaml:3:5: error[SP-17]",
            "skills/tidy-up/SKILL.md:2:7: warning[AS-02]",
            "skills/tidy-up/SKILL.md:3:14: warning[AS-04]",
            "skills/tidy-up/SKILL.md:4:1: warning[AS-05]",
            "skills/tidy-up/SKILL.md:5:16: warning[AS-02]",
            "skills/tidy-up/SKILL.md:7:16: error[AS-07]",
            "skills/tidy-up/SKILL.md:7:40: warning[AS-07]",
        ]
    );
    let messages = report(&world, &[])["findings"].as_array().unwrap().clone();
    for (line, finding) in run.stdout.lines().zip(messages) {
        assert!(line.ends_with(&format!("] {}", finding["message"].as_str().unwrap())), "{line}");
    }
    std::fs::remove_dir_all(world.repo().join("skills/tidy-up")).unwrap();
    world.pack("team", "name: team\ninclude: ['**']\n");
    assert_eq!(check(&world, &["--format", "plain"]).ok().to_string(), "exit: 0\n");
    insta::assert_snapshot!(check(&world, &[]), @"
    exit: 0
    --- stdout
    1 skill and 1 pack: no problems
    tokens: 4 always, 3 when used, 0 in other files (o200k_base)
    ");
}

#[test]
fn sp_31_order_of_findings_does_not_depend_on_the_order_of_paths() {
    let world = sample();
    for name in ["zeta", "Alpha", "b/mid", "b/last"] {
        world.write(&format!("skills/{name}/SKILL.md"), "no frontmatter\n");
    }
    let first = check(&world, &["--format", "json"]);
    for _ in 0..5 {
        assert_eq!(check(&world, &["--format", "json"]), first);
    }
    let found =
        findings(&world, &["skills/zeta", "packs/team.yaml", "skills/tidy-up", "skills/Alpha"]);
    assert_eq!(
        found,
        findings(&world, &["skills/Alpha", "skills/tidy-up", "packs/team.yaml", "skills/zeta"])
    );
    let files: Vec<&str> = found.iter().map(|line| line.split(':').next().unwrap()).collect();
    assert!(files.is_sorted(), "{files:?}");
    let findings = json(&first)["findings"].as_array().unwrap().clone();
    let position = |finding: &Value| {
        let number = |name: &str| finding[name].as_u64().unwrap();
        (finding["file"].as_str().unwrap().to_owned(), number("line"), number("column"))
    };
    assert!(findings.iter().map(position).is_sorted(), "{findings:#?}");
}

/// Returns the schema in docs/json.md, and the one that is generated from the types.
fn schemas(section: &str) -> [Value; 2] {
    let docs = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md"))
        .unwrap();
    let title = if section == "error" { "## `error`".into() } else { format!("## `sp {section}`") };
    let part = docs.split_once(&title).unwrap_or_else(|| panic!("{title} in docs/json.md")).1;
    let block = part.split_once("```json\n").unwrap().1.split_once("```").unwrap().0;
    let generated =
        sp_formats::output::schemas().into_iter().find(|(name, _)| *name == section).unwrap().1;
    [serde_json::from_str(block).unwrap(), generated.to_value()]
}

/// Asserts that a value matches its schemas and has no other members.
#[track_caller]
pub(super) fn assert_documented(section: &str, value: &Value) {
    for mut schema in schemas(section) {
        close(&mut schema);
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert_eq!(errors, [""; 0], "{value:#}");
    }
}

/// Forbids members that are not documented.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.values_mut().for_each(close);
            if members.contains_key("properties") && members.get("type") == Some(&"object".into()) {
                members.insert("additionalProperties".into(), false.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

#[test]
fn sp_31_json_matches_its_documented_schema() {
    let world = sample();
    world.pack(
        "import",
        "name: import\nimports:\n  - repo: github.com/acme/skills\n    include: ['**']\n",
    );
    mkfifo(&world.repo().join("skills/tidy-up/pipe"));
    for args in
        [&[][..], &["--strict"], &["gone"], &["skills/review"], &["--fix", "--dry-run"], &["--fix"]]
    {
        assert_documented("check", &report(&world, args));
    }
    assert_documented("explain", &json(&world.sp(&["explain", "--format", "json"]).ok()));
    assert_documented("cost", &json(&world.sp(&["cost", "--format", "json"]).ok()));
    for (code, args) in [
        (2, &["explain", "AS-99"][..]),
        (2, &["list", "--format", "sarif"]),
        (1, &["cost", "gone"]),
    ] {
        let run = world
            .sp(&[args, if args.len() < 3 { &["--format", "json"] } else { &[] }].concat())
            .fails(code);
        let last = run.stderr.lines().last().unwrap_or_default();
        if let Ok(value) = serde_json::from_str(last) {
            assert_documented("error", &value);
        } else {
            assert!(args.contains(&"sarif"), "{run}");
        }
    }
}

#[test]
fn sp_31_positions_in_json_match_the_file() {
    let world = world!();
    let text = "\u{feff}---\r\nname: Über\r\ndescription: 'Für alle 👩\u{200d}🚀'\r\nmödel: x\r\n---\r\n日本 [x](gone.md)\r\n";
    world.write("skills/a/SKILL.md", text);
    let findings = report(&world, &[])["findings"].as_array().unwrap().clone();
    let mut marked = BTreeSet::new();
    for finding in &findings {
        let number = |name: &str| usize::try_from(finding[name].as_u64().unwrap()).unwrap();
        let (start, end) = (number("start_byte"), number("end_byte"));
        let position = |offset: usize| {
            let line_start = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
            let column = text[line_start..offset].chars().count() + 1;
            (text[..offset].matches('\n').count() + 1, column)
        };
        assert_eq!((number("line"), number("column")), position(start), "{finding}");
        assert_eq!((number("end_line"), number("end_column")), position(end), "{finding}");
        marked.insert(&text[start..end]);
    }
    assert_eq!(marked, ["\u{feff}", "gone.md", "mödel", "Über"].into());
}

#[test]
fn sp_31_sarif_has_the_required_members() {
    let world = sample();
    world.write("skills/a b/ü,%:#?/SKILL.md", "no frontmatter\n");
    world.write("../elsewhere/x y/SKILL.md", "no frontmatter\n");
    mkfifo(&world.repo().join("skills/review/pipe"));
    let log = json(&check(&world, &[".", "../elsewhere/x y", "--format", "sarif"]).fails(1));
    assert_eq!((&log["version"], log["runs"].as_array().unwrap().len()), (&"2.1.0".into(), 1));
    assert!(log["$schema"].as_str().unwrap().ends_with("sarif-2.1.0.json"));
    let run = &log["runs"][0];
    let driver = &run["tool"]["driver"];
    assert_eq!(
        (&driver["name"], &driver["version"]),
        (&"sp".into(), &env!("CARGO_PKG_VERSION").into())
    );
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    let rules = driver["rules"].as_array().unwrap();
    assert_eq!(rules.len(), check_rules().len());
    for (rule, check) in rules.iter().zip(check_rules()) {
        assert_eq!(
            (&rule["id"], &rule["shortDescription"]["text"]),
            (&check.id.into(), &check.title.into())
        );
        assert!(
            rule["fullDescription"]["text"].is_string() && rule["help"]["text"].is_string(),
            "{rule}"
        );
    }
    let results = run["results"].as_array().unwrap();
    let findings =
        report(&world, &[".", "../elsewhere/x y"])["findings"].as_array().unwrap().clone();
    assert_eq!(results.len(), findings.len());
    let mut uris = BTreeSet::new();
    for (result, finding) in results.iter().zip(&findings) {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!((&rules[index]["id"], &result["ruleId"]), (&finding["rule"], &finding["rule"]));
        assert!(matches!(result["level"].as_str(), Some("error" | "warning" | "note")), "{result}");
        assert_eq!(result["level"], finding["severity"]);
        let text = result["message"]["text"].as_str().unwrap();
        assert!(text.starts_with(finding["message"].as_str().unwrap()), "{text}");
        let location = &result["locations"][0]["physicalLocation"];
        uris.insert(world.normalize(location["artifactLocation"]["uri"].as_str().unwrap()));
        if finding["end_line"].is_null() {
            assert!(
                location["region"].is_null(),
                "a finding about a whole file has no region: {result}"
            );
            continue;
        }
        for (region, name) in [
            ("startLine", "line"),
            ("startColumn", "column"),
            ("endLine", "end_line"),
            ("endColumn", "end_column"),
        ] {
            assert_eq!(location["region"][region], finding[name], "{result}");
        }
    }
    let expected = [
        "file://[WORLD]/home/elsewhere/x%20y/SKILL.md",
        "packs/team.yaml",
        "skills/a%20b/%C3%BC%2C%25%3A%23%3F/SKILL.md",
        "skills/review/pipe",
        "skills/tidy-up/SKILL.md",
    ];
    assert_eq!(uris, expected.map(Into::into).into());
}

#[test]
fn sp_31_sarif_without_findings_has_no_results() {
    let world = world!();
    world.skill("a");
    let log = json(&check(&world, &["--format", "sarif"]).ok());
    assert_eq!(log["runs"][0]["results"], serde_json::json!([]));
}

#[test]
fn sp_31_github_output_has_one_escaped_command_per_finding() {
    let world = world!();
    world.write(
        "skills/a,b:100%/SKILL.md",
        "---\nname: x\ndescription: \"50%\"\n50%,a::error: y\n---\n",
    );
    world.pack("p", "name: p\ninclude: [\"100%\"]\n");
    mkfifo(&world.repo().join("skills/b/pipe"));
    world.write("skills/b/SKILL.md", valid_skill("b"));
    let run = check(&world, &["--format", "github"]).fails(1);
    let expected = [
        "::error file=packs/p.yaml,line=2,col=11,endLine=2,endColumn=17,title=SP-17::",
        "::warning file=skills/a%2Cb%3A100%25/SKILL.md,line=2,col=7,endLine=2,endColumn=8,title=AS-02::",
        "::warning file=skills/a%2Cb%3A100%25/SKILL.md,line=4,col=1,endLine=4,endColumn=13,title=AS-05::",
        "::error file=skills/b/pipe,title=SP-21::",
    ];
    assert_eq!(run.stdout.lines().count(), expected.len(), "{run}");
    for (line, start) in run.stdout.lines().zip(expected) {
        assert!(line.starts_with(start), "{line}");
    }
    for (line, quoted) in run.stdout.lines().zip(["`100%25`", "`x`", "`50%25,a::error`"]) {
        assert!(line.contains(quoted) && line.contains("%0A"), "{line}");
    }
    let forged = "name: p\ninclude: [\"a\\n::error::forged\"]\n";
    world.pack("p", forged);
    let run = check(&world, &["packs/p.yaml", "--format", "github"]).fails(1);
    assert!(
        run.stdout.lines().count() == 1 && run.stdout.starts_with("::error file=packs/p.yaml,"),
        "{run}"
    );
    // Paths are relative to the current directory, as GitHub expects.
    let run = world
        .sp_in("home/repo/skills/b", &["check", "../../packs/p.yaml", "--format", "github"])
        .fails(1);
    assert!(run.stdout.starts_with("::error file=[WORLD]/home/repo/packs/p.yaml,"), "{run}");
}

#[test]
fn sp_31_formats_of_check_are_refused_by_other_commands() {
    let world = sample();
    for format in ["sarif", "github"] {
        for args in [
            &["list"][..],
            &["packs"],
            &["show", "team"],
            &["install", "team", "--agent", "claude"],
            &["installed"],
            &["explain"],
            &["cost"],
            &["config"],
            &["schema", "pack"],
            &["init", "new"],
            &["clean"],
        ] {
            let run = world.sp(&[args, &["--format", format]].concat()).fails(2);
            let before = world.sp(&[&["--format", format], args].concat()).fails(2);
            assert_eq!(run, before, "the position of the option does not matter");
            assert!(run.stderr.starts_with("error: ") && run.stdout.is_empty(), "{args:?}: {run}");
            for text in [format, "--format", "human, plain, json]", "`sp check`"] {
                assert!(run.stderr.contains(text), "{args:?}: {run}");
            }
        }
    }
    assert!(!world.path("home/repo/new").exists() && !world.path("home/.claude").exists());
}

#[test]
fn sp_31_color_is_only_used_on_terminals_that_support_it() {
    let world = sample();
    let forced = ("CLICOLOR_FORCE", "1");
    for args in [
        &["check"][..],
        &["check", "gone"],
        &["check", "--fix", "--dry-run"],
        &["explain"],
        &["explain", "AS-04"],
        &["explain", "AS-99"],
        &["cost"],
    ] {
        let colored = run_with_env(&world, args, &[forced]);
        assert!(
            args == ["explain"] || colored.to_string().contains('\u{1b}'),
            "{args:?} has colors"
        );
        for env in
            [&[][..], &[("NO_COLOR", "1")], &[("NO_COLOR", "1"), forced], &[("TERM", "dumb")]]
        {
            let run = run_with_env(&world, args, env);
            assert!(!run.to_string().contains('\u{1b}'), "{args:?} {env:?}: {run:?}");
        }
    }
    for format in ["plain", "json", "sarif", "github"] {
        let run = run_with_env(&world, &["check", "--format", format], &[forced]);
        assert!(!run.stdout.contains('\u{1b}'), "{format}: {run:?}");
    }
    for command in [&["explain"][..], &["cost"], &["schema", "pack"]] {
        for format in ["plain", "json"] {
            let run =
                run_with_env(&world, &[command, &["--format", format]].concat(), &[forced]).ok();
            assert!(!run.stdout.contains('\u{1b}'), "{command:?} {format}: {run:?}");
        }
    }
}

#[test]
fn sp_31_se_12_output_errors_are_failures_but_closed_pipes_are_not() {
    let world = sample();
    for args in [
        &["check"][..],
        &["check", "--format", "sarif"],
        &["explain"],
        &["cost"],
        &["schema", "config"],
    ] {
        let run = world.sp_on_full_disk(args).fails(5);
        assert!(run.stderr.starts_with("error: "), "{args:?}: {run}");
        // The exit code still depends on the findings.
        let expected = i32::from(args[0] == "check");
        let run = world.sp_with_closed_stdout(args);
        assert_eq!((run.code, run.stderr.as_str()), (Some(expected), ""), "{args:?}");
    }
}
