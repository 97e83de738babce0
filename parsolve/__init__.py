"""Which parallelism configurations are valid, why not, what is nearest, and which is best.

Three questions, each answered by a frozen value whose JSON is a public format::

    check(world_size=8, ep_size=4)                       # Accepted | Rejected
    solutions(world=64, moe=True)                        # Solutions | Conflict | Undecided
    best(world=64, moe=True, maximize="dp")              # Best | Conflict | Undecided

Fields are spelled as the framework spells them; sizes count ranks (GPUs). Misuse raises a
`ValueError` whose message says what to change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parsolve.constraints.profile import Profile
    from parsolve.solver.answer import (
        Accepted,
        Best,
        Conflict,
        Rejected,
        Solutions,
        Undecided,
    )
    from parsolve.solver.query import Query

__all__ = ["best", "check", "solutions"]


def check(
    config: Mapping[str, object] | None = None,
    /,
    *,
    profile: str = "halo",
    repairs: int = 6,
    **fields: object,
) -> Accepted | Rejected:
    """Check one configuration against every rule of a framework.

    ``config`` and keyword arguments name fields (``world_size`` is required, in GPUs; the
    rest has the framework's defaults); a keyword overrides the mapping. ``repairs`` bounds
    how many of the nearest valid alternatives are computed. Needs no solver. Raises
    `ValueError` for an unknown field, a value of the wrong type, or an unknown profile.
    """
    from parsolve.solver.check import check as check_config  # noqa: PLC0415

    given = {**(config or {}), **fields}
    return check_config(_profile(profile).config(given), shown_repairs=repairs)


def solutions(  # noqa: PLR0913
    *,
    world: int | Iterable[int],
    profile: str = "halo",
    moe: bool | None = None,
    where: str | Sequence[str] = (),
    vary: str | Sequence[str] = (),
    limit: int | None = None,
    timeout: float | None = None,
    **fields: object,
) -> Solutions | Conflict | Undecided:
    """Every valid configuration of a cluster, certified complete by Z3 unless ``limit`` cuts it.

    ``world`` is a number of GPUs or several; ``moe`` offers the expert axes; ``where`` are
    conditions such as ``"tp*cp <= 8"``; ``vary`` names further knobs to search; ``timeout``
    is in seconds; other keywords pin fields. Raises `ValueError` for misuse.
    """
    from parsolve.solver.deadline import Deadline  # noqa: PLC0415
    from parsolve.solver.solve import solutions as find  # noqa: PLC0415

    query = _query(world, profile, moe, where, vary, fields, (), pareto=False)
    return find(query, limit=limit, deadline=Deadline(timeout))


def best(  # noqa: PLR0913
    *,
    world: int | Iterable[int],
    profile: str = "halo",
    moe: bool | None = None,
    maximize: str | Sequence[str] = (),
    minimize: str | Sequence[str] = (),
    objectives: Sequence[tuple[str, str]] = (),
    pareto: bool = False,
    where: str | Sequence[str] = (),
    vary: str | Sequence[str] = (),
    limit: int | None = None,
    timeout: float | None = None,
    **fields: object,
) -> Best | Conflict | Undecided:
    """The best valid configurations of a cluster, with Z3's proof that none is better.

    Objectives are lexicographic: ``objectives`` as pairs such as ``("dp", "maximize")`` in
    that order, or ``maximize`` first and then ``minimize``; with ``pareto``, the front
    instead. Without any, ``dp`` is maximised. The rest as for `solutions`.
    """
    from parsolve.solver.deadline import Deadline  # noqa: PLC0415
    from parsolve.solver.query import QueryError  # noqa: PLC0415
    from parsolve.solver.solve import best as find  # noqa: PLC0415

    for _, direction in objectives:
        if direction not in {"maximize", "minimize"}:
            message = f'an objective is to "maximize" or to "minimize", not {direction!r}'
            raise QueryError(message)
    asked = [(text, direction == "maximize") for text, direction in objectives]
    asked += [(text, True) for text in _texts(maximize)]
    asked += [(text, False) for text in _texts(minimize)]
    query = _query(world, profile, moe, where, vary, fields, asked or [("dp", True)], pareto=pareto)
    return find(query, limit=limit, deadline=Deadline(timeout))


def _texts(texts: str | Sequence[str]) -> Sequence[str]:
    return (texts,) if isinstance(texts, str) else texts


def _profile(name: str) -> Profile:
    from parsolve.constraints import PROFILES  # noqa: PLC0415
    from parsolve.constraints.fields import FieldError  # noqa: PLC0415

    if name not in PROFILES:
        message = f"no profile {name!r}; there are: {', '.join(PROFILES)}"
        raise FieldError(message)
    return PROFILES[name]


def _query(  # noqa: PLR0913, PLR0917
    world: int | Iterable[int],
    profile: str,
    moe: bool | None,  # noqa: FBT001
    where: str | Sequence[str],
    vary: str | Sequence[str],
    fields: Mapping[str, object],
    objectives: Sequence[tuple[str, bool]],
    *,
    pareto: bool,
) -> Query:
    from parsolve.solver.query import QueryError, build_query  # noqa: PLC0415

    pinned = dict(fields)
    if moe is not None:
        kind = "moe" if moe else "dense"
        if pinned.setdefault("model_kind", kind) != kind:
            message = f"moe={moe} contradicts model_kind={pinned['model_kind']!r}; give one"
            raise QueryError(message)
    return build_query(
        _profile(profile),
        [world] if isinstance(world, (int, float, str)) else sorted(set(world)),
        pinned,
        where=_texts(where),
        objectives=objectives,
        pareto=pareto,
        vary=_texts(vary),
    )
