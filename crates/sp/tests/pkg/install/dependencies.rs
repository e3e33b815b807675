//! Dependencies.

use super::*;

#[test]
fn pk_23_the_highest_version_that_fits_every_range_is_chosen() {
    let world = stocked(&[
        needing("app", "1.0.0", &[("left", "^1"), ("right", "^1")]),
        needing("left", "1.0.0", &[("base", ">=1.0, <3")]),
        needing("right", "1.0.0", &[("base", "^1.2")]),
        Made::new("base", "1.1.0"),
        Made::new("base", "1.2.0"),
        Made::new("base", "1.9.0"),
        Made::new("base", "1.10.0"),
        Made::new("base", "2.0.0"),
    ]);
    let run = pkg(&world, &["install", "app"]).ok();
    assert_eq!(locked(&world), ["app 1.0.0", "base 1.10.0", "left 1.0.0", "right 1.0.0"], "{run}");
    for name in ["app", "base", "left", "right"] {
        let text = read(&world, &format!("project/.ctxpkg/packages/{name}.ctxpkg"));
        assert!(text.contains(&format!("\"name\":\"{name}\"")), "{text}");
    }
}

#[test]
fn pk_23_a_version_that_cannot_be_completed_gives_way_to_an_older_one() {
    let world = stocked(&[
        needing("app", "1.0.0", &[("left", "*"), ("base", "^1")]),
        needing("left", "1.0.0", &[("base", "^1")]),
        needing("left", "2.0.0", &[("base", "^2")]),
        Made::new("base", "1.0.0"),
        Made::new("base", "2.0.0"),
    ]);
    pkg(&world, &["install", "app"]).ok();
    assert_eq!(locked(&world), ["app 1.0.0", "base 1.0.0", "left 1.0.0"]);
}

#[test]
fn pk_23_a_conflict_is_told_in_words_and_nothing_is_changed() {
    let world = stocked(&[
        needing("app", "1.0.0", &[("left", "^1"), ("right", "^1")]),
        needing("left", "1.0.0", &[("base", "^1")]),
        needing("right", "1.0.0", &[("base", "^2")]),
        Made::new("base", "1.0.0"),
        Made::new("base", "2.0.0"),
        needing("lonely", "1.0.0", &[("missing", "^1")]),
        needing("future", "1.0.0", &[("base", "^9")]),
        Made::new("a", "1.0.0").with("conflicts", json!(["base"])),
    ]);
    let run = refused(&world, &["install", "app"], 1, "do not go together");
    for words in ["left", "right", "base", "^1", "^2"] {
        assert!(run.stderr.contains(words), "`{words}` is not in {run}");
    }
    refused(&world, &["install", "lonely"], 1, "missing");
    refused(&world, &["install", "future"], 1, "^9");
    refused(&world, &["install", "a", "base"], 1, "base");
    refused(&world, &["install", "base", "lonely"], 1, "missing");
    refused(&world, &["install", "base@^1", "base@^2"], 2, "named twice");
    refused(&world, &["install", "bse"], 1, "did you mean `base`?");
    refused(&world, &["install"], 2, "nothing to install");
}

#[test]
fn pk_23_optional_dependencies_come_only_when_asked_for_and_can_be_missing() {
    let optional = |name: &str| json!([{"name": name, "version_req": "^1", "optional": true}]);
    let world = stocked(&[
        Made::new("app", "1.0.0").with("dependencies", optional("extra")),
        Made::new("bare", "1.0.0").with("dependencies", optional("missing")),
        Made::new("extra", "1.0.0"),
    ]);
    pkg(&world, &["install", "app"]).ok();
    assert_eq!(locked(&world), ["app 1.0.0"]);
    pkg(&world, &["install", "bare", "app", "--with-optional"]).ok();
    assert_eq!(locked(&world), ["app 1.0.0", "bare 1.0.0", "extra 1.0.0"]);
}

#[test]
fn pk_23_optional_dependencies_stay_until_they_are_taken_out() {
    let optional = json!([{"name": "extra", "version_req": "^1", "optional": true}]);
    let app = Made::new("app", "1.0.0").with("dependencies", optional);
    let world = stocked(&[app, Made::new("extra", "1.0.0"), Made::new("base", "1.0.0")]);
    pkg(&world, &["install", "app", "--with-optional"]).ok();
    pkg(&world, &["install", "base"]).ok();
    assert_eq!(locked(&world), ["app 1.0.0", "base 1.0.0", "extra 1.0.0"]);
}

#[test]
fn pk_05_dependencies_written_as_maps_are_read() {
    let map = Made::new("map", "1.0.0").with("dependencies", json!({"base": "^1"}));
    let map = map.with("optional_dependencies", json!({"extra": "*"}));
    let world = stocked(&[
        map,
        Made::new("extra", "1.0.0"),
        Made::new("base", "1.0.0"),
        Made::new("base", "2.0.0"),
    ]);
    pkg(&world, &["install", "map"]).ok();
    assert_eq!(locked(&world), ["base 1.0.0", "map 1.0.0"]);
    pkg(&world, &["install", "map", "--with-optional"]).ok();
    assert_eq!(locked(&world), ["base 1.0.0", "extra 1.0.0", "map 1.0.0"]);
}

#[test]
fn pk_23_packages_that_need_each_other_are_installed_together() {
    let world =
        stocked(&[needing("a", "1.0.0", &[("b", "^1")]), needing("b", "1.0.0", &[("a", "^1")])]);
    pkg(&world, &["install", "a"]).ok();
    assert_eq!(locked(&world), ["a 1.0.0", "b 1.0.0"]);
    pkg(&world, &["uninstall", "a"]).ok();
    assert_eq!(locked(&world), [""; 0], "what only needs itself goes");
    let alone = stocked(&[needing("a", "1.0.0", &[("a", "^2")])]);
    refused(&alone, &["install", "a"], 1, "do not go together");
}

#[test]
fn pk_23_a_pre_release_is_taken_only_by_who_names_it() {
    let world = stocked(&[
        needing("app", "1.0.0", &[("base", "^1")]),
        needing("bold", "1.0.0", &[("base", "^2.0.0-rc.1")]),
        Made::new("base", "1.0.0"),
        Made::new("base", "1.1.0-rc.1"),
        Made::new("base", "2.0.0-rc.2"),
        Made::new("new", "1.0.0-alpha"),
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
