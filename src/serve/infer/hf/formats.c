/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/hf/formats.h"

#include <string.h>

#include "input/config/model/family_facts.h"
#include "input/config/model/model_config.h"

/* ---- what is refused ---- */

/* compressed-tensors 0.20 has a hook before the first pass, which unpacks all layers. */
static ms_status refuse_kind(ms_error *err)
{
    return ms_fail(
        err, MS_ERR_CONFIG,
        "quantize: engine hf does not predict compressed-tensors, which this config has: "
        "transformers 5.23 unpacks all weights in the first pass; quantize none predicts "
        "the passes of the unpacked model, without scales and rounded activations");
}

static bool has_broken_blocks(const ms_model_config *c)
{
    uint64_t width = c->expert_size ? c->expert_size : c->intermediate_size;
    return c->hidden_size % MS_FP8_BLOCK != 0 || width % MS_FP8_BLOCK != 0;
}

/* FalconLinear is no torch.nn.Linear; bitsandbytes multiplies what has four dimensions in four bits
 * alone; and the kernel of fp8 takes whole blocks of experts. */
static ms_status refuse_family(const ms_infer_job *job, const ms_quantization *q, ms_error *err)
{
    const ms_model_config *c = job->config;
    bool is_fp8 = q->kind == MS_QUANTIZE_FP8_BLOCK;
    if (q->kind != MS_QUANTIZE_NONE && ms_family_facts_of(c->family)->has_own_linear)
        return ms_fail(err, MS_ERR_CONFIG,
                       "quantize: transformers 5.23 does not quantise the layers of falcon: give "
                       "quantize none");
    if (q->kind == MS_QUANTIZE_INT8 && c->latent_rank > 0)
        return ms_fail(err, MS_ERR_CONFIG,
                       "quantize: bitsandbytes 0.50 fails in int8 at the latent attention of %s; "
                       "give nf4 or fp4",
                       c->model_type);
    if (is_fp8 && q->has_power_scales)
        return ms_fail(err, MS_ERR_CONFIG,
                       "quantize: fp8-block with scales in e8m0 (scale_fmt ue8m0) is not "
                       "predicted; give quantize none");
    if (is_fp8 && c->hidden_size <= MS_FP8_BLOCK)
        return ms_fail(err, MS_ERR_CONFIG,
                       "quantize: fp8-block uses another kernel for weights of a single block, "
                       "which is not predicted; the hidden size must be above 128");
    if (is_fp8 && c->num_experts > 0 && has_broken_blocks(c))
        return ms_fail(err, MS_ERR_CONFIG,
                       "quantize: the kernel of fp8-block takes only experts whose sizes are "
                       "multiples of 128; give quantize none");
    if (is_fp8 && c->num_experts > 0 && job->settings->hf.loop == MS_HF_LOOP_GENERATE)
        return ms_fail(err, MS_ERR_CONFIG,
                       "quantize: generate() runs experts of fp8-block in another way while it "
                       "decodes, which is not predicted; give loop forward");
    return MS_OK;
}

/* ---- Marlin ---- */

static bool is_grouped(const ms_quantization *q)
{
    return q->kind == MS_QUANTIZE_GPTQ || q->kind == MS_QUANTIZE_AWQ;
}

/* Whether widths of layers are whole groups, and whole words of packed weights. */
static bool has_whole_groups(const ms_model_config *c, const ms_quantization *q)
{
    enum { WORD_BITS = 32 };
    uint64_t word = WORD_BITS / q->bits;
    uint64_t group = q->group_weights > word ? q->group_weights : word;
    return c->hidden_size % group == 0 && c->intermediate_size % group == 0 &&
           c->num_heads * ms_value_dim(c) % group == 0 &&
           c->num_kv_heads * ms_key_dim(c) % word == 0;
}

/* transformers puts an activation of another kind into these for AWQ, or has nothing to pack in
 * them; optimum leaves what is not in layers as it is. */
static bool is_other(const ms_model_config *c, bool is_gptq)
{
    if (is_gptq)
        return c->embedding_width != 0 && c->embedding_width != c->hidden_size;
    return ms_family_facts_of(c->family)->awq_differs;
}

/* Of GPT-QModel's kernels Marlin's alone is predicted: what it does not take, others do. */
static ms_status refuse_grouped(const ms_infer_job *job, const ms_quantization *q, ms_error *err)
{
    enum { FIRST = 80, LAST = 89, LARGEST_GROUP = 128 };
    const ms_model_config *c = job->config;
    uint32_t capability = job->device->compute_capability;
    bool is_gptq = q->kind == MS_QUANTIZE_GPTQ;
    const struct {
        bool applies;
        const char *why;
    } rows[] = {
        {capability < FIRST || capability > LAST,
         "with a kernel other than Marlin's on this device, which is not predicted; devices of "
         "compute capability 8.0 to 8.9 are"},
        {q->bits < 4, "in fewer than 4 bits with a kernel other than Marlin's, which is not "
                      "predicted; 4 and 8 bits are"},
        {q->group_weights == 16 || q->group_weights > LARGEST_GROUP,
         "in groups of this size with a kernel other than Marlin's, which is not predicted; 32, "
         "64, 128 and -1 are"},
        {q->is_asymmetric, "with zero points (sym false) with a kernel other than Marlin's, which "
                           "is not predicted; sym true is"},
        {q->converted_count > 0,
         "only in some modules (modules_in_block_to_quantize), which is not predicted"},
        {is_other(c, is_gptq), "differently for this family, which is not predicted"},
        {!has_whole_groups(c, q), "only if its groups divide the widths of the layers"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].applies)
            return ms_fail(err, MS_ERR_CONFIG, "quantize: GPT-QModel 7.7 runs %s %s",
                           is_gptq ? "gptq" : "awq", rows[i].why);
    return MS_OK;
}

/* ---- formats ---- */

static bool is_predicted(const ms_quantization *q)
{
    return q->kind != MS_QUANTIZE_COMPRESSED;
}

static ms_status set_compute_dtype(const ms_infer_job *job, ms_quantization *q, ms_error *err)
{
    const char *name = job->settings->hf.compute_dtype;
    if (!name)
        return MS_OK;
    if (!ms_is_in_four_bits(q))
        return ms_fail(
            err, MS_ERR_USAGE,
            "compute-dtype applies to weights in 4 bits, but quantize is neither nf4 nor fp4");
    q->has_compute_dtype = ms_dtype_parse(name, &q->compute_dtype) &&
                           (q->compute_dtype == MS_DTYPE_BF16 || q->compute_dtype == MS_DTYPE_F16 ||
                            q->compute_dtype == MS_DTYPE_F32);
    if (!q->has_compute_dtype)
        return ms_fail(err, MS_ERR_USAGE,
                       "compute-dtype: found '%.40s', expected bf16, fp16 or fp32", name);
    return MS_OK;
}

ms_status ms_hf_quantization(const ms_infer_job *job, ms_quantization *q, ms_error *err)
{
    const char *text = job->settings->hf.quantize;
    ms_error reason = {0};
    *q = job->config->quantization;
    if (text && ms_quantization_parse(text, q, &reason) != MS_OK)
        return ms_fail(err, MS_ERR_USAGE, "quantize: %s", reason.text);
    if (!is_predicted(q))
        return refuse_kind(err);
    ms_status status = refuse_family(job, q, err);
    if (status == MS_OK && is_grouped(q))
        status = refuse_grouped(job, q, err);
    q->is_served = is_grouped(q);
    return status == MS_OK ? set_compute_dtype(job, q, err) : status;
}

void ms_hf_set_allocator(const ms_infer_job *job, ms_run_config *run)
{
    enum { GPT_QMODEL_MOST_SPLIT = 256 << 20 };
    if (!is_grouped(&run->quantization) || job->settings->hf.allocator)
        return;
    run->allocator.kind = MS_ALLOCATOR_CUDA_EXPANDABLE;
    run->allocator.max_split_size_bytes = GPT_QMODEL_MOST_SPLIT;
}

/* ---- notes ---- */

const char *ms_hf_format_note(const ms_infer_job *job, const ms_quantization *q)
{
    enum { FIRST_WITH_DEEPGEMM = 90 };
    bool is_fp8 = q->kind == MS_QUANTIZE_FP8_BLOCK;
    if (q->kind == MS_QUANTIZE_MXFP4)
        return "mxfp4: the weights are dequantised on loading, as Mxfp4Config(dequantize=True) "
               "does "
               "and as transformers does without the package kernels";
    if (is_fp8 && q->is_dequantized)
        return "fp8-block: this device has no fp8, so the weights are dequantised on loading";
    if (is_fp8 && job->device->compute_capability >= FIRST_WITH_DEEPGEMM)
        return "fp8-block: matrix products are predicted with the Triton kernel; where nvcc is "
               "installed transformers uses DeepGEMM, which packs inputs into separate memory "
               "(TRANSFORMERS_DISABLE_DEEPGEMM_LINEAR=1 switches it off)";
    if (is_grouped(q))
        return "GPT-QModel is assumed to use Marlin's kernel, which needs nvcc; the library "
               "switches PyTorch to expandable segments unless PYTORCH_ALLOC_CONF is set "
               "(allocator cuda predicts that)";
    if (q->kind == MS_QUANTIZE_INT8)
        return "int8 is predicted without outlier columns in the activations, because these depend "
               "on the data: each adds 2 bytes per token and output of a matrix product";
    return NULL;
}
