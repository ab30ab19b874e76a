/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/files/stored.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/place.h"
#include "input/config/model/model_config.h"

typedef struct reading {
    const ms_model_config *config;
    uint64_t prediction_layers;
    ms_stored_names names;
    uint64_t *seen; /* elements of each weight */
    ms_stored *stored;
} reading;

static ms_status fail_in(const char *file, ms_error *err)
{
    ms_json_place_file(file, err);
    return MS_ERR_CONFIG;
}

/* ---- tensors that are not of the model ---- */

/* By a part of the name; the first that applies. */
static const struct left_row {
    const char *part;
    ms_stored_left left;
} left_rows[] = {
    {"visual", MS_LEFT_VISION},
    {"vision", MS_LEFT_VISION},
    {"multi_modal_projector", MS_LEFT_VISION},
    {"image", MS_LEFT_VISION},
    {"audio", MS_LEFT_AUDIO},
    {"mtp.", MS_LEFT_PREDICTION},
    {"inv_freq", MS_LEFT_MADE},
    {"masked_bias", MS_LEFT_MADE},
    {"attn.bias", MS_LEFT_MADE},
    {"attention.bias", MS_LEFT_MADE},
    {"position_ids", MS_LEFT_MADE},
};

/* "model.layers.61.x" and "h.61.x": 61; UINT64_MAX: it is of no layer. */
static uint64_t layer_of(const char *name)
{
    static const char *const lists[] = {"layers.", "h."};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (const char *at = name; (at = strstr(at, lists[i])) != NULL; at++) {
            const char *digit = at + strlen(lists[i]);
            uint64_t layer = 0;
            if ((at > name && at[-1] != '.') || *digit < '0' || *digit > '9')
                continue;
            for (int n = 0; *digit >= '0' && *digit <= '9' && n < 9; n++)
                layer = layer * 10 + (uint64_t)(*digit++ - '0');
            return *digit == '.' ? layer : UINT64_MAX;
        }
    return UINT64_MAX;
}

static bool is_tied_head(const ms_model_config *config, const char *name)
{
    static const char *const heads[] = {"lm_head.weight", "embed_out.weight", "decoder.weight",
                                        "decoder.bias"};
    for (size_t i = 0; config->tie_word_embeddings && i < sizeof heads / sizeof heads[0]; i++) {
        size_t length = strlen(name), cut = strlen(heads[i]);
        if (length >= cut && strcmp(name + length - cut, heads[i]) == 0)
            return true;
    }
    return false;
}

/* It is loaded as it is stored, and no parameter. */
static bool is_buffer(const char *name)
{
    return strstr(name, "e_score_correction_bias") != NULL;
}

static ms_status leave(reading *r, const char *file, const ms_safetensor *t, ms_error *err)
{
    ms_stored_left left = MS_LEFT_EXTRA;
    uint64_t layer = layer_of(t->name), layers = r->config->num_layers;
    for (size_t i = sizeof left_rows / sizeof left_rows[0]; i-- > 0;)
        left = strstr(t->name, left_rows[i].part) ? left_rows[i].left : left;
    if (is_tied_head(r->config, t->name))
        left = MS_LEFT_TIED;
    if (left == MS_LEFT_EXTRA && layer != UINT64_MAX && layer >= layers) {
        left = MS_LEFT_PREDICTION;
        if (layer >= layers + r->prediction_layers) {
            ms_error_set(err, MS_ERR_CONFIG,
                         "the tensor %.200s belongs to layer %" PRIu64
                         ", counted from 0, but config.json has num_hidden_layers %" PRIu64,
                         t->name, layer, layers);
            return fail_in(file, err);
        }
    }
    if (!is_buffer(t->name))
        r->stored->left_bytes[left] += t->bytes;
    return MS_OK;
}

/* ---- those that are ---- */

/* The same lengths; of experts in one tensor also with the last two exchanged, as some files have
 * them, and of one expert alone without the first. */
static bool has_shape(const ms_safetensor *t, const ms_inventory_weight *w,
                      const ms_stored_place *place)
{
    if (place->parts > 1)
        return t->rank == 2 && w->rank == 3 && place->expert < w->shape[0] &&
               t->shape[1] == w->shape[2] &&
               t->shape[0] * place->parts == w->shape[1] * w->shape[0];
    bool is_same = t->rank == w->rank, is_turned = is_same && w->rank == 3;
    for (uint32_t i = 0; is_same && i < w->rank; i++)
        is_same = t->shape[i] == w->shape[i];
    return is_same || (is_turned && t->shape[0] == w->shape[0] && t->shape[1] == w->shape[2] &&
                       t->shape[2] == w->shape[1]);
}

/* Packed weights have some whole number of bits each. */
static bool has_packed(const ms_safetensor *t, uint64_t wanted)
{
    for (uint64_t bits = 1; bits <= CHAR_BIT; bits++)
        if (wanted < UINT64_MAX / CHAR_BIT && t->bytes < UINT64_MAX / CHAR_BIT &&
            t->bytes * CHAR_BIT == wanted * bits)
            return true;
    return false;
}

static const char *shape_text(uint32_t rank, const uint64_t *shape, char *text, size_t room)
{
    size_t used = 0;
    snprintf(text, room, "one number");
    for (uint32_t i = 0; i < rank && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%" PRIu64, i ? " x " : "", shape[i]);
    return text;
}

static ms_status fail_shape(const char *file, const ms_safetensor *t, const ms_inventory_weight *w,
                            const ms_stored_place *place, ms_error *err)
{
    char is[128], wanted[128];
    uint64_t part[MS_INVENTORY_MAX_RANK];
    uint32_t rank = w->rank < MS_INVENTORY_MAX_RANK ? w->rank : MS_INVENTORY_MAX_RANK;
    memcpy(part, w->shape, sizeof part);
    if (place->parts > 1) {
        uint64_t halves = place->parts / w->shape[0];
        rank = 2;
        part[0] = w->shape[1] / (halves ? halves : 1);
        part[1] = w->shape[2];
    }
    if (place->expert >= w->shape[0] && place->parts > 1)
        ms_error_set(err, MS_ERR_CONFIG,
                     "the tensor %.200s belongs to expert %" PRIu64
                     ", counted from 0, but the model of config.json has %" PRIu64 " there",
                     t->name, place->expert, w->shape[0]);
    else
        ms_error_set(err, MS_ERR_CONFIG,
                     "the tensor %.200s is %s of %s, but the model of config.json has %s there",
                     t->name, shape_text(t->rank, t->shape, is, sizeof is), t->type->name,
                     shape_text(rank, part, wanted, sizeof wanted));
    return fail_in(file, err);
}

static ms_status take(reading *r, const char *file, const ms_safetensor *t,
                      const ms_stored_place *place, ms_error *err)
{
    const ms_inventory_weight *w = &r->names.inventory->weights.items[place->weight];
    uint64_t wanted = w->elements / place->parts;
    bool is_packed = place->role == MS_ROLE_PACKED && place->expert < (w->rank ? w->shape[0] : 1);
    if (!has_shape(t, w, place) && !(is_packed && has_packed(t, wanted)))
        return w->is_buffer ? MS_OK : fail_shape(file, t, w, place, err);
    r->seen[place->weight] += wanted;
    return MS_OK;
}

/* Names of types are static. */
static bool count(ms_stored *s, const ms_stored_kind *of)
{
    for (uint32_t i = 0; i < s->kinds.count; i++) {
        ms_stored_kind *k = &s->kinds.items[i];
        if (k->name != of->name || k->role != of->role)
            continue;
        k->tensors += of->tensors;
        k->bytes += of->bytes;
        return true;
    }
    return ms_vec_push(&s->kinds, *of);
}

static ms_status read_tensor(void *context, const char *file, const ms_safetensor *t, ms_error *err)
{
    enum { LEAST_BITS = 16 };
    reading *r = context;
    bool is_wide = t->type->is_floating && t->type->bits >= LEAST_BITS;
    const ms_stored_place place = ms_stored_place_of(&r->names, t->name, !is_wide);
    if (is_wide && !r->stored->first_type)
        r->stored->first_type = t->type;
    const ms_stored_kind kind = {t->type->name, t->type, place.role, 1, t->bytes};
    if (!count(r->stored, &kind))
        return ms_infer_no_memory(err);
    if (place.role == MS_ROLE_OTHER)
        return leave(r, file, t, err);
    return place.role == MS_ROLE_SCALE ? MS_OK : take(r, file, t, &place, err);
}

/* ---- all ---- */

static ms_status check_all(const reading *r, const char *path, ms_error *err)
{
    const ms_inventory_weight *first = NULL;
    uint64_t missing = 0, elements = 0;
    for (uint32_t i = 0; i < r->names.inventory->weights.count; i++) {
        const ms_inventory_weight *w = &r->names.inventory->weights.items[i];
        if (w->is_buffer || r->seen[i] >= w->elements)
            continue;
        if (!first)
            elements = r->seen[i];
        first = first ? first : w;
        missing++;
    }
    if (!first)
        return MS_OK;
    char others[48] = "";
    if (missing > 1)
        snprintf(others, sizeof others, ", nor %s %" PRIu64 " other%s", missing == 2 ? "is" : "are",
                 missing - 1, missing == 2 ? "" : "s");
    if (elements > 0)
        ms_error_set(err, MS_ERR_CONFIG,
                     "of %.200s, which the model of config.json has, only %" PRIu64 " of %" PRIu64
                     " weights are stored",
                     first->name, elements, first->elements);
    else
        ms_error_set(err, MS_ERR_CONFIG,
                     "the model of config.json has %.200s, which is not stored%s", first->name,
                     others);
    return fail_in(path, err);
}

static int by_bytes(const void *a, const void *b)
{
    const ms_stored_kind *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    int order = strcmp(x->name, y->name);
    return order ? order : (int)x->role - (int)y->role;
}

static void sort(ms_stored *stored)
{
    if (stored->kinds.count > 0)
        qsort(stored->kinds.items, stored->kinds.count, sizeof *stored->kinds.items, by_bytes);
}

static uint64_t prediction_layers(const ms_model_config *config, ms_json_value root)
{
    ms_json_value value;
    uint64_t layers = 0;
    ms_error ignored = {.status = MS_OK};
    bool is_there = ms_json_find(root, "num_nextn_predict_layers", &value) &&
                    ms_json_get_count(value, 0, 1000, &layers, &ignored) == MS_OK;
    return is_there ? layers : config->prediction_layers;
}

static ms_status read_all(ms_arena *arena, const char *path, reading *r, ms_error *err)
{
    const ms_stored_weights_reader reader = {read_tensor, r};
    r->seen = calloc(r->names.inventory->weights.count + 1, sizeof *r->seen);
    if (!r->seen)
        return ms_infer_no_memory(err);
    ms_status status = ms_stored_weights_read(arena, path, &reader, &r->stored->checkpoint, err);
    if (status == MS_OK)
        status = check_all(r, path, err);
    free(r->seen);
    return status;
}

ms_status ms_stored_read(ms_arena *arena, const char *path, const ms_model_config *config,
                         ms_json_value root, const ms_inventory *inventory, ms_stored *stored,
                         ms_error *err)
{
    reading r = {.config = config,
                 .prediction_layers = prediction_layers(config, root),
                 .names = {.inventory = inventory},
                 .stored = stored};
    *stored = (ms_stored){.first_type = NULL};
    ms_status status = read_all(arena, path, &r, err);
    sort(stored);
    if (status != MS_OK)
        ms_stored_free(stored);
    return status;
}

ms_status ms_stored_of_gguf(const ms_gguf *gguf, uint32_t files, ms_stored *stored, ms_error *err)
{
    *stored = (ms_stored){.checkpoint = {.files = files, .tensors = gguf->tensors.count}};
    for (uint32_t i = 0; i < gguf->tensors.count; i++) {
        const ms_gguf_tensor *t = &gguf->tensors.items[i];
        const ms_stored_type *type = ms_stored_type_of(t->type);
        const ms_stored_kind kind = {
            type->name, NULL, type->is_quantized ? MS_ROLE_PACKED : MS_ROLE_WEIGHT, 1, t->bytes};
        stored->checkpoint.tensor_bytes += t->bytes;
        if (!count(stored, &kind)) {
            ms_stored_free(stored);
            return ms_infer_no_memory(err);
        }
    }
    sort(stored);
    return MS_OK;
}

void ms_stored_free(ms_stored *stored)
{
    ms_vec_free(&stored->kinds);
}
