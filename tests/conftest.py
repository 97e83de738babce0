"""The order of the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

FIRST = ("completeness", "rules", "layouts", "claims", "against", "second_opinion")
"""Files of proofs for all sizes, those first whose proofs hang most on what was asked before."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Proofs come first, as in a process of their own.

    Z3 numbers its terms across a process and breaks ties by number: after thousands of other
    questions the same proof can take minutes instead of milliseconds.
    """
    place = {f"test_prove_{name}.py": position for position, name in enumerate(FIRST)}
    items.sort(key=lambda item: place.get(item.path.name, len(FIRST)))
