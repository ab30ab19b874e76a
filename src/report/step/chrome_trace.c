/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The step as a Chrome trace, for ui.perfetto.dev and chrome://tracing: operators and copies as
 * slices, memory as counters, the largest tensors as spans, the peak as an instant.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/write.h"
#include "run/measure/usage.h"
#include "report/kit/writer_list.h"
#include "report/ranks/communication.h"
#include "report/view/view.h"
#include "report/kit/category_id.h"
#include "core/trace/words.h"

enum { PROCESS_STEP = 1, PROCESS_TENSORS = 2, MOST_TENSORS = 256 };
enum { TRACK_STEP = 1, TRACK_OPERATORS = 2 }; /* behind them the other streams */

typedef struct writer {
    ms_json_writer json;
    const ms_view *view;
    const ms_ledger *ledger;
    const ms_trace *trace;
    const ms_usage *usage;
} writer;

/* Whole nanoseconds, so that slices that meet do not overlap. */
static double us_of(double ms)
{
    return (double)llround(ms * 1e6) / 1e3;
}

static double event_us(const writer *w, uint32_t event)
{
    const ms_schedule *s = &w->ledger->schedule;
    return us_of(event < w->usage->steady_end_event
                     ? s->event_ms[event - w->usage->steady_first_event]
                     : s->end_ms);
}

static void begin_event_of(writer *w, uint32_t process, uint32_t track, const char *phase,
                           const char *name, double us)
{
    ms_json_object_inline(&w->json, NULL);
    ms_json_string(&w->json, "ph", phase);
    ms_json_string(&w->json, "name", name);
    ms_json_uint(&w->json, "pid", process);
    if (track)
        ms_json_uint(&w->json, "tid", track);
    ms_json_double(&w->json, "ts", us, 3);
}

static void begin_event(writer *w, const char *phase, const char *name, uint32_t track, double us)
{
    begin_event_of(w, PROCESS_STEP, track, phase, name, us);
}

static void begin_slice(writer *w, const char *name, const char *category, uint32_t track,
                        double begin_us, double end_us)
{
    begin_event(w, "X", name, track, begin_us);
    ms_json_double(&w->json, "dur", end_us - begin_us, 3);
    ms_json_string(&w->json, "cat", category);
    ms_json_object(&w->json, "args");
}

static void end_args(writer *w)
{
    ms_json_close(&w->json);
    ms_json_close(&w->json);
}

/* ---- names of tracks ---- */

/* Of a process, or of one of its tracks; numbers are places too. */
static void write_name(writer *w, uint32_t process, uint32_t track, const char *name)
{
    begin_event_of(w, process, track, "M", track ? "thread_name" : "process_name", 0);
    ms_json_object(&w->json, "args");
    ms_json_string(&w->json, "name", name);
    end_args(w);
    begin_event_of(w, process, track, "M", track ? "thread_sort_index" : "process_sort_index", 0);
    ms_json_object(&w->json, "args");
    ms_json_uint(&w->json, "sort_index", track ? track : process);
    end_args(w);
}

static bool has_work(const writer *w, uint32_t stream)
{
    for (uint32_t i = 0; i < w->trace->works.count; i++)
        if (w->trace->works.items[i].stream == stream)
            return true;
    return false;
}

static const char *stream_name(const writer *w, uint32_t stream)
{
    return w->trace->names.items[w->trace->streams.items[stream].name];
}

static void write_names(writer *w)
{
    write_name(w, PROCESS_STEP, 0, w->view->title);
    write_name(w, PROCESS_TENSORS, 0, "largest tensors");
    write_name(w, PROCESS_STEP, TRACK_STEP, "phases and layers");
    write_name(w, PROCESS_STEP, TRACK_OPERATORS, "operators");
    for (uint32_t i = 1; i < w->trace->streams.count; i++)
        if (has_work(w, i))
            write_name(w, PROCESS_STEP, TRACK_OPERATORS + i, stream_name(w, i));
}

/* ---- slices ---- */

static void write_stretch(writer *w, const char *name, uint32_t first, uint32_t end)
{
    const ms_profile *profile = w->ledger->profile;
    const ms_profile_span *s = &profile->spans.items[first];
    uint32_t end_event = end < profile->spans.count ? profile->spans.items[end].first_event
                                                    : w->usage->steady_end_event;
    begin_slice(w, name, "step", TRACK_STEP, event_us(w, s->first_event), event_us(w, end_event));
    ms_json_uint(&w->json, "micro_step", s->micro_step);
    ms_json_uint(&w->json, "repeats", s->repeats);
    end_args(w);
}

/* A phase, and in it its layers. */
static void write_step(writer *w)
{
    const ms_profile *profile = w->ledger->profile;
    const ms_profile_span *all = profile->spans.items;
    for (uint32_t i = 0; i < profile->spans.count;) {
        uint32_t end = i + 1;
        while (end < profile->spans.count && all[end].phase == all[i].phase &&
               all[end].micro_step == all[i].micro_step)
            end++;
        write_stretch(w, ms_phase_name((ms_phase)all[i].phase), i, end);
        for (; i < end; i++) {
            char name[32];
            snprintf(name, sizeof name, "layer %" PRIu32, all[i].layer);
            if (all[i].layer != MS_NONE)
                write_stretch(w, name, i, i + 1);
        }
    }
}

static void write_operator(writer *w, uint32_t id, uint32_t begin, uint32_t end)
{
    enum { PATH = 256 };
    const ms_op_exec *op = &w->trace->ops.items[id];
    uint32_t scope = ms_op_scope(w->trace, op);
    char path[PATH] = "";
    if (scope != MS_NONE)
        ms_trace_scope_path(w->trace, scope, path, sizeof path);
    begin_slice(w, op->name, ms_pass_words.items[op->pass], TRACK_OPERATORS, event_us(w, begin),
                event_us(w, end));
    ms_json_string(&w->json, "module", path);
    ms_json_uint(&w->json, "flops", op->flops);
    ms_json_uint(&w->json, "traffic_bytes", op->traffic_bytes);
    end_args(w);
}

static void write_operators(writer *w)
{
    uint32_t begin = 0;
    for (uint32_t e = w->usage->steady_first_event; e < w->usage->steady_end_event; e++) {
        const ms_event *event = &w->trace->events.items[e];
        if (event->kind == MS_EVENT_OP_BEGIN)
            begin = e;
        if (event->kind == MS_EVENT_OP_END)
            write_operator(w, event->id, begin, e);
    }
}

/* ---- work of other streams ---- */

/* At the middle of a copy: viewers look for the slice around it, and at an end there may be two. */
static void write_flow(writer *w, const char *phase, uint32_t id, uint32_t copy)
{
    const ms_playback_span *span = &w->ledger->schedule.works[copy];
    begin_event(w, phase, "copy back", TRACK_OPERATORS + w->trace->works.items[copy].stream,
                us_of((span->begin_ms + span->end_ms) / 2));
    ms_json_string(&w->json, "cat", "copy");
    ms_json_uint(&w->json, "id", id);
    if (*phase == 'f')
        ms_json_string(&w->json, "bp", "e");
    ms_json_close(&w->json);
}

/* What must be done before work begins: of a saved tensor that comes back, the copy that took it
 * to the host; MS_NONE: nothing in this step. */
static uint32_t work_before(const writer *w, uint32_t id, const bool *is_used)
{
    const ms_work *works = w->trace->works.items, *copy = &works[id];
    const ms_playback_span *spans = w->ledger->schedule.works;
    if (copy->after != MS_NONE)
        return spans[copy->after].end_ms > 0 ? copy->after : MS_NONE;
    if (copy->layer == MS_NONE || copy->kind != MS_WORK_TO_DEVICE)
        return MS_NONE;
    for (uint32_t i = id; i-- > 0;)
        if (works[i].kind == MS_WORK_TO_HOST && works[i].layer == copy->layer &&
            works[i].bytes == copy->bytes && !is_used[i] && spans[i].end_ms > 0)
            return i;
    return MS_NONE;
}

static void begin_work(writer *w, const ms_work *work, const ms_playback_span *span)
{
    char name[MS_COLLECTIVE_TEXT], module[MS_COLLECTIVE_TEXT];
    ms_collective_text(w->trace, work, name, module);
    begin_slice(w, work->ranks ? name : stream_name(w, work->stream),
                work->ranks ? "collective" : "copy", TRACK_OPERATORS + work->stream,
                us_of(span->begin_ms), us_of(span->end_ms));
    if (work->ranks)
        ms_json_uint(&w->json, "ranks", work->ranks);
    if (*module)
        ms_json_string(&w->json, "module", module);
}

static void write_work(writer *w, uint32_t id, bool *is_used)
{
    const ms_work *work = &w->trace->works.items[id];
    uint32_t before = work_before(w, id, is_used);
    begin_work(w, work, &w->ledger->schedule.works[id]);
    ms_json_uint(&w->json, "bytes", work->bytes);
    end_args(w);
    if (before == MS_NONE)
        return;
    is_used[before] = true;
    write_flow(w, "s", id, before);
    write_flow(w, "f", id, id);
}

static bool write_works(writer *w)
{
    bool *is_used = calloc((size_t)w->trace->works.count + 1, sizeof *is_used);
    for (uint32_t e = w->usage->steady_first_event; is_used && e < w->usage->steady_end_event; e++)
        if (w->trace->events.items[e].kind == MS_EVENT_WORK)
            write_work(w, w->trace->events.items[e].id, is_used);
    free(is_used);
    return is_used != NULL;
}

/* ---- memory ---- */

static void write_counter(writer *w, const char *name, double us, const char *series,
                          uint64_t bytes)
{
    begin_event(w, "C", name, 0, us);
    ms_json_object(&w->json, "args");
    ms_json_uint(&w->json, series, bytes);
    end_args(w);
}

/* Every change of the total; categories where the timeline has points, with all series in each. */
static void write_counters(writer *w)
{
    const uint64_t *live = w->usage->live_bytes, *reserved = w->usage->reserved_bytes;
    uint32_t count = w->usage->steady_end_event - w->usage->steady_first_event;
    for (uint32_t i = 0; i < count; i++) {
        double us = us_of(w->ledger->schedule.event_ms[i]);
        if (i == 0 || live[i] != live[i - 1])
            write_counter(w, "allocated", us, "total", live[i]);
        if (i == 0 || reserved[i] != reserved[i - 1])
            write_counter(w, "reserved", us, "total", reserved[i]);
    }
    for (uint32_t i = 0; i < w->ledger->timeline.count; i++) {
        const ms_timeline_point *p = &w->ledger->timeline.items[i];
        begin_event(w, "C", "allocated by category", 0, us_of(p->ms));
        ms_json_object(&w->json, "args");
        for (uint32_t c = 0; c < MS_CATEGORY_COUNT; c++)
            ms_json_uint(&w->json, ms_category_name((ms_category)c), p->category_bytes[c]);
        end_args(w);
    }
}

typedef struct span {
    uint32_t storage, birth, death; /* events of the steady step */
    uint64_t bytes;
} span;

static int by_bytes(const void *a, const void *b)
{
    const span *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return (x->storage > y->storage) - (x->storage < y->storage);
}

/* Within the steady step, of all that is alive in it; the count. */
static uint32_t find_spans(const writer *w, const ms_lifetime *lifetimes, span *spans)
{
    uint32_t count = 0, first = w->usage->steady_first_event, end = w->usage->steady_end_event;
    for (uint32_t i = 0; i < w->trace->storages.count; i++) {
        uint32_t birth = lifetimes[i].birth, death = lifetimes[i].death;
        if (birth == MS_NONE || death < first || w->usage->block_bytes[i] == 0)
            continue;
        spans[count++] = (span){i, birth < first ? first : birth, death == MS_NONE ? end : death,
                                w->usage->block_bytes[i]};
    }
    return count;
}

static bool write_span(writer *w, const span *s)
{
    const ms_storage *storage = &w->trace->storages.items[s->storage];
    uint32_t length = ms_ledger_storage_name(w->ledger, s->storage, 1, NULL, 0);
    char *name = ms_arena_array(w->view->arena, char, (size_t)length + 1);
    if (!name)
        return false;
    ms_ledger_storage_name(w->ledger, s->storage, 1, name, length + 1);
    char id[16];
    snprintf(id, sizeof id, "0x%" PRIx32, s->storage);
    for (int i = 0; i < 2; i++) {
        begin_event_of(w, PROCESS_TENSORS, 0, i ? "e" : "b", name,
                       event_us(w, i ? s->death : s->birth));
        ms_json_string(&w->json, "cat", "tensor");
        ms_json_object_inline(&w->json, "id2");
        ms_json_string(&w->json, "local", id);
        ms_json_close(&w->json);
        if (i == 0) {
            ms_json_object(&w->json, "args");
            ms_json_uint(&w->json, "bytes", s->bytes);
            ms_json_string(&w->json, "category", ms_json_category(storage->category));
            ms_json_close(&w->json);
        }
        ms_json_close(&w->json);
    }
    return true;
}

static bool write_tensors(writer *w)
{
    span *spans = calloc((size_t)w->trace->storages.count + 1, sizeof *spans);
    ms_lifetime *lifetimes = ms_lifetimes_create(w->trace);
    bool ok = spans && lifetimes;
    uint32_t count = ok ? find_spans(w, lifetimes, spans) : 0;
    if (count)
        qsort(spans, count, sizeof *spans, by_bytes);
    for (uint32_t i = 0; ok && i < count && i < MOST_TENSORS; i++)
        ok = write_span(w, &spans[i]);
    free(spans);
    free(lifetimes);
    return ok;
}

static void write_peak(writer *w)
{
    char gib[MS_GIB_TEXT], name[64];
    snprintf(name, sizeof name, "peak: %s GiB", ms_gib(w->ledger->peak->bytes, gib));
    begin_event(w, "i", name, TRACK_OPERATORS, event_us(w, w->ledger->peak->event));
    ms_json_string(&w->json, "s", "g");
    ms_json_object(&w->json, "args");
    ms_json_uint(&w->json, "bytes", w->ledger->peak->bytes);
    ms_json_string(&w->json, "operator", w->view->peak_operator);
    end_args(w);
}

bool ms_report_chrome_trace(FILE *out, const ms_view *view)
{
    writer w = {.json = {.out = out},
                .view = view,
                .ledger = view->ledger,
                .trace = &view->ledger->simulation->trace,
                .usage = view->ledger->usage};
    ms_json_object(&w.json, NULL);
    /* With "ms" chrome://tracing takes slices less than a microsecond apart for nested ones. */
    ms_json_string(&w.json, "displayTimeUnit", "ns");
    ms_json_object(&w.json, "otherData");
    ms_json_string(&w.json, "made_by", "memscope " MS_VERSION);
    ms_json_string(&w.json, "run", view->title);
    ms_json_string(&w.json, "verdict", view->verdict);
    ms_json_string(&w.json, "time_axis",
                   w.ledger->schedule.is_timed
                       ? "predicted from the device's rates; spread evenly within an operator"
                       : "event number, one microsecond each: the device's rates are not "
                         "known");
    ms_json_close(&w.json);
    ms_json_array(&w.json, "traceEvents");
    write_names(&w);
    write_step(&w);
    write_operators(&w);
    bool ok = write_works(&w);
    write_counters(&w);
    ok = ok && write_tensors(&w);
    write_peak(&w);
    ms_json_close(&w.json);
    ms_json_close(&w.json);
    fputc('\n', out);
    return ok;
}
