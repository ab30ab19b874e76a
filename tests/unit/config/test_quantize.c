/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How quantised bases are said, what they hold, and which products need no whole weight.
 */
#include "input/config/quantize/quantize.h"
#include "torch/ops/quantized/dequantize.h"
#include "run/step/step.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input/config/model/model_config.h"
#include "unit/fixtures.h"

/* ---- the text ---- */

typedef struct text_case {
    const char *label, *text;
    const char *comes_to; /* NULL: refused, with `says` in the sentence */
    const char *says;
} text_case;

static const text_case texts[] = {
    {"none", "none", "none", NULL},
    {"nf4", "nf4", "nf4", NULL},
    {"double", "fp4:double", "fp4:double", NULL},
    {"numbers", "nf4:bf16", "nf4:bf16", NULL},
    {"numbers, double", "fp4:double:float16", "fp4:double:fp16", NULL},
    {"numbers of int8", "int8:bf16", NULL, "expected none"},
    {"numbers of no such type", "nf4:double:int64", NULL, "expected none"},
    {"two types", "nf4:bf16:fp16", NULL, "expected none"},
    {"the wrong order", "nf4:bf16:double", NULL, "expected none"},
    {"case is forgiven", "NF4:double", "nf4:double", NULL},
    {"int8", "int8", "int8", NULL},
    {"gptq", "gptq", "gptq:4:128", NULL},
    {"gptq in 8 bits", "gptq:8", "gptq:8:128", NULL},
    {"gptq by columns", "gptq:2:-1", "gptq:2:-1", NULL},
    {"awq", "awq:4:64", "awq:4:64", NULL},
    {"fp8", "fp8_block", "fp8-block", NULL},
    {"mxfp4", "mxfp4", "mxfp4", NULL},
    {"misspelt", "gtpq:4:128", NULL, "expected none"},
    {"another", "int4", NULL, "fp8-block or mxfp4"},
    {"nothing", "", NULL, "expected none"},
    {"settings of int8", "int8:double", NULL, "expected none"},
    {"another word", "nf4:triple", NULL, "expected none"},
    {"bits that are none", "gptq:x:128", NULL, "expected none"},
    {"3 bits", "gptq:3:128", NULL, "gptq is supported in 2, 4 or 8 bits"},
    {"6 bits", "gptq:6:128", NULL, "gptq is supported in 2, 4 or 8 bits"},
    {"0 bits", "gptq:0:128", NULL, "gptq is supported in 2, 4 or 8 bits"},
    {"awq in 8 bits", "awq:8:128", NULL, "awq is supported in 4 bits"},
    {"odd group", "gptq:4:100", NULL, "a group is a power of two"},
    {"no group", "gptq:4:0", NULL, "expected none"},
    {"large group", "gptq:4:99999999999999999999", NULL, "expected none"},
    {"too much", "gptq:4:128:1", NULL, "expected none"},
};

static void check_text(void **state)
{
    const text_case *c = *state;
    ms_arena *arena = ms_arena_create(0);
    ms_quantization q = {0};
    ms_error err = {0};
    ms_status status = ms_quantization_parse(c->text, &q, &err);
    if (c->comes_to) {
        assert_int_equal(status, MS_OK);
        assert_string_equal(ms_quantization_text(arena, &q), c->comes_to);
    } else {
        assert_int_equal(status, MS_ERR_USAGE);
        if (!strstr(err.text, c->says))
            fail_msg("said: %s", err.text);
    }
    ms_arena_free(arena);
}

/* ---- quantization_config, as published checkpoints have it ---- */

typedef struct config_case {
    const char *label, *text, *comes_to;
    bool has_exceptions;
} config_case;

static const config_case configs[] = {
    {"bitsandbytes in 4 bits",
     "{\"load_in_4bit\": true, \"bnb_4bit_quant_type\": \"nf4\", \"bnb_4bit_use_double_quant\": "
     "true}",
     "nf4:double", false},
    {"bitsandbytes in numbers",
     "{\"load_in_4bit\": true, \"bnb_4bit_quant_type\": \"nf4\", \"bnb_4bit_quant_storage\": "
     "\"bfloat16\"}",
     "nf4:bf16", false},
    {"bitsandbytes in bytes", "{\"load_in_4bit\": true, \"bnb_4bit_quant_storage\": \"uint8\"}",
     "fp4", false},
    {"its defaults", "{\"quant_method\": \"bitsandbytes\", \"load_in_4bit\": true}", "fp4", false},
    {"bitsandbytes in 8 bits",
     "{\"load_in_8bit\": true, \"llm_int8_threshold\": 6.0, \"llm_int8_skip_modules\": [\"x\"]}",
     "int8", true},
    {"gptq",
     "{\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": 128, \"desc_act\": true, "
     "\"modules_in_block_to_quantize\": null}",
     "gptq:4:128", false},
    {"gptq by columns", "{\"quant_method\": \"gptq\", \"bits\": 8, \"group_size\": -1}",
     "gptq:8:-1", false},
    {"awq", "{\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 64, \"version\": \"gemm\"}",
     "awq:4:64", false},
    {"awq's older names",
     "{\"quant_method\": \"awq\", \"w_bit\": 4, \"q_group_size\": 128, \"zero_point\": true}",
     "awq:4:128", false},
    {"DeepSeek-V3",
     "{\"activation_scheme\": \"dynamic\", \"fmt\": \"e4m3\", \"quant_method\": \"fp8\", "
     "\"weight_block_size\": [128, 128]}",
     "fp8-block", false},
    {"GPT-OSS", "{\"modules_to_not_convert\": [\"lm_head\"], \"quant_method\": \"mxfp4\"}", "mxfp4",
     false},
};

static void check_config(void **state)
{
    const config_case *c = *state;
    ms_arena *arena = ms_arena_create(0);
    const ms_json_source source = {
        .name = "config.json", .text = c->text, .length = strlen(c->text)};
    ms_json *document = NULL;
    ms_quantization q = {0};
    ms_error err = {0};
    assert_int_equal(ms_json_parse(&source, &document, &err), MS_OK);
    if (ms_quantization_read(arena, ms_json_root(document), &q, &err) != MS_OK)
        fail_msg("%s", err.text);
    assert_string_equal(ms_quantization_text(arena, &q), c->comes_to);
    assert_int_equal(q.exceptions != NULL, c->has_exceptions);
    ms_json_free(document);
    ms_arena_free(arena);
}

/* ---- names of modules that stay as they are ---- */

typedef struct name_case {
    const char *label, *names, *module;
    bool is_head, converts;
} name_case;

static const name_case names[] = {
    {"none named", NULL, "model.layers.0.mlp.up_proj", false, true},
    {"the head by itself", NULL, "lm_head", true, false},
    {"a head that the list leaves out", "[\"q_proj\"]", "lm_head", true, true},
    {"an end", "[\"up_proj\"]", "model.layers.0.mlp.up_proj", false, false},
    {"an end within a name", "[\"proj\"]", "model.layers.0.mlp.up_proj", false, false},
    {"a beginning", "[\"model.layers.1\"]", "model.layers.1.mlp.up_proj", false, false},
    {"no beginning of a number", "[\"model.layers.1\"]", "model.layers.11.mlp.up_proj", false,
     true},
    {"a middle", "[\"mlp\"]", "model.layers.1.mlp.up_proj", false, true},
    {"an expression", "[\"model\\\\.layers\\\\.(0|2)\\\\.mlp\"]", "model.layers.2.mlp.up_proj",
     false, false},
    {"another layer", "[\"model\\\\.layers\\\\.(0|2)\\\\.mlp\"]", "model.layers.1.mlp.up_proj",
     false, true},
    {"an expression up to no boundary", "[\"model.layers.[0-9]\"]", "model.layers.12.mlp.up_proj",
     false, true},
    {"a dot that is any character", "[\"model.layers.1.mlp.gate\"]", "model.layers.1.mlp_gate.x",
     false, false},
};

static void check_name(void **state)
{
    const name_case *c = *state;
    ms_arena *arena = ms_arena_create(0);
    char text[256];
    snprintf(text, sizeof text, "{\"load_in_8bit\": true, \"llm_int8_skip_modules\": %s}",
             c->names ? c->names : "null");
    const ms_json_source source = {.name = "config.json", .text = text, .length = strlen(text)};
    ms_json *document = NULL;
    ms_quantization q = {0};
    ms_error err = {0};
    ms_exceptions *exceptions = NULL;
    assert_int_equal(ms_json_parse(&source, &document, &err), MS_OK);
    if (ms_quantization_read(arena, ms_json_root(document), &q, &err) != MS_OK ||
        ms_exceptions_new(&q, &exceptions, &err) != MS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(ms_exceptions_convert(exceptions, c->module, c->is_head), c->converts);
    ms_exceptions_free(exceptions);
    ms_json_free(document);
    ms_arena_free(arena);
}

/* ---- what a layer holds: closed forms of n weights in `out` rows of `in` ---- */

typedef struct storage_case {
    const char *label, *quantize, *device;
    uint64_t hidden, intermediate;
    uint64_t (*bytes)(uint64_t out, uint64_t in);
} storage_case;

static uint64_t ceiling(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static uint64_t nf4(uint64_t out, uint64_t in)
{
    enum { TABLE = 16 * 4 };
    return out * in / 2 + 4 * ceiling(out * in, 64) + TABLE;
}

static uint64_t int8(uint64_t out, uint64_t in)
{
    return out * in + 4 * out;
}

/* b/8 + 2/g + b/(8 g) bytes for each weight, 4 for each input; and the shifts of a word. */
static uint64_t gptq_4_128(uint64_t out, uint64_t in)
{
    enum { SHIFTS = 8 * 4 };
    uint64_t groups = ceiling(in, 128);
    return out * in / 2 + 2 * groups * out + groups * out / 2 + 4 * in + SHIFTS;
}

static uint64_t gptq_8_column(uint64_t out, uint64_t in)
{
    enum { SHIFTS = 4 * 4 };
    return out * in + 2 * out + out + 4 * in + SHIFTS;
}

static uint64_t awq_4_64(uint64_t out, uint64_t in)
{
    uint64_t groups = ceiling(in, 64);
    return out * in / 2 + 2 * groups * out + groups * out / 2;
}

static uint64_t fp8(uint64_t out, uint64_t in)
{
    return out * in + 4 * ceiling(out, 128) * ceiling(in, 128);
}

static const storage_case storages[] = {
    {"nf4", "nf4", "a100-80gb", 256, 704, nf4},
    {"int8", "int8", "a100-80gb", 256, 704, int8},
    {"gptq", "gptq:4:128", "a100-80gb", 256, 704, gptq_4_128},
    {"gptq in 8 bits by columns", "gptq:8:-1", "a100-80gb", 256, 704, gptq_8_column},
    {"awq", "awq:4:64", "a100-80gb", 256, 704, awq_4_64},
    {"fp8", "fp8-block", "h100-80gb", 256, 704, fp8},
    {"fp8, blocks cut", "fp8-block", "h100-80gb", 192, 600, fp8},
};

/* A file of its own with that text; remove it. */
static void write_config(char *path, const char *text)
{
    int file = mkstemp(path);
    assert_true(file >= 0);
    FILE *out = fdopen(file, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

/* Of a llama of so many layers, all in fp16, adapter included. */
static uint64_t weight_bytes(const storage_case *c, uint64_t layers)
{
    ms_arena *arena = ms_arena_create(0);
    ms_model_config model;
    ms_run_config run;
    ms_simulation simulation;
    ms_error err = {0};
    char path[] = "/tmp/memscope-test-quantize-XXXXXX";
    write_config(path, ms_arena_printf(arena,
                                       "{\"model_type\": \"llama\", \"vocab_size\": 1000, "
                                       "\"num_attention_heads\": 4, \"hidden_size\": %" PRIu64 ", "
                                       "\"intermediate_size\": %" PRIu64 ", "
                                       "\"num_hidden_layers\": %" PRIu64 "}",
                                       c->hidden, c->intermediate, layers));
    const ms_run_setting settings[] = {{"config", path},          {"lora", "r=1,targets=q_proj"},
                                       {"quantize", c->quantize}, {"upcast", "no"},
                                       {"dtype", "fp16"},         {"seq", "128"},
                                       {"device", c->device},     {NULL, NULL}};
    load_run(arena, settings, sizeof settings / sizeof settings[0], &model, &run);
    remove(path);
    assert_int_equal(ms_step_simulate(&model, &run, MS_STEPS_NONE, &simulation, &err), MS_OK);
    uint64_t bytes = simulation.weight_bytes;
    ms_simulation_free(&simulation);
    ms_arena_free(arena);
    return bytes;
}

static void check_storage(void **state)
{
    const storage_case *c = *state;
    uint64_t h = c->hidden, i = c->intermediate;
    uint64_t expected = 4 * c->bytes(h, h) + 2 * c->bytes(i, h) + c->bytes(h, i);
    enum { HALF = 2, NORMS = 2, FLOAT = 4, RANK = 1 };
    expected += HALF * NORMS * h + FLOAT * RANK * (h + h);
    assert_int_equal(weight_bytes(c, 2) - weight_bytes(c, 1), expected);
}

/* ---- what a run comes to ---- */

typedef struct run_case {
    const char *label, *model_type, *config; /* quantization_config */
    const char *device;
    ms_run_setting said[3];
    const char *quantize; /* what it comes to */
    bool is_packed, upcast;
    ms_dtype dtype;
} run_case;

#define LORA                                                                                       \
    {                                                                                              \
        "lora", "r=8,targets=all-linear"                                                           \
    }
#define GPTQ "{\"quant_method\": \"gptq\", \"bits\": 4}"
#define FP8 "{\"quant_method\": \"fp8\", \"weight_block_size\": [128, 128]}"
#define BITS "{\"load_in_8bit\": true}"

/* clang-format off */
static const run_case runs[] = {
    {"nothing is said",      "llama",    "null", "a100-80gb", {{NULL, NULL}},               "none",       false, false, MS_DTYPE_BF16},
    {"the file's",           "llama",    BITS,   "a100-80gb", {LORA},                       "int8",       true,  true,  MS_DTYPE_BF16},
    {"not upcast",           "llama",    BITS,   "a100-80gb", {LORA, {"upcast", "no"}},     "int8",       true,  false, MS_DTYPE_BF16},
    {"none wins",            "llama",    GPTQ,   "a100-80gb", {{"quantize", "none"}},       "none",       false, false, MS_DTYPE_BF16},
    {"another wins",         "llama",    GPTQ,   "a100-80gb", {LORA, {"quantize", "nf4"}},  "nf4",        true,  true,  MS_DTYPE_BF16},
    {"gptq is left alone",   "llama",    GPTQ,   "a100-80gb", {LORA},                       "gptq:4:128", true,  false, MS_DTYPE_BF16},
    {"awq is in fp16",       "llama",    "null", "a100-80gb", {LORA, {"quantize", "awq"}},  "awq:4:128",  true,  false, MS_DTYPE_F16},
    {"awq stays in fp32",    "llama",    "null", "a100-80gb", {LORA, {"quantize", "awq"}, {"dtype", "fp32"}}, "awq:4:128", true, false, MS_DTYPE_F32},
    {"fp8 where it is",      "llama",    FP8,    "h100-80gb", {LORA},                       "fp8-block",  true,  false, MS_DTYPE_BF16},
    {"fp8 where it is not",  "llama",    FP8,    "a100-80gb", {{NULL, NULL}},               "fp8-block",  false, false, MS_DTYPE_BF16},
    {"mxfp4 is dequantised", "gpt_oss",  "{\"quant_method\": \"mxfp4\"}", "h100-80gb", {{NULL, NULL}}, "mxfp4", false, false, MS_DTYPE_BF16},
};
/* clang-format on */

static void check_run(void **state)
{
    const run_case *c = *state;
    ms_arena *arena = ms_arena_create(0);
    ms_model_config model;
    ms_run_config run;
    char path[] = "/tmp/memscope-test-quantize-XXXXXX";
    write_config(path, ms_arena_printf(arena,
                                       "{\"model_type\": \"%s\", \"dtype\": \"bfloat16\", "
                                       "\"quantization_config\": %s}",
                                       c->model_type, c->config));
    const ms_run_setting settings[] = {
        {"config", path}, {"device", c->device}, c->said[0], c->said[1], c->said[2], {NULL, NULL}};
    load_run(arena, settings, sizeof settings / sizeof settings[0], &model, &run);
    remove(path);
    assert_string_equal(ms_quantization_text(arena, &run.quantization), c->quantize);
    assert_int_equal(ms_is_packed(&run.quantization), c->is_packed);
    assert_int_equal(run.upcast, c->upcast);
    assert_int_equal(run.dtype, c->dtype);
    ms_arena_free(arena);
}

/* ---- products that need no whole weight: the most rows of some shapes, read off bitsandbytes
 * 0.50's own function ---- */

typedef struct fused_case {
    const char *label;
    uint32_t capability, multiprocessors;
    ms_dtype dtype;
    uint64_t out, in, most_rows;
} fused_case;

/* clang-format off */
static const fused_case fused[] = {
    {"T4, 4096 x 4096, f16", 75, 40, MS_DTYPE_F16, 4096, 4096, 64},
    {"T4, 4096 x 4096, bf16", 75, 40, MS_DTYPE_BF16, 4096, 4096, 7},
    {"T4, 11008 x 4096, f16", 75, 40, MS_DTYPE_F16, 11008, 4096, 128},
    {"T4, 11008 x 4096, bf16", 75, 40, MS_DTYPE_BF16, 11008, 4096, 7},
    {"T4, 4096 x 11008, f16", 75, 40, MS_DTYPE_F16, 4096, 11008, 64},
    {"T4, 4096 x 11008, bf16", 75, 40, MS_DTYPE_BF16, 4096, 11008, 7},
    {"T4, 1024 x 4096, f16", 75, 40, MS_DTYPE_F16, 1024, 4096, 32},
    {"T4, 1024 x 4096, bf16", 75, 40, MS_DTYPE_BF16, 1024, 4096, 7},
    {"T4, 4096 x 1024, f16", 75, 40, MS_DTYPE_F16, 4096, 1024, 64},
    {"T4, 4096 x 1024, bf16", 75, 40, MS_DTYPE_BF16, 4096, 1024, 7},
    {"A100, 4096 x 4096", 80, 108, MS_DTYPE_BF16, 4096, 4096, 5},
    {"A100, 11008 x 4096", 80, 108, MS_DTYPE_BF16, 11008, 4096, 64},
    {"A100, 1024 x 4096", 80, 108, MS_DTYPE_BF16, 1024, 4096, 16},
    {"A100, 4096 x 1024", 80, 108, MS_DTYPE_BF16, 4096, 1024, 128},
    {"A10, 4096 x 4096", 86, 72, MS_DTYPE_BF16, 4096, 4096, 64},
    {"A10, 11008 x 4096", 86, 72, MS_DTYPE_BF16, 11008, 4096, 128},
    {"A10, 4096 x 11008", 86, 72, MS_DTYPE_BF16, 4096, 11008, 64},
    {"A10, 1024 x 4096", 86, 72, MS_DTYPE_BF16, 1024, 4096, 16},
    {"A10, 4096 x 1024", 86, 72, MS_DTYPE_BF16, 4096, 1024, 64},
    {"4090, 4096 x 4096", 89, 128, MS_DTYPE_BF16, 4096, 4096, 8},
    {"4090, 11008 x 4096", 89, 128, MS_DTYPE_BF16, 11008, 4096, 64},
    {"4090, 4096 x 11008", 89, 128, MS_DTYPE_BF16, 4096, 11008, 64},
    {"4090, 1024 x 4096", 89, 128, MS_DTYPE_BF16, 1024, 4096, 12},
    {"4090, 4096 x 1024", 89, 128, MS_DTYPE_BF16, 4096, 1024, 8},
    {"H100, 4096 x 4096", 90, 132, MS_DTYPE_BF16, 4096, 4096, 7},
    {"H100, 11008 x 4096", 90, 132, MS_DTYPE_BF16, 11008, 4096, 32},
    {"H100, 4096 x 11008", 90, 132, MS_DTYPE_BF16, 4096, 11008, 5},
    {"H100, 1024 x 4096", 90, 132, MS_DTYPE_BF16, 1024, 4096, 7},
    {"H100, 4096 x 1024", 90, 132, MS_DTYPE_BF16, 4096, 1024, 7},
    {"B200, 4096 x 4096", 100, 148, MS_DTYPE_BF16, 4096, 4096, 4},
    {"B200, 11008 x 4096", 100, 148, MS_DTYPE_BF16, 11008, 4096, 8},
    {"B200, 4096 x 11008", 100, 148, MS_DTYPE_BF16, 4096, 11008, 4},
    {"B200, 1024 x 4096", 100, 148, MS_DTYPE_BF16, 1024, 4096, 4},
    {"B200, 4096 x 1024", 100, 148, MS_DTYPE_BF16, 4096, 1024, 4},
    {"5090, 4096 x 4096", 120, 170, MS_DTYPE_BF16, 4096, 4096, 8},
    {"5090, 11008 x 4096", 120, 170, MS_DTYPE_BF16, 11008, 4096, 64},
    {"5090, 4096 x 11008", 120, 170, MS_DTYPE_BF16, 4096, 11008, 8},
    {"5090, 1024 x 4096", 120, 170, MS_DTYPE_BF16, 1024, 4096, 8},
    {"5090, 4096 x 1024", 120, 170, MS_DTYPE_BF16, 4096, 1024, 8},
    {"Spark, 4096 x 4096", 121, 48, MS_DTYPE_BF16, 4096, 4096, 256},
    {"Spark, 11008 x 4096", 121, 48, MS_DTYPE_BF16, 11008, 4096, 256},
    {"Spark, 4096 x 11008", 121, 48, MS_DTYPE_BF16, 4096, 11008, 256},
    {"Spark, 1024 x 4096", 121, 48, MS_DTYPE_BF16, 1024, 4096, 12},
    {"Spark, 4096 x 1024", 121, 48, MS_DTYPE_BF16, 4096, 1024, 256},
    {"Orin, 4096 x 4096", 87, 16, MS_DTYPE_BF16, 4096, 4096, 4},
    {"Orin, 11008 x 4096", 87, 16, MS_DTYPE_BF16, 11008, 4096, 4},
    {"Orin, 4096 x 11008", 87, 16, MS_DTYPE_BF16, 4096, 11008, 4},
    {"Orin, 1024 x 4096", 87, 16, MS_DTYPE_BF16, 1024, 4096, 4},
    {"Orin, 4096 x 1024", 87, 16, MS_DTYPE_BF16, 4096, 1024, 4},
};
/* clang-format on */

static void check_fused(void **state)
{
    const fused_case *c = *state;
    const ms_device device = {.compute_capability = c->capability,
                              .multiprocessors = c->multiprocessors};
    for (uint64_t rows = 1; rows <= 2000; rows++)
        if (ms_is_fused_4bit(&device, c->dtype, rows, c->out, c->in) != (rows <= c->most_rows))
            fail_msg("%" PRIu64 " rows", rows);
}

int main(void)
{
    int failed = run_rows("quantise: text", check_text, texts);
    failed += run_rows("quantise: configs", check_config, configs);
    failed += run_rows("quantise: names", check_name, names);
    failed += run_rows("quantise: runs", check_run, runs);
    failed += run_rows("quantise: storage", check_storage, storages);
    return failed + run_rows("quantise: fused products", check_fused, fused);
}
