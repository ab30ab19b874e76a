/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Layouts and options that are not predicted together: one sentence each.
 */
#include "input/config/model/model_config.h"
#include "unit/fixtures.h"

enum { MOST_SETTINGS = 4 };

typedef struct refusal {
    const char *label;
    ms_run_setting settings[MOST_SETTINGS];
    const char *expected; /* NULL: it is predicted */
} refusal;

static const refusal cases[] = {
    {"an option of FSDP1",
     {{"parallel", "fsdp=8"}, {"use-orig-params", "no"}},
     "use-orig-params: it is an option of fsdp1=N and hsdp1=RxS, but parallel is fsdp=8"},
    {"an option of FSDP2",
     {{"parallel", "fsdp1=8"}, {"reshard-ranks", "2"}},
     "reshard-ranks: it is an option of fsdp=N and hsdp=RxS, but parallel is fsdp1=8"},
    {"ranks that are others",
     {{"parallel", "fsdp=8"}, {"world", "4"}},
     "world: found 4, but parallel fsdp=8 has 8 ranks"},
    {"ranks without a layout",
     {{"world", "4"}},
     "world: there are 4 ranks, but nothing says how they share the training: give parallel, or "
     "training-args that shard"},
    {"parts of FSDP2 that are cast",
     {{"parallel", "fsdp=8"}, {"load-dtype", "bf16"}},
     "load-dtype: it is an option of fsdp1=N and hsdp1=RxS, but parallel is fsdp=8"},
    {"parts that are cast to half precision",
     {{"parallel", "fsdp1=8"}, {"dtype", "bf16"}, {"load-dtype", "fp32"}},
     "load-dtype: it is not predicted unless it is the type of the computation"},
    {"a broadcast of other units",
     {{"parallel", "fsdp=8"}, {"build", "broadcast"}},
     "build: broadcast is an option of accelerate: fsdp-units must be accelerate"},
    {"a broadcast of uneven shards",
     {{"parallel", "fsdp=7"}, {"build", "broadcast"}, {"fsdp-units", "accelerate"}},
     "build: broadcast is predicted only for even shards, but 576 rows are not a multiple of "
     "7 ranks"},
    {"an option of DDP",
     {{"parallel", "hsdp1=2x8"}, {"zero-optimizer", "yes"}},
     "zero-optimizer: it is an option of dp=N, but parallel is hsdp1=2x8"},
    {"one shard",
     {{"parallel", "fsdp1=1"}},
     "parallel: fsdp1=1 shares parameters with no other rank: leave it out"},
    {"copies of one shard",
     {{"parallel", "hsdp=4x1"}},
     "parallel: hsdp=4x1 shares parameters with no other rank: give dp=N"},
    {"a rank too many",
     {{"parallel", "hsdp1=2x4"}, {"rank", "8"}},
     "rank: found 8, but the ranks are 0 to 7"},
    {"ranks that do not divide",
     {{"parallel", "fsdp=8"}, {"reshard-ranks", "3"}},
     "reshard-ranks: found 3, expected a divisor of the 8 ranks that share parameters, but "
     "neither 1 nor all"},
    {"kept whole and divided",
     {{"parallel", "fsdp=8"}, {"reshard-ranks", "2"}, {"reshard-after-forward", "no"}},
     "reshard-ranks: it reshards the weights that reshard-after-forward no keeps whole"},
    {"tied embeddings",
     {{"parallel", "fsdp=8"}, {"fsdp-units", "torchtitan"}},
     "fsdp-units: torchtitan's units are not predicted with tied embeddings"},
    {"on the host from the device",
     {{"parallel", "fsdp=8"}, {"fsdp-offload", "yes"}, {"build", "device"}},
     "fsdp-offload: it is not predicted with build device"},
    {"views of no optimizer",
     {{"parallel", "dp=8"}, {"parameters-as-bucket-view", "yes"}},
     "parameters-as-bucket-view: it is an option of zero-optimizer, which is not set"},
    {"states of whole tensors",
     {{"parallel", "dp=8"}, {"zero-optimizer", "yes"}, {"optimizer", "adamw-8bit"}},
     "parallel: DistributedDataParallel is not predicted with this optimizer"},
    {"a static graph without reductions",
     {{"parallel", "dp=8"}, {"static-graph", "yes"}, {"no-sync", "yes"}, {"accumulate", "2"}},
     "static-graph: it is not predicted with no-sync"},
    {"a static graph and a loss of its own",
     {{"parallel", "dp=8"}, {"static-graph", "yes"}, {"label-smoothing", "0.1"}},
     "static-graph: it is not predicted with label-smoothing"},
    {"a static graph that looks for unused parameters",
     {{"parallel", "dp=8"}, {"static-graph", "yes"}, {"find-unused-parameters", "yes"}},
     "find-unused-parameters: it is not predicted with static-graph"},
    {"unused parameters of shards",
     {{"parallel", "fsdp=8"}, {"find-unused-parameters", "yes"}},
     "find-unused-parameters: it is an option of dp=N, but parallel is fsdp=8"},
    {"reentrant checkpoints",
     {{"parallel", "fsdp1=8"}, {"checkpointing", "all"}, {"checkpoint-kind", "reentrant"}},
     "parallel: FSDP1 is not predicted with reentrant checkpoints"},
    {"reentrant checkpoints of shards",
     {{"parallel", "fsdp=8"}, {"checkpointing", "all"}, {"checkpoint-kind", "reentrant"}},
     NULL},
    {"reentrant checkpoints of parameters that are looked for",
     {{"parallel", "dp=8"},
      {"find-unused-parameters", "yes"},
      {"checkpointing", "all"},
      {"checkpoint-kind", "reentrant"}},
     "find-unused-parameters: DistributedDataParallel fails with reentrant checkpoints, "
     "because it takes their parameters for unused: give no"},
    {"an evaluation of flat parameters",
     {{"parallel", "fsdp1=8"}, {"eval-batch", "2"}},
     "parallel: FSDP1 is not predicted with evaluations"},
    {"an evaluation that spreads",
     {{"parallel", "fsdp=8"}, {"reshard-ranks", "2"}, {"eval-batch", "2"}},
     "parallel: FSDP2 is not predicted with evaluations"},
    {"an evaluation of shards", {{"parallel", "fsdp=8"}, {"eval-batch", "2"}}, NULL},
    {"an adapter of flat parameters",
     {{"parallel", "fsdp1=8"}, {"lora", "r=8"}},
     "parallel: FSDP1 is not predicted with an adapter; `memscope capture --world N` measures it"},
    {"an adapter of another type",
     {{"parallel", "fsdp=8"}, {"lora", "r=8"}, {"dtype", "bf16"}},
     "parallel: FSDP2 is not predicted with an adapter in another type than the weights: "
     "give param-dtype, such as bf16, which gathers both in one type; `memscope capture --world N` "
     "measures it"},
    {"an adapter of another type that is cast",
     {{"parallel", "fsdp=8"}, {"lora", "r=8"}, {"dtype", "bf16"}, {"param-dtype", "bf16"}},
     NULL},
    {"an adapter of the same type",
     {{"parallel", "fsdp=8"}, {"lora", "r=8"}, {"dtype", "fp32"}},
     NULL},
    {"contexts of an uneven sequence",
     {{"parallel", "cp=4"}, {"seq", "1020"}},
     "seq: found 1020, but cp=4 splits a sequence into 8 equal parts"},
    {"contexts in fp32",
     {{"parallel", "cp=4"}, {"dtype", "fp32"}},
     "parallel: context parallelism is not predicted with attention other than flash, which needs "
     "bf16 or fp16"},
    {"contexts of another attention",
     {{"parallel", "cp=4"}, {"attention", "math"}},
     "parallel: context parallelism is not predicted with attention other than flash, which needs "
     "bf16 or fp16"},
    {"contexts of windows",
     {{"parallel", "cp=4"}, {"config", "gemma-3-1b"}},
     "parallel: context parallelism is not predicted with sliding windows"},
    {"contexts of another family",
     {{"parallel", "cp=4"}, {"config", "gpt2"}, {"seq", "1024"}},
     "parallel: context parallelism is not predicted for gpt2, whose modules were not compared "
     "with "
     "PyTorch's"},
    {"shards of LayerNorms",
     {{"parallel", "tp=2"}, {"config", "starcoder2-3b"}},
     "parallel: tensor parallelism is not predicted for starcoder2, which has LayerNorms"},
    {"stages of factors",
     {{"parallel", "pp=2,microbatches=2"}, {"config", "gemma-2b"}},
     "parallel: pipeline parallelism is not predicted for gemma, which multiplies embeddings, "
     "residuals or logits"},
    {"contexts and an adapter",
     {{"parallel", "cp=4"}, {"lora", "r=8"}},
     "parallel: context parallelism is not predicted with an adapter; `memscope capture --world N` "
     "measures it"},
    {"contexts and shards on the host",
     {{"parallel", "cp=4"}, {"fsdp-offload", "yes"}},
     "parallel: context parallelism is not predicted with fsdp-offload or reshard-ranks"},
    {"contexts and torchtitan's units",
     {{"parallel", "cp=4"}, {"config", "qwen3-8b"}, {"fsdp-units", "torchtitan"}},
     "parallel: context parallelism is not predicted with build or fsdp-units"},
    {"contexts and a loss of its own",
     {{"parallel", "cp=4"}, {"label-smoothing", "0.1"}},
     "parallel: context parallelism is not predicted with another loss"},
    {"contexts", {{"parallel", "cp=4"}}, NULL},
    {"sums among no copies",
     {{"parallel", "fsdp=4"}, {"no-all-reduce", "yes"}},
     "no-all-reduce: it needs hsdp=RxS or hsdp1=RxS, but parallel is fsdp=4"},
    {"sums of nothing",
     {{"parallel", "hsdp=2x4"}, {"no-all-reduce", "yes"}, {"no-sync", "yes"}},
     "no-all-reduce: with no-sync these micro-steps reduce nothing: leave out one of them"},
    {"broadcasts of shards",
     {{"parallel", "fsdp=4"}, {"init-sync", "no"}},
     "init-sync: it is an option of dp=N, but parallel is fsdp=4"},
    {"an adapter in ZeRO-3 without checkpoints",
     {{"parallel", "zero=3,dp=8"}, {"lora", "r=8,targets=q_proj"}},
     "parallel: ZeRO-3 is not predicted with an adapter, unless all layers are checkpointed; "
     "`memscope capture --world N` measures it"},
    {"an adapter with dropout in ZeRO-3",
     {{"parallel", "zero=3,dp=8"},
      {"lora", "r=8,targets=q_proj,dropout=0.1"},
      {"checkpointing", "all"}},
     "parallel: ZeRO-3 is not predicted with an adapter other than plain LoRA without dropout; "
     "`memscope capture --world N` measures it"},
    {"an adapter of the head in ZeRO-3",
     {{"parallel", "zero=3,dp=8"}, {"lora", "r=8,targets=lm_head"}, {"checkpointing", "all"}},
     "parallel: ZeRO-3 is not predicted with an adapter of modules other than the projections of "
     "attention and MLP; `memscope capture --world N` measures it"},
    {"an adapter of another family in ZeRO-3",
     {{"parallel", "zero=3,dp=8"},
      {"lora", "r=8,targets=q_proj"},
      {"checkpointing", "all"},
      {"config", "gemma-2-2b"}},
     "parallel: ZeRO-3 is not predicted with an adapter of this type of model; `memscope capture "
     "--world N` measures it"},
    {"an adapter in ZeRO-3",
     {{"parallel", "zero=3,dp=8"}, {"lora", "r=8,targets=q_proj"}, {"checkpointing", "all"}},
     NULL},
    {"a layout of copies", {{"parallel", "hsdp1=2x8"}, {"forward-prefetch", "yes"}}, NULL},
};

static void check(void **state)
{
    const refusal *c = *state;
    ms_run_setting settings[MOST_SETTINGS + 3] = {
        {"device", "a100-80gb"}, {"config", "smollm2-135m"}, {"seq", "128"}};
    size_t count = 3;
    for (size_t i = 0; i < MOST_SETTINGS && c->settings[i].field; i++)
        settings[count++] = c->settings[i];
    ms_arena *arena = ms_arena_create(0);
    ms_model_config model;
    ms_run_config run;
    ms_notes notes = {0};
    ms_error err = {0};
    ms_status status = ms_run_load(arena, settings, count, &model, &run, &notes, &err);
    if (c->expected) {
        assert_int_not_equal(status, MS_OK);
        assert_string_equal(err.text, c->expected);
    } else {
        assert_int_equal(status, MS_OK);
    }
    ms_arena_free(arena);
}

int main(void)
{
    return run_rows("layouts that are refused", check, cases);
}
