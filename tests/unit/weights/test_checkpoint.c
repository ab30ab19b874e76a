/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Stored models: the quick reader against the strict one, and folders of files with an index or
 * without.
 */
#include "unit/support.h"

#include <string.h>
#include <unistd.h>

#include "input/weights/stored_weights.h"
#include "input/weights/safetensors.h"

/* ---- headers ---- */

typedef struct header_case {
    const char *label, *text;
    uint64_t data_bytes;
    uint32_t tensors; /* 0: it is for the strict reader */
} header_case;

#define U8(name, shape, offsets)                                                                   \
    "\"" name "\":{\"dtype\":\"U8\",\"shape\":[" shape "],\"data_offsets\":[" offsets "]}"

static const header_case headers[] = {
    {"one", "{" U8("a", "2,2", "0,4") "}", 4, 1},
    {"two, and blanks", "{" U8("a", "4", "0,4") "," U8("b", "", "4,5") "}  \n", 5, 2},
    {"metadata", "{\"__metadata__\":{\"format\":\"pt\"}," U8("a", "1", "0,1") "}", 1, 1},
    {"two members of metadata",
     "{\"__metadata__\":{\"a\":\"1\",\"b\":\"2\"}," U8("a", "1", "0,1") "}", 1, 0},
    {"another order of tensors", "{" U8("b", "1", "4,5") "," U8("a", "4", "0,4") "}", 5, 0},
    {"another order of members", "{\"a\":{\"shape\":[1],\"dtype\":\"U8\",\"data_offsets\":[0,1]}}",
     1, 0},
    {"a blank", "{ " U8("a", "1", "0,1") "}", 1, 0},
    {"an escape", "{" U8("a\\u0062", "1", "0,1") "}", 1, 0},
    {"no ASCII", "{" U8("\xc3\xa4", "1", "0,1") "}", 1, 0},
    {"twice", "{" U8("a", "1", "0,1") "," U8("a", "1", "1,2") "}", 2, 0},
    {"overlapping", "{" U8("a", "4", "0,4") "," U8("b", "4", "2,6") "}", 6, 0},
    {"a number that begins as another", "{" U8("a", "4", "0,4") "," U8("b", "1", "40,41") "}", 41,
     0},
    {"another size", "{" U8("a", "3", "0,4") "}", 4, 0},
    {"bytes left over", "{" U8("a", "4", "0,4") "}", 5, 0},
    {"a leading zero", "{" U8("a", "01", "0,1") "}", 1, 0},
    {"half a byte", "{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}}", 2, 0},
    {"an unknown type", "{\"a\":{\"dtype\":\"F5\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, 0},
    {"truncated", "{" U8("a", "1", "0,1"), 1, 0},
};

static void headers_are_read_quickly(void **state)
{
    const header_case *c = *state;
    char text[512];
    size_t length = strlen(c->text);
    ms_quick_header quick = {.names = {.slots = NULL}};
    memcpy(text, c->text, length + 1);
    bool is_read = ms_quick_header_read(
        text, length, MS_SAFETENSORS_LENGTH_BYTES + length + c->data_bytes, &quick);
    assert_int_equal(is_read, c->tensors > 0);
    if (is_read)
        assert_int_equal(quick.tensors.count, c->tensors);
    else
        assert_string_equal(text, c->text);
    ms_quick_header_free(&quick);
}

/* ---- folders ---- */

typedef struct file {
    const char *name, *header; /* of safetensors; of an index the text */
    size_t data_bytes;
} file;

typedef struct folder_case {
    const char *label;
    file files[4];
    const char *path; /* in the folder; "": itself */
    uint64_t tensors; /* with so many bytes */
    uint64_t bytes;
    const char *text; /* of the message; NULL: it is read */
} folder_case;

#define INDEX "model.safetensors.index.json"
#define TWO "{\"weight_map\":{\"a\":\"x.safetensors\",\"b\":\"y.safetensors\"}}"

static const folder_case folders[] = {
    {"one file", {{"model.safetensors", "{" U8("a", "4", "0,4") "}", 4}}, "", 1, 4, NULL},
    {"all files",
     {{"y.safetensors", "{" U8("b", "4", "0,4") "}", 4},
      {"x.safetensors", "{" U8("a", "2", "0,2") "}", 2},
      {"adapter_model.safetensors", "{}", 0}},
     "",
     2,
     6,
     NULL},
    {"one of them",
     {{"y.safetensors", "{" U8("b", "4", "0,4") "}", 4}, {"x.safetensors", "no header", 0}},
     "/y.safetensors",
     1,
     4,
     NULL},
    {"in two files",
     {{"x.safetensors", "{" U8("a", "4", "0,4") "}", 4},
      {"y.safetensors", "{" U8("a", "4", "0,4") "}", 4}},
     "",
     0,
     0,
     "the tensor a is also in another file"},
    {"an index",
     {{INDEX, TWO, 0},
      {"x.safetensors", "{" U8("a", "4", "0,4") "}", 4},
      {"y.safetensors", "{ " U8("b", "1", "0,1") "}", 1},
      {"z.safetensors", "not named", 0}},
     "",
     2,
     5,
     NULL},
    {"the index by name",
     {{INDEX, TWO, 0},
      {"x.safetensors", "{" U8("a", "4", "0,4") "}", 4},
      {"y.safetensors", "{" U8("b", "1", "0,1") "}", 1}},
     "/" INDEX,
     2,
     5,
     NULL},
    {"a tensor too few",
     {{INDEX, TWO, 0},
      {"x.safetensors", "{" U8("a", "4", "0,4") "}", 4},
      {"y.safetensors", "{" U8("c", "1", "0,1") "}", 1}},
     "",
     0,
     0,
     "the index says that it has the tensor b, but it does not"},
    {"a tensor that the index does not name",
     {{INDEX, TWO, 0},
      {"x.safetensors", "{" U8("a", "4", "0,4") "," U8("c", "1", "4,5") "}", 5},
      {"y.safetensors", "{" U8("b", "1", "0,1") "}", 1}},
     "",
     3,
     6,
     NULL},
    {"a tensor of another file",
     {{INDEX, TWO, 0},
      {"x.safetensors", "{" U8("a", "4", "0,4") "," U8("b", "1", "4,5") "}", 5},
      {"y.safetensors", "{" U8("b", "1", "0,1") "}", 1}},
     "",
     0,
     0,
     "the tensor b belongs to another file, according to the index"},
    {"a name twice in the index",
     {{INDEX, "{\"weight_map\":{\"a\":\"x.safetensors\",\"a\":\"x.safetensors\"}}", 0},
      {"x.safetensors", "{" U8("a", "4", "0,4") "}", 4}},
     "",
     0,
     0,
     "twice"},
    {"a file that is not there", {{INDEX, TWO, 0}}, "", 0, 0, "No such file"},
    {"a path in the index",
     {{INDEX, "{\"weight_map\":{\"a\":\"../x\"}}", 0}},
     "",
     0,
     0,
     "name of a file"},
    {"no index", {{INDEX, "[]", 0}}, "", 0, 0, "expected an object"},
    {"no header", {{"model.safetensors", "{]", 0}}, "", 0, 0, "expected"},
};

static void write_file(const char *folder, const file *f)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, f->name);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    size_t length = strlen(f->header);
    for (int i = 0; strcmp(f->name, INDEX) != 0 && i < MS_SAFETENSORS_LENGTH_BYTES; i++)
        fputc((int)(length >> (8 * i) & 0xff), out);
    fputs(f->header, out);
    for (size_t i = 0; i < f->data_bytes; i++)
        fputc(0, out);
    assert_int_equal(fclose(out), 0);
}

static ms_status add(void *context, const char *path, const ms_safetensor *tensor, ms_error *err)
{
    (void)err;
    assert_non_null(strstr(path, ".safetensors"));
    assert_true(strlen(tensor->name) > 0 && tensor->type);
    *(uint64_t *)context += tensor->bytes;
    return MS_OK;
}

static void folders_are_read(void **state)
{
    const folder_case *c = *state;
    char folder[] = "/tmp/memscope-checkpoint-XXXXXX", path[256];
    uint64_t sum = 0;
    ms_stored_weights checkpoint;
    ms_error err = {.status = MS_OK};
    ms_arena *arena = ms_arena_create(0);
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof c->files / sizeof c->files[0] && c->files[i].name; i++)
        write_file(folder, &c->files[i]);
    snprintf(path, sizeof path, "%s%s", folder, c->path);
    assert_true(ms_stored_weights_is_in(folder));
    assert_int_equal(ms_stored_weights_is_named(path), *c->path != '\0');
    const ms_stored_weights_reader reader = {add, &sum};
    ms_status status = ms_stored_weights_read(arena, path, &reader, &checkpoint, &err);
    if (c->text) {
        assert_int_not_equal(status, MS_OK);
        if (!strstr(err.text, c->text))
            fail_msg("%s", err.text);
        assert_non_null(strstr(err.file, folder));
    } else {
        if (status != MS_OK)
            fail_msg("%s", err.text);
        assert_int_equal(checkpoint.tensors, c->tensors);
        assert_int_equal(checkpoint.tensor_bytes, c->bytes);
        assert_int_equal(sum, c->bytes);
    }
    for (size_t i = 0; i < sizeof c->files / sizeof c->files[0] && c->files[i].name; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, c->files[i].name);
        assert_int_equal(remove(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
    ms_arena_free(arena);
}

int main(void)
{
    int failed = run_rows("headers", headers_are_read_quickly, headers);
    return failed + run_rows("folders", folders_are_read, folders);
}
