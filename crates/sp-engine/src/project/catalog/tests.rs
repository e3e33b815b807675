//! Catalogs of real repositories, directories, archives and hosts.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Barrier;

use sp_formats::git_repo::GitRepo;
use sp_formats::project::lock::LockedSource;
use sp_formats::project::source::{ManifestSource, SourceVersion};
use sp_testkit::{GitRepository, WebResponse, WebServer, World, zip};
use sp_tree::Digest;

use super::newest::CachedContent;
use super::{
    BranchHistory, CatalogRequest, NewestQuery, NewestSource, SourceCatalog, newest_versions,
    open_catalog,
};
use crate::context::{Context, Event, EventListener, Network};
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

struct Silent;

impl EventListener for Silent {
    fn on_event(&self, _: Event<'_>) {}
}

fn context(world: &World, network: Network) -> Context<'static> {
    let command = world.command(&[]);
    let mut env = command.get_envs().filter(|(name, _)| *name == "PATH");
    let path = env.next().and_then(|(_, path)| path).unwrap().to_string_lossy().into_owned();
    Context {
        user_home: world.home(),
        home: world.home().join(".skillpack"),
        cache: None,
        current_dir: world.repo(),
        env: BTreeMap::from([("PATH".to_owned(), path)]),
        now: jiff::Timestamp::UNIX_EPOCH,
        wall_clock: || 0,
        random: |_| Ok(()),
        run_id: "run".into(),
        limits: Vec::new(),
        network,
        consent: crate::context::InstallConsent::default(),
        listener: &Silent,
    }
}

/// A world with a project, which is its repository.
struct Sources {
    world: World,
}

impl Sources {
    fn new() -> Self {
        Self { world: World::new("sp") }
    }

    fn open_with(
        &self,
        network: Network,
        source: &ManifestSource,
        request: CatalogRequest<'_>,
    ) -> Result<SourceCatalog> {
        let context = context(&self.world, network);
        open_catalog(&Session::begin(&context)?, &self.world.repo(), source, request)
    }

    fn open(&self, source: &ManifestSource) -> SourceCatalog {
        self.open_with(Network::Allowed, source, CatalogRequest::Newest(None)).unwrap()
    }

    fn open_locked(
        &self,
        network: Network,
        source: &ManifestSource,
        lock: &LockedSource,
    ) -> Result<SourceCatalog> {
        self.open_with(network, source, CatalogRequest::Locked { version: None, lock })
    }

    /// Returns the text of a file of a skill.
    fn file(&self, catalog: &SourceCatalog, id: &str, path: &str) -> String {
        let context = context(&self.world, Network::Allowed);
        let session = Session::begin(&context).unwrap();
        let trees = catalog.load(&session, &[id]).unwrap();
        String::from_utf8(trees[0].get(path).unwrap().to_vec()).unwrap()
    }

    fn newest(&self, query: NewestQuery<'_>, history: BranchHistory) -> Result<NewestSource> {
        let context = context(&self.world, Network::Allowed);
        let session = Session::begin(&context).unwrap();
        newest_versions(&session, &self.world.repo(), &[query], history).remove(0)
    }
}

fn source(text: &str) -> ManifestSource {
    ManifestSource::new(text).unwrap()
}

fn version(source: &ManifestSource, text: &str) -> SourceVersion {
    SourceVersion::new(source, text).unwrap()
}

/// A page of a code hosting site, whose repository is `repo`.
fn page(repo: &GitRepository, tree: &str) -> ManifestSource {
    let mut page = source(&format!("https://github.com/acme/skills/tree/{tree}"));
    if let ManifestSource::Git(git) = &mut page {
        git.repo = GitRepo::new(&repo.url()).unwrap();
    }
    page
}

fn ids(catalog: &SourceCatalog) -> Vec<&str> {
    catalog.skills.iter().map(|skill| skill.id.as_str()).collect()
}

fn error(result: Result<SourceCatalog>) -> Error {
    result.err().unwrap()
}

const SKILL: &str = "---\nname: review\ndescription: Reviews a\n  diff.\n---\n\nRead it.\n";

#[test]
fn lc_03_skills_of_a_repository_have_names_texts_and_dependencies() {
    let sources = Sources::new();
    let repo = sources.world.git("skills");
    repo.write(
        "skills/a b/SKILL.md",
        "---\nname: tidy\ndescription: Sweeps\n  up.\n---\n\n## Dependencies\n```yaml\n- name: review\n```\n",
    );
    repo.write("skills/a b/scripts/run.sh", "exit 0\n");
    repo.write("skills/Odd/SKILL.md", "---\nname: Not Valid\ndescription: x\n---\n");
    repo.write("skills/latin/SKILL.md", b"\xff");
    repo.skill(".claude/skills/review").skill("node_modules/x").skill("tests/fixtures/y");
    let commit = repo.commit("skills");
    let catalog = sources.open(&source(&repo.url()));

    assert_eq!(ids(&catalog), ["skills/Odd", "skills/a b", ".claude/skills/review"]);
    assert_eq!(catalog.locked.commit, Some(commit));
    assert_eq!(catalog.key.as_str(), repo.url());
    let tidy = catalog.skill("skills/a b").unwrap();
    assert_eq!((tidy.name.as_str(), tidy.description.as_str()), ("tidy", "Sweeps up."));
    assert_eq!(tidy.dependencies[0].name.as_str(), "review");
    assert_eq!(catalog.skill("skills/Odd").unwrap().name, "Odd");
    assert_eq!(sources.file(&catalog, "skills/a b", "scripts/run.sh"), "exit 0\n");
    let missing = catalog.skill("skills/od").unwrap_err();
    assert!(missing.has_code(ErrorCode::SkillNotFound) && missing.hints[0].contains("skills/Odd"));
}

#[test]
fn lc_03_source_may_be_a_folder_a_page_or_a_single_skill() {
    let sources = Sources::new();
    let repo = sources.world.git("skills");
    repo.skill("skills/pdf").skill("more/docx");
    repo.commit("one");
    repo.git(&["checkout", "--quiet", "-b", "feature/x"]);
    repo.skill("skills/new");
    let commit = repo.commit("two");
    repo.git(&["checkout", "--quiet", "main"]);

    let on_branch = page(&repo, "feature/x/skills");
    let catalog = sources.open(&on_branch);
    assert_eq!(ids(&catalog), ["new", "pdf"]);
    let locked = LockedSource {
        commit: Some(commit.clone()),
        git_ref: Some("feature/x".into()),
        ..LockedSource::default()
    };
    assert_eq!(catalog.locked, locked);
    // The lockfile knows where the ref ends, so no request to the server is needed.
    let offline = sources.open_locked(Network::Offline, &on_branch, &locked).unwrap();
    assert_eq!(ids(&offline), ["new", "pdf"]);
    for (tree, expected) in [
        ("main", vec!["skills/pdf", "more/docx"]),
        ("main/skills/pdf", vec!["."]),
        (commit.as_str(), vec!["skills/new", "skills/pdf", "more/docx"]),
        ("feature/x", vec!["skills/new", "skills/pdf", "more/docx"]),
    ] {
        let catalog = sources.open(&page(&repo, tree));
        assert_eq!(ids(&catalog), expected, "{tree}");
    }
    let single = sources.open(&page(&repo, "main/skills/pdf"));
    assert_eq!(single.skills[0].name, "pdf");
    assert!(sources.file(&single, ".", "SKILL.md").contains("Do pdf."));
    let request = CatalogRequest::Newest(None);
    let open = |tree: &str| sources.open_with(Network::Allowed, &page(&repo, tree), request);
    assert!(error(open("mian/skills")).has_code(ErrorCode::GitRefNotFound));
    let missing = error(open("main/skils"));
    assert!(missing.has_code(ErrorCode::SourceNotFound), "{missing}");
    assert_eq!(missing.hints, ["did you mean `skills`?"]);
}

#[test]
fn lc_03_repository_that_is_a_skill_is_one_skill() {
    let sources = Sources::new();
    let repo = sources.world.git("my-skill");
    repo.write("SKILL.md", SKILL).write("scripts/a.sh", "true\n");
    repo.write("references/SKILL.md", "not another skill\n");
    repo.commit("one");
    let catalog = sources.open(&source(&repo.url()));
    assert_eq!((ids(&catalog), catalog.skills[0].name.as_str()), (vec!["."], "review"));
    assert_eq!(sources.file(&catalog, ".", "scripts/a.sh"), "true\n");
    repo.write("SKILL.md", "no frontmatter\n");
    repo.commit("two");
    assert_eq!(sources.open(&source(&repo.url())).skills[0].name, "my-skill");
}

#[test]
fn lc_11_locked_commit_is_opened_although_the_branch_moved() {
    let sources = Sources::new();
    let repo = sources.world.git("skills");
    repo.write("a/SKILL.md", SKILL);
    repo.commit("one");
    let git = source(&repo.url());
    let lock = sources.open(&git).locked;
    repo.write("a/SKILL.md", SKILL.replace("Read it.", "Read it twice."));
    repo.commit("two");
    let locked = sources.open_locked(Network::Allowed, &git, &lock).unwrap();
    assert_eq!(locked.locked, lock);
    assert_eq!(sources.file(&locked, "a", "SKILL.md"), SKILL);
    assert!(sources.file(&sources.open(&git), "a", "SKILL.md").contains("twice"));
    // After its server is gone, the cache still has it.
    std::fs::rename(repo.path(), sources.world.path("moved")).unwrap();
    let offline = sources.open_locked(Network::Offline, &git, &lock).unwrap();
    assert_eq!(sources.file(&offline, "a", "SKILL.md"), SKILL);
}

#[test]
fn lc_10_copies_for_several_agents_are_selected_once() {
    let sources = Sources::new();
    let repo = sources.world.git("skills");
    repo.write("skills/review/SKILL.md", SKILL).write(".claude/skills/review/SKILL.md", SKILL);
    repo.write("plugins/x/review/SKILL.md", SKILL.replace("Read it.", "Run it."));
    repo.commit("one");
    let catalog = sources.open(&source(&repo.url()));
    let context = context(&sources.world, Network::Allowed);
    let session = Session::begin(&context).unwrap();
    let select = |selects: &dyn Fn(&str) -> bool| -> Vec<String> {
        let selected = catalog.select(&session, selects).unwrap();
        selected.iter().map(|skill| skill.id.clone()).collect()
    };
    assert_eq!(catalog.skills.len(), 3);
    assert_eq!(select(&|_| true), ["skills/review", "plugins/x/review"]);
    assert_eq!(select(&|id| id.starts_with('.')), [".claude/skills/review"]);
}

#[test]
fn lc_03_directories_and_archives_are_sources() {
    let sources = Sources::new();
    let world = &sources.world;
    world.write("own/skills/review/SKILL.md", SKILL);
    world.write("own/node_modules/dep/SKILL.md", SKILL);
    let dir = sources.open(&source("./own"));
    assert_eq!((ids(&dir), dir.locked.clone()), (vec!["skills/review"], LockedSource::default()));
    assert_eq!(sources.file(&dir, "skills/review", "SKILL.md"), SKILL);
    let single = sources.open(&source("./own/skills/review"));
    assert_eq!((ids(&single), single.skills[0].name.as_str()), (vec!["."], "review"));

    let archive = zip(&[("top/skills/review/SKILL.md", SKILL.as_bytes()), ("top/README.md", b"x")]);
    world.write("a.zip", &archive);
    let local = sources.open(&source("./a.zip"));
    assert_eq!(
        (ids(&local), local.locked.digest),
        (vec!["skills/review"], Some(Digest::of(&archive)))
    );

    let server = WebServer::start();
    let url = server.respond("/a.zip", WebResponse::Bytes(archive.clone()));
    let web = source(&url);
    let catalog = sources.open(&web);
    assert_eq!(catalog.locked, local.locked);
    assert_eq!(sources.file(&catalog, "skills/review", "SKILL.md"), SKILL);
    // The locked archive is in the cache, although the server has another one now.
    server.respond("/a.zip", WebResponse::Bytes(zip(&[("b/SKILL.md", b"other")])));
    let lock = catalog.locked;
    assert!(sources.open_locked(Network::Offline, &web, &lock).is_ok());
    std::fs::remove_dir_all(world.home().join(".skillpack/cache")).unwrap();
    let changed = error(sources.open_locked(Network::Allowed, &web, &lock));
    assert!(changed.has_code(ErrorCode::LockMismatch), "{changed}");
    for (text, code) in [
        ("./missing", ErrorCode::SourceNotFound),
        ("./missing.zip", ErrorCode::SourceNotFound),
        ("./packs", ErrorCode::NothingFound),
    ] {
        let request = CatalogRequest::Newest(None);
        let error = error(sources.open_with(Network::Allowed, &source(text), request));
        assert!(error.has_code(code), "{text}: {error}");
    }
}

const AGENTS: &str = "This is a SKILLBAG source. Its skills live under .skills/, listed in \
                      .skills/SKILLS.md.\n\n## Installation\n\nRun make.\n";

#[test]
fn lc_03_skillbag_source_is_valid_as_a_whole() {
    let sources = Sources::new();
    let repo = sources.world.git("bag");
    repo.write("AGENTS.md", AGENTS).skill(".skills/review").skill("examples/other");
    repo.write(".skills/SKILLS.md", "review: Does review.\n");
    repo.commit("one");
    let git = source(&repo.url());
    let catalog = sources.open(&git);
    assert_eq!(
        (ids(&catalog), catalog.skills[0].name.as_str()),
        (vec![".skills/review"], "review")
    );
    assert_eq!(catalog.extra_steps.as_deref(), Some("Run make."));
    repo.write(".skills/SKILLS.md", "review: Something else.\n");
    repo.commit("two");
    let invalid = error(sources.open_with(Network::Allowed, &git, CatalogRequest::Newest(None)));
    assert_eq!(invalid.code(), "SB-02");
}

fn index(skills: &[(&str, &str, &str, &[u8])]) -> Vec<u8> {
    let entries: Vec<serde_json::Value> = skills
        .iter()
        .map(|(name, sort, url, bytes)| {
            let digest = Digest::of(bytes).to_string();
            serde_json::json!({
                "name": name, "type": sort, "description": "x", "url": url, "digest": digest,
            })
        })
        .collect();
    serde_json::to_vec(&serde_json::json!({ "$schema": "x", "skills": entries })).unwrap()
}

#[test]
fn lc_03_host_with_an_index_is_verified_and_cached() {
    let sources = Sources::new();
    let server = WebServer::start();
    let archive = zip(&[("SKILL.md", SKILL.as_bytes()), ("a.sh", b"true\n")]);
    let path = "/.well-known/agent-skills";
    let listed = index(&[
        ("pdf", "skill-md", "pdf/SKILL.md", SKILL.as_bytes()),
        ("tool", "archive", "/files/tool.zip", &archive),
    ]);
    server.respond(&format!("{path}/index.json"), WebResponse::Bytes(listed.clone()));
    server.respond(&format!("{path}/pdf/SKILL.md"), WebResponse::Bytes(SKILL.into()));
    server.respond("/files/tool.zip", WebResponse::Bytes(archive));
    let host = source(&server.url(""));
    let catalog = sources.open(&host);
    assert_eq!(ids(&catalog), ["pdf", "tool"]);
    assert_eq!(catalog.skills[0].name, "pdf");
    assert_eq!(catalog.locked.digest, Some(Digest::of(&listed)));
    assert_eq!(sources.file(&catalog, "tool", "a.sh"), "true\n");

    let requests = server.requested_paths().len();
    let offline = sources.open_locked(Network::Offline, &host, &catalog.locked).unwrap();
    assert_eq!((ids(&offline), server.requested_paths().len()), (vec!["pdf", "tool"], requests));

    std::fs::remove_dir_all(sources.world.home().join(".skillpack/cache")).unwrap();
    server.respond("/files/tool.zip", WebResponse::Bytes(zip(&[("SKILL.md", b"evil")])));
    let request = CatalogRequest::Newest(None);
    let forged = error(sources.open_with(Network::Allowed, &host, request));
    assert!(forged.has_code(ErrorCode::DigestMismatch), "{forged}");
    server.respond(&format!("{path}/index.json"), WebResponse::Bytes(b"{}".to_vec()));
    let invalid = error(sources.open_with(Network::Allowed, &host, request));
    assert!(invalid.has_code(ErrorCode::InvalidIndex), "{invalid}");
    server.respond(&format!("{path}/index.json"), WebResponse::Endless);
    let endless = error(sources.open_with(Network::Allowed, &host, request));
    assert!(endless.has_code(ErrorCode::LimitExceeded), "{endless}");
}

#[test]
fn lc_03_host_with_a_legacy_index_is_a_source() {
    let sources = Sources::new();
    let server = WebServer::start();
    let path = "/.well-known/skills";
    let listed = serde_json::json!({ "skills": [
        { "name": "pdf", "description": "x", "files": ["SKILL.md", "docs/a b.md"] },
    ] });
    let listed = serde_json::to_vec(&listed).unwrap();
    server.respond(&format!("{path}/index.json"), WebResponse::Bytes(listed));
    server.respond(&format!("{path}/pdf/SKILL.md"), WebResponse::Bytes(SKILL.into()));
    let host = source(&server.url(""));
    let request = CatalogRequest::Newest(None);
    let incomplete = error(sources.open_with(Network::Allowed, &host, request));
    assert!(incomplete.has_code(ErrorCode::SourceNotFound), "{incomplete}");
    server.respond(&format!("{path}/pdf/docs/a%20b.md"), WebResponse::Bytes(b"text\n".to_vec()));
    let catalog = sources.open(&host);
    assert_eq!(sources.file(&catalog, "pdf", "docs/a b.md"), "text\n");
    let offline = sources.open_locked(Network::Offline, &host, &catalog.locked).unwrap();
    assert_eq!(sources.file(&offline, "pdf", "docs/a b.md"), "text\n");
}

fn query<'a>(
    source: &'a ManifestSource,
    version: Option<&'a SourceVersion>,
    locked: &'a LockedSource,
) -> NewestQuery<'a> {
    NewestQuery { source, version, locked }
}

#[test]
fn lc_12_every_change_of_a_repository_has_its_own_answer() {
    let sources = Sources::new();
    let repo = sources.world.git("skills");
    repo.skill("a");
    let first = repo.commit("one");
    repo.git(&["tag", "v1"]);
    repo.git(&["branch", "topic"]);
    let git = source(&repo.url());
    let [tag, topic, pinned] = ["v1", "topic", first.as_str()].map(|text| version(&git, text));
    let lock = sources.open(&git).locked;
    let ask = |version: Option<&SourceVersion>| {
        sources.newest(query(&git, version, &lock), BranchHistory::Check).unwrap()
    };
    assert!(matches!(ask(None), NewestSource::Current));

    repo.skill("b");
    let second = repo.commit("two");
    let newer = ask(None);
    assert!(
        matches!(&newer, NewestSource::Newer(lock) if lock.commit.as_deref() == Some(&*second)),
        "{newer:?}"
    );
    assert!(matches!(ask(Some(&pinned)), NewestSource::Current));
    assert!(matches!(ask(Some(&tag)), NewestSource::Current));

    repo.git(&["tag", "--force", "v1"]);
    let moved = ask(Some(&tag));
    assert!(matches!(&moved, NewestSource::MovedTag { commit, .. } if *commit == second));
    assert_eq!(moved.into_problem("acme/skills").unwrap().code(), "E-moved-tag");

    repo.git(&["branch", "--delete", "--force", "topic"]);
    let deleted = ask(Some(&topic));
    assert!(matches!(&deleted, NewestSource::DeletedRef { git_ref } if git_ref == "topic"));
    assert_eq!(deleted.into_problem("acme/skills").unwrap().code(), "E-git-ref-not-found");

    repo.git(&["commit", "--quiet", "--amend", "-m", "two, again"]);
    let locked_second = LockedSource { commit: Some(second), ..LockedSource::default() };
    let ask_second = |history| sources.newest(query(&git, None, &locked_second), history).unwrap();
    let rewritten = ask_second(BranchHistory::Check);
    assert!(matches!(&rewritten, NewestSource::RewrittenBranch { .. }), "{rewritten:?}");
    assert_eq!(rewritten.into_problem("acme/skills").unwrap().code(), "E-rewritten-branch");
    assert!(matches!(ask_second(BranchHistory::Skip), NewestSource::Newer(_)));

    std::fs::rename(repo.path(), sources.world.path("moved")).unwrap();
    let gone = ask(None);
    assert!(
        matches!(&gone, NewestSource::Gone { content: CachedContent::Available, .. }),
        "{gone:?}"
    );
    assert_eq!(gone.into_problem("acme/skills").unwrap().code(), "E-source-gone");
    let never_fetched =
        sources.newest(query(&git, None, &locked_second), BranchHistory::Skip).unwrap();
    assert!(
        matches!(never_fetched, NewestSource::Gone { content: CachedContent::Missing, .. }),
        "{never_fetched:?}"
    );
}

#[test]
fn lc_12_every_change_of_a_host_has_its_own_answer() {
    let sources = Sources::new();
    let server = WebServer::start();
    let path = "/.well-known/agent-skills/index.json";
    server.respond("/.well-known/agent-skills/a", WebResponse::Bytes(SKILL.into()));
    let entry = ("a", "skill-md", "a", SKILL.as_bytes());
    server.respond(path, WebResponse::Bytes(index(&[entry])));
    let host = source(&server.url(""));
    let lock = sources.open(&host).locked;
    let ask = || sources.newest(query(&host, None, &lock), BranchHistory::Skip);
    assert!(matches!(ask(), Ok(NewestSource::Current)));
    let changed = index(&[entry, ("b", "skill-md", "a", SKILL.as_bytes())]);
    server.respond(path, WebResponse::Bytes(changed.clone()));
    let newer = ask().unwrap();
    assert!(
        matches!(&newer, NewestSource::Newer(lock) if lock.digest == Some(Digest::of(&changed)))
    );
    server.respond(path, WebResponse::Status(410));
    let gone = ask().unwrap();
    assert!(
        matches!(&gone, NewestSource::Gone { content: CachedContent::Available, .. }),
        "{gone:?}"
    );
    server.respond(path, WebResponse::Status(500));
    assert!(ask().unwrap_err().has_code(ErrorCode::Network));
}

/// The reply of a git server to the request for its refs, in version 0 of the protocol.
fn advertised_refs(commit: &str) -> Vec<u8> {
    let line = |text: String| format!("{:04x}{text}", text.len() + 4);
    let refs = [
        line("# service=git-upload-pack\n".into()),
        "0000".into(),
        line(format!("{commit} HEAD\0agent=test\n")),
        line(format!("{commit} refs/heads/main\n")),
        "0000".into(),
    ];
    refs.concat().into_bytes()
}

/// Answers the requests of one connection after all servers were asked. Returns how many there are.
fn serve_refs(listener: &TcpListener, all_asked: &Barrier, commit: &str) -> usize {
    let (stream, _) = listener.accept().unwrap();
    let mut requests = 0;
    while read_request(&stream) {
        if requests == 0 {
            all_asked.wait();
        }
        requests += 1;
        let body = advertised_refs(commit);
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        (&stream).write_all(&[head.as_bytes(), &body].concat()).unwrap();
    }
    requests
}

fn read_request(stream: &TcpStream) -> bool {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while matches!(reader.read_line(&mut line), Ok(read) if read > 0) {
        if line == "\r\n" {
            return true;
        }
        line.clear();
    }
    false
}

#[test]
fn lc_12_twenty_repositories_are_asked_at_the_same_time_and_once() {
    let sources = Sources::new();
    let commit = "1".repeat(40);
    let servers: Vec<TcpListener> =
        (0..20).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let all_asked = Barrier::new(servers.len());
    let repositories: Vec<ManifestSource> = servers
        .iter()
        .map(|server| source(&format!("http://{}/skills.git", server.local_addr().unwrap())))
        .collect();
    let lock = LockedSource { commit: Some("2".repeat(40)), ..LockedSource::default() };
    // Two entries of one repository are one question.
    let queries: Vec<NewestQuery<'_>> = repositories
        .iter()
        .chain(&repositories[..1])
        .map(|repository| query(repository, None, &lock))
        .collect();
    let context = context(&sources.world, Network::Allowed);
    let session = Session::begin(&context).unwrap();
    let (requests, results) = std::thread::scope(|scope| {
        let threads: Vec<_> = servers
            .iter()
            .map(|server| scope.spawn(|| serve_refs(server, &all_asked, &commit)))
            .collect();
        let results =
            newest_versions(&session, &sources.world.repo(), &queries, BranchHistory::Skip);
        let requests: Vec<usize> =
            threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        (requests, results)
    });
    assert_eq!(requests, [1; 20]);
    assert_eq!(results.len(), 21);
    for result in results {
        let found = result.unwrap();
        assert!(
            matches!(&found, NewestSource::Newer(lock) if lock.commit.as_ref() == Some(&commit)),
            "{found:?}"
        );
    }
}
