/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two reports side by side.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "json/write.h"
#include "report/page.h"
#include "report/recorded.h"
#include "report/view.h"

/* A figure of both; NULL: one of them does not have it. */
typedef struct pair {
    const char *name;
    uint64_t micro_step;
    const uint64_t *first, *second;
} pair;

typedef void (*pair_writer)(const pair *p, void *to);

static const ms_recorded_phase *find_phase(const ms_recorded *r, const ms_recorded_phase *like)
{
    for (uint32_t i = 0; i < r->phase_count; i++)
        if (strcmp(r->phases[i].name, like->name) == 0 &&
            r->phases[i].micro_step == like->micro_step)
            return &r->phases[i];
    return NULL;
}

static const ms_recorded_category *find_category(const ms_recorded *r, const char *name)
{
    for (uint32_t i = 0; i < r->category_count; i++)
        if (strcmp(r->categories[i].name, name) == 0)
            return &r->categories[i];
    return NULL;
}

static void each_total(const ms_recorded *a, const ms_recorded *b, pair_writer write, void *to)
{
    const pair rows[] = {{"start of the step", 0, &a->start_bytes, &b->start_bytes},
                         {"peak", 0, &a->peak_bytes, &b->peak_bytes},
                         {"reserved", 0, &a->reserved_bytes, &b->reserved_bytes}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        write(&rows[i], to);
}

static void each_phase(const ms_recorded *a, const ms_recorded *b, pair_writer write, void *to)
{
    for (uint32_t i = 0; i < a->phase_count; i++) {
        const ms_recorded_phase *p = &a->phases[i], *q = find_phase(b, p);
        write(&(pair){p->name, p->micro_step, &p->peak_bytes, q ? &q->peak_bytes : NULL}, to);
    }
    for (uint32_t i = 0; i < b->phase_count; i++) {
        const ms_recorded_phase *q = &b->phases[i];
        if (!find_phase(a, q))
            write(&(pair){q->name, q->micro_step, NULL, &q->peak_bytes}, to);
    }
}

static void each_category(const ms_recorded *a, const ms_recorded *b, pair_writer write, void *to)
{
    for (uint32_t i = 0; i < a->category_count; i++) {
        const ms_recorded_category *c = &a->categories[i], *d = find_category(b, c->name);
        write(&(pair){c->name, 0, &c->bytes, d ? &d->bytes : NULL}, to);
    }
    for (uint32_t i = 0; i < b->category_count; i++) {
        const ms_recorded_category *d = &b->categories[i];
        if (!find_category(a, d->name))
            write(&(pair){d->name, 0, NULL, &d->bytes}, to);
    }
}

typedef void (*pair_lister)(const ms_recorded *a, const ms_recorded *b, pair_writer write,
                            void *to);

static const struct part {
    const char *title, *key;
    pair_lister each;
} parts[] = {{"Totals", "totals", each_total},
             {"Peaks of the phases", "phases", each_phase},
             {"At the peak", "categories", each_category}};
enum { PARTS = sizeof parts / sizeof parts[0] };

/* Fits: no report is above 2^62 bytes but by a forged file, where it saturates. */
static int64_t residual_of(const pair *p)
{
    uint64_t a = p->first ? *p->first : 0, b = p->second ? *p->second : 0;
    uint64_t gap = a > b ? a - b : b - a;
    int64_t signed_gap = gap > INT64_MAX ? INT64_MAX : (int64_t)gap;
    return a > b ? -signed_gap : signed_gap;
}

static double share_of(const pair *p, uint64_t whole)
{
    return whole > 0 ? (double)residual_of(p) / (double)whole : (double)NAN;
}

/* ---- console ---- */

typedef struct console {
    FILE *out;
    uint64_t whole;
} console;

static void write_line(const pair *p, void *to)
{
    const console *c = to;
    char first[MS_GIB_TEXT], second[MS_GIB_TEXT], name[48];
    snprintf(name, sizeof name, p->micro_step > 0 ? "%.24s %" PRIu64 : "%.24s", p->name,
             p->micro_step + 1);
    fprintf(c->out, "  %-20s %10s %10s %+16" PRId64 " %+8.2f %%\n", name,
            p->first ? ms_gib(*p->first, first) : "-", p->second ? ms_gib(*p->second, second) : "-",
            residual_of(p), 100 * share_of(p, c->whole));
}

static void write_side(const ms_recorded *r, const char *name, FILE *out)
{
    fprintf(out, "  %-8s %s: %s%s%s%s%s\n", name, r->path, r->is_static ? "static" : r->mode,
            r->device ? ", " : "", r->device ? r->device : "", r->torch ? ", torch " : "",
            r->torch ? r->torch : "");
}

ms_status ms_compare_console(const ms_recorded *first, const ms_recorded *second, FILE *out,
                             ms_error *err)
{
    const ms_page page = ms_page_begin(out, &second->style);
    console to = {out, first->peak_bytes};
    (void)err;
    write_side(first, "first", out);
    write_side(second, "second", out);
    for (size_t i = 0; i < PARTS; i++) {
        ms_page_heading(&page, parts[i].title,
                        "  (GiB; difference in bytes, and of the first peak)");
        fprintf(out, "  %-20s %10s %10s %16s\n", "", "first", "second", "difference");
        parts[i].each(first, second, write_line, &to);
    }
    return MS_OK;
}

/* ---- JSON ---- */

typedef struct json {
    ms_json_writer *w;
    uint64_t whole;
} json;

static void write_figure(ms_json_writer *w, const char *key, const uint64_t *bytes)
{
    if (bytes)
        ms_json_uint(w, key, *bytes);
    else
        ms_json_null(w, key);
}

static void write_object(const pair *p, void *to)
{
    const json *j = to;
    ms_json_object_inline(j->w, NULL);
    ms_json_string(j->w, "name", p->name);
    ms_json_uint(j->w, "micro_step", p->micro_step);
    write_figure(j->w, "first_bytes", p->first);
    write_figure(j->w, "second_bytes", p->second);
    ms_json_int(j->w, "residual_bytes", residual_of(p));
    ms_json_double(j->w, "share_of_peak", share_of(p, j->whole), 6);
    ms_json_close(j->w);
}

static void write_source(ms_json_writer *w, const char *key, const ms_recorded *r)
{
    ms_json_object(w, key);
    ms_json_string(w, "mode", r->is_static ? "static" : r->mode);
    ms_json_string(w, "device", r->device);
    ms_json_string(w, "torch", r->torch);
    ms_json_close(w);
}

ms_status ms_compare_json(const ms_recorded *first, const ms_recorded *second, FILE *out,
                          ms_error *err)
{
    ms_json_writer w = {.out = out};
    json to = {&w, first->peak_bytes};
    ms_json_object(&w, NULL);
    ms_json_string(&w, "schema_version", MS_COMPARE_SCHEMA_VERSION);
    write_source(&w, "first", first);
    write_source(&w, "second", second);
    for (size_t i = 0; i < PARTS; i++) {
        ms_json_array(&w, parts[i].key);
        parts[i].each(first, second, write_object, &to);
        ms_json_close(&w);
    }
    ms_json_close(&w);
    return ms_json_writer_end(&w, err);
}
