"""A user's own validator: proved equal to the rules, or refuted where the two differ."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from itertools import combinations, product
from typing import Any

import pytest
import z3

from parsolve.constraints import PROFILES
from parsolve.constraints.evaluate import Values
from parsolve.constraints.profile import Config
from parsolve.solver.deadline import Deadline, TimedOut
from parsolve.solver.prove import differences
from parsolve.solver.prove.completeness import Comparison
from parsolve.solver.prove.differences import LARGEST_SWEPT, NEAR, Difference
from parsolve.solver.prove.instances import fewest
from parsolve.solver.prove.obligation import UNBOUNDED, Finding
from parsolve.solver.prove.validator import Validator
from tests.cli.run import Outcome, cli
from tests.solver.validators import opaque
from tests.solver.validators.mistakes import FIELD_OF, MISTAKES, NO_MISTAKES, Mistake
from tests.solver.validators.parallelism_config import ParallelismConfig

HALO = PROFILES["halo"]
PIPELINES = {"assume_pp": True}
"""The topology rules stand behind a gate that refuses every pipeline; this lifts it."""

VALIDATORS = "tests.solver.validators"
CONFIG = f"{VALIDATORS}.parallelism_config:ParallelismConfig"
FUNCTION = f"{VALIDATORS}.plain_function:check"
MAPPED = {
    "node": "gpus_per_node",
    "scope": "ep_scope",
    "backend": "ep_buffer_backend",
    "zero3": "fsdp_reshard_after_forward",
    "reshard_backward": "fsdp_reshard_after_backward",
    "defer_sync": "fsdp_defer_grad_sync",
    "shard_ep1": "fsdp_shard_ep1_experts",
}
MAPS = [word for pair in MAPPED.items() for word in ("--map", "=".join(pair))]


def comparison(
    validator: Validator | Callable[..., Any], pins: Mapping[str, object] | None = None
) -> Comparison:
    if not isinstance(validator, Validator):
        validator = Validator(validator, HALO)
    return Comparison(HALO, validator, "against", pins)


def findings(compared: Comparison, *names: str) -> dict[str, Finding]:
    """What became of the named statements; of all unless some are named."""
    made = {each.name: each for each in compared.obligations()}
    wanted = [f"against/{name}" for name in names] or list(made)
    return {name: made[name].decide(Deadline(60)) for name in wanted}


def statuses(found: Mapping[str, Finding]) -> set[str]:
    return {finding.status for finding in found.values()}


# Right validators, written as people write them.


def test_a_right_configuration_object_is_proved_equal_for_all_sizes() -> None:
    found = findings(comparison(ParallelismConfig, PIPELINES))
    assert list(found) == [
        *(f"against/{rule.id}" for rule in HALO.rules),
        "against/only-refuses",
        "against/accepts",
        "against/data_parallel_size",
    ]
    assert statuses(found) == {"proved"}
    assert {finding.scope for finding in found.values()} == {UNBOUNDED}
    assert all(finding.goals for finding in found.values())


def test_the_names_of_a_framework_need_no_map() -> None:
    assert Validator(ParallelismConfig, HALO).parameters == FIELD_OF


def test_a_right_function_under_its_own_names_is_proved_equal() -> None:
    answer = cli("prove", "--against", FUNCTION, *MAPS, "--assume-pp", "--format", "json")
    assert answer.code == 0
    assert answer.data["against"] == FUNCTION
    proofs = answer.data["obligations"]
    assert {(each["status"], each["scope"]) for each in proofs} == {("proved", UNBOUNDED)}
    assert len(proofs) == len(HALO.rules) + 2
    assert all(each["name"].startswith("against/") for each in proofs)


def test_without_a_pin_the_gate_before_pipelines_is_missed() -> None:
    name = "against/pp-release-gate"
    finding = findings(comparison(ParallelismConfig), "pp-release-gate")[name]
    assert finding.status == "refuted"
    assert (finding.counterexample or {})["pp_size"] == 2
    assert "assume_pp" not in (finding.counterexample or {})


def test_a_pinned_field_has_its_value_in_every_configuration() -> None:
    pins = {**PIPELINES, "use_grouped_gemm": False}
    finding = findings(comparison(ParallelismConfig, pins), "accepts")["against/accepts"]
    given = finding.counterexample or {}
    assert finding.status == "refuted"
    assert given["use_grouped_gemm"] is False
    assert given["assume_pp"] is True
    assert HALO.config(given).accepted()
    assert "fsdp_shard_ep1_experts must stay on" in finding.note


@pytest.mark.parametrize("change", NO_MISTAKES, ids=str)
def test_a_change_without_consequences_is_proved_equal(change: Mistake) -> None:
    compared = comparison(change.validator(), PIPELINES)
    assert statuses(findings(compared, "accepts", "only-refuses", "data_parallel_size")) == {
        "proved"
    }
    assert statuses(findings(compared)) == {"proved"}


# Wrong validators: each mistake is refuted, and shown where it is seen best.

SIZES = (
    "world_size",
    "gpus_per_node",
    "nvlink_domain_size",
    "tp_size",
    "cp_size",
    "pp_size",
    "ep_size",
    "expert_tp_size",
)


def options(config: Config) -> dict[str, tuple[object, ...]]:
    """Values of each field that a user may change, small enough to try all pairs."""
    most = 2 * max(config["world_size"], 4)
    sizes = {
        name: tuple(range(0 if HALO.field_of[name].default == 0 else 1, most + 1)) for name in SIZES
    }
    sizes["world_size"] = sizes["tp_size"]
    flags = {name: (False, True) for name in FIELD_OF.values() if "fsdp" in name or "hsdp" in name}
    return {
        **sizes,
        **flags,
        "ep_scope": ("auto", "node", "global"),
        "ep_buffer_backend": ("auto", "elastic", "legacy"),
        "num_attention_heads": (None, (8,), (64,)),
        "num_key_value_heads": (None, (8,), (64,)),
    }


def changes_to_acceptance(config: Config) -> int | None:
    """Fields to change for a configuration that the profile accepts; None for more than two."""
    if config.accepted():
        return 0
    tried = options(config)
    for count in (1, 2):
        for names in combinations(tried, count):
            for chosen in product(*(tried[name] for name in names)):
                values = list(config.values)
                for name, value in zip(names, chosen, strict=True):
                    values[HALO.index_of[name]] = value
                if HALO.accepts(tuple(values)):
                    return count
    return None


def verdict(made: Callable[..., Any], config: Config) -> Any:  # noqa: ANN401
    """The exception that the class raises for the configuration, or what it returns."""
    given = {parameter: config[name] for parameter, name in FIELD_OF.items()}
    heads = {name: list(value) for name, value in given.items() if isinstance(value, tuple)}
    try:
        return made(**{**given, **heads})
    except (ValueError, ZeroDivisionError) as raised:
        return raised


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_a_mistake_is_refuted_near_an_accepted_configuration(mistake: Mistake) -> None:
    compared = comparison(mistake.validator(), PIPELINES)
    (finding,) = findings(compared, mistake.statement).values()
    assert (finding.status, finding.scope) == ("refuted", UNBOUNDED)
    given = finding.counterexample or {}
    config = HALO.config(given)
    assert given["assume_pp"] is True
    assert set(given) <= {"assume_pp", *FIELD_OF.values()}
    assert_differs(mistake, config, finding.note)
    assert changes_to_acceptance(config) in {0, 1, 2}
    assert config["world_size"] <= 12
    assert len(HALO.violated(config.values)) <= 2


def assert_differs(mistake: Mistake, config: Config, note: str) -> None:
    """Both are run: the right class agrees with the profile, and the changed one does not."""
    right, wrong = verdict(ParallelismConfig, config), verdict(mistake.made()[0], config)
    assert isinstance(right, ParallelismConfig) == config.accepted()
    violated = [HALO.rules[index].id for index in HALO.violated(config.values)]
    match mistake.statement:
        case "data_parallel_size":
            assert isinstance(right, ParallelismConfig)
            assert wrong.data_parallel_size != right.data_parallel_size
            assert note == "both accept, and differ in data_parallel_size"
        case "only-refuses":
            assert isinstance(wrong, ZeroDivisionError)
            assert f"rejects ({violated[0]})" in note
            assert "rejects (ZeroDivisionError: " in note
        case "accepts":
            assert isinstance(wrong, Exception) == config.accepted()
            if config.accepted():
                assert note == f"the profile accepts, the validator rejects (ValueError: {wrong})"
        case rule:
            assert violated[0] == rule
            assert type(wrong).__name__ == "ParallelismConfig"
            assert note == f"the profile rejects ({rule}), the validator accepts"


def test_there_are_mistakes_of_every_kind() -> None:
    names = [mistake.name for mistake in (*MISTAKES, *NO_MISTAKES)]
    assert len(set(names)) == len(names) >= 24
    assert all(mistake.text for mistake in (*MISTAKES, *NO_MISTAKES))
    with pytest.raises(ValueError, match="stands 0 times in the source"):
        _ = Mistake("no change", "no such text", "").text


# How differences are searched.


def anything(  # noqa: PLR0917
    world_size: int,
    gpus_per_node: int,
    nvlink_domain_size: int,
    tp_size: int,
    cp_size: int,
    pp_size: int,
    ep_size: int,
    expert_tp_size: int,
    ep_scope: str,
    ep_buffer_backend: str,
    use_hsdp: bool,  # noqa: FBT001
) -> None:
    """A validator that accepts everything."""


MISSED = {
    "axis-set-unsupported": 1,
    "ep-node-group-exceeds-domain": 2,
    "ep-tp-multi-domain-multi-group": 1,
    "ep-etp-multi-domain-multi-group": 1,
    "legacy-buffer-cross-node": 1,
    "legacy-buffer-untuned-width": 1,
    "tp-exceeds-stage": 3,
}
"""Rules, and how many at least are violated where each is the first."""


def test_a_missed_rule_is_shown_alone_where_it_can_be() -> None:
    compared = comparison(anything, PIPELINES)
    for rule, broken in MISSED.items():
        found = searched(compared, first_of(rule))
        config = HALO.config(dict(zip(HALO.index_of, found.values, strict=True)))
        assert (found.ours, found.theirs) == (rule, "accepts")
        assert len(HALO.violated(found.values)) == broken, rule
        assert changes_to_acceptance(config) == 1, rule


def first_of(rule: str) -> Callable[[Difference], bool]:
    return lambda difference: difference.ours == rule


def searched(compared: Comparison, matters: Callable[[Difference], bool]) -> Difference:
    """What is found without asking Z3."""
    nothing = z3.BoolVal(val=False)
    found = compared.differences.search(compared.catalogue, nothing, matters, Deadline(60))
    assert found is not None
    return found


def test_a_difference_that_no_example_shows_is_found_beside_an_accepted_configuration() -> None:
    def six_in_pairs(world_size: int, gpus_per_node: int, tp_size: int) -> None:
        if (world_size, gpus_per_node, tp_size) == (6, 2, 2):
            raise ValueError
        opaque.Settings(world_size, gpus_per_node, tp_size)

    compared = comparison(six_in_pairs)
    assert not any(map(compared.differences.at, compared.differences.candidates))
    found = searched(compared, lambda each: each.verdicts_differ)
    shown = HALO.config(dict(zip(HALO.index_of, found.values, strict=True)))
    assert (shown["world_size"], shown["gpus_per_node"], shown["tp_size"]) == (6, 2, 2)


def test_several_sizes_shrink_together_where_one_alone_cannot() -> None:
    start = HALO.config({"world_size": 48, "gpus_per_node": 16, "ep_size": 8}).values
    world, node, width = (HALO.index_of[n] for n in ("world_size", "gpus_per_node", "ep_size"))

    def holds(values: Values) -> bool:
        return bool(values[world] == 3 * values[node] == 6 * values[width])

    least = fewest(HALO, start, holds, [node, width])
    assert (least[world], least[node], least[width]) == (6, 2, 1)
    assert fewest(HALO, least, holds, [node, width]) == least


def test_illegal_sizes_stay_illegal_on_a_smaller_world() -> None:
    given = {"world_size": 24, "nvlink_domain_size": -24, "ep_size": 0, "cp_size": 48}
    world, domain, ep, cp = (HALO.index_of[name] for name in given)

    def holds(values: Values) -> bool:
        if values[cp] != 2 * values[world] or values[world] == 1:
            return False
        return bool(values[domain] == -values[world] and values[ep] == 0)

    least = fewest(HALO, HALO.config(given).values, holds, [domain, ep, cp])
    assert (least[world], least[domain], least[ep], least[cp]) == (2, -2, 0, 4)


def test_a_difference_on_large_clusters_only_is_found_by_z3() -> None:
    def refuses_a_thousand(world_size: int, tp_size: int) -> None:
        opaque.plain(world_size, tp_size)
        if world_size == 1000 and tp_size == 4:
            raise ValueError

    finding = findings(comparison(refuses_a_thousand), "accepts")["against/accepts"]
    assert finding.status == "refuted"
    assert finding.counterexample == {"world_size": 1000, "tp_size": 4}


def test_a_difference_far_from_anything_accepted_gives_way_to_a_near_one() -> None:
    search = comparison(anything, PIPELINES).differences
    far = {"world_size": 1, "gpus_per_node": -1, "tp_size": 0, "cp_size": 0, "ep_scope": "rack"}
    start = HALO.config({**far, **PIPELINES}).values
    assert not search.is_near(start, NEAR)
    node = HALO.index_of["gpus_per_node"]

    def differs(values: Values) -> bool:
        return values == start or values[node] == 4

    found = search._smallest(start, differs, lambda each: each.values[node] == 4)
    assert found is not None
    assert found.values[node] == 4
    assert search.is_near(found.values, 1)
    alone = search._smallest(start, start.__eq__, lambda _: False)
    assert alone is not None
    assert alone.values == start


def test_a_search_without_time_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "LONGEST", 0.0)
    compared = comparison(opaque.plain)
    assert compared.differences.sweep(Deadline(60)) == (None, 1)
    catalogue, nothing = compared.catalogue, z3.BoolVal(val=False)
    search = compared.differences.search
    assert search(catalogue, nothing, lambda _: True, Deadline(60)) is None
    with pytest.raises(TimedOut):
        search(catalogue, nothing, lambda _: True, Deadline(0))


def test_nearness_counts_changed_fields() -> None:
    search = comparison(anything, PIPELINES).differences
    two_off = {"world_size": 4, "gpus_per_node": 3, "tp_size": 2, "use_hsdp": True}
    for given, fields in (
        ({"world_size": 4}, 0),
        ({"world_size": 4, "tp_size": 3}, 1),
        (two_off, 2),
    ):
        values = HALO.config({**given, **PIPELINES}).values
        near = [search.is_near(values, count) for count in range(NEAR + 1)]
        assert near == [count >= fields for count in range(NEAR + 1)]


# What cannot be executed on unknown values.

GAPS = {
    "reads_a_file": "with LIMITS.open",
    "asks_the_environment": "os.environ.get",
    "loops": "while rest",
    "calls_a_library": "Fraction(tp_size",
}
HARMLESS = {
    "reads_a_file_harmless": "with LIMITS.open",
    "asks_the_environment_harmless": "os.getenv",
    "loops_harmless": "while groups",
    "calls_a_library_harmless": "math.gcd",
    "on_one_branch": "os.getenv",
}
BOUNDED = re.compile(rf"bounded to [\d,]+ configurations of up to {LARGEST_SWEPT} GPUs")


def line_of(name: str, text: str) -> int:
    lines, first = inspect.getsourcelines(getattr(opaque, name))
    (found,) = (number for number, line in enumerate(lines, first) if text in line)
    return found


@pytest.mark.parametrize(("name", "text"), (GAPS | HARMLESS).items(), ids=[*GAPS, *HARMLESS])
def test_a_line_that_cannot_be_executed_is_named_and_nothing_is_proved_behind_it(
    name: str, text: str
) -> None:
    compared = comparison(getattr(opaque, name))
    line = line_of(name, text)
    assert [gap.place.line for gap in compared.executed.gaps] == [line]
    found = findings(compared)
    gap = found.pop(f"against/line-{line}")
    assert BOUNDED.fullmatch(gap.scope)
    assert "proved" not in statuses(found)
    if name in HARMLESS:
        assert gap.status == "undecided"
        assert f"{opaque.__file__}:{line}" in gap.note
        assert gap.counterexample is None
        assert statuses(found) == {"undecided"}
    else:
        assert gap.status == "refuted"
        config = HALO.config(gap.counterexample or {})
        assert config.accepted()
        with pytest.raises(ValueError, match=re.escape(gap.note.partition("ValueError: ")[2][:-1])):
            getattr(opaque, name)(config["world_size"], config["tp_size"])


def test_what_does_not_reach_the_line_is_said_to_be_proved() -> None:
    line = line_of("on_one_branch", "os.getenv")
    finding = findings(comparison(opaque.on_one_branch), "size-tp-min")["against/size-tp-min"]
    assert finding.status == "undecided"
    assert finding.note == f"proved for what does not reach {opaque.__file__}:{line}"


def test_a_mistake_elsewhere_is_refuted_for_all_sizes() -> None:
    finding = findings(comparison(opaque.wrong_elsewhere), "accepts")["against/accepts"]
    assert (finding.status, finding.scope) == ("refuted", UNBOUNDED)
    assert finding.counterexample == {"world_size": 1}


def test_without_the_line_everything_is_proved() -> None:
    assert statuses(findings(comparison(opaque.plain))) == {"proved"}


def test_a_field_that_is_only_kept_and_a_property_that_fails_are_no_differences() -> None:
    line = line_of("Settings", "os.getenv")
    found = findings(comparison(opaque.Settings), f"line-{line}")
    assert statuses(found) == {"undecided"}
    config = opaque.Settings(8)
    assert config.gpus_per_node == 0
    with pytest.raises(ZeroDivisionError):
        _ = config.num_nodes


def test_a_wrong_property_is_a_difference() -> None:
    line = line_of("Settings", "os.getenv")
    finding = findings(comparison(opaque.WrongSettings), f"line-{line}")[f"against/line-{line}"]
    assert finding.status == "refuted"
    assert finding.note == "both accept, and differ in data_parallel_size"
    assert finding.counterexample == {"world_size": 2, "tp_size": 2}


def test_the_bound_counts_the_small_clusters_only() -> None:
    def refuses_many(world_size: int, tp_size: int) -> None:
        opaque.plain(world_size, tp_size)
        if world_size > LARGEST_SWEPT:
            raise ValueError

    small, tried = comparison(opaque.plain).differences.sweep(Deadline(60))
    assert small is None
    large, before = comparison(refuses_many).differences.sweep(Deadline(60))
    assert large is not None
    assert large.values[HALO.index_of["world_size"]] > LARGEST_SWEPT
    assert before < tried


# The command line.


def against(name: str, *more: str) -> Outcome:
    return cli("prove", "--against", f"{VALIDATORS}.{name}", *more)


def test_a_gap_exits_undecided_and_names_file_and_line() -> None:
    done = against("opaque:on_one_branch")
    line = line_of("on_one_branch", "os.getenv")
    assert done.code == 3
    assert done.words.startswith("undecided [halo] ")
    assert f"undecided against/line-{line}" in done.words
    assert f"{opaque.__file__}:{line}" in done.words
    assert BOUNDED.search(done.words)


def test_a_difference_exits_refuted_with_both_verdicts_and_the_flags_that_show_it() -> None:
    done = against("opaque:calls_a_library")
    assert done.code == 1
    assert done.words.startswith("refuted [halo] ")
    assert "the profile accepts, the validator rejects (ValueError: groups of 1 " in done.words
    assert "differs at --world 1" in done.words


MISUSE: dict[str, tuple[list[str], str]] = {
    "unknown module": (
        ["--against", "no_such_package.checks:check"],
        "cannot import no_such_package.checks: No module named 'no_such_package'",
    ),
    "raises on import": (
        ["--against", f"{VALIDATORS}.broken_import:check"],
        f"importing {VALIDATORS}.broken_import raises KeyError: 'b200'",
    ),
    "missing attribute": (
        ["--against", f"{VALIDATORS}.parallelism_config:ParalelismConfig"],
        'has no ParalelismConfig: did you mean "ParallelismConfig"?',
    ),
    "no callable": (
        ["--against", f"{VALIDATORS}.misshapen:MAX_TENSOR_PARALLEL"],
        f"{VALIDATORS}.misshapen:MAX_TENSOR_PARALLEL is no function and no class",
    ),
    "no colon": (
        ["--against", f"{VALIDATORS}.misshapen"],
        f"--against takes package.module:callable, got '{VALIDATORS}.misshapen'",
    ),
    "any sizes by place": (
        ["--against", f"{VALIDATORS}.misshapen:takes_any"],
        "a validator must name its parameters; this one takes *sizes",
    ),
    "any sizes by name": (
        ["--against", f"{VALIDATORS}.misshapen:takes_all"],
        "a validator must name its parameters; this one takes **sizes",
    ),
    "a parameter that is no field": (
        ["--against", f"{VALIDATORS}.misshapen:check_tensor_parallel"],
        'parameter tensor_paralel_size is no field of halo: did you mean "tensor_parallel_size"?',
    ),
    "no parameter that is a field": (
        ["--against", f"{VALIDATORS}.misshapen:takes_nothing"],
        "no parameter is a field of halo; map some with --map",
    ),
    "two parameters for one field": (
        ["--against", f"{VALIDATORS}.misshapen:takes_twice"],
        "two parameters stand for tp_size",
    ),
    "a map of no parameter": (
        ["--against", FUNCTION, "--map", "nod=gpus_per_node"],
        '--map nod=...: no such parameter: did you mean "node"?',
    ),
    "a map to no field": (
        ["--against", FUNCTION, "--map", "node=gpus_per_nod"],
        'parameter node is no field of halo: did you mean "gpus_per_node"?',
    ),
    "a map to a field that is taken": (
        ["--against", FUNCTION, "--map", "node=tp"],
        "two parameters stand for tp_size",
    ),
    "half a map": (
        ["--against", FUNCTION, "--map", "node"],
        "--map takes PARAMETER=FIELD, got 'node'",
    ),
    "a map without a validator": (
        ["--map", "node=gpus_per_node"],
        "--map and fields of a configuration go with --against",
    ),
    "a field without a validator": (
        ["--assume-pp"],
        "--map and fields of a configuration go with --against",
    ),
    "a family beside a validator": (
        ["laws", "--against", CONFIG],
        "with --against, no family is named: it compares the whole validator",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), MISUSE.values(), ids=MISUSE)
def test_misuse_is_said_in_one_line(arguments: list[str], message: str) -> None:
    done = cli("prove", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.words
    said = [line for line in done.err.splitlines() if line.startswith("parsolve: ")]
    framed = done.err.startswith("Usage: ")
    assert len(said) == (0 if framed else 1)
    assert "Traceback" not in done.err


def test_a_parameter_that_is_no_field_can_be_mapped_as_the_error_says() -> None:
    done = against("misshapen:check_tensor_parallel")
    hint = "--map tensor_paralel_size=FIELD"
    assert hint in done.words
    mapped = hint.removeprefix("--map ").replace("FIELD", "tp")
    assert against("misshapen:check_tensor_parallel", "--map", mapped).code == 1
