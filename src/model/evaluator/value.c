/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/value.h"

#include <string.h>

#include "base/arena.h"

static const uint32_t capacities[MS_ITEMS_KINDS] = {8,     64,     512,     4096,
                                                    32768, 262144, 2097152, 16777216};

static uint32_t kind_of(uint32_t count)
{
    uint32_t kind = 0;
    while (kind < MS_ITEMS_KINDS && capacities[kind] < count)
        kind++;
    return kind;
}

static ms_items *of_kind(ms_items_pool *pool, uint32_t kind)
{
    ms_items *items = pool->free[kind];
    if (items) {
        pool->free[kind] = items->next;
        return items;
    }
    items = ms_arena_array(pool->arena, ms_items, 1);
    if (!items)
        return NULL;
    items->capacity = capacities[kind];
    items->values = ms_arena_array(pool->arena, ms_value, items->capacity);
    items->names = ms_arena_array(pool->arena, const char *, items->capacity);
    return items->values && items->names ? items : NULL;
}

static void give_back(ms_items_pool *pool, ms_items *items)
{
    const uint32_t kind = kind_of(items->capacity);
    items->next = pool->free[kind];
    pool->free[kind] = items;
}

ms_items *ms_items_new(ms_items_pool *pool, uint32_t count)
{
    return count <= MS_ITEMS_MOST ? ms_items_room(pool, count) : NULL;
}

ms_items *ms_items_room(ms_items_pool *pool, uint32_t count)
{
    const uint32_t kind = kind_of(count);
    ms_items *items = kind < MS_ITEMS_KINDS ? of_kind(pool, kind) : NULL;
    if (items) {
        items->refs = items->count = items->depth = items->held = 0;
        items->is_dict = false;
        items->next = NULL;
    }
    return items;
}

/* The contents of another list of the next kind; the lists change their arrays. */
static bool grow(ms_items_pool *pool, ms_items *items)
{
    const uint32_t kind = kind_of(items->capacity) + 1;
    ms_items *larger = capacities[kind - 1] < MS_ITEMS_MOST ? of_kind(pool, kind) : NULL;
    if (!larger)
        return false;
    const ms_items old = *items;
    memcpy(larger->values, items->values, items->count * sizeof *items->values);
    memcpy(larger->names, items->names, items->count * sizeof *items->names);
    items->values = larger->values;
    items->names = larger->names;
    items->capacity = larger->capacity;
    larger->values = old.values;
    larger->names = old.names;
    larger->capacity = old.capacity;
    give_back(pool, larger);
    return true;
}

/* The list gets a value; false: not this one. */
static bool take(ms_tape *tape, ms_items *items, ms_value value)
{
    const bool is_list = value.kind == MS_VALUE_LIST;
    const uint32_t depth = is_list ? value.items->depth + 1 : 0;
    if (depth > MS_ITEMS_DEPTH || (is_list && (items->held > 0 || value.items == items)))
        return false;
    if (depth > items->depth)
        items->depth = depth;
    if (is_list)
        value.items->held++;
    ms_value_retain(tape, value);
    return true;
}

static void drop(ms_tape *tape, ms_items_pool *pool, ms_value value)
{
    if (value.kind == MS_VALUE_LIST)
        value.items->held--;
    ms_value_release(tape, pool, value);
}

bool ms_items_set(ms_tape *tape, ms_items_pool *pool, ms_items *items, uint32_t i, ms_value value)
{
    const ms_value old = items->values[i];
    if (!take(tape, items, value))
        return false;
    items->values[i] = value;
    drop(tape, pool, old);
    return true;
}

bool ms_items_add(ms_tape *tape, ms_items_pool *pool, ms_items *items, ms_value value,
                  const char *name)
{
    if ((items->count == items->capacity && !grow(pool, items)) || !take(tape, items, value))
        return false;
    items->names[items->count] = name;
    items->values[items->count++] = value;
    return true;
}

void ms_value_retain(ms_tape *tape, ms_value value)
{
    if (value.kind == MS_VALUE_TENSOR)
        ms_retain(tape, value.tensor);
    else if (value.kind == MS_VALUE_LIST)
        value.items->refs++;
}

/* A tuple and a list let go of their last value first, a dict of its first. */
static void destroy(ms_tape *tape, ms_items_pool *pool, ms_items *items)
{
    for (uint32_t i = 0; i < items->count; i++)
        drop(tape, pool, items->values[items->is_dict ? i : items->count - 1 - i]);
    items->count = 0;
    give_back(pool, items);
}

void ms_value_release(ms_tape *tape, ms_items_pool *pool, ms_value value)
{
    if (value.kind == MS_VALUE_TENSOR)
        ms_release(tape, value.tensor);
    else if (value.kind == MS_VALUE_LIST && --value.items->refs == 0)
        destroy(tape, pool, value.items);
}

ms_value ms_value_unown(ms_tape *tape, ms_value value)
{
    if (value.kind == MS_VALUE_TENSOR)
        (void)ms_unown(tape, value.tensor);
    else if (value.kind == MS_VALUE_LIST)
        value.items->refs--;
    return value;
}

void ms_value_consume(ms_tape *tape, ms_items_pool *pool, ms_value value)
{
    if (value.kind == MS_VALUE_TENSOR)
        ms_consume(tape, value.tensor);
    else if (value.kind == MS_VALUE_LIST && value.items->refs == 0)
        destroy(tape, pool, value.items);
}
