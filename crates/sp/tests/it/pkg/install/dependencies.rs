//! Dependencies.

use super::*;

#[test]
fn pk_23_highest_version_that_satisfies_every_range_is_chosen() {
    let world = project_with(&[
        dependent("app", "1.0.0", &[("left", "^1"), ("right", "^1")]),
        dependent("left", "1.0.0", &[("base", ">=1.0, <3")]),
        dependent("right", "1.0.0", &[("base", "^1.2")]),
        TestPackage::new("base", "1.1.0"),
        TestPackage::new("base", "1.2.0"),
        TestPackage::new("base", "1.9.0"),
        TestPackage::new("base", "1.10.0"),
        TestPackage::new("base", "2.0.0"),
    ]);
    let run = pkg(&world, &["install", "app"]).ok();
    assert_eq!(locked(&world), ["app 1.0.0", "base 1.10.0", "left 1.0.0", "right 1.0.0"], "{run}");
    for name in ["app", "base", "left", "right"] {
        let text = read(&world, &format!("project/.ctxpkg/packages/{name}.ctxpkg"));
        assert!(text.contains(&format!("\"name\":\"{name}\"")), "{text}");
    }
}

#[test]
fn pk_23_older_version_is_chosen_if_the_newest_is_unresolvable() {
    let world = project_with(&[
        dependent("app", "1.0.0", &[("left", "*"), ("base", "^1")]),
        dependent("left", "1.0.0", &[("base", "^1")]),
        dependent("left", "2.0.0", &[("base", "^2")]),
        TestPackage::new("base", "1.0.0"),
        TestPackage::new("base", "2.0.0"),
    ]);
    pkg(&world, &["install", "app"]).ok();
    assert_eq!(locked(&world), ["app 1.0.0", "base 1.0.0", "left 1.0.0"]);
}

#[test]
fn pk_23_conflicts_are_explained_and_nothing_is_changed() {
    let world = project_with(&[
        dependent("app", "1.0.0", &[("left", "^1"), ("right", "^1")]),
        dependent("left", "1.0.0", &[("base", "^1")]),
        dependent("right", "1.0.0", &[("base", "^2")]),
        TestPackage::new("base", "1.0.0"),
        TestPackage::new("base", "2.0.0"),
        dependent("lonely", "1.0.0", &[("missing", "^1")]),
        dependent("future", "1.0.0", &[("base", "^9")]),
        TestPackage::new("a", "1.0.0").with("conflicts", json!(["base"])),
    ]);
    for (packages, causes) in [
        (&["app"][..], &["left", "right", "base", "^1", "^2"][..]),
        (&["lonely"], &["missing"]),
        (&["future"], &["^9"]),
        (&["a", "base"], &["`a` 1.0.0", "`base`"]),
        (&["base", "lonely"], &["missing"]),
    ] {
        let error = refused(&world, &[&["install"], packages].concat(), "E-unresolvable");
        causes.iter().for_each(|cause| assert_mentions(&error, cause));
    }
    refused(&world, &["install", "base@^1", "base@^2"], "E-duplicate-argument");
    assert!(refused(&world, &["install", "bse"], "E-package-not-found").hints_at("`base`"));
    refused(&world, &["install"], "E-missing-argument");
}

#[test]
fn pk_23_optional_dependencies_need_a_flag_and_may_be_missing() {
    let optional = |name: &str| json!([{"name": name, "version_req": "^1", "optional": true}]);
    let world = project_with(&[
        TestPackage::new("app", "1.0.0").with("dependencies", optional("extra")),
        TestPackage::new("bare", "1.0.0").with("dependencies", optional("missing")),
        TestPackage::new("extra", "1.0.0"),
    ]);
    pkg(&world, &["install", "app"]).ok();
    assert_eq!(locked(&world), ["app 1.0.0"]);
    pkg(&world, &["install", "bare", "app", "--with-optional"]).ok();
    assert_eq!(locked(&world), ["app 1.0.0", "bare 1.0.0", "extra 1.0.0"]);
}

#[test]
fn pk_23_optional_dependencies_survive_a_later_install() {
    let optional = json!([{"name": "extra", "version_req": "^1", "optional": true}]);
    let app = TestPackage::new("app", "1.0.0").with("dependencies", optional);
    let world =
        project_with(&[app, TestPackage::new("extra", "1.0.0"), TestPackage::new("base", "1.0.0")]);
    pkg(&world, &["install", "app", "--with-optional"]).ok();
    pkg(&world, &["install", "base"]).ok();
    assert_eq!(locked(&world), ["app 1.0.0", "base 1.0.0", "extra 1.0.0"]);
}

#[test]
fn pk_05_dependencies_written_as_maps_are_read() {
    let map = TestPackage::new("map", "1.0.0").with("dependencies", json!({"base": "^1"}));
    let map = map.with("optional_dependencies", json!({"extra": "*"}));
    let world = project_with(&[
        map,
        TestPackage::new("extra", "1.0.0"),
        TestPackage::new("base", "1.0.0"),
        TestPackage::new("base", "2.0.0"),
    ]);
    pkg(&world, &["install", "map"]).ok();
    assert_eq!(locked(&world), ["base 1.0.0", "map 1.0.0"]);
    pkg(&world, &["install", "map", "--with-optional"]).ok();
    assert_eq!(locked(&world), ["base 1.0.0", "extra 1.0.0", "map 1.0.0"]);
}

#[test]
fn pk_23_cyclic_dependencies_are_installed_together() {
    let world = project_with(&[
        dependent("a", "1.0.0", &[("b", "^1")]),
        dependent("b", "1.0.0", &[("a", "^1")]),
    ]);
    pkg(&world, &["install", "a"]).ok();
    assert_eq!(locked(&world), ["a 1.0.0", "b 1.0.0"]);
    pkg(&world, &["uninstall", "a"]).ok();
    assert_eq!(locked(&world), [""; 0], "a cycle that nothing else requires is removed");
    let alone = project_with(&[dependent("a", "1.0.0", &[("a", "^2")])]);
    refused(&alone, &["install", "a"], "E-unresolvable");
}

#[test]
fn pk_23_pre_releases_are_chosen_only_if_requested() {
    let world = project_with(&[
        dependent("app", "1.0.0", &[("base", "^1")]),
        dependent("bold", "1.0.0", &[("base", "^2.0.0-rc.1")]),
        TestPackage::new("base", "1.0.0"),
        TestPackage::new("base", "1.1.0-rc.1"),
        TestPackage::new("base", "2.0.0-rc.2"),
        TestPackage::new("new", "1.0.0-alpha"),
    ]);
    pkg(&world, &["install", "app"]).ok();
    assert_eq!(locked(&world), ["app 1.0.0", "base 1.0.0"]);
    pkg(&world, &["uninstall", "app"]).ok();
    pkg(&world, &["install", "bold", "new"]).ok();
    assert_eq!(locked(&world), ["base 2.0.0-rc.2", "bold 1.0.0", "new 1.0.0-alpha"]);
    pkg(&world, &["uninstall", "bold"]).ok();
    pkg(&world, &["install", "base@1.1.0-rc.1"]).ok();
    assert_eq!(locked(&world), ["base 1.1.0-rc.1", "new 1.0.0-alpha"]);
}
