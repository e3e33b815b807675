//! `sp add` and `sp remove`.

use super::*;

#[test]
fn lc_10_add_writes_manifest_and_lock_and_installs() {
    let project = Project::new();
    let run = project.add(&["acme/skills", "--skill", "pdf,docx", "-a", "claude,codex"]);
    insta::assert_snapshot!(run, @"
    exit: 0
    --- stdout
    github.com/acme/skills  3a88a0a68520

      docx
        Does docx.
        tokens: 6 always, 4 body, 0 files
      pdf
        Does pdf.
        tokens: 4 always, 3 body, 0 files

    + docx  github.com/acme/skills
    + pdf  github.com/acme/skills

    installed for codex · .agents/skills · 2 added
    installed for claude · .claude/skills · 2 added
    wrote skillpack.yaml and skillpack.lock
    ");
    insta::assert_snapshot!(project.read("skillpack.yaml"), @"
    agents:
      - claude
      - codex
    skills:
      - source: acme/skills
        include: [skills/pdf, skills/docx]
    ");
    insta::assert_snapshot!(project.world.normalize(&project.read("skillpack.lock")), @r#"
    # Written by `sp`. Do not edit; commit it with `skillpack.yaml`.
    version = 1

    [[source]]
    source = "github.com/acme/skills"
    commit = "[COMMIT]"

    [[skill]]
    name = "docx"
    source = "github.com/acme/skills"
    id = "skills/docx"
    tree = "sha256:166aca01fd1432c9aef3a6ddfb90fd52c2ccbba8966214d984032c73e8b2f767"

    [[skill]]
    name = "pdf"
    source = "github.com/acme/skills"
    id = "skills/pdf"
    tree = "sha256:d2b3a97168f34cfb81caf6a2cf04d94ad72a1f99e41c6c4b7abcc19d41503ed2"
    "#);
    assert_eq!(project.skills(CLAUDE), ["docx", "pdf"]);
    assert_eq!(project.skills(".agents/skills"), ["docx", "pdf"]);
    let run = project.sp(&["sync"]);
    insta::assert_snapshot!(run, @"
    exit: 0
    --- stdout
    up to date: codex · .agents/skills · 2 unchanged
    up to date: claude · .claude/skills · 2 unchanged
    ");
    let run = project.sp(&["remove", "pdf"]);
    insta::assert_snapshot!(run, @"
    exit: 0
    --- stdout
    - pdf  github.com/acme/skills

    updated for codex · .agents/skills · 1 removed, 1 unchanged
    updated for claude · .claude/skills · 1 removed, 1 unchanged
    wrote skillpack.yaml and skillpack.lock
    ");
    insta::assert_snapshot!(project.read("skillpack.yaml"), @"
    agents:
      - claude
      - codex
    skills:
      - source: acme/skills
        include: [skills/docx]
    ");
    assert_eq!(project.skills(CLAUDE), ["docx"]);
    project.sp(&["remove", "acme/skills"]).ok();
    insta::assert_snapshot!(project.read("skillpack.yaml"), @"
    agents:
      - claude
      - codex
    skills:
    ");
    assert_eq!(project.skills(CLAUDE), [""; 0]);
}
