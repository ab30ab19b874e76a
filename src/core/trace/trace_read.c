/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/trace/trace_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json/place.h"
#include "core/trace/reading.h"

/* ---- the head ---- */

static ms_status read_fact(ms_trace_reading *r, ms_json_value head, const char *key,
                           const char **fact)
{
    ms_json_value v;
    const char *text = NULL;
    ms_status status = ms_json_get_member(head, key, &v, r->err);
    if (status == MS_OK && ms_json_kind_of(v) != MS_JSON_NULL)
        status = ms_json_get_string(v, &text, r->err);
    if (status == MS_OK && text)
        status = ms_trace_reading_keep(r, text, fact);
    return status;
}

static ms_status read_version(ms_trace_reading *r, ms_json_value head)
{
    ms_json_value v;
    const char *version;
    ms_status status = ms_json_get_member(head, "version", &v, r->err);
    if (status == MS_OK)
        status = ms_json_get_string(v, &version, r->err);
    if (status == MS_OK && strncmp(version, "1.", 2) != 0)
        return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "a trace of version %.20s; this memscope reads 1.x", version);
    return status;
}

static ms_status read_head(ms_trace_reading *r, ms_json_value line)
{
    ms_json_value head;
    if (!ms_json_find(line, "trace", &head))
        return ms_json_fail(r->err, line, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "not a trace: its first line is {\"trace\": ...}");
    const struct {
        const char *key;
        uint32_t *count;
    } counts[] = {{"names", &r->head.names},       {"symbols", &r->head.symbols},
                  {"scopes", &r->head.scopes},     {"streams", &r->head.streams},
                  {"storages", &r->head.storages}, {"operators", &r->head.ops},
                  {"events", &r->head.events}};
    ms_status status = read_version(r, head);
    if (status == MS_OK)
        status = read_fact(r, head, "made_by", &r->file->facts.made_by);
    if (status == MS_OK)
        status = read_fact(r, head, "run", &r->file->facts.run);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0] && status == MS_OK; i++) {
        ms_json_value v;
        uint64_t count = 0;
        status = ms_json_get_member(head, counts[i].key, &v, r->err);
        if (status == MS_OK)
            status = ms_json_get_count(v, 0, UINT32_MAX - 2, &count, r->err);
        *counts[i].count = (uint32_t)count;
    }
    return status;
}

/* ---- lines ---- */

/* A place in a line is one in the file. */
static void place_line(const ms_trace_reading *r, ms_error *err)
{
    if (err && err->line)
        err->line += r->line - 1;
}

static ms_status read_line(ms_trace_reading *r, const char *name, const char *text, size_t length)
{
    const ms_json_source source = {name, text, length};
    ms_json *document = NULL;
    ms_status status = ms_json_parse(&source, &document, r->err);
    if (status == MS_OK) {
        ms_json_value root = ms_json_root(document);
        status = ms_json_expect(root, MS_JSON_OBJECT, r->err);
        if (status == MS_OK)
            status = r->line == 1 ? read_head(r, root) : ms_trace_reading_line(r, root);
    }
    if (status != MS_OK)
        place_line(r, r->err);
    ms_json_free(document);
    return status;
}

static ms_status fail_read(const char *name, ms_error *err)
{
    int reason = errno;
    return ms_fail(err, reason == ENOMEM ? MS_ERR_NOMEM : MS_ERR_IO, "cannot read %s: %s", name,
                   ms_file_reason(reason));
}

static ms_status read_lines(ms_trace_reading *r, FILE *file, const char *name)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t length;
    ms_status status = MS_OK;
    errno = 0;
    while (status == MS_OK && (length = ms_file_line(file, &text, &room)) > 0) {
        r->line++;
        status = read_line(r, name, text, (size_t)length - (text[length - 1] == '\n'));
    }
    if (status == MS_OK && (ferror(file) || errno == ENOMEM || errno == EFBIG))
        status = fail_read(name, r->err);
    free(text);
    return status;
}

/* A file that was cut is no trace. */
static ms_status check_end(const ms_trace_reading *r, const char *name)
{
    const ms_trace *t = &r->file->trace;
    if (r->line == 0)
        return ms_fail(r->err, MS_ERR_CONFIG, "%s is empty: a trace has a first line", name);
    const struct {
        const char *what;
        uint32_t found, announced;
    } tables[] = {{"storages", t->storages.count, r->head.storages},
                  {"operators", t->ops.count, r->head.ops},
                  {"events", t->events.count, r->head.events}};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (tables[i].found != tables[i].announced)
            return ms_fail(r->err, MS_ERR_CONFIG,
                           "%s has %" PRIu32 " %s where its first line says %" PRIu32, name,
                           tables[i].found, tables[i].what, tables[i].announced);
    if (r->op != MS_NONE || r->is_in_phase)
        return ms_fail(r->err, MS_ERR_CONFIG, "%s ends within %s", name,
                       r->op != MS_NONE ? "an operator" : "a phase");
    return MS_OK;
}

ms_status ms_trace_read(FILE *file, const char *name, ms_trace_file *read, ms_error *err)
{
    *read = (ms_trace_file){0};
    ms_trace_reading r = {.file = read, .err = err, .op = MS_NONE};
    ms_status status = ms_trace_reading_begin(&r);
    if (status == MS_OK)
        status = read_lines(&r, file, name);
    if (status == MS_OK)
        status = check_end(&r, name);
    ms_trace_reading_end(&r);
    if (status != MS_OK)
        ms_trace_free(&read->trace);
    return status;
}

ms_status ms_trace_read_file(ms_inputs *inputs, const char *path, ms_trace_file *read,
                             ms_error *err)
{
    ms_error reason = {.status = MS_OK};
    const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    FILE *file = ms_file_open(inputs, path, &reason);
    if (!file) {
        ms_status status = ms_fail(err, reason.status, "cannot open: %s", reason.text);
        ms_json_place_file(name, err);
        return status;
    }
    ms_status status = ms_trace_read(file, name, read, err);
    ms_file_close(file);
    return status;
}
