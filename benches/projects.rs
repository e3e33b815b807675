//! A project of five thousand files of source code, read into a package.

use std::path::Path;
use std::process::{Command, Stdio};

use super::{Bench, peak_memory, time};

const FILES: usize = 5_000;
/// Functions in each file.
const FUNCTIONS: usize = 12;
const SECONDS: f64 = 10.0;
const KILOBYTES: u64 = 500_000;

impl Bench {
    /// Rust, Python, TypeScript, Go and Java in equal parts; each file calls into its neighbour.
    pub(crate) fn create(&self) {
        let root = self.path("project");
        (0..FILES).for_each(|number| write(&root, number));
        std::fs::write(root.join("README.md"), "# A project\n\nIt has files.\n").expect("a file");
        let _ = std::fs::create_dir(self.path("home"));
        let args = ["pkg", "create", "--name", "project", "--from", "project", "--level", "3"];
        let taken = time(&mut self.sp(&args)).as_secs_f64();
        let memory = peak_memory(&mut self.sp(&args));
        let mut find = Command::new("find");
        find.arg(&root).args(["-type", "f", "-exec", "sha256sum", "{}", "+"]).stdout(Stdio::null());
        let hashed = time(&mut find).as_secs_f64();
        println!(
            "\n{:<44} {:>8.2} s {:>9.2} s {:>7.1} {:>7}",
            "create from 5000 files : sha256sum",
            taken,
            hashed,
            taken / hashed,
            ""
        );
        println!("{:<44} {taken:>8.2} s {:>21.0}", "  seconds, and the limit", SECONDS);
        println!("{:<44} {memory:>8} kB {KILOBYTES:>21}", "  peak memory, and the limit");
    }
}

fn write(root: &Path, number: usize) {
    let folder = root.join(format!("src/m{}", number / 50));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (ending, text) = match number % 5 {
        0 => ("rs", rust(number)),
        1 => ("py", python(number)),
        2 => ("ts", script(number)),
        3 => ("go", go(number)),
        _ => ("java", java(number)),
    };
    std::fs::write(folder.join(format!("file{number}.{ending}")), text).expect("a file");
}

fn functions(one: impl Fn(usize) -> String) -> String {
    (0..FUNCTIONS).map(one).collect()
}

fn rust(file: usize) -> String {
    let one = |at: usize| {
        format!(
            "/// Works out part {at} of {file}.\npub fn part_{file}_{at}(value: &str, count: usize) -> Option<String> {{\n    let all: Vec<&str> = value.split(',').collect();\n    // Nobody wants more than there is.\n    if count > all.len() {{\n        return None;\n    }}\n    Some(all[..count].join(\"-\"))\n}}\n\n"
        )
    };
    format!("//! File {file}.\n\nuse std::collections::HashMap;\n\n{}", functions(one))
}

fn python(file: usize) -> String {
    let one = |at: usize| {
        format!(
            "def part_{file}_{at}(value, count):\n    \"\"\"Works out part {at} of {file}.\"\"\"\n    everything = value.split(',')\n    if count > len(everything):\n        return None\n    return '-'.join(everything[:count])\n\n\n"
        )
    };
    format!("\"\"\"File {file}.\"\"\"\n\nimport os\n\n\n{}", functions(one))
}

fn script(file: usize) -> String {
    let one = |at: usize| {
        format!(
            "/** Works out part {at} of {file}. */\nexport function part_{file}_{at}(value: string, count: number): string | undefined {{\n  const all = value.split(',');\n  if (count > all.length) {{\n    return undefined;\n  }}\n  return all.slice(0, count).join('-');\n}}\n\n"
        )
    };
    format!("import {{ readFile }} from 'node:fs';\n\n{}", functions(one))
}

fn go(file: usize) -> String {
    let one = |at: usize| {
        format!(
            "// Part{file}x{at} works out part {at} of {file}.\nfunc Part{file}x{at}(value string, count int) (string, error) {{\n\tall := strings.Split(value, \",\")\n\tif count > len(all) {{\n\t\treturn \"\", errors.New(\"too many\")\n\t}}\n\treturn strings.Join(all[:count], \"-\"), nil\n}}\n\n"
        )
    };
    format!("package parts\n\nimport (\n\t\"errors\"\n\t\"strings\"\n)\n\n{}", functions(one))
}

fn java(file: usize) -> String {
    let one = |at: usize| {
        format!(
            "    /** Works out part {at} of {file}. */\n    public static String part{at}(String value, int count) {{\n        String[] all = value.split(\",\");\n        if (count > all.length) {{\n            return null;\n        }}\n        return String.join(\"-\", java.util.Arrays.copyOf(all, count));\n    }}\n\n"
        )
    };
    format!(
        "package parts;\n\n/** File {file}. */\npublic class file{file} {{\n{}}}\n",
        functions(one)
    )
}
