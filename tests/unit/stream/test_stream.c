/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Streamed weights: the schedule keeps its promises for every small number of layers and places;
 * times are those of recurrences that are written another way here; memory follows from the model's
 * dimensions.
 */
#include <math.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "serve/stream/clock.h"
#include "serve/stream/run_trace.h"
#include "serve/stream/prefetch.h"
#include "serve/stream/table.h"
#include "unit/fixtures.h"

/* ---- the schedule ---- */

enum { MOST_LAYERS = 9 };

typedef struct place {
    bool is_taken;
    uint64_t index; /* of the layer in it, over all passes */
} place;

typedef struct watch {
    uint32_t layers, slots;
    uint64_t fetched, used, passes;
    place places[MOST_LAYERS];
} watch;

static uint32_t taken(const watch *w)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->slots; i++)
        count += w->places[i].is_taken;
    return count;
}

static void watch_action(watch *w, ms_stream_action a)
{
    bool stays = w->slots == w->layers;
    uint64_t index = a.pass * w->layers + a.layer;
    place *p = &w->places[a.slot];
    assert_true(a.slot < w->slots && a.layer < w->layers);
    switch (a.kind) {
    case MS_STREAM_FETCH:
        assert_false(p->is_taken);
        assert_int_equal(index, w->fetched);
        assert_true(index < w->used + w->slots);
        *p = (place){true, index};
        w->fetched++;
        break;
    case MS_STREAM_USE:
        assert_true(p->is_taken);
        assert_int_equal(index, w->used);
        assert_int_equal(stays ? p->index % w->layers : p->index,
                         stays ? index % w->layers : index);
        w->used++;
        break;
    case MS_STREAM_EVICT:
        assert_false(stays);
        assert_int_equal(index, w->used - 1);
        p->is_taken = false;
        break;
    case MS_STREAM_PASS:
        assert_int_equal(w->used, ++w->passes * w->layers);
        break;
    case MS_STREAM_END:
        break;
    }
    assert_true(taken(w) <= w->slots);
}

/* The next layers are always on their way: when a layer is used, as many as there are places. */
static void watch_ahead(const watch *w, const ms_stream_schedule *s, ms_stream_action a)
{
    uint64_t ahead = w->used - 1 + w->slots, all = s->passes * w->layers;
    if (a.kind == MS_STREAM_USE && w->slots < w->layers)
        assert_int_equal(w->fetched, ahead < all ? ahead : all);
}

static void check_schedule(void **state)
{
    (void)state;
    for (uint32_t layers = 1; layers <= MOST_LAYERS; layers++)
        for (uint64_t prefetch = 1; prefetch <= MOST_LAYERS + 1; prefetch++)
            for (uint64_t passes = 1; passes <= 4; passes++) {
                ms_stream_schedule s = ms_stream_schedule_begin(layers, prefetch, passes);
                watch w = {.layers = layers, .slots = s.slots};
                ms_stream_action a;
                assert_int_equal(s.slots, prefetch < layers ? prefetch + 1 : layers);
                while ((a = ms_stream_schedule_next(&s)).kind != MS_STREAM_END) {
                    watch_action(&w, a);
                    watch_ahead(&w, &s, a);
                }
                assert_int_equal(w.used, passes * layers);
                assert_int_equal(w.passes, passes);
                assert_int_equal(w.fetched, s.slots == layers ? layers : passes * layers);
            }
}

/* ---- times ---- */

/* The same times by recurrences over the layers of all passes. */
static void recur(const ms_stream_pass *pass, uint32_t slots, uint32_t passes, double *ends)
{
    uint32_t layers = pass->layers.count;
    double *computed = calloc((size_t)layers * passes, sizeof *computed), copied = 0, now = 0;
    assert_non_null(computed);
    for (uint32_t i = 0; i < layers * passes; i++) {
        const ms_stream_layer *layer = &pass->layers.items[i % layers];
        if (slots < layers || i < layers) {
            double is_free = i >= slots ? computed[i - slots] : 0;
            copied = fmax(copied, is_free) + ms_stream_copy_ms(pass, i % layers);
        }
        now = fmax(now + layer->before_ms, copied) + layer->compute_ms;
        computed[i] = now;
        if (i % layers == layers - 1)
            ends[i / layers] = now += pass->after_ms;
    }
    free(computed);
}

static uint32_t roll(uint32_t *seed, uint32_t sides)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % sides;
}

static ms_stream_pass random_pass(uint32_t *seed)
{
    ms_stream_pass pass = {.is_timed = true, .link_bytes_per_s = 1e6, .after_ms = roll(seed, 9)};
    uint32_t layers = 1 + roll(seed, 12);
    for (uint32_t i = 0; i < layers; i++) {
        const ms_stream_layer layer = {.block_bytes = 1000 * (1 + roll(seed, 9)),
                                       .before_ms = i == 0 ? roll(seed, 5) : 0,
                                       .compute_ms = roll(seed, 12)};
        assert_true(ms_vec_push(&pass.layers, layer));
    }
    return pass;
}

static void check_times(void **state)
{
    enum { PASSES = 24, ROUNDS = 300 };
    uint32_t seed = 7;
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        ms_stream_pass pass = random_pass(&seed);
        double ends[PASSES], others[PASSES], most = 0;
        uint64_t prefetch = 1 + roll(&seed, 12);
        uint32_t layers = pass.layers.count;
        ms_error err = {0};
        assert_int_equal(ms_stream_clock_passes(&pass, prefetch, PASSES, ends, &err), MS_OK);
        recur(&pass, prefetch < layers ? (uint32_t)prefetch + 1 : layers, PASSES, others);
        for (int k = 0; k < PASSES; k++)
            most = fmax(most, fabs(ends[k] - others[k]));
        assert_true(most < 1e-6);
        ms_stream_pass_free(&pass);
    }
}

typedef struct uniform_case {
    const char *label;
    uint32_t layers;
    double compute_ms, copy_ms, after_ms;
    uint64_t prefetch;
    double pass_ms, first_ms, hidden_ms;
    uint64_t hides, best;
} uniform_case;

static const uniform_case uniform_cases[] = {
    {"computing is longer", 4, 3, 2, 0, 1, 12, 14, 8, 1, 1},
    {"both alike", 4, 3, 3, 0, 1, 12, 15, 12, 1, 1},
    {"copies are longer", 4, 2, 3, 0, 1, 12, 14, 8, 0, 1},
    {"copies are longer, more ahead", 4, 2, 3, 0, 2, 12, 14, 8, 0, 1},
    {"a head gives the copies time", 4, 2, 3, 9, 1, 19, 23, 10, 2, 2},
    {"a head and two ahead", 4, 2, 3, 9, 2, 17, 23, 12, 2, 2},
    {"all stay", 4, 2, 3, 0, 3, 8, 14, 0, 0, 1},
    {"more than there are", 4, 2, 3, 0, 99, 8, 14, 0, 0, 1},
    {"a single layer", 1, 2, 3, 1, 1, 3, 6, 0, 0, 0},
    {"two layers", 2, 2, 3, 0, 1, 4, 8, 0, 0, 0},
    {"no computing", 3, 0, 1, 0, 1, 3, 3, 0, 0, 1},
};

static void check_uniform(void **state)
{
    const uniform_case *c = *state;
    ms_stream_pass pass = {.is_timed = true, .link_bytes_per_s = 1e6, .after_ms = c->after_ms};
    ms_stream_times times;
    ms_stream_enough enough;
    ms_error err = {0};
    for (uint32_t i = 0; i < c->layers; i++) {
        const ms_stream_layer layer = {.block_bytes = (uint64_t)(c->copy_ms * 1000),
                                       .compute_ms = c->compute_ms};
        assert_true(ms_vec_push(&pass.layers, layer));
    }
    assert_int_equal(ms_stream_clock_play(&pass, c->prefetch, &times, &err), MS_OK);
    assert_int_equal(ms_stream_clock_enough(&pass, &enough, &err), MS_OK);
    assert_true(fabs(times.pass_ms - c->pass_ms) < 1e-9);
    assert_true(fabs(times.first_ms - c->first_ms) < 1e-9);
    assert_true(fabs(times.hidden_ms - c->hidden_ms) < 1e-9);
    assert_true(fabs(times.compute_ms - (c->layers * c->compute_ms + c->after_ms)) < 1e-9);
    assert_int_equal(enough.hides, c->hides);
    assert_int_equal(enough.best, c->best);
    ms_stream_pass_free(&pass);
}

/* ---- lists ---- */

typedef struct list_case {
    const char *text;
    uint32_t count; /* 0: refused */
    uint64_t counts[8];
} list_case;

static const list_case list_cases[] = {
    {"3", 1, {3}},
    {"1:4", 4, {1, 2, 3, 4}},
    {"8,1,4", 3, {1, 4, 8}},
    {"1:16:*2", 5, {1, 2, 4, 8, 16}},
    {"2:9:+3", 3, {2, 5, 8}},
    {"2,1:3,2", 3, {1, 2, 3}},
    {"18446744073709551615", 1, {UINT64_MAX}},
    {"18446744073709551614:18446744073709551615", 2, {UINT64_MAX - 1, UINT64_MAX}},
    {"9223372036854775808:18446744073709551615:*2", 1, {UINT64_C(1) << 63}},
    {"", 0, {0}},
    {"0", 0, {0}},
    {"0:4", 0, {0}},
    {"4:1", 0, {0}},
    {"1,", 0, {0}},
    {",1", 0, {0}},
    {"1:", 0, {0}},
    {"1:8:2", 0, {0}},
    {"1:8:*1", 0, {0}},
    {"1:8:+0", 0, {0}},
    {"1:8:*", 0, {0}},
    {"1 ", 0, {0}},
    {"-1", 0, {0}},
    {"1e3", 0, {0}},
    {"18446744073709551616", 0, {0}},
    {"1:257", 0, {0}},
    {"1:18446744073709551615", 0, {0}},
};

static void check_list(void **state)
{
    const list_case *c = *state;
    ms_stream_prefetches list;
    ms_error err = {0};
    ms_status status = ms_stream_prefetch_read(c->text, &list, &err);
    assert_int_equal(status, c->count ? MS_OK : MS_ERR_USAGE);
    assert_int_equal(list.counts.count, c->count);
    for (uint32_t i = 0; i < c->count; i++)
        assert_int_equal(list.counts.items[i], c->counts[i]);
    ms_stream_prefetch_free(&list);
}

/* ---- models ---- */

typedef struct model_case {
    const char *label, *config;
    ms_inference_phase phase;
    ms_run_setting settings[4];
    uint32_t layers;
    uint64_t layer_elements; /* of the largest layer; 0: not known here */
    uint64_t cache_elements; /* of the whole cache */
} model_case;

/* Dimensions by hand: Llama 3.2 1B has 16 layers of 2048, 8192 and 8 heads of 64 for keys. */
static const model_case model_cases[] = {
    {"llama prefill",
     "llama-3.2-1b",
     MS_INFERENCE_PREFILL,
     {{"batch", "2"}, {"seq", "256"}},
     16,
     2 * 2048 * 2048 + 2 * 2048 * 512 + 3 * 2048 * 8192 + 2 * 2048,
     16 * 2 * 2 * 256 * 512},
    {"llama decode",
     "llama-3.2-1b",
     MS_INFERENCE_DECODE,
     {{"batch", "2"}, {"seq", "256"}},
     16,
     2 * 2048 * 2048 + 2 * 2048 * 512 + 3 * 2048 * 8192 + 2 * 2048,
     16 * 2 * 2 * 256 * 512},
    {"the second token",
     "llama-3.2-1b",
     MS_INFERENCE_DECODE,
     {{"seq", "2"}},
     16,
     2 * 2048 * 2048 + 2 * 2048 * 512 + 3 * 2048 * 8192 + 2 * 2048,
     16 * 2 * 2 * 512},
    {"gpt2",
     "gpt2",
     MS_INFERENCE_PREFILL,
     {{"seq", "64"}},
     12,
     12 * 768 * 768 + 13 * 768,
     12 * 2 * 64 * 768},
    {"an adapter streams too",
     "llama-3.2-1b",
     MS_INFERENCE_DECODE,
     {{"seq", "64"}, {"lora", "r=8,targets=q_proj"}},
     16,
     2 * 2048 * 2048 + 2 * 2048 * 512 + 3 * 2048 * 8192 + 2 * 2048 + 2 * 2 * 8 * 2048 /* in fp32 */,
     16 * 2 * 64 * 512},
    {"quantised",
     "llama-3.2-1b",
     MS_INFERENCE_DECODE,
     {{"seq", "64"}, {"quantize", "nf4"}, {"lora", "r=8"}},
     16,
     0,
     16 * 2 * 64 * 512},
    {"experts", "qwen3-30b-a3b", MS_INFERENCE_DECODE, {{"seq", "64"}}, 48, 0, 48 * 2 * 64 * 512},
    {"no cache", "lfm2-350m", MS_INFERENCE_PREFILL, {{"seq", "64"}}, 16, 0, 0},
    {"pictures",
     "tests/golden/config/valid/vit-defaults/config.json",
     MS_INFERENCE_PREFILL,
     {{NULL, NULL}},
     12,
     0,
     0},
};

enum { LEAST_SPLIT = 1 << 20 }; /* of a block, that the allocator makes a block of its own */

static void check_rows(const ms_stream_table *t)
{
    for (uint32_t i = 0; i < t->rows.count; i++) {
        const ms_stream_row *r = &t->rows.items[i];
        assert_int_equal(r->places, r->prefetch + 1);
        assert_true(r->places <= t->pass.layers.count);
        assert_int_equal(r->stays, r->places == t->pass.layers.count);
        assert_true(r->places_bytes >= r->places * t->pass.slot_bytes);
        assert_true(r->places_bytes < r->places * (t->pass.slot_bytes + LEAST_SPLIT));
        assert_int_equal(r->outside_bytes, t->rows.items[0].outside_bytes);
        assert_int_equal(r->peak_bytes,
                         r->places_bytes + r->outside_bytes + r->cache_bytes + r->other_bytes);
        assert_true(r->reserved_bytes >= r->peak_bytes);
        assert_true(r->outside_bytes >= t->pass.outside_bytes);
        assert_int_equal(r->pinned_bytes,
                         (r->stays && r->places > 2 ? 2 : r->places) * t->pass.slot_bytes);
        if (i > 0)
            assert_true(r->prefetch > r[-1].prefetch && r->times.pass_ms <= r[-1].times.pass_ms);
    }
}

/* Nothing of the model is lost: layers and the rest are all weights and buffers. */
static void check_whole(const ms_model_config *model, const ms_run_config *run, const model_case *c,
                        const ms_stream_table *t)
{
    const ms_inference inference = {.phase = c->phase, .passes = 1};
    ms_simulation whole;
    ms_error err = {0};
    assert_int_equal(ms_step_infer(model, run, &inference, &whole, &err), MS_OK);
    assert_int_equal(t->pass.layers_bytes + t->pass.outside_bytes,
                     whole.weight_bytes + whole.buffer_bytes);
    assert_int_equal(t->param_count, whole.param_count);
    ms_simulation_free(&whole);
}

static void check_model(void **state)
{
    const model_case *c = *state;
    ms_run_setting settings[6] = {{"config", c->config}, {"device", "h100-80gb"}};
    ms_arena *arena = ms_arena_create(0);
    ms_model_config model;
    ms_run_config run;
    ms_stream_prefetches list;
    ms_stream_table table;
    ms_error err = {0};
    memcpy(settings + 2, c->settings, sizeof c->settings);
    load_run(arena, settings, COUNT_OF(settings), &model, &run);
    assert_int_equal(ms_stream_prefetch_read("1:4,11,200,300", &list, &err), MS_OK);
    if (ms_stream_table_build(&model, &run, c->phase, &list, &table, &err) != MS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(table.pass.layers.count, c->layers);
    if (c->layer_elements)
        assert_int_equal(table.pass.layers.items[1].weight_bytes, 2 * c->layer_elements);
    assert_int_equal(table.cache_bytes, 2 * c->cache_elements);
    assert_int_equal(table.rows.items[table.rows.count - 1].places, c->layers);
    check_rows(&table);
    check_whole(&model, &run, c, &table);
    ms_stream_table_free(&table);
    ms_stream_prefetch_free(&list);
    ms_arena_free(arena);
}

/* A training run's settings change nothing. */
static void check_training_settings(void **state)
{
    static const ms_run_setting plain[] = {{"config", "gpt2"}, {"seq", "64"}},
                                trained[] = {{"config", "gpt2"},       {"seq", "64"},
                                             {"checkpointing", "all"}, {"optimizer", "sgd"},
                                             {"accumulate", "4"},      {"treat", "0-11=tile:4"}};
    ms_stream_prefetches list;
    ms_stream_table tables[2];
    ms_arena *arena = ms_arena_create(0);
    ms_error err = {0};
    (void)state;
    assert_int_equal(ms_stream_prefetch_read("1", &list, &err), MS_OK);
    for (int i = 0; i < 2; i++) {
        ms_model_config model;
        ms_run_config run;
        load_run(arena, i ? trained : plain, i ? COUNT_OF(trained) - 1 : COUNT_OF(plain), &model,
                 &run);
        assert_int_equal(
            ms_stream_table_build(&model, &run, MS_INFERENCE_PREFILL, &list, &tables[i], &err),
            MS_OK);
    }
    const ms_stream_row *a = &tables[0].rows.items[0], *b = &tables[1].rows.items[0];
    assert_int_equal(a->peak_bytes, b->peak_bytes);
    assert_int_equal(a->reserved_bytes, b->reserved_bytes);
    assert_true(fabs(a->times.pass_ms - b->times.pass_ms) < 1e-12);
    ms_stream_table_free(&tables[0]);
    ms_stream_table_free(&tables[1]);
    ms_stream_prefetch_free(&list);
    ms_arena_free(arena);
}

typedef struct refusal_case {
    const char *label, *config, *device;
    ms_inference_phase phase;
    const char *text;
} refusal_case;

static const refusal_case refusal_cases[] = {
    {"the host", "gpt2", "cpu", MS_INFERENCE_PREFILL,
     "device: weights stream from the host to a GPU, but cpu is the host itself"},
    {"no cache to decode with", "lfm2-350m", "t4", MS_INFERENCE_DECODE,
     "model type lfm2: a cache of keys and values is unsupported"},
};

static void check_refusal(void **state)
{
    const refusal_case *c = *state;
    const ms_run_setting settings[] = {{"config", c->config}, {"device", c->device}};
    ms_arena *arena = ms_arena_create(0);
    ms_model_config model;
    ms_run_config run;
    ms_stream_prefetches list;
    ms_stream_table table;
    ms_error err = {0};
    load_run(arena, settings, COUNT_OF(settings), &model, &run);
    assert_int_equal(ms_stream_prefetch_read("1", &list, &err), MS_OK);
    assert_int_equal(ms_stream_table_build(&model, &run, c->phase, &list, &table, &err),
                     MS_ERR_CONFIG);
    assert_string_equal(err.text, c->text);
    ms_stream_prefetch_free(&list);
    ms_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(check_schedule),
                                       cmocka_unit_test(check_times),
                                       cmocka_unit_test(check_training_settings)};
    int failed = _cmocka_run_group_tests("schedule and times", tests, COUNT_OF(tests), NULL, NULL);
    failed += run_rows("equal layers", check_uniform, uniform_cases);
    failed += run_rows("lists", check_list, list_cases);
    failed += run_rows("models", check_model, model_cases);
    return failed + run_rows("refusals", check_refusal, refusal_cases);
}
