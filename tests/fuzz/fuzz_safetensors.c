/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A safetensors file, or its index: every tensor that is accepted lies within the file, none
 * overlaps another, and each is found by its name. What the quick reader accepts, the strict one
 * accepts and reads the same. A text that begins with a brace is an index.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "input/weights/safetensors.h"
#include "input/weights/plain_text.h"
#include "input/weights/tensor_files.h"

/* Reads the first and the last byte of each, and counts all. */
static void use(const ms_safetensors *s, const uint8_t *data, size_t size, uint64_t data_at)
{
    uint64_t sum = 0;
    volatile uint8_t seen = 0;
    for (uint32_t i = 0; i < s->tensors.count; i++) {
        const ms_safetensor *t = &s->tensors.items[i];
        assert(t->begin >= data_at && t->begin <= size && t->bytes <= size - t->begin);
        assert(t->rank <= MS_SAFETENSORS_MAX_RANK);
        assert(ms_safetensors_find(s, t->name) == t);
        if (t->bytes > 0)
            seen = (uint8_t)(seen + data[t->begin] + data[t->begin + t->bytes - 1]);
        sum += t->bytes;
    }
    assert(sum == size - data_at);
    assert(!ms_safetensors_find(s, "no such tensor\n"));
}

/* The same tensors, in the order of the file; `strict` is NULL where its header was refused. */
static void compare(const ms_json_source *source, size_t size, const ms_safetensors *strict)
{
    char *text = malloc(source->length);
    ms_quick_header quick = {.names = {.slots = NULL}};
    if (!text)
        return;
    memcpy(text, source->text, source->length);
    if (ms_quick_header_read(text, source->length, size, &quick)) {
        assert(strict && quick.tensors.count == strict->tensors.count);
        for (uint32_t i = 0; i < quick.tensors.count; i++) {
            const ms_safetensor *q = &quick.tensors.items[i];
            const ms_safetensor *t = ms_safetensors_find(strict, q->name);
            assert(t && t->type == q->type && t->begin == q->begin && t->bytes == q->bytes);
            assert(t->rank == q->rank && memcmp(t->shape, q->shape, sizeof t->shape) == 0);
            assert(q->digest == ms_plain_digest(t->name, strlen(t->name)));
        }
    } else {
        assert(memcmp(text, source->text, source->length) == 0);
    }
    ms_quick_header_free(&quick);
    free(text);
}

static void read_tensors(const uint8_t *data, size_t size)
{
    uint64_t length = 0;
    ms_safetensors tensors;
    ms_error err = {0};
    if (ms_safetensors_length("fuzz.safetensors", data, size, &length, &err) != MS_OK) {
        assert(err.text[0]);
        return;
    }
    assert(length <= size - MS_SAFETENSORS_LENGTH_BYTES);
    const ms_json_source source = {
        "fuzz.safetensors", (const char *)data + MS_SAFETENSORS_LENGTH_BYTES, (size_t)length};
    if (ms_safetensors_read(&source, size, &tensors, &err) == MS_OK) {
        use(&tensors, data, size, length + MS_SAFETENSORS_LENGTH_BYTES);
        compare(&source, size, &tensors);
        ms_safetensors_free(&tensors);
    } else {
        assert(err.text[0]);
        compare(&source, size, NULL);
    }
}

typedef struct rest {
    const char *text;
    size_t bytes;
} rest;

/* A few bytes at a time. */
static size_t read_some(void *context, char *to, size_t room)
{
    enum { MOST = 100 };
    rest *r = context;
    size_t more = r->bytes < room ? r->bytes : room;
    more = more < MOST ? more : MOST;
    memcpy(to, r->text, more);
    r->text += more;
    r->bytes -= more;
    return more;
}

/* The files that the quick reader sees, with as many tensors of the same names. */
static void compare_index(const ms_json_source *source, const ms_tensor_index *strict)
{
    rest left = {source->text, source->length};
    const ms_quick_source quick_source = {read_some, &left};
    ms_quick_index quick = {.last = 0};
    ms_arena *arena = ms_arena_create(0);
    if (arena && ms_quick_index_read(arena, &quick_source, &quick)) {
        assert(quick.files.count == strict->files.count);
        for (uint32_t i = 0; i < quick.files.count; i++) {
            const ms_quick_file *f = &quick.files.items[i];
            uint64_t tensors = 0, digests = 0;
            for (uint32_t k = 0; k < strict->tensors.count; k++) {
                const ms_tensor_entry *e = &strict->tensors.items[k];
                const char *name = strict->files.items[e->file];
                if (strcmp(name, f->name) != 0)
                    continue;
                tensors++;
                digests += ms_plain_digest(e->tensor, strlen(e->tensor));
            }
            assert(tensors == f->tensors && digests == f->digests);
        }
    }
    ms_quick_index_free(&quick);
    ms_arena_free(arena);
}

static void read_index(const uint8_t *data, size_t size)
{
    const ms_json_source source = {"index.json", (const char *)data, size};
    ms_tensor_index index;
    ms_error err = {0};
    if (ms_tensor_index_read(&source, &index, &err) != MS_OK) {
        assert(err.text[0]);
        return;
    }
    for (uint32_t i = 0; i < index.files.count; i++) {
        const char *name = index.files.items[i];
        assert(*name && *name != '.' && !strchr(name, '/'));
        assert(i == 0 || strcmp(index.files.items[i - 1], name) < 0);
    }
    for (uint32_t i = 0; i < index.tensors.count; i++) {
        assert(index.tensors.items[i].file < index.files.count);
        assert(ms_tensor_index_find(&index, index.tensors.items[i].tensor) < index.files.count);
    }
    compare_index(&source, &index);
    ms_tensor_index_free(&index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] == '{')
        read_index(data, size);
    else if (size >= MS_SAFETENSORS_LENGTH_BYTES)
        read_tensors(data, size);
    return 0;
}
