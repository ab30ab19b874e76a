/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* for MAP_ANONYMOUS; NOLINT(bugprone-reserved-identifier) */
#include "stream/weights.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "base/digest.h"
#include "replay/host_memory.h"

/* ---- pieces ---- */

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "no memory for the weights of the layers");
}

ms_status ms_stream_weights_take(ms_stream_weights *w, uint32_t layers, ms_error *err)
{
    uint32_t at = 0;
    for (uint32_t layer = 0; layer <= layers; layer++) {
        while (at < w->pieces.count && w->pieces.items[at].layer < layer)
            at++;
        if (!ms_vec_push(&w->first, at)) {
            ms_stream_weights_free(w);
            return no_memory(err);
        }
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
                       "the weights of the layers have %" PRIu64
                       " bytes, and this machine has %" PRIu64 " free",
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
        return ms_stream_weights_take(w, pass->layers.count, err);
    ms_stream_weights_free(w);
    return status;
}

/* ---- use ---- */

void ms_stream_weights_fill(const ms_stream_weights *w, uint32_t layer, void *place)
{
    for (uint32_t i = w->first.items[layer]; i < w->first.items[layer + 1]; i++) {
        const ms_stream_piece *piece = &w->pieces.items[i];
        memcpy((uint8_t *)place + piece->at, piece->data, (size_t)piece->bytes);
    }
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

bool ms_stream_weights_match(ms_stream_weights *w, uint32_t layer, const void *place)
{
    for (uint32_t i = w->digests.count; i <= layer; i++) {
        uint64_t digest = digest_of(w, i, NULL);
        if (!ms_vec_push(&w->digests, digest))
            return digest_of(w, layer, NULL) == digest_of(w, layer, place);
    }
    return w->digests.items[layer] == digest_of(w, layer, place);
}
