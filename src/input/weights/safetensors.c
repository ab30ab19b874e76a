/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/weights/safetensors.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json/place.h"
#include "base/json/scan.h"
#include "base/size.h"
#include "input/weights/plain_text.h"

/* ---- header file ---- */

ms_status ms_header_file_fail(const char *path, ms_status status, const char *why, ms_error *err)
{
    ms_error_set(err, status, "%s", why);
    ms_json_place_file(path, err);
    return status;
}

static ms_status read_bytes(const ms_header_file *f, void *to, uint64_t bytes, uint64_t at,
                            ms_error *err)
{
    for (uint64_t done = 0; done < bytes;) {
        ssize_t more =
            pread(fileno(f->file), (char *)to + done, (size_t)(bytes - done), (off_t)(at + done));
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            return ms_header_file_fail(f->path, MS_ERR_IO,
                                       more < 0 ? strerror(errno) : "it became shorter", err);
        done += (uint64_t)more;
    }
    return MS_OK;
}

static ms_status read_header(ms_header_file *f, ms_error *err)
{
    uint8_t first[MS_SAFETENSORS_LENGTH_BYTES];
    uint64_t length = 0;
    if (f->bytes < sizeof first)
        return ms_header_file_fail(f->path, MS_ERR_CONFIG,
                                   "it is not a safetensors file, because it is too short", err);
    ms_status status = read_bytes(f, first, sizeof first, 0, err);
    if (status == MS_OK)
        status = ms_safetensors_length(f->path, first, f->bytes, &length, err);
    if (status != MS_OK)
        return status;
    if (length > f->room) {
        free(f->text);
        f->text = malloc((size_t)length);
        f->room = f->text ? (size_t)length : 0;
    }
    f->length = (size_t)length;
    if (!f->text)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for files of weights");
    return read_bytes(f, f->text, length, sizeof first, err);
}

ms_status ms_header_file_open(ms_arena *arena, const char *path, ms_header_file *f, ms_error *err)
{
    ms_error reason = {.status = MS_OK};
    struct stat facts;
    f->path = path;
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) /* a pipe waits for a writer */
        return ms_header_file_fail(path, MS_ERR_CONFIG, "it is not a safetensors file", err);
    f->file = ms_file_open(ms_arena_inputs(arena), path, &reason);
    if (!f->file)
        return ms_header_file_fail(path, reason.status, reason.text, err);
    if (fstat(fileno(f->file), &facts) != 0)
        return ms_header_file_fail(path, MS_ERR_IO, strerror(errno), err);
    if (!S_ISREG(facts.st_mode) || facts.st_size <= 0)
        return ms_header_file_fail(path, MS_ERR_CONFIG, "it is not a safetensors file", err);
    f->bytes = (uint64_t)facts.st_size;
    return read_header(f, err);
}

void ms_header_file_close(ms_header_file *f)
{
    ms_file_close(f->file);
    f->file = NULL;
}

void ms_header_file_free(ms_header_file *f)
{
    ms_header_file_close(f);
    free(f->text);
    *f = (ms_header_file){.text = NULL};
}

/* ---- safetensors ---- */

#define METADATA "__metadata__"

/* ---- the first bytes ---- */

static ms_status fail_file(const char *name, ms_error *err, const char *why)
{
    ms_status status = ms_fail(err, MS_ERR_CONFIG, "%s", why);
    ms_json_place_file(name, err);
    return status;
}

ms_status ms_safetensors_length(const char *name, const uint8_t first[MS_SAFETENSORS_LENGTH_BYTES],
                                uint64_t file_bytes, uint64_t *length, ms_error *err)
{
    uint64_t bytes = 0;
    for (int i = MS_SAFETENSORS_LENGTH_BYTES - 1; i >= 0; i--)
        bytes = bytes << 8 | first[i];
    *length = 0;
    if (bytes < 2)
        return fail_file(name, err, "it is not a safetensors file, because it has no header");
    if (file_bytes < MS_SAFETENSORS_LENGTH_BYTES ||
        bytes > file_bytes - MS_SAFETENSORS_LENGTH_BYTES)
        return fail_file(
            name, err,
            "it is not a safetensors file, because its header would be longer than the file");
    if (bytes > MS_JSON_MAX_BYTES)
        return fail_file(name, err, "its header is larger than 16 MiB");
    *length = bytes;
    return MS_OK;
}

/* ---- a tensor ---- */

/* clang-format off */
static const ms_safetensors_type types[] = {
    {"BF16", 16, true},    {"F16", 16, true},     {"F32", 32, true},     {"F64", 64, true},
    {"F8_E4M3", 8, true},  {"F8_E5M2", 8, true},  {"F8_E8M0", 8, true},  {"F8_E4M3FNUZ", 8, true},
    {"F8_E5M2FNUZ", 8, true}, {"F6_E2M3", 6, true}, {"F6_E3M2", 6, true}, {"F4", 4, true},
    {"I8", 8, false},      {"U8", 8, false},      {"I16", 16, false},    {"U16", 16, false},
    {"I32", 32, false},    {"U32", 32, false},    {"I64", 64, false},    {"U64", 64, false},
    {"BOOL", 8, false},    {"C64", 64, false},
};

/* clang-format on */
enum { TYPES = sizeof types / sizeof types[0] };

static const ms_safetensors_type *safetensors_type_named(const char *name, size_t bytes)
{
    for (size_t i = 0; i < TYPES; i++)
        if (strncmp(types[i].name, name, bytes) == 0 && types[i].name[bytes] == '\0')
            return &types[i];
    return NULL;
}

static ms_status read_type(ms_json_value tensor, ms_safetensor *t, ms_error *err)
{
    ms_json_value value;
    const char *name = "";
    ms_status status = ms_json_get_member(tensor, "dtype", &value, err);
    if (status == MS_OK)
        status = ms_json_get_string(value, &name, err);
    if (status != MS_OK)
        return status;
    t->type = safetensors_type_named(name, strlen(name));
    return t->type ? MS_OK
                   : ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                  "this type of a tensor is not supported");
}

/* *bytes: of the elements, packed. */
static ms_status read_shape(ms_json_value tensor, ms_safetensor *t, uint64_t *bytes, ms_error *err)
{
    ms_json_value list, item;
    ms_size size = ms_size_of(1);
    ms_status status = ms_json_get_list(tensor, "shape", &list, err);
    if (status != MS_OK)
        return status;
    for (bool more = ms_json_first(list, &item); more; more = ms_json_next(&item)) {
        if (t->rank == MS_SAFETENSORS_MAX_RANK)
            return ms_json_fail(err, list, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                "more than %d dimensions are not supported",
                                MS_SAFETENSORS_MAX_RANK);
        uint64_t *length = &t->shape[t->rank];
        status = ms_json_get_count(item, 0, UINT64_MAX, length, err);
        if (status != MS_OK)
            return status;
        size = ms_size_mul(size, *length);
        t->rank++;
    }
    size = ms_size_mul(size, t->type->bits);
    *bytes = size.bytes / CHAR_BIT;
    if (!size.overflow && size.bytes % CHAR_BIT != 0)
        return ms_json_fail(err, list, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "elements of %d bits in that shape do not fill whole bytes",
                            t->type->bits);
    if (size.overflow)
        return ms_json_fail(err, list, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "a tensor of that shape has more than 2^64 bits");
    return MS_OK;
}

/* Counted from the end of the header; stored from the beginning of the file. */
static ms_status read_place(ms_json_value tensor, ms_safetensor *t, uint64_t data_bytes,
                            ms_error *err)
{
    ms_json_value list, item;
    uint64_t ends[2] = {0, 0};
    uint32_t count = 0;
    ms_status status = ms_json_get_list(tensor, "data_offsets", &list, err);
    if (status != MS_OK)
        return status;
    for (bool more = ms_json_first(list, &item); more && status == MS_OK && count < 2;
         more = ms_json_next(&item))
        status = ms_json_get_count(item, 0, data_bytes, &ends[count++], err);
    if (status != MS_OK)
        return status;
    if (ms_json_length(list) != 2 || ends[0] > ends[1])
        return ms_json_fail(err, list, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "expected the beginning and the end of the tensor");
    t->begin = ends[0];
    t->bytes = ends[1] - ends[0];
    return MS_OK;
}

static ms_status read_tensor(ms_json_value tensor, uint64_t data_bytes, ms_safetensor *t,
                             ms_error *err)
{
    uint64_t bytes = 0;
    *t = (ms_safetensor){.name = ms_json_key(tensor), .value = tensor};
    ms_status status = ms_json_expect(tensor, MS_JSON_OBJECT, err);
    if (status == MS_OK)
        status = read_type(tensor, t, err);
    if (status == MS_OK)
        status = read_shape(tensor, t, &bytes, err);
    if (status == MS_OK)
        status = read_place(tensor, t, data_bytes, err);
    if (status == MS_OK && bytes != t->bytes)
        status =
            ms_json_fail(err, tensor, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                         "its shape and type take %" PRIu64 " bytes, but its offsets span %" PRIu64,
                         bytes, t->bytes);
    return status;
}

/* ---- all of them ---- */

static int by_place(const void *a, const void *b)
{
    const ms_safetensor *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int by_name(const void *a, const void *b)
{
    const ms_safetensor *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static void sort(ms_safetensors *s, int (*order)(const void *, const void *))
{
    if (s->tensors.count > 0)
        qsort(s->tensors.items, s->tensors.count, sizeof *s->tensors.items, order);
}

/* One after the other, to the last byte. */
static ms_status check_places(ms_safetensors *s, const char *name, uint64_t data_bytes,
                              ms_error *err)
{
    uint64_t at = 0;
    sort(s, by_place);
    for (uint32_t i = 0; i < s->tensors.count; i++) {
        const ms_safetensor *t = &s->tensors.items[i];
        if (t->begin != at)
            return ms_json_fail(err, t->value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                "it begins at byte %" PRIu64
                                " of the data, but the tensors before it end at %" PRIu64,
                                t->begin, at);
        at += t->bytes;
    }
    if (at == data_bytes)
        return MS_OK;
    ms_status status = ms_fail(
        err, MS_ERR_CONFIG, "its tensors have %" PRIu64 " bytes, but %" PRIu64 " follow its header",
        at, data_bytes);
    ms_json_place_file(name, err);
    return status;
}

static ms_status read_tensors(ms_json_value root, uint64_t data_bytes, ms_safetensors *s,
                              ms_error *err)
{
    ms_json_value tensor;
    ms_status status = ms_json_expect(root, MS_JSON_OBJECT, err);
    if (status != MS_OK)
        return status;
    for (bool more = ms_json_first(root, &tensor); more; more = ms_json_next(&tensor)) {
        if (strcmp(ms_json_key(tensor), METADATA) == 0)
            continue;
        if (!ms_vec_reserve(&s->tensors))
            return ms_fail(err, MS_ERR_NOMEM, "no memory for the tensors of a file");
        ms_safetensor *t = &s->tensors.items[s->tensors.count++];
        status = read_tensor(tensor, data_bytes, t, err);
        if (status != MS_OK)
            return status;
    }
    return check_places(s, ms_json_file_name(root), data_bytes, err);
}

ms_status ms_safetensors_read(const ms_json_source *header, uint64_t file_bytes, ms_safetensors *s,
                              ms_error *err)
{
    uint64_t data_at = header->length + MS_SAFETENSORS_LENGTH_BYTES;
    *s = (ms_safetensors){0};
    if (data_at > file_bytes)
        return fail_file(header->name, err, "its header is longer than the file");
    ms_status status = ms_json_parse(header, &s->document, err);
    if (status == MS_OK)
        status = read_tensors(ms_json_root(s->document), file_bytes - data_at, s, err);
    if (status != MS_OK) {
        ms_safetensors_free(s);
        return status;
    }
    for (uint32_t i = 0; i < s->tensors.count; i++)
        s->tensors.items[i].begin += data_at;
    sort(s, by_name);
    return MS_OK;
}

void ms_safetensors_free(ms_safetensors *s)
{
    ms_json_free(s->document);
    s->document = NULL;
    ms_vec_free(&s->tensors);
}

const ms_safetensor *ms_safetensors_find(const ms_safetensors *s, const char *name)
{
    const ms_safetensor key = {.name = name};
    return s->tensors.count ? bsearch(&key, s->tensors.items, s->tensors.count, sizeof key, by_name)
                            : NULL;
}

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

static void digest_set_clear(ms_digest_set *set)
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
    t->type = safetensors_type_named(type.text, type.bytes);
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
    digest_set_clear(&h->names);
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
