/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/weights/gguf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json/place.h"

/* ---- cursor ---- */

enum { MS_CURSOR_BLOCK = 1 << 16 };

ms_status ms_cursor_fail(const ms_cursor *c, uint64_t at, const char *format, ...)
{
    ms_error sentence = {.status = MS_OK};
    va_list args;
    va_start(args, format);
    ms_error_vset(&sentence, MS_ERR_CONFIG, format, args);
    va_end(args);
    ms_error_set(c->err, MS_ERR_CONFIG, "byte %" PRIu64 ": %.480s", at, sentence.text);
    ms_json_place_file(c->source->name, c->err);
    return MS_ERR_CONFIG;
}

static ms_status fill(ms_cursor *c)
{
    uint64_t left = c->source->bytes - c->at;
    size_t bytes = left < MS_CURSOR_BLOCK ? (size_t)left : MS_CURSOR_BLOCK;
    ms_status status = c->source->read(c->source->from, c->at, c->block, bytes, c->err);
    c->block_at = c->at;
    c->block_bytes = status == MS_OK ? bytes : 0;
    return status;
}

static ms_status check(const ms_cursor *c, uint64_t bytes, const char *what)
{
    uint64_t left = c->source->bytes - c->at;
    return bytes <= left ? MS_OK
                         : ms_cursor_fail(c, c->at,
                                          "the file ends within %s, which takes %" PRIu64
                                          " bytes, but %" PRIu64 " are left",
                                          what, bytes, left);
}

/* Copies the next bytes; fails where the file ends. `what` is what is read, for the message. */
static ms_status cursor_take(ms_cursor *c, void *to, size_t bytes, const char *what)
{
    ms_status status = check(c, bytes, what);
    uint8_t *out = to;
    while (bytes > 0 && status == MS_OK) {
        bool is_in = c->at >= c->block_at && c->at - c->block_at < c->block_bytes;
        if (!is_in && (status = fill(c)) != MS_OK)
            return status;
        size_t from = (size_t)(c->at - c->block_at), more = c->block_bytes - from;
        more = more < bytes ? more : bytes;
        memcpy(out, c->block + from, more);
        out += more;
        bytes -= more;
        c->at += more;
    }
    return status;
}

/* Passes over them. */
static ms_status cursor_skip(ms_cursor *c, uint64_t bytes, const char *what)
{
    ms_status status = check(c, bytes, what);
    if (status == MS_OK)
        c->at += bytes;
    return status;
}

/* A whole number of 1, 2, 4 or 8 bytes. */
static ms_status cursor_number(ms_cursor *c, size_t bytes, uint64_t *number, const char *what)
{
    uint8_t raw[8] = {0};
    ms_status status = cursor_take(c, raw, bytes, what);
    *number = 0;
    for (size_t i = 0; i < sizeof raw; i++)
        *number |= (uint64_t)raw[i] << (8 * i);
    return status;
}

/* ---- gguf ---- */

enum { MAX_KEY = 1 << 16, MAX_TEXT = 1 << 20, MAX_NAME = 1024, MAX_ITEMS = 1 << 20 };

enum { USUAL_ALIGNMENT = 32, MAX_ALIGNMENT = 1 << 20 };

enum { OLDEST = 2, NEWEST = 3 };

/* clang-format off */
static const uint8_t kind_bytes[MS_GGUF_KINDS] = { /* 0: of no fixed size */
    [MS_GGUF_U8] = 1, [MS_GGUF_I8] = 1, [MS_GGUF_U16] = 2, [MS_GGUF_I16] = 2, [MS_GGUF_U32] = 4,
    [MS_GGUF_I32] = 4, [MS_GGUF_F32] = 4, [MS_GGUF_BOOL] = 1, [MS_GGUF_TEXT] = 0, [MS_GGUF_LIST] = 0,
    [MS_GGUF_U64] = 8, [MS_GGUF_I64] = 8, [MS_GGUF_F64] = 8,
};

/* clang-format on */

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "no memory for the header of a GGUF file");
}

/* ---- metadata ---- */

static ms_status read_text(ms_cursor *c, ms_arena *arena, uint64_t most, const char *what,
                           const char **text)
{
    uint64_t length = 0, at = c->at;
    ms_status status = cursor_number(c, 8, &length, what);
    if (status != MS_OK)
        return status;
    if (length > most)
        return ms_cursor_fail(c, at,
                              "%s has %" PRIu64 " bytes, but at most %" PRIu64 " are allowed", what,
                              length, most);
    if (length > c->source->bytes - c->at) /* before any memory is taken for it */
        return cursor_skip(c, length, what);
    char *copy = ms_arena_array(arena, char, (size_t)length + 1);
    if (!copy)
        return no_memory(c->err);
    status = cursor_take(c, copy, (size_t)length, what);
    if (status == MS_OK && strlen(copy) != length)
        status = ms_cursor_fail(c, at, "%s contains a zero byte", what);
    *text = copy;
    return status;
}

static ms_status skip_text(ms_cursor *c, const char *what)
{
    uint64_t length = 0;
    ms_status status = cursor_number(c, 8, &length, what);
    return status == MS_OK ? cursor_skip(c, length, what) : status;
}

static bool is_fraction(ms_gguf_kind kind)
{
    return kind == MS_GGUF_F32 || kind == MS_GGUF_F64;
}

static ms_status read_kind(ms_cursor *c, ms_gguf_kind *kind, const char *what)
{
    uint64_t number = 0, at = c->at;
    ms_status status = cursor_number(c, 4, &number, what);
    if (status == MS_OK && number >= MS_GGUF_KINDS)
        status = ms_cursor_fail(c, at, "there is no metadata type %" PRIu64, number);
    *kind = status == MS_OK ? (ms_gguf_kind)number : MS_GGUF_U8;
    return status;
}

static int64_t whole(ms_gguf_kind kind, uint64_t raw)
{
    return kind == MS_GGUF_I8    ? (int8_t)raw
           : kind == MS_GGUF_I16 ? (int16_t)raw
           : kind == MS_GGUF_I32 ? (int32_t)raw
                                 : (int64_t)raw;
}

static double fraction(ms_gguf_kind kind, uint64_t raw)
{
    float single;
    double both;
    uint32_t low = (uint32_t)raw;
    if (kind == MS_GGUF_F32)
        memcpy(&single, &low, sizeof single);
    else
        memcpy(&both, &raw, sizeof both);
    return kind == MS_GGUF_F32 ? (double)single : both;
}

static ms_status read_numbers(ms_cursor *c, ms_arena *arena, ms_gguf_value *v)
{
    int64_t *list = ms_arena_array(arena, int64_t, (size_t)v->count);
    ms_status status = list ? MS_OK : no_memory(c->err);
    for (uint64_t i = 0; i < v->count && status == MS_OK; i++) {
        uint64_t raw = 0;
        status = cursor_number(c, kind_bytes[v->of], &raw, v->key);
        list[i] = whole(v->of, raw);
    }
    v->list = list;
    return status;
}

static ms_status read_list(ms_cursor *c, ms_arena *arena, ms_gguf_value *v)
{
    uint64_t at = c->at;
    ms_status status = read_kind(c, &v->of, v->key);
    if (status == MS_OK)
        status = cursor_number(c, 8, &v->count, v->key);
    if (status != MS_OK)
        return status;
    if (v->of == MS_GGUF_LIST)
        return ms_cursor_fail(c, at, "%.60s is a list of lists", v->key);
    uint64_t least = v->of == MS_GGUF_TEXT ? 8 : kind_bytes[v->of];
    if (v->count > (c->source->bytes - c->at) / least)
        return ms_cursor_fail(c, at,
                              "%.60s has %" PRIu64 " elements, more than the file can contain",
                              v->key, v->count);
    if (v->of == MS_GGUF_TEXT) {
        for (uint64_t i = 0; i < v->count && status == MS_OK; i++)
            status = skip_text(c, v->key);
        return status;
    }
    if (v->count <= MS_GGUF_MAX_LIST && !is_fraction(v->of))
        return read_numbers(c, arena, v);
    return cursor_skip(c, v->count * kind_bytes[v->of], v->key);
}

static ms_status read_value(ms_cursor *c, ms_arena *arena, ms_gguf_value *v)
{
    uint64_t raw = 0;
    v->at = c->at;
    ms_status status = read_text(c, arena, MAX_KEY, "a key", &v->key);
    if (status == MS_OK)
        status = read_kind(c, &v->kind, v->key);
    if (status != MS_OK)
        return status;
    if (v->kind == MS_GGUF_TEXT)
        return read_text(c, arena, MAX_TEXT, v->key, &v->text);
    if (v->kind == MS_GGUF_LIST)
        return read_list(c, arena, v);
    status = cursor_number(c, kind_bytes[v->kind], &raw, v->key);
    if (is_fraction(v->kind))
        v->real = fraction(v->kind, raw);
    else
        v->number = whole(v->kind, raw);
    return status;
}

static int by_key(const void *a, const void *b)
{
    const ms_gguf_value *x = a, *y = b;
    return strcmp(x->key, y->key);
}

const ms_gguf_value *ms_gguf_find(const ms_gguf *gguf, const char *key)
{
    const ms_gguf_value wanted = {.key = key};
    return gguf->values.count
               ? bsearch(&wanted, gguf->values.items, gguf->values.count, sizeof wanted, by_key)
               : NULL;
}

static ms_status read_values(ms_cursor *c, ms_arena *arena, uint64_t count, ms_gguf *gguf)
{
    ms_status status = MS_OK;
    for (uint64_t i = 0; i < count && status == MS_OK; i++) {
        if (!ms_vec_push(&gguf->values, (ms_gguf_value){0}))
            return no_memory(c->err);
        status = read_value(c, arena, &gguf->values.items[i]);
    }
    if (status != MS_OK || count == 0)
        return status;
    qsort(gguf->values.items, gguf->values.count, sizeof *gguf->values.items, by_key);
    for (uint32_t i = 1; i < gguf->values.count; i++)
        if (by_key(&gguf->values.items[i - 1], &gguf->values.items[i]) == 0)
            return ms_cursor_fail(c, gguf->values.items[i].at, "the key %.60s appears twice",
                                  gguf->values.items[i].key);
    return MS_OK;
}

static ms_status read_alignment(const ms_cursor *c, ms_gguf *gguf)
{
    const ms_gguf_value *v = ms_gguf_find(gguf, "general.alignment");
    gguf->alignment = USUAL_ALIGNMENT;
    if (!v)
        return MS_OK;
    if (v->kind != MS_GGUF_U32 || v->number <= 0 || v->number > MAX_ALIGNMENT ||
        (v->number & (v->number - 1)) != 0)
        return ms_cursor_fail(c, v->at, "general.alignment is not a power of two up to %d",
                              MAX_ALIGNMENT);
    gguf->alignment = (uint32_t)v->number;
    return MS_OK;
}

/* ---- tensors ---- */

static ms_status read_shape(ms_cursor *c, ms_gguf_tensor *t)
{
    uint64_t rank = 0, at = c->at;
    ms_status status = cursor_number(c, 4, &rank, t->name);
    if (status == MS_OK && rank > MS_GGUF_MAX_RANK)
        return ms_cursor_fail(c, at, "%.60s has %" PRIu64 " dimensions, but at most %d are allowed",
                              t->name, rank, MS_GGUF_MAX_RANK);
    t->rank = (uint32_t)rank;
    t->elements = 1;
    for (uint32_t i = 0; i < MS_GGUF_MAX_RANK; i++)
        t->shape[i] = 1;
    for (uint32_t i = 0; i < t->rank && status == MS_OK; i++) {
        status = cursor_number(c, 8, &t->shape[i], t->name);
        if (status == MS_OK && (t->shape[i] == 0 || t->shape[i] > INT64_MAX ||
                                __builtin_mul_overflow(t->elements, t->shape[i], &t->elements)))
            status = ms_cursor_fail(c, at, "%.60s has no elements, or more than 64 bits can count",
                                    t->name);
    }
    return status;
}

static ms_status read_tensor(ms_cursor *c, ms_arena *arena, ms_gguf_tensor *t)
{
    uint64_t number = 0, at = c->at;
    ms_status status = read_text(c, arena, MAX_NAME, "a tensor's name", &t->name);
    if (status == MS_OK)
        status = read_shape(c, t);
    if (status == MS_OK)
        status = cursor_number(c, 4, &number, t->name);
    if (status == MS_OK)
        status = cursor_number(c, 8, &t->begin, t->name);
    if (status != MS_OK)
        return status;
    t->type = ms_stored_type_numbered(number);
    if (t->type == MS_STORED_TYPES)
        return ms_cursor_fail(c, at, "%.60s has type %" PRIu64 ", which is not supported", t->name,
                              number);
    const ms_stored_type *type = ms_stored_type_of(t->type);
    if (t->shape[0] % type->block_elements != 0)
        return ms_cursor_fail(
            c, at, "%.60s has rows of %" PRIu64 " elements, but %s has blocks of %" PRIu32, t->name,
            t->shape[0], type->name, type->block_elements);
    ms_size bytes = ms_stored_row_bytes(t->type, t->elements);
    t->bytes = bytes.bytes;
    return bytes.overflow ? ms_cursor_fail(c, at, "the size of %.60s exceeds 64 bits", t->name)
                          : MS_OK;
}

static int by_place(const void *a, const void *b)
{
    const ms_gguf_tensor *const *x = a, *const *y = b;
    if ((*x)->begin != (*y)->begin)
        return (*x)->begin < (*y)->begin ? -1 : 1;
    return ((*x)->bytes > (*y)->bytes) - ((*x)->bytes < (*y)->bytes);
}

static int by_name(const void *a, const void *b)
{
    const ms_gguf_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* Each within the data, aligned, beside the others, and with a name of its own. */
static ms_status check_order(const ms_cursor *c, const ms_gguf *gguf, const ms_gguf_tensor **order)
{
    uint64_t data_at = gguf->header_bytes, end = 0;
    uint32_t count = gguf->tensors.count;
    for (uint32_t i = 0; i < count; i++)
        order[i] = &gguf->tensors.items[i];
    qsort((void *)order, count, sizeof *order, by_name);
    for (uint32_t i = 1; i < count; i++)
        if (by_name(&order[i - 1], &order[i]) == 0)
            return ms_cursor_fail(c, data_at, "the tensor %.60s appears twice", order[i]->name);
    qsort((void *)order, count, sizeof *order, by_place);
    for (uint32_t i = 0; i < count; i++) {
        const ms_gguf_tensor *t = order[i];
        uint64_t room = c->source->bytes - data_at;
        if (t->begin % gguf->alignment != 0 || t->begin < end)
            return ms_cursor_fail(c, data_at,
                                  "the data of %.60s begins at %" PRIu64
                                  ", which is not aligned or within another tensor",
                                  t->name, t->begin);
        if (t->begin > room || t->bytes > room - t->begin)
            return ms_cursor_fail(c, data_at,
                                  "the data of %.60s ends past the file's %" PRIu64 " bytes",
                                  t->name, c->source->bytes);
        end = t->begin + t->bytes;
    }
    return MS_OK;
}

static ms_status check_tensors(const ms_cursor *c, ms_gguf *gguf)
{
    if (gguf->tensors.count == 0)
        return MS_OK;
    const ms_gguf_tensor **order = malloc(gguf->tensors.count * sizeof *order);
    if (!order)
        return no_memory(c->err);
    ms_status status = check_order(c, gguf, order);
    free((void *)order);
    for (uint32_t i = 0; i < gguf->tensors.count && status == MS_OK; i++)
        gguf->tensors.items[i].begin += gguf->header_bytes;
    return status;
}

/* ---- all of it ---- */

static ms_status read_tensors(ms_cursor *c, ms_arena *arena, uint64_t count, ms_gguf *gguf)
{
    ms_status status = read_alignment(c, gguf);
    for (uint64_t i = 0; i < count && status == MS_OK; i++) {
        if (!ms_vec_push(&gguf->tensors, (ms_gguf_tensor){0}))
            return no_memory(c->err);
        status = read_tensor(c, arena, &gguf->tensors.items[i]);
    }
    if (status != MS_OK)
        return status;
    uint64_t rest = c->at % gguf->alignment;
    gguf->header_bytes = c->at + (rest ? gguf->alignment - rest : 0);
    if (count > 0 && gguf->header_bytes > c->source->bytes)
        return ms_cursor_fail(c, c->at, "the file ends where its data should begin");
    return check_tensors(c, gguf);
}

static ms_status read_header(ms_cursor *c, ms_arena *arena, ms_gguf *gguf)
{
    char magic[4];
    uint64_t version = 0, tensors = 0, values = 0;
    ms_status status = cursor_take(c, magic, sizeof magic, "the magic");
    if (status == MS_OK && memcmp(magic, "GGUF", sizeof magic) != 0)
        return ms_cursor_fail(c, 0, "it is not a GGUF file, because it does not begin with GGUF");
    if (status == MS_OK)
        status = cursor_number(c, 4, &version, "the version");
    if (status == MS_OK && (version < OLDEST || version > NEWEST))
        return ms_cursor_fail(
            c, 4, "it has GGUF version %" PRIu64 ", but only versions 2 and 3 are supported%s",
            version, version % 65536 == 0 ? " (big-endian files are not)" : "");
    if (status == MS_OK)
        status = cursor_number(c, 8, &tensors, "the number of tensors");
    if (status == MS_OK)
        status = cursor_number(c, 8, &values, "the number of keys");
    if (status == MS_OK && (tensors > MAX_ITEMS || values > MAX_ITEMS))
        return ms_cursor_fail(
            c, 8, "it has %" PRIu64 " tensors and %" PRIu64 " keys, but at most %d are allowed",
            tensors, values, MAX_ITEMS);
    gguf->version = (uint32_t)version;
    if (status == MS_OK)
        status = read_values(c, arena, values, gguf);
    return status == MS_OK ? read_tensors(c, arena, tensors, gguf) : status;
}

ms_status ms_gguf_read(ms_arena *arena, const ms_gguf_source *source, ms_gguf *gguf, ms_error *err)
{
    ms_cursor c = {.source = source, .err = err, .block = malloc(MS_CURSOR_BLOCK)};
    *gguf = (ms_gguf){.file_bytes = source->bytes};
    ms_status status = c.block ? read_header(&c, arena, gguf) : no_memory(err);
    free(c.block);
    if (status != MS_OK)
        ms_gguf_free(gguf);
    return status;
}

void ms_gguf_free(ms_gguf *gguf)
{
    ms_vec_free(&gguf->values);
    ms_vec_free(&gguf->tensors);
}

/* ---- gguf files ---- */

enum { MAX_SPLITS = 4096 };

static ms_status fail_file(const char *path, ms_status status, const char *why, ms_error *err)
{
    ms_error_set(err, status, "%s", why);
    ms_json_place_file(path, err);
    return status;
}

typedef struct opened {
    FILE *file;
    const char *path;
} opened;

static ms_status read_at(const void *from, uint64_t at, void *to, size_t bytes, ms_error *err)
{
    const opened *o = from;
    for (size_t done = 0; done < bytes;) {
        ssize_t more = pread(fileno(o->file), (char *)to + done, bytes - done, (off_t)(at + done));
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            return fail_file(o->path, MS_ERR_IO, more < 0 ? strerror(errno) : "it became shorter",
                             err);
        done += (size_t)more;
    }
    return MS_OK;
}

static ms_status open_one(ms_arena *arena, const char *path, ms_gguf *gguf, ms_error *err)
{
    struct stat facts;
    ms_error reason = {.status = MS_OK};
    opened o = {.path = path};
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) /* a pipe waits for a writer */
        return fail_file(path, MS_ERR_CONFIG, "it is not a GGUF file", err);
    o.file = ms_file_open(ms_arena_inputs(arena), path, &reason);
    if (!o.file)
        return fail_file(path, reason.status, reason.text, err);
    ms_status status = MS_OK;
    if (fstat(fileno(o.file), &facts) != 0)
        status = fail_file(path, MS_ERR_IO, strerror(errno), err);
    const ms_gguf_source source = {
        .name = path, .bytes = (uint64_t)facts.st_size, .from = &o, .read = read_at};
    if (status == MS_OK)
        status = ms_gguf_read(arena, &source, gguf, err);
    ms_file_close(o.file);
    return status;
}

bool ms_gguf_files_is_one(ms_inputs *inputs, const char *path)
{
    struct stat facts;
    char magic[4] = "";
    if (stat(path, &facts) != 0 || !S_ISREG(facts.st_mode))
        return false;
    FILE *file = ms_file_open(inputs, path, NULL);
    bool is_one = file && fread(magic, 1, sizeof magic, file) == sizeof magic &&
                  memcmp(magic, "GGUF", sizeof magic) == 0;
    ms_file_close(file);
    return is_one;
}

/* ---- a split model ---- */

/* "model-00002-of-00003.gguf" beside "model-00001-of-00003.gguf"; NULL: the first is not named so,
 * or there is no memory. */
static const char *path_of(ms_arena *arena, const char *first, uint32_t split, uint32_t count)
{
    char ending[48];
    snprintf(ending, sizeof ending, "-%05d-of-%05" PRIu32 ".gguf", 1, count);
    size_t length = strlen(first), cut = strlen(ending);
    if (length <= cut || strcmp(first + length - cut, ending) != 0)
        return NULL;
    return ms_arena_printf(arena, "%.*s-%05" PRIu32 "-of-%05" PRIu32 ".gguf", (int)(length - cut),
                           first, split + 1, count);
}

static ms_status add_split(ms_arena *arena, const char *path, uint32_t split, ms_gguf *gguf,
                           ms_error *err)
{
    ms_gguf more = {0};
    ms_status status = open_one(arena, path, &more, err);
    if (status != MS_OK)
        return status;
    const ms_gguf_value *number = ms_gguf_find(&more, "split.no");
    if (!number || number->number != (int64_t)split)
        status =
            fail_file(path, MS_ERR_CONFIG, "its split.no differs from the number in its name", err);
    for (uint32_t i = 0; i < more.tensors.count && status == MS_OK; i++) {
        more.tensors.items[i].file = split;
        if (!ms_vec_push(&gguf->tensors, more.tensors.items[i]))
            status = ms_fail(err, MS_ERR_NOMEM, "no memory for the tensors of a model");
    }
    gguf->header_bytes += more.header_bytes;
    gguf->file_bytes += more.file_bytes;
    ms_gguf_free(&more);
    return status;
}

static ms_status add_splits(ms_arena *arena, const char *path, uint32_t count, ms_gguf *gguf,
                            ms_error *err)
{
    ms_status status = MS_OK;
    for (uint32_t split = 1; split < count && status == MS_OK; split++) {
        const char *other = path_of(arena, path, split, count);
        status =
            other
                ? add_split(arena, other, split, gguf, err)
                : fail_file(
                      path, MS_ERR_CONFIG,
                      "give the first file of a split model, whose name ends with -00001-of-N.gguf",
                      err);
    }
    return status;
}

ms_status ms_gguf_files_open(ms_arena *arena, const char *path, ms_gguf *gguf, uint32_t *splits,
                             ms_error *err)
{
    ms_status status = open_one(arena, path, gguf, err);
    *splits = 1;
    if (status != MS_OK)
        return status;
    const ms_gguf_value *count = ms_gguf_find(gguf, "split.count");
    const ms_gguf_value *number = ms_gguf_find(gguf, "split.no");
    if (count && count->number > 1) {
        if (count->number > MAX_SPLITS)
            status = fail_file(path, MS_ERR_CONFIG, "its split.count is above 4096", err);
        else if (number && number->number != 0)
            status = fail_file(path, MS_ERR_CONFIG,
                               "it is a later part of a split model: give the first", err);
        *splits = (uint32_t)count->number;
        if (status == MS_OK)
            status = add_splits(arena, path, *splits, gguf, err);
    }
    if (status != MS_OK)
        ms_gguf_free(gguf);
    return status;
}
