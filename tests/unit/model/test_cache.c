/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A prompt and the tokens after it with a cache of keys and values: after each pass and at its peak
 * as many bytes are allocated as PyTorch measured. tests/oracle/generation has the cases.
 */
#include "model/blocks/cache.h"

#include <inttypes.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "input/config/run/attention.h"
#include "base/json/read.h"
#include "run/measure/usage.h"
#include "torch/ops/ops.h"
#include "core/trace/build.h"
#include "unit/fixtures.h"

enum { MOST_CASES = 128, MOST_PASSES = 64 };
static const char *const case_files[] = {"tests/oracle/generation/dynamic_cuda.json",
                                         "tests/oracle/generation/real_sizes_cuda.json"};

typedef struct generation {
    ms_arena *arena;
    ms_model_config config;
    ms_run_config run;
    ms_trace trace;
    ms_tape tape;
    ms_model model;
    ms_cache *cache;
} generation;

static void mark(generation *g, bool begin, ms_phase phase, uint16_t pass)
{
    g->tape.phase = (uint8_t)phase;
    ms_mark row = {.begin = begin, .phase = (uint8_t)phase, .step = pass, .repeats = 1};
    assert_int_not_equal(ms_trace_add_mark(&g->trace, row), MS_NONE);
}

/* The model as from_config makes it. */
static void build(generation *g)
{
    ms_model *model = &g->model;
    assert_true(ms_trace_init(&g->trace));
    const ms_tape_options options = {.device = g->run.device,
                                     .torch_major = g->run.torch_major,
                                     .torch_minor = g->run.torch_minor};
    assert_true(ms_tape_init(&g->tape, &g->trace, options));
    ms_model_init(model, &g->tape, g->arena, &g->config, &g->run);
    g->tape.repeats = 1;
    mark(g, true, MS_PHASE_BUILD, 0);
    assert_true(g->config.family->program->build(model));
    assert_true(ms_model_index_leaves(model));
    mark(g, false, MS_PHASE_BUILD, 0);
    g->tape.grad_enabled = false;
    g->tape.is_evaluating = true;
    g->tape.pass = MS_PASS_FORWARD;
}

static ms_tensor new_ids(generation *g)
{
    ms_tensor ids = ms_empty(&g->tape, MS_SHAPE(g->model.batch, g->model.seq), MS_DTYPE_I64);
    ms_retain(&g->tape, ids);
    return ids;
}

/* One pass over `ids`; yields the next token's: the argmax of the logits. */
static ms_tensor run_pass(generation *g, ms_tensor ids)
{
    const ms_model_inputs in = {.ids = ids, .cache = g->cache, .kept_logits = 1};
    ms_model_outputs out = {0};
    ms_model_forward(&g->model, &in, &out);
    g->model.seq = ms_dim_number(&g->trace.symbols, 1);
    ms_tensor next = new_ids(g);
    ms_release(&g->tape, out.logits);
    return next;
}

/* What is alive now and was not when the model was made, but for workspaces. */
static uint64_t left_bytes(const generation *g)
{
    uint64_t bytes = 0;
    bool is_built = false;
    for (uint32_t i = 0; i < g->trace.events.count; i++) {
        ms_event e = g->trace.events.items[i];
        is_built = is_built || (e.kind == MS_EVENT_MARK && !g->trace.marks.items[e.id].begin);
        if (!is_built || (e.kind != MS_EVENT_ALLOC && e.kind != MS_EVENT_FREE))
            continue;
        const ms_storage *storage = &g->trace.storages.items[e.id];
        if (storage->category != MS_CATEGORY_WORKSPACE)
            bytes += e.kind == MS_EVENT_ALLOC ? storage->bytes : -storage->bytes;
    }
    return bytes;
}

/* A pass for each count: of tokens of the prompt, whose ids stay, or of the one that the last pass
 * chose. */
static void run_passes(generation *g, uint32_t count, const uint64_t *tokens)
{
    ms_tensor prompts[MOST_PASSES], token = 0;
    uint32_t prompt_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        mark(g, true, MS_PHASE_FORWARD, (uint16_t)(i + 1));
        g->model.seq = ms_dim_number(&g->trace.symbols, tokens[i]);
        ms_tensor ids = token;
        if (!token || tokens[i] > 1)
            ids = prompts[prompt_count++] = new_ids(g);
        ms_tensor next = run_pass(g, ids);
        ms_release(&g->tape, token);
        token = next;
        mark(g, false, MS_PHASE_FORWARD, (uint16_t)(i + 1));
    }
    ms_cache_clear(&g->model, g->cache);
    ms_release(&g->tape, token);
    for (uint32_t i = 0; i < prompt_count; i++)
        ms_release(&g->tape, prompts[i]);
    assert_int_equal(g->tape.status, MS_OK);
    assert_int_equal(left_bytes(g), 0);
}

static void release(generation *g)
{
    ms_model_free(&g->model);
    ms_tape_free(&g->tape);
    ms_trace_free(&g->trace);
    ms_arena_free(g->arena);
}

/* ---- the measured cases ---- */

typedef struct case_row {
    const char *label;
    ms_json_value value;
} case_row;

static uint64_t count_at(ms_json_value value, const char *pointer)
{
    ms_json_value found;
    ms_error err = {0};
    uint64_t count = 0;
    if (!ms_json_find_pointer(value, pointer, &found))
        fail_msg("no %s", pointer);
    assert_int_equal(ms_json_get_count(found, 0, UINT64_MAX, &count, &err), MS_OK);
    return count;
}

static generation *load(ms_json_value value)
{
    static generation g;
    memset(&g, 0, sizeof g);
    const ms_run_setting settings[] = {{"device", "a100-80gb"}, {"torch", "2.11"}};
    ms_json_value run;
    ms_error err = {0};
    assert_true(ms_json_find(value, "run", &run));
    g.arena = ms_arena_create(0);
    assert_non_null(g.arena);
    const ms_loaded into = {&g.config, &g.run, NULL};
    if (ms_run_load_value(g.arena, run, "", settings, 2, into, &err) != MS_OK)
        fail_msg("%s", err.text);
    return &g;
}

/* Prints what differs. */
static int differs(const char *what, uint64_t pass, uint64_t ours, uint64_t theirs)
{
    if (ours == theirs)
        return 0;
    print_error("pass %" PRIu64 ": %s %" PRIu64 ", measured %" PRIu64 " (%+" PRId64 ")\n", pass,
                what, ours, theirs, (int64_t)(ours - theirs));
    return 1;
}

static uint32_t tokens_of(ms_json_value value, uint64_t tokens[MOST_PASSES])
{
    ms_json_value list, item;
    uint32_t count = 0;
    assert_true(ms_json_find(value, "tokens", &list));
    for (bool more = ms_json_first(list, &item); more; more = ms_json_next(&item)) {
        assert_true(count < MOST_PASSES);
        tokens[count++] = count_at(item, "");
    }
    return count;
}

/* How many figures differ from those that were measured of single passes. */
static int compare_passes(ms_json_value measured, const ms_usage *usage)
{
    ms_json_value passes, pass;
    uint32_t i = 0;
    assert_true(ms_json_find(measured, "passes", &passes));
    assert_true(ms_json_length(passes) <= usage->phases.count);
    int wrong = differs("loaded", 0, usage->after_build_bytes, count_at(measured, "/loaded"));
    for (bool more = ms_json_first(passes, &pass); more; more = ms_json_next(&pass), i++) {
        const ms_phase_usage *phase = &usage->phases.items[i];
        wrong += differs("peak", i + 1, phase->peak_bytes, count_at(pass, "/peak"));
        wrong += differs("end", i + 1, phase->end_bytes, count_at(pass, "/end"));
    }
    return wrong;
}

/* The same of all passes over single tokens together, where they were not measured one by one. */
static int compare_rest(ms_json_value measured, const ms_usage *usage)
{
    uint32_t last = usage->phases.count - 1;
    uint64_t most = 0;
    for (uint32_t i = 1; i <= last; i++)
        most = usage->phases.items[i].peak_bytes > most ? usage->phases.items[i].peak_bytes : most;
    return differs("highest peak", 0, most, count_at(measured, "/rest/peak")) +
           differs("end", last + 1, usage->phases.items[last].end_bytes,
                   count_at(measured, "/rest/end"));
}

static void as_measured(void **state)
{
    const case_row *row = *state;
    generation *g = load(row->value);
    uint64_t tokens[MOST_PASSES];
    uint32_t count = tokens_of(row->value, tokens);
    ms_json_value measured, rest;
    ms_usage usage;
    ms_error err = {0};
    build(g);
    if (ms_cache_new(&g->model, 0, NULL, &g->cache, &err) != MS_OK)
        fail_msg("%s", err.text);
    run_passes(g, count, tokens);
    if (ms_usage_measure(&g->trace, &g->run.allocator, &usage, &err) != MS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(usage.phases.count, count);
    assert_true(ms_json_find(row->value, "measured", &measured));
    int wrong = compare_passes(measured, &usage);
    if (ms_json_find(measured, "rest", &rest))
        wrong += compare_rest(measured, &usage);
    assert_int_equal(wrong, 0);
    ms_usage_free(&usage);
    release(g);
}

/* ---- families without ---- */

static void is_refused(void **state)
{
    (void)state;
    ms_arena *arena = ms_arena_create(0);
    const ms_model_config config = {.family = family_of(arena, "lfm2")};
    const ms_model model = {.config = &config};
    ms_cache *cache = NULL;
    ms_error err = {0};
    assert_int_equal(ms_cache_new(&model, 0, NULL, &cache, &err), MS_ERR_CONFIG);
    assert_string_equal(err.text, "model type lfm2: a cache of keys and values is unsupported");
    ms_arena_free(arena);
}

typedef struct case_list {
    case_row rows[MOST_CASES];
    size_t count;
    ms_json *documents[COUNT_OF(case_files)]; /* the rows point into them */
    char *texts[COUNT_OF(case_files)];
} case_list;

/* Adds the cases of a file; false after a message. */
static bool add_cases(case_list *list, size_t file)
{
    ms_json_source source;
    ms_json_value cases, item, id;
    ms_error err = {0};
    if (ms_json_read(NULL, case_files[file], &source, &list->texts[file], &err) != MS_OK ||
        ms_json_parse(&source, &list->documents[file], &err) != MS_OK ||
        ms_json_get_list(ms_json_root(list->documents[file]), "cases", &cases, &err) != MS_OK) {
        print_error("%s\n", err.text);
        return false;
    }
    for (bool more = ms_json_first(cases, &item); more; more = ms_json_next(&item)) {
        case_row *row = &list->rows[list->count];
        if (list->count == MOST_CASES || !ms_json_find(item, "id", &id) ||
            ms_json_get_string(id, &row->label, &err) != MS_OK) {
            print_error("%s: too many cases, or one without a name\n", case_files[file]);
            return false;
        }
        row->value = item;
        list->count++;
    }
    return true;
}

int main(void)
{
    static case_list list;
    struct CMUnitTest tests[MOST_CASES + 1] = {cmocka_unit_test(is_refused)};
    bool is_read = true;
    for (size_t i = 0; i < COUNT_OF(case_files) && is_read; i++)
        is_read = add_cases(&list, i);
    add_rows(tests + 1, as_measured, list.rows, list.count, sizeof list.rows[0]);
    int failed = !is_read;
    if (is_read)
        failed = _cmocka_run_group_tests("generation", tests, list.count + 1, NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(case_files); i++) {
        ms_json_free(list.documents[i]);
        free(list.texts[i]);
    }
    return failed;
}
