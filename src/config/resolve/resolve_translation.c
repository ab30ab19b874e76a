/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/resolve/resolve_translation.h"

#include <inttypes.h>

static bool has_checkpoints(const ms_resolving *c)
{
    for (uint64_t i = 0; i < c->model->num_layers; i++)
        if (c->run->treatments.layers[i].kind == MS_TREAT_CHECKPOINT)
            return true;
    return false;
}

/* The field that asks for what is not predicted; NULL: none does. */
static const char *unpredicted(const ms_resolving *c)
{
    const ms_run_config *run = c->run;
    if (run->parallel.layout.kind != MS_PARALLEL_NONE)
        return "parallel";
    if (ms_is_packed(&run->quantization))
        return "quantize";
    if (run->checkpoint_kind == MS_CHECKPOINT_REENTRANT && has_checkpoints(c))
        return "checkpoint-kind";
    if (run->parameter_device == MS_PARAMETERS_ON_HOST)
        return "parameter-device";
    return NULL;
}

ms_status ms_resolve_translation(const ms_resolving *c)
{
    static const char source[] = "source-length";
    ms_run_config *run = c->run;
    if (!c->model->is_encoder_decoder)
        return ms_resolve_is_set(c, source)
                   ? ms_resolve_fail(c, source, "only a model with an encoder and a decoder has it")
                   : MS_OK;
    if (!ms_resolve_is_set(c, source))
        run->source_tokens = c->model->source_positions;
    else if (c->model->source_positions)
        return ms_resolve_fail(c, source,
                               "the encoder of %s has its %" PRIu64 " positions, no others",
                               c->model->model_type, c->model->source_positions);
    const char *field = unpredicted(c);
    if (field)
        return ms_resolve_fail(c, field,
                               "it is not predicted for %s, which has an encoder and a decoder",
                               c->model->model_type);
    if (run->dtype == MS_DTYPE_F16)
        return ms_resolve_fail(c, "dtype",
                               "%s is not predicted in fp16: its layers clamp what they hand on",
                               c->model->model_type);
    return MS_OK;
}
