//! Cancelled operations end soon and leave nothing half-done.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sp_engine::context_pack::{self, ContextPackBuildRequest, ExplainOmitted, ZipOutput};
use sp_engine::model::ModelEndpoint;
use sp_engine::pkg::{self, CreateRequest, CreateSource, Overwrite};
use sp_engine::{
    ApplyMode, ApplyOptions, Brief, CheckRequest, CheckStrictness, Context, Event, EventListener,
    ImportPolicy, InstallRequest, Network, OtherPacks, ReplacePolicy, Result, SinkRequest,
    SinkScope, check, install,
};
use sp_formats::output::ContextPackBuildReport;
use sp_testkit::{FileMap, ModelBehavior, ModelServer, World, files};

/// A client that cancels at an event or after a number of polls.
struct Client {
    cancel_event: Option<fn(&Event<'_>) -> bool>,
    polls_left: AtomicUsize,
    cancelled: AtomicBool,
    events: Mutex<Vec<String>>,
}

impl Client {
    fn never_cancelling() -> Self {
        Self::cancelling_after_polls(usize::MAX)
    }

    fn cancelling_on(cancel_event: fn(&Event<'_>) -> bool) -> Self {
        Self { cancel_event: Some(cancel_event), ..Self::never_cancelling() }
    }

    fn cancelling_after_polls(polls: usize) -> Self {
        let polls_left = AtomicUsize::new(polls);
        Self {
            cancel_event: None,
            polls_left,
            cancelled: AtomicBool::default(),
            events: Mutex::default(),
        }
    }

    fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
    }

    /// Asserts that an operation was cancelled by this client.
    #[track_caller]
    fn assert_cancelled<T>(&self, result: Result<T>) {
        let Err(error) = result else {
            panic!("not cancelled: {:?}", self.events.lock().unwrap().last())
        };
        assert_eq!(error.code(), "E-cancelled", "{error}: {:?}", error.causes());
        assert!(self.cancelled.load(Ordering::SeqCst));
    }
}

impl EventListener for Client {
    fn on_event(&self, event: Event<'_>) {
        if self.cancel_event.is_some_and(|is_cancel_event| is_cancel_event(&event)) {
            self.cancel();
        }
        self.events.lock().unwrap().push(format!("{event:?}"));
    }

    fn is_cancelled(&self) -> bool {
        let decrement =
            |left: usize| if left == usize::MAX { Some(left) } else { left.checked_sub(1) };
        if self.polls_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, decrement).is_err() {
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
        consent: sp_engine::InstallConsent::default(),
        listener: client,
    }
}

fn world() -> World {
    World::new("sp")
}

fn world_with_team_pack(skills: usize) -> World {
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

/// Returns the files in the sink and the state, and checks that there is no journal.
fn installed(world: &World) -> (FileMap, Option<Vec<u8>>) {
    assert!(!world.path("home/.skillpack/journal.json").exists());
    let sink = world.path("home/.claude");
    let sink_files = if sink.exists() { files(&sink) } else { FileMap::default() };
    (sink_files, std::fs::read(world.path("home/.skillpack/state.json")).ok())
}

#[test]
fn mc_03_cancelling_an_install_at_any_poll_changes_nothing() {
    let world = world_with_team_pack(6);
    let remote = world.git("shared");
    remote.skill("tools/one").skill("tools/two").commit("one");
    let pack = format!(
        "name: team\ninclude: ['**']\nimports:\n  - repo: {}\n    include: ['tools/*']\n",
        remote.url()
    );
    world.pack("team", &pack);
    // First an initial install, then an update.
    for round in 0..2 {
        let before = installed(&world);
        let mut polls = 0;
        loop {
            let client = Client::cancelling_after_polls(polls);
            let result = install_team(&world, &client);
            if result.is_ok() {
                break;
            }
            client.assert_cancelled(result);
            assert_eq!(installed(&world), before, "after {polls} polls");
            polls += 1;
        }
        assert!(polls > 20, "{polls}");
        assert_ne!(installed(&world), before);
        world.write("skills/skill-3/more.md", format!("More of round {round}.\n"));
        world.skill(&format!("new-{round}"));
    }
}

#[test]
fn mc_03_install_can_be_cancelled_while_staging() {
    let world = world_with_team_pack(400);
    let client = Client::cancelling_on(|event| matches!(event, Event::Staging { .. }));
    client.assert_cancelled(install_team(&world, &client));
    assert_eq!(installed(&world), (FileMap::default(), None));
    install_team(&world, &Client::never_cancelling()).unwrap();
}

#[test]
fn mc_03_waiting_for_the_lock_can_be_cancelled() {
    let world = world_with_team_pack(1);
    let home = sp_tree::Dir::create_all(&world.path("home/.skillpack")).unwrap();
    let lock = sp_tree::DirLock::try_acquire(&home).unwrap().unwrap();
    let client = Client::cancelling_on(|event| matches!(event, Event::Waiting));
    client.assert_cancelled(install_team(&world, &client));
    drop(lock);
    install_team(&world, &Client::never_cancelling()).unwrap();
}

#[test]
fn mc_03_fetch_from_a_silent_server_can_be_cancelled() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    for scheme in ["git", "http"] {
        let world = world();
        let pack = format!(
            "name: team\nimports:\n  - repo: {scheme}://127.0.0.1:{port}/shared\n    include: ['**']\n"
        );
        world.pack("team", &pack);
        let client = Client::never_cancelling();
        let (finish, finished) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let (server, client) = (&server, &client);
            scope.spawn(move || {
                let _connected = server.accept().unwrap();
                client.cancel();
                // The client stops while the connection is still open.
                let _ = finished.recv();
            });
            client.assert_cancelled(install_team(&world, client));
            drop(finish);
        });
        assert!(!world.path("home/.claude").exists());
    }
}

#[test]
fn mc_03_check_can_be_cancelled() {
    let world = world_with_team_pack(200);
    let client = Client::cancelling_on(|event| matches!(event, Event::Checking { .. }));
    let request = CheckRequest {
        paths: Vec::new(),
        root: None,
        strictness: CheckStrictness::Lenient,
        imports: ImportPolicy::Skip,
        baseline: None,
    };
    client.assert_cancelled(check(&context(&world, &client), &request));
    assert!(
        check(&context(&world, &Client::never_cancelling()), &request)
            .unwrap()
            .unreadable
            .is_empty()
    );
}

#[test]
fn mc_03_creating_a_package_can_be_cancelled() {
    let world = world();
    for number in 0..300 {
        world.write(
            &format!("docs/page-{number}.md"),
            format!("# Page {number}\n\nIt says what {number} is for.\n"),
        );
    }
    let client = Client::cancelling_on(|event| matches!(event, Event::Reading { .. }));
    let request = CreateRequest {
        name: Some("notes".into()),
        version: Some("1.0.0".into()),
        ..CreateRequest::of(CreateSource::Project(world.repo()))
    };
    client.assert_cancelled(pkg::create(&context(&world, &client), &request));
    assert!(!world.path("home/.skillpack").exists());
    pkg::create(&context(&world, &Client::never_cancelling()), &request).unwrap();
}

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

fn build(
    context: &Context<'_>,
    request: &ContextPackBuildRequest,
) -> Result<ContextPackBuildReport> {
    context_pack::build(context, request, ApplyOptions::APPLY)
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

/// Returns whether the repository has no context pack, not even a partial one.
fn is_untouched(world: &World) -> bool {
    let names = |dir: &Path| {
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>()
    };
    names(&world.repo())
        .iter()
        .all(|name| ["kb", "packs", "skills"].contains(&name.to_str().unwrap()))
}

#[test]
fn cp_17_build_of_a_large_knowledge_base_can_be_cancelled() {
    let world = knowledge(3000);
    let request = build_request(&world);
    let cancel_events: [fn(&Event<'_>) -> bool; 3] = [
        |event| matches!(event, Event::Reading { .. }),
        |event| matches!(event, Event::Reading { done, total } if done == total),
        |event| matches!(event, Event::Composing { .. }),
    ];
    for cancel_event in cancel_events {
        let client = Client::cancelling_on(cancel_event);
        client.assert_cancelled(build(&context(&world, &client), &request));
        assert!(is_untouched(&world));
    }
    build(&context(&world, &Client::never_cancelling()), &request).unwrap();
}

#[test]
fn cp_17_cancelling_a_build_at_any_poll_writes_nothing() {
    let world = knowledge(8);
    let request = build_request(&world);
    let mut polls = 0;
    loop {
        let client = Client::cancelling_after_polls(polls);
        let result = build(&context(&world, &client), &request);
        if result.is_ok() {
            break;
        }
        client.assert_cancelled(result);
        assert!(is_untouched(&world), "after {polls} polls");
        polls += 1;
    }
    assert!(polls > 20, "{polls}");
    assert!(world.repo().join("context-pack/pack.json").exists());
}

#[test]
fn cp_17_build_reports_its_progress() {
    let world = knowledge(40);
    let client = Client::never_cancelling();
    build(&context(&world, &client), &build_request(&world)).unwrap();
    let events = client.events.lock().unwrap();
    assert!(events.contains(&"Reading { done: 40, total: 40 }".to_owned()), "{events:?}");
    let steps: Vec<&String> =
        events.iter().filter(|event| event.starts_with("Composing")).collect();
    let total = steps.len();
    for (number, step) in steps.into_iter().enumerate() {
        assert_eq!(*step, format!("Composing {{ done: {}, total: {total} }}", number + 1));
    }
    assert!(total > 20, "{total}");
}

#[test]
fn cp_17_build_can_be_cancelled_while_waiting_for_a_model() {
    let world = knowledge(8);
    let server = ModelServer::start(ModelBehavior::Slow);
    let endpoint = ModelEndpoint {
        url: server.url(),
        name: "tiny".into(),
        key: None,
        timeout: Duration::from_secs(60),
    };
    let request = ContextPackBuildRequest { model: Some(endpoint), ..build_request(&world) };
    let client = Client::cancelling_on(|event| matches!(event, Event::Fetching { .. }));
    client.assert_cancelled(build(&context(&world, &client), &request));
    assert!(is_untouched(&world));
    build(&context(&world, &Client::never_cancelling()), &build_request(&world)).unwrap();
}
