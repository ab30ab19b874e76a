/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Files built into the program by scripts/embed.sh, sorted by name: configs/, schemas/, the Python
 * code that plans print, style sheets and scripts of the HTML reports, the tables of trainers'
 * keys, and the texts of families of models.
 */
#ifndef MS_BASE_JSON_EMBEDDED_H
#define MS_BASE_JSON_EMBEDDED_H

#include <stddef.h>

typedef struct ms_embedded {
    const char *name; /* file name without its ending */
    const char *text; /* length bytes, then a NUL */
    size_t length;
} ms_embedded;

extern const ms_embedded ms_embedded_files[];
extern const size_t ms_embedded_count;
extern const ms_embedded ms_embedded_code[];
extern const size_t ms_embedded_code_count;
extern const ms_embedded ms_embedded_styles[];
extern const size_t ms_embedded_style_count;
extern const ms_embedded ms_embedded_scripts[];
extern const size_t ms_embedded_script_count;
extern const ms_embedded ms_embedded_keys[];
extern const size_t ms_embedded_key_count;
extern const ms_embedded ms_embedded_families[];
extern const size_t ms_embedded_family_count;
extern const ms_embedded ms_embedded_schemas[];
extern const size_t ms_embedded_schema_count;

/* A file of configs/ by its name, ignoring case; NULL when there is none. */
const ms_embedded *ms_embedded_find(const char *name);
/* The text of a piece of Python, by its name; NULL when there is none. */
const char *ms_embedded_code_find(const char *name);
/* The same for a style sheet and for a script. */
const char *ms_embedded_style_find(const char *name);
const char *ms_embedded_script_find(const char *name);
/* The table of a trainer's keys, by its name: "axolotl"; NULL when there is none. */
const char *ms_embedded_keys_find(const char *name);
/* The text of a family of models, by its name; NULL when there is none. */
const ms_embedded *ms_embedded_family_find(const char *name);

#endif
