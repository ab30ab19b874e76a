/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * As torchtune 0.6 reads them.
 */
#include "config/trainers/training_recipes.h"

#include <inttypes.h>
#include <string.h>

/* A size of the mesh; -1: what is left, which is also what an absent one is. 0: it is no size. */
static int64_t size_of(const ms_training_ranks *t, const char *key, int64_t absent,
                       ms_json_value *value)
{
    if (!ms_json_find(t->root, key, value) || ms_json_kind_of(*value) == MS_JSON_NULL)
        return absent;
    double number = ms_training_value_number(*value);
    bool is_size = number == -1 || (number >= 1 && number <= MS_MOST_RANKS);
    return is_size && number == (double)(int64_t)number ? (int64_t)number : 0;
}

static ms_status layout_of(const ms_training_ranks *t, const char **layout)
{
    ms_json_value value;
    uint64_t world = 0;
    int64_t copies = size_of(t, "data_parallel_replicate_dim", 1, &value);
    if (copies < 1)
        return ms_training_refuse(t, value, "expected a number of copies");
    int64_t shards = size_of(t, "data_parallel_shard_dim", -1, &value);
    if (shards == 0)
        return ms_training_refuse(t, value, "expected a number of shards, or -1");
    uint64_t count = (uint64_t)copies;
    ms_status status = MS_OK;
    if (shards < 0) {
        status = ms_training_world(t, &world);
        shards = (int64_t)(world / count);
    }
    if (status == MS_OK && world && (uint64_t)shards * count != world)
        return ms_json_fail(t->r->err, t->sharding->value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "%" PRIu64 " ranks are not divided among %" PRIu64 " copies", world,
                            count);
    *layout = count > 1 ? ms_arena_printf(t->r->arena, "hsdp=%" PRIu64 "x%" PRId64, count, shards)
                        : ms_arena_printf(t->r->arena, "fsdp=%" PRId64, shards);
    return status;
}

/* What is not predicted unless it says nothing. */
static ms_status check_keys(const ms_training_ranks *t)
{
    static const char *const sizes[] = {"tensor_parallel_dim", "context_parallel_dim"};
    ms_json_value value;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (size_of(t, sizes[i], 1, &value) != 1)
            return ms_training_refuse(t, value, "%s: not predicted from torchtune's file",
                                      sizes[i]);
    if (ms_json_find(t->root, "custom_sharded_layers", &value) && !ms_training_says_nothing(value))
        return ms_training_refuse(t, value,
                                  "custom_sharded_layers: other units than the layers "
                                  "are not predicted");
    return MS_OK;
}

static ms_status set_options(const ms_training_ranks *t)
{
    static const struct {
        const char *key, *field, *text;
        bool when;
    } options[] = {
        {"fsdp_cpu_offload", "fsdp-offload", "yes", true},
        {"fsdp_reshard_after_forward", "reshard-after-forward", "no", false},
    };
    ms_json_value value;
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof options / sizeof *options && status == MS_OK; i++)
        if (ms_json_find(t->root, options[i].key, &value) &&
            ms_training_truth(value, !options[i].when) == options[i].when)
            status = ms_training_set_option(t, options[i].field, options[i].text);
    return status == MS_OK
               ? ms_note_add(t->r->unsupported, t->r->arena, t->r->err,
                             "torchtune fills the shards tensor by tensor; here they are made on "
                             "the meta device")
               : status;
}

ms_status ms_training_read_recipe(ms_training_ranks *t, bool *is_read)
{
    const char *layout = NULL;
    ms_status status = check_keys(t);
    if (status == MS_OK)
        status = layout_of(t, &layout);
    if (status == MS_OK)
        status = ms_training_set_layout(t, layout, is_read);
    return status == MS_OK && *is_read ? set_options(t) : status;
}
