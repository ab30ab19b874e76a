/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sets of characters that patterns name.
 */
#ifndef MS_BASE_TEXT_PATTERN_CLASS_H
#define MS_BASE_TEXT_PATTERN_CLASS_H

#include "base/text/pattern_code.h"

void ms_byte_set_add_range(ms_byte_set *set, uint32_t first, uint32_t last);
/* Adds what is not of the other set. */
void ms_byte_set_add_others(ms_byte_set *set, const ms_byte_set *of);

/* Adds the class of a letter behind a backslash; false when there is none. */
bool ms_byte_set_add_class(ms_byte_set *set, char letter);

/* Adds ECMAScript's "[:name:]" and moves behind it; false when there is none. */
bool ms_byte_set_add_named_class(ms_byte_set *set, const char **at);

#endif
