/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/resolve_translation.h"

#include <inttypes.h>

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
    return MS_OK;
}
