/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/resolve_family.h"

#include "input/config/model/unpredicted.h"

static bool waits_on_host(const ms_resolving *c)
{
    return c->run->parameter_device == MS_PARAMETERS_ON_HOST;
}

static bool is_packed(const ms_resolving *c)
{
    return ms_is_packed(&c->run->quantization);
}

static bool is_packed_otherwise(const ms_resolving *c)
{
    return is_packed(c) && !ms_is_bitsandbytes(&c->run->quantization);
}

static bool is_in_f16(const ms_resolving *c)
{
    return c->run->dtype == MS_DTYPE_F16;
}

static bool trains_in_f16(const ms_resolving *c)
{
    return is_in_f16(c) && !c->draft->is_inference;
}

static bool is_flattened(const ms_resolving *c)
{
    return c->run->parallel.layout.kind == MS_PARALLEL_FSDP1;
}

static bool is_divided(const ms_resolving *c)
{
    const ms_parallel *parallel = &c->run->parallel;
    return ms_layout_shards(&parallel->layout) || parallel->layout.kind == MS_PARALLEL_ZERO ||
           parallel->has_zero_optimizer;
}

static bool has_ranks(const ms_resolving *c)
{
    return ms_layout_world(&c->run->parallel.layout) > 1;
}

typedef struct refusal {
    uint32_t bit;
    const char *field;
    bool (*asks)(const ms_resolving *c);
    const char *what;
} refusal;

static const refusal refusals[] = {
    {MS_UNPREDICTED_HOST_PARAMETERS, "parameter-device", waits_on_host, "host"},
    {MS_UNPREDICTED_PACKED, "quantize", is_packed, "a quantised base"},
    {MS_UNPREDICTED_OTHER_PACKED, "quantize", is_packed_otherwise,
     "a base that is quantised otherwise than by bitsandbytes"},
    {MS_UNPREDICTED_REENTRANT, "checkpoint-kind", ms_resolve_is_reentrant, "reentrant"},
    {MS_UNPREDICTED_F16, "dtype", is_in_f16, "fp16"},
    {MS_UNPREDICTED_F16_STEPS, "dtype", trains_in_f16, "fp16"},
    {MS_UNPREDICTED_FSDP1, "parallel", is_flattened,
     "FSDP1, whose flat parameters mix trained and frozen ones,"},
    {MS_UNPREDICTED_SHARDS, "parallel", is_divided,
     "a layout that divides parameters or states, where some stay in fp32 beside others,"},
    {MS_UNPREDICTED_RANKS, "parallel", has_ranks, "a run on several GPUs"},
};

ms_status ms_resolve_family(const ms_resolving *c)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const refusal *r = &refusals[i];
        if (c->model->family->unpredicted & r->bit && r->asks(c))
            return ms_resolve_fail(c, r->field, "%s is not predicted for %s", r->what,
                                   c->model->model_type);
    }
    return MS_OK;
}
