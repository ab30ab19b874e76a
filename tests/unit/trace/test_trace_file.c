/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A trace that was written and read again gives the figures of the first, to the byte; and what is
 * no trace is refused at its place.
 */
#include <stdio.h>
#include <stdlib.h>

#include "decide/ledger/events.h"
#include "input/config/model/model_config.h"
#include "run/measure/profile.h"
#include "run/measure/schedule.h"
#include "run/step/step.h"
#include "core/trace/trace_read.h"
#include "core/trace/trace.h"
#include "unit/fixtures.h"

/* ---- written, read, measured ---- */

typedef struct run_case {
    const char *label;
    ms_run_setting settings[8];
} run_case;

#define GPT2                                                                                       \
    {"config", "gpt2"}, {"seq", "48"},                                                             \
    {                                                                                              \
        "device", "a100-80gb"                                                                      \
    }

static const run_case runs[] = {
    {"plain", {GPT2, {"batch", "2"}}},
    {"checkpoints", {GPT2, {"treat", "all=checkpoint"}}},
    {"selective", {GPT2, {"treat", "0-5=selective:addmm"}}},
    {"offload", {GPT2, {"treat", "all=offload:0.5"}}},
    {"checkpoints offloaded", {GPT2, {"treat", "all=checkpoint+offload"}}},
    {"optimizer on the host", {GPT2, {"optimizer-device", "host"}, {"batch", "2"}}},
    {"parameters on the host",
     {GPT2, {"optimizer-device", "host"}, {"parameter-device", "host"}, {"accumulate", "2"}}},
    {"accumulate", {GPT2, {"accumulate", "3"}, {"clip", "1"}}},
    {"empty cache", {GPT2, {"empty-cache-steps", "1"}}},
    {"cpu", {{"config", "gpt2"}, {"seq", "48"}, {"device", "cpu"}}},
};

static char *written(const ms_trace *trace, const ms_trace_facts *facts)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    ms_trace_write(trace, facts, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static ms_status read_text(const char *text, ms_trace_file *read, ms_error *err)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_non_null(file);
    ms_status status = ms_trace_read(file, "run.jsonl", read, err);
    fclose(file);
    return status;
}

static char *events_of(const ms_trace *trace, const ms_usage *usage)
{
    char *text = NULL;
    size_t length = 0;
    ms_error err = {0};
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    assert_int_equal(ms_events_write(trace, usage, out, &err), MS_OK);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void compare_phases(const ms_usage *a, const ms_usage *b)
{
    assert_int_equal(a->phases.count, b->phases.count);
    for (uint32_t i = 0; i < a->phases.count; i++) {
        const ms_phase_usage *x = &a->phases.items[i], *y = &b->phases.items[i];
        assert_true(x->phase == y->phase && x->step == y->step && x->repeats == y->repeats);
        assert_int_equal(x->start_bytes, y->start_bytes);
        assert_int_equal(x->peak_bytes, y->peak_bytes);
        assert_int_equal(x->end_bytes, y->end_bytes);
        assert_int_equal(x->peak_requested_bytes, y->peak_requested_bytes);
        assert_int_equal(x->peak_reserved_bytes, y->peak_reserved_bytes);
        assert_int_equal(x->peak_event, y->peak_event);
    }
}

static void compare_usage(const ms_trace *a, const ms_trace *b, ms_allocator_kind kind)
{
    const ms_allocator_options options = {.kind = kind};
    ms_usage x, y;
    ms_error err = {0};
    assert_int_equal(ms_usage_measure(a, &options, &x, &err), MS_OK);
    assert_int_equal(ms_usage_measure(b, &options, &y, &err), MS_OK);
    compare_phases(&x, &y);
    assert_true(x.peak_bytes > 0);
    assert_int_equal(x.peak_bytes, y.peak_bytes);
    assert_int_equal(x.peak_event, y.peak_event);
    assert_int_equal(x.most_reserved_bytes, y.most_reserved_bytes);
    assert_int_equal(x.start_bytes, y.start_bytes);
    uint32_t events = x.steady_end_event - x.steady_first_event;
    assert_int_equal(events, y.steady_end_event - y.steady_first_event);
    assert_memory_equal(x.live_bytes, y.live_bytes, events * sizeof *x.live_bytes);
    assert_memory_equal(x.reserved_bytes, y.reserved_bytes, events * sizeof *x.reserved_bytes);
    assert_memory_equal(x.addresses, y.addresses, a->storages.count * sizeof *x.addresses);
    char *before = events_of(a, &x), *after = events_of(b, &y);
    assert_string_equal(before, after);
    free(before);
    free(after);
    ms_usage_free(&x);
    ms_usage_free(&y);
}

static void compare_times(const ms_trace *a, const ms_trace *b, const ms_device *device)
{
    const ms_allocator_options options = {.kind = MS_ALLOCATOR_RAW};
    ms_profile p, q;
    ms_schedule s, t;
    ms_usage x, y;
    ms_error err = {0};
    assert_int_equal(ms_profile_build(a, device, MS_ALLOCATOR_CUDA, &p, &err), MS_OK);
    assert_int_equal(ms_profile_build(b, device, MS_ALLOCATOR_CUDA, &q, &err), MS_OK);
    assert_true(p.time.step_ms > 0 || device->is_cpu);
    assert_memory_equal(&p.time, &q.time, sizeof p.time);
    assert_int_equal(p.spans.count, q.spans.count);
    for (uint32_t i = 0; i < p.spans.count; i++) {
        assert_int_equal(p.spans.items[i].peak_bytes, q.spans.items[i].peak_bytes);
        assert_int_equal(p.spans.items[i].released_bytes, q.spans.items[i].released_bytes);
        assert_int_equal(p.spans.items[i].returned_bytes, q.spans.items[i].returned_bytes);
    }
    assert_int_equal(ms_usage_measure(a, &options, &x, &err), MS_OK);
    assert_int_equal(ms_usage_measure(b, &options, &y, &err), MS_OK);
    assert_int_equal(ms_schedule_build(a, &x, device, &s, &err), MS_OK);
    assert_int_equal(ms_schedule_build(b, &y, device, &t, &err), MS_OK);
    assert_memory_equal(s.event_ms, t.event_ms,
                        (x.steady_end_event - x.steady_first_event) * sizeof *s.event_ms);
    assert_memory_equal(s.works, t.works, a->works.count * sizeof *s.works);
    ms_schedule_free(&s);
    ms_schedule_free(&t);
    ms_usage_free(&x);
    ms_usage_free(&y);
    ms_profile_free(&p);
    ms_profile_free(&q);
}

static void check_run(void **state)
{
    const run_case *c = *state;
    ms_arena *arena = ms_arena_create(0);
    ms_model_config model;
    ms_run_config run;
    ms_simulation simulation;
    ms_trace_file read;
    ms_error err = {0};
    load_run(arena, c->settings, COUNT_OF(c->settings), &model, &run);
    assert_int_equal(ms_step_simulate(&model, &run, MS_STEPS_ALL, &simulation, &err), MS_OK);
    const ms_trace_facts facts = {"a test", "gpt2 \"\\ \n"};
    char *text = written(&simulation.trace, &facts);
    if (read_text(text, &read, &err) != MS_OK)
        fail_msg("%u: %s: %s", err.line, err.pointer, err.text);
    assert_string_equal(read.facts.run, facts.run);
    compare_usage(&simulation.trace, &read.trace, MS_ALLOCATOR_CUDA);
    compare_usage(&simulation.trace, &read.trace, MS_ALLOCATOR_CUDA_EXPANDABLE);
    compare_usage(&simulation.trace, &read.trace, MS_ALLOCATOR_RAW);
    compare_times(&simulation.trace, &read.trace, run.device);
    char *again = written(&read.trace, &read.facts);
    assert_string_equal(text, again);
    free(text);
    free(again);
    ms_trace_free(&read.trace);
    ms_simulation_free(&simulation);
    ms_arena_free(arena);
}

/* ---- what the rows say ---- */

static bool is_product(const char *name)
{
    static const char *const names[] = {"mm",          "addmm",          "bmm",
                                        "MmBackward0", "AddmmBackward0", "BmmBackward0"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void check_products(const ms_trace *trace)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ops.count; i++) {
        const ms_op_exec *op = &trace->ops.items[i];
        uint64_t flops = 0;
        for (uint32_t k = 0; k < op->product_count; k++) {
            const ms_gemm *g = &trace->products.items[op->first_product + k];
            flops += 2 * g->batches * g->rows * g->inner * g->columns;
        }
        if (is_product(op->name))
            assert_int_equal(flops, op->flops);
        count += is_product(op->name);
    }
    assert_true(count > 0);
}

/* What comes again is what it was: as large, of the same name, on the device only one at a time. */
static void check_identities(const ms_trace *trace, bool expected)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->storages.count; i++) {
        const ms_storage *s = &trace->storages.items[i];
        if (s->same_as == MS_NONE)
            continue;
        const ms_storage *first = &trace->storages.items[s->same_as];
        assert_true(s->same_as < i && first->same_as == MS_NONE);
        assert_int_equal(s->bytes, first->bytes);
        assert_int_equal(s->name, first->name);
        count++;
    }
    assert_int_equal(count > 0, expected);
}

static void check_rows(void **state)
{
    const run_case *c = *state;
    ms_arena *arena = ms_arena_create(0);
    ms_model_config model;
    ms_run_config run;
    ms_simulation simulation;
    ms_error err = {0};
    load_run(arena, c->settings, COUNT_OF(c->settings), &model, &run);
    assert_int_equal(ms_step_simulate(&model, &run, MS_STEPS_ALL, &simulation, &err), MS_OK);
    check_products(&simulation.trace);
    check_identities(&simulation.trace,
                     strstr(c->label, "offload") || strstr(c->label, "parameters"));
    ms_simulation_free(&simulation);
    ms_arena_free(arena);
}

/* ---- what is refused ---- */

#define HEAD                                                                                       \
    "{\"trace\": {\"version\": \"1.0\", \"made_by\": null, \"run\": null, \"names\": 1, "          \
    "\"symbols\": 1, \"scopes\": 0, \"streams\": 1, \"storages\": 1, \"operators\": 1, "           \
    "\"events\": 4}}\n"                                                                            \
    "{\"name\": \"\"}\n"                                                                           \
    "{\"symbol\": {\"kind\": \"number\", \"left\": 0, \"right\": 0, \"text\": null, \"value\": "   \
    "1}}\n"                                                                                        \
    "{\"stream\": {\"kind\": \"compute\", \"link\": \"none\", \"name\": 0}}\n"
#define STORAGE(members)                                                                           \
    "{\"storage\": {\"bytes\": 512, \"dtype\": \"uint8\", \"symbols\": [0], \"category\": "        \
    "\"weight\", \"saved\": false, \"name\": 0, \"scope\": null, \"op\": null, " members "}}\n"
#define TABLES HEAD STORAGE("\"stream\": 0, \"same_as\": null")
#define OP                                                                                         \
    "{\"begin\": {\"name\": \"mm\", \"scope\": null, \"pass\": \"forward\", \"phase\": "           \
    "\"forward\", \"flops\": 2, \"traffic_bytes\": 3, \"dtype\": \"float32\", \"repeats\": 1, "    \
    "\"operands\": [], \"products\": []}}\n"

typedef struct refusal {
    const char *label, *text, *message, *pointer;
    uint32_t line;
} refusal;

static const refusal refusals[] = {
    {"nothing", "\n", "", "", 1},
    {"no JSON", "{\"trace\":\n", "", "", 1},
    {"another file", "{\"name\": \"x\"}\n", "not a trace", "", 1},
    {"another version", "{\"trace\": {\"version\": \"2.0\"}}\n", "version 2.0", "/trace/version",
     1},
    {"no such stream", HEAD STORAGE("\"stream\": 1, \"same_as\": null"), "the trace has 1 streams",
     "/storage/stream", 5},
    {"the same as itself", HEAD STORAGE("\"stream\": 0, \"same_as\": 0"), "0 storages",
     "/storage/same_as", 5},
    {"a member is missing", HEAD STORAGE("\"stream\": 0"), "same_as", "/storage", 5},
    {"freed before", TABLES "{\"free\": 0}\n", "not allocated", "/free", 6},
    {"allocated twice", TABLES "{\"alloc\": 0}\n{\"alloc\": 0}\n", "a second time", "/alloc", 7},
    {"beyond the table", TABLES "{\"alloc\": 4294967297}\n", "no storage 4294967297", "/alloc", 6},
    {"a phase ends",
     TABLES "{\"mark\": {\"begin\": false, \"phase\": \"build\", \"step\": 0, "
            "\"micro_step\": 0, \"repeats\": 1}}\n",
     "a phase may begin", "/mark", 6},
    {"a step too many",
     TABLES "{\"mark\": {\"begin\": true, \"phase\": \"build\", \"step\": "
            "65536, \"micro_step\": 0, \"repeats\": 1}}\n",
     "65536", "/mark/step", 6},
    {"no such phase",
     TABLES "{\"mark\": {\"begin\": true, \"phase\": \"sleep\", \"step\": 0, "
            "\"micro_step\": 0, \"repeats\": 1}}\n",
     "no such phase", "/mark/phase", 6},
    {"another operator ends", TABLES OP "{\"end\": 0}\n{\"end\": 0}\n", "is not running", "/end",
     8},
    {"one in the other", TABLES OP OP, "before the running one", "/begin", 7},
    {"work that nobody gave", TABLES "{\"wait\": {\"stream\": 0, \"work\": 0}}\n", "0 pieces",
     "/wait/work", 6},
    {"a use of nothing", TABLES "{\"use\": {\"storage\": 0, \"stream\": 0}}\n", "not allocated",
     "/use", 6},
    {"no such line", TABLES "{\"sleep\": 0}\n", "no lines of this kind", "/sleep", 6},
    {"two in a line", TABLES "{\"alloc\": 0, \"free\": 0}\n", "one member", "", 6},
    {"a table too late", TABLES "{\"alloc\": 0}\n{\"name\": \"x\"}\n", "before them", "/name", 7},
    {"cut", TABLES "{\"alloc\": 0}\n", "0 operators, but its first line says 1", "", 0},
};

static void check_refusal(void **state)
{
    const refusal *c = *state;
    ms_trace_file read;
    ms_error err = {0};
    assert_int_not_equal(read_text(c->text, &read, &err), MS_OK);
    if (!strstr(err.text, c->message) || err.line != c->line ||
        (*c->pointer && strcmp(err.pointer, c->pointer) != 0))
        fail_msg("%u: %s: %s", err.line, err.pointer, err.text);
}

static void the_rows_of_refusals_make_a_trace(void **state)
{
    (void)state;
    ms_trace_file read;
    ms_error err = {0};
    const char *text = TABLES "{\"alloc\": 0}\n" OP "{\"end\": 0}\n{\"free\": 0}\n";
    if (read_text(text, &read, &err) != MS_OK)
        fail_msg("%u: %s: %s", err.line, err.pointer, err.text);
    char *again = written(&read.trace, &read.facts);
    assert_string_equal(text, again);
    free(again);
    ms_trace_free(&read.trace);
}

int main(void)
{
    struct CMUnitTest tests[2 * COUNT_OF(runs) + COUNT_OF(refusals) + 1];
    size_t count = ADD_ROWS(tests, check_run, runs);
    count += ADD_ROWS(tests + count, check_rows, runs);
    count += ADD_ROWS(tests + count, check_refusal, refusals);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(the_rows_of_refusals_make_a_trace);
    return _cmocka_run_group_tests("trace files", tests, count, NULL, NULL);
}
