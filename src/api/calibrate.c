/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/calibrate/links.h"
#include "decide/calibrate/pair.h"
#include "memscope/calibrate.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "decide/calibrate/fit_memory.h"
#include "input/config/model/notes.h"
#include "base/json/read.h"
#include "report/others/calibration_report.h"
#include "report/writers.h"

struct ms_calibrator {
    ms_arena *arena;
    ms_measured_points points;
    ms_calibration_result result;
    ms_notes notes;
    const ms_device *devices; /* NULL: not read yet */
    uint32_t device_count;
    ms_style style;
};

ms_calibrator *ms_calibrator_create(void)
{
    ms_calibrator *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->style = (ms_style){.columns = 80};
    c->arena = ms_arena_create(0);
    if (c->arena)
        return c;
    free(c);
    return NULL;
}

void ms_calibrator_free(ms_calibrator *c)
{
    if (!c)
        return;
    ms_vec_free(&c->points);
    ms_arena_free(c->arena);
    free(c);
}

void ms_calibrator_set_style(ms_calibrator *c, const ms_style *style)
{
    if (!c || !style)
        return;
    c->style = *style;
}

/* ---- points ---- */

typedef struct document {
    char *text;
    ms_json *json;
} document;

static ms_status open_document(document *d, const char *path, ms_error *err)
{
    ms_json_source source;
    *d = (document){0};
    ms_status status = ms_json_read(NULL, path, &source, &d->text, err);
    return status == MS_OK ? ms_json_parse(&source, &d->json, err) : status;
}

static void close_document(document *d)
{
    ms_json_free(d->json);
    free(d->text);
}

static ms_status load_devices(ms_calibrator *c, ms_error *err)
{
    return c->devices ? MS_OK : ms_devices_load(c->arena, &c->devices, &c->device_count, err);
}

ms_status ms_calibrator_add_pair(ms_calibrator *c, const char *predicted_path,
                                 const char *measured_path, ms_error *err)
{
    if (!c || !predicted_path || !measured_path)
        return ms_fail_null(err);
    document predicted, measured = {0};
    ms_status status = open_document(&predicted, predicted_path, err);
    if (status == MS_OK)
        status = open_document(&measured, measured_path, err);
    if (status == MS_OK)
        status = load_devices(c, err);
    if (status == MS_OK) {
        const ms_report_pair pair = {ms_json_root(predicted.json), ms_json_root(measured.json),
                                     measured_path, c->devices, c->device_count};
        status = ms_measured_point_pair(c->arena, &pair, &c->points, err);
    }
    close_document(&measured);
    close_document(&predicted);
    return status;
}

/* What cannot be read is no such file: whoever takes it for another says why. */
ms_status ms_calibrator_is_links(const char *path, bool *is_links, ms_error *err)
{
    document d;
    ms_error reason = {0};
    if (!path || !is_links)
        return ms_fail_null(err);
    *is_links =
        open_document(&d, path, &reason) == MS_OK && ms_measured_links_is(ms_json_root(d.json));
    close_document(&d);
    if (reason.status == MS_ERR_NOMEM)
        return ms_fail(err, MS_ERR_NOMEM, "%s", reason.text);
    return MS_OK;
}

ms_status ms_calibrator_add_links(ms_calibrator *c, const char *path, ms_error *err)
{
    if (!c || !path)
        return ms_fail_null(err);
    document d;
    ms_status status = open_document(&d, path, err);
    if (status == MS_OK)
        status = load_devices(c, err);
    if (status == MS_OK) {
        const ms_report_pair file = {.measured = ms_json_root(d.json),
                                     .name = path,
                                     .devices = c->devices,
                                     .device_count = c->device_count};
        status = ms_measured_links_read(c->arena, &file, &c->points, err);
        if (status == MS_OK && ms_measured_links_is_of_host(file.measured))
            status = ms_note_add(&c->notes, c->arena, err,
                                 "%.200s was measured with a machine's memory and threads, not on "
                                 "the device that it is meant for",
                                 path);
    }
    close_document(&d);
    return status;
}

ms_status ms_calibrator_add_table(ms_calibrator *c, const char *path, ms_error *err)
{
    if (!c || !path)
        return ms_fail_null(err);
    ms_json_source source;
    char *text = NULL, *table = NULL;
    ms_status status = ms_json_read(NULL, path, &source, &text, err);
    if (status == MS_OK && (table = ms_arena_array(c->arena, char, source.length + 1)) == NULL)
        status = ms_fail(err, MS_ERR_NOMEM, "out of memory for points");
    if (status == MS_OK)
        memcpy(table, source.text, source.length);
    if (status == MS_OK && memchr(source.text, '\0', source.length))
        status =
            ms_fail(err, MS_ERR_CONFIG, "%.200s contains a zero byte: it is not a table", path);
    if (status == MS_OK)
        status = ms_measured_points_read(c->arena, source.name, table, &c->points, err);
    free(text);
    return status;
}

/* ---- the fit ---- */

static ms_status find_device(ms_calibrator *c, const ms_device **found, ms_error *err)
{
    const char *name = "";
    ms_status status = ms_calibration_device(&c->points, &name, err);
    if (status == MS_OK)
        status = load_devices(c, err);
    for (uint32_t i = 0; status == MS_OK && i < c->device_count; i++)
        if (strcmp(c->devices[i].name, name) == 0) {
            *found = &c->devices[i];
            return MS_OK;
        }
    if (status != MS_OK)
        return status;
    return ms_fail(err, MS_ERR_CONFIG,
                   "unknown device '%.40s'; `memscope devices` lists the known ones", name);
}

ms_status ms_calibrator_fit(ms_calibrator *c, ms_error *err)
{
    if (!c)
        return ms_fail_null(err);
    const ms_device *device = NULL;
    if (c->points.count == 0)
        return ms_fail(err, MS_ERR_CONFIG, "there are no points to fit");
    ms_status status = find_device(c, &device, err);
    return status == MS_OK ? ms_calibration_fit(c->arena, &c->points, device, &c->result, err)
                           : status;
}

const char *ms_calibrator_note(const ms_calibrator *c, size_t index)
{
    return c ? ms_note_at(&c->notes, index) : NULL;
}

/* ---- writing ---- */

const char *ms_calibrator_format_at(size_t index)
{
    return ms_writer_name_at(MS_DOCUMENT_CALIBRATION, index);
}

ms_status ms_calibrator_write(const ms_calibrator *c, const char *format, FILE *out, ms_error *err)
{
    if (!c || !format || !out)
        return ms_fail_null(err);
    const ms_calibration_view view = {&c->result, &c->style};
    const ms_writer *writer = ms_writer_find(MS_DOCUMENT_CALIBRATION, format, err);
    return writer ? ms_writer_write(writer, &view, c->arena, out, err) : MS_ERR_USAGE;
}
