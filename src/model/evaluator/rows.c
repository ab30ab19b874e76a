/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Calls of rows: memscope's own functions, and PyTorch's.
 */
#include <string.h>

#include "model/evaluator/evaluate.h"

ms_value ms_frame_tensors(ms_frame *f, const ms_text_node *node, uint32_t count,
                          const ms_tensor *tensors)
{
    const ms_value list = {.kind = MS_VALUE_LIST, .items = ms_items_new(ms_frame_pool(f), count)};
    if (!list.items)
        return ms_frame_failed(f, node, "there are too many parts");
    for (uint32_t i = 0; i < count; i++)
        (void)ms_items_add(f->model->tape, ms_frame_pool(f), list.items,
                           ms_value_of_tensor(tensors[i]), NULL);
    return list;
}

ms_value ms_frame_results(ms_frame *f, const ms_text_node *node, const ms_results *results)
{
    return results->count < 2 ? ms_value_of_tensor(results->count ? results->items[0] : 0)
                              : ms_frame_tensors(f, node, results->count, results->items);
}

static void run(ms_frame *f, const ms_text_node *node, ms_results *results)
{
    ms_tensor args[MS_FAMILY_NAMES] = {0}; /* as many as the row has parameters */
    const char *types = node->primitive->types;
    for (uint32_t i = 0, k = 0; i < node->count; i++, k++) {
        k += types[k] == '|';
        if (types[k] == 't' && node->items[i])
            args[i] = ms_frame_tensor(f, node->items[i]);
        else if (types[k] == 'l')
            args[i] = *ms_frame_local(f, node->items[i]);
    }
    const bool is_right = !ms_idle(f->model->tape) && ms_check_function(f, node, args);
    if (is_right)
        node->primitive->run(f, node, args, results);
    else
        memset(results->items, 0, results->count * sizeof *results->items);
}

static ms_value apply(ms_frame *f, const ms_text_node *node)
{
    ms_value args[MS_FAMILY_NAMES];
    for (uint32_t i = 0; i < node->count; i++)
        args[i] = node->items[i] ? ms_frame_value(f, node->items[i]) : (ms_value){0};
    if (ms_idle(f->model->tape))
        return (ms_value){0};
    for (uint32_t i = 0; i < node->count; i++)
        if (args[i].kind == MS_VALUE_LIST)
            ms_value_retain(f->model->tape, args[i]);
    const ms_value out = node->primitive->apply(f, node, args);
    ms_value_retain(f->model->tape, out);
    for (uint32_t i = 0; i < node->count; i++)
        if (args[i].kind == MS_VALUE_LIST)
            ms_value_release(f->model->tape, ms_frame_pool(f), args[i]);
    return ms_value_unown(f->model->tape, out);
}

ms_value ms_row_call(ms_frame *f, const ms_text_node *node)
{
    if (node->primitive->apply)
        return apply(f, node);
    ms_results results = {.count = node->primitive->results};
    if (results.count == MS_RESULTS_WANTED) {
        ms_frame_fail(f, node, "expected as many names on the left as there are results");
        return (ms_value){0};
    }
    run(f, node, &results);
    return ms_frame_results(f, node, &results);
}

void ms_frame_values(ms_frame *f, const ms_text_node *node, uint32_t count, ms_value *values,
                     ms_value *keeper)
{
    memset(values, 0, count * sizeof *values);
    if (node->kind == MS_NODE_CHOICE) {
        ms_frame_values(f, node->items[ms_frame_truth(f, node->items[1]) ? 0 : 2], count, values,
                        keeper);
        return;
    }
    if (node->kind == MS_NODE_PRIMITIVE && node->primitive->run) {
        ms_results results = {.count = count};
        run(f, node, &results);
        for (uint32_t i = 0; i < count; i++)
            values[i] = ms_value_of_tensor(results.items[i]);
        return;
    }
    *keeper = ms_frame_value(f, node);
    if (ms_idle(f->model->tape))
        return;
    if (keeper->kind != MS_VALUE_LIST || keeper->items->count != count)
        ms_frame_fail(f, node, "this has %u value%s, but %u are assigned",
                      keeper->kind == MS_VALUE_LIST ? keeper->items->count : 1,
                      keeper->kind == MS_VALUE_LIST && keeper->items->count != 1 ? "s" : "", count);
    else
        memcpy(values, keeper->items->values, count * sizeof *values);
}
