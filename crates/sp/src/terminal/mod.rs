//! Output of `sp`: data to stdout; warnings, hints, progress and errors to stderr.
//!
//! A [`Terminal`] knows the output format and verbosity. Commands print reports through it, and the
//! engine reports events to it. Text from files, servers and arguments is escaped before it is
//! printed, so that it cannot control the terminal.

mod diagnostics;
mod diff;
mod json;
mod layout;
mod progress;
mod table;
mod usage;

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use sp_engine::{Error, ErrorCode, Event, EventListener, RecoveryOutcome, Result};
use sp_formats::printable::printable_lines;
use sp_formats::report::{Report, Severity};
use sp_formats::text::{ByteSize, plural, pluralize};

use crate::cli::OutputFormat;
pub(crate) use diagnostics::render_snippet;
pub(crate) use diff::{colored_diff, plain_diff};
use json::EscapingFormatter;
use layout::wrap_lines;
pub(crate) use layout::{columns, pad, truncate_columns, wrap};
use progress::ProgressLine;
pub(crate) use table::table;
pub(crate) use usage::parse_cli;

pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default().bold();
pub(crate) const ADDED: Style = AnsiColor::Green.on_default();
pub(crate) const CHANGED: Style = AnsiColor::Yellow.on_default();
pub(crate) const REMOVED: Style = AnsiColor::Red.on_default();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const STRONG: Style = Style::new().bold();
/// The arrow before a location.
const MARK: Style = AnsiColor::BrightBlue.on_default().bold();

/// Further files with warnings are counted, not shown, unless `--verbose` is given.
const MAX_SHOWN_REPORTS: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verbosity {
    Normal,
    Verbose,
}

impl Verbosity {
    pub(crate) fn from_flag(verbose: bool) -> Self {
        if verbose { Self::Verbose } else { Self::Normal }
    }
}

pub(crate) struct Terminal {
    pub format: OutputFormat,
    pub verbosity: Verbosity,
    progress: ProgressLine,
    report_count: Mutex<usize>,
    stdout_closed: AtomicBool,
}

impl Terminal {
    pub(crate) fn new(format: OutputFormat, verbosity: Verbosity) -> Self {
        let on_terminal = std::io::stderr().is_terminal() && format == OutputFormat::Human;
        Self {
            format,
            verbosity,
            progress: ProgressLine::new(on_terminal),
            report_count: Mutex::new(0),
            stdout_closed: AtomicBool::new(false),
        }
    }

    /// Prints a report: the value as JSON, or the text that `text` writes.
    pub(crate) fn print<T: Serialize>(
        &self,
        value: &T,
        text: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) -> Result<()> {
        match self.format {
            OutputFormat::Json => self.print_json(value),
            _ => self.print_text(text),
        }
    }

    /// Prints a value as JSON, regardless of the format.
    pub(crate) fn print_json<T: Serialize>(&self, value: &T) -> Result<()> {
        self.print_exactly(|out| write_json(value, out))
    }

    /// Prints text, regardless of the format. Text for people is wrapped at the width of the
    /// terminal.
    pub(crate) fn print_text(
        &self,
        text: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) -> Result<()> {
        let Some(width) = self.width().filter(|_| self.format == OutputFormat::Human) else {
            return self.print_exactly(text);
        };
        self.print_exactly(|out| {
            let mut buffer = Vec::new();
            text(&mut buffer)?;
            out.write_all(wrap_lines(&String::from_utf8_lossy(&buffer), width).as_bytes())
        })
    }

    /// Prints text that other programs read, without wrapping it.
    pub(crate) fn print_exactly(
        &self,
        text: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) -> Result<()> {
        self.progress.clear();
        self.print_hidden_report_count();
        let stdout = std::io::stdout();
        let colors = anstream::AutoStream::choice(&stdout);
        // Without colors, each piece between two of them is written separately, so there is also a
        // buffer below.
        let mut stdout = std::io::BufWriter::new(stdout.lock());
        let below: &mut dyn Write = &mut stdout;
        let mut out = std::io::BufWriter::new(anstream::AutoStream::new(below, colors));
        match text(&mut out).and_then(|()| out.flush()) {
            // The reader closed the pipe, as `head` does.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => {
                self.stdout_closed.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(e) => {
                Err(Error::new(ErrorCode::Output, "cannot write to standard output").because(e))
            }
            Ok(()) => Ok(()),
        }
    }

    /// Whether a person reads the output and can answer.
    pub(crate) fn is_interactive(&self) -> bool {
        self.format == OutputFormat::Human
            && std::io::stdin().is_terminal()
            && std::io::stderr().is_terminal()
    }

    /// Asks a question on stderr. Anything but yes means no.
    pub(crate) fn confirm(&self, question: &str) -> Result<bool> {
        self.print_stderr(&format!("{STRONG}{question}{STRONG:#} [y/N] "));
        let mut answer = String::new();
        let read = std::io::stdin().read_line(&mut answer);
        read.map_err(|e| Error::new(ErrorCode::Output, "cannot read the answer").because(e))?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// Whether a write to stdout has failed because the reader closed the pipe.
    pub(crate) fn is_stdout_closed(&self) -> bool {
        self.stdout_closed.load(Ordering::Relaxed)
    }

    /// Prints an error with its findings, causes and hints.
    pub(crate) fn print_error(&self, error: &Error) {
        self.progress.clear();
        let text = match self.format {
            OutputFormat::Json => diagnostics::error_json(error),
            _ => diagnostics::error_text(error, stderr_width()),
        };
        write_stderr(&text);
    }

    /// Returns the width of the terminal, or `None` if stdout is not a terminal.
    pub(crate) fn width(&self) -> Option<u16> {
        width_of(std::io::stdout())
    }

    /// Prints text that is not part of the result.
    pub(crate) fn print_stderr(&self, text: &str) {
        self.progress.clear();
        write_stderr(text);
    }

    /// Clears the screen, if stdout is a terminal.
    pub(crate) fn clear_screen(&self) -> Result<()> {
        let on_terminal = std::io::stdout().is_terminal();
        self.print_text(
            |out| if on_terminal { write!(out, "\x1b[2J\x1b[3J\x1b[H") } else { Ok(()) },
        )
    }

    fn print_labelled(&self, style: Style, label: &str, text: &str) {
        self.progress.clear();
        write_stderr(&format!("{style}{label}:{style:#} {}\n", printable_lines(text)));
    }

    fn print_report(&self, report: &Report) {
        let mut seen = match self.report_count.lock() {
            Ok(seen) => seen,
            Err(poisoned) => poisoned.into_inner(),
        };
        *seen += 1;
        if *seen <= MAX_SHOWN_REPORTS || self.verbosity == Verbosity::Verbose {
            self.progress.clear();
            write_stderr(&diagnostics::render_findings(report, stderr_width()));
        }
    }

    fn print_hidden_report_count(&self) {
        let seen =
            self.report_count.lock().map(|mut seen| std::mem::take(&mut *seen)).unwrap_or_default();
        if seen > MAX_SHOWN_REPORTS && self.verbosity == Verbosity::Normal {
            let more = seen - MAX_SHOWN_REPORTS;
            self.print_labelled(
                WARNING,
                "warning",
                &format!(
                    "{more} more {}; use `--verbose` to show them",
                    plural(more, "file has warnings", "files have warnings")
                ),
            );
        }
    }
}

impl EventListener for Terminal {
    fn approves_capabilities(&self, added: &str) -> bool {
        if !self.is_interactive() {
            return false;
        }
        let list = printable_lines(added);
        self.print_labelled(WARNING, "warning", &format!("the update adds capabilities\n{list}"));
        self.confirm("Accept them?").unwrap_or_default()
    }

    fn on_event(&self, event: Event<'_>) {
        match event {
            Event::Waiting => {
                self.print_labelled(HINT, "waiting", "another `sp` process is running");
            }
            Event::Recovered(recovery) => {
                self.print_labelled(HINT, "recovered", recovery_message(&recovery.outcome));
                for kept in &recovery.trashed {
                    let (from, to) = (kept.from.display(), kept.to.display());
                    let text = format!("moved the edited `{from}` to `{to}`");
                    self.print_labelled(HINT, "kept", &text);
                }
            }
            Event::Fetching { repo, progress } => {
                self.progress.show(printable_lines(&match progress {
                    Some(text) => {
                        format!("fetching {repo}: {}", text.trim_start_matches("remote: "))
                    }
                    None => format!("fetching {repo}"),
                }));
            }
            Event::Fetched { .. } => {}
            Event::Downloading { done, total, .. } if done == total => self.progress.clear(),
            Event::Downloading { what, done, total } => {
                self.progress.show(format!(
                    "downloading {what}: {} of {}",
                    ByteSize(done),
                    ByteSize(total)
                ));
            }
            Event::Sending { to, done, total } if done < total => {
                self.progress
                    .show(printable_lines(&format!("sending to {to}: {}%", done * 100 / total)));
            }
            Event::Sending { .. } => {}
            Event::Staging { done, total } => {
                if done == total {
                    self.progress.clear();
                } else if done % 16 == 0 {
                    self.progress.show(format!("copying {done} of {}", pluralize(total, "skill")));
                }
            }
            Event::Reading { done, total } => {
                self.progress.show(format!("read {done} of {}", pluralize(total, "file")));
            }
            Event::Composing { done, total } => {
                self.progress.show(format!("composed {done} of {}", pluralize(total, "part")));
            }
            Event::Checking { done } => {
                self.progress.show(format!("checked {}", pluralize(done, "skill")));
            }
            Event::Rewritten { file, before, after } => {
                if std::io::stdout().is_terminal() && self.format == OutputFormat::Human {
                    self.progress.clear();
                    write_stderr(&diff::colored_diff(file, before, after));
                }
            }
            Event::Warning(text) => self.print_labelled(WARNING, "warning", &text),
            Event::Findings(report) => self.print_report(report),
            Event::Hint(text) => self.print_labelled(HINT, "hint", &text),
            Event::Detail(text) if self.verbosity == Verbosity::Verbose => {
                self.print_labelled(DIM, "note", &text);
            }
            Event::Omitted(text) if self.verbosity == Verbosity::Normal => {
                let text = format!("{text}; use `--verbose` to list all");
                self.print_labelled(WARNING, "warning", &text);
            }
            Event::Detail(_) | Event::Omitted(_) => {}
        }
    }
}

fn recovery_message(outcome: &RecoveryOutcome) -> &'static str {
    match outcome {
        RecoveryOutcome::RolledBack => {
            "an earlier run was interrupted; its changes were rolled back"
        }
        RecoveryOutcome::Finished => {
            "an earlier run was interrupted; its remaining steps were completed"
        }
    }
}

/// Returns a value as JSON, exactly as it would be printed.
pub(crate) fn to_json<T: Serialize>(value: &T) -> Result<String> {
    let mut bytes = Vec::new();
    let text = write_json(value, &mut bytes)
        .and_then(|()| String::from_utf8(bytes).map_err(std::io::Error::other));
    text.map_err(|e| Error::new(ErrorCode::Internal, "cannot write the output as JSON").because(e))
}

fn write_json<T: Serialize>(value: &T, out: &mut dyn Write) -> std::io::Result<()> {
    let mut serializer =
        serde_json::Serializer::with_formatter(&mut *out, EscapingFormatter::default());
    value.serialize(&mut serializer)?;
    writeln!(out)
}

/// Writes to stderr, wrapped at the width of the terminal. A failure is ignored, because there is
/// nowhere left to report it.
fn write_stderr(text: &str) {
    let wrapped = stderr_width().map(|width| wrap_lines(text, width));
    let text = wrapped.as_deref().unwrap_or(text);
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// Returns the width of the terminal, or `None` if the stream is not a terminal.
fn width_of(stream: impl std::os::fd::AsFd) -> Option<u16> {
    terminal_size::terminal_size_of(stream).map(|(terminal_size::Width(width), _)| width)
}

fn stderr_width() -> Option<u16> {
    width_of(std::io::stderr())
}

fn severity_style(severity: Severity) -> Style {
    match severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
        Severity::Note => HINT,
    }
}
