/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/trainers/fsdp/training_fsdp_keys.h"

#include <string.h>

#include "base/text/words.h"

bool ms_training_fsdp_is_axolotl(const ms_training_ranks *t)
{
    return t->r->file.format == MS_TRAINING_AXOLOTL && !t->is_launched;
}

/* Keys of fsdp_config that axolotl has too; some are of no consequence for memory. */
static const char common_keys[] =
    " version auto_wrap_policy transformer_layer_cls_to_wrap reshard_after_forward offload_params "
    "activation_checkpointing cpu_ram_efficient_loading use_orig_params mixed_precision_policy "
    "min_num_params sync_module_states cpu_offload_pin_memory state_dict_type "
    "final_state_dict_type ";
/* Keys that axolotl drops. */
static const char other_keys[] =
    " sharding_strategy cpu_offload backward_prefetch forward_prefetch limit_all_gathers "
    "ignored_modules activation_checkpointing_offload xla xla_fsdp_v2 xla_fsdp_settings "
    "xla_fsdp_grad_ckpt ";

static bool is_known(const ms_training_ranks *t, const char *name)
{
    return ms_words_have(common_keys, name) ||
           (!ms_training_fsdp_is_axolotl(t) && ms_words_have(other_keys, name));
}

ms_status ms_training_fsdp_note_unknown(const ms_training_ranks *t)
{
    ms_json_value v;
    ms_status status = MS_OK;
    bool more = ms_json_kind_of(t->config) == MS_JSON_OBJECT && ms_json_first(t->config, &v);
    for (; more && status == MS_OK; more = ms_json_next(&v)) {
        const char *name = ms_json_key(v);
        const char *bare =
            name + (strncmp(name, "fsdp_", strlen("fsdp_")) == 0 ? strlen("fsdp_") : 0);
        if (ms_json_kind_of(v) != MS_JSON_NULL && !is_known(t, name) && !is_known(t, bare))
            status = ms_note_add(t->r->notes, t->r->arena, t->r->err,
                                 "'%.60s' of fsdp_config was not read%s", name,
                                 ms_training_fsdp_is_axolotl(t) ? ": axolotl drops it" : "");
    }
    return status;
}

bool ms_training_fsdp_find(const ms_training_ranks *t, const char *name, ms_json_value *value)
{
    char whole[64] = "fsdp_";
    strncat(whole, name, sizeof whole - sizeof "fsdp_");
    return is_known(t, name) &&
           (ms_json_find(t->config, whole, value) || ms_json_find(t->config, name, value)) &&
           ms_json_kind_of(*value) != MS_JSON_NULL;
}

bool ms_training_fsdp_is_true(const ms_training_ranks *t, const char *name, bool absent)
{
    ms_json_value value;
    return ms_training_fsdp_find(t, name, &value) ? ms_training_truth(value, absent) : absent;
}

ms_status ms_training_fsdp_set_plain_units(const ms_training_ranks *t)
{
    ms_status status = ms_training_set_aside(
        t, t->sharding->value, MS_EFFECT_EITHER,
        "accelerate's units of embeddings and head, and shards that rank 0 sends; the figures are "
        "of layers as units");
    if (status == MS_OK)
        status = ms_training_set_option(t, "fsdp-units", "layers");
    return status == MS_OK ? ms_training_set_option(t, "build", "host") : status;
}
