/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/dense/gemma4/sharing.h"

#include <stdio.h>

#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"

/* ---- a pass ---- */

/* Whether the layers that slide store theirs before the others do. */
static bool sliding_first(const ms_model_config *config)
{
    for (uint64_t i = 0; i < config->num_layers; i++)
        if (ms_layer_stores_keys(config, i))
            return ms_layer_slides(config, i);
    return false;
}

ms_tensor *ms_gemma4_shared_row(ms_model *model, uint64_t layer)
{
    const ms_model_config *c = model->config;
    bool is_second = ms_layer_slides(c, layer) != sliding_first(c);
    return model->shared.items.items + (is_second ? MS_GEMMA4_KEYS : 0);
}

void ms_gemma4_begin_sharing(ms_model *model)
{
    ms_shared_arguments *shared = &model->shared;
    if (shared->references > 0) { /* of a pass whose graph was dropped */
        shared->references = 1;
        ms_shared_release(model->tape, shared);
    }
    shared->references = 1;
    for (int i = 0; i < 2 * MS_GEMMA4_KEYS; i++)
        if (!ms_vec_push(&shared->items, 0u))
            ms_tape_fail(model->tape, MS_ERR_NOMEM);
}
