//! Commands that use a registry. This file is compiled once for each database.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::{create_token, latest, package, running};

#[test]
fn startup_errors_are_reported_before_listening() {
    let (world, registry, _) = running(module_path!());
    let data = world.path("other").display().to_string();
    let address_in_use = world.sp_error(&["serve", "--data", &data, "--listen", &registry.address]);
    assert_eq!(address_in_use.exit_code, 5);
    assert!(address_in_use.hints_at("--listen"), "{address_in_use:?}");
    std::fs::write(world.path("file"), "").unwrap();
    let file = world.path("file").display().to_string();
    let unusable = world.sp_error(&["serve", "--data", &file, "--listen", "127.0.0.1:0"]);
    assert_eq!(unusable.exit_code, 5);
    assert!(unusable.hints_at("--data"), "{unusable:?}");
    assert_eq!(registry.request("GET /healthz", None, b"").status, 200);
    assert_eq!(registry.request("GET /readyz", None, b"").status, 200);
}

#[test]
fn pk_22_package_is_published_and_yanked() {
    let (mut world, registry, admin) = running(module_path!());
    let publisher = create_token(&registry, &admin, "me", "publish");
    let write = |name: &str, bytes: Vec<u8>| {
        std::fs::write(world.path(name), bytes).unwrap();
        world.path(name).display().to_string()
    };
    let notes = write("notes.ctxpkg", package("@acme/notes", "1.0.0", "Tenants never share rows."));
    let changed = write("changed.ctxpkg", package("@acme/notes", "1.0.0", "Something else."));
    let unscoped = write("unscoped.ctxpkg", package("notes", "1.0.0", "No namespace."));
    let error = world.sp_error(&["publish", &notes]);
    assert_eq!(error.code, "E-no-registry");
    assert!(error.hints_at("sp login"), "{error:?}");
    let error = world.sp_error(&["publish", &notes, "--registry", &registry.address]);
    assert_eq!(error.code, "E-unauthorized");
    assert!(error.hints_at("sp login"), "{error:?}");
    let error = world.sp_error(&["login", &registry.address]);
    assert_eq!(error.code, "E-invalid-secret");
    assert!(error.message.contains("`SP_REGISTRY_TOKEN`"), "{error:?}");
    world.set_env("SP_REGISTRY_TOKEN", &format!("ctxp_{}", "0".repeat(64)));
    assert_eq!(world.sp_error(&["login", &registry.address]).code, "E-unauthorized");
    world.set_env("SP_REGISTRY_TOKEN", &publisher);
    let run = world.sp(&["login", &registry.address, "--format", "json"]).ok();
    let login: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&login["user"], &login["scope"]), (&json!("me"), &json!("publish")));
    world.set_env("SP_REGISTRY_TOKEN", "");
    for is_new in [true, false] {
        let run = world.sp(&["publish", &notes, "--format", "json"]).ok();
        let published: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(published["published"], is_new, "{published}");
        assert_eq!(published["name"], "@acme/notes", "{published}");
    }
    assert_eq!(world.sp_error(&["publish", &changed]).code, "E-registry-refused");
    world.sp(&["yank", "@acme/notes@1.0.0"]).ok();
    assert_eq!(latest(&registry), Value::Null);
    world.sp(&["yank", "@acme/notes@1.0.0", "--undo"]).ok();
    assert_eq!(latest(&registry), "1.0.0");
    for (args, code) in [
        (&["yank", "@acme/notes"][..], "E-missing-argument"),
        (&["yank", "@acme/nothing@1.0.0"], "E-registry-refused"),
        (&["--offline", "yank", "@acme/notes@1.0.0"], "E-offline"),
        (&["publish", &unscoped], "E-unsupported"),
    ] {
        assert_eq!(world.sp_error(args).code, code, "{args:?}");
    }
    world.sp(&["logout"]).ok();
    assert_eq!(world.sp_error(&["publish", &notes]).code, "E-no-registry");
}

#[test]
fn se_07_stored_token_is_private_and_never_printed() {
    let (mut world, registry, admin) = running(module_path!());
    let publisher = create_token(&registry, &admin, "me", "publish");
    world.set_env("SP_REGISTRY_TOKEN", &publisher);
    let run = world.sp(&["login", &registry.address, "--verbose"]).ok();
    assert!(!run.to_string().contains(&publisher), "{run}");
    let file = world.home().join(".skillpack/credentials.json");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    world.set_env("SP_REGISTRY_TOKEN", "");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let error = world.sp_error(&["yank", "@acme/notes@1.0.0"]);
    assert_eq!(error.code, "E-exposed-secret");
    assert!(!format!("{error:?}").contains(&publisher), "{error:?}");
}
