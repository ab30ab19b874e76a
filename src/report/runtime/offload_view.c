/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/runtime/offload_view.h"

#include "base/locale.h"
#include "base/text/number.h"
#include "input/config/model/model_config.h"

static const double saturated_share = 0.01;

const char *ms_offload_model(const ms_offload_view *v)
{
    return ms_model_title(v->model);
}

ms_offload_bytes ms_offload_row_bytes(const ms_offload_view *v, const ms_offload_row *row)
{
    ms_offload_bytes sum = {0};
    for (uint32_t i = 0; i < v->tags->count; i++) {
        sum.total_bytes += row->bytes[i].total_bytes;
        sum.sent_bytes += row->bytes[i].sent_bytes;
    }
    return sum;
}

double ms_offload_link_use(const ms_offload_figures *f)
{
    return f->has_times && f->step_ms > 0 ? f->link_busy_ms / f->step_ms : 0;
}

static bool has_budget(const ms_offload_view *v)
{
    return v->run->budget_bytes > 0;
}

const ms_offload_row *ms_offload_least(const ms_offload_view *v)
{
    for (uint32_t i = 0; i < v->rows->count && has_budget(v); i++)
        if (ms_reason_fits(v->rows->items[i].reason))
            return &v->rows->items[i];
    return NULL;
}

/* So that one can be said to be the least. */
static bool has_several(const ms_offload_view *v)
{
    return v->is_swept && v->rows->count > 1;
}

static bool sends_nothing(const ms_offload_view *v, const ms_offload_row *row)
{
    return ms_offload_row_bytes(v, row).sent_bytes == 0;
}

/* Waiting that offload adds: others wait for the host too. */
static bool waits(const ms_offload_view *v, const ms_offload_row *row)
{
    const ms_offload_row *first = &v->rows->items[0];
    double before = sends_nothing(v, first) ? first->predicted.exposed_ms : 0;
    return row->predicted.exposed_ms - before > saturated_share * row->predicted.step_ms;
}

const ms_offload_row *ms_offload_saturated(const ms_offload_view *v)
{
    const ms_offload_row *found = NULL;
    for (uint32_t i = v->rows->count; i-- > 0 && waits(v, &v->rows->items[i]);)
        found = &v->rows->items[i];
    return found;
}

bool ms_offload_differs(const ms_offload_row *row)
{
    const ms_offload_figures *a = &row->predicted, *b = &row->measured;
    return row->has_measured &&
           (a->peak_bytes != b->peak_bytes || a->reserved_bytes != b->reserved_bytes ||
            a->host_bytes != b->host_bytes);
}

/* ---- sentences ---- */

static const char *describe_fit(const ms_offload_view *v, const ms_offload_row *row,
                                char text[MS_OFFLOAD_TEXT])
{
    const ms_offload_row *first = &v->rows->items[0];
    char needs[MS_GIB_TEXT], budget[MS_GIB_TEXT], time[64] = "";
    const char *tight = ms_reason_verdict(row->reason) == MS_VERDICT_TIGHT ? ", tightly" : "";
    (void)ms_gib(row->device_bytes, needs);
    (void)ms_gib(v->run->budget_bytes, budget);
    if (v->is_swept && row == first && sends_nothing(v, row)) {
        ms_text_print(text, MS_OFFLOAD_TEXT, "Fits without offload%s: %s of %s GiB.", tight, needs,
                      budget);
        return text;
    }
    if (!has_several(v)) {
        ms_text_print(text, MS_OFFLOAD_TEXT, "Fits%s: %s of %s GiB.", tight, needs, budget);
        return text;
    }
    if (row == first) {
        ms_text_print(text, MS_OFFLOAD_TEXT, "Fits at the least ratio already, %g%s: %s of %s GiB.",
                      row->ratio, tight, needs, budget);
        return text;
    }
    if (row->predicted.has_times && first->predicted.step_ms > 0)
        ms_text_print(time, sizeof time, " The step takes %.1f %% longer than at %g.",
                      (row->predicted.step_ms / first->predicted.step_ms - 1) * 100, first->ratio);
    ms_text_print(text, MS_OFFLOAD_TEXT,
                  "Offload at least %g: then the step fits%s, with %s of %s GiB.%s", row->ratio,
                  tight, needs, budget, time);
    return text;
}

static const char *describe_change(const ms_offload_view *v, char text[MS_OFFLOAD_TEXT])
{
    const ms_offload_row *first = &v->rows->items[0], *last = &v->rows->items[v->rows->count - 1];
    char from[MS_GIB_TEXT], to[MS_GIB_TEXT];
    (void)ms_gib(first->predicted.peak_bytes, from);
    (void)ms_gib(last->predicted.peak_bytes, to);
    if (first == last)
        ms_text_print(text, MS_OFFLOAD_TEXT, "The peak is %s GiB.", from);
    else
        ms_text_print(text, MS_OFFLOAD_TEXT,
                      "From a ratio of %g to %g the peak goes from %s to %s GiB.", first->ratio,
                      last->ratio, from, to);
    return text;
}

const char *ms_offload_decision(const ms_offload_view *v, char text[MS_OFFLOAD_TEXT])
{
    const ms_offload_row *least = ms_offload_least(v), *lowest = &v->rows->items[0];
    char needs[MS_GIB_TEXT], budget[MS_GIB_TEXT];
    if (least)
        return describe_fit(v, least, text);
    if (!has_budget(v))
        return describe_change(v, text);
    for (uint32_t i = 0; i < v->rows->count; i++)
        if (v->rows->items[i].device_bytes < lowest->device_bytes)
            lowest = &v->rows->items[i];
    ms_text_print(text, MS_OFFLOAD_TEXT, "Does not fit%s: it needs at least %s of %s GiB.",
                  v->rows->count > 1 ? " at any of the ratios" : "",
                  ms_gib(lowest->device_bytes, needs), ms_gib(v->run->budget_bytes, budget));
    return text;
}

const char *ms_offload_about_link(const ms_offload_view *v, char text[MS_OFFLOAD_TEXT])
{
    const ms_offload_row *row = ms_offload_saturated(v);
    if (!v->rows->items[0].predicted.has_times)
        ms_text_print(text, MS_OFFLOAD_TEXT,
                      "The rates of %.60s are not known, so no times are predicted.",
                      v->run->device->name);
    else if (!row)
        ms_text_print(text, MS_OFFLOAD_TEXT,
                      "The link is not saturated: waiting for these copies takes at most 1 %% of "
                      "the step.");
    else if (!has_several(v))
        ms_text_print(text, MS_OFFLOAD_TEXT,
                      "The link is saturated: waiting for copies takes %.1f %% of the step.",
                      row->predicted.exposed_ms / row->predicted.step_ms * 100);
    else if (row == &v->rows->items[0])
        ms_text_print(
            text, MS_OFFLOAD_TEXT,
            "The link is saturated at all of the ratios: it does not keep up with the offloading "
            "layers, and waiting for copies takes more than 1 %% of the step.");
    else
        ms_text_print(text, MS_OFFLOAD_TEXT,
                      "The link is saturated from a ratio of %g on: it does not keep up with the "
                      "offloading layers, and waiting for copies takes more than 1 %% of the step.",
                      row->ratio);
    return text;
}
