/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tables of options. An option is one row: its texts, the kind of its values, its member, bounds,
 * choices, and what reports call it. Command line, run file, help texts, completions and reports
 * read the row. The list of rows is an X-macro, so that its length is known where the object with
 * the members is declared:
 *
 *     X(name, value name (NULL: a flag), help, default as text or NULL, group, kind, ...)
 *
 * where the rest are initializers of ms_config_field, the member first.
 */
#ifndef MS_CONFIG_FIELDS_FIELD_H
#define MS_CONFIG_FIELDS_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "memscope/field.h"

typedef struct ms_config_field ms_config_field;

/* What a report writes of a value. */
typedef enum ms_config_form {
    MS_SHOWN_NOWHERE, /* the report has no such value */
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

/* How a run file writes a value. */
typedef enum ms_config_written {
    MS_WRITTEN_STRING,
    MS_WRITTEN_NUMBER, /* a number, or "none" where the field knows it */
    MS_WRITTEN_SIZE,   /* a string with a unit */
    MS_WRITTEN_FLAG    /* true or false; on the command line it takes no value */
} ms_config_written;

/* A kind of values: kinds.h has those that every table may use. */
typedef struct ms_config_kind {
    size_t bytes; /* of the member */
    ms_config_written written;
    bool is_count;              /* whole numbers */
    bool is_file;               /* names of files; of the config also of built-in models */
    bool has_commas;            /* values hold commas themselves */
    const char *const *choices; /* all there are, when the row names none; ends with NULL */
    /* Reads a value into the member, or refuses it with a sentence that begins with the name of the
     * field. Texts are copied into the arena. */
    ms_status (*set)(const ms_config_field *field, const char *value, void *member, ms_arena *arena,
                     ms_error *err);
    void (*show)(const ms_config_field *field, const void *member, ms_config_shown *shown);
} ms_config_kind;

/* What a report says of an option that takes more than its member; `source` is the table's. Leaves
 * `shown` as it is for MS_SHOWN_NOWHERE. */
typedef void (*ms_config_show)(const void *source, ms_arena *arena, ms_config_shown *shown);

struct ms_config_field {
    const char *name;
    const ms_config_kind *kind;
    size_t offset, bytes;       /* of the member */
    double minimum, maximum;    /* whole ones up to 2^53; a maximum of 0: none */
    bool default_is_words;      /* the text of the default is no value: what it means is resolved */
    const char *const *choices; /* all there are; ends with NULL */
    const char *(*choice_at)(size_t index);  /* the same, or all that a list may have */
    const char *const *examples;             /* values to begin with; ends with NULL */
    const char *const (*synonyms)[2];        /* other names of choices; ends with NULL */
    int scope, need;                         /* the table's own: what it is for, what it needs */
    const char *report;                      /* its name among the options in reports; NULL: none */
    const char *detail;                      /* its name among what reports say for programs */
    ms_config_show show_report, show_detail; /* NULL: the kind's */
};

typedef struct ms_config_table {
    const ms_run_field *texts; /* row by row */
    const ms_config_field *rows;
    size_t count;
    size_t is_set; /* offset of the bits in the object */
    /* Why a name is no row of this table: the rest of a sentence. NULL, or answers NULL: nothing is
     * known. */
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

/* The row of that name; case and `_` for `-` are forgiven. -1 when unknown. */
int ms_config_field_find(const ms_config_table *table, const char *name);

/* Sets a member. Refuses an unknown name with the nearest known one, and a value that the field
 * does not take. Text is copied into the arena. */
ms_status ms_config_field_set(const ms_config_table *table, void *object, ms_arena *arena,
                              const char *name, const char *value, ms_error *err);
bool ms_config_field_is_set(const ms_config_table *table, const void *object, size_t index);
/* The member becomes 0, as it was before it was set. */
void ms_config_field_unset(const ms_config_table *table, void *object, size_t index);

/* Gives members that are not set their defaults, but for those in words. They stay "not set". */
ms_status ms_config_field_fill(const ms_config_table *table, void *object, ms_arena *arena,
                               ms_error *err);

/* "; did you mean 'batch'?" for a misspelt name, ": " and why not, or "". Writes into `out`,
 * returns it. */
enum { MS_CONFIG_HINT_BYTES = 256 };
const char *ms_config_field_hint(const ms_config_table *table, const char *name,
                                 char out[MS_CONFIG_HINT_BYTES]);

/* The values of a choice, or what a list may have; NULL past the last, and of any other field. */
const char *ms_config_field_choice(const ms_config_field *field, size_t index);
/* Values to begin with; NULL past the last. */
const char *ms_config_field_example(const ms_config_field *field, size_t index);

/* What reports say of the member of an object. */
void ms_config_field_show(const ms_config_field *field, const void *object, ms_config_shown *shown);

#endif
