//! `sp pkg uninstall` and `sp pkg rollback`.

use super::*;

#[test]
fn pk_23_uninstall_removes_what_nothing_needs_and_refuses_what_is_needed() {
    let world = stocked(&[
        needing("app", "1.0.0", &[("base", "^1")]),
        needing("web", "1.0.0", &[("base", "^1"), ("only", "^1")]),
        Made::new("base", "1.0.0"),
        Made::new("only", "1.0.0"),
    ]);
    pkg(&world, &["install", "app", "web"]).ok();
    refused(&world, &["uninstall", "base"], 1, "is needed by");
    refused(&world, &["uninstall", "nothing"], 1, "is not installed");
    refused(&world, &["uninstall", "web", "nothing"], 1, "is not installed");
    let before = world.files("project");
    pkg(&world, &["uninstall", "web", "--dry-run"]).ok();
    assert_eq!(world.files("project"), before);
    pkg(&world, &["uninstall", "web"]).ok();
    assert_eq!(locked(&world), ["app 1.0.0", "base 1.0.0"]);
    assert!(!exists(&world, "project/.ctxpkg/packages/only.ctxpkg"));
    pkg(&world, &["uninstall", "app"]).ok();
    assert_eq!(locked(&world), [""; 0]);
    assert_eq!(stored(&world).len(), 4, "the store keeps what a project gives up");
}

#[test]
fn pk_23_an_installation_can_be_undone_byte_for_byte() {
    let world = stocked(&[
        Made::new("base", "1.0.0"),
        Made::new("base", "2.0.0"),
        needing("app", "1.0.0", &[("base", "*")]),
    ]);
    pkg(&world, &["install", "base@1.0.0"]).ok();
    let (lock, files) =
        (read(&world, "project/ctxpkg.lock"), world.files("project/.ctxpkg/packages"));
    pkg(&world, &["install", "base@2.0.0", "app"]).ok();
    assert_eq!(locked(&world), ["app 1.0.0", "base 2.0.0"]);
    pkg(&world, &["rollback", "--dry-run"]).ok();
    assert_eq!(locked(&world), ["app 1.0.0", "base 2.0.0"]);
    pkg(&world, &["rollback"]).ok();
    assert_eq!(
        (read(&world, "project/ctxpkg.lock"), world.files("project/.ctxpkg/packages")),
        (lock, files)
    );
    let fresh = project();
    refused(&fresh, &["rollback"], 1, "no earlier state");
}

#[test]
fn pk_23_each_rollback_goes_one_step_further_back() {
    let world = stocked(&["1.0.0", "2.0.0", "3.0.0"].map(|version| Made::new("base", version)));
    for version in ["1.0.0", "2.0.0", "3.0.0"] {
        pkg(&world, &["install", &format!("base@{version}")]).ok();
    }
    pkg(&world, &["rollback"]).ok();
    assert_eq!(locked(&world), ["base 2.0.0"]);
    pkg(&world, &["rollback"]).ok();
    assert_eq!(locked(&world), ["base 1.0.0"]);
}

#[test]
fn pk_22_one_package_can_be_rolled_back_in_a_project() {
    let world = stocked(&[
        Made::new("base", "1.0.0"),
        Made::new("base", "2.0.0"),
        Made::new("base", "3.0.0"),
        needing("app", "1.0.0", &[("base", ">=2")]),
    ]);
    pkg(&world, &["install", "base@1.0.0"]).ok();
    pkg(&world, &["install", "base@3.0.0"]).ok();
    pkg(&world, &["rollback", "base", "--to", "2.0.0"]).ok();
    assert_eq!(locked(&world), ["base 2.0.0"]);
    pkg(&world, &["install", "app"]).ok();
    refused(&world, &["rollback", "base", "--to", "1.0.0"], 1, "do not go together");
    refused(&world, &["rollback", "base", "--to", "9.0.0"], 1, "9.0.0");
    pkg(&world, &["uninstall", "app"]).ok();
    pkg(&world, &["rollback", "base"]).ok();
    assert_eq!(locked(&world), ["base 3.0.0"], "the version before");
}

#[test]
fn pk_22_a_dependency_that_was_rolled_back_is_still_only_a_dependency() {
    let world = stocked(&[
        needing("app", "1.0.0", &[("base", "*")]),
        Made::new("base", "1.0.0"),
        Made::new("base", "2.0.0"),
    ]);
    pkg(&world, &["install", "app"]).ok();
    pkg(&world, &["rollback", "base", "--to", "1.0.0"]).ok();
    assert_eq!(locked(&world), ["app 1.0.0", "base 1.0.0"]);
    pkg(&world, &["uninstall", "app"]).ok();
    assert_eq!(locked(&world), [""; 0]);
}
