/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operators that must be treated alike (random ones, an in-place operator and its parent) become
 * one item of a knapsack; views are recomputed, an in-place operator without a parent is saved.
 */
#include "decide/plan/operators/operators.h"

#include <inttypes.h>
#include <math.h>

#include "decide/plan/solver/knapsack.h"

#define MAX_BYTES (UINT64_C(1) << 40)
#define MAX_MS 1e12

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "out of memory for the operators");
}

/* ---- reading ---- */

static ms_status check_length(ms_json_value list, uint32_t wanted, ms_error *err)
{
    uint32_t count = ms_json_length(list);
    if (count == wanted)
        return MS_OK;
    return ms_json_fail(err, list, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "%u figures, but func_names lists %u operators", (unsigned)count,
                        (unsigned)wanted);
}

static ms_status read_names(ms_arena *arena, ms_json_value root, ms_operator_task *task,
                            ms_error *err)
{
    ms_json_value list, v;
    ms_status status = ms_json_get_list(root, "func_names", &list, err);
    if (status != MS_OK)
        return status;
    task->operators = ms_arena_array(arena, ms_operator, MS_OPERATORS_MAX);
    if (!task->operators)
        return no_memory(err);
    for (bool more = ms_json_first(list, &v); more; more = ms_json_next(&v)) {
        const char *name;
        if ((status = ms_json_get_string(v, &name, err)) != MS_OK)
            return status;
        if (task->count == MS_OPERATORS_MAX)
            return ms_json_fail(err, list, MS_JSON_AT_VALUE, MS_ERR_LIMIT, "more than %d operators",
                                MS_OPERATORS_MAX);
        ms_operator *o = &task->operators[task->count];
        o->tied_to = task->count++;
        if (!(o->name = ms_arena_strdup(arena, name)))
            return no_memory(err);
    }
    return MS_OK;
}

static ms_status read_figures(ms_json_value root, ms_operator_task *task, ms_error *err)
{
    ms_json_value runtimes, memory, ms, bytes;
    ms_status status = ms_json_get_list(root, "runtimes", &runtimes, err);
    if (status == MS_OK)
        status = check_length(runtimes, task->count, err);
    if (status == MS_OK)
        status = ms_json_get_list(root, "memory", &memory, err);
    if (status == MS_OK)
        status = check_length(memory, task->count, err);
    if (status != MS_OK || task->count == 0)
        return status;
    ms_json_first(runtimes, &ms);
    ms_json_first(memory, &bytes);
    for (uint32_t i = 0; i < task->count; i++) {
        ms_operator *o = &task->operators[i];
        if ((status = ms_json_get_number(ms, 0, MAX_MS, &o->runtime_ms, err)) != MS_OK ||
            (status = ms_json_get_count(bytes, 0, MAX_BYTES, &o->memory_bytes, err)) != MS_OK)
            return status;
        ms_json_next(&ms);
        ms_json_next(&bytes);
    }
    return MS_OK;
}

static ms_status get_index(ms_json_value value, const ms_operator_task *task, uint32_t *index,
                           ms_error *err)
{
    uint64_t found;
    if (task->count == 0)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "there are no operators");
    ms_status status = ms_json_get_count(value, 0, task->count - 1, &found, err);
    *index = status == MS_OK ? (uint32_t)found : 0;
    return status;
}

static uint32_t head_of(const ms_operator_task *task, uint32_t index)
{
    while (task->operators[index].tied_to != index)
        index = task->operators[index].tied_to;
    return index;
}

static void tie(ms_operator_task *task, uint32_t a, uint32_t b)
{
    uint32_t x = head_of(task, a), y = head_of(task, b);
    task->operators[x > y ? x : y].tied_to = x > y ? y : x;
}

/* False when it must also be the opposite. */
static bool set_rule(ms_operator *o, ms_operator_rule rule)
{
    if (o->rule != MS_OPERATOR_FREE && o->rule != rule)
        return false;
    o->rule = rule;
    return true;
}

static ms_status contradiction(ms_json_value at, uint32_t index, ms_error *err)
{
    return ms_json_fail(err, at, MS_JSON_AT_VALUE, MS_ERR_INFEASIBLE,
                        "operator %u must be both saved and recomputed", (unsigned)index);
}

static ms_status read_views(ms_json_value root, ms_operator_task *task, ms_error *err)
{
    ms_json_value list, v;
    ms_status status = ms_json_get_list(root, "view_like_ops", &list, err);
    if (status != MS_OK)
        return status;
    for (bool more = ms_json_first(list, &v); more; more = ms_json_next(&v)) {
        uint32_t index;
        if ((status = get_index(v, task, &index, err)) != MS_OK)
            return status;
        if (!set_rule(&task->operators[index], MS_OPERATOR_RECOMPUTED))
            return contradiction(v, index, err);
    }
    return MS_OK;
}

/* All are saved or none, or, when that is asked for, all. */
static ms_status read_random(ms_json_value root, ms_operator_task *task, ms_error *err)
{
    ms_json_value list, v, force;
    bool forced = false;
    ms_status status = ms_json_get_list(root, "rand_ops", &list, err);
    if (status == MS_OK && ms_json_find(root, "force_store_random", &force))
        status = ms_json_get_bool(force, &forced, err);
    if (status != MS_OK)
        return status;
    uint32_t first = UINT32_MAX;
    for (bool more = ms_json_first(list, &v); more; more = ms_json_next(&v)) {
        uint32_t index;
        if ((status = get_index(v, task, &index, err)) != MS_OK)
            return status;
        if (forced && !set_rule(&task->operators[index], MS_OPERATOR_SAVED))
            return contradiction(v, index, err);
        first = first == UINT32_MAX ? index : first;
        tie(task, first, index);
    }
    return MS_OK;
}

/* Pairs of an operator and its parent; one that is its own parent has none. */
static ms_status read_in_place(ms_json_value root, ms_operator_task *task, ms_error *err)
{
    ms_json_value list, pair, v;
    ms_status status = ms_json_get_list(root, "inplace_ops", &list, err);
    if (status != MS_OK)
        return status;
    for (bool more = ms_json_first(list, &pair); more; more = ms_json_next(&pair)) {
        uint32_t index[2], count = 0;
        if ((status = ms_json_expect(pair, MS_JSON_ARRAY, err)) != MS_OK)
            return status;
        for (bool next = ms_json_first(pair, &v); next; next = ms_json_next(&v), count++)
            if (count < 2 && (status = get_index(v, task, &index[count], err)) != MS_OK)
                return status;
        if (count != 2)
            return ms_json_fail(err, pair, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                "expected an operator and its parent");
        if (index[0] != index[1])
            tie(task, index[0], index[1]);
        else if (!set_rule(&task->operators[index[0]], MS_OPERATOR_SAVED))
            return contradiction(pair, index[0], err);
    }
    return MS_OK;
}

/* What holds for one of those that are tied holds for their head. */
static ms_status spread_rules(ms_json_value root, ms_operator_task *task, ms_error *err)
{
    for (uint32_t i = 0; i < task->count; i++) {
        ms_operator_rule rule = task->operators[i].rule;
        if (rule != MS_OPERATOR_FREE && !set_rule(&task->operators[head_of(task, i)], rule))
            return contradiction(root, i, err);
    }
    return MS_OK;
}

ms_status ms_operators_read(ms_arena *arena, ms_json_value root, ms_operator_task *task,
                            ms_error *err)
{
    *task = (ms_operator_task){0};
    ms_status status = read_names(arena, root, task, err);
    if (status == MS_OK)
        status = read_figures(root, task, err);
    if (status == MS_OK)
        status = read_views(root, task, err);
    if (status == MS_OK)
        status = read_random(root, task, err);
    if (status == MS_OK)
        status = read_in_place(root, task, err);
    return status == MS_OK ? spread_rules(root, task, err) : status;
}

/* ---- planning ---- */

/* Rounded up, as PyTorch does; but not because a fraction has no exact double. */
static uint64_t budget_of(uint64_t total, double fraction)
{
    double wanted = fraction * (double)total, nearest = round(wanted);
    double budget = fabs(wanted - nearest) <= 1e-9 * wanted ? nearest : ceil(wanted);
    return budget < (double)total ? (uint64_t)budget : total;
}

static uint64_t memory_saved(const ms_operator_task *task, const bool *save)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < task->count; i++)
        bytes += save[i] ? task->operators[i].memory_bytes : 0;
    return bytes;
}

/* Items by the head of those that are tied; what is settled already is worth nothing. */
static void make_items(const ms_operator_task *task, ms_item *items, bool *save)
{
    for (uint32_t i = 0; i < task->count; i++) {
        const ms_operator *o = &task->operators[i];
        uint32_t head = head_of(task, i);
        save[i] = task->operators[head].rule == MS_OPERATOR_SAVED;
        if (task->operators[head].rule != MS_OPERATOR_FREE)
            continue;
        items[head].weight += (double)o->memory_bytes;
        items[head].value += o->runtime_ms;
    }
}

ms_status ms_operators_plan(ms_arena *arena, const ms_operator_task *task, double fraction,
                            const ms_stop *stop, ms_operator_plan *plan, ms_error *err)
{
    *plan = (ms_operator_plan){.save = ms_arena_array(arena, bool, task->count)};
    ms_item *items = ms_arena_array(arena, ms_item, task->count);
    bool *taken = ms_arena_array(arena, bool, task->count);
    if (!plan->save || !items || !taken)
        return no_memory(err);
    for (uint32_t i = 0; i < task->count; i++) {
        plan->total_bytes += task->operators[i].memory_bytes;
        plan->total_ms += task->operators[i].runtime_ms;
    }
    plan->budget_bytes = budget_of(plan->total_bytes, fraction);
    make_items(task, items, plan->save);
    uint64_t settled = memory_saved(task, plan->save);
    if (settled > plan->budget_bytes)
        return ms_fail(err, MS_ERR_INFEASIBLE,
                       "operators that must be saved need %" PRIu64 " B of %" PRIu64 " B", settled,
                       plan->budget_bytes);
    ms_status status = ms_knapsack(items, task->count, (double)(plan->budget_bytes - settled), stop,
                                   taken, &plan->is_proven, err);
    if (status != MS_OK)
        return status;
    for (uint32_t i = 0; i < task->count; i++) {
        plan->save[i] = plan->save[i] || taken[head_of(task, i)];
        plan->recompute_ms += plan->save[i] ? 0 : task->operators[i].runtime_ms;
    }
    plan->saved_bytes = memory_saved(task, plan->save);
    return MS_OK;
}
