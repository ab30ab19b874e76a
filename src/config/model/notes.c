/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/model/notes.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/locale.h"

const char *ms_note_at(const ms_notes *notes, size_t index)
{
    return index < notes->count ? notes->texts[index] : NULL;
}

/* Room for one more; the arena keeps what it had before. */
static bool reserve(ms_notes *notes, ms_arena *arena)
{
    if (notes->count < notes->capacity)
        return true;
    uint32_t capacity = notes->capacity ? 2 * notes->capacity : 8;
    const char **texts = ms_arena_array(arena, const char *, capacity);
    if (!texts)
        return false;
    if (notes->count > 0)
        memcpy(texts, notes->texts, notes->count * sizeof *texts);
    notes->texts = texts;
    notes->capacity = capacity;
    return true;
}

ms_status ms_note_add(ms_notes *notes, ms_arena *arena, ms_error *err, const char *format, ...)
{
    if (!notes)
        return MS_OK;
    char text[512];
    va_list args;
    va_start(args, format);
    ms_text_vprint(text, sizeof text, format, args);
    va_end(args);
    const char *kept = reserve(notes, arena) ? ms_arena_strdup(arena, text) : NULL;
    if (!kept)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a note");
    notes->texts[notes->count++] = kept;
    return MS_OK;
}
