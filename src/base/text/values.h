/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Values of fields as people write them. A reader that refuses a value reports a sentence that
 * begins with the field's name, and stores nothing.
 */
#ifndef MS_BASE_TEXT_VALUES_H
#define MS_BASE_TEXT_VALUES_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* Any text; *text is a copy in the arena. */
ms_status ms_value_text(const char *field, const char *value, ms_arena *arena, const char **text,
                        ms_error *err);

/* Digits only. Bounds are inclusive. */
ms_status ms_value_count(const char *field, const char *value, uint64_t minimum, uint64_t maximum,
                         uint64_t *count, ms_error *err);

#define MS_VALUE_LARGEST_NUMBER 1e300

/* A number in JSON's syntax, in any locale. Bounds are inclusive; `expected` describes them in the
 * message: "a number above 0". */
ms_status ms_value_number(const char *field, const char *value, double minimum, double maximum,
                          const char *expected, double *number, ms_error *err);

/* A size with a unit, of at least `minimum` bytes. */
ms_status ms_value_size(const char *field, const char *value, uint64_t minimum, uint64_t *bytes,
                        ms_error *err);

/* One of the names, a list that ends with NULL; *choice is its index. Case is ignored, and `_`
 * equals `-`. */
ms_status ms_value_choice(const char *field, const char *value, const char *const *choices,
                          int *choice, ms_error *err);

/* The same with names from a function, which yields NULL past the last. */
typedef const char *(*ms_value_name_at)(const void *list, size_t index);
ms_status ms_value_choice_of(const char *field, const char *value, ms_value_name_at name_at,
                             const void *list, int *choice, ms_error *err);

/* Refuses a text "key=value,key=value,flag" that has a key twice, with two values: the last would
 * win in silence. Of long texts only the first keys are looked for. */
ms_status ms_value_refuse_twice(const char *text, ms_error *err);

#endif
