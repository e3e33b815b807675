//! The output and exit code of a run of `sp`.

use std::fmt;
use std::process::Output;

use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The exit code; `None` if it was killed by a signal.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    pub(crate) fn of(output: &Output, replace: impl Fn(&str) -> String) -> Self {
        Self {
            code: output.status.code(),
            stdout: replace(&String::from_utf8_lossy(&output.stdout)),
            stderr: replace(&String::from_utf8_lossy(&output.stderr)),
        }
    }

    /// Panics unless it succeeded.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self}");
        self
    }

    /// Returns the error that a command with `--format json` printed. Panics if there is none, or
    /// if it does not match the exit code.
    #[track_caller]
    pub fn error(&self) -> CliError {
        #[derive(Deserialize)]
        struct Printed {
            error: CliError,
        }
        let line = self.stderr.lines().last().unwrap_or_default();
        let printed: Printed =
            serde_json::from_str(line).unwrap_or_else(|e| panic!("no JSON error: {e}\n{self}"));
        assert_eq!(self.code, Some(printed.error.exit_code), "{self}");
        assert_eq!(self.stdout, "", "a failed command prints nothing to stdout");
        printed.error
    }

    /// Panics unless it failed with this exit code.
    #[track_caller]
    pub fn fails(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }
}

/// The error that a failed command prints with `--format json`.
#[derive(Debug, Clone, Deserialize)]
pub struct CliError {
    pub code: String,
    pub exit_code: i32,
    pub message: String,
    pub because: Vec<String>,
    pub hints: Vec<String>,
    pub findings: Vec<CliFinding>,
    /// The text in a file that the error is about.
    pub position: Option<CliPosition>,
}

/// A position in a file of the user.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CliPosition {
    pub file: String,
    pub line: u64,
    pub column: u64,
}

/// A finding of a [`CliError`].
#[derive(Debug, Clone, Deserialize)]
pub struct CliFinding {
    pub rule: String,
    pub file: String,
    pub line: u64,
    pub column: u64,
    pub message: String,
}

impl CliError {
    /// Whether one of the hints contains this text, such as a command or a flag.
    pub fn hints_at(&self, text: &str) -> bool {
        self.hints.iter().any(|hint| hint.contains(text))
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => writeln!(f, "exit: {code}")?,
            None => writeln!(f, "killed")?,
        }
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                write!(f, "--- {name}\n{text}")?;
                if !text.ends_with('\n') {
                    writeln!(f, "\n(no line feed)")?;
                }
            }
        }
        Ok(())
    }
}
