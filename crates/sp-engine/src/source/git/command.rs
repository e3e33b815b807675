//! Starting `git` in a controlled environment.
//!
//! Every git runs with an environment of our own: no system or global configuration, no hooks, no
//! terminal prompts, a limited amount of memory. A [`GitRepository`] creates two kinds of commands:
//! local ones cannot use any transport, remote ones can use only that of their repository.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use sp_formats::git_repo::{GitRepo, GitTransport};
use sp_formats::redact::redact_secrets;
use sp_tree::Limits;

use super::process::{GitLimits, limit_memory};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};

/// Environment variables that git, ssh and credential helpers need from the user.
const ALLOWED_ENV: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_CACHE_HOME",
    "SSH_AUTH_SOCK",
    "DBUS_SESSION_BUS_ADDRESS",
    "KRB5CCNAME",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSL_CAINFO",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
];

/// Settings of the user's git configuration that reaching a server may need. All others are
/// ignored.
const ALLOWED_CONFIG: &[&str] =
    &["credential.", "http.", "url.", "core.sshcommand", "ssh.", "safe."];

/// Settings for every command.
const CONFIG: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", "/dev/null"),
    // Only the user may read the cache, whatever the umask is.
    ("core.sharedRepository", "0600"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.unpackLimit", "1"),
    ("fetch.writeCommitGraph", "false"),
    ("fetch.negotiationAlgorithm", "noop"),
    ("protocol.version", "2"),
    ("advice.detachedHead", "false"),
    // Larger blobs are hashed in a stream instead of in memory.
    ("core.bigFileThreshold", "16m"),
    // Each thread needs memory for a stack and for objects of its own.
    ("pack.threads", "4"),
    ("http.lowSpeedLimit", "1"),
];

/// The command that serves a local repository. It inherits our memory limit but not our settings,
/// so without this one it would fail on a large blob instead of streaming it.
const LOCAL_UPLOAD_PACK: &str = "git -c core.bigFileThreshold=16m upload-pack";
/// How much longer than `stall-seconds` git itself waits for a server that sends nothing. It is a
/// fallback: the error of our own timeout is better.
const LOW_SPEED_MARGIN_SECONDS: u64 = 10;
/// The maximum size of git's standard output. No list of refs is as large.
const MAX_STDOUT_BYTES: u64 = 64 * 1024 * 1024;

/// Creates `git` commands for one repository.
pub(super) struct GitRepository<'a> {
    context: &'a Context<'a>,
    dir: PathBuf,
    limits: GitLimits,
}

/// A `git` command with its limits, not started yet.
pub(super) struct GitCommand {
    command: Command,
    limits: GitLimits,
}

impl GitCommand {
    pub(super) fn spawn(mut self, stdin: Stdio, stdout: Stdio, stderr: Stdio) -> Result<Child> {
        tracing::debug!(arguments = ?self.command.get_args().collect::<Vec<_>>(), "run git");
        let child =
            self.command.stdin(stdin).stdout(stdout).stderr(stderr).spawn().map_err(spawn_error)?;
        limit_memory(&child, self.limits.memory_bytes);
        Ok(child)
    }
}

impl<'a> GitRepository<'a> {
    /// Creates commands for the bare repository `dir`, which need not exist yet.
    pub(super) fn new(context: &'a Context<'a>, dir: &Path, limits: GitLimits) -> Self {
        Self { context, dir: dir.into(), limits }
    }

    /// Returns a command that cannot use any transport.
    pub(super) fn local_command(&self, args: &[&str]) -> GitCommand {
        let mut command = self.base_command(
            args,
            CONFIG.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
        );
        command.env("GIT_ALLOW_PROTOCOL", "none");
        GitCommand { command, limits: self.limits }
    }

    /// Returns a command that may connect to `repo`, and to no other repository.
    pub(super) fn remote_command(&self, repo: &GitRepo, url: &str, args: &[&str]) -> GitCommand {
        let mut config: Vec<(String, String)> = user_config(self.context).to_vec();
        config.extend(CONFIG.iter().map(|(key, value)| ((*key).into(), (*value).into())));
        let low_speed_time = self.limits.stall_seconds.saturating_add(LOW_SPEED_MARGIN_SECONDS);
        config.push(("http.lowSpeedTime".into(), low_speed_time.min(i32::MAX as u64).to_string()));
        config.push(("remote.origin.url".into(), url.into()));
        config.push(("remote.origin.promisor".into(), "true".into()));
        config.push(("remote.origin.partialclonefilter".into(), "blob:none".into()));
        if matches!(repo.transport, GitTransport::File | GitTransport::Path) {
            config.push(("remote.origin.uploadpack".into(), LOCAL_UPLOAD_PACK.into()));
        }
        if let (Some(_), Some(origin)) = (&repo.credentials, repo.origin()) {
            // The helper itself contains no secret: the shell reads both from the environment.
            let helper = "!f() { printf 'username=%s\\npassword=%s\\n' \"$SP_GIT_USER\" \"$SP_GIT_PASSWORD\"; }; f";
            config.push((format!("credential.{origin}.helper"), String::new()));
            config.push((format!("credential.{origin}.helper"), helper.into()));
        }
        let mut command = self.base_command(args, config);
        if let Some(credentials) = &repo.credentials {
            command
                .env("SP_GIT_USER", &credentials.user)
                .env("SP_GIT_PASSWORD", &credentials.password);
        }
        // `url.<base>.insteadOf` rules of the user may change the transport.
        let rewrites = user_config(self.context).iter().any(|(key, _)| key.starts_with("url."));
        let own = repo.transport.protocol();
        command.env(
            "GIT_ALLOW_PROTOCOL",
            if rewrites { format!("https:ssh:git:file:{own}") } else { own.into() },
        );
        if repo.transport == GitTransport::Ssh && !self.has_custom_ssh() {
            command.env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes -oConnectTimeout=30");
        }
        GitCommand { command, limits: self.limits }
    }

    /// Whether the user configured how to run ssh.
    fn has_custom_ssh(&self) -> bool {
        let in_env =
            ["GIT_SSH_COMMAND", "GIT_SSH"].iter().any(|name| self.context.env.contains_key(*name));
        in_env || user_config(self.context).iter().any(|(key, _)| key == "core.sshcommand")
    }

    fn base_command(&self, args: &[&str], config: Vec<(String, String)>) -> Command {
        let mut command = isolated_command(self.context);
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null");
        command
            .env("GIT_DIR", &self.dir)
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1");
        command.env("GIT_ALLOC_LIMIT", self.limits.allocation_bytes().to_string());
        command.env("GIT_CONFIG_COUNT", config.len().to_string());
        for (number, (key, value)) in config.into_iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{number}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        command.args(args);
        command
    }
}

/// Returns a `git` with a clean environment, in a directory that is not in a repository.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that starts a program, and it is always git"
)]
fn isolated_command(context: &Context<'_>) -> Command {
    let mut command = Command::new("git");
    command.env_clear().current_dir("/").stdin(Stdio::null());
    for name in ALLOWED_ENV {
        if let Some(value) = context.env.get(*name) {
            command.env(name, value);
        }
    }
    command
        .env("LC_ALL", "C")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ASKPASS", "true")
        .env("SSH_ASKPASS", "true")
        .env("SSH_ASKPASS_REQUIRE", "force");
    command
}

/// Returns the allowed settings of the user's git configuration, read once per process.
fn user_config(context: &Context<'_>) -> &'static [(String, String)] {
    static CONFIG: OnceLock<Vec<(String, String)>> = OnceLock::new();
    CONFIG.get_or_init(|| read_user_config(context))
}

fn read_user_config(context: &Context<'_>) -> Vec<(String, String)> {
    let mut command = isolated_command(context);
    if let Some(path) = context.env.get("GIT_CONFIG_GLOBAL") {
        command.env("GIT_CONFIG_GLOBAL", path);
    }
    command.args(["config", "--list", "-z"]).env("GIT_DIR", "/nonexistent").stderr(Stdio::null());
    let Ok(output) = command.output() else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&output.stdout);
    text.split('\0')
        .filter_map(|entry| entry.split_once('\n'))
        .filter(|(key, _)| ALLOWED_CONFIG.iter().any(|kept| key.starts_with(kept)))
        .map(|(key, value)| (key.into(), value.into()))
        .collect()
}

/// Runs a command and returns its standard output.
pub(super) fn command_output(command: GitCommand, message: &str) -> Result<Vec<u8>> {
    let child = command.spawn(Stdio::null(), Stdio::piped(), Stdio::piped())?;
    let output = child.wait_with_output().map_err(spawn_error)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(git_error(message, &String::from_utf8_lossy(&output.stderr)))
}

/// Runs a command and returns its standard output, up to a limit. Returns `None` if it fails.
pub(super) fn bounded_output(command: GitCommand) -> Option<Vec<u8>> {
    let mut child = command.spawn(Stdio::null(), Stdio::piped(), Stdio::null()).ok()?;
    let stdout = child.stdout.take().map(read_bounded).unwrap_or_default();
    child.wait().ok()?.success().then_some(stdout)
}

/// Runs a command and returns whether it succeeds.
pub(super) fn succeeds(command: GitCommand) -> Result<bool> {
    let mut child = command.spawn(Stdio::null(), Stdio::null(), Stdio::null())?;
    Ok(child.wait().map_err(spawn_error)?.success())
}

/// Whether git tracks a file of a directory. Runs no hook or filter of the repository.
pub(crate) fn is_tracked(context: &Context<'_>, dir: &Path, file: &str) -> Result<bool> {
    let Some(top) = dir.ancestors().find(|dir| dir.join(".git").exists()) else {
        return Ok(false);
    };
    let path = dir.strip_prefix(top).unwrap_or(Path::new("")).join(file);
    let git = GitRepository::new(context, &top.join(".git"), (&Limits::default()).into());
    succeeds(git.local_command(&["ls-files", "--error-unmatch", "--", &path.to_string_lossy()]))
}

/// Starts a command with piped standard input and output.
pub(super) fn spawn_piped(command: GitCommand) -> Result<Child> {
    command.spawn(Stdio::piped(), Stdio::piped(), Stdio::null())
}

/// Reads git's standard output, up to a limit.
pub(super) fn read_bounded(stdout: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A read error is not reported: git's exit code shows the failure.
    let _ = stdout.take(MAX_STDOUT_BYTES).read_to_end(&mut bytes);
    bytes
}

pub(super) fn spawn_error(error: std::io::Error) -> Error {
    let hint = match error.kind() {
        std::io::ErrorKind::NotFound => "install git 2.31 or later and add it to your PATH",
        _ => "check that `git --version` works",
    };
    Error::new(ErrorCode::GitNotFound, "cannot run `git`").because(error).hint(hint)
}

/// Advice that git prints after many messages, wrapped in the middle of a sentence. Our own hints
/// are more specific.
const GENERAL_ADVICE: &[&str] = &[
    "Could not read from remote repository.",
    "Please make sure you have the correct access rights",
    "and the repository exists.",
];

/// Returns an error with git's messages as its cause, one per line.
pub(super) fn git_error(message: &str, stderr: &str) -> Error {
    let lines: Vec<&str> = stderr
        .lines()
        .map(|line| line.trim_start_matches("fatal: ").trim_start_matches("error: ").trim())
        .filter(|line| !line.is_empty() && !line.starts_with("warning:"))
        .filter(|line| !GENERAL_ADVICE.contains(line))
        .take(4)
        .collect();
    let cause = if lines.is_empty() {
        "git failed without an error message".to_owned()
    } else {
        lines.join("\n")
    };
    // Git prints the URL it was given, including the query.
    Error::new(ErrorCode::Git, message).because(redact_secrets(&cause))
}
