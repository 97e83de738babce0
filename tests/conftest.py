"""What holds for every test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    import pytest

# How fast examples come says how busy the machine is, with a process of tests on each core.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

LONG = (
    "tests/solver/test_prove",
    "tests/solver/test_fixture",
    "tests/browser",
    "tests/cli/test_fixtures",
    "tests/test_transcripts",
)
"""How the names of files begin that take minutes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first: none is left for one process alone at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))
