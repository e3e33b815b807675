//! Starting `git` so that nothing but what we ask for can happen.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{OnceLock, mpsc};
use std::time::{Duration, Instant};

use sp_formats::git_repo::{GitRepo, GitTransport};
use sp_formats::redact::redact_secrets;
use sp_tree::{Dir, Limits};

use super::cache::{open_pack_dir, remove_stale_files};
use super::process::{GitLimits, kill_tree, limit_memory};
use crate::context::{Context, Event};
use crate::error::{Error, FailureKind, Result};

/// Variables that git, ssh and credential helpers need from the user.
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

/// Settings of the user's own config that reaching a server may need. All else of it is ignored.
const ALLOWED_CONFIG: &[&str] =
    &["credential.", "http.", "url.", "core.sshcommand", "ssh.", "safe."];

/// Settings that hold for every call.
const CONFIG: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", "/dev/null"),
    // The cache is the user's alone, whatever the umask is.
    ("core.sharedRepository", "0600"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.unpackLimit", "1"),
    ("fetch.writeCommitGraph", "false"),
    ("fetch.negotiationAlgorithm", "noop"),
    ("protocol.version", "2"),
    ("advice.detachedHead", "false"),
    // Larger blobs are hashed as they come instead of being held in memory.
    ("core.bigFileThreshold", "16m"),
    // Each thread has a stack and objects of its own in memory.
    ("pack.threads", "4"),
    ("http.lowSpeedLimit", "1"),
];

/// What serves a repository of this machine. It runs within our limits and does not see our settings, so that it would
/// fail on a large blob instead of sending it piece by piece.
const LOCAL_UPLOAD_PACK: &str = "git -c core.bigFileThreshold=16m upload-pack";
/// How much later than we do git itself gives up a server that sends nothing.
const LOW_SPEED_MARGIN_SECONDS: u64 = 10;
/// How often it is looked at how much there is.
const SIZE_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long git takes to end once it has said its last word.
const EXIT_POLL_INTERVAL: Duration = Duration::from_millis(1);
/// More than any list of refs has.
const MAX_STDOUT_BYTES: u64 = 64 * 1024 * 1024;
/// More than git says of any fetch.
const MAX_STDERR_BYTES: u64 = 1024 * 1024;

/// Hands out `git` commands for one repository.
pub(super) struct GitRepository<'a> {
    context: &'a Context<'a>,
    dir: PathBuf,
    limits: GitLimits,
}

/// A `git` that is ready to be started, and what it may use.
pub(super) struct GitCommand {
    command: Command,
    limits: GitLimits,
}

impl GitCommand {
    /// Starts it with these pipes, within its limits.
    fn spawn(mut self, stdin: Stdio, stdout: Stdio, stderr: Stdio) -> Result<Child> {
        let child =
            self.command.stdin(stdin).stdout(stdout).stderr(stderr).spawn().map_err(spawn_error)?;
        limit_memory(&child, self.limits.memory_bytes);
        Ok(child)
    }
}

impl<'a> GitRepository<'a> {
    /// Commands on the bare repository `dir`, which need not exist yet.
    pub(super) fn new(context: &'a Context<'a>, dir: &Path, limits: GitLimits) -> Self {
        Self { context, dir: dir.into(), limits }
    }

    /// A command that reads what is there and can reach nobody.
    pub(super) fn local_command(&self, args: &[&str]) -> GitCommand {
        let mut command = self.base_command(
            args,
            CONFIG.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
        );
        command.env("GIT_ALLOW_PROTOCOL", "none");
        GitCommand { command, limits: self.limits }
    }

    /// A command that may talk to `repo`, and to nobody else.
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
            // The helper's text holds no secret: the shell takes both from the environment.
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
        // The user's own rules may turn one transport into another; no rule of ours names one beyond these.
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

    /// Whether the user says how ssh is to be called.
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

/// `git` with an environment of our own making, somewhere where no repository is.
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

/// What the user's own git config says about credentials, proxies and keys, asked once.
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

/// Runs a command to its end and returns what it printed.
pub(super) fn command_output(command: GitCommand, what: &str) -> Result<Vec<u8>> {
    let child = command.spawn(Stdio::null(), Stdio::piped(), Stdio::piped())?;
    let output = child.wait_with_output().map_err(spawn_error)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(git_error(what, &String::from_utf8_lossy(&output.stderr)))
}

/// What a command prints, up to a limit; none if it does not succeed.
pub(super) fn bounded_output(command: GitCommand) -> Option<Vec<u8>> {
    let mut child = command.spawn(Stdio::null(), Stdio::piped(), Stdio::null()).ok()?;
    let printed = child.stdout.take().map(read_bounded).unwrap_or_default();
    child.wait().ok()?.success().then_some(printed)
}

/// Whether a command succeeds.
pub(super) fn succeeds(command: GitCommand) -> Result<bool> {
    let mut child = command.spawn(Stdio::null(), Stdio::null(), Stdio::null())?;
    Ok(child.wait().map_err(spawn_error)?.success())
}

/// Whether the repository of a directory tracks a file in it. Nothing of the repository's own is run.
pub(crate) fn is_tracked(context: &Context<'_>, dir: &Path, file: &str) -> Result<bool> {
    let Some(top) = dir.ancestors().find(|dir| dir.join(".git").exists()) else {
        return Ok(false);
    };
    let path = dir.strip_prefix(top).unwrap_or(Path::new("")).join(file);
    let git = GitRepository::new(context, &top.join(".git"), (&Limits::default()).into());
    succeeds(git.local_command(&["ls-files", "--error-unmatch", "--", &path.to_string_lossy()]))
}

/// Starts a command with pipes on both ends.
pub(super) fn spawn_piped(command: GitCommand) -> Result<Child> {
    command.spawn(Stdio::piped(), Stdio::piped(), Stdio::null())
}

/// A fetch: how far it is goes to the listener; too many bytes, silence, or the listener's word end it.
pub(super) struct GitFetch<'a> {
    pub context: &'a Context<'a>,
    pub repo: &'a GitRepo,
    /// The repository that grows.
    pub dir: &'a Path,
    /// How many bytes it may grow by, and how long and with how much memory git may work on it.
    pub limits: &'a Limits,
}

impl GitFetch<'_> {
    /// Runs `command`, feeding it `input`, and returns what it printed.
    pub(super) fn run(&self, command: GitCommand, input: Vec<u8>, what: &str) -> Result<Vec<u8>> {
        let mut child = command.spawn(Stdio::piped(), Stdio::piped(), Stdio::piped())?;
        let before = pack_files(self.dir);
        let pipes = GitPipes::attach(&mut child, input);
        let mut words = String::new();
        let end = self.monitor(&mut child, &pipes.stderr_lines, &mut words);
        if end != FetchEnd::Exited {
            kill_tree(&mut child);
        }
        let status = child.wait();
        self.context.check_cancelled()?;
        // A short fetch may end between two looks of the watcher.
        let max_bytes = self.limits.git_pack_bytes;
        if end == FetchEnd::TooLarge || self.added_bytes(&before) > max_bytes {
            self.remove_new_packs(&before)?;
            return Err(Error::new(
                FailureKind::Data,
                format!("`{}` sends more than {max_bytes} bytes", self.repo),
            )
            .hint("select fewer skills, or raise it with `--limit git-pack-bytes=<bytes>`"));
        }
        if let FetchEnd::TimedOut(time) = end {
            return Err(self.timeout_error(time, what));
        }
        match status {
            Ok(status) if status.success() => Ok(pipes.stdout.recv().unwrap_or_default()),
            Ok(_) if is_out_of_memory(&words) => Err(self.out_of_memory_error()),
            Ok(_) if words.contains(&*self.dir.to_string_lossy()) => Err(git_error(what, &words)
                .hint("the cache may be damaged: remove it with `sp clean --cache`")),
            Ok(_) => Err(git_error(what, &words)),
            Err(e) => Err(spawn_error(e)),
        }
    }

    fn out_of_memory_error(&self) -> Error {
        let GitLimits { memory_bytes, .. } = self.limits.into();
        Error::new(
            FailureKind::Data,
            format!("`{}` makes git use more memory than allowed", self.repo),
        )
        .because(format!(
            "the limit is {memory_bytes} bytes, and a quarter of that for one object or response"
        ))
        .hint("raise it with `--limit git-memory-bytes=<bytes>` if you trust the server")
    }

    fn timeout_error(&self, limit: FetchTimeLimit, what: &str) -> Error {
        let (reason, name) = match limit {
            FetchTimeLimit::Stall => (
                format!("the server sent nothing for {} s", self.limits.stall_seconds),
                "stall-seconds",
            ),
            FetchTimeLimit::Progress => (
                format!("nothing was received for {} s", self.limits.download_seconds),
                "download-seconds",
            ),
        };
        Error::new(FailureKind::Environment, what)
            .because(reason)
            .hint(format!("run it again, or raise `--limit {name}=<seconds>`"))
    }

    /// How many bytes there are besides what there was.
    fn added_bytes(&self, before: &HashMap<OsString, u64>) -> u64 {
        pack_files(self.dir)
            .iter()
            .filter(|(name, _)| !before.contains_key(*name))
            .map(|(_, size)| size)
            .sum()
    }

    /// Removes what was brought and refused.
    fn remove_new_packs(&self, before: &HashMap<OsString, u64>) -> Result<()> {
        let dir = Dir::open(self.dir)?;
        if let Some(packs) = open_pack_dir(&dir) {
            for entry in packs.entries()?.iter().filter(|entry| !before.contains_key(entry.name()))
            {
                packs.remove_file(entry)?;
            }
        }
        remove_stale_files(&dir)
    }

    /// Listens until git ends, or is to be ended: it brings too much, says nothing for too long, or is not wanted
    /// any more.
    fn monitor(
        &self,
        child: &mut Child,
        lines: &mpsc::Receiver<Vec<u8>>,
        words: &mut String,
    ) -> FetchEnd {
        let packs = self.dir.join("objects/pack");
        let before = dir_size(&packs);
        let mut last_size = before;
        let mut watch = FetchWatchdog::new(self.limits);
        let mut next_look = Instant::now() + SIZE_POLL_INTERVAL;
        loop {
            match lines.recv_timeout(next_look.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.handle_line(&line, words);
                    watch.record_line(&line);
                }
                // It has said its last word, and is about to end.
                Err(mpsc::RecvTimeoutError::Disconnected) => match child.try_wait() {
                    Ok(None) => std::thread::sleep(EXIT_POLL_INTERVAL),
                    _ => return FetchEnd::Exited,
                },
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() < next_look {
                continue;
            }
            next_look = Instant::now() + SIZE_POLL_INTERVAL;
            let now = dir_size(&packs);
            if now != last_size {
                last_size = now;
                watch.record_progress();
            }
            if now.saturating_sub(before) > self.limits.git_pack_bytes {
                return FetchEnd::TooLarge;
            }
            if self.context.check_cancelled().is_err() {
                return FetchEnd::Cancelled;
            }
            if let Some(limit) = watch.exceeded_limit() {
                return FetchEnd::TimedOut(limit);
            }
        }
    }

    /// Passes git's progress on, and keeps the rest of its words.
    fn handle_line(&self, line: &[u8], words: &mut String) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        match text.contains('%') {
            true => self
                .context
                .emit(Event::Fetching { repo: &self.repo.display_url, progress: Some(text) }),
            false if !text.is_empty() => {
                words.push_str(text);
                words.push('\n');
            }
            false => {}
        }
    }
}

/// How a fetch ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FetchEnd {
    /// Git ended.
    Exited,
    /// It brings more than it may.
    TooLarge,
    /// It takes too long.
    TimedOut(FetchTimeLimit),
    /// The result is not wanted any more.
    Cancelled,
}

/// A limit of time that a fetch can exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FetchTimeLimit {
    /// `stall-seconds`: neither bytes nor words come.
    Stall,
    /// `download-seconds`: the server sends words, and nothing else.
    Progress,
}

/// When a fetch last showed that it goes on.
struct FetchWatchdog {
    last_activity: Instant,
    last_progress: Instant,
    stall_timeout: Duration,
    progress_timeout: Duration,
}

impl FetchWatchdog {
    fn new(limits: &Limits) -> Self {
        let now = Instant::now();
        let (stall, no_progress) =
            (limits.stall_seconds, limits.download_seconds.max(limits.stall_seconds));
        Self {
            last_activity: now,
            last_progress: now,
            stall_timeout: Duration::from_secs(stall),
            progress_timeout: Duration::from_secs(no_progress),
        }
    }

    fn record_progress(&mut self) {
        self.last_activity = Instant::now();
        self.last_progress = self.last_activity;
    }

    /// What the server says shows that it is there; what git says of its own work is progress.
    fn record_line(&mut self, line: &[u8]) {
        if line.starts_with(b"remote:") {
            self.last_activity = Instant::now()
        } else {
            self.record_progress()
        }
    }

    fn exceeded_limit(&self) -> Option<FetchTimeLimit> {
        if self.last_activity.elapsed() > self.stall_timeout {
            Some(FetchTimeLimit::Stall)
        } else if self.last_progress.elapsed() > self.progress_timeout {
            Some(FetchTimeLimit::Progress)
        } else {
            None
        }
    }
}

/// Whether git ended because it may use no more memory. What the server says of its own memory does not count.
fn is_out_of_memory(words: &str) -> bool {
    let mut own = words.lines().filter(|line| !line.starts_with("remote:"));
    own.any(|line| line.contains("attempting to allocate") || line.contains("ut of memory"))
}

/// What git says. The helpers that it starts hold the same pipes and may outlive it, so nobody waits for the end of
/// a pipe once git was given up.
struct GitPipes {
    /// Lines of its progress and of what is wrong.
    stderr_lines: mpsc::Receiver<Vec<u8>>,
    /// All that it printed, in the end.
    stdout: mpsc::Receiver<Vec<u8>>,
}

impl GitPipes {
    /// Feeds git its input, and listens.
    fn attach(child: &mut Child, input: Vec<u8>) -> Self {
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let ((line, stderr_lines), (all, output)) = (mpsc::channel(), mpsc::channel());
        std::thread::spawn(move || {
            stdin.map(|mut stdin| std::io::Write::write_all(&mut stdin, &input))
        });
        std::thread::spawn(move || stdout.map(|stdout| all.send(read_bounded(stdout))));
        std::thread::spawn(move || stderr.map(|stderr| forward_lines(stderr, &line)));
        Self { stderr_lines, stdout: output }
    }
}

/// Passes lines on, as long as somebody listens.
fn forward_lines(stderr: impl Read, lines: &mpsc::Sender<Vec<u8>>) {
    let mut reader = BufReader::new(stderr.take(MAX_STDERR_BYTES));
    let mut line = Vec::new();
    while read_line(&mut reader, &mut line).is_ok_and(|count| count > 0) {
        if lines.send(std::mem::take(&mut line)).is_err() {
            return;
        }
    }
}

fn read_bounded(stdout: impl Read) -> Vec<u8> {
    let mut printed = Vec::new();
    // What breaks off shows in the exit code.
    let _ = stdout.take(MAX_STDOUT_BYTES).read_to_end(&mut printed);
    printed
}

/// Reads up to a line feed or a carriage return, with which git redraws its progress.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<usize> {
    let mut count = 0;
    loop {
        let available = reader.fill_buf()?;
        if available.is_empty() {
            return Ok(count);
        }
        let end = available.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let taken = end.map_or(available.len(), |at| at + 1);
        line.extend(&available[..taken]);
        reader.consume(taken);
        count += taken;
        if end.is_some() {
            return Ok(count);
        }
    }
}

fn pack_files(dir: &Path) -> HashMap<OsString, u64> {
    let entries = std::fs::read_dir(dir.join("objects/pack")).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name(), entry.metadata().ok()?.len()))).collect()
}

fn dir_size(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
}

fn spawn_error(error: std::io::Error) -> Error {
    let hint = match error.kind() {
        std::io::ErrorKind::NotFound => "install git 2.31 or later and put it on the PATH",
        _ => "check that `git --version` works",
    };
    Error::new(FailureKind::Environment, "cannot run `git`").because(error).hint(hint)
}

/// What git said, as the cause of a failure.
fn git_error(what: &str, stderr: &str) -> Error {
    let words: Vec<&str> = stderr
        .lines()
        .map(|line| line.trim_start_matches("fatal: ").trim_start_matches("error: ").trim())
        .filter(|line| !line.is_empty() && !line.starts_with("warning:"))
        .take(4)
        .collect();
    let said =
        if words.is_empty() { "git ended without a word".to_owned() } else { words.join("; ") };
    // Git names the address that it was given, with its query.
    Error::new(FailureKind::Environment, what).because(redact_secrets(&said))
}
