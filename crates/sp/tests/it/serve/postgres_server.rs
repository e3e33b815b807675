//! A PostgreSQL server: restarts, passwords, certificates and concurrent registries.

use sp_testkit::{Postgres, S3Server, world};

use super::{Database, create_token, package, put, start, use_bucket};

#[test]
fn se_01_registry_reconnects_to_a_restarted_database() {
    let server = Postgres::start();
    let mut world = world!();
    world.set_env("SP_DATABASE_URL", &server.database().address());
    let registry = start(&world);
    let me = create_token(&registry, registry.admin.as_ref().unwrap(), "me", "publish");
    for number in 0..3 {
        // The restart closes several connections.
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(registry.request("GET /readyz", None, b"").status, 200));
            }
        });
        server.restart();
        let version = format!("1.{number}.0");
        let bytes = package("@acme/notes", &version, "Tenants never share rows.");
        assert_eq!(put(&registry, &me, &format!("acme/notes/{version}"), &bytes).status, 201);
    }
    drop(server);
    let answer = registry.request("GET /api/v1/index.json", None, b"");
    assert_eq!((answer.status, answer.json()["code"].as_str()), (503, Some("busy")), "{answer:?}");
    assert_eq!(registry.request("GET /healthz", None, b"").status, 200);
}

#[test]
fn se_07_database_password_is_never_printed() {
    let server = Postgres::shared();
    let Database::Postgres(database) = Database::postgres() else { unreachable!() };
    let mut world = world!();
    let address = database.address();
    let closed_port = format!("{}:1/nothing", address.rsplit_once(':').unwrap().0);
    let unknown_user = address.replace("sp:", "somebody:");
    let unknown_option = format!("{address}?what={}", server.password());
    let unknown_scheme = address.replace("postgres:", "mysql:");
    for (address, code) in
        [(&closed_port, 5), (&unknown_user, 5), (&unknown_option, 2), (&unknown_scheme, 2)]
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
fn se_07_untrusted_database_certificate_is_refused() {
    let server = Postgres::shared();
    let Database::Postgres(database) = Database::postgres() else { unreachable!() };
    let mut world = world!();
    world.set_env("SP_DATABASE_URL", &format!("{}?sslmode=require", database.address()));
    let error = world.sp_error(&["serve", "--data", "x", "--listen", "127.0.0.1:0"]);
    assert_eq!(error.exit_code, 5);
    // The cause comes from the TLS library.
    assert!(error.because.iter().any(|cause| cause.contains("certificate")), "{error:?}");
    assert!(!format!("{error:?}").contains(server.password()), "{error:?}");
    let trusted = world.path("trusted.pem");
    std::fs::write(&trusted, server.certificate()).unwrap();
    world.set_env("SSL_CERT_FILE", &trusted.to_string_lossy());
    let registry = start(&world);
    assert_eq!(registry.request("GET /readyz", None, b"").status, 200);
    let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                     WHERE application_name = 'sp' AND datname = current_database()";
    assert_eq!(database.query(encrypted), "t");
}

#[test]
fn rg_76_concurrent_first_starts_create_one_admin_token_and_share_a_bucket() {
    let database = Database::postgres();
    let Database::Postgres(shared) = &database else { unreachable!() };
    let mut worlds: Vec<_> = (0..4).map(|_| world!()).collect();
    use_bucket(&mut worlds[0], S3Server::shared());
    let objects = worlds[0].env("SP_SERVE_OBJECTS").unwrap().to_owned();
    let started: Vec<_> = std::thread::scope(|scope| {
        let start_in = |mut world: sp_testkit::World| {
            use_bucket(&mut world, S3Server::shared());
            world.set_env("SP_SERVE_OBJECTS", &objects);
            world.set_env("SP_DATABASE_URL", &shared.address());
            scope.spawn(move || (start(&world), world))
        };
        let threads: Vec<_> = worlds.into_iter().map(start_in).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(started.iter().filter(|(registry, _)| registry.admin.is_some()).count(), 1);
}
