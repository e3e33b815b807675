//! A real headless browser, to test pages as a reader sees them.

use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::hang::wait_or_kill;

/// Names of browsers to look for on the `PATH`.
const NAMES: &[&str] =
    &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

/// How long a browser may take to end its child processes.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// A browser that shows one page. It ends when this is dropped.
pub struct Browser {
    child: Child,
    _profile: TempDir,
}

impl Browser {
    /// Opens a page of a server on loopback. No other machine can be reached.
    ///
    /// # Panics
    ///
    /// If there is no browser. `./test` installs one.
    pub fn open(url: &str) -> Self {
        let profile = profile();
        let mut command = Command::new(program());
        command.args(arguments(&profile)).arg(url);
        command.env("HOME", profile.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("a browser that starts");
        Self { child, _profile: profile }
    }

    /// Starts a browser that is controlled over its standard input and output.
    pub(crate) fn with_devtools() -> Self {
        let profile = profile();
        let mut command = Command::new("sh");
        // A browser is controlled over file descriptors 3 and 4, which no safe call can pass on.
        command.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"]).arg(program());
        command.args(arguments(&profile)).arg("--remote-debugging-pipe");
        command.env("HOME", profile.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn().expect("a browser that starts");
        Self { child, _profile: profile }
    }

    /// Returns the pipes to and from the browser.
    pub(crate) fn pipes(&mut self) -> (ChildStdin, ChildStdout) {
        (self.child.stdin.take().expect("its input"), self.child.stdout.take().expect("its output"))
    }

    /// Returns whether it has ended by itself.
    pub fn is_gone(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ask it to close first, so that it ends its child processes too.
        if let Some(id) =
            i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
        let _ = wait_or_kill(&mut self.child, EXIT_TIMEOUT);
    }
}

fn profile() -> TempDir {
    tempfile::Builder::new().prefix("sp-browser-").tempdir().expect("a temporary directory")
}

/// No window, no background activity, no other machine.
fn arguments(profile: &TempDir) -> Vec<String> {
    let fixed = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-extensions",
        "--disable-sync",
        "--mute-audio",
        "--window-size=1400,900",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ];
    let own = format!("--user-data-dir={}", profile.path().display());
    fixed.into_iter().map(str::to_owned).chain([own]).collect()
}

/// Returns the browser of `SP_TEST_BROWSER`, or the first one on the `PATH`.
fn program() -> PathBuf {
    if let Some(named) = std::env::var_os("SP_TEST_BROWSER") {
        return named.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let found = NAMES
        .iter()
        .flat_map(|name| dirs.iter().map(move |dir| dir.join(name)))
        .find(|file| file.is_file());
    found.expect(
        "a browser: `./test` installs Chromium, and SP_TEST_BROWSER names another of its kind",
    )
}
