//! Token counts: `sp cost`, the same numbers in `sp check`, and the cache of counts.

use sp_analyze::tokens;

use super::*;

/// A world with a large and a small skill.
fn large_and_small_skill() -> World {
    let world = world!();
    world.write(
        "skills/large/SKILL.md",
        format!("{}{}\n", valid_skill("large"), "All work and no play. ".repeat(60)),
    );
    world.write("skills/large/references/more.md", "More of it.\n".repeat(100));
    world.write("skills/large/scripts/run.sh", "echo one\n");
    world.write("skills/large/assets/image.bin", [0, 159, 146, 150]);
    world.skill("group/small");
    world.pack("team", "name: team\ninclude: ['**']\n");
    world
}

/// The tokens of a skill: in every session, when it is used, and in its other files.
fn tiers(skill: &Value) -> [usize; 3] {
    ["always", "body", "files"].map(|tier| usize::try_from(skill[tier].as_u64().unwrap()).unwrap())
}

fn cost(world: &World, args: &[&str]) -> Value {
    json(&world.sp(&[&["cost", "--format", "json"], args].concat()).ok())
}

#[test]
fn as_06_tokens_are_counted_in_three_tiers() {
    let world = large_and_small_skill();
    let skills = report(&world, &[])["skills"].as_array().unwrap().clone();
    let body = format!("Do large.\n{}", "All work and no play. ".repeat(60));
    let expected = [
        tokens::count("large") + tokens::count("Does large."),
        tokens::count(body.trim()),
        tokens::count(&"More of it.\n".repeat(100)) + tokens::count("echo one\n"),
    ];
    assert_eq!(tiers(&skills[1]), expected, "binary files do not count");
    assert_eq!(
        tiers(&skills[0]),
        [tokens::count("small") + tokens::count("Does small."), tokens::count("Do small."), 0]
    );
    assert_eq!(report(&world, &[])["tokenizer"], tokens::TOKENIZER);
    let run = check(&world, &[]).ok();
    let line = run.stdout.lines().find(|line| line.contains(tokens::TOKENIZER)).unwrap();
    let numbers = line.split(|c: char| !c.is_ascii_digit()).filter_map(|text| text.parse().ok());
    let sums = (0..3).map(|tier| tiers(&skills[0])[tier] + tiers(&skills[1])[tier]);
    assert_eq!(numbers.take(3).collect::<Vec<usize>>(), sums.collect::<Vec<usize>>(), "{line}");
}

#[test]
fn as_06_cost_and_check_report_the_same_numbers() {
    let world = large_and_small_skill();
    let checked = report(&world, &[]);
    for (args, path) in
        [(&[][..], "."), (&["skills"], "skills"), (&["skills/large"], "skills/large")]
    {
        let group = cost(&world, args)["groups"][0].clone();
        let mut skills = group["skills"].as_array().unwrap().clone();
        let totals: Vec<usize> = skills.iter().map(|skill| tiers(skill).iter().sum()).collect();
        assert!(totals.is_sorted_by(|a, b| a >= b), "the most expensive first: {totals:?}");
        skills.sort_by_key(|skill| skill["path"].to_string());
        assert_eq!(Value::from(skills.clone()), report(&world, &[path])["skills"], "{path}");
        let sums: [usize; 3] =
            std::array::from_fn(|tier| skills.iter().map(|skill| tiers(skill)[tier]).sum());
        assert_eq!(tiers(&group), sums, "{path}");
    }
    assert_eq!(checked["skills"].as_array().unwrap().len(), 2);
}

#[test]
fn as_06_cost_in_every_format() {
    let world = large_and_small_skill();
    insta::assert_snapshot!(world.sp(&["cost"]), @"
    exit: 0
    --- stdout
    ~/repo

    SKILL        ALWAYS  BODY  FILES
    large             4   363    403  █▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓░░░░░░░░░░░░░░░░░░░░
    group/small       4     3      0  █

    2 skills: 8 tokens in every session, 366 more if all bodies are read, 403 more if all other files
    are read

    █ always  ▓ body  ░ files
    tokens counted with o200k_base; counts differ slightly between models
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
fn as_06_cost_of_an_agent_includes_every_skill_in_its_sink() {
    let world = large_and_small_skill();
    world.sp(&["install", "team", "--agent", "claude"]).ok();
    world.write("../.claude/skills/mine/SKILL.md", valid_skill("mine"));
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
        "skills that `sp` did not install count as well"
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
    let run = world.sp(&["cost", "--agent", "codex"]).ok();
    assert!(run.stdout.starts_with("codex  ~/.codex/skills\n"), "{run}");
    let error = world.sp_error(&["cost", "--agent", "no-such-agent"]);
    assert_eq!(error.code, "E-unknown-agent");
    assert!(error.message.contains("no-such-agent"), "{error:?}");
    // Without skills in the current directory, every agent that has skills is shown.
    std::fs::create_dir_all(world.path("nowhere")).unwrap();
    let run = world.sp_in("nowhere", &["cost", "--format", "json"]).ok();
    assert_eq!(json(&run)["groups"].as_array().unwrap().len(), 1, "{run}");
    assert_eq!(tiers(&json(&run)["groups"][0]), sums);
}

#[test]
fn as_06_cost_of_a_project_sink() {
    let world = world!();
    world.write(".claude/skills/here/SKILL.md", valid_skill("here"));
    let group = cost(&world, &["--agent", "claude", "--scope", "project"])["groups"][0].clone();
    assert_eq!(group["skills"].as_array().unwrap().len(), 1, "{group}");
}

#[test]
fn as_06_cost_without_any_skills_is_an_error() {
    let world = world!();
    std::fs::create_dir_all(world.path("nowhere")).unwrap();
    let error = world.sp_error_in("nowhere", &["cost"]);
    assert_eq!(error.code, "E-nothing-found");
    assert!(error.hints_at("sp cost --agent claude"), "{error:?}");
    for (argument, code) in [("gone", "E-pack-not-found"), ("./gone", "E-file-not-found")] {
        let error = world.sp_error(&["cost", argument]);
        assert_eq!(error.code, code, "{argument}");
        assert!(error.message.contains("gone"), "{error:?}");
    }
}

#[test]
fn as_06_cost_of_a_pack_includes_local_and_imported_skills() {
    let world = world!();
    world.skill("general/a");
    world.skill("other");
    let repo = world.git("shared");
    repo.skill("tools/r").commit("one");
    world.pack(
        "team",
        &format!(
            "name: team\ninclude: ['general/**']\nimports:\n  - repo: {}\n    include: ['**']\n",
            repo.url()
        ),
    );
    for argument in ["team", "packs/team.yaml"] {
        let report = cost(&world, &[argument]);
        let group = &report["groups"][0];
        assert_eq!(group["pack"], "team", "{report}");
        let names: Vec<&str> = group["skills"]
            .as_array()
            .unwrap()
            .iter()
            .map(|skill| skill["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["a", "r"], "{report}");
        // The numbers are those of the same skill on disk.
        let on_disk = cost(&world, &["skills/general/a"]);
        assert_eq!(group["skills"][0]["body"], on_disk["groups"][0]["body"]);
        assert_eq!(group["skills"][0]["always"], on_disk["groups"][0]["always"]);
    }
    let plain = world.sp(&["cost", "team", "--format", "plain"]).ok().stdout;
    assert!(plain.contains("team\tgeneral/a\t") && plain.contains("team\tr\t"), "{plain}");
}

#[test]
fn as_06_an_unreadable_skill_does_not_hide_the_others() {
    let world = world!();
    world.write("../.claude/skills/good/SKILL.md", valid_skill("good"));
    std::fs::create_dir_all(world.path("home/.claude/skills/bad")).unwrap();
    std::os::unix::fs::symlink("gone", world.path("home/.claude/skills/bad/SKILL.md")).unwrap();
    let group = cost(&world, &["--agent", "claude"])["groups"][0].clone();
    assert_eq!(group["skills"].as_array().unwrap().len(), 1, "{group}");
    let run = world.sp(&["cost", "--agent", "claude"]).ok();
    assert!(run.stdout.lines().any(|line| line.starts_with("good ")), "{run}");
}

#[test]
fn as_06_counts_are_cached() {
    let world = large_and_small_skill();
    let first = check(&world, &["--format", "json"]).ok();
    let cache = world.path("home/.skillpack/index/tokens");
    let bytes = std::fs::read(&cache).unwrap();
    assert_eq!(check(&world, &["--format", "json"]), first);
    assert_eq!(std::fs::read(&cache).unwrap(), bytes, "the cache is not rewritten");
    world.write(
        "skills/group/small/SKILL.md",
        valid_skill("small").replace("Do small.", "Do something else altogether."),
    );
    assert_ne!(
        report(&world, &[])["skills"],
        json(&first)["skills"],
        "changed text is counted again"
    );
}

#[test]
fn as_06_a_damaged_or_missing_cache_is_ignored() {
    let world = large_and_small_skill();
    let first = check(&world, &["--format", "json"]).ok();
    let cache = world.path("home/.skillpack/index/tokens");
    let bytes = std::fs::read(&cache).unwrap();
    let truncated = |length: usize| bytes[..length].to_vec();
    let damages = [
        Vec::new(),
        b"nonsense".to_vec(),
        vec![0; 10_000],
        truncated(5),
        truncated(bytes.len() - 1),
        truncated(bytes.len() / 2),
        [&b"sp tokens 2 other\n"[..], &bytes].concat(),
        bytes.iter().map(|byte| !byte).collect(),
    ];
    for damage in damages {
        std::fs::write(&cache, &damage).unwrap();
        assert_eq!(check(&world, &["--format", "json"]), first, "{} bytes", damage.len());
    }
    std::fs::remove_file(&cache).unwrap();
    std::fs::create_dir(&cache).unwrap();
    assert_eq!(check(&world, &["--format", "json"]), first, "a directory instead of the cache");
    std::fs::remove_dir(&cache).unwrap();
    mkfifo(&cache);
    assert_eq!(
        run_to_end(&world, &["check", "--format", "json"]),
        first,
        "a FIFO instead of the cache"
    );
    std::fs::remove_dir_all(world.path("home/.skillpack")).unwrap();
    assert_eq!(check(&world, &["--format", "json"]), first, "no `~/.skillpack`");
}

#[test]
fn as_06_a_flipped_bit_in_the_cache_changes_no_number() {
    let world = large_and_small_skill();
    let first = check(&world, &["--format", "json"]).ok();
    let cache = world.path("home/.skillpack/index/tokens");
    let bytes = std::fs::read(&cache).unwrap();
    for offset in (0..bytes.len()).step_by(3) {
        let mut damaged = bytes.clone();
        damaged[offset] ^= 4;
        std::fs::write(&cache, &damaged).unwrap();
        assert_eq!(check(&world, &["--format", "json"]), first, "byte {offset}");
    }
}

/// Returns the lines that a command prints on a terminal of this width, without colors.
fn on_terminal(world: &World, width: u16, command: &str) -> Vec<String> {
    let run = world.sp_on_terminal(width, &[command], "", &[]).ok();
    run.stdout.lines().map(|line| line.trim_end_matches('\r').to_owned()).collect()
}

#[test]
fn as_06_bars_of_cost_fit_the_terminal() {
    let world = large_and_small_skill();
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
fn as_06_lines_of_cost_fit_the_terminal() {
    let world = large_and_small_skill();
    world
        .write(&format!("skills/{}/SKILL.md", "a-rather-long-name-".repeat(3)), "no frontmatter\n");
    for width in [40, 80, 200] {
        for line in on_terminal(&world, width, "cost") {
            assert!(line.chars().count() <= usize::from(width), "{width}: {line:?}");
        }
    }
}

#[test]
fn lines_of_explain_fit_the_terminal() {
    for width in [40, 80, 200] {
        let lines = on_terminal(&world!(), width, "explain");
        assert!(lines.len() > sp_engine::check_rules().len(), "{lines:?}");
        assert!(
            lines.iter().all(|line| line.chars().count() <= usize::from(width)),
            "{width}: {lines:#?}"
        );
    }
}
