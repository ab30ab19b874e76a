/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/weights/safetensors_quick.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "input/weights/plain_text.h"

/* ---- names, each once ---- */

enum { FEWEST_SLOTS = 1024 };

static void put(ms_digest_set *set, uint64_t digest)
{
    uint64_t at = digest & (set->capacity - 1);
    while (set->slots[at] != 0)
        at = (at + 1) & (set->capacity - 1);
    set->slots[at] = digest;
}

static bool grow(ms_digest_set *set)
{
    uint64_t *old = set->slots, had = set->capacity;
    uint64_t capacity = had ? 2 * had : FEWEST_SLOTS;
    uint64_t *slots = calloc((size_t)capacity, sizeof *slots);
    if (!slots)
        return false;
    set->slots = slots;
    set->capacity = capacity;
    for (uint64_t i = 0; i < had; i++)
        if (old[i] != 0)
            put(set, old[i]);
    free(old);
    return true;
}

bool ms_digest_set_add(ms_digest_set *set, uint64_t digest, bool *is_new)
{
    if (2 * set->count >= set->capacity && !grow(set))
        return false;
    digest += digest == 0;
    uint64_t at = digest & (set->capacity - 1);
    while (set->slots[at] != 0 && set->slots[at] != digest)
        at = (at + 1) & (set->capacity - 1);
    *is_new = set->slots[at] == 0;
    set->slots[at] = digest;
    set->count += *is_new;
    return true;
}

void ms_digest_set_clear(ms_digest_set *set)
{
    if (set->slots)
        memset(set->slots, 0, (size_t)set->capacity * sizeof *set->slots);
    set->count = 0;
}

void ms_digest_set_free(ms_digest_set *set)
{
    free(set->slots);
    *set = (ms_digest_set){.slots = NULL};
}

/* ---- a header ---- */

/* An object of strings, after its name. */
static bool skip_texts(ms_plain *s)
{
    ms_plain_string text;
    uint32_t members = 0;
    if (!MS_PLAIN_TAKE(s, "{"))
        return false;
    for (; members <= 1 && !MS_PLAIN_TAKE(s, "}");
         members++) /* of more, the strict reader compares names */
        if (!ms_plain_take_string(s, &text) || !MS_PLAIN_TAKE(s, ":") ||
            !ms_plain_take_string(s, &text))
            return false;
    return members <= 1;
}

static bool take_shape(ms_plain *s, ms_safetensor *t, uint64_t *bytes)
{
    uint64_t bits = 1;
    if (!MS_PLAIN_TAKE(s, ",\"shape\":["))
        return false;
    while (!MS_PLAIN_TAKE(s, "]")) {
        if (t->rank == MS_SAFETENSORS_MAX_RANK || (t->rank > 0 && !MS_PLAIN_TAKE(s, ",")) ||
            !ms_plain_take_count(s, &t->shape[t->rank]) ||
            __builtin_mul_overflow(bits, t->shape[t->rank], &bits))
            return false;
        t->rank++;
    }
    bool is_too_large = __builtin_mul_overflow(bits, t->type->bits, &bits);
    *bytes = bits / CHAR_BIT;
    return !is_too_large && bits % CHAR_BIT == 0;
}

/* The end of the tensor before: as a number, and as it was written. */
typedef struct written {
    uint64_t number;
    const char *text;
    size_t digits;
} written;

/* After its name. It begins where the one before ends. */
static bool take_tensor(ms_plain *s, ms_safetensor *t, written *at)
{
    ms_plain_string type;
    uint64_t bytes = 0, end;
    if (!MS_PLAIN_TAKE(s, ":{\"dtype\":") || !ms_plain_take_string(s, &type))
        return false;
    t->type = ms_safetensors_type_named(type.text, type.bytes);
    if (!t->type || !take_shape(s, t, &bytes) || !MS_PLAIN_TAKE(s, ",\"data_offsets\":[") ||
        (size_t)(s->end - s->at) <= at->digits || memcmp(s->at, at->text, at->digits) != 0)
        return false;
    s->at += at->digits;
    if (!MS_PLAIN_TAKE(s, ","))
        return false;
    const char *text = s->at;
    if (!ms_plain_take_count(s, &end) || end < at->number || end - at->number != bytes)
        return false;
    t->begin = at->number;
    t->bytes = bytes;
    *at = (written){end, text, (size_t)(s->at - text)};
    return MS_PLAIN_TAKE(s, "]}");
}

static bool take_entry(ms_plain *s, ms_quick_header *h, written *at)
{
    static const char metadata[] = "__metadata__";
    ms_plain_string name;
    bool is_new;
    if (!ms_plain_take_string(s, &name))
        return false;
    if (name.bytes == sizeof metadata - 1 && memcmp(name.text, metadata, name.bytes) == 0)
        return h->names.count == 0 && MS_PLAIN_TAKE(s, ":") && skip_texts(s);
    if (!ms_vec_reserve(&h->tensors))
        return false;
    ms_safetensor *t = &h->tensors.items[h->tensors.count++];
    *t = (ms_safetensor){.name = name.text, .digest = name.digest};
    return take_tensor(s, t, at) && ms_digest_set_add(&h->names, t->digest, &is_new) && is_new;
}

static bool take_header(ms_plain *s, ms_quick_header *h, written *at)
{
    bool is_first = true;
    if (!MS_PLAIN_TAKE(s, "{"))
        return false;
    while (!MS_PLAIN_TAKE(s, "}")) {
        if ((!is_first && !MS_PLAIN_TAKE(s, ",")) || !take_entry(s, h, at))
            return false;
        is_first = false;
    }
    ms_plain_skip_blanks(s);
    return s->at == s->end;
}

bool ms_quick_header_read(char *text, size_t length, uint64_t file_bytes, ms_quick_header *h)
{
    uint64_t data_at = length + MS_SAFETENSORS_LENGTH_BYTES;
    written at = {0, "0", 1};
    ms_plain s = {text, text + length};
    h->tensors.count = 0;
    ms_digest_set_clear(&h->names);
    if (length > MS_JSON_MAX_BYTES || data_at > file_bytes || !take_header(&s, h, &at) ||
        at.number != file_bytes - data_at)
        return false;
    for (uint32_t i = 0; i < h->tensors.count; i++) {
        ms_safetensor *t = &h->tensors.items[i];
        t->begin += data_at;
        char *name = text + (t->name - text);
        *(char *)memchr(name, '"', length - (size_t)(name - text)) = '\0';
    }
    return true;
}

void ms_quick_header_free(ms_quick_header *h)
{
    ms_vec_free(&h->tensors);
    ms_digest_set_free(&h->names);
}
