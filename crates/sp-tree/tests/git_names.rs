//! No name that git reads as `.git`, on any platform, becomes a path. Git itself is asked.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test asks the real git")]

use std::process::{Command, Stdio};

use sp_tree::{PathError, RelPath};
use tempfile::TempDir;

/// The code points that HFS+ ignores in names.
const IGNORED_BY_HFS: &[char] = &[
    '\u{200c}', '\u{200d}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}',
    '\u{202e}', '\u{206a}', '\u{206b}', '\u{206c}', '\u{206d}', '\u{206e}', '\u{206f}', '\u{feff}',
];

/// A git that protects against the file systems of all platforms.
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

    /// Whether git refuses to track a file with this path.
    fn refuses(&self, path: &str) -> bool {
        let entry = format!("100644,{},{path}", "1".repeat(40));
        !self.run(&["update-index", "--add", "--replace", "--cacheinfo", &entry])
    }
}

#[track_caller]
fn is_git_dir(path: &str) {
    assert!(
        matches!(RelPath::new(path), Err(PathError::GitDir(_))),
        "{path:?}: {:?}",
        RelPath::new(path)
    );
}

#[test]
fn se_03_every_spelling_that_git_refuses_is_refused_at_every_depth() {
    let git = Git::new();
    assert!(!git.refuses("a/.gitignore") && !git.refuses(".github/git"), "git refuses everything");
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
        for at in 0..=4 {
            let (start, rest) = ".Git".split_at(at);
            spellings.push(format!("{start}{ignored}{rest}"));
        }
    }
    for spelling in &spellings {
        assert!(git.refuses(&format!("{spelling}/config")), "git takes {spelling:?}");
        for path in [
            spelling.clone(),
            format!("{spelling}/config"),
            format!("a/b/{spelling}"),
            format!("a/{spelling}/c"),
        ] {
            is_git_dir(&path);
        }
    }
}

#[test]
fn se_03_what_other_file_systems_open_as_git_is_refused_too() {
    for name in [
        // Another short name, where the first was taken.
        "git~2",
        "GIT~12",
        // Directories of ext4 and F2FS that fold case ignore every default-ignorable code point.
        ".g\u{ad}it",
        ".gi\u{200b}t",
        ".git\u{fe0f}",
        "\u{e0041}.git",
        // Case and forms by tables that are wider than those of ASCII.
        ".g\u{131}t",
        "\u{ff0e}git",
        ".\u{ff27}it",
        "git\u{ff5e}1",
        // Several at once.
        ".G\u{200c}i\u{feff}T\u{202e}. :x",
    ] {
        is_git_dir(name);
        is_git_dir(&format!("a/{name}/config"));
    }
}

#[test]
fn se_03_names_that_only_look_like_git_are_taken() {
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

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

#[test]
fn se_03_whatever_spelling_git_refuses_no_path_holds_it() {
    const ENDS: &[&str] =
        &["", "", "", ".", " ", ". ", ":", ":x", "::$DATA", "\\", "\\x", "x", "~1", "\u{200d}"];
    let (git, mut dice, mut refused) = (Git::new(), Dice(15), 0);
    for _ in 0..400 {
        let mut name = String::new();
        for c in
            dice.pick(&[".git", ".git", ".git", "git~1", "git~2", ".gi", ".gitx", "git"]).chars()
        {
            if dice.roll(8) == 0 {
                name.push(IGNORED_BY_HFS[dice.roll(IGNORED_BY_HFS.len())]);
            }
            name.push(if dice.roll(3) == 0 { c.to_ascii_uppercase() } else { c });
        }
        name.push_str(dice.pick(ENDS));
        name.push_str(dice.pick(ENDS));
        if git.refuses(&format!("{name}/config")) {
            refused += 1;
            assert!(RelPath::new(&format!("a/{name}/config")).is_err(), "git refuses {name:?}");
        }
    }
    assert!(refused > 80, "only {refused} of the spellings are refused by git");
}
