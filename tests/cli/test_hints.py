"""What misuse is told: the option that another profile calls so, and what would make it known."""

import pytest

from parsolve.constraints import PROFILES
from parsolve.constraints.elsewhere import counterpart
from tests.cli.run import cli

QWEN = ("--world", "8", "--model", "qwen3-8b")
HALO, GENERIC = ("--max-length", "4096"), ("--profile", "generic", "--seq-length", "4096")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            (*HALO, "--where", "seq_length > 4"),
            'unknown name seq_length: did you mean "max_length"',
        ),
        ((*HALO, "--where", "zero_stage == 3"), "unknown name zero_stage; the generic profile has"),
        (
            (*HALO, "--vary", "recompute"),
            "unknown knob 'recompute'; the profiles generic, megatron, torchtitan have it",
        ),
        ((*GENERIC, "--vary", "use_hsdp"), "unknown knob 'use_hsdp'; the halo profile has it"),
        (("--dense", "--maximize", "tokens_per_step"), "give --max-length"),
        ((*HALO, "--where", "memory < 70.5"), "70.5 is no whole number; if it is a size, give a"),
        (
            ("--dense", "--maximize", "experts_per_rank"),
            "experts_per_rank is unknown in every valid configuration: give --experts",
        ),
    ],
)
def test_what_would_be_known(arguments: tuple[str, ...], said: str) -> None:
    done = cli("solve", *(("--world", "8") if "--dense" in arguments else QWEN), *arguments)
    assert done.code == 2
    assert said in done.words


def test_both_profiles_find_their_length_of_sequences() -> None:
    halo, generic = PROFILES["halo"], PROFILES["generic"]
    for profile, word, name in (
        (halo, "seq-length", "max_length"),
        (halo, "sequence_length", "max_length"),
        (generic, "ep_declared_max_length", "seq_length"),
        (generic, "micro_batch_size", "micro_batch"),
        (halo, "zero", None),
        (halo, "nobody-knows", None),
    ):
        field = counterpart(profile, word)
        assert getattr(field, "name", None) == name


VARIED = (*QWEN, *HALO, "--vary", "use_peft", "--minimize", "memory")


def test_a_variant_whose_memory_is_unknown_is_said_to_be_left_out() -> None:
    said = "variants-left-out: use_peft = true was not searched: the rank of its adapters is"
    assert said in cli("solve", *VARIED).words
    assert said in cli("list", *VARIED[:-2], "--gpu", "h100").words
    assert "left-out" not in cli("solve", *VARIED, "--lora-r", "8").words
    assert "left-out" not in cli("list", *VARIED[:-2]).words
