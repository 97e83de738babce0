"""Conditions: what they mean, what is refused, and that nothing of them is ever executed."""

from __future__ import annotations

import ast
import random
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsolve.constraints.evaluate import compiled, prologue, term_source
from parsolve.constraints.profile import Config, holds
from parsolve.solver.where import ConditionError, parse_condition, parse_quantity
from tests.near_valid import near_valid
from tests.solver.questions import HALO, config

CONFIGS = tuple(HALO.config(near_valid(random.Random(seed))) for seed in range(60))
HERE = config(world_size=64, gpus_per_node=8, tp_size=2, ep_size=8, expert_lora=True)


def names_of(one: Config) -> Mapping[str, object]:
    """What Python's own evaluation of a condition may read: stand-ins for unset sizes."""
    fields = {spelling: one[name] for spelling, name in HALO.spellings.items()}
    derived = dict(HALO.derive(one.values))
    short = {short: derived[name] for short, name in HALO.short_names.items() if name in derived}
    given_values = {k: 0 if v is None else v for k, v in {**fields, **derived, **short}.items()}
    return given_values | {"divides": lambda a, b: b % a == 0, "max": max, "min": min}


def as_python(text: str, one: Config) -> bool | None:
    """What Python makes of the text; None where it names a quantity that is unknown there."""
    try:
        return bool(eval(text, {"__builtins__": {}}, dict(names_of(one))))  # noqa: S307 - ours
    except NameError:
        return None


@pytest.mark.parametrize(
    "text",
    [
        "tp == 2",
        "tp*cp <= 8",
        "tp * cp + ep * 2 > 8",
        "(tp + cp) * ep > 16",
        "tp - cp - ep < 0",
        "tp - (cp - ep) < 0",
        "world // tp // cp >= 4",
        "world % 3 == world % 5",
        "-3 + tp < -1",
        "tp - -3 > 4",
        "1 < tp <= 8",
        "1 <= tp <= ep <= 64",
        "1 < tp != cp < 4",
        "tp in (1, 2)",
        "tp in [1, 4]",
        "tp in {1}",
        "tp not in (1, 2)",
        "tp in (ep, cp + 1)",
        "not tp == 1",
        "not tp in (1, 2)",
        "tp == 1 or ep == 1 and cp == 1",
        "(tp == 1 or ep == 1) and cp == 1",
        "not tp == 1 and cp == 1",
        "not (tp == 1 and cp == 1)",
        "not not tp == 1",
        "tp > 1 or cp > 1 or ep > 1",
        "True",
        "False or tp == 1",
        "use_hsdp",
        "not use_hsdp",
        "use_hsdp == True",
        "use_hsdp != True",
        "use_hsdp == False or tp == 1",
        "use_hsdp in (True,)",
        "use_hsdp not in (True, False)",
        "is_ep_mode and not is_tp_mode",
        "is_ep_mode == False",
        "ep_scope == 'node'",
        "ep_scope != 'node'",
        "'global' == ep_scope",
        "ep_scope in ('node', 'global')",
        "dtype in ('bf16', 'fp16')",
        'model_kind == "unknown" or experts == 64',
        "'a' == 'b'",
        "max(tp, cp, 3) == 3",
        "min(tp, cp) == max(cp, tp)",
        "divides(tp, world)",
        "divides(2, tp * ep) and divides(max(1, tp), 8)",
        "world // max(1, tp - 1) > 8",
        "tp == 0x10 or ep == 1_6 or cp == 0b10",
        "world <= 1000000000000000000",
        "tp == 1 # not a part of it",
        "   tp == 1   ",
        "\ttp == 1",
    ],
)
def test_a_condition_means_what_python_means_by_it(text: str) -> None:
    """Precedence, chains, membership and signs, at sixty near-valid configurations."""
    formula = parse_condition(HALO, text)
    for one in CONFIGS:
        if one["tp_size"] < 1:
            continue
        expected = as_python(text.strip(), one)
        assert expected is None or holds(HALO, formula, one.values) is expected, one.as_dict()


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("tp", "tp_size"),
        ("tensor_parallel_size", "tp_size"),
        ("context_parallel_size", "cp_size"),
        ("expert_parallel_size", "ep_size"),
        ("expert_tensor_parallel_size", "expert_tp_size"),
        ("etp", "expert_tp_size"),
        ("pp", "pp_size"),
        ("world", "world_size"),
        ("experts", "num_experts"),
        ("n_routed_experts", "num_experts"),
        ("gpus_per_node", "gpus_per_node"),
        ("dp", "data_parallel_size"),
        ("ep_groups", "num_ep_groups"),
        ("domains", "num_nvlink_domains"),
        ("nodes", "num_nodes"),
    ],
)
def test_every_spelling_names_the_same(text: str, same: str) -> None:
    assert parse_quantity(HALO, text) is parse_quantity(HALO, same)
    assert holds(HALO, parse_condition(HALO, f"{text} == {same}"), HERE.values)


def test_a_derived_quantity_comes_before_a_field_of_that_name() -> None:
    """Of the GPUs per node and the scope, a condition reads the effective values."""
    auto = config(world_size=16, ep_size=16)
    assert holds(HALO, parse_condition(HALO, "ep_scope == 'global'"), auto.values)
    assert holds(HALO, parse_condition(HALO, "gpus_per_node == 8"), auto.values)


@pytest.mark.parametrize(
    "marked",
    [
        "ep_scope == ^'auto'",
        "^'auto' == ep_scope",
        "ep_scope != ^'auto'",
        "ep_scope in ('node', ^'auto')",
        "tp > 1 and ep_scope not in ['global', ^'auto']",
        "'node' == ep_scope == ^'auto'",
    ],
)
def test_a_derived_label_is_never_auto(marked: str) -> None:
    """It is what auto resolved to: that comparison could only mislead."""
    column, text = marked.index("^"), marked.replace("^", "")
    with pytest.raises(ConditionError) as caught:
        parse_condition(HALO, text)
    assert str(caught.value).split("\n") == [
        "ep_scope is what auto resolved to; to fix the request itself, pin it",
        f"  {text}",
        f"  {' ' * column}^",
    ]


def test_a_knob_that_nothing_resolves_may_be_auto() -> None:
    one = config(world_size=8)
    assert holds(HALO, parse_condition(HALO, "ep_buffer_backend == 'auto'"), one.values)
    assert not holds(HALO, parse_condition(HALO, "ep_buffer_backend != 'auto'"), one.values)


@pytest.mark.parametrize("name", ["max", "min"])
def test_max_and_min_take_at_most_20_numbers(name: str) -> None:
    numbers = ", ".join(f"tp + {n}" for n in range(20))
    expected = {"max": 21, "min": 2}[name]
    assert holds(HALO, parse_condition(HALO, f"{name}({numbers}) == {expected}"), HERE.values)
    with pytest.raises(ConditionError) as caught:
        parse_condition(HALO, f"1 < {name}({numbers}, 1)")
    problem, _, caret = str(caught.value).split("\n")
    assert problem == f"{name} takes at most 20 numbers"
    assert caret == "  " + " " * 4 + "^"


UNKNOWN: tuple[str, ...] = ("experts_per_rank", "tokens_per_rank")
"""Quantities made of numbers that may not be given."""


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_quantity_made_of_unknown_numbers_is_unknown_and_not_0(name: str) -> None:
    one = config(world_size=8, ep_size=8)
    assert name not in HALO.derive(one.values)
    for text in (f"{name} == 0", f"{name} >= 0", f"{name} < 0", f"not {name} == 0"):
        assert not holds(HALO, parse_condition(HALO, text), one.values)
    known = config(world_size=8, ep_size=8, num_experts=16, ep_rows_per_device=2, max_length=128)
    assert HALO.derive(known.values)[name] == {"experts_per_rank": 2, "tokens_per_rank": 256}[name]
    assert holds(HALO, parse_condition(HALO, f"{name} > 0"), known.values)


def test_a_condition_on_an_unknown_quantity_does_not_hold() -> None:
    odd = config(world_size=12, gpus_per_node=8)
    for text in ("nodes >= 1", "nodes < 1", "not nodes >= 1"):
        assert not holds(HALO, parse_condition(HALO, text), odd.values)


def test_quantities_may_be_calculated() -> None:
    term = parse_quantity(HALO, "max(dp, 3) * 2 - world // 8")
    lines = [*prologue(HALO.fields, [term]), f"return {term_source(term)}"]
    assert compiled("read", lines)(HERE.values) == 32 * 2 - 8
    with pytest.raises(ConditionError, match="this is a label, not a number"):
        parse_quantity(HALO, "'node'")
    with pytest.raises(ConditionError, match="expected a number"):
        parse_quantity(HALO, "tp == 1")


COMPARISONS = "expected a condition: comparisons joined by and, or, not"
NUMBER = "expected a number, a field or a derived quantity"
CALCULATE = "calculate with + - * // %; for exact division write divides(a, b)"
DIVISOR = "a divisor must be at least 1 always; use max(1, ...)"
FLAG = "a flag is compared with True or False"
LIST = "after `in` comes a list of constants: tp in (1, 2)"
SYNTAX = "this is not an expression"
LABEL = "a label cannot be compared with a number"
EQUALITY = "labels are compared with == or !="
RELATION = "compare with ==, !=, <, <=, >, >= or in"
LARGE = "no size is that large: at most 10**18"

REFUSED = [
    ("^", "a condition must not be empty"),
    ("^   ", "a condition must not be empty"),
    ("^tp", "tp is a number: compare it with something"),
    ("not ^tp", "tp is a number: compare it with something"),
    ("tp == 1 and ^ep", "ep is a number: compare it with something"),
    ("^tp + 1", COMPARISONS),
    ("^'node'", COMPARISONS),
    ("^3", COMPARISONS),
    ("^None", COMPARISONS),
    ("^tp == 1,", COMPARISONS),
    ("^tp if ep else cp", COMPARISONS),
    ("^divides(tp)", COMPARISONS),
    ("^divides(tp, 2, 3)", COMPARISONS),
    ("^divides(tp, dividend=2)", COMPARISONS),
    ("^use_hsdp + 1 > 2", "use_hsdp is a flag, not a number"),
    ("tp == ^use_hsdp", "use_hsdp is a flag, not a number"),
    ("tp ^= 1", SYNTAX),
    ("tp ==^", SYNTAX),
    ("tp == 1 or^", SYNTAX),
    ("tp ^ep", SYNTAX),
    ("tp == 1 &^& ep == 1", SYNTAX),
    ("tp == ^010", SYNTAX),
    ("^(tp == 1", SYNTAX),
    ("tp == 1 ^; ep == 1", SYNTAX),
    ("tp in ^()", LIST),
    ("tp in ^3", LIST),
    ("tp not in ^[]", LIST),
    ("tp in ^(1, 2) == True", NUMBER),
    ("tp is ^1", RELATION),
    ("tp is not ^1", RELATION),
    ("use_hsdp == ^1", FLAG),
    ("use_hsdp < ^True", FLAG),
    ("use_hsdp == ^is_ep_mode", FLAG),
    ("^True == use_hsdp", "True and False are no numbers"),
    ("tp == ^True", "True and False are no numbers"),
    ("tp == ^-True", "True and False are no numbers"),
    ("tp == ^None", NUMBER),
    (
        "tp == ^1.5",
        "1.5 is no whole number; if it is a size, give a unit, such as 1.5GiB",
    ),
    ("tp == ^1j", NUMBER),
    ("tp == ^b'1'", NUMBER),
    ("tp == ^...", NUMBER),
    ("^~tp == 3", NUMBER),
    ("^+tp == 3", NUMBER),
    ("^[tp] == 2", NUMBER),
    ("tp == ^{1}", NUMBER),
    ("^max(tp) > 1", NUMBER),
    ("^max(tp, ep, key=3) > 1", NUMBER),
    ("min(tp, ^*ep) > 1", NUMBER),
    ("tp / ^2 > 1", CALCULATE),
    ("2**^10**9 > 1", CALCULATE),
    ("tp == 10**^19", CALCULATE),
    ("tp @ ^2 == 3", CALCULATE),
    ("tp << ^2 == 3", CALCULATE),
    ("tp & ^2 == 3", CALCULATE),
    ("world % ^0 == 1", DIVISOR),
    ("world % (^tp - 1) == 0", DIVISOR),
    ("world // ^experts == 1", DIVISOR),
    ("divides(^0, tp)", DIVISOR),
    ("divides(^-1, tp)", DIVISOR),
    ("tp == ^10000000000000000000", LARGE),
    ("tp == ^-10000000000000000000", LARGE),
    ("ep_scope < ^'node'", EQUALITY),
    ("ep_scope == ^1", LABEL),
    ("tp > 1 > ^'x'", LABEL),
    ("^ep_scope + 1 == 2", "labels cannot be calculated with"),
    ("max(dp, ^'x') > 1", "labels cannot be calculated with"),
    ("divides(2, ^ep_scope)", "labels cannot be calculated with"),
    ("ep_scope == ^'nodes'", 'ep_scope has no value "nodes": did you mean "node"?'),
    ("^'far' == ep_scope", 'ep_scope has no value "far"; it takes auto, node, global'),
    ("dtype in ('bf16', ^'bf17')", 'dtype has no value "bf17": did you mean "bf16"?'),
    ("^heads == 2", "heads is a list and cannot be used in a condition"),
    ("tp == 1 and ^tpp == 1", 'unknown name tpp: did you mean "tp"?'),
    ("^tp_sise == 1", 'unknown name tp_sise: did you mean "tp_size"?'),
    ("^Δ == 1", "unknown name Δ"),
    ("    ^tpp > 1", 'unknown name tpp: did you mean "tp"?'),
    ("^__import__('os')", COMPARISONS),
    ("^__import__('os').system('true') == 0", NUMBER),
    ("^tp.real == 1", NUMBER),
    ("^tp.__class__.__mro__", COMPARISONS),
    ("^lambda: 1", COMPARISONS),
    ("tp == (^lambda: 1)()", NUMBER),
    ("(^tp := 2) == 2", NUMBER),
    ("^f'{tp}' == 'a'", NUMBER),
    ("^print('hello')", COMPARISONS),
    ("tp == ^[x for x in (1, 2)]", NUMBER),
    ("(^yield)", COMPARISONS),
    ("^await tp", COMPARISONS),
    ("'é' == 'ü' and ^tpp == 1", 'unknown name tpp: did you mean "tp"?'),
    (
        "'日本' != 'ü' and ep_scope == ^'nodes'",
        'ep_scope has no value "nodes": did you mean "node"?',
    ),
    ("  'é🙂' == 'ü' and tp ^= 1", SYNTAX),
]


@pytest.mark.parametrize(("marked", "problem"), REFUSED, ids=[text for text, _ in REFUSED])
def test_what_is_refused_is_shown_with_a_caret_under_it(marked: str, problem: str) -> None:
    """The caret of the parameter stands before the offending token of the text."""
    column, text = marked.index("^"), marked.replace("^", "", 1)
    if marked.startswith("tp == (^"):
        column -= 1  # a call starts at the parenthesis of what is called
    with pytest.raises(ConditionError) as caught:
        parse_condition(HALO, text)
    assert str(caught.value).split("\n") == [problem, f"  {text}", f"  {' ' * column}^"]


@pytest.mark.parametrize(
    ("text", "problem", "shown"),
    [
        ("tp == 1\n", "a condition is one line", "tp == 1 "),
        ("tp == 1 and\rep == 1", "a condition is one line", "tp == 1 and ep == 1"),
        ("tp == 1\0", "a condition is one line", "tp == 1 "),
        ("\udc80 == 1", "this is not text", "  == 1"),
        ("\x1b[31m == 1", SYNTAX, " [31m == 1"),
    ],
)
def test_what_cannot_be_printed_is_shown_as_a_space(text: str, problem: str, shown: str) -> None:
    with pytest.raises(ConditionError) as caught:
        parse_condition(HALO, text)
    assert str(caught.value) == f"{problem}\n  {shown}\n  ^"


def test_the_longest_condition_has_2000_characters() -> None:
    padded = "tp == 1" + " " * 1993
    assert len(padded) == 2000
    assert holds(HALO, parse_condition(HALO, padded), config(world_size=8).values)
    with pytest.raises(ConditionError) as caught:
        parse_condition(HALO, padded + " ")
    assert str(caught.value).startswith("a condition has at most 2000 characters\n  tp == 1")
    assert max(map(len, str(caught.value).split("\n"))) == 202


@pytest.mark.parametrize(
    "text",
    [
        "not " * 100 + "use_hsdp",
        "tp" + " + 1" * 100 + " > 1",
        "1 < " + "max(1, " * 80 + "tp" + ")" * 80,
        " and ".join(["(use_hsdp"] * 70) + ")" * 70,
    ],
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(ConditionError, match="the expression is nested too deeply"):
        parse_condition(HALO, text)


@pytest.mark.parametrize("text", ["(" * 900 + "tp" + ")" * 900, "-" * 1900 + "1 < tp"])
def test_nesting_beyond_python_s_own_limits_is_refused(text: str) -> None:
    with pytest.raises(ConditionError):
        parse_condition(HALO, text)


@pytest.mark.parametrize("error", [RecursionError, MemoryError, ValueError])
def test_whatever_python_s_parser_raises_is_a_condition_error(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    read_anew = parse_condition.__wrapped__
    monkeypatch.setattr(ast, "parse", fail)
    with pytest.raises(ConditionError, match="the expression is nested too deeply"):
        read_anew(HALO, "tp == 1")


def test_a_long_chain_is_not_deep() -> None:
    text = " and ".join(f"tp != {n}" for n in range(10, 130))
    assert holds(HALO, parse_condition(HALO, text), HERE.values)


def test_python_does_not_comment_on_style() -> None:
    """`1or` is legal, if ugly: no warning reaches the user's terminal."""
    assert holds(HALO, parse_condition(HALO, "tp == 1or tp == 2"), HERE.values)
    with pytest.raises(ConditionError, match="a label cannot be compared with a number"):
        parse_condition(HALO, r"tp == '\d'")


TOKENS = """
tp ep dp use_hsdp ep_scope heads == != < in not and or ( ) , 1 0 -1 'node' + // % max divides [ ]
True : = . λ
"""


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.text(max_size=40)
    | st.lists(
        st.sampled_from(TOKENS.split()),
        max_size=12,
    ).map(" ".join)
)
def test_any_text_is_a_condition_or_a_condition_error(text: str) -> None:
    """Whatever is typed, the caret stands within the text that is shown or just behind it."""
    try:
        formula = parse_condition(HALO, text)
    except ConditionError as error:
        problem, line, caret = str(error).split("\n")
        assert problem
        assert caret.strip(" ") == "^"
        assert len(caret) <= len(line) + 1
    else:
        assert holds(HALO, formula, HERE.values) in {True, False}
