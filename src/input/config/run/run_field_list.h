/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The options of a run, one row each (see input/config/fields/field.h). AT(run.X) is a member of
 * ms_run_config, which a resolved run keeps; AT(X) is a member of ms_run_draft only. Reports list
 * options in the order of the rows.
 */
#ifndef MS_INPUT_CONFIG_RUN_RUN_FIELD_LIST_H
#define MS_INPUT_CONFIG_RUN_RUN_FIELD_LIST_H

/* clang-format off */
#define MS_RUN_FIELD_LIST(X) \
    X("config", "NAME", "built-in model, config.json, run file, directory, or - for stdin", NULL, \
      "Model", file, AT(config)) \
    X("family", "FILE", "a text that describes a family of models, for model types of your own", "none", \
      "Model", file, AT(family), .default_is_words = true) \
    X("families", "DIR", "a folder of such texts, named MODEL_TYPE.family", "$MEMSCOPE_FAMILIES, or memscope/families of the user's settings", \
      "Model", file, AT(families), .default_is_words = true) \
    X("training-args", "FILE", \
      "TrainingArguments, or a file of accelerate, DeepSpeed, axolotl, LLaMA-Factory, torchtune " \
      "or torchtitan", "none", \
      "Training", file, AT(training_args), .default_is_words = true, .added_after = '\n') \
    X("launch", "TEXT", \
      "the command that launches the training, as typed, or @FILE, a shell script; nothing is run", NULL, \
      "Training", launch, AT(launch), .added_after = ' ') \
    X("ignore-sharding", NULL, \
      "predict one device that holds everything, even if the training arguments shard", NULL, \
      "Training", flag, AT(ignore_sharding)) \
    X("assume", "LIST", \
      "keys of the training arguments to treat as harmless to memory, e.g. qat=harmless,rl=harmless", \
      "none", "Training", word, AT(assume), .default_is_words = true) \
    X("assume-version", "LIST", \
      "framework versions that the training arguments are for, e.g. accelerate=1.10", \
      "as reports name them", "Training", word, AT(assume_version), .default_is_words = true) \
    X("batch", "N", "sequences per micro-batch", "1", \
      "Training", count, AT(run.batch), .minimum = 1, .maximum = 1 << 20, .report = "batch") \
    X("seq", "N", "tokens per sequence", "2048", \
      "Training", tokens, AT(run.seq_tokens), .minimum = 2, .maximum = 1 << 24, \
      .default_is_words = true, .report = "seq") \
    X("source-length", "N", "tokens per sequence of the encoder, for encoder-decoder models", \
      "same as --seq", \
      "Training", tokens, AT(run.source_tokens), .minimum = 2, .maximum = 1 << 24, \
      .default_is_words = true, .report = "source_length", .show_report = show_source) \
    X("padding", "ANSWER", \
      "whether batches have padded sequences: no (no attention mask), ones (a mask of ones), yes, " \
      "or unknown: the one that needs more", "no", \
      "Training", choice, AT(run.padding.given), .choices = ms_padding_names, .report = "padding", \
      .show_report = show_padding) \
    X("documents", "N", \
      "documents packed into a row and kept apart by their positions, as TRL packs them, or none", \
      "none", \
      "Training", some, AT(run.documents), .minimum = 2, .maximum = 1 << 24, \
      .report = "documents", .show_report = show_documents) \
    X("images", "N", "images in each sequence, for a model with a vision tower, or none", "none", \
      "Training", some, AT(run.images.count), .minimum = 1, .maximum = 1 << 12, \
      .report = "images", .show_report = show_images) \
    X("image-size", "WxH", "width and height of each image in pixels", "that of the model, if it has one", \
      "Training", sides, AT(run.images.sides), .maximum = 1 << 14, .default_is_words = true, \
      .report = "image_size", .show_report = show_image_size) \
    X("freeze-vision", "YESNO", "do not train the vision tower", "no", \
      "Training", answer, AT(run.images.frozen), .report = "freeze_vision", \
      .show_report = show_freeze_vision) \
    X("dtype", "TYPE", "type of the weights: bf16, fp16 or fp32", "bf16", \
      "Training", type, AT(run.dtype), .choices = ms_dtype_weight_names, .synonyms = types, \
      .report = "dtype", .show_report = ms_show_dtype) \
    X("autocast", "TYPE", "none, bf16 or fp16", "none", \
      "Training", type, AT(run.autocast), .choices = ms_autocast_names, .synonyms = types, \
      .report = "autocast") \
    X("optimizer", "NAME", "adamw, sgd, adafactor, muon, lion, adamw-8bit, ...", "adamw", \
      "Training", choice, AT(run.training.optimizer), .choices = ms_optimizer_names, \
      .synonyms = optimizers, .report = "optimizer") \
    X("optimizer-impl", "NAME", "fused, foreach or loop", "the usual one", \
      "Training", choice, AT(run.training.optimizer_impl), .choices = ms_optimizer_impl_names, \
      .default_is_words = true, .report = "optimizer_impl") \
    X("optimizer-in-backward", "YESNO", \
      "update each parameter as soon as its gradient is ready", "no", \
      "Training", answer, AT(run.training.optimizer_in_backward), .report = "optimizer_in_backward") \
    X("optimizer-device", "PLACE", \
      "where optimizer states are kept and updated: device or host", "device", \
      "Training", choice, AT(run.training.optimizer_device), .choices = ms_place_names, \
      .report = "optimizer_device") \
    X("parameter-device", "PLACE", \
      "where the layers' parameters are kept: device or host", "device", \
      "Training", choice, AT(run.parameter_device), .choices = ms_place_names, \
      .report = "parameter_device") \
    X("build", "PLACE", \
      "where the model is built: device; host, from where it moves; host-base, with the adapter on " \
      "the device; device-map, loaded onto it; with FSDP also meta, or broadcast by rank 0", \
      "device; with FSDP meta; with FSDP1 and tied weights host", "Training", choice, \
      AT(run.parallel.build), .choices = ms_build_names, .default_is_words = true, \
      .report = "build", .show_report = ms_show_build) \
    X("weight-decay", "X", "0 or more", "0.01 for adamw, else 0", \
      "Training", number, AT(run.training.weight_decay), .default_is_words = true, \
      .report = "weight_decay") \
    X("accumulate", "N", "micro-batches per optimizer step", "1", \
      "Training", count, AT(run.training.accumulate), .minimum = 1, .maximum = 1 << 12, \
      .report = "accumulate") \
    X("loop", "KIND", \
      "loop around the step: fixed (one batch stays), loader (a new batch for each micro-step) or " \
      "trainer (transformers' Trainer)", "fixed", \
      "Training", choice, AT(run.training.loop), .choices = ms_loop_names, .report = "loop", \
      .show_report = show_loop) \
    X("loss", "KIND", \
      "head and loss: the model's own, trl (TRL's SFTTrainer: in tiles, never all " \
      "logits), cut-cross-entropy (kernels that make no logits) or torchtune (in eight pieces, whose " \
      "log-probabilities are kept)", "model", \
      "Training", choice, AT(run.training.loss), .choices = ms_loss_names, .report = "loss", \
      .show_report = show_loss) \
    X("labels", "N", \
      "tokens of a micro-batch that have a label, for --loss trl or cut-cross-entropy (none: as many as possible)", \
      "none", \
      "Training", some, AT(run.training.labels), .minimum = 1, .maximum = (uint64_t)1 << 40, \
      .report = "labels", .show_report = show_labels) \
    X("grad-accumulation-dtype", "TYPE", \
      "type of accumulated gradients: same as the parameter, or fp32", "same", \
      "Training", choice, AT(run.training.accumulation), .choices = ms_accumulation_names, \
      .synonyms = types, .report = "grad_accumulation_dtype") \
    X("clip", "X", "maximum gradient norm, or none", "none", \
      "Training", above, AT(run.training.clip_norm), .report = "clip") \
    X("label-smoothing", "X", "label smoothing in Trainer's loss, 0 to 1", "0", \
      "Training", number, AT(run.training.label_smoothing), .maximum = 1, .report = "label_smoothing") \
    X("liger", "NAMES", "Liger kernels: none, all, or any of rope+rms-norm+swiglu+loss", "none", \
      "Training", liger, AT(run.liger), .report = "liger", .show_report = show_liger, \
      .examples = MS_CONFIG_LIST("none", "all", "rope+rms-norm+swiglu", "loss")) \
    X("logits-to-keep", "N", \
      "compute head and loss on the last N tokens of each sequence, or none", "none", \
      "Training", some, AT(run.training.logits_to_keep), .minimum = 2, .maximum = 1 << 24, \
      .report = "logits_to_keep") \
    X("empty-cache-steps", "N", "empty the allocator's cache every N-th step, or none", "none", \
      "Training", some, AT(run.training.empty_cache_steps), .minimum = 1, .maximum = UINT32_MAX, \
      .report = "empty_cache_steps") \
    X("eval-batch", "N", "sequences per batch in an evaluation between steps, or none", "none", \
      "Training", some, AT(run.training.eval_batch), .minimum = 1, .maximum = 1 << 20, \
      .report = "eval_batch") \
    X("eval-logits", "N", "batches of logits that an evaluation keeps on the device, or none", "none", \
      "Training", some, AT(run.training.eval_logits), .minimum = 1, .maximum = 1 << 12, \
      .report = "eval_logits") \
    X("checkpointing", "SPEC", "layers: none, all, first:8, last:4, every:2 or 0,2,5-9", "none", \
      "Training", layers, AT(run.checkpointing), .report = "checkpointing", \
      .examples = MS_CONFIG_LIST("none", "all")) \
    X("treat", "SPEC", \
      "treatments by layer, e.g. 0-7=checkpoint,8-31=offload:0.5,loss=chunk:8", "none", \
      "Training", treat, AT(run.treat), .report = "treat") \
    X("adapter", "FILE", "an adapter_config.json of PEFT: train only the adapter", "none", \
      "Training", file, AT(adapter), .default_is_words = true, .report = "adapter", \
      .show_report = show_adapter) \
    X("lora", "SPEC", \
      "a LoRA adapter in short form, e.g. r=16,targets=all-linear,dropout=0.05", "none", \
      "Training", lora, AT(lora)) \
    X("adapter-dtype", "TYPE", \
      "type of the adapter's weights: fp32, bf16 or fp16", \
      "fp32 if the model is in half precision", \
      "Training", type, AT(adapter_dtype), .choices = ms_dtype_weight_names, .synonyms = types, \
      .default_is_words = true) \
    X("quantize", "KIND", \
      "quantised type of the frozen base, e.g. nf4:double, int8, gptq:4:128 or fp8-block", \
      "as in the config", \
      "Training", quantize, AT(run.quantization), .default_is_words = true, .report = "quantize", \
      .show_report = show_quantize, \
      .examples = MS_CONFIG_LIST("none", "nf4", "fp4", "nf4:double", "fp4:double", \
                                 "nf4:double:bf16", "int8", "gptq:4:128", "awq:4:128", "fp8-block", "mxfp4")) \
    X("upcast", "YESNO", \
      "cast a quantised base's other weights to fp32, as PEFT prepares them", \
      "yes for bitsandbytes", \
      "Training", answer, AT(run.upcast), .default_is_words = true, .report = "upcast", \
      .show_report = show_upcast) \
    X("plan", "FILE", "treatments from a plan.json written by `memscope plan`", "none", \
      "Training", file, AT(plan), .default_is_words = true) \
    X("checkpoint-kind", "KIND", "non-reentrant or reentrant", "non-reentrant", \
      "Training", choice, AT(run.checkpoint_kind), .choices = ms_checkpoint_kind_names, \
      .report = "checkpoint_kind") \
    X("attention", "NAME", "auto, flash, efficient, cudnn, math, eager or cpu-flash", "auto", \
      "Training", attention, AT(run.attention), .choices = ms_attention_names, .synonyms = attentions, \
      .report = "attention", .show_report = show_attention, .detail = "attention_asked") \
    X("experts", "NAME", "how mixtures of experts run: auto, grouped or eager", "auto", \
      "Training", choice, AT(run.experts), .choices = ms_experts_names, .report = "experts", \
      .show_report = show_experts) \
    X("routing", "NAME", \
      "for eager experts: balanced, or skewed, where few experts get all tokens", "balanced", \
      "Training", choice, AT(run.routing), .choices = ms_routing_names, .report = "routing", \
      .show_report = show_routing) \
    X("parallel", "SPEC", \
      "ranks that train together: dp=8 (DDP), fsdp=8 (FSDP2), fsdp1=8, hsdp=2x8 (copies x shards), " \
      "tp=4 or tp=2,fsdp=4 (tensor parallelism), cp=4 or cp=4,fsdp=2 (context parallelism), " \
      "zero=2,dp=8 (DeepSpeed), " \
      "pp=4,schedule=1f1b,microbatches=8 (pipeline)", "none", \
      "Several ranks", layout, AT(run.parallel.layout), .report = "parallel", \
      .show_report = ms_show_parallel, .examples = MS_CONFIG_LIST("none", "dp=8", "fsdp=8", "hsdp=2x8", "fsdp1=8", "hsdp1=2x8", "tp=4", "tp=2,fsdp=4", "cp=4", "cp=4,fsdp=2", "zero=2,dp=8", "pp=4,schedule=gpipe,microbatches=8", "pp=2,schedule=interleaved,microbatches=4,stages_per_rank=2", "pp=4,microbatches=8,fsdp=8", "pp=16,microbatches=32,tp=8")) \
    X("world", "N", "total number of ranks, for training arguments that do not state it", \
      "as in the arguments", \
      "Several ranks", count, AT(world), .minimum = 1, .maximum = MS_MOST_RANKS, \
      .default_is_words = true) \
    X("rank", "N|worst|all", "the rank to predict, from 0; worst, the one that needs the most; or all, that one and a table", "worst", \
      "Several ranks", rank, AT(run.parallel.choice), .maximum = MS_MOST_RANKS, \
      .default_is_words = true, .report = "rank", .show_report = ms_show_rank) \
    X("load-dtype", "TYPE", "type of the weights when FSDP1 shards them, before the shards are cast", \
      "that of the weights", \
      "Several ranks", type, AT(run.parallel.load_dtype), .choices = ms_dtype_weight_names, \
      .synonyms = types, .default_is_words = true, .report = "load_dtype", \
      .show_report = ms_show_load_dtype) \
    X("param-dtype", "TYPE", "type in which FSDP gathers weights and computes", \
      "that of the weights", \
      "Several ranks", type, AT(run.parallel.param_dtype), .choices = ms_dtype_weight_names, \
      .synonyms = types, .default_is_words = true, .report = "param_dtype", \
      .show_report = ms_show_param_dtype) \
    X("reduce-dtype", "TYPE", "type in which FSDP reduces gradients", "that of the computation", \
      "Several ranks", type, AT(run.parallel.reduce_dtype), .choices = ms_dtype_weight_names, \
      .synonyms = types, .default_is_words = true, .report = "reduce_dtype", \
      .show_report = ms_show_reduce_dtype) \
    X("reshard-after-forward", "YESNO", "FSDP frees a layer's gathered weights after its forward", \
      "yes", \
      "Several ranks", answer, AT(reshards), .report = "reshard_after_forward", \
      .show_report = ms_show_reshards) \
    X("reshard-ranks", "N", "after forward fully_shard shards weights across N ranks; 0: across all", \
      "0", "Several ranks", count, AT(run.parallel.reshard_ranks), \
      .maximum = MS_MOST_RANKS, .report = "reshard_ranks", \
      .show_report = ms_show_reshard_ranks) \
    X("reshard-root", "YESNO", \
      "fully_shard also frees the weights outside layers after forward, as in axolotl", \
      "no", "Several ranks", answer, AT(run.parallel.reshards_root), .report = "reshard_root", \
      .show_report = ms_show_reshards_root) \
    X("reshard-after-backward", "YESNO", \
      "fully_shard frees weights after each backward, not only the last", "yes", \
      "Several ranks", answer, AT(reshards_after_backward), \
      .report = "reshard_after_backward", .show_report = ms_show_reshards_after_backward) \
    X("fsdp-units", "NAME", \
      "FSDP units: layers, or torchtitan's or accelerate's, which also make units of the model's ends", "layers", \
      "Several ranks", choice, AT(run.parallel.units), .choices = ms_fsdp_unit_names, \
      .report = "fsdp_units", .show_report = ms_show_fsdp_units) \
    X("fsdp-offload", "YESNO", "fully_shard keeps shards on the host (CPUOffloadPolicy)", "no", \
      "Several ranks", answer, AT(run.parallel.offloads), .report = "fsdp_offload", \
      .show_report = ms_show_fsdp_offload) \
    X("use-orig-params", "YESNO", "FSDP1's optimizer updates original parameters, not flat ones", \
      "yes", "Several ranks", answer, AT(keeps_orig_params), .report = "use_orig_params", \
      .show_report = ms_show_orig_params) \
    X("forward-prefetch", "YESNO", "FSDP1 gathers the next layer while one runs forward", "no", \
      "Several ranks", answer, AT(run.parallel.prefetches_forward), \
      .report = "forward_prefetch", .show_report = ms_show_forward_prefetch) \
    X("backward-prefetch", "WHEN", "FSDP1 gathers the next layer of backward: pre, post or none", \
      "pre", "Several ranks", choice, AT(run.parallel.backward_prefetch), \
      .choices = ms_prefetch_names, .report = "backward_prefetch", \
      .show_report = ms_show_backward_prefetch) \
    X("limit-all-gathers", "YESNO", "FSDP1's host waits when two all-gathers are under way", "yes", \
      "Several ranks", answer, AT(run.parallel.limits_all_gathers), \
      .report = "limit_all_gathers", .show_report = ms_show_limits) \
    X("bucket-cap-mb", "N", "size of DDP's buckets in MiB; 0: DDP's default, 25 with a first bucket of 1", "0", \
      "Several ranks", count, AT(run.parallel.bucket_cap_mb), .maximum = 1 << 20, \
      .report = "bucket_cap_mb", .show_report = ms_show_bucket_cap) \
    X("gradient-as-bucket-view", "YESNO", "gradients are views of DDP's buckets", "no", \
      "Several ranks", answer, AT(run.parallel.has_bucket_views), \
      .report = "gradient_as_bucket_view", .show_report = ms_show_bucket_views) \
    X("static-graph", "YESNO", "DDP(static_graph=True)", "no", \
      "Several ranks", answer, AT(run.parallel.has_static_graph), .report = "static_graph", \
      .show_report = ms_show_static_graph) \
    X("find-unused-parameters", "YESNO", \
      "DDP(find_unused_parameters=True), as Trainer sets it without checkpointing", "no", \
      "Several ranks", answer, AT(run.parallel.finds_unused), .report = "find_unused_parameters", \
      .show_report = ms_show_finds_unused) \
    X("init-sync", "YESNO", "DDP(init_sync=True): its constructor broadcasts the model", "yes", \
      "Several ranks", answer, AT(run.parallel.has_init_sync), .report = "init_sync", \
      .show_report = ms_show_init_sync) \
    X("zero-optimizer", "YESNO", "each rank of dp=N updates a part (ZeroRedundancyOptimizer)", "no", \
      "Several ranks", answer, AT(run.parallel.has_zero_optimizer), .report = "zero_optimizer", \
      .show_report = ms_show_zero_optimizer) \
    X("parameters-as-bucket-view", "YESNO", "its parameters are views of one buffer per rank", "no", \
      "Several ranks", answer, AT(run.parallel.has_parameter_views), \
      .report = "parameters_as_bucket_view", .show_report = ms_show_parameter_views) \
    X("no-sync", "YESNO", "micro-steps before the last do not reduce gradients", "no", \
      "Several ranks", answer, AT(run.parallel.syncs_last_only), .report = "no_sync", \
      .show_report = ms_show_no_sync) \
    X("no-all-reduce", "YESNO", \
      "with hsdp, micro-steps before the last reduce among shards, not among copies", "no", \
      "Several ranks", answer, AT(run.parallel.sums_last_only), .report = "no_all_reduce", \
      .show_report = ms_show_no_all_reduce) \
    X("sequence-parallel", "YESNO", "with tensor parallelism, norms and residuals are split by tokens", \
      "no", \
      "Several ranks", answer, AT(run.parallel.splits_sequence), .report = "sequence_parallel", \
      .show_report = ms_show_splits_sequence) \
    X("loss-parallel", "YESNO", "with tensor parallelism, the loss is split by vocabulary", "no", \
      "Several ranks", answer, AT(run.parallel.splits_loss), .report = "loss_parallel", \
      .show_report = ms_show_splits_loss) \
    X("reduce-bucket-size", "N", "elements in a gradient bucket of ZeRO", "500000000", \
      "Several ranks", count, AT(run.parallel.zero.reduce_bucket_size), .minimum = 1, \
      .maximum = UINT32_MAX, .report = "reduce_bucket_size", .show_report = ms_show_zero_bucket) \
    X("overlap-comm", "YESNO", "ZeRO reduces gradients while backward runs", "yes in stage 3", \
      "Several ranks", answer, AT(run.parallel.zero.overlap_comm), .default_is_words = true, \
      .report = "overlap_comm", .show_report = ms_show_zero_overlap) \
    X("contiguous-gradients", "YESNO", "ZeRO copies gradients into a bucket", "yes", \
      "Several ranks", answer, AT(run.parallel.zero.contiguous_gradients), \
      .report = "contiguous_gradients", .show_report = ms_show_zero_contiguous) \
    X("decay-groups", "YESNO", \
      "ZeRO partitions parameters without weight decay separately, as Trainer groups them", "no", \
      "Several ranks", answer, AT(run.parallel.zero.has_decay_groups), .report = "decay_groups", \
      .show_report = ms_show_decay_groups) \
    X("zero-init", "YESNO", "ZeRO-3 shards the model while it is built (zero.Init)", "yes", \
      "Several ranks", answer, AT(run.parallel.zero.init), .report = "zero_init", \
      .show_report = ms_show_zero_init) \
    X("offload-param", "YESNO", "ZeRO-3 keeps the shards of parameters on the host", "no", \
      "Several ranks", answer, AT(run.parallel.zero.offloads_parameters), \
      .report = "offload_param", .show_report = ms_show_offload_param) \
    X("stage3-prefetch-bucket-size", "N", "elements that ZeRO-3 prefetches", "50000000", \
      "Several ranks", count, AT(run.parallel.zero.prefetch_bucket_size), \
      .maximum = UINT32_MAX, .report = "stage3_prefetch_bucket_size", \
      .show_report = ms_show_zero_prefetch) \
    X("stage3-max-live-parameters", "N", "maximum of elements that ZeRO-3 keeps gathered", "1000000000", \
      "Several ranks", count, AT(run.parallel.zero.max_live_parameters), \
      .maximum = UINT64_C(1) << 53, .report = "stage3_max_live_parameters", \
      .show_report = ms_show_zero_live) \
    X("stage3-max-reuse-distance", "N", \
      "ZeRO-3 keeps parameters that are used again within this many elements", "1000000000", \
      "Several ranks", count, AT(run.parallel.zero.max_reuse_distance), \
      .maximum = UINT64_C(1) << 53, .report = "stage3_max_reuse_distance", \
      .show_report = ms_show_zero_reuse) \
    X("stage3-param-persistence-threshold", "N", \
      "ZeRO-3 keeps parameters of at most this many elements gathered", "100000", \
      "Several ranks", count, AT(run.parallel.zero.param_persistence_threshold), \
      .maximum = UINT64_C(1) << 53, .report = "stage3_param_persistence_threshold", \
      .show_report = ms_show_zero_threshold) \
    X("device", "NAME", "a device of `memscope devices`, or cpu", "a100-80gb", \
      "Device", word, AT(device), .report = "device", .show_report = show_device, \
      .detail = "device_title", .show_detail = show_device_title) \
    X("calibration", "FILE", "a calibration.json from `memscope calibrate` for that device", "none", \
      "Device", file, AT(calibration), .default_is_words = true, .report = "calibration", \
      .show_report = show_calibration) \
    X("prices", "FILE", "JSON: US dollars per hour by device, e.g. {\"h100-80gb\": 2.99}", "none", \
      "Device", file, AT(prices), .default_is_words = true, .detail = "usd_per_hour", \
      .show_detail = show_price) \
    X("mfu", "X", "largest share of the peak rate that matrix products and attention reach, e.g. 0.45", \
      "the rates the device reaches", \
      "Device", part, AT(mfu), .minimum = 0.001, .maximum = 1, .default_is_words = true, \
      .report = "mfu", .show_report = show_mfu) \
    X("network", "RATE", "bandwidth between hosts per device, in bytes per second, e.g. 50GB", "not known", \
      "Device", size, AT(network), .minimum = 1, .default_is_words = true, .report = "network", \
      .show_report = show_network) \
    X("torch", "X.Y", "version of PyTorch", "2.11", \
      "Device", version, AT(run.torch), .report = "torch", .show_report = show_torch) \
    X("allocator", "NAME", "raw, cuda or cuda-expandable", "cuda; raw on cpu", \
      "Device", choice, AT(run.allocator.kind), .choices = ms_allocator_names, \
      .default_is_words = true, .report = "allocator") \
    X("max-split-size", "SIZE", "largest block the allocator splits, e.g. 128MiB, or none", "none", \
      "Device", limit, AT(run.allocator.max_split_size_bytes), .minimum = LEAST_SPLIT_BYTES, \
      .detail = "max_split_size_bytes") \
    X("roundup-power2-divisions", "N", "round sizes to N steps per power of two, or none", "none", \
      "Device", power, AT(run.allocator.roundup_power2_divisions), .minimum = 1, .maximum = 1024, \
      .detail = "roundup_power2_divisions") \
    X("addresses", "NAME", "direction in which the driver places new segments: up, or down as on an H200", "up", \
      "Device", choice, AT(run.allocator.addresses), .choices = ms_address_order_names, \
      .report = "addresses", .show_report = show_addresses) \
    X("budget", "SIZE", "memory the run may use, e.g. 80GiB", "all of the device", \
      "Device", size, AT(run.budget_bytes), .minimum = 1, .default_is_words = true, \
      .detail = "budget_bytes")
/* clang-format on */

#endif
