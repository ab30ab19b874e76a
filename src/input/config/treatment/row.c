/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/treatment/row.h"

#include <stdio.h>
#include <string.h>

#include "input/config/treatment/part_rows.h"

static bool fill(ms_refusal *refusal, bool of_any_layer, const char *text)
{
    refusal->of_any_layer = of_any_layer;
    snprintf(refusal->text, sizeof refusal->text, "%s", text);
    return true;
}

/* ---- the whole layer ---- */

/* A kept dropout does not draw again, so those behind it draw other numbers than in forward. */
static bool keeps_dropout(const ms_treatment *t)
{
    for (uint32_t i = 0; i < t->kept_count; i++)
        if (strstr(t->kept_ops[i].name, "dropout"))
            return true;
    return false;
}

static bool refuses_checkpoint(const ms_treated_layer *layer, const ms_treatment *treatment,
                               ms_refusal *refusal)
{
    (void)treatment;
    if (!layer->is_reentrant || !layer->only_non_reentrant)
        return false;
    refusal->of_any_layer = true;
    snprintf(refusal->text, sizeof refusal->text,
             "reentrant checkpoints are not predicted for %.60s; try --checkpoint-kind "
             "non-reentrant",
             layer->model_type);
    return true;
}

static bool refuses_selective(const ms_treated_layer *layer, const ms_treatment *treatment,
                              ms_refusal *refusal)
{
    if (layer->is_reentrant)
        return fill(
            refusal, true,
            "reentrant checkpoints cannot be selective; try --checkpoint-kind non-reentrant");
    return keeps_dropout(treatment) &&
           fill(refusal, false,
                ": a dropout must be recomputed, or later ones draw other random numbers");
}

static bool refuses_host(const ms_treated_layer *layer, const ms_treatment *treatment,
                         ms_refusal *refusal)
{
    (void)treatment;
    return layer->on_cpu && fill(refusal, false, " cannot go to the host: the device is the cpu");
}

const ms_kind_row ms_treatment_kinds[MS_TREAT_KIND_COUNT] = {
    [MS_TREAT_KEEP] = {.word = "keep"},
    [MS_TREAT_CHECKPOINT] = {.word = "checkpoint",
                             .is_checkpoint = true,
                             .techniques = MS_MAY_CHECKPOINT,
                             .code = {"recompute(layers[i]%s)", {"checkpoint_layer"}},
                             .refuses = refuses_checkpoint},
    [MS_TREAT_SELECTIVE] = {.word = "selective",
                            .value = MS_KIND_OF_OPS_OR_SHARE,
                            .is_checkpoint = true,
                            .techniques = MS_MAY_SELECT,
                            .code = {"recompute_but(layers[i]%s)",
                                     {"checkpoint_layer", "selective"}},
                            .refuses = refuses_selective},
    [MS_TREAT_OFFLOAD] = {.word = "offload",
                          .value = MS_KIND_OF_SHARE,
                          .techniques = MS_MAY_OFFLOAD,
                          .code = {NULL, {"offload"}},
                          .refuses = refuses_host},
};

/* ---- a checkpoint's input ---- */

static bool refuses_input(const ms_treated_layer *layer, const ms_treatment *treatment,
                          ms_refusal *refusal)
{
    if (refuses_host(layer, treatment, refusal))
        return true;
    return layer->is_reentrant &&
           fill(refusal, true, "reentrant checkpoints keep their input on the device");
}

const ms_input_row ms_input_places[MS_INPUT_PLACE_COUNT] = {
    [MS_INPUT_ON_DEVICE] = {.word = NULL},
    [MS_INPUT_OFFLOADED] = {.word = "offload",
                            .techniques = MS_MAY_OFFLOAD,
                            .code = {NULL, {"offload"}},
                            .refuses = refuses_input},
    [MS_INPUT_SAVED_ON_CPU] = {.word = "save_on_cpu",
                               .techniques = MS_MAY_OFFLOAD,
                               .code = {"save_input_on_cpu(layers[i])", {"save_on_cpu"}},
                               .refuses = refuses_input},
};

/* ---- parts ---- */

#define ROW(constant, name) [MS_PART_##constant] = &ms_part_##name,
const ms_part_row *const ms_treatment_parts[MS_PART_COUNT] = {MS_PART_LIST(ROW)};
#undef ROW

bool ms_treatment_has_parts(const ms_treatment *treatment, bool with_pieces)
{
    for (int i = 0; i < MS_PART_COUNT; i++)
        if (treatment->parts[i] && ms_treatment_parts[i]->has_pieces == with_pieces)
            return true;
    return false;
}

/* ---- all ---- */

uint32_t ms_treatment_techniques(const ms_treatment *treatment)
{
    uint32_t techniques = ms_treatment_kinds[treatment->kind].techniques |
                          ms_input_places[treatment->input].techniques;
    for (int i = 0; i < MS_PART_COUNT; i++)
        techniques |= treatment->parts[i] ? ms_treatment_parts[i]->techniques : 0;
    return techniques;
}

static bool is_more_than_checkpoint(const ms_treatment *treatment)
{
    bool is_plain = treatment->kind == MS_TREAT_KEEP || treatment->kind == MS_TREAT_CHECKPOINT;
    return !is_plain || treatment->input != MS_INPUT_ON_DEVICE ||
           ms_treatment_has_parts(treatment, true) || ms_treatment_has_parts(treatment, false);
}

/* Of such layers, plain checkpoints were compared with PyTorch's. */
static bool refuses_shared(const ms_treated_layer *layer, const ms_treatment *treatment,
                           ms_refusal *refusal)
{
    bool is_plain = treatment->kind == MS_TREAT_KEEP || treatment->kind == MS_TREAT_CHECKPOINT;
    if (!layer->shares_states)
        return false;
    if (treatment->kind == MS_TREAT_CHECKPOINT && layer->is_reentrant)
        return fill(refusal, true,
                    "reentrant checkpoints give no gradients to what layers share; try "
                    "--checkpoint-kind non-reentrant");
    return (!is_plain || treatment->input != MS_INPUT_ON_DEVICE) &&
           fill(refusal, true,
                "for layers that share states only plain checkpoints and parts are predicted");
}

bool ms_treatment_is_refused(const ms_treated_layer *layer, const ms_treatment *treatment,
                             ms_refusal *refusal)
{
    *refusal = (ms_refusal){0};
    if (layer->shares_biases && is_more_than_checkpoint(treatment)) {
        snprintf(refusal->text, sizeof refusal->text, " of %s can only be kept or checkpointed",
                 layer->model_type);
        return true;
    }
    const ms_input_row *input = &ms_input_places[treatment->input];
    const ms_kind_row *kind = &ms_treatment_kinds[treatment->kind];
    if (refuses_shared(layer, treatment, refusal) ||
        (input->refuses && input->refuses(layer, treatment, refusal)) ||
        (kind->refuses && kind->refuses(layer, treatment, refusal)))
        return true;
    for (int i = 0; i < MS_PART_COUNT; i++) {
        const ms_part_row *part = ms_treatment_parts[i];
        if (treatment->parts[i] && part->refuses && part->refuses(layer, treatment, refusal))
            return true;
    }
    return false;
}
