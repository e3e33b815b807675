//! Code of each language: which symbols are worth a node, and how they hang together. Nothing is guessed.

use insta::assert_snapshot;

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
fn pk_21_rust_symbols_are_what_others_may_use_with_signatures_docs_members_and_lines() {
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

const PYTHON: &str = r#"
== pyproject.toml
[project]
name = "ledger"
== src/ledger/__init__.py
"""Books of accounts."""

from .accounts import Account
from .errors import LedgerError as Failure

__all__ = ["Account", "Failure"]
== src/ledger/accounts.py
"""Accounts and what is in them.

Amounts are whole cents.
"""
from __future__ import annotations

import dataclasses
from typing import Generic, TypeVar

from ledger.errors import LedgerError
from . import money
from .money import cents, rounded as whole

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Account(Generic[T]):
    """One account.

    Args:
        name: what it is called.
    """

    name: str
    balance: int = 0

    def __init__(self, name: str, balance: int = 0) -> None:
        self.name = name
        self.balance = cents(balance)

    @property
    def shown(self) -> str:
        """The balance as people write it.

        >>> Account("a").shown
        '0.00'
        """
        return money.shown(self.balance)

    async def pay(self, other: Account, amount: int) -> None:
        self._check(amount)
        whole(amount)

    def _check(self, amount: int) -> None:
        if amount < 0:
            raise LedgerError("negative")

    class Row:
        """A line of the account."""

        def total(self) -> int:
            return 0


def _private(x):
    return x


def _explained(x):
    """Kept because others read it."""
    return x


def opened(name: str, *, balance: int = 0) -> Account:
    def inner():
        return 1

    return Account(name, balance)
== src/ledger/money.py
def cents(amount):
    return int(amount)


def rounded(amount):
    return amount


def shown(amount):
    return f"{amount}"
== src/ledger/errors.py
class LedgerError(Exception):
    """Something about the books is wrong."""
== src/ledger/sub/deep.py
from ..money import cents
from ...ledger import money


def deep():
    return cents(1)
== tests/test_accounts.py
import pytest

from ledger.accounts import Account, opened


@pytest.fixture
def account():
    return Account("a")


def test_opened_is_empty():
    assert opened("a").balance == 0


class TestAccount:
    def test_pay(self, account):
        Account("b").pay(account, 1)


def test_of_nothing():
    assert True
"#;

#[test]
fn pk_21_python_symbols_have_their_decorators_docstrings_and_classes() {
    assert_snapshot!(code(&graph(&files(PYTHON))), @"
    file src/ledger/__init__.py 1-6: `src/ledger/__init__.py` (Python, 6 lines): Books of accounts.
    file src/ledger/accounts.py 1-69: `src/ledger/accounts.py` (Python, 69 lines): Accounts and what is in them.⏎⏎Amounts are whole cents.⏎Defines Account, opened.
    class accounts.py#Account 17-53: `@dataclasses.dataclass(frozen=True) class Account(Generic[T])`⏎One account.
    method accounts.py#Account.__init__ 28-30: `Account.__init__`: `def __init__(self, name: str, balance: int = 0) -> None`
    method accounts.py#Account.shown 32-39: `Account.shown`: `@property def shown(self) -> str`⏎The balance as people write it.
    method accounts.py#Account.pay 41-43: `Account.pay`: `async def pay(self, other: Account, amount: int) -> None`
    class accounts.py#Account.Row 49-53: `Account.Row`: `class Row`⏎A line of the account.
    method accounts.py#Row.total 52-53: `Row.total`: `def total(self) -> int`
    function accounts.py#_explained 60-62: `def _explained(x)`⏎Kept because others read it.
    function accounts.py#opened 65-69: `def opened(name: str, *, balance: int = 0) -> Account`
    file src/ledger/errors.py 1-2: `src/ledger/errors.py` (Python, 2 lines)⏎Defines LedgerError.
    class errors.py#LedgerError 1-2: `class LedgerError(Exception)`⏎Something about the books is wrong.
    file src/ledger/money.py 1-10: `src/ledger/money.py` (Python, 10 lines)⏎Defines cents, rounded, shown.
    function money.py#cents 1-2: `def cents(amount)`
    function money.py#rounded 5-6: `def rounded(amount)`
    function money.py#shown 9-10: `def shown(amount)`
    file src/ledger/sub/deep.py 1-6: `src/ledger/sub/deep.py` (Python, 6 lines)⏎Defines deep.
    function deep.py#deep 5-6: `def deep()`
    file tests/test_accounts.py 1-21: `tests/test_accounts.py` (Python, 21 lines)⏎Defines account, TestAccount.⏎Tests test_opened_is_empty, test_pay, test_of_nothing.
    test test_accounts.py#test_opened_is_empty 11-12: test `test_opened_is_empty`
    test test_accounts.py#TestAccount.test_pay 16-17: test `test_pay`
    ");
}

#[test]
fn pk_21_python_edges_follow_relative_and_absolute_imports() {
    assert_snapshot!(edges(&graph(&files(PYTHON))), @"
    accounts.py#Account -contains-> accounts.py#Account.Row
    accounts.py#Account -contains-> accounts.py#Account.__init__
    accounts.py#Account -contains-> accounts.py#Account.pay
    accounts.py#Account -contains-> accounts.py#Account.shown
    accounts.py#Account -tested_by-> test_accounts.py#TestAccount.test_pay
    accounts.py#Account.Row -contains-> accounts.py#Row.total
    accounts.py#Account.__init__ -calls-> money.py#cents
    accounts.py#Account.pay -calls-> money.py#rounded
    accounts.py#Account.pay -tested_by-> test_accounts.py#TestAccount.test_pay
    accounts.py#Account.shown -calls-> money.py#shown
    accounts.py#opened -calls-> accounts.py#Account
    accounts.py#opened -tested_by-> test_accounts.py#test_opened_is_empty
    deep.py#deep -calls-> money.py#cents
    src/ledger/__init__.py -imports-> src/ledger/accounts.py
    src/ledger/__init__.py -imports-> src/ledger/errors.py
    src/ledger/accounts.py -contains-> accounts.py#Account
    src/ledger/accounts.py -contains-> accounts.py#_explained
    src/ledger/accounts.py -contains-> accounts.py#opened
    src/ledger/accounts.py -imports-> src/ledger/__init__.py
    src/ledger/accounts.py -imports-> src/ledger/errors.py
    src/ledger/accounts.py -imports-> src/ledger/money.py
    src/ledger/errors.py -contains-> errors.py#LedgerError
    src/ledger/money.py -contains-> money.py#cents
    src/ledger/money.py -contains-> money.py#rounded
    src/ledger/money.py -contains-> money.py#shown
    src/ledger/sub/deep.py -contains-> deep.py#deep
    src/ledger/sub/deep.py -imports-> src/ledger/__init__.py
    src/ledger/sub/deep.py -imports-> src/ledger/money.py
    tests/test_accounts.py -contains-> test_accounts.py#test_opened_is_empty
    tests/test_accounts.py -imports-> src/ledger/accounts.py
    ");
}

const TYPESCRIPT: &str = r#"
== package.json
{ "name": "@acme/cart" }
== src/cart.ts
/**
 * The cart of a customer.
 * @packageDocumentation
 */
import type { Item } from "./item";
import { priced, type Price } from "@/price";
import * as tax from "./tax";
import { log as say } from "./util";
import round from "./round";

/** What a cart can be. */
export type State = "open" | "paid";

export interface Line<T extends Item = Item> {
  readonly item: T;
  count: number;
  total(): Price;
}

export enum Size {
  Small = "s",
  Large = "l",
}

/**
 * A cart.
 *
 * @param items what is in it
 */
@sealed
export abstract class Cart<T extends Item> extends Base {
  private items: T[] = [];
  static most = 10;
  #hidden = 1;

  constructor(items: T[]) {
    super();
    this.items = items;
  }

  /** What all of it costs. */
  async total(): Promise<Price> {
    say("total");
    this.check();
    return priced(round(tax.added(1)));
  }

  private check(): void {
    internal();
  }

  abstract close(): void;
}

function internal() {
  return 1;
}

/** Twice as much. */
export const twice = async <T,>(value: T): Promise<T> => value;

const hidden = () => 2;

function later() {
  return 3;
}

export { later };
== src/item.ts
export interface Item {
  id: string;
}
== src/price.ts
export type Price = number;
export function priced(value: number): Price {
  return value;
}
== src/tax/index.ts
export { added } from "./rates.js";
== src/tax/rates.ts
export function added(value: number): number {
  return value * 2;
}
== src/util.ts
export function log(text: string): void {}
== src/round.ts
export default function round(value: number): number {
  return Math.round(value);
}
== src/cart.test.ts
import { twice, Cart } from "./cart";

describe("twice", () => {
  it("doubles", async () => {
    await twice(1);
  });
  it("is nobody's test", () => {});
});
"#;

#[test]
fn pk_21_typescript_symbols_are_what_a_module_exports() {
    assert_snapshot!(code(&graph(&files(TYPESCRIPT))), @r#"
    file src/cart.test.ts 1-8: `src/cart.test.ts` (TypeScript, 8 lines)⏎Tests doubles, is nobody's test.
    test cart.test.ts#doubles 4-6: test `doubles`
    file src/cart.ts 1-68: `src/cart.ts` (TypeScript, 68 lines): The cart of a customer.⏎Defines State, Line, Size, Cart, twice, later.
    type cart.ts#State 12-12: `export type State = "open" | "paid"`⏎What a cart can be.
    interface cart.ts#Line 14-18: `export interface Line<T extends Item = Item>`⏎Members: item, count, total.
    enum cart.ts#Size 20-23: `export enum Size`⏎Variants: Small, Large.
    class cart.ts#Cart 30-53: `@sealed export abstract class Cart<T extends Item> extends Base`⏎A cart.⏎Fields: items, most, #hidden.
    method cart.ts#Cart.constructor 36-39: `Cart.constructor`: `constructor(items: T[])`
    method cart.ts#Cart.total 42-46: `Cart.total`: `async total(): Promise<Price>`⏎What all of it costs.
    method cart.ts#Cart.close 52-52: `Cart.close`: `abstract close(): void`
    function cart.ts#twice 60-60: `export const twice = async <T,>(value: T): Promise<T>`⏎Twice as much.
    function cart.ts#later 64-66: `function later()`
    file src/item.ts 1-3: `src/item.ts` (TypeScript, 3 lines)⏎Defines Item.
    interface item.ts#Item 1-3: `export interface Item`⏎Members: id.
    file src/price.ts 1-4: `src/price.ts` (TypeScript, 4 lines)⏎Defines Price, priced.
    type price.ts#Price 1-1: `export type Price = number`
    function price.ts#priced 2-4: `export function priced(value: number): Price`
    file src/round.ts 1-3: `src/round.ts` (TypeScript, 3 lines)⏎Defines round.
    function round.ts#round 1-3: `export default function round(value: number): number`
    file src/tax/index.ts 1-1: `src/tax/index.ts` (TypeScript, 1 line)
    file src/tax/rates.ts 1-3: `src/tax/rates.ts` (TypeScript, 3 lines)⏎Defines added.
    function rates.ts#added 1-3: `export function added(value: number): number`
    file src/util.ts 1-1: `src/util.ts` (TypeScript, 1 line)⏎Defines log.
    function util.ts#log 1-1: `export function log(text: string): void`
    "#);
}

#[test]
fn pk_21_typescript_edges_follow_index_files_aliases_and_re_exports() {
    assert_snapshot!(edges(&graph(&files(TYPESCRIPT))), @"
    cart.ts#Cart -contains-> cart.ts#Cart.close
    cart.ts#Cart -contains-> cart.ts#Cart.constructor
    cart.ts#Cart -contains-> cart.ts#Cart.total
    cart.ts#Cart.total -calls-> price.ts#priced
    cart.ts#Cart.total -calls-> util.ts#log
    cart.ts#twice -tested_by-> cart.test.ts#doubles
    src/cart.test.ts -contains-> cart.test.ts#doubles
    src/cart.test.ts -imports-> src/cart.ts
    src/cart.ts -contains-> cart.ts#Cart
    src/cart.ts -contains-> cart.ts#Line
    src/cart.ts -contains-> cart.ts#Size
    src/cart.ts -contains-> cart.ts#State
    src/cart.ts -contains-> cart.ts#later
    src/cart.ts -contains-> cart.ts#twice
    src/cart.ts -imports-> src/item.ts
    src/cart.ts -imports-> src/price.ts
    src/cart.ts -imports-> src/round.ts
    src/cart.ts -imports-> src/tax/index.ts
    src/cart.ts -imports-> src/util.ts
    src/item.ts -contains-> item.ts#Item
    src/price.ts -contains-> price.ts#Price
    src/price.ts -contains-> price.ts#priced
    src/round.ts -contains-> round.ts#round
    src/tax/index.ts -imports-> src/tax/rates.ts
    src/tax/rates.ts -contains-> rates.ts#added
    src/util.ts -contains-> util.ts#log
    ");
}

const REACT: &str = r#"
== web/package.json
{ "name": "web" }
== web/src/Button.tsx
import { label } from "./label";

export interface Props {
  text: string;
}

/** A button. */
export function Button({ text }: Props) {
  return <button>{label(text)}</button>;
}

export default Button;
== web/src/label.jsx
export const label = (text) => <b>{text}</b>;
== web/src/App.jsx
import { Button } from "./Button";

export class App extends React.Component {
  render() {
    return <Button text="a" />;
  }
}
"#;

#[test]
fn pk_21_components_in_tsx_and_jsx_are_functions_and_classes() {
    let extracted = graph(&files(REACT));
    assert_snapshot!(code(&extracted), @"
    file web/src/App.jsx 1-7: `web/src/App.jsx` (JavaScript, 7 lines)⏎Defines App.
    class App.jsx#App 3-7: `export class App extends React.Component`
    method App.jsx#App.render 4-6: `App.render`: `render()`
    file web/src/Button.tsx 1-12: `web/src/Button.tsx` (TypeScript, 12 lines)⏎Defines Props, Button.
    interface Button.tsx#Props 3-5: `export interface Props`⏎Members: text.
    function Button.tsx#Button 8-10: `export function Button({ text }: Props)`⏎A button.
    file web/src/label.jsx 1-1: `web/src/label.jsx` (JavaScript, 1 line)⏎Defines label.
    function label.jsx#label 1-1: `export const label = (text)`
    ");
    assert_snapshot!(edges(&extracted), @"
    App.jsx#App -contains-> App.jsx#App.render
    App.jsx#App.render -calls-> Button.tsx#Button
    Button.tsx#Button -calls-> label.jsx#label
    web/src/App.jsx -contains-> App.jsx#App
    web/src/App.jsx -imports-> web/src/Button.tsx
    web/src/Button.tsx -contains-> Button.tsx#Button
    web/src/Button.tsx -contains-> Button.tsx#Props
    web/src/Button.tsx -imports-> web/src/label.jsx
    web/src/label.jsx -contains-> label.jsx#label
    ");
}

const JAVASCRIPT: &str = r#"
== package.json
{ "name": "tools", "main": "lib/index.js" }
== lib/index.js
'use strict';
const { parse, format } = require('./parse');
const walk = require('./walk.cjs');

/** Runs it. */
function run(text) {
  return format(walk(parse(text)));
}

function quiet() {}

module.exports = { run };
== lib/parse.js
exports.parse = function parse(text) {
  return text;
};

function format(value) {
  return value;
}
exports.format = format;
== lib/walk.cjs
module.exports = function walk(tree) {
  return tree;
};
== esm/mod.mjs
import { helper } from "./helper.mjs";
export default function () {
  return helper();
}
export function* numbers() {
  yield helper();
}
== esm/helper.mjs
export const helper = function () {
  return 1;
};
== test/run.js
const { run } = require("../lib");

test("runs", () => {
  run("a");
});
"#;

#[test]
fn pk_21_javascript_of_both_kinds_of_modules_says_what_it_exports() {
    let extracted = graph(&files(JAVASCRIPT));
    assert_snapshot!(code(&extracted), @"
    file esm/helper.mjs 1-3: `esm/helper.mjs` (JavaScript, 3 lines)⏎Defines helper.
    function helper.mjs#helper 1-3: `export const helper = function ()`
    file esm/mod.mjs 1-7: `esm/mod.mjs` (JavaScript, 7 lines)⏎Defines numbers.
    function mod.mjs#numbers 5-7: `export function* numbers()`
    file lib/index.js 1-12: `lib/index.js` (JavaScript, 12 lines)⏎Defines run.
    function index.js#run 6-8: `function run(text)`⏎Runs it.
    file lib/parse.js 1-8: `lib/parse.js` (JavaScript, 8 lines)⏎Defines format.
    function parse.js#format 5-7: `function format(value)`
    file lib/walk.cjs 1-3: `lib/walk.cjs` (JavaScript, 3 lines)
    file test/run.js 1-5: `test/run.js` (JavaScript, 5 lines)⏎Tests runs.
    test run.js#runs 3-5: test `runs`
    ");
    assert_snapshot!(edges(&extracted), @"
    esm/helper.mjs -contains-> helper.mjs#helper
    esm/mod.mjs -calls-> helper.mjs#helper
    esm/mod.mjs -contains-> mod.mjs#numbers
    esm/mod.mjs -imports-> esm/helper.mjs
    index.js#run -calls-> parse.js#format
    index.js#run -tested_by-> run.js#runs
    lib/index.js -contains-> index.js#run
    lib/index.js -imports-> lib/parse.js
    lib/index.js -imports-> lib/walk.cjs
    lib/parse.js -contains-> parse.js#format
    mod.mjs#numbers -calls-> helper.mjs#helper
    test/run.js -contains-> run.js#runs
    test/run.js -imports-> lib/index.js
    ");
}

const GO: &str = r#"
== go.mod
module example.com/acme/shop

go 1.23
== main.go
// Command shop sells.
package main

import (
	"fmt"

	"example.com/acme/shop/internal/cart"
	st "example.com/acme/shop/store"
)

func main() {
	c := cart.New(3)
	c.Add("a")
	fmt.Println(st.Open("x"))
}
== internal/cart/cart.go
// Package cart holds what is bought.
package cart

import "errors"

// ErrFull says that nothing more fits.
var ErrFull = errors.New("full")

// Cart is what somebody buys.
type Cart[T any] struct {
	Items []T
	most  int
}

// Pricer knows prices.
type Pricer interface {
	Price(name string) (int, error)
	unseen()
}

type (
	// ID names a cart.
	ID string
	private int
)

// New makes a cart.
func New(most int) *Cart[string] {
	return &Cart[string]{most: most}
}

// Add puts something in.
func (c *Cart[T]) Add(item T) error {
	if c.full() {
		return ErrFull
	}
	return check()
}

func (c *Cart[T]) full() bool { return len(c.Items) >= c.most }
== internal/cart/check.go
package cart

func check() error {
	return nil
}
== store/store.go
package store

//go:generate stringer
func Open(path string) error { return open(path) }

func open(path string) error { return nil }
== internal/cart/cart_test.go
package cart

import "testing"

func TestAdd(t *testing.T) {
	c := New(1)
	if err := c.Add("a"); err != nil {
		t.Fatal(err)
	}
}

func TestNothing(t *testing.T) {}
"#;

#[test]
fn pk_21_go_symbols_are_exported_names_and_what_is_explained() {
    assert_snapshot!(code(&graph(&files(GO))), @"
    file internal/cart/cart.go 1-40: `internal/cart/cart.go` (Go, 40 lines): Package cart holds what is bought.⏎Defines Cart, Pricer, ID, New.
    struct cart.go#Cart 10-13: `type Cart[T any] struct`⏎Cart is what somebody buys.⏎Fields: Items, most.
    interface cart.go#Pricer 16-19: `type Pricer interface`⏎Pricer knows prices.⏎Members: Price, unseen.
    type cart.go#ID 23-23: `ID string`⏎ID names a cart.
    function cart.go#New 28-30: `func New(most int) *Cart[string]`⏎New makes a cart.
    method cart.go#Cart.Add 33-38: `Cart.Add`: `func (c *Cart[T]) Add(item T) error`⏎Add puts something in.
    file internal/cart/cart_test.go 1-12: `internal/cart/cart_test.go` (Go, 12 lines)⏎Tests TestAdd, TestNothing.
    test cart_test.go#TestAdd 5-10: test `TestAdd`
    file internal/cart/check.go 1-5: `internal/cart/check.go` (Go, 5 lines)
    function check.go#check 3-5: `func check() error`
    file main.go 1-15: `main.go` (Go, 15 lines): Command shop sells.
    file store/store.go 1-6: `store/store.go` (Go, 6 lines)⏎Defines Open.
    function store.go#Open 4-4: `func Open(path string) error`
    ");
}

#[test]
fn pk_21_go_edges_follow_packages_and_their_aliases() {
    assert_snapshot!(edges(&graph(&files(GO))), @"
    cart.go#Cart -contains-> cart.go#Cart.Add
    cart.go#Cart.Add -calls-> check.go#check
    cart.go#New -tested_by-> cart_test.go#TestAdd
    internal/cart/cart.go -contains-> cart.go#Cart
    internal/cart/cart.go -contains-> cart.go#ID
    internal/cart/cart.go -contains-> cart.go#New
    internal/cart/cart.go -contains-> cart.go#Pricer
    internal/cart/cart_test.go -contains-> cart_test.go#TestAdd
    internal/cart/check.go -contains-> check.go#check
    main.go -imports-> internal/cart/cart.go
    main.go -imports-> store/store.go
    store/store.go -contains-> store.go#Open
    ");
}

const JAVA: &str = r#"
== pom.xml
<project><artifactId>bank</artifactId></project>
== src/main/java/com/acme/bank/Account.java
package com.acme.bank;

import static com.acme.bank.Money.cents;

import com.acme.util.Checks;
import java.util.List;

/**
 * An account.
 *
 * @author somebody
 */
@Entity
public class Account<T extends Comparable<T>> implements Owner {
    private final long balance;

    public Account(long balance) {
        this.balance = cents(balance);
    }

    /** Takes money out. */
    public synchronized long withdraw(long amount) throws BankException {
        Checks.positive(amount);
        check(amount);
        return new Entry(amount).value();
    }

    @Override
    public String owner() {
        return "nobody";
    }

    private void check(long amount) {
    }

    long unseen() {
        return 1;
    }

    /** A line of the account. */
    public static class Entry {
        private final long value;

        public Entry(long value) {
            this.value = value;
        }

        public long value() {
            return value;
        }
    }
}
== src/main/java/com/acme/bank/Owner.java
package com.acme.bank;

/** Who has something. */
public interface Owner {
    String owner();

    enum Kind { PERSON, FIRM }
}
== src/main/java/com/acme/bank/Money.java
package com.acme.bank;

public final class Money {
    public static long cents(long amount) {
        return amount * 100;
    }
}
== src/main/java/com/acme/util/Checks.java
package com.acme.util;

public record Checks(int count) {
    public static void positive(long value) {
    }
}
== src/test/java/com/acme/bank/AccountTest.java
package com.acme.bank;

import org.junit.jupiter.api.Test;

class AccountTest {
    @Test
    void withdraws() {
        Account account = new Account(1);
        account.withdraw(1);
    }

    @Test
    void testsNothing() {
    }
}
"#;

#[test]
fn pk_21_java_symbols_are_what_is_public_or_explained() {
    assert_snapshot!(code(&graph(&files(JAVA))), @"
    file src/main/java/com/acme/bank/Account.java 1-52: `src/main/java/com/acme/bank/Account.java` (Java, 52 lines)⏎Defines Account.
    class Account.java#Account 13-52: `@Entity public class Account<T extends Comparable<T>> implements Owner`⏎An account.
    method Account.java#Account.Account 17-19: `Account.Account`: `public Account(long balance)`
    method Account.java#Account.withdraw 22-26: `Account.withdraw`: `public synchronized long withdraw(long amount) throws BankException`⏎Takes money out.
    class Account.java#Account.Entry 41-51: `Account.Entry`: `public static class Entry`⏎A line of the account.
    method Account.java#Entry.Entry 44-46: `Entry.Entry`: `public Entry(long value)`
    method Account.java#Entry.value 48-50: `Entry.value`: `public long value()`
    file src/main/java/com/acme/bank/Money.java 1-7: `src/main/java/com/acme/bank/Money.java` (Java, 7 lines)⏎Defines Money.
    class Money.java#Money 3-7: `public final class Money`
    method Money.java#Money.cents 4-6: `Money.cents`: `public static long cents(long amount)`
    file src/main/java/com/acme/bank/Owner.java 1-8: `src/main/java/com/acme/bank/Owner.java` (Java, 8 lines)⏎Defines Owner.
    interface Owner.java#Owner 4-8: `public interface Owner`⏎Who has something.
    method Owner.java#Owner.owner 5-5: `Owner.owner`: `String owner()`
    enum Owner.java#Owner.Kind 7-7: `Owner.Kind`: `enum Kind`⏎Variants: PERSON, FIRM.
    file src/main/java/com/acme/util/Checks.java 1-6: `src/main/java/com/acme/util/Checks.java` (Java, 6 lines)⏎Defines Checks.
    record Checks.java#Checks 3-6: `public record Checks(int count)`
    method Checks.java#Checks.positive 4-5: `Checks.positive`: `public static void positive(long value)`
    file src/test/java/com/acme/bank/AccountTest.java 1-15: `src/test/java/com/acme/bank/AccountTest.java` (Java, 15 lines)⏎Tests withdraws, testsNothing.
    test AccountTest.java#AccountTest.withdraws 6-10: test `withdraws`
    ");
}

#[test]
fn pk_21_java_edges_follow_packages_static_imports_and_inner_classes() {
    assert_snapshot!(edges(&graph(&files(JAVA))), @"
    Account.java#Account -contains-> Account.java#Account.Account
    Account.java#Account -contains-> Account.java#Account.Entry
    Account.java#Account -contains-> Account.java#Account.withdraw
    Account.java#Account.Account -calls-> Money.java#Money.cents
    Account.java#Account.Account -tested_by-> AccountTest.java#AccountTest.withdraws
    Account.java#Account.Entry -contains-> Account.java#Entry.Entry
    Account.java#Account.Entry -contains-> Account.java#Entry.value
    Account.java#Account.withdraw -calls-> Account.java#Entry.Entry
    Account.java#Account.withdraw -calls-> Account.java#Entry.value
    Account.java#Account.withdraw -calls-> Checks.java#Checks.positive
    Account.java#Account.withdraw -tested_by-> AccountTest.java#AccountTest.withdraws
    Checks.java#Checks -contains-> Checks.java#Checks.positive
    Money.java#Money -contains-> Money.java#Money.cents
    Owner.java#Owner -contains-> Owner.java#Owner.Kind
    Owner.java#Owner -contains-> Owner.java#Owner.owner
    src/main/java/com/acme/bank/Account.java -contains-> Account.java#Account
    src/main/java/com/acme/bank/Account.java -imports-> src/main/java/com/acme/bank/Money.java
    src/main/java/com/acme/bank/Account.java -imports-> src/main/java/com/acme/util/Checks.java
    src/main/java/com/acme/bank/Money.java -contains-> Money.java#Money
    src/main/java/com/acme/bank/Owner.java -contains-> Owner.java#Owner
    src/main/java/com/acme/util/Checks.java -contains-> Checks.java#Checks
    ");
}
