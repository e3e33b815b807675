//! What holds of a database that is a server: it may be restarted, be far away, and must know us.

use sp_testkit::{Postgres, world};

use super::{Database, package, put, start, token};

#[test]
fn se_01_a_database_that_is_restarted_is_found_again() {
    let server = Postgres::start();
    let mut world = world!();
    world.set_env("SP_DATABASE_URL", &server.database().address());
    let registry = start(&world);
    let me = token(&registry, registry.admin.as_ref().unwrap(), "me", "publish");
    for number in 0..3 {
        // More than one connection is open, and all of them die.
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(registry.ask("GET /readyz", None, b"").status, 200));
            }
        });
        server.restart();
        let version = format!("1.{number}.0");
        let bytes = package("@acme/notes", &version, "Tenants never share rows.");
        assert_eq!(put(&registry, &me, &format!("acme/notes/{version}"), &bytes).status, 201);
    }
    drop(server);
    let answer = registry.ask("GET /api/v1/index.json", None, b"");
    assert_eq!((answer.status, answer.json()["code"].as_str()), (503, Some("busy")), "{answer:?}");
    assert_eq!(registry.ask("GET /healthz", None, b"").status, 200);
}

#[test]
fn se_07_the_password_of_a_database_is_shown_nowhere() {
    let server = Postgres::shared();
    let Database::Postgres(database) = Database::postgres() else { unreachable!() };
    let mut world = world!();
    let address = database.address();
    let nowhere = format!("{}:1/nothing", address.rsplit_once(':').unwrap().0);
    let stranger = address.replace("sp:", "somebody:");
    let odd = format!("{address}?what={}", server.password());
    for (address, code) in
        [(&nowhere, 5), (&stranger, 5), (&odd, 2), (&address.replace("postgres:", "mysql:"), 2)]
    {
        world.set_env("SP_DATABASE_URL", address);
        let run =
            world.sp(&["serve", "--data", "x", "--listen", "127.0.0.1:0", "--verbose"]).fails(code);
        assert!(
            run.stderr.contains("SP_DATABASE_URL") && !run.to_string().contains(server.password()),
            "{run}"
        );
    }
}

#[test]
fn se_07_a_database_with_a_certificate_that_nobody_vouches_for_is_not_spoken_to() {
    let server = Postgres::shared();
    let Database::Postgres(database) = Database::postgres() else { unreachable!() };
    let mut world = world!();
    world.set_env("SP_DATABASE_URL", &format!("{}?sslmode=require", database.address()));
    let run = world.sp(&["serve", "--data", "x", "--listen", "127.0.0.1:0"]).fails(5);
    assert!(run.stderr.contains("certificate") && !run.stderr.contains(server.password()), "{run}");
    let trusted = world.path("trusted.pem");
    std::fs::write(&trusted, server.certificate()).unwrap();
    world.set_env("SSL_CERT_FILE", &trusted.to_string_lossy());
    let registry = start(&world);
    assert_eq!(registry.ask("GET /readyz", None, b"").status, 200);
    let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                     WHERE application_name = 'sp' AND datname = current_database()";
    assert_eq!(database.query(encrypted), "t");
}

#[test]
fn several_registries_start_at_once_on_one_new_database_and_one_of_them_has_the_admins_token() {
    let database = Database::postgres();
    let Database::Postgres(shared) = &database else { unreachable!() };
    let worlds: Vec<_> = (0..4).map(|_| world!()).collect();
    let started: Vec<_> = std::thread::scope(|scope| {
        let one = |mut world: sp_testkit::World| {
            world.set_env("SP_DATABASE_URL", &shared.address());
            scope.spawn(move || (start(&world), world))
        };
        let threads: Vec<_> = worlds.into_iter().map(one).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(started.iter().filter(|(registry, _)| registry.admin.is_some()).count(), 1);
}
