/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "weights/safetensors_quick.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"

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
    *set = (ms_digest_set){NULL};
}

uint64_t ms_quick_digest(const char *name, size_t bytes)
{
    uint64_t digest = ms_digest_words(MS_DIGEST_START, name, bytes);
    return (digest ^ digest >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* ---- text ---- */

typedef struct scan {
    const char *at, *end;
} scan;

/* A text that comes next, of a length that the compiler knows. */
#define TAKE(s, text)                                                                              \
    ((size_t)((s)->end - (s)->at) >= sizeof(text) - 1 &&                                           \
     memcmp((s)->at, text, sizeof(text) - 1) == 0 && ((s)->at += sizeof(text) - 1))

static void skip_blanks(scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t'))
        s->at++;
}

static bool take_colon(scan *s)
{
    skip_blanks(s);
    if (!TAKE(s, ":"))
        return false;
    skip_blanks(s);
    return true;
}

/* Of eight bytes: none above 127, below 32, or a backslash. */
static bool is_plain_word(uint64_t word)
{
    const uint64_t ones = UINT64_MAX / 255, highs = ones << 7;
    uint64_t slashes = word ^ ones * '\\';
    uint64_t bad = word | (word - ones * ' ') | ((slashes - ones) & ~slashes);
    return !(bad & highs);
}

static bool is_plain(const char *text, size_t bytes)
{
    uint64_t word;
    size_t i = 0;
    for (; i + sizeof word <= bytes; i += sizeof word) {
        memcpy(&word, text + i, sizeof word);
        if (!is_plain_word(word))
            return false;
    }
    for (; i < bytes; i++)
        if ((unsigned char)text[i] < ' ' || (unsigned char)text[i] > '~' || text[i] == '\\')
            return false;
    return true;
}

/* A string in quotes. */
static bool take_text(scan *s, const char **text, size_t *bytes)
{
    if (!TAKE(s, "\""))
        return false;
    const char *end = memchr(s->at, '"', (size_t)(s->end - s->at));
    if (!end)
        return false;
    *text = s->at;
    *bytes = (size_t)(end - s->at);
    s->at = end + 1;
    return is_plain(*text, *bytes);
}

/* Digits, without leading zeros. */
static bool take_count(scan *s, uint64_t *count)
{
    enum { MOST_DIGITS = 19 };
    const char *first = s->at;
    *count = 0;
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
        *count = *count * 10 + (uint64_t)(*s->at++ - '0');
    size_t digits = (size_t)(s->at - first);
    return digits == 1 || (digits > 1 && digits < MOST_DIGITS && *first != '0');
}

/* An object of strings, after its name. */
static bool skip_texts(scan *s)
{
    const char *text;
    size_t bytes;
    uint32_t members = 0;
    if (!TAKE(s, "{"))
        return false;
    for (; members <= 1 && !TAKE(s, "}"); members++) /* of more, the strict reader compares names */
        if (!take_text(s, &text, &bytes) || !TAKE(s, ":") || !take_text(s, &text, &bytes))
            return false;
    return members <= 1;
}

/* ---- a header ---- */

static bool take_shape(scan *s, ms_safetensor *t, uint64_t *bytes)
{
    uint64_t bits = 1;
    if (!TAKE(s, ",\"shape\":["))
        return false;
    while (!TAKE(s, "]")) {
        if (t->rank == MS_SAFETENSORS_MAX_RANK || (t->rank > 0 && !TAKE(s, ",")) ||
            !take_count(s, &t->shape[t->rank]) ||
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
static bool take_tensor(scan *s, ms_safetensor *t, written *at)
{
    const char *type;
    size_t length;
    uint64_t bytes = 0, end;
    if (!TAKE(s, ":{\"dtype\":") || !take_text(s, &type, &length))
        return false;
    t->type = ms_safetensors_type_named(type, length);
    if (!t->type || !take_shape(s, t, &bytes) || !TAKE(s, ",\"data_offsets\":[") ||
        (size_t)(s->end - s->at) <= at->digits || memcmp(s->at, at->text, at->digits) != 0)
        return false;
    s->at += at->digits;
    if (!TAKE(s, ","))
        return false;
    const char *text = s->at;
    if (!take_count(s, &end) || end < at->number || end - at->number != bytes)
        return false;
    t->begin = at->number;
    t->bytes = bytes;
    *at = (written){end, text, (size_t)(s->at - text)};
    return TAKE(s, "]}");
}

static bool take_entry(scan *s, ms_quick_header *h, written *at)
{
    static const char metadata[] = "__metadata__";
    const char *name;
    size_t bytes;
    bool is_new;
    if (!take_text(s, &name, &bytes))
        return false;
    if (bytes == sizeof metadata - 1 && memcmp(name, metadata, bytes) == 0)
        return h->names.count == 0 && TAKE(s, ":") && skip_texts(s);
    if (!ms_vec_reserve(&h->tensors))
        return false;
    ms_safetensor *t = &h->tensors.items[h->tensors.count++];
    *t = (ms_safetensor){.name = name, .digest = ms_quick_digest(name, bytes)};
    return take_tensor(s, t, at) && ms_digest_set_add(&h->names, t->digest, &is_new) && is_new;
}

static bool take_header(scan *s, ms_quick_header *h, written *at)
{
    bool is_first = true;
    if (!TAKE(s, "{"))
        return false;
    while (!TAKE(s, "}")) {
        if ((!is_first && !TAKE(s, ",")) || !take_entry(s, h, at))
            return false;
        is_first = false;
    }
    skip_blanks(s);
    return s->at == s->end;
}

bool ms_quick_header_read(char *text, size_t length, uint64_t file_bytes, ms_quick_header *h)
{
    uint64_t data_at = length + MS_SAFETENSORS_LENGTH_BYTES;
    written at = {0, "0", 1};
    scan s = {text, text + length};
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

/* ---- an index ---- */

enum { MOST_FILES = 4096 }; /* of more, the strict reader sorts the names */

static bool is_name_of(const ms_quick_file *f, const char *name, size_t bytes)
{
    return f->bytes == bytes && memcmp(f->name, name, bytes) == 0;
}

/* That of the entry before, as a rule. NULL: the name is not for this reader. */
static ms_quick_file *find_file(ms_quick_index *index, const char *name, size_t bytes)
{
    ms_quick_file *files = index->files.items;
    if (index->files.count > 0 && is_name_of(&files[index->last], name, bytes))
        return &files[index->last];
    for (uint32_t i = 0; i < index->files.count; i++)
        if (is_name_of(&files[i], name, bytes)) {
            index->last = i;
            return &files[i];
        }
    bool is_good = bytes > 0 && bytes < UINT32_MAX && *name != '.' && !memchr(name, '/', bytes);
    if (!is_good || index->files.count == MOST_FILES ||
        !ms_vec_push(&index->files, (ms_quick_file){name, (uint32_t)bytes, 0, 0}))
        return NULL;
    index->last = index->files.count - 1;
    return &index->files.items[index->last];
}

static bool take_place(scan *s, ms_quick_index *index)
{
    const char *tensor, *name;
    size_t tensor_bytes, bytes;
    if (!take_text(s, &tensor, &tensor_bytes) || !take_colon(s) || !take_text(s, &name, &bytes))
        return false;
    ms_quick_file *f = find_file(index, name, bytes);
    if (!f)
        return false;
    f->tensors++;
    f->digests += ms_quick_digest(tensor, tensor_bytes);
    skip_blanks(s);
    return true;
}

static bool take_map(scan *s, ms_quick_index *index)
{
    if (!TAKE(s, "{"))
        return false;
    skip_blanks(s);
    while (take_place(s, index)) {
        if (TAKE(s, "}"))
            return true;
        if (!TAKE(s, ","))
            return false;
        skip_blanks(s);
    }
    return false;
}

/* A whole number or a string, as metadata has them. */
static bool skip_fact(scan *s)
{
    const char *text;
    size_t bytes;
    uint64_t count;
    if (s->at < s->end && *s->at == '"')
        return take_text(s, &text, &bytes);
    return take_count(s, &count);
}

/* One member, the total size; of more, the strict reader compares names. */
static bool skip_metadata(scan *s)
{
    const char *text;
    size_t bytes;
    if (!TAKE(s, "{"))
        return false;
    skip_blanks(s);
    if (TAKE(s, "}"))
        return true;
    if (!take_text(s, &text, &bytes) || !take_colon(s) || !skip_fact(s))
        return false;
    skip_blanks(s);
    return TAKE(s, "}");
}

bool ms_quick_index_read(const char *text, size_t length, ms_quick_index *index)
{
    scan s = {text, text + length};
    index->files.count = index->last = 0;
    skip_blanks(&s);
    if (!TAKE(&s, "{"))
        return false;
    skip_blanks(&s);
    if (TAKE(&s, "\"metadata\"")) {
        if (!take_colon(&s) || !skip_metadata(&s))
            return false;
        skip_blanks(&s);
        if (!TAKE(&s, ","))
            return false;
        skip_blanks(&s);
    }
    if (!TAKE(&s, "\"weight_map\"") || !take_colon(&s) || !take_map(&s, index))
        return false;
    skip_blanks(&s);
    if (!TAKE(&s, "}"))
        return false;
    skip_blanks(&s);
    return s.at == s.end;
}

void ms_quick_index_free(ms_quick_index *index)
{
    ms_vec_free(&index->files);
}
