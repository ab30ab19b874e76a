/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/run/run_words.h"

#include "base/text/nearest.h"

/* The word means the field; it is a flag, for that value; its value is part of the field's. */
#define IS(word, field)                                                                            \
    {                                                                                              \
        word, field, NULL, NULL, "it is " field " here", NULL                                      \
    }
#define FLAG(word, field, value)                                                                   \
    {                                                                                              \
        word, field, value, NULL, "it is " field " " value " here", NULL                           \
    }
#define PART(word, field, prefix)                                                                  \
    {                                                                                              \
        word, field, NULL, prefix, "it is " field " " prefix "... here", NULL                      \
    }

/* A word with two rows: of training, then of inference. */
static const ms_run_word words[] = {
    IS("batch-size", "batch"),
    IS("per-device-train-batch-size", "batch"),
    IS("train-batch-size", "batch"),
    IS("micro-batch-size", "batch"),
    IS("train-micro-batch-size-per-gpu", "batch"),
    IS("bs", "batch"),
    IS("mbs", "batch"),
    IS("seq-len", "seq"),
    IS("seq-length", "seq"),
    IS("sequence-len", "seq"),
    IS("sequence-length", "seq"),
    IS("max-seq-len", "seq"),
    IS("max-seq-length", "seq"),
    IS("max-length", "seq"),
    IS("block-size", "seq"),
    IS("cutoff-len", "seq"),
    IS("gradient-accumulation-steps", "accumulate"),
    IS("gradient-accumulation", "accumulate"),
    IS("grad-accumulation-steps", "accumulate"),
    IS("grad-accum", "accumulate"),
    IS("accumulation-steps", "accumulate"),
    IS("accumulate-grad-batches", "accumulate"),
    FLAG("gradient-checkpointing", "checkpointing", "all"),
    FLAG("grad-checkpointing", "checkpointing", "all"),
    FLAG("activation-checkpointing", "checkpointing", "all"),
    IS("optim", "optimizer"),
    IS("attn-implementation", "attention"),
    IS("attn", "attention"),
    IS("quantization", "quantize"),
    FLAG("load-in-4bit", "quantize", "nf4"),
    FLAG("load-in-8bit", "quantize", "int8"),
    PART("lora-r", "lora", "r="),
    PART("lora-rank", "lora", "r="),
    IS("max-grad-norm", "clip"),
    IS("clip-grad-norm", "clip"),
    IS("gradient-clipping", "clip"),
    IS("gradient-clip-val", "clip"),
    IS("torch-dtype", "dtype"),
    IS("gpu", "device"),
    IS("gpu-type", "device"),
    IS("gpu-name", "device"),
    IS("vram", "budget"),
    IS("gpu-memory", "budget"),
    IS("memory-limit", "budget"),
    IS("memory", "budget"),
    IS("ctx", "seq"),
    FLAG("bf16", "autocast", "bf16"), /* as trainers mean it: the weights stay what they are */
    FLAG("fp16", "autocast", "fp16"),
    FLAG("amp", "autocast", "bf16"),
    FLAG("pure-bf16", "dtype", "bf16"),
    FLAG("half", "dtype", "fp16"),
    FLAG("flash-attention", "attention", "flash"),
    FLAG("flash-attn", "attention", "flash"),
    FLAG("use-lora", "lora", "r=16"),
    FLAG("use-peft", "lora", "r=16"),
    {"qlora", "quantize", "nf4:double", NULL,
     "it is quantize nf4:double, autocast bf16, checkpointing all and lora r=16,targets=all-linear "
     "here",
     "autocast=bf16 lora=r=16,targets=all-linear checkpointing=all"},
    IS("quantization-bit", "quantize"),
    FLAG("use-liger-kernel", "liger", "all"),
    FLAG("use-liger", "liger", "all"),
    FLAG("enable-liger-kernel", "liger", "all"),
    IS("model-max-length", "seq"),
    FLAG("cpu-offload", "optimizer-device", "host"),
    FLAG("offload-optimizer", "optimizer-device", "host"),
    IS("fsdp-build", "build"),
    IS("model-name-or-path", "config"),
    IS("model-name", "config"),
    IS("model-id", "config"),
    IS("model", "config"),
    IS("seq", "context"),
    IS("seq-len", "context"),
    IS("max-seq-len", "context"),
    IS("max-model-len", "context"),
    IS("context-length", "context"),
    IS("context-size", "context"),
    IS("n-ctx", "context"),
    IS("ctx", "context"),
    IS("users", "concurrency"),
    IS("requests", "concurrency"),
    IS("input-len", "prompt"),
    IS("prompt-len", "prompt"),
    FLAG("bf16", "dtype", "bf16"),
    FLAG("fp16", "dtype", "fp16"),
    IS("num-ctx", "context"),
    IS("num-gpu", "gpu-layers"),
    IS("num-parallel", "concurrency"),
    IS("n-parallel", "concurrency"),
    IS("max-new-tokens", "generate"),
    IS("output-len", "generate"),
    IS("ngl", "gpu-layers"),
    IS("n-gpu-layers", "gpu-layers"),
    IS("tp", "tensor-parallel-size"),
    IS("pp", "pipeline-parallel-size"),
    IS("num-gpus", "gpus"),
    IS("n-gpus", "gpus"),
    IS("c", "ctx-size"),
    IS("b", "batch-size"),
    IS("ub", "ubatch-size"),
    IS("ubatch", "ubatch-size"),
    IS("ctk", "cache-type-k"),
    IS("ctv", "cache-type-v"),
    IS("fa", "flash-attn"),
    IS("np", "concurrency"),
    IS("parallel", "concurrency"),
    IS("ts", "tensor-split"),
    IS("sm", "split-mode"),
    IS("ot", "override-tensor"),
    FLAG("cpu-moe", "override-tensor", "exps=CPU"),
    FLAG("cmoe", "override-tensor", "exps=CPU"),
    FLAG("no-kv-offload", "kv-offload", "no"),
    FLAG("nkvo", "kv-offload", "no"),
    FLAG("kvu", "kv-unified", "yes"),
};

const ms_run_word *ms_run_words_row(size_t index)
{
    return index < sizeof words / sizeof words[0] ? &words[index] : NULL;
}

const ms_run_word *ms_run_word_find(const char *word)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (ms_name_equal(words[i].word, word))
            return &words[i];
    return NULL;
}
