/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names and modules.
 */
#include <string.h>

#include "torch/autograd/tape.h"
#include "core/trace/build.h"

/* ---- names: an open hash table of indices into trace->names ---- */

static uint32_t hash_of(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 16777619u;
    return hash;
}

/* The place of the name, or the free place where it belongs. */
static uint32_t *name_place(ms_tape *tape, const char *text)
{
    uint32_t mask = tape->name_table.capacity - 1;
    for (uint32_t i = hash_of(text) & mask;; i = (i + 1) & mask) {
        uint32_t *place = &tape->name_table.items[i];
        if (*place == 0 || strcmp(tape->trace->names.items[*place], text) == 0)
            return place;
    }
}

static bool grow_name_table(ms_tape *tape)
{
    uint32_t capacity = tape->name_table.capacity ? 2 * tape->name_table.capacity : 64;
    uint32_t *items = calloc(capacity, sizeof *items);
    if (!items)
        return false;
    free(tape->name_table.items);
    tape->name_table.items = items;
    tape->name_table.capacity = capacity;
    for (uint32_t i = 1; i < tape->trace->names.count; i++)
        *name_place(tape, tape->trace->names.items[i]) = i;
    return true;
}

uint32_t ms_tape_name(ms_tape *tape, const char *text)
{
    ms_trace *trace = tape->trace;
    if (2 * trace->names.count >= tape->name_table.capacity && !grow_name_table(tape)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return 0;
    }
    uint32_t *place = name_place(tape, text);
    if (*place == 0) {
        uint32_t name = ms_trace_add_name(trace, text);
        if (name == MS_NONE) {
            ms_tape_fail(tape, MS_ERR_NOMEM);
            return 0;
        }
        *place = name;
    }
    return *place;
}

/* ---- modules ---- */

static void note_layer(ms_tape *tape, uint32_t layer, uint32_t scope)
{
    while (tape->layer_scopes.count <= layer)
        if (!ms_vec_push(&tape->layer_scopes, MS_NONE)) {
            ms_tape_fail(tape, MS_ERR_NOMEM);
            return;
        }
    tape->layer_scopes.items[layer] = scope;
}

uint32_t ms_scope_add(ms_tape *tape, uint32_t parent, const char *name, uint32_t layer)
{
    ms_scope scope = {.parent = parent, .name = ms_tape_name(tape, name), .layer = layer};
    uint32_t index = ms_trace_add_scope(tape->trace, scope);
    if (index == MS_NONE) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return parent;
    }
    if (layer != MS_NONE)
        note_layer(tape, layer, index);
    return index;
}

uint32_t ms_layer_scope(const ms_tape *tape, uint32_t layer)
{
    return layer < tape->layer_scopes.count ? tape->layer_scopes.items[layer] : MS_NONE;
}

void ms_module_enter(ms_tape *tape, uint32_t scope)
{
    uint32_t layer = ms_scope_layer(tape, scope);
    if (ms_scope_layer(tape, tape->module) != layer && !ms_idle(tape))
        ms_trace_event(tape, MS_EVENT_LAYER, layer);
    tape->module = scope;
}

void ms_module_begin(ms_tape *tape, uint32_t scope)
{
    ms_module_enter(tape, scope);
    ms_hooks_forward_begins(tape, scope);
}

void ms_module_end(ms_tape *tape, uint32_t scope)
{
    ms_hooks_forward_ends(tape, scope);
    ms_module_enter(tape, MS_NONE);
}
