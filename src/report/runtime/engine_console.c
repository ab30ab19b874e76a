/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/runtime/engine_console.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/locale.h"
#include "base/utf8.h"
#include "input/document/recorded.h"
#include "report/view/view.h"

#define GIB ((uint64_t)1 << 30)

/* What GPUs were seen to hold outside PyTorch that the null device does not: kernels that the
 * driver loads, and NCCL's buffers where there are several ranks. Hundredths of a GiB. */
enum { LEAST_OUTSIDE = 2, MOST_OUTSIDE = 30, MOST_WITH_NCCL = 213 };
/* What was taken of devices of 80 GB before the weights, in logs of SGLang. */
enum { LEAST_BEFORE = 30, MOST_BEFORE = 80, MOST_BEFORE_WITH_NCCL = 200 };

/* The largest number of tokens that are left when `share` of so many hundredths of a GiB goes. */
static uint64_t tokens_without(const ms_recorded_engine *e, const ms_recorded_worker *w,
                               uint64_t hundredths, double share)
{
    uint64_t bytes = GIB / 100 * hundredths, lost = (uint64_t)((double)bytes * share);
    if (w->cache_bytes == 0 || lost >= w->cache_bytes)
        return 0;
    return (uint64_t)((double)e->cache_tokens * (double)(w->cache_bytes - lost) /
                      (double)w->cache_bytes);
}

/* Why it cannot be served. */
static void write_refusal(const ms_recorded *r, const ms_recorded_engine *e, const ms_page *page)
{
    char left[MS_GIB_TEXT];
    const ms_recorded_worker *w = e->worker_count > 0 ? &e->workers[0] : NULL;
    if (e->has_cache)
        ms_page_say(page, "does not fit: memory ran out after the cache was allocated");
    else if (!w || w->activation_bytes == 0)
        fputs("  does not fit: memory ran out before the cache was allocated\n", page->out);
    else {
        uint64_t taken =
            w->weights_bytes + w->activation_bytes + w->non_torch_bytes + w->graphs_bytes;
        ms_page_say(page,
                    "does not fit: weights and activations leave %s GiB of the budget for the "
                    "cache",
                    ms_gib(w->requested_bytes > taken ? w->requested_bytes - taken : 0, left));
    }
    if (r->message)
        ms_page_paragraph(page, r->message);
}

static void write_decision(const ms_recorded *r, const ms_recorded_engine *e, const ms_page *page)
{
    bool is_ready = strcmp(r->outcome, "ready") == 0;
    if (strcmp(r->outcome, "out_of_memory") == 0) {
        write_refusal(r, e, page);
        return;
    }
    if (!e->has_cache) {
        fputs("  it was cut off before it allocated its cache\n", page->out);
        return;
    }
    char run[48] = "";
    if (e->requests_at_once > (double)e->max_requests)
        snprintf(run, sizeof run, ", of which %" PRIu64 " run at once", e->max_requests);
    ms_page_say(page,
                "%s %" PRIu64 " tokens in the cache, %.2f requests of %" PRIu64 " tokens at once%s",
                is_ready ? "fits:" : "it was not ready yet, with", e->cache_tokens,
                e->requests_at_once, e->max_tokens_of_request, run);
}

static void write_names(const ms_recorded *r, const ms_recorded_engine *e, const ms_page *page)
{
    ms_page_say(page, "%s %s, torch %s, %s%s", e->name, e->version, r->torch ? r->torch : "?",
                e->model, e->has_dummy_weights ? " with dummy weights" : "");
    ms_page_say(page,
                "up to %" PRIu64 " requests and %" PRIu64 " tokens in a step; budget %g of "
                "the device",
                e->max_requests, e->max_batched_tokens, e->utilization);
    if (strcmp(r->outcome, "ready") == 0)
        fputs("  stopped when it was ready: no requests were served\n", page->out);
}

static void write_highest(const ms_recorded *r, const ms_page *page)
{
    char peak[MS_GIB_TEXT], reserved[MS_GIB_TEXT], device[MS_GIB_TEXT];
    ms_page_say(page, "highest while it started: %s GiB in %s; reserved %s%s%s GiB",
                ms_gib(r->peak_bytes, peak), r->peak_stage ? r->peak_stage : "no phase",
                ms_gib(r->reserved_bytes, reserved), r->device_bytes > 0 ? " of the device's " : "",
                r->device_bytes > 0 ? ms_gib(r->device_bytes, device) : "");
}

void ms_engine_head(const ms_recorded *r, const ms_page *page)
{
    write_decision(r, r->engine, page);
    write_names(r, r->engine, page);
    write_highest(r, page);
}

/* Of an engine whose budget is a share of what is free before it loads. */
static void write_budget(const ms_recorded_engine *e, const ms_recorded_worker *w,
                         const ms_page *page)
{
    char bytes[MS_GIB_TEXT], text[256];
    uint64_t most = e->is_parallel ? MOST_BEFORE_WITH_NCCL : MOST_BEFORE;
    if (w->free_bytes > 0) {
        ms_text_print(text, sizeof text,
                      "%s GiB are free when it is ready: the memory that a batch takes beyond its "
                      "graphs has to fit there; it was not measured.",
                      ms_gib(w->free_bytes, bytes));
        ms_page_paragraph(page, text);
    }
    ms_text_print(
        text, sizeof text,
        "On a real GPU %.2f to %.2f GiB are in use before the weights (observed elsewhere; not "
        "measured here), and the budget is a share of the rest: %" PRIu64 " to %" PRIu64 " tokens.",
        LEAST_BEFORE / 100.0, (double)most / 100.0, tokens_without(e, w, most, e->utilization),
        tokens_without(e, w, LEAST_BEFORE, e->utilization));
    ms_page_paragraph(page, text);
}

/* What the table does not show. */
static void write_remarks(const ms_recorded *r, const ms_recorded_engine *e, const ms_page *page)
{
    char bytes[MS_GIB_TEXT], text[256];
    const ms_recorded_worker *w = &e->workers[0];
    if (w->beyond_budget_bytes > 0) {
        ms_text_print(text, sizeof text,
                      "With a full batch it takes %s GiB more than its budget, because it does not "
                      "count its own buffers.",
                      ms_gib(w->beyond_budget_bytes, bytes));
        ms_page_paragraph(page, text);
    }
    if (strcmp(r->mode, "null") != 0 || !e->has_cache)
        return;
    if (!w->has_profile) {
        write_budget(e, w, page);
        return;
    }
    if (r->device_bytes > 0 && r->device_bytes < w->requested_bytes + GIB)
        ms_page_paragraph(page,
                          "The budget leaves less than 1 GiB of the device for the CUDA context "
                          "and other programs: vLLM starts only if all of its budget is free.");
    uint64_t most = e->is_parallel ? MOST_WITH_NCCL : MOST_OUTSIDE;
    ms_text_print(text, sizeof text,
                  "On a real GPU %.2f to %.2f GiB more are in use outside PyTorch (observed "
                  "elsewhere; not measured here), which reduces the cache: %" PRIu64 " to %" PRIu64
                  " tokens.",
                  LEAST_OUTSIDE / 100.0, (double)most / 100.0, tokens_without(e, w, most, 1),
                  tokens_without(e, w, LEAST_OUTSIDE, 1));
    ms_page_paragraph(page, text);
}

#define COLUMN(title, member, ...)                                                                 \
    {                                                                                              \
        title, offsetof(ms_recorded_worker, member), __VA_ARGS__                                   \
    }
static const struct {
    const char *title;
    size_t offset;
    bool is_of_profile, is_of_cache; /* known only with it */
} COLUMNS[] = {
    COLUMN("weights", weights_bytes, false, false),
    COLUMN("buffers", buffers_bytes, false, false),
    COLUMN("activation", activation_bytes, true, false),
    COLUMN("outside", non_torch_bytes, true, false),
    COLUMN("graphs", graphs_bytes, false, false),
    COLUMN("cache", cache_bytes, false, true),
    COLUMN("all", serving_bytes, true, true),
    COLUMN("budget", requested_bytes, false, false),
};
enum { LEAST_WIDTH = 7, RANK_WIDTH = 6 };

static int width_of(size_t column)
{
    size_t width = strlen(COLUMNS[column].title);
    return width > LEAST_WIDTH ? (int)width : LEAST_WIDTH;
}

/* A column of a worker: GiB, or a dash. */
static const char *cell(const ms_recorded_engine *e, const ms_recorded_worker *w, size_t column,
                        char text[static MS_GIB_TEXT])
{
    bool is_known = (w->has_profile || !COLUMNS[column].is_of_profile) &&
                    (e->has_cache || !COLUMNS[column].is_of_cache);
    uint64_t bytes;
    memcpy(&bytes, (const char *)w + COLUMNS[column].offset, sizeof bytes);
    return is_known ? ms_gib(bytes, text) : "-";
}

/* A row for each worker, of these columns. */
static void write_workers(const ms_recorded_engine *e, const ms_page *page, size_t first,
                          size_t end)
{
    char text[MS_GIB_TEXT];
    fprintf(page->out, "  %-*s", RANK_WIDTH, "");
    for (size_t k = first; k < end; k++)
        fprintf(page->out, " %*s", width_of(k), COLUMNS[k].title);
    fputc('\n', page->out);
    for (uint32_t i = 0; i < e->worker_count; i++) {
        fprintf(page->out, "  %*" PRIu64, RANK_WIDTH, e->workers[i].rank);
        for (size_t k = first; k < end; k++)
            fprintf(page->out, " %*s", width_of(k), cell(e, &e->workers[i], k, text));
        fputc('\n', page->out);
    }
}

/* So many columns at a time as there is room for. */
void ms_engine_workers(const ms_recorded *r, const ms_page *page)
{
    enum { COUNT = sizeof COLUMNS / sizeof COLUMNS[0] };
    const ms_recorded_engine *e = r->engine;
    if (e->worker_count == 0)
        return;
    ms_page_heading(page, "Memory of each worker", "  (GiB; outside: outside PyTorch)");
    for (size_t first = 0, end; first < COUNT; first = end) {
        int used = 2 + RANK_WIDTH;
        for (end = first; end < COUNT && used + 1 + width_of(end) <= (int)page->columns; end++)
            used += 1 + width_of(end);
        if (first > 0)
            fputc('\n', page->out);
        write_workers(e, page, first, end);
    }
    write_remarks(r, e, page);
}
