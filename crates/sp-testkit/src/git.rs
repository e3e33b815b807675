//! Real git repositories.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub struct GitRepository {
    path: PathBuf,
}

impl GitRepository {
    /// Creates a repository with the branch `main` and no commit.
    pub fn new(path: PathBuf) -> Self {
        Self::with(path, &[])
    }

    /// Creates a repository with additional arguments to `git init`.
    pub fn with(path: PathBuf, args: &[&str]) -> Self {
        std::fs::create_dir_all(&path).expect("a directory");
        let repo = Self { path };
        let mut init = vec!["init", "--quiet", "--initial-branch=main"];
        init.extend(args);
        repo.git(&init);
        repo.git(&["config", "uploadpack.allowFilter", "true"]);
        repo.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
        repo
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the `file://` URL.
    pub fn url(&self) -> String {
        format!("file://{}", self.path.display())
    }

    /// Writes a file in the working tree.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path.join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, text).expect("a file");
        self
    }

    /// Writes a small skill.
    pub fn skill(&self, id: &str) -> &Self {
        let name = id.rsplit('/').next().unwrap_or(id);
        self.write(
            &format!("{id}/SKILL.md"),
            format!("---\nname: {name}\ndescription: Does {name}.\n---\n\nDo {name}.\n"),
        )
    }

    /// Creates a link in the working tree.
    pub fn link(&self, path: &str, target: &str) -> &Self {
        let path = self.path.join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::os::unix::fs::symlink(target, path).expect("a link");
        self
    }

    /// Commits everything and returns the commit.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all", "--force"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.head()
    }

    /// Returns the commit of HEAD.
    pub fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"]).trim().into()
    }

    /// Commits a tree made with `git mktree`, for entries that no working tree can contain.
    pub fn commit_tree(&self, lines: &[u8]) -> String {
        let tree = self.git_with_input(&["mktree", "--missing"], lines);
        let commit = self.git(&["commit-tree", "-m", "made by hand", tree.trim()]);
        self.git(&["update-ref", "refs/heads/main", commit.trim()]);
        commit.trim().into()
    }

    /// Stores a blob and returns its ID.
    pub fn blob(&self, bytes: &[u8]) -> String {
        self.git_with_input(&["hash-object", "-w", "--stdin"], bytes).trim().into()
    }

    /// Runs git in the repository and returns its output.
    pub fn git(&self, args: &[&str]) -> String {
        self.git_with_input(args, b"")
    }

    /// Runs git with input.
    pub fn git_with_input(&self, args: &[&str], input: &[u8]) -> String {
        use std::io::Write;
        let mut child = git_command(&self.path)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("git");
        child.stdin.take().expect("a pipe").write_all(input).expect("git reads");
        let output = child.wait_with_output().expect("git ends");
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Returns `git` without user configuration, and with a fixed clock.
pub(crate) fn git_command(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(dir).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", "/nonexistent").env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
    for who in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{who}_NAME"), "A Tester")
            .env(format!("GIT_{who}_EMAIL"), "tester@example.com");
        command.env(format!("GIT_{who}_DATE"), "2026-01-02T03:04:05Z");
    }
    command
}
