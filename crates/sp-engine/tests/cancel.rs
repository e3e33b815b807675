//! Work that nobody wants any more ends soon, and leaves nothing half-done.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test arranges its world with the plain calls"
)]

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sp_engine::context_pack::{ContextPackBuildRequest, ExplainOmitted, ZipOutput, build};
use sp_engine::model::ModelEndpoint;
use sp_engine::pkg::{self, CreateRequest, CreateSource, Overwrite};
use sp_engine::{
    ApplyMode, Brief, CheckRequest, CheckStrictness, Context, Event, EventListener, ImportPolicy,
    InstallRequest, Network, OtherPacks, ReplacePolicy, Result, SinkRequest, SinkScope, check,
    install,
};
use sp_testkit::{Files, Model, ModelServer, World, files};

/// Wants nothing more from some event on, or from some question on.
struct Client {
    cancels_at: Option<fn(&Event<'_>) -> bool>,
    questions_left: AtomicUsize,
    cancelled: AtomicBool,
    told: Mutex<Vec<String>>,
}

impl Client {
    fn patient() -> Self {
        Self::asked(usize::MAX)
    }

    /// Wants nothing more once this happens.
    fn until(cancels_at: fn(&Event<'_>) -> bool) -> Self {
        Self { cancels_at: Some(cancels_at), ..Self::patient() }
    }

    /// Says so often that the work is wanted, and then that it is not.
    fn asked(questions: usize) -> Self {
        let questions_left = AtomicUsize::new(questions);
        Self {
            cancels_at: None,
            questions_left,
            cancelled: AtomicBool::default(),
            told: Mutex::default(),
        }
    }

    fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
    }

    /// Work ended because of this client.
    #[track_caller]
    fn ended<T>(&self, done: Result<T>) {
        let Err(error) = done else {
            panic!("it was done: {:?}", self.told.lock().unwrap().last())
        };
        assert_eq!(error.code(), "E-cancelled", "{error}: {:?}", error.causes());
        assert!(self.cancelled.load(Ordering::SeqCst));
    }
}

impl EventListener for Client {
    fn on_event(&self, event: Event<'_>) {
        if self.cancels_at.is_some_and(|cancels| cancels(&event)) {
            self.cancel();
        }
        self.told.lock().unwrap().push(format!("{event:?}"));
    }

    fn is_cancelled(&self) -> bool {
        let less = |left: usize| if left == usize::MAX { Some(left) } else { left.checked_sub(1) };
        if self.questions_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_err() {
            self.cancel();
        }
        self.cancelled.load(Ordering::SeqCst)
    }
}

fn wall_clock() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

fn context<'a>(world: &World, client: &'a Client) -> Context<'a> {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    Context {
        user_home: world.home(),
        home: world.home().join(".skillpack"),
        cache: None,
        current_dir: world.repo(),
        env: BTreeMap::from([("PATH".into(), std::env::var("PATH").unwrap())]),
        now: jiff::Timestamp::from_second(1_790_000_000).unwrap(),
        wall_clock,
        random: |_| Ok(()),
        run_id: format!("run-{}", RUNS.fetch_add(1, Ordering::SeqCst)),
        limits: Vec::new(),
        network: Network::Allowed,
        listener: client,
    }
}

fn world() -> World {
    World::new("sp")
}

fn team(skills: usize) -> World {
    let world = world();
    (0..skills).for_each(|number| world.skill(&format!("skill-{number}")));
    world.pack("team", "name: team\ninclude: ['**']\n");
    world
}

fn install_team(world: &World, client: &Client) -> Result<()> {
    let request = InstallRequest {
        packs: vec!["team".into()],
        sinks: vec![SinkRequest { name: "claude".into(), path: None, scope: SinkScope::Global }],
        root: None,
        other_packs: OtherPacks::Keep,
        replace: ReplacePolicy::Refuse,
        mode: ApplyMode::Apply,
        expected_plan: None,
    };
    install(&context(world, client), &request).map(drop)
}

/// What an install changes: the sink and the state, and no journal or stage besides.
fn installed(world: &World) -> (Files, Option<Vec<u8>>) {
    assert!(!world.path("home/.skillpack/journal.json").exists());
    let sink = world.path("home/.claude");
    let there = if sink.exists() { files(&sink) } else { Files::default() };
    (there, std::fs::read(world.path("home/.skillpack/state.json")).ok())
}

#[test]
fn mc_03_an_install_that_is_cancelled_at_any_moment_changes_nothing() {
    let world = team(6);
    let remote = world.git("shared");
    remote.skill("tools/one").skill("tools/two").commit("one");
    let pack = format!(
        "name: team\ninclude: ['**']\nimports:\n  - repo: {}\n    include: ['tools/*']\n",
        remote.url()
    );
    world.pack("team", &pack);
    // First where nothing is, then over what was installed.
    for round in 0..2 {
        let before = installed(&world);
        let mut questions = 0;
        loop {
            let client = Client::asked(questions);
            let done = install_team(&world, &client);
            if done.is_ok() {
                break;
            }
            client.ended(done);
            assert_eq!(installed(&world), before, "after {questions} questions");
            questions += 1;
        }
        assert!(questions > 20, "{questions}");
        assert_ne!(installed(&world), before);
        world.write("skills/skill-3/more.md", format!("More of round {round}.\n"));
        world.skill(&format!("new-{round}"));
    }
}

#[test]
fn mc_03_a_large_install_is_cancelled_while_it_stages() {
    let world = team(400);
    let client = Client::until(|event| matches!(event, Event::Staging { .. }));
    client.ended(install_team(&world, &client));
    assert_eq!(installed(&world), (Files::default(), None));
    install_team(&world, &Client::patient()).unwrap();
}

#[test]
fn mc_03_who_waits_for_another_sp_can_be_cancelled() {
    let world = team(1);
    let home = sp_tree::Dir::create_all(&world.path("home/.skillpack")).unwrap();
    let held = sp_tree::DirLock::try_acquire(&home).unwrap().unwrap();
    let client = Client::until(|event| matches!(event, Event::Waiting));
    client.ended(install_team(&world, &client));
    drop(held);
    install_team(&world, &Client::patient()).unwrap();
}

#[test]
fn mc_03_a_fetch_from_a_server_that_says_nothing_can_be_cancelled() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    for scheme in ["git", "http"] {
        let world = world();
        let pack = format!(
            "name: team\nimports:\n  - repo: {scheme}://127.0.0.1:{port}/shared\n    include: ['**']\n"
        );
        world.pack("team", &pack);
        let client = Client::patient();
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let (server, client) = (&server, &client);
            scope.spawn(move || {
                let _connected = server.accept().unwrap();
                client.cancel();
                // The client ends while the server still holds the connection.
                let _ = is_done.recv();
            });
            client.ended(install_team(&world, client));
            drop(done);
        });
        assert!(!world.path("home/.claude").exists());
    }
}

#[test]
fn mc_03_a_check_can_be_cancelled() {
    let world = team(200);
    let client = Client::until(|event| matches!(event, Event::Checking { .. }));
    let request = CheckRequest {
        paths: Vec::new(),
        root: None,
        strictness: CheckStrictness::Lenient,
        imports: ImportPolicy::Skip,
    };
    client.ended(check(&context(&world, &client), &request));
    assert!(check(&context(&world, &Client::patient()), &request).unwrap().unreadable.is_empty());
}

#[test]
fn mc_03_a_package_of_a_project_can_be_cancelled() {
    let world = world();
    for number in 0..300 {
        world.write(
            &format!("docs/page-{number}.md"),
            format!("# Page {number}\n\nIt says what {number} is for.\n"),
        );
    }
    let client = Client::until(|event| matches!(event, Event::Reading { .. }));
    let request = CreateRequest {
        name: Some("notes".into()),
        version: Some("1.0.0".into()),
        ..CreateRequest::of(CreateSource::Project(world.repo()))
    };
    client.ended(pkg::create(&context(&world, &client), &request));
    assert!(!world.path("home/.skillpack").exists());
    pkg::create(&context(&world, &Client::patient()), &request).unwrap();
}

/// A knowledge base of so many notes.
fn knowledge(notes: usize) -> World {
    let world = world();
    for number in 0..notes {
        let text = format!(
            "---\nurl: https://docs.example.com/{number}\ntitle: Webhooks of shop {number}\nkind: docs\n\
             captured_at: 2026-04-02\n---\n\n\
             A webhook sender repeats every delivery to shop {number} that was not answered in time.\n\n\
             - Use a limit of {number} attempts for every webhook of this shop.\n\
             - Never retry a webhook whose receiver {number} answered with 410.\n"
        );
        world.write(&format!("kb/note-{number}.md"), text);
    }
    world
}

fn build_request(world: &World) -> ContextPackBuildRequest {
    ContextPackBuildRequest {
        kb: vec![world.repo().join("kb")],
        brief: Brief {
            name: "Relay".into(),
            description: "A service that delivers webhooks to shops.".into(),
            prompt: None,
            stack: Vec::new(),
        },
        since: None,
        out: None,
        zip: ZipOutput::Yes,
        budget: 4000,
        explain: ExplainOmitted::No,
        generated_at: None,
        pack_id: None,
        overwrite: Overwrite::Refuse,
        model: None,
    }
}

/// Nothing of a pack is there, not even the beginning of one.
fn is_untouched(world: &World) -> bool {
    let rest = |dir: &Path| {
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>()
    };
    rest(&world.repo())
        .iter()
        .all(|name| ["kb", "packs", "skills"].contains(&name.to_str().unwrap()))
}

#[test]
fn cp_17_a_build_over_a_large_knowledge_base_can_be_cancelled() {
    let world = knowledge(3000);
    let request = build_request(&world);
    let cancels: [fn(&Event<'_>) -> bool; 3] = [
        |event| matches!(event, Event::Reading { .. }),
        |event| matches!(event, Event::Reading { done, total } if done == total),
        |event| matches!(event, Event::Composing { .. }),
    ];
    for cancels_at in cancels {
        let client = Client::until(cancels_at);
        client.ended(build(&context(&world, &client), &request));
        assert!(is_untouched(&world));
    }
    build(&context(&world, &Client::patient()), &request).unwrap();
}

#[test]
fn cp_17_a_build_that_is_cancelled_at_any_moment_writes_nothing() {
    let world = knowledge(8);
    let request = build_request(&world);
    let mut questions = 0;
    loop {
        let client = Client::asked(questions);
        let done = build(&context(&world, &client), &request);
        if done.is_ok() {
            break;
        }
        client.ended(done);
        assert!(is_untouched(&world), "after {questions} questions");
        questions += 1;
    }
    assert!(questions > 20, "{questions}");
    assert!(world.repo().join("context-pack/pack.json").exists());
}

#[test]
fn cp_17_a_build_tells_how_far_it_is() {
    let world = knowledge(40);
    let client = Client::patient();
    build(&context(&world, &client), &build_request(&world)).unwrap();
    let told = client.told.lock().unwrap();
    assert!(told.contains(&"Reading { done: 40, total: 40 }".to_owned()), "{told:?}");
    let steps: Vec<&String> = told.iter().filter(|event| event.starts_with("Composing")).collect();
    let total = steps.len();
    for (number, step) in steps.into_iter().enumerate() {
        assert_eq!(*step, format!("Composing {{ done: {}, total: {total} }}", number + 1));
    }
    assert!(total > 20, "{total}");
}

#[test]
fn cp_17_a_build_does_not_wait_for_a_model_that_nobody_wants_any_more() {
    let world = knowledge(8);
    let server = ModelServer::start(Model::Slow);
    let endpoint = ModelEndpoint {
        url: server.url(),
        name: "tiny".into(),
        key: None,
        timeout: Duration::from_secs(60),
    };
    let request = ContextPackBuildRequest { model: Some(endpoint), ..build_request(&world) };
    let client = Client::until(|event| matches!(event, Event::Fetching { .. }));
    client.ended(build(&context(&world, &client), &request));
    assert!(is_untouched(&world));
    build(&context(&world, &Client::patient()), &build_request(&world)).unwrap();
}
