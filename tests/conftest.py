"""The order of the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

PROOFS = "test_prove_"
"""Files whose tests prove statements for all sizes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Proofs come first, as in a process of their own.

    Z3 numbers its terms across a process and breaks ties by number: after thousands of other
    questions the same proof can take minutes instead of milliseconds.
    """
    items.sort(key=lambda item: not item.path.name.startswith(PROOFS))
