//! Runs the engine in the process of the test, in the same surroundings as `sp` in a [`World`].

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use sp_engine::{Context, Event, EventListener, InstalledFilter, Network};
use sp_testkit::{NextCommand, World};

/// Ignores all events.
struct Silent;

impl EventListener for Silent {
    fn on_event(&self, _: Event<'_>) {}
}

/// Returns a context that starts in the repository of the world.
pub(crate) fn engine_context(world: &World) -> Context<'static> {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    Context {
        user_home: world.home(),
        home: world.home().join(".skillpack"),
        cache: None,
        current_dir: world.repo(),
        env: BTreeMap::new(),
        now: Timestamp::from_second(1_790_000_000).unwrap(),
        wall_clock,
        random: |bytes| {
            bytes.fill(0);
            Ok(())
        },
        run_id: format!("in-process-{}", RUNS.fetch_add(1, Ordering::Relaxed)),
        limits: Vec::new(),
        network: Network::Offline,
        consent: sp_engine::InstallConsent::default(),
        listener: &Silent,
    }
}

fn wall_clock() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

/// Recovers from an interruption, as the first step of every command.
pub(crate) fn recover() -> NextCommand {
    Box::new(|world| {
        let installed = sp_engine::installed(&engine_context(world), &InstalledFilter::default());
        installed.map(drop).map_err(|error| format!("{error}: {:?}", error.causes()))
    })
}
