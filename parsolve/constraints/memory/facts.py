"""What a run's memory depends on: fields that every profile shares.

Those in `FACTS` are counted from a model's shape (`parsolve.constraints.models`), never typed
one by one: ``--model`` gives them all. The few that a model states, such as its layers, have an
option: with a model, it changes the model, and every count follows.
"""

from parsolve.constraints.fields import FEWEST_BYTES, Bytes, Choice, Size
from parsolve.constraints.formula import Named

MODEL = "Model"


gpu_memory = Bytes(
    "gpu_memory",
    default=None,
    optional=True,
    minimum=FEWEST_BYTES,
    role="cluster",
    panel="Cluster",
    flag="gpu-memory",
    about="Memory of one GPU: a bound on what a run may need. 80 and 80GiB are 80 * 2^30 bytes, "
    "80GB is 80 * 10^9.",
)


def _fact(name: str, about: str, flag: str = "") -> Size:
    return Size(
        name, default=None, optional=True, role="model", panel=MODEL, about=about, flag=flag
    )


num_experts = Size(
    "num_experts",
    default=None,
    optional=True,
    minimum=1,
    role="model",
    panel=MODEL,
    flag="experts",
    also=(
        "num_local_experts",
        "n_routed_experts",
        "num_routed_experts",
    ),
    about="Routed experts per MoE layer.",
)
num_experts_per_tok = Size(
    "num_experts_per_tok",
    default=None,
    optional=True,
    minimum=1,
    role="model",
    panel=MODEL,
    flag="top-k",
    also=("topk",),
    about="Experts that each token is routed to.",
)
moe_intermediate_size = Size(
    "moe_intermediate_size",
    default=None,
    optional=True,
    minimum=1,
    role="model",
    panel=MODEL,
    flag="expert-ffn",
    also=(
        "moe_ffn_hidden_size",
        "expert_intermediate_size",
    ),
    about="FFN width of one expert.",
)
hidden_size = Size(
    "hidden_size",
    default=None,
    optional=True,
    minimum=1,
    role="model",
    panel=MODEL,
    flag="hidden-size",
    about="Hidden size.",
)
model_changes = Choice(
    "model_changes",
    default="none",
    choices=("none",),
    open=True,
    role="model",
    panel=MODEL,
    about="The model that was named, with the numbers that were given in place of its own.",
)
num_hidden_layers = _fact("num_hidden_layers", "Layers of the decoder.", "layers")
num_moe_layers = _fact("num_moe_layers", "Layers that have routed experts.")
vocab_size = _fact("vocab_size", "Rows of the embedding table.", "vocab")
embedding_parameters = _fact("embedding_parameters", "Parameters of the input embeddings.")
output_parameters = _fact("output_parameters", "Parameters of the output layer; 0 where tied.")
attention_parameters = _fact("attention_parameters", "Parameters of attention, all layers.")
dense_ffn_parameters = _fact("dense_ffn_parameters", "Parameters of dense FFNs, all layers.")
routed_expert_parameters = _fact(
    "routed_expert_parameters", "Parameters of routed experts, all layers."
)
shared_expert_parameters = _fact(
    "shared_expert_parameters", "Parameters of shared experts, all layers."
)
other_parameters = _fact("other_parameters", "Parameters of routers, norms and the rest.")
layer_dense_parameters = _fact(
    "layer_dense_parameters", "Parameters of the largest layer, routed experts left out."
)
layer_expert_parameters = _fact(
    "layer_expert_parameters", "Parameters of the largest layer's routed experts."
)
query_width = _fact("query_width", "Elements of a token's queries in one layer.")
key_width = _fact("key_width", "Elements of a token's keys in one layer.")
value_width = _fact("value_width", "Elements of a token's values in one layer.")
attention_output_width = _fact(
    "attention_output_width", "Elements of a token's attention output before its projection."
)
intermediate_size = _fact("intermediate_size", "FFN width of dense layers.", "ffn")
shared_intermediate_size = _fact("shared_intermediate_size", "FFN width of shared experts.")
ffn_matrices = _fact("ffn_matrices", "Matrices of an FFN: 3 where it is gated, else 2.")

FACTS = (
    num_hidden_layers,
    num_moe_layers,
    vocab_size,
    embedding_parameters,
    output_parameters,
    attention_parameters,
    dense_ffn_parameters,
    routed_expert_parameters,
    shared_expert_parameters,
    other_parameters,
    layer_dense_parameters,
    layer_expert_parameters,
    query_width,
    key_width,
    value_width,
    attention_output_width,
    intermediate_size,
    shared_intermediate_size,
    ffn_matrices,
)

FACT_NAMES = frozenset(fact.name for fact in FACTS)

model_parameters = Named(
    "model_parameters",
    embedding_parameters
    + output_parameters
    + attention_parameters
    + dense_ffn_parameters
    + routed_expert_parameters
    + shared_expert_parameters
    + other_parameters,
    about="Parameters of the whole model.",
)
