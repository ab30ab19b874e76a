/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/weights/cursor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/json/place.h"

ms_status ms_cursor_fail(const ms_cursor *c, uint64_t at, const char *format, ...)
{
    ms_error sentence = {.status = MS_OK};
    va_list args;
    va_start(args, format);
    ms_error_vset(&sentence, MS_ERR_CONFIG, format, args);
    va_end(args);
    ms_error_set(c->err, MS_ERR_CONFIG, "byte %" PRIu64 ": %.480s", at, sentence.text);
    ms_json_place_file(c->source->name, c->err);
    return MS_ERR_CONFIG;
}

static ms_status fill(ms_cursor *c)
{
    uint64_t left = c->source->bytes - c->at;
    size_t bytes = left < MS_CURSOR_BLOCK ? (size_t)left : MS_CURSOR_BLOCK;
    ms_status status = c->source->read(c->source->from, c->at, c->block, bytes, c->err);
    c->block_at = c->at;
    c->block_bytes = status == MS_OK ? bytes : 0;
    return status;
}

static ms_status check(const ms_cursor *c, uint64_t bytes, const char *what)
{
    uint64_t left = c->source->bytes - c->at;
    return bytes <= left ? MS_OK
                         : ms_cursor_fail(c, c->at,
                                          "the file ends within %s: %" PRIu64 " bytes, and %" PRIu64
                                          " are left",
                                          what, bytes, left);
}

ms_status ms_cursor_take(ms_cursor *c, void *to, size_t bytes, const char *what)
{
    ms_status status = check(c, bytes, what);
    uint8_t *out = to;
    while (bytes > 0 && status == MS_OK) {
        bool is_in = c->at >= c->block_at && c->at - c->block_at < c->block_bytes;
        if (!is_in && (status = fill(c)) != MS_OK)
            return status;
        size_t from = (size_t)(c->at - c->block_at), more = c->block_bytes - from;
        more = more < bytes ? more : bytes;
        memcpy(out, c->block + from, more);
        out += more;
        bytes -= more;
        c->at += more;
    }
    return status;
}

ms_status ms_cursor_skip(ms_cursor *c, uint64_t bytes, const char *what)
{
    ms_status status = check(c, bytes, what);
    if (status == MS_OK)
        c->at += bytes;
    return status;
}

ms_status ms_cursor_number(ms_cursor *c, size_t bytes, uint64_t *number, const char *what)
{
    uint8_t raw[8] = {0};
    ms_status status = ms_cursor_take(c, raw, bytes, what);
    *number = 0;
    for (size_t i = 0; i < sizeof raw; i++)
        *number |= (uint64_t)raw[i] << (8 * i);
    return status;
}
