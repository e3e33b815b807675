//! Package creation from a project with 5,000 source files.

use std::path::Path;
use std::process::{Command, Stdio};

use super::{Bench, peak_memory, time};

const FILES: usize = 5_000;
const FUNCTIONS_PER_FILE: usize = 12;
const MAX_SECONDS: f64 = 10.0;
const MAX_KIB: u64 = 500_000;

impl Bench {
    /// Uses Rust, Python, TypeScript, Go and Java in equal parts.
    pub(crate) fn create(&self) {
        let root = self.path("project");
        (0..FILES).for_each(|number| write_source(&root, number));
        std::fs::write(root.join("README.md"), "# A project\n\nIt has files.\n")
            .expect("write file");
        let _ = std::fs::create_dir(self.path("home"));
        let args = ["pkg", "create", "--name", "project", "--from", "project", "--level", "3"];
        let create_seconds = time(&mut self.sp(&args)).as_secs_f64();
        let memory = peak_memory(&mut self.sp(&args));
        let mut find = Command::new("find");
        find.arg(&root).args(["-type", "f", "-exec", "sha256sum", "{}", "+"]).stdout(Stdio::null());
        let hash_seconds = time(&mut find).as_secs_f64();
        println!(
            "\n{:<44} {:>8.2} s {:>9.2} s {:>7.1} {:>7}",
            "create from 5000 files : sha256sum",
            create_seconds,
            hash_seconds,
            create_seconds / hash_seconds,
            ""
        );
        println!("{:<44} {create_seconds:>8.2} s {:>21.0}", "  seconds : limit", MAX_SECONDS);
        println!("{:<44} {memory:>6} KiB {MAX_KIB:>21}", "  peak memory : limit");
    }
}

fn write_source(root: &Path, number: usize) {
    let folder = root.join(format!("src/m{}", number / 50));
    std::fs::create_dir_all(&folder).expect("create folder");
    let (extension, text) = match number % 5 {
        0 => ("rs", rust(number)),
        1 => ("py", python(number)),
        2 => ("ts", typescript(number)),
        3 => ("go", go(number)),
        _ => ("java", java(number)),
    };
    std::fs::write(folder.join(format!("file{number}.{extension}")), text).expect("write file");
}

fn functions(render: impl Fn(usize) -> String) -> String {
    (0..FUNCTIONS_PER_FILE).map(render).collect()
}

fn rust(file: usize) -> String {
    let render = |index: usize| {
        format!(
            "/// Works out part {index} of {file}.\npub fn part_{file}_{index}(value: &str, count: usize) -> Option<String> {{\n    let all: Vec<&str> = value.split(',').collect();\n    // Too few values for this count.\n    if count > all.len() {{\n        return None;\n    }}\n    Some(all[..count].join(\"-\"))\n}}\n\n"
        )
    };
    format!("//! File {file}.\n\nuse std::collections::HashMap;\n\n{}", functions(render))
}

fn python(file: usize) -> String {
    let render = |index: usize| {
        format!(
            "def part_{file}_{index}(value, count):\n    \"\"\"Works out part {index} of {file}.\"\"\"\n    everything = value.split(',')\n    if count > len(everything):\n        return None\n    return '-'.join(everything[:count])\n\n\n"
        )
    };
    format!("\"\"\"File {file}.\"\"\"\n\nimport os\n\n\n{}", functions(render))
}

fn typescript(file: usize) -> String {
    let render = |index: usize| {
        format!(
            "/** Works out part {index} of {file}. */\nexport function part_{file}_{index}(value: string, count: number): string | undefined {{\n  const all = value.split(',');\n  if (count > all.length) {{\n    return undefined;\n  }}\n  return all.slice(0, count).join('-');\n}}\n\n"
        )
    };
    format!("import {{ readFile }} from 'node:fs';\n\n{}", functions(render))
}

fn go(file: usize) -> String {
    let render = |index: usize| {
        format!(
            "// Part{file}x{index} works out part {index} of {file}.\nfunc Part{file}x{index}(value string, count int) (string, error) {{\n\tall := strings.Split(value, \",\")\n\tif count > len(all) {{\n\t\treturn \"\", errors.New(\"too many\")\n\t}}\n\treturn strings.Join(all[:count], \"-\"), nil\n}}\n\n"
        )
    };
    format!("package parts\n\nimport (\n\t\"errors\"\n\t\"strings\"\n)\n\n{}", functions(render))
}

fn java(file: usize) -> String {
    let render = |index: usize| {
        format!(
            "    /** Works out part {index} of {file}. */\n    public static String part{index}(String value, int count) {{\n        String[] all = value.split(\",\");\n        if (count > all.length) {{\n            return null;\n        }}\n        return String.join(\"-\", java.util.Arrays.copyOf(all, count));\n    }}\n\n"
        )
    };
    format!(
        "package parts;\n\n/** File {file}. */\npublic class file{file} {{\n{}}}\n",
        functions(render)
    )
}
