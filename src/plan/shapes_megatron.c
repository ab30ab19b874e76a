/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Megatron-LM's flags; NeMo's configuration (Megatron Bridge) has the same fields. Names and rules:
 * megatron/core/transformer/transformer_config.py of megatron-core 0.16.
 *
 * Left out, because no treatment does the same:
 * - --recompute-method uniform with several layers a chunk: one input is saved for all of them;
 * - --recompute-granularity selective: it recomputes modules inside a layer (core_attn, mlp,
 *   layernorm, ...) and saves what autograd saves of the rest, whereas a selective checkpoint keeps
 *   results of operators in place of what autograd saves;
 * - --fine-grained-activation-offloading: offloads by module, not by share.
 *
 * Never produced: --cpu-offloading-num-layers with any --recompute-granularity, or for all layers.
 * Both are refused there.
 */
#include <inttypes.h>

#include "plan/shapes.h"

typedef struct spelling {
    const char *keep, *all, *first, *offload; /* the last two with a number of layers */
} spelling;

static const spelling flags = {
    .keep = "# no --recompute-granularity, no --cpu-offloading-num-layers",
    .all = "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
    .first = "--recompute-granularity full --recompute-method block --recompute-num-layers",
    .offload = "--cpu-offloading-num-layers",
};

static const spelling fields = {
    .keep = "cfg.model.recompute_granularity = None\n"
            "cfg.model.cpu_offloading = False",
    .all = "cfg.model.recompute_granularity = \"full\"\n"
           "cfg.model.recompute_method = \"uniform\"\n"
           "cfg.model.recompute_num_layers = 1",
    .first = "cfg.model.recompute_granularity = \"full\"\n"
             "cfg.model.recompute_method = \"block\"\n"
             "cfg.model.recompute_num_layers =",
    .offload = "cfg.model.recompute_granularity = None\n"
               "cfg.model.cpu_offloading = True\n"
               "cfg.model.cpu_offloading_num_layers =",
};

static ms_status list_plans(ms_shape_list list, const spelling *s)
{
    static const ms_treatment offload = {.kind = MS_TREAT_OFFLOAD, .share = 1};
    uint32_t count = list.stack->layer_count;
    ms_shapes_add(&list, MS_NO_LAYERS, MS_OPTION_KEEP, s->keep);
    for (uint32_t n = 1; ms_shapes_may(&list, MS_MAY_CHECKPOINT) && n < count; n++)
        ms_shapes_add(&list, MS_FIRST_LAYERS(n), MS_OPTION_CHECKPOINT,
                      ms_arena_printf(list.arena, "%s %" PRIu32, s->first, n));
    if (ms_shapes_may(&list, MS_MAY_CHECKPOINT))
        ms_shapes_add(&list, MS_FIRST_LAYERS(count), MS_OPTION_CHECKPOINT, s->all);
    if (count < 2 || !ms_shapes_may(&list, MS_MAY_OFFLOAD))
        return list.status;
    uint32_t option = ms_shapes_option(&list, &offload);
    for (uint32_t n = 1; n < count; n++)
        ms_shapes_add(&list, MS_FIRST_LAYERS(n), option,
                      ms_arena_printf(list.arena, "%s %" PRIu32, s->offload, n));
    return list.status;
}

ms_status ms_shapes_megatron(MS_SHAPES_ARGUMENTS)
{
    return list_plans((ms_shape_list){arena, task, stack, shapes, err, MS_OK}, &flags);
}

ms_status ms_shapes_nemo(MS_SHAPES_ARGUMENTS)
{
    return list_plans((ms_shape_list){arena, task, stack, shapes, err, MS_OK}, &fields);
}
