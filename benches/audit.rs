//! Quality and speed of `sp audit`: `cargo bench -p sp -- audit`.
//!
//! Quality is measured on the labelled corpus in `benches/audit-corpus/`, and on the directories of
//! skills in `SP_AUDIT_SKILLS` (separated by colons), which are not labelled: everything that is
//! reported there is counted as a false alarm. Intervals are Wilson intervals for 95 %.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sp_analyze::audit::{AuditClass, AuditInput, Confidence, ContentAudit, Risk, audit_tree};
use sp_testkit::{AuditSample, CorpusPart, audit_samples};

use crate::Bench;

impl Bench {
    pub(crate) fn audit(&self) {
        let samples = audit_samples();
        let audited: Vec<(&AuditSample, ContentAudit)> =
            samples.iter().map(|sample| (sample, audit_sample(sample))).collect();
        for part in CorpusPart::ALL {
            println!("\ncorpus, {}", part.as_str());
            let samples: Vec<_> = audited.iter().filter(|(it, _)| it.part == part).collect();
            recall(&samples);
            false_alarms(&samples);
        }
        if let Ok(dirs) = std::env::var("SP_AUDIT_SKILLS") {
            real_skills(&dirs);
        }
        speed();
    }
}

fn audit_sample(sample: &AuditSample) -> ContentAudit {
    let inputs: Vec<AuditInput<'_>> =
        sample.files.iter().map(|(path, bytes)| AuditInput::new(path, bytes)).collect();
    audit_tree(&inputs)
}

/// Recall by class, and how many were found in another class only.
fn recall(part: &[&(&AuditSample, ContentAudit)]) {
    println!("{:<18} {:>8} {:>16} {:>12}", "class", "found", "95 %", "other class");
    let mut all = (0, 0, 0);
    for class in AuditClass::ALL {
        let samples =
            part.iter().filter(|(sample, _)| sample.is_malicious && sample.class == class.as_str());
        let (mut found, mut other, mut total) = (0, 0, 0);
        for (_, audit) in samples {
            total += 1;
            if audit.at_least(Confidence::Likely).any(|finding| finding.class == class) {
                found += 1;
            } else if audit.at_least(Confidence::Likely).next().is_some() {
                other += 1;
            }
        }
        recall_row(class.as_str(), found, total, other);
        all = (all.0 + found, all.1 + total, all.2 + other);
    }
    recall_row("all", all.0, all.1, all.2);
}

fn recall_row(name: &str, found: usize, total: usize, other: usize) {
    println!(
        "{name:<18} {:>8} {:>16} {other:>12}",
        format!("{found}/{total}"),
        wilson(found, total)
    );
}

fn false_alarms(part: &[&(&AuditSample, ContentAudit)]) {
    let benign: Vec<&ContentAudit> =
        part.iter().filter(|(sample, _)| !sample.is_malicious).map(|(_, audit)| audit).collect();
    println!("false alarms on {} harmless samples", benign.len());
    alarm_rows(&benign);
}

fn alarm_rows(audits: &[&ContentAudit]) {
    let total = audits.len();
    let count =
        |is: &dyn Fn(&ContentAudit) -> bool| audits.iter().filter(|audit| is(audit)).count();
    let certain = count(&|audit| audit.at_least(Confidence::Certain).next().is_some());
    let severe = count(&|audit| {
        audit.at_least(Confidence::Likely).any(|finding| finding.risk == Risk::High)
    });
    let likely = count(&|audit| audit.at_least(Confidence::Likely).next().is_some());
    for (name, count) in [("certain", certain), ("likely, high risk", severe), ("likely", likely)] {
        println!("{name:<18} {:>8} {:>16}", format!("{count}/{total}"), wilson(count, total));
    }
    let mut by_class: BTreeMap<&str, usize> = BTreeMap::new();
    for audit in audits {
        let mut classes: Vec<&str> =
            audit.at_least(Confidence::Likely).map(|finding| finding.class.as_str()).collect();
        classes.sort_unstable();
        classes.dedup();
        classes.into_iter().for_each(|class| *by_class.entry(class).or_default() += 1);
    }
    let by_class: Vec<String> =
        by_class.into_iter().map(|(class, count)| format!("{class} {count}")).collect();
    println!("likely by class: {}", by_class.join(", "));
}

/// The Wilson interval of a share, in percent.
fn wilson(found: usize, total: usize) -> String {
    if total == 0 {
        return "-".into();
    }
    let to_float = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let (found, total, z) = (to_float(found), to_float(total), 1.96_f64);
    let share = found / total;
    let center = share + z * z / (2.0 * total);
    let spread = z * (share * (1.0 - share) / total + z * z / (4.0 * total * total)).sqrt();
    let scale = 100.0 / (1.0 + z * z / total);
    let (low, high) = ((center - spread).max(0.0) * scale, (center + spread) * scale);
    format!("{low:.1}–{:.1} %", high.min(100.0))
}

fn real_skills(dirs: &str) {
    let mut found = Vec::new();
    dirs.split(':').for_each(|dir| find_skills(Path::new(dir), &mut found));
    let start = Instant::now();
    let mut bytes = 0;
    let audits: Vec<ContentAudit> = found
        .iter()
        .map(|dir| {
            let mut files = Vec::new();
            read_files(dir, dir, &mut files);
            let inputs: Vec<AuditInput<'_>> =
                files.iter().map(|(path, content)| AuditInput::new(path, content)).collect();
            let audit = audit_tree(&inputs);
            bytes += audit.read_bytes;
            audit
        })
        .collect();
    println!("\nfalse alarms on {} real skills, {bytes} bytes, {:?}", found.len(), start.elapsed());
    alarm_rows(&audits.iter().collect::<Vec<_>>());
}

fn find_skills(dir: &Path, found: &mut Vec<PathBuf>) {
    if dir.join("SKILL.md").is_file() {
        found.push(dir.into());
    }
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_dir && entry.file_name() != ".git" {
            find_skills(&entry.path(), found);
        }
    }
}

/// Reads the files of a skill. A skill below it has files of its own.
fn read_files(dir: &Path, base: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && entry.file_name() != ".git" && !path.join("SKILL.md").is_file() {
            read_files(&path, base, files);
        } else if kind.is_file()
            && let (Ok(content), Ok(inside)) = (std::fs::read(&path), path.strip_prefix(base))
        {
            files.push((inside.to_string_lossy().into_owned(), content));
        }
    }
}

/// The time of a usual skill and the throughput of each kind of file.
fn speed() {
    println!("\n{:<34} {:>10} {:>10}", "speed", "time", "MB/s");
    let prose = "The parser reads each file once. It reports problems with their positions, and \
                 keeps the text as it is.\n\n";
    let usual = format!(
        "---\nname: usual\ndescription: Helps with reports.\n---\n\n{}\n```bash\n{}```\n",
        prose.repeat(80),
        "git status\ncurl -s https://api.example.com/v1 | jq .\n".repeat(10)
    );
    let script = "import os\nfor name in os.listdir('.'):\n    print(name.upper(), len(name))\n";
    let shell = "for f in *.txt; do\n  grep -c word \"$f\" | sort > \"$f.count\"\ndone\n";
    let cases = [
        (
            "a usual skill (8 KB, one script)",
            vec![("SKILL.md", usual), ("run.py", script.repeat(20))],
        ),
        ("prose", vec![("notes.md", prose.repeat(80_000))]),
        ("plain text", vec![("notes.txt", prose.repeat(80_000))]),
        ("shell", vec![("run.sh", shell.repeat(20_000))]),
        ("Python", vec![("run.py", script.repeat(20_000))]),
        ("one line of 16 MB", vec![("line.txt", "word ".repeat(3_200_000))]),
    ];
    for (name, files) in cases {
        let inputs: Vec<AuditInput<'_>> =
            files.iter().map(|(path, text)| AuditInput::new(path, text.as_bytes())).collect();
        let bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
        let time = (0..5).map(|_| time(&inputs)).min().unwrap_or_default();
        let rate = f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / time.as_secs_f64() / 1e6;
        println!("{name:<34} {:>10} {rate:>10.1}", format!("{:.2} ms", time.as_secs_f64() * 1e3));
    }
}

fn time(inputs: &[AuditInput<'_>]) -> Duration {
    let start = Instant::now();
    std::hint::black_box(audit_tree(inputs));
    start.elapsed()
}
