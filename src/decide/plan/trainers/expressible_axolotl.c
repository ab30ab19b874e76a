/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Axolotl's keys, as read in axolotl 0.19. Checkpoints and tiles of the MLP can be combined.
 *
 * Unsupported: activation_offloading, which offloads more than the checkpoints' inputs, or keeps
 * two and fetches the others into a stream's own memory; selective_checkpointing.offload, which
 * offloads the kept results; layer_offloading, for frozen weights; chunked and cut cross entropy,
 * which keep other tensors than a recomputed chunk does.
 */
#include <inttypes.h>

#include "decide/plan/costs/op_list.h"
#include "decide/plan/trainers/expressible.h"

/* A set of operators that selective_checkpointing.save can name. */
typedef struct save_set {
    const char *save;
    ms_kept_op kept[5];
    uint32_t count;
} save_set;

static const save_set save_sets[] = {
    {"attention", {{"flash_attention", UINT32_MAX}, {"efficient_attention", UINT32_MAX}}, 2},
    {"attention, \"aten::mm\", \"aten::addmm\"",
     {{"flash_attention", UINT32_MAX},
      {"efficient_attention", UINT32_MAX},
      {"mm", UINT32_MAX},
      {"addmm", UINT32_MAX}},
     4},
};

static const char *checkpoint_keys(const ms_expressible_list *list)
{
    bool is_reentrant = list->task->run->checkpoint_kind == MS_CHECKPOINT_REENTRANT;
    return ms_arena_printf(list->arena,
                           "gradient_checkpointing: true\n"
                           "gradient_checkpointing_kwargs:\n"
                           "  use_reentrant: %s",
                           is_reentrant ? "true" : "false");
}

/* Layers with a sliding window would be excluded from it. */
static const char *selective_keys(const ms_expressible_list *list, const char *checkpoint,
                                  const save_set *set)
{
    if (!checkpoint)
        return NULL;
    return ms_arena_printf(list->arena,
                           "%s\n"
                           "selective_checkpointing:\n"
                           "  save: [%s]%s",
                           checkpoint, set->save,
                           list->task->model->sliding_window > 0 ? "\n  save_sliding_window: true"
                                                                 : "");
}

/* Its own TiledMLP adds up gradients beside those that are there, and mixes up the sequences of a
 * batch: tiles are for a batch of one. DeepSpeed's, which it uses with DeepSpeed, does neither. */
static const char *tile_keys(const ms_expressible_list *list, const char *checkpoint,
                             uint32_t tiles)
{
    if (!checkpoint)
        return NULL;
    return ms_arena_printf(
        list->arena,
        "%s\n"
        "tiled_mlp: true\n"
        "tiled_mlp_num_shards: %" PRIu32 "\n"
        "# without DeepSpeed the gradients of one layer's MLP exist twice for a time",
        checkpoint, tiles);
}

static void add_tiles(ms_expressible_list *list, const char *keep, const char *checkpoint)
{
    ms_layer_range all = MS_FIRST_LAYERS(list->costs->layer_count);
    bool may_checkpoint = ms_expressible_may(list, MS_MAY_CHECKPOINT);
    for (uint32_t i = 0; i < list->costs->option_count; i++) {
        const ms_treatment *t = &list->costs->options[i].treatment;
        if (ms_treatment_tiles_mlp_alone(t) && t->kind == MS_TREAT_KEEP)
            ms_expressible_add(list, all, i, tile_keys(list, keep, t->parts[MS_PART_TILE]));
        if (ms_treatment_tiles_mlp_alone(t) && ms_is_plain_checkpoint(t) && may_checkpoint)
            ms_expressible_add(list, all, i, tile_keys(list, checkpoint, t->parts[MS_PART_TILE]));
    }
}

ms_status ms_expressible_axolotl(MS_EXPRESSIBLE_ARGUMENTS)
{
    ms_expressible_list list = {arena, task, costs, plans, err, MS_OK};
    ms_layer_range all = MS_FIRST_LAYERS(costs->layer_count);
    const char *keep = "gradient_checkpointing: false", *checkpoint = checkpoint_keys(&list);
    ms_expressible_add(&list, MS_NO_LAYERS, MS_OPTION_KEEP, keep);
    if (ms_expressible_may(&list, MS_MAY_CHECKPOINT))
        ms_expressible_add(&list, all, MS_OPTION_CHECKPOINT, checkpoint);
    if (ms_expressible_may(&list, MS_MAY_TILE) && task->run->batch == 1)
        add_tiles(&list, keep, checkpoint);
    if (!ms_expressible_may(&list, MS_MAY_SELECT) ||
        task->run->checkpoint_kind == MS_CHECKPOINT_REENTRANT)
        return list.status;
    for (size_t i = 0; i < sizeof save_sets / sizeof *save_sets; i++) {
        if (!ms_op_list_may_keep(&costs->ops, save_sets[i].kept, save_sets[i].count))
            continue;
        ms_treatment t = {.kind = MS_TREAT_SELECTIVE,
                          .kept_ops = save_sets[i].kept,
                          .kept_count = save_sets[i].count};
        ms_expressible_add(&list, all, ms_expressible_option(&list, &t),
                           selective_keys(&list, checkpoint, &save_sets[i]));
    }
    return list.status;
}
