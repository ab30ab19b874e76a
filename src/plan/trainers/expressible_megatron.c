/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Megatron-LM's flags; NeMo's configuration (Megatron Bridge) has the same fields. Names and rules:
 * megatron/core/transformer/transformer_config.py of megatron-core 0.16.
 *
 * Unsupported, because no treatment does the same:
 * - --recompute-method uniform with several layers a chunk: one input is saved for all of them;
 * - --recompute-modules other than the MLP's (core_attn, layernorm, ...): of a fused attention
 *   there is nothing to recompute, and the others drop their results as well;
 * - --fine-grained-activation-offloading: offloads by module, not by share.
 *
 * Never produced: --cpu-offloading-num-layers with any --recompute-granularity, or for all layers.
 * Both are refused there.
 */
#include <inttypes.h>

#include "config/treatment/layers.h"
#include "plan/trainers/expressible.h"

typedef struct spelling {
    const char *keep, *all, *first, *offload; /* the last two with a number of layers */
    const char *modules, *between, *end;      /* in front of, between and behind their names */
} spelling;

static const spelling flags = {
    .keep = "# no --recompute-granularity, no --cpu-offloading-num-layers",
    .all = "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
    .first = "--recompute-granularity full --recompute-method block --recompute-num-layers",
    .offload = "--cpu-offloading-num-layers",
    .modules = "--recompute-granularity selective --recompute-modules ",
    .between = " ",
    .end = "",
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
    .modules = "cfg.model.recompute_granularity = \"selective\"\n"
               "cfg.model.recompute_modules = [\"",
    .between = "\", \"",
    .end = "\"]",
};

/* The MLP of every layer, which goes by another name where it is a mixture of experts. */
static void add_mlps(ms_expressible_list *list, const spelling *s)
{
    static const ms_treatment mlp = {.kind = MS_TREAT_KEEP, .parts[MS_PART_CHECKPOINT_MLP] = 1};
    const ms_model_config *model = list->task->model;
    bool has_dense = false, has_experts = false;
    if (!ms_expressible_may(list, MS_MAY_CHECKPOINT) || model->family->has_no_mlp_module)
        return;
    for (uint64_t i = 0; i < model->num_layers; i++)
        *(ms_layer_kind(model, i) & MS_LAYER_SPARSE ? &has_experts : &has_dense) = true;
    const char *text = ms_arena_printf(
        list->arena, "%s%s%s%s%s", s->modules, has_dense ? "mlp" : "",
        has_dense && has_experts ? s->between : "", has_experts ? "moe" : "", s->end);
    uint32_t option = ms_expressible_option(list, &mlp);
    ms_expressible_add(list, MS_FIRST_LAYERS(list->costs->layer_count), option, text);
}

static ms_status list_plans(ms_expressible_list list, const spelling *s)
{
    static const ms_treatment offload = {.kind = MS_TREAT_OFFLOAD, .share = 1};
    uint32_t count = list.costs->layer_count;
    ms_expressible_add(&list, MS_NO_LAYERS, MS_OPTION_KEEP, s->keep);
    for (uint32_t n = 1; ms_expressible_may(&list, MS_MAY_CHECKPOINT) && n < count; n++)
        ms_expressible_add(&list, MS_FIRST_LAYERS(n), MS_OPTION_CHECKPOINT,
                           ms_arena_printf(list.arena, "%s %" PRIu32, s->first, n));
    if (ms_expressible_may(&list, MS_MAY_CHECKPOINT))
        ms_expressible_add(&list, MS_FIRST_LAYERS(count), MS_OPTION_CHECKPOINT, s->all);
    add_mlps(&list, s);
    if (count < 2 || !ms_expressible_may(&list, MS_MAY_OFFLOAD))
        return list.status;
    uint32_t option = ms_expressible_option(&list, &offload);
    for (uint32_t n = 1; n < count; n++)
        ms_expressible_add(&list, MS_FIRST_LAYERS(n), option,
                           ms_arena_printf(list.arena, "%s %" PRIu32, s->offload, n));
    return list.status;
}

ms_status ms_expressible_megatron(MS_EXPRESSIBLE_ARGUMENTS)
{
    return list_plans((ms_expressible_list){arena, task, costs, plans, err, MS_OK}, &flags);
}

ms_status ms_expressible_nemo(MS_EXPRESSIBLE_ARGUMENTS)
{
    return list_plans((ms_expressible_list){arena, task, costs, plans, err, MS_OK}, &fields);
}
