//! Precedence of parameter values, prohibitions, tags and conflict resolution.

use super::*;

const CONVERT: &str = "\n## Parameters\n\n```yaml\nrequired:\n  - name: input\n    description: The file.\noptional:\n  - \
                       name: paper\n    default: skill\n  - name: copies\n  - name: note\n```\n\n## Instructions\n\nConvert.\n";

/// Returns a workspace with the skill `convert-to-pdf`.
fn converter_workspace() -> World {
    let world = workspace();
    write(&world, "ws/.skills/convert-to-pdf/SKILL.md", &skill("convert-to-pdf", CONVERT));
    bag(&world, &["sync"]).ok();
    world
}

/// Returns a context file with one section. Its YAML starts at line 4.
fn section(title: &str, yaml: &str) -> String {
    format!("# {title}\n\n```yaml\n{yaml}\n```\n")
}

fn parameters(yaml: &str) -> String {
    section("Parameters", yaml)
}

/// Returns a parameter from the output of `sp bag params`.
fn parameter(world: &World, name: &str, assignments: &[&str]) -> Value {
    let mut args = vec!["params", "convert-to-pdf"];
    assignments.iter().for_each(|assignment| args.extend(["--set", assignment]));
    let list = json(world, &args);
    let parameters = list["parameters"].as_array().unwrap();
    parameters.iter().find(|parameter| parameter["name"] == name).unwrap().clone()
}

/// Returns the file, the line and the value of an origin.
fn origin(value: &Value) -> (String, Option<u64>, String) {
    (
        value["file"].as_str().unwrap().into(),
        value["line"].as_u64(),
        value["value"].as_str().unwrap().into(),
    )
}

/// Returns the error of a run without a value for `input`. The report on stdout lists it, too.
#[track_caller]
fn missing_parameter_error(world: &World) -> CliError {
    let run = bag(world, &["run", "convert_to_pdf", "--format", "json"]).fails(1);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["missing"], serde_json::json!(["input"]), "{run}");
    Run { stdout: String::new(), ..run }.error()
}

#[test]
fn sb_06_highest_level_overrides_the_others_in_order() {
    let world = converter_workspace();
    let entry = read(&world, "ws/SKILLBAG.md").lines().next().unwrap().to_owned() + "\n\n";
    let levels = [
        "--set",
        "USER_CONTEXT.md",
        "CONTEXT.md",
        "SKILLBAG.md",
        ".skills/convert-to-pdf/SKILL.md",
    ];
    let with_default = skill("convert-to-pdf", CONVERT);
    for subset in 0..32_u32 {
        let is_set = |level: usize| subset & (1 << level) != 0;
        let text = |level: usize| {
            if is_set(level) {
                parameters(&format!("parameters:\n  paper: level-{level}"))
            } else {
                String::new()
            }
        };
        write(&world, "ws/USER_CONTEXT.md", &text(1));
        write(&world, "ws/CONTEXT.md", &text(2));
        write(&world, "ws/SKILLBAG.md", &(entry.clone() + &text(3)));
        let default = if is_set(4) { "    default: level-4\n" } else { "" };
        write(
            &world,
            "ws/.skills/convert-to-pdf/SKILL.md",
            &with_default.replace("    default: skill\n", default),
        );
        let line = |level: usize| match level {
            0 => None,
            3 => Some(7),
            4 => Some(
                with_default.lines().position(|line| line.contains("name: paper")).unwrap() as u64
                    + 1,
            ),
            _ => Some(5),
        };
        let mut expected = (0..5)
            .filter(|level| is_set(*level))
            .map(|level| (levels[level].to_owned(), line(level), format!("level-{level}")));
        let paper = parameter(&world, "paper", if is_set(0) { &["paper=level-0"] } else { &[] });
        let from = paper.get("from").filter(|from| !from.is_null()).map(origin);
        assert_eq!(from, expected.next(), "{subset:05b}: {paper}");
        let overridden: Vec<_> = paper["overrode"].as_array().unwrap().iter().map(origin).collect();
        assert_eq!(overridden, expected.collect::<Vec<_>>(), "{subset:05b}");
    }
}

#[test]
fn sb_06_within_one_file_the_last_definition_wins() {
    let world = converter_workspace();
    for (yaml, more, expected) in [
        ("parameters:\n  paper: a", "parameters:\n  paper: b", "b"),
        ("parameters:\n  paper: a", "skills:\n  convert-to-pdf:\n    paper: b", "b"),
        ("skills:\n  convert-to-pdf:\n    paper: a", "parameters:\n  paper: b", "b"),
        ("skills:\n  convert-to-pdf:\n    paper: a", "skills:\n  other:\n    paper: b", "a"),
    ] {
        write(
            &world,
            "ws/CONTEXT.md",
            &format!("{}\nMore.\n\n{}", parameters(yaml), parameters(more)),
        );
        assert_eq!(
            parameter(&world, "paper", &[])["from"]["value"],
            expected,
            "{yaml} then {more}"
        );
    }
    assert_eq!(parameter(&world, "paper", &["paper=x", "paper=y"])["from"]["value"], "y");
}

#[test]
fn sb_06_values_outside_a_parameters_section_are_ignored() {
    let world = converter_workspace();
    write(
        &world,
        "ws/CONTEXT.md",
        "# Notes\n\n```yaml\nparameters:\n  paper: a\n```\n\n# Parameters\n\n```json\n{\"parameters\": {\"paper\": \"b\"}}\n```\n",
    );
    assert_eq!(parameter(&world, "paper", &[])["from"]["value"], "skill");
}

#[test]
fn sb_06_lower_level_cannot_override_a_prohibition() {
    let world = converter_workspace();
    write(&world, "ws/USER_CONTEXT.md", &parameters("prohibit:\n  - paper: a5\n  - input"));
    write(&world, "ws/CONTEXT.md", &parameters("parameters:\n  paper: a5\n  input: x.md"));
    let entry = read(&world, "ws/SKILLBAG.md");
    write(
        &world,
        "ws/SKILLBAG.md",
        &format!("{entry}\n{}", parameters("parameters:\n  paper: letter")),
    );
    let paper = parameter(&world, "paper", &[]);
    assert_eq!(paper["from"]["value"], "letter", "{paper}");
    assert_eq!(origin(&paper["kept_out"][0]), ("CONTEXT.md".into(), Some(5), "a5".into()));
    assert_eq!(paper["kept_out"][0]["prohibited_by"], "USER_CONTEXT.md:5");
    let input = parameter(&world, "input", &[]);
    assert!(input["from"].is_null(), "{input}");
    assert_eq!(missing_parameter_error(&world).code, "E-missing-parameter");
    // Values of the command line have the highest precedence.
    assert_eq!(parameter(&world, "paper", &["paper=a5"])["from"]["value"], "a5");
    assert_eq!(parameter(&world, "input", &["input=y.md"])["from"]["value"], "y.md");
    // A prohibition does not apply to higher levels.
    write(&world, "ws/CONTEXT.md", &parameters("prohibit: [paper]"));
    write(&world, "ws/USER_CONTEXT.md", &parameters("parameters:\n  paper: a5"));
    assert_eq!(parameter(&world, "paper", &[])["from"]["value"], "a5");
    // It applies to the default of the skill.
    std::fs::remove_file(world.path("ws/USER_CONTEXT.md")).unwrap();
    let paper = parameter(&world, "paper", &[]);
    assert!(paper["from"].is_null(), "{paper}");
    assert_eq!(paper["kept_out"].as_array().unwrap().len(), 2, "{paper}");
}

#[test]
fn sb_06_quotes_do_not_bypass_a_prohibition() {
    let world = converter_workspace();
    for (forbidden, value) in
        [("3", "3"), ("3", "'3'"), ("'3'", "3"), ("true", "'true'"), ("a5", "'a5'")]
    {
        write(
            &world,
            "ws/USER_CONTEXT.md",
            &parameters(&format!("prohibit:\n  - copies: {forbidden}")),
        );
        write(&world, "ws/CONTEXT.md", &parameters(&format!("parameters:\n  copies: {value}")));
        let copies = parameter(&world, "copies", &[]);
        assert!(copies["from"].is_null(), "{forbidden} forbids {value}: {copies}");
    }
}

#[test]
fn sb_08_explain_shows_file_line_and_overridden_values() {
    let world = converter_workspace();
    write(
        &world,
        "ws/USER_CONTEXT.md",
        &parameters("parameters:\n  paper: mine\nprohibit:\n  - copies: 9"),
    );
    write(&world, "ws/CONTEXT.md", &parameters("parameters:\n  paper: ours\n  copies: 9"));
    let explained =
        bag(&world, &["params", "convert-to-pdf", "--explain", "--set", "input=x.md"]).ok().stdout;
    for parts in [
        &["input: x.md"][..],
        &["--set"],
        &["paper: mine"],
        &["USER_CONTEXT.md:5"],
        &["ours", " CONTEXT.md:5"],
        &["skill", ".skills/convert-to-pdf/SKILL.md:15"],
        &["copies: "],
        &["9", " CONTEXT.md:6", "USER_CONTEXT.md:7"],
    ] {
        let is_shown = |line: &str| parts.iter().all(|part| line.contains(part));
        assert!(explained.lines().any(is_shown), "no {parts:?} in\n{explained}");
    }
    let brief = bag(&world, &["params", "convert-to-pdf"]).ok().stdout;
    assert!(
        brief.contains("paper: mine") && brief.contains("input: ") && !brief.contains("CONTEXT.md"),
        "{brief}"
    );
}

#[test]
fn sb_07_missing_required_value_is_named_with_ways_to_set_it() {
    let world = converter_workspace();
    let error = missing_parameter_error(&world);
    assert_eq!(error.code, "E-missing-parameter");
    assert!(error.message.contains("`input`"), "{error:#?}");
    for part in ["--set input=", "`USER_CONTEXT.md`", "`CONTEXT.md`"] {
        assert!(error.hints_at(part), "no `{part}` in {error:#?}");
    }
    let run = bag(&world, &["run", "convert_to_pdf", "--set", "input=x.md"]).ok();
    assert!(run.stdout.contains("- input: x.md") && run.stdout.contains("Convert."), "{run}");
    let args = ["run", "convert_to_pdf", "--set", "inptu=x.md"];
    let error = assert_refused(&world, &args, "E-unknown-parameter");
    assert!(error.hints_at("`input`"), "{error:#?}");
    write(&world, "ws/CONTEXT.md", &parameters("parameters:\n  input: x.md"));
    bag(&world, &["run", "convert_to_pdf"]).ok();
}

#[test]
fn sb_05_only_run_accepts_identifiers() {
    let world = converter_workspace();
    let run = |identifier| ["run", identifier, "--set", "input=x"];
    let by_identifier = bag(&world, &run("convert_to_pdf")).ok();
    let by_name = bag(&world, &run("convert-to-pdf")).ok();
    assert_eq!(by_name.stdout, by_identifier.stdout);
    for identifier in
        ["Convert_to_pdf", "_convert", "convert__to", "convert_", "", "../x", "convert to pdf"]
    {
        assert_refused(&world, &run(identifier), "E-invalid-name");
    }
    for command in ["params", "remove"] {
        assert_refused(&world, &[command, "convert_to_pdf"], "E-skill-not-found");
    }
    assert_refused(&world, &["get", "convert_to_pdf"], "E-invalid-name");
}

#[test]
fn sb_05_run_suggests_the_nearest_skill() {
    let world = converter_workspace();
    let error = assert_refused(&world, &["run", "convert_to_pfd"], "E-skill-not-found");
    assert!(error.hints_at("`convert-to-pdf`"), "{error:#?}");
}

#[test]
fn sb_09_values_are_saved_exactly_and_only_with_save() {
    let world = converter_workspace();
    let before = world.files("ws");
    bag(&world, &["run", "convert_to_pdf", "--set", "input=x.md"]).ok();
    assert_eq!(world.files("ws"), before, "nothing is saved without --save");
    write(&world, "ws/USER_CONTEXT.md", "# Me\n\nI like paper.");
    for value in
        ["x.md", "it's \"x\": #1, {a}", "two\nlines", "```", "no", "3", "C:\\x", "ü 🚀", "- a", ""]
    {
        let note = format!("note={value}");
        let args = ["run", "convert_to_pdf", "--set", "input=f", "--set", &note, "--save"];
        bag(&world, &args).ok();
        assert!(
            read(&world, "ws/USER_CONTEXT.md").starts_with("# Me\n\nI like paper.\n"),
            "{value}"
        );
        let note = parameter(&world, "note", &[]);
        assert_eq!(
            (&note["from"]["value"], &note["from"]["level"]),
            (&value.into(), &"user context".into()),
            "{note}"
        );
        assert_no_leftovers(&world, value);
    }
    bag(&world, &["run", "convert_to_pdf"]).ok();
    assert!(
        before.iter().all(|(path, entry)| world.files("ws").get(path) == Some(entry)),
        "no other file changes"
    );
    assert_refused(&world, &["run", "convert_to_pdf", "--save"], "E-invalid-arguments");
}

#[test]
fn sb_09_save_creates_a_missing_user_context() {
    let world = converter_workspace();
    bag(&world, &["run", "convert_to_pdf", "--set", "input=x.md", "--save"]).ok();
    assert_eq!(parameter(&world, "input", &[])["from"]["file"], "USER_CONTEXT.md");
    assert_no_leftovers(&world, "saved");
}

#[test]
fn sb_09_saved_value_applies_after_any_existing_text() {
    for before in [
        "",
        "# Me",
        "# Me\n\n\n",
        "- a list\n  ",
        "# Me\n\n```\nnever closed\n",
        "<!-- never closed\n",
    ] {
        let world = converter_workspace();
        write(&world, "ws/USER_CONTEXT.md", before);
        let run = bag(&world, &["run", "convert_to_pdf", "--set", "input=x.md", "--save"]);
        // It may refuse to save, but it may not report success without saving.
        assert!(
            run.code != Some(0) || parameter(&world, "input", &[])["from"]["value"] == "x.md",
            "{before:?}: {run}"
        );
    }
}

#[test]
fn sb_09_secrets_are_neither_saved_nor_printed() {
    let world = workspace();
    let parameters = "\n## Parameters\n\n```yaml\noptional: [note, api-token, db_password]\n```\n";
    write(&world, "ws/.skills/a/SKILL.md", &skill("a", parameters));
    bag(&world, &["sync"]).ok();
    write(&world, "ws/USER_CONTEXT.md", "# Me\n");
    let pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----";
    for secret in [
        "api-token=hunter2",
        "db_password=hunter2",
        "note=ghp_abcdefghijklmnopqrst0123456789abcdef",
        "note=AKIAIOSFODNN7EXAMPLE",
        &format!("note={pem}"),
        "note=https://me:hunter2@example.com/x",
        "note=q8Zr2LxV0pT7mYb4WcK9sNdJ3hGf6AuE",
    ] {
        // One secret prevents saving all values.
        let args = ["run", "a", "--set", "note=plain", "--set", secret, "--save"];
        assert_refused(&world, &args, "E-secret-in-plain-file");
        let run = bag(&world, &args).fails(4);
        let value = secret.split_once('=').unwrap().1;
        assert!(!run.stderr.contains(value), "{secret}: {run}");
        bag(&world, &["run", "a", "--set", secret]).ok();
        assert_eq!(read(&world, "ws/USER_CONTEXT.md"), "# Me\n", "{secret}");
    }
}

/// Returns a workspace with skills that have these descriptions.
fn tagged_skills(descriptions: &[(&str, &str)]) -> World {
    let world = workspace();
    for (name, description) in descriptions {
        let text =
            format!("---\nname: {name}\ndescription: \"{description}\"\n---\n\nDo {name}.\n");
        write(&world, &format!("ws/.skills/{name}/SKILL.md"), &text);
    }
    bag(&world, &["sync"]).ok();
    world
}

/// Returns the skills that always run, in order.
fn always(world: &World) -> Vec<String> {
    serde_json::from_value(json(world, &["enter"])["always"].clone()).unwrap()
}

#[test]
fn sb_23_user_context_changes_tags_without_changing_the_skill() {
    let world = tagged_skills(&[
        ("a", "A. #run/always"),
        ("b", "B."),
        ("c", "C. #run/always #run/last"),
        ("d", "D. #RUN/always"),
    ]);
    assert_eq!(always(&world), ["a", "c"]);
    let before = world.files("ws/.skills");
    write(
        &world,
        "ws/USER_CONTEXT.md",
        &section(
            "Tags",
            "tags:\n  a: {remove: ['#run/always']}\n  b: {add: ['#run/always', '#run/last']}\n  gone: {add: ['#run/always']}",
        ),
    );
    assert_eq!(always(&world), ["b", "c"]);
    let list = json(&world, &["list"]);
    assert_eq!(
        (&list["skills"][0]["tags"], &list["skills"][1]["tags"]),
        (&serde_json::json!([]), &serde_json::json!(["run/always", "run/last"]))
    );
    assert_eq!(world.files("ws/.skills"), before);
    // The user context overrides the project.
    write(&world, "ws/CONTEXT.md", &section("Tags", "tags:\n  a: {add: ['#run/always']}"));
    assert_eq!(always(&world), ["b", "c"]);
}

#[test]
fn sb_23_skills_tagged_last_run_after_all_others_by_name() {
    let world = tagged_skills(&[
        ("a", "A. #run/last #run/always"),
        ("b", "B. #run/always #run/last"),
        ("c", "C. #run/always"),
        ("d", "D. #run/last"),
        ("e", "E. #run/always"),
    ]);
    assert_eq!(always(&world), ["c", "e", "a", "b"]);
    // The conflict resolution does not change the order of the last ones.
    write(
        &world,
        "ws/USER_CONTEXT.md",
        &section("Conflict resolution", "conflict-resolution: [b, e]"),
    );
    assert_eq!(always(&world), ["e", "c", "a", "b"]);
}

#[test]
fn sb_23_installed_companions_run_too() {
    let world = tagged_skills(&[
        ("a", "A. #use/last-one #use/c #use/gone #use/b #use/a"),
        ("b", "B. #use/e"),
        ("c", "C."),
        ("e", "E."),
        ("last-one", "L. #run/last"),
    ]);
    let report = json(&world, &["run", "a"]);
    let names: Vec<&str> = report["companions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|companion| companion["name"].as_str().unwrap())
        .filter(|name| !["a", "e"].contains(name))
        .collect();
    assert_eq!(names, ["b", "c", "last-one"]);
    let run = bag(&world, &["run", "a"]).ok();
    assert!(run.stderr.is_empty() && run.stdout.contains("Do b."), "{run}");
    write(
        &world,
        "ws/USER_CONTEXT.md",
        &section("Tags", "tags:\n  a: {remove: ['#use/c', '#use/b', '#use/last-one']}"),
    );
    assert!(!bag(&world, &["run", "a"]).ok().stdout.contains("Do b."));
}

#[test]
fn sb_23_skill_is_not_its_own_companion() {
    let world = tagged_skills(&[("a", "A. #use/a")]);
    assert_eq!(json(&world, &["run", "a"])["companions"], serde_json::json!([]));
}

#[test]
fn sb_16_order_is_by_user_then_project_then_name() {
    let world = tagged_skills(&["a", "b", "c", "d"].map(|name| (name, "X. #run/always")));
    assert_eq!(always(&world), ["a", "b", "c", "d"]);
    write(&world, "ws/CONTEXT.md", &section("Conflict resolution", "conflict-resolution: [c, b]"));
    assert_eq!(always(&world), ["c", "b", "a", "d"]);
    write(
        &world,
        "ws/USER_CONTEXT.md",
        &section("conflict-resolution", "conflict-resolution:\n  - d\n  - b"),
    );
    assert_eq!(always(&world), ["d", "b", "c", "a"]);
}

#[test]
fn sb_24_enter_prints_the_summary_in_order_and_changes_nothing() {
    let world = tagged_skills(&[("a", "A. #run/always"), ("b", "B.")]);
    write(
        &world,
        "ws/.skills/b/SKILL.md",
        &skill("b", &dependency_section(&["name: gone", "name: extra, required: false"])),
    );
    bag(&world, &["sync"]).ok();
    write(
        &world,
        "ws/CONTEXT.md",
        &dependency_section(&["name: far, version: '1', source: ./far"]),
    );
    write(&world, "ws/USER_CONTEXT.md", "# Me\n");
    let before = world.files("ws");
    let output = bag(&world, &["enter"]).ok().stdout;
    let parts = [
        "0.3.0",
        "CONTEXT.md, USER_CONTEXT.md",
        "  a: A. #run/always",
        "  b: Does b.",
        "  skillbag-get-skills: Install",
        "  a  #run/always",
        "far, gone",
    ];
    let offsets: Vec<usize> = parts
        .iter()
        .map(|part| output.find(part).unwrap_or_else(|| panic!("no `{part}` in\n{output}")))
        .collect();
    assert!(offsets.is_sorted(), "{output}");
    let digest = json(&world, &["enter"]);
    assert_eq!(digest["missing"], serde_json::json!(["far", "gone"]));
    assert_eq!(digest["contexts"], serde_json::json!(["CONTEXT.md", "USER_CONTEXT.md"]));
    assert_eq!(digest["skills"][2]["run"], "skillbag_get_skills");
    assert_eq!(world.files("ws"), before);
    bag(&world, &["enter", "--format", "plain"]).ok();
}

#[test]
fn sb_24_run_prints_the_skill_and_executes_nothing() {
    let world = converter_workspace();
    write(&world, "ws/.skills/convert-to-pdf/scripts/run.sh", "touch ran\n");
    let before = world.files("ws");
    let run = json(&world, &["run", "convert_to_pdf", "--set", "input=x"]);
    assert_eq!(run["skill"]["name"], "convert-to-pdf");
    assert!(run["skill"]["instructions"].as_str().unwrap().contains("Convert."), "{run}");
    assert!(run["skill"]["path"].as_str().unwrap().ends_with("ws/.skills/convert-to-pdf"), "{run}");
    assert_eq!((&run["missing"], &run["saved"]), (&serde_json::json!([]), &false.into()));
    assert_eq!(world.files("ws"), before);
}
