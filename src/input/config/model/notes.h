/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Notes: what a user should know about accepted input. They belong to the arena.
 */
#ifndef MS_INPUT_CONFIG_MODEL_NOTES_H
#define MS_INPUT_CONFIG_MODEL_NOTES_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

typedef struct ms_notes {
    const char **texts; /* one sentence each, no newline */
    uint32_t count, capacity;
} ms_notes;

/* The text of a note, from index 0; NULL past the last. */
const char *ms_note_at(const ms_notes *notes, size_t index);
/* Appends; does nothing when `notes` is NULL. */
__attribute__((format(printf, 4, 5))) ms_status ms_note_add(ms_notes *notes, ms_arena *arena,
                                                            ms_error *err, const char *format, ...);

#endif
