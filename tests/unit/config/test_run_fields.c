/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit/support.h"

#include <string.h>

#include "input/config/treatment/layers.h"
#include "base/text/nearest.h"
#include "input/config/run/run_fields.h"
#include "memscope/infer.h"

/* ---- fields ---- */

typedef struct field_case {
    const char *label, *field, *value;
    ms_status status;
    const char *message;
} field_case;

static const field_case field_cases[] = {
    {"batch", "batch", "8", MS_OK, ""},
    {"any case", "Batch", "8", MS_OK, ""},
    {"underscore", "optimizer_impl", "loop", MS_OK, ""},
    {"dtype by its long name", "dtype", "bfloat16", MS_OK, ""},
    {"clip", "clip", "1.0", MS_OK, ""},
    {"clip none", "clip", "none", MS_OK, ""},
    {"clip with an exponent", "clip", "1e-1", MS_OK, ""},
    {"weight decay", "weight-decay", "0", MS_OK, ""},
    {"torch with a patch level", "torch", "2.11.0+cu130", MS_OK, ""},
    {"layers", "checkpointing", "0,2,5-9", MS_OK, ""},
    {"budget", "budget", "80 GB", MS_OK, ""},
    {"no split", "max-split-size", "none", MS_OK, ""},
    {"roundup", "roundup-power2-divisions", "8", MS_OK, ""},
    {"addresses", "addresses", "down", MS_OK, ""},
    {"flag", "ignore-sharding", "true", MS_OK, ""},
    {"flag that is off", "ignore_sharding", "false", MS_OK, ""},
    {"flag by another word", "ignore-sharding", "maybe", MS_ERR_USAGE,
     "ignore-sharding: found 'maybe', expected one of false, true"},
    {"several GPUs", "num_gpus", "8", MS_ERR_USAGE,
     "unknown field 'num_gpus': parallel sets the ranks: --parallel dp=8 predicts "
     "DistributedDataParallel, --parallel fsdp=8 FSDP2"},
    {"parts of a model", "Tensor-Parallel-Size", "8", MS_ERR_USAGE,
     "unknown field 'Tensor-Parallel-Size': parallel sets the ranks: --parallel tp=4 predicts "
     "tensor parallelism, --parallel tp=4,fsdp=8 with FSDP2"},
    {"unknown field", "bacth", "8", MS_ERR_USAGE, "unknown field 'bacth'; did you mean 'batch'?"},
    {"nothing like it", "colour", "8", MS_ERR_USAGE, "unknown field 'colour'"},
    {"what trainers compile", "compile", "yes", MS_ERR_USAGE,
     "unknown field 'compile': torch.compile is not supported: the step is run eagerly"},
    {"precision", "mixed_precision", "fp8", MS_ERR_USAGE,
     "unknown field 'mixed_precision': dtype and autocast set the precision; training in fp8 is "
     "not "
     "supported"},
    {"fp8", "dtype", "fp8-e4m3", MS_ERR_USAGE,
     "dtype: found 'fp8-e4m3': training in fp8 is not supported"},
    {"autocast to fp8", "autocast", "MXFP8", MS_ERR_USAGE,
     "autocast: found 'MXFP8': training in fp8 is not supported"},
    {"an adapter in fp8", "adapter-dtype", "float8", MS_ERR_USAGE,
     "adapter-dtype: found 'float8': training in fp8 is not supported"},
    {"zero", "batch", "0", MS_ERR_USAGE,
     "batch: found '0', expected a whole number from 1 to 1048576"},
    {"sign", "batch", "+8", MS_ERR_USAGE,
     "batch: found '+8', expected a whole number from 1 to 1048576"},
    {"fraction", "seq", "2048.0", MS_ERR_USAGE,
     "seq: found '2048.0', expected a whole number from 2 to 16777216"},
    {"too many", "seq", "18446744073709551617", MS_ERR_USAGE,
     "seq: found '18446744073709551617', expected a whole number from 2 to 16777216"},
    {"empty", "batch", "", MS_ERR_USAGE,
     "batch: found '', expected a whole number from 1 to 1048576"},
    {"blank", "accumulate", " 1", MS_ERR_USAGE,
     "accumulate: found ' 1', expected a whole number from 1 to 4096"},
    {"choice", "attention", "flsh", MS_ERR_USAGE,
     "attention: found 'flsh', expected one of auto, flash, efficient, cudnn, math, eager, "
     "cpu-flash"},
    {"clip zero", "clip", "0", MS_ERR_USAGE,
     "clip: found '0', expected a number above 0, such as 1.0, or none"},
    {"clip infinite", "clip", "inf", MS_ERR_USAGE,
     "clip: found 'inf', expected a number above 0, such as 1.0, or none"},
    {"negative decay", "weight-decay", "-0.1", MS_ERR_USAGE,
     "weight-decay: found '-0.1', expected a number of 0 or more"},
    {"version without a point", "torch", "2", MS_ERR_USAGE,
     "torch: found '2', expected a version such as 2.11"},
    {"old version", "torch", "1.13", MS_ERR_USAGE, "torch: 1.13 is not supported, only 2.x is"},
    {"bare budget", "budget", "80", MS_ERR_USAGE,
     "budget: '80' has no unit; write for example 80GiB or 80GB"},
    {"no budget at all", "budget", "0GiB", MS_ERR_USAGE,
     "budget: 0GiB is less than the minimum, 1 byte"},
    {"budget past 64 bits", "budget", "99999999TiB", MS_ERR_OVERFLOW,
     "budget: '99999999TiB' is more than 1 EiB (2^60 bytes), the largest size accepted"},
    {"roundup zero", "roundup-power2-divisions", "0", MS_ERR_USAGE,
     "roundup-power2-divisions: found '0', expected a whole number from 1 to 1024"},
    {"no device", "device", "", MS_ERR_USAGE, "device: the value is empty"},
};

static void check_field(void **state)
{
    const field_case *c = *state;
    ms_arena *arena = ms_arena_create(0);
    ms_run_draft draft = {0};
    ms_error err = {0};
    assert_int_equal(ms_run_field_set(&draft, arena, c->field, c->value, &err), c->status);
    assert_string_equal(err.text, c->message);
    assert_int_equal(ms_run_field_is_set(&draft, c->field), c->status == MS_OK);
    ms_arena_free(arena);
}

static void rows_are_found_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < MS_RUN_FIELD_COUNT; i++)
        assert_int_equal(ms_run_field_find(ms_run_field_name(i)), i);
    assert_null(ms_run_field_name(MS_RUN_FIELD_COUNT));
}

/* ---- checkpoint specifications, on a model of ten layers ---- */

typedef struct layer_case {
    const char *text;
    ms_status status;
    const char *layers, *message;
} layer_case;

#define WORDING "write none, all, first:8, last:4, every:2 or 0,2,5-9"

static const layer_case layer_cases[] = {
    {"none", MS_OK, "..........", ""},
    {"all", MS_OK, "xxxxxxxxxx", ""},
    {"first:3", MS_OK, "xxx.......", ""},
    {"first:10", MS_OK, "xxxxxxxxxx", ""},
    {"last:4", MS_OK, "......xxxx", ""},
    {"every:2", MS_OK, "x.x.x.x.x.", ""},
    {"every:1", MS_OK, "xxxxxxxxxx", ""},
    {"every:99", MS_OK, "x.........", ""},
    {"0,2,5-9", MS_OK, "x.x..xxxxx", ""},
    {"9", MS_OK, ".........x", ""},
    {"3-3,3", MS_OK, "...x......", ""},
    {"first:11", MS_ERR_CONFIG, "", "11 layers, but the model has 10"},
    {"10", MS_ERR_CONFIG, "", "layer 10 is beyond the last: the model has 10, numbered from 0"},
    {"2-4294967294", MS_ERR_CONFIG, "",
     "layer 4294967294 is beyond the last: the model has 10, numbered from 0"},
    {"first:0", MS_ERR_USAGE, "", "'first:0' does not name layers; " WORDING},
    {"every:", MS_ERR_USAGE, "", "'every:' does not name layers; " WORDING},
    {"5-2", MS_ERR_USAGE, "", "'5-2' does not name layers; " WORDING},
    {"1,,2", MS_ERR_USAGE, "", "'1,,2' does not name layers; " WORDING},
    {"1,", MS_ERR_USAGE, "", "'1,' does not name layers; " WORDING},
    {",", MS_ERR_USAGE, "", "',' does not name layers; " WORDING},
    {"-", MS_ERR_USAGE, "", "'-' does not name layers; " WORDING},
    {"1 2", MS_ERR_USAGE, "", "'1 2' does not name layers; " WORDING},
    {"allx", MS_ERR_USAGE, "", "'allx' does not name layers; " WORDING},
    {"", MS_ERR_USAGE, "", "'' does not name layers; " WORDING},
};

static void check_layers(void **state)
{
    const layer_case *c = *state;
    bool layers[10];
    char text[11] = "";
    ms_error err = {0};
    assert_int_equal(ms_layer_list_select(c->text, 10, layers, &err), c->status);
    assert_string_equal(err.text, c->message);
    for (size_t i = 0; c->status == MS_OK && i < 10; i++)
        text[i] = layers[i] ? 'x' : '.';
    assert_string_equal(text, c->layers);
}

/* ---- words of other tools ---- */

/* A word is no field of its own, and stands for one: of a run, or of inference. */
static void words_stand_for_fields(void **state)
{
    (void)state;
    const ms_run_word *row;
    size_t index = 0, infer_count = 0;
    (void)ms_inference_fields(&infer_count);
    for (; (row = ms_run_word_at(index)) != NULL; index++) {
        bool is_of_run = ms_run_field_find(row->field) >= 0, is_of_inference = false;
        for (size_t i = 0; i < infer_count; i++)
            is_of_inference |= strcmp(ms_inference_fields(&infer_count)[i].name, row->field) == 0;
        assert_true(is_of_run || is_of_inference);
        if (is_of_run)
            assert_int_equal(ms_run_field_find(row->word), -1);
        assert_non_null(strstr(row->why, row->field));
    }
    assert_true(index > 50);
    assert_string_equal(ms_run_field_missing("per_device_train_batch_size"), "it is batch here");
    assert_null(ms_run_field_missing("seq"));
}

/* ---- near names ---- */

static void near_names_are_offered(void **state)
{
    (void)state;
    char hint[64];
    ms_nearest nearest = ms_nearest_to("adma");
    ms_nearest_offer(&nearest, "sgd");
    ms_nearest_offer(&nearest, "adamw");
    ms_nearest_offer(&nearest, "adam");
    assert_string_equal(ms_nearest_hint(&nearest, hint, sizeof hint), "; did you mean 'adam'?");
    nearest = ms_nearest_to("zzzz");
    ms_nearest_offer(&nearest, "adam");
    assert_string_equal(ms_nearest_hint(&nearest, hint, sizeof hint), "");
    char longest[200];
    memset(longest, 'a', sizeof longest);
    longest[199] = '\0';
    nearest = ms_nearest_to(longest);
    ms_nearest_offer(&nearest, "adam");
    assert_null(nearest.name);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_found_by_name),
        cmocka_unit_test(near_names_are_offered),
        cmocka_unit_test(words_stand_for_fields),
    };
    int failed = run_rows("fields", check_field, field_cases);
    failed += run_rows("checkpoint specifications", check_layers, layer_cases);
    failed += cmocka_run_group_tests_name("names", tests, NULL, NULL);
    return failed;
}
