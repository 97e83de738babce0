"""Sizes of memory as people and machines write them, and GPUs by name."""

from __future__ import annotations

import json
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsolve.constraints.fields import Bytes, FieldError, Misuse, gib, size_text
from parsolve.constraints.halo import HALO
from parsolve.constraints.halo import fields as f
from parsolve.constraints.memory.hardware import GPUS, MEMORY_SIZES, gpu_named

EIGHTY = 85_899_345_920
"""80 * 2^30, multiplied out."""

LEAST_PLAIN = 1_048_576
"""Numbers from here on are bytes; below, GiB."""

EXABYTE = 10**18


def field() -> Bytes:
    found = HALO.field_of["gpu_memory"]
    assert isinstance(found, Bytes)
    return found


@pytest.mark.parametrize(
    ("written", "size"),
    [
        (80, EIGHTY),
        ("80", EIGHTY),
        (80.0, EIGHTY),
        ("80.0", EIGHTY),
        ("80GiB", EIGHTY),
        ("80 GiB", EIGHTY),
        (" 80 GiB ", EIGHTY),
        ("80gib", EIGHTY),
        ("80Gi", EIGHTY),
        ("80g", EIGHTY),
        ("80gb", 80_000_000_000),
        ("80GB", 80_000_000_000),
        ("0.5TiB", 549_755_813_888),
        (".5TiB", 549_755_813_888),
        ("0.5tb", 500_000_000_000),
        ("81920MiB", EIGHTY),
        ("512mb", 512_000_000),
        (EIGHTY, EIGHTY),
        (str(EIGHTY), EIGHTY),
        ("1048576", 1_048_576),
        ("1999", 1_999 * 1_073_741_824),
        (float(EIGHTY), EIGHTY),
        ("85899345920B", EIGHTY),
        ("1e1GB", 10_000_000_000),
        ("8e1", EIGHTY),
        (1e10, 10_000_000_000),
        (LEAST_PLAIN, LEAST_PLAIN),
        ("1", 1_073_741_824),
        (1, 1_073_741_824),
        (0.5, 536_870_912),
        ("1048576b", 1_048_576),
        (None, None),
    ],
)
def test_a_size_is_read_as_written(written: object, size: int | None) -> None:
    assert field().parse(written) == size


def test_a_part_of_a_byte_is_cut_off() -> None:
    """79.65 GiB is no whole number of bytes: a bound must not promise the byte that is not there.

    7965 * 2^30 / 100 = 85,523,536,281.6
    """
    assert field().parse("79.65GiB") == 85_523_536_281
    assert field().parse(79.65) == 85_523_536_281


@pytest.mark.parametrize(
    "written",
    [
        "x",
        "",
        " ",
        "GiB",
        "80 parsecs",
        "80GiBs",
        "80 G i B",
        "nan",
        "inf",
        "infinity",
        "80GiB80",
        "0x50",
        "1/0",
        "1/3GiB",
        "--5",
        "80;",
        "\N{SUPERSCRIPT TWO}",
        "80\N{GREEK SMALL LETTER BETA}",
        float("nan"),
        float("inf"),
    ],
)
def test_what_is_no_size_is_refused_with_examples_of_sizes(written: object) -> None:
    with pytest.raises(FieldError) as caught:
        field().parse(written)
    message = str(caught.value)
    assert message.startswith("gpu_memory ")
    assert "80GiB" in message
    assert len(message) < 200


@pytest.mark.parametrize("written", ["2000", "81559", 81_559, "1048575"])
def test_mebibytes_without_their_unit_are_asked_about(written: object) -> None:
    with pytest.raises(FieldError, match=f"did you mean {written}MiB"):
        field().parse(written)


@pytest.mark.parametrize("written", [True, False, [80], {"GiB": 80}, (80,), b"80"])
def test_other_types_are_refused(written: object) -> None:
    with pytest.raises(FieldError, match="gpu_memory must be an integer or null"):
        field().parse(written)


@pytest.mark.parametrize("written", [0, -1, "0", "-1", "-80GiB", "0GB", -1e30, "0.4b"])
def test_there_is_no_gpu_without_memory(written: object) -> None:
    with pytest.raises(FieldError) as caught:
        field().parse(written)
    assert "gpu_memory" in str(caught.value)


@pytest.mark.parametrize(
    "written",
    [
        "1e400GiB",
        "1e9999999999GiB",
        "9" * 5000,
        "9" * 30 + "GiB",
        1e300,
        10**30,
        EXABYTE + 1,
        f"{EXABYTE + 1}b",
    ],
)
def test_what_is_beyond_any_gpu_is_refused_at_once(written: object) -> None:
    with pytest.raises(FieldError) as caught:
        field().parse(written)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("sign", [1, -1])
def test_a_number_that_python_does_not_write_out_is_refused_too(sign: int) -> None:
    with pytest.raises(FieldError, match="beyond any real size"):
        field().parse(sign * 10**5000)


def test_the_largest_size_is_taken() -> None:
    assert field().parse(EXABYTE) == EXABYTE
    assert field().parse(f"{EXABYTE}b") == EXABYTE


@given(st.integers(LEAST_PLAIN, EXABYTE))
def test_what_an_option_says_reads_as_the_same_size(size: int) -> None:
    assert field().parse(size_text(size)) == size


@given(st.integers(LEAST_PLAIN, EXABYTE))
def test_what_json_says_reads_as_the_same_size(size: int) -> None:
    """Answers state plain numbers of bytes, and their configurations are read back."""
    assert field().parse(json.loads(json.dumps(size))) == size
    assert field().parse(str(size)) == size


@given(st.integers(1, 10**6), st.sampled_from([("GiB", 2**30), ("GB", 10**9), ("MiB", 2**20)]))
def test_a_unit_multiplies(count: int, unit: tuple[str, int]) -> None:
    name, bytes_ = unit
    for text in (f"{count}{name}", f"{count} {name.lower()}", f" {count}.0{name.upper()} "):
        assert field().parse(text) == count * bytes_


@given(st.text(max_size=12))
def test_any_text_is_a_size_or_refused(text: str) -> None:
    try:
        size = field().parse(text)
    except FieldError:
        return
    assert isinstance(size, int)
    assert 1 <= size <= EXABYTE


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (EIGHTY, "80GiB"),
        (80_000_000_000, "80GB"),
        (85_520_809_984, "81559MiB"),
        (85_523_536_281, "85523536281B"),
        (1, "1B"),
    ],
)
def test_size_text_is_the_shortest_whole_unit(size: int, text: str) -> None:
    assert size_text(size) == text


def test_gib_shows_two_digits() -> None:
    assert gib(EIGHTY) == "80.00 GiB"
    assert gib(85_520_809_984) == "79.65 GiB"
    assert gib(0) == "0.00 GiB"


def test_a_bound_on_another_profile_s_memory_is_read_the_same_way() -> None:
    assert f.gpu_memory is field()
    assert HALO.config({"world": 8, "gpu-memory".replace("-", "_"): None})["gpu_memory"] is None


# GPUs by name.

NVIDIA_SMI = {
    "v100-16": 16384,
    "v100-32": 32768,
    "a100-40": 40960,
    "a100-80": 81920,
    "l40s": 46068,
    "h100": 81559,
    "h200": 143771,
    "b200": 183359,
    "b300": 275040,
    "gb200": 189471,
}
"""MiB as the driver reports them."""


def test_the_table_holds_what_drivers_report() -> None:
    assert {name: Fraction(gpu.memory, 2**20) for name, gpu in GPUS.items()} == NVIDIA_SMI


@pytest.mark.parametrize("name", NVIDIA_SMI)
def test_a_gpu_is_known_by_its_name_in_any_case(name: str) -> None:
    for spelling in (name, name.upper(), name.title()):
        gpu = gpu_named(spelling)
        assert gpu.name == name
        assert gpu.memory == NVIDIA_SMI[name] * 2**20
        assert gpu.nvlink_domain == 1 or gpu.nvlink_domain % gpu.gpus_per_node == 0


def test_servers_of_eight_and_the_rack_of_72() -> None:
    assert {name: gpu.gpus_per_node for name, gpu in GPUS.items() if gpu.gpus_per_node != 8} == {
        "gb200": 4
    }
    assert {name: gpu.nvlink_domain for name, gpu in GPUS.items() if gpu.nvlink_domain != 8} == {
        "gb200": 72,
    }


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("h10", 'did you mean "h100"?'),
        ("a100", "is it a100-40 or a100-80?"),
        ("V100", "is it v100-16 or v100-32?"),
        ("H-100", 'did you mean "h100"?'),
        ("gb300", 'did you mean "b300"?'),
        ("toaster", "it takes v100-16, v100-32, a100-40"),
        ("", "v100-16"),
    ],
)
def test_an_unknown_gpu_is_refused_with_those_there_are(name: str, says: str) -> None:
    with pytest.raises(Misuse) as caught:
        gpu_named(name)
    assert says in str(caught.value)
    assert re.match("no GPU ", str(caught.value))


def test_a_long_name_is_quoted_in_part() -> None:
    with pytest.raises(Misuse) as caught:
        gpu_named("x" * 10_000)
    assert len(str(caught.value)) < 300


def test_offered_sizes_are_those_of_the_table_and_80_gib_in_order() -> None:
    assert list(MEMORY_SIZES) == sorted({n * 2**20 for n in NVIDIA_SMI.values()} | {EIGHTY})
