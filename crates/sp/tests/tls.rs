//! Sources over https: whom the system trusts, and nobody else.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test arranges its world with the plain calls"
)]

use sp_testkit::{TlsServer, World, world, zip};

fn source() -> Vec<u8> {
    zip(&[
        (
            "AGENTS.md",
            b"A SKILLBAG: skills live under `.skills/`, `.skills/SKILLS.md` lists them.\n",
        ),
        (".skills/SKILLS.md", b"a: Does a.\n"),
        (".skills/a/SKILL.md", b"---\nname: a\ndescription: Does a.\n---\nDo.\n"),
    ])
}

/// A server whose `/down.zip` leads to plain http.
fn server() -> TlsServer {
    TlsServer::start(|path| match path {
        "/down.zip" => {
            b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/x.zip\r\nContent-Length: 0\r\n\r\n"
                .to_vec()
        }
        _ => {
            let body = source();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            [head.into_bytes(), body].concat()
        }
    })
}

fn workspace(server: &TlsServer) -> World {
    let mut world = world!();
    world.sp(&["bag", "init"]).ok();
    let trusted = world.path("trusted.pem");
    std::fs::write(&trusted, server.certificate()).unwrap();
    world.set_env("SSL_CERT_FILE", &trusted.to_string_lossy());
    world
}

#[test]
fn sb_22_a_zip_over_https_is_fetched_from_whom_the_system_trusts() {
    let server = server();
    let world = workspace(&server);
    world.sp(&["bag", "get", "a", "--source", &server.url("/a.zip")]).ok();
    assert!(world.repo().join(".skills/a/SKILL.md").is_file());
}

#[test]
fn sb_22_a_server_that_nobody_trusts_is_not_asked() {
    let server = server();
    let mut world = workspace(&server);
    let other = certificate_of_another();
    std::fs::write(world.path("trusted.pem"), other).unwrap();
    world.set_env("NO_COLOR", "1");
    let before = world.files("home/repo");
    let run = world.sp(&["bag", "get", "a", "--source", &server.url("/a.zip")]);
    assert_eq!(run.code, Some(5), "{run}");
    assert!(run.stderr.contains("certificate"), "{run}");
    assert_eq!(world.files("home/repo"), before);
}

/// The certificate of another server.
fn certificate_of_another() -> String {
    TlsServer::start(|_| Vec::new()).certificate().to_owned()
}

#[test]
fn cp_11_a_context_pack_over_https_does_not_go_on_over_http() {
    const SIGNATURE: &str = "canary-77aa";
    let server = TlsServer::start(|path| {
        let target = format!("http://127.0.0.1:9{path}");
        format!("HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n")
            .into_bytes()
    });
    let world = workspace(&server);
    for path in ["/pack/", "/pack/pack.json", "/pack.zip"] {
        let run = world.sp(&["context", "check", &server.url(&format!("{path}?sig={SIGNATURE}"))]);
        assert_eq!(run.code, Some(5), "{run}");
        assert!(run.stderr.contains("https only") && !run.to_string().contains(SIGNATURE), "{run}");
    }
}

#[test]
fn sb_22_what_starts_over_https_does_not_go_on_over_http() {
    let server = server();
    let world = workspace(&server);
    let run = world.sp(&["bag", "get", "a", "--source", &server.url("/down.zip")]);
    assert_eq!(run.code, Some(5), "{run}");
    assert!(run.stderr.contains("https only"), "{run}");
}
