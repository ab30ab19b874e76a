/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Headers of GGUF files: what they must say, how values and tensors are found, and models in
 * several files.
 */
#include "unit/support.h"

#include <string.h>
#include <unistd.h>

#include "input/weights/gguf.h"

enum { ALIGNMENT = 32, ROOM = 4096 };

/* ---- writing them ---- */

typedef struct text {
    uint8_t bytes[ROOM];
    size_t count;
} text;

static void put(text *t, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        t->bytes[t->count++] = (uint8_t)(value >> (8 * i));
}

static void put_text(text *t, const char *value)
{
    put(t, strlen(value), 8);
    memcpy(t->bytes + t->count, value, strlen(value));
    t->count += strlen(value);
}

static void put_number(text *t, const char *key, ms_gguf_kind kind, uint64_t value, int bytes)
{
    put_text(t, key);
    put(t, kind, 4);
    put(t, value, bytes);
}

static void put_tensor(text *t, const char *name, uint32_t type, uint64_t ne0, uint64_t at)
{
    put_text(t, name);
    put(t, 1, 4);
    put(t, ne0, 8);
    put(t, type, 4);
    put(t, at, 8);
}

static void align(text *t)
{
    while (t->count % ALIGNMENT != 0)
        put(t, 0, 1);
}

static ms_status read_at(const void *from, uint64_t at, void *to, size_t count, ms_error *err)
{
    (void)err;
    memcpy(to, (const uint8_t *)from + at, count);
    return MS_OK;
}

static ms_status read_text(ms_arena *arena, const text *t, ms_gguf *gguf, ms_error *err)
{
    const ms_gguf_source source = {"t.gguf", t->count, t->bytes, read_at};
    return ms_gguf_read(arena, &source, gguf, err);
}

/* ---- headers ---- */

/* A header of one key and one tensor; what is 0 or NULL is as in a good one. */
typedef struct header_case {
    const char *label;
    const char *magic;
    uint32_t version;
    uint64_t tensors, keys;
    const char *key;
    uint32_t kind, value;
    uint32_t rank, type;
    uint64_t ne0, ne1, at;
    size_t cut;    /* bytes that are missing at the end */
    bool is_twice; /* the key, or with is_of_tensor the tensor */
    bool is_of_tensor;
    const char *text; /* of the message; NULL: accepted */
} header_case;

static const header_case headers[] = {
    {"plain", .text = NULL},
    {"version 2", .version = 2},
    {"version 1", .version = 1, .text = "version 1, but only versions 2 and 3 are supported"},
    {"version 4", .version = 4, .text = "GGUF version 4, but only"},
    {"big-endian", .version = 3u << 24, .text = "big-endian files are not"},
    {"another magic", .magic = "GGML", .text = "byte 0: it is not a GGUF file"},
    {"millions of tensors", .tensors = 1 << 21, .text = "at most"},
    {"millions of keys", .keys = 1 << 21, .text = "at most"},
    {"more keys than there are", .keys = 9, .text = "byte"},
    {"no such type of metadata", .kind = 13, .text = "there is no metadata type 13"},
    {"a key twice", .is_twice = true, .keys = 2, .text = "the key a.count appears twice"},
    {"alignment of 64", .key = "general.alignment", .value = 64},
    {"alignment of 3", .key = "general.alignment", .value = 3, .text = "not a power of two"},
    {"alignment above a mebibyte", .key = "general.alignment", .value = 1 << 21,
     .text = "not a power of two"},
    {"a matrix", .rank = 2, .ne1 = 2},
    {"five dimensions", .rank = 5, .text = "5 dimensions, but at most 4 are allowed"},
    {"more elements than 64 bits count", .rank = 2, .ne0 = UINT64_C(1) << 32,
     .ne1 = UINT64_C(1) << 32, .text = "more than 64 bits can count"},
    {"more bytes than 64 bits count", .ne0 = UINT64_C(1) << 62, .text = "exceeds 64 bits"},
    {"a type that is gone", .type = 31, .text = "type 31, which is not supported"},
    {"quantised", .type = 8, .ne0 = 64},
    {"no whole blocks", .type = 8, .ne0 = 33, .text = "Q8_0 has blocks of 32"},
    {"a tensor twice", .is_twice = true, .is_of_tensor = true, .tensors = 2,
     .text = "the tensor t appears twice"},
    {"data not aligned", .at = 4, .text = "not aligned or within another tensor"},
    {"data past the end", .at = 4096, .text = "ends past the file's"},
    {"cut in the data", .cut = 1, .text = "ends past the file's"},
    {"cut in the header", .cut = 120, .text = "byte"},
};

static void write_header(text *t, const header_case *c)
{
    uint32_t rank = c->rank ? c->rank : 1;
    memcpy(t->bytes, c->magic ? c->magic : "GGUF", 4);
    t->count = 4;
    put(t, c->version ? c->version : 3, 4);
    put(t, c->tensors ? c->tensors : 1, 8);
    put(t, c->keys ? c->keys : 1, 8);
    for (int i = 0; i < 1 + (c->is_twice && !c->is_of_tensor); i++)
        put_number(t, c->key ? c->key : "a.count", c->kind ? c->kind : MS_GGUF_U32,
                   c->value ? c->value : 7, 4);
    for (int i = 0; i < 1 + (c->is_twice && c->is_of_tensor); i++) {
        put_text(t, "t");
        put(t, rank, 4);
        for (uint32_t d = 0; d < rank; d++)
            put(t, d == 0 ? (c->ne0 ? c->ne0 : 8) : (c->ne1 ? c->ne1 : 1), 8);
        put(t, c->type, 4);
        put(t, c->at, 8);
    }
    do
        align(t);
    while (c->value == 64 && t->count % 64 != 0 && (put(t, 0, 1), true));
    uint64_t data = c->type == 8 ? 68 : 32 * (c->ne1 && c->ne1 < 9 ? c->ne1 : 1);
    for (uint64_t i = 0; i < data; i++)
        put(t, 0, 1);
    t->count -= c->cut;
}

static void check_header(void **state)
{
    const header_case *c = *state;
    text t = {.count = 0};
    ms_arena *arena = ms_arena_create(0);
    ms_gguf gguf;
    ms_error err = {0};
    write_header(&t, c);
    ms_status status = read_text(arena, &t, &gguf, &err);
    if (c->text) {
        assert_int_equal(status, MS_ERR_CONFIG);
        assert_non_null(strstr(err.text, c->text));
    } else {
        assert_string_equal(err.text, "");
        assert_int_equal(status, MS_OK);
        assert_int_equal(gguf.tensors.count, 1);
        assert_int_equal(gguf.tensors.items[0].begin, gguf.header_bytes);
        assert_int_equal(gguf.tensors.items[0].begin + gguf.tensors.items[0].bytes, t.count);
        assert_int_equal(gguf.header_bytes % gguf.alignment, 0);
        ms_gguf_free(&gguf);
    }
    ms_arena_free(arena);
}

/* Whatever its length, a cut file is refused. */
static void every_cut_is_refused(void **state)
{
    (void)state;
    text t = {.count = 0};
    write_header(&t, &headers[0]);
    for (size_t whole = t.count; t.count-- > 0;) {
        ms_arena *arena = ms_arena_create(0);
        ms_gguf gguf;
        ms_error err = {0};
        assert_true(t.count < whole);
        assert_int_equal(read_text(arena, &t, &gguf, &err), MS_ERR_CONFIG);
        assert_true(err.text[0] != '\0');
        ms_arena_free(arena);
    }
}

/* ---- values ---- */

typedef struct value_case {
    const char *label;
    ms_gguf_kind kind;
    uint64_t raw;
    int bytes;
    int64_t number;
    double real;
} value_case;

static const value_case values[] = {
    {"u8", MS_GGUF_U8, 200, 1, 200, 0},
    {"i8", MS_GGUF_I8, 200, 1, -56, 0},
    {"u16", MS_GGUF_U16, 65535, 2, 65535, 0},
    {"i16", MS_GGUF_I16, 65535, 2, -1, 0},
    {"u32", MS_GGUF_U32, 4294967295, 4, 4294967295, 0},
    {"i32", MS_GGUF_I32, 4294967295, 4, -1, 0},
    {"f32", MS_GGUF_F32, 0x3fc00000, 4, 0, 1.5},
    {"truth", MS_GGUF_BOOL, 1, 1, 1, 0},
    {"u64", MS_GGUF_U64, 1ull << 40, 8, 1ll << 40, 0},
    {"i64", MS_GGUF_I64, UINT64_MAX, 8, -1, 0},
    {"f64", MS_GGUF_F64, 0x3ff8000000000000, 8, 0, 1.5},
};

static void check_value(void **state)
{
    const value_case *c = *state;
    text t = {.count = 0};
    ms_arena *arena = ms_arena_create(0);
    ms_gguf gguf;
    ms_error err = {0};
    memcpy(t.bytes, "GGUF", 4);
    t.count = 4;
    put(&t, 3, 4);
    put(&t, 0, 8);
    put(&t, 3, 8);
    put_number(&t, "z", MS_GGUF_U8, 1, 1);
    put_number(&t, "m", c->kind, c->raw, c->bytes);
    put_text(&t, "list"); /* two of the same */
    put(&t, MS_GGUF_LIST, 4);
    put(&t, c->kind, 4);
    put(&t, 2, 8);
    put(&t, c->raw, c->bytes);
    put(&t, c->raw, c->bytes);
    assert_int_equal(read_text(arena, &t, &gguf, &err), MS_OK);
    const ms_gguf_value *v = ms_gguf_find(&gguf, "m"), *list = ms_gguf_find(&gguf, "list");
    assert_int_equal(v->kind, c->kind);
    assert_int_equal(v->number, c->number);
    assert_true(v->real == c->real);
    assert_int_equal(list->count, 2);
    assert_int_equal(list->of, c->kind);
    if (c->real == 0)
        assert_int_equal(list->list[1], c->number);
    assert_null(ms_gguf_find(&gguf, "y"));
    ms_gguf_free(&gguf);
    ms_arena_free(arena);
}

/* ---- several files ---- */

typedef struct split_case {
    const char *label;
    uint16_t count, first, second; /* split.count of both; split.no */
    const char *given;             /* the file that is named */
    bool lacks_second;
    const char *text; /* of the message; NULL: accepted */
} split_case;

static const split_case splits[] = {
    {"two files", 2, 0, 1, "m-00001-of-00002.gguf", false, NULL},
    {"one file that says so", 1, 0, 1, "m-00001-of-00002.gguf", true, NULL},
    {"the second is missing", 2, 0, 1, "m-00001-of-00002.gguf", true, "No such file"},
    {"the second is another", 2, 0, 0, "m-00001-of-00002.gguf", false, "its split.no differs"},
    {"the second is named", 2, 0, 1, "m-00002-of-00002.gguf", false, "give the first"},
    {"another name", 2, 0, 1, "other.gguf", false, "-00001-of-N.gguf"},
    {"too many", 5000, 0, 1, "m-00001-of-00002.gguf", false, "above 4096"},
};

static void write_split(const char *folder, const char *name, uint64_t count, uint64_t number)
{
    char path[256], tensor[32];
    text t = {.count = 4};
    memcpy(t.bytes, "GGUF", 4);
    put(&t, 3, 4);
    put(&t, 1, 8);
    put(&t, 2, 8);
    put_number(&t, "split.no", MS_GGUF_U16, number, 2);
    put_number(&t, "split.count", MS_GGUF_U16, count, 2);
    snprintf(tensor, sizeof tensor, "of.%s", name);
    tensor[31] = '\0';
    put_tensor(&t, tensor, 0, 8, 0);
    align(&t);
    for (int i = 0; i < 32; i++)
        put(&t, 0, 1);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(t.bytes, 1, t.count, file), t.count);
    assert_int_equal(fclose(file), 0);
}

static void check_split(void **state)
{
    static const char *const names[] = {"m-00001-of-00002.gguf", "m-00002-of-00002.gguf",
                                        "other.gguf"};
    const split_case *c = *state;
    char folder[] = "/tmp/memscope-gguf-XXXXXX", path[256];
    ms_arena *arena = ms_arena_create(0);
    ms_gguf gguf;
    ms_error err = {0};
    uint32_t count = 0;
    assert_non_null(mkdtemp(folder));
    write_split(folder, names[0], c->count, c->first);
    write_split(folder, names[2], c->count, c->first);
    if (!c->lacks_second)
        write_split(folder, names[1], c->count, c->second);
    snprintf(path, sizeof path, "%s/%s", folder, c->given);
    ms_status status = ms_gguf_files_open(arena, path, &gguf, &count, &err);
    if (c->text) {
        assert_int_not_equal(status, MS_OK);
        assert_non_null(strstr(err.text, c->text));
    } else {
        assert_string_equal(err.text, "");
        assert_int_equal(count, c->count);
        assert_int_equal(gguf.tensors.count, c->count);
        for (uint32_t i = 0; i < gguf.tensors.count; i++)
            assert_int_equal(gguf.tensors.items[i].file, i);
        ms_gguf_free(&gguf);
    }
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
    ms_arena_free(arena);
}

int main(void)
{
    static const struct CMUnitTest others[] = {cmocka_unit_test(every_cut_is_refused)};
    int failed = run_rows("headers", check_header, headers);
    failed += run_rows("values", check_value, values);
    failed += run_rows("several files", check_split, splits);
    failed += cmocka_run_group_tests_name("cuts", others, NULL, NULL);
    return failed;
}
