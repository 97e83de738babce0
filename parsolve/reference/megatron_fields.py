"""The validator of `megatron.py`, asked about a profile's fields one by one.

What Megatron calls otherwise or takes as several arguments is put together here; no rule stands
here. Lists and texts are left out: a layout of the pipeline, the levels of hierarchical context
parallelism, and the modules that are recomputed.
"""

from __future__ import annotations

from parsolve.reference.megatron import STEPS, Config, _layers_of, _Run

EXCHANGES = ("p2p", "a2a", "all_gather", "allgather", "a2a+p2p")


def validate(
    *,
    world_size: int,
    compute_capability: int,
    cuda_device_max_connections: int | None,
    tp_size: int,
    pp_size: int,
    cp_size: int,
    ep_size: int,
    expert_tp_size: int | None,
    sequence_parallel: bool,
    weight_shards: int | None,
    expert_weight_shards: int | None,
    cp_comm_type: str,
    hybrid_cp: bool,
    tp_pp_dp_order: bool,
    virtual_stages: int | None,
    layers_per_virtual_stage: int | None,
    first_stage_layers: int | None,
    last_stage_layers: int | None,
    account_for_embedding: bool,
    account_for_loss: bool,
    microbatch_group_size: int | None,
    overlap_p2p: bool,
    defer_embedding_wgrad: bool,
    micro_batch: int | None,
    requested_global_batch: int | None,
    decrease_batch: bool,
    eval_micro_batch: int | None,
    eval_global_batch: int | None,
    seq_length: int,
    max_position_embeddings: int | None,
    calculate_per_token_loss: bool,
    dataloader_type: str,
    optimizer: str,
    distributed_optimizer: bool,
    optimizer_instances: int,
    overlap_grad_reduce: bool,
    overlap_param_gather: bool,
    overlap_param_gather_with_step: bool,
    precision_aware_optimizer: bool,
    optimizer_offload: bool,
    gloo: bool,
    torch_fsdp2: bool,
    megatron_fsdp: bool,
    sharding_strategy: str,
    meta_device_init: bool,
    weight_hash_check: int | None,
    ckpt_format: str,
    gradient_accumulation_fusion: bool,
    freeze_all_layers: bool,
    precision: str,
    recompute: str,
    recompute_method: str,
    recompute_num_layers: int | None,
    distribute_saved_activations: bool,
    cpu_offloading_layers: int | None,
    tp_comm_overlap: bool,
    model_kind: str,
    num_experts: int | None,
    num_experts_per_tok: int | None,
    moe_intermediate_size: int | None,
    router_score: str,
    router_pre_softmax: bool,
    load_balancing: str,
    router_groups: int | None,
    router_group_topk: int | None,
    dispatcher: str,
    flex_backend: str,
    overlap_ep: bool,
    delay_wgrad: bool,
    early_attention_release: bool,
    shared_expert_overlap: bool,
    grouped_gemm: bool,
    num_hidden_layers: int,
    hidden_size: int,
    num_attention_heads: int,
    num_key_value_heads: int | None,
    head_dim: int | None,
    intermediate_size: int | None,
    shared_intermediate_size: int | None,
    mtp_layers: int | None,
    mla: bool,
    bias_linear: bool,
    untie_embeddings: bool,
    attention_variant: str,
    linear_attention_freq: int | None,
    linear_key_heads: int | None,
    linear_value_heads: int | None,
    transformer_impl: str,
) -> None:
    """Return for what Megatron takes up to and including the first step.

    Sizes count ranks; `seq_length` and `max_position_embeddings` count tokens. Raises the refusal
    of `megatron.py`: its rule, the place that raises, and the numbers.
    """
    exchange = "another"
    for known in EXCHANGES:
        if cp_comm_type == known:
            exchange = known
    run = _Run(
        Config(
            world_size=world_size,
            device_arch_version=compute_capability,
            cuda_device_max_connections=cuda_device_max_connections,
            tensor_model_parallel_size=tp_size,
            pipeline_model_parallel_size=pp_size,
            context_parallel_size=cp_size,
            expert_model_parallel_size=ep_size,
            expert_tensor_parallel_size=expert_tp_size,
            sequence_parallel=sequence_parallel,
            tensor_parallel_num_weight_shards=weight_shards,
            expert_tensor_parallel_num_weight_shards=expert_weight_shards,
            hybrid_context_parallel=hybrid_cp,
            use_tp_pp_dp_mapping=tp_pp_dp_order,
            num_virtual_stages_per_pipeline_rank=virtual_stages,
            num_layers_per_virtual_pipeline_stage=layers_per_virtual_stage,
            decoder_first_pipeline_num_layers=first_stage_layers,
            decoder_last_pipeline_num_layers=last_stage_layers,
            account_for_embedding_in_pipeline_split=account_for_embedding,
            account_for_loss_in_pipeline_split=account_for_loss,
            microbatch_group_size_per_vp_stage=microbatch_group_size,
            overlap_p2p_comm=overlap_p2p,
            defer_embedding_wgrad_compute=defer_embedding_wgrad,
            global_batch_size=requested_global_batch,
            decrease_batch_size_if_needed=decrease_batch,
            eval_micro_batch_size=eval_micro_batch,
            eval_global_batch_size=eval_global_batch,
            seq_length=seq_length,
            calculate_per_token_loss=calculate_per_token_loss,
            dataloader_type=dataloader_type,
            optimizer=optimizer,
            use_distributed_optimizer=distributed_optimizer,
            num_distributed_optimizer_instances=optimizer_instances,
            overlap_grad_reduce=overlap_grad_reduce,
            overlap_param_gather=overlap_param_gather,
            overlap_param_gather_with_optimizer_step=overlap_param_gather_with_step,
            use_precision_aware_optimizer=precision_aware_optimizer,
            optimizer_cpu_offload=optimizer_offload,
            use_gloo_process_groups=gloo,
            use_torch_fsdp2=torch_fsdp2,
            use_megatron_fsdp=megatron_fsdp,
            data_parallel_sharding_strategy=sharding_strategy,
            init_model_with_meta_device=meta_device_init,
            check_weight_hash_across_dp_replicas_interval=weight_hash_check,
            ckpt_format=ckpt_format,
            gradient_accumulation_fusion=gradient_accumulation_fusion,
            freeze_all_layers=freeze_all_layers,
            recompute_num_layers=recompute_num_layers,
            distribute_saved_activations=distribute_saved_activations,
            tp_comm_overlap=tp_comm_overlap,
            num_experts=None if model_kind == "dense" else num_experts,
            moe_router_topk=2 if num_experts_per_tok is None else num_experts_per_tok,
            moe_ffn_hidden_size=moe_intermediate_size,
            moe_router_score_function=router_score,
            moe_router_pre_softmax=router_pre_softmax,
            moe_router_load_balancing_type=load_balancing,
            moe_router_num_groups=router_groups,
            moe_router_group_topk=router_group_topk,
            moe_token_dispatcher_type=dispatcher,
            moe_flex_dispatcher_backend=flex_backend,
            overlap_moe_expert_parallel_comm=overlap_ep,
            delay_wgrad_compute=delay_wgrad,
            ep_overlap_early_attn_memory_release=early_attention_release,
            moe_shared_expert_overlap=shared_expert_overlap,
            moe_grouped_gemm=grouped_gemm,
            num_layers=num_hidden_layers,
            hidden_size=hidden_size,
            num_attention_heads=num_attention_heads,
            num_query_groups=num_key_value_heads,
            kv_channels=head_dim,
            ffn_hidden_size=intermediate_size,
            moe_shared_expert_intermediate_size=shared_intermediate_size,
            mtp_num_layers=mtp_layers,
            multi_latent_attention=mla,
            add_bias_linear=bias_linear,
            untie_embeddings_and_output_weights=untie_embeddings,
            transformer_impl=transformer_impl,
            micro_batch_size=1 if micro_batch is None else micro_batch,
            max_position_embeddings=(
                seq_length if max_position_embeddings is None else max_position_embeddings
            ),
            bf16=precision == "bf16",
            fp16=precision == "fp16",
            recompute_granularity=None if recompute == "none" else recompute,
            recompute_method=None if recompute_method == "none" else recompute_method,
            cp_comm_type=(exchange,),
            experimental_attention_variant=(
                None if attention_variant == "none" else attention_variant
            ),
            cpu_offloading_num_layers=(
                0 if cpu_offloading_layers is None else cpu_offloading_layers
            ),
            linear_attention_freq=linear_attention_freq,
            linear_num_key_heads=16 if linear_key_heads is None else linear_key_heads,
            linear_num_value_heads=32 if linear_value_heads is None else linear_value_heads,
            apply_rope_fusion=False,
            position_embedding_type="rope",
        )
    )
    for name, step in STEPS.items():
        (_layers if name == "layers" else step)(run)


def _layers(run: _Run) -> None:
    """The layers of the ranks that may differ from others: the first, a middle one, the last."""
    last_rank = run.config.pipeline_model_parallel_size - 1
    last_stage = 0 if run.virtual is None else run.virtual - 1
    middle = 1 if last_rank > 1 else 0
    run.layers_per_stage = (
        (_layers_of(run, 0, 0), _layers_of(run, 0, last_stage)),
        (_layers_of(run, middle, 0),),
        (_layers_of(run, last_rank, 0), _layers_of(run, last_rank, last_stage)),
    )
