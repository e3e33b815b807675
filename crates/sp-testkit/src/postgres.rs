//! A real PostgreSQL server on loopback. It ends with the process that started it, even if that is
//! killed.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

/// It must not appear anywhere but in the URL.
const PASSWORD: &str = "correct-horse-battery";
const SCRIPT: &str = include_str!("postgres.sh");
/// The server refuses to run as root. It then runs as the first of these users that exists.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// A server with its own data directory.
pub struct Postgres {
    programs: PathBuf,
    port: u16,
    certificate: String,
    running: Mutex<Running>,
    databases: AtomicU64,
}

/// The script that runs the server, and its output. It ends when its stdin is closed, even by our
/// death.
struct Running {
    script: Child,
    said: BufReader<ChildStdout>,
}

impl Running {
    fn is_ready(&mut self) -> bool {
        let mut line = String::new();
        self.said.read_line(&mut line).is_ok() && line == "ready\n"
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.script.stdin.take());
        let _ = self.script.wait();
    }
}

/// A database that no other test uses.
pub struct PostgresDatabase<'a> {
    server: &'a Postgres,
    name: String,
}

impl Postgres {
    /// Returns the server shared by all tests of a binary. Each test has its own database.
    pub fn shared() -> &'static Self {
        static SHARED: LazyLock<Postgres> = LazyLock::new(Postgres::start);
        &SHARED
    }

    /// Starts a new server.
    ///
    /// # Panics
    ///
    /// If PostgreSQL is not installed. `./test` installs it.
    pub fn start() -> Self {
        let programs = programs();
        let made =
            rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate");
        // Another process may take the port before the server does.
        for _ in 0..5 {
            let port = TcpListener::bind("127.0.0.1:0")
                .and_then(|free| free.local_addr())
                .expect("a free port")
                .port();
            let mut command = as_nobody();
            command.args(["sh", "-c", SCRIPT, "postgres.sh"]).arg(&programs).arg(port.to_string());
            command.env("SP_TEST_PASSWORD", PASSWORD).env("SP_TEST_CERTIFICATE", made.cert.pem());
            command.env("SP_TEST_KEY", made.signing_key.serialize_pem()).current_dir("/");
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut script = command.spawn().expect("a shell");
            let said = BufReader::new(script.stdout.take().expect("its output"));
            let mut running = Running { script, said };
            if running.is_ready() {
                let certificate = made.cert.pem();
                return Self {
                    programs,
                    port,
                    certificate,
                    running: running.into(),
                    databases: AtomicU64::new(0),
                };
            }
        }
        panic!("PostgreSQL does not start");
    }

    /// Restarts the server, which closes every connection.
    pub fn restart(&self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let input = running.script.stdin.as_mut().expect("its input");
        input.write_all(b"again\n").expect("a server that listens to us");
        assert!(running.is_ready(), "PostgreSQL does not start again");
    }

    /// Returns the certificate to trust, as PEM. It is for `localhost`.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Returns the password, which must not be shown anywhere.
    pub fn password(&self) -> &'static str {
        PASSWORD
    }

    /// Creates a database.
    pub fn database(&self) -> PostgresDatabase<'_> {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let made = self.client("createdb").arg(&name).status().expect("createdb");
        assert!(made.success(), "a new database");
        PostgresDatabase { server: self, name }
    }

    fn client(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command
            .args(["-h", "127.0.0.1", "-U", "sp", "-p"])
            .arg(self.port.to_string())
            .env("PGPASSWORD", PASSWORD);
        command
    }
}

impl PostgresDatabase<'_> {
    /// Returns the URL, with the password.
    pub fn address(&self) -> String {
        format!("postgres://sp:{PASSWORD}@localhost:{}/{}", self.server.port, self.name)
    }

    /// Dumps the content as text.
    pub fn dump(&self) -> Vec<u8> {
        let dumped = self.server.client("pg_dump").arg(&self.name).output().expect("pg_dump");
        assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
        dumped.stdout
    }

    /// Runs the statements of a dump.
    pub fn load(&self, script: &str) {
        let mut command = self.server.client("psql");
        command.args(["-q", "-v", "ON_ERROR_STOP=1"]).arg(&self.name);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("psql");
        let mut input = child.stdin.take().expect("its input");
        input.write_all(script.as_bytes()).expect("a psql that reads");
        drop(input);
        assert!(child.wait().expect("psql").success(), "a dump that can be loaded");
    }

    /// Returns the output of a query as text.
    pub fn query(&self, sql: &str) -> String {
        let output = self
            .server
            .client("psql")
            .args(["-qAt", "-c", sql])
            .arg(&self.name)
            .output()
            .expect("psql");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

/// Returns a command that runs its arguments as a user other than root.
fn as_nobody() -> Command {
    if !rustix::process::getuid().is_root() {
        return Command::new("env");
    }
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let is_there = |user: &&str| passwd.lines().any(|line| line.split(':').next() == Some(*user));
    let user = USERS.into_iter().find(is_there).expect("a user who is not root");
    let mut command = Command::new("runuser");
    command.args(["-u", user, "--"]);
    command
}

/// Returns the directory of the PostgreSQL programs: the newest that Debian installed, or on the
/// `PATH`.
fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| {
            Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin")))
        })
        .collect();
    found.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = found.into_iter().rev().map(|(_, dir)| dir).chain(std::env::split_paths(&path));
    let has_all = |dir: &Path| {
        ["initdb", "postgres", "psql", "pg_dump"].iter().all(|name| dir.join(name).is_file())
    };
    let mut dirs = dirs.filter(|dir| has_all(dir));
    dirs.next().expect("PostgreSQL, which `./test` installs where it is missing")
}
