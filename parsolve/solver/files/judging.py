"""Files judged: settings of a file under what the command line says, and the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from parsolve.constraints.fields import Misuse
from parsolve.constraints.formula import fields_of
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.answer import (
    Accepted,
    FileIgnored,
    FileRule,
    Files,
    FileSetting,
    FileVerdict,
    Rejected,
)
from parsolve.solver.check import SHOWN_REPAIRS, check
from parsolve.solver.files.cluster import Cluster
from parsolve.solver.files.document import FileProblem, Place, Unjudgeable, Unrecognised
from parsolve.solver.files.format import CLUSTER, GPUS_PER_NODE, MODEL, NODES, WORLD
from parsolve.solver.files.reading import Reading, Said, contents, files_in, read, values_of

STANDARD_INPUT = "standard input"

Facts: TypeAlias = Callable[[Profile, Mapping[str, object], str | None, list[int]], dict[str, Any]]
"""What the user said, over what a model of this name says on these worlds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What holds for every file: options for fields, the cluster, and the facts of models.

    With ``replaces_model`` the facts are of a model that an option names, whatever a file says.
    With ``skips_unknown`` a file of no known format is skipped though it was named itself.
    """

    facts: Facts
    given: Mapping[str, object]
    cluster: Cluster
    replaces_model: bool = False
    skips_unknown: bool = False
    profile: str | None = None
    shown_repairs: int = SHOWN_REPAIRS


def check_files(paths: Sequence[str], asked: Asked, stdin: str | None = None) -> Files:
    """Check files, and all in folders that look like configurations; ``-`` has the text ``stdin``.

    What a folder holds beside them is skipped and named; a file that was named itself and
    cannot be read is an answer of its own, and the others are still checked.
    """
    verdicts: list[FileVerdict] = []
    skipped: list[str] = []
    for path in paths:
        is_folder = Path(path).is_dir()
        for found in map(str, files_in(Path(path))) if is_folder else [path]:
            is_input = found == "-" and stdin is not None
            name = STANDARD_INPUT if is_input else found
            text = partial(str, stdin) if is_input else partial(contents, found)
            try:
                verdicts.append(verdict_on(name, text, asked))
            except Unrecognised as problem:
                if is_folder or asked.skips_unknown:
                    skipped.append(found)
                else:
                    verdicts.append(_unreadable(found, problem))
    if not verdicts and not asked.skips_unknown:
        where = ", ".join(paths) or "nothing: name a file or a folder"
        message = f"no training configuration in {where}"
        raise Misuse(message)
    count = Counter(each.verdict for each in verdicts)
    return Files(
        files=tuple(verdicts),
        accepted=count["accepted"],
        rejected=count["rejected"],
        undecided=count["undecided"],
        unreadable=count["unreadable"],
        skipped=tuple(skipped),
    )


def verdict_on(name: str, text: Callable[[], str], asked: Asked) -> FileVerdict:
    """The verdict on one file; ``text`` reads it. Raises `Unrecognised`."""
    try:
        reading = read(name, text(), asked.profile)
    except Unrecognised:
        raise
    except FileProblem as problem:
        return _unreadable(name, problem)
    try:
        config, filled = completed(reading, asked)
    except FileProblem as problem:
        return _unreadable(name, problem, reading)
    reading = reading.without({of for of, value in filled.items() if value is None})
    silent = [Said(of, value, "", None) for of, value in filled.items() if value is not None]
    answer = check(config, shown_repairs=asked.shown_repairs)
    said = (each for each in answer.warnings if each.warning not in reading.format.not_by_file)
    answer = replace(answer, warnings=tuple(said))
    replaced = overridden(reading, asked)
    return FileVerdict(
        file=name,
        verdict=answer.answer,
        format=reading.format.name,
        syntax=reading.document.kind,
        profile=reading.profile.name,
        settings=(*_settings(reading), *map(_setting, silent)),
        overridden=replaced,
        ignored=_ignored(reading),
        rules=tuple(_blamed(reading, answer, replaced)),
        detail=answer,
    )


def _unreadable(name: str, problem: FileProblem, reading: Reading | None = None) -> FileVerdict:
    return FileVerdict(
        file=name,
        verdict="undecided" if isinstance(problem, Unjudgeable) else "unreadable",
        format=None if reading is None else reading.format.name,
        syntax=None if reading is None else reading.document.kind,
        profile=None if reading is None else reading.profile.name,
        settings=() if reading is None else _settings(reading),
        ignored=() if reading is None else _ignored(reading),
        error=problem.message,
        line=None if problem.place is None else problem.place.line,
        column=None if problem.place is None else problem.place.column,
    )


def _ignored(reading: Reading) -> tuple[FileIgnored, ...]:
    return tuple(
        FileIgnored(
            key=each.key,
            value=each.value,
            line=each.place.line,
            column=each.place.column,
            why=each.why or None,
        )
        for each in sorted(reading.ignored, key=lambda each: each.place)
    )


def _settings(reading: Reading) -> tuple[FileSetting, ...]:
    """What was understood, in the order of the file; then what its silence says."""
    said = (*reading.said.values(), *reading.beside)
    placed = sorted((each for each in said if each.place), key=lambda each: str(each.key))
    placed.sort(key=lambda each: each.place or Place(0, 0))
    return tuple(map(_setting, (*placed, *(each for each in said if not each.place))))


def _setting(said: Said) -> FileSetting:
    return FileSetting(
        key=said.key,
        of=said.of,
        value=said.value,
        line=None if said.place is None else said.place.line,
        column=None if said.place is None else said.place.column,
    )


def _blamed(
    reading: Reading, answer: Accepted | Rejected, replaced: tuple[str, ...]
) -> Iterable[FileRule]:
    """For every violated rule and every warning, the settings of the file that it reads."""
    profile = reading.profile
    reads = {rule.id: rule.reads for rule in profile.limits}
    reads |= {notice.id: fields_of(notice.when) for notice in profile.warnings}
    named = [violation.rule for violation in getattr(answer, "violations", ())]
    named += [caution.warning for caution in answer.warnings]
    for name in named:
        said = [
            _setting(reading.said[of])
            for of in reading.said
            if of in reads[name] and of not in replaced and reading.said[of].place is not None
        ]
        yield FileRule(rule=name, settings=tuple(said))


def overridden(reading: Reading, asked: Asked) -> tuple[str, ...]:
    """Fields of the file, or parts of its cluster, that options replace."""
    given = {reading.profile.spellings.get(name, name) for name in asked.given}
    cluster = asked.cluster
    if cluster.world is not None:
        given |= {WORLD, NODES}
    if cluster.nodes is not None:
        given |= {WORLD, NODES}
    if cluster.gpus_per_node is not None:
        given |= {WORLD, GPUS_PER_NODE}
    if asked.replaces_model:
        given.add(MODEL)
    return tuple(of for of in reading.said if of in given)


def configured(reading: Reading, asked: Asked) -> Config:
    """The configuration of a file under what options say. Raises `FileProblem`."""
    return completed(reading, asked)[0]


def completed(reading: Reading, asked: Asked) -> tuple[Config, Mapping[str, Any]]:
    """The configuration of a file under what options say, and what the framework makes of it.

    That is values of fields that nobody gave, and None for what a file gives in vain. Raises
    `FileProblem`.
    """
    profile, document = reading.profile, reading.document
    replaced = set(overridden(reading, asked))
    said = {of: each for of, each in reading.said.items() if of not in replaced}
    cluster = {of: said.pop(of) for of in CLUSTER if of in said}
    for each in said.values():
        if each.unjudged:
            what = f"{each.key} {each.value}" if each.key else f"it does not say {each.of}"
            message = f"{what} cannot be judged: {each.unjudged}"
            raise Unjudgeable(document.name, each.place, message)
        if each.unknown:
            raise document.problem(each.place, _unknown(profile, each))
    model = said.pop(MODEL).value if MODEL in said else None
    fields = {of: each.value for of, each in said.items() if each.value is not None}
    world, per_node = _sizes(reading, cluster, asked.cluster)
    if per_node is not None and "gpus_per_node" in profile.field_of:
        fields["gpus_per_node"] = per_node
    given = {profile.spellings.get(name, name): value for name, value in asked.given.items()}
    try:
        facts = asked.facts(profile, {**fields, **given}, model, [world])
        filled = _filled(reading, facts, world)
        vain = {of for of, value in filled.items() if value is None}
        facts = {of: value for of, value in facts.items() if of not in vain}
        added = {of: value for of, value in filled.items() if of not in vain}
        return profile.config({**added, **facts, profile.world: world}), filled
    except Misuse as error:
        raise document.problem(None, str(error)) from None


def _filled(reading: Reading, facts: Mapping[str, Any], world: int) -> dict[str, Any]:
    """What the framework fills in for fields that nobody gave, or ignores."""
    fill = reading.format.filled
    if fill is None:
        return {}
    fields = {reading.profile.spellings.get(name, name): value for name, value in facts.items()}
    found = fill(values_of(reading.document), fields, world)
    return {of: value for of, value in found.items() if value is None or fields.get(of) is None}


def _unknown(profile: Profile, said: Said) -> str:
    return f"{said.key} is not known: {said.unknown}; {_cure(profile, said.of)}"


def _sizes(reading: Reading, said: Mapping[str, Said], asked: Cluster) -> tuple[int, int | None]:
    """The world, and the GPUs of a node where they are known. Raises `FileProblem`."""
    try:
        world, per_node = asked.over(cluster_of(said)).sizes()
    except Misuse as error:
        raise reading.document.problem(None, str(error)) from None
    if world is not None:
        return world, per_node
    for each in said.values():
        if each.unknown:
            raise reading.document.problem(each.place, _unknown(reading.profile, each))
    message = "it does not say how many GPUs: give --world, or --nnodes and --nproc-per-node"
    raise reading.document.problem(None, message)


def cluster_of(said: Mapping[str, Said]) -> Cluster:
    """The cluster, as far as settings of a file make it known."""
    known = {of: each.value for of, each in said.items() if not each.unknown}
    return Cluster(
        world=known.get(WORLD), nodes=known.get(NODES), gpus_per_node=known.get(GPUS_PER_NODE)
    )


def _cure(profile: Profile, of: str) -> str:
    options = {NODES: "--nnodes", GPUS_PER_NODE: "--nproc-per-node", WORLD: "--world"}
    options[MODEL] = "--model"
    flag = options.get(of) or f"--{profile.field_of[of].flag}"
    return f"give {flag}"
