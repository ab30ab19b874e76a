/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * PyTorch tries its back ends in order and uses the first whose conditions hold. The conditions are
 * rows, used both for selecting and for refusing. A device without a compute capability (ROCm) is
 * assumed to have all kernels.
 */
#include "input/config/run/attention.h"

#include "input/config/model/model_config.h"

enum { LARGEST_FLASH_HEAD = 256, HALF_ALIGNMENT = 8, FLOAT_ALIGNMENT = 4 };

const char *const ms_attention_names[MS_ATTENTION_COUNT + 1] = {
    [MS_ATTENTION_AUTO] = "auto",           [MS_ATTENTION_FLASH] = "flash",
    [MS_ATTENTION_CUDNN] = "cudnn",         [MS_ATTENTION_EFFICIENT] = "efficient",
    [MS_ATTENTION_MATH] = "math",           [MS_ATTENTION_EAGER] = "eager",
    [MS_ATTENTION_CPU_FLASH] = "cpu-flash",
};

static ms_dtype compute_dtype(const ms_run_config *run)
{
    switch (run->autocast) {
    case MS_AUTOCAST_BF16:
        return MS_DTYPE_BF16;
    case MS_AUTOCAST_F16:
        return MS_DTYPE_F16;
    case MS_AUTOCAST_NONE:
        break;
    }
    return run->upcast ? MS_DTYPE_F32 : run->dtype; /* norms and embeddings are in fp32 */
}

static bool in_half(const ms_run_config *run)
{
    return ms_dtype_bytes(compute_dtype(run)) == 2;
}

typedef bool (*condition)(const ms_model_config *model, const ms_run_config *run);

static bool is_eager_only(const ms_model_config *model, const ms_run_config *run)
{
    (void)run;
    return model->family->eager_only;
}

static bool on_cpu(const ms_model_config *model, const ms_run_config *run)
{
    (void)model;
    return run->device->is_cpu;
}

static bool on_gpu(const ms_model_config *model, const ms_run_config *run)
{
    return !on_cpu(model, run);
}

static bool is_fp32(const ms_model_config *model, const ms_run_config *run)
{
    (void)model;
    return !in_half(run);
}

static bool before_ampere(const ms_model_config *model, const ms_run_config *run)
{
    (void)model;
    return ms_device_before_ampere(run->device);
}

static bool bf16_before_ampere(const ms_model_config *model, const ms_run_config *run)
{
    return compute_dtype(run) == MS_DTYPE_BF16 && before_ampere(model, run);
}

static uint64_t widest_key(const ms_model_config *model)
{
    uint64_t key = ms_key_dim(model);
    return key > model->wide_head_dim ? key : model->wide_head_dim;
}

static bool has_wide_heads(const ms_model_config *model, const ms_run_config *run)
{
    (void)run;
    return widest_key(model) > LARGEST_FLASH_HEAD;
}

static bool has_unequal_heads(const ms_model_config *model, const ms_run_config *run)
{
    (void)run;
    return ms_key_dim(model) != ms_value_dim(model);
}

static bool has_unaligned_heads(const ms_model_config *model, const ms_run_config *run)
{
    uint64_t alignment = in_half(run) ? HALF_ALIGNMENT : FLOAT_ALIGNMENT;
    return ms_key_dim(model) % alignment != 0 || ms_value_dim(model) % alignment != 0 ||
           model->wide_head_dim % alignment != 0;
}

/* From 2.14 on the memory-efficient kernel takes fewer key heads than query heads, and a single one
 * without being asked to. */
static bool before_shared_keys(const ms_run_config *run)
{
    enum { FIRST_MINOR = 14 };
    return run->torch_major == 2 && run->torch_minor < FIRST_MINOR;
}

static bool has_grouped_queries(const ms_model_config *model, const ms_run_config *run)
{
    return model->num_heads != model->num_kv_heads && before_shared_keys(run);
}

static bool drops_attention(const ms_model_config *model, const ms_run_config *run)
{
    (void)run;
    return model->attention_dropout > 0;
}

static bool before_cudnn(const ms_model_config *model, const ms_run_config *run)
{
    (void)model;
    return !ms_device_is_hopper(run->device) && !ms_device_is_blackwell(run->device);
}

/* On Blackwell heads of at most 128, but for DeepSeek's keys. */
static bool too_wide_for_cudnn(const ms_model_config *model, const ms_run_config *run)
{
    enum { LARGEST_ON_BLACKWELL = 128, DEEPSEEK_KEY = 192 };
    uint64_t key = widest_key(model), value = ms_value_dim(model);
    uint64_t widest = key > value ? key : value;
    if (ms_device_is_hopper(run->device))
        return widest > LARGEST_FLASH_HEAD;
    return widest > LARGEST_ON_BLACKWELL && !(key == DEEPSEEK_KEY && value == LARGEST_ON_BLACKWELL);
}

static bool among_sequence_parts(const ms_model_config *model, const ms_run_config *run)
{
    (void)model;
    return run->parallel.layout.context > 1;
}

#define EAGER_ONLY "is not available for this family: the framework runs it in eager mode only"
#define LEARNED_BIAS "computes no gradient of a bias, but the model learns one"
#define UNEQUAL_HEADS "needs keys and values of the same width"

static bool always_masks(const ms_model_config *model, const ms_run_config *run)
{
    (void)run;
    return model->family->always_masks;
}

static bool broadcasts_kv(const ms_model_config *model, const ms_run_config *run)
{
    (void)run;
    return model->broadcasts_kv;
}

static bool broadcasts_kv_early(const ms_model_config *model, const ms_run_config *run)
{
    return model->broadcasts_kv && before_shared_keys(run);
}

/* Its bias has a gradient, which these kernels do not compute; attention to an encoder's tokens,
 * whose bias is none, may have them all the same. */
static bool asks_despite_bias(const ms_model_config *model, const ms_run_config *run)
{
    return model->bias_buckets > 0 &&
           (run->attention == MS_ATTENTION_CUDNN || run->attention == MS_ATTENTION_CPU_FLASH);
}

typedef struct refusal {
    ms_attention backend;
    condition holds;
    const char *reason;
    bool not_with_mask; /* with a mask the framework has repeated keys and values already */
} refusal;

/* clang-format off */
static const refusal refusals[] = {
    {MS_ATTENTION_FLASH,     is_eager_only,       EAGER_ONLY, false},
    {MS_ATTENTION_EFFICIENT, is_eager_only,       EAGER_ONLY, false},
    {MS_ATTENTION_MATH,      is_eager_only,       EAGER_ONLY, false},
    {MS_ATTENTION_CPU_FLASH, is_eager_only,       EAGER_ONLY, false},
    {MS_ATTENTION_FLASH,     on_cpu,              "runs on GPUs; the cpu has cpu-flash, math and eager", false},
    {MS_ATTENTION_FLASH,     is_fp32,             "takes bf16 or fp16, but the run is fp32", false},
    {MS_ATTENTION_FLASH,     before_ampere,       "needs compute capability 8.0, but the device has less", false},
    {MS_ATTENTION_FLASH,     has_wide_heads,      "needs head sizes of at most 256", false},
    {MS_ATTENTION_FLASH,     has_unequal_heads,   UNEQUAL_HEADS, false},
    {MS_ATTENTION_FLASH,     always_masks,        "takes no mask, but the model always has one", false},
    {MS_ATTENTION_CUDNN,     is_eager_only,       EAGER_ONLY, false},
    {MS_ATTENTION_CUDNN,     before_cudnn,        "is predicted for compute capability 9.0 and 10.x", false},
    {MS_ATTENTION_CUDNN,     is_fp32,             "takes bf16 or fp16, but the run is fp32", false},
    {MS_ATTENTION_CUDNN,     has_unaligned_heads, "needs head sizes that are a multiple of 8", false},
    {MS_ATTENTION_CUDNN,     too_wide_for_cudnn,  "needs head sizes of at most 256, on compute capability 10.x of at most 128", false},
    {MS_ATTENTION_CUDNN,     broadcasts_kv,       "needs one key head per query head, but the model has a single one", false},
    {MS_ATTENTION_CUDNN,     among_sequence_parts, "is not predicted with context parallelism", false},
    {MS_ATTENTION_CUDNN,     asks_despite_bias,   LEARNED_BIAS, false},
    {MS_ATTENTION_CPU_FLASH, asks_despite_bias,   LEARNED_BIAS, false},
    {MS_ATTENTION_EFFICIENT, on_cpu,              "runs on GPUs; the cpu has cpu-flash, math and eager", false},
    {MS_ATTENTION_EFFICIENT, bf16_before_ampere,  "needs compute capability 8.0 for bf16, but the device has less", false},
    {MS_ATTENTION_EFFICIENT, has_unaligned_heads, "needs head sizes that are a multiple of 8 (fp32: 4)", false},
    {MS_ATTENTION_EFFICIENT, has_grouped_queries, "does not take grouped queries before torch 2.14", true},
    {MS_ATTENTION_EFFICIENT, broadcasts_kv_early, "needs one key head per query head before torch 2.14, but the model has a single one", false},
    {MS_ATTENTION_CPU_FLASH, broadcasts_kv,       "needs one key head per query head, but the model has a single one", false},
    {MS_ATTENTION_CPU_FLASH, on_gpu,              "runs on the cpu only", false},
    {MS_ATTENTION_CPU_FLASH, has_unequal_heads,   UNEQUAL_HEADS, false},
    {MS_ATTENTION_CPU_FLASH, drops_attention,     "takes no dropout, but the model has attention dropout", false},
};
/* clang-format on */

static const char *refusal_of(ms_attention backend, const ms_model_config *model,
                              const ms_run_config *run, bool with_mask)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (refusals[i].backend == backend && !(with_mask && refusals[i].not_with_mask) &&
            refusals[i].holds(model, run))
            return refusals[i].reason;
    return NULL;
}

const char *ms_attention_refusal(ms_attention backend, const ms_model_config *model,
                                 const ms_run_config *run)
{
    return refusal_of(backend, model, run, model->family->always_masks);
}

/* Since torch 2.9, unless TORCH_CUDNN_SDPA_DEPRIORITIZED is set (check_prefer_cudnn_attention of
 * its sdp_utils.cpp). A run that asks for flash attention has set it. */
static bool prefers_cudnn(const ms_run_config *run)
{
    enum { FIRST_MINOR = 9 };
    bool is_late =
        run->torch_major > 2 || (run->torch_major == 2 && run->torch_minor >= FIRST_MINOR);
    return is_late && run->attention == MS_ATTENTION_AUTO;
}

static ms_attention first_that_runs(const ms_model_config *model, const ms_run_config *run,
                                    bool with_mask)
{
    static const ms_attention order[] = {MS_ATTENTION_CUDNN, MS_ATTENTION_FLASH,
                                         MS_ATTENTION_CPU_FLASH, MS_ATTENTION_EFFICIENT,
                                         MS_ATTENTION_MATH};
    for (size_t i = prefers_cudnn(run) ? 0 : 1; i < sizeof order / sizeof *order; i++)
        if (!(with_mask && order[i] == MS_ATTENTION_FLASH) &&
            !refusal_of(order[i], model, run, with_mask))
            return order[i];
    return MS_ATTENTION_EAGER;
}

ms_attention ms_attention_choose(const ms_model_config *model, const ms_run_config *run)
{
    return run->attention != MS_ATTENTION_AUTO
               ? run->attention
               : first_that_runs(model, run, model->family->always_masks);
}

static ms_attention choose_masked(const ms_model_config *model, const ms_run_config *run)
{
    if (run->attention == MS_ATTENTION_MATH || run->attention == MS_ATTENTION_EAGER ||
        run->attention == MS_ATTENTION_CUDNN)
        return run->attention;
    return first_that_runs(model, run, true);
}

ms_attention ms_attention_choose_learned(const ms_model_config *model, const ms_run_config *run)
{
    if (run->attention == MS_ATTENTION_MATH || run->attention == MS_ATTENTION_EAGER)
        return run->attention;
    return refusal_of(MS_ATTENTION_EFFICIENT, model, run, true) ? MS_ATTENTION_MATH
                                                                : MS_ATTENTION_EFFICIENT;
}

void ms_attention_backends(const ms_model_config *model, const ms_run_config *run,
                           ms_backends backends[2])
{
    for (int is_wide = 0; is_wide < 2; is_wide++) {
        const ms_model_config alike = ms_layers_alike(model, is_wide);
        backends[is_wide] =
            (ms_backends){ms_attention_choose(&alike, run), choose_masked(&alike, run)};
    }
}
