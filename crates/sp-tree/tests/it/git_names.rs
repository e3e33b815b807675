//! Names that git treats as `.git` on some platform are rejected. The oracle is git itself.

use std::process::{Command, Stdio};

use sp_tree::{PathError, RelPath};
use tempfile::TempDir;

/// The code points that HFS+ ignores in names.
const IGNORED_BY_HFS: &[char] = &[
    '\u{200c}', '\u{200d}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}',
    '\u{202e}', '\u{206a}', '\u{206b}', '\u{206c}', '\u{206d}', '\u{206e}', '\u{206f}', '\u{feff}',
];

/// A repository in which git protects against the file systems of all platforms.
struct Git(TempDir);

impl Git {
    fn new() -> Self {
        let git = Self(TempDir::new().unwrap());
        assert!(git.run(&["init", "--quiet", "."]));
        git
    }

    fn run(&self, args: &[&str]) -> bool {
        let mut command = Command::new("git");
        command
            .current_dir(self.0.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.args(["-c", "core.protectHFS=true", "-c", "core.protectNTFS=true"]).args(args);
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
    }

    /// Returns whether git refuses to track a file with this path.
    fn rejects(&self, path: &str) -> bool {
        let entry = format!("100644,{},{path}", "1".repeat(40));
        !self.run(&["update-index", "--add", "--replace", "--cacheinfo", &entry])
    }
}

#[track_caller]
fn assert_git_dir(path: &str) {
    assert!(
        matches!(RelPath::new(path), Err(PathError::GitDir(_))),
        "{path:?}: {:?}",
        RelPath::new(path)
    );
}

#[test]
fn se_03_dot_git_spellings_are_rejected_at_every_depth() {
    let git = Git::new();
    assert!(!git.rejects("a/.gitignore") && !git.rejects(".github/git"), "git rejects everything");
    let mut spellings: Vec<String> = [
        ".git",
        ".GIT",
        ".gIt",
        "git~1",
        "GIT~1",
        "Git~1",
        ".git.",
        ".git ",
        ".git. . ",
        "git~1.",
        "git~1 ",
        ".git::$INDEX_ALLOCATION",
        ".GIT:stream",
        ".git...:x",
        "git~1::$INDEX_ALLOCATION",
        ".git\\config",
        ".git \\x",
        "git~1\\config",
    ]
    .map(str::to_owned)
    .to_vec();
    for ignored in IGNORED_BY_HFS {
        for index in 0..=4 {
            let (start, rest) = ".Git".split_at(index);
            spellings.push(format!("{start}{ignored}{rest}"));
        }
    }
    for spelling in &spellings {
        assert!(git.rejects(&format!("{spelling}/config")), "git accepts {spelling:?}");
        for path in [
            spelling.clone(),
            format!("{spelling}/config"),
            format!("a/b/{spelling}"),
            format!("a/{spelling}/c"),
        ] {
            assert_git_dir(&path);
        }
    }
}

#[test]
fn se_03_dot_git_spellings_of_other_file_systems_are_rejected() {
    for name in [
        // Further short names, which NTFS assigns if the first is in use.
        "git~2",
        "GIT~12",
        // Case-insensitive directories on ext4 and F2FS ignore all default-ignorable code points.
        ".g\u{ad}it",
        ".gi\u{200b}t",
        ".git\u{fe0f}",
        "\u{e0041}.git",
        // Case folding and normalization outside of ASCII.
        ".g\u{131}t",
        "\u{ff0e}git",
        ".\u{ff27}it",
        "git\u{ff5e}1",
        // Combinations.
        ".G\u{200c}i\u{feff}T\u{202e}. :x",
    ] {
        assert_git_dir(name);
        assert_git_dir(&format!("a/{name}/config"));
    }
}

#[test]
fn se_03_names_similar_to_dot_git_are_accepted() {
    for name in [
        ".gitignore",
        ".gitattributes",
        ".gitmodules",
        ".github",
        ".gitkeep",
        "git",
        "git~",
        "git~a",
        "git~1a",
        "agit~1",
        "..git",
        ".gi",
        ".gitt",
        ".git.md",
        ".git-x",
        "x.git",
        "repo.git",
        ".g it",
        ". git",
        ".gît",
        "日本.git",
    ] {
        assert!(RelPath::new(&format!("a/{name}")).is_ok(), "{name}");
    }
}

/// A pseudorandom number generator with a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

#[test]
fn se_03_random_names_that_git_rejects_are_rejected() {
    const SUFFIXES: &[&str] =
        &["", "", "", ".", " ", ". ", ":", ":x", "::$DATA", "\\", "\\x", "x", "~1", "\u{200d}"];
    let (git, mut random, mut rejected) = (Git::new(), Random(15), 0);
    for _ in 0..400 {
        let mut name = String::new();
        for c in
            random.pick(&[".git", ".git", ".git", "git~1", "git~2", ".gi", ".gitx", "git"]).chars()
        {
            if random.below(8) == 0 {
                name.push(IGNORED_BY_HFS[random.below(IGNORED_BY_HFS.len())]);
            }
            name.push(if random.below(3) == 0 { c.to_ascii_uppercase() } else { c });
        }
        name.push_str(random.pick(SUFFIXES));
        name.push_str(random.pick(SUFFIXES));
        if git.rejects(&format!("{name}/config")) {
            rejected += 1;
            assert!(RelPath::new(&format!("a/{name}/config")).is_err(), "git rejects {name:?}");
        }
    }
    assert!(rejected > 80, "git rejects only {rejected} names");
}
