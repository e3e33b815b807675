//! Parses any bytes as a lockfile, a history, and the records of the store.
//!
//! `cargo +nightly fuzz run locks fuzz/corpus/locks fuzz/seeds/locks`
#![no_main]

use libfuzzer_sys::fuzz_target;
use sp_formats::JsonRecord;
use sp_formats::package::lock::{LockHistory, PackageLock};
use sp_formats::package::store::{PackageStoreIndex, ReceivedEnvelopes, TrustStore};

fn check<T: JsonRecord + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
    if let Ok(record) = T::parse(bytes) {
        assert_eq!(T::parse(&record.to_json()).expect("what was written can be read"), record);
    }
}

fuzz_target!(|bytes: &[u8]| {
    check::<PackageStoreIndex>(bytes);
    check::<TrustStore>(bytes);
    check::<ReceivedEnvelopes>(bytes);
    check::<PackageLock>(bytes);
    if let Ok(history) = LockHistory::parse(bytes) {
        assert_eq!(LockHistory::parse(&history.to_json()), Ok(history));
    }
});
