/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Quantisation of the base, and whether this model, device and training support it.
 */
#include "input/config/resolve/resolve_quantization.h"

#include <string.h>

#include "input/config/model/family_facts.h"
#include "input/config/model/model_config.h"
#include "input/config/resolve/resolving.h"

/* Packed weights need kernels: where there are none, transformers loads them dequantised. */
static bool is_without_fp8(const ms_resolving *c)
{
    enum { FIRST_WITH_FP8 = 89 };
    return c->run->quantization.kind == MS_QUANTIZE_FP8_BLOCK &&
           c->run->device->compute_capability < FIRST_WITH_FP8;
}

static bool is_mxfp4(const ms_resolving *c)
{
    return c->run->quantization.kind == MS_QUANTIZE_MXFP4;
}

static bool trains_adapter(const ms_resolving *c)
{
    return ms_resolve_is_set(c, "adapter") || ms_run_has_lora(c->draft);
}

/* A model that is published in fp8, and trained as a whole. */
static bool is_trained_fp8(const ms_resolving *c)
{
    return c->run->quantization.kind == MS_QUANTIZE_FP8_BLOCK && !c->draft->is_inference &&
           !ms_resolve_is_set(c, "quantize") && !trains_adapter(c);
}

static const struct {
    bool (*applies)(const ms_resolving *c);
    const char *why, *how; /* around "so the weights are assumed to be dequantised on loading" */
} dequantizing[] = {
    {is_mxfp4, "mxfp4: its kernels have no backward", ""},
    {is_without_fp8, "fp8-block: this device has no fp8", ""},
    {is_trained_fp8, "fp8-block: packed weights are frozen, and there is no adapter to train",
     ", as FineGrainedFP8Config(dequantize=True) does"},
};

static ms_status resolve_dequantizing(const ms_resolving *c)
{
    for (size_t i = 0; i < sizeof dequantizing / sizeof dequantizing[0]; i++)
        if (dequantizing[i].applies(c)) {
            c->run->quantization.is_dequantized = true;
            return ms_note_add(
                c->notes, c->arena, c->err,
                "%s, so the weights are assumed to be dequantised on loading, in %s%s",
                dequantizing[i].why, ms_dtype_info_of(c->run->dtype)->name, dequantizing[i].how);
        }
    c->run->quantization.is_dequantized = false;
    return MS_OK;
}

/* What the framework makes of a family's layers; the nearest that it could be. */
static ms_status check_family(const ms_resolving *c)
{
    const ms_model_config *model = c->model;
    bool stores_mxfp4 = ms_family_facts_of(model->family)->stores_mxfp4;
    if (ms_is_packed(&c->run->quantization) && model->family->has_linear_router)
        return ms_resolve_fail(c, "quantize",
                               "transformers packs the routers of %s too, and then cannot run them",
                               model->model_type);
    if (ms_is_packed(&c->run->quantization) && model->family->has_no_attention)
        return ms_resolve_fail(c, "quantize", "it is not predicted for %s, which has no attention",
                               model->model_type);
    if (ms_is_packed(&c->run->quantization) &&
        (model->family->has_lone_mixers || model->index_heads))
        return ms_resolve_fail(
            c, "quantize", "it is not predicted for %s%s", model->model_type,
            ms_resolve_is_set(c, "quantize") ? "" : ", whose config has it; give quantize none");
    if (ms_is_packed(&c->run->quantization) && c->run->quantization.has_power_scales)
        return ms_resolve_fail(
            c, "quantize", "fp8-block with scales in e8m0 is not predicted; give quantize none");
    switch (c->run->quantization.kind) {
    case MS_QUANTIZE_MXFP4:
        if (!stores_mxfp4)
            return ms_resolve_fail(c, "quantize",
                                   "only gpt_oss has experts in mxfp4; %s can be in nf4, fp4, "
                                   "int8%s or fp8-block",
                                   model->model_type, model->num_experts ? "" : ", gptq, awq");
        break;
    case MS_QUANTIZE_GPTQ:
    case MS_QUANTIZE_AWQ:
        if (model->num_experts)
            return ms_resolve_fail(c, "quantize",
                                   "gptq and awq are not supported for %s's experts; nf4, fp4, "
                                   "int8 (which leave experts as they are) and %s are",
                                   model->model_type, stores_mxfp4 ? "mxfp4" : "fp8-block");
        break;
    case MS_QUANTIZE_FP8_BLOCK:
        if (stores_mxfp4)
            return ms_resolve_fail(
                c, "quantize",
                "gpt_oss's experts have biases, which fp8-block does not support; "
                "they can be in mxfp4");
        break;
    case MS_QUANTIZE_COMPRESSED:
        return ms_resolve_fail(c, "quantize",
                               "quantisation by compressed-tensors is not supported; bitsandbytes, "
                               "gptq, awq, fp8 and mxfp4 are");
    case MS_QUANTIZE_NONE:
    case MS_QUANTIZE_NF4:
    case MS_QUANTIZE_FP4:
    case MS_QUANTIZE_INT8:
    case MS_QUANTIZE_KIND_COUNT:
        break;
    }
    return MS_OK;
}

static ms_status resolve_upcast(const ms_resolving *c)
{
    ms_run_config *run = c->run;
    bool is_packed = ms_is_packed(&run->quantization), said = ms_resolve_is_set(c, "upcast");
    ms_upcasting upcasting = ms_upcasting_of(run->quantization.kind);
    if (!is_packed && said)
        return ms_resolve_fail(c, "upcast", "the base is not quantised: leave it out");
    if (said && run->upcast && upcasting == MS_UPCAST_NEVER)
        return ms_resolve_fail(c, "upcast",
                               "PEFT does not change the types of a base quantised like this");
    bool is_usual = upcasting == MS_UPCAST_USUALLY && !c->draft->is_inference;
    run->upcast = is_packed && (said ? run->upcast : is_usual);
    ms_parallel_kind kind = run->parallel.layout.kind;
    run->parallel.casts_back =
        run->upcast && (kind == MS_PARALLEL_ZERO || kind == MS_PARALLEL_FSDP2);
    run->upcast &= !run->parallel.casts_back;
    return MS_OK;
}

/* AWQ's kernels compute in fp16, and transformers loads the whole model so. */
static ms_status resolve_half(const ms_resolving *c)
{
    if (c->run->quantization.kind != MS_QUANTIZE_AWQ || c->run->dtype != MS_DTYPE_BF16)
        return MS_OK;
    c->run->dtype = MS_DTYPE_F16;
    return ms_note_add(c->notes, c->arena, c->err,
                       "awq: transformers loads this model in float16, not bfloat16");
}

/* FalconLinear is no torch.nn.Linear, which is what transformers 5 packs. */
static ms_status note_family(const ms_resolving *c)
{
    if (!ms_is_bitsandbytes(&c->run->quantization) ||
        !ms_family_facts_of(c->model->family)->has_own_linear)
        return MS_OK;
    return ms_note_add(c->notes, c->arena, c->err,
                       "falcon: transformers 5 never quantises its linear layers; the figures are "
                       "for earlier versions, which did");
}

/* A quantised weight has no gradient: something else must be trained. Whether an adapter is there
 * is looked at where it is read. */
ms_status ms_resolve_quantization(const ms_resolving *c)
{
    ms_run_config *run = c->run;
    ms_quantization *q = &run->quantization;
    if (!ms_resolve_is_set(c, "quantize"))
        *q = c->model->quantization;
    ms_status status = resolve_dequantizing(c);
    if (status == MS_OK)
        status = check_family(c);
    if (status == MS_OK)
        status = resolve_upcast(c);
    if (status == MS_OK)
        status = resolve_half(c);
    if (status == MS_OK)
        status = note_family(c);
    if (status != MS_OK)
        return status;
    if (ms_is_packed(q) && run->device->is_cpu)
        return ms_resolve_fail(c, "quantize",
                               "packed weights are not supported on the cpu; give quantize none");
    bool is_trained = ms_is_packed(q) && !c->draft->is_inference;
    if (is_trained && !trains_adapter(c))
        return ms_resolve_fail(c, "quantize",
                               "a quantised base is frozen: give an adapter to train, or "
                               "quantize none");
    if (!q->has_compute_dtype)
        q->compute_dtype = run->dtype;
    return MS_OK;
}
