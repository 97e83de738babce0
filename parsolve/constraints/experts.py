"""Whether a model has routed experts, and what a search offers where nobody says so."""

from parsolve.constraints.fields import Choice
from parsolve.constraints.formula import NamedFormula, all_of, any_of, implies
from parsolve.constraints.memory.facts import num_experts
from parsolve.constraints.profile import InputCheck, Offer

model_kind = Choice(
    "model_kind",
    default="unknown",
    choices=("unknown", "dense", "moe"),
    role="model",
    panel="Model",
    about="Whether the model has routed experts.",
)
is_moe = NamedFormula(
    "is_moe",
    any_of(model_kind == "moe", all_of(model_kind != "dense", num_experts > 0)),
    about="The model is known to have routed experts.",
)
CONTRADICTION = InputCheck(
    implies(model_kind == "dense", num_experts == 0),
    "model_kind is dense, yet num_experts is given; drop one of the two",
)
OFFER = Offer(
    ("ep_size", "expert_tp_size"),
    given="model_kind",
    unknown="unknown",
    value="moe",
    otherwise="dense",
    about="The model has routed experts, or has none.",
    assumption="Nothing says that the model has routed experts, so EP and expert TP are not "
    "offered; --moe (or the number of experts) offers them.",
    implied_by=("num_experts", "moe_intermediate_size"),
)
