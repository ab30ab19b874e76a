/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Numbers with a decimal point in every locale: the only functions that print or read fractions.
 * `make lint-layers` checks that no other code does.
 */
#ifndef MS_BASE_LOCALE_H
#define MS_BASE_LOCALE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* vsnprintf, snprintf and strtod in the "C" locale. */
__attribute__((format(printf, 3, 0))) int ms_text_vprint(char *out, size_t size, const char *format,
                                                         va_list args);
__attribute__((format(printf, 3, 4))) int ms_text_print(char *out, size_t size, const char *format,
                                                        ...);
double ms_number_read(const char *text, char **end);

#endif
