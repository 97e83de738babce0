"""One name for one thing: what people optimise is called the same in every profile."""

from __future__ import annotations

import pytest

from parsolve.constraints.generic import GENERIC
from parsolve.constraints.halo import HALO
from parsolve.constraints.profile import Profile
from parsolve.solver.answer import Best
from parsolve.solver.huggingface import read_model_facts
from parsolve.solver.query import build_query
from parsolve.solver.solve import best

OBJECTIVES = (
    "memory",
    "headroom",
    "dp",
    "global_batch",
    "microbatches",
    "world",
    "tokens_per_step",
    "bubble",
    "comm_volume",
    *(f"comm_volume_{axis}" for axis in ("dp", "tp", "cp", "ep", "pp")),
    "experts_per_rank",
)
BOTH = pytest.mark.parametrize("profile", [HALO, GENERIC], ids=lambda profile: profile.name)


@BOTH
@pytest.mark.parametrize("maximize", [True, False])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_an_objective_has_one_name(profile: Profile, name: str, maximize: bool) -> None:  # noqa: FBT001
    facts = read_model_facts("qwen3-30b-a3b")
    sizes = {field: size for field, size in facts.memory().items() if size}
    known = {n: v for n, v in {**facts.fields, **sizes}.items() if n in profile.field_of}
    asked = {**known, "max_length": 4096, "gpu_memory": 141, "gpus_per_node": 8}
    pinned = {"tp_size": 1, "cp_size": 1, "pp_size": 1}
    answer = best(build_query(profile, [8], {**asked, **pinned}, objectives=[(name, maximize)]))
    assert isinstance(answer, Best)
    assert answer.optimal
    assert answer.objectives[0].value is not None


@BOTH
def test_a_name_of_a_field_and_of_a_quantity_is_that_field_resolved(profile: Profile) -> None:
    """A request has another name than what it comes to, unless it is a size left to auto."""
    resolved = {"gpus_per_node", "nvlink_domain_size", "ep_scope", "micro_batch"}
    shared = profile.quantity_of.keys() & profile.field_of.keys()
    assert shared <= resolved | {"dp_replicate_size"}
    assert "requested_global_batch" in profile.field_of
    assert profile.spellings["global_batch"] == "requested_global_batch"


def test_what_both_profiles_count_has_the_same_name() -> None:
    """Where both have a rule of the batch or a part of the account, ids and names are equal."""
    one, other = (
        ([rule.id for rule in profile.bounds], [part.name for part in profile.account.parts])
        for profile in (HALO, GENERIC)
        if profile.account is not None
    )
    assert one == other
