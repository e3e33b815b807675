//! The output and exit code of a run of `sp`.

use std::fmt;
use std::process::Output;

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

    /// Panics unless it failed with this exit code.
    #[track_caller]
    pub fn fails(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
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
