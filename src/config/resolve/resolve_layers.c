/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What becomes of the layers and the loss, and what cannot be done to them.
 */
#include "config/resolve/resolve_layers.h"

#include <inttypes.h>
#include <string.h>

#include "config/treatment/layers.h"
#include "config/resolve/resolving.h"

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

/* A kept dropout does not draw again, so those behind it draw other numbers than in forward. */
static bool keeps_dropout(const ms_treatment *t)
{
    for (uint32_t i = 0; i < t->kept_count; i++)
        if (strstr(t->kept_ops[i].name, "dropout"))
            return true;
    return false;
}

static ms_status check_layer(const ms_resolving *c, uint64_t i)
{
    const ms_run_config *run = c->run;
    const ms_treatment *t = &run->treatments.layers[i];
    if (ms_treatment_sends(t) && run->device->is_cpu)
        return ms_resolve_fail(c, "treat",
                               "layer %" PRIu64 " cannot go to the host: the device is the cpu", i);
    if (t->kind == MS_TREAT_SELECTIVE && run->checkpoint_kind == MS_CHECKPOINT_REENTRANT)
        return ms_resolve_fail(c, "treat", "reentrant checkpoints cannot be selective");
    if (t->input != MS_INPUT_ON_DEVICE && run->checkpoint_kind == MS_CHECKPOINT_REENTRANT)
        return ms_resolve_fail(c, "treat", "reentrant checkpoints keep their input on the device");
    if (t->tiles > 0 && (ms_layer_kind(c->model, i) & MS_LAYER_SPARSE))
        return ms_resolve_fail(c, "treat",
                               "layer %" PRIu64 ": a mixture of experts cannot run in tiles", i);
    if (t->attention_tiles > 0 && c->model->family->has_sinks)
        return ms_resolve_fail(c, "treat",
                               "layer %" PRIu64 ": attention with sinks cannot run in tiles", i);
    if (t->attention_tiles > 1 &&
        (c->model->family->always_masks || c->model->family->is_bidirectional))
        return ms_resolve_fail(c, "treat",
                               "layer %" PRIu64 ": attention of %s is not supported in tiles", i,
                               c->model->family->model_type);
    if ((t->tiles > 1 || t->mlp_checkpoint) && c->model->family->has_no_mlp_module)
        return ms_resolve_fail(c, "treat",
                               "layer %" PRIu64 " of %s has no separate MLP module that could "
                               "%s",
                               i, c->model->family->model_type,
                               t->mlp_checkpoint ? "be recomputed" : "run in tiles");
    if (t->tiles > 0 && run->optimizer_in_backward)
        return ms_resolve_fail(c, "treat",
                               "layer %" PRIu64
                               ": each tile of an MLP adds to its gradients, so the "
                               "optimizer cannot step in backward",
                               i);
    if (keeps_dropout(t))
        return ms_resolve_fail(c, "treat",
                               "layer %" PRIu64
                               ": a dropout must be recomputed, or later ones draw "
                               "other random numbers",
                               i);
    return MS_OK;
}

static ms_status check_loss(const ms_resolving *c)
{
    const ms_run_config *run = c->run;
    if (run->treatments.loss_chunks > 0 && run->optimizer_in_backward)
        return ms_resolve_fail(
            c, "treat",
            "each chunk of the loss adds to the gradients, so the optimizer cannot step in "
            "backward");
    if (run->treatments.loss_chunks > 1 && c->model->family->scales_logits)
        return ms_resolve_fail(
            c, "treat", "%s scales its logits outside the head: the loss cannot run in chunks",
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
