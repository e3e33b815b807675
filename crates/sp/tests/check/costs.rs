//! What skills cost: `sp cost`, the same numbers in `sp check`, and what is remembered of them.

use sp_analyze::tokens;

use super::*;

/// Skills of three sizes.
fn priced() -> World {
    let world = world!();
    world.write(
        "skills/large/SKILL.md",
        format!("{}{}\n", good("large"), "All work and no play. ".repeat(60)),
    );
    world.write("skills/large/references/more.md", "More of it.\n".repeat(100));
    world.write("skills/large/scripts/run.sh", "echo one\n");
    world.write("skills/large/assets/image.bin", [0, 159, 146, 150]);
    world.skill("group/small");
    world.pack("team", "name: team\ninclude: ['**']\n");
    world
}

/// The cost of a skill as three numbers.
fn tiers(skill: &Value) -> [usize; 3] {
    ["always", "body", "files"].map(|tier| usize::try_from(skill[tier].as_u64().unwrap()).unwrap())
}

fn cost(world: &World, args: &[&str]) -> Value {
    json(&world.sp(&[&["cost", "--format", "json"], args].concat()).ok())
}

#[test]
fn as_06_the_three_tiers_are_counted_from_what_an_agent_reads() {
    let world = priced();
    let skills = report(&world, &[])["skills"].as_array().unwrap().clone();
    let body = format!("Do large.\n{}", "All work and no play. ".repeat(60));
    let expected = [
        tokens::count("large") + tokens::count("Does large."),
        tokens::count(body.trim()),
        tokens::count(&"More of it.\n".repeat(100)) + tokens::count("echo one\n"),
    ];
    assert_eq!(tiers(&skills[1]), expected, "what is no text costs nothing");
    assert_eq!(
        tiers(&skills[0]),
        [tokens::count("small") + tokens::count("Does small."), tokens::count("Do small."), 0]
    );
    assert_eq!(report(&world, &[])["tokenizer"], tokens::TOKENIZER);
    let line = check(&world, &[])
        .ok()
        .stdout
        .lines()
        .find(|line| line.starts_with("tokens: "))
        .unwrap()
        .to_owned();
    let sums: [usize; 3] =
        std::array::from_fn(|tier| tiers(&skills[0])[tier] + tiers(&skills[1])[tier]);
    let [always, body, files] = sums;
    assert_eq!(
        line,
        format!("tokens: {always} always, {body} when used, {files} in other files (o200k_base)")
    );
}

#[test]
fn as_06_cost_says_the_same_numbers_as_check() {
    let world = priced();
    let checked = report(&world, &[]);
    for (args, path) in
        [(&[][..], "."), (&["skills"], "skills"), (&["skills/large"], "skills/large")]
    {
        let group = cost(&world, args)["groups"][0].clone();
        let mut skills = group["skills"].as_array().unwrap().clone();
        let totals: Vec<usize> = skills.iter().map(|skill| tiers(skill).iter().sum()).collect();
        assert!(totals.is_sorted_by(|a, b| a >= b), "the dearest first: {totals:?}");
        skills.sort_by_key(|skill| skill["path"].to_string());
        assert_eq!(Value::from(skills.clone()), report(&world, &[path])["skills"], "{path}");
        let sums: [usize; 3] =
            std::array::from_fn(|tier| skills.iter().map(|skill| tiers(skill)[tier]).sum());
        assert_eq!(tiers(&group), sums, "{path}");
    }
    assert_eq!(checked["skills"].as_array().unwrap().len(), 2);
}

#[test]
fn as_06_cost_in_all_its_forms() {
    let world = priced();
    insta::assert_snapshot!(world.sp(&["cost"]), @"
    exit: 0
    --- stdout
    ~/repo

    SKILL        ALWAYS  BODY  FILES
    large             4   363    403  █▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓░░░░░░░░░░░░░░░░░░░░
    group/small       4     3      0  █

    2 skills: every session pays 8 tokens before the first word; all bodies have 366 more, all other
    files 403

    █ always  ▓ body  ░ files
    tokens by o200k_base; other models count a little differently
    ");
    insta::assert_snapshot!(world.sp(&["cost", "skills/group/small"]), @"
    exit: 0
    --- stdout
    ~/repo/skills/group/small

    SKILL  ALWAYS  BODY  FILES
    small       4     3      0  ███████████████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓

    1 skill: every session pays 4 tokens before the first word; all bodies have 3 more, all other files
    0

    █ always  ▓ body  ░ files
    tokens by o200k_base; other models count a little differently
    ");
    insta::assert_snapshot!(world.sp(&["cost", "--format", "plain"]), @"
    exit: 0
    --- stdout
    ~/repo	large	4	363	403
    ~/repo	group/small	4	3	0
    ");
    insta::assert_snapshot!(world.sp(&["cost", "skills/large", "skills/group", "--format", "plain"]), @"
    exit: 0
    --- stdout
    ~/repo/skills/large	large	4	363	403
    ~/repo/skills/group	small	4	3	0
    ");
}

#[test]
fn as_06_an_agent_pays_for_all_that_stands_in_its_sink() {
    let world = priced();
    world.sp(&["install", "team", "--agent", "claude"]).ok();
    world.write("../.claude/skills/mine/SKILL.md", good("mine"));
    let group = cost(&world, &["--agent", "claude"])["groups"][0].clone();
    let folders: Vec<&str> = group["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| skill["path"].as_str().unwrap().rsplit('/').next().unwrap())
        .collect();
    assert_eq!(group["sink"], "claude");
    assert_eq!(
        folders,
        ["team__large", "mine", "team__group__small"],
        "what `sp` did not install counts as well"
    );
    let checked = report(&world, &["~/.claude/skills"])["skills"].as_array().unwrap().clone();
    let sums: [usize; 3] =
        std::array::from_fn(|tier| checked.iter().map(|skill| tiers(skill)[tier]).sum());
    assert_eq!(tiers(&group), sums);
    let both = cost(&world, &["--agent", "claude", "--agent", "codex"]);
    assert_eq!(both["groups"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&both["groups"][1]["sink"], &both["groups"][1]["skills"]),
        (&"codex".into(), &serde_json::json!([]))
    );
    insta::assert_snapshot!(world.sp(&["cost", "--agent", "codex"]), @"
    exit: 0
    --- stdout
    codex  ~/.codex/skills

    no skills
    ");
    let run = world.sp(&["cost", "--agent", "no-such-agent"]).fails(2);
    assert!(run.stderr.contains("no-such-agent"), "{run}");
    // Where there is nothing here, it is every agent that has skills.
    std::fs::create_dir_all(world.path("nowhere")).unwrap();
    let run = world.sp_in("nowhere", &["cost", "--format", "json"]).ok();
    assert_eq!(json(&run)["groups"].as_array().unwrap().len(), 1, "{run}");
    assert_eq!(tiers(&json(&run)["groups"][0]), sums);
}

#[test]
fn as_06_a_sink_of_the_project_is_counted_where_it_is_asked_for() {
    let world = world!();
    world.write(".claude/skills/here/SKILL.md", good("here"));
    let group = cost(&world, &["--agent", "claude", "--scope", "project"])["groups"][0].clone();
    assert_eq!(group["skills"].as_array().unwrap().len(), 1, "{group}");
}

#[test]
fn as_06_where_there_are_no_skills_at_all_it_says_so() {
    let world = world!();
    std::fs::create_dir_all(world.path("nowhere")).unwrap();
    insta::assert_snapshot!(world.sp_in("nowhere", &["cost"]), @"
    exit: 1
    --- stderr
    error: there are no skills here, and none is installed for any agent

    hint: name a skill, a directory with skills, or an agent: `sp cost --agent claude`
    ");
    let run = world.sp(&["cost", "gone"]).fails(3);
    assert!(run.stderr.contains("cannot read `gone`"), "{run}");
}

#[test]
fn as_06_one_skill_that_cannot_be_read_does_not_make_the_others_free() {
    let world = world!();
    world.write("../.claude/skills/good/SKILL.md", good("good"));
    std::fs::create_dir_all(world.path("home/.claude/skills/bad")).unwrap();
    std::os::unix::fs::symlink("gone", world.path("home/.claude/skills/bad/SKILL.md")).unwrap();
    let group = cost(&world, &["--agent", "claude"])["groups"][0].clone();
    assert_eq!(group["skills"].as_array().unwrap().len(), 1, "{group}");
    let run = world.sp(&["cost", "--agent", "claude"]);
    assert!(!run.stdout.contains("no skills"), "{run}");
}

#[test]
fn as_06_counts_are_remembered_and_a_second_check_says_the_same() {
    let world = priced();
    let first = check(&world, &["--format", "json"]).ok();
    let remembered = world.path("home/.skillpack/index/tokens");
    let bytes = std::fs::read(&remembered).unwrap();
    assert_eq!(check(&world, &["--format", "json"]), first);
    assert_eq!(std::fs::read(&remembered).unwrap(), bytes, "nothing new, nothing written");
    world.write(
        "skills/group/small/SKILL.md",
        good("small").replace("Do small.", "Do something else altogether."),
    );
    assert_ne!(
        report(&world, &[])["skills"],
        json(&first)["skills"],
        "what changed is counted anew"
    );
}

#[test]
fn as_06_what_is_remembered_may_be_damaged_or_gone() {
    let world = priced();
    let first = check(&world, &["--format", "json"]).ok();
    let remembered = world.path("home/.skillpack/index/tokens");
    let bytes = std::fs::read(&remembered).unwrap();
    let cut = |length: usize| bytes[..length].to_vec();
    let damages = [
        Vec::new(),
        b"nonsense".to_vec(),
        vec![0; 10_000],
        cut(5),
        cut(bytes.len() - 1),
        cut(bytes.len() / 2),
        [&b"sp tokens 2 other\n"[..], &bytes].concat(),
        bytes.iter().map(|byte| !byte).collect(),
    ];
    for damage in damages {
        std::fs::write(&remembered, &damage).unwrap();
        assert_eq!(check(&world, &["--format", "json"]), first, "{} bytes", damage.len());
    }
    std::fs::remove_file(&remembered).unwrap();
    std::fs::create_dir(&remembered).unwrap();
    assert_eq!(check(&world, &["--format", "json"]), first, "a directory in its place");
    std::fs::remove_dir(&remembered).unwrap();
    mkfifo(&remembered);
    assert_eq!(ends(&world, &["check", "--format", "json"]), first, "a pipe in its place");
    std::fs::remove_dir_all(world.path("home/.skillpack")).unwrap();
    assert_eq!(check(&world, &["--format", "json"]), first, "no home at all");
}

#[test]
fn as_06_a_flipped_bit_in_what_is_remembered_changes_no_number() {
    let world = priced();
    let first = check(&world, &["--format", "json"]).ok();
    let remembered = world.path("home/.skillpack/index/tokens");
    let bytes = std::fs::read(&remembered).unwrap();
    for at in (0..bytes.len()).step_by(3) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        std::fs::write(&remembered, &damaged).unwrap();
        assert_eq!(check(&world, &["--format", "json"]), first, "byte {at}");
    }
}

/// What is printed on a terminal of this width, a line an item, without colours.
fn on_terminal(world: &World, width: u16, command: &str) -> Vec<String> {
    let sp = env!("CARGO_BIN_EXE_sp");
    let inner = format!("stty cols {width} rows 40 </dev/tty; {sp} {command}");
    let mut script = std::process::Command::new("script");
    script
        .args(["--quiet", "--return", "--command", &inner, "/dev/null"])
        .current_dir(world.repo());
    script
        .env_clear()
        .env("HOME", world.home())
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("NO_COLOR", "1");
    script.env("SHELL", "/bin/sh").env("TERM", "xterm").stdin(Stdio::null());
    let run = world.run(script).ok();
    run.stdout.lines().map(|line| line.trim_end_matches('\r').to_owned()).collect()
}

fn has_script() -> bool {
    std::process::Command::new("script")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

#[test]
fn as_06_the_rows_of_a_cost_fit_the_terminal() {
    if !has_script() {
        return;
    }
    let world = priced();
    let mut bars = Vec::new();
    for width in [40, 80, 200] {
        let lines = on_terminal(&world, width, "cost");
        let rows: Vec<&String> =
            lines.iter().skip_while(|line| !line.starts_with("SKILL")).take(3).collect();
        assert_eq!(rows.len(), 3, "{lines:?}");
        for row in &rows {
            assert!(row.chars().count() <= usize::from(width), "{width}: {row:?}");
        }
        bars.push(rows[1].chars().filter(|c| "█▓░".contains(*c)).count());
    }
    assert!(
        bars.is_sorted() && bars[0] >= 5 && bars[2] > bars[0],
        "bars grow with the terminal: {bars:?}"
    );
}

#[test]
fn as_06_every_line_of_a_cost_fits_the_terminal() {
    if !has_script() {
        return;
    }
    let world = priced();
    world
        .write(&format!("skills/{}/SKILL.md", "a-rather-long-name-".repeat(3)), "no frontmatter\n");
    for width in [40, 80, 200] {
        for line in on_terminal(&world, width, "cost") {
            assert!(line.chars().count() <= usize::from(width), "{width}: {line:?}");
        }
    }
}

#[test]
fn what_a_rule_asks_fits_the_terminal() {
    if !has_script() {
        return;
    }
    for width in [40, 80, 200] {
        let lines = on_terminal(&world!(), width, "explain");
        assert!(lines.len() > sp_formats::checks::CHECKS.len(), "{lines:?}");
        assert!(
            lines.iter().all(|line| line.chars().count() <= usize::from(width)),
            "{width}: {lines:#?}"
        );
    }
}
