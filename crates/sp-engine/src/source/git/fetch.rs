//! Running `git fetch` and other commands that talk to a server.
//!
//! A [`GitFetch`] reports progress to the event listener while git runs, and ends git when it
//! receives too many bytes, makes no progress for too long, or the operation is cancelled.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use sp_formats::git_repo::GitRepo;
use sp_formats::text::ByteSize;
use sp_tree::{Dir, Limits};

use super::command::{GitCommand, git_error, read_bounded, spawn_error};
use super::object_dir::{open_pack_dir, pack_sizes, remove_stale_files};
use super::process::{GitLimits, kill_tree};
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};

/// How often the size of the repository, the timeouts and cancellation are checked.
const SIZE_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often to check whether git has exited, once it has closed its standard error.
const EXIT_POLL_INTERVAL: Duration = Duration::from_millis(1);
/// The maximum size of git's standard error. No fetch prints as much.
const MAX_STDERR_BYTES: u64 = 1024 * 1024;

/// A fetch into a cached repository.
pub(super) struct GitFetch<'a> {
    pub context: &'a Context<'a>,
    pub repo: &'a GitRepo,
    /// The cached repository.
    pub dir: &'a Path,
    /// The limits for received bytes, time and memory.
    pub limits: &'a Limits,
}

impl GitFetch<'_> {
    /// Runs `command` with `input` on its standard input, and returns its standard output.
    pub(super) fn run(
        &self,
        command: GitCommand,
        input: Vec<u8>,
        message: &str,
    ) -> Result<Vec<u8>> {
        let mut child = command.spawn(Stdio::piped(), Stdio::piped(), Stdio::piped())?;
        let before = pack_sizes(self.dir);
        let pipes = GitPipes::attach(&mut child, input);
        let mut messages = String::new();
        let end = self.monitor(&mut child, &pipes.stderr_lines, &mut messages);
        if end != FetchEnd::Exited {
            kill_tree(&mut child);
        }
        let status = child.wait();
        self.context.check_cancelled()?;
        // A short fetch may end between two polls.
        if end == FetchEnd::TooLarge || self.added_bytes(&before) > self.limits.git_pack_bytes {
            self.remove_new_packs(&before)?;
            return Err(self.too_large_error());
        }
        if let FetchEnd::TimedOut(limit) = end {
            return Err(self.timeout_error(limit, message));
        }
        match status {
            Ok(status) if status.success() => Ok(pipes.stdout.recv().unwrap_or_default()),
            Ok(_) if is_out_of_memory(&messages) => Err(self.out_of_memory_error()),
            Ok(_) if messages.contains(&*self.dir.to_string_lossy()) => {
                Err(git_error(message, &messages)
                    .hint("the cache may be damaged; remove it with `sp clean --cache`"))
            }
            Ok(_) => Err(git_error(message, &messages)),
            Err(e) => Err(spawn_error(e)),
        }
    }

    fn too_large_error(&self) -> Error {
        let limit = ByteSize(self.limits.git_pack_bytes);
        Error::new(ErrorCode::LimitExceeded, format!("`{}` sent more than {limit}", self.repo))
            .hint("select fewer skills, or raise the limit with `--limit git-pack-bytes=<bytes>`")
    }

    fn out_of_memory_error(&self) -> Error {
        let GitLimits { memory_bytes, .. } = self.limits.into();
        Error::new(
            ErrorCode::LimitExceeded,
            format!("git exceeded the memory limit while fetching `{}`", self.repo),
        )
        .because(format!(
            "the limit is {}, of which one object or response can use a quarter",
            ByteSize(memory_bytes)
        ))
        .hint("raise the limit with `--limit git-memory-bytes=<bytes>` if you trust the server")
    }

    fn timeout_error(&self, limit: FetchTimeLimit, message: &str) -> Error {
        let (reason, name) = match limit {
            FetchTimeLimit::Stall => (
                format!("the server sent no data for {} s", self.limits.stall_seconds),
                "stall-seconds",
            ),
            FetchTimeLimit::Progress => (
                format!("no data was received for {} s", self.limits.download_seconds),
                "download-seconds",
            ),
        };
        Error::new(ErrorCode::Stalled, message).because(reason).hint(format!(
            "run the command again, or raise the limit with `--limit {name}=<seconds>`"
        ))
    }

    /// Returns the size of the pack files that are not in `before`.
    fn added_bytes(&self, before: &HashMap<OsString, u64>) -> u64 {
        pack_sizes(self.dir)
            .iter()
            .filter(|(name, _)| !before.contains_key(*name))
            .map(|(_, size)| size)
            .sum()
    }

    /// Removes the pack files that are not in `before`.
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

    /// Waits until git exits or has to be killed. Appends git's messages to `messages`.
    fn monitor(
        &self,
        child: &mut Child,
        lines: &mpsc::Receiver<Vec<u8>>,
        messages: &mut String,
    ) -> FetchEnd {
        let pack_bytes = || pack_sizes(self.dir).values().sum::<u64>();
        let before = pack_bytes();
        let mut last_size = before;
        let mut watchdog = FetchWatchdog::new(self.limits);
        let mut next_poll = Instant::now() + SIZE_POLL_INTERVAL;
        loop {
            match lines.recv_timeout(next_poll.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.handle_line(&line, messages);
                    watchdog.record_line(&line);
                }
                // Git has closed its standard error and is about to exit.
                Err(mpsc::RecvTimeoutError::Disconnected) => match child.try_wait() {
                    Ok(None) => std::thread::sleep(EXIT_POLL_INTERVAL),
                    _ => return FetchEnd::Exited,
                },
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() < next_poll {
                continue;
            }
            next_poll = Instant::now() + SIZE_POLL_INTERVAL;
            let size = pack_bytes();
            if size != last_size {
                last_size = size;
                watchdog.record_progress();
            }
            if size.saturating_sub(before) > self.limits.git_pack_bytes {
                return FetchEnd::TooLarge;
            }
            if self.context.check_cancelled().is_err() {
                return FetchEnd::Cancelled;
            }
            if let Some(limit) = watchdog.exceeded_limit() {
                return FetchEnd::TimedOut(limit);
            }
        }
    }

    /// Emits a progress line as an event, and appends any other line to `messages`.
    fn handle_line(&self, line: &[u8], messages: &mut String) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.contains('%') {
            let repo = &self.repo.display_url;
            self.context.emit(Event::Fetching { repo, progress: Some(text) });
        } else if !text.is_empty() {
            messages.push_str(text);
            messages.push('\n');
        }
    }
}

/// Why waiting for a fetch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FetchEnd {
    Exited,
    /// The server sent more bytes than allowed.
    TooLarge,
    TimedOut(FetchTimeLimit),
    Cancelled,
}

/// A time limit that a fetch can exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FetchTimeLimit {
    /// `stall-seconds`: the server sends neither bytes nor messages.
    Stall,
    /// `download-seconds`: the server sends messages, but no bytes.
    Progress,
}

/// Tracks when a fetch last showed activity.
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

    /// Records a line of git's standard error.
    ///
    /// A message of the server shows only that it is alive. A message of git itself is progress.
    fn record_line(&mut self, line: &[u8]) {
        if line.starts_with(b"remote:") {
            self.last_activity = Instant::now();
        } else {
            self.record_progress();
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

/// Whether git failed at the memory limit. Messages of the server about its own memory do not
/// count.
fn is_out_of_memory(messages: &str) -> bool {
    let mut own = messages.lines().filter(|line| !line.starts_with("remote:"));
    own.any(|line| line.contains("attempting to allocate") || line.contains("ut of memory"))
}

/// The pipes of a running git, each served by a thread.
///
/// The helper processes that git starts inherit the pipes and may outlive it, so nothing may wait
/// for the end of a pipe after git was killed.
struct GitPipes {
    /// Lines of progress and of error messages.
    stderr_lines: mpsc::Receiver<Vec<u8>>,
    /// The whole standard output, sent once.
    stdout: mpsc::Receiver<Vec<u8>>,
}

impl GitPipes {
    /// Starts the threads that write the input and read the output.
    fn attach(child: &mut Child, input: Vec<u8>) -> Self {
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (line_sender, stderr_lines) = mpsc::channel();
        let (stdout_sender, stdout_receiver) = mpsc::channel();
        std::thread::spawn(move || {
            stdin.map(|mut stdin| std::io::Write::write_all(&mut stdin, &input))
        });
        std::thread::spawn(move || stdout.map(|stdout| stdout_sender.send(read_bounded(stdout))));
        std::thread::spawn(move || stderr.map(|stderr| forward_lines(stderr, &line_sender)));
        Self { stderr_lines, stdout: stdout_receiver }
    }
}

/// Sends each line, until the end or until the receiver is gone.
fn forward_lines(stderr: impl Read, lines: &mpsc::Sender<Vec<u8>>) {
    let mut reader = BufReader::new(stderr.take(MAX_STDERR_BYTES));
    let mut line = Vec::new();
    while read_line(&mut reader, &mut line).is_ok_and(|count| count > 0) {
        if lines.send(std::mem::take(&mut line)).is_err() {
            return;
        }
    }
}

/// Reads up to a line feed, or up to a carriage return: git ends progress lines with one.
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
