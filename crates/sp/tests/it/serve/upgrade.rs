//! Databases of earlier and later versions.
//!
//! The fixture is a registry of the version before the schema had a number: `registry.db` and
//! `registry.sql` are the same registry on SQLite and PostgreSQL.

use std::path::{Path, PathBuf};

use sp_testkit::{PostgresDatabase, Registry, World, world};

use super::{Database, get, package, put, start};

/// The secrets of the users in the fixture.
struct FixtureTokens {
    admin: &'static str,
    ann: &'static str,
    bob: &'static str,
    revoked: &'static str,
}

const ON_SQLITE: FixtureTokens = FixtureTokens {
    admin: "ctxp_22d06a0f4de4a321ce0f7144389c248f0baacea9d0045aadafef7e5768d64abe",
    ann: "ctxp_3072ae681d0a2d89a735a7d04ad15ff0a462cfe170d1ef650432f0c5a3428ac3",
    bob: "ctxr_6bfae23ae10e066c4666662df99c14222a3612510f03b61a8d96819e921b3f22",
    revoked: "ctxp_1fc1e5b0773010633b931dd700a17fea736671b93dc89edb58612744756c4dc0",
};
const ON_POSTGRES: FixtureTokens = FixtureTokens {
    admin: "ctxp_22f80d23bff11538a32b16bf2f0b6aaec81366a522e5678ec9dc097cc186b788",
    ann: "ctxp_8804219fe5e0856c89ec61c3197062b9be4215c29fdfc74b67aa86068c335fb2",
    bob: "ctxr_c023686dcd5dc586d3868179bad2aff49dbec548bc07d0aecf95d916fa224b3a",
    revoked: "ctxp_05f3c7ecb50f03eb740fed2f4086d25fcc266a54212b6f611a3efbb282bdcd4c",
};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/registry-v1")
}

fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Returns a world with the fixture as the data of its registry.
fn world_with_fixture(database: &Database) -> World {
    let mut world = world!();
    copy_dir(&fixture().join("objects"), &world.path("registry/objects"));
    match database {
        Database::Sqlite => {
            let file = world.path("registry/registry.db");
            std::fs::copy(fixture().join("registry.db"), file).unwrap();
        }
        Database::Postgres(database) => {
            database.load(&std::fs::read_to_string(fixture().join("registry.sql")).unwrap());
            world.set_env("SP_DATABASE_URL", &database.address());
        }
    }
    world
}

fn assert_is_upgraded(registry: &Registry, tokens: &FixtureTokens) {
    assert_eq!(registry.admin, None);
    let index = get(registry, None, "index.json").json();
    let names: Vec<&str> =
        index["packages"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["notes", "ci"], "{index}");
    let notes = get(registry, None, "packages/acme/notes/index.json").json();
    assert_eq!((&notes["latest"], &notes["downloads"]), (&"1.1.0".into(), &1.into()));
    assert_eq!(notes["versions"].as_array().unwrap().len(), 3);
    let digest = notes["versions"][2]["sha256"].as_str().unwrap();
    let download = get(registry, None, "packages/acme/notes/1.0.0/download");
    assert_eq!(download.header("x-ctxpkg-sha256"), Some(digest));
    assert_eq!(sp_tree::Digest::of(&download.body).hex(), digest);
    // Members keep the rights that they had.
    let secret = "packages/acme/secret/index.json";
    for (token, status) in
        [(None, 404), (Some(tokens.bob), 200), (Some(tokens.ann), 200), (Some(tokens.revoked), 401)]
    {
        assert_eq!(get(registry, token, secret).status, status);
    }
    let members = get(registry, Some(tokens.ann), "namespaces/acme/members").json();
    let owners = serde_json::json!([
        {"user": "ann", "role": "owner"}, {"user": "bob", "role": "owner"},
    ]);
    assert_eq!(members, owners);
    let found = get(registry, None, "search?q=notes").json();
    assert_eq!(found["packages"][0]["namespace"], "acme", "{found}");
    let packs = get(registry, Some(tokens.ann), "context-packs").json();
    assert_eq!(packs["packs"].as_array().unwrap().len(), 1, "{packs}");
    let listed = get(registry, Some(tokens.admin), "tokens").json();
    assert_eq!(listed.as_array().unwrap().len(), 4, "{listed}");
}

#[test]
fn rg_107_database_of_an_earlier_version_is_upgraded() {
    for (database, tokens) in [(Database::Sqlite, &ON_SQLITE), (Database::postgres(), &ON_POSTGRES)]
    {
        let world = world_with_fixture(&database);
        let registry = start(&world);
        assert_is_upgraded(&registry, tokens);
        let bytes = package("@acme/notes", "2.0.0", "Tenants share nothing.");
        assert_eq!(put(&registry, tokens.ann, "acme/notes/2.0.0", &bytes).status, 201);
        registry.kill();
        // An upgraded database is not upgraded again.
        let registry = start(&world);
        assert_eq!(get(&registry, None, "packages/acme/notes/2.0.0/download").body, bytes);
    }
}

/// Returns the content of a database. `pg_dump` writes random names into lines with a backslash.
fn dump(database: &PostgresDatabase) -> Vec<String> {
    let dump = String::from_utf8(database.dump()).unwrap();
    dump.lines().filter(|line| !line.starts_with('\\')).map(str::to_owned).collect()
}

#[test]
fn rg_107_database_of_a_later_version_is_refused_and_unchanged() {
    let database = Database::postgres();
    let world = world_with_fixture(&database);
    start(&world).kill();
    let Database::Postgres(postgres) = &database else { unreachable!() };
    postgres.query("UPDATE schema_version SET version = 77");
    let before = dump(postgres);
    let data = world.path("registry").display().to_string();
    for arguments in [&["serve", "--listen", "127.0.0.1:0"][..], &["serve", "token", "--list"]] {
        let error = world.sp_error(&[arguments, &["--data", &data]].concat());
        assert_eq!(error.code, "E-database", "{error:?}");
        assert!(error.because.iter().any(|cause| cause.contains("77")), "{error:?}");
    }
    assert_eq!(dump(postgres), before);
}
