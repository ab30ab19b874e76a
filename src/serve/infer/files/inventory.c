/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/files/inventory.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "input/config/load/load.h"
#include "input/config/model/model_config.h"
#include "serve/infer/kit/result.h"
#include "run/step/inference/generator.h"

enum { NAME_BYTES = 512 };

/* ---- the table ---- */

static uint64_t digest_of(const char *name, size_t bytes)
{
    uint64_t digest = ms_digest_words(MS_DIGEST_START, name, bytes);
    return digest ^ digest >> 29;
}

static bool has_name(const ms_inventory_weight *w, const char *name, size_t bytes)
{
    return strncmp(w->name, name, bytes) == 0 && w->name[bytes] == '\0';
}

/* The slot of a name, or the free one where it would be. */
static uint32_t *slot_of(const ms_inventory *v, const char *name, size_t bytes)
{
    uint32_t at = (uint32_t)digest_of(name, bytes) & (v->capacity - 1);
    while (v->slots[at] != UINT32_MAX && !has_name(&v->weights.items[v->slots[at]], name, bytes))
        at = (at + 1) & (v->capacity - 1);
    return &v->slots[at];
}

static bool make_table(ms_inventory *v)
{
    v->capacity = 16;
    while (v->capacity / 2 < v->weights.count)
        v->capacity *= 2;
    v->slots = malloc(v->capacity * sizeof *v->slots);
    if (!v->slots)
        return false;
    memset(v->slots, 0xff, v->capacity * sizeof *v->slots);
    for (uint32_t i = 0; i < v->weights.count; i++) {
        const char *name = v->weights.items[i].name;
        *slot_of(v, name, strlen(name)) = i;
    }
    return true;
}

uint32_t ms_inventory_find(const ms_inventory *v, const char *name, size_t bytes)
{
    return *slot_of(v, name, bytes);
}

/* ---- weights ---- */

static const char *name_of(ms_arena *arena, const ms_trace *trace, const ms_storage *s)
{
    char path[NAME_BYTES];
    uint32_t length = ms_trace_scope_path(trace, s->scope, path, NAME_BYTES);
    return length < NAME_BYTES ? ms_arena_printf(arena, "%s.%s", path, trace->names.items[s->name])
                               : NULL;
}

static bool add(ms_arena *arena, const ms_trace *trace, const ms_storage *s, bool is_table,
                ms_inventory *v)
{
    ms_inventory_weight w = {.name = name_of(arena, trace, s),
                             .elements = 1,
                             .rank = s->rank,
                             .is_embedding = is_table,
                             .is_buffer = s->category == MS_CATEGORY_BUFFER};
    for (uint32_t i = 0; i < s->rank && i < MS_INVENTORY_MAX_RANK; i++) {
        w.shape[i] = trace->symbols.table.items[s->symbols[i]].value;
        w.elements *= w.shape[i];
    }
    return w.name && ms_vec_push(&v->weights, w);
}

enum { MOST_TABLES = 16 };

/* The storages of tables of embeddings: words, positions, types of tokens. */
static uint32_t find_tables(ms_tape *tape, uint32_t tables[MOST_TABLES])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tape->parameters.count && count < MOST_TABLES; i++) {
        const ms_parameter *p = &tape->parameters.items[i];
        if (p->is_embedding)
            tables[count++] = ms_info(tape, p->tensor)->storage;
    }
    return count;
}

static bool has(const uint32_t *items, uint32_t count, uint32_t wanted)
{
    for (uint32_t i = 0; i < count; i++)
        if (items[i] == wanted)
            return true;
    return false;
}

static ms_status take_all(ms_arena *arena, ms_generator *g, ms_inventory *v, ms_error *err)
{
    const ms_trace *trace = &g->simulation->trace;
    uint32_t tables[MOST_TABLES], table_count = find_tables(&g->tape, tables);
    bool ok = true;
    for (uint32_t i = 0; i < trace->storages.count && ok; i++) {
        const ms_storage *s = &trace->storages.items[i];
        bool is_built = s->category == MS_CATEGORY_WEIGHT || s->category == MS_CATEGORY_BUFFER;
        if (is_built && ms_storage_is_held(&g->tape, i))
            ok = add(arena, trace, s, has(tables, table_count, i), v);
    }
    return ok && make_table(v) ? MS_OK : ms_infer_no_memory(err);
}

static ms_status build(ms_arena *arena, const ms_model_config *config, const ms_run_config *run,
                       ms_inventory *v, ms_error *err)
{
    ms_simulation simulation;
    ms_generator g;
    ms_status status = ms_generator_begin(&g, config, run, &simulation, err);
    if (status == MS_OK)
        status = take_all(arena, &g, v, err);
    status = ms_generator_end(&g, status);
    if (status == MS_OK)
        ms_simulation_free(&simulation);
    return status;
}

ms_status ms_inventory_make(ms_arena *arena, const ms_model_config *config, ms_inventory *v,
                            ms_error *err)
{
    const ms_run_setting settings[] = {{"batch", "1"}, {"dtype", "bf16"}};
    ms_model_config plain = *config;
    ms_run_config run;
    *v = (ms_inventory){.capacity = 0};
    plain.quantization = (ms_quantization){.kind = MS_QUANTIZE_NONE};
    plain.is_fp8 = false;
    ms_status status = ms_config_load_run(arena, &plain, settings,
                                          sizeof settings / sizeof settings[0], &run, err);
    if (status == MS_OK)
        status = build(arena, &plain, &run, v, err);
    if (status != MS_OK)
        ms_inventory_free(v);
    return status;
}

void ms_inventory_free(ms_inventory *v)
{
    ms_vec_free(&v->weights);
    free(v->slots);
    v->slots = NULL;
}
