/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/plan/plan_needs.h"

#include <inttypes.h>
#include <math.h>

#include "decide/plan/trainers/expressible.h"
#include "report/plan/plan_notes.h"

/* ---- sentences; NULL when out of memory, "" when there is nothing to tell ---- */

static const ms_plan_needs *needs_of(const ms_plan_view *v)
{
    return &v->plan->needs;
}

/* Whether the plan counts on a limit of the allocator. */
static bool is_held(const ms_plan_view *v)
{
    return v->plan && !v->is_infeasible && needs_of(v)->fraction > 0;
}

static bool has_link(const ms_plan_view *v)
{
    return v->plan && !v->is_infeasible && needs_of(v)->half_link_ms > 0;
}

static const char *limit_text(const ms_plan_view *v)
{
    const ms_device *device = v->run->device;
    char limit[MS_GIB_TEXT], total[MS_GIB_TEXT];
    const char *assumed = "";
    if (device->cuda_bytes == 0)
        assumed = ms_arena_printf(
            v->arena,
            "; this assumes that CUDA reports %s GiB, which is not verified for this device",
            ms_gib(ms_device_usable_bytes(device), total));
    if (!assumed)
        return NULL;
    return ms_arena_printf(v->arena,
                           "before the first allocation: the plan was simulated with an allocator "
                           "that reserves at most %s GiB%s",
                           ms_gib(needs_of(v)->limit_bytes, limit), assumed);
}

static const char *unheld_text(const ms_plan_view *v)
{
    const ms_step_figures *held = v->figures, *f = &needs_of(v)->unheld;
    char reserved[MS_GIB_TEXT], device[MS_GIB_TEXT];
    if (v->plan->held_budget_bytes > 0)
        return "without this limit the step does not run: given all of the budget the allocator "
               "finds no room for this plan, although it does with a little less";
    if (f->reserved_bytes == held->reserved_bytes)
        return "without this limit the step reserves as much and returns nothing";
    if (v->run->budget_bytes >= ms_device_usable_bytes(v->run->device))
        return ms_arena_printf(
            v->arena,
            "without this limit the allocator runs into the end of the device's memory; with more "
            "memory it would reserve %s GiB, %s GiB on the device with context",
            ms_gib(f->reserved_bytes, reserved), ms_gib(f->device_bytes, device));
    return ms_arena_printf(v->arena,
                           "without this limit the allocator reserves %s GiB, %s GiB on the "
                           "device with context%s",
                           ms_gib(f->reserved_bytes, reserved), ms_gib(f->device_bytes, device),
                           f->device_bytes > v->budget_bytes ? ": more than the budget" : "");
}

static const char *retries_text(const ms_plan_view *v)
{
    const ms_step_figures *f = v->figures;
    char released[MS_GIB_TEXT], ms[MS_FIXED_TEXT];
    if (f->retries == 0)
        return "";
    if (f->step_retries == 0)
        return ms_arena_printf(v->arena,
                               "the allocator reaches the limit %" PRIu64
                               " time%s in the first steps, and in no later step: each time it "
                               "waits for the device and returns cached memory",
                               f->retries, f->retries > 1 ? "s" : "");
    return ms_arena_printf(
        v->arena,
        "in each step the allocator reaches the limit %" PRIu64
        " time%s: each time it waits for the device and returns cached memory (%s GiB in all), "
        "which is then allocated again: %s ms of the step, not counting the waiting",
        f->step_retries, f->step_retries > 1 ? "s" : "", ms_gib(f->step_retry_bytes, released),
        ms_fixed(f->time.retry_ms, 1, ms));
}

static double half_link_share(const ms_plan_view *v)
{
    double step_ms = v->figures->time.step_ms;
    return step_ms > 0 ? needs_of(v)->half_link_ms / step_ms - 1 : NAN;
}

static const char *link_text(const ms_plan_view *v)
{
    char rate[MS_FIXED_TEXT], ms[MS_FIXED_TEXT], percent[MS_FIXED_TEXT];
    if (!has_link(v))
        return "";
    return ms_arena_printf(
        v->arena,
        "the time assumes copies of %s GB/s each way to pinned host memory; at half "
        "of that rate the step takes %s ms (%s)",
        ms_fixed(needs_of(v)->link_bytes_per_s / 1e9, 1, rate),
        ms_fixed(needs_of(v)->half_link_ms, 1, ms), ms_plan_percent(half_link_share(v), percent));
}

/* ---- the formats ---- */

enum { MOST_SENTENCES = 4 };

/* The call, or "", and the sentences; those that are "" say nothing. False: out of memory. */
static bool make_texts(const ms_plan_view *v, const char **call,
                       const char *sentences[MOST_SENTENCES])
{
    bool held = is_held(v);
    *call = held ? ms_pytorch_limit_call(v->arena, needs_of(v)->fraction) : "";
    sentences[0] = held ? limit_text(v) : "";
    sentences[1] = held ? unheld_text(v) : "";
    sentences[2] = held ? retries_text(v) : "";
    sentences[3] = link_text(v);
    return *call && sentences[0] && sentences[1] && sentences[2] && sentences[3];
}

void ms_plan_needs_tree(ms_tree *tree, const ms_plan_view *view)
{
    const char *call, *sentences[MOST_SENTENCES];
    if (!is_held(view) && !has_link(view))
        return;
    if (!make_texts(view, &call, sentences)) {
        tree->has_failed = true;
        return;
    }
    ms_tree_section(tree, MS_ON_ALL, "needs", "At run time", "");
    ms_tree_code(tree, MS_ON_ALL, "limit", call);
    for (int i = 0; i < MOST_SENTENCES; i++)
        ms_tree_point(tree, MS_ON_ALL, sentences[i]);
}

static bool write_limit(ms_json_writer *w, const ms_plan_view *v)
{
    const ms_plan_needs *n = needs_of(v);
    const ms_device *device = v->run->device;
    if (!is_held(v)) {
        ms_json_null(w, "allocator_limit");
        return true;
    }
    const char *call = ms_pytorch_limit_call(v->arena, n->fraction);
    ms_json_object(w, "allocator_limit");
    ms_json_string(w, "call", call);
    ms_json_double(w, "fraction", n->fraction, 9);
    ms_json_uint(w, "limit_bytes", n->limit_bytes);
    ms_json_uint(w, "device_memory_bytes", ms_device_usable_bytes(device));
    ms_json_bool(w, "device_memory_is_assumed", device->cuda_bytes == 0);
    ms_json_uint(w, "retries_per_step", v->figures->step_retries);
    ms_json_uint(w, "released_bytes_per_step", v->figures->step_retry_bytes);
    ms_json_object_inline(w, "without");
    ms_json_uint(w, "peak_memory_bytes", n->unheld.peak_bytes);
    ms_json_uint(w, "reserved_memory_bytes", n->unheld.reserved_bytes);
    ms_json_uint(w, "device_bytes", n->unheld.device_bytes);
    ms_json_close(w);
    ms_json_close(w);
    return call != NULL;
}

bool ms_plan_needs_json(ms_json_writer *w, const ms_plan_view *v)
{
    const ms_plan_needs *n = needs_of(v);
    bool ok = write_limit(w, v);
    if (has_link(v)) {
        ms_json_object_inline(w, "host_link");
        ms_json_double(w, "gb_per_s", n->link_bytes_per_s / 1e9, 3);
        ms_json_double(w, "step_ms_at_half", n->half_link_ms, 3);
        ms_json_double(w, "added_pct_at_half", 100 * half_link_share(v), 3);
        ms_json_close(w);
    } else {
        ms_json_null(w, "host_link");
    }
    if (!v->is_infeasible && n->more_ms > 0) {
        ms_json_object_inline(w, "steep_end");
        ms_json_uint(w, "more_bytes", n->more_bytes);
        ms_json_uint(w, "budget_bytes", v->budget_bytes + n->more_bytes);
        ms_json_double(w, "step_ms", n->more_ms, 3);
        ms_json_double(w, "faster_pct", 100 * ms_plan_steep_share(v), 3);
        ms_json_close(w);
    } else {
        ms_json_null(w, "steep_end");
    }
    return ok;
}
