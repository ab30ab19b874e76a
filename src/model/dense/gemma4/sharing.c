/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/dense/gemma4/sharing.h"

#include <stdio.h>

#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"

static uint64_t first_sharing(const ms_model_config *config)
{
    return config->num_layers - config->sharing_layers;
}

bool ms_gemma4_reads_keys(const ms_model_config *config, uint64_t layer)
{
    return layer >= first_sharing(config);
}

bool ms_gemma4_stores_keys(const ms_model_config *config, uint64_t layer)
{
    bool slides = ms_layer_slides(config, layer);
    uint64_t end = first_sharing(config);
    if (config->sharing_layers == 0 || layer >= end)
        return false;
    for (uint64_t i = layer + 1; i < end; i++)
        if (ms_layer_slides(config, i) == slides)
            return false; /* the last one of its kind does */
    return true;
}

/* ---- rules ---- */

static ms_status refuse(ms_error *err, const char *key, const char *reason)
{
    snprintf(err->pointer, sizeof err->pointer, "/%s", key);
    return ms_fail(err, MS_ERR_CONFIG, "%s", reason);
}

/* Of both kinds of layers that are there, some store keys for those that share. */
static bool stores_both_kinds(const ms_model_config *config)
{
    bool stored[2] = {false, false}, there[2] = {false, false};
    for (uint64_t i = 0; i < config->num_layers; i++) {
        there[ms_layer_slides(config, i)] = true;
        if (!ms_gemma4_reads_keys(config, i))
            stored[ms_layer_slides(config, i)] = true;
    }
    return stored[0] == there[0] && stored[1] == there[1];
}

ms_status ms_gemma4_check_sharing(const ms_model_config *config, ms_error *err)
{
    static const char key[] = "num_kv_shared_layers";
    if (config->sharing_layers == 0)
        return MS_OK;
    if (config->sharing_layers >= config->num_layers)
        return refuse(err, key, "at least the first layer must have keys of its own");
    if (!stores_both_kinds(config))
        return refuse(err, key, "layers of each kind must have keys of their own");
    return config->layer_input_size > 0
               ? MS_OK
               : refuse(err, key,
                        "the framework runs layers that share keys only with "
                        "hidden_size_per_layer_input");
}

/* ---- a pass ---- */

/* Whether the layers that slide store theirs before the others do. */
static bool sliding_first(const ms_model_config *config)
{
    for (uint64_t i = 0; i < config->num_layers; i++)
        if (ms_gemma4_stores_keys(config, i))
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
