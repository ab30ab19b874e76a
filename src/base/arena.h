/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Arena: everything that lives as long as one run. Freed once, as a whole.
 */
#ifndef MS_BASE_ARENA_H
#define MS_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ms_arena ms_arena;

ms_arena *ms_arena_create(size_t limit_bytes); /* NULL when out of memory; 0 = no limit */
void ms_arena_free(ms_arena *arena);           /* NULL is fine */

/* Zeroed, aligned for any type, valid until ms_arena_free. NULL when memory or the limit is
 * exhausted, or when count * size does not fit. A count of 0 yields a valid pointer. */
void *ms_arena_alloc(ms_arena *arena, size_t count, size_t size);
#define ms_arena_array(arena, type, n) ((type *)ms_arena_alloc((arena), (n), sizeof(type)))

/* Room for one more item: `items` if it has that, else a copy in twice the room, `least` at first,
 * with its `*capacity`; the arena keeps what was there before. NULL on failure. */
void *ms_arena_grow(ms_arena *arena, void *items, uint32_t count, uint32_t *capacity, size_t size,
                    uint32_t least);

/* Copies of text; NULL on failure. */
char *ms_arena_strdup(ms_arena *arena, const char *text);
__attribute__((format(printf, 2, 3))) char *ms_arena_printf(ms_arena *arena, const char *format,
                                                            ...);

/* Whether memory ran out in any call, for callers that do not check each one. */
bool ms_arena_has_failed(const ms_arena *arena);

/* The list that records the files read into the arena; it must outlive the arena. NULL, the
 * default: none. */
struct ms_inputs;
void ms_arena_set_inputs(ms_arena *arena, struct ms_inputs *inputs);
struct ms_inputs *ms_arena_inputs(const ms_arena *arena);

#endif
