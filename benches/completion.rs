//! `sp __complete`, which a shell waits for when the user presses Tab.

use std::time::Duration;

use super::{Bench, time};

const INSTALLED_SKILLS: usize = 500;
const PACKAGES: usize = 100;
const COMPLETION_RUNS: usize = 50;
const MAX_MILLISECONDS: f64 = 10.0;

impl Bench {
    /// Completes each kind of name, with many skills and packages on this machine.
    pub(super) fn completion(&self) {
        self.install_names();
        println!(
            "\n{INSTALLED_SKILLS} installed skills, {PACKAGES} packages; medians of \
             {COMPLETION_RUNS} runs; limit {MAX_MILLISECONDS} ms"
        );
        for line in [
            "sp ",
            "sp install ",
            "sp uninstall ",
            "sp install many --agent ",
            "sp why ",
            "sp bag run ",
            "sp pkg info ",
            "sp explain ",
        ] {
            let last = line.rsplit(' ').next().unwrap_or_default();
            let mut times: Vec<Duration> = (0..COMPLETION_RUNS)
                .map(|_| {
                    let mut complete = self.sp(&["__complete", "bash", line, last]);
                    time(complete.current_dir(self.path("names")))
                })
                .collect();
            times.sort();
            let milliseconds = times[COMPLETION_RUNS / 2].as_secs_f64() * 1000.0;
            println!("{line:<44} {milliseconds:>7.1} ms");
        }
    }

    /// Installs the skills from a pack and into a project, and fills the store.
    fn install_names(&self) {
        let root = self.path("names");
        let write = |path: String, text: String| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("create directory");
            std::fs::write(path, text).expect("write file");
        };
        let skill =
            |name: &str| format!("---\nname: {name}\ndescription: Does {name}.\n---\n\nDo it.\n");
        for number in 0..INSTALLED_SKILLS {
            write(format!("skills/s{number}/SKILL.md"), skill(&format!("s{number}")));
            write(format!(".skills/w{number}/SKILL.md"), skill(&format!("w{number}")));
        }
        write("packs/many.yaml".into(), "name: many\ninclude: ['**']\n".into());
        std::fs::create_dir_all(self.path("home")).expect("create home directory");
        let run = |args: &[&str]| time(self.sp(args).current_dir(&root));
        run(&["install", "many", "--agent", "claude"]);
        run(&["add", "./skills", "--all", "--agent", "codex"]);
        let nodes = "nodes:\n  - {id: F1, type: fact, content: One.}\n";
        write("facts.yaml".into(), nodes.into());
        for number in 0..PACKAGES {
            run(&["pkg", "create", "--name", &format!("p{number}"), "--input", "facts.yaml"]);
        }
    }
}
