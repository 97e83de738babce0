"""Megatron-Core's own verdict on a configuration, stage by stage, on a CPU.

What runs is the released code: the parser on the launch line that we print, ``validate_args``, the
micro-batch calculator, the configuration objects (the model's, then those that ``pretrain`` is
given: optimizer, data parallelism, checkpoints), ``initialize_model_parallel`` on fake process
groups, the layers of every pipeline rank and chunk, one layer of the model on PyTorch's meta
device, the wrapper for data parallelism around two weights, the interleaved schedule up to its
checks, the split of the sequence, and an MoE layer's first check.

Stand-ins, and what is therefore beyond reach:

- Transformer Engine is taken for a recent one, and its layers by Megatron's own. Checks inside it
  are not asked: heads in an all-to-all, and what its fused experts support. For widths it would
  raise in its own files, where Megatron's layers raise in theirs.
- Triton's kernels, streams, and the libraries behind the flex dispatcher do nothing.
- One expert stands for all of a rank, and plain attention for experimental ones. Embeddings, MTP
  layers and the output layer are not built; neither FSDP's wrappers nor an optimizer is made.
- Nothing is computed, so what only a step finds beyond the checks above is not found.
- The training script is no part of the release. The stages stand in the order that its functions
  need each other's results.

``BEYOND`` names the rules that nobody here can ask about. A configuration on which only they
differ is counted and shown; so is one that the profile warns about where the real one stops, and
one where both name one assertion by different lines of it.
"""

from __future__ import annotations

import ast
import copy
import io
import os
import random
import shlex
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module, metadata, util
from itertools import chain
from pathlib import Path, PurePath
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, patch

import pytest

from parsolve.cli.launching import launch
from parsolve.constraints.megatron import MEGATRON
from parsolve.constraints.profile import Config
from tests import near_valid_megatron as near
from tests.real.verdicts import predicted

VERSION = "0.19.2"
NEEDED = ("torch", "numpy", "packaging", "yaml", "einops", "typing_extensions")
ENGINE = "2.20.0"
BEYOND = frozenset({"heads-not-divisible-by-cp-exchange"})

SAID = (
    "--no-rope-fusion",
    "--no-persist-layer-norm",
    "--no-masked-softmax-fusion",
    "--position-embedding-type=rope",
)
"""What the profile has no field for: kernels that are not installed, and the usual positions."""

SIZES = {
    "tp_size": "get_tensor_model_parallel_world_size",
    "pp_size": "get_pipeline_model_parallel_world_size",
    "cp_size": "get_context_parallel_world_size",
    "ep_size": "get_expert_model_parallel_world_size",
    "expert_tp_size": "get_expert_tensor_parallel_world_size",
}


@dataclass
class Answer:
    """Where the real one raises, as ``file:line function``; else what follows."""

    place: str = ""
    message: str = ""
    derived: dict[str, Any] = field(default_factory=dict)


class _Reached(Exception):  # noqa: N818  (no error: the checks are behind us)
    pass


def installed() -> None:
    """Skip the test unless exactly this version can be asked."""
    missing = [name for name in NEEDED if util.find_spec(name) is None]
    found = "none"
    if util.find_spec("megatron") is not None:
        try:
            found = metadata.version("megatron-core")
        except metadata.PackageNotFoundError:
            if util.find_spec("megatron.core.package_info") is not None and not missing:
                found = import_module("megatron.core.package_info").__version__
    if found != VERSION:
        missing.insert(0, f"megatron-core {VERSION}, and {found} is installed")
    elif util.find_spec("megatron.training") is None:
        missing.insert(0, f"megatron.training of megatron-core {VERSION}")
    if missing:
        pytest.skip(f"needs {'; '.join(missing)}")


def _triton() -> None:
    """A module in Triton's place, for importing only."""
    if util.find_spec("triton") is not None:
        return
    asks = import_module("torch.utils._triton")
    asks.has_triton_package()
    asks.has_triton()
    for name in ("hints", "triton_compat"):
        import_module(f"torch._inductor.runtime.{name}")

    class Kernels(ModuleType):
        __path__: list[str] = []  # noqa: RUF012
        __version__ = "3.0.0"

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401
            if name.startswith("__"):
                raise AttributeError(name)
            if name == "jit":
                return lambda *args, **_: args[0] if args else (lambda kernel: kernel)
            if name in {"autotune", "heuristics"}:
                return lambda *_, **__: lambda kernel: kernel
            return MagicMock()

    for name in ("triton", "triton.language"):
        sys.modules[name] = Kernels(name)
    sys.modules["triton"].language = sys.modules["triton.language"]  # type: ignore[attr-defined]


@cache
def _real() -> SimpleNamespace:
    """Megatron's modules, and the parser of its command line."""
    typing: Any = import_module("typing")
    if not hasattr(typing, "override"):
        typing.override = import_module("typing_extensions").override
    _triton()
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        found = SimpleNamespace(
            torch=import_module("torch"),
            arguments=import_module("megatron.training.arguments"),
            objects=import_module("megatron.training.argument_utils"),
            training=import_module("megatron.training.training"),
            wrapper=import_module("megatron.core.distributed").DistributedDataParallel,
            state=import_module("megatron.core.parallel_state"),
            calculator=import_module("megatron.core.num_microbatches_calculator"),
            block=import_module("megatron.core.transformer.transformer_block"),
            layer=import_module("megatron.core.transformer.transformer_layer"),
            specs=import_module("megatron.core.models.gpt.gpt_layer_specs"),
            experts=import_module("megatron.core.transformer.moe.experts"),
            moe=import_module("megatron.core.transformer.moe.moe_layer"),
            backends=import_module("megatron.core.models.backends"),
            positions=[
                import_module(f"megatron.core.models.common.embeddings.{name}")
                for name in ("rotary_pos_embedding", "yarn_rotary_pos_embedding")
            ],
            dispatch=import_module("megatron.core.transformer.moe.token_dispatcher"),
            identity=import_module("megatron.core.transformer.identity_op").IdentityOp,
            schedules=import_module("megatron.core.pipeline_parallel.schedules"),
            mappings=import_module("megatron.core.tensor_parallel.mappings"),
            utils=import_module("megatron.core.utils"),
            store=import_module("torch.testing._internal.distributed.fake_pg").FakeStore,
        )
        argparse = import_module("argparse")
        parser = argparse.ArgumentParser(allow_abbrev=False)
        found.parser = found.arguments.add_megatron_arguments(parser)
    found.utils._te_version = import_module("packaging.version").Version(ENGINE)
    found.arguments._print_args = lambda *_: None
    for name in ("fused_dispatch", "set_deepep_num_sms", "hybrid_ep_dispatch", "nccl_ep_dispatch"):
        setattr(found.dispatch, name, MagicMock())
    for module in found.positions:  # a rank's share of them is looked up in pinned memory
        module.get_pos_emb_on_this_cp_rank = lambda positions, *_: positions
    import_module("logging").disable(50)
    return found


UNSAID = {
    "batch_invariant": (
        "--attention-backend=flash",
        "--flash-attention-version=3",
        "--attention-dropout=0.0",
    ),
    "single_grouped_weight": ("--use-transformer-engine-op-fuser",),
    "inference_optimized": ("--normalization=RMSNorm", "--moe-router-dtype=fp32"),
}
"""What some values ask for beside themselves, which the profile has no field for."""


def words(config: Config) -> list[str]:
    """The arguments of the launch line that we print."""
    derived = MEGATRON.derive(config.values)
    line = launch(MEGATRON, config.as_dict(), derived).partition("; also set ")[0]
    also = (
        word
        for name, value in config.as_dict().items()
        for word in UNSAID.get(
            value if isinstance(value, str) else name if value is True else "", ()
        )
    )
    return [*SAID, *also, *shlex.split(line.partition("pretrain_gpt.py")[2])]


@contextmanager
def _surroundings(values: Mapping[str, Any]) -> Iterator[None]:
    """The GPU and the environment of the job."""
    real = _real()
    capability = values["compute_capability"]
    connections = values["cuda_device_max_connections"]
    told = {} if connections is None else {"CUDA_DEVICE_MAX_CONNECTIONS": str(connections)}
    cuda = real.torch.cuda
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ))
        os.environ.pop("CUDA_DEVICE_MAX_CONNECTIONS", None)
        os.environ.update(told)
        for module, name, value in (
            (real.arguments, "get_device_arch_version", lambda: capability),
            (cuda, "get_device_capability", lambda *_: (capability, 0)),
            (cuda, "current_device", lambda: real.torch.device("meta")),
            (cuda, "Stream", MagicMock),
            (cuda, "Event", MagicMock),
        ):
            stack.enter_context(patch.object(module, name, value))
        stack.enter_context(redirect_stdout(io.StringIO()))
        yield


def asked(given: Mapping[str, Any]) -> Answer:
    """What the real one says."""
    config = MEGATRON.config(given)
    values = config.as_dict(everything=True)
    answer = Answer()
    with _surroundings(values):
        try:
            _visit(config, values, answer)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (whatever stops Megatron)
            answer.place, answer.message = _raised(error), f"{type(error).__name__}: {error}"
            answer.derived = {}
        finally:
            _leave()
    return answer


def _visit(config: Config, values: Mapping[str, Any], answer: Answer) -> None:
    """Every stage in turn, until one raises."""
    real = _real()
    args = _parsed(config, values["world_size"])
    real.arguments.validate_args(args, {})
    real.calculator.init_num_microbatches_calculator(
        rank=args.rank,
        global_batch_size=args.global_batch_size,
        micro_batch_size=args.micro_batch_size,
        data_parallel_size=args.data_parallel_size * args.gtp_weight_remat_size,
        decrease_batch_size_if_needed=args.decrease_batch_size_if_needed,
        step_batch_size_schedule=args.step_batch_size_schedule,
        seq_length=args.seq_length,
    )
    made = real.arguments.core_transformer_config_from_args(args)
    _container(args, made)
    _groups(args)
    layers = _layers(made)
    if any(count > 0 for row in layers for count in row):
        _layer(made)
    _wrap(args, made)
    _step(args, made)
    replicas = real.state.get_data_parallel_world_size
    answer.derived = {
        "layers_per_stage": layers,
        "microbatches": real.calculator.get_num_microbatches(),
        "global_batch": real.calculator.get_current_running_global_batch_size(),
        "virtual_stages": args.virtual_pipeline_model_parallel_size or 1,
        "sequence_parallel": args.sequence_parallel,
        "data_parallel_size": replicas(with_gtp_remat=False),
        "dp_cp_size": replicas(with_gtp_remat=False, with_context_parallel=True),
        "shard_group_size": replicas(
            with_gtp_remat=False, with_context_parallel=True, partial_data_parallel=True
        ),
        "expert_data_parallel_size": real.state.get_expert_data_parallel_world_size(
            with_gtp_remat=False
        ),
        "ep_group_size": real.state.get_expert_tensor_and_model_parallel_world_size(),
        **{name: getattr(real.state, getter)() for name, getter in SIZES.items()},
    }


def _parsed(config: Config, world: int) -> Any:  # noqa: ANN401
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            args = _real().parser.parse_args(words(config))
    except SystemExit as error:
        raise ValueError(said.getvalue().strip().splitlines()[-1]) from error
    args._is_global_batch_size_explicitly_specified = args.global_batch_size is not None
    args.rank, args.world_size = 0, world
    return args


def _groups(args: Any) -> None:  # noqa: ANN401
    """Process groups as ``initialize_megatron`` asks for them; those without rank 0 are empty."""
    real = _real()
    distributed = real.torch.distributed
    new_group = distributed.new_group
    distributed.init_process_group("fake", store=real.store(), rank=0, world_size=args.world_size)

    def grouped(ranks: list[int], **told: Any) -> Any:  # noqa: ANN401
        if 0 not in ranks:
            return distributed.GroupMember.NON_GROUP_MEMBER
        return new_group(ranks, group_desc=told.get("group_desc"))

    with patch.object(distributed, "new_group", grouped):
        real.state.initialize_model_parallel(
            args.tensor_model_parallel_size,
            args.pipeline_model_parallel_size,
            args.virtual_pipeline_model_parallel_size,
            pipeline_model_parallel_comm_backend=args.pipeline_model_parallel_comm_backend,
            use_sharp=args.use_sharp,
            gtp_remat_size=args.gtp_weight_remat_size,
            expert_gtp_remat_size=args.expert_gtp_weight_remat_size,
            context_parallel_size=args.context_parallel_size,
            hierarchical_context_parallel_sizes=args.hierarchical_context_parallel_sizes,
            hybrid_context_parallel=args.hybrid_context_parallel,
            expert_model_parallel_size=args.expert_model_parallel_size,
            num_distributed_optimizer_instances=args.num_distributed_optimizer_instances,
            expert_tensor_parallel_size=args.expert_tensor_parallel_size,
            order="tp-cp-ep-pp-dp" if args.use_tp_pp_dp_mapping else "tp-cp-ep-dp-pp",
            create_gloo_process_groups=args.use_gloo_process_groups,
        )


def _leave() -> None:
    """No groups and no calculator any more."""
    real = _real()
    real.state.destroy_model_parallel()
    if real.torch.distributed.is_initialized():
        real.torch.distributed.destroy_process_group()
    real.calculator.destroy_num_microbatches_calculator()


def _layers(made: Any) -> list[list[int]]:  # noqa: ANN401
    """Layers of every pipeline rank, chunk by chunk."""
    real = _real()
    chunks = made.virtual_pipeline_model_parallel_size
    rows = []
    for rank in range(made.pipeline_model_parallel_size):
        real.state.set_pipeline_model_parallel_rank(rank)
        rows.append(
            [
                real.block.get_num_layers_to_build(made, vp_stage=chunk, pp_rank=rank)
                for chunk in (range(chunks) if chunks else [None])
            ]
        )
    real.state.set_pipeline_model_parallel_rank(None)
    return rows


def _layer(made: Any) -> None:  # noqa: ANN401
    """One layer, without memory; one expert stands for all of a rank."""
    real = _real()
    made = copy.copy(made)
    made.gradient_accumulation_fusion = False
    made.perform_initialization = made.use_cpu_initialization = False
    engine = made.transformer_impl == "transformer_engine"
    whole, grouped = real.experts.SequentialMLP, real.experts.TEGroupedMLP

    def experts(_: int, *args: Any, **told: Any) -> Any:  # noqa: ANN401
        if engine and made.moe_grouped_gemm:
            size = told["pg_collection"].expt_tp.size()
            told["submodules"] = real.experts.GroupedMLPSubmodules(
                linear_fc1=lambda _, __, wide, **___: real.utils.divide(wide, size),
                linear_fc2=lambda _, wide, __, **___: real.utils.divide(wide, size),
            )
            return grouped(1, *args, **told)
        return whole(1, *args, **told)

    with (
        patch.object(real.backends, "SequentialMLP", experts),
        patch.object(grouped, "_is_fused_impl_supported", lambda _: True),
        _weightless(),
        real.torch.device("meta"),
    ):
        parts = real.specs.get_gpt_layer_local_submodules(
            made.num_moe_experts,
            made.moe_grouped_gemm,
            made.qk_layernorm,
            made.multi_latent_attention,
            normalization=made.normalization,
        )
        parts.input_layernorm = parts.pre_mlp_layernorm = real.identity
        if made.transformer_impl != "local":
            parts.self_attention.submodules.core_attention = real.identity
        real.layer.TransformerLayer(made, parts, layer_number=1, add_layer_offset=False)


@contextmanager
def _weightless() -> Iterator[None]:
    """Tensors that are asked for on a GPU take no memory."""
    torch = _real().torch
    zeros = torch.zeros

    def nothing(*size: Any, **told: Any) -> Any:  # noqa: ANN401
        return zeros(*size, **{**told, "device": "meta"})

    with patch.object(torch, "zeros", nothing):
        yield


def _container(args: Any, made: Any) -> None:  # noqa: ANN401
    """Every other configuration object; the optimizer's looks at Transformer Engine's Adam."""

    def adam(
        *_: object,
        master_weight_dtype: object = None,
        exp_avg_dtype: object = None,
        exp_avg_sq_dtype: object = None,
        use_decoupled_grad: object = None,
    ) -> None:
        pass

    path = ("transformer_engine", "pytorch", "optimizers")
    names = [".".join(path[:end]) for end in (1, 2, 3)]
    with patch.dict(sys.modules, {name: MagicMock(FusedAdam=adam) for name in names}):
        _real().objects.pretrain_cfg_container_from_args(args, made)


def _wrap(args: Any, made: Any) -> None:  # noqa: ANN401
    """The wrapper for data parallelism around one dense and one expert weight."""
    real = _real()
    if args.use_torch_fsdp2 or args.use_megatron_fsdp:
        return
    torch = real.torch
    module = torch.nn.Module()
    for name in ("dense", "expert") if made.num_moe_experts else ("dense",):
        weight = torch.nn.Parameter(torch.empty(8, 8, device="meta", dtype=args.params_dtype))
        if name == "expert":
            weight.allreduce = False
        setattr(module, name, weight)
    with _weightless():
        real.wrapper(made, real.training.get_megatron_ddp_config(args), module)


def _step(args: Any, made: Any) -> None:  # noqa: ANN401
    """What a step checks before anything is computed."""
    real = _real()
    torch, state = real.torch, real.state
    if args.virtual_pipeline_model_parallel_size:
        chunk = torch.nn.Module()
        chunk.config = copy.copy(made)
        chunks = [chunk] * args.virtual_pipeline_model_parallel_size

        def reached(*_: Any, **__: Any) -> None:  # noqa: ANN401
            raise _Reached

        with (
            _weightless(),
            patch.object(real.schedules, "get_model_type", reached),
            suppress(_Reached),
        ):
            real.schedules.forward_backward_pipelining_with_interleaving(
                forward_step_func=reached,
                data_iterator=[None] * len(chunks),
                model=chunks,
                num_microbatches=real.calculator.get_num_microbatches(),
                seq_length=args.seq_length,
                micro_batch_size=args.micro_batch_size,
            )
    if args.sequence_parallel:
        real.mappings.scatter_to_sequence_parallel_region(
            torch.empty(args.seq_length // args.context_parallel_size, 1, 1, device="meta"),
            group=state.get_tensor_model_parallel_group(),
        )
    if made.num_moe_experts:
        layer = _Layer(made, state.get_tensor_model_parallel_group())
        with suppress(_Reached):
            real.moe.MoELayer.forward(layer, torch.empty(1, 1, 1, device="meta"))


class _Layer:
    """As much of an MoE layer as its first check reads."""

    training = True

    def __init__(self, config: object, group: object) -> None:
        self.config = config
        self.attn_tp_group = group

    def __getattr__(self, name: str) -> object:
        raise _Reached(name)


def _raised(error: BaseException) -> str:
    """Where Megatron raised: the last frame of its own."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        parts = PurePath(frame.filename).parts
        if "megatron" in parts and "tests" not in parts:
            file = "/".join(parts[len(parts) - 1 - parts[::-1].index("megatron") :])
            return f"{file}:{frame.lineno} {frame.name}"
    return "".join(traceback.format_exception(error))


MODEL = {
    "num_hidden_layers": 8,
    "num_attention_heads": 48,
    "hidden_size": 3072,
    "intermediate_size": 12288,
    "seq_length": 12288,
    "micro_batch": 1,
}
"""A model for examples, which state only what their rule reads."""


def completed(given: Mapping[str, Any]) -> dict[str, Any]:
    """An example, with the model that Megatron wants to be told."""
    made = {"world_size": 8, **MODEL, **given}
    if made.get("model_kind") == "moe":
        made.setdefault("num_experts", 48)
    if not (made.get("torch_fsdp2") or made.get("megatron_fsdp")):
        made.setdefault("cuda_device_max_connections", 1)
    return made


def examples() -> Iterator[dict[str, Any]]:
    """What each rule rejects, and what to use instead."""
    for rule in MEGATRON.rules:
        yield completed(rule.example.rejects)
        yield completed(rule.example.instead)


RARE: tuple[dict[str, Any], ...] = (
    {"transformer_impl": "local"},
    {"attention_variant": "dsa"},
    {"batch_invariant": True},
    {"single_grouped_weight": True},
)
"""What the generator leaves alone, since it asks for arguments that the profile does not have."""


def drawn(rng: random.Random) -> dict[str, Any]:
    """A configuration near a valid one; most are disturbed further, some by a rule's example."""
    given = near.drawn(rng)
    if rng.random() < 0.05:
        given |= rng.choice(RARE)
    if rng.random() < 0.25:
        example = rng.choice(MEGATRON.rules).example
        given |= rng.choice((example.rejects, example.instead))
        given.pop("head_dim", None)
        if given["model_kind"] == "moe":
            given.setdefault("num_experts", 8)
        else:
            given = {name: value for name, value in given.items() if name != "num_experts"}
    for _ in range(rng.choice((0, 0, 0, 1, 2, 4))):
        near._disturb(rng, given)
    return given


@cache
def _assertions(file: str) -> Mapping[int, int]:
    """Lines of assertions, and the line that each begins on."""
    root = PurePath(_real().state.__file__).parents[2]
    tree = ast.parse(Path(root / file).read_text(encoding="utf-8"))
    return {
        line: node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Assert)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def begun(place: str) -> str:
    """A place, with the line that its assertion begins on.

    Versions of Python disagree on the line of an assertion that has several.
    """
    where, _, function = place.partition(" ")
    file, _, line = where.rpartition(":")
    if not file.startswith("megatron/") or not line.isdecimal():
        return place
    return f"{file}:{_assertions(file).get(int(line), line)} {function}"


def announced(given: Mapping[str, Any], place: str) -> str:
    """The warning that says that Megatron stops here; nothing if none does."""
    for index in MEGATRON.warned(MEGATRON.config(given).values):
        warning = MEGATRON.warnings[index]
        source = warning.source
        if not warning.launchable and source is not None:
            places = (f"{source.file}:{line} {source.function}" for line in source.lines)
            if begun(place) in map(begun, places):
                return warning.id
    return ""


def rule_stage(identity: str) -> str:
    """Where a rule of the profile refuses."""
    return next(rule.stage for rule in MEGATRON.rules if rule.id == identity)


def derived(given: Mapping[str, Any]) -> dict[str, Any]:
    """What the profile derives."""
    values = MEGATRON.config(given).values
    known = {**MEGATRON.filled(values), **MEGATRON.derive(values), **MEGATRON.lists_of(values)}
    return {**dict(zip(MEGATRON.index_of, values, strict=True)), **known}


@dataclass
class Comparison:
    """What fresh configurations showed."""

    asked: int = 0
    accepted: int = 0
    places: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)
    beyond: Counter[str] = field(default_factory=Counter)
    announced: Counter[str] = field(default_factory=Counter)
    within: Counter[str] = field(default_factory=Counter)
    differences: list[dict[str, Any]] = field(default_factory=list)

    def __str__(self) -> str:
        rules = {rule.id for rule in MEGATRON.rules}
        missed = sorted(rules - self.met.keys())
        return "\n".join(
            (
                f"megatron-core {VERSION}: {self.asked} configurations, {self.accepted} accepted",
                f"{self.asked - self.accepted} refused at {len(self.places)} places",
                f"{len(self.differences)} differ",
                f"{self.beyond.total()} that only Transformer Engine judges: {dict(self.beyond)}",
                f"{self.announced.total()} refused as a warning says: {dict(self.announced)}",
                f"{self.within.total()} on another line of one assertion: {dict(self.within)}",
                f"{len(rules) - len(missed)} of {len(rules)} rules met; not {missed}",
            )
        )


def fresh(seed: int, show: Callable[[str], object] = sys.stdout.write) -> Comparison:
    """Every rule's examples, configurations never seen before, and each difference when met.

    ``PARSOLVE_FRESH`` says how many are drawn.
    """
    rng = random.Random(seed)
    found = Comparison()
    count = int(os.environ.get("PARSOLVE_FRESH", "1000"))
    for given in chain(examples(), (drawn(rng) for _ in range(count))):
        known = len(found.differences)
        compare(given, found)
        for difference in found.differences[known:]:
            show(f"{difference}\n")
    show(f"seed {seed}; {found}\n")
    return found


def compare(given: dict[str, Any], found: Comparison) -> None:
    """One configuration, asked of both."""
    answer = asked(given)
    found.asked += 1
    rule, places = predicted(MEGATRON, given)
    found.met[rule] += 1
    if answer.place:
        found.places[answer.place] += 1
        if answer.place in places:
            return
        stop = announced(given, answer.place)
        if stop and (not rule or rule_stage(rule) == "first-step"):
            found.announced[stop] += 1
        elif begun(answer.place) in map(begun, places):
            found.within[f"{rule}: {answer.place}"] += 1
        else:
            found.differences.append(
                {"given": given, "ours": (rule, *places), "real": (answer.place, answer.message)}
            )
        return
    found.accepted += 1
    if rule in BEYOND:
        found.beyond[rule] += 1
    elif rule:
        found.differences.append({"given": given, "ours": (rule, *places), "real": "accepted"})
    known = derived(given)
    unlike = {
        name: (known.get(name), value)
        for name, value in answer.derived.items()
        if known.get(name) != value
    }
    if unlike:
        found.differences.append({"given": given, "ours and real": unlike})


def main() -> int:
    """Ask, and show what differs; the argument is the seed."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(10**9)
    return bool(fresh(seed).differences)


if __name__ == "__main__":
    sys.exit(main())
