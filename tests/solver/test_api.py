"""The Python API: its functions, frozen answers, misuse that says what to change."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any as Anything

import pytest

import parsolve
from parsolve.solver.answer import Accepted, Best, Conflict, Rejected, Solutions, Undecided

ROOT = Path(__file__).parents[2]


def test_what_is_public() -> None:
    assert sorted(parsolve.__all__) == [
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


def test_check_accepts_and_rejects() -> None:
    accepted = parsolve.check(world_size=8, ep_size=8)
    assert isinstance(accepted, Accepted)
    assert accepted.profile == "halo"
    assert accepted.derived["data_parallel_size"] == 8
    rejected = parsolve.check({"world_size": 8, "expert_parallel_size": 4})
    assert isinstance(rejected, Rejected)
    assert [violation.rule for violation in rejected.violations] == ["ep-single-domain-multi-group"]
    assert rejected.repairs is not None
    assert [repair.change for repair in rejected.repairs] == [
        {"ep_size": 2},
        {"ep_size": 8},
        {"expert_tp_size": 2},
    ]


def test_a_keyword_overrides_the_mapping() -> None:
    assert isinstance(parsolve.check({"world_size": 8, "ep_size": 4}, ep_size=8), Accepted)


def test_repairs_may_be_bounded_or_left_out() -> None:
    one = parsolve.check(world_size=8, ep_size=4, repairs=1)
    none = parsolve.check(world_size=8, ep_size=4, repairs=0)
    assert isinstance(one, Rejected)
    assert isinstance(none, Rejected)
    assert one.repairs is not None
    assert (len(one.repairs), one.more_repairs) == (1, 2)
    assert (none.repairs, none.more_repairs) == (None, None)


def test_every_spelling_and_whole_floats_are_taken() -> None:
    answers = [
        parsolve.check(world=8, tp=2),
        parsolve.check(world_size=8, tp_size=2.0),
        parsolve.check({"world_size": 8.0, "tensor_parallel_size": 2}),
    ]
    assert answers[0] == answers[1] == answers[2]


def test_solutions_of_one_world_and_of_several() -> None:
    one = parsolve.solutions(world=8, moe=True)
    assert isinstance(one, Solutions)
    assert one.complete
    assert one.count == len(one.solutions)
    several = parsolve.solutions(world=[16, 8, 8], moe=True)
    assert isinstance(several, Solutions)
    assert several.solutions[: one.count] == one.solutions
    assert {row.config["world_size"] for row in several.solutions} == {8, 16}
    assert parsolve.solutions(world=range(8, 17, 8), moe=True) == several or (
        several.certificate is not None
    )
    worlds: tuple[Anything, ...] = (range(8, 9), [8], (8, 8), {8}, frozenset({8}))
    for world in worlds:
        whole = parsolve.solutions(world=world, moe=True)
        assert isinstance(whole, Solutions)
        assert whole.solutions == one.solutions
    unordered = parsolve.solutions(world={64, 8, 16}, moe=True, limit=1)
    assert isinstance(unordered, Solutions)
    assert unordered.solutions == one.solutions[:1]


def test_solutions_take_conditions_pins_limits_and_further_knobs() -> None:
    narrowed = parsolve.solutions(world=16, moe=True, where="tp*cp <= 2", ep_size=16)
    assert isinstance(narrowed, Solutions)
    assert {row.config["ep_size"] for row in narrowed.solutions} == {16}
    two = parsolve.solutions(world=16, where=["tp > 1", "dp > 2"], limit=1)
    assert isinstance(two, Solutions)
    assert (two.count, two.complete) == (1, False)
    for vary in ("use_hsdp", ["use-hsdp"]):
        varied = parsolve.solutions(world=16, vary=vary)
        assert isinstance(varied, Solutions)
        assert {row.config.get("use_hsdp", False) for row in varied.solutions} == {False, True}
    assert isinstance(parsolve.solutions(world=8, tp_size=3), Conflict)
    assert isinstance(parsolve.solutions(world=8, moe=True, timeout=0), Undecided)
    assert isinstance(parsolve.solutions(world=8, moe=True, timeout=1000), Solutions)
    dense = parsolve.solutions(world=8, moe=False)
    assert isinstance(dense, Solutions)
    assert {row.config["model_kind"] for row in dense.solutions} == {"dense"}


def test_best_maximises_data_parallelism_unless_told() -> None:
    answer = parsolve.best(world=64, gpus_per_node=8, moe=True)
    assert isinstance(answer, Best)
    assert [(goal.quantity, goal.direction, goal.value) for goal in answer.objectives] == [
        ("dp", "maximize", 64)
    ]
    assert answer.count == 8
    assert answer.solutions[0].config["ep_size"] == 8


def test_objectives_stand_in_the_order_given() -> None:
    def goals(**asked: Anything) -> list[tuple[str, str]]:  # noqa: ANN401 - options of best
        answer = parsolve.best(world=8, moe=True, **asked)
        assert isinstance(answer, Best)
        return [(goal.quantity, goal.direction) for goal in answer.objectives]

    assert goals(maximize="tp") == [("tp", "maximize")]
    assert goals(minimize=["tp", "cp"], maximize=["ep"]) == [
        ("ep", "maximize"),
        ("tp", "minimize"),
        ("cp", "minimize"),
    ]
    assert goals(objectives=[("tp", "minimize"), ("dp", "maximize")], maximize="cp") == [
        ("tp", "minimize"),
        ("dp", "maximize"),
        ("cp", "maximize"),
    ]
    front = parsolve.best(world=8, moe=True, maximize=["dp", "tp"], pareto=True, limit=1)
    assert isinstance(front, Best)
    assert front.pareto
    assert len(front.solutions) == 1 < front.count


ANSWERS: tuple[Callable[[], object], ...] = (
    lambda: parsolve.check(world_size=8),
    lambda: parsolve.check(world_size=8, ep_size=4),
    lambda: parsolve.solutions(world=8),
    lambda: parsolve.solutions(world=8, tp_size=3),
    lambda: parsolve.solutions(world=8, timeout=0),
    lambda: parsolve.best(world=8),
)


@pytest.mark.parametrize("ask", ANSWERS)
def test_answers_are_frozen(ask: Callable[[], object]) -> None:
    answer = ask()
    assert dataclasses.is_dataclass(answer)
    with pytest.raises(dataclasses.FrozenInstanceError):
        answer.profile = "megatron"  # type: ignore[union-attr]
    for field in dataclasses.fields(answer):
        assert not isinstance(getattr(answer, field.name), (list, set))
    with pytest.raises((AttributeError, TypeError)):
        answer.remark = "none"  # type: ignore[union-attr]


MISUSE: tuple[tuple[Callable[[], object], str], ...] = (
    (parsolve.check, "world_size is missing"),
    (lambda: parsolve.check(ep_size=4), "world_size is missing"),
    (lambda: parsolve.check(world_size=0), "world_size must be at least 1, got 0"),
    (lambda: parsolve.check(world_size="8"), 'world_size must be an integer, got "8"'),
    (lambda: parsolve.check(world_size=10**12), "world_size is beyond any real size"),
    (lambda: parsolve.check(world_size=8, tp_sise=2), "unknown field 'tp_sise': did you mean"),
    (lambda: parsolve.check({1: 2}, world_size=8), "unknown field 1"),  # type: ignore[dict-item]
    (
        lambda: parsolve.check(world_size=8, tp=2, tp_size=2),
        "tp and tp_size are the same field; give one",
    ),
    (lambda: parsolve.check(world_size=8, tp_size=True), "tp_size must be an integer, got true"),
    (lambda: parsolve.check(world_size=8, tp_size=1.5), "tp_size must be an integer, got 1.5"),
    (lambda: parsolve.check(world_size=8, use_hsdp=1), "use_hsdp must be true or false, got 1"),
    (lambda: parsolve.check(world_size=8, dtype="bf17"), 'dtype has no value "bf17"'),
    (lambda: parsolve.check(world_size=8, pp_split=[]), "pp_split must not be empty"),
    (
        lambda: parsolve.check(world_size=8, model_kind="dense", num_experts=8),
        "model_kind is dense, yet num_experts is given; drop one of the two",
    ),
    (lambda: parsolve.check(world_size=8, profile="hola"), "no profile 'hola'; there are: halo"),
    (
        lambda: parsolve.check(world_size=8, repairs=-1),
        "the number of repairs to show is at least 0, got -1",
    ),
    (lambda: parsolve.solutions(world=8, profile="hola"), "no profile 'hola'; there are: halo"),
    (lambda: parsolve.solutions(world=[]), "no world to search: give world_size a number"),
    (lambda: parsolve.solutions(world=0), "world_size must be at least 1, got 0"),
    (lambda: parsolve.solutions(world=[8, -1]), "world_size must be at least 1, got -1"),
    (lambda: parsolve.solutions(world=8, world_size=4), "world_size is given twice"),
    (
        lambda: parsolve.solutions(world=8, moe=True, model_kind="dense"),
        "moe=True contradicts model_kind='dense'; give one",
    ),
    (lambda: parsolve.solutions(world=8, moe=False, ep_size=8), "ep_size needs model_kind moe"),
    (lambda: parsolve.solutions(world=8, where="tpp > 1"), "unknown name tpp: did you mean"),
    (lambda: parsolve.solutions(world=8, vary="usehsdp"), "unknown knob 'usehsdp': did you mean"),
    (lambda: parsolve.solutions(world=8, limit=0), "a limit is at least 1 configuration, got 0"),
    (lambda: parsolve.solutions(world=8, timeout=-1), "a time limit is a number of seconds, got"),
    (lambda: parsolve.best(world=8, limit=-2), "a limit is at least 1 configuration, got -2"),
    (lambda: parsolve.best(world=8, maximize="dpp + 1"), "unknown name dpp"),
    (lambda: parsolve.best(world=8, pareto=True), "a Pareto front needs at least two objectives"),
    (
        lambda: parsolve.best(world=8, objectives=[("dp", "max")]),
        "an objective is a pair like (\"dp\", \"maximize\"), not ('dp', 'max')",
    ),
    (lambda: parsolve.best(world=8, maximize=["dp", "dp"]), "the same objective is given twice"),
    (
        lambda: parsolve.best(world=8, objectives=[("dp", "maximize")], maximize="dp"),
        "the same objective is given twice; give it once",
    ),
    (
        lambda: parsolve.best(world=8, maximize="experts"),
        '"experts" asks about num_experts, which is not given; give --experts',
    ),
    (
        lambda: parsolve.solutions(world=8, where="experts > 8"),
        '"experts > 8" asks about num_experts, which is not given; give --experts',
    ),
    (lambda: parsolve.solutions(world=True), "world_size must be an integer, got true"),
    (
        lambda: parsolve.solutions(world=range(1, 100_002)),
        "at most 100,000 worlds at once, got 100,001",
    ),
)


@pytest.mark.parametrize(("misuse", "message"), MISUSE)
def test_misuse_is_a_value_error_that_says_what_to_change(
    misuse: Callable[[], object], message: str
) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message follows
        misuse()
    assert message in str(caught.value)


WRONG: tuple[tuple[str, str, Anything], ...] = (
    ("check", "repairs", "3"),
    ("check", "repairs", 2.0),
    ("check", "repairs", True),
    ("check", "repairs", None),
    *((ask, "world", world) for ask in ("solutions", "best") for world in (8.0, 8.5, "8", None)),
    ("solutions", "world", {8: 16}),
    ("solutions", "world", iter([8])),
    ("solutions", "each world", [8, "16"]),
    ("solutions", "each world", (8, 16.0)),
    ("solutions", "each world", {8, True, 2}),
    ("solutions", "each world", [None]),
    *((ask, "limit", n) for ask in ("solutions", "best") for n in ("3", 2.0, True, [1])),
    *((ask, "moe", moe) for ask in ("solutions", "best") for moe in (1, "yes", "moe", 0)),
    *(
        (ask, text, wrong)
        for ask, texts in (
            ("solutions", ("where", "vary")),
            ("best", ("where", "vary", "maximize", "minimize")),
        )
        for text in texts
        for wrong in (3, None, {"tp > 1"}, {"tp > 1": 2}, iter(["tp > 1"]), True, b"tp > 1")
    ),
    ("solutions", "each of where", ["tp > 1", 3]),
    ("solutions", "each of vary", ("use_hsdp", None)),
    ("best", "each of maximize", [("dp", True)]),
    ("best", "each of minimize", [b"dp"]),
)


@pytest.mark.parametrize(("ask", "argument", "wrong"), WRONG)
def test_a_value_of_the_wrong_type_is_a_value_error_that_names_the_argument(
    ask: str, argument: str, wrong: object
) -> None:
    name = argument.removeprefix("each of ").removeprefix("each ")
    given: dict[str, object] = {"world_size" if ask == "check" else "world": 8, name: wrong}
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message follows
        getattr(parsolve, ask)(**given)
    assert str(caught.value).startswith(f"{argument} must be ")


@pytest.mark.parametrize(
    "pair",
    ["dp", ("dp",), ("dp", True), (3, "maximize"), ("dp", "maximize", 1), None, {"dp": "maximize"}],
)
def test_an_objective_that_is_no_pair_is_a_value_error(pair: object) -> None:
    with pytest.raises(ValueError, match="an objective is a pair like"):
        parsolve.best(world=8, objectives=[pair])  # type: ignore[list-item]


def test_a_configuration_that_is_no_mapping_is_a_value_error() -> None:
    for wrong in ([("world_size", 8)], "world_size=8", 8):
        with pytest.raises(ValueError, match="config must be mapping or None, got"):
            parsolve.check(wrong)  # type: ignore[arg-type]


def test_the_most_worlds_are_not_too_many() -> None:
    answer = parsolve.solutions(world=range(1, 100_001), limit=2)
    assert isinstance(answer, Solutions)
    assert answer.count == 2


def run(program: str) -> None:
    """Run a program of its own, in which nothing was imported yet."""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, cwd=ROOT)


def test_a_check_imports_no_solver() -> None:
    run(
        "import sys, parsolve\n"
        "assert not [name for name in sys.modules if name.startswith('parsolve.')]\n"
        "assert parsolve.check(world_size=8, ep_size=4).answer == 'rejected'\n"
        "assert parsolve.check(world_size=8).answer == 'accepted'\n"
        "heavy = {'z3', 'pydantic', 'typer', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )


def test_a_check_on_the_command_line_loads_nothing_of_other_commands() -> None:
    run(
        "import sys\n"
        "from parsolve.cli import main\n"
        "try:\n"
        "    main(['check', '--world', '8', '--ep', '4'])\n"
        "except SystemExit:\n"
        "    pass\n"
        "assert 'parsolve.solver.answer.verdict' in sys.modules\n"
        "others = {'parsolve.constraints.ladder', 'parsolve.solver.answer.advice', 'yaml',\n"
        "          'parsolve.solver.files.format', 'tree_sitter', 'z3', 'pydantic', 'rich'}\n"
        "assert not others & {*sys.modules}, others & {*sys.modules}\n"
    )


def test_a_search_imports_no_command_line() -> None:
    run(
        "import sys, parsolve\n"
        "assert parsolve.best(world=8, moe=True).answer == 'best'\n"
        "assert 'z3' in sys.modules\n"
        "assert not {'pydantic', 'typer', 'rich'} & set(sys.modules)\n"
    )


def test_check_files(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("expert_parallel_size: 8\n", encoding="utf-8")
    answer = parsolve.check_files(path, nodes=2, gpus_per_node=8)
    assert (answer.accepted, answer.rejected) == (1, 0)
    assert parsolve.check_files(path, world=8, ep_size=4).rejected == 1
    with pytest.raises(ValueError, match="world must be int or None"):
        parsolve.check_files(path, world="8")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no profile 'torch'"):
        parsolve.check_files(path, world=8, profile="torch")
