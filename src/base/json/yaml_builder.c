/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json/yaml_builder.h"

#include <stdarg.h>

#include "base/json/place.h"
#include "base/json/pointer.h"

static bool is_inside_character(const ms_json_source *source, size_t at)
{
    return at < source->length && ((unsigned char)source->text[at] & 0xc0) == 0x80;
}

/* libyaml counts characters. From the place that was asked for last, which is near. */
size_t ms_yaml_byte_of(ms_yaml_builder *b, const yaml_mark_t *mark)
{
    const ms_json_source *source = &b->document->source;
    for (; b->characters < mark->index && b->bytes < source->length; b->characters++)
        do
            b->bytes++;
        while (is_inside_character(source, b->bytes));
    for (; b->characters > mark->index && b->bytes > 0; b->characters--)
        do
            b->bytes--;
        while (b->bytes > 0 && is_inside_character(source, b->bytes));
    return b->bytes;
}

ms_status ms_yaml_fail(const ms_yaml_builder *b, size_t at, size_t bytes, ms_status status,
                       const char *format, ...)
{
    ms_error *err = b->err;
    const ms_json *document = b->document;
    if (!err || err->status != MS_OK)
        return status;
    va_list args;
    va_start(args, format);
    ms_error_vset(err, status, format, args);
    va_end(args);
    if (document->spans.count > 0)
        ms_json_pointer(&document->source, &document->spans, b->open, err->pointer,
                        sizeof err->pointer);
    ms_json_place(&document->source, at, bytes, err);
    return status;
}

size_t ms_yaml_event_start(ms_yaml_builder *b)
{
    return ms_yaml_byte_of(b, &b->event.start_mark);
}

size_t ms_yaml_event_bytes(ms_yaml_builder *b)
{
    size_t start = ms_yaml_event_start(b);
    return ms_yaml_byte_of(b, &b->event.end_mark) - start;
}

ms_status ms_yaml_fail_memory(const ms_yaml_builder *b)
{
    return ms_fail(b->err, MS_ERR_NOMEM, "out of memory for %s", b->document->source.name);
}

static ms_status fail_parser(ms_yaml_builder *b)
{
    const yaml_parser_t *p = &b->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return ms_yaml_fail_memory(b);
    if (p->error == YAML_READER_ERROR)
        return ms_yaml_fail(b, p->problem_offset, 1, MS_ERR_SYNTAX, "%s", p->problem);
    return ms_yaml_fail(b, ms_yaml_byte_of(b, &p->problem_mark), 1, MS_ERR_SYNTAX, "%s%s%s",
                        p->context ? p->context : "", p->context ? ": " : "",
                        p->problem ? p->problem : "no YAML");
}

ms_status ms_yaml_step(ms_yaml_builder *b)
{
    if (b->has_event)
        yaml_event_delete(&b->event);
    b->has_event = yaml_parser_parse(&b->parser, &b->event) != 0;
    return b->has_event ? MS_OK : fail_parser(b);
}
