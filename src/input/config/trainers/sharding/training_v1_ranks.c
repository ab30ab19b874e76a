/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * As FSDP2Engine, DistributedInterface and InitPlugin of src/llamafactory/v1 have it.
 */
#include "input/config/trainers/sharding/training_v1_ranks.h"

#include <inttypes.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "input/config/trainers/keys/key_walk.h"
#include "input/config/trainers/training_recipes.h"

static const char *text_of(ms_json_value root, const char *pointer)
{
    ms_json_value value;
    return ms_json_find_pointer(root, pointer, &value) ? ms_training_value_text(value) : "";
}

/* ---- which technique ---- */

/* How many there are: by --world, or by the launch; 0: nobody says. */
static uint64_t rank_count(const ms_training_reading *r, ms_json_value root)
{
    ms_json_value value;
    if (ms_run_field_is_set(r->draft, "world"))
        return r->draft->world;
    double number =
        ms_json_find(root, "num_processes", &value) ? ms_training_value_number(value) : 0;
    return number >= 1 && number <= MS_MOST_RANKS ? (uint64_t)number : 0;
}

/* Gradients of each micro-batch are reduced. */
static ms_status set_copies(ms_training_reading *r, ms_json_value root, uint64_t ranks)
{
    ms_json_value processes;
    if (ranks < 2 || ms_run_field_is_set(r->draft, "parallel"))
        return MS_OK;
    const char *layout = ms_arena_printf(r->arena, "dp=%" PRIu64, ranks);
    if (!layout)
        return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for a layout");
    return ms_json_find(root, "num_processes", &processes)
               ? ms_training_set_by(r, processes, "parallel", layout)
               : ms_run_field_set(r->draft, r->arena, "parallel", layout, r->err);
}

ms_status ms_training_share_v1(ms_training_reading *r, ms_json_value root, ms_sharding *sharding)
{
    static const char *const libraries[][2] = {{"fsdp2", "FSDP"}, {"deepspeed", "DeepSpeed"}};
    const uint64_t ranks = rank_count(r, root);
    const char *name = text_of(root, "/dist_config/name");
    ms_json_value value;
    ms_sharding s = {.kind = MS_SHARDING_SPLITS, .library = "the parallel library"};
    *sharding = (ms_sharding){0};
    if (ms_json_find(root, "cp_size", &value) && ms_training_value_number(value) > 1) {
        s.value = value;
        *sharding = s;
        return MS_OK;
    }
    bool is_single =
        ranks == 1 && strcmp(name, "fsdp2") == 0; /* without a mesh nothing is wrapped */
    if (!ms_json_find(root, "dist_config", &s.value) || !*name || is_single)
        return is_single ? MS_OK : set_copies(r, root, ranks);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strcmp(libraries[i][0], name) == 0)
            s.library = libraries[i][1];
    s.processes = ranks;
    *sharding = s;
    return MS_OK;
}

/* ---- fully_shard ---- */

/* By default each rank loads the whole model onto its device, and divides it there. */
static ms_status set_build(const ms_training_ranks *t)
{
    const char *name = text_of(t->root, "/init_config/name");
    if (strcmp(name, "init_on_meta") == 0)
        return ms_training_set_option(t, "build", "meta");
    if (strcmp(name, "init_on_rank0") == 0)
        return ms_training_add_key(t->r, t->sharding->value, "init_config", MS_KEY_NOT_PREDICTED,
                                   MS_EFFECT_EITHER, "weights that the first rank scatters");
    return ms_training_add_key(
        t->r, t->sharding->value, "init_config", MS_KEY_NOT_PREDICTED, MS_EFFECT_ADDS,
        "the whole model, which each rank loads onto its device before it is divided");
}

/* Layers are units, and embeddings whose weight is no other module's; of an adapter each matrix
 * is. */
static ms_status set_units(const ms_training_ranks *t)
{
    ms_status status = ms_training_set_option(t, "fsdp-units", "layers");
    bool has_adapter = strcmp(text_of(t->root, "/peft_config/name"), "lora") == 0;
    if (status == MS_OK && has_adapter)
        status = ms_training_add_key(t->r, t->sharding->value, "dist_config/name",
                                     MS_KEY_NOT_PREDICTED, MS_EFFECT_EITHER,
                                     "an adapter's matrices, each of which is its own unit");
    else if (status == MS_OK && !t->r->model->tie_word_embeddings)
        status = ms_training_add_key(
            t->r, t->sharding->value, "dist_config/name", MS_KEY_NOT_PREDICTED, MS_EFFECT_EITHER,
            "embeddings as their own unit; in the figures they belong to the root's");
    return status;
}

static ms_status set_options(const ms_training_ranks *t)
{
    ms_json_value value;
    bool resets = !ms_json_find_pointer(t->root, "/dist_config/reshard_after_forward", &value) ||
                  ms_training_truth(value, true);
    ms_status status = ms_training_set_option(t, resets ? "reshard-root" : "reshard-after-forward",
                                              resets ? "yes" : "no");
    if (status == MS_OK && ms_json_find_pointer(t->root, "/dist_config/offload_params", &value) &&
        ms_training_truth(value, false))
        status = ms_training_set_option(t, "fsdp-offload", "yes");
    if (status == MS_OK)
        status = set_units(t);
    return status == MS_OK ? set_build(t) : status;
}

ms_status ms_training_read_v1(ms_training_ranks *t, bool *is_read)
{
    const char *layout = NULL;
    ms_status status = ms_training_layout_of(t, "/mp_replicate_size", "/mp_shard_size", &layout);
    if (status == MS_OK)
        status = ms_training_set_layout(t, layout, is_read);
    return status == MS_OK && *is_read ? set_options(t) : status;
}
