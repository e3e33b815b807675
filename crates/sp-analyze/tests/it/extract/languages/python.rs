//! Python.

use super::*;

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
fn pk_21_python_symbols_have_decorators_docstrings_and_classes() {
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
