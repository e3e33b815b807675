//! Transactions on files of the user: modes, concurrent changes, created and emptied directories.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_tree::atomic::FileAccess;
use sp_tree::transaction::{
    PriorState, RecoveryOutcome, Transaction, TransactionAction, TransactionChange,
    TransactionError, TransactionPlan, is_pending, recover,
};
use sp_tree::{Digest, Dir, FileError, Follow, Limits, Name, PinnedDir};

/// A home, and a directory of the user with the file `mine`.
struct Fixture {
    temp: tempfile::TempDir,
    home: Dir,
}

const OLD: &str = "old";

impl Fixture {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("home")).unwrap();
        std::fs::create_dir(temp.path().join("user")).unwrap();
        let home = Dir::open(&temp.path().join("home")).unwrap();
        let fixture = Self { temp, home };
        fixture.write("mine", OLD);
        fixture
    }

    fn user(&self) -> PathBuf {
        self.temp.path().join("user")
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.user().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.user().join(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.user()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// The state of `mine` as a plan would record it now.
    fn current_state(&self) -> PriorState {
        let stamp =
            Dir::open(&self.user()).unwrap().stat(&name("mine"), Follow::Never).unwrap().unwrap();
        PriorState::UserFile(stamp, Digest::of(self.read("mine").as_bytes()))
    }

    fn plan(&self, action: TransactionAction) -> TransactionPlan {
        let change =
            TransactionChange { root: 0, name: name("mine"), action, prior: self.current_state() };
        plan(&[self.user()], vec![change])
    }
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn plan(roots: &[PathBuf], changes: Vec<TransactionChange>) -> TransactionPlan {
    let roots = roots.iter().map(|root| Arc::new(PinnedDir::open(root).unwrap())).collect();
    TransactionPlan { id: name("run"), generation: 1, roots, changes, remove_if_empty: Vec::new() }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

/// Commits without storing a state.
fn commit(transaction: Transaction<'_>) {
    let remaining = transaction.commit(|| Ok::<(), TransactionError>(()), || Some(1)).unwrap();
    assert!(remaining.is_empty(), "{remaining:?}");
}

#[test]
fn replaced_files_keep_their_mode_and_new_ones_can_be_private() {
    let (fixture, limits) = (Fixture::new(), Limits::default());
    std::fs::set_permissions(fixture.user().join("mine"), PermissionsExt::from_mode(0o640))
        .unwrap();
    let new = |text: &str| TransactionChange {
        root: 0,
        name: name(text),
        action: TransactionAction::Put,
        prior: PriorState::Absent,
    };
    let mut changes = fixture.plan(TransactionAction::Put).changes;
    changes.extend([new("public"), new("private")]);
    let mut transaction =
        Transaction::begin(&fixture.home, &limits, plan(&[fixture.user()], changes)).unwrap();
    transaction.stage_file(0, b"new", FileAccess::Private).unwrap();
    transaction.stage_file(1, b"new", FileAccess::Ordinary).unwrap();
    transaction.stage_file(2, b"new", FileAccess::Private).unwrap();
    transaction.swap().unwrap();
    commit(transaction);
    assert_eq!(fixture.names(), ["mine", "private", "public"]);
    assert_eq!((fixture.read("mine").as_str(), mode(&fixture.user().join("mine"))), ("new", 0o640));
    assert_eq!(mode(&fixture.user().join("private")), 0o600);
}

#[test]
fn files_changed_after_planning_are_not_touched() {
    type Interference = fn(&Fixture);
    let interferences: [Interference; 3] = [
        |fixture| fixture.write("mine", "edited"),
        |fixture| {
            fixture.write("other", "edited");
            std::fs::rename(fixture.user().join("other"), fixture.user().join("mine")).unwrap();
        },
        |fixture| {
            std::fs::set_permissions(fixture.user().join("mine"), PermissionsExt::from_mode(0o600))
                .unwrap();
        },
    ];
    for (number, interfere) in interferences.into_iter().enumerate() {
        for action in [TransactionAction::Put, TransactionAction::Remove] {
            let (fixture, limits) = (Fixture::new(), Limits::default());
            let mut transaction =
                Transaction::begin(&fixture.home, &limits, fixture.plan(action)).unwrap();
            if action == TransactionAction::Put {
                transaction.stage_file(0, b"new", FileAccess::Ordinary).unwrap();
            }
            interfere(&fixture);
            let content = fixture.read("mine");
            let error = transaction.swap().unwrap_err();
            assert!(matches!(error, TransactionError::Changed(_)), "{number}: {error}");
            assert_eq!(
                (fixture.read("mine"), fixture.names()),
                (content, vec!["mine".to_owned()]),
                "{number}"
            );
            assert!(!is_pending(&fixture.home).unwrap());
        }
    }
}

#[test]
fn file_replaced_during_the_swap_is_restored() {
    let (fixture, limits) = (Fixture::new(), Limits::default());
    let mut transaction =
        Transaction::begin(&fixture.home, &limits, fixture.plan(TransactionAction::Put)).unwrap();
    transaction.stage_file(0, b"new", FileAccess::Ordinary).unwrap();
    transaction.swap().unwrap();
    drop(transaction);
    // Simulates that another program replaced the file after the journal was written, that the
    // exchange moved that file to the slot, and that the process was then killed.
    let slot = fixture.user().join(".skillpack-run/0");
    assert_eq!(std::fs::read_to_string(&slot).unwrap(), OLD);
    fixture.write("theirs", "theirs");
    std::fs::rename(fixture.user().join("theirs"), &slot).unwrap();
    let recovery = recover(&fixture.home, 0, &limits).unwrap().unwrap();
    assert_eq!(recovery.outcome, RecoveryOutcome::RolledBack);
    assert_eq!(
        (fixture.read("mine").as_str(), fixture.names()),
        ("theirs", vec!["mine".to_owned()])
    );
}

#[test]
fn created_directories_are_removed_on_abort_and_empty_ones_on_commit() {
    let (fixture, limits) = (Fixture::new(), Limits::default());
    let (outer, inner) = (fixture.user().join("a"), fixture.user().join("a/b"));
    let change = |action, prior| TransactionChange { root: 0, name: name("file"), action, prior };
    let put = || {
        plan(std::slice::from_ref(&inner), vec![change(TransactionAction::Put, PriorState::Absent)])
    };
    let transaction = Transaction::begin(&fixture.home, &limits, put()).unwrap();
    assert!(inner.is_dir());
    transaction.abort().unwrap();
    assert_eq!(fixture.names(), ["mine"], "the created directories are removed");
    let mut transaction = Transaction::begin(&fixture.home, &limits, put()).unwrap();
    transaction.stage_file(0, b"x", FileAccess::Ordinary).unwrap();
    transaction.swap().unwrap();
    commit(transaction);
    let remove = || TransactionPlan {
        remove_if_empty: vec![outer.clone(), inner.clone()],
        ..plan(
            std::slice::from_ref(&inner),
            vec![change(TransactionAction::Remove, PriorState::Ours(Some(Digest::of(b"x"))))],
        )
    };
    // A directory with other content is kept.
    fixture.write("a/other", "other");
    let mut transaction = Transaction::begin(&fixture.home, &limits, remove()).unwrap();
    transaction.swap().unwrap();
    commit(transaction);
    assert!(!inner.exists() && outer.join("other").exists());
    std::fs::remove_file(outer.join("other")).unwrap();
    std::fs::create_dir(&inner).unwrap();
    let mut transaction = Transaction::begin(&fixture.home, &limits, remove()).unwrap();
    transaction.swap().unwrap();
    commit(transaction);
    assert_eq!(fixture.names(), ["mine"]);
}

#[test]
fn committed_change_is_finished_even_if_saving_the_state_failed() {
    let (fixture, limits) = (Fixture::new(), Limits::default());
    let mut transaction =
        Transaction::begin(&fixture.home, &limits, fixture.plan(TransactionAction::Put)).unwrap();
    transaction.stage_file(0, b"new", FileAccess::Ordinary).unwrap();
    transaction.swap().unwrap();
    let save =
        || Err(TransactionError::from(FileError::new("sync", "state", std::io::ErrorKind::Other)));
    let error = transaction.commit(save, || Some(1)).unwrap_err();
    assert!(matches!(error, TransactionError::CleanupFailed(_)), "{error}");
    assert_eq!(fixture.read("mine"), "new");
    assert_eq!(
        recover(&fixture.home, 1, &limits).unwrap().unwrap().outcome,
        RecoveryOutcome::Finished
    );
    assert_eq!((fixture.read("mine").as_str(), fixture.names()), ("new", vec!["mine".to_owned()]));
}

#[test]
fn journals_of_earlier_versions_are_read() {
    let (fixture, limits) = (Fixture::new(), Limits::default());
    std::fs::create_dir(fixture.user().join(".skillpack-run")).unwrap();
    std::fs::create_dir(fixture.user().join("made")).unwrap();
    let (user, made) =
        (fixture.user().display().to_string(), fixture.user().join("made").display().to_string());
    let journal = format!(
        r#"{{"version":1,"id":"run","generation":1,"phase":"staging",
        "roots":[{{"path":"{user}","stage":".skillpack-run","made":["{made}"]}}],
        "changes":[{{"root":0,"name":"mine","puts":true,"ours":true}}]}}"#
    );
    std::fs::write(fixture.temp.path().join("home/journal.json"), journal).unwrap();
    assert_eq!(
        recover(&fixture.home, 0, &limits).unwrap().unwrap().outcome,
        RecoveryOutcome::RolledBack
    );
    assert_eq!((fixture.read("mine").as_str(), fixture.names()), (OLD, vec!["mine".to_owned()]));
}
