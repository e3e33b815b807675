//! A real nginx on loopback with the configuration in `deploy/`. It ends with the process that
//! started it, even if that is killed.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::hang::eventually;
use crate::registry::{HttpResponse, send};

const DEPLOYED: &str = include_str!("../../../deploy/nginx.conf");
/// Runs nginx until our input ends. A line on the input makes it read its configuration again.
const SCRIPT: &str = r#"
"$@" </dev/null & pid=$!
while read -r _; do kill -HUP $pid; done
kill -TERM $pid
wait $pid
"#;

/// An nginx in front of registries.
pub struct Nginx {
    script: Child,
    dir: TempDir,
    /// The address it listens on: `127.0.0.1:…`.
    pub address: String,
}

impl Nginx {
    /// Starts it in front of registries with these addresses.
    ///
    /// # Panics
    ///
    /// If nginx is not installed. `./test` installs it.
    pub fn start(registries: &[&str]) -> Self {
        // Another process may take the port before nginx does.
        for _ in 0..5 {
            let address = TcpListener::bind("127.0.0.1:0")
                .and_then(|free| free.local_addr())
                .expect("a free port")
                .to_string();
            let dir = tempfile::Builder::new().prefix("sp-nginx-").tempdir().expect("a directory");
            let mut command = Command::new("sh");
            command.args(["-c", SCRIPT, "nginx.sh", "nginx", "-e", "error.log", "-p"]);
            command.arg(dir.path()).args(["-c", "nginx.conf"]).current_dir(dir.path());
            // Debian has it where only the search path of root leads.
            let path = std::env::var("PATH").unwrap_or_default();
            command.env("PATH", format!("{path}:/usr/sbin")).stdin(Stdio::piped());
            std::fs::write(dir.path().join("nginx.conf"), configuration(&address, registries))
                .expect("a configuration");
            let script = command.stderr(Stdio::null()).spawn().expect("a shell");
            let mut nginx = Self { script, dir, address };
            if nginx.is_listening() {
                return nginx;
            }
        }
        panic!("nginx does not start");
    }

    fn is_listening(&mut self) -> bool {
        let log = self.dir.path().join("error.log");
        eventually(|| {
            // It writes its process ID once it has bound the port.
            if self.dir.path().join("nginx.pid").exists() {
                return Some(TcpStream::connect(&self.address).is_ok());
            }
            let errors = std::fs::read_to_string(&log).unwrap_or_default();
            assert!(!errors.contains("[emerg]") || errors.contains("in use"), "nginx: {errors}");
            (errors.contains("[emerg]")).then_some(false)
        })
    }

    /// Passes requests to other registries from now on.
    pub fn set_registries(&mut self, registries: &[&str]) {
        std::fs::write(
            self.dir.path().join("nginx.conf"),
            configuration(&self.address, registries),
        )
        .expect("a configuration");
        let input = self.script.stdin.as_mut().expect("its input");
        input.write_all(b"reload\n").expect("nginx runs");
    }

    /// Sends a request. Returns `None` if the connection was closed.
    pub fn request(&self, request: &str, token: Option<&str>, body: &[u8]) -> Option<HttpResponse> {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let headers: Vec<(&str, &str)> =
            bearer.as_deref().map(|bearer| ("authorization", bearer)).into_iter().collect();
        send(&self.address, request, &headers, body)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        drop(self.script.stdin.take());
        let _ = self.script.wait();
    }
}

/// Returns the published configuration with another address, other registries and another cache.
fn configuration(address: &str, registries: &[&str]) -> String {
    let servers: String =
        registries.iter().map(|registry| format!("server {registry};\n")).collect();
    let deployed = DEPLOYED
        .replace("server registry-1:7878;", &servers)
        .replace("server registry-2:7878;", "")
        .replace("listen 8080;", &format!("listen {address};"))
        .replace("/var/cache/nginx/registry", "cache");
    assert!(deployed.contains(&servers) && deployed.contains(address), "{deployed}");
    // Its workers would otherwise run as a user that cannot read our directory.
    let user = if rustix::process::geteuid().is_root() { "user root;" } else { "" };
    format!(
        "{user} worker_processes 1; daemon off; pid nginx.pid; events {{}}\n\
         http {{\naccess_log off; client_body_temp_path body; proxy_temp_path proxy;\n\
         fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;\n{deployed}\n}}\n"
    )
}
