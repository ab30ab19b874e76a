/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * llama.cpp's buffers of weights: causes say in full why they are not the bytes of the file. And
 * its own --fit: what it may not be asked.
 */
#include "unit/support.h"

#include <string.h>

#include "serve/infer/infer.h"
#include "serve/infer/llama/model.h"
#include "serve/infer/trial.h"
#include "base/json/value.h"

typedef struct setting {
    const char *field, *value;
} setting;

enum { MOST_SETTINGS = 6 };

typedef struct opened {
    ms_arena *arena;
    ms_infer_input input;
    ms_infer_settings settings;
} opened;

static void open_model(opened *o, const char *model, const setting *settings)
{
    ms_error err = {.status = MS_OK};
    o->arena = ms_arena_create(0);
    assert_int_equal(ms_infer_settings_init(&o->settings, o->arena, &err), MS_OK);
    assert_int_equal(ms_infer_open(o->arena, model, &o->settings, &o->input, &err), MS_OK);
    for (int i = 0; i < MOST_SETTINGS && settings[i].field; i++)
        assert_int_equal(ms_infer_settings_set(&o->settings, o->arena, settings[i].field,
                                               settings[i].value, &err),
                         MS_OK);
    assert_int_equal(ms_infer_place(&o->input, &o->settings, &err), MS_OK);
}

static void close_model(opened *o)
{
    ms_infer_close(&o->input);
    ms_arena_free(o->arena);
}

/* ---- weights ---- */

typedef struct weight_case {
    const char *label, *model;
    setting settings[MOST_SETTINGS];
    const char *cause; /* the one with the most bytes; NULL: none */
} weight_case;

static const weight_case weights[] = {
    {"a head of its own", "llama-3.1-8b", {{"quant", "q4_k_m"}}, NULL},
    {"a tied head", "gemma-3-4b", {{"quant", "q8_0"}}, "tied-copy"},
    {"the tied head on the host", "gemma-3-4b", {{"quant", "q8_0"}, {"gpu-layers", "0"}}, NULL},
    {"rows that are padded", "gpt-oss-20b", {{"quant", "q8_0"}}, "padding"},
    {"factors on two devices", "llama-3.1-8b", {{"gpus", "2"}}, "shared-copy"},
    {"layers on the host", "llama-3.1-8b", {{"gpu-layers", "20"}}, "mapped"},
    {"the same without a map",
     "llama-3.1-8b",
     {{"gpu-layers", "20"}, {"mmap", "no"}},
     "shared-copy"},
    {"rearranged", "llama-3.1-8b", {{"quant", "q4_0"}, {"device", "cpu"}}, "repacked"},
    {"rearranged, without a map",
     "llama-3.1-8b",
     {{"quant", "q4_0"}, {"device", "cpu"}, {"mmap", "no"}},
     NULL},
    {"not rearranged",
     "llama-3.1-8b",
     {{"quant", "q4_0"}, {"device", "cpu"}, {"repack", "no"}},
     NULL},
};

static uint64_t stored_bytes(const opened *o)
{
    ms_error err = {.status = MS_OK};
    ms_llama_model model;
    uint64_t sum = 0;
    const ms_infer_job job = {.settings = &o->settings,
                              .device = o->input.device,
                              .config = o->input.config,
                              .file = ms_json_root(o->input.document),
                              .arena = o->arena};
    assert_int_equal(ms_llama_model_load(&job, &model, &err), MS_OK);
    for (uint32_t i = 0; i < model.tensors.count; i++)
        sum += model.tensors.items[i].bytes;
    ms_llama_model_free(&model);
    return sum;
}

static void check_weights(void **state)
{
    const weight_case *c = *state;
    opened o;
    ms_infer_answer answer;
    ms_error err = {.status = MS_OK};
    open_model(&o, c->model, c->settings);
    assert_int_equal(ms_infer_run(&o.input, &o.settings, &answer, &err), MS_OK);
    const ms_stored_causes *causes = &answer.result.causes;
    const ms_stored_cause *first = NULL;
    int64_t sum = 0;
    for (uint32_t i = 0; i < causes->count; i++) {
        const ms_stored_cause *cause = &causes->items[i];
        sum += cause->bytes;
        if (!first || llabs(cause->bytes) > llabs(first->bytes))
            first = cause;
    }
    assert_int_equal((int64_t)answer.loaded_bytes - (int64_t)stored_bytes(&o), sum);
    if (c->cause)
        assert_string_equal(first ? first->name : "none", c->cause);
    else
        assert_null(first);
    ms_infer_answer_free(&answer);
    close_model(&o);
}

/* ---- its own --fit ---- */

typedef struct refused_case {
    const char *label, *model;
    setting settings[MOST_SETTINGS];
    const char *sentence; /* begins with it */
} refused_case;

static const refused_case refused[] = {
    {"no memory known",
     "gpt2",
     {{"engine-fit", "server"}, {"device", "cpu"}},
     "engine-fit: the memory"},
    {"beside fit",
     "gpt2",
     {{"engine-fit", "server"}, {"fit", "context"}},
     "engine-fit: llama.cpp's own"},
    {"too many margins",
     "gpt2",
     {{"engine-fit", "server"}, {"gpus", "2"}, {"fit-target", "1/2/3"}},
     "fit-target: expected one value"},
    {"a margin that is no number",
     "gpt2",
     {{"engine-fit", "server"}, {"fit-target", "1GiB"}},
     "fit-target: '1GiB'"},
};

static void check_refused(void **state)
{
    const refused_case *c = *state;
    opened o;
    ms_infer_answer answer;
    ms_error err = {.status = MS_OK};
    open_model(&o, c->model, c->settings);
    assert_int_equal(ms_infer_run(&o.input, &o.settings, &answer, &err), MS_ERR_USAGE);
    assert_memory_equal(err.text, c->sentence, strlen(c->sentence));
    close_model(&o);
}

int main(void)
{
    int failed = run_rows("weights of llama.cpp", check_weights, weights);
    return failed + run_rows("its own --fit", check_refused, refused);
}
