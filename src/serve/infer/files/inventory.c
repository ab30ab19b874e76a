/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/files/inventory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "input/config/load/load.h"
#include "input/config/model/model_config.h"
#include "run/step/inference/generator.h"
#include "serve/infer/kit/result.h"

/* ---- names ---- */

enum { NAME_BYTES = 512 };

const char *const ms_stored_role_names[] = {"weights", "packed", "scales", "other", NULL};

static bool ends_with(const char *text, size_t length, const char *ending, size_t cut)
{
    return length >= cut && memcmp(text + length - cut, ending, cut) == 0;
}

/* ---- quantised weights ---- */

/* How the name of a weight ends that is stored so: GPTQ and AWQ, compressed-tensors, blocks of fp8,
 * ModelOpt, bitsandbytes, mxfp4. */
static const struct form {
    const char *ending, *of; /* in place of it, the weight's own */
    ms_stored_role role;
} forms[] = {
    {".qweight", ".weight", MS_ROLE_PACKED},
    {".weight_packed", ".weight", MS_ROLE_PACKED},
    {"_blocks", "", MS_ROLE_PACKED},
    {".qzeros", ".weight", MS_ROLE_SCALE},
    {".scales", ".weight", MS_ROLE_SCALE},
    {".g_idx", ".weight", MS_ROLE_SCALE},
    {"_scales", "", MS_ROLE_SCALE},
    {"_scale_inv", "", MS_ROLE_SCALE},
    {"_scale", "", MS_ROLE_SCALE},
    {".weight_scale_2", ".weight", MS_ROLE_SCALE},
    {".weight_zero_point", ".weight", MS_ROLE_SCALE},
    {".weight_shape", ".weight", MS_ROLE_SCALE},
    {".weight_g_idx", ".weight", MS_ROLE_SCALE},
    {".weight_format", ".weight", MS_ROLE_SCALE},
    {".SCB", ".weight", MS_ROLE_SCALE},
    {".absmax", "", MS_ROLE_SCALE},
    {".quant_map", "", MS_ROLE_SCALE},
    {".nested_absmax", "", MS_ROLE_SCALE},
    {".nested_quant_map", "", MS_ROLE_SCALE},
    {".quant_state.bitsandbytes__nf4", "", MS_ROLE_SCALE},
    {".quant_state.bitsandbytes__fp4", "", MS_ROLE_SCALE},
};

enum { GATE_UP, DOWN };

static const struct expert_part {
    const char *name;
    int fused;
    uint64_t parts; /* of each expert in the fused tensor */
} expert_parts[] = {
    {".gate_proj.weight", GATE_UP, 2}, {".up_proj.weight", GATE_UP, 2},
    {".down_proj.weight", DOWN, 1},    {".w1.weight", GATE_UP, 2},
    {".w3.weight", GATE_UP, 2},        {".w2.weight", DOWN, 1},
};

/* Changes the name to that of the weight itself. */
static ms_stored_role take_form(char *name, size_t *length)
{
    static const char plain[] = ".weight", bias[] = ".bias";
    if (ends_with(name, *length, plain, sizeof plain - 1) ||
        ends_with(name, *length, bias, sizeof bias - 1))
        return MS_ROLE_WEIGHT;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        size_t cut = strlen(forms[i].ending), more = strlen(forms[i].of);
        if (!ends_with(name, *length, forms[i].ending, cut) || *length - cut + more >= NAME_BYTES)
            continue;
        memcpy(name + *length - cut, forms[i].of, more + 1);
        *length = *length - cut + more;
        return forms[i].role;
    }
    return MS_ROLE_WEIGHT;
}

/* ---- names that are renamed ---- */

/* In the order in which they are replaced; '^' stands for the beginning. */
static const struct renaming {
    const char *from, *to;
} renamings[] = {
    {"^language_model.lm_head.", "lm_head."},
    {"^language_model.", "model.language_model."},
    {"model.language_model.model.", "model.language_model."},
    {"^vision_tower.", "model.vision_tower."},
    {"model.vision_tower.vision_model.", "model.vision_tower."},
    {"^multi_modal_projector.", "model.multi_modal_projector."},
    {"^visual.", "model.visual."},
    {"^embed_out.", "lm_head."},
    {"block_sparse_moe.input_linear.weight", "mlp.experts.gate_up_proj"},
    {"block_sparse_moe.output_linear.weight", "mlp.experts.down_proj"},
    {"block_sparse_moe.", "mlp."},
    {"encoder.layer.", "layers."},
    {"attention.attention.query", "attention.q_proj"},
    {"attention.attention.key", "attention.k_proj"},
    {"attention.attention.value", "attention.v_proj"},
    {"attention.output.dense", "attention.o_proj"},
    {"intermediate.dense", "mlp.fc1"},
    {"output.dense", "mlp.fc2"},
    {"LayerNorm.gamma", "LayerNorm.weight"},
    {"LayerNorm.beta", "LayerNorm.bias"},
};

/* Replaces `from` by `to`; a name that would be too long stays. */
static void replace(char *name, const char *from, const char *to)
{
    char changed[NAME_BYTES];
    bool is_first = *from == '^';
    from += is_first;
    size_t cut = strlen(from);
    const char *at = is_first ? (strncmp(name, from, cut) == 0 ? name : NULL) : strstr(name, from);
    if (!at)
        return;
    int length =
        snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - name), name, to, at + cut);
    if (length > 0 && (size_t)length < sizeof changed)
        memcpy(name, changed, (size_t)length + 1);
}

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

/* By a name of so many bytes; UINT32_MAX: there is none. */
static uint32_t inventory_find(const ms_inventory *v, const char *name, size_t bytes)
{
    return *slot_of(v, name, bytes);
}

static uint32_t find_text(const ms_inventory *v, const char *name)
{
    return inventory_find(v, name, strlen(name));
}

/* The same with another beginning. */
static uint32_t find_with(const ms_inventory *v, const char *from, const char *to, const char *name)
{
    char changed[NAME_BYTES];
    size_t cut = strlen(from);
    if (strncmp(name, from, cut) != 0)
        return UINT32_MAX;
    int length = snprintf(changed, sizeof changed, "%s%s", to, name + cut);
    return length > 0 && (size_t)length < sizeof changed ? find_text(v, changed) : UINT32_MAX;
}

/* Files of a model without a head lack the first part; text models lie in larger ones, or the
 * reverse. */
static uint32_t find_elsewhere(const ms_inventory *v, const char *name)
{
    char first[NAME_BYTES];
    const char *dot = v->weights.count ? strchr(v->weights.items[0].name, '.') : NULL;
    uint32_t found = UINT32_MAX;
    if (!dot || dot - v->weights.items[0].name >= NAME_BYTES - 1)
        return found;
    snprintf(first, sizeof first, "%.*s", (int)(dot - v->weights.items[0].name + 1),
             v->weights.items[0].name);
    const struct {
        const char *from, *to;
    } ways[] = {{"", first},
                {"model.language_model.", "model."},
                {"model.", "model.language_model."},
                {"", "model.language_model."}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0] && found == UINT32_MAX; i++)
        found = find_with(v, ways[i].from, ways[i].to, name);
    return found;
}

/* May change the name. */
static uint32_t find(const ms_inventory *v, char *name, size_t length)
{
    uint32_t found = inventory_find(v, name, length);
    if (found != UINT32_MAX)
        return found;
    for (size_t i = 0; i < sizeof renamings / sizeof renamings[0]; i++)
        replace(name, renamings[i].from, renamings[i].to);
    found = find_text(v, name);
    return found != UINT32_MAX ? found : find_elsewhere(v, name);
}

/* ---- experts ---- */

static const char *const fused_names[] = {".experts.gate_up_proj", ".experts.down_proj"};

static void look_up(ms_stored_names *n, const char *name, size_t before)
{
    n->before_bytes = before;
    memcpy(n->before, name, before);
    for (int i = GATE_UP; i <= DOWN; i++) {
        char fused[NAME_BYTES];
        int length = snprintf(fused, sizeof fused, "%.*s%s", (int)before, name, fused_names[i]);
        n->fused[i] = find(n->inventory, fused, (size_t)length);
    }
}

/* "X.experts.7.up_proj.weight": of X.experts.gate_up_proj. */
static bool take_expert(ms_stored_names *n, const char *name, ms_stored_place *place)
{
    static const char experts[] = ".experts.";
    const char *at = strstr(name, experts);
    size_t before = at ? (size_t)(at - name) : 0;
    if (!at || before >= sizeof n->before)
        return false;
    const char *digit = at + sizeof experts - 1, *first = digit;
    for (; *digit >= '0' && *digit <= '9' && digit - first < 9; digit++)
        place->expert = place->expert * 10 + (uint64_t)(*digit - '0');
    for (size_t i = 0; digit > first && i < sizeof expert_parts / sizeof expert_parts[0]; i++) {
        if (strcmp(digit, expert_parts[i].name) != 0)
            continue;
        if (n->before_bytes != before || memcmp(n->before, name, before) != 0)
            look_up(n, name, before);
        place->weight = n->fused[expert_parts[i].fused];
        if (place->weight == UINT32_MAX)
            return false;
        place->parts = expert_parts[i].parts * n->inventory->weights.items[place->weight].shape[0];
        return true;
    }
    return false;
}

/* ---- all ---- */

ms_stored_place ms_stored_place_of(ms_stored_names *n, const char *name, bool has_bits)
{
    ms_stored_place place = {.weight = UINT32_MAX, .role = MS_ROLE_OTHER, .parts = 1};
    char own[NAME_BYTES];
    size_t length = strlen(name);
    if (length >= sizeof own)
        return place;
    place.weight = inventory_find(n->inventory, name, length);
    ms_stored_role role = MS_ROLE_WEIGHT;
    if (place.weight == UINT32_MAX) {
        memcpy(own, name, length + 1);
        role = take_form(own, &length);
        if (!take_expert(n, own, &place)) {
            place.expert = 0;
            place.weight = find(n->inventory, own, length);
        }
    }
    if (place.weight != UINT32_MAX)
        place.role = role == MS_ROLE_WEIGHT && has_bits ? MS_ROLE_PACKED : role;
    else if (role == MS_ROLE_SCALE)
        place.role = role; /* of an activation, or of the cache */
    return place;
}

/* ---- the table ---- */

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
