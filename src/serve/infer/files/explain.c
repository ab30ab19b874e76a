/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/files/explain.h"

#include <stdlib.h>
#include <string.h>

bool ms_stored_dtype(const ms_safetensors_type *type, ms_dtype *dtype)
{
    static const struct {
        const char *name;
        ms_dtype dtype;
    } rows[] = {{"BF16", MS_DTYPE_BF16},
                {"F16", MS_DTYPE_F16},
                {"F32", MS_DTYPE_F32},
                {"F64", MS_DTYPE_F64}};
    for (size_t i = 0; type && i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, type->name) == 0) {
            *dtype = rows[i].dtype;
            return true;
        }
    return false;
}

static bool add(ms_stored_causes *causes, const char *name, const char *text, int64_t bytes)
{
    return bytes == 0 || ms_vec_push(causes, (ms_stored_cause){name, text, bytes});
}

/* ---- another type ---- */

static bool add_types(ms_arena *arena, const ms_stored *s, const char *type,
                      ms_stored_causes *causes)
{
    ms_dtype loaded, stored;
    bool ok = true;
    if (!ms_dtype_parse(type, &loaded))
        return true;
    for (uint32_t i = 0; i < s->kinds.count && ok; i++) {
        const ms_stored_kind *k = &s->kinds.items[i];
        if (k->role != MS_ROLE_WEIGHT || !ms_stored_dtype(k->type, &stored) || stored == loaded)
            continue;
        const char *text = ms_arena_printf(arena, "%s is loaded as %s", k->name, type);
        uint64_t elements = k->bytes / ms_dtype_bytes(stored);
        ok = text && add(causes, "type", text,
                         (int64_t)(elements * ms_dtype_bytes(loaded)) - (int64_t)k->bytes);
    }
    return ok;
}

/* ---- tensors that are left out ---- */

static const struct {
    const char *name, *text;
} left_rows[MS_LEFT_KINDS] = {
    [MS_LEFT_TIED] = {"tied-head", "the head is tied to the embeddings but stored as well"},
    [MS_LEFT_VISION] = {"vision", "tensors for images are not loaded"},
    [MS_LEFT_AUDIO] = {"audio", "tensors for sound are not loaded"},
    [MS_LEFT_PREDICTION] = {"prediction-layers",
                            "layers for multi-token prediction are not loaded"},
    [MS_LEFT_MADE] = {"made", "the files store buffers that the model computes itself"},
    [MS_LEFT_EXTRA] = {"extra", "tensors that do not belong to the model are not loaded"},
};

static bool add_left(const ms_stored *s, ms_stored_causes *causes)
{
    bool ok = true;
    for (int i = 0; i < MS_LEFT_KINDS; i++)
        ok = ok && add(causes, left_rows[i].name, left_rows[i].text, -(int64_t)s->left_bytes[i]);
    return ok;
}

/* ---- what an engine makes of them ---- */

static int by_bytes(const void *a, const void *b)
{
    const ms_stored_cause *x = a, *y = b;
    int64_t first = llabs(x->bytes), second = llabs(y->bytes);
    return first != second ? (first > second ? -1 : 1) : strcmp(x->name, y->name);
}

/* What no other cause says; then the one with the most bytes comes first. */
static bool add_rest(ms_stored_causes *causes, const char *text, int64_t difference)
{
    int64_t rest = difference;
    for (uint32_t i = 0; i < causes->count; i++)
        rest -= causes->items[i].bytes;
    if (!add(causes, "engine", text, rest))
        return false;
    if (causes->count > 0)
        qsort(causes->items, causes->count, sizeof *causes->items, by_bytes);
    return true;
}

bool ms_stored_explain(ms_arena *arena, const ms_stored *s, const char *type, const char *loading,
                       uint64_t loaded_bytes, ms_stored_causes *causes)
{
    int64_t rest = (int64_t)loaded_bytes - (int64_t)s->checkpoint.tensor_bytes;
    const char *text =
        loading ? loading : ms_arena_printf(arena, "weights are converted to %s", type);
    if (!text || !add_types(arena, s, type, causes) || !add_left(s, causes))
        return false;
    return add_rest(causes, text, rest);
}

bool ms_stored_explain_own(const ms_stored *s, const ms_stored_causes *own, uint64_t loaded_bytes,
                           ms_stored_causes *causes)
{
    bool ok = true;
    for (uint32_t i = 0; i < own->count && ok; i++)
        ok = add(causes, own->items[i].name, own->items[i].text, own->items[i].bytes);
    return ok && add_rest(causes, "the engine converts or repacks them",
                          (int64_t)loaded_bytes - (int64_t)s->checkpoint.tensor_bytes);
}
