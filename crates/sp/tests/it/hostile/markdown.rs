//! Markdown that would use much memory.

use super::*;

const SIZE: u64 = 8 * MIB;

fn write_skill(world: &World, body: &str) {
    world.write(
        "skills/tidy/SKILL.md",
        format!("---\nname: tidy\ndescription: Tidies up.\n---\n{body}"),
    );
}

/// Returns the peak memory of `sp check` on a skill with this body, in bytes.
fn peak_memory(world: &World, body: &str) -> u64 {
    write_skill(world, body);
    let MeasuredRun { run, peak_bytes } =
        world.measure_alone(world.command(&["check", "skills/tidy"]));
    // It reads the skill and does not refuse it; warnings are fine.
    assert_eq!(run.code, Some(0), "{body:.20}: {run}");
    peak_bytes
}

#[test]
fn se_04_markdown_takes_at_most_four_times_its_size_in_memory() {
    let world = world!();
    let peak = |fragment: &str, size: u64| {
        peak_memory(&world, &fragment.repeat(size as usize / fragment.len()))
    };
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
        // What each text needs, such as the pages of the vocabulary, is in both.
        let small = peak(fragment, SIZE / 4);
        assert!(small > 0);
        let growth = peak(fragment, SIZE).saturating_sub(small) / MIB;
        let limit = 4 * (SIZE - SIZE / 4) / MIB;
        assert!(growth <= limit, "{fragment:?}: {growth} MiB more than a quarter of the text");
    }
}

#[test]
fn se_04_markdown_that_exceeds_a_limit_is_reported_with_its_position() {
    let world = world!();
    write_skill(&world, &format!("Remove it.\n\n{}", "a\n".repeat(200_000)));
    let run = world.sp(&["check", "skills/tidy", "--format", "plain"]).ok();
    let is_reported = |line: &str| line.contains("SKILL.md:") && line.contains("[SE-04]");
    assert!(run.stdout.lines().any(is_reported), "{run}");
    write_skill(&world, &format!("Remove it.\n\n{}a\n", "> ".repeat(101)));
    let run = world.sp(&["audit", "skills/tidy", "--format", "plain"]).ok();
    assert!(run.stdout.contains("skills/tidy/SKILL.md:7:1: warning[SE-04]"), "{run}");
}
