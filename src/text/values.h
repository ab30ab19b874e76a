/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Values of fields as people write them. Each reader refuses what it does not take with a sentence
 * that begins with the field's name; nothing is stored then.
 */
#ifndef MS_TEXT_VALUES_H
#define MS_TEXT_VALUES_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* A copy in the arena. */
ms_status ms_value_text(const char *field, const char *value, ms_arena *arena, const char **text,
                        ms_error *err);

/* Digits only. Bounds are inclusive. */
ms_status ms_value_count(const char *field, const char *value, uint64_t minimum, uint64_t maximum,
                         uint64_t *count, ms_error *err);

#define MS_VALUE_LARGEST_NUMBER 1e300

/* A number of JSON's grammar, the same in every locale; `expected` says which: "a number above 0".
 * Bounds are inclusive. */
ms_status ms_value_number(const char *field, const char *value, double minimum, double maximum,
                          const char *expected, double *number, ms_error *err);

/* A size with a unit, of at least `minimum` bytes. */
ms_status ms_value_size(const char *field, const char *value, uint64_t minimum, uint64_t *bytes,
                        ms_error *err);

/* One of the names, of which NULL is the last; case and `_` for `-` are forgiven. */
ms_status ms_value_choice(const char *field, const char *value, const char *const *choices,
                          int *choice, ms_error *err);

/* The same of names that are elsewhere: NULL past the last. */
typedef const char *(*ms_value_name_at)(const void *list, size_t index);
ms_status ms_value_choice_of(const char *field, const char *value, ms_value_name_at name_at,
                             const void *list, int *choice, ms_error *err);

#endif
