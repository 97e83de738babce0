"""Check one configuration: every violated rule, every warning, the nearest repairs.

No solver is imported: the compiled formulas decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from parsolve.constraints.profile import Config, Profile
from parsolve.solver.answer import Accepted, Caution, Fields, Rejected, Repair, Violation
from parsolve.solver.memory import usage
from parsolve.solver.repair import Nearest, repairs

SHOWN_REPAIRS = 6


@cache
def _constant_parts(profile: Profile, index: int) -> tuple[str, str, str]:
    rule = profile.limits[index]
    return rule.id, rule.stage, str(rule.source)


def violation(config: Config, index: int) -> Violation:
    """The violation of the rule with the given index, with the numbers that break it."""
    profile, values = config.profile, config.values
    identity, stage, source = _constant_parts(profile, index)
    reason, remedy = profile.prose(index, values)
    return Violation(
        rule=identity,
        stage=stage,
        reason=reason,
        because=profile.because(index, values),
        remedy=remedy,
        source=source,
    )


def cautions(config: Config) -> tuple[Caution, ...]:
    """Every warning that applies to the configuration."""
    profile, values = config.profile, config.values
    return tuple(
        Caution(
            warning=profile.warnings[index].id,
            reason=profile.warnings[index].reason,
            because=profile.warned_because(index, values),
            source=str(profile.warnings[index].source),
            kind=profile.warnings[index].kind,
        )
        for index in profile.warned(values)
    )


def check(config: Config, *, shown_repairs: int = SHOWN_REPAIRS) -> Accepted | Rejected:
    """Accept or reject a configuration.

    ``shown_repairs`` bounds how many of the nearest alternatives are shown; 0 leaves them out
    and computes none. Raises `ValueError` if it is negative.
    """
    if shown_repairs < 0:
        message = f"the number of repairs to show is at least 0, got {shown_repairs}"
        raise ValueError(message)
    profile, values = config.profile, config.values
    violated, derived = profile.judged(values)
    derived = profile.with_lists(values, derived)
    if not violated:
        return Accepted(
            profile=profile.name,
            config=Fields(config.as_dict()),
            derived=Fields(derived),
            memory=usage(config),
            warnings=cautions(config),
        )
    nearest = repairs(config, violated) if shown_repairs else Nearest((), complete=True)
    return Rejected(
        profile=profile.name,
        config=Fields(config.as_dict()),
        derived=Fields(derived),
        violations=tuple(violation(config, index) for index in violated),
        memory=usage(config),
        warnings=cautions(config),
        repairs=shown(config, nearest.changes[:shown_repairs]) if shown_repairs else None,
        more_repairs=max(0, len(nearest.changes) - shown_repairs) or None,
        repairs_complete=None if nearest.complete else False,
    )


def shown(config: Config, changes: Sequence[Mapping[str, object]]) -> tuple[Repair, ...]:
    """The changes as repairs."""
    return tuple(
        Repair(change=Fields(change), config=Fields(config.replaced(change).as_dict()))
        for change in changes
    )
