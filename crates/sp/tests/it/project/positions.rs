//! Errors about an entry of the manifest have its position.

use super::*;

#[track_caller]
fn fails_at(project: &Project, manifest: &str, code: &str, place: (u64, u64)) {
    project.write("skillpack.yaml", manifest);
    let error = project.fails(&["sync"], code);
    let position = error.position.clone().unwrap_or_else(|| panic!("{manifest}: {error:?}"));
    assert_eq!(position.file, "skillpack.yaml", "{manifest}");
    assert_eq!((position.line, position.column), place, "{manifest}");
}

#[test]
fn lc_03_lc_04_entries_that_cannot_be_resolved_are_reported_with_their_position() {
    let project = Project::new();
    let agents = "agents: [claude]\n";
    for (manifest, code, place) in [
        ("skills:\n  - source: ./missing\n", "E-source-not-found", (3, 13)),
        ("skills:\n  - source: acme/skills\n    ref: v9\n", "E-git-ref-not-found", (3, 13)),
        ("packs: [nothing]\n", "E-pack-not-found", (2, 9)),
        ("packs:\n  - acme/skills//packs/none.yaml\n", "E-pack-not-found", (3, 5)),
        ("packages: {nothing: ^1}\n", "E-unresolvable", (2, 12)),
        ("packages:\n  other: ^1\n  nothing: ^2\n", "E-unresolvable", (3, 3)),
        ("context:\n  - ./missing\n", "E-file-not-found", (3, 5)),
        ("context: [https://example.com/x]\n", "E-invalid-context-pack", (2, 11)),
    ] {
        fails_at(&project, &format!("{agents}{manifest}"), code, place);
    }
}

#[test]
fn lc_01_lc_04_context_packs_of_the_user_are_refused_with_their_position() {
    let project = Project::new();
    let home = project.world.path("home/.skillpack");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("skillpack.yaml"), "context: [./pack]\n").unwrap();
    let error = project.world.sp_error_in("home/app", &["sync", "-g"]);
    assert_eq!((error.code.as_str(), error.findings[0].line), ("LC-04", 1));
}
