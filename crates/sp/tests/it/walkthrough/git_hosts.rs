//! Local repositories for the URLs of git hosts in the documentation.

use sp_testkit::World;

/// Creates `https://github.com/acme/skills` and `https://example.com/team/skills.git`, and a git
/// configuration that replaces the hosts by a local directory.
pub(super) fn create_git_hosts(world: &World) {
    let github = world.git("github.com/acme/skills.git");
    github.write(
        "skills/testing/flaky-tests/SKILL.md",
        skill(
            "flaky-tests",
            "Finds the cause of a flaky test. Use when a test fails only sometimes.",
        ),
    );
    github.write(
        "skills/testing/coverage/SKILL.md",
        skill("coverage", "Finds code without tests. Use before a release."),
    );
    commit(&github, "v1.2.0");
    let source = world.git("example.com/team/skills.git");
    source.write(
        "AGENTS.md",
        "# SKILLBAG\n\nThis repository is a SKILLBAG source. Its skills live under `.skills/`, and \
         the catalog is\n`.skills/SKILLS.md`.\n",
    );
    let description = "Reviews a change. Use when a branch is ready to merge.";
    source.write(".skills/review/SKILL.md", skill("review", description));
    source.write(".skills/SKILLS.md", format!("review: {description}\n"));
    commit(&source, "v1.2");
    let base = format!("file://{}", world.path("git").display());
    let hosts = ["github.com", "example.com"];
    let rules = hosts
        .map(|host| format!("[url \"{base}/{host}/\"]\n\tinsteadOf = https://{host}/\n"))
        .concat();
    std::fs::write(world.home().join(".gitconfig"), rules).unwrap();
}

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\nRead the tests first.\n")
}

fn commit(repo: &sp_testkit::GitRepository, tag: &str) {
    repo.commit("Add skills");
    repo.git(&["tag", tag]);
}
