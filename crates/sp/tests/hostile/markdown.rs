//! Markdown that is made to take memory.

use std::process::Stdio;
use std::time::Duration;

use sp_testkit::{World, world};

const MIB: usize = 1024 * 1024;
const SIZE: usize = 8 * MIB;

/// The peak resident memory of `sp check` on a skill with this body, in bytes.
fn peak_memory(world: &World, body: &str) -> usize {
    world.write(
        "skills/tidy/SKILL.md",
        format!("---\nname: tidy\ndescription: Tidies up.\n---\n{body}"),
    );
    let mut command = world.command(&["check", "skills/tidy"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        // Before it is called so, it is still a copy of the test.
        let text = text.strip_prefix("Name:\tsp\n").unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<usize>().ok());
        peak = peak.max(now.unwrap_or(0) * 1024);
        std::thread::sleep(Duration::from_millis(1));
    }
    // It found the skill, and was not refused it: warnings are no failure.
    assert_eq!(child.wait().unwrap().code(), Some(0), "{body:.20}");
    peak
}

#[test]
fn se_04_markdown_takes_at_most_four_times_its_size_in_memory() {
    let world = world!();
    let least = peak_memory(&world, "Remove it.\n");
    assert!(least > 0);
    for fragment in [
        "The quick brown fox jumps over *the* lazy dog, and [so](https://example.com) it `goes`.\n",
        "[",
        "*a ",
        "\n",
        "a\n",
        "a\n\n",
        "- a\n",
        "> a\n",
        "| a | b |\n|---|---|\n",
        "assets/a.b ",
    ] {
        let peak = peak_memory(&world, &fragment.repeat(SIZE / fragment.len()));
        let (more, most) = (peak.saturating_sub(least) / MIB, 4 * SIZE / MIB);
        assert!(more <= most, "{fragment:?}: {more} MiB more than a small file, at most {most}");
    }
}

#[test]
fn se_04_markdown_that_nobody_wrote_is_reported_with_its_place() {
    let world = world!();
    let body = format!("Remove it.\n\n{}", "a\n".repeat(200_000));
    world.write(
        "skills/tidy/SKILL.md",
        format!("---\nname: tidy\ndescription: Tidies up.\n---\n{body}"),
    );
    let run = world.sp(&["check", "skills/tidy", "--format", "json"]).ok();
    assert!(run.stdout.contains("the Markdown from here on is not read"), "{run}");
    assert!(run.stdout.contains("SE-04"), "{run}");
    let deep = format!("Remove it.\n\n{}a\n", "> ".repeat(101));
    world.write(
        "skills/tidy/SKILL.md",
        format!("---\nname: tidy\ndescription: Tidies up.\n---\n{deep}"),
    );
    let run = world.sp(&["audit", "skills/tidy"]);
    assert!(run.stdout.contains("SKILL.md:7:1") || run.stderr.contains("SKILL.md:7:1"), "{run}");
}
