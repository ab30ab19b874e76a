/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * torchtitan's activation checkpointing. Names and rules were read in torchtitan 0.3.
 *
 * Unsupported: memory-budget, where the compiler chooses; ChunkedLossWrapper, which runs backward
 * within forward.
 */
#include <string.h>

#include "input/config/treatment/treatment.h"
#include "input/config/treatment/treatment_equal.h"
#include "decide/plan/costs/op_list.h"
#include "decide/plan/trainers/expressible.h"
#include "decide/plan/trainers/layer_products.h"

/* What SelectiveAC always saves. */
static const char *const always_saved[] = {"flash_attention", "efficient_attention", "bmm",
                                           "addmm"};
enum { ALWAYS_SAVED = sizeof always_saved / sizeof *always_saved };

static bool is_router(const ms_layer_product *p)
{
    return strcmp(p->module, "gate") == 0 || strcmp(p->module, "router") == 0;
}

/* force_recompute_mm_shapes_by_fqns: products of the router's shape are recomputed, and do not
 * count. */
static bool is_forced(const ms_layer_products *products, const ms_layer_product *p)
{
    for (uint32_t i = 0; i < products->count; i++)
        if (is_router(&products->items[i]) && products->items[i].inner == p->inner &&
            products->items[i].columns == p->columns)
            return true;
    return false;
}

static bool is_of_qkv(const ms_layer_product *p)
{
    return strcmp(p->module, "q_proj") == 0 || strcmp(p->module, "k_proj") == 0 ||
           strcmp(p->module, "v_proj") == 0;
}

/* Of the mm that a layer executes each second one is saved, from the first on. torchtitan computes
 * q, k and v as one; where they are several here, all share the fate of the first. Those that have
 * a bias are addmm. */
static ms_treatment selective_policy(const ms_layer_products *products, ms_kept_op *kept)
{
    ms_treatment t = {.kind = MS_TREAT_SELECTIVE, .kept_ops = kept};
    bool saves = false, has_qkv = false, saves_qkv = false;
    for (uint32_t i = 0; i < ALWAYS_SAVED; i++)
        kept[t.kept_count++] = (ms_kept_op){always_saved[i], UINT32_MAX};
    for (uint32_t i = 0; i < products->count; i++) {
        const ms_layer_product *p = &products->items[i];
        bool joins = is_of_qkv(p) && has_qkv;
        if (is_forced(products, p))
            continue;
        if (!joins)
            saves = !saves;
        if (is_of_qkv(p) && !joins) {
            has_qkv = true;
            saves_qkv = saves;
        }
        if (joins ? saves_qkv : saves)
            kept[t.kept_count++] = (ms_kept_op){"mm", i};
    }
    return t;
}

/* An option for each kind of layer, by the products that it executes. */
static void add_selective(ms_expressible_list *list, const ms_layer_products *layers)
{
    const uint32_t count = list->costs->layer_count;
    ms_target_plan shape = {
        .assignment.options = ms_arena_array(list->arena, uint32_t, count),
        .text = "activation_checkpoint:selective\n"
                "# in a config function: activation_checkpoint=SelectiveAC.Config()"};
    ms_treatment before = {.kind = MS_TREAT_KEEP};
    for (uint32_t i = 0; i < count && shape.assignment.options; i++) {
        ms_kept_op *kept =
            ms_arena_array(list->arena, ms_kept_op, (size_t)ALWAYS_SAVED + layers[i].count);
        if (!kept)
            break;
        ms_treatment t = selective_policy(&layers[i], kept);
        if (!ms_op_list_may_keep(&list->costs->ops, t.kept_ops, t.kept_count))
            return;
        shape.assignment.options[i] = i > 0 && ms_treatment_equal(&t, &before)
                                          ? shape.assignment.options[i - 1]
                                          : ms_expressible_option(list, &t);
        if (shape.assignment.options[i] == MS_OPTION_REFUSED)
            return;
        before = t;
    }
    if (list->status == MS_OK && (before.kind == MS_TREAT_KEEP || !ms_vec_push(list->plans, shape)))
        list->status = ms_fail(list->err, MS_ERR_NOMEM, "out of memory for a trainer's plans");
}

ms_status ms_expressible_torchtitan(MS_EXPRESSIBLE_ARGUMENTS)
{
    ms_expressible_list list = {arena, task, costs, plans, err, MS_OK};
    ms_layer_products *layers;
    ms_expressible_add(&list, MS_NO_LAYERS, MS_OPTION_KEEP,
                       "activation_checkpoint:none\n"
                       "# in a config function: activation_checkpoint=None");
    if (ms_expressible_may(&list, MS_MAY_CHECKPOINT))
        ms_expressible_add(&list, MS_FIRST_LAYERS(costs->layer_count), MS_OPTION_CHECKPOINT,
                           "activation_checkpoint:full\n"
                           "# in a config function: activation_checkpoint=FullAC.Config()");
    /* Its selective policy is not read back from a file for several ranks. */
    if (list.status != MS_OK || !ms_expressible_may(&list, MS_MAY_SELECT) ||
        task->run->parallel.layout.kind != MS_PARALLEL_NONE ||
        task->run->checkpoint_kind == MS_CHECKPOINT_REENTRANT)
        return list.status;
    list.status = ms_layer_products_read(arena, task, &layers, err);
    if (list.status == MS_OK)
        add_selective(&list, layers);
    return list.status;
}
