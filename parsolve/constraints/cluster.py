"""The cluster of every framework that has no rules of its own about it: fields and what follows."""

from parsolve.constraints.fields import LARGEST_CLUSTER, Size
from parsolve.constraints.formula import Named, divides, if_, largest, quotient
from parsolve.constraints.rule import Notice, Source

CLUSTER = "Cluster"
ASSUMED_GPUS_PER_NODE = 8
"""GPUs per node where nobody said."""

world_size = Size(
    "world_size",
    default=0,
    minimum=1,
    maximum=LARGEST_CLUSTER,
    role="cluster",
    panel=CLUSTER,
    flag="world",
    about="World size: GPUs in the job, one rank each.",
)
stated_gpus_per_node = Size(
    "gpus_per_node",
    zero="auto",
    default=0,
    maximum=LARGEST_CLUSTER,
    role="cluster",
    panel=CLUSTER,
    flag="gpus-per-node",
    about="GPUs per OS node; 0 means the world up to 8, else 8, 4 or 2 if that divides it.",
)
stated_nvlink_domain_size = Size(
    "nvlink_domain_size",
    zero="auto",
    default=0,
    maximum=LARGEST_CLUSTER,
    role="cluster",
    panel=CLUSTER,
    flag="nvlink-domain",
    also=("domain",),
    about="GPUs per NVLink domain; 0 means the node.",
)

_usual_node = if_(
    divides(ASSUMED_GPUS_PER_NODE, world_size),
    ASSUMED_GPUS_PER_NODE,
    if_(divides(4, world_size), 4, if_(divides(2, world_size), 2, 1)),
)
gpus_per_node = Named(
    "gpus_per_node",
    largest(
        1,
        if_(
            stated_gpus_per_node == 0,
            if_(world_size <= ASSUMED_GPUS_PER_NODE, world_size, _usual_node),
            stated_gpus_per_node,
        ),
    ),
    about="GPUs per OS node, after auto.",
)
nvlink_domain_size = Named(
    "nvlink_domain_size",
    largest(1, if_(stated_nvlink_domain_size == 0, gpus_per_node, stated_nvlink_domain_size)),
    about="GPUs per NVLink domain, after auto.",
)
num_nodes = Named("num_nodes", quotient(world_size, gpus_per_node), about="OS nodes.")

NODE_ASSUMED = Notice(
    id="gpus-per-node-assumed",
    when=stated_gpus_per_node == 0,
    reason="gpus_per_node was not given: the world up to 8 is assumed, else 8, 4 or 2 where that "
    "divides it.",
    source=Source("arithmetic", "every framework"),
)
