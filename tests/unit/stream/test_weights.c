/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Weights in safetensors files: what a header and an index must say, and that what is streamed are
 * the files' bytes.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input/config/model/model_config.h"
#include "serve/stream/execute.h"
#include "unit/backends.h"
#include "unit/fixtures.h"

/* ---- headers ---- */

typedef struct header_case {
    const char *label;
    const char *header;
    uint64_t data_bytes;
    const char *text; /* of the message; NULL: accepted */
} header_case;

#define U8(name, shape, offsets)                                                                   \
    "\"" name "\":{\"dtype\":\"U8\",\"shape\":[" shape "],\"data_offsets\":[" offsets "]}"

static const header_case headers[] = {
    {"none", "{}", 0, NULL},
    {"one", "{" U8("a", "2,2", "0,4") "}", 4, NULL},
    {"spaces follow", "{" U8("a", "2,2", "0,4") "}   ", 4, NULL},
    {"in another order", "{" U8("b", "1", "4,5") "," U8("a", "4", "0,4") "}", 5, NULL},
    {"without bytes", "{" U8("a", "0", "0,0") "," U8("b", "1", "0,1") "}", 1, NULL},
    {"metadata", "{\"__metadata__\":{\"format\":\"pt\"}," U8("a", "1", "0,1") "}", 1, NULL},
    {"no object", "[]", 0, "expected an object"},
    {"no JSON", "{]", 0, "expected"},
    {"no type", "{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "dtype"},
    {"an unknown type", "{\"a\":{\"dtype\":\"F5\",\"shape\":[2],\"data_offsets\":[0,1]}}", 1,
     "not supported"},
    {"half bytes", "{\"a\":{\"dtype\":\"F4\",\"shape\":[2],\"data_offsets\":[0,1]}}", 1, NULL},
    {"half a byte left over", "{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}}", 2,
     "do not fill whole bytes"},
    {"no UTF-8", "{" U8("\xff", "1", "0,1") "}", 1, "UTF-8"},
    {"an escape", "{" U8("a\\u0062", "1", "0,1") "}", 1, NULL},
    {"truncated", "{" U8("a", "1", "0,1"), 1, "expected"},
    {"no shape", "{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, "shape"},
    {"nine dimensions", "{" U8("a", "1,1,1,1,1,1,1,1,1", "0,1") "}", 1, "more than 8 dimensions"},
    {"a shape past 64 bits", "{" U8("a", "4294967296,4294967296", "0,0") "}", 0, "2^64"},
    {"a negative length", "{" U8("a", "-1", "0,1") "}", 1, "expected"},
    {"another size", "{" U8("a", "3", "0,4") "}", 4, "take 3 bytes, but its offsets span 4"},
    {"backwards", "{" U8("a", "4", "4,0") "}", 4, "the beginning and the end"},
    {"three offsets", "{" U8("a", "4", "0,4,4") "}", 4, "the beginning and the end"},
    {"past the end", "{" U8("a", "9", "0,9") "}", 4, "expected"},
    {"overlapping", "{" U8("a", "4", "0,4") "," U8("b", "4", "2,6") "}", 6,
     "begins at byte 2 of the data, but the tensors before it end at 4"},
    {"a gap", "{" U8("a", "4", "0,4") "," U8("b", "1", "5,6") "}", 6, "begins at byte 5"},
    {"more than there is", "{" U8("a", "4", "0,4") "}", 5, "have 4 bytes, but 5 follow"},
    {"twice", "{" U8("a", "1", "0,1") "," U8("a", "1", "1,2") "}", 2, "appears twice"},
};

static void headers_are_read(void **state)
{
    const header_case *c = *state;
    const ms_json_source source = {"x.safetensors", c->header, strlen(c->header)};
    ms_safetensors tensors;
    ms_error err = {0};
    ms_status status = ms_safetensors_read(
        &source, MS_SAFETENSORS_LENGTH_BYTES + source.length + c->data_bytes, &tensors, &err);
    if (c->text) {
        assert_int_not_equal(status, MS_OK);
        if (!strstr(err.text, c->text) && !strstr(err.pointer, c->text))
            fail_msg("%s: %s", err.pointer, err.text);
        assert_string_equal(err.file, "x.safetensors");
        return;
    }
    if (status != MS_OK)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < tensors.tensors.count; i++) {
        const ms_safetensor *t = &tensors.tensors.items[i];
        assert_ptr_equal(ms_safetensors_find(&tensors, t->name), t);
        assert_true(t->begin >= MS_SAFETENSORS_LENGTH_BYTES + source.length);
    }
    assert_null(ms_safetensors_find(&tensors, "z"));
    ms_safetensors_free(&tensors);
}

typedef struct length_case {
    const char *label;
    uint8_t first[MS_SAFETENSORS_LENGTH_BYTES];
    uint64_t file_bytes, length; /* 0: refused */
    const char *text;            /* of the message */
} length_case;

static const length_case lengths[] = {
    {"as long as the file", {24}, 32, 24, ""},
    {"a byte too long", {25}, 32, 0, "longer than the file"},
    {"two bytes", {0, 1}, 1000, 256, ""},
    {"no header", {0}, 32, 0, "it has no header"},
    {"half a header", {1}, 32, 0, "it has no header"},
    {"2^63", {0, 0, 0, 0, 0, 0, 0, 0x80}, UINT64_MAX, 0, "larger than 16 MiB"},
    {"nearly 2^64", {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, UINT64_MAX, 0, "longer"},
    {"over 16 MiB", {1, 0, 0, 1}, UINT64_C(1) << 40, 0, "larger than 16 MiB"},
};

static void lengths_are_checked(void **state)
{
    const length_case *c = *state;
    uint64_t length = 1;
    ms_error err = {0};
    ms_status status =
        ms_safetensors_length("x.safetensors", c->first, c->file_bytes, &length, &err);
    assert_int_equal(status, c->length ? MS_OK : MS_ERR_CONFIG);
    assert_int_equal(length, c->length);
    assert_string_equal(err.file, c->length ? "" : "x.safetensors");
    assert_non_null(strstr(err.text, c->text));
}

typedef struct index_case {
    const char *label;
    const char *text;
    uint32_t files, tensors;
    const char *message; /* NULL: accepted */
} index_case;

static const index_case indexes[] = {
    {"two files", "{\"weight_map\":{\"b\":\"2\",\"a\":\"1\",\"c\":\"2\"}}", 2, 3, NULL},
    {"no map", "{}", 0, 0, "weight_map"},
    {"a list", "{\"weight_map\":[\"a\"]}", 0, 0, "expected"},
    {"nothing in it", "{\"weight_map\":{}}", 0, 0, "names no tensor"},
    {"a number", "{\"weight_map\":{\"a\":1}}", 0, 0, "expected"},
    {"a path", "{\"weight_map\":{\"a\":\"../x\"}}", 0, 0, "name of a file"},
    {"a folder", "{\"weight_map\":{\"a\":\"x/y\"}}", 0, 0, "name of a file"},
    {"no name", "{\"weight_map\":{\"a\":\"\"}}", 0, 0, "name of a file"},
};

static void indexes_are_read(void **state)
{
    const index_case *c = *state;
    const ms_json_source source = {"index.json", c->text, strlen(c->text)};
    ms_tensor_index index;
    ms_error err = {0};
    ms_status status = ms_tensor_index_read(&source, &index, &err);
    if (c->message) {
        assert_int_not_equal(status, MS_OK);
        if (!strstr(err.text, c->message) && !strstr(err.pointer, c->message))
            fail_msg("%s: %s", err.pointer, err.text);
        return;
    }
    assert_int_equal(status, MS_OK);
    assert_int_equal(index.files.count, c->files);
    assert_int_equal(index.tensors.count, c->tensors);
    assert_int_equal(ms_tensor_index_find(&index, "a"), 0);
    assert_int_equal(ms_tensor_index_find(&index, "c"), 1);
    assert_int_equal(ms_tensor_index_find(&index, "d"), UINT32_MAX);
    ms_tensor_index_free(&index);
}

/* ---- files of the model in tests/oom/llama.json ---- */

static char folder[] = "/tmp/memscope-weights-XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[4][256];
    static uint32_t turn;
    char *to = path[turn++ % 4];
    snprintf(to, sizeof path[0], "%s/%s", folder, name);
    return to;
}

static const struct tensor_row {
    const char *name;
    uint32_t rows, columns; /* 0: one dimension */
} tensor_rows[] = {
    {"self_attn.q_proj.weight", 64, 64},        {"self_attn.k_proj.weight", 32, 64},
    {"self_attn.v_proj.weight", 32, 64},        {"self_attn.o_proj.weight", 64, 64},
    {"mlp.gate_proj.weight", 96, 64},           {"mlp.up_proj.weight", 96, 64},
    {"mlp.down_proj.weight", 64, 96},           {"input_layernorm.weight", 64, 0},
    {"post_attention_layernorm.weight", 64, 0},
};

/* A file: which layers, what stands before the names, and what is wrong with it. */
typedef struct file_row {
    const char *name, *prefix, *dtype;
    uint32_t first_layer, layers;
    const char *left_out; /* this tensor is not there; or NULL */
    bool is_transposed;   /* shapes are the other way around */
} file_row;

static uint32_t add_tensor(char *to, size_t room, const file_row *f, uint32_t layer, size_t i,
                           uint64_t *at)
{
    const struct tensor_row *t = &tensor_rows[i];
    char shape[32];
    uint64_t bytes = 2 * t->rows * (t->columns ? t->columns : 1);
    uint32_t a = f->is_transposed ? t->columns : t->rows;
    uint32_t b = f->is_transposed ? t->rows : t->columns;
    if (f->left_out && strcmp(f->left_out, t->name) == 0)
        return 0;
    snprintf(shape, sizeof shape, t->columns ? "%u,%u" : "%u", t->columns ? a : t->rows, b);
    int length = snprintf(to, room,
                          "%s\"%slayers.%u.%s\":{\"dtype\":\"%s\",\"shape\":[%s],"
                          "\"data_offsets\":[%llu,%llu]}",
                          *at ? "," : "", f->prefix, layer, t->name, f->dtype, shape,
                          (unsigned long long)*at, (unsigned long long)(*at + bytes));
    *at += bytes;
    return (uint32_t)length;
}

/* Bytes that differ from place to place, and from file to file. */
static void write_file(const file_row *f)
{
    char header[16384] = "{";
    size_t length = 1;
    uint64_t at = 0;
    for (uint32_t layer = f->first_layer; layer < f->first_layer + f->layers; layer++)
        for (size_t i = 0; i < COUNT_OF(tensor_rows); i++)
            length += add_tensor(header + length, sizeof header - length, f, layer, i, &at);
    header[length++] = '}';
    FILE *out = fopen(in_folder(f->name), "wb");
    assert_non_null(out);
    for (uint32_t i = 0; i < 8; i++)
        fputc((int)((uint64_t)length >> (8 * i) & 0xff), out);
    fwrite(header, 1, length, out);
    uint32_t state = 12345 + f->first_layer;
    for (uint64_t i = 0; i < at; i++) {
        state = state * 1664525 + 1013904223;
        fputc((int)(state >> 24), out);
    }
    assert_int_equal(fclose(out), 0);
}

static void write_text(const char *name, const char *text)
{
    FILE *out = fopen(in_folder(name), "wb");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

/* An index that says where each tensor of the two layers is. */
static void write_index(const char *first, const char *second)
{
    FILE *out = fopen(in_folder("model.safetensors.index.json"), "wb");
    assert_non_null(out);
    fprintf(out, "{\"metadata\":{},\"weight_map\":{");
    for (uint32_t layer = 0; layer < 2; layer++)
        for (size_t i = 0; i < COUNT_OF(tensor_rows); i++)
            fprintf(out, "%s\"model.layers.%u.%s\":\"%s\"", layer + i ? "," : "", layer,
                    tensor_rows[i].name, layer ? second : first);
    fprintf(out, "}}");
    assert_int_equal(fclose(out), 0);
}

static void clear_folder(void)
{
    static const char *const names[] = {"model.safetensors", "a.safetensors", "b.safetensors",
                                        "model.safetensors.index.json"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        unlink(in_folder(names[i]));
}

typedef struct model_case {
    const char *label;
    file_row files[2];
    const char *index[2]; /* the files of the layers; NULL: no index */
    const char *path;     /* in the folder; "": the folder */
    const char *text;     /* of the message; NULL: accepted */
    const char *setting, *value;
} model_case;

#define BOTH "model.safetensors", "model.", "BF16", 0, 2, NULL, false
#define A "a.safetensors", "model.", "BF16", 0, 1, NULL, false
#define B "b.safetensors", "model.", "BF16", 1, 1, NULL, false
static const model_case models[] = {
    {"a file", {{BOTH}}, {NULL}, "model.safetensors", NULL, NULL, NULL},
    {"a folder", {{BOTH}}, {NULL}, "", NULL, NULL, NULL},
    {"two files and an index",
     {{A}, {B}},
     {"a.safetensors", "b.safetensors"},
     "",
     NULL,
     NULL,
     NULL},
    {"without the first part",
     {{"model.safetensors", "", "BF16", 0, 2, NULL, false}},
     {NULL},
     "",
     NULL,
     NULL,
     NULL},
    {"an empty folder", {{.name = NULL}}, {NULL}, "", "has no model.safetensors", NULL, NULL},
    {"no such file", {{.name = NULL}}, {NULL}, "none", "No such file", NULL, NULL},
    {"the index names what is not there",
     {{A}},
     {"a.safetensors", "b.safetensors"},
     "",
     "No such file",
     NULL,
     NULL},
    {"the index is wrong",
     {{A}, {B}},
     {"b.safetensors", "a.safetensors"},
     "",
     "lacks the tensor",
     NULL,
     NULL},
    {"a layer is missing",
     {{A}},
     {NULL},
     "a.safetensors",
     "lacks the tensor model.layers.1",
     NULL,
     NULL},
    {"a tensor is missing",
     {{"model.safetensors", "model.", "BF16", 0, 2, "mlp.up_proj.weight", false}},
     {NULL},
     "",
     "lacks the tensor model.layers.0.mlp.up_proj.weight, which the model has",
     NULL,
     NULL},
    {"another type", {{BOTH}}, {NULL}, "", "type BF16, but the model's has fp16", "dtype", "fp16"},
    {"another shape",
     {{"model.safetensors", "model.", "BF16", 0, 2, NULL, true}},
     {NULL},
     "",
     "shape differs",
     NULL,
     NULL},
};

/* Of a whole run: its layers are compared with the files' bytes where they compute. */
static ms_status stream(const model_case *c, ms_stream_measured *m, ms_error *err)
{
    const ms_run_setting settings[] = {
        {"config", "tests/oom/llama.json"}, {"seq", "16"}, {c->setting, c->value}};
    const ms_backend_host_options options = {.capacity_bytes = UINT64_C(64) << 20,
                                             .has_no_blas = true};
    ms_arena *arena = ms_arena_create(0);
    ms_model_config model;
    ms_run_config run;
    load_run(arena, settings, COUNT_OF(settings), &model, &run);
    ms_stream_files files = {arena, *c->path ? in_folder(c->path) : folder};
    const ms_stream_source source = ms_stream_source_files(&files);
    const ms_stream_execution asked = {.model = &model,
                                       .run = &run,
                                       .phase = MS_INFERENCE_DECODE,
                                       .prefetch = 1,
                                       .checked_passes = 2};
    troubled_backend *t = open_troubled(open_host(&options));
    ms_status status = ms_stream_execute(&asked, &source, &t->base, m, err);
    assert_all_returned(t);
    t->base.calls->close(&t->base);
    ms_arena_free(arena);
    return status;
}

static void models_are_streamed(void **state)
{
    const model_case *c = *state;
    ms_stream_measured m;
    ms_error err = {0};
    clear_folder();
    for (size_t i = 0; i < COUNT_OF(c->files) && c->files[i].name; i++)
        write_file(&c->files[i]);
    if (c->index[0])
        write_index(c->index[0], c->index[1]);
    ms_status status = stream(c, &m, &err);
    if (!c->text && status != MS_OK)
        fail_msg("%s: %s", err.file, err.text);
    if (!c->text)
        assert_int_equal(m.checks, 2 * 2 * 2);
    if (c->text && (status == MS_OK || !strstr(err.text, c->text)))
        fail_msg("%s", err.text);
    assert_true(!c->text || strstr(err.file, folder) == err.file);
    ms_stream_measured_free(&m);
}

/* ---- bytes in a place ---- */

typedef struct placed {
    ms_arena *arena;
    ms_simulation s;
    ms_stream_pass pass;
    ms_stream_weights weights;
} placed;

static void open_weights(placed *p)
{
    static const ms_run_setting settings[] = {{"config", "tests/oom/llama.json"}, {"seq", "16"}};
    static const file_row file = {BOTH};
    const ms_inference inference = {.phase = MS_INFERENCE_PREFILL, .passes = 1};
    ms_model_config model;
    ms_run_config run;
    ms_error err = {0};
    clear_folder();
    write_file(&file);
    p->arena = ms_arena_create(0);
    load_run(p->arena, settings, COUNT_OF(settings), &model, &run);
    assert_int_equal(ms_step_infer(&model, &run, &inference, &p->s, &err), MS_OK);
    assert_int_equal(ms_stream_pass_read(&p->s.trace, run.device, &p->pass, &err), MS_OK);
    if (ms_stream_weights_open(p->arena, folder, &p->s.trace, &p->pass, &p->weights, &err) != MS_OK)
        fail_msg("%s", err.text);
}

static void close_weights(placed *p)
{
    ms_stream_weights_free(&p->weights);
    ms_stream_weights_free(&p->weights);
    ms_stream_pass_free(&p->pass);
    ms_simulation_free(&p->s);
    ms_arena_free(p->arena);
}

static bool matches(placed *p, uint32_t layer, const uint8_t *place)
{
    bool answer = false;
    ms_error err = {0};
    if (ms_stream_weights_match(&p->weights, layer, place, &answer, &err) != MS_OK)
        fail_msg("%s", err.text);
    return answer;
}

/* Each tensor at its own multiple of MS_STREAM_UNIT; one wrong byte is seen. */
static void layers_are_filled(void **state)
{
    placed p;
    ms_error err = {0};
    (void)state;
    open_weights(&p);
    const uint64_t bytes = p.pass.slot_bytes;
    uint8_t *place = calloc(bytes, 1);
    assert_non_null(place);
    for (uint32_t layer = 2; layer-- > 0;) {
        assert_int_equal(ms_stream_weights_fill(&p.weights, layer, place, &err), MS_OK);
        assert_true(matches(&p, layer, place));
        assert_false(matches(&p, 1 - layer, place));
        for (uint32_t i = p.weights.first.items[layer]; i < p.weights.first.items[layer + 1]; i++) {
            const ms_stream_piece *piece = &p.weights.pieces.items[i];
            assert_int_equal(piece->at % MS_STREAM_UNIT, 0);
            assert_memory_equal(place + piece->at, piece->data, piece->bytes);
            place[piece->at + piece->bytes - 1] ^= 1;
            assert_false(matches(&p, layer, place));
            place[piece->at + piece->bytes - 1] ^= 1;
        }
    }
    assert_int_equal(p.weights.pieces.count, 2 * COUNT_OF(tensor_rows));
    free(place);
    close_weights(&p);
}

static void a_file_that_shrinks_is_reported(void **state)
{
    placed p;
    bool answer = true;
    ms_error err = {0}, second = {0};
    (void)state;
    open_weights(&p);
    uint8_t *place = calloc(p.pass.slot_bytes, 1);
    assert_int_equal(truncate(in_folder("model.safetensors"), 4096), 0);
    assert_int_equal(ms_stream_weights_fill(&p.weights, 1, place, &err), MS_ERR_IO);
    assert_non_null(strstr(err.text, "was truncated"));
    assert_int_equal(ms_stream_weights_match(&p.weights, 1, place, &answer, &second), MS_ERR_IO);
    assert_non_null(strstr(second.text, "was truncated"));
    assert_false(answer);
    free(place);
    close_weights(&p);
}

typedef struct broken_case {
    const char *label;
    const char *text; /* of the file */
    const char *message;
} broken_case;

static const broken_case broken[] = {
    {"empty", "", "it is not a safetensors file"},
    {"seven bytes", "1234567", "too short"},
    {"text", "{\"weights\": 1}", "longer than the file"},
};

static void broken_files_are_refused(void **state)
{
    const broken_case *c = *state;
    ms_arena *arena = ms_arena_create(0);
    ms_tensor_files files;
    ms_error err = {0};
    clear_folder();
    write_text("model.safetensors", c->text);
    assert_int_equal(ms_tensor_files_open(arena, folder, &files, &err), MS_ERR_CONFIG);
    assert_non_null(strstr(err.text, c->message));
    assert_int_equal(files.files.count, 0);
    ms_tensor_files_close(&files);
    ms_arena_free(arena);
}

/* Nobody writes into the pipe: opening it would not end. */
static void a_pipe_is_no_file(void **state)
{
    ms_arena *arena = ms_arena_create(0);
    ms_tensor_files files;
    ms_error err = {0};
    (void)state;
    clear_folder();
    assert_int_equal(mkfifo(in_folder("model.safetensors"), 0600), 0);
    assert_int_equal(ms_tensor_files_open(arena, folder, &files, &err), MS_ERR_CONFIG);
    assert_non_null(strstr(err.text, "it is not a safetensors file"));
    ms_arena_free(arena);
}

static void a_folder_is_no_file(void **state)
{
    ms_arena *arena = ms_arena_create(0);
    ms_tensor_files files;
    ms_error err = {0};
    (void)state;
    clear_folder();
    assert_int_equal(mkdir(in_folder("model.safetensors"), 0700), 0);
    ms_status status = ms_tensor_files_open(arena, folder, &files, &err);
    assert_int_equal(rmdir(in_folder("model.safetensors")), 0);
    assert_true(status == MS_ERR_CONFIG || status == MS_ERR_IO);
    ms_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_filled), cmocka_unit_test(a_file_that_shrinks_is_reported),
        cmocka_unit_test(a_pipe_is_no_file), cmocka_unit_test(a_folder_is_no_file)};
    if (!mkdtemp(folder))
        return 1;
    int failed = run_rows("headers", headers_are_read, headers);
    failed += run_rows("lengths", lengths_are_checked, lengths);
    failed += run_rows("indexes", indexes_are_read, indexes);
    failed += run_rows("broken files", broken_files_are_refused, broken);
    failed += run_rows("models", models_are_streamed, models);
    failed += _cmocka_run_group_tests("places", tests, COUNT_OF(tests), NULL, NULL);
    clear_folder();
    rmdir(folder);
    return failed;
}
