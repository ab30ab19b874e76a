/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/notes.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/locale.h"

const char *ms_note_at(const ms_notes *notes, size_t index)
{
    const ms_note *note = notes->first;
    for (; note && index; index--)
        note = note->next;
    return note ? note->text : NULL;
}

ms_status ms_note_add(ms_notes *notes, ms_arena *arena, ms_error *err, const char *format, ...)
{
    if (!notes)
        return MS_OK;
    char text[256];
    va_list args;
    va_start(args, format);
    ms_text_vprint(text, sizeof text, format, args);
    va_end(args);
    ms_note *note = ms_arena_array(arena, ms_note, 1);
    if (!note || !(note->text = ms_arena_strdup(arena, text)))
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a note");
    if (notes->last)
        notes->last->next = note;
    else
        notes->first = note;
    notes->last = note;
    return MS_OK;
}
