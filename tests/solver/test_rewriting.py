"""Files written anew: the changed values and nothing else, or a refusal that says what to do."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import ndiff
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsolve.constraints.fields import Misuse
from parsolve.solver.files.document import Document, Entry, FileProblem, Place
from parsolve.solver.files.format import WORLD, Format, Key
from parsolve.solver.files.formats.halo import HALO
from parsolve.solver.files.reading import interpreted, parsed
from parsolve.solver.files.rewriting import edits, rewritten
from parsolve.solver.files.written import line_after, offset, written_in_script

SECTIONS = Format(
    name="sections",
    title="torchtitan-like settings in sections",
    kinds=frozenset({"yaml", "toml", "json"}),
    profile_name="torchtitan",
    marks=frozenset({"parallelism.tensor_parallel_degree"}),
    keys=(
        Key(path="parallelism.tensor_parallel_degree", of="tp_size"),
        Key(path="parallelism.pipeline_parallel_degree", of="pp_size"),
        Key(path="training.local_batch_size", of="micro_batch"),
        Key(path="training.global_batch_size", of="requested_global_batch"),
        Key(path="cluster.gpus", of=WORLD),
    ),
)


def changed(name: str, text: str, values: Mapping[str, Any], format_: Format = HALO) -> str:
    """The text with these settings of fields."""
    document = parsed(name, text)
    assert document is not None
    reading = interpreted(document, format_)
    return rewritten(text, reading, list(edits(reading, values)))


def lines_of(before: str, after: str) -> list[str]:
    """Lines that differ, with a sign."""
    found = ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True))
    return [line for line in found if line[0] in "+-"]


YAML = """\
# how we train
"expert_parallel_size":   8     # one node
ep_scope: 'node'
use_hsdp: True
gradient_accumulation_steps: 16 # 128 in all
lora_target_modules: [q_proj,   v_proj]
notes: |
  expert_parallel_size: 8
"""


def test_yaml_keeps_comments_blanks_and_quotes() -> None:
    after = changed("run.yaml", YAML, {"ep_size": 4, "ep_scope": "global", "use_hsdp": False})
    assert lines_of(YAML, after) == [
        '- "expert_parallel_size":   8     # one node\n',
        '+ "expert_parallel_size":   4     # one node\n',
        "- ep_scope: 'node'\n",
        "+ ep_scope: 'global'\n",
        "- use_hsdp: True\n",
        "+ use_hsdp: False\n",
    ]


def test_a_new_setting_stands_behind_the_others() -> None:
    after = changed("run.yaml", YAML, {"tp_size": 2})
    assert after == f"{YAML}tensor_parallel_size: 2\n"
    short = "expert_parallel_size: 8"  # and no newline at its end
    assert changed("run.yaml", short, {"tp_size": 2}) == f"{short}\ntensor_parallel_size: 2\n"


def test_a_setting_that_is_its_default_is_not_added() -> None:
    assert changed("run.yaml", YAML, {"tp_size": 1, "ep_size": 8}) == YAML


def test_line_ends_stay_what_they_are() -> None:
    text = YAML.replace("\n", "\r\n")
    after = changed("run.yaml", text, {"ep_size": 2, "cp_size": 2})
    assert after.count("\r\n") == after.count("\n") == text.count("\n") + 1
    assert changed("run.yaml", YAML, {"ep_size": 2, "cp_size": 2}) == after.replace("\r\n", "\n")


def test_of_a_setting_that_is_given_twice_the_one_that_counts_is_changed() -> None:
    text = "expert_parallel_size: 2\nexpert_parallel_size: 8\n"
    assert changed("run.yaml", text, {"ep_size": 4}) == text.replace("8", "4")


def test_both_spellings_of_a_setting_are_changed() -> None:
    text = "expert_parallel_size: 8\nep_size: 8\n"
    assert changed("run.yaml", text, {"ep_size": 4}) == text.replace("8", "4")


def test_what_an_alias_shares_is_refused() -> None:
    text = "expert_parallel_size: &n 8\nsave_steps: *n\n"
    with pytest.raises(FileProblem, match="is not written in one place here; set it to 4 by hand"):
        changed("run.yaml", text, {"ep_size": 4})
    merged = "base: &b\n  expert_parallel_size: 8\n<<: *b\ntp_size: 1\n"
    with pytest.raises(
        FileProblem, match=r"base\.expert_parallel_size is written in the same place"
    ):
        changed("run.yaml", merged, {"ep_size": 4})


TOML = """\
title = "ü"  # a name
[parallelism]
tensor_parallel_degree = 4 # tp
[training]
local_batch_size = 8
"""


def test_toml_has_sections() -> None:
    values = {"tp_size": 2, "requested_global_batch": 64, "pp_size": 2}
    after = changed("run.toml", TOML, values, SECTIONS)
    assert after == (
        'title = "ü"  # a name\n'
        "[parallelism]\n"
        "tensor_parallel_degree = 2 # tp\n"
        "pipeline_parallel_degree = 2\n"
        "[training]\n"
        "local_batch_size = 8\n"
        "global_batch_size = 64\n"
    )


def test_a_section_that_is_not_there_is_added() -> None:
    text = TOML.partition("[training]")[0]
    after = changed("run.toml", text, {"requested_global_batch": 64}, SECTIONS)
    assert after == f"{text}\n[training]\nglobal_batch_size = 64\n"
    yaml = "parallelism:\n  tensor_parallel_degree: 4\n"
    assert changed("run.yaml", yaml, {"requested_global_batch": 64}, SECTIONS) == (
        f"{yaml}training:\n  global_batch_size: 64\n"
    )


def test_yaml_in_sections_and_in_one_line() -> None:
    block = "parallelism:\n    tensor_parallel_degree: 4\nother: 1\n"
    assert changed("run.yaml", block, {"pp_size": 2}, SECTIONS) == block.replace(
        "other", "    pipeline_parallel_degree: 2\nother"
    )
    flow = "parallelism: {tensor_parallel_degree: 4}\n"
    assert changed("run.yaml", flow, {"pp_size": 2, "tp_size": 2}, SECTIONS) == (
        "parallelism: {tensor_parallel_degree: 2, pipeline_parallel_degree: 2}\n"
    )


JSON = """\
{
    "run": "a",
    "parallelism" : { "tensor_parallel_degree": 4 },
    "training": {
        "local_batch_size":8
    }
}
"""


def test_json_keeps_its_layout() -> None:
    values = {"tp_size": 2, "pp_size": 2, "requested_global_batch": 64}
    assert changed("run.json", JSON, values, SECTIONS) == (
        "{\n"
        '    "run": "a",\n'
        '    "parallelism" : { "tensor_parallel_degree": 2, "pipeline_parallel_degree": 2 },\n'
        '    "training": {\n'
        '        "local_batch_size":8,\n'
        '        "global_batch_size": 64\n'
        "    }\n"
        "}\n"
    )


def test_a_cluster_is_changed_where_it_is_said_and_never_added() -> None:
    text = "parallelism: {tensor_parallel_degree: 4}\ncluster:\n  gpus: 16\n"
    assert changed("run.yaml", text, {WORLD: 8}, SECTIONS) == text.replace("16", "8")
    assert changed("run.yaml", YAML, {WORLD: 8}) == YAML


def test_what_has_no_key_or_no_place_is_said() -> None:
    with pytest.raises(FileProblem, match="no key for nvlink_domain_size, which is to be 4"):
        changed(
            "run.yaml",
            "parallelism: {tensor_parallel_degree: 4}",
            {"nvlink_domain_size": 4},
            SECTIONS,
        )
    with pytest.raises(Misuse, match="set it to 64 by hand"):
        changed(
            "run.json",
            '{"parallelism": {"tensor_parallel_degree": 4}}',
            {"requested_global_batch": 64},
            SECTIONS,
        )


names = st.sampled_from(["a", "b_c", "expert_parallel_size", "ü", "notes"])
values = st.one_of(
    st.integers(0, 10**6), st.booleans(), st.sampled_from(["x", "8", "a: b", "# no", ""])
)


@given(
    others=st.dictionaries(names, values, max_size=4),
    comment=st.sampled_from(["", "  # eight", " #é"]),
    blank=st.sampled_from(["", "\n", "\n\n# more\n"]),
    to=st.integers(1, 64),
)
@settings(max_examples=100, deadline=None)
def test_only_the_value_changes(
    others: dict[str, object], comment: str, blank: str, to: int
) -> None:
    import yaml  # noqa: PLC0415

    before = yaml.safe_dump({k: v for k, v in others.items() if k != "expert_parallel_size"})
    before = "" if before == "{}\n" else before
    text = f"{before}{blank}expert_parallel_size: 8{comment}\n{blank}tp_size: 2\n"
    after = changed("run.yaml", text, {"ep_size": to})
    assert after == f"{before}{blank}expert_parallel_size: {to}{comment}\n{blank}tp_size: 2\n"


# --- scripts --------------------------------------------------------------------------------------

SCRIPT = """\
TP=8
PP=${PP:-4}
MBS="2"
torchrun run.py --tp $TP --pp "${PP}" \\
    --mbs \\
    $MBS --gbs=512 --bf16 model.ep=4 --seq $((2 * 4))
MBS=4
"""


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--tp", "8"),
        ("--pp", "4"),
        ("--gbs", "512"),
        ("model.ep", "4"),
        ("--mbs", None),  # which of the two it is takes a shell to tell
        ("--seq", None),
    ],
)
def test_where_a_script_has_the_value(option: str, value: str | None) -> None:
    before = SCRIPT[: SCRIPT.index(option)]
    place = Place(before.count("\n") + 1, len(before) - before.rfind("\n"))
    assert offset(SCRIPT, place) == len(before)
    found = written_in_script(SCRIPT, Entry(option.lstrip("-"), 0, place))
    assert (found and SCRIPT[slice(*found.value)]) == value


def test_the_next_line() -> None:
    assert line_after("ab\ncd", 1) == 3
    assert line_after("ab\ncd", 3) == 3
    assert line_after("ab\n  cd", 5) == 3
    assert line_after("ab", 1) == 2


def test_a_document_of_fields_alone_is_equal_whatever_its_spans() -> None:
    place = Place(1, 1)
    assert Document("a", "yaml", (Entry("a", 1, place, span=(0, 1)),)) == Document(
        "a", "yaml", (Entry("a", 1, place),)
    )
