/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A GGUF header: every tensor that is accepted lies within the file and has whole blocks, values
 * are found by their keys, and what is refused is refused in a sentence.
 */
#include <assert.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "input/weights/gguf.h"

typedef struct bytes {
    const uint8_t *data;
    size_t size;
} bytes;

static ms_status read_at(const void *from, uint64_t at, void *to, size_t count, ms_error *err)
{
    const bytes *b = from;
    (void)err;
    assert(at <= b->size && count <= b->size - at);
    memcpy(to, b->data + at, count);
    return MS_OK;
}

static void use(const ms_gguf *g, size_t size)
{
    for (uint32_t i = 0; i < g->tensors.count; i++) {
        const ms_gguf_tensor *t = &g->tensors.items[i];
        assert(t->begin >= g->header_bytes && t->begin <= size && t->bytes <= size - t->begin);
        assert(t->rank <= MS_GGUF_MAX_RANK && t->type < MS_STORED_TYPES);
        assert(t->shape[0] % ms_stored_type_of(t->type)->block_elements == 0);
    }
    for (uint32_t i = 0; i < g->values.count; i++)
        assert(ms_gguf_find(g, g->values.items[i].key) == &g->values.items[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const bytes b = {data, size};
    const ms_gguf_source source = {"fuzz.gguf", size, &b, read_at};
    ms_arena *arena = ms_arena_create(0);
    ms_gguf gguf;
    ms_error err = {0};
    assert(arena);
    if (ms_gguf_read(arena, &source, &gguf, &err) == MS_OK) {
        use(&gguf, size);
        ms_gguf_free(&gguf);
    } else {
        assert(err.text[0]);
    }
    ms_arena_free(arena);
    return 0;
}
