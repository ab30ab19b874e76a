/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/model/unsupported.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/text/nearest.h"

#define ONE_RANK "; memscope capture --world N measures one rank"

static const char fp8[] = "training in fp8 is not supported";
static const char precision[] =
    "dtype and autocast set the precision; training in fp8 is not supported";
static const char compiled[] = "torch.compile is not supported: the step is run eagerly";
static const char gpus[] = "parallel sets the ranks: --parallel dp=8 predicts "
                           "DistributedDataParallel, --parallel fsdp=8 FSDP2";
static const char fsdp[] = "parallel sets the ranks: --parallel fsdp=8 predicts FSDP2, --parallel "
                           "hsdp=2x8 two copies of eight shards";
static const char zero[] = "parallel sets the ranks: --parallel zero=3,dp=8 predicts DeepSpeed's "
                           "stage 3 on eight, zero=2,dp=8 its stage 2; a Trainer's file that names "
                           "a DeepSpeed config is read by --training-args";
static const char megatron[] = "Megatron is not predicted yet" ONE_RANK;
static const char tensors[] = "parallel sets the ranks: --parallel tp=4 predicts tensor "
                              "parallelism, --parallel tp=4,fsdp=8 with FSDP2";
static const char pipeline[] = "parallel sets the ranks: --parallel pp=4,microbatches=8 predicts a "
                               "pipeline of four";
static const char sequences[] =
    "parallel sets the ranks: --parallel cp=4 predicts context parallelism";
static const char experts[] = "expert parallelism is not predicted yet" ONE_RANK;
static const char serving[] =
    "this command predicts a step of training; memscope infer predicts inference";
static const char cache[] = "only inference has a KV cache; memscope infer predicts it";
static const char length[] =
    "the sequence length of training is seq; memscope infer, which predicts inference, has context";
static const char no_bytes[] = "it changes no memory; leave it out";
static const char images[] = "images is the number of images in each sequence, and image-size "
                             "their width and height: --images 2 --image-size 1280x720";
static const char pixels[] = "image-size is the width and height of each image before the "
                             "processor resizes it; give the largest that occurs";
static const char videos[] = "videos are not predicted, but images are: --images 2 --image-size "
                             "1280x720; memscope capture measures a step with videos";
static const char frozen[] = "--freeze-vision yes predicts a vision tower that is not trained, its "
                             "merger included";
static const char global[] =
    "it equals batch x accumulate x ranks: batch is for one device and one micro-batch";
static const char stages[] =
    "the step of one model is predicted, the policy, with --seq for prompt and answer; memscope "
    "infer predicts the engine beside it, and --training-args reads a trainer's file";
static const char tuning[] = "all weights are trained unless --lora or --quantize is given";
static const char requests[] = "the number of sequences in training is batch; memscope infer, "
                               "which predicts inference, has concurrency";

/* clang-format off */
static const struct {
    const char *name, *why;
} settings[] = {
    {"compile", compiled}, {"torch-compile", compiled},
    {"fp8", fp8}, {"float8", fp8},
    {"precision", precision}, {"mixed-precision", precision},
    {"gpus", gpus}, {"gpu-count", gpus}, {"num-gpus", gpus}, {"n-gpus", gpus}, {"ngpus", gpus},
    {"n-gpu", gpus}, {"num-devices", gpus}, {"devices", gpus}, {"num-processes", gpus}, {"nproc", gpus},
    {"nproc-per-node", gpus}, {"gpus-per-node", gpus}, {"nnodes", gpus}, {"num-nodes", gpus},
    {"nodes", gpus}, {"num-machines", gpus}, {"world-size", gpus},
    {"dp", gpus}, {"dp-size", gpus}, {"ddp", gpus}, {"data-parallel", gpus},
    {"data-parallel-size", gpus}, {"distributed", gpus}, {"distributed-type", gpus},
    {"fsdp", fsdp}, {"fsdp2", fsdp}, {"fsdp-config", fsdp}, {"hsdp", fsdp}, {"sharding", fsdp},
    {"sharding-strategy", fsdp}, {"shards", fsdp}, {"dp-shard", fsdp}, {"dp-shard-size", fsdp},
    {"zero", zero}, {"zero1", zero}, {"zero2", zero}, {"zero3", zero}, {"zero-stage", zero},
    {"deepspeed", zero}, {"deepspeed-config", zero},
    {"megatron", megatron}, {"megatron-lm", megatron}, {"distributed-optimizer", megatron},
    {"use-distributed-optimizer", megatron},
    {"tp", tensors}, {"tp-size", tensors}, {"tensor-parallel", tensors},
    {"tensor-parallel-size", tensors}, {"tensor-model-parallel-size", tensors},
    {"model-parallel", tensors}, {"model-parallel-size", tensors},
    {"pp", pipeline}, {"pp-size", pipeline}, {"pipeline-parallel", pipeline},
    {"pipeline-parallel-size", pipeline}, {"pipeline-model-parallel-size", pipeline},
    {"cp", sequences}, {"cp-size", sequences}, {"sp", sequences}, {"sp-size", sequences},
    {"context-parallel", sequences}, {"context-parallel-size", sequences},
    {"sequence-parallel-size", sequences},
    {"ep", experts}, {"ep-size", experts}, {"expert-parallel", experts},
    {"expert-parallel-size", experts}, {"expert-model-parallel-size", experts},
    {"inference", serving}, {"infer", serving}, {"engine", serving},
    {"gpu-layers", serving}, {"ngl", serving}, {"serve", serving}, {"serving", serving},
    {"vllm", serving}, {"generate", serving}, {"generation", serving}, {"prefill", serving},
    {"decode", serving}, {"max-new-tokens", serving}, {"gpu-memory-utilization", serving},
    {"kv-cache", cache}, {"kv-cache-dtype", cache}, {"use-cache", cache},
    {"cache-implementation", cache},
    {"max-model-len", length}, {"context", length}, {"context-length", length},
    {"context-size", length}, {"ctx-size", length}, {"n-ctx", length},
    {"concurrency", requests}, {"max-num-seqs", requests}, {"max-batch-size", requests},
    {"requests", requests},
    {"image", images}, {"num-images", images}, {"images-per-sequence", images},
    {"limit-mm-per-prompt", images}, {"pixel-values", images}, {"pixels", pixels},
    {"image-max-pixels", pixels}, {"max-pixels", pixels}, {"min-pixels", pixels},
    {"videos", videos}, {"video", videos}, {"freeze-vision-tower", frozen},
    {"freeze-vision-model", frozen}, {"freeze-multi-modal-projector", frozen},
    {"global-batch-size", global}, {"total-batch-size", global}, {"effective-batch-size", global},
    {"grpo", stages}, {"ppo", stages}, {"dpo", stages}, {"rlhf", stages}, {"stage", stages},
    {"finetuning-type", tuning}, {"method", tuning}, {"train-type", tuning},
    {"packing", no_bytes}, {"neat-packing", no_bytes},
    {"learning-rate", no_bytes}, {"lr", no_bytes}, {"lr-scheduler-type", no_bytes},
    {"warmup-steps", no_bytes}, {"warmup-ratio", no_bytes}, {"num-train-epochs", no_bytes},
    {"epochs", no_bytes}, {"max-steps", no_bytes}, {"seed", no_bytes}, {"lora-alpha", no_bytes},
    {"logging-steps", no_bytes}, {"save-steps", no_bytes}, {"output-dir", no_bytes},
};
/* clang-format on */

const char *ms_unsupported_type(const char *name)
{
    static const char *const beginnings[] = {"fp8", "float8", "mxfp8"};
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (strncasecmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return fp8;
    return NULL;
}

const char *ms_unsupported_attention(const char *name)
{
    static const char package[] = "the package flash-attn is not predicted; flash is PyTorch's own "
                                  "kernel of the same algorithm, which sdpa takes";
    static const char flex[] = "flex attention is not predicted; `memscope capture` measures it";
    static const struct {
        const char *name, *why;
    } names[] = {{"flash-attention-2", package},
                 {"flash-attention-3", package},
                 {"flash-attention", package},
                 {"flash-attn", package},
                 {"flash-attn-2", package},
                 {"fa2", package},
                 {"fa3", package},
                 {"flex-attention", flex},
                 {"flex", flex}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (ms_name_equal(names[i].name, name))
            return names[i].why;
    return NULL;
}

const char *ms_unsupported_setting(const char *name)
{
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        if (ms_name_equal(settings[i].name, name))
            return settings[i].why;
    return NULL;
}
