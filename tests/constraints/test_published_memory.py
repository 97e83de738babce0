"""Published memory formulas against the numbers printed with them, each under its own policy."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

import parsolve
from parsolve.constraints.fields import GIB
from parsolve.constraints.formula import Const, Operand, Term, Truth
from parsolve.constraints.memory.policy import POLICIES, Policy
from parsolve.constraints.memory.published import deepspeed, korthikanti, megatron, zero
from parsolve.constraints.simplify import Simplifier

GB = 10**9
BILLION = 10**9
YES = Truth(value=True)


def value(term: Term) -> int:
    """The number that a term without fields stands for."""
    folded = Simplifier({}).term(term)
    assert isinstance(folded, Const)
    assert isinstance(folded.value, int)
    return folded.value


def truth(holds: bool) -> Truth:  # noqa: FBT001  (the truth value itself)
    return Truth(value=holds)


# --- ZeRO: table 1 of the paper -------------------------------------------------------------

ZERO_TABLE = [
    # parameters, shards, then stages 1, 2, 3 in GB as printed
    (7.5, 1, "120", "120", "120"),
    (7.5, 4, "52.5", "41.3", "30"),
    (7.5, 16, "35.6", "21.6", "7.5"),
    (7.5, 64, "31.4", "16.6", "1.88"),
    (7.5, 256, "30.4", "15.4", "0.47"),
    (7.5, 1024, "30.1", "15.1", "0.12"),
    (128, 16, "608", "368", "128"),
    (128, 64, "536", "284", "32"),
    (128, 1024, "513", "257", "2"),
    (1000, 16, "4750", "2875", "1000"),
    (1000, 64, "4187", "2218", "250"),
    (1000, 1024, "4011", "2013", "15.6"),
]


def _printed(exact: Fraction, text: str) -> str:
    """As the paper prints: numbers with decimals are rounded, whole numbers are cut."""
    digits = len(text.partition(".")[2])
    if not digits:
        return str(floor(exact))
    return f"{floor(exact * 10**digits + Fraction(1, 2)) / 10**digits:.{digits}f}"


@pytest.mark.parametrize(("billions", "shards", "one", "two", "three"), ZERO_TABLE)
def test_the_zero_papers_table(
    billions: float, shards: int, one: str, two: str, three: str
) -> None:
    for stage, text in enumerate((one, two, three), 1):
        exact = value(zero.states(stage, int(billions * BILLION), shards))
        assert _printed(Fraction(exact, GB), text) == text


@given(
    stage=st.integers(0, 3),
    parameters=st.integers(0, 10**13),
    shards=st.integers(1, 4096),
    policy=st.sampled_from(list(POLICIES.values())),
)
def test_zero_is_what_each_stage_shards(
    stage: int, parameters: int, shards: int, policy: Policy
) -> None:
    weight, gradient, optimizer = policy.weight, policy.gradient, policy.optimizer
    whole, cut = {
        0: (weight + gradient + optimizer, 0),
        1: (weight + gradient, optimizer),
        2: (weight, gradient + optimizer),
        3: (0, weight + gradient + optimizer),
    }[stage]
    expected = parameters * (whole + cut / shards)
    got = value(zero.states(stage, parameters, shards, policy=policy))
    assert got == pytest.approx(expected, rel=1e-12, abs=1)


# --- DeepSpeed's estimators -----------------------------------------------------------------


def test_deepspeed_of_seven_and_a_half_billion() -> None:
    parameters, largest = 7_500_000_000, 50_000_000
    found = [
        value(deepspeed.zero2(parameters, 8)),
        value(deepspeed.zero2(parameters, 64)),
        value(deepspeed.zero3(parameters, largest, 8)),
        value(deepspeed.zero3(parameters, largest, 64)),
    ]
    assert [round(n / GIB, 2) for n in found] == [29.69, 15.93, 15.90, 2.15]
    assert value(deepspeed.zero2(parameters, 8, offload=True)) == 2 * parameters
    optimizer = value(deepspeed.zero3(parameters, largest, 8, offload="optimizer"))
    assert optimizer == 4 * largest + parameters // 4
    assert value(deepspeed.zero3(parameters, largest, 8, offload="all")) == 4 * largest


def test_deepspeed_of_2022_said_307_gib_of_opt_66b() -> None:
    parameters = 66 * BILLION
    assert round(value(deepspeed.zero2_of_2022(parameters, 16)) / GIB, 2) == 307.34
    assert round(value(deepspeed.zero2(parameters, 16, offload=True)) / GIB, 2) == 122.93


# --- Korthikanti et al. ---------------------------------------------------------------------

TECHNIQUES: tuple[korthikanti.Technique, ...] = (
    *("none", "tp", "tp+sp", "tp+selective", "tp+sp+selective", "full"),
)
Stack: TypeAlias = tuple[str, int, int, int, int, int, int, tuple[float, ...]]
STACKS: list[Stack] = [
    # name, layers, h, heads, micro-batch, stages, chunks, GiB by technique
    ("22B", 48, 6144, 64, 4, 1, 0, (316.5, 59.25, 39.56, 29.25, 9.56, 4.5)),
    ("175B", 96, 12288, 96, 1, 8, 3, (331.3, 66.84, 41.41, 37.78, 12.35, 5.81)),
    ("530B", 105, 20480, 128, 1, 35, 3, (532.1, 114.0, 66.51, 70.59, 23.08, 10.86)),
    ("1T", 128, 25600, 160, 1, 64, 0, (612.5, 131.2, 76.56, 81.25, 26.56, 12.5)),
]


@pytest.mark.parametrize("model", STACKS, ids=lambda model: model[0])
def test_korthikantis_models(model: Stack) -> None:
    _, layers, h, a, b, p, chunks, table = model
    shape = korthikanti.Shape(s=2048, b=b, h=h, a=a, t=8)
    for technique, printed in zip(TECHNIQUES, table, strict=True):
        stack = korthikanti.stack(shape, technique, layers=layers, p=p, chunks=chunks)
        assert value(stack) / GIB == pytest.approx(printed, rel=1e-3), technique


@pytest.mark.parametrize(("h", "a", "saved"), [(12288, 96, 70), (20480, 128, 65)])
def test_selective_recomputation_saves_what_the_paper_says(h: int, a: int, saved: int) -> None:
    shape = korthikanti.Shape(s=2048, b=1, h=h, a=a, t=8)
    whole = value(korthikanti.layer(shape, "tp+sp"))
    kept = value(korthikanti.layer(shape, "tp+sp+selective"))
    assert round(100 * (whole - kept) / whole) == saved


@pytest.mark.parametrize("model", STACKS, ids=lambda model: model[0])
def test_both_together_leave_about_a_fifth(model: Stack) -> None:
    _, _, h, a, b, *_ = model
    shape = korthikanti.Shape(s=2048, b=b, h=h, a=a, t=8)
    kept = value(korthikanti.layer(shape, "tp+sp+selective"))
    assert 0.15 < kept / value(korthikanti.layer(shape, "tp")) < 0.21


@given(
    s=st.integers(1, 10**6),
    b=st.integers(1, 64),
    h=st.integers(1, 10**5),
    a=st.integers(1, 256),
    t=st.integers(1, 64),
    layers=st.integers(1, 200),
    v=st.integers(1, 10**6),
    p=st.integers(1, 64),
    m=st.integers(0, 8),
)
def test_korthikanti_restated(
    *, s: int, b: int, h: int, a: int, t: int, layers: int, v: int, p: int, m: int
) -> None:
    sbh, scores = s * b * h, 5 * a * s / h
    per_layer = {
        "none": sbh * (34 + scores),
        "tp": sbh * (10 + 24 / t + scores / t),
        "tp+sp": sbh * (34 / t + scores / t),
        "tp+selective": sbh * (10 + 24 / t),
        "tp+sp+selective": sbh * 34 / t,
        "full": 2 * sbh,
    }
    shape = korthikanti.Shape(s=s, b=b, h=h, a=a, t=t)
    factor = 1 + (p - 1) / (p * m) if m else 1
    for technique in TECHNIQUES:
        kept = per_layer[technique]
        assert value(korthikanti.layer(shape, technique)) == pytest.approx(kept, rel=1e-9, abs=1)
        head = 4 * sbh / t * (1 + v / h) if p == 1 else 0
        stage = korthikanti.first_stage(
            shape, technique, layers=layers, vocabulary=v, p=p, chunks=m
        )
        expected = layers * kept * factor + sbh * p / t + head
        assert value(stage) == pytest.approx(expected, rel=1e-9, abs=1)


# --- Megatron's estimator -------------------------------------------------------------------


def gpt(layers: int, h: int, heads: int) -> megatron.Model:
    """A model of the papers: LayerNorm, an FFN four times as wide, tied embeddings."""
    return megatron.Model(
        layers=layers, hidden=h, heads=heads, groups=heads, kv_channels=h // heads, ffn=4 * h,
        vocabulary=51200, tied=YES,
    )  # fmt: skip


Estimate: TypeAlias = tuple[str, int, int, int, int, int, int, int, float, float, float]
PAPER_MODELS: list[Estimate] = [
    # name, layers, h, heads, tp, pp, micro-batch, virtual stages,
    # then billions of parameters, GiB of states, GiB of activations
    ("22B", 48, 6144, 64, 8, 1, 4, 0, 22.06, 46.24, 9.79),
    ("175B", 96, 12288, 96, 8, 8, 1, 3, 174.58, 46.89, 12.38),
    ("530B", 105, 20480, 128, 8, 35, 1, 0, 529.54, 33.84, 17.60),
    ("1T", 128, 25600, 160, 8, 64, 1, 0, 1007.96, 35.71, 26.95),
]


@pytest.mark.parametrize("row", PAPER_MODELS, ids=lambda row: row[0])
def test_megatron_on_the_papers_models(row: Estimate) -> None:
    _, layers, h, a, tp, pp, b, vpp, billions, states, kept = row
    model, job = gpt(layers, h, a), megatron.Job(world=tp * pp, tp=tp, pp=pp)
    activations = megatron.activations(
        model, job, sequence=2048, micro_batch=b,
        sequence_parallel_and_selective=YES, virtual_stages=vpp,
    )  # fmt: skip
    assert value(megatron.parameters(model)) / BILLION == pytest.approx(billions, abs=0.005)
    found = value(megatron.weights_and_optimizer(model, job)) / GIB
    assert found == pytest.approx(states, abs=0.005)
    assert value(activations) / GIB == pytest.approx(kept, abs=0.005)


GOLDEN = [
    # parameters of the last stage in millions, ranks that share the optimizer (0: none do),
    # predicted MB
    ("gpt3_7b_tp4_pp1_memory_speed", 1713.30, 2, 20559.6),
    ("gpt3_mcore_te_tp1_pp1_dist_optimizer", 64.11, 8, 480.8),
    ("gpt3_mcore_te_tp2_pp2_resume_torch_dist", 22.38, 0, 402.8),
    ("gpt3_mcore_te_tp2_pp2_cp2", 22.38, 0, 402.8),
    ("gpt3_mcore_te_tp1_pp4_vp1_overlap", 35.21, 2, 422.6),
    ("multi_dist_optimizer_instances", 32.37, 2, 388.5),
]


@pytest.mark.parametrize(("test", "millions", "shards", "predicted"), GOLDEN)
def test_megatrons_golden_values_are_predicted_so(
    test: str, millions: float, shards: int, predicted: float
) -> None:
    parameters = int(millions * 1e6)
    states = zero.states(1 if shards else 0, parameters, shards or 1, policy=POLICIES["megatron"])
    assert value(states) / 1e6 == pytest.approx(predicted, abs=0.12), test


LLAMA_2_70B = megatron.Model(
    layers=80, hidden=8192, heads=64, groups=8, kv_channels=128, ffn=28672, vocabulary=32256,
    ffn_matrices=3, norm_vectors=1,
)  # fmt: skip


@pytest.mark.parametrize(
    ("cp", "distributed", "gib"), [(1, False, 72.8), (1, True, 36.4), (2, True, 48.6)]
)
def test_megatron_on_llama_2_70b_at_64_gpus(cp: int, distributed: bool, gib: float) -> None:  # noqa: FBT001
    """Turning CP on raises the estimate: it halves dp, which the real optimizer does not."""
    job = megatron.Job(world=64, tp=4, pp=4, cp=cp, distributed_optimizer=truth(distributed))
    found = value(megatron.weights_and_optimizer(LLAMA_2_70B, job)) / GIB
    assert found == pytest.approx(gib, abs=0.05)


@pytest.mark.parametrize(
    ("tp", "pp", "distributed"),
    [(8, 1, True), (8, 2, True), (4, 4, True), (4, 4, False), (2, 8, True), (1, 16, False)],
)
def test_the_megatron_profile_counts_states_as_megatron_does(
    tp: int,
    pp: int,
    distributed: bool,  # noqa: FBT001
) -> None:
    """Without CP: with it, Megatron's estimate shards over dp, its optimizer over dp * cp."""
    answer = parsolve.memory(
        profile="megatron",
        model="llama-2-70b",
        world_size=64,
        tp_size=tp,
        pp_size=pp,
        seq_length=4096,
        distributed_optimizer=distributed,
        cuda_device_max_connections=1,
        repairs=0,
    )
    ours = sum(answer.bytes[part] for part in ("parameters", "gradients", "optimizer"))
    job = megatron.Job(world=64, tp=tp, pp=pp, distributed_optimizer=truth(distributed))
    assert ours == pytest.approx(value(megatron.weights_and_optimizer(LLAMA_2_70B, job)), rel=5e-4)


@pytest.mark.parametrize(("sparing", "gib"), [(False, 42.1), (True, 20.0)])
def test_megatrons_activations_of_llama_2_70b(sparing: bool, gib: float) -> None:  # noqa: FBT001
    job = megatron.Job(world=64, tp=4, pp=4)
    found = megatron.activations(
        LLAMA_2_70B, job, sequence=4096, micro_batch=1,
        sequence_parallel_and_selective=truth(sparing),
    )  # fmt: skip
    assert value(found) / GIB == pytest.approx(gib, abs=0.05)


small, sizes, flags = st.integers(1, 8), st.integers(1, 10**4), st.booleans()


@given(st.data())
def test_megatron_restated(data: st.DataObject) -> None:
    """The formulas of the source as it writes them, in floating point."""

    def some(strategy: st.SearchStrategy[int]) -> int:
        return data.draw(strategy)

    layers, h, a, g, k, f, v = (some(sizes) for _ in range(7))
    r, n, tied = some(st.sampled_from((2, 3))), some(st.sampled_from((1, 2))), data.draw(flags)
    moe, experts, expert_ffn, shared = (
        some(st.integers(0, layers)),
        *(some(sizes) for _ in range(3)),
    )
    latent, mtp = some(st.sampled_from((0, 100))), some(st.integers(0, 2))
    mtp_moe, bias, gate = (data.draw(flags) for _ in range(3))
    q, kv = some(st.sampled_from((0, 96))), some(st.sampled_from((0, 512)))
    qk, rope, vd = (some(sizes) for _ in range(3))
    tp, pp, cp, ep, etp, dp = (some(small) for _ in range(6))
    world = tp * pp * cp * ep * etp * dp
    distributed, sparing = data.draw(flags), data.draw(flags)
    s, b, vpp, m = some(sizes), some(small), some(st.integers(0, 4)), some(st.integers(0, 20))

    gated = r / 2
    attention = 2 * h**2 * (1 + g / a) * (k * a / h)
    if kv:
        queries = q * (h + a * (qk + rope) + n) if q else h * a * (qk + rope)
        attention = queries + kv * (h + a * (qk + vd) + n) + h * rope + a * vd * h
    mlp, one_shared = 2 * h * f * gated, 2 * h * shared * gated
    routed, norms = 2 * (latent or h) * expert_ffn * experts * gated, 2 * h * n
    router = h * experts + experts * bias + 2 * h * latent + h * gate
    mtp_experts, dense = mtp * mtp_moe, layers - moe
    split = (
        (attention * layers + mlp * dense + one_shared * moe) / pp
        + (attention * mtp + mlp * (mtp - mtp_experts) + one_shared * mtp_experts)
        + v * h
    ) / tp + (v * h / tp if not tied and pp == 1 else 0)
    whole = (norms * layers + router * moe + n * h) / pp + norms * mtp + router * mtp_experts
    expert = (routed * moe / pp + routed * mtp_experts) / (etp * ep)

    def beta(d: int) -> float:
        return 6 + 12 / d if distributed else 18

    states = (split + whole) * beta(world // (tp * pp * cp))
    states += expert * beta(world // (etp * ep * pp))
    if sparing:
        kept = s * b * h * (18 + 4 * f / h) * layers + 8 * s * b * pp + s * b * h * pp
    else:
        kept = s * b * h * (10 + 24 / tp) * layers + 8 * s * b * pp + s * b * h * pp
    if vpp:
        kept *= 1 + (pp - 1) / (pp * vpp)
    elif pp > 1 and m:
        kept *= min(1, m / pp)
    if sparing:
        kept = (kept + (4 * s * b * h * (1 + v / h) if pp == 1 else 0)) / tp
    else:
        kept = 1.05 * (kept + (2 * (s * b * v / tp + s * b * h) if pp == 1 else 0))

    model = megatron.Model(
        layers=layers, hidden=h, heads=a, groups=g, kv_channels=k, ffn=f, vocabulary=v,
        ffn_matrices=r, norm_vectors=n, tied=truth(tied), moe_layers=moe, experts=experts,
        moe_ffn=expert_ffn, shared_ffn=shared, latent=latent, router_bias=truth(bias),
        shared_gate=truth(gate), mtp_layers=mtp, mtp_moe=truth(mtp_moe), q_lora_rank=q,
        kv_lora_rank=kv, qk_head_dim=qk, qk_rope_dim=rope, v_head_dim=vd,
    )  # fmt: skip
    job = megatron.Job(
        world=world, tp=tp, pp=pp, cp=cp, ep=ep, etp=etp, distributed_optimizer=truth(distributed)
    )
    found = megatron.activations(
        model, job, sequence=s, micro_batch=b, sequence_parallel_and_selective=truth(sparing),
        virtual_stages=vpp, microbatches=m,
    )  # fmt: skip
    got = value(megatron.weights_and_optimizer(model, job))
    assert got == pytest.approx(states, rel=1e-12, abs=1)
    assert value(found) == pytest.approx(kept, rel=1e-12, abs=1)


# --- the seed guide's figures: right only under the policy named ----------------------------

SEED_PARAMETERS: Operand = 70 * BILLION


def test_the_seeds_140_and_35_gb_are_bf16_weights_alone() -> None:
    """Nothing but weights: no gradients, no optimizer. TP=4 keeps a quarter."""
    bf16 = POLICIES["bf16"]
    weights = Policy("weights", bf16.weight, 0, 0, "weights alone")
    assert value(zero.states(0, SEED_PARAMETERS, 1, policy=weights)) == 140 * GB
    assert value(zero.states(3, SEED_PARAMETERS, 4, policy=weights)) == 35 * GB


def test_the_seeds_608_and_38_gb_are_bf16_adam_and_activations_cut_by_pp() -> None:
    """8 bytes per parameter: no fp32 master copy. 1F1B would not cut activations by pp."""
    activations = 48 * GB
    whole = value(zero.states(0, SEED_PARAMETERS, 1, policy=POLICIES["bf16"]))
    assert whole + activations == 608 * GB
    assert (whole + activations) / 16 == 38 * GB
    exact = 68_976_648_192
    for policy, total, each in (("mixed-adam", 1104, 69.0), ("megatron", 1242, 77.6)):
        found = value(zero.states(0, exact, 1, policy=POLICIES[policy])) / GB
        assert found == pytest.approx(total, abs=0.5)
        assert found / 16 == pytest.approx(each, abs=0.05)


def test_the_seeds_64_and_16_gb_of_keys_and_values_need_full_heads() -> None:
    """64 GiB: 64 layers of hidden size 8192 with as many KV heads as heads, kept by inference.

    A 70B model with its 8 KV heads keeps 10 GiB; training keeps no such cache.
    """
    tokens, elements = 32_768, 8192
    cache = 2 * 2 * 64 * elements * tokens
    assert cache == 64 * GIB
    assert cache / 4 == 16 * GIB
    assert 2 * 2 * 80 * 1024 * tokens == 10 * GIB


def test_the_seeds_48_and_12_gb_compare_with_no_tp_at_all() -> None:
    """A quarter is left of "none" at TP=4; of TP without SP, just over a half.

    48 GB themselves are 18 bytes per element of each layer's input: the FFN is left out.
    """
    shape = korthikanti.Shape(s=4096, b=1, h=8192, a=64, t=4)
    unsplit = korthikanti.Shape(s=4096, b=1, h=8192, a=64, t=1)
    none = value(korthikanti.layer(unsplit, "tp+sp+selective"))
    tp = value(korthikanti.layer(shape, "tp+selective"))
    both = value(korthikanti.layer(shape, "tp+sp+selective"))
    assert both / none == 12 / 48
    assert both / tp == pytest.approx(0.53, abs=0.005)
    without_ffn = 80 * 18 * 4096 * 8192
    assert without_ffn / GB == pytest.approx(48, abs=0.4)
    assert 80 * none / GB == pytest.approx(91.3, abs=0.05)
