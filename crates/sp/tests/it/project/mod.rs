//! Projects: `skillpack.yaml`, `skillpack.lock`, and the commands that keep them and the agents'
//! directories in step.

mod adding;
mod concurrency;
mod context_packs;
mod costs;
mod generated_updates;
mod interruptions;
mod kinds;
mod migrating;
mod packages;
mod packs;
mod picking;
mod policies;
mod positions;
mod states;
mod syncing;
mod trust;
mod updating;
mod workspace_syncing;
mod workspaces;

use std::path::Path;

use sp_testkit::{CliError, GitRepository, Run, World, world};

/// The directory of agents in a project.
const CLAUDE: &str = ".claude/skills";

/// Two versions of a skill, which differ in the first line of the body.
const OLD_PDF: &str =
    "---\nname: pdf\ndescription: Does pdf.\n---\n\nFirst line.\n\nMiddle line.\n\nLast line.\n";
const NEW_PDF: &str = "---\nname: pdf\ndescription: Does pdf.\n---\n\nNew first line.\n\nMiddle line.\n\nLast line.\n";

/// A world with an empty project `app`, in which `acme/skills` stands for a local repository.
struct Project {
    world: World,
    upstream: GitRepository,
}

impl Project {
    fn new() -> Self {
        let world = world!();
        let upstream = world.git("skills.git");
        for id in ["skills/pdf", "skills/docx", "skills/xlsx"] {
            upstream.skill(id);
        }
        upstream.commit("skills");
        let git = world.path("git");
        let config = format!(
            "[url \"file://{}/\"]\n\tinsteadOf = https://github.com/acme/\n",
            git.display()
        );
        std::fs::write(world.home().join(".gitconfig"), config).unwrap();
        std::fs::create_dir_all(world.path("home/app/.git")).unwrap();
        Self { world, upstream }
    }

    /// Runs `sp` in the project.
    fn sp(&self, args: &[&str]) -> Run {
        self.world.sp_in("home/app", args)
    }

    fn add(&self, args: &[&str]) -> Run {
        self.sp(&[&["add"], args].concat())
    }

    /// Runs a command that must fail with this code, and change nothing in the project.
    #[track_caller]
    fn fails(&self, args: &[&str], code: &str) -> CliError {
        let before = self.world.files("home/app");
        let error = self.world.sp_error_in("home/app", args);
        assert_eq!(error.code, code, "{args:?}: {error:?}");
        assert_eq!(self.world.files("home/app"), before, "{args:?}");
        error
    }

    /// Runs git in the project. Returns whether it succeeded.
    fn git(&self, args: &[&str]) -> bool {
        let mut command = std::process::Command::new("git");
        command.args(args).current_dir(self.path(".")).env_clear();
        command.env("HOME", "/nonexistent").env("PATH", std::env::var_os("PATH").unwrap());
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "A").env(format!("GIT_{who}_EMAIL"), "a@b");
        }
        command.output().unwrap().status.success()
    }

    /// Makes the project a git repository, and commits everything that is not ignored.
    fn init_git(&self, ignored: &str) {
        std::fs::remove_dir_all(self.path(".git")).unwrap();
        assert!(self.git(&["init", "-q", "-b", "main"]));
        self.write(".gitignore", ignored);
        assert!(self.git(&["add", "."]) && self.git(&["commit", "-qm", "base"]));
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.world.path("home/app").join(path)
    }

    fn read(&self, path: &str) -> String {
        read(&self.path(path))
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The names of the skills of an agent.
    fn skills(&self, dir: &str) -> Vec<String> {
        let files = sp_testkit::files(&self.path(dir));
        files.into_keys().filter(|name| !name.contains('/')).collect()
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
