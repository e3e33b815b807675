//! Rust.

use super::*;

const RUST: &str = r#"
== Cargo.toml
[workspace]
members = ["crates/*"]
== crates/store/Cargo.toml
[package]
name = "acme-store"
edition = "2024"
== crates/store/src/lib.rs
//! Keeps values by their keys.
//!
//! Nothing is ever forgotten.

mod codec;
pub mod error;
mod nested {
    /// Says how deep it is.
    pub fn depth() -> usize {
        1
    }

    fn unseen() {}
}

pub use error::{Error, Result};
use codec::{decode, encode as written};

/// A store.
///
/// # Examples
///
/// ```
/// let store = Store::<u8>::new();
/// ```
#[derive(Debug)]
pub struct Store<T> {
    pub entries: Vec<T>,
    seed: u64,
}

/// What can happen to a value.
pub enum Change {
    Put { key: String, value: u8 },
    Drop(String),
    Nothing,
}

/// Whatever can be kept.
pub trait Keep {
    /// How many bytes it needs.
    fn size(&self) -> usize;
    fn name(&self) -> String {
        String::new()
    }
}

impl<T: Clone> Store<T> {
    /// An empty store.
    pub fn new() -> Self {
        Self { entries: Vec::new(), seed: nested::depth() as u64 }
    }

    pub async fn put(&mut self, value: T) -> Result<()>
    where
        T: Send,
    {
        self.check()?;
        let bytes = written(1);
        decode(&bytes)
    }

    fn check(&self) -> Result<()> {
        helper();
        Ok(())
    }
}

impl<T> Keep for Store<T> {
    fn size(&self) -> usize {
        self.entries.len()
    }
}

fn helper() {}

/// How many there may be.
pub const MOST: usize = 10;

#[macro_export]
macro_rules! store {
    () => {
        Store::new()
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arranged() -> Store<u8> {
        Store::new()
    }

    #[test]
    fn a_new_store_is_empty() {
        assert_eq!(Store::<u8>::new().entries.len(), 0);
    }

    #[test]
    fn nothing_of_ours() {
        assert_eq!(1, 1);
    }
}
== crates/store/src/codec.rs
use crate::error::Error;

pub(crate) fn encode(value: u8) -> Vec<u8> {
    vec![value]
}

pub(super) fn decode(bytes: &[u8]) -> Result<(), Error> {
    if bytes.is_empty() { Err(Error::empty()) } else { Ok(()) }
}

fn unused() {}
== crates/store/src/error.rs
/// What went wrong.
pub struct Error(String);

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn empty() -> Self {
        Self(String::new())
    }
}
== crates/app/Cargo.toml
[package]
name = "app"
edition = "2024"
== crates/app/src/main.rs
use acme_store::{Change, Store, error::Error};

fn main() {
    let mut store = Store::<u8>::new();
    store.put(1);
    let _ = Error::empty();
    run();
    store.entries.push(1);
}

fn run() {}
== crates/app/tests/cli.rs
use acme_store::Store;

#[tokio::test]
async fn it_runs() {
    let mut store = Store::new();
    store.put(1_u8).await;
}
"#;

#[test]
fn pk_21_rust_symbols_are_visible_items_with_signatures_and_docs() {
    assert_snapshot!(code(&graph(&files(RUST))), @"
    file crates/app/src/main.rs 1-11: `crates/app/src/main.rs` (Rust, 11 lines)
    file crates/app/tests/cli.rs 1-7: `crates/app/tests/cli.rs` (Rust, 7 lines)⏎Tests it_runs.
    test cli.rs#it_runs 4-7: test `it_runs`
    file crates/store/src/codec.rs 1-11: `crates/store/src/codec.rs` (Rust, 11 lines)⏎Defines encode, decode.
    function codec.rs#encode 3-5: `pub(crate) fn encode(value: u8) -> Vec<u8>`
    function codec.rs#decode 7-9: `pub(super) fn decode(bytes: &[u8]) -> Result<(), Error>`
    file crates/store/src/error.rs 1-10: `crates/store/src/error.rs` (Rust, 10 lines)⏎Defines Error, Result.
    struct error.rs#Error 2-2: `pub struct Error`⏎What went wrong.
    type error.rs#Result 4-4: `pub type Result<T> = std::result::Result<T, Error>`
    method error.rs#Error.empty 7-9: `Error.empty`: `pub fn empty() -> Self`
    file crates/store/src/lib.rs 1-104: `crates/store/src/lib.rs` (Rust, 104 lines): Keeps values by their keys.⏎⏎Nothing is ever forgotten.⏎Defines depth, Store, Change, Keep, MOST, store.⏎Tests a_new_store_is_empty, nothing_of_ours.
    function lib.rs#depth 9-11: `pub fn depth() -> usize`⏎Says how deep it is.
    struct lib.rs#Store 27-30: `pub struct Store<T>`⏎A store.⏎Fields: entries, seed.
    enum lib.rs#Change 33-37: `pub enum Change`⏎What can happen to a value.⏎Variants: Put, Drop, Nothing.
    trait lib.rs#Keep 40-46: `pub trait Keep`⏎Whatever can be kept.
    method lib.rs#Keep.size 42-42: `Keep.size`: `fn size(&self) -> usize`⏎How many bytes it needs.
    method lib.rs#Keep.name 43-45: `Keep.name`: `fn name(&self) -> String`
    method lib.rs#Store.new 50-52: `Store.new`: `pub fn new() -> Self`⏎An empty store.
    method lib.rs#Store.put 54-61: `Store.put`: `pub async fn put(&mut self, value: T) -> Result<()> where T: Send,`
    constant lib.rs#MOST 78-78: `pub const MOST: usize`⏎How many there may be.
    macro lib.rs#store 81-85: `macro_rules! store`
    test lib.rs#a_new_store_is_empty 96-98: test `a_new_store_is_empty`
    ");
}

#[test]
fn pk_21_rust_edges_follow_modules_use_trees_and_calls() {
    assert_snapshot!(edges(&graph(&files(RUST))), @"
    codec.rs#decode -calls-> error.rs#Error.empty
    crates/app/src/main.rs -imports-> crates/store/src/error.rs
    crates/app/src/main.rs -imports-> crates/store/src/lib.rs
    crates/app/tests/cli.rs -contains-> cli.rs#it_runs
    crates/app/tests/cli.rs -imports-> crates/store/src/lib.rs
    crates/store/src/codec.rs -contains-> codec.rs#decode
    crates/store/src/codec.rs -contains-> codec.rs#encode
    crates/store/src/codec.rs -imports-> crates/store/src/error.rs
    crates/store/src/error.rs -contains-> error.rs#Error
    crates/store/src/error.rs -contains-> error.rs#Result
    crates/store/src/lib.rs -contains-> crates/store/src/codec.rs
    crates/store/src/lib.rs -contains-> crates/store/src/error.rs
    crates/store/src/lib.rs -contains-> lib.rs#Change
    crates/store/src/lib.rs -contains-> lib.rs#Keep
    crates/store/src/lib.rs -contains-> lib.rs#MOST
    crates/store/src/lib.rs -contains-> lib.rs#Store
    crates/store/src/lib.rs -contains-> lib.rs#a_new_store_is_empty
    crates/store/src/lib.rs -contains-> lib.rs#depth
    crates/store/src/lib.rs -contains-> lib.rs#store
    crates/store/src/lib.rs -imports-> crates/store/src/codec.rs
    crates/store/src/lib.rs -imports-> crates/store/src/error.rs
    error.rs#Error -contains-> error.rs#Error.empty
    lib.rs#Keep -contains-> lib.rs#Keep.name
    lib.rs#Keep -contains-> lib.rs#Keep.size
    lib.rs#Store -contains-> lib.rs#Store.new
    lib.rs#Store -contains-> lib.rs#Store.put
    lib.rs#Store.new -tested_by-> cli.rs#it_runs
    lib.rs#Store.new -tested_by-> lib.rs#a_new_store_is_empty
    lib.rs#Store.put -calls-> codec.rs#decode
    lib.rs#Store.put -calls-> codec.rs#encode
    lib.rs#Store.put -tested_by-> cli.rs#it_runs
    lib.rs#store -calls-> lib.rs#Store.new
    ");
}
