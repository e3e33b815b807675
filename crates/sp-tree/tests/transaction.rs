//! What a transaction does with files that belong to the user: their modes, their changes, their
//! directories.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test arranges its world with the plain calls"
)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_tree::atomic::FileAccess;
use sp_tree::transaction::{
    PriorState, RecoveryOutcome, Transaction, TransactionAction, TransactionChange,
    TransactionError, TransactionPlan, is_pending, recover,
};
use sp_tree::{Digest, Dir, FileError, Follow, Limits, Name, PinnedDir};

/// A home, and a directory of the user's with the file `mine`.
struct Place {
    temp: tempfile::TempDir,
    home: Dir,
}

const OLD: &str = "old";

impl Place {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("home")).unwrap();
        std::fs::create_dir(temp.path().join("user")).unwrap();
        let home = Dir::open(&temp.path().join("home")).unwrap();
        let place = Self { temp, home };
        place.write("mine", OLD);
        place
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

    /// What a plan that reads `mine` now expects.
    fn seen(&self) -> PriorState {
        let stamp =
            Dir::open(&self.user()).unwrap().stat(&name("mine"), Follow::Never).unwrap().unwrap();
        PriorState::UserFile(stamp, Digest::of(self.read("mine").as_bytes()))
    }

    fn change(&self, action: TransactionAction) -> TransactionPlan {
        let change = TransactionChange { root: 0, name: name("mine"), action, prior: self.seen() };
        intent(&[self.user()], vec![change])
    }
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn intent(roots: &[PathBuf], changes: Vec<TransactionChange>) -> TransactionPlan {
    let roots = roots.iter().map(|root| Arc::new(PinnedDir::open(root).unwrap())).collect();
    TransactionPlan { id: name("run"), generation: 1, roots, changes, remove_if_empty: Vec::new() }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

/// Commits; the state is not kept anywhere.
fn commit(transaction: Transaction<'_>) {
    let kept = transaction.commit(|| Ok::<(), TransactionError>(()), || Some(1)).unwrap();
    assert!(kept.is_empty(), "{kept:?}");
}

#[test]
fn a_file_that_is_replaced_keeps_its_mode_and_a_new_one_is_private_where_asked() {
    let (place, limits) = (Place::new(), Limits::default());
    std::fs::set_permissions(place.user().join("mine"), PermissionsExt::from_mode(0o640)).unwrap();
    let new = |text: &str| TransactionChange {
        root: 0,
        name: name(text),
        action: TransactionAction::Put,
        prior: PriorState::Absent,
    };
    let mut changes = place.change(TransactionAction::Put).changes;
    changes.extend([new("public"), new("private")]);
    let mut transaction =
        Transaction::begin(&place.home, &limits, intent(&[place.user()], changes)).unwrap();
    transaction.stage_file(0, b"new", FileAccess::Private).unwrap();
    transaction.stage_file(1, b"new", FileAccess::Ordinary).unwrap();
    transaction.stage_file(2, b"new", FileAccess::Private).unwrap();
    transaction.swap().unwrap();
    commit(transaction);
    assert_eq!(place.names(), ["mine", "private", "public"]);
    assert_eq!((place.read("mine").as_str(), mode(&place.user().join("mine"))), ("new", 0o640));
    assert_eq!(mode(&place.user().join("private")), 0o600);
}

#[test]
fn a_file_that_changed_after_it_was_read_is_left_alone() {
    type Meddle = fn(&Place);
    let meddlings: [Meddle; 3] = [
        |place| place.write("mine", "edited"),
        |place| {
            place.write("other", "edited");
            std::fs::rename(place.user().join("other"), place.user().join("mine")).unwrap();
        },
        |place| {
            std::fs::set_permissions(place.user().join("mine"), PermissionsExt::from_mode(0o600))
                .unwrap();
        },
    ];
    for (number, meddle) in meddlings.into_iter().enumerate() {
        for action in [TransactionAction::Put, TransactionAction::Remove] {
            let (place, limits) = (Place::new(), Limits::default());
            let mut transaction =
                Transaction::begin(&place.home, &limits, place.change(action)).unwrap();
            if action == TransactionAction::Put {
                transaction.stage_file(0, b"new", FileAccess::Ordinary).unwrap();
            }
            meddle(&place);
            let left = place.read("mine");
            let error = transaction.swap().unwrap_err();
            assert!(matches!(error, TransactionError::Changed(_)), "{number}: {error}");
            assert_eq!(
                (place.read("mine"), place.names()),
                (left, vec!["mine".to_owned()]),
                "{number}"
            );
            assert!(!is_pending(&place.home).unwrap());
        }
    }
}

#[test]
fn a_file_that_somebody_replaced_in_the_instant_of_the_swap_is_put_back() {
    let (place, limits) = (Place::new(), Limits::default());
    let mut transaction =
        Transaction::begin(&place.home, &limits, place.change(TransactionAction::Put)).unwrap();
    transaction.stage_file(0, b"new", FileAccess::Ordinary).unwrap();
    transaction.swap().unwrap();
    drop(transaction);
    // As if another program had renamed its file into the place after the journal was written: the
    // exchange took that one out, and then the process died.
    let slot = place.user().join(".skillpack-run/0");
    assert_eq!(std::fs::read_to_string(&slot).unwrap(), OLD);
    place.write("theirs", "theirs");
    std::fs::rename(place.user().join("theirs"), &slot).unwrap();
    let recovery = recover(&place.home, 0, &limits).unwrap().unwrap();
    assert_eq!(recovery.outcome, RecoveryOutcome::RolledBack);
    assert_eq!((place.read("mine").as_str(), place.names()), ("theirs", vec!["mine".to_owned()]));
}

#[test]
fn directories_that_are_made_go_with_a_failure_and_those_that_are_emptied_with_the_change() {
    let (place, limits) = (Place::new(), Limits::default());
    let (outer, inner) = (place.user().join("a"), place.user().join("a/b"));
    let change =
        |action, before| TransactionChange { root: 0, name: name("file"), action, prior: before };
    let put = || {
        intent(
            std::slice::from_ref(&inner),
            vec![change(TransactionAction::Put, PriorState::Absent)],
        )
    };
    let transaction = Transaction::begin(&place.home, &limits, put()).unwrap();
    assert!(inner.is_dir());
    transaction.abort().unwrap();
    assert_eq!(place.names(), ["mine"], "nothing was put there");
    let mut transaction = Transaction::begin(&place.home, &limits, put()).unwrap();
    transaction.stage_file(0, b"x", FileAccess::Ordinary).unwrap();
    transaction.swap().unwrap();
    commit(transaction);
    let remove = || TransactionPlan {
        remove_if_empty: vec![outer.clone(), inner.clone()],
        ..intent(
            std::slice::from_ref(&inner),
            vec![change(TransactionAction::Remove, PriorState::Ours(Some(Digest::of(b"x"))))],
        )
    };
    // Whatever else is in one of them keeps it.
    place.write("a/other", "other");
    let mut transaction = Transaction::begin(&place.home, &limits, remove()).unwrap();
    transaction.swap().unwrap();
    commit(transaction);
    assert!(!inner.exists() && outer.join("other").exists());
    std::fs::remove_file(outer.join("other")).unwrap();
    std::fs::create_dir(&inner).unwrap();
    let mut transaction = Transaction::begin(&place.home, &limits, remove()).unwrap();
    transaction.swap().unwrap();
    commit(transaction);
    assert_eq!(place.names(), ["mine"]);
}

#[test]
fn a_change_that_is_committed_says_so_even_if_the_state_may_not_be_durable() {
    let (place, limits) = (Place::new(), Limits::default());
    let mut transaction =
        Transaction::begin(&place.home, &limits, place.change(TransactionAction::Put)).unwrap();
    transaction.stage_file(0, b"new", FileAccess::Ordinary).unwrap();
    transaction.swap().unwrap();
    let fails =
        || Err(TransactionError::from(FileError::new("sync", "state", std::io::ErrorKind::Other)));
    let error = transaction.commit(fails, || Some(1)).unwrap_err();
    assert!(matches!(error, TransactionError::CleanupFailed(_)), "{error}");
    assert_eq!(place.read("mine"), "new");
    assert_eq!(
        recover(&place.home, 1, &limits).unwrap().unwrap().outcome,
        RecoveryOutcome::Finished
    );
    assert_eq!((place.read("mine").as_str(), place.names()), ("new", vec!["mine".to_owned()]));
}

#[test]
fn journals_of_earlier_versions_are_read() {
    let (place, limits) = (Place::new(), Limits::default());
    std::fs::create_dir(place.user().join(".skillpack-run")).unwrap();
    std::fs::create_dir(place.user().join("made")).unwrap();
    let (user, made) =
        (place.user().display().to_string(), place.user().join("made").display().to_string());
    let journal = format!(
        r#"{{"version":1,"id":"run","generation":1,"phase":"staging",
        "roots":[{{"path":"{user}","stage":".skillpack-run","made":["{made}"]}}],
        "changes":[{{"root":0,"name":"mine","puts":true,"ours":true}}]}}"#
    );
    std::fs::write(place.temp.path().join("home/journal.json"), journal).unwrap();
    assert_eq!(
        recover(&place.home, 0, &limits).unwrap().unwrap().outcome,
        RecoveryOutcome::RolledBack
    );
    assert_eq!((place.read("mine").as_str(), place.names()), (OLD, vec!["mine".to_owned()]));
}
