//! Which of all that is said counts: values, prohibitions, tags, and who prevails.

use super::*;

const CONVERT: &str = "\n## Parameters\n\n```yaml\nrequired:\n  - name: input\n    description: The file.\noptional:\n  - \
                       name: paper\n    default: skill\n  - name: copies\n  - name: note\n```\n\n## Instructions\n\nConvert.\n";

/// A workspace with the skill `convert-to-pdf`.
fn converting() -> World {
    let world = workspace();
    write(&world, "ws/.skills/convert-to-pdf/SKILL.md", &skill("convert-to-pdf", CONVERT));
    bag(&world, &["sync"]).ok();
    world
}

/// A context file whose only block of YAML stands below `title` from line 4 on.
fn section(title: &str, yaml: &str) -> String {
    format!("# {title}\n\n```yaml\n{yaml}\n```\n")
}

fn values(yaml: &str) -> String {
    section("Parameters", yaml)
}

/// One parameter, as `params` has it.
fn parameter(world: &World, name: &str, set: &[&str]) -> Value {
    let mut args = vec!["params", "convert-to-pdf"];
    set.iter().for_each(|set| args.extend(["--set", set]));
    let list = json(world, &args);
    list["parameters"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap().clone()
}

/// File, line and value of an origin.
fn origin(value: &Value) -> (String, Option<u64>, String) {
    (
        value["file"].as_str().unwrap().into(),
        value["line"].as_u64(),
        value["value"].as_str().unwrap().into(),
    )
}

#[test]
fn sb_06_the_highest_level_that_says_something_counts_and_beats_the_rest_in_order() {
    let world = converting();
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
        let says = |level: usize| subset & (1 << level) != 0;
        let text = |level: usize| {
            if says(level) {
                values(&format!("parameters:\n  paper: level-{level}"))
            } else {
                String::new()
            }
        };
        write(&world, "ws/USER_CONTEXT.md", &text(1));
        write(&world, "ws/CONTEXT.md", &text(2));
        write(&world, "ws/SKILLBAG.md", &(entry.clone() + &text(3)));
        let default = if says(4) { "    default: level-4\n" } else { "" };
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
            .filter(|level| says(*level))
            .map(|level| (levels[level].to_owned(), line(level), format!("level-{level}")));
        let paper = parameter(&world, "paper", if says(0) { &["paper=level-0"] } else { &[] });
        let from = paper.get("from").filter(|from| !from.is_null()).map(origin);
        assert_eq!(from, expected.next(), "{subset:05b}: {paper}");
        let beaten: Vec<_> = paper["overrode"].as_array().unwrap().iter().map(origin).collect();
        assert_eq!(beaten, expected.collect::<Vec<_>>(), "{subset:05b}");
    }
}

#[test]
fn sb_06_within_one_file_the_last_definition_wins() {
    let world = converting();
    for (yaml, more, expected) in [
        ("parameters:\n  paper: a", "parameters:\n  paper: b", "b"),
        ("parameters:\n  paper: a", "skills:\n  convert-to-pdf:\n    paper: b", "b"),
        ("skills:\n  convert-to-pdf:\n    paper: a", "parameters:\n  paper: b", "b"),
        ("skills:\n  convert-to-pdf:\n    paper: a", "skills:\n  other:\n    paper: b", "a"),
    ] {
        write(&world, "ws/CONTEXT.md", &format!("{}\nMore.\n\n{}", values(yaml), values(more)));
        assert_eq!(
            parameter(&world, "paper", &[])["from"]["value"],
            expected,
            "{yaml} then {more}"
        );
    }
    assert_eq!(parameter(&world, "paper", &["paper=x", "paper=y"])["from"]["value"], "y");
}

#[test]
fn sb_06_what_is_outside_a_parameters_section_is_no_definition() {
    let world = converting();
    write(
        &world,
        "ws/CONTEXT.md",
        "# Notes\n\n```yaml\nparameters:\n  paper: a\n```\n\n# Parameters\n\n```json\n{\"parameters\": {\"paper\": \"b\"}}\n```\n",
    );
    assert_eq!(parameter(&world, "paper", &[])["from"]["value"], "skill");
}

#[test]
fn sb_06_a_lower_level_never_overrides_a_prohibition() {
    let world = converting();
    write(&world, "ws/USER_CONTEXT.md", &values("prohibit:\n  - paper: a5\n  - input"));
    write(&world, "ws/CONTEXT.md", &values("parameters:\n  paper: a5\n  input: x.md"));
    let entry = read(&world, "ws/SKILLBAG.md");
    write(
        &world,
        "ws/SKILLBAG.md",
        &format!("{entry}\n{}", values("parameters:\n  paper: letter")),
    );
    let paper = parameter(&world, "paper", &[]);
    assert_eq!(paper["from"]["value"], "letter", "{paper}");
    assert_eq!(origin(&paper["kept_out"][0]), ("CONTEXT.md".into(), Some(5), "a5".into()));
    assert_eq!(paper["kept_out"][0]["prohibited_by"], "USER_CONTEXT.md:5");
    let input = parameter(&world, "input", &[]);
    assert!(input["from"].is_null(), "{input}");
    bag(&world, &["run", "convert_to_pdf"]).fails(1);
    // What the user says now is above all of it.
    assert_eq!(parameter(&world, "paper", &["paper=a5"])["from"]["value"], "a5");
    assert_eq!(parameter(&world, "input", &["input=y.md"])["from"]["value"], "y.md");
    // A prohibition of the lower level does not reach up.
    write(&world, "ws/CONTEXT.md", &values("prohibit: [paper]"));
    write(&world, "ws/USER_CONTEXT.md", &values("parameters:\n  paper: a5"));
    assert_eq!(parameter(&world, "paper", &[])["from"]["value"], "a5");
    // It does reach the skill's own default.
    std::fs::remove_file(world.path("ws/USER_CONTEXT.md")).unwrap();
    let paper = parameter(&world, "paper", &[]);
    assert!(paper["from"].is_null(), "{paper}");
    assert_eq!(paper["kept_out"].as_array().unwrap().len(), 2, "{paper}");
}

#[test]
fn sb_06_quotes_are_no_way_round_a_prohibition() {
    let world = converting();
    for (forbidden, said) in
        [("3", "3"), ("3", "'3'"), ("'3'", "3"), ("true", "'true'"), ("a5", "'a5'")]
    {
        write(
            &world,
            "ws/USER_CONTEXT.md",
            &values(&format!("prohibit:\n  - copies: {forbidden}")),
        );
        write(&world, "ws/CONTEXT.md", &values(&format!("parameters:\n  copies: {said}")));
        let copies = parameter(&world, "copies", &[]);
        assert!(copies["from"].is_null(), "{forbidden} forbids {said}: {copies}");
    }
}

#[test]
fn sb_08_every_value_is_explained_with_file_and_line_and_what_it_beat() {
    let world = converting();
    write(
        &world,
        "ws/USER_CONTEXT.md",
        &values("parameters:\n  paper: mine\nprohibit:\n  - copies: 9"),
    );
    write(&world, "ws/CONTEXT.md", &values("parameters:\n  paper: ours\n  copies: 9"));
    let shown =
        bag(&world, &["params", "convert-to-pdf", "--explain", "--set", "input=x.md"]).ok().stdout;
    for line in [
        "input: x.md",
        "  from --set (conversation)",
        "paper: mine",
        "  from USER_CONTEXT.md:5 (user context)",
        "  over ours from CONTEXT.md:5 (context)",
        "  over skill from .skills/convert-to-pdf/SKILL.md:15 (skill)",
        "copies: not given",
        "  not 9 from CONTEXT.md:6 (context): prohibited in USER_CONTEXT.md:7",
    ] {
        assert!(shown.lines().any(|other| other == line), "no `{line}` in\n{shown}");
    }
    let brief = bag(&world, &["params", "convert-to-pdf"]).ok().stdout;
    assert!(
        brief.contains("paper: mine")
            && brief.contains("input: missing")
            && !brief.contains("from"),
        "{brief}"
    );
}

#[test]
fn sb_07_a_required_value_that_nobody_gives_is_named_with_the_places_for_it() {
    let world = converting();
    let run = bag(&world, &["run", "convert_to_pdf"]).fails(1);
    for words in ["`input`", "--set input=", "`USER_CONTEXT.md`", "`CONTEXT.md`"] {
        assert!(run.stderr.contains(words), "`{words}` is not in {run}");
    }
    let run = bag(&world, &["run", "convert_to_pdf", "--set", "input=x.md"]).ok();
    assert!(run.stdout.contains("- input: x.md") && run.stdout.contains("Convert."), "{run}");
    let run = bag(&world, &["run", "convert_to_pdf", "--set", "inptu=x.md"]).fails(2);
    assert!(run.stderr.contains("did you mean `input`?"), "{run}");
    write(&world, "ws/CONTEXT.md", &values("parameters:\n  input: x.md"));
    bag(&world, &["run", "convert_to_pdf"]).ok();
}

#[test]
fn sb_05_only_run_takes_the_identifier_and_all_else_the_name() {
    let world = converting();
    let given = ["--set", "input=x"];
    bag(&world, &[&["run", "convert_to_pdf"], &given[..]].concat()).ok();
    let run = bag(&world, &[&["run", "convert-to-pdf"], &given[..]].concat()).fails(2);
    assert!(run.stderr.contains("`sp bag run convert_to_pdf`"), "{run}");
    for bad in
        ["Convert_to_pdf", "_convert", "convert__to", "convert_", "", "../x", "convert to pdf"]
    {
        bag(&world, &["run", bad]).fails(2);
    }
    let run = bag(&world, &["run", "convert_to_pfd"]).fails(1);
    assert!(run.stderr.contains("did you mean"), "{run}");
    bag(&world, &["params", "convert_to_pdf"]).fails(1);
    refused(&world, &["remove", "convert_to_pdf"], 1, "no skill called `convert_to_pdf`");
    refused(&world, &["get", "convert_to_pdf"], 2, "hyphens");
}

#[test]
fn sb_05_what_a_skill_that_does_not_exist_is_suggested_as_is_what_run_takes() {
    let world = converting();
    let run = bag(&world, &["run", "convert_to_pfd"]).fails(1);
    assert!(run.stderr.contains("did you mean `convert_to_pdf`?"), "{run}");
}

#[test]
fn sb_09_values_are_kept_only_on_request_and_as_they_were_said() {
    let world = converting();
    let before = world.files("ws");
    bag(&world, &["run", "convert_to_pdf", "--set", "input=x.md"]).ok();
    assert_eq!(world.files("ws"), before, "nothing is kept unasked");
    write(&world, "ws/USER_CONTEXT.md", "# Me\n\nI like paper.");
    for value in
        ["x.md", "it's \"x\": #1, {a}", "two\nlines", "```", "no", "3", "C:\\x", "ü 🚀", "- a", ""]
    {
        bag(
            &world,
            &[
                "run",
                "convert_to_pdf",
                "--set",
                "input=f",
                "--set",
                &format!("note={value}"),
                "--save",
            ],
        )
        .ok();
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
        no_leftovers(&world, value);
    }
    bag(&world, &["run", "convert_to_pdf"]).ok();
    assert!(
        before.iter().all(|(path, entry)| world.files("ws").get(path) == Some(entry)),
        "nothing else is touched"
    );
    bag(&world, &["run", "convert_to_pdf", "--save"]).fails(2);
}

#[test]
fn sb_09_a_context_that_does_not_exist_is_made_by_saving() {
    let world = converting();
    bag(&world, &["run", "convert_to_pdf", "--set", "input=x.md", "--save"]).ok();
    assert_eq!(parameter(&world, "input", &[])["from"]["file"], "USER_CONTEXT.md");
    no_leftovers(&world, "saved");
}

#[test]
fn sb_09_a_value_that_was_saved_counts_whatever_stands_before_it() {
    for before in [
        "",
        "# Me",
        "# Me\n\n\n",
        "- a list\n  ",
        "# Me\n\n```\nnever closed\n",
        "<!-- never closed\n",
    ] {
        let world = converting();
        write(&world, "ws/USER_CONTEXT.md", before);
        let run = bag(&world, &["run", "convert_to_pdf", "--set", "input=x.md", "--save"]);
        // To refuse it is honest; to say that it is saved when it is not is none.
        assert!(
            run.code != Some(0) || parameter(&world, "input", &[])["from"]["value"] == "x.md",
            "{before:?}: {run}"
        );
    }
}

#[test]
fn sb_09_secrets_are_never_written_nor_shown() {
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
        // One secret keeps all of it out.
        let run = refused(
            &world,
            &["run", "a", "--set", "note=plain", "--set", secret, "--save"],
            4,
            "is not written",
        );
        let value = secret.split_once('=').unwrap().1;
        assert!(!run.stderr.contains(value) && run.stderr.contains("hint:"), "{secret}: {run}");
        bag(&world, &["run", "a", "--set", secret]).ok();
        assert_eq!(read(&world, "ws/USER_CONTEXT.md"), "# Me\n", "{secret}");
    }
}

/// A workspace with skills of these descriptions.
fn tagged(descriptions: &[(&str, &str)]) -> World {
    let world = workspace();
    for (name, description) in descriptions {
        let text =
            format!("---\nname: {name}\ndescription: \"{description}\"\n---\n\nDo {name}.\n");
        write(&world, &format!("ws/.skills/{name}/SKILL.md"), &text);
    }
    bag(&world, &["sync"]).ok();
    world
}

fn always(world: &World) -> Vec<String> {
    serde_json::from_value(json(world, &["enter"])["always"].clone()).unwrap()
}

#[test]
fn sb_23_the_users_context_adds_and_removes_tags_and_the_skill_stays_as_it_is() {
    let world = tagged(&[
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
    // The user has the last word over the project.
    write(&world, "ws/CONTEXT.md", &section("Tags", "tags:\n  a: {add: ['#run/always']}"));
    assert_eq!(always(&world), ["b", "c"]);
}

#[test]
fn sb_23_what_runs_last_does_so_after_all_others_by_name() {
    let world = tagged(&[
        ("a", "A. #run/last #run/always"),
        ("b", "B. #run/always #run/last"),
        ("c", "C. #run/always"),
        ("d", "D. #run/last"),
        ("e", "E. #run/always"),
    ]);
    assert_eq!(always(&world), ["c", "e", "a", "b"]);
    // Who prevails does not matter among the last.
    write(
        &world,
        "ws/USER_CONTEXT.md",
        &section("Conflict resolution", "conflict-resolution: [b, e]"),
    );
    assert_eq!(always(&world), ["e", "c", "a", "b"]);
}

#[test]
fn sb_23_a_companion_runs_too_if_it_is_here() {
    let world = tagged(&[
        ("a", "A. #use/last-one #use/c #use/gone #use/b #use/a"),
        ("b", "B. #use/e"),
        ("c", "C."),
        ("e", "E."),
        ("last-one", "L. #run/last"),
    ]);
    let run = json(&world, &["run", "a"]);
    let names: Vec<&str> = run["companions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    let names: Vec<&str> = names.into_iter().filter(|name| !["a", "e"].contains(name)).collect();
    assert_eq!(names, ["b", "c", "last-one"]);
    let shown = bag(&world, &["run", "a"]).ok();
    assert!(shown.stderr.is_empty() && shown.stdout.contains("Do b."), "{shown}");
    write(
        &world,
        "ws/USER_CONTEXT.md",
        &section("Tags", "tags:\n  a: {remove: ['#use/c', '#use/b', '#use/last-one']}"),
    );
    assert!(!bag(&world, &["run", "a"]).ok().stdout.contains("Do b."));
}

#[test]
fn sb_23_a_skill_is_no_companion_of_its_own() {
    let world = tagged(&[("a", "A. #use/a")]);
    assert_eq!(json(&world, &["run", "a"])["companions"], serde_json::json!([]));
}

#[test]
fn sb_16_the_users_order_counts_before_the_projects_and_that_before_the_name() {
    let world = tagged(&["a", "b", "c", "d"].map(|name| (name, "X. #run/always")));
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
fn sb_24_enter_prints_the_digest_in_order_and_changes_nothing() {
    let world = tagged(&[("a", "A. #run/always"), ("b", "B.")]);
    write(
        &world,
        "ws/.skills/b/SKILL.md",
        &skill("b", &needs(&["name: gone", "name: extra, required: false"])),
    );
    bag(&world, &["sync"]).ok();
    write(&world, "ws/CONTEXT.md", &needs(&["name: far, version: '1', source: ./far"]));
    write(&world, "ws/USER_CONTEXT.md", "# Me\n");
    let before = world.files("ws");
    let shown = bag(&world, &["enter"]).ok().stdout;
    let parts = [
        "SkillBag 0.3.0",
        "context: CONTEXT.md, USER_CONTEXT.md",
        "  a: A. #run/always",
        "  b: Does b.",
        "  skillbag-get-skills: Install",
        "always run:",
        "  a  #run/always",
        "missing: far, gone",
    ];
    let places: Vec<usize> = parts
        .iter()
        .map(|part| shown.find(part).unwrap_or_else(|| panic!("no `{part}` in\n{shown}")))
        .collect();
    assert!(places.is_sorted(), "{shown}");
    let digest = json(&world, &["enter"]);
    assert_eq!(digest["missing"], serde_json::json!(["far", "gone"]));
    assert_eq!(digest["contexts"], serde_json::json!(["CONTEXT.md", "USER_CONTEXT.md"]));
    assert_eq!(digest["skills"][2]["run"], "skillbag_get_skills");
    assert_eq!(world.files("ws"), before);
    bag(&world, &["enter", "--format", "plain"]).ok();
}

#[test]
fn sb_24_run_prints_the_skill_and_executes_nothing() {
    let world = converting();
    write(&world, "ws/.skills/convert-to-pdf/scripts/run.sh", "touch ran\n");
    let before = world.files("ws");
    let run = json(&world, &["run", "convert_to_pdf", "--set", "input=x"]);
    assert_eq!(run["skill"]["name"], "convert-to-pdf");
    assert!(run["skill"]["instructions"].as_str().unwrap().contains("Convert."), "{run}");
    assert!(run["skill"]["path"].as_str().unwrap().ends_with("ws/.skills/convert-to-pdf"), "{run}");
    assert_eq!((&run["missing"], &run["saved"]), (&serde_json::json!([]), &false.into()));
    assert_eq!(world.files("ws"), before);
}
