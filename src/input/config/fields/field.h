/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tables of options. An option is one row: texts, kind of values, member, bounds, choices, and its
 * name in reports. Command line, run file, help texts, completions and reports read the row. The
 * list of rows is an X-macro, so that its length is known where the object with the members is
 * declared:
 *
 *     X(name, value name (NULL: a flag), help, default as text or NULL, group, kind, ...)
 *
 * The remaining arguments are initialisers of ms_config_field, the member first.
 */
#ifndef MS_INPUT_CONFIG_FIELDS_FIELD_H
#define MS_INPUT_CONFIG_FIELDS_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "memscope/field.h"

typedef struct ms_config_field ms_config_field;

/* The form of a value in reports. */
typedef enum ms_config_form {
    MS_SHOWN_NOWHERE, /* not in this report */
    MS_SHOWN_TEXT,
    MS_SHOWN_COUNT,
    MS_SHOWN_BOOL, /* 0 or 1, in `count` */
    MS_SHOWN_NUMBER,
    MS_SHOWN_NULL
} ms_config_form;

typedef struct ms_config_shown {
    ms_config_form form;
    const char *text; /* of a text; NULL: out of memory */
    uint64_t count;
    double number;
} ms_config_shown;

/* The JSON type of a value in a run file. */
typedef enum ms_config_written {
    MS_WRITTEN_STRING,
    MS_WRITTEN_NUMBER, /* a number, or "none" if the field accepts it */
    MS_WRITTEN_SIZE,   /* a string with a unit */
    MS_WRITTEN_FLAG    /* true or false; takes no value on the command line */
} ms_config_written;

/* A kind of values; kinds.h has the kinds that every table may use. */
typedef struct ms_config_kind {
    size_t bytes; /* of the member */
    ms_config_written written;
    bool is_count;              /* whole numbers */
    bool takes_words;           /* numbers, or words that a run file writes as strings */
    bool is_file;               /* file names; for "config" also names of built-in models */
    bool has_commas;            /* values contain commas */
    const char *const *choices; /* all choices, if the row has none; ends with NULL */
    /* Parses a value into the member. An error is a sentence that begins with the field's name.
     * Texts are copied into the arena. */
    ms_status (*set)(const ms_config_field *field, const char *value, void *member, ms_arena *arena,
                     ms_error *err);
    void (*show)(const ms_config_field *field, const void *member, ms_config_shown *shown);
} ms_config_kind;

/* Shows an option whose value depends on more than its member; each table defines `source`. Leaves
 * `shown` unchanged for MS_SHOWN_NOWHERE. */
typedef void (*ms_config_show)(const void *source, ms_arena *arena, ms_config_shown *shown);

struct ms_config_field {
    const char *name;
    const ms_config_kind *kind;
    size_t offset, bytes;       /* of the member */
    double minimum, maximum;    /* integers up to 2^53; maximum 0: none */
    bool default_is_words;      /* default_text is not a value; resolving the run determines it */
    const char *const *choices; /* all choices; ends with NULL */
    const char *(*choice_at)(size_t index); /* the same, or all elements that a list may have */
    const char *const *examples;            /* example values; ends with NULL */
    const char *const (*synonyms)[2];       /* other names of choices; ends with NULL */
    char added_after;   /* of a text: given again, it follows after this; 0: it replaces it */
    int scope, need;    /* defined by the table: purpose, requirements */
    const char *report; /* its name among the options of reports; NULL: none */
    const char *detail; /* its name among the machine-readable details of reports */
    ms_config_show show_report, show_detail; /* NULL: as the kind does */
};

typedef struct ms_config_table {
    const ms_run_field *texts; /* row by row */
    const ms_config_field *rows;
    size_t count;
    size_t is_set; /* offset of the bit array in the object */
    /* Why a name is not an option of this table: the rest of a sentence, or NULL. May be NULL. */
    const char *(*why_not)(const char *name);
} ms_config_table;

/* Words of a bit array with a bit for each of `count` fields. */
#define MS_CONFIG_WORDS(count) (((count) + 63) / 64)

/* For rows: a list that ends with NULL. */
#define MS_CONFIG_LIST(...)                                                                        \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* The index of the row of that name, ignoring case and treating `_` as `-`. -1 when unknown. */
int ms_config_field_find(const ms_config_table *table, const char *name);

/* Sets a member. Refuses an unknown name, suggesting the nearest one, and an invalid value. Text is
 * copied into the arena. */
ms_status ms_config_field_set(const ms_config_table *table, void *object, ms_arena *arena,
                              const char *name, const char *value, ms_error *err);
bool ms_config_field_is_set(const ms_config_table *table, const void *object, size_t index);
/* Clears the member to 0, its initial value. */
void ms_config_field_unset(const ms_config_table *table, void *object, size_t index);

/* Sets unset members to their defaults, except those with default_is_words. They remain "not set".
 */
ms_status ms_config_field_fill(const ms_config_table *table, void *object, ms_arena *arena,
                               ms_error *err);

/* "; did you mean 'batch'?" for a misspelt name, ": " and the reason of why_not, or "". Writes into
 * `out`, returns it. */
enum { MS_CONFIG_HINT_BYTES = 256 };
const char *ms_config_field_hint(const ms_config_table *table, const char *name,
                                 char out[MS_CONFIG_HINT_BYTES]);

/* The values of a choice, or the elements a list may have; NULL past the last, and for any other
 * field. */
const char *ms_config_field_choice(const ms_config_field *field, size_t index);
/* Example values; NULL past the last. */
const char *ms_config_field_example(const ms_config_field *field, size_t index);

/* Shows the member of an object as reports do. */
void ms_config_field_show(const ms_config_field *field, const void *object, ms_config_shown *shown);

#endif
