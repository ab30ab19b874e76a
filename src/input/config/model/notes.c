/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/model/notes.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/locale.h"

enum { FIRST_NOTES = 8 }; /* for which there is room at first */

const char *ms_note_at(const ms_notes *notes, size_t index)
{
    return index < notes->count ? notes->texts[index] : NULL;
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
    const char *kept = ms_arena_strdup(arena, text);
    const char **texts = kept ? ms_arena_grow(arena, notes->texts, notes->count, &notes->capacity,
                                              sizeof *notes->texts, FIRST_NOTES)
                              : NULL;
    if (!texts)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a note");
    notes->texts = texts;
    notes->texts[notes->count++] = kept;
    return MS_OK;
}
