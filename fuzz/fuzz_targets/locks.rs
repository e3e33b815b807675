//! Any bytes as a lock, a history, and the records of the store.
//!
//! `cargo +nightly fuzz run locks fuzz/corpus/locks fuzz/seeds/locks`
#![no_main]

use libfuzzer_sys::fuzz_target;
use sp_formats::package::lock::{History, Lock};
use sp_formats::package::store::{Received, Record, Shelf, Trust};

fn check<T: Record + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
    if let Ok(record) = T::parse(bytes) {
        assert_eq!(T::parse(&record.to_json()).expect("what was written can be read"), record);
    }
}

fuzz_target!(|bytes: &[u8]| {
    check::<Shelf>(bytes);
    check::<Trust>(bytes);
    check::<Received>(bytes);
    if let Ok(lock) = Lock::parse(bytes) {
        assert_eq!(Lock::parse(&lock.to_json()), Ok(lock));
    }
    if let Ok(history) = History::parse(bytes) {
        assert_eq!(History::parse(&history.to_json()), Ok(history));
    }
});
