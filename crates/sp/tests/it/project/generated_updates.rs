//! AU-05: generated updates, each applied by `sp update` in this process.

use std::sync::Mutex;

use sp_engine::{
    ApplyMode, Context, EditChoice, Event, EventListener, FileTexts, ProjectLocation, SinkScope,
    UpdateRequest, update,
};

use super::*;
use crate::support::engine::engine_context;

/// How many updates are generated.
const UPDATES: u64 = 200;

const PROSE: &[&str] = &[
    "Keep the summary short and list every change.",
    "## Style\n\nUse plain words, and one idea per sentence.",
    "See [the guide](https://docs.example.com/style) for examples.",
    "| column | meaning |\n|---|---|\n| name | the name of the item |",
    "Ask the user if a value is missing.",
];
const SECRETS: &[&str] = &["~/.ssh/id_rsa", "~/.aws/credentials", "~/.netrc", "~/.kube/config"];

/// Answers the question about capabilities, and remembers what was asked.
struct Listener {
    approves: bool,
    asked: Mutex<Vec<String>>,
}

impl EventListener for Listener {
    fn on_event(&self, _: Event<'_>) {}

    fn approves_capabilities(&self, added: &str) -> bool {
        self.asked.lock().unwrap().push(added.to_owned());
        self.approves
    }
}

/// A skill with files that grow with every update.
#[derive(Default)]
struct GrowingSkill {
    body: String,
    shell: String,
    python: String,
    javascript: String,
}

impl GrowingSkill {
    fn write(&self, world: &World) {
        let dir = world.path("home/shared/sample");
        std::fs::create_dir_all(&dir).unwrap();
        let text = format!(
            "---\nname: sample\ndescription: Helps with reports.\n---\n\n# Report\n\n{}",
            self.body
        );
        std::fs::write(dir.join("SKILL.md"), text).unwrap();
        std::fs::write(dir.join("run.sh"), format!("#!/bin/sh\n{}", self.shell)).unwrap();
        std::fs::write(dir.join("run.py"), format!("import os\n{}", self.python)).unwrap();
        std::fs::write(dir.join("run.js"), &self.javascript).unwrap();
    }

    fn add_prose(&mut self, number: u64) {
        let prose = PROSE[usize::try_from(number).unwrap() % PROSE.len()];
        self.body += &format!("{prose}\n\nThis is paragraph {number}.\n\n");
    }

    /// Adds a host, a program or a file with secrets in one of the files, and returns the
    /// capability.
    fn add_capability(&mut self, number: u64) -> String {
        let secret = SECRETS[usize::try_from(number / 3).unwrap() % SECRETS.len()];
        let path = secret.replace("~/", &format!("~/user{number}/"));
        let (host, program) = (format!("h{number}.example.com"), format!("tool-{number}"));
        let (capability, command) = match number % 3 {
            0 => (format!("host {host}"), format!("curl -s https://{host}/v1")),
            1 => (format!("program {program}"), format!("{program} --version")),
            _ => (format!("secret {path}"), format!("cat {path}")),
        };
        match (number / 3) % 4 {
            0 => self.shell += &format!("{command}\n"),
            1 => self.python += &format!("os.system('{command}')\n"),
            2 => {
                let call = format!("require('child_process').execSync('{command}');\n");
                self.javascript += &call;
            }
            _ => self.body += &format!("```bash\n{command}\n```\n\n"),
        }
        capability
    }
}

/// Runs `sp update`, and returns what was asked and whether the update was applied.
fn run_update(world: &World, approves: bool) -> (Vec<String>, Result<(), sp_engine::Error>) {
    let listener = Listener { approves, asked: Mutex::default() };
    let mut context: Context<'_> = engine_context(world);
    context.current_dir = world.path("home/app");
    context.listener = &listener;
    let request = UpdateRequest {
        location: ProjectLocation { scope: SinkScope::Project, root: None },
        names: Vec::new(),
        edits: EditChoice::Policy,
        texts: FileTexts::Omit,
        apply: ApplyMode::Apply.into(),
    };
    let result = update(&context, &request).map(drop);
    (listener.asked.into_inner().unwrap(), result)
}

fn installed(world: &World) -> String {
    let dir = world.path("home/app/.claude/skills/sample");
    ["SKILL.md", "run.sh", "run.py", "run.js"].map(|file| read(&dir.join(file))).concat()
}

#[test]
fn au_05_generated_updates_ask_exactly_if_they_add_a_capability() {
    let project = Project::new();
    let world = &project.world;
    let mut skill = GrowingSkill::default();
    for command in ["curl -s https://a.example.com", "cat notes.txt"] {
        skill.shell += &format!("{command}\n");
        skill.python += &format!("os.system('{command}')\n");
    }
    skill.write(world);
    project.add(&["../shared", "--all", "-a", "claude"]).ok();
    for number in 0..UPDATES {
        let before = installed(world);
        if number % 2 == 0 {
            skill.add_prose(number);
            skill.write(world);
            let (asked, result) = run_update(world, false);
            assert!(result.is_ok() && asked.is_empty(), "{number}: {asked:?} {result:?}");
        } else {
            let capability = skill.add_capability(number / 2);
            skill.write(world);
            let (asked, result) = run_update(world, false);
            let error = result.expect_err(&capability);
            assert_eq!(error.code(), "E-new-capabilities", "{capability}");
            assert!(asked.concat().contains(&capability), "{capability}: {asked:?}");
            assert_eq!(installed(world), before, "{capability}: nothing is changed");
            let (asked, result) = run_update(world, true);
            assert!(result.is_ok() && asked.len() == 1, "{capability}: {result:?}");
        }
        assert_ne!(installed(world), before, "{number}: the update is installed");
    }
}
