"""Answers as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from parsolve.cli.plot import scatter
from parsolve.cli.screen import Screen
from parsolve.cli.table import NARROWEST, measured, room_beside, show_table
from parsolve.constraints import PROFILES
from parsolve.constraints.fields import GIB, Bytes, Field, Flag, Size, Sizes, gib, size_text
from parsolve.constraints.memory.account import NEAR_PERCENT
from parsolve.constraints.profile import Column, Profile, holds
from parsolve.solver.answer import (
    Accepted,
    Best,
    Caution,
    Conflict,
    Fields,
    Goal,
    Memory,
    Rejected,
    Repair,
    Solution,
    Undecided,
    Usage,
    Violation,
)
from parsolve.solver.memory import state
from parsolve.solver.repair import MOST_CHANGES

YES, NO, OPEN = "bold green", "bold red", "bold yellow"

SHORT = 160
"""A formula beyond so many characters is better said by its remedy."""


def option(field: Field, value: object) -> str:
    """The command line option, or the environment, that gives the field this value."""
    if not field.flag:
        if isinstance(field, Size) and field.env:
            return f"{field.env}={value}"
        return f"--{value}" if value in {"moe", "dense"} else f"({field.name} = {value})"
    if isinstance(field, Flag):
        return f"--{field.flag}" if value else f"--no-{field.flag}"
    if isinstance(field, Sizes) and isinstance(value, (list, tuple)):
        return f"--{field.flag} {','.join(map(str, value))}"
    if isinstance(field, Bytes) and isinstance(value, int):
        return f"--{field.flag} {size_text(value)}"
    return f"--{field.flag} {'unset' if value is None else value}"


CHOSEN = frozenset({"knob", "run"})
"""Roles of what somebody chose for a run: an answer states it wherever it is off its default."""


def differences(profile: Profile, config: Mapping[str, Any], also: Iterable[str] = ()) -> str:
    """Options for what was chosen off its default, and for the fields named in ``also``."""
    wanted = set(also)
    parts = [
        option(field, config.get(field.name, field.default))
        for field in profile.fields
        if field.flag and (field.name in wanted or _is_chosen(field, config))
    ]
    return " ".join(parts) or "(defaults)"


def _is_chosen(field: Field, config: Mapping[str, Any]) -> bool:
    return field.role in CHOSEN and config.get(field.name, field.default) != field.default


def show_model(screen: Screen, profile: Profile, config: Mapping[str, Any]) -> None:
    """What the answer takes the model for: every fact of it that has an option."""
    kinds = {offer.given for offer in profile.offers}
    facts = [
        option(field, config[field.name])
        for field in profile.fields
        if field.role == "model"
        and (field.flag or field.name in kinds)
        and config.get(field.name, field.default) != field.default
    ]
    if facts:
        screen.entry("model", " ".join(facts))


def gpus(count: int) -> str:
    """So many GPUs, in words."""
    return f"{count} GPU{'s' if count != 1 else ''}"


def cluster(profile: Profile, config: Mapping[str, Any], derived: Mapping[str, Any]) -> str:
    """The cluster in words, effective sizes beside requested ones."""
    world = config[profile.world]
    limit = config.get(profile.account.limit.name) if profile.account is not None else None
    text = gpus(world) + (f" of {gib(limit)}" if limit is not None else "")
    if (nodes := derived.get(profile.nodes)) is not None:
        text += f", {nodes} node{'s' if nodes != 1 else ''} of {derived[profile.node]}"
    if (domain := derived.get(profile.domain)) is not None:
        text += f", NVLink domain {domain}"
    return text


def effective(profile: Profile, config: Mapping[str, Any], derived: Mapping[str, Any]) -> str:
    """Requested values that resolved to something else."""
    parts = []
    for field in profile.fields:
        name = field.name
        if name in derived and name in config and derived[name] != config[name]:
            if isinstance(config[name], int) and config[name] < 0:
                continue
            asked = (config[name] == 0 and getattr(field, "zero", "")) or config[name]
            parts.append(f"{name} = {derived[name]} (requested {asked})")
    return ", ".join(parts)


def _argument(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def launch(profile: Profile, config: Mapping[str, Any], derived: Mapping[str, Any]) -> str:
    """The launch line with the framework's own arguments, and what it cannot say."""
    arguments, unsaid, environment = [], [], []
    has_arguments = any(field.launch for field in profile.fields)
    settled = _settled(profile, config)
    # what the framework has no argument for is said by what it settles
    own = {profile.spellings[each.by] for each in profile.settled} if has_arguments else set()
    for field in profile.fields:
        value = settled.get(field.name, config.get(field.name, field.default))
        if field.name in own or (value == field.default and field.name not in settled):
            continue
        if field.launch:
            arguments.append(f" --{field.launch} {_argument(value)}")
        elif env := getattr(field, "env", ""):
            environment.append(f"{env}={value} ")
        elif field.role == "knob" and field.name not in profile.launchers:
            unsaid.append(f"{field.name} = {_argument(value)}")
    knob, lines = profile.launchers
    line = lines[config.get(knob, profile.field_of[knob].default)].format(
        nodes=derived.get(profile.nodes, 1),
        node=derived.get(profile.node, 1),
        world=config[profile.world],
        rendezvous="--rdzv_endpoint HOST:PORT " if derived.get(profile.nodes, 1) > 1 else "",
    )
    how = ", which has no argument" if has_arguments else " in SCRIPT's own way"
    rest = f"; also set {', '.join(unsaid)}{how}" if unsaid else ""
    return f"{''.join(environment)}{line}{''.join(arguments)}{rest}"


def _settled(profile: Profile, config: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that were not given and that given ones decide, with their values."""
    values = tuple(config.get(field.name, field.default) for field in profile.fields)
    found: dict[str, Any] = {}
    for each in profile.settled:
        name, by = profile.spellings[each.field], profile.spellings[each.by]
        if (
            config.get(by) is not None
            and config.get(name) is None
            and holds(profile, each.where, values)
        ):
            known = {**profile.filled(values), **profile.derive(values)}
            if each.quantity in known:
                found[name] = known[each.quantity]
    return found


def show_launch(
    screen: Screen,
    label: str,
    profile: Profile,
    answer: Accepted | Solution,
    cautions: Iterable[Caution],
) -> None:
    """How to launch the configuration, unless a warning says that nobody can."""
    stopped = {notice.id for notice in profile.warnings if not notice.launchable}
    blocked = [caution.warning for caution in cautions if caution.warning in stopped]
    if blocked:
        screen.entry(label, f"none: {', '.join(blocked)}")
    else:
        screen.entry(label, launch(profile, answer.config, answer.derived))


def quantities(derived: Mapping[str, Any]) -> str:
    """The derived quantities that are numbers or labels."""
    numbers = [f"{k} = {v}" for k, v in derived.items() if not isinstance(v, bool)]
    return ", ".join(numbers)


def show_accepted(screen: Screen, answer: Accepted) -> None:
    """An accepted configuration, with what it means."""
    profile = PROFILES[answer.profile]
    screen.headline(
        "accepted",
        f"[{profile.name}] {differences(profile, answer.config)} on "
        f"{cluster(profile, answer.config, answer.derived)}",
        YES,
    )
    show_model(screen, profile, answer.config)
    if changed := effective(profile, answer.config, answer.derived):
        screen.entry("effective", changed)
    screen.entry("derived", quantities(answer.derived))
    if answer.memory is not None:
        screen.entry("memory", usage_words(answer.memory))
    show_cautions(screen, answer.warnings)
    from parsolve.solver.unjudged import unjudged  # noqa: PLC0415  (a rejection needs it not)

    for name, rules in unjudged(profile.config(answer.config)).items():
        screen.entry("unjudged", f"{', '.join(rules)}: give --{profile.field_of[name].flag}")
    show_launch(screen, "launch", profile, answer, answer.warnings)


def show_rejected(screen: Screen, answer: Rejected) -> None:
    """Every violated rule, the framework's own verdict first, and the nearest repairs."""
    profile = PROFILES[answer.profile]
    for position, violation in enumerate(answer.violations):
        word = "rejected" if position == 0 else "also violated"
        screen.headline(word, f"[{profile.name}] {violation.rule}", NO)
        show_violation(screen, violation)
    on = cluster(profile, answer.config, answer.derived)
    screen.entry("given", f"{differences(profile, answer.config)} on {on}")
    show_model(screen, profile, answer.config)
    if changed := effective(profile, answer.config, answer.derived):
        screen.entry("effective", changed)
    if answer.memory is not None:
        screen.entry("memory", usage_words(answer.memory))
    show_cautions(screen, answer.warnings)
    if answer.repairs:
        show_repairs(screen, profile, answer.repairs)
        if answer.more_repairs:
            screen.entry("", f"and {answer.more_repairs} more that are as near")
    elif answer.repairs is not None and answer.repairs_complete is not False:
        screen.entry(
            "nearest",
            f"no change of at most {MOST_CHANGES} knobs is accepted; facts of the model and of "
            "the trainer were not changed",
        )
    if answer.repairs_complete is False:
        show_cut_short(screen, answer.repairs)


def show_violation(screen: Screen, violation: Violation) -> None:
    """One violated rule."""
    screen.entry("stage", violation.stage)
    screen.entry("why", violation.reason)
    screen.entry("because", violation.because)
    screen.entry("remedy", violation.remedy)
    screen.entry("source", violation.source)


def show_repairs(screen: Screen, profile: Profile, repairs: Iterable[Repair]) -> None:
    """The nearest alternatives, one a line."""
    for position, repair in enumerate(repairs):
        axes = [name for name in profile.axes if repair.config.get(name, 1) != 1]
        shown = {**repair.config, **repair.change}
        text = differences(profile, _only(shown, (*axes, *repair.change)), repair.change)
        if position == 0:
            count = len(repair.change)
            away = "one change" if count == 1 else f"{count} changes"
            off = any(repair.change.get(name) == 1 for name in profile.axes)
            text += f"    ({away} away, accepted{'' if off else '; no axis switched off'})"
        screen.entry("nearest" if position == 0 else "", text)


def show_cut_short(screen: Screen, found: Iterable[Repair] | None) -> None:
    """That other alternatives may exist."""
    if found:
        screen.entry("", "the search for alternatives was cut short: there may be nearer ones")
    else:
        screen.entry("nearest", "none was found before the search for them was cut short")


def _only(config: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    kept = set(names)
    return {name: value for name, value in config.items() if name in kept}


def show_cautions(screen: Screen, cautions: Iterable[Caution]) -> None:
    """Every warning, with the numbers that raise it."""
    for caution in cautions:
        numbers = f" ({caution.because})" if caution.because else ""
        screen.entry("warning", f"{caution.warning}: {caution.reason}{numbers}")


STATES = {
    "fits": ("fits", YES),
    "near": ("near the limit", OPEN),
    "over": ("does not fit", NO),
}

BAR = 24
"""Characters of a bar that stands for the GPU's memory, or for the total."""


def usage_words(usage: Usage) -> str:
    """The total against the limit, and its largest parts."""
    parts = sorted(
        ((n, size) for n, size in usage.bytes.items() if n not in {"allocated", "total"}),
        key=lambda part: -part[1],
    )
    largest = ", ".join(f"{name.replace('_', ' ')} {gib(size)}" for name, size in parts[:3] if size)
    against = f" of {gib(usage.limit)}" if usage.limit is not None else ""
    word = f"{STATES[usage.state][0]}: " if usage.state else ""
    return f"{word}{gib(usage.bytes['total'])}{against} on the fullest GPU ({largest}, ...)"


def show_memory(screen: Screen, answer: Memory) -> None:
    """The account: each part with a bar and how it is computed, the state, what would fit."""
    profile = PROFILES[answer.profile]
    word, style = STATES[answer.state] if answer.state else ("memory", "bold")
    limit = "" if answer.limit is None else f" of {gib(answer.limit)}"
    screen.headline(
        word,
        f"[{profile.name}] {gib(answer.bytes['total'])}{limit} on the fullest GPU; "
        f"{differences(profile, answer.config)} on {gpus(answer.config[profile.world])}",
        style,
    )
    screen.line()
    whole = max(answer.limit or 0, answer.bytes["total"])
    account = profile.account
    assert account is not None  # noqa: S101  (an answer about memory comes from an account)
    assumes = {part.name: part.assumes for part in account.parts}
    sizes = {**{name: answer.bytes[name] for name in assumes}, "total": answer.bytes["total"]}
    for name, size in sorted(sizes.items(), key=lambda part: (part[0] == "total", -part[1])):
        filled = round(BAR * size / whole)
        bar = screen.styled("#" * filled, style if name == "total" else "") + "." * (BAR - filled)
        screen.line(f"  {name:<12} {size / GIB:>8.2f} GiB  {bar}  {100 * size / whole:5.1f}%")
    screen.line()
    show_model(screen, profile, answer.config)
    if answer.experts is not None:
        shares = (f"{gib(size)} of {part}" for part, size in answer.experts.items())
        screen.entry("experts", f"{', '.join(shares)} are those of routed experts")
    if answer.state == "near":
        screen.entry("near", f"over {NEAR_PERCENT}% of the GPU's memory: fragmentation decides")
    screen.entry(
        "peak",
        f"at the {answer.peak}; {gib(answer.bytes['allocated'])} as PyTorch "
        "reports it, without the reserve",
    )
    for position, (name, how) in enumerate(assumes.items()):
        screen.entry("how" if position == 0 else "", f"{name}: {how}")
    if answer.assumed:
        screen.entry("assumed", ", ".join(answer.assumed))
    if answer.violated:
        screen.entry("refused", f"by {', '.join(answer.violated)}, whatever its memory")
    if answer.repairs:
        show_repairs(screen, profile, answer.repairs)
    elif answer.repairs is not None and answer.repairs_complete is not False:
        screen.entry("nearest", f"no change of at most {MOST_CHANGES} knobs fits and is accepted")
    if answer.repairs_complete is False:
        show_cut_short(screen, answer.repairs)


def show_best(screen: Screen, answer: Best, varied: Iterable[str] = ()) -> None:
    """The optimum, who reaches it, how to launch the first, and why it is the optimum.

    ``varied`` are knobs that were searched because somebody asked for that.
    """
    profile = PROFILES[answer.profile]
    proved = "proved: no valid configuration is better"
    if answer.pareto:
        names = ", ".join(f"{goal.direction} {goal.quantity}" for goal in answer.objectives)
        screen.headline("pareto", f"[{profile.name}] {names} (proved: none is missing)", YES)
        reach = "lie on the front" if answer.count != 1 else "lies on the front"
    else:
        goals = ", ".join(
            f"{goal.quantity} = {amount(profile, goal.quantity, goal.value)} ({_extreme(goal)})"
            for goal in answer.objectives
        )
        screen.headline("best", f"[{profile.name}] {goals}, {proved}", YES)
        reach = "reach it" if answer.count != 1 else "reaches it"
    plural = "configurations" if answer.count != 1 else "configuration"
    shown = len(answer.solutions)
    rest = f"; the first {shown} are shown" if shown < answer.count else ""
    screen.entry("count", f"{answer.count} {plural} {reach}{rest}")
    if answer.count > 1:
        screen.entry("order", "; ".join(answer.order))
    screen.line()
    show_solutions(screen, profile, answer.solutions, answer.objectives, varied)
    screen.line()
    if answer.pareto and len(answer.objectives) == FRONT and shown > 1:
        show_front(screen, profile, answer)
    first = answer.solutions[0]
    screen.entry("cluster", cluster(profile, first.config, first.derived))
    show_model(screen, profile, first.config)
    show_launch(screen, "launch 1", profile, first, answer.warnings)
    show_cautions(screen, answer.warnings)
    screen.entry("searched", answer.searched)
    screen.entry("proof", proof(answer))


FRONT = 2
"""Objectives of a front that can be drawn."""


def show_front(screen: Screen, profile: Profile, answer: Best) -> None:
    """The front as a plot: each configuration at its two objectives, by its number."""
    names = [goal.quantity for goal in answer.objectives]
    scored = [s.objectives for s in answer.solutions if s.objectives is not None]
    points = [(scores[names[0]], scores[names[1]]) for scores in scored]
    ends = [
        (amount(profile, name, min(axis)), amount(profile, name, max(axis)))
        for name, axis in zip(names, zip(*points, strict=True), strict=True)
    ]
    for line in scatter(points, ends, (names[0], names[1]), screen.width or 80):
        screen.line(line)
    screen.line()


def _extreme(goal: Goal) -> str:
    return "maximum" if goal.direction == "maximize" else "minimum"


def proof(answer: Best) -> str:
    """What Z3 confirmed."""
    certificate = answer.certificate
    return (
        f"Z3 in {certificate.seconds:g} s, building included: {certificate.claim}; for every "
        "cluster, each searched size must divide the world"
    )


def show_solutions(
    screen: Screen,
    profile: Profile,
    solutions: Sequence[Solution],
    objectives: Iterable[Goal] = (),
    varied: Iterable[str] = (),
) -> None:
    """A table: rank, world if it varies, objectives, options, summary quantities.

    What was chosen alike everywhere is said once, below; what differs, in every row.
    """
    columns = summary_columns(profile, solutions[0].derived)
    shown_quantities = {
        getattr(profile.quantity_of.get(goal.quantity), "name", goal.quantity): goal.quantity
        for goal in objectives
    }
    configs = [solution.config for solution in solutions]
    same, differ = _shared(profile, configs, varied)
    lead = ["#"]
    if len({config[profile.world] for config in configs}) > 1:
        lead.append("world")
    said = _names(columns)
    if len(lead) > 1:
        said |= {text for text, name in profile.spellings.items() if name == profile.world}
    extra = [text for name, text in shown_quantities.items() if name not in said]
    rows = []
    for position, solution in enumerate(solutions, 1):
        row = [str(position), str(solution.config[profile.world])][: len(lead)]
        row += [
            amount(profile, text, solution.objectives[text]) if solution.objectives else "-"
            for text in extra
        ]
        own = _only(solution.config, solution.config.keys() - same)
        row.append(differences(profile, own, differ))
        row += summary_cells(profile, solution, columns)
        rows.append(row)
    headings = [*lead, *extra, OPTIONS, *(column.heading for column in columns)]
    headings, rows, everywhere = narrowed(screen, headings, rows, len(lead) + len(extra) + 1)
    show_table(screen, headings, rows, OPTIONS)
    alike = [differences(profile, _only(configs[0], same), same)] if same else []
    if alike or everywhere:
        screen.line()
        screen.entry("all with", ", ".join([*alike, *everywhere]))


OPTIONS = "options"
"""Heading of the options of each configuration."""


def narrowed(
    screen: Screen, headings: Sequence[str], rows: Sequence[Sequence[str]], first: int
) -> tuple[list[str], list[list[str]], list[str]]:
    """The table without empty columns and, where it is too wide, without constant ones.

    Those from ``first`` on are looked at. What a constant column says is returned as well.
    """
    cells = list(zip(*rows, strict=True))
    gone = {place for place in range(first, len(headings)) if {*cells[place]} == {"-"}}

    def left(of: Sequence[str]) -> list[str]:
        return [cell for place, cell in enumerate(of) if place not in gone]

    everywhere = []
    for place in range(first, len(headings)):
        columns = measured(left(headings), [left(row) for row in rows], OPTIONS)
        wanted = max(column.width for column in columns if column.wraps)
        if room_beside(screen, columns) >= min(wanted, NARROWEST):
            break
        if place not in gone and len(rows) > 1 and len({*cells[place]}) == 1:
            gone.add(place)
            everywhere.append(f"{headings[place]} {cells[place][0]}")
    return left(headings), [left(row) for row in rows], everywhere


def _shared(
    profile: Profile, configs: Sequence[Fields], varied: Iterable[str]
) -> tuple[set[str], set[str]]:
    """What was chosen and is alike everywhere, and what differs. Axes stay in their rows.

    Knobs that a search varies unasked are told from their default in their rows.
    """
    asked = set(varied)
    same, differ = set(), set()
    for field in profile.fields:
        if not field.flag or field.role not in CHOSEN or field.name in profile.axes:
            continue
        values = [config.get(field.name, field.default) for config in configs]
        if any(value != values[0] for value in values):
            if field.name not in profile.searched:
                differ.add(field.name)
        elif values[0] != field.default or field.name in asked:
            same.add(field.name)
    return same, differ


def _names(columns: Iterable[object]) -> set[str]:
    return {getattr(column, "quantity", "") for column in columns}


def summary_columns(profile: Profile, derived: Mapping[str, Any]) -> list[Column]:
    """The profile's summary, and the memory of a GPU where it is known."""
    total = () if profile.account is None else (profile.account.total.name,)
    return [*profile.summary, *(Column(name, "memory") for name in total if name in derived)]


def summary_cells(profile: Profile, solution: Solution, columns: Iterable[Column]) -> list[str]:
    """The cells of the summary for one configuration; memory near the bound is said so."""
    near = _is_near(profile, solution)
    values = tuple(solution.config.get(f.name, f.default) for f in profile.fields)
    return [
        amount(profile, column.quantity, solution.derived.get(column.quantity, "-"))
        + (" near" if near and column.heading == "memory" else "")
        if holds(profile, column.where, values)
        else "-"
        for column in columns
    ]


def _is_near(profile: Profile, solution: Solution) -> bool:
    account = profile.account
    if account is None:
        return False
    limit = solution.config.get(account.limit.name)
    total = solution.derived.get(account.total.name)
    return bool(limit and total and state(total, limit) == "near")


def amount(profile: Profile, quantity: str, value: object) -> str:
    """A quantity's value in its unit."""
    unit = getattr(profile.quantity_of.get(quantity), "unit", "")
    return gib(value) if unit and isinstance(value, int) else str(value)


def show_conflict(screen: Screen, answer: Conflict) -> None:
    """The smallest conflicting set and what to relax."""
    profile = PROFILES[answer.profile]
    cut_short = not answer.smallest and answer.method == "Z3"
    screen.headline(
        "conflict",
        f"[{profile.name}] nothing is valid on {_where(answer)}"
        f"{'among these some exclude' if cut_short else 'these exclude'} each other:",
        NO,
    )
    for name, value in answer.pins.items():
        screen.entry("asked", option(profile.field_of[name], value))
    for condition in answer.conditions:
        screen.entry("asked", f'--where "{condition}"')
    for name, value in answer.held.items():
        field = profile.field_of[name]
        vary = f" or --vary {name}" if field.role == "knob" else ""
        shown = str(value).lower() if isinstance(value, bool) else value
        screen.entry("default", f"{name} stays {shown}; set --{field.flag}{vary} to change that")
    for rule in answer.rules:
        screen.entry("rule", f"{rule.rule}: {rule.reason}")
        asks = rule.because if len(rule.because) <= SHORT else rule.remedy
        screen.entry("", f"it asks: {asks}")
    screen.entry("searched", answer.searched)
    if not answer.repairs:
        screen.entry("relax", "nothing that was asked can be relaxed; change the world")
    for position, repair in enumerate(answer.repairs):
        changes = [option(profile.field_of[n], v) for n, v in repair.change.items()]
        drops = [f'without --where "{text}"' for text in repair.drop or ()]
        label = "relax" if position == 0 else "or"
        screen.entry(label, " ".join([*changes, *drops]))
    show_cautions(screen, answer.warnings)
    if answer.smallest:
        among = "of what was asked and rules" if answer.method == "Z3" else "of what was asked"
        screen.entry("proof", f"{answer.method}: no smaller set {among} conflicts")
    elif not cut_short:
        screen.entry("proof", f"{answer.method}: without any one of these something is valid")


def _where(answer: Conflict) -> str:
    if answer.worlds == 1:
        return f"{gpus(answer.world)}; "
    return f"any of the {answer.worlds} worlds; on {gpus(answer.world)} "


def show_undecided(screen: Screen, answer: Undecided, varied: Iterable[str]) -> None:
    """What is known, and that it is not an answer."""
    profile = PROFILES[answer.profile]
    screen.headline("undecided", f"[{profile.name}] {answer.reason}", OPEN)
    if answer.solutions:
        screen.entry("so far", f"{answer.count} found; whether others are better is not known")
        show_solutions(screen, profile, answer.solutions, answer.objectives, varied)
    screen.entry("searched", answer.searched)


def show(answer: object, stream: TextIO | None = None, varied: Iterable[str] = ()) -> None:
    """Write an answer for people, to standard output unless told otherwise.

    ``varied`` are knobs that were searched because somebody asked for that.
    """
    screen = Screen(stream)
    match answer:
        case Accepted():
            show_accepted(screen, answer)
        case Rejected():
            show_rejected(screen, answer)
        case Memory():
            show_memory(screen, answer)
        case Best():
            show_best(screen, answer, varied)
        case Conflict():
            show_conflict(screen, answer)
        case Undecided():
            show_undecided(screen, answer, varied)
        case _:
            message = f"no text for {type(answer).__name__}"
            raise TypeError(message)
