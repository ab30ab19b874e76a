# SPDX-License-Identifier: GPL-3.0-or-later
"""The keyword arguments of each call. Made by scripts/python_tables.py."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Union

Number = Union[int, float, str, Sequence[Any]]
Text = Union[str, Sequence[Any], Mapping[str, Any]]
YesNo = Union[bool, str]
File = Any  # a path, or a Python value that is written to a file
Outputs = Union[str, Sequence[str], Mapping[str, Any]]


class RunOptions(TypedDict, total=False):
    family: File                                # a text that describes a family of models, for model types of your own [none]
    families: File                              # a folder of such texts, named MODEL_TYPE.family [$MEMSCOPE_FAMILIES, or memscope/families of the user's settings]
    training_args: File                         # TrainingArguments, or a file of accelerate, DeepSpeed, axolotl, LLaMA-Factory, torchtune or torchtitan [none]
    launch: Text                                # the command that launches the training, as typed, or @FILE, a shell script; nothing is run
    ignore_sharding: bool                       # predict one device that holds everything, even if the training arguments shard
    assume: Text                                # keys of the training arguments to treat as harmless to memory, e.g. qat=harmless,rl=harmless [none]
    assume_version: Text                        # framework versions that the training arguments are for, e.g. accelerate=1.10 [as reports name them]
    batch: Number                               # sequences per micro-batch [1]
    seq: Number                                 # tokens per sequence [2048]
    source_length: Number                       # tokens per sequence of the encoder, for encoder-decoder models [same as --seq]
    padding: Text                               # whether batches have padded sequences: no (no attention mask), ones (a mask of ones), yes, or unknown: the one that needs more [no]
    documents: Number                           # documents packed into a row and kept apart by their positions, as TRL packs them, or none [none]
    images: Number                              # images in each sequence, for a model with a vision tower, or none [none]
    image_size: Text                            # width and height of each image in pixels [that of the model, if it has one]
    freeze_vision: YesNo                        # do not train the vision tower [no]
    dtype: Text                                 # type of the weights: bf16, fp16 or fp32 [bf16]
    autocast: Text                              # none, bf16 or fp16 [none]
    optimizer: Any                              # adamw, sgd, adafactor, muon, lion, adamw-8bit, ... [adamw]
    optimizer_impl: Text                        # fused, foreach or loop [the usual one]
    optimizer_in_backward: YesNo                # update each parameter as soon as its gradient is ready [no]
    optimizer_device: Text                      # where optimizer states are kept and updated: device or host [device]
    parameter_device: Text                      # where the layers' parameters are kept: device or host [device]
    build: Text                                 # where the model is built: device; host, from where it moves; host-base, with the adapter on the device; device-map, loaded onto it; with FSDP also meta, or broadcast by rank 0 [device; with FSDP meta; with FSDP1 and tied weights host]
    weight_decay: Number                        # 0 or more [0.01 for adamw, else 0]
    accumulate: Number                          # micro-batches per optimizer step [1]
    loop: Text                                  # loop around the step: fixed (one batch stays), loader (a new batch for each micro-step) or trainer (transformers' Trainer) [fixed]
    loss: Text                                  # head and loss: the model's own, trl (TRL's SFTTrainer: in tiles, never all logits), cut-cross-entropy (kernels that make no logits) or torchtune (in eight pieces, whose log-probabilities are kept) [model]
    labels: Number                              # tokens of a micro-batch that have a label, for --loss trl or cut-cross-entropy (none: as many as possible) [none]
    grad_accumulation_dtype: Text               # type of accumulated gradients: same as the parameter, or fp32 [same]
    clip: Number                                # maximum gradient norm, or none [none]
    label_smoothing: Number                     # label smoothing in Trainer's loss, 0 to 1 [0]
    liger: Text                                 # Liger kernels: none, all, or any of rope+rms-norm+swiglu+loss [none]
    logits_to_keep: Number                      # compute head and loss on the last N tokens of each sequence, or none [none]
    empty_cache_steps: Number                   # empty the allocator's cache every N-th step, or none [none]
    eval_batch: Number                          # sequences per batch in an evaluation between steps, or none [none]
    eval_logits: Number                         # batches of logits that an evaluation keeps on the device, or none [none]
    adapter: File                               # an adapter_config.json of PEFT: train only the adapter [none]
    lora: Text                                  # a LoRA adapter in short form, e.g. r=16,targets=all-linear,dropout=0.05 [none]
    adapter_dtype: Text                         # type of the adapter's weights: fp32, bf16 or fp16 [fp32 if the model is in half precision]
    quantize: Text                              # quantised type of the frozen base, e.g. nf4:double, int8, gptq:4:128 or fp8-block [as in the config]
    upcast: YesNo                               # cast a quantised base's other weights to fp32, as PEFT prepares them [yes for bitsandbytes]
    checkpoint_kind: Text                       # non-reentrant or reentrant [non-reentrant]
    attention: Text                             # auto, flash, efficient, cudnn, math, eager or cpu-flash [auto]
    experts: Text                               # how mixtures of experts run: auto, grouped or eager [auto]
    routing: Text                               # for eager experts: balanced, or skewed, where few experts get all tokens [balanced]
    parallel: Text                              # ranks that train together: dp=8 (DDP), fsdp=8 (FSDP2), fsdp1=8, hsdp=2x8 (copies x shards), tp=4 or tp=2,fsdp=4 (tensor parallelism), cp=4 or cp=4,fsdp=2 (context parallelism), zero=2,dp=8 (DeepSpeed), pp=4,schedule=1f1b,microbatches=8 (pipeline) [none]
    world: Number                               # total number of ranks, for training arguments that do not state it [as in the arguments]
    rank: Text                                  # the rank to predict, from 0; worst, the one that needs the most; or all, that one and a table [worst]
    load_dtype: Text                            # type of the weights when FSDP1 shards them, before the shards are cast [that of the weights]
    param_dtype: Text                           # type in which FSDP gathers weights and computes [that of the weights]
    reduce_dtype: Text                          # type in which FSDP reduces gradients [that of the computation]
    reshard_after_forward: YesNo                # FSDP frees a layer's gathered weights after its forward [yes]
    reshard_ranks: Number                       # after forward fully_shard shards weights across N ranks; 0: across all [0]
    reshard_root: YesNo                         # fully_shard also frees the weights outside layers after forward, as in axolotl [no]
    reshard_after_backward: YesNo               # fully_shard frees weights after each backward, not only the last [yes]
    fsdp_units: Text                            # FSDP units: layers, or torchtitan's or accelerate's, which also make units of the model's ends [layers]
    fsdp_offload: YesNo                         # fully_shard keeps shards on the host (CPUOffloadPolicy) [no]
    use_orig_params: YesNo                      # FSDP1's optimizer updates original parameters, not flat ones [yes]
    forward_prefetch: YesNo                     # FSDP1 gathers the next layer while one runs forward [no]
    backward_prefetch: Text                     # FSDP1 gathers the next layer of backward: pre, post or none [pre]
    limit_all_gathers: YesNo                    # FSDP1's host waits when two all-gathers are under way [yes]
    bucket_cap_mb: Number                       # size of DDP's buckets in MiB; 0: DDP's default, 25 with a first bucket of 1 [0]
    gradient_as_bucket_view: YesNo              # gradients are views of DDP's buckets [no]
    static_graph: YesNo                         # DDP(static_graph=True) [no]
    find_unused_parameters: YesNo               # DDP(find_unused_parameters=True), as Trainer sets it without checkpointing [no]
    init_sync: YesNo                            # DDP(init_sync=True): its constructor broadcasts the model [yes]
    zero_optimizer: YesNo                       # each rank of dp=N updates a part (ZeroRedundancyOptimizer) [no]
    parameters_as_bucket_view: YesNo            # its parameters are views of one buffer per rank [no]
    no_sync: YesNo                              # micro-steps before the last do not reduce gradients [no]
    no_all_reduce: YesNo                        # with hsdp, micro-steps before the last reduce among shards, not among copies [no]
    sequence_parallel: YesNo                    # with tensor parallelism, norms and residuals are split by tokens [no]
    loss_parallel: YesNo                        # with tensor parallelism, the loss is split by vocabulary [no]
    reduce_bucket_size: Number                  # elements in a gradient bucket of ZeRO [500000000]
    overlap_comm: YesNo                         # ZeRO reduces gradients while backward runs [yes in stage 3]
    contiguous_gradients: YesNo                 # ZeRO copies gradients into a bucket [yes]
    decay_groups: YesNo                         # ZeRO partitions parameters without weight decay separately, as Trainer groups them [no]
    zero_init: YesNo                            # ZeRO-3 shards the model while it is built (zero.Init) [yes]
    offload_param: YesNo                        # ZeRO-3 keeps the shards of parameters on the host [no]
    stage3_prefetch_bucket_size: Number         # elements that ZeRO-3 prefetches [50000000]
    stage3_max_live_parameters: Number          # maximum of elements that ZeRO-3 keeps gathered [1000000000]
    stage3_max_reuse_distance: Number           # ZeRO-3 keeps parameters that are used again within this many elements [1000000000]
    stage3_param_persistence_threshold: Number  # ZeRO-3 keeps parameters of at most this many elements gathered [100000]
    device: Text                                # a device of `memscope devices`, or cpu [a100-80gb]
    calibration: File                           # a calibration.json from `memscope calibrate` for that device [none]
    prices: File                                # JSON: US dollars per hour by device, e.g. {"h100-80gb": 2.99} [none]
    mfu: Number                                 # largest share of the peak rate that matrix products and attention reach, e.g. 0.45 [the rates the device reaches]
    network: Text                               # bandwidth between hosts per device, in bytes per second, e.g. 50GB [not known]
    torch: Text                                 # version of PyTorch [2.11]
    allocator: Text                             # raw, cuda or cuda-expandable [cuda; raw on cpu]
    max_split_size: Text                        # largest block the allocator splits, e.g. 128MiB, or none [none]
    roundup_power2_divisions: Number            # round sizes to N steps per power of two, or none [none]
    addresses: Text                             # direction in which the driver places new segments: up, or down as on an H200 [up]
    budget: Text                                # memory the run may use, e.g. 80GiB [all of the device]


class AnalyzeOptions(RunOptions, total=False):
    checkpointing: Text  # layers: none, all, first:8, last:4, every:2 or 0,2,5-9 [none]
    treat: Text          # treatments by layer, e.g. 0-7=checkpoint,8-31=offload:0.5,loss=chunk:8 [none]
    plan: File           # treatments from a plan.json written by `memscope plan` [none]
    format: Text         # format of the report: console, json, md, csv, html, svg, ...
    file: File           # output file of --format; - is standard output
    output: Outputs      # write another report as well; may be repeated
    out: File            # write static_report.json and static_report.md there
    events: File         # write the allocations and frees of a step, one per line
    chart: bool          # draw memory over the step in the console report
    check_with: Text     # run the step in PyTorch without a GPU and compare both
    python: File         # for --check-with: Python program that has PyTorch [python3]
    unroll: bool         # write one record for every layer, even if layers are equal
    no_advice: bool      # leave out suggestions, which take longer than the rest
    quiet: bool          # print no console report and no messages except errors
    color: Text          # auto, always or never
    no_color: bool       # the same as --color=never


class PlanOptions(RunOptions, total=False):
    gap: Number                # relative distance from the bound at which to stop [0.001]
    time_limit: Number         # stop after this time with the best plan found [10 with --graph, else none]
    planner: Text              # milp, greedy, rules, uniform or none [milp]
    target: Text               # plan only what this trainer can express, or all trainers [free]
    curve: bool                # plot time against budget, from the smallest budget found
    points: Number             # number of budgets on the curve [24]
    without: Text              # treatments to leave out: checkpoint, selective, offload, tile, chunk [none]
    allow: Text                # allow host-optimizer and host-parameters, if nothing else fits, and retries [none]
    gpu_cost_per_hour: Number  # price per GPU-hour, in any currency [2.50]
    rules_mode: Text           # for --planner rules: conservative, balanced, aggressive [balanced]
    max_cpu_offload: Text      # for --planner rules: host memory that it may use [half of it]
    graph: File                # plan checkpoints for the modules in this ModuleInfo file
    world_size: Number         # ranks that share parameters and gradients [1]
    ac_units: Text             # only these modules may be checkpointed [any]
    fsdp: bool                 # choose FSDP units instead of checkpoints
    latency: Number            # latency of an all-gather or reduce-scatter, for --fsdp [0.01]
    bandwidth: Text            # bytes gathered or scattered per second, for --fsdp [100GB]
    ops: File                  # plan which operators of this SACStats file to save
    memory_budget: Number      # fraction of all operators' memory, from 0 to 1
    format: Text               # console, json, md or html; for a curve also csv or svg
    file: File                 # output file; - is standard output
    quiet: bool                # print no messages except errors
    color: Text                # auto, always or never
    no_color: bool             # the same as --color=never


class FitOptions(RunOptions, total=False):
    checkpointing: Text  # layers: none, all, first:8, last:4, every:2 or 0,2,5-9 [none]
    treat: Text          # treatments by layer, e.g. 0-7=checkpoint,8-31=offload:0.5,loss=chunk:8 [none]
    plan: File           # treatments from a plan.json written by `memscope plan` [none]
    what: Text           # find the largest batch, seq, rank or layers, or the fewest gpus [batch]
    step: Number         # try only multiples of N [1, for seq 64]
    format: Text         # console, json, md or html
    file: File           # output file; - is standard output
    quiet: bool          # print no messages except errors
    color: Text          # auto, always or never
    no_color: bool       # the same as --color=never


class SweepOptions(RunOptions, total=False):
    runs: File           # CSV: a header of option names, then one run per line; - is standard input [none]
    fit: Text            # find the largest batch, seq, rank or layers that fits, or the fewest gpus, for each point [none]
    step: Number         # for --fit: try only multiples of N [1, for seq 64]
    frontier: bool       # keep only rows that fit and are on the Pareto front
    objectives: Text     # for --frontier: columns to compare rows by [expected_device_bytes,tokens_per_s]
    shard: Text          # compute only every N-th point, from the K-th; memscope merge joins the shards [1/1]
    checkpointing: Text  # layers: none, all, first:8, last:4, every:2 or 0,2,5-9 [none]
    treat: Text          # treatments by layer, e.g. 0-7=checkpoint,8-31=offload:0.5,loss=chunk:8 [none]
    plan: File           # treatments from a plan.json written by `memscope plan` [none]
    format: Text         # console, csv or jsonl [by the file name's ending, else console]
    file: File           # output file; csv and jsonl are FILE.part until complete
    resume: bool         # continue after the rows in FILE.part
    jobs: Number         # points computed in parallel [one per processor]
    quiet: bool          # print no progress and no messages except errors
    color: Text          # auto, always or never
    no_color: bool       # the same as --color=never


class DiffOptions(RunOptions, total=False):
    checkpointing: Text  # layers: none, all, first:8, last:4, every:2 or 0,2,5-9 [none]
    treat: Text          # treatments by layer, e.g. 0-7=checkpoint,8-31=offload:0.5,loss=chunk:8 [none]
    plan: File           # treatments from a plan.json written by `memscope plan` [none]
    format: Text         # console, json, md or html
    file: File           # output file; - is standard output
    quiet: bool          # print errors only; the exit status is the result
    color: Text          # auto, always or never
    no_color: bool       # the same as --color=never


class CheckOptions(TypedDict, total=False):
    warn_only: bool    # exit status 0 when a budget is exceeded
    calibration: File  # a calibration.json from calibrate, for budgets of that device
    no_plans: bool     # do not search for a plan that would fit again
    root: File         # read files only in this folder, after following links [anywhere]
    jobs: Number       # budgets checked in parallel [one per processor]
    format: Text       # console, json, md, html, junit, github, sarif, gitlab, custom-smaller-is-better, shields or prometheus
    file: File         # output file of --format; - is standard output
    output: Outputs    # write another report as well; may be repeated
    quiet: bool        # print no console report and no messages except errors
    color: Text        # auto, always or never
    no_color: bool     # the same as --color=never


class CompareOptions(TypedDict, total=False):
    format: Text    # console, json, md or html
    file: File      # output file; - is standard output
    color: Text     # auto, always or never
    no_color: bool  # the same as --color=never


class CalibrateOptions(TypedDict, total=False):
    format: Text    # console, json, md or html
    file: File      # output file of calibration.json; - is standard output
    quiet: bool     # write the file and print nothing on the console
    color: Text     # auto, always or never
    no_color: bool  # the same as --color=never


class CaptureOptions(TypedDict, total=False):
    device: Text          # the device to simulate [a100-80gb]
    real: bool            # measure on this machine's GPU
    device_count: Number  # number of such devices [1; with --world up to 8]
    world: Number         # run one rank of N; process groups start without the others
    rank: Number          # the rank to run, or all, one after the other [0, or $RANK]
    steps: Number         # optimizer steps; the last one is reported [3]
    answer_loss: Number   # value that the program reads for losses and norms [0]
    out: File             # directory to write runtime_report.json to [memscope-capture]
    time_limit: Number    # stop the program if it still runs after this time [600]
    trace_calls: bool     # list the program's calls of CUDA libraries
    trace: bool           # write runtime_trace.jsonl too, for memscope probe
    no_paths: bool        # name source files without their folders
    quiet: bool           # print no report on the console
    color: Text           # auto, always or never
    no_color: bool        # the same as --color=never


# command: (option, name of its value or None for a flag, default or None)
OPTIONS: dict[str, list[tuple[str, str | None, str | None]]] = {
    "analyze": [
        ("family", "FILE", "none"),
        ("families", "DIR", "$MEMSCOPE_FAMILIES, or memscope/families of the user's settings"),
        ("training-args", "FILE", "none"),
        ("launch", "TEXT", None),
        ("ignore-sharding", None, None),
        ("assume", "LIST", "none"),
        ("assume-version", "LIST", "as reports name them"),
        ("batch", "N", "1"),
        ("seq", "N", "2048"),
        ("source-length", "N", "same as --seq"),
        ("padding", "ANSWER", "no"),
        ("documents", "N", "none"),
        ("images", "N", "none"),
        ("image-size", "WxH", "that of the model, if it has one"),
        ("freeze-vision", "YESNO", "no"),
        ("dtype", "TYPE", "bf16"),
        ("autocast", "TYPE", "none"),
        ("optimizer", "NAME", "adamw"),
        ("optimizer-impl", "NAME", "the usual one"),
        ("optimizer-in-backward", "YESNO", "no"),
        ("optimizer-device", "PLACE", "device"),
        ("parameter-device", "PLACE", "device"),
        ("build", "PLACE", "device; with FSDP meta; with FSDP1 and tied weights host"),
        ("weight-decay", "X", "0.01 for adamw, else 0"),
        ("accumulate", "N", "1"),
        ("loop", "KIND", "fixed"),
        ("loss", "KIND", "model"),
        ("labels", "N", "none"),
        ("grad-accumulation-dtype", "TYPE", "same"),
        ("clip", "X", "none"),
        ("label-smoothing", "X", "0"),
        ("liger", "NAMES", "none"),
        ("logits-to-keep", "N", "none"),
        ("empty-cache-steps", "N", "none"),
        ("eval-batch", "N", "none"),
        ("eval-logits", "N", "none"),
        ("checkpointing", "SPEC", "none"),
        ("treat", "SPEC", "none"),
        ("adapter", "FILE", "none"),
        ("lora", "SPEC", "none"),
        ("adapter-dtype", "TYPE", "fp32 if the model is in half precision"),
        ("quantize", "KIND", "as in the config"),
        ("upcast", "YESNO", "yes for bitsandbytes"),
        ("plan", "FILE", "none"),
        ("checkpoint-kind", "KIND", "non-reentrant"),
        ("attention", "NAME", "auto"),
        ("experts", "NAME", "auto"),
        ("routing", "NAME", "balanced"),
        ("parallel", "SPEC", "none"),
        ("world", "N", "as in the arguments"),
        ("rank", "N|worst|all", "worst"),
        ("load-dtype", "TYPE", "that of the weights"),
        ("param-dtype", "TYPE", "that of the weights"),
        ("reduce-dtype", "TYPE", "that of the computation"),
        ("reshard-after-forward", "YESNO", "yes"),
        ("reshard-ranks", "N", "0"),
        ("reshard-root", "YESNO", "no"),
        ("reshard-after-backward", "YESNO", "yes"),
        ("fsdp-units", "NAME", "layers"),
        ("fsdp-offload", "YESNO", "no"),
        ("use-orig-params", "YESNO", "yes"),
        ("forward-prefetch", "YESNO", "no"),
        ("backward-prefetch", "WHEN", "pre"),
        ("limit-all-gathers", "YESNO", "yes"),
        ("bucket-cap-mb", "N", "0"),
        ("gradient-as-bucket-view", "YESNO", "no"),
        ("static-graph", "YESNO", "no"),
        ("find-unused-parameters", "YESNO", "no"),
        ("init-sync", "YESNO", "yes"),
        ("zero-optimizer", "YESNO", "no"),
        ("parameters-as-bucket-view", "YESNO", "no"),
        ("no-sync", "YESNO", "no"),
        ("no-all-reduce", "YESNO", "no"),
        ("sequence-parallel", "YESNO", "no"),
        ("loss-parallel", "YESNO", "no"),
        ("reduce-bucket-size", "N", "500000000"),
        ("overlap-comm", "YESNO", "yes in stage 3"),
        ("contiguous-gradients", "YESNO", "yes"),
        ("decay-groups", "YESNO", "no"),
        ("zero-init", "YESNO", "yes"),
        ("offload-param", "YESNO", "no"),
        ("stage3-prefetch-bucket-size", "N", "50000000"),
        ("stage3-max-live-parameters", "N", "1000000000"),
        ("stage3-max-reuse-distance", "N", "1000000000"),
        ("stage3-param-persistence-threshold", "N", "100000"),
        ("device", "NAME", "a100-80gb"),
        ("calibration", "FILE", "none"),
        ("prices", "FILE", "none"),
        ("mfu", "X", "the rates the device reaches"),
        ("network", "RATE", "not known"),
        ("torch", "X.Y", "2.11"),
        ("allocator", "NAME", "cuda; raw on cpu"),
        ("max-split-size", "SIZE", "none"),
        ("roundup-power2-divisions", "N", "none"),
        ("addresses", "NAME", "up"),
        ("budget", "SIZE", "all of the device"),
        ("format", "NAME", None),
        ("file", "FILE", None),
        ("output", "FMT=FILE", None),
        ("out", "DIR", None),
        ("events", "FILE", None),
        ("chart", None, None),
        ("check-with", "capture", None),
        ("python", "FILE", "python3"),
        ("unroll", None, None),
        ("no-advice", None, None),
        ("quiet", None, None),
        ("color", "WHEN", None),
        ("no-color", None, None),
    ],
    "plan": [
        ("budget", "SIZE", "all of the device"),
        ("gap", "X", "0.001"),
        ("time-limit", "SECONDS", "10 with --graph, else none"),
        ("planner", "NAME", "milp"),
        ("target", "NAME", "free"),
        ("curve", None, None),
        ("points", "N", "24"),
        ("without", "LIST", "none"),
        ("allow", "LIST", "none"),
        ("gpu-cost-per-hour", "X", "2.50"),
        ("rules-mode", "NAME", "balanced"),
        ("max-cpu-offload", "SIZE", "half of it"),
        ("graph", "FILE", None),
        ("world-size", "N", "1"),
        ("ac-units", "A,B,...", "any"),
        ("fsdp-units", "A,B,...", "none"),
        ("fsdp", None, None),
        ("latency", "MS", "0.01"),
        ("bandwidth", "SIZE", "100GB"),
        ("ops", "FILE", None),
        ("memory-budget", "FRACTION", None),
        ("family", "FILE", "none"),
        ("families", "DIR", "$MEMSCOPE_FAMILIES, or memscope/families of the user's settings"),
        ("training-args", "FILE", "none"),
        ("launch", "TEXT", None),
        ("ignore-sharding", None, None),
        ("assume", "LIST", "none"),
        ("assume-version", "LIST", "as reports name them"),
        ("batch", "N", "1"),
        ("seq", "N", "2048"),
        ("source-length", "N", "same as --seq"),
        ("padding", "ANSWER", "no"),
        ("documents", "N", "none"),
        ("images", "N", "none"),
        ("image-size", "WxH", "that of the model, if it has one"),
        ("freeze-vision", "YESNO", "no"),
        ("dtype", "TYPE", "bf16"),
        ("autocast", "TYPE", "none"),
        ("optimizer", "NAME", "adamw"),
        ("optimizer-impl", "NAME", "the usual one"),
        ("optimizer-in-backward", "YESNO", "no"),
        ("optimizer-device", "PLACE", "device"),
        ("parameter-device", "PLACE", "device"),
        ("build", "PLACE", "device; with FSDP meta; with FSDP1 and tied weights host"),
        ("weight-decay", "X", "0.01 for adamw, else 0"),
        ("accumulate", "N", "1"),
        ("loop", "KIND", "fixed"),
        ("loss", "KIND", "model"),
        ("labels", "N", "none"),
        ("grad-accumulation-dtype", "TYPE", "same"),
        ("clip", "X", "none"),
        ("label-smoothing", "X", "0"),
        ("liger", "NAMES", "none"),
        ("logits-to-keep", "N", "none"),
        ("empty-cache-steps", "N", "none"),
        ("eval-batch", "N", "none"),
        ("eval-logits", "N", "none"),
        ("adapter", "FILE", "none"),
        ("lora", "SPEC", "none"),
        ("adapter-dtype", "TYPE", "fp32 if the model is in half precision"),
        ("quantize", "KIND", "as in the config"),
        ("upcast", "YESNO", "yes for bitsandbytes"),
        ("checkpoint-kind", "KIND", "non-reentrant"),
        ("attention", "NAME", "auto"),
        ("experts", "NAME", "auto"),
        ("routing", "NAME", "balanced"),
        ("parallel", "SPEC", "none"),
        ("world", "N", "as in the arguments"),
        ("rank", "N|worst|all", "worst"),
        ("load-dtype", "TYPE", "that of the weights"),
        ("param-dtype", "TYPE", "that of the weights"),
        ("reduce-dtype", "TYPE", "that of the computation"),
        ("reshard-after-forward", "YESNO", "yes"),
        ("reshard-ranks", "N", "0"),
        ("reshard-root", "YESNO", "no"),
        ("reshard-after-backward", "YESNO", "yes"),
        ("fsdp-offload", "YESNO", "no"),
        ("use-orig-params", "YESNO", "yes"),
        ("forward-prefetch", "YESNO", "no"),
        ("backward-prefetch", "WHEN", "pre"),
        ("limit-all-gathers", "YESNO", "yes"),
        ("bucket-cap-mb", "N", "0"),
        ("gradient-as-bucket-view", "YESNO", "no"),
        ("static-graph", "YESNO", "no"),
        ("find-unused-parameters", "YESNO", "no"),
        ("init-sync", "YESNO", "yes"),
        ("zero-optimizer", "YESNO", "no"),
        ("parameters-as-bucket-view", "YESNO", "no"),
        ("no-sync", "YESNO", "no"),
        ("no-all-reduce", "YESNO", "no"),
        ("sequence-parallel", "YESNO", "no"),
        ("loss-parallel", "YESNO", "no"),
        ("reduce-bucket-size", "N", "500000000"),
        ("overlap-comm", "YESNO", "yes in stage 3"),
        ("contiguous-gradients", "YESNO", "yes"),
        ("decay-groups", "YESNO", "no"),
        ("zero-init", "YESNO", "yes"),
        ("offload-param", "YESNO", "no"),
        ("stage3-prefetch-bucket-size", "N", "50000000"),
        ("stage3-max-live-parameters", "N", "1000000000"),
        ("stage3-max-reuse-distance", "N", "1000000000"),
        ("stage3-param-persistence-threshold", "N", "100000"),
        ("device", "NAME", "a100-80gb"),
        ("calibration", "FILE", "none"),
        ("prices", "FILE", "none"),
        ("mfu", "X", "the rates the device reaches"),
        ("network", "RATE", "not known"),
        ("torch", "X.Y", "2.11"),
        ("allocator", "NAME", "cuda; raw on cpu"),
        ("max-split-size", "SIZE", "none"),
        ("roundup-power2-divisions", "N", "none"),
        ("addresses", "NAME", "up"),
        ("format", "NAME", None),
        ("file", "FILE", None),
        ("quiet", None, None),
        ("color", "WHEN", None),
        ("no-color", None, None),
    ],
    "fit": [
        ("family", "FILE", "none"),
        ("families", "DIR", "$MEMSCOPE_FAMILIES, or memscope/families of the user's settings"),
        ("training-args", "FILE", "none"),
        ("launch", "TEXT", None),
        ("ignore-sharding", None, None),
        ("assume", "LIST", "none"),
        ("assume-version", "LIST", "as reports name them"),
        ("batch", "N", "1"),
        ("seq", "N", "2048"),
        ("source-length", "N", "same as --seq"),
        ("padding", "ANSWER", "no"),
        ("documents", "N", "none"),
        ("images", "N", "none"),
        ("image-size", "WxH", "that of the model, if it has one"),
        ("freeze-vision", "YESNO", "no"),
        ("dtype", "TYPE", "bf16"),
        ("autocast", "TYPE", "none"),
        ("optimizer", "NAME", "adamw"),
        ("optimizer-impl", "NAME", "the usual one"),
        ("optimizer-in-backward", "YESNO", "no"),
        ("optimizer-device", "PLACE", "device"),
        ("parameter-device", "PLACE", "device"),
        ("build", "PLACE", "device; with FSDP meta; with FSDP1 and tied weights host"),
        ("weight-decay", "X", "0.01 for adamw, else 0"),
        ("accumulate", "N", "1"),
        ("loop", "KIND", "fixed"),
        ("loss", "KIND", "model"),
        ("labels", "N", "none"),
        ("grad-accumulation-dtype", "TYPE", "same"),
        ("clip", "X", "none"),
        ("label-smoothing", "X", "0"),
        ("liger", "NAMES", "none"),
        ("logits-to-keep", "N", "none"),
        ("empty-cache-steps", "N", "none"),
        ("eval-batch", "N", "none"),
        ("eval-logits", "N", "none"),
        ("checkpointing", "SPEC", "none"),
        ("treat", "SPEC", "none"),
        ("adapter", "FILE", "none"),
        ("lora", "SPEC", "none"),
        ("adapter-dtype", "TYPE", "fp32 if the model is in half precision"),
        ("quantize", "KIND", "as in the config"),
        ("upcast", "YESNO", "yes for bitsandbytes"),
        ("plan", "FILE", "none"),
        ("checkpoint-kind", "KIND", "non-reentrant"),
        ("attention", "NAME", "auto"),
        ("experts", "NAME", "auto"),
        ("routing", "NAME", "balanced"),
        ("parallel", "SPEC", "none"),
        ("world", "N", "as in the arguments"),
        ("rank", "N|worst|all", "worst"),
        ("load-dtype", "TYPE", "that of the weights"),
        ("param-dtype", "TYPE", "that of the weights"),
        ("reduce-dtype", "TYPE", "that of the computation"),
        ("reshard-after-forward", "YESNO", "yes"),
        ("reshard-ranks", "N", "0"),
        ("reshard-root", "YESNO", "no"),
        ("reshard-after-backward", "YESNO", "yes"),
        ("fsdp-units", "NAME", "layers"),
        ("fsdp-offload", "YESNO", "no"),
        ("use-orig-params", "YESNO", "yes"),
        ("forward-prefetch", "YESNO", "no"),
        ("backward-prefetch", "WHEN", "pre"),
        ("limit-all-gathers", "YESNO", "yes"),
        ("bucket-cap-mb", "N", "0"),
        ("gradient-as-bucket-view", "YESNO", "no"),
        ("static-graph", "YESNO", "no"),
        ("find-unused-parameters", "YESNO", "no"),
        ("init-sync", "YESNO", "yes"),
        ("zero-optimizer", "YESNO", "no"),
        ("parameters-as-bucket-view", "YESNO", "no"),
        ("no-sync", "YESNO", "no"),
        ("no-all-reduce", "YESNO", "no"),
        ("sequence-parallel", "YESNO", "no"),
        ("loss-parallel", "YESNO", "no"),
        ("reduce-bucket-size", "N", "500000000"),
        ("overlap-comm", "YESNO", "yes in stage 3"),
        ("contiguous-gradients", "YESNO", "yes"),
        ("decay-groups", "YESNO", "no"),
        ("zero-init", "YESNO", "yes"),
        ("offload-param", "YESNO", "no"),
        ("stage3-prefetch-bucket-size", "N", "50000000"),
        ("stage3-max-live-parameters", "N", "1000000000"),
        ("stage3-max-reuse-distance", "N", "1000000000"),
        ("stage3-param-persistence-threshold", "N", "100000"),
        ("device", "NAME", "a100-80gb"),
        ("calibration", "FILE", "none"),
        ("prices", "FILE", "none"),
        ("mfu", "X", "the rates the device reaches"),
        ("network", "RATE", "not known"),
        ("torch", "X.Y", "2.11"),
        ("allocator", "NAME", "cuda; raw on cpu"),
        ("max-split-size", "SIZE", "none"),
        ("roundup-power2-divisions", "N", "none"),
        ("addresses", "NAME", "up"),
        ("budget", "SIZE", "all of the device"),
        ("what", "NAME", "batch"),
        ("step", "N", "1, for seq 64"),
        ("format", "NAME", None),
        ("file", "FILE", None),
        ("quiet", None, None),
        ("color", "WHEN", None),
        ("no-color", None, None),
    ],
    "sweep": [
        ("runs", "FILE", "none"),
        ("fit", "NAME", "none"),
        ("step", "N", "1, for seq 64"),
        ("frontier", None, None),
        ("objectives", "LIST", "expected_device_bytes,tokens_per_s"),
        ("shard", "K/N", "1/1"),
        ("family", "FILE", "none"),
        ("families", "DIR", "$MEMSCOPE_FAMILIES, or memscope/families of the user's settings"),
        ("training-args", "FILE", "none"),
        ("launch", "TEXT", None),
        ("ignore-sharding", None, None),
        ("assume", "LIST", "none"),
        ("assume-version", "LIST", "as reports name them"),
        ("batch", "N", "1"),
        ("seq", "N", "2048"),
        ("source-length", "N", "same as --seq"),
        ("padding", "ANSWER", "no"),
        ("documents", "N", "none"),
        ("images", "N", "none"),
        ("image-size", "WxH", "that of the model, if it has one"),
        ("freeze-vision", "YESNO", "no"),
        ("dtype", "TYPE", "bf16"),
        ("autocast", "TYPE", "none"),
        ("optimizer", "NAME", "adamw"),
        ("optimizer-impl", "NAME", "the usual one"),
        ("optimizer-in-backward", "YESNO", "no"),
        ("optimizer-device", "PLACE", "device"),
        ("parameter-device", "PLACE", "device"),
        ("build", "PLACE", "device; with FSDP meta; with FSDP1 and tied weights host"),
        ("weight-decay", "X", "0.01 for adamw, else 0"),
        ("accumulate", "N", "1"),
        ("loop", "KIND", "fixed"),
        ("loss", "KIND", "model"),
        ("labels", "N", "none"),
        ("grad-accumulation-dtype", "TYPE", "same"),
        ("clip", "X", "none"),
        ("label-smoothing", "X", "0"),
        ("liger", "NAMES", "none"),
        ("logits-to-keep", "N", "none"),
        ("empty-cache-steps", "N", "none"),
        ("eval-batch", "N", "none"),
        ("eval-logits", "N", "none"),
        ("checkpointing", "SPEC", "none"),
        ("treat", "SPEC", "none"),
        ("adapter", "FILE", "none"),
        ("lora", "SPEC", "none"),
        ("adapter-dtype", "TYPE", "fp32 if the model is in half precision"),
        ("quantize", "KIND", "as in the config"),
        ("upcast", "YESNO", "yes for bitsandbytes"),
        ("plan", "FILE", "none"),
        ("checkpoint-kind", "KIND", "non-reentrant"),
        ("attention", "NAME", "auto"),
        ("experts", "NAME", "auto"),
        ("routing", "NAME", "balanced"),
        ("parallel", "SPEC", "none"),
        ("world", "N", "as in the arguments"),
        ("rank", "N|worst|all", "worst"),
        ("load-dtype", "TYPE", "that of the weights"),
        ("param-dtype", "TYPE", "that of the weights"),
        ("reduce-dtype", "TYPE", "that of the computation"),
        ("reshard-after-forward", "YESNO", "yes"),
        ("reshard-ranks", "N", "0"),
        ("reshard-root", "YESNO", "no"),
        ("reshard-after-backward", "YESNO", "yes"),
        ("fsdp-units", "NAME", "layers"),
        ("fsdp-offload", "YESNO", "no"),
        ("use-orig-params", "YESNO", "yes"),
        ("forward-prefetch", "YESNO", "no"),
        ("backward-prefetch", "WHEN", "pre"),
        ("limit-all-gathers", "YESNO", "yes"),
        ("bucket-cap-mb", "N", "0"),
        ("gradient-as-bucket-view", "YESNO", "no"),
        ("static-graph", "YESNO", "no"),
        ("find-unused-parameters", "YESNO", "no"),
        ("init-sync", "YESNO", "yes"),
        ("zero-optimizer", "YESNO", "no"),
        ("parameters-as-bucket-view", "YESNO", "no"),
        ("no-sync", "YESNO", "no"),
        ("no-all-reduce", "YESNO", "no"),
        ("sequence-parallel", "YESNO", "no"),
        ("loss-parallel", "YESNO", "no"),
        ("reduce-bucket-size", "N", "500000000"),
        ("overlap-comm", "YESNO", "yes in stage 3"),
        ("contiguous-gradients", "YESNO", "yes"),
        ("decay-groups", "YESNO", "no"),
        ("zero-init", "YESNO", "yes"),
        ("offload-param", "YESNO", "no"),
        ("stage3-prefetch-bucket-size", "N", "50000000"),
        ("stage3-max-live-parameters", "N", "1000000000"),
        ("stage3-max-reuse-distance", "N", "1000000000"),
        ("stage3-param-persistence-threshold", "N", "100000"),
        ("device", "NAME", "a100-80gb"),
        ("calibration", "FILE", "none"),
        ("prices", "FILE", "none"),
        ("mfu", "X", "the rates the device reaches"),
        ("network", "RATE", "not known"),
        ("torch", "X.Y", "2.11"),
        ("allocator", "NAME", "cuda; raw on cpu"),
        ("max-split-size", "SIZE", "none"),
        ("roundup-power2-divisions", "N", "none"),
        ("addresses", "NAME", "up"),
        ("budget", "SIZE", "all of the device"),
        ("format", "NAME", "by the file name's ending, else console"),
        ("file", "FILE", None),
        ("resume", None, None),
        ("jobs", "N", "one per processor"),
        ("quiet", None, None),
        ("color", "WHEN", None),
        ("no-color", None, None),
    ],
    "diff": [
        ("family", "FILE", "none"),
        ("families", "DIR", "$MEMSCOPE_FAMILIES, or memscope/families of the user's settings"),
        ("training-args", "FILE", "none"),
        ("launch", "TEXT", None),
        ("ignore-sharding", None, None),
        ("assume", "LIST", "none"),
        ("assume-version", "LIST", "as reports name them"),
        ("batch", "N", "1"),
        ("seq", "N", "2048"),
        ("source-length", "N", "same as --seq"),
        ("padding", "ANSWER", "no"),
        ("documents", "N", "none"),
        ("images", "N", "none"),
        ("image-size", "WxH", "that of the model, if it has one"),
        ("freeze-vision", "YESNO", "no"),
        ("dtype", "TYPE", "bf16"),
        ("autocast", "TYPE", "none"),
        ("optimizer", "NAME", "adamw"),
        ("optimizer-impl", "NAME", "the usual one"),
        ("optimizer-in-backward", "YESNO", "no"),
        ("optimizer-device", "PLACE", "device"),
        ("parameter-device", "PLACE", "device"),
        ("build", "PLACE", "device; with FSDP meta; with FSDP1 and tied weights host"),
        ("weight-decay", "X", "0.01 for adamw, else 0"),
        ("accumulate", "N", "1"),
        ("loop", "KIND", "fixed"),
        ("loss", "KIND", "model"),
        ("labels", "N", "none"),
        ("grad-accumulation-dtype", "TYPE", "same"),
        ("clip", "X", "none"),
        ("label-smoothing", "X", "0"),
        ("liger", "NAMES", "none"),
        ("logits-to-keep", "N", "none"),
        ("empty-cache-steps", "N", "none"),
        ("eval-batch", "N", "none"),
        ("eval-logits", "N", "none"),
        ("checkpointing", "SPEC", "none"),
        ("treat", "SPEC", "none"),
        ("adapter", "FILE", "none"),
        ("lora", "SPEC", "none"),
        ("adapter-dtype", "TYPE", "fp32 if the model is in half precision"),
        ("quantize", "KIND", "as in the config"),
        ("upcast", "YESNO", "yes for bitsandbytes"),
        ("plan", "FILE", "none"),
        ("checkpoint-kind", "KIND", "non-reentrant"),
        ("attention", "NAME", "auto"),
        ("experts", "NAME", "auto"),
        ("routing", "NAME", "balanced"),
        ("parallel", "SPEC", "none"),
        ("world", "N", "as in the arguments"),
        ("rank", "N|worst|all", "worst"),
        ("load-dtype", "TYPE", "that of the weights"),
        ("param-dtype", "TYPE", "that of the weights"),
        ("reduce-dtype", "TYPE", "that of the computation"),
        ("reshard-after-forward", "YESNO", "yes"),
        ("reshard-ranks", "N", "0"),
        ("reshard-root", "YESNO", "no"),
        ("reshard-after-backward", "YESNO", "yes"),
        ("fsdp-units", "NAME", "layers"),
        ("fsdp-offload", "YESNO", "no"),
        ("use-orig-params", "YESNO", "yes"),
        ("forward-prefetch", "YESNO", "no"),
        ("backward-prefetch", "WHEN", "pre"),
        ("limit-all-gathers", "YESNO", "yes"),
        ("bucket-cap-mb", "N", "0"),
        ("gradient-as-bucket-view", "YESNO", "no"),
        ("static-graph", "YESNO", "no"),
        ("find-unused-parameters", "YESNO", "no"),
        ("init-sync", "YESNO", "yes"),
        ("zero-optimizer", "YESNO", "no"),
        ("parameters-as-bucket-view", "YESNO", "no"),
        ("no-sync", "YESNO", "no"),
        ("no-all-reduce", "YESNO", "no"),
        ("sequence-parallel", "YESNO", "no"),
        ("loss-parallel", "YESNO", "no"),
        ("reduce-bucket-size", "N", "500000000"),
        ("overlap-comm", "YESNO", "yes in stage 3"),
        ("contiguous-gradients", "YESNO", "yes"),
        ("decay-groups", "YESNO", "no"),
        ("zero-init", "YESNO", "yes"),
        ("offload-param", "YESNO", "no"),
        ("stage3-prefetch-bucket-size", "N", "50000000"),
        ("stage3-max-live-parameters", "N", "1000000000"),
        ("stage3-max-reuse-distance", "N", "1000000000"),
        ("stage3-param-persistence-threshold", "N", "100000"),
        ("device", "NAME", "a100-80gb"),
        ("calibration", "FILE", "none"),
        ("prices", "FILE", "none"),
        ("mfu", "X", "the rates the device reaches"),
        ("network", "RATE", "not known"),
        ("torch", "X.Y", "2.11"),
        ("allocator", "NAME", "cuda; raw on cpu"),
        ("max-split-size", "SIZE", "none"),
        ("roundup-power2-divisions", "N", "none"),
        ("addresses", "NAME", "up"),
        ("budget", "SIZE", "all of the device"),
        ("format", "NAME", None),
        ("file", "FILE", None),
        ("quiet", None, None),
        ("color", "WHEN", None),
        ("no-color", None, None),
    ],
    "check": [
        ("budgets", "FILE", "memscope.budgets.json"),
        ("warn-only", None, None),
        ("calibration", "FILE", None),
        ("no-plans", None, None),
        ("root", "DIR", "anywhere"),
        ("jobs", "N", "one per processor"),
        ("format", "NAME", None),
        ("file", "FILE", None),
        ("output", "FMT=FILE", None),
        ("quiet", None, None),
        ("color", "WHEN", None),
        ("no-color", None, None),
    ],
    "compare": [
        ("format", "NAME", None),
        ("file", "FILE", None),
        ("color", "WHEN", None),
        ("no-color", None, None),
    ],
    "calibrate": [
        ("format", "NAME", None),
        ("file", "FILE", None),
        ("quiet", None, None),
        ("color", "WHEN", None),
        ("no-color", None, None),
    ],
    "capture": [
        ("device", "NAME", "a100-80gb"),
        ("real", None, None),
        ("device-count", "N", "1; with --world up to 8"),
        ("world", "N", None),
        ("rank", "R|all", "0, or $RANK"),
        ("steps", "N", "3"),
        ("answer-loss", "X", "0"),
        ("out", "DIR", "memscope-capture"),
        ("time-limit", "SECONDS", "600"),
        ("trace-calls", None, None),
        ("trace", None, None),
        ("no-paths", None, None),
        ("quiet", None, None),
        ("color", "WHEN", None),
        ("no-color", None, None),
    ],
}
