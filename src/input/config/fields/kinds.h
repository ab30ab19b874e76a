/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Kinds of values for options of every table, and the type of the member of each.
 */
#ifndef MS_INPUT_CONFIG_FIELDS_KINDS_H
#define MS_INPUT_CONFIG_FIELDS_KINDS_H

#include "input/config/fields/field.h"

extern const ms_config_kind ms_config_kind_text;   /* const char *; NULL or "" is shown as "none" */
extern const ms_config_kind ms_config_kind_word;   /* const char *, not empty */
extern const ms_config_kind ms_config_kind_file;   /* the same, of a file */
extern const ms_config_kind ms_config_kind_count;  /* uint64_t within the bounds */
extern const ms_config_kind ms_config_kind_tokens; /* the same; 4k is 4,096, 1M is 1,048,576 */
extern const ms_config_kind ms_config_kind_some;   /* the same; none = 0 */
extern const ms_config_kind ms_config_kind_power;  /* uint32_t, a power of two; none = 0 */
extern const ms_config_kind ms_config_kind_number; /* double within the bounds */
extern const ms_config_kind ms_config_kind_above;  /* double above 0; none = 0 */
extern const ms_config_kind ms_config_kind_part;   /* double from 0.001 to 1 */
extern const ms_config_kind ms_config_kind_size;   /* uint64_t, at least the minimum */
extern const ms_config_kind ms_config_kind_limit;  /* the same; none = 0 */
extern const ms_config_kind ms_config_kind_choice; /* an enum, or an int */
extern const ms_config_kind ms_config_kind_name;   /* const char *, the name of a choice */
extern const ms_config_kind ms_config_kind_bits;   /* uint32_t, of a list of choices; none = 0 */
extern const ms_config_kind ms_config_kind_flag;   /* bool: true or false */
extern const ms_config_kind ms_config_kind_answer; /* bool: yes or no */

/* For a table's own kinds that store their text: set and show as ms_config_kind_word. */
ms_status ms_config_set_word(const ms_config_field *field, const char *value, void *member,
                             ms_arena *arena, ms_error *err);
void ms_config_show_text(const ms_config_field *field, const void *member, ms_config_shown *shown);
/* For kinds whose rows define what reports write, or that appear in none. */
void ms_config_show_nothing(const ms_config_field *field, const void *member,
                            ms_config_shown *shown);
/* For choices with synonyms, and for values that a kind's own parser refuses. */
ms_status ms_config_set_choice(const ms_config_field *field, const char *value, void *member,
                               ms_arena *arena, ms_error *err);
void ms_config_show_choice(const ms_config_field *field, const void *member,
                           ms_config_shown *shown);
ms_status ms_config_refuse(const ms_config_field *field, ms_status status, const ms_error *reason,
                           ms_error *err);

#endif
