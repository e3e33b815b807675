//! HTTPS sources: only certificates that the system trusts are accepted.

use serde_json::Value;
use sp_testkit::{TlsServer, WebResponse, WebServer, World, world, zip};

/// A zip of a workspace with one skill.
fn workspace_zip() -> Vec<u8> {
    zip(&[
        (
            "AGENTS.md",
            b"A SKILLBAG: skills live under `.skills/`, `.skills/SKILLS.md` lists them.\n",
        ),
        (".skills/SKILLS.md", b"a: Does a.\n"),
        (".skills/a/SKILL.md", b"---\nname: a\ndescription: Does a.\n---\nDo.\n"),
    ])
}

/// A server that returns the zip for every path.
fn zip_server() -> TlsServer {
    TlsServer::start(|_| {
        let body = workspace_zip();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        [head.into_bytes(), body].concat()
    })
}

/// A plain HTTP server that returns the zip for every path, and an HTTPS server that redirects to
/// it.
fn redirecting_servers() -> (WebServer, TlsServer) {
    let plain = WebServer::start();
    plain.respond_to_others(WebResponse::Bytes(workspace_zip()));
    let base = plain.url("");
    let server = TlsServer::start(move |path| {
        format!("HTTP/1.1 302 Found\r\nLocation: {base}{path}\r\nContent-Length: 0\r\n\r\n")
            .into_bytes()
    });
    (plain, server)
}

/// A world with a workspace that trusts the certificate of the server.
fn trusting_workspace(server: &TlsServer) -> World {
    let mut world = world!();
    world.sp(&["bag", "init"]).ok();
    let trusted = world.path("trusted.pem");
    std::fs::write(&trusted, server.certificate()).unwrap();
    world.set_env("SSL_CERT_FILE", &trusted.to_string_lossy());
    world
}

#[test]
fn sb_22_zip_is_fetched_over_https_from_a_trusted_server() {
    let server = zip_server();
    let world = trusting_workspace(&server);
    world.sp(&["bag", "get", "a", "--source", &server.url("/a.zip")]).ok();
    assert!(world.repo().join(".skills/a/SKILL.md").is_file());
}

#[test]
fn sb_22_untrusted_certificate_is_refused() {
    let server = zip_server();
    let world = trusting_workspace(&TlsServer::start(|_| Vec::new()));
    let before = world.files("home/repo");
    let error = world.sp_error(&["bag", "get", "a", "--source", &server.url("/a.zip")]);
    assert_eq!(error.code, "E-network");
    // The cause comes from the TLS library.
    assert!(error.because.iter().any(|cause| cause.contains("certificate")), "{error:?}");
    assert_eq!(world.files("home/repo"), before);
}

#[test]
fn sb_22_https_source_is_not_redirected_to_http() {
    let (plain, server) = redirecting_servers();
    let world = trusting_workspace(&server);
    let error = world.sp_error(&["bag", "get", "a", "--source", &server.url("/a.zip")]);
    assert_eq!(error.code, "E-redirected", "{error:?}");
    assert_eq!(plain.requested_paths(), [""; 0]);
}

#[test]
fn cp_11_https_context_pack_is_not_redirected_to_http() {
    const SIGNATURE: &str = "canary-77aa";
    let (plain, server) = redirecting_servers();
    let world = trusting_workspace(&server);
    for path in ["/pack/", "/pack/pack.json", "/pack.zip"] {
        let url = server.url(&format!("{path}?sig={SIGNATURE}"));
        let run = world.sp(&["context", "check", &url, "--format", "json"]).fails(5);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(report["unreadable"][0]["code"], "E-redirected", "{path}: {run}");
        assert!(!run.to_string().contains(SIGNATURE), "{run}");
    }
    assert_eq!(plain.requested_paths(), [""; 0]);
}
