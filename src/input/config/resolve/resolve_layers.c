/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Treatments of the layers and the loss, and which are refused.
 */
#include "input/config/resolve/resolve_layers.h"

#include <inttypes.h>
#include <string.h>

#include "input/config/treatment/layers.h"
#include "input/config/resolve/resolving.h"
#include "input/config/run/treated_layer.h"

/* The place itself, for what is found out later; *place NULL: on the command line. */
static ms_status keep_place(const ms_resolving *c, const char *field, const ms_error **place)
{
    int index = ms_run_field_find(field);
    *place = c->origins->places[index];
    if (!c->origins->in_file[index])
        return MS_OK;
    ms_error *kept = ms_arena_array(c->arena, ms_error, 1);
    if (!kept)
        return ms_fail(c->err, MS_ERR_NOMEM, "out of memory for a place");
    ms_json_error_set(kept, c->origins->values[index], MS_JSON_AT_VALUE, MS_ERR_CONFIG, "%s",
                      field);
    *place = kept;
    return MS_OK;
}

/* Checkpointed layers first, then what `treat` sets for them and others. */
ms_status ms_resolve_layers(const ms_resolving *c)
{
    ms_run_config *run = c->run;
    ms_error reason = {0};
    uint64_t count = c->model->num_layers;
    if (strcmp(run->treat, "none") == 0)
        run->treat = "";
    bool *checkpointed = ms_arena_array(c->arena, bool, count);
    ms_treatment *layers = ms_arena_array(c->arena, ms_treatment, count);
    if (!checkpointed || !layers)
        return ms_fail(c->err, MS_ERR_NOMEM, "out of memory for %" PRIu64 " layers", count);
    if (ms_layer_list_select(run->checkpointing, count, checkpointed, &reason) != MS_OK)
        return ms_resolve_fail(c, "checkpointing", "%s", reason.text);
    for (uint64_t i = 0; i < count; i++)
        layers[i].kind = checkpointed[i] ? MS_TREAT_CHECKPOINT : MS_TREAT_KEEP;
    run->treatments.layers = layers;
    if (ms_treatments_apply(run->treat, c->arena, count, &run->treatments, &reason) != MS_OK)
        return ms_resolve_fail(c, "treat", "%s", reason.text);
    return keep_place(c, "treat", &run->treat_place);
}

static ms_status check_layer(const ms_resolving *c, uint64_t i)
{
    const ms_treated_layer layer = ms_treated_layer_of(c->model, c->run, i);
    ms_refusal refusal;
    if (!ms_treatment_is_refused(&layer, &c->run->treatments.layers[i], &refusal))
        return MS_OK;
    if (refusal.of_any_layer)
        return ms_resolve_fail(c, "treat", "%s", refusal.text);
    return ms_resolve_fail(c, "treat", "layer %" PRIu64 "%s", i, refusal.text);
}

static ms_status check_loss(const ms_resolving *c)
{
    const ms_run_config *run = c->run;
    if (run->treatments.loss_chunks > 0 && run->training.optimizer_in_backward)
        return ms_resolve_fail(
            c, "treat",
            "each chunk of the loss adds to the gradients, so the optimizer cannot step in "
            "backward");
    if (run->treatments.loss_chunks > 1 && c->model->family->scales_logits)
        return ms_resolve_fail(
            c, "treat", "%s changes its logits outside the head: the loss cannot run in chunks",
            c->model->family->model_type);
    if (run->treatments.loss_chunks > 1 && c->model->head != MS_HEAD_CAUSAL_LM)
        return ms_resolve_fail(c, "treat",
                               "only the loss of a causal language model is supported in chunks");
    if (run->treatments.loss_chunks > run->batch * run->seq_tokens)
        return ms_resolve_fail(c, "treat", "%" PRIu32 " chunks of %" PRIu64 " tokens",
                               run->treatments.loss_chunks, run->batch * run->seq_tokens);
    if (run->treatments.loss_chunks > 1 && !ms_loss_is_plain(run))
        return ms_resolve_fail(c, "treat",
                               "only the model's own loss over all tokens can run in chunks");
    if (run->treatments.loss_chunks > 1 && c->model->outputs_router_logits)
        return ms_resolve_fail(c, "treat",
                               "a loss in chunks does not include the routers' auxiliary loss");
    return MS_OK;
}

ms_status ms_resolve_treatments(const ms_resolving *c)
{
    ms_status status = MS_OK;
    for (uint64_t i = 0; i < c->model->num_layers && status == MS_OK; i++)
        status = check_layer(c, i);
    return status == MS_OK ? check_loss(c) : status;
}
