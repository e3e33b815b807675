//! Commands on a terminal, which `python3` opens.

use std::process::{Command, Stdio};

use crate::run::Run;
use crate::world::World;

const RUN_ON_TERMINAL: &str = include_str!("terminal.py");

impl World {
    /// Runs `sp` on a terminal of this width, on which `input` is typed. Stdout of the run is what
    /// the terminal shows.
    pub fn sp_on_terminal(
        &self,
        width: u16,
        args: &[&str],
        input: &str,
        env: &[(&str, &str)],
    ) -> Run {
        self.sp_after_prompt(width, args, ("", input), env)
    }

    /// Runs `sp` on a terminal, on which `input` is typed when it shows the prompt. If a signal
    /// ends it, the exit code is the one that a shell reports.
    pub fn sp_after_prompt(
        &self,
        width: u16,
        args: &[&str],
        (prompt, input): (&str, &str),
        env: &[(&str, &str)],
    ) -> Run {
        let sp = self.command(args);
        let mut python = Command::new("python3");
        python.args(["-c", RUN_ON_TERMINAL, &width.to_string(), prompt, input]);
        // `python3` itself keeps the environment of the test, which may be needed to start it.
        python.args(["env", "-i", "TERM=xterm", "NO_COLOR=1"]);
        for (name, value) in sp.get_envs() {
            let mut variable = name.to_owned();
            variable.push("=");
            variable.push(value.unwrap_or_default());
            python.arg(variable);
        }
        python.args(env.iter().map(|(name, value)| format!("{name}={value}")));
        python.arg(sp.get_program()).args(args).current_dir(self.repo()).stdin(Stdio::null());
        self.run(python)
    }
}
