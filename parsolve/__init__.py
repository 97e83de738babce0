"""Which parallelism configurations are valid, why not, what is nearest, and which is best.

Questions, each answered by a frozen value whose JSON is a public format::

    check(world_size=8, ep_size=4)                       # Accepted | Rejected
    compare(world_size=64, tp_size=8, ep_size=8)         # Comparison
    check_files("train.yaml", world=16)                  # Files
    diff({"world_size": 16}, "run.yaml", world_size=8)   # Difference
    move("run.yaml", world_size=8, from_world=16)        # Moves
    solutions(world=64, moe=True)                        # Solutions | Conflict | Undecided
    best(world=64, moe=True, maximize="dp")              # Best | Conflict | Undecided
    memory(world_size=8, ep_size=8, model="gpt-oss-20b", max_length=4096)     # Memory
    advise(world_size=16, model="qwen3-30b-a3b", gpu="h100", seq_len=32768)   # Advice | Undecided
    stages(layers=61, pp=16)                             # Stages
    schedule(pp=4, microbatches=8)                       # Schedule
    fixtures(per_rule=2)                                 # Fixtures
    layout(world_size=16, ep_size=8, ranks=10)           # RankLayout | Rejected

Fields are spelled as the framework spells them; sizes count ranks (GPUs). ``model`` is a name
(`parsolve models`), a path, or a loaded ``config.json``; ``gpu`` a name such as ``"h100"``, whose
memory becomes a bound. Misuse raises a `ValueError` whose message says what to change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike
    from typing import Any, TypeAlias

    from parsolve.constraints.ladder import SymptomName
    from parsolve.constraints.profile import Config, Profile
    from parsolve.solver.answer import (
        Accepted,
        Advice,
        Best,
        Comparison,
        Conflict,
        Difference,
        Files,
        Fixtures,
        Memory,
        Moves,
        RankLayout,
        Rejected,
        Schedule,
        Solutions,
        Stages,
        Undecided,
    )
    from parsolve.solver.files.judging import Facts
    from parsolve.solver.query import Query
    from parsolve.solver.sides import Told

    Recipe: TypeAlias = str | PathLike[str] | Mapping[str, object]
    Model: TypeAlias = str | PathLike[str] | Mapping[str, Any] | None

__all__ = [
    "advise",
    "best",
    "check",
    "check_files",
    "compare",
    "diff",
    "fixtures",
    "layout",
    "memory",
    "move",
    "schedule",
    "solutions",
    "stages",
]

MOST_WORLDS = 100_000
"""Worlds that one question may cover."""


def check(
    config: Mapping[str, object] | None = None,
    /,
    *,
    profile: str = "halo",
    model: Model = None,
    gpu: str | None = None,
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

    _needs("config", config, Mapping, type(None))
    _needs("repairs", repairs, int)
    read = _config(profile, {**(config or {}), **fields}, model, gpu)
    return check_config(read, shown_repairs=repairs)


def compare(
    config: Mapping[str, object] | None = None,
    /,
    *,
    model: Model = None,
    gpu: str | None = None,
    repairs: int = 1,
    **fields: object,
) -> Comparison:
    """One shape under the rules of every profile; what a profile has no field for it ignores.

    Arguments as for `check`; ``world_size`` is required, in GPUs. Raises `ValueError` for a
    field that no profile knows; what one profile cannot read is its own verdict.
    """
    from parsolve.constraints.fields import FieldError  # noqa: PLC0415
    from parsolve.solver.compare import compare as compare_all  # noqa: PLC0415

    _needs("config", config, Mapping, type(None))
    _needs("repairs", repairs, int)
    given = {**(config or {}), **fields}
    if "world_size" not in given:
        message = "world_size is missing; give the number of GPUs"
        raise FieldError(message)

    def read(profile: Profile, said: Mapping[str, object]) -> Config:
        return _config(profile.name, said, model, gpu)

    return compare_all(given, read, shown_repairs=repairs)


def check_files(  # noqa: PLR0913  (what holds for every file)
    *paths: str | PathLike[str],
    profile: str | None = None,
    world: int | None = None,
    nodes: int | None = None,
    gpus_per_node: int | None = None,
    model: Model = None,
    gpu: str | None = None,
    repairs: int = 6,
    **fields: object,
) -> Files:
    """Check training files and launch scripts, or all in folders; nothing in them is executed.

    ``profile`` names the framework where a file may be of several. ``world`` counts GPUs in all,
    ``nodes`` OS nodes and ``gpus_per_node`` GPUs (processes) of each; they, ``model`` and
    ``fields`` replace what files say. A file that cannot be read is an entry with its ``error``.
    Raises `ValueError` if there is no file at all, or for misuse of the arguments.
    """
    from parsolve.solver.files.cluster import Cluster  # noqa: PLC0415
    from parsolve.solver.files.judging import Asked  # noqa: PLC0415
    from parsolve.solver.files.judging import check_files as check_all  # noqa: PLC0415

    for name, value in (("world", world), ("nodes", nodes), ("gpus_per_node", gpus_per_node)):
        _needs(name, value, int, type(None))
    _needs("repairs", repairs, int)

    asked = Asked(
        facts=_facts(model, gpu),
        given=fields,
        cluster=Cluster(world=world, nodes=nodes, gpus_per_node=gpus_per_node),
        replaces_model=model is not None,
        profile=None if profile is None else _profile(profile).name,
        shown_repairs=repairs,
    )
    return check_all([str(path) for path in paths], asked)


def memory(
    config: Mapping[str, object] | None = None,
    /,
    *,
    profile: str = "halo",
    model: Model = None,
    gpu: str | None = None,
    repairs: int = 6,
    **fields: object,
) -> Memory:
    """What fills the fullest GPU at its peak, in bytes, and whether it fits ``gpu_memory``.

    Arguments as for `check`. Raises `ValueError` also where a number is missing without which
    nothing is known, such as the model's size, and says what it decides.
    """
    from parsolve.solver.memory import memory as account  # noqa: PLC0415

    _needs("config", config, Mapping, type(None))
    _needs("repairs", repairs, int)
    read = _config(profile, {**(config or {}), **fields}, model, gpu, needs_size=True)
    return account(read, shown_repairs=repairs)


def advise(  # noqa: PLR0913
    config: Mapping[str, object] | None = None,
    /,
    *,
    profile: str = "halo",
    model: Model = None,
    gpu: str | None = None,
    symptom: SymptomName | None = None,
    timeout: float | None = None,
    **fields: object,
) -> Advice | Undecided:
    """The simplest configuration of a framework's ladder that is valid and fits, and the climb.

    Arguments as for `check`; ``world_size``, a model, a length and the memory of a GPU are needed.
    Fields that the ladder moves, such as ``tp_size``, are the current configuration, which is
    judged beside the advice; the rest holds throughout. ``symptom`` is what hurts: ``"oom"``,
    ``"slow"``, ``"bubbles"``, ``"long-context"`` or ``"imbalance"``. ``timeout`` is in seconds.
    Raises `ValueError` also for a profile without a ladder.
    """
    from parsolve.solver.advise.advise import advise as climbed  # noqa: PLC0415
    from parsolve.solver.advise.question import climb_of, symptom_named  # noqa: PLC0415
    from parsolve.solver.deadline import Deadline  # noqa: PLC0415

    _needs("config", config, Mapping, type(None))
    _needs("symptom", symptom, str, type(None))
    given = {**(config or {}), **fields}
    read = _config(profile, given, model, gpu, needs_size=True)

    def changed(changes: Mapping[str, object]) -> Config:
        return _config(profile, {**given, **changes}, model, gpu, needs_size=True)

    climb = climb_of(read, given, None if model is None else changed)
    return climbed(climb, symptom=symptom_named(symptom), deadline=Deadline(timeout))


def layout(  # noqa: PLR0913
    config: Mapping[str, object] | None = None,
    /,
    *,
    profile: str = "halo",
    model: Model = None,
    gpu: str | None = None,
    ranks: int | Sequence[int] = (),
    axes: str | Sequence[str] = (),
    repairs: int = 6,
    **fields: object,
) -> RankLayout | Rejected:
    """Which ranks form which group, where these lie, and what they send.

    Arguments as for `check`, whose verdict is the answer where a rule is violated. ``axes`` names
    the kinds of group that are told, such as ``"tp"`` or ``"dispatch"``; without any, all are. With
    ``ranks`` (global, from 0 on) the answer has, instead of all groups, the place and the groups of
    these. Traffic is in bytes per GPU and optimizer step. Raises `ValueError` also for a profile
    that does not say how ranks are grouped, an unknown kind of group, or a rank that is none.
    """
    from parsolve.solver.layout import layout as laid_out  # noqa: PLC0415

    _needs("config", config, Mapping, type(None))
    _needs("repairs", repairs, int)
    wanted = (ranks,) if isinstance(ranks, int) else ranks
    _needs("ranks", wanted, list, tuple, range)
    for rank in wanted:
        _needs("each of ranks", rank, int)
    read = _config(profile, {**(config or {}), **fields}, model, gpu)
    return laid_out(read, ranks=wanted, axes=_texts("axes", axes), shown_repairs=repairs)


def diff(
    before: Recipe,
    after: Recipe,
    /,
    *,
    profile: str | None = None,
    model: Model = None,
    gpu: str | None = None,
    **fields: object,
) -> Difference:
    """What changes between two configurations: verdict, settings, dp, batch, memory, groups.

    Each is a mapping of fields or the path of a file (training YAML, launch script, ...); keyword
    arguments name fields that hold for both, such as ``world_size``, in GPUs. ``profile`` is that
    of mappings, ``halo`` by default; a file has its own. Raises `ValueError` as `check` does, and
    for a file that cannot be read.
    """
    from parsolve.solver.difference import difference  # noqa: PLC0415
    from parsolve.solver.sides import known_to  # noqa: PLC0415

    sides = [_side(each, profile, model, gpu) for each in (before, after)]
    first, second = (each.with_fields(known_to(each, fields, sides)) for each in sides)
    return difference(first, second)


def move(  # noqa: PLR0913
    recipe: Recipe,
    /,
    *,
    profile: str | None = None,
    model: Model = None,
    gpu: str | None = None,
    from_world: int | None = None,
    from_gpu: str | None = None,
    keep: str | Sequence[str] = (),
    limit: int = 3,
    **fields: object,
) -> Moves:
    """The fewest changes with which a recipe runs on another cluster, its global batch kept.

    The recipe is a mapping of fields or the path of a file. Keyword arguments name what holds on
    the new cluster: ``world_size`` and ``gpus_per_node`` in GPUs, ``gpu``, knobs that are to have
    a value; ``keep`` are knobs that must not change. ``from_world`` and ``from_gpu`` tell where the
    recipe is from, if it does not. At most ``limit`` equally good ways are shown. Raises
    `ValueError` as `diff` does.
    """
    from parsolve.solver.files.cluster import Cluster  # noqa: PLC0415
    from parsolve.solver.move import Elsewhere  # noqa: PLC0415
    from parsolve.solver.move import move as find  # noqa: PLC0415
    from parsolve.solver.sides import known_to  # noqa: PLC0415

    _needs("from_world", from_world, int, type(None))
    _needs("limit", limit, int)
    side = _side(recipe, profile, model, None)
    said = known_to(side, fields, [side])
    there = side.with_fields(said)
    said.pop(side.profile.world, None)
    return find(
        side,
        Elsewhere(
            facts=_facts(model, gpu),
            cluster=Cluster(world=there.cluster.world if "world_size" in fields else None),
            given=said,
            names_gpu=gpu is not None,
            from_facts=_facts(model, from_gpu),
            from_cluster=Cluster(world=from_world),
            kept=_texts("keep", keep),
        ),
        shown=limit,
    ).answer


def _side(recipe: Recipe, profile: str | None, model: Model, gpu: str | None) -> Told:
    from os import PathLike, fspath  # noqa: PLC0415

    from parsolve.solver.sides import of_fields, of_file  # noqa: PLC0415

    _needs("a configuration", recipe, str, PathLike, Mapping)
    named = None if profile is None else _profile(profile)
    facts = _facts(model, gpu)
    if isinstance(recipe, Mapping):
        return of_fields("the configuration", recipe, named or _profile("halo"), facts)
    return of_file(fspath(recipe), profile, facts, model)


def _facts(model: Model, gpu: str | None) -> Facts:
    """What the user said, over what a model and a GPU say."""

    def facts(
        chosen: Profile, said: Mapping[str, object], own: str | None, worlds: list[int]
    ) -> dict[str, object]:
        named = own if model is None else model
        return dict(_with_facts(chosen, said, named, gpu, worlds))

    return facts


def _config(
    profile: str,
    given: Mapping[str, object],
    model: Model,
    gpu: str | None,
    *,
    needs_size: bool = False,
) -> Config:
    chosen = _profile(profile)
    world = next((v for k, v in given.items() if chosen.spellings.get(k) == chosen.world), None)
    worlds = [world] if isinstance(world, int) else []
    return chosen.config(_with_facts(chosen, given, model, gpu, worlds, needs_size=needs_size))


def _with_facts(  # noqa: PLR0913
    chosen: Profile,
    given: Mapping[str, object],
    model: Model,
    gpu: str | None,
    worlds: Sequence[int],
    *,
    needs_size: bool = False,
) -> Mapping[str, object]:
    if model is None and gpu is None:
        return given
    from os import PathLike  # noqa: PLC0415

    from parsolve.solver.facts import with_facts  # noqa: PLC0415

    _needs("model", model, str, PathLike, Mapping, type(None))
    _needs("gpu", gpu, str, type(None))
    return with_facts(chosen, given, model, gpu, worlds, needs_size=needs_size)


def solutions(  # noqa: PLR0913
    *,
    world: int | Iterable[int],
    profile: str = "halo",
    moe: bool | None = None,
    where: str | Sequence[str] = (),
    vary: str | Sequence[str] = (),
    model: Model = None,
    gpu: str | None = None,
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

    _needs("limit", limit, int, type(None))
    query = _query(world, profile, moe, where, vary, fields, (), pareto=False, model=model, gpu=gpu)
    return find(query, limit=limit, deadline=Deadline(timeout))


def best(  # noqa: PLR0913
    *,
    world: int | Iterable[int],
    profile: str = "halo",
    moe: bool | None = None,
    maximize: str | Sequence[str] = (),
    minimize: str | Sequence[str] = (),
    objectives: Sequence[tuple[str, str]] = (),
    prefer: str | Sequence[str] = (),
    pareto: bool = False,
    where: str | Sequence[str] = (),
    vary: str | Sequence[str] = (),
    model: Model = None,
    gpu: str | None = None,
    limit: int | None = None,
    timeout: float | None = None,
    **fields: object,
) -> Best | Conflict | Undecided:
    """The best valid configurations of a cluster, with Z3's proof that none is better.

    Objectives are lexicographic: ``objectives`` as pairs such as ``("dp", "maximize")`` in
    that order, or ``maximize`` first and then ``minimize``; with ``pareto``, the front
    instead. Without any, the profile's own is maximised (halo: ``dp``). ``prefer`` names what
    stands above them all, such as ``"tp-in-domain"`` (megatron). The rest as for `solutions`.
    """
    from parsolve.solver.deadline import Deadline  # noqa: PLC0415
    from parsolve.solver.query import QueryError, preferred  # noqa: PLC0415
    from parsolve.solver.solve import best as find  # noqa: PLC0415

    _needs("limit", limit, int, type(None))
    _needs("objectives", objectives, list, tuple)
    for pair in objectives:
        match pair:
            case (str(), "maximize" | "minimize"):
                pass
            case _:
                message = f'an objective is a pair like ("dp", "maximize"), not {pair!r}'
                raise QueryError(message)
    asked = [(text, direction == "maximize") for text, direction in objectives]
    asked += [(text, True) for text in _texts("maximize", maximize)]
    asked += [(text, False) for text in _texts("minimize", minimize)]
    chosen = _profile(profile)
    query = _query(
        world,
        profile,
        moe,
        where,
        vary,
        fields,
        preferred(chosen, _texts("prefer", prefer)) + (asked or [(chosen.objective, True)]),
        pareto=pareto,
        model=model,
        gpu=gpu,
    )
    return find(query, limit=limit, deadline=Deadline(timeout))


def stages(  # noqa: PLR0913
    *,
    pp: int | Sequence[int],
    layers: int | None = None,
    virtual_stages: int | Sequence[int] = 1,
    mtp_layers: int = 0,
    model: Model = None,
    seq_length: int | None = None,
    embedding_cost: float | None = None,
    loss_cost: float | None = None,
    mtp_cost: float | None = None,
    limit: int = 5,
    profile: str = "megatron",
) -> Stages:
    """The valid splits of layers over ``pp`` pipeline ranks, best balanced first.

    Each rank holds ``virtual_stages`` chunks; ``layers`` are the decoder's, or the ``model``'s.
    Costs are in layers: of the embedding, of the output projection with the loss, and of an MTP
    layer without its loss; a model is counted by multiplications per token, those of attention
    scores too where ``seq_length`` (tokens) is given. Raises `ValueError` for misuse.
    """
    from os import PathLike  # noqa: PLC0415

    from parsolve.solver.huggingface import model_facts  # noqa: PLC0415
    from parsolve.solver.pipeline.stages import stages as split  # noqa: PLC0415

    _needs("model", model, str, PathLike, Mapping, type(None))
    return split(
        _profile(profile),
        layers=layers,
        shape=None if model is None else model_facts(model).counted(),
        ranks=_counts("pp", pp),
        chunks=_counts("virtual_stages", virtual_stages),
        mtp_layers=mtp_layers,
        sequence=seq_length,
        embedding_cost=embedding_cost,
        loss_cost=loss_cost,
        mtp_cost=mtp_cost,
        limit=limit,
    )


def schedule(  # noqa: PLR0913
    *,
    pp: int,
    microbatches: int,
    virtual_stages: int = 1,
    schedule: str | None = None,
    microbatch_group_size: int | None = None,
    layers_per_stage: Sequence[int | Sequence[int]] | None = None,
    forward_time: int = 1,
    backward_time: int = 2,
) -> Schedule:
    """The timeline of one step on ``pp`` pipeline ranks, simulated.

    Each rank holds ``virtual_stages`` chunks of layers. ``schedule`` is ``"gpipe"``, ``"1f1b"`` or
    ``"interleaved"``, by default the last where there are several chunks, else ``"1f1b"``; a chunk
    takes ``microbatch_group_size`` micro-batches in a row, by default ``pp``. Times are units per
    stage, or per layer where ``layers_per_stage`` has the layers of each rank, or lists of those
    of its chunks. Raises `ValueError` for misuse.
    """
    from parsolve.solver.pipeline.schedule import schedule as simulate  # noqa: PLC0415

    return simulate(
        pp=pp,
        microbatches=microbatches,
        virtual_stages=virtual_stages,
        schedule=schedule,
        microbatch_group_size=microbatch_group_size,
        layers_per_stage=layers_per_stage,
        forward_time=forward_time,
        backward_time=backward_time,
    )


def _counts(name: str, numbers: int | Sequence[int]) -> Sequence[int]:
    from parsolve.constraints.fields import FieldError  # noqa: PLC0415

    if isinstance(numbers, int):
        return (numbers,)
    _needs(name, numbers, int, list, tuple, range)
    if not numbers:
        message = f"{name} is empty; give at least one number"
        raise FieldError(message)
    for number in numbers:
        _needs(f"each of {name}", number, int)
    return numbers


def _needs(name: str, value: object, *kinds: type) -> None:
    """`ValueError` for an argument of the wrong type; a bool is no integer."""
    from parsolve.constraints.fields import FieldError, shown  # noqa: PLC0415

    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        expected = " or ".join("None" if k is type(None) else k.__name__.lower() for k in kinds)
        message = f"{name} must be {expected}, got {shown(value)}"
        raise FieldError(message)


def _texts(name: str, texts: str | Sequence[str]) -> Sequence[str]:
    if isinstance(texts, str):
        return (texts,)
    _needs(name, texts, list, tuple)
    for text in texts:
        _needs(f"each of {name}", text, str)
    return texts


def _worlds(world: int | Iterable[int]) -> list[int]:
    from parsolve.constraints.fields import FieldError, shown  # noqa: PLC0415

    if isinstance(world, int):
        return [world]
    if not isinstance(world, (range, list, tuple, set, frozenset)):
        message = f"world must be an integer or several, got {shown(world)}"
        raise FieldError(message)
    if len(world) > MOST_WORLDS:
        message = f"at most {MOST_WORLDS:,} worlds at once, got {len(world):,}"
        raise FieldError(message)
    for one in world:
        _needs("each world", one, int)
    return sorted(set(world))


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
    model: Model,
    gpu: str | None,
) -> Query:
    from parsolve.solver.query import QueryError, build_query  # noqa: PLC0415

    _needs("moe", moe, bool, type(None))
    pinned = dict(fields)
    if moe is not None:
        kind = "moe" if moe else "dense"
        if pinned.setdefault("model_kind", kind) != kind:
            message = f"moe={moe} contradicts model_kind={pinned['model_kind']!r}; give one"
            raise QueryError(message)
    chosen, worlds = _profile(profile), _worlds(world)
    return build_query(
        chosen,
        worlds,
        _with_facts(chosen, pinned, model, gpu, worlds),
        where=_texts("where", where),
        objectives=objectives,
        pareto=pareto,
        vary=_texts("vary", vary),
    )


def fixtures(
    *,
    profile: str = "halo",
    worlds: int | Iterable[int] = (),
    per_rule: int = 1,
    strength: int = 0,
    seed: int = 0,
) -> Fixtures:
    """Test cases for a validator of a framework's rules; the same for the same version.

    Configurations with the verdict, first rule and derived quantities that are expected of each:
    what each rule alone rejects and what is accepted beside that, both sides of each condition,
    every set of axes. ``worlds`` are numbers of GPUs, none for as few as each takes; ``per_rule``
    how many configurations each rule rejects (1 to 100); ``strength`` of how many knobs every
    setting together is covered (0 to 3); ``seed`` decides between equally good ones. Takes up to
    minutes. Raises `ValueError` for numbers out of range or an unknown profile.
    """
    from parsolve.solver.fixtures.build import fixtures as make  # noqa: PLC0415

    _needs("seed", seed, int)
    sizes = () if worlds == () else _worlds(worlds)
    return make(_profile(profile), sizes, per_rule=per_rule, strength=strength, seed=seed)
