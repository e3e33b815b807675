//! Every kind of source, added, synced without the network, and removed.

use sp_testkit::{WebResponse, WebServer, zip};
use sp_tree::Digest;

use super::*;
use crate::support::skill_package::package_of_skills;

const PDF: &str = "---\nname: pdf\ndescription: Does pdf.\n---\n\nDo pdf.\n";

/// Adds a source that offers the skill `pdf`, syncs a copy of the project without the network, and
/// removes the source.
#[track_caller]
fn add_sync_remove(project: &Project, source: &str, skill: &str) {
    project.add(&[source, "--skill", skill, "--agent", "claude"]).ok();
    assert_eq!(project.skills(CLAUDE), ["pdf"], "{source}");
    let added = project.world.files("home/app");
    std::fs::remove_dir_all(project.path(".claude")).unwrap();
    project.sp(&["sync", "--frozen"]).ok();
    assert_eq!(project.world.files("home/app"), added, "{source}");
    project.sp(&["outdated"]).ok();
    project.sp(&["update"]).ok();
    assert_eq!(project.world.files("home/app"), added, "{source}");
    let name = if skill.contains('*') { source } else { "pdf" };
    project.sp(&["remove", name]).ok();
    assert_eq!(project.skills(CLAUDE), [""; 0], "{source}");
    assert!(!project.read("skillpack.yaml").contains("source:"), "{source}");
    assert!(!project.read("skillpack.lock").contains("[["), "{source}");
}

#[test]
fn lc_03_lc_10_repositories_folders_and_pages_are_sources() {
    let project = Project::new();
    project.upstream.git(&["tag", "v1"]);
    for (source, skill) in [
        ("acme/skills", "pdf"),
        ("acme/skills", "skills/pdf"),
        ("acme/skills#v1", "pdf"),
        ("acme/skills/skills", "pdf"),
        ("https://github.com/acme/skills", "*/pdf"),
        ("https://github.com/acme/skills/tree/main/skills", "pdf"),
        ("https://github.com/acme/skills/blob/v1/skills/pdf/SKILL.md", "pdf"),
        ("file://", "pdf"),
    ] {
        let url = project.upstream.url();
        let source = if source == "file://" { &url } else { source };
        add_sync_remove(&project, source, skill);
    }
    // A skill can follow the repository, and the only skill of a source needs no name.
    project.add(&["acme/skills@pdf", "-a", "claude"]).ok();
    assert_eq!(project.skills(CLAUDE), ["pdf"]);
    project.sp(&["remove", "acme/skills"]).ok();
    project.add(&["acme/skills/skills/pdf"]).ok();
    assert_eq!(project.skills(CLAUDE), ["pdf"]);
}

#[test]
fn lc_03_lc_10_directories_and_archives_are_sources() {
    let project = Project::new();
    project.write("team/pdf/SKILL.md", PDF);
    add_sync_remove(&project, "./team", "pdf");
    let archive = zip(&[("skills/pdf/SKILL.md", PDF.as_bytes()), ("skills/b/SKILL.md", b"B.\n")]);
    std::fs::write(project.path("team.zip"), &archive).unwrap();
    add_sync_remove(&project, "./team.zip", "pdf");
    let server = WebServer::start();
    add_sync_remove(&project, &server.respond("/a.zip", WebResponse::Bytes(archive)), "pdf");
    // A path is relative to the current directory, and written relative to the manifest.
    std::fs::create_dir_all(project.path("deep/er")).unwrap();
    project.world.sp_in("home/app/deep/er", &["add", "../../team", "-a", "claude"]).ok();
    assert!(project.read("skillpack.yaml").contains("source: ./team\n"));
    assert_eq!(project.skills(CLAUDE), ["pdf"]);
}

#[test]
fn lc_03_lc_10_hosts_bags_and_packages_are_sources() {
    let project = Project::new();
    let server = WebServer::start();
    let index = serde_json::json!({ "skills": [{
        "name": "pdf", "type": "skill-md", "description": "Does pdf.", "url": "pdf/SKILL.md",
        "digest": Digest::of(PDF.as_bytes()).to_string(),
    }] });
    let path = "/.well-known/agent-skills";
    let bytes = serde_json::to_vec(&index).unwrap();
    server.respond(&format!("{path}/index.json"), WebResponse::Bytes(bytes));
    server.respond(&format!("{path}/pdf/SKILL.md"), WebResponse::Bytes(PDF.into()));
    add_sync_remove(&project, &server.url(""), "pdf");
    let bag = project.world.git("bag.git");
    bag.write(
        "AGENTS.md",
        "This is a SKILLBAG source. Its skills live under .skills/, listed in .skills/SKILLS.md.\n",
    );
    bag.write(".skills/SKILLS.md", "pdf: Does pdf.\n").skill(".skills/pdf");
    bag.commit("bag");
    add_sync_remove(&project, "acme/bag", "pdf");
    let package = package_of_skills("@acme/docs", "1.0.0", &[("pdf/SKILL.md", PDF.as_bytes())]);
    std::fs::write(project.world.path("docs.ctxpkg"), package).unwrap();
    project.sp(&["pkg", "import", "../../docs.ctxpkg"]).ok();
    add_sync_remove(&project, "@acme/docs@^1", "pdf");
}

#[test]
fn lc_03_dependencies_come_with_a_skill() {
    let project = Project::new();
    let needs = |name: &str, more: &str| {
        format!(
            "---\nname: {name}\ndescription: Does {name}.\ndependencies:\n  - name: {more}\n---\n\nX.\n"
        )
    };
    project.upstream.write("skills/pdf/SKILL.md", needs("pdf", "docx"));
    project.upstream.write("skills/docx/SKILL.md", needs("docx", "xlsx")).commit("needs");
    project.add(&["acme/skills", "--skill", "pdf", "-a", "claude"]).ok();
    assert_eq!(project.skills(CLAUDE), ["docx", "pdf", "xlsx"]);
    assert!(project.read("skillpack.lock").contains("required_by = [\"pdf\"]"));
    project.sp(&["sync", "--frozen"]).ok();
    let error = project.world.sp_error_in("home/app", &["remove", "docx"]);
    assert_eq!(error.code, "E-still-required");
    project.sp(&["remove", "pdf"]).ok();
    assert_eq!(project.skills(CLAUDE), [""; 0]);
    project.upstream.write("skills/pdf/SKILL.md", needs("pdf", "missing")).commit("missing");
    let args = ["add", "acme/skills", "--skill", "pdf", "-a", "claude"];
    let error = project.world.sp_error_in("home/app", &args);
    assert_eq!(error.code, "E-skill-not-found", "{error:?}");
}

/// Adds a source, changes it, and checks what `sp outdated` and then `sp status` show.
#[track_caller]
fn becomes_outdated(project: &Project, source: &str, change: &dyn Fn()) {
    project.add(&[source, "--all", "-a", "claude"]).ok();
    project.sp(&["outdated", "--exit-code"]).ok();
    change();
    let run = project.sp(&["outdated", "--exit-code", "--format", "plain"]).fails(1);
    let versions: Vec<&str> = run.stdout.trim_end().split('\t').collect();
    assert!(versions.len() == 3 && versions[1] != versions[2], "{run}");
    let run = project.sp(&["status", "--exit-code"]).ok();
    assert!(run.stdout.contains("outdated"), "{source}: {run}");
    project.sp(&["update"]).ok();
    project.sp(&["outdated", "--exit-code"]).ok();
    let run = project.sp(&["status", "--exit-code"]).ok();
    assert!(!run.stdout.contains("outdated"), "{source}: {run}");
    project.sp(&["remove", source]).ok();
}

#[test]
fn lc_12_lc_13_every_kind_of_source_can_be_outdated() {
    let project = Project::new();
    let archive = |text: &str| WebResponse::Bytes(zip(&[("pdf/SKILL.md", text.as_bytes())]));
    project.write("team/pdf/SKILL.md", OLD_PDF);
    let rewrite = |path: &str| project.write(path, NEW_PDF);
    becomes_outdated(&project, "./team", &|| rewrite("team/pdf/SKILL.md"));
    let write_zip = |text: &str| {
        let bytes = zip(&[("pdf/SKILL.md", text.as_bytes())]);
        std::fs::write(project.path("team.zip"), bytes).unwrap();
    };
    write_zip(OLD_PDF);
    becomes_outdated(&project, "./team.zip", &|| write_zip(NEW_PDF));
    let server = WebServer::start();
    let url = server.respond("/a.zip", archive(OLD_PDF));
    becomes_outdated(&project, &url, &|| drop(server.respond("/a.zip", archive(NEW_PDF))));
    let host = |text: &'static str| {
        let index = serde_json::json!({ "skills": [{
            "name": "pdf", "type": "skill-md", "description": "Does pdf.", "url": "pdf/SKILL.md",
            "digest": Digest::of(text.as_bytes()).to_string(),
        }] });
        let path = "/.well-known/agent-skills";
        let bytes = serde_json::to_vec(&index).unwrap();
        server.respond(&format!("{path}/index.json"), WebResponse::Bytes(bytes));
        server.respond(&format!("{path}/pdf/SKILL.md"), WebResponse::Bytes(text.into()));
    };
    host(OLD_PDF);
    becomes_outdated(&project, &server.url(""), &|| host(NEW_PDF));
    let import = |version: &str, text: &str| {
        let package =
            package_of_skills("@acme/docs", version, &[("pdf/SKILL.md", text.as_bytes())]);
        std::fs::write(project.world.path("docs.ctxpkg"), package).unwrap();
        project.sp(&["pkg", "import", "../../docs.ctxpkg"]).ok();
    };
    import("1.0.0", OLD_PDF);
    becomes_outdated(&project, "@acme/docs", &|| import("1.1.0", NEW_PDF));
}
