/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/runtime/engine_console.h"

#include <inttypes.h>
#include <string.h>

#include "base/locale.h"
#include "base/printable.h"
#include "document/recorded_engine.h"
#include "report/view/view.h"

#define GIB ((uint64_t)1 << 30)

/* What GPUs were seen to hold outside PyTorch that the null device does not: kernels that the
 * driver loads, and NCCL's buffers where there are several ranks. Hundredths of a GiB. */
enum { LEAST_OUTSIDE = 2, MOST_OUTSIDE = 30, MOST_WITH_NCCL = 213 };

/* The largest number of tokens that are left when `hundredths` of a GiB more are taken. */
static uint64_t tokens_without(const ms_recorded_engine *e, const ms_recorded_worker *w,
                               uint64_t hundredths)
{
    uint64_t lost = GIB / 100 * hundredths;
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
        fputs("  does not fit: memory ran out when the cache was there\n", page->out);
    else if (!w || w->activation_bytes == 0)
        fputs("  does not fit: memory ran out before the cache\n", page->out);
    else {
        uint64_t taken =
            w->weights_bytes + w->activation_bytes + w->non_torch_bytes + w->graphs_bytes;
        ms_page_put(page,
                    "  does not fit: weights and activations leave %s GiB of the budget for the "
                    "cache",
                    ms_gib(w->requested_bytes > taken ? w->requested_bytes - taken : 0, left));
        fputc('\n', page->out);
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
        fputs("  it was cut off before it had made its cache\n", page->out);
        return;
    }
    ms_page_put(page,
                "  %s %" PRIu64 " tokens in the cache, %.2f requests of %" PRIu64 " tokens at once",
                is_ready ? "fits:" : "it was not ready yet, with", e->cache_tokens,
                e->requests_at_once, e->max_tokens_of_request);
    if (e->requests_at_once > (double)e->max_requests)
        ms_page_put(page, ", of which %" PRIu64 " run", e->max_requests);
    fputc('\n', page->out);
}

static void write_names(const ms_recorded *r, const ms_recorded_engine *e, const ms_page *page)
{
    ms_page_put(page, "  %s %s, torch %s, ", e->name, e->version, r->torch ? r->torch : "?");
    ms_put_printable(page->out, e->model);
    if (e->has_dummy_weights)
        fputs(" with dummy weights", page->out);
    fputc('\n', page->out);
    ms_page_put(page,
                "  up to %" PRIu64 " requests and %" PRIu64 " tokens in a step; budget %g of "
                "the device",
                e->max_requests, e->max_batched_tokens, e->utilization);
    fputc('\n', page->out);
    if (strcmp(r->outcome, "ready") == 0)
        fputs("  ended when it was ready: nothing was served\n", page->out);
}

static void write_highest(const ms_recorded *r, const ms_page *page)
{
    char peak[MS_GIB_TEXT], reserved[MS_GIB_TEXT], device[MS_GIB_TEXT];
    ms_page_put(page, "  highest while it started: %s GiB in %s; reserved %s",
                ms_gib(r->peak_bytes, peak), r->peak_stage ? r->peak_stage : "no phase",
                ms_gib(r->reserved_bytes, reserved));
    if (r->device_bytes > 0)
        fprintf(page->out, " of the device's %s", ms_gib(r->device_bytes, device));
    fputs(" GiB\n", page->out);
}

void ms_engine_head(const ms_recorded *r, const ms_page *page)
{
    write_decision(r, r->engine, page);
    write_names(r, r->engine, page);
    write_highest(r, page);
}

/* What the table does not show. */
static void write_remarks(const ms_recorded *r, const ms_recorded_engine *e, const ms_page *page)
{
    char bytes[MS_GIB_TEXT], text[256];
    const ms_recorded_worker *w = &e->workers[0];
    if (w->beyond_budget_bytes > 0) {
        ms_text_print(
            text, sizeof text,
            "With a full batch it takes %s GiB more than its budget: its own buffers are not "
            "in its sum.",
            ms_gib(w->beyond_budget_bytes, bytes));
        ms_page_paragraph(page, text);
    }
    if (strcmp(r->mode, "null") != 0 || !e->has_cache)
        return;
    if (r->device_bytes > 0 && r->device_bytes < w->requested_bytes + GIB)
        ms_page_paragraph(page, "The budget leaves less than 1 GiB of the device. A GPU's context "
                                "and other programs are in that: vLLM starts only if all of its "
                                "budget is free.");
    uint64_t most = e->is_parallel ? MOST_WITH_NCCL : MOST_OUTSIDE;
    ms_text_print(text, sizeof text,
                  "A GPU holds %.2f to %.2f GiB more outside PyTorch (seen on others; not measured "
                  "here), which comes off the cache: %" PRIu64 " to %" PRIu64 " tokens.",
                  LEAST_OUTSIDE / 100.0, (double)most / 100.0, tokens_without(e, w, most),
                  tokens_without(e, w, LEAST_OUTSIDE));
    ms_page_paragraph(page, text);
}

/* Columns of the cache, and of the sum. */
static bool is_known(const ms_recorded_engine *e, size_t column)
{
    return e->has_cache || (column != 5 && column != 6);
}

void ms_engine_workers(const ms_recorded *r, const ms_page *page)
{
    static const char *const columns[] = {"weights", "buffers", "activation", "outside",
                                          "graphs",  "cache",   "all",        "budget"};
    const ms_recorded_engine *e = r->engine;
    if (e->worker_count == 0)
        return;
    ms_page_heading(page, "Memory of each worker", "  (GiB; outside: outside PyTorch)");
    fprintf(page->out, "  %-6s", "");
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        fprintf(page->out, " %*s", i == 2 ? 10 : 7, columns[i]);
    fputc('\n', page->out);
    for (uint32_t i = 0; i < e->worker_count; i++) {
        const ms_recorded_worker *w = &e->workers[i];
        const uint64_t cells[] = {w->weights_bytes,   w->buffers_bytes,  w->activation_bytes,
                                  w->non_torch_bytes, w->graphs_bytes,   w->cache_bytes,
                                  w->serving_bytes,   w->requested_bytes};
        char text[MS_GIB_TEXT];
        fprintf(page->out, "  %6" PRIu64, w->rank);
        for (size_t k = 0; k < sizeof cells / sizeof cells[0]; k++)
            fprintf(page->out, " %*s", k == 2 ? 10 : 7,
                    is_known(e, k) ? ms_gib(cells[k], text) : "-");
        fputc('\n', page->out);
    }
    write_remarks(r, e, page);
}
