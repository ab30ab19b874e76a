/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/syntax/syntax.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json/place.h"
#include "base/locale.h"

const char *ms_users_place(const ms_text_node *at, char *out, size_t size)
{
    *out = 0;
    if (!at || !at->file || !at->file->is_users)
        return out;
    uint32_t line = 1;
    for (size_t i = 0; i < at->offset; i++)
        line += at->file->text[i] == '\n';
    snprintf(out, size, " (%.200s:%" PRIu32 ")", at->file->name, line);
    return out;
}

void ms_family_fail(ms_family_reading *reading, const ms_text_node *at, const char *format, ...)
{
    char text[sizeof reading->err->text];
    va_list args;
    va_start(args, format);
    ms_text_vprint(text, sizeof text, format, args);
    va_end(args);
    if (reading->status != MS_OK)
        return;
    reading->status = ms_arena_has_failed(reading->arena) ? MS_ERR_NOMEM : MS_ERR_CONFIG;
    if (reading->err && reading->err->status == MS_OK && at && at->file) {
        const ms_json_source source = {at->file->name, at->file->text, at->file->bytes};
        const size_t rest = at->file->bytes - at->offset;
        ms_json_place(&source, at->offset, at->bytes < rest ? at->bytes : rest, reading->err);
    }
    ms_error_set(reading->err, reading->status, "%s", text);
}

ms_text_node *ms_family_node(ms_family_reading *reading, ms_node_kind kind, const ms_text_node *at)
{
    ms_text_node *node =
        reading->nodes++ < MS_FAMILY_NODES ? ms_arena_array(reading->arena, ms_text_node, 1) : NULL;
    if (!node) {
        ms_family_fail(reading, at, "the text is too long");
        return NULL;
    }
    *node =
        (ms_text_node){.kind = kind, .file = at->file, .offset = at->offset, .bytes = at->bytes};
    return node;
}

bool ms_block_add(ms_family_reading *reading, ms_text_block *block, ms_text_statement *statement)
{
    if (!statement)
        return false;
    void *items = ms_arena_grow(reading->arena, block->items, block->count, &block->capacity,
                                sizeof *block->items, 8);
    if (!items) {
        ms_family_fail(reading, NULL, "out of memory");
        return false;
    }
    block->items = items;
    block->items[block->count++] = statement;
    return true;
}

uint32_t ms_family_line(const ms_text_node *node)
{
    uint32_t line = 1;
    for (uint32_t i = 0; node->file && i < node->offset; i++)
        line += node->file->text[i] == '\n';
    return line;
}
