"""What holds for every test."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# How fast examples come says how busy the machine is, with a process of tests on each core.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")
