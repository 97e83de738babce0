"""What the framework's guide, documents and messages say of its rules, one sentence each.

Each is proved for all sizes from the rules themselves, or kept with a counterexample where it
is not true. Topics: data parallelism, locality, scope, one NVLink domain, several, CP, sets of
axes, pipeline, sharding, model and trainer, remedies.
"""

from parsolve.constraints.claim import (
    ACCEPTED,
    Claim,
    Instead,
    at_default,
    equivalent,
    first,
    violates,
)
from parsolve.constraints.fields import Field, Size
from parsolve.constraints.formula import (
    All,
    Formula,
    all_of,
    any_of,
    divides,
    implies,
    largest,
    one_of,
    quotient,
)
from parsolve.constraints.halo import fields as f
from parsolve.constraints.halo import quantities as q
from parsolve.constraints.halo.axes import (
    AXES,
    CAPABILITY_MATRIX,
    FIELD_SANITY,
    SHORT,
    SUPPORTED_AXIS_SETS,
    exactly,
)
from parsolve.constraints.halo.entry import CP_TRAINERS, ENTRY, GIVEN, PP_TRAINERS
from parsolve.constraints.halo.experts import EP_GROUP
from parsolve.constraints.halo.sources import PARALLELISM_ARGS, PARALLELISM_CONFIG
from parsolve.constraints.rule import Source

GUIDE = "halo parallelism guide"
RELEASE = Source(GUIDE, "PP is not available in this release")
FACTS = Source(GUIDE, "Key facts")
PICK = Source(GUIDE, "How to pick a mode")
HARD = Source(GUIDE, "Hard node-local / divisibility constraints")
REJECT = Source(GUIDE, "Reject these")

PAGES = "halo documentation"
MATRIX = Source("halo reference matrix", "rows of the axes")
DATA_PAGE = Source(PAGES, "data parallelism")
EP_PAGE = Source(PAGES, "expert parallelism")
LARGE_SCALE = Source(PAGES, "large-scale scenarios")
KNOBS = Source(PAGES, "help texts of the arguments")

RESOLVE = Source(PARALLELISM_CONFIG, "_resolve_and_validate")
GROUPS = Source(PARALLELISM_CONFIG, "_validate_ep_group")
TP_MESSAGE = Source(PARALLELISM_CONFIG, "_validate_tp: its messages")
ETP_CODE = Source(PARALLELISM_CONFIG, "_validate_expert_tp")
RACE_MESSAGE = Source(PARALLELISM_CONFIG, "_validate_single_domain_multigroup_ep: its message")
BUFFER = Source(PARALLELISM_CONFIG, "_validate_ep_buffer_backend")
PIPELINE_CODE = Source(PARALLELISM_CONFIG, "_validate_pipeline_parallel")
FSDP_MESSAGE = Source(PARALLELISM_CONFIG, "_validate_fsdp_settings: its messages")
BALANCING_MESSAGE = Source("src/models/moe_balancing.py", "expert count lookup: its message")

EP, ETP, TP, CP, PP = (axis > 1 for axis in AXES)
GROUP = q.ep_group_size > 1
ONE_DOMAIN = q.num_nvlink_domains == 1
SEVERAL_DOMAINS = q.num_nvlink_domains > 1
FILLS_DOMAIN = q.ep_group_size == q.nvlink_domain_size
LEGAL_SIZES = all_of(*(axis >= 1 for axis in AXES))
TILES = all_of(
    f.gpus_per_node >= 0,
    f.nvlink_domain_size >= 0,
    q.nvlink_domain_size <= f.world_size,
    divides(q.gpus_per_node, q.nvlink_domain_size),
    divides(q.nvlink_domain_size, f.world_size),
)
"""The cluster is made of whole nodes and whole NVLink domains."""

RACY = "ep-single-domain-multi-group"
LEGACY_CROSS_NODE = "legacy-buffer-cross-node"


PANELS: dict[str, dict[str, Formula]] = {}
for _field in f.FIELDS:
    if _field.role != "cluster":
        PANELS.setdefault(_field.panel, {})[_field.name] = at_default(_field)
UNTOUCHED = {panel: All(tuple(defaults.values())) for panel, defaults in PANELS.items()}


def only(*touched: Field) -> All:
    """The cluster tiles, and of all other fields only these may be off their default."""
    free = {field.name for field in touched}
    kept = [TILES]
    for panel, defaults in PANELS.items():
        rest = tuple(formula for name, formula in defaults.items() if name not in free)
        kept.append(All(rest) if len(rest) < len(defaults) else UNTOUCHED[panel])
    return All(tuple(kept))


WITHOUT_EP = Instead("without_ep", ep_size=1)
WITHOUT_ETP = Instead("without_etp", expert_tp_size=1)
WITHOUT_TP = Instead("without_tp", tp_size=1)
WITHOUT_CP = Instead("without_cp", cp_size=1)
WITHOUT_PP = Instead("without_pp", pp_size=1)
dp = q.data_parallel_size
replicas = largest(f.tp_size, f.cp_size, f.expert_tp_size)

DATA_PARALLEL = (
    Claim(
        id="ep-never-changes-dp",
        says="A configuration trains on as many distinct batches as it would without EP.",
        source=FACTS,
        then=all_of(dp >= 1, dp == WITHOUT_EP.of(dp)),
    ),
    Claim(
        id="tp-divides-dp-by-its-size",
        says="TP leaves exactly one in tp_size of the batches that there would be without it.",
        source=PICK,
        then=dp * f.tp_size == WITHOUT_TP.of(dp),
    ),
    Claim(
        id="cp-divides-dp-by-its-size",
        says="CP leaves exactly one in cp_size of the batches that there would be without it.",
        source=PICK,
        then=dp * f.cp_size == WITHOUT_CP.of(dp),
    ),
    Claim(
        id="etp-divides-dp-by-its-size",
        says="Expert TP leaves exactly one in expert_tp_size of the batches.",
        source=FACTS,
        then=dp * f.expert_tp_size == WITHOUT_ETP.of(dp),
    ),
    Claim(
        id="pp-divides-dp-by-its-size",
        says="PP leaves exactly one in pp_size of the batches that there would be without it.",
        source=FACTS,
        then=dp * f.pp_size == WITHOUT_PP.of(dp),
    ),
    Claim(
        id="dp-times-inner-axis-times-pp-is-the-world",
        says="Distinct batches, the widest of TP, CP and expert TP, and the stages multiply to "
        "the world, with no rank left over.",
        source=FACTS,
        then=dp * replicas * f.pp_size == f.world_size,
    ),
    Claim(
        id="dp-is-at-least-one",
        says="No accepted configuration is left without a batch.",
        source=PICK,
        then=dp >= 1,
    ),
    Claim(
        id="experts-alone-keep-every-rank-data-parallel",
        says="Where no axis but EP is on, every rank has a batch of its own.",
        source=FACTS,
        when=all_of(ACCEPTED, any_of(exactly(""), exactly("ep"))),
        then=dp == f.world_size,
    ),
    Claim(
        id="shards-times-replicas-are-the-stage",
        says="The ranks that shard the data-parallel states and their replicas multiply to the "
        "ranks of a stage, under HSDP and without.",
        source=DATA_PAGE,
        then=q.dp_shard_size * q.dp_replicate_size == q.stage_world_size,
    ),
    Claim(
        id="deferred-averaging-follows-nodes",
        says="Several plain EP groups on more than one node average their gradients late.",
        source=MATRIX,
        when=all_of(ACCEPTED, GROUP, f.expert_tp_size == 1, q.num_ep_groups > 1, q.num_nodes > 1),
        then=q.is_deferred_dp,
        truth="deferred-averaging-follows-domains",
        fails_at={"world_size": 6, "gpus_per_node": 3, "nvlink_domain_size": 6, "ep_size": 2},
    ),
    Claim(
        id="deferred-averaging-follows-domains",
        says="Several plain EP groups on more than one NVLink domain average their gradients "
        "late; how many nodes a domain has does not matter.",
        source=EP_PAGE,
        when=all_of(ACCEPTED, GROUP, f.expert_tp_size == 1, q.num_ep_groups > 1),
        then=equivalent(q.is_deferred_dp, SEVERAL_DOMAINS),
    ),
)


def _stays_local(identity: str, axis: Size, name: str) -> Claim:
    return Claim(
        id=identity,
        says=f"Every {name} group lies inside one NVLink domain, which holds whole groups only.",
        source=HARD,
        then=all_of(axis <= q.nvlink_domain_size, divides(axis, q.nvlink_domain_size)),
    )


block = quotient(q.ep_group_size, q.num_nvlink_domains)
ON_GLOBAL = all_of(LEGAL_SIZES, GROUP, q.ep_scope == "global")

LOCALITY = (
    Claim(
        id="an-accepted-cluster-has-no-remainder",
        says="Nodes make up the world and every NVLink domain, and domains make up the world.",
        source=HARD,
        then=all_of(TILES, divides(q.gpus_per_node, f.world_size)),
    ),
    _stays_local("tp-stays-in-one-domain", f.tp_size, "TP"),
    _stays_local("cp-stays-in-one-domain", f.cp_size, "CP"),
    _stays_local("etp-stays-in-one-domain", f.expert_tp_size, "expert-TP"),
    Claim(
        id="a-node-group-divides-its-domain",
        says="An expert group of node scope fits into an NVLink domain and divides it.",
        source=HARD,
        when=all_of(ACCEPTED, q.ep_scope == "node"),
        then=all_of(
            q.ep_group_size <= q.nvlink_domain_size,
            divides(q.ep_group_size, q.nvlink_domain_size),
        ),
    ),
    Claim(
        id="a-global-group-divides-its-stage",
        says="An expert group of global scope fits into its pipeline stage and divides it.",
        source=HARD,
        when=all_of(ACCEPTED, q.ep_scope == "global"),
        then=all_of(
            q.ep_group_size <= q.stage_world_size, divides(q.ep_group_size, q.stage_world_size)
        ),
    ),
    Claim(
        id="global-widths-are-domains-times-a-divisor-of-the-domain",
        says="A global expert group is an equal block in every NVLink domain, and the block "
        "divides the domain.",
        source=GROUPS,
        when=all_of(ACCEPTED, GROUP, q.ep_scope == "global"),
        then=all_of(
            q.num_nvlink_domains * block == q.ep_group_size, divides(block, q.nvlink_domain_size)
        ),
    ),
    Claim(
        id="every-such-width-is-a-legal-global-group",
        says="Any number of domains times any divisor of the domain is a width that no rule "
        "about expert groups refuses.",
        source=GROUPS,
        when=all_of(TILES, ON_GLOBAL, divides(block, q.nvlink_domain_size)),
        then=all_of(*(~violates(rule.id) for rule in EP_GROUP)),
    ),
    Claim(
        id="expert-groups-tile-their-stage",
        says="The expert groups of a stage hold each of its ranks once.",
        source=HARD,
        when=all_of(ACCEPTED, GROUP),
        then=q.num_ep_groups == quotient(q.stage_world_size, q.ep_group_size),
    ),
    Claim(
        id="the-two-block-rules-of-global-groups-agree",
        says="In a stage of whole domains, a group that is a block in each divides the stage "
        "exactly where the block divides the domain.",
        source=GROUPS,
        when=all_of(
            ON_GLOBAL, TILES, f.pp_size == 1, divides(q.num_nvlink_domains, q.ep_group_size)
        ),
        then=equivalent(
            violates("ep-global-group-not-dividing-stage"),
            violates("ep-global-block-not-dividing-domain"),
        ),
    ),
    Claim(
        id="two-rules-of-global-groups-are-never-the-first",
        says="Nobody is ever told that a stage has broken domains, or a block divides no domain, "
        "by the rules for global groups: an earlier rule always speaks first.",
        source=GROUPS,
        when=any_of(
            violates("ep-global-world-not-whole-domains"),
            violates("ep-global-block-not-dividing-domain"),
        ),
        then=~any_of(
            first("ep-global-world-not-whole-domains"),
            first("ep-global-block-not-dividing-domain"),
        ),
    ),
    Claim(
        id="a-legacy-group-lies-in-one-node",
        says="With the legacy buffer every dispatch group lies inside one OS node.",
        source=BUFFER,
        when=all_of(ACCEPTED, EP, f.ep_buffer_backend == "legacy"),
        then=divides(f.ep_size, q.gpus_per_node),
        truth="a-legacy-group-is-no-wider-than-a-node",
        fails_at={
            "world_size": 6,
            "gpus_per_node": 3,
            "ep_size": 2,
            "ep_buffer_backend": "legacy",
            "nvlink_domain_size": 6,
        },
    ),
    Claim(
        id="a-legacy-group-is-no-wider-than-a-node",
        says="With the legacy buffer EP is two, four or eight wide, and no wider than a node.",
        source=BUFFER,
        when=all_of(ACCEPTED, EP, f.ep_buffer_backend == "legacy"),
        then=all_of(one_of(f.ep_size, (2, 4, 8)), f.ep_size <= q.gpus_per_node),
    ),
    Claim(
        id="the-legacy-buffer-is-refused-only-where-dispatch-leaves-the-domain",
        says="Where the legacy buffer is refused for crossing nodes, dispatch leaves the NVLink "
        "domain.",
        source=BUFFER,
        when=all_of(only(f.ep_size, f.ep_scope, f.ep_buffer_backend), first(LEGACY_CROSS_NODE)),
        then=q.requires_rdma,
        truth="the-legacy-buffer-never-leaves-the-domain",
        fails_at={
            "world_size": 6,
            "gpus_per_node": 3,
            "ep_size": 2,
            "ep_scope": "global",
            "ep_buffer_backend": "legacy",
            "nvlink_domain_size": 6,
        },
    ),
    Claim(
        id="the-legacy-buffer-never-leaves-the-domain",
        says="No accepted configuration dispatches across NVLink domains with the legacy buffer.",
        source=BUFFER,
        when=all_of(ACCEPTED, EP, f.ep_buffer_backend == "legacy"),
        then=~q.requires_rdma,
    ),
)

WITH_RESOLVED_SCOPE = Instead("with_resolved_scope", ep_scope=q.ep_scope)
WITH_NODE_SCOPE = Instead("with_node_scope", ep_scope="node")

SCOPE = (
    Claim(
        id="auto-scope-is-node-up-to-the-domain",
        says="Left to itself, an expert group is node-local as long as one domain can hold it.",
        source=FACTS,
        when=f.ep_scope == "auto",
        then=equivalent(q.ep_scope == "node", q.ep_group_size <= q.nvlink_domain_size),
    ),
    Claim(
        id="auto-scope-equals-the-one-it-resolves-to",
        says="Asking for auto and asking for the scope that it resolves to make no difference: "
        "the same rules are violated and every derived quantity is the same.",
        source=FACTS,
        when=f.ep_scope == "auto",
        then=WITH_RESOLVED_SCOPE.same,
    ),
    Claim(
        id="the-scope-of-a-one-rank-group-is-node",
        says="Without an expert group a requested scope changes nothing: it is taken as node.",
        source=RESOLVE,
        when=all_of(q.ep_group_size == 1, one_of(f.ep_scope, f.ep_scope.choices)),
        then=WITH_NODE_SCOPE.same,
    ),
    Claim(
        id="dispatch-leaves-the-domain-only-in-global-groups-over-several",
        says="Expert dispatch leaves the NVLink domain only in a global group over several.",
        source=GROUPS,
        when=all_of(ACCEPTED, q.requires_rdma),
        then=all_of(q.ep_scope == "global", SEVERAL_DOMAINS, GROUP),
    ),
    Claim(
        id="deterministic-runs-dispatch-inside-a-domain",
        says="A run that asks for determinism never dispatches across NVLink domains.",
        source=Source(PARALLELISM_ARGS, "parallelism_config_from_args"),
        when=all_of(ACCEPTED, f.full_determinism),
        then=any_of(q.ep_scope == "node", ONE_DOMAIN),
    ),
)

ON_EIGHT = all_of(f.world_size == 8, q.nvlink_domain_size == 8)
PAIR_OR_WHOLE = any_of(f.ep_size == 2, f.ep_size == q.nvlink_domain_size)

SINGLE_DOMAIN = (
    Claim(
        id="on-one-domain-pure-ep-is-two-or-the-domain",
        says="On one NVLink domain EP alone has two ranks or all of them.",
        source=REJECT,
        when=all_of(ACCEPTED, ONE_DOMAIN, exactly("ep")),
        then=PAIR_OR_WHOLE,
    ),
    Claim(
        id="on-one-domain-these-ep-sizes-are-accepted",
        says="On one NVLink domain, with all else at its default, EP is accepted exactly at the "
        "whole domain and, where the domain is even, at two.",
        source=REJECT,
        when=all_of(only(f.ep_size), ONE_DOMAIN, EP),
        then=equivalent(
            ACCEPTED,
            any_of(
                f.ep_size == q.nvlink_domain_size,
                all_of(f.ep_size == 2, divides(2, q.nvlink_domain_size)),
            ),
        ),
    ),
    Claim(
        id="on-one-domain-more-than-two-dispatch-ranks-fill-it",
        says="On one NVLink domain more than two EP ranks are accepted only in a group that "
        "fills it, whatever other axes there are.",
        source=REJECT,
        when=all_of(ACCEPTED, ONE_DOMAIN, f.ep_size > 2),
        then=FILLS_DOMAIN,
    ),
    Claim(
        id="on-72-gpus-in-one-domain-pure-ep-is-2-or-72",
        says="On one domain of 72 GPUs the accepted sizes of EP alone are 2 and 72.",
        source=RESOLVE,
        when=all_of(only(f.ep_size), ONE_DOMAIN, EP, q.nvlink_domain_size == 72),
        then=equivalent(ACCEPTED, one_of(f.ep_size, (2, 72))),
    ),
    Claim(
        id="on-one-domain-ep-with-tp-is-two-or-fills-it",
        says="On one NVLink domain EP with TP has two EP ranks, or a group that fills the domain.",
        source=HARD,
        when=all_of(ACCEPTED, ONE_DOMAIN, EP, TP),
        then=any_of(f.ep_size == 2, FILLS_DOMAIN),
    ),
    Claim(
        id="an-ep-group-holds-whole-tp-groups",
        says="With TP an EP group is made of whole TP groups.",
        source=HARD,
        when=all_of(ACCEPTED, EP, TP),
        then=divides(f.tp_size, f.ep_size),
    ),
    Claim(
        id="ep4-on-8-is-racy",
        says="Four EP ranks on one domain of eight are refused for the race, and for it first.",
        source=REJECT,
        when=all_of(only(f.ep_size), ON_EIGHT, f.ep_size == 4),
        then=first(RACY),
    ),
    Claim(
        id="ep4-etp2-on-8-is-accepted",
        says="Four EP ranks with two expert-TP ranks are accepted on one domain of eight.",
        source=REJECT,
        when=all_of(
            only(f.ep_size, f.expert_tp_size), ON_EIGHT, f.ep_size == 4, f.expert_tp_size == 2
        ),
        then=ACCEPTED,
    ),
    Claim(
        id="ep4-tp2-on-8-is-racy",
        says="Four EP ranks with two TP ranks on one domain of eight are refused for the race.",
        source=HARD,
        when=all_of(only(f.ep_size, f.tp_size), ON_EIGHT, f.ep_size == 4, f.tp_size == 2),
        then=first(RACY),
    ),
    Claim(
        id="no-other-knob-makes-ep4-tp2-on-8-acceptable",
        says="Four EP ranks with two TP ranks in a domain of eight that is the whole stage are "
        "refused whatever else is set.",
        source=REJECT,
        when=all_of(ONE_DOMAIN, q.nvlink_domain_size == 8, f.ep_size == 4, f.tp_size == 2),
        then=~ACCEPTED,
    ),
    Claim(
        id="ep2-tp2-on-8-is-four-pairs",
        says="Two EP ranks with two TP ranks are accepted on eight GPUs, as four EP groups.",
        source=HARD,
        when=all_of(only(f.ep_size, f.tp_size), ON_EIGHT, f.ep_size == 2, f.tp_size == 2),
        then=all_of(ACCEPTED, q.num_ep_groups == 4),
    ),
    Claim(
        id="ep8-tp2-on-8-is-one-group",
        says="Eight EP ranks with two TP ranks are accepted on eight GPUs, as one EP group.",
        source=HARD,
        when=all_of(only(f.ep_size, f.tp_size), ON_EIGHT, f.ep_size == 8, f.tp_size == 2),
        then=all_of(ACCEPTED, q.num_ep_groups == 1),
    ),
    Claim(
        id="attention-tp-never-rescues-a-racy-shape",
        says="An EP shape that races without TP races with any TP size, and the other way round.",
        source=REJECT,
        when=LEGAL_SIZES,
        then=equivalent(violates(RACY), WITHOUT_TP.violates(RACY)),
    ),
    Claim(
        id="a-stage-of-one-domain-races-too",
        says="The race counts NVLink domains per pipeline stage: four EP ranks in a stage of one "
        "eight-GPU domain are refused for it on any number of nodes.",
        source=PIPELINE_CODE,
        when=all_of(
            only(f.ep_size, f.pp_size, f.assume_pp),
            f.assume_pp,
            f.world_size == f.pp_size * 8,
            q.nvlink_domain_size == 8,
            f.pp_size >= 1,
            f.ep_size == 4,
        ),
        then=first(RACY),
    ),
)

MANY_DOMAINS = (
    Claim(
        id="above-one-domain-ep-with-tp-is-one-global-group",
        says="On several NVLink domains EP with TP is one global group over the whole stage.",
        source=HARD,
        when=all_of(ACCEPTED, SEVERAL_DOMAINS, EP, TP),
        then=all_of(f.ep_size == q.stage_world_size, q.ep_scope == "global"),
    ),
    Claim(
        id="above-one-domain-ep-etp-fills-each-domain-once",
        says="On several NVLink domains EP with expert TP exists in one shape only: expert TP "
        "fills each domain, and EP has one rank per domain.",
        source=ETP_CODE,
        when=all_of(ACCEPTED, SEVERAL_DOMAINS, EP, ETP),
        then=all_of(
            f.expert_tp_size == q.nvlink_domain_size,
            f.ep_size == q.num_nvlink_domains,
            q.ep_scope == "global",
        ),
    ),
    Claim(
        id="that-one-shape-of-ep-etp-is-accepted",
        says="With all else at its default, that one shape is accepted and no other is.",
        source=ETP_CODE,
        when=all_of(only(f.ep_size, f.expert_tp_size), SEVERAL_DOMAINS, EP, ETP),
        then=equivalent(
            ACCEPTED,
            all_of(f.expert_tp_size == q.nvlink_domain_size, f.ep_size == q.num_nvlink_domains),
        ),
    ),
    Claim(
        id="ep-with-etp-may-be-node-local-anywhere",
        says="EP with expert TP may stay inside each NVLink domain of several.",
        source=MATRIX,
        when=all_of(
            only(f.ep_size, f.expert_tp_size),
            SEVERAL_DOMAINS,
            EP,
            ETP,
            divides(q.ep_group_size, q.nvlink_domain_size),
        ),
        then=ACCEPTED,
        truth="that-one-shape-of-ep-etp-is-accepted",
        fails_at={"world_size": 16, "ep_size": 2, "expert_tp_size": 2},
    ),
    Claim(
        id="ep-with-etp-is-node-local",
        says="EP with expert TP never leaves an NVLink domain.",
        source=KNOBS,
        when=all_of(ACCEPTED, EP, ETP),
        then=q.ep_scope == "node",
        truth="above-one-domain-ep-etp-fills-each-domain-once",
        fails_at={"world_size": 16, "ep_size": 2, "expert_tp_size": 8},
    ),
    Claim(
        id="above-one-domain-any-divisor-of-the-domain-is-an-ep-size",
        says="On several NVLink domains EP alone is accepted at every divisor of the domain.",
        source=PICK,
        when=all_of(only(f.ep_size), SEVERAL_DOMAINS, EP, divides(f.ep_size, q.nvlink_domain_size)),
        then=ACCEPTED,
    ),
    Claim(
        id="one-group-over-all-ranks-is-accepted",
        says="One EP group over all ranks is accepted on every cluster of whole domains, alone "
        "and with any TP size that divides the domain.",
        source=HARD,
        when=all_of(
            only(f.ep_size, f.tp_size),
            f.world_size > 1,
            f.ep_size == f.world_size,
            f.tp_size >= 1,
            divides(f.tp_size, q.nvlink_domain_size),
        ),
        then=ACCEPTED,
    ),
)

CONTEXT_PARALLEL = (
    Claim(
        id="ep-with-cp-fills-the-domain",
        says="EP with CP is node-local and fills the NVLink domain.",
        source=REJECT,
        when=all_of(ACCEPTED, GROUP, CP),
        then=all_of(FILLS_DOMAIN, q.ep_scope == "node"),
    ),
    Claim(
        id="ep-that-fills-the-domain-takes-any-cp",
        says="EP that fills the NVLink domain is accepted with every CP size dividing it.",
        source=PICK,
        when=all_of(
            only(f.ep_size, f.cp_size),
            CP,
            f.ep_size == q.nvlink_domain_size,
            divides(f.cp_size, q.nvlink_domain_size),
        ),
        then=ACCEPTED,
    ),
    Claim(
        id="cp-trains-only-where-the-loss-splits",
        says="CP runs under the SFT and the margin-preference trainer, and under no other.",
        source=REJECT,
        when=all_of(ACCEPTED, CP, GIVEN),
        then=one_of(f.trainer, CP_TRAINERS),
    ),
)

SUPPORTED = any_of(
    *(exactly(" ".join(SHORT[name] for name in sorted(axes))) for axes in SUPPORTED_AXIS_SETS)
)
UNSUPPORTED = "axis-set-unsupported"
EARLY = (*ENTRY, *FIELD_SANITY, *CAPABILITY_MATRIX)

AXIS_SETS = (
    Claim(
        id="accepted-axes-are-on-the-allowlist",
        says="An accepted configuration has one of the eleven supported sets of axes.",
        source=FACTS,
        then=SUPPORTED,
    ),
    Claim(
        id="the-allowlist-refuses-exactly-the-rest",
        says="Where every size is legal, the allowlist refuses exactly the other sets of axes.",
        source=FACTS,
        when=LEGAL_SIZES,
        then=equivalent(~violates(UNSUPPORTED), SUPPORTED),
    ),
    Claim(
        id="the-allowlist-is-checked-first",
        says="An unsupported set of axes is always named before anything else.",
        source=FACTS,
        when=all_of(only(f.pp_size, f.tp_size), violates(UNSUPPORTED)),
        then=first(UNSUPPORTED),
        truth="nothing-about-ranks-precedes-the-allowlist",
        fails_at={"world_size": 2, "tp_size": 3, "pp_size": 4},
    ),
    Claim(
        id="nothing-about-ranks-precedes-the-allowlist",
        says="An unsupported set of axes is named before any rule about the cluster or a group; "
        "only the entry script's refusals and illegal values come earlier.",
        source=FACTS,
        when=violates(UNSUPPORTED),
        then=any_of(*(first(rule.id) for rule in EARLY)),
    ),
    Claim(
        id="tp-cp-and-etp-never-meet",
        says="Of TP, CP and expert TP at most one is on, with EP or without.",
        source=REJECT,
        when=any_of(all_of(TP, CP), all_of(TP, ETP), all_of(ETP, CP)),
        then=~ACCEPTED,
    ),
    Claim(
        id="tp-alone-is-accepted",
        says="TP alone is accepted at every divisor of the NVLink domain.",
        source=FACTS,
        when=all_of(only(f.tp_size), TP, divides(f.tp_size, q.nvlink_domain_size)),
        then=ACCEPTED,
    ),
    Claim(
        id="cp-alone-is-accepted",
        says="CP alone is accepted at every divisor of the NVLink domain.",
        source=FACTS,
        when=all_of(only(f.cp_size), CP, divides(f.cp_size, q.nvlink_domain_size)),
        then=ACCEPTED,
    ),
    Claim(
        id="etp-alone-is-accepted",
        says="Expert TP alone is accepted at every divisor of the NVLink domain.",
        source=FACTS,
        when=all_of(only(f.expert_tp_size), ETP, divides(f.expert_tp_size, q.nvlink_domain_size)),
        then=ACCEPTED,
    ),
    Claim(
        id="plain-data-parallelism-is-always-accepted",
        says="Plain data parallelism is accepted on every cluster of whole nodes and domains, "
        "and every rank is a data-parallel rank.",
        source=PICK,
        when=only(),
        then=all_of(ACCEPTED, dp == f.world_size),
    ),
)

ON_PP = all_of(ACCEPTED, PP)
PIPELINE_TRAINER = all_of(ON_PP, GIVEN)
BOTH_BATCHES = all_of(
    f.per_device_eval_batch_size > 0, f.per_device_train_batch_size > 0, f.max_length > 0
)

PIPELINE = (
    Claim(
        id="the-release-gate-refuses-every-pipeline",
        says="More than one stage is refused by the release gate, whatever else is set.",
        source=RELEASE,
        when=all_of(PP, ~f.assume_pp),
        then=all_of(~ACCEPTED, violates("pp-release-gate")),
    ),
    Claim(
        id="the-release-gate-speaks-before-rank-math",
        says="Where no trainer objects earlier, the release gate is the first to speak: before "
        "the allowlist, the cluster and every group.",
        source=RELEASE,
        when=all_of(PP, ~f.assume_pp, ~GIVEN),
        then=first("pp-release-gate"),
    ),
    Claim(
        id="stages-pair-with-one-expert-axis-at-most",
        says="Behind the gate stages go alone, with EP, or with expert TP.",
        source=REJECT,
        when=ON_PP,
        then=any_of(exactly("pp"), exactly("pp ep"), exactly("pp etp")),
    ),
    Claim(
        id="a-stage-is-whole-domains-of-two-ranks-or-more",
        says="A stage is made of whole NVLink domains and has at least two ranks.",
        source=REJECT,
        when=ON_PP,
        then=all_of(divides(q.nvlink_domain_size, q.stage_world_size), q.stage_world_size >= 2),
    ),
    Claim(
        id="a-one-rank-stage-needs-one-gpu-domains",
        says="A stage of one rank is named only where NVLink domains have one GPU.",
        source=PIPELINE_CODE,
        when=first("pp-single-rank-stage"),
        then=q.nvlink_domain_size == 1,
    ),
    Claim(
        id="stages-leave-the-fsdp-knobs-alone",
        says="Under PP there is no HSDP, no ZeRO-3, no gathered window, no deferred gradient, no "
        "low precision and no expert adapter.",
        source=REJECT,
        when=ON_PP,
        then=all_of(
            ~f.use_hsdp,
            ~f.fsdp_reshard_after_forward,
            f.fsdp_reshard_after_backward,
            ~f.fsdp_defer_grad_sync,
            f.lowp_precision == "bf16",
            ~f.expert_lora,
        ),
    ),
    Claim(
        id="pp-always-shards-unsplit-experts",
        says="Under PP fsdp_shard_ep1_experts is never off.",
        source=REJECT,
        when=ON_PP,
        then=f.fsdp_shard_ep1_experts,
        truth="pp-shards-experts-that-nothing-else-splits",
        fails_at={
            "world_size": 16,
            "pp_size": 2,
            "use_grouped_gemm": False,
            "fsdp_shard_ep1_experts": False,
            "assume_pp": True,
        },
    ),
    Claim(
        id="pp-shards-experts-that-nothing-else-splits",
        says="Under PP fsdp_shard_ep1_experts may be off only where an expert group exists or no "
        "MoE block is wrapped.",
        source=PIPELINE_CODE,
        when=all_of(ON_PP, ~f.fsdp_shard_ep1_experts),
        then=any_of(GROUP, ~f.use_grouped_gemm),
    ),
    Claim(
        id="a-split-counts-layers-for-every-stage",
        says="A stated split has one count per stage, each at least one.",
        source=REJECT,
        when=all_of(ON_PP, f.pp_split.length > 0),
        then=all_of(f.pp_split.length == f.pp_size, f.pp_split.smallest >= 1),
    ),
    Claim(
        id="without-stages-the-pipeline-knobs-are-off",
        says="Without stages no knob of the pipeline may be set.",
        source=REJECT,
        when=all_of(ACCEPTED, f.pp_size == 1),
        then=all_of(f.pp_split.length == 0, f.pp_microbatches == 0, f.pp_schedule == "1f1b"),
    ),
    Claim(
        id="pp-trains-only-where-the-last-stage-has-the-loss",
        says="PP runs only under trainers whose loss the last stage can compute: not under "
        "online, environment or self-distilled GRPO, distillation or embedding.",
        source=REJECT,
        when=PIPELINE_TRAINER,
        then=one_of(f.trainer, PP_TRAINERS),
    ),
    Claim(
        id="pp-trainers-keep-the-run-plain",
        says="Under PP a trainer takes no sharded save, adapters, live reference model, "
        "offloading, reentrant checkpointing, compilation or images, and needs max_length.",
        source=REJECT,
        when=PIPELINE_TRAINER,
        then=all_of(
            ~f.save_sharded_ep,
            ~f.use_peft,
            f.reference_model != "live",
            ~f.activation_offloading,
            ~all_of(f.gradient_checkpointing, f.reentrant_checkpointing),
            ~f.torch_compile,
            ~f.image_data,
            f.max_length > 0,
        ),
    ),
    Claim(
        id="pp-evaluates-with-the-training-batch",
        says="Under PP the evaluation batch always is the training batch.",
        source=REJECT,
        when=all_of(PIPELINE_TRAINER, BOTH_BATCHES),
        then=f.per_device_eval_batch_size == f.per_device_train_batch_size,
        truth="pp-evaluates-with-the-training-batch-if-it-evaluates",
        fails_at={
            "world_size": 16,
            "pp_size": 2,
            "trainer": "sft",
            "assume_pp": True,
            "per_device_train_batch_size": 2,
            "per_device_eval_batch_size": 4,
            "max_length": 4096,
        },
    ),
    Claim(
        id="pp-evaluates-with-the-training-batch-if-it-evaluates",
        says="Under PP the evaluation batch is the training batch in a run that evaluates.",
        source=Source("src/trainers/mixins/pipeline.py", "_maybe_prepare_pipeline_model"),
        when=all_of(PIPELINE_TRAINER, f.do_eval, BOTH_BATCHES),
        then=f.per_device_eval_batch_size == f.per_device_train_batch_size,
    ),
)

ZERO3 = f.fsdp_reshard_after_forward
WITHOUT_EP1_SHARDING = Instead("without_ep1_sharding", fsdp_shard_ep1_experts=False)
WITHOUT_HSDP = Instead("without_hsdp", use_hsdp=False)

SHARDING = (
    Claim(
        id="hsdp-lives-on-pure-dp-or-cp",
        says="HSDP is accepted with plain data parallelism or CP, and with no other axis.",
        source=REJECT,
        when=all_of(ACCEPTED, f.use_hsdp),
        then=any_of(exactly(""), exactly("cp")),
    ),
    Claim(
        id="hsdp-on-one-domain-is-plain-fsdp",
        says="On one NVLink domain HSDP shards over the same ranks as FSDP does.",
        source=Source(PARALLELISM_CONFIG, "_validate_hsdp"),
        when=all_of(ACCEPTED, f.use_hsdp, ONE_DOMAIN),
        then=all_of(
            WITHOUT_HSDP.accepted,
            q.dp_replicate_size == 1,
            q.fsdp_width == WITHOUT_HSDP.of(q.fsdp_width),
            q.dp_shard_size == WITHOUT_HSDP.of(q.dp_shard_size),
        ),
    ),
    Claim(
        id="zero3-exists-nowhere-beside-an-expert-group",
        says="ZeRO-3 is refused wherever an expert group exists, expert TP alone included.",
        source=REJECT,
        when=all_of(GROUP, ZERO3),
        then=all_of(~ACCEPTED, implies(LEGAL_SIZES, violates("fsdp-full-shard-with-expert-group"))),
    ),
    Claim(
        id="zero3-with-tp-needs-a-single-batch",
        says="ZeRO-3 with TP is accepted only where TP leaves one data-parallel rank.",
        source=REJECT,
        when=all_of(ACCEPTED, ZERO3, TP),
        then=dp == 1,
    ),
    Claim(
        id="zero3-lives-on-pure-dp-cp-or-tp",
        says="ZeRO-3 goes with plain data parallelism, CP or TP alone.",
        source=DATA_PAGE,
        when=all_of(ACCEPTED, ZERO3),
        then=any_of(exactly(""), exactly("cp"), exactly("tp")),
    ),
    Claim(
        id="unsharded-experts-go-with-no-tp-and-no-cp",
        says="fsdp_shard_ep1_experts is on wherever TP or CP is, an expert group or not.",
        source=REJECT,
        when=all_of(ACCEPTED, ~f.fsdp_shard_ep1_experts),
        then=all_of(f.tp_size == 1, f.cp_size == 1),
    ),
    Claim(
        id="the-ep1-flag-means-nothing-beside-an-expert-group",
        says="Where an expert group exists, fsdp_shard_ep1_experts has no effect.",
        source=KNOBS,
        when=all_of(ACCEPTED, GROUP),
        then=WITHOUT_EP1_SHARDING.same,
        truth="the-ep1-flag-means-nothing-beside-a-group-without-tp-and-cp",
        fails_at={"world_size": 16, "cp_size": 4, "ep_size": 8},
    ),
    Claim(
        id="the-ep1-flag-means-nothing-beside-a-group-without-tp-and-cp",
        says="Where an expert group exists and neither TP nor CP does, fsdp_shard_ep1_experts "
        "changes no verdict and no quantity.",
        source=REJECT,
        when=all_of(GROUP, f.tp_size <= 1, f.cp_size <= 1),
        then=WITHOUT_EP1_SHARDING.same,
    ),
    Claim(
        id="a-deferred-gradient-has-a-reduction-to-defer",
        says="Deferring gradients goes with ZeRO-2, without PP, and under TP only where several "
        "data-parallel ranks have something to reduce.",
        source=REJECT,
        when=all_of(ACCEPTED, f.fsdp_defer_grad_sync),
        then=all_of(~ZERO3, f.pp_size == 1, any_of(f.tp_size == 1, dp > 1)),
    ),
    Claim(
        id="qlora-leaves-every-fsdp-knob-alone",
        says="With a quantized base no knob that shapes FSDP may be off its default.",
        source=REJECT,
        when=all_of(ACCEPTED, f.quantized),
        then=all_of(
            ~f.use_hsdp,
            ~ZERO3,
            f.fsdp_reshard_after_backward,
            ~f.fsdp_defer_grad_sync,
            f.fsdp_shard_ep1_experts,
        ),
        truth="qlora-on-several-ranks-leaves-four-fsdp-knobs-alone",
        fails_at={"world_size": 16, "fsdp_shard_ep1_experts": False, "quantized": True},
    ),
    Claim(
        id="qlora-on-several-ranks-leaves-four-fsdp-knobs-alone",
        says="With a quantized base, more than one rank and torchrun, HSDP, ZeRO-3, the gathered "
        "window and deferred gradients stay at their defaults.",
        source=Source("src/trainers/mixins/validation.py", "_reject_fsdp_knobs_under_qlora"),
        when=all_of(ACCEPTED, f.quantized, f.world_size > 1, f.launcher == "torchrun"),
        then=all_of(~f.use_hsdp, ~ZERO3, f.fsdp_reshard_after_backward, ~f.fsdp_defer_grad_sync),
    ),
)

WITH_FP32_REST = Instead("with_fp32_rest", fp32_non_ep_params=True)
WIDE = all_of(ACCEPTED, f.world_size == 72, q.nvlink_domain_size == 72, f.num_experts == 512)

MODEL = (
    Claim(
        id="a-tp-size-divides-the-heads-of-every-layer",
        says="TP never splits an attention head, nor a key/value head outside MLA.",
        source=REJECT,
        when=all_of(ACCEPTED, TP, f.num_attention_heads.length > 0),
        then=all_of(
            divides(f.tp_size, f.num_attention_heads.gcd),
            any_of(
                f.mla,
                f.num_key_value_heads.length == 0,
                divides(f.tp_size, f.num_key_value_heads.gcd),
            ),
        ),
    ),
    Claim(
        id="every-ep-rank-holds-as-many-experts",
        says="EP ranks hold equally many experts, and at least one each.",
        source=EP_PAGE,
        when=all_of(ACCEPTED, f.num_experts > 0),
        then=all_of(divides(f.ep_size, f.num_experts), f.ep_size <= f.num_experts),
    ),
    Claim(
        id="a-dense-model-has-no-expert-axis",
        says="A model known to be dense is accepted with no expert axis.",
        source=Source("src/distributed/expert_parallel/patching.py", "MoE patching"),
        when=all_of(ACCEPTED, q.is_dense),
        then=q.ep_group_size == 1,
    ),
    Claim(
        id="on-a-dense-model-ep-does-nothing",
        says="On a dense model EP changes no verdict.",
        source=PICK,
        when=all_of(q.is_dense, EP),
        then=equivalent(ACCEPTED, WITHOUT_EP.accepted),
        truth="a-dense-model-has-no-expert-axis",
        fails_at={"world_size": 8, "ep_size": 8, "model_kind": "dense"},
    ),
    Claim(
        id="a-dense-model-takes-tp-or-cp",
        says="A dense model is accepted with TP alone or CP alone, at every divisor of the domain.",
        source=PICK,
        when=all_of(
            only(f.tp_size, f.cp_size, f.model_kind),
            f.model_kind == "dense",
            any_of(exactly("tp"), exactly("cp")),
            divides(f.tp_size, q.nvlink_domain_size),
            divides(f.cp_size, q.nvlink_domain_size),
        ),
        then=ACCEPTED,
    ),
    Claim(
        id="adapters-never-meet-tp",
        says="No adapter is trained under TP, native expert adapters included.",
        source=REJECT,
        when=all_of(ACCEPTED, TP),
        then=all_of(~f.use_peft, ~f.expert_lora),
    ),
    Claim(
        id="expert-adapters-never-meet-etp",
        says="No native expert adapter is trained under expert TP.",
        source=REJECT,
        when=all_of(ACCEPTED, ETP),
        then=~f.expert_lora,
    ),
    Claim(
        id="adapters-are-fine-with-cp-or-etp-alone",
        says="Adapters are accepted with CP alone and with expert TP alone, which leave the "
        "attention weights whole.",
        source=REJECT,
        when=all_of(
            only(f.cp_size, f.expert_tp_size, f.use_peft),
            f.use_peft,
            any_of(exactly("cp"), exactly("etp")),
            divides(f.cp_size, q.nvlink_domain_size),
            divides(f.expert_tp_size, q.nvlink_domain_size),
        ),
        then=ACCEPTED,
    ),
    Claim(
        id="fp32-parameters-outside-the-experts-fit-without-a-group",
        says="Without an expert group, an MoE model may keep its other parameters in fp32.",
        source=EP_PAGE,
        when=all_of(ACCEPTED, q.ep_group_size == 1, f.num_experts > 0),
        then=WITH_FP32_REST.accepted,
        truth="fp32-parameters-outside-the-experts-need-unmanaged-experts",
        fails_at={"world_size": 8, "num_experts": 8},
    ),
    Claim(
        id="fp32-parameters-outside-the-experts-need-unmanaged-experts",
        says="An MoE model keeps its other parameters in fp32 only where an expert group exists "
        "or FSDP leaves the experts alone.",
        source=Source(PARALLELISM_CONFIG, "validate_against_model_config"),
        when=all_of(ACCEPTED, f.fp32_non_ep_params, f.num_experts > 0),
        then=any_of(GROUP, ~f.fsdp_shard_ep1_experts),
    ),
    Claim(
        id="ep32-tp8-fits-a-model-with-two-kv-heads",
        says="EP over 32 ranks with TP over 8 fits a model that has two key/value heads.",
        source=LARGE_SCALE,
        when=all_of(
            only(f.ep_size, f.tp_size, f.num_key_value_heads),
            f.world_size == 32,
            f.ep_size == 32,
            f.tp_size == 8,
            divides(f.tp_size, q.nvlink_domain_size),
            f.num_key_value_heads.gcd == 2,
        ),
        then=ACCEPTED,
        truth="two-kv-heads-allow-a-tp-of-two",
        fails_at={"world_size": 32, "tp_size": 8, "ep_size": 32, "num_key_value_heads": 2},
    ),
    Claim(
        id="two-kv-heads-allow-a-tp-of-two",
        says="Outside MLA, two key/value heads allow a TP size of two at most.",
        source=LARGE_SCALE,
        when=all_of(ACCEPTED, ~f.mla, f.num_key_value_heads.gcd == 2),
        then=f.tp_size <= 2,
    ),
    Claim(
        id="512-experts-on-a-72-wide-domain-have-no-ep-size",
        says="On one full domain of 72 GPUs a model of 512 experts has no EP size at all.",
        source=LARGE_SCALE,
        when=WIDE,
        then=f.ep_size == 1,
        truth="512-experts-on-a-72-wide-domain-need-two-ranks-or-etp",
        fails_at={"world_size": 72, "ep_size": 2, "num_experts": 512, "nvlink_domain_size": 72},
    ),
    Claim(
        id="512-experts-on-a-72-wide-domain-need-two-ranks-or-etp",
        says="There EP has two ranks, or four or eight with the expert TP that fills the domain.",
        source=LARGE_SCALE,
        when=all_of(WIDE, EP),
        then=any_of(
            f.ep_size == 2,
            all_of(f.ep_size == 4, f.expert_tp_size == 18),
            all_of(f.ep_size == 8, f.expert_tp_size == 9),
        ),
    ),
    Claim(
        id="accelerate-takes-no-axis",
        says="Under accelerate launch only plain data parallelism is accepted.",
        source=Source(PAGES, "launchers"),
        when=all_of(ACCEPTED, f.launcher == "accelerate"),
        then=exactly(""),
    ),
)

WITH_TWO_RANKS = Instead("with_two_ranks", ep_size=2)
WITH_WHOLE_DOMAIN = Instead("with_whole_domain", ep_size=q.nvlink_domain_size)
WITH_ETP_TO_FILL = Instead(
    "with_etp_to_fill", expert_tp_size=quotient(q.nvlink_domain_size, f.ep_size)
)
ON_FEWER_GPUS = Instead(
    "on_fewer_gpus",
    world_size=q.ep_group_size,
    gpus_per_node=q.ep_group_size,
    nvlink_domain_size=0,
    nvlink_domain_env=0,
)
WITH_HSDP = Instead("with_hsdp", use_hsdp=True, fsdp_reshard_after_forward=False)
WITH_ZERO2 = Instead("with_zero2", fsdp_reshard_after_forward=False)
WITH_EP_AS_TP = Instead("with_ep_as_tp", ep_size=f.tp_size)
WITH_ETP_FOR_TP = Instead("with_etp_for_tp", tp_size=1, expert_tp_size=f.tp_size)
WITH_ONE_GROUP = Instead("with_one_group", ep_size=q.stage_world_size, ep_scope="global")
WITH_ALL_EXPERTS = Instead("with_all_experts", ep_size=f.num_experts)
SPLIT_GROUPS = all_of(only(f.ep_size, f.tp_size), first("ep-tp-multi-domain-multi-group"))

REMEDIES = (
    Claim(
        id="two-ep-ranks-cure-a-race",
        says="A racy EP size is cured by two EP ranks.",
        source=RACE_MESSAGE,
        when=all_of(only(f.ep_size), first(RACY)),
        then=WITH_TWO_RANKS.accepted,
        truth="two-ep-ranks-cure-a-race-on-even-domains",
        fails_at={"world_size": 9, "gpus_per_node": 3, "nvlink_domain_size": 9, "ep_size": 3},
    ),
    Claim(
        id="two-ep-ranks-cure-a-race-on-even-domains",
        says="A racy EP size is cured by two EP ranks exactly where the domain is even.",
        source=RACE_MESSAGE,
        when=all_of(only(f.ep_size), first(RACY)),
        then=equivalent(WITH_TWO_RANKS.accepted, divides(2, q.nvlink_domain_size)),
    ),
    Claim(
        id="filling-the-domain-with-ep-cures-a-race",
        says="A racy EP size is cured by EP over the whole NVLink domain.",
        source=REJECT,
        when=all_of(only(f.ep_size), first(RACY)),
        then=WITH_WHOLE_DOMAIN.accepted,
    ),
    Claim(
        id="filling-the-domain-with-etp-cures-a-race",
        says="A racy EP size is cured by as much expert TP as fills the domain.",
        source=RACE_MESSAGE,
        when=all_of(only(f.ep_size), first(RACY)),
        then=WITH_ETP_TO_FILL.accepted,
    ),
    Claim(
        id="fewer-gpus-cure-a-race",
        says="A racy EP size is cured by running on as many GPUs as one EP group has.",
        source=RACE_MESSAGE,
        when=all_of(only(f.ep_size), first(RACY)),
        then=ON_FEWER_GPUS.accepted,
    ),
    Claim(
        id="hsdp-replaces-zero3-under-tp",
        says="Where TP refuses ZeRO-3, HSDP can take its place.",
        source=FSDP_MESSAGE,
        when=violates("fsdp-full-shard-with-tp-dp"),
        then=WITH_HSDP.accepted,
        truth="hsdp-never-replaces-zero3-under-tp",
        fails_at={"world_size": 8, "tp_size": 2, "fsdp_reshard_after_forward": True},
    ),
    Claim(
        id="hsdp-never-replaces-zero3-under-tp",
        says="Where TP refuses ZeRO-3, HSDP in its place is refused too, for its own reason.",
        source=Source(PARALLELISM_CONFIG, "_validate_hsdp"),
        when=violates("fsdp-full-shard-with-tp-dp"),
        then=all_of(
            ~WITH_HSDP.accepted,
            implies(LEGAL_SIZES, WITH_HSDP.violates("hsdp-with-tp-or-etp")),
        ),
    ),
    Claim(
        id="zero2-replaces-zero3-where-gradients-are-deferred",
        says="Deferred gradients that ZeRO-3 refuses are accepted under ZeRO-2.",
        source=REJECT,
        when=all_of(only(ZERO3, f.fsdp_defer_grad_sync), first("fsdp-defer-vs-full-shard")),
        then=WITH_ZERO2.accepted,
    ),
    Claim(
        id="ep-as-wide-as-tp-holds-whole-tp-groups",
        says="An EP size that is no multiple of the TP size is cured by making the two equal.",
        source=TP_MESSAGE,
        when=all_of(only(f.ep_size, f.tp_size), first("ep-not-multiple-of-tp")),
        then=WITH_EP_AS_TP.accepted,
        truth="on-one-domain-ep-as-wide-as-tp-is-two-or-the-domain",
        fails_at={"world_size": 8, "tp_size": 4, "ep_size": 2},
    ),
    Claim(
        id="on-one-domain-ep-as-wide-as-tp-is-two-or-the-domain",
        says="On one NVLink domain that cures it exactly where TP has two ranks or all.",
        source=TP_MESSAGE,
        when=all_of(
            only(f.ep_size, f.tp_size),
            ONE_DOMAIN,
            violates("ep-not-multiple-of-tp"),
            divides(f.tp_size, q.nvlink_domain_size),
        ),
        then=equivalent(
            WITH_EP_AS_TP.accepted,
            any_of(f.tp_size == 2, f.tp_size == q.nvlink_domain_size),
        ),
    ),
    Claim(
        id="etp-replaces-tp-in-several-groups",
        says="Several EP groups with TP above one domain are cured by expert TP in place of TP.",
        source=TP_MESSAGE,
        when=SPLIT_GROUPS,
        then=WITH_ETP_FOR_TP.accepted,
        truth="etp-replaces-tp-only-in-the-one-shape",
        fails_at={"world_size": 16, "tp_size": 2, "ep_size": 8},
    ),
    Claim(
        id="etp-replaces-tp-only-in-the-one-shape",
        says="That cures them exactly where the TP size is the domain and EP has one rank per "
        "domain.",
        source=ETP_CODE,
        when=SPLIT_GROUPS,
        then=equivalent(
            WITH_ETP_FOR_TP.accepted,
            all_of(f.tp_size == q.nvlink_domain_size, f.ep_size == q.num_nvlink_domains),
        ),
    ),
    Claim(
        id="one-group-cures-several-with-tp",
        says="Several EP groups with TP above one domain are cured by one global group.",
        source=HARD,
        when=SPLIT_GROUPS,
        then=WITH_ONE_GROUP.accepted,
    ),
    Claim(
        id="dropping-tp-cures-several-groups",
        says="Several EP groups with TP above one domain are cured by dropping TP.",
        source=TP_MESSAGE,
        when=SPLIT_GROUPS,
        then=WITHOUT_TP.accepted,
    ),
    Claim(
        id="dropping-tp-or-etp-cures-their-conflict",
        says="TP with expert TP is cured by dropping either, where each divides the domain.",
        source=REJECT,
        when=all_of(
            only(f.tp_size, f.expert_tp_size),
            exactly("tp etp"),
            divides(f.tp_size, q.nvlink_domain_size),
            divides(f.expert_tp_size, q.nvlink_domain_size),
        ),
        then=all_of(first(UNSUPPORTED), WITHOUT_TP.accepted, WITHOUT_ETP.accepted),
    ),
    Claim(
        id="dropping-the-stages-opens-the-release-gate",
        says="A pipeline refused by the release gate, with all else at its default, is accepted "
        "without stages.",
        source=RELEASE,
        when=all_of(only(f.pp_size), first("pp-release-gate")),
        then=WITHOUT_PP.accepted,
    ),
    Claim(
        id="every-divisor-of-the-experts-is-an-ep-size",
        says="An EP size that does not divide the experts is cured by one that does and that the "
        "stage can hold.",
        source=BALANCING_MESSAGE,
        when=all_of(
            only(f.ep_size, f.num_experts),
            first("experts-not-divisible-by-ep"),
            f.num_experts > 1,
            f.num_experts <= q.stage_world_size,
        ),
        then=WITH_ALL_EXPERTS.accepted,
        truth="a-divisor-of-experts-and-domain-is-an-ep-size-on-several-domains",
        fails_at={"world_size": 6, "ep_size": 2, "num_experts": 3},
    ),
    Claim(
        id="a-divisor-of-experts-and-domain-is-an-ep-size-on-several-domains",
        says="On several NVLink domains an EP size that divides both the experts and the domain "
        "is accepted.",
        source=BALANCING_MESSAGE,
        when=all_of(
            only(f.ep_size, f.num_experts),
            SEVERAL_DOMAINS,
            EP,
            f.num_experts > 0,
            divides(f.ep_size, f.num_experts),
            divides(f.ep_size, q.nvlink_domain_size),
        ),
        then=ACCEPTED,
    ),
)

CLAIMS = (
    *DATA_PARALLEL,
    *LOCALITY,
    *SCOPE,
    *SINGLE_DOMAIN,
    *MANY_DOMAINS,
    *CONTEXT_PARALLEL,
    *AXIS_SETS,
    *PIPELINE,
    *SHARDING,
    *MODEL,
    *REMEDIES,
)
