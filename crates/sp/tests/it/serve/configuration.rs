//! Settings, `--check`, TLS and the files in `deploy/`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sp_testkit::{Registry, World, eventually, self_signed_certificate, world};

use super::{Database, get};

/// Starts a registry whose settings are not flags.
fn start_configured(world: &World) -> Registry {
    Registry::start(world.command(&["serve", "--format", "json"]))
}

#[test]
fn rg_111_settings_come_from_flags_variables_and_a_file() {
    let mut world = world!();
    let file = world.path("registry.yaml");
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    write(
        "listen: 127.0.0.1:0\nlogin-required: true\nlog: off\ntrust-proxy: [127.0.0.1, 10.0.0.0/8]\n",
    );
    world.set_env("SP_SERVE_CONFIG", &file.display().to_string());
    world.set_env("SP_SERVE_DATA", &world.path("data").display().to_string());
    let status = |registry: &Registry| get(registry, None, "index.json").status;
    assert_eq!(status(&start_configured(&world)), 401);
    assert!(world.path("data/registry.db").is_file());
    // Variables take precedence over the file, also for commands on the same data.
    world.set_env("SP_SERVE_LOGIN_REQUIRED", "false");
    assert_eq!(status(&start_configured(&world)), 200);
    world.sp(&["serve", "verify"]).ok();
    assert_eq!(world.sp_error(&["serve", "verify", "--data", "x"]).code, "E-registry-not-found");
    // Flags take precedence over variables.
    world.set_env("SP_SERVE_LISTEN", "nonsense");
    let flags = ["serve", "--format", "json", "--listen", "127.0.0.1:0"];
    assert_eq!(status(&Registry::start(world.command(&flags))), 200);
    let refused = |world: &World, expected: &str| {
        let error = world.sp_error(&["serve"]);
        assert_eq!(error.code, "E-invalid-arguments", "{error:?}");
        assert!(format!("{error:?}").contains(expected), "{expected}: {error:?}");
    };
    refused(&world, "nonsense");
    world.set_env("SP_SERVE_LISTEN", "");
    world.set_env("SP_SERVE_LOGIN_REQUIRED", "");
    for (text, expected) in [
        ("listn: 127.0.0.1:0\n", "did you mean `listen`?"),
        ("check: true\n", "unknown key `check`"),
        ("format: json\n", "unknown key `format`"),
        ("listen: [a, b]\n", "single value"),
        ("listen: {a: b}\n", "scalar"),
        ("login-required: maybe\n", "must be `true` or `false`"),
        ("timeout: forever\n", "--timeout"),
        ("{", "not valid YAML"),
    ] {
        write(text);
        refused(&world, expected);
    }
    std::fs::remove_file(&file).unwrap();
    refused(&world, "registry.yaml");
}

#[test]
fn rg_111_check_finds_problems_and_changes_nothing() {
    for database in [Database::Sqlite, Database::postgres()] {
        let mut world = world!();
        database.use_in(&mut world);
        let data = world.path("registry").display().to_string();
        let check = ["serve", "--check", "--data", &data, "--listen", "127.0.0.1:0"];
        let before = database.dump(&world);
        let run = world.sp(&check).ok();
        assert!(run.stdout.contains("configuration is valid"), "{run}");
        assert!(!world.path("registry").exists());
        // A dump contains random names.
        assert_eq!(database.dump(&world).len(), before.len());
        let registry = super::start(&world);
        world.sp(&check).ok();
        drop(registry);
        if let Database::Postgres(_) = database {
            world.set_env("AWS_SECRET_ACCESS_KEY", "wrong");
            assert_eq!(world.sp_error(&check).code, "E-object-store");
            world.set_env("SP_DATABASE_URL", "postgres://sp@127.0.0.1:1/nothing");
            assert_eq!(world.sp_error(&check).code, "E-database");
        }
    }
}

#[test]
fn rg_112_certificate_is_replaced_while_the_registry_runs() {
    let mut world = world!();
    let path = |world: &World, name: &str| world.path(name).display().to_string();
    let (certificate, key) = (path(&world, "cert.pem"), path(&world, "key.pem"));
    let [(first, first_key), (second, second_key)] =
        [self_signed_certificate(), self_signed_certificate()];
    let write = |chain: &str, secret: &str| {
        std::fs::write(&certificate, chain).unwrap();
        std::fs::write(&key, secret).unwrap();
    };
    let data = path(&world, "registry");
    let tls = ["--tls-certificate", &certificate, "--tls-key", &key];
    let serve = ["serve", "--data", &data, "--listen", "127.0.0.1:0"];
    let check = [&serve[..], &tls, &["--check"]].concat();
    for (chain, secret) in [("", ""), (&*first, &*second_key), (&*first, ""), ("x", &*first_key)] {
        write(chain, secret);
        assert_eq!(world.sp_error(&check).code, "E-invalid-key-file");
    }
    write(&first, &first_key);
    world.sp(&check).ok();
    let log = world.path("log");
    let mut command = world.command(&[&serve[..], &tls, &["--format", "json"]].concat());
    command.stderr(std::fs::File::create(&log).unwrap());
    let registry = Registry::start_with_stderr(command);
    let logged = |event: &str| {
        let is_logged = || std::fs::read_to_string(&log).unwrap().contains(event).then_some(());
        eventually(is_logged);
    };
    let url = format!("https://localhost:{}", registry.address.rsplit_once(':').unwrap().1);
    let trusts = |world: &mut World, trusted: &str| {
        let file = path(world, "trusted.pem");
        std::fs::write(&file, trusted).unwrap();
        world.set_env("SSL_CERT_FILE", &file);
        let output = world.command(&["search", "notes", "--registry", &url]).output().unwrap();
        output.status.success()
    };
    assert!(trusts(&mut world, &first) && !trusts(&mut world, &second));
    // An invalid certificate does not replace the one in use.
    write(&second, &first_key);
    logged("certificate rejected");
    assert!(trusts(&mut world, &first));
    write(&second, &second_key);
    eventually(|| trusts(&mut world, &second).then_some(()));
    assert!(!trusts(&mut world, &first));
    logged("certificate replaced");
    assert_eq!(registry.terminate(), Some(0));
}

fn deploy(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name)
}

/// Returns the words in a text that start with a prefix.
fn words<'a>(text: &'a str, prefix: &str) -> BTreeSet<&'a str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    text.split(|c: char| !is_part(c)).filter(|word| word.starts_with(prefix)).collect()
}

#[test]
fn rg_113_files_for_deployment_use_settings_that_exist() {
    let world = world!();
    let help = world.sp(&["serve", "--help"]).ok().stdout;
    let flags = words(&help, "--");
    let is_flag = |name: &str| flags.contains(format!("--{name}").as_str());
    for name in
        ["skillpack.service", "Containerfile", "compose.yaml", "registry.yaml", "nginx.conf"]
    {
        let text = std::fs::read_to_string(deploy(name)).unwrap();
        let serve_lines = text.lines().filter(|line| {
            line.contains("sp serve") || line.starts_with("CMD") || line.starts_with("ENTRYPOINT")
        });
        for flag in serve_lines.flat_map(|line| words(line, "--")) {
            assert!(is_flag(&flag[2..]), "{name}: {flag}");
        }
        for variable in words(&text, "SP_SERVE_") {
            let flag = variable["SP_SERVE_".len()..].to_lowercase().replace('_', "-");
            assert!(is_flag(&flag), "{name}: {variable}");
        }
    }
    let settings = std::fs::read_to_string(deploy("registry.yaml")).unwrap();
    let all: String = settings
        .lines()
        .filter_map(|line| {
            let line = line.strip_prefix("# ").unwrap_or(line);
            let (key, _) = line.split_once(": ")?;
            (!key.contains(' ')).then(|| format!("{key}\n"))
        })
        .collect();
    for key in all.lines() {
        assert!(is_flag(key), "registry.yaml: {key}");
    }
    let (file, data) =
        (deploy("registry.yaml").display().to_string(), world.path("x").display().to_string());
    world.sp(&["serve", "--check", "--config", &file, "--data", &data]).ok();
}
