/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_BASE_ERROR_H
#define MS_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

#include "memscope/error.h"

/* Records the message unless an earlier failure is already there; err may be NULL. */
__attribute__((format(printf, 3, 4))) void ms_error_set(ms_error *err, ms_status status,
                                                        const char *format, ...);
__attribute__((format(printf, 3, 0))) void ms_error_vset(ms_error *err, ms_status status,
                                                         const char *format, va_list args);

/* Whether the input is at fault, so that the rest of it may be looked at for further faults. */
bool ms_status_is_of_input(ms_status status);
/* Adds a failure to those that are recorded, with what it has in `more`: the first as it is, others
 * to `more` unless they are there, as long as there is room. One that is not of the input, as no
 * memory, takes the place of all. err may be NULL. */
void ms_error_add(ms_error *err, const ms_error *other);
/* Takes the next line of `more` apart: file, line, column, pointer and sentence; without a place it
 * is all sentence. False: there is none. */
bool ms_error_next(const char **more, ms_error *one);

/* Copies the place (file, line, excerpt, ...) of another error; err may be NULL. The text and what
 * else is refused stay. */
void ms_error_copy_place(ms_error *err, const ms_error *from);

/* Records the failure and yields its status: `return ms_fail(err, MS_ERR_IO, "...")`. */
#define ms_fail(err, status, ...) (ms_error_set((err), (status), __VA_ARGS__), (status))

/* For a public call that got NULL where it needs an object, a text or a stream. */
#define ms_fail_null(err) ms_fail((err), MS_ERR_USAGE, "NULL where a value is needed")

#endif
