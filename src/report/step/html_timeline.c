/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/step/html_timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/json/write.h"
#include "decide/ledger/alive.h"
#include "run/measure/source.h"
#include "report/kit/html.h"
#include "report/pictures/picture.h"

/* Names by their number; each is there once. */
typedef ms_vec(const char *) names;

/* Its number; false when out of memory. */
static bool number_of(names *all, const char *name, uint32_t *number)
{
    for (*number = 0; *number < all->count; ++*number)
        if (strcmp(all->items[*number], name) == 0)
            return true;
    return ms_vec_push(all, name);
}

static const char *op_name(const ms_view *v, uint32_t op)
{
    const ms_trace *trace = &v->ledger->simulation->trace;
    const ms_record record = {
        .op = op, .scope = ms_op_scope(trace, &trace->ops.items[op]), .name = MS_NONE};
    return ms_view_record_name(v, &record);
}

static const char *tensor_name(const ms_view *v, const ms_peak_tensor *t)
{
    uint32_t length = ms_ledger_storage_name(v->ledger, t->storage, t->count, NULL, 0);
    char *text = ms_arena_array(v->arena, char, (size_t)length + 1);
    if (text)
        ms_ledger_storage_name(v->ledger, t->storage, t->count, text, length + 1);
    return text ? text : "";
}

/* [[name, how many, bytes, category], ...] */
static bool write_tensors(ms_json_writer *w, const ms_view *v, const ms_alive_point *p, names *all)
{
    const ms_trace *trace = &v->ledger->simulation->trace;
    ms_json_array(w, "alive");
    for (uint32_t i = 0; i < p->tensor_count; i++) {
        uint32_t number;
        if (!number_of(all, tensor_name(v, &p->tensors[i]), &number))
            return false;
        ms_json_array(w, NULL);
        ms_json_uint(w, NULL, number);
        ms_json_uint(w, NULL, p->tensors[i].count);
        ms_json_uint(w, NULL, p->tensors[i].bytes);
        ms_json_uint(w, NULL, trace->storages.items[p->tensors[i].storage].category);
        ms_json_close(w);
    }
    ms_json_close(w);
    return true;
}

static bool write_point(ms_json_writer *w, const ms_view *v, const ms_timeline_point *p,
                        const ms_alive_point *alive, names *all)
{
    uint32_t number;
    ms_json_object_inline(w, NULL);
    ms_json_uint(w, "event", p->event);
    ms_json_string(w, "phase", ms_phase_name((ms_phase)p->phase));
    ms_json_double(w, "ms", p->ms, 6);
    ms_json_uint(w, "bytes", p->bytes);
    if (alive->op != MS_NONE) {
        if (!number_of(all, op_name(v, alive->op), &number))
            return false;
        ms_json_uint(w, "op", number);
    }
    if (alive->layer != MS_NONE)
        ms_json_uint(w, "layer", alive->layer);
    ms_json_array(w, "categories");
    for (uint32_t c = 0; c < MS_CATEGORY_COUNT; c++)
        ms_json_uint(w, NULL, p->category_bytes[c]);
    ms_json_close(w);
    bool ok = write_tensors(w, v, alive, all);
    ms_json_close(w);
    return ok;
}

static void write_frame(ms_json_writer *w, const ms_rectangle *f)
{
    ms_json_object_inline(w, NULL);
    ms_json_double(w, "x", f->x, 1);
    ms_json_double(w, "y", f->y, 1);
    ms_json_double(w, "width", f->width, 1);
    ms_json_double(w, "height", f->height, 1);
    ms_json_close(w);
}

static bool write_data(FILE *out, const ms_view *v, const ms_alive_points *alive, names *all)
{
    const ms_ledger *ledger = v->ledger;
    ms_json_writer w = {.out = out};
    bool ok = true;
    fputs("<script type=\"application/json\" id=\"timeline-data\">\n", out);
    ms_json_object(&w, NULL);
    ms_json_bool(&w, "is_timed", ledger->schedule.is_timed);
    ms_json_double(&w, "end_ms", ledger->schedule.end_ms, 6);
    ms_json_uint(&w, "peak_event", ledger->peak->event - ledger->usage->steady_first_event);
    ms_json_array(&w, "frames"); /* of the pictures, in order */
    write_frame(&w, &ms_wide_pictures.plot);
    write_frame(&w, &ms_narrow_pictures.plot);
    ms_json_close(&w);
    ms_json_array_inline(&w, "categories");
    for (uint32_t c = 0; c < MS_CATEGORY_COUNT; c++)
        ms_json_string(&w, NULL, ms_category_name((ms_category)c));
    ms_json_close(&w);
    ms_json_array(&w, "points");
    for (uint32_t i = 0; ok && i < ledger->timeline.count; i++)
        ok = write_point(&w, v, &ledger->timeline.items[i], &alive->items[i], all);
    ms_json_close(&w);
    ms_json_close(&w);
    fputs("\n</script>\n", out);
    return ok;
}

/* As elements of the page, where every text is escaped alike. */
static void write_names(FILE *out, const names *all)
{
    fputs("<ol hidden id=\"timeline-names\">\n", out);
    for (uint32_t i = 0; i < all->count; i++) {
        fputs("<li>", out);
        ms_xml_text(out, all->items[i]);
        fputs("</li>\n", out);
    }
    fputs("</ol>\n", out);
}

bool ms_html_timeline_data(FILE *out, const ms_view *v)
{
    ms_alive_points alive = {0};
    names all = {0};
    ms_error err = {0};
    bool ok = ms_alive_follow(v->ledger, &alive, &err) == MS_OK && write_data(out, v, &alive, &all);
    if (ok)
        write_names(out, &all);
    ms_vec_free(&all);
    ms_vec_free(&alive);
    return ok;
}
