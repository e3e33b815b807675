//! What holds for plans as values, without a transaction.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use sp_formats::git_repo::GitRepo;
use sp_formats::naming::FolderNaming;
use sp_formats::output::FolderAction;
use sp_formats::package::{PackageName, PackageVersion};
use sp_formats::state::{InstallSource, InstallState};
use sp_testkit::World;
use sp_tree::transaction::PriorState;
use sp_tree::{Digest, Dir, Limits, Name, PinnedDir, StampScope, load_untrusted};

use super::change::ChangeExecutor;
use super::plan::{
    ChangePlan, FilePlan, FolderPlan, PlanAcceptance, PlanRequest, PlannedPack, RecordedPack,
    SinkPlan, SinkTarget,
};
use super::selection::resolve_pack;
use super::skill_set::{
    ImportedCommit, InstallableSkill, PackOrigin, PackageOrigin, SkillOrigin, SkillSet, SkillSource,
};
use super::stage::SkillStager;
use crate::agent_set::AgentSet;
use crate::apply_mode::ApplyMode;
use crate::context::{Context, Event, EventListener, Network};
use crate::home::DigestIndexes;
use crate::session::Session;
use crate::sinks::{Sink, SinkRequest, SinkScope, resolve_sink};
use crate::source::git::GitCheckout;

/// A fact, and a change of a plan that changes it.
type PlanChange = (&'static str, fn(&mut ChangePlan));

const SINK_PATH: &str = "/nowhere/claude";

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn naming(prefix: &str) -> FolderNaming {
    FolderNaming { prefix: prefix.into(), sep: "__".into(), flatten: false }
}

fn package(package: &str, version: &str) -> SkillOrigin {
    SkillOrigin::Package(PackageOrigin {
        name: PackageName::new(package).unwrap(),
        version: PackageVersion::new(version).unwrap(),
        sha256: "abc".into(),
        naming: naming("notes"),
    })
}

fn folder(folder: &str, source: Option<SkillSource>) -> FolderPlan {
    FolderPlan {
        name: name(folder),
        pack: "team".into(),
        id: Some("a".into()),
        action: FolderAction::Add,
        source,
        digest: Some(digest("new")),
        recorded_digest: None,
        edited: false,
        before: PriorState::Absent,
        current_digest: None,
    }
}

fn local_source() -> SkillSource {
    SkillSource::Local {
        skills_dir: Path::new("/nowhere/skills").into(),
        id: "a".into(),
        stamp_scope: StampScope::All,
    }
}

fn git_source() -> SkillSource {
    let checkout = GitCheckout {
        repo: GitRepo::new("https://example.com/skills").unwrap(),
        url: "https://example.com/skills".into(),
        dir: "/nowhere/cache".into(),
        commit: "c0ffee".into(),
        fetch_target: "main".into(),
        tree: Default::default(),
        git_limits: (&Limits::default()).into(),
    };
    SkillSource::Git { checkout: Arc::new(checkout), id: "b".into(), import: 0 }
}

fn pack_origin() -> PackOrigin {
    PackOrigin {
        name: "team".into(),
        file: "/nowhere/packs/team.yaml".into(),
        naming: naming("team"),
        imports: vec![ImportedCommit {
            repo: "example.com/skills".into(),
            git_ref: Some("main".into()),
            commit: "c0ffee".into(),
        }],
    }
}

/// A plan that adds a local skill, keeps an imported one, removes a folder and writes a file.
fn plan() -> ChangePlan {
    let kept = FolderPlan {
        action: FolderAction::Keep,
        before: PriorState::Ours(Some(digest("kept"))),
        current_digest: Some(digest("kept")),
        digest: Some(digest("kept")),
        ..folder("team__b", Some(git_source()))
    };
    let removed = FolderPlan {
        action: FolderAction::Remove,
        before: PriorState::Ours(Some(digest("old"))),
        current_digest: Some(digest("old")),
        digest: None,
        ..folder("old__c", None)
    };
    let sink = SinkPlan {
        sink: Sink::new("claude".into(), Arc::new(PinnedDir::open(Path::new(SINK_PATH)).unwrap())),
        folders: vec![folder("team__a", Some(local_source())), kept, removed],
        packs: vec![planned_pack(SkillOrigin::Pack(pack_origin()))],
        recorded_packs: vec![RecordedPack {
            name: "old".into(),
            source: InstallSource::PackFile("/nowhere/old.yaml".into()),
            agents: "claude".into(),
            agents_after: AgentSet::default(),
            is_uninstalled: true,
        }],
        moved_to: None,
        index_updates: Vec::new(),
    };
    let file = FilePlan::new(
        "/nowhere".into(),
        name("skillpack.lock"),
        PriorState::Absent,
        Some(b"lock".as_slice().into()),
    );
    ChangePlan {
        state: InstallState::default(),
        sinks: vec![sink],
        files: vec![file],
        acceptance: PlanAcceptance::default(),
    }
}

fn planned_pack(origin: SkillOrigin) -> PlannedPack {
    PlannedPack { origin: Arc::new(origin), agents: "claude".into() }
}

fn sink(plan: &mut ChangePlan) -> &mut SinkPlan {
    &mut plan.sinks[0]
}

fn set_pack(plan: &mut ChangePlan, change: fn(&mut PackOrigin)) {
    let mut pack = pack_origin();
    change(&mut pack);
    sink(plan).packs = vec![planned_pack(SkillOrigin::Pack(pack))];
}

fn checkout(plan: &mut ChangePlan) -> &mut GitCheckout {
    match &mut sink(plan).folders[1].source {
        Some(SkillSource::Git { checkout, .. }) => Arc::get_mut(checkout).unwrap(),
        _ => panic!("an imported skill"),
    }
}

#[test]
fn mc_03_plan_id_covers_every_fact_of_the_plan() {
    let changes: [PlanChange; 31] = [
        ("nothing", |_| {}),
        ("agent", |plan| sink(plan).sink.agents = "codex".into()),
        ("another agent", |plan| sink(plan).sink.agents.insert("codex")),
        ("sink path", |plan| sink(plan).sink.path = "/elsewhere".into()),
        ("another sink", |plan| plan.sinks.push(self::plan().sinks.remove(0))),
        ("pack name", |plan| set_pack(plan, |pack| pack.name = "other".into())),
        ("pack file", |plan| set_pack(plan, |pack| pack.file = "/other.yaml".into())),
        ("imported repository", |plan| set_pack(plan, |pack| pack.imports[0].repo = "x".into())),
        ("imported ref", |plan| set_pack(plan, |pack| pack.imports[0].git_ref = None)),
        ("imported commit", |plan| set_pack(plan, |pack| pack.imports[0].commit = "x".into())),
        ("no import", |plan| set_pack(plan, |pack| pack.imports.clear())),
        ("package", |plan| sink(plan).packs = vec![planned_pack(package("team", "1.0.0"))]),
        ("package name", |plan| sink(plan).packs = vec![planned_pack(package("other", "1.0.0"))]),
        ("package version", |plan| sink(plan).packs = vec![planned_pack(package("team", "2.0.0"))]),
        ("agent of a pack", |plan| sink(plan).packs[0].agents.insert("codex")),
        ("removed pack", |plan| sink(plan).recorded_packs[0].agents_after = "claude".into()),
        ("recorded agent", |plan| sink(plan).recorded_packs[0].agents.insert("codex")),
        ("recorded pack", |plan| sink(plan).recorded_packs[0].name = "x".into()),
        ("recorded source", |plan| sink(plan).recorded_packs[0].source = InstallSource::default()),
        ("folder name", |plan| sink(plan).folders[0].name = name("team__x")),
        ("pack of a folder", |plan| sink(plan).folders[0].pack = "x".into()),
        ("skill ID", |plan| sink(plan).folders[0].id = Some("x".into())),
        ("action", |plan| sink(plan).folders[0].action = FolderAction::Update),
        ("edited", |plan| sink(plan).folders[2].edited = true),
        ("prior state", |plan| sink(plan).folders[2].before = PriorState::Ours(None)),
        ("present content", |plan| sink(plan).folders[2].current_digest = None),
        ("local content", |plan| sink(plan).folders[0].digest = Some(digest("newer"))),
        ("commit of a folder", |plan| checkout(plan).commit = "decaf".into()),
        ("file name", |plan| plan.files[0].name = name("other.lock")),
        ("file content", |plan| plan.files[0].bytes = None),
        ("prior file", |plan| plan.files[0].before = PriorState::Ours(None)),
    ];
    let mut seen = HashSet::new();
    for (fact, change) in changes {
        let mut plan = plan();
        change(&mut plan);
        assert!(seen.insert(plan.id().to_string()), "{fact}");
    }
}

#[test]
fn mc_03_plan_id_is_equal_in_a_dry_run_and_an_install() {
    let changes: [PlanChange; 5] = [
        ("state", |plan| plan.state = plan.state.with_installs(7, Vec::new())),
        ("index entries", |plan| sink(plan).index_updates.push(("team__a".into(), None))),
        ("cache", |plan| checkout(plan).dir = "/elsewhere".into()),
        // An install reads imported skills, and a dry run does not.
        ("imported content", |plan| sink(plan).folders[1].digest = None),
        ("repository", |plan| {
            let SkillSource::Local { id, stamp_scope, .. } = local_source() else { return };
            let skills_dir = Path::new("/elsewhere").into();
            sink(plan).folders[0].source = Some(SkillSource::Local { skills_dir, id, stamp_scope });
        }),
    ];
    let id = plan().id();
    for (fact, change) in changes {
        let mut plan = plan();
        change(&mut plan);
        assert_eq!(plan.id(), id, "{fact}");
    }
}

#[test]
fn digests_are_set_by_slot() {
    let mut plan = plan();
    sink(&mut plan).folders.swap(0, 1);
    let slots: Vec<&str> = plan.changed_folders().map(|(_, folder)| folder.name.as_str()).collect();
    assert_eq!(slots, ["team__a", "old__c"]);
    plan.set_digests([(0, digest("staged")), (9, digest("nothing"))]);
    let digests: Vec<Option<Digest>> =
        plan.sinks[0].folders.iter().map(|folder| folder.digest).collect();
    assert_eq!(digests, [Some(digest("kept")), Some(digest("staged")), None]);
}

/// A state in which `team` and `old` are installed in the sink of [`plan`], and `team` elsewhere.
fn state() -> InstallState {
    let record = |pack: &str, sink: &str, folder: &str| {
        format!(
            r#"{{"sink": "claude", "sink_path": "{sink}", "agents": ["claude"], "pack": "{pack}", "pack_file": "/nowhere/packs/{pack}.yaml",
            "prefix": "{pack}", "sep": "__", "flatten": false,
            "imports": [{{"repo": "example.com/skills", "ref": "main", "commit": "c0ffee", "theirs": 1}}],
            "installed_paths": ["{sink}/{folder}"],
            "skills": [{{"folder": "{folder}", "id": "b", "import": 0, "digest": "{}"}}],
            "installed_at": "then", "theirs": 2}}"#,
            digest("kept")
        )
    };
    let installs = [
        record("team", SINK_PATH, "team__b"),
        record("old", SINK_PATH, "old__c"),
        record("team", "/nowhere/codex", "team__b"),
    ];
    let text =
        format!(r#"{{"version": 1, "generation": 3, "installs": [{}]}}"#, installs.join(","));
    InstallState::parse(text.as_bytes()).unwrap()
}

#[test]
fn sp_29_records_follow_from_the_plan_and_its_state() {
    let plan = ChangePlan { state: state(), ..plan() };
    let records = plan.records("now");
    let summary: Vec<(&str, &str, &str)> = records
        .iter()
        .map(|record| (&*record.pack, &*record.sink_path, &*record.installed_at))
        .collect();
    assert_eq!(summary, [("team", SINK_PATH, "now"), ("team", "/nowhere/codex", "then")]);
    assert_eq!(records[1], plan.state.installs[2], "another sink is not touched");
    let team = &records[0];
    assert_eq!(team.installed_paths, ["/nowhere/claude/team__a", "/nowhere/claude/team__b"]);
    assert_eq!(team.imports, plan.state.installs[0].imports, "unknown members are kept");
    assert_eq!(team.extra, plan.state.installs[0].extra);
    let skills: Vec<(&str, Option<usize>, Digest)> =
        team.skills.iter().map(|skill| (&*skill.folder, skill.import, skill.digest)).collect();
    assert_eq!(skills, [("team__a", None, digest("new")), ("team__b", Some(0), digest("kept"))]);
}

#[test]
fn sp_25_record_keeps_its_time_if_nothing_changes() {
    let mut plan = ChangePlan { state: state(), ..plan() };
    sink(&mut plan).folders.retain(|folder| folder.action == FolderAction::Keep);
    sink(&mut plan).recorded_packs[0].agents_after = "claude".into();
    sink(&mut plan).folders[0].id = Some("b".into());
    assert_eq!(plan.records("now"), plan.state.installs);
    set_pack(&mut plan, |pack| pack.file = "/moved/team.yaml".into());
    assert_eq!(plan.records("now")[0].installed_at, "now");
}

struct Silent;

impl EventListener for Silent {
    fn on_event(&self, _: Event<'_>) {}
}

fn context(world: &World) -> Context<'static> {
    Context {
        user_home: world.home(),
        home: world.home().join(".skillpack"),
        cache: None,
        current_dir: world.repo(),
        env: BTreeMap::new(),
        now: jiff::Timestamp::UNIX_EPOCH,
        wall_clock: || 0,
        random: |_| Ok(()),
        run_id: "run".into(),
        limits: Vec::new(),
        network: Network::Offline,
        consent: crate::context::InstallConsent::default(),
        listener: &Silent,
    }
}

fn sinks(session: &Session<'_>, names: &[&str]) -> Vec<Sink> {
    let sink = |name: &&str| {
        let request = SinkRequest { name: (*name).into(), path: None, scope: SinkScope::Global };
        resolve_sink(session, &request).unwrap()
    };
    names.iter().map(sink).collect()
}

fn pack(session: &Session<'_>, pack: &str) -> Arc<SkillSet> {
    Arc::new(resolve_pack(session, None, pack, None).unwrap().into())
}

/// Plans a dry run.
fn plan_dry_run(session: &Session<'_>, targets: Vec<SinkTarget>) -> ChangePlan {
    let change = ChangeExecutor { session, home: None, options: ApplyMode::DryRun.into() };
    let request = PlanRequest { targets, ..PlanRequest::default() };
    let mut indexes = DigestIndexes::new(session.context);
    change.plan(InstallState::default(), &request, Vec::new(), &mut indexes).unwrap()
}

fn printed(plan: &ChangePlan) -> serde_json::Value {
    let changes: Vec<_> = plan.sinks.iter().map(SinkPlan::to_sink_change).collect();
    serde_json::to_value(changes).unwrap()
}

#[test]
fn pack_and_package_with_equal_folders_differ_only_in_their_origin() {
    let world = World::new("sp");
    world.skill("a");
    world.pack("team", "name: team\ninclude: ['**']\n");
    let context = context(&world);
    let session = Session::begin(&context).unwrap();
    let sinks = sinks(&session, &["claude"]);
    let content = Dir::open(&world.repo().join("skills/a")).unwrap();
    let content = load_untrusted(&content, &session.limits).unwrap();
    let source = SkillSource::Package {
        package: PackageName::new("team").unwrap(),
        id: "a".into(),
        content: Arc::new(content),
    };
    let package_set = SkillSet {
        origin: Arc::new(package("team", "1.0.0")),
        skills: vec![InstallableSkill { folder: name("team__a"), source }],
    };
    let of_pack = plan_dry_run(&session, SinkTarget::all(&sinks, &[pack(&session, "team")]));
    let of_package = plan_dry_run(&session, SinkTarget::all(&sinks, &[Arc::new(package_set)]));

    assert_eq!(printed(&of_pack), printed(&of_package));
    assert_ne!(of_pack.id(), of_package.id());
    let (pack, package) = (&of_pack.records("now")[0], &of_package.records("now")[0]);
    assert_eq!((&pack.skills, &pack.installed_paths), (&package.skills, &package.installed_paths));
    let file = world.repo().join("packs/team.yaml");
    assert_eq!(pack.source.to_string(), file.to_str().unwrap());
    assert!(pack.imports.is_empty());
    assert_eq!(package.source.to_string(), "ctxpkg:team");
    assert_eq!((&*package.imports[0].repo, &*package.imports[0].commit), ("ctxpkg:team", "abc"));
}

#[test]
fn plan_needs_nothing_that_it_was_made_from() {
    let world = World::new("sp");
    ["a", "b"].iter().for_each(|id| world.skill(id));
    world.pack("team", "name: team\ninclude: ['**']\n");
    let context = context(&world);
    let session = Session::begin(&context).unwrap();
    let sinks = sinks(&session, &["claude", "codex"]);
    let plan = plan_dry_run(&session, SinkTarget::all(&sinks, &[pack(&session, "team")]));
    let all = |plan: &ChangePlan| (printed(plan), plan.id(), plan.records("now"));
    let before = all(&plan);
    drop((sinks, world));
    assert_eq!(all(&plan), before);
    assert_eq!(before.0[1]["folders"][1]["folder"], "team__b");
    assert_eq!(before.2.len(), 2);
}

#[test]
fn skill_of_several_packs_and_sinks_is_read_once() {
    let world = World::new("sp");
    ["a", "b"].iter().for_each(|id| world.skill(id));
    world.pack("team", "name: team\ninclude: ['**']\n");
    world.pack("other", "name: other\ninclude: [a]\n");
    let context = context(&world);
    let session = Session::begin(&context).unwrap();
    let sinks = sinks(&session, &["claude", "codex"]);
    let packs = ["team", "other"].map(|name| pack(&session, name));
    let plan = plan_dry_run(&session, SinkTarget::all(&sinks, &packs));
    assert_eq!(plan.changed_folders().count(), 6);
    assert_eq!(SkillStager::new(&session, &plan).unwrap().prepare(&plan).unwrap().len(), 2);
}
