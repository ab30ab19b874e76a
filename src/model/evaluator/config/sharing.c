/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/config/sharing.h"

#include <stdio.h>

#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"

static ms_status refuse(ms_error *err, const char *reason)
{
    snprintf(err->pointer, sizeof err->pointer, "/num_kv_shared_layers");
    return ms_fail(err, MS_ERR_CONFIG, "%s", reason);
}

/* Of both kinds of layers that are there, some store keys for those that share. */
static bool stores_both_kinds(const ms_model_config *config)
{
    bool stored[2] = {false, false}, there[2] = {false, false};
    for (uint64_t i = 0; i < config->num_layers; i++) {
        there[ms_layer_slides(config, i)] = true;
        if (!ms_layer_reads_keys(config, i))
            stored[ms_layer_slides(config, i)] = true;
    }
    return stored[0] == there[0] && stored[1] == there[1];
}

ms_status ms_check_sharing(const ms_model_config *config, ms_error *err)
{
    if (config->sharing_layers == 0)
        return MS_OK;
    if (config->sharing_layers >= config->num_layers)
        return refuse(err, "at least the first layer must have keys of its own");
    if (!stores_both_kinds(config))
        return refuse(err, "layers of each kind must have keys of their own");
    return config->layer_input_size > 0
               ? MS_OK
               : refuse(err, "the framework runs layers that share keys only with "
                             "hidden_size_per_layer_input");
}
