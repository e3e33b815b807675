//! `sp pkg uninstall` and `sp pkg rollback`.

use super::*;

#[test]
fn pk_23_uninstall_removes_orphans_and_refuses_required_packages() {
    let world = project_with(&[
        dependent("app", "1.0.0", &[("base", "^1")]),
        dependent("web", "1.0.0", &[("base", "^1"), ("only", "^1")]),
        TestPackage::new("base", "1.0.0"),
        TestPackage::new("only", "1.0.0"),
    ]);
    pkg(&world, &["install", "app", "web"]).ok();
    let error = refused(&world, &["uninstall", "base"], "E-still-required");
    assert_mentions(&error, "app");
    refused(&world, &["uninstall", "nothing"], "E-not-installed");
    let error = refused(&world, &["uninstall", "web", "nothing"], "E-not-installed");
    assert_mentions(&error, "nothing");
    let before = world.files("project");
    pkg(&world, &["uninstall", "web", "--dry-run"]).ok();
    assert_eq!(world.files("project"), before);
    pkg(&world, &["uninstall", "web"]).ok();
    assert_eq!(locked(&world), ["app 1.0.0", "base 1.0.0"]);
    assert!(!exists(&world, "project/.ctxpkg/packages/only.ctxpkg"));
    pkg(&world, &["uninstall", "app"]).ok();
    assert_eq!(locked(&world), [""; 0]);
    assert_eq!(stored(&world).len(), 4, "the store keeps the packages");
}

#[test]
fn pk_23_rollback_restores_the_project_byte_for_byte() {
    let world = project_with(&[
        TestPackage::new("base", "1.0.0"),
        TestPackage::new("base", "2.0.0"),
        dependent("app", "1.0.0", &[("base", "*")]),
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
    refused(&fresh, &["rollback"], "E-no-earlier-state");
}

#[test]
fn pk_23_repeated_rollback_goes_further_back() {
    let world =
        project_with(&["1.0.0", "2.0.0", "3.0.0"].map(|version| TestPackage::new("base", version)));
    for version in ["1.0.0", "2.0.0", "3.0.0"] {
        pkg(&world, &["install", &format!("base@{version}")]).ok();
    }
    pkg(&world, &["rollback"]).ok();
    assert_eq!(locked(&world), ["base 2.0.0"]);
    pkg(&world, &["rollback"]).ok();
    assert_eq!(locked(&world), ["base 1.0.0"]);
}

#[test]
fn pk_22_single_package_can_be_rolled_back_in_a_project() {
    let world = project_with(&[
        TestPackage::new("base", "1.0.0"),
        TestPackage::new("base", "2.0.0"),
        TestPackage::new("base", "3.0.0"),
        dependent("app", "1.0.0", &[("base", ">=2")]),
    ]);
    pkg(&world, &["install", "base@1.0.0"]).ok();
    pkg(&world, &["install", "base@3.0.0"]).ok();
    pkg(&world, &["rollback", "base", "--to", "2.0.0"]).ok();
    assert_eq!(locked(&world), ["base 2.0.0"]);
    pkg(&world, &["install", "app"]).ok();
    refused(&world, &["rollback", "base", "--to", "1.0.0"], "E-unresolvable");
    let error = refused(&world, &["rollback", "base", "--to", "9.0.0"], "E-unresolvable");
    assert_mentions(&error, "9.0.0");
    pkg(&world, &["uninstall", "app"]).ok();
    pkg(&world, &["rollback", "base"]).ok();
    assert_eq!(locked(&world), ["base 3.0.0"], "the previous version");
}

#[test]
fn pk_22_rolled_back_dependency_remains_a_dependency() {
    let world = project_with(&[
        dependent("app", "1.0.0", &[("base", "*")]),
        TestPackage::new("base", "1.0.0"),
        TestPackage::new("base", "2.0.0"),
    ]);
    pkg(&world, &["install", "app"]).ok();
    pkg(&world, &["rollback", "base", "--to", "1.0.0"]).ok();
    assert_eq!(locked(&world), ["app 1.0.0", "base 1.0.0"]);
    pkg(&world, &["uninstall", "app"]).ok();
    assert_eq!(locked(&world), [""; 0]);
}
