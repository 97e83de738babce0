"""What hurts in a run, the same in every framework: what measures it, and what relieves it."""

from collections.abc import Mapping

from parsolve.constraints.formula import Formula, Term, Truth
from parsolve.constraints.ladder import Hint, Symptom, SymptomName, Turn

NEVER = Truth(value=False)


def symptoms(
    *,
    pp: Term,
    is_moe: Formula,
    micro_batch: tuple[Turn, ...],
    more_microbatches: tuple[Turn, ...],
    states: tuple[Turn, ...],
    activations: tuple[Turn, ...],
    traffic: tuple[Turn, ...],
    interleaving: tuple[Turn, ...] = (),
    hints: Mapping[SymptomName, tuple[Hint, ...]],
) -> tuple[Symptom, ...]:
    """Every symptom, for a profile with these knobs beside its ladder."""

    def also(name: SymptomName) -> tuple[Hint, ...]:
        return hints.get(name, ())

    return (
        Symptom(
            name="oom",
            about="the fullest GPU runs out of memory",
            measure="memory_per_gpu",
            absent=NEVER,
            otherwise="",
            turns=(*activations, *micro_batch, *states),
            climbs=True,
            hints=also("oom"),
        ),
        Symptom(
            name="slow",
            about="communication takes the time",
            measure="comm_volume",
            absent=NEVER,
            otherwise="",
            per="global_batch",
            shows=(
                *(f"comm_volume_{axis}" for axis in ("dp", "tp", "pp", "ep", "cp")),
                "bubble",
                "global_batch",
            ),
            turns=(*traffic, *micro_batch),
            descends=True,
            sweeps=True,
            hints=also("slow"),
        ),
        Symptom(
            name="bubbles",
            about="pipeline stages idle, in thousandths of a step",
            measure="bubble",
            absent=pp <= 1,
            otherwise="there is no pipeline, so nothing idles in its bubble",
            shows=("microbatches", "global_batch"),
            turns=(*more_microbatches, *interleaving, *micro_batch),
            descends=True,
            hints=also("bubbles"),
        ),
        Symptom(
            name="long-context",
            about="activations of long sequences fill the GPU",
            measure="activations_bytes",
            absent=NEVER,
            otherwise="",
            shows=("loss_bytes", "memory_per_gpu", "comm_volume_cp"),
            turns=activations,
            climbs=True,
            hints=also("long-context"),
        ),
        Symptom(
            name="imbalance",
            about="experts get unequal numbers of tokens, and the fullest rank is waited for",
            measure="experts_per_rank",
            absent=~is_moe,
            otherwise="the model has no routed experts",
            rises=True,
            shows=("comm_volume_ep",),
            descends=True,
            hints=(
                Hint(
                    words="a router that is not balanced is so on any grid: first look at the "
                    "tokens per expert that the framework logs"
                ),
                *also("imbalance"),
            ),
        ),
    )
