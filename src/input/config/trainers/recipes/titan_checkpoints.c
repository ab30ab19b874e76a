/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/trainers/recipes/titan_checkpoints.h"

#include <inttypes.h>
#include <string.h>

#include "input/config/model/family_facts.h"
#include "input/config/model/model_config.h"
#include "input/config/trainers/keys/key_walk.h"

static const char mode_key[] = "/activation_checkpoint/mode";
static const char option_key[] = "/activation_checkpoint/selective_ac_option";

static bool is_chosen(const ms_training_ranks *t)
{
    const ms_run_draft *draft = t->r->draft;
    return ms_run_field_is_set(draft, "checkpointing") || ms_run_field_is_set(draft, "treat") ||
           ms_run_field_is_set(draft, "plan");
}

enum { MOST_LAYERS = 1 << 20 };

/* Each n-th layer, of layers that count from 1: "1,3,5". */
static ms_status set_every(const ms_training_ranks *t, uint64_t n)
{
    const char *layers = n > t->r->model->num_layers ? "none" : n <= 1 ? "all" : "";
    for (uint64_t i = n; layers && n > 1 && i <= t->r->model->num_layers; i += n)
        layers = ms_arena_printf(t->r->arena, "%s%s%" PRIu64, layers, *layers ? "," : "", i - 1);
    return ms_training_set_option(t, "checkpointing", layers);
}

/* Layers of seven products without a bias, in the order in which torchtitan's own run them. */
static bool has_seven_products(const ms_model_config *model)
{
    const ms_family_facts *facts = ms_family_facts_of(model->family);
    return facts->has_seven_matrices && !facts->has_fixed_biases && !model->attention_bias &&
           !model->mlp_bias && !model->num_experts;
}

/* The results of attention, and of each second product from the first on. */
static ms_status set_operators(const ms_training_ranks *t)
{
    static const char *const keeps_all[] = {"checkpointing", "none", NULL};
    static const char kept[] = "all=selective:cudnn_attention+mm#0+mm#2+mm#4+mm#6";
    ms_json_value value;
    ms_status status = MS_OK;
    if (has_seven_products(t->r->model) && !ms_training_on_cpu(t->r))
        return ms_training_set_option(t, "treat", kept);
    if (ms_json_find_pointer(t->root, option_key, &value))
        status = ms_training_add_read_key(
            t->r, value, NULL,
            (ms_read_key){.meaning = "operators whose results are kept; in the figures each layer "
                                     "is recomputed as a whole",
                          .reading = MS_KEY_NOT_PREDICTED,
                          .effect = MS_EFFECT_ADDS,
                          .other_end = keeps_all});
    return status == MS_OK ? ms_training_set_option(t, "checkpointing", "all") : status;
}

static ms_status set_selective(const ms_training_ranks *t)
{
    ms_json_value value;
    const char *option = "2";
    double number = 2;
    if (ms_json_find_pointer(t->root, option_key, &value)) {
        option = ms_training_value_text(value);
        number = ms_training_value_number(value);
    }
    if (is_chosen(t))
        return MS_OK;
    if (strcmp(option, "op") == 0)
        return set_operators(t);
    if (number < 0 || number > MOST_LAYERS || number != (double)(uint64_t)number)
        return ms_training_refuse(t, value, "expected op or a number of layers");
    return set_every(t, (uint64_t)number);
}

ms_status ms_training_read_titan_checkpoints(const ms_training_ranks *t)
{
    ms_json_value value;
    bool is_said = ms_json_find_pointer(t->root, mode_key, &value);
    const char *mode = is_said ? ms_training_value_text(value) : "selective";
    if (strcmp(mode, "none") == 0)
        return ms_training_set_option(t, "checkpointing", "none");
    if (strcmp(mode, "full") == 0)
        return ms_training_set_option(t, "checkpointing", "all");
    if (strcmp(mode, "selective") == 0)
        return set_selective(t);
    return ms_training_refuse(t, value, "'%.20s': none, full and selective are predicted", mode);
}
