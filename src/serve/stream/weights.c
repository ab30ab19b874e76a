/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* for MAP_ANONYMOUS; NOLINT(clang-diagnostic-reserved-macro-identifier) */
#include "serve/stream/weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/digest.h"
#include "base/json/place.h"
#include "hardware/replay/host_memory.h"

/* ---- pieces ---- */

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "no memory for the weights of the layers");
}

static int by_layer(const void *a, const void *b)
{
    const ms_stream_piece *x = a, *y = b;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Once all pieces are known. */
static ms_status find_layers(ms_stream_weights *w, uint32_t layers, ms_error *err)
{
    uint32_t at = 0;
    if (w->pieces.count)
        qsort(w->pieces.items, w->pieces.count, sizeof *w->pieces.items, by_layer);
    for (uint32_t layer = 0; layer <= layers; layer++) {
        while (at < w->pieces.count && w->pieces.items[at].layer < layer)
            at++;
        if (!ms_vec_push(&w->first, at))
            return no_memory(err);
    }
    return MS_OK;
}

void ms_stream_weights_free(ms_stream_weights *w)
{
    if (w->memory)
        munmap(w->memory, (size_t)w->memory_bytes);
    w->memory = NULL;
    ms_vec_free(&w->pieces);
    ms_vec_free(&w->first);
    ms_vec_free(&w->digests);
    ms_tensor_files_close(&w->files);
}

/* ---- in memory ---- */

static void fill_words(uint64_t *words, uint64_t bytes, uint64_t seed)
{
    uint64_t state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    for (uint64_t i = 0; i < bytes / sizeof *words; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        words[i] = state;
    }
}

static ms_status take_memory(ms_stream_weights *w, uint64_t bytes, ms_error *err)
{
    uint64_t free_bytes = ms_replay_memory_free_bytes();
    if (bytes > SIZE_MAX || (free_bytes && bytes > free_bytes))
        return ms_fail(err, MS_ERR_NOMEM,
                       "the layers' weights take %" PRIu64 " bytes, but this machine has %" PRIu64
                       " free",
                       bytes, free_bytes);
    void *memory =
        mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return no_memory(err);
    w->memory = memory;
    w->memory_bytes = bytes;
    return MS_OK;
}

ms_status ms_stream_weights_make(const ms_stream_pass *pass, ms_stream_weights *w, ms_error *err)
{
    uint64_t bytes = 0, at = 0;
    *w = (ms_stream_weights){0};
    for (uint32_t i = 0; i < pass->layers.count; i++)
        bytes += pass->layers.items[i].block_bytes;
    ms_status status = take_memory(w, bytes, err);
    for (uint32_t i = 0; i < pass->layers.count && status == MS_OK; i++) {
        const ms_stream_piece piece = {(uint8_t *)w->memory + at, pass->layers.items[i].block_bytes,
                                       0, i};
        fill_words((uint64_t *)w->memory + at / sizeof(uint64_t), piece.bytes, i);
        at += piece.bytes;
        if (!ms_vec_push(&w->pieces, piece))
            status = no_memory(err);
    }
    if (status == MS_OK)
        status = find_layers(w, pass->layers.count, err);
    if (status != MS_OK)
        ms_stream_weights_free(w);
    return status;
}

/* ---- in files ---- */

enum { NAME_BYTES = 512 };

/* Base models are stored without the first part of the names: "h.0.ln_1.weight". */
static bool find_tensor(const ms_tensor_files *files, const char *name,
                        const ms_safetensor **tensor, const uint8_t **data)
{
    const char *rest = strchr(name, '.');
    return ms_tensor_files_find(files, name, tensor, data) ||
           (rest && ms_tensor_files_find(files, rest + 1, tensor, data));
}

static bool name_weight(const ms_trace *trace, const ms_storage *s, char name[NAME_BYTES])
{
    uint32_t length = ms_trace_scope_path(trace, s->scope, name, NAME_BYTES);
    if (length >= NAME_BYTES)
        return false;
    int rest = snprintf(name + length, NAME_BYTES - length, ".%s", trace->names.items[s->name]);
    return rest > 0 && (uint32_t)rest < NAME_BYTES - length;
}

/* Types of the trace, as files spell them; "": weights have none such. */
static const char *type_of(uint8_t dtype)
{
    switch ((ms_dtype)dtype) {
    case MS_DTYPE_F32:
        return "F32";
    case MS_DTYPE_BF16:
        return "BF16";
    case MS_DTYPE_F16:
        return "F16";
    case MS_DTYPE_U8:
        return "U8";
    case MS_DTYPE_F64:
    case MS_DTYPE_I64:
    case MS_DTYPE_I32:
    case MS_DTYPE_U64:
    case MS_DTYPE_BOOL:
    case MS_DTYPE_C64:
    case MS_DTYPE_COUNT:
        break;
    }
    return "";
}

static bool has_shape(const ms_trace *trace, const ms_storage *s, const ms_safetensor *tensor)
{
    bool same = tensor->rank == s->rank && tensor->bytes == s->bytes;
    for (uint32_t i = 0; same && i < tensor->rank; i++)
        same = tensor->shape[i] == trace->symbols.table.items[s->symbols[i]].value;
    return same;
}

static ms_status add_weight(ms_stream_weights *w, const ms_trace *trace,
                            const ms_stream_weight *weight, ms_error *err)
{
    const ms_storage *s = &trace->storages.items[weight->storage];
    const ms_safetensor *tensor = NULL;
    const uint8_t *data = NULL;
    char name[NAME_BYTES];
    if (!name_weight(trace, s, name) || !find_tensor(&w->files, name, &tensor, &data)) {
        ms_error_set(err, MS_ERR_CONFIG, "it lacks the tensor %s, which the model has", name);
        ms_json_place_file(w->files.path, err);
        return MS_ERR_CONFIG;
    }
    if (strcmp(tensor->type->name, type_of(s->dtype)) != 0)
        return ms_json_fail(err, tensor->value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "this tensor has type %s, but the model's has %s (--dtype)",
                            tensor->type->name, ms_dtype_info_of((ms_dtype)s->dtype)->short_name);
    if (!has_shape(trace, s, tensor))
        return ms_json_fail(err, tensor->value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "this tensor's shape differs from the model's");
    const ms_stream_piece piece = {data, tensor->bytes, weight->at, weight->layer};
    return ms_vec_push(&w->pieces, piece) ? MS_OK : no_memory(err);
}

ms_status ms_stream_weights_open(ms_arena *arena, const char *path, const ms_trace *trace,
                                 const ms_stream_pass *pass, ms_stream_weights *w, ms_error *err)
{
    *w = (ms_stream_weights){0};
    ms_status status = ms_tensor_files_open(arena, path, &w->files, err);
    for (uint32_t i = 0; i < pass->weights.count && status == MS_OK; i++)
        status = add_weight(w, trace, &pass->weights.items[i], err);
    if (status == MS_OK)
        status = find_layers(w, pass->layers.count, err);
    if (status != MS_OK)
        ms_stream_weights_free(w);
    return status;
}

/* ---- use ---- */

ms_status ms_stream_weights_fill(const ms_stream_weights *w, uint32_t layer, void *place,
                                 ms_error *err)
{
    ms_status status = ms_tensor_files_check(&w->files, err);
    if (status != MS_OK)
        return status;
    for (uint32_t i = w->first.items[layer]; i < w->first.items[layer + 1]; i++) {
        const ms_stream_piece *piece = &w->pieces.items[i];
        memcpy((uint8_t *)place + piece->at, piece->data, (size_t)piece->bytes);
    }
    return MS_OK;
}

/* Of what lies in a place, or, with NULL, of the weights themselves. */
static uint64_t digest_of(const ms_stream_weights *w, uint32_t layer, const void *place)
{
    uint64_t digest = MS_DIGEST_START;
    for (uint32_t i = w->first.items[layer]; i < w->first.items[layer + 1]; i++) {
        const ms_stream_piece *piece = &w->pieces.items[i];
        const uint8_t *bytes = place ? (const uint8_t *)place + piece->at : piece->data;
        digest = ms_digest_words(digest, bytes, (size_t)piece->bytes);
    }
    return digest;
}

ms_status ms_stream_weights_match(ms_stream_weights *w, uint32_t layer, const void *place,
                                  bool *matches, ms_error *err)
{
    *matches = false;
    for (uint32_t i = w->digests.count; i <= layer; i++) {
        ms_status status = ms_tensor_files_check(&w->files, err);
        if (status != MS_OK)
            return status;
        if (!ms_vec_push(&w->digests, digest_of(w, i, NULL)))
            return no_memory(err);
    }
    *matches = w->digests.items[layer] == digest_of(w, layer, place);
    return MS_OK;
}
